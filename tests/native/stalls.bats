#!/usr/bin/env bats
# Stalled allocations against the kernel's own counts, on this kernel.
load common

setup() {
	needs_root
	cd "$BATS_TEST_DIRNAME/../.." || exit 1
}

report() {
	jq -r "$1" "$BATS_TEST_TMPDIR/report.json"
}

# Writes a file of 128 MiB inside a cgroup of 48 MiB, while $memwhy looks; $1: the group.
in_small_cgroup() {
	tools/with-cgroup "memwhy-stalls-$$-${1-0}" 50331648 dd if=/dev/zero \
		of="$BATS_TEST_TMPDIR/file${1-0}" bs=1M count=128 status=none ||
		[ $? -ne 3 ] || skip "no memory controller"
	rm -f "$BATS_TEST_TMPDIR/file${1-0}" # /tmp may be in memory
}

@test "stalls: charges at a cgroup's limit are counted, and equal what reclaim counts" {
	"$MEMWHY" reclaim -c dd --for 60s -o json >"$BATS_TEST_TMPDIR/reclaim.json" \
		2>"$BATS_TEST_TMPDIR/reclaim.err" 3>&- &
	other=$!
	memwhy_start stalls -c dd --by process,kind,trigger
	wait_for 'memwhy_attached $other'
	in_small_cgroup
	memwhy_stop
	kill -INT "$other"
	wait "$other" || [ $? -eq 130 ]
	[ "$(report '[.rows[] | select(.table == "stalls") | .comm] | unique | join(",")')" = dd ]
	[ "$(report '[.rows[] | select(.table == "stalls") | .kind] | unique | join(",")')" = charge ]
	# where its own memory can be swapped out, faults and reads stall as well
	report '.rows[] | select(.table == "stalls") | "\(.trigger) \(.count)"'
	[ "$(report '[.rows[] | select(.table == "stalls")] | max_by(.count).trigger')" = "syscall write" ]
	steps=$(report '[.rows[] | select(.step == "cgroup reclaim") | .count] | add // 0')
	theirs=$(jq '[.rows[] | select(.table == "stalls") | .count] | add' "$BATS_TEST_TMPDIR/reclaim.json")
	scanned=$(report '[.rows[] | select(.step == "cgroup reclaim") | .scanned_pages] | add // 0')
	their_scanned=$(jq '[.rows[] | select(.table == "stalls") | .scanned_pages] | add' \
		"$BATS_TEST_TMPDIR/reclaim.json")
	echo "steps $steps reclaim $theirs; scanned $scanned reclaim $their_scanned"
	[ "$steps" -gt 0 ]
	[ "$steps" -eq "$theirs" ]
	[ "$scanned" -eq "$their_scanned" ]
	[ "$(report '[.rows[] | select(.table == "stalls") | .count] | add')" -le "$steps" ]
	[ "$(report .lost.stalls)" -eq 0 ]
}

@test "stalls: two tasks at once, each stall by itself" {
	memwhy_start stalls -c dd --each
	in_small_cgroup 1 3>&- &
	first=$!
	in_small_cgroup 2
	wait "$first"
	memwhy_stop
	[ "$(report '[.rows[].pid] | unique | length')" -eq 2 ]
	# steps lie within their stall
	[ "$(report '[.rows[] | select(.reclaim_ns + .compaction_ns > .duration_ns)] | length')" -eq 0 ]
	[ "$(report '[.rows[] | select(.steps == 0 or .story == "")] | length')" -eq 0 ]
	# the stalls of a thread do not overlap, and lie in the interval
	[ "$(report '[.rows | group_by(.tid)[] | sort_by(.time_ns) | . as $r | range(1; length)
		| select($r[.].time_ns < $r[. - 1].time_ns + $r[. - 1].duration_ns)] | length')" -eq 0 ]
	[ "$(report '[.rows[] | select(.time_ns <= 0)] | length')" -eq 0 ]
	[ "$(report '.events.stalls + .lost.stalls')" -eq "$(report '.rows | length')" ]
}

@test "stalls: a tiny ring loses records, and says how many" {
	memwhy_start stalls -c dd --each --ring-size 4096
	in_small_cgroup
	memwhy_stop
	rows=$(report '.rows | length')
	lost=$(report .lost.stalls)
	echo "rows $rows delivered $(report .events.stalls) lost $lost"
	[ "$rows" -eq "$(report .events.stalls)" ]
	[ $((rows + lost)) -gt 0 ]
}

@test "stalls: --min leaves the short ones out" {
	memwhy_start stalls -c dd --each --min 1h
	in_small_cgroup
	memwhy_stop
	[ "$(report '.rows | length')" -eq 0 ]
	[ "$(report .events.stalls)" -eq 0 ]
}

@test "stalls: the stack is the code that allocates" {
	memwhy_start stalls -c dd --stacks=kernel
	in_small_cgroup
	memwhy_stop
	# from the function with the tracepoint on: nothing of ours, or of who calls us, comes before it
	jq -e '[.rows[] | select(.kind == "charge" and .stack) | .stack[0]] | length > 0 and
		all(startswith("try_to_free_mem_cgroup_pages"))' "$json"
}

@test "stalls: steps equal allocstall, compact_stall, pgscan and pgsteal" {
	[ -n "$MEMWHY_VM" ] || skip "makes memory run out: only in a guest of its own (make check-vm)"
	tests/workloads/stalls_verify "$MEMWHY" reclaim "$WORKLOADS/reclaim_global" -t 8
	tests/workloads/stalls_verify "$MEMWHY" compaction tests/workloads/stalls_huge "$WORKLOADS/frag_pin"
	tests/workloads/stalls_verify "$MEMWHY" compaction --each tests/workloads/stalls_huge "$WORKLOADS/frag_pin"
}
