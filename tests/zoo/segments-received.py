# Buffers in memory files, sent over a UNIX socket to a process that maps each, uses it and lets it go.
# @state healthy
# @group 1
import array, mmap, os, socket, time

left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
if os.fork() == 0:
    while True:
        message, fds, _, _ = socket.recv_fds(right, 64, 4)
        with mmap.mmap(fds[0], 0) as frame:
            sum(frame[:4096])
        os.close(fds[0])
print("ready", flush=True)
while True:
    frame = os.memfd_create("frame")
    os.write(frame, bytes(2 << 20))
    left.sendmsg([b"frame"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [frame]))])
    os.close(frame)
    time.sleep(0.05)
