# A supervisor starts commands and never waits for them: their remains stay.
# @state sick
# @group 2
# @who zombies
# @cause zombie|not waited for|never waits|does not wait
import os, signal, time

for _ in range(6000):
    if os.fork() == 0:
        os._exit(0)
print("ready", flush=True)
signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
while True:
    time.sleep(1)
