#!/usr/bin/env bats
# Compaction against /proc/vmstat and /proc/zoneinfo, on this kernel.
load common

setup() {
	needs_root
	[ -w /proc/sys/vm/compact_memory ] || skip "this kernel cannot compact on request"
}

rows() { # JQ-CONDITION: how many
	jq "[.rows[] | select($1)] | length" "$json"
}

compact() {
	echo 1 >/proc/sys/vm/compact_memory
}

# Zones with pages, which are compacted one after the other.
populated_zones() {
	awk '$1 == "present" && $2 > 0' /proc/zoneinfo | wc -l
}

vmstat() {
	awk -v name="$1" '$1 == name { print $2 }' /proc/vmstat
}

@test "compaction: what compact_memory does is counted by zone, as requested, and to its writer" {
	memwhy_start compaction --by process,kind,zone,node,order,mode,status
	compact
	memwhy_stop
	mine=".table == \"compaction\" and .kind == \"requested\" and .pid == $$"
	jq -c '.rows[]' "$json"
	[ "$(rows "$mine")" -eq "$(populated_zones)" ]
	# contended: a lock was taken
	[ "$(rows "$mine and (.status | IN(\"complete\", \"contended\")) and .mode == \"sync\" and .order == -1")" -eq "$(populated_zones)" ]
	[ "$(rows "$mine and .success_ratio != null")" -eq 0 ]
	[ "$(jq .lost.compaction "$json")" -eq 0 ]
}

@test "compaction: pages scanned and isolated are those that the kernel counts" {
	outer_scanned=$(vmstat compact_migrate_scanned) outer_free=$(vmstat compact_free_scanned)
	outer_isolated=$(vmstat compact_isolated)
	memwhy_start compaction
	inner_scanned=$(vmstat compact_migrate_scanned) inner_free=$(vmstat compact_free_scanned)
	inner_isolated=$(vmstat compact_isolated)
	compact
	inner_scanned=$(($(vmstat compact_migrate_scanned) - inner_scanned))
	inner_free=$(($(vmstat compact_free_scanned) - inner_free))
	inner_isolated=$(($(vmstat compact_isolated) - inner_isolated))
	memwhy_stop
	outer_scanned=$(($(vmstat compact_migrate_scanned) - outer_scanned))
	outer_free=$(($(vmstat compact_free_scanned) - outer_free))
	outer_isolated=$(($(vmstat compact_isolated) - outer_isolated))
	scanned=$(jq '[.rows[] | select(.table == "compaction") | .migrate_scanned_pages] | add // 0' "$json")
	free=$(jq '[.rows[] | select(.table == "compaction") | .free_scanned_pages] | add // 0' "$json")
	isolated=$(jq '[.rows[] | select(.table == "compaction") | .isolated_pages] | add // 0' "$json")
	echo "scanned $inner_scanned <= $scanned <= $outer_scanned, free $inner_free <= $free <=" \
		"$outer_free, isolated $inner_isolated <= $isolated <= $outer_isolated"
	[ "$inner_scanned" -gt 0 ]
	[ "$scanned" -ge "$inner_scanned" ]
	[ "$scanned" -le "$outer_scanned" ]
	[ "$free" -ge "$inner_free" ]
	[ "$free" -le "$outer_free" ]
	[ "$isolated" -ge "$inner_isolated" ]
	[ "$isolated" -le "$outer_isolated" ]
}

@test "compaction: --each has a row a run, with the watermarks of its zone" {
	memwhy_start compaction --each
	compact
	memwhy_stop
	jq -c '.rows[]' "$json"
	[ "$(rows ".table == \"run\" and .pid == $$ and .kind == \"requested\"")" -eq "$(populated_zones)" ]
	[ "$(rows '.duration_ns <= 0 or .cpu_ns > .duration_ns')" -eq 0 ]
	[ -r /sys/kernel/btf/vmlinux ] || skip "without kernel BTF there are no watermarks"
	[ "$(rows '.free_pages == null')" -eq 0 ]
	# the high watermark of each zone, as zoneinfo has it (boosted, it is above)
	for zone in $(jq -r '.rows[] | select(.node == 0) | .zone' "$json" | sort -u); do
		high=$(awk -v z="$zone" '$1 == "Node" { on = $2 == "0," && $4 == z }
			on && $1 == "high" { print $2; exit }' /proc/zoneinfo)
		[ "$(rows ".node == 0 and .zone == \"$zone\" and .high_pages < $high")" -eq 0 ]
	done
}

@test "compaction: seen = delivered + lost with a tiny ring" {
	memwhy_start compaction --each --ring-size 4096
	kill -STOP "$memwhy" # it would keep up
	for _ in $(seq 20); do compact; done
	kill -CONT "$memwhy"
	memwhy_stop
	delivered=$(jq .events.compaction "$json") lost=$(jq .lost.compaction "$json")
	runs=$(rows '.table == "run"') began=$((20 * $(populated_zones)))
	echo "delivered $delivered, lost $lost, rows $runs, runs at least $began"
	[ "$lost" -gt 0 ]
	[ $((runs + lost)) -ge "$began" ]
	# the begin of each run is an event too, and is in a table
	[ $((delivered + lost)) -ge $((2 * began)) ]
	[ $((delivered - runs)) -ge $((runs + lost)) ]
}

@test "compaction: the scope and --min hold" {
	memwhy_start compaction -c nobody-has-this
	compact
	memwhy_stop
	[ "$(rows '.table == "compaction"')" -eq 0 ]
	memwhy_start compaction --each --min 1h
	compact
	memwhy_stop
	[ "$(rows '.table == "run"')" -eq 0 ]
}

@test "compaction: --stacks names the path from the write to compact_zone" {
	memwhy_start compaction --stacks=kernel
	compact
	memwhy_stop
	[ "$(rows '.kind == "requested" and (.stack | tostring | test("compact_(node|zone)"))')" -ge 1 ]
}

# bats test_tags=host
@test "compaction: --like compactsnoop prints that tool's columns" {
	memwhy_run compaction --like compactsnoop
	compact
	memwhy_stop
	cat "$lines"
	[ "$(head -1 "$lines")" = "COMM           PID    NODE ZONE         ORDER MODE      LAT(ms)           STATUS" ]
	[ "$(awk -v pid=$$ '$2 == pid && $4 ~ /^ZONE_/ && $5 == -1 && $6 == "SYNC" && $8 ~ /^(complete|contended)$/' "$lines" | wc -l)" -eq "$(populated_zones)" ]
}

# bats test_tags=host
@test "compaction: a recording gives the same report" {
	"$MEMWHY" compaction --record "$BATS_TEST_TMPDIR/log" --for 1s >"$BATS_TEST_TMPDIR/live" 3>&- &
	memwhy=$!
	wait_for memwhy_attached
	compact
	wait "$memwhy"
	"$MEMWHY" compaction --input "$BATS_TEST_TMPDIR/log" | diff "$BATS_TEST_TMPDIR/live" -
}

@test "compaction: stalls, success, pages and wakes equal the kernel's counters" {
	[ -n "$MEMWHY_VM" ] || skip "makes memory run out: only in a guest of its own (make check-vm)"
	cd "$BATS_TEST_DIRNAME/../.."
	tests/workloads/compaction_verify "$MEMWHY" tests/workloads/compaction_make "$WORKLOADS"
}
