# A tracer that writes its log to /dev/shm, all the time.
# @state sick
# @group 1
# @who trace-in-shm
# @cause tmpfs|shared memory
import os, signal, time

path = "/dev/shm/zoo-trace.log"
def end(*_):
    os.unlink(path)
    os._exit(0)
signal.signal(signal.SIGTERM, end)
f = open(path, "wb", buffering=0)
for _ in range(120):
    f.write(os.urandom(1 << 20))
print("ready", flush=True)
while True:
    f.write(os.urandom(1 << 19))
    time.sleep(0.1)
