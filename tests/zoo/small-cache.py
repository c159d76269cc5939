# A lookup service whose file is twice the limit of its group: it reads the same pages back from disk.
# @state sick
# @group 6
# @who small-cache
# @cause page cache|working set|refault|read back
# @limit 96M
# @needs v1
import os, random, signal, time

path = os.environ["ZOO_WORK"] + "/table"
with open(path, "wb") as f:
    for _ in range(180):
        f.write(os.urandom(1 << 20))
    os.fsync(f.fileno())
fd = os.open(path, os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
print("ready", flush=True)
while True:
    for _ in range(20):
        os.pread(fd, 4096, random.randrange(180 << 8) << 12)
    time.sleep(0.0005)
