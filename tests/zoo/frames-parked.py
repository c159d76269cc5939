# Memory files that were sent over UNIX sockets and closed, to a process that never receives them: they no longer
# grow, and no process has them open.
# @state sick
# @group 1
# @who PID\)
# @cause shared memory (is|are) in files that no process has open
import array, os, signal, socket

ends = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(20)]
for sender, _ in ends:
    for _ in range(5):
        frame = os.memfd_create("frame")
        os.write(frame, bytes(9 << 20))
        sender.sendmsg([b"frame"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [frame]))])
        os.close(frame)
    sender.close()
print("ready", flush=True)
signal.pause()
