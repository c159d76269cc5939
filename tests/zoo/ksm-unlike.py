# A program marks memory that has nothing in common as mergeable: ksmd compares it all the time.
# @state sick
# @group 3
# @who ksm-unlike
# @cause KSM
# @needs /sys/kernel/mm/ksm/run
import mmap, os, signal, sys, time

KSM = "/sys/kernel/mm/ksm/"
WANTED = {"run": "1", "pages_to_scan": "20000", "sleep_millisecs": "1"}

def read(name):
    with open(KSM + name) as f:
        return f.read().strip()

def write(name, value):
    with open(KSM + name, "w") as f:
        f.write(value)

before = {name: read(name) for name in WANTED}

def end(*_):
    for name, value in before.items():
        write(name, value)
    sys.exit(0)

signal.signal(signal.SIGTERM, end)
area = mmap.mmap(-1, 512 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
block = os.urandom(4 << 20)
for at in range(0, len(area), len(block)):
    area[at:at + len(block)] = block
    for page in range(at, at + len(block), 4096):
        area[page:page + 8] = page.to_bytes(8, "little")
area.madvise(mmap.MADV_MERGEABLE)
for name, value in WANTED.items():
    write(name, value)
print("ready", flush=True)
while True:
    time.sleep(1)
