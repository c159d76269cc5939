# A cron job that "frees memory" each second through vm.drop_caches, and a reader that pays for it.
# @state sick
# @group 6
# @who drop-caches
# @cause drop_caches
dd if=/dev/urandom of="$ZOO_WORK/data" bs=1M count=64 conv=fsync 2>/dev/null
while :; do cat "$ZOO_WORK/data" >/dev/null; sleep 0.1; done &
reader=$!
trap 'kill $reader; exit 0' TERM
echo ready
while :; do
	echo 1 >/proc/sys/vm/drop_caches
	sleep 0.5
done
