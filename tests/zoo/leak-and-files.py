# Two troubles at once: a leak, and files forgotten in /dev/shm.
# @state sick
# @group 9
# @who leak-and-files
# @cause grow
# @who2 /dev/shm/zoo-two
# @cause2 tmpfs|shared memory
# @check 12
import os, shutil, signal, time

top = "/dev/shm/zoo-two"
os.makedirs(top, exist_ok=True)
def end(*_):
    shutil.rmtree(top)
    os._exit(0)
signal.signal(signal.SIGTERM, end)
for i in range(10):
    with open(f"{top}/{i}", "wb") as f:
        f.write(bytes(50 << 20))
print("ready", flush=True)
kept = []
while True:
    kept.append(bytearray(os.urandom(4096) * 128))
    time.sleep(0.05)
