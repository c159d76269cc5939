# A job writes a large file faster than the disk, with little room for dirty pages.
# @state sick
# @group 6
# @who dd|log-storm
# @cause dirty throttling|balance_dirty_pages
# @needs dd
exec 9>/tmp/settings.lock
flock 9
old=$(cat /proc/sys/vm/dirty_bytes) background=$(cat /proc/sys/vm/dirty_background_bytes)
ratio=$(cat /proc/sys/vm/dirty_ratio) background_ratio=$(cat /proc/sys/vm/dirty_background_ratio)
undo() {
	kill $job 2>/dev/null
	[ "$old" = 0 ] && echo "$ratio" >/proc/sys/vm/dirty_ratio || echo "$old" >/proc/sys/vm/dirty_bytes
	[ "$background" = 0 ] && echo "$background_ratio" >/proc/sys/vm/dirty_background_ratio ||
		echo "$background" >/proc/sys/vm/dirty_background_bytes
	exit 0
}
trap undo TERM
echo 8388608 >/proc/sys/vm/dirty_background_bytes
echo 16777216 >/proc/sys/vm/dirty_bytes
while :; do dd if=/dev/zero of="$ZOO_WORK/log" bs=1M count=400 conv=notrunc 2>/dev/null; done &
job=$!
echo ready
while :; do
	sleep 0.2 &
	wait $!
done
