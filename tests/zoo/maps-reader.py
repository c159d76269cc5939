# A monitor that reads /proc/PID/maps of a server with many mappings in a loop, which holds the server up.
# @state sick
# @group 5
# @who maps-reader
# @cause mmap_lock|lock of (its|their|the) address space
import mmap, os, signal, threading, time

kept = [mmap.mmap(-1, 4096, prot=mmap.PROT_READ | (mmap.PROT_WRITE if i % 2 else 0)) for i in range(30000)]
def serve():
    while True:
        m = mmap.mmap(-1, 16 << 12)
        for i in range(16):
            m[i << 12] = 1
        m.close()
for _ in range(3):
    threading.Thread(target=serve, daemon=True).start()
server = os.getpid()
for _ in range(2):
    if os.fork() == 0:
        while True:
            with open(f"/proc/{server}/smaps", "rb") as f:
                f.read()
print("ready", flush=True)
signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
while True:
    time.sleep(1)
