# A collector on TCP accepts its clients and then reads nothing: what they send waits in its sockets.
# @state sick
# @group 2
# @who tcp-unread
# @cause socket
import os, signal, socket, time

server = socket.create_server(("127.0.0.1", 0), backlog=512)
if os.fork() == 0:
    clients = []
    for _ in range(250):
        s = socket.create_connection(server.getsockname())
        s.setblocking(False)
        clients.append(s)
    while True:
        for s in clients:
            try:
                s.send(b"x" * 65536)
            except BlockingIOError:
                pass
        time.sleep(0.2)
kept = [server.accept() for _ in range(250)]
time.sleep(2)
print("ready", flush=True)
signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
while True:
    time.sleep(1)
