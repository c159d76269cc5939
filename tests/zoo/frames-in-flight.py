# Buffers in memory files, sent over UNIX sockets to a process that receives none of them: it is the one to
# mend, the sender only fills them.
# @state sick
# @group 1
# @who PID\) does not receive
# @cause shared memory grows.*no process has open
# @not anonymous|leak
import array, os, signal, socket, time

ends = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(200)]
if os.fork():
    for sender, _ in ends:
        sender.close()
    print("ready", flush=True)
    signal.pause()
for _, receiver in ends:
    receiver.close()
for sender, _ in ends:
    for _ in range(8):
        frame = os.memfd_create("frame")
        os.write(frame, bytes(2 << 20))
        sender.sendmsg([b"frame"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [frame]))])
        os.close(frame)
        time.sleep(0.1)
signal.pause()
