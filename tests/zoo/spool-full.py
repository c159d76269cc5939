# A service whose spool is a tmpfs of its own: full, writes fail, while memory is free.
# @state sick
# @group 7
# @who spool-full
# @cause full|ENOSPC|size limit
import ctypes, os, signal, time

libc = ctypes.CDLL(None, use_errno=True)
MS_PRIVATE, MS_REC, CLONE_NEWNS = 1 << 18, 16384, 0x20000
work = os.environ["ZOO_WORK"] + "/spool-full"
os.mkdir(work)
if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_PRIVATE | MS_REC, None) or \
        libc.mount(b"spool", work.encode(), b"tmpfs", 0, b"size=48m"):
    raise OSError(ctypes.get_errno(), "mount")
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
print("ready", flush=True)
i = 0
while True:
    try:
        with open(f"{work}/{i}", "wb") as f:
            f.write(bytes(1 << 20))
        i += 1
    except OSError:
        pass
    time.sleep(0.01)
