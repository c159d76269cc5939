# Result files that a batch job left in /dev/shm: nobody has them open, no process shows them.
# @state sick
# @group 1
# @who /dev/shm/batch-results
# @cause tmpfs|shared memory
# @not leak|grows
import os, shutil, signal, sys, time

top = "/dev/shm/batch-results"
os.makedirs(top, exist_ok=True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
try:
    for i in range(24):
        with open(f"{top}/part-{i:04}", "wb") as f:
            for _ in range(32):
                f.write(os.urandom(1 << 16) * 16)
    print("ready", flush=True)
    time.sleep(600)
finally:
    shutil.rmtree(top)
