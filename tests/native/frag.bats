#!/usr/bin/env bats
# Fragmentation against the kernel's own files, on this kernel.
load common

setup() {
	needs_root
}

# The reports that have come.
reports() {
	grep -c '"end":true' "$lines" || true
}

# agree KERNEL OURS: free memory moves all the time, so lines count where the kernel said the same
# before and after memwhy looked; there are some, and memwhy said the same of each. Tried again
# until memory stands still long enough. memwhy runs meanwhile: its own memory is taken both times.
agree() {
	memwhy_run frag -i 200ms -o jsonl
	for try in $(seq 40); do
		had=$(reports)
		before=$($1)
		wait_for '[ "$(reports)" -gt "$had" ]'
		steady=$(comm -12 <(sort <<<"$before") <($1 | sort))
		[ "$(grep -c . <<<"$steady")" -ge 10 ] || continue
		awk '{ all = all $0 "\n" } /"end":true/ { last = all; all = "" } END { printf "%s", last }' "$lines" >"$BATS_TEST_TMPDIR/o"
		wrong=$(comm -23 <(echo "$steady") <($2 | sort))
		[ -z "$wrong" ] && break
	done
	memwhy_stop
	echo "steady: $(grep -c . <<<"$steady"), of these not as memwhy said: ${wrong=all}"
	[ -z "$wrong" ]
}

# "index node zone order value", one a line; value in 1/1000.
kernel_indices() {
	"$with_kernelfs" awk '{ gsub(/,/, "", $2); for (i = 5; i <= NF; i++) {
		v = $i; sub(/0\.-/, "-0.", v); printf "%s %d %s %d %.0f\n", what, $2, $4, i - 5, v * 1000 } }' \
		what=index /sys/kernel/debug/extfrag/extfrag_index what=unusable /sys/kernel/debug/extfrag/unusable_index
}

our_indices() {
	jq -r 'select(.table == "zones") | "\(.node) \(.zone) \(.order)" as $at |
		(select(.index_permille != null) | "index \($at) \(.index_permille)"),
		(select(.unusable_permille != null) | "unusable \($at) \(.unusable_permille)")' "$BATS_TEST_TMPDIR/o"
}

@test "frag: both indices equal /sys/kernel/debug/extfrag" {
	"$with_kernelfs" test -r /sys/kernel/debug/extfrag/extfrag_index || skip "the kernel has no extfrag"
	agree kernel_indices our_indices
}

kernel_blocks() {
	awk '{ sub(/,/, "", $2); for (i = 5; i <= NF; i++) print $2, $4, i - 5, $i }' /proc/buddyinfo
}

our_blocks() {
	jq -r 'select(.table == "zones") | "\(.node) \(.zone) \(.order) \(.free_blocks)"' \
		"$BATS_TEST_TMPDIR/o"
}

@test "frag: free blocks equal /proc/buddyinfo" {
	agree kernel_blocks our_blocks
}

@test "frag: events seen = delivered + lost" {
	run --separate-stderr "$MEMWHY" frag -o json --out "$BATS_TEST_TMPDIR/o" -- true
	[ "$status" -eq 0 ]
	jq -e '.events.frag >= 0 and .lost.frag == 0 and .methods.frag != null' "$BATS_TEST_TMPDIR/o"
}

# bats test_tags=host
@test "frag: without privilege the free lists are still told" {
	chmod 755 "$BATS_TEST_TMPDIR"
	as_nobody cat /proc/buddyinfo >/dev/null || skip "this kernel hides /proc/buddyinfo"
	run as_nobody "$MEMWHY" frag --for 100ms -o json
	[ "$status" -eq 3 ]
	[[ $output == *INCOMPLETE* ]]
	jq -e '[.rows[] | select(.table == "zones")] | length > 0' <<<"$output"
}
