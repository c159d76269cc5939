# updatedb and its like: a walk over all files, whose dentries and inodes the kernel keeps while it can.
# @state healthy
# @group 2
echo ready
while :; do
	find /usr /var /etc -xdev -size +1M >/dev/null 2>&1
	sleep 2
done
