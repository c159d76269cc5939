# A server writes logs, which are compressed and removed in turn.
# @state healthy
# @group 8
# @needs gzip
echo ready
while :; do
	for i in $(seq 20); do
		seq 200000 >>"$ZOO_WORK/log"
		sleep 0.05
	done
	mv "$ZOO_WORK/log" "$ZOO_WORK/log.1"
	gzip -f "$ZOO_WORK/log.1"
done
