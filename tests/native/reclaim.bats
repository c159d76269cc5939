#!/usr/bin/env bats
# Reclaim against /proc/vmstat, on this kernel.
load common

setup() {
	needs_root
	cd "$BATS_TEST_DIRNAME/../.." || exit 1
}

report() {
	jq -r "$1" "$BATS_TEST_TMPDIR/report.json"
}

# Sum of the vmstat counters whose names match.
vmstat() { # REGEX
	awk -v re="^($1)\$" '$1 ~ re { n += $2 } END { print n + 0 }' /proc/vmstat
}

# Writes and reads a file of 128 MiB inside a cgroup of 48 MiB, while $memwhy looks.
in_small_cgroup() {
	tools/with-cgroup "memwhy-test-$$" 50331648 dd if=/dev/zero of="$BATS_TEST_TMPDIR/file" bs=1M \
		count=128 status=none || [ $? -ne 3 ] || skip "no memory controller"
}

@test "reclaim: stalls at a cgroup's limit are counted and named" {
	memwhy_start reclaim -c dd
	in_small_cgroup
	memwhy_stop
	stalls=$(report '[.rows[] | select(.table == "stalls" and .kind == "memcg") | .count] | add // 0')
	scanned=$(report '[.rows[] | select(.table == "stalls") | .scanned_pages] | add // 0')
	echo "stalls $stalls, scanned $scanned"
	[ "$stalls" -gt 0 ]
	[ "$scanned" -gt 1000 ]
	[ "$(report '[.rows[] | select(.table == "stalls" and .kind == "memcg") | .comm] | unique | join(",")')" = dd ]
	[ "$(report '.lost.reclaim')" -eq 0 ]
}

@test "reclaim: --each gives a line a stall, and their sum is the aggregate's" {
	memwhy_start reclaim -c dd --each
	in_small_cgroup
	memwhy_stop
	rows=$(report '.rows | length')
	echo "rows $rows, delivered $(report .events.reclaim), lost $(report .lost.reclaim)"
	[ "$rows" -gt 0 ]
	[ "$(report '[.rows[] | select(.duration_ns <= 0)] | length')" -eq 0 ]
}

@test "reclaim: direct reclaim equals allocstall, pgscan_direct and pgsteal_direct" {
	[ -n "$MEMWHY_VM" ] || skip "makes memory run out: only in a guest of its own (make check-vm)"
	[ "$(awk '$1 == "SwapTotal:" { print $2 }' /proc/meminfo)" -gt 0 ] || skip "no swap"
	mib=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) + 64 }' /proc/meminfo)
	sync
	before="$(vmstat 'allocstall_.*') $(vmstat pgscan_direct) $(vmstat pgsteal_direct)"
	memwhy_start reclaim --by kind
	# Several at once, or kswapd keeps up.
	hogs=
	for i in 1 2 3 4; do
		"$WORKLOADS/hog" $((mib / 4)) 6 3>&- &
		hogs="$hogs $!"
	done
	wait $hogs
	memwhy_stop
	after="$(vmstat 'allocstall_.*') $(vmstat pgscan_direct) $(vmstat pgsteal_direct)"
	read -r stalls0 scan0 steal0 <<<"$before"
	read -r stalls1 scan1 steal1 <<<"$after"
	direct='[.rows[] | select(.table == "stalls" and .kind == "direct")'
	ours="$(report "$direct | .count] | add // 0") $(report "$direct | .scanned_pages] | add // 0") $(report "$direct | .reclaimed_pages] | add // 0")"
	kernel="$((stalls1 - stalls0)) $((scan1 - scan0)) $((steal1 - steal0))"
	echo "stalls, scanned, reclaimed: kernel $kernel, memwhy $ours"
	[ "$((stalls1 - stalls0))" -gt 0 ]
	[ "$ours" = "$kernel" ]
}
