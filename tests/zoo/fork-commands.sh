# A shell script that starts many small programs, as scripts do.
# @state healthy
# @group 4
echo ready
while :; do
	for i in 1 2 3 4 5; do
		/bin/true
		ls /etc >/dev/null
	done
	sleep 0.05
done
