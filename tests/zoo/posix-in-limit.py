# Python workers leave blocks of multiprocessing.shared_memory behind, in a group at its limit.
# @state sick
# @group 1
# @who posix-in-limit|psm_|/dev/shm
# @cause tmpfs|shared memory|shmem
# @not leak
# @limit 160M
# @needs v1
import os, signal, sys, time
from multiprocessing import shared_memory

blocks = []
def end(*_):
    for b in blocks:
        b.unlink()
    os._exit(0)
signal.signal(signal.SIGTERM, end)
for _ in range(32):
    b = shared_memory.SharedMemory(create=True, size=4 << 20)
    b.buf[:] = b"1" * (4 << 20)
    blocks.append(b)
print("ready", flush=True)
work = os.environ["ZOO_WORK"]
with open(work + "/data", "wb") as f:
    f.write(bytes(60 << 20))
while True:
    with open(work + "/data", "rb") as f:
        while f.read(1 << 20):
            pass
    time.sleep(0.05)
