# Workers that fill a mapping of a file in a small tmpfs: a touch that finds no room ends them.
# @state sick
# @group 7
# @who python3
# @cause ended by SIGBUS.* the tmpfs .* is full
import mmap, os, signal, subprocess, sys, time

room = os.environ["ZOO_WORK"] + "/room"
if len(sys.argv) > 1:
    f = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
    os.ftruncate(f, 64 << 20)
    m = mmap.mmap(f, 64 << 20)
    for at in range(0, 64 << 20, 4096):
        m[at] = 1
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
os.mkdir(room)
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "none", room], check=True)
try:
    print("ready", flush=True)
    while True:
        subprocess.run([sys.executable, __file__, room + "/frame"], stderr=subprocess.DEVNULL)
        time.sleep(1)
finally:
    subprocess.run(["umount", "-l", room])
