# A job under RLIMIT_AS: its allocations fail while most of the machine's memory is free.
# @state sick
# @group 7
# @who PID|python3|address-limit
# @cause RLIMIT_AS|address space
import mmap, resource, time

resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
print("ready", flush=True)
while True:
    try:
        mmap.mmap(-1, 600 << 20)
    except OSError:
        pass
    time.sleep(0.02)
