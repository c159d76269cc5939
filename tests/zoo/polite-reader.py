# A report server that gives its files back after each report, though the next one reads them again.
# @state sick
# @group 6
# @who PID
# @cause (throws|drops) pages of its files.*fadvise
# @not too small|limit
import os, time

path = os.environ["ZOO_WORK"] + "/ledger"
with open(path, "wb") as f:
    for _ in range(96):
        f.write(os.urandom(1 << 20))
    os.fsync(f.fileno())
ledger = os.open(path, os.O_RDONLY)
print("ready", flush=True)
while True:
    for at in range(0, 96 << 20, 1 << 18):
        os.pread(ledger, 1 << 18, at)
    os.posix_fadvise(ledger, 0, 0, os.POSIX_FADV_DONTNEED)
    time.sleep(0.2)
