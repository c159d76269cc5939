# A program with a garbage collector: its heap grows for some seconds and falls back.
# @state healthy
# @group 8
# @check 12
import gc, time

gc.disable()
print("ready", flush=True)
while True:
    for _ in range(40):
        x = [bytearray(1 << 20)]
        x.append(x)
        del x
        time.sleep(0.05)
    gc.collect()
