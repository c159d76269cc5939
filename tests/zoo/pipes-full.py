# A supervisor that keeps pipes of workers and reads none of them.
# @state sick
# @group 2
# @who PID|python3|pipes-full
# @cause pipe
import fcntl, os, resource, time

resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
pairs = []
for _ in range(900):
    r, w = os.pipe()
    fcntl.fcntl(w, 1031, 1 << 18)
    os.set_blocking(w, False)
    try:
        while True:
            os.write(w, b"x" * 65536)
    except BlockingIOError:
        pass
    pairs.append((r, w))
print("ready", flush=True)
time.sleep(600)
