# A service of an own user with RLIMIT_NPROC, which another program of that user has used up.
# @state sick
# @group 7
# @who PID|nproc-limit
# @cause RLIMIT_NPROC
import os, resource, signal, subprocess, sys, time

uid = 61000 + os.getpid() % 1000
os.setgroups([])
os.setgid(uid)
os.setuid(uid)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
others = [subprocess.Popen(["sleep", "600"]) for _ in range(39)]
resource.setrlimit(resource.RLIMIT_NPROC, (40, resource.getrlimit(resource.RLIMIT_NPROC)[1]))
helpers = []
try:
    print("ready", flush=True)
    while True:
        try:
            helpers.append(subprocess.Popen(["sleep", "0.5"]))
        except OSError:
            pass
        helpers = [h for h in helpers if h.poll() is None]
        time.sleep(0.02)
finally:
    for one in others + helpers:
        one.kill()
        one.wait()
