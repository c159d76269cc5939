# Jobs that hang: each is started by the clock, takes its memory and never ends.
# @state sick
# @group 8
# @who workers-pile-up
# @cause grow together|processes
# @check 12
import os, signal, time

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("ready", flush=True)
def end(*_):
    os.killpg(0, signal.SIGKILL)
signal.signal(signal.SIGTERM, end)
while True:
    if os.fork() == 0:
        heap = bytearray(os.urandom(4096) * 2048)
        time.sleep(600)
    time.sleep(0.3)
