# A service that writes small files to /dev/shm and removes them.
# @state healthy
# @group 1
d=/dev/shm/zoo-short
mkdir -p $d
trap 'rm -rf $d; exit 0' TERM
echo ready
while :; do
	for i in 1 2 3 4 5 6 7 8; do head -c 1000000 /dev/zero >$d/$i; done
	rm -f $d/*
	sleep 0.1
done
