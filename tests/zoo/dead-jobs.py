# A job server gives each job a memory group of its own and removes it afterwards; what the job wrote
# to /dev/shm stays, and with it the group.
# @state sick
# @group 2
# @who dead-jobs
# @cause control groups.*(removed|dead)
# @needs v1
import os, shutil, signal, sys, time

BASE, SPOOL = "/sys/fs/cgroup/memory/zoo-jobs-%d" % os.getpid(), "/dev/shm/zoo-jobs-%d" % os.getpid()
def remove(group):
    for _ in range(1000):
        try:
            return os.rmdir(group)
        except OSError:
            time.sleep(0.001)

def end(*_):
    try:
        os.waitpid(-1, 0) # the job that is under way
    except ChildProcessError:
        pass
    shutil.rmtree(SPOOL, ignore_errors=True)
    for name in os.listdir(BASE):
        if os.path.isdir(os.path.join(BASE, name)):
            remove(os.path.join(BASE, name))
    remove(BASE)
    sys.exit(0)

def job(n):
    group = "%s/job-%d" % (BASE, n)
    os.mkdir(group)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with open(group + "/cgroup.procs", "w") as f:
            f.write("0")
        with open("%s/%d" % (SPOOL, n), "w") as f:
            f.write("result")
        os._exit(0)
    os.waitpid(child, 0)
    remove(group)

os.makedirs(BASE)
os.makedirs(SPOOL)
signal.signal(signal.SIGTERM, end)
n = 0
while True:
    job(n)
    n += 1
    if n == 1500:
        print("ready", flush=True)
    if n > 1500:
        time.sleep(0.02)
