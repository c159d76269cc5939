# Strict overcommit: a large mapping fails, though most of the memory is free.
# @state sick
# @group 7
# @who PID|commit-limit
# @cause overcommit|CommitLimit
import fcntl, mmap, os, signal, sys, time

lock = open("/tmp/settings.lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
names = ["overcommit_memory", "overcommit_ratio"]
before = {n: open(f"/proc/sys/vm/{n}").read() for n in names}
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
try:
    open("/proc/sys/vm/overcommit_ratio", "w").write("80")
    open("/proc/sys/vm/overcommit_memory", "w").write("2")
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    print("ready", flush=True)
    while True:
        try:
            mmap.mmap(-1, total * 9 // 10).close()
        except OSError:
            pass
        time.sleep(0.02)
finally:
    for n in names:
        open(f"/proc/sys/vm/{n}", "w").write(before[n])
