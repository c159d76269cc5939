# A store in Python that forks each second to save itself, while requests change its values.
# @state sick
# @group 4
# @who snapshots
# @cause copy-on-write|copies .* pages
import os, random, signal, time

data = [bytearray(4096) for _ in range(60000)]
print("ready", flush=True)
signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
while True:
    child = os.fork()
    if child == 0:
        total = 0
        end = time.time() + 0.8
        while time.time() < end:
            total += sum(data[random.randrange(60000)][:64])
        os._exit(0)
    end = time.time() + 1
    while time.time() < end:
        for _ in range(50):
            data[random.randrange(60000)][0] = 1
        time.sleep(0.0005)
    os.waitpid(child, 0)
