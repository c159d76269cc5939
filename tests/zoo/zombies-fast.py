# A supervisor starts a command a hundred times a second and never waits for it.
# @state sick
# @group 2
# @who zombies-fast
# @cause (zombie|wait).* more a second.*reached in
# @needs v1
import os, signal, sys, time

GROUP = "/sys/fs/cgroup/pids/zoo-zombies-%d" % os.getpid()
os.mkdir(GROUP)
open(GROUP + "/pids.max", "w").write("60000")
open(GROUP + "/cgroup.procs", "w").write("0")

def end(*_):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    open("/sys/fs/cgroup/pids/cgroup.procs", "w").write("0")
    os.rmdir(GROUP)
    sys.exit(0)

signal.signal(signal.SIGTERM, end)
n = 0
while True:
    if os.fork() == 0:
        os._exit(0)
    n += 1
    if n == 300:
        print("ready", flush=True)
    time.sleep(0.01)
