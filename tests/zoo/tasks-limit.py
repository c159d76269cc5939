# A service in a group with pids.max: it cannot start helpers, while memory is free.
# @state sick
# @group 7
# @who PID|tasks-limit
# @cause pids|limit on tasks
import os, signal, subprocess, sys, time

top = "/sys/fs/cgroup/pids"
group = f"{top}/zoo-tasks-{os.getpid()}"
os.mkdir(group)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
helpers = []
try:
    open(f"{group}/pids.max", "w").write("8")
    open(f"{group}/cgroup.procs", "w").write(str(os.getpid()))
    print("ready", flush=True)
    while True:
        try:
            helpers.append(subprocess.Popen(["sleep", "600"]))
        except OSError:
            time.sleep(0.02)
finally:
    for h in helpers:
        h.kill()
        h.wait()
    open(f"{top}/cgroup.procs", "w").write(str(os.getpid()))
    os.rmdir(group)
