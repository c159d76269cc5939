# A loader that probes a long search path for files of ever new names, and finds none of them.
# @state sick
# @group 2
# @who PID|missing-modules
# @cause negative dentr
# @not grows steadily
import os, signal, sys, time

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
base = os.environ["ZOO_WORK"]
places = [os.path.join(base, f"lib{i}") for i in range(20)]
for p in places:
    os.mkdir(p)
n = 0
while True:
    for p in places:
        try:
            open(f"{p}/plugin-{n}-{os.getpid()}.so", "rb")
        except FileNotFoundError:
            pass
    n += 1
    if n == 10000:
        print("ready", flush=True)
    if n > 10000 and n % 50 == 0:
        time.sleep(0.02)
