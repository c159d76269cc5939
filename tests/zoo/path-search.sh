# A shell script that starts commands found late in PATH: the same few names are missed each time.
# @state healthy
# @group 2
mkdir -p "$ZOO_WORK/a" "$ZOO_WORK/b"
PATH=$ZOO_WORK/a:$ZOO_WORK/b:$PATH
trap 'exit 0' TERM
echo ready
while :; do
	for i in 1 2 3 4 5 6 7 8 9 10; do
		env true
	done
	sleep 0.05
done
