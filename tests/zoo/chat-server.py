# A server with 200 connections that reads what arrives.
# @state healthy
# @group 2
import os, select, signal, socket, time

server = socket.create_server(("127.0.0.1", 0), backlog=256)
if os.fork() == 0:
    clients = [socket.create_connection(server.getsockname()) for _ in range(200)]
    while True:
        for c in clients:
            c.send(b"hello" * 200)
        time.sleep(0.01)
poll, open_ = select.epoll(), {}
for _ in range(200):
    s, _ = server.accept()
    open_[s.fileno()] = s
    poll.register(s.fileno(), select.EPOLLIN)
print("ready", flush=True)
signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
while True:
    for fd, _ in poll.poll(1):
        open_[fd].recv(65536)
