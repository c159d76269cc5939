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
		<("$with_kernelfs" cat "/sys/kernel/debug/extfrag/$1") | sort
}

our_index() { # FIELD
	jq -r ".rows[] | select(.table == \"zones\" and .$1 != null) |
		\"\(.node) \(.zone) \(.order) \(.$1)\"" "$BATS_TEST_TMPDIR/o" | sort
}

# agree KERNEL OURS: free memory moves all the time, so lines count where the kernel said the same
# before and after memwhy looked; there are some, and memwhy said the same of each. Tried again
# until memory stands still long enough.
agree() {
	for try in $(seq 40); do
		before=$($1)
		"$MEMWHY" frag --for 1ms -o json --out "$BATS_TEST_TMPDIR/o"
		steady=$(comm -12 <(sort <<<"$before") <($1 | sort))
		[ "$(grep -c . <<<"$steady")" -ge 10 ] || continue
		wrong=$(comm -23 <(echo "$steady") <($2 | sort))
		[ -z "$wrong" ] && return 0
	done
	echo "steady: $(grep -c . <<<"$steady"), of these not as memwhy said: $wrong"
	return 1
}

kernel_indices() {
	kernel_index extfrag_index | sed 's/^/index /'
	kernel_index unusable_index | sed 's/^/unusable /'
}

our_indices() {
	our_index index_permille | sed 's/^/index /'
	our_index unusable_permille | sed 's/^/unusable /'
}

@test "frag: both indices equal /sys/kernel/debug/extfrag" {
	"$with_kernelfs" test -r /sys/kernel/debug/extfrag/extfrag_index || skip "the kernel has no extfrag"
	agree kernel_indices our_indices
}

kernel_blocks() {
	awk '{ sub(/,/, "", $2); for (i = 5; i <= NF; i++) print $2, $4, i - 5, $i }' /proc/buddyinfo
}

our_blocks() {
	jq -r '.rows[] | select(.table == "zones") | "\(.node) \(.zone) \(.order) \(.free_blocks)"' \
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

@test "frag: without privilege the free lists are still told" {
	chmod 755 "$BATS_TEST_TMPDIR"
	as_nobody cat /proc/buddyinfo >/dev/null || skip "this kernel hides /proc/buddyinfo"
	run as_nobody "$MEMWHY" frag --for 100ms -o json
	[ "$status" -eq 3 ]
	[[ $output == *INCOMPLETE* ]]
	jq -e '[.rows[] | select(.table == "zones")] | length > 0' <<<"$output"
}
