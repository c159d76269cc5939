# A service looks things up in a mapped file; beside it, in the same group, cat reads a backup over and
# over and pushes the mapped file out.
# @state sick
# @group 6
# @who cat .*backup-evicts|backup-evicts.*cat
# @cause page cache.*(refault|read back)
# @limit 200M
# @needs v1
import mmap, os, random, signal, subprocess, time

MIB = 1 << 20
work = os.environ["ZOO_WORK"]

def make(name, size):
    path = os.path.join(work, name)
    with open(path, "wb") as f:
        for _ in range(size // MIB):
            f.write(os.urandom(4096) * 256)
        os.fsync(f.fileno())
    return path

table, backup = make("table", 64 * MIB), make("backup", 600 * MIB)
file = open(table, "rb")
data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
data.madvise(mmap.MADV_RANDOM)
subprocess.Popen(["sh", "-c", f"while :; do cat {backup} {backup} {backup} {backup}; done"],
                 stdout=subprocess.DEVNULL)
signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
print("ready", flush=True)
total = 0
while True:
    for _ in range(200):
        total += data[random.randrange(len(data) // 4096) * 4096]
    time.sleep(0.001)
