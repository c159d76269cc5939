# A prefork server with a large heap that its workers share and read, as it should be.
# @state healthy
# @group 4
import mmap, os, signal, time

heap = mmap.mmap(-1, 400 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for i in range(0, len(heap), 4096):
    heap[i] = 1
for _ in range(8):
    if os.fork() == 0:
        n = 0
        while True:
            for i in range(2000):
                n += heap[(i * 7919 * 4096) % len(heap)]
            time.sleep(0.02)
print("ready", flush=True)
signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
while True:
    time.sleep(1)
