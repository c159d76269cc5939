# A session store makes an empty file in /dev/shm for each session and never removes one.
# @state sick
# @group 2
# @who zoo-sessions|many-names
# @cause inodes
import os, shutil, signal, sys, time

BASE = "/dev/shm/zoo-sessions-%d" % os.getpid()
os.mkdir(BASE)

def end(*_):
    shutil.rmtree(BASE, ignore_errors=True)
    sys.exit(0)

signal.signal(signal.SIGTERM, end)
for d in range(120):
    os.mkdir("%s/%d" % (BASE, d))
    for i in range(1000):
        os.close(os.open("%s/%d/%d" % (BASE, d, i), os.O_CREAT | os.O_WRONLY))
print("ready", flush=True)
n = 0
while True:
    os.close(os.open("%s/1/more-%d" % (BASE, n), os.O_CREAT | os.O_WRONLY))
    n += 1
    time.sleep(0.001)
