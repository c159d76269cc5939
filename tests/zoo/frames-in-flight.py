# Buffers in memory files, sent over a UNIX socket to a process that receives none of them.
# @state sick
# @group 1
# @who PID
# @cause shared memory grows.*no process has open
# @not anonymous|leak
import array, os, socket, time

ends = []
print("ready", flush=True)
while True:
    ends.append(socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
    for _ in range(8):
        frame = os.memfd_create("frame")
        os.write(frame, bytes(2 << 20))
        ends[-1][0].sendmsg([b"frame"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [frame]))])
        os.close(frame)
        time.sleep(0.1)
