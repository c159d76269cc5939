# A program that reads a mapped file once, from disk, and goes on with what it has read.
# @state healthy
# @group 6
import mmap, os, time

path = os.environ["ZOO_WORK"] + "/table"
with open(path, "wb") as f:
    for _ in range(100):
        f.write(os.urandom(1 << 20))
    os.fsync(f.fileno())
    os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
f = open(path, "rb")
m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
print("ready", flush=True)
time.sleep(1)
while True:
    total = 0
    for i in range(0, len(m), 4096):
        total += m[i]
    time.sleep(0.5)
