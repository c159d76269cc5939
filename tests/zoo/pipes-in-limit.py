# A group at its limit, filled by the kernel for its process: messages that wait in UNIX sockets.
# @state sick
# @group 2
# @who pipes-in-limit
# @cause kernel memory|socket|slab
# @not leak
# @limit 96M
# @needs v1
import os, resource, signal, socket, time

resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
kept = []
for _ in range(300):
    a, b = socket.socketpair()
    a.setblocking(False)
    try:
        while True:
            a.send(b"m" * 4000)
    except BlockingIOError:
        pass
    kept.append((a, b))
work = os.environ["ZOO_WORK"]
with open(work + "/data", "wb") as f:
    for _ in range(40):
        f.write(bytes(1 << 20))
print("ready", flush=True)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
while True:
    with open(work + "/data", "rb") as f:
        while f.read(1 << 20):
            pass
    time.sleep(0.02)
