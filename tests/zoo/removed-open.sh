# A service whose spool in /dev/shm was removed while it had the file open.
# @state sick
# @group 1
# @who removed-open|PID
# @cause removed|deleted|without a name
exec 9<>/dev/shm/zoo-spool
rm /dev/shm/zoo-spool
dd if=/dev/zero bs=1M count=500 >&9 2>/dev/null
echo ready
while :; do
	sleep 0.2 &
	wait $!
done
