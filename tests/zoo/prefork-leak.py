# A prefork server whose eight workers each lose a little with every request: no process stands out.
# @state sick
# @group 8
# @who prefork-leak
# @cause grow together
# @check 10
import os, signal, time

def work():
    kept = []
    while True:
        kept.append(bytearray(60000))
        for i in range(0, 60000, 4096):
            kept[-1][i] = 1
        time.sleep(0.1)

for _ in range(8):
    if os.fork() == 0:
        work()
print("ready", flush=True)
signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
while True:
    time.sleep(1)
