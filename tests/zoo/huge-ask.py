# A program that asks for more than the machine has at once, again and again: the kernel refuses.
# @state sick
# @group 7
# @who huge-ask
# @cause overcommit
import mmap, signal, os, time

signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
print("ready", flush=True)
while True:
    try:
        mmap.mmap(-1, 1 << 42, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        time.sleep(0.1)
