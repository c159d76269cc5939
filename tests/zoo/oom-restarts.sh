# A job that does not fit its group is killed and started again, for ever.
# @state sick
# @group 8
# @who oom-restarts|dd
# @cause OOM
# @limit 64M
# @needs v1
trap 'exit 0' TERM
echo ready
while :; do
	dd if=/dev/zero of=/dev/null bs=200M count=1 2>/dev/null
	sleep 0.3
done
