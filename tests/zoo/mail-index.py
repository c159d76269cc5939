# An index of a tree of small files: each is opened and read once. No trouble.
# @state healthy
# @group 6
import os, signal, sys, time

work = os.environ["ZOO_WORK"]
names = [f"{work}/{i}.eml" for i in range(24000)]
for name in names:
    with open(name, "wb") as f:
        f.write(b"m" * 3000)
os.sync()
for name in names:  # so that they are read from the disk
    with open(name, "rb") as f:
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
print("ready", flush=True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
for name in names:
    with open(name, "rb") as f:
        f.read()
    time.sleep(0.0001)
signal.pause()
