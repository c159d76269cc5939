# Workers of a Python server that walk the objects they inherited: counting references writes to them,
# so that each worker gets a copy of its own.
# @state sick
# @group 4
# @who inherited-heap
# @cause copy-on-write|copies .* pages
# @check 6
import os, signal, sys, time

table = [str(i) * 4 for i in range(1500000)]
print("ready", flush=True)
signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
while True:
    workers = []
    for _ in range(2):
        pid = os.fork()
        if pid == 0:
            total = 0
            for word in table:
                total += len(word)
            time.sleep(0.3)
            os._exit(0)
        workers.append(pid)
    for pid in workers:
        os.waitpid(pid, 0)
