# A proxy makes an epoll set for each worker and adds every connection to all of them.
# @state sick
# @group 2
# @who epoll-items
# @cause epoll
import os, resource, select, signal, sys, time

hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
sets, files = 1000, 600
ends = [os.pipe() for _ in range(files // 2)]
fds = [fd for pair in ends for fd in pair]
keep = []
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
for _ in range(sets):
    poll = select.epoll()
    for fd in fds:
        poll.register(fd, 0)
    keep.append(poll)
print("ready", flush=True)
while True:
    time.sleep(1)
