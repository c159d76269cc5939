# Two troubles at once: pipes that nobody reads, and a store that forks while it is written to.
# @state sick
# @group 9
# @who copies-and-pipes
# @cause copy-on-write|copies .* pages
# @who2 copies-and-pipes
# @cause2 pipe
import fcntl, os, random, resource, signal, time

resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
kept = []
for _ in range(250):
    r, w = os.pipe()
    fcntl.fcntl(w, 1031, 1 << 20)
    os.set_blocking(w, False)
    try:
        while os.write(w, b"x" * 65536):
            pass
    except BlockingIOError:
        pass
    kept.append((r, w))
heap = bytearray(300 << 20)
for i in range(0, len(heap), 4096):
    heap[i] = 1
print("ready", flush=True)
signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
while True:
    if os.fork() == 0:
        time.sleep(0.9)
        os._exit(0)
    end = time.time() + 1
    while time.time() < end:
        for i in range(0, len(heap), 4096):
            heap[i] = 2
            if i % (1 << 19) == 0:
                time.sleep(0.002)
    os.wait()
