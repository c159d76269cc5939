# A job that uses half of its group's limit, with a file that it reads now and then.
# @state healthy
# @group 6
# @limit 200M
# @needs v1
import os, time

heap = bytearray(os.urandom(4096) * 20000)
path = os.environ["ZOO_WORK"] + "/data"
with open(path, "wb") as f:
    f.write(bytes(60 << 20))
print("ready", flush=True)
while True:
    with open(path, "rb") as f:
        while f.read(1 << 20):
            pass
    time.sleep(0.2)
