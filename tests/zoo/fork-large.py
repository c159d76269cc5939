# A service with much memory that starts a command by fork many times a second: each copies its page tables.
# @state sick
# @group 4
# @who PID|fork-large
# @cause forks .* times a second
import os, time

kept = bytearray(900 << 20)
for at in range(0, len(kept), 4096):
    kept[at] = 1
print("ready", flush=True)
while True:
    child = os.fork()
    if not child:
        os.execv("/bin/true", ["true"])
    os.waitpid(child, 0)
    time.sleep(0.05)
