# A program that asks the kernel to forget its file after each pass (POSIX_FADV_DONTNEED), and then reads
# it from disk again.
# @state sick
# @group 6
# @who cache-dropper
# @cause page cache|DONTNEED|reads? .* again
import os, signal, time

path = os.environ["ZOO_WORK"] + "/data"
with open(path, "wb") as f:
    for _ in range(128):
        f.write(os.urandom(1 << 20))
    os.fsync(f.fileno())
fd = os.open(path, os.O_RDONLY)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
print("ready", flush=True)
while True:
    for i in range(128):
        os.pread(fd, 1 << 20, i << 20)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
