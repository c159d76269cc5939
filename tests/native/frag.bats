#!/usr/bin/env bats
# Fragmentation against the kernel's own files, on this kernel.
load common

setup() {
	needs_root
}

# The kernel's values as "node zone order value", one a line; value in 1/1000.
kernel_index() { # FILE
	awk '{ gsub(/,/, "", $2); for (i = 5; i <= NF; i++) {
		v = $i; sub(/0\.-/, "-0.", v); printf "%d %s %d %.0f\n", $2, $4, i - 5, v * 1000 } }' \
		"/sys/kernel/debug/extfrag/$1" | sort
}

our_index() { # FIELD
	jq -r ".rows[] | select(.table == \"zones\" and .$1 != null) |
		\"\(.node) \(.zone) \(.order) \(.$1)\"" "$BATS_TEST_TMPDIR/o" | sort
}

# Both move all the time: compared where the kernel said the same before and after ours.
@test "frag: both indices equal /sys/kernel/debug/extfrag" {
	[ -r /sys/kernel/debug/extfrag/extfrag_index ] || skip "debugfs is not mounted"
	for try in $(seq 30); do
		before=$(kernel_index extfrag_index; kernel_index unusable_index)
		"$MEMWHY" frag --for 1ms -o json --out "$BATS_TEST_TMPDIR/o"
		after=$(kernel_index extfrag_index; kernel_index unusable_index)
		[ "$before" = "$after" ] || continue
		ours=$(our_index index_permille; our_index unusable_permille)
		[ "$ours" = "$after" ] && return 0
	done
	diff <(echo "$ours") <(echo "$after")
}

@test "frag: free blocks are /proc/buddyinfo's" {
	for try in $(seq 30); do
		before=$(cat /proc/buddyinfo)
		"$MEMWHY" frag --for 1ms -o json --out "$BATS_TEST_TMPDIR/o"
		[ "$before" = "$(cat /proc/buddyinfo)" ] || continue
		kernel=$(awk '{ sub(/,/, "", $2); for (i = 5; i <= NF; i++) print $2, $4, i - 5, $i }' \
			/proc/buddyinfo | sort)
		ours=$(jq -r '.rows[] | select(.table == "zones") | "\(.node) \(.zone) \(.order) \(.free_blocks)"' \
			"$BATS_TEST_TMPDIR/o" | sort)
		[ "$ours" = "$kernel" ] && return 0
	done
	diff <(echo "$ours") <(echo "$kernel")
}

@test "frag: events seen = delivered + lost" {
	run --separate-stderr "$MEMWHY" frag -o json --out "$BATS_TEST_TMPDIR/o" -- true
	[ "$status" -eq 0 ]
	jq -e '.events.frag >= 0 and .lost.frag == 0 and .methods.frag != null' "$BATS_TEST_TMPDIR/o"
}

@test "frag: without privilege the free lists are still told" {
	chmod 755 "$BATS_TEST_TMPDIR"
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$MEMWHY" frag --for 100ms -o json
	[ "$status" -eq 0 ] || skip "this kernel hides /proc/buddyinfo: $output"
	jq -e '[.rows[] | select(.table == "zones")] | length > 0' <<<"$output"
}
