# A monitor that reads the smaps of a server with much memory in a loop: each reading locks the
# server's address space while its pages are walked, and its threads wait to map and unmap.
# @state sick
# @group 5
# @who smaps-monitor
# @cause mmap_lock|lock of its address space
import mmap, os, threading, time

def serve():
    big = mmap.mmap(-1, 600 << 20)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        big.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, len(big), 4096):
        big[at] = 1
    def work():
        while True:
            m = mmap.mmap(-1, 1 << 16)
            m[0] = 1
            m.close()
            time.sleep(0.001)
    for _ in range(3):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(3600)

pid = os.fork()
if pid == 0:
    serve()
time.sleep(2)
print("ready", flush=True)
while True:
    with open(f"/proc/{pid}/smaps") as f:
        f.read()
