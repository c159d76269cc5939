# Each request allocates a large buffer, fills it and drops it: malloc maps and unmaps it every time.
# @state sick
# @group 4
# @who buffer-churn
# @cause gives memory back.*touches it again
import time

print("ready", flush=True)
while True:
    buffer = bytearray(48 << 20)
    for at in range(0, len(buffer), 4096):
        buffer[at] = 1
    del buffer
    time.sleep(0.01)
