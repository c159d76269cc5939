# Sorts of some seconds each, one after the other, as a nightly job has.
# @state healthy
# @group 8
# @needs sort
seq 1500000 | sed 's/^/abcdefgh/' >"$ZOO_WORK/in"
echo ready
while :; do
	sort -r -S 300M "$ZOO_WORK/in" >"$ZOO_WORK/out"
	sleep 0.5
done
