# Jobs that each get a memory group, compute, leave nothing behind, and end: their groups go with them.
# @state healthy
# @group 2
# @needs v1
import os, signal, sys, time

BASE = "/sys/fs/cgroup/memory/zoo-clean-%d" % os.getpid()
os.makedirs(BASE)

def end(*_):
    for name in os.listdir(BASE):
        if os.path.isdir(os.path.join(BASE, name)):
            os.rmdir(os.path.join(BASE, name))
    os.rmdir(BASE)
    sys.exit(0)

def job(n):
    group = "%s/job-%d" % (BASE, n)
    os.mkdir(group)
    child = os.fork()
    if child == 0:
        with open(group + "/cgroup.procs", "w") as f:
            f.write("0")
        sum(range(100000))
        os._exit(0)
    os.waitpid(child, 0)
    for _ in range(100):
        try:
            return os.rmdir(group)
        except OSError:
            time.sleep(0.001)

signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
n = 0
while True:
    job(n)
    n += 1
    time.sleep(0.05)
