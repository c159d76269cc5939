# Twelve workers, each of which locks all of its memory: no one of them stands out.
# @state sick
# @group 3
# @who mlock-workers
# @cause lock
import ctypes, mmap, os, signal, time

libc = ctypes.CDLL(None)
def work():
    heap = mmap.mmap(-1, 150 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    libc.mlockall(1)
    for i in range(0, len(heap), 4096):
        heap[i] = 1
    while True:
        time.sleep(1)

for _ in range(12):
    if os.fork() == 0:
        work()
time.sleep(4)
print("ready", flush=True)
signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
while True:
    time.sleep(1)
