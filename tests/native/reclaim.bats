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

# Writes and reads a file of 128 MiB inside a cgroup of 48 MiB, while $memwhy looks.
in_small_cgroup() {
	tools/with-cgroup "memwhy-test-$$" 50331648 dd if=/dev/zero of="$BATS_TEST_TMPDIR/file" bs=1M \
		count=128 status=none || [ $? -ne 3 ] || skip "no memory controller"
	rm -f "$BATS_TEST_TMPDIR/file" # /tmp may be in memory
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

@test "reclaim: stalls, scanned and reclaimed equal allocstall, pgscan and pgsteal" {
	[ -n "$MEMWHY_VM" ] || skip "makes memory run out: only in a guest of its own (make check-vm)"
	tests/workloads/reclaim_verify "$MEMWHY" "$WORKLOADS/reclaim_global"
}

# bats test_tags=host
@test "reclaim: --like vmscan prints that tool's columns, with the reclaim of cgroups in its place" {
	memwhy_run reclaim --like vmscan -i 100ms
	in_small_cgroup
	memwhy_stop
	cat "$lines"
	[ "$(head -1 "$lines")" = "TIME         S-SLABms  D-RECLAIMms  M-RECLAIMms KSWAPD WRITEPAGE" ]
	[ "$(awk 'NR > 1 && NF != 6' "$lines" | wc -l)" -eq 0 ]
	[ "$(awk 'NR > 1 { n += $4 } END { print n + 0 }' "$lines")" -gt 0 ]
	grep -q "none lost" "$BATS_TEST_TMPDIR/err"
}
