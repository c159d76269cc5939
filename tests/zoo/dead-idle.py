# Jobs had a memory group of their own each, which was removed when they ended; the files that they wrote
# to disk are in the page cache, and charged to groups that are no more. Nobody adds to them.
# @state sick
# @group 2
# @who zoo-idle-PID
# @cause control groups.*(removed|dead).*page cache
# @needs v1
import os, shutil, signal, sys, time

NAME = "zoo-idle-%d" % os.getpid()
BASE, WORK = "/sys/fs/cgroup/memory/" + NAME, os.environ["ZOO_WORK"] + "/" + NAME
os.makedirs(BASE)
os.makedirs(WORK)

def end(*_):
    shutil.rmtree(WORK, ignore_errors=True)
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
        with open("%s/%d" % (WORK, n), "wb") as f:
            f.write(os.urandom(16384))
        os._exit(0)
    os.waitpid(child, 0)
    while True:
        try:
            return os.rmdir(group)
        except OSError:
            time.sleep(0.001)

signal.signal(signal.SIGTERM, end)
for n in range(1500):
    job(n)
os.sync()
print("ready", flush=True)
while True:
    signal.pause()
