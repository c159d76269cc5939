#!/usr/bin/env bats
# Where the kernel withholds its symbols, none of its addresses is shown, and that is told.
load common

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR" || return 1
	restrict=$(cat /proc/sys/kernel/kptr_restrict)
	echo 2 >/proc/sys/kernel/kptr_restrict
}

teardown() {
	echo "$restrict" >/proc/sys/kernel/kptr_restrict
	common_teardown
}

# withheld COMMAND...: it reports, names nothing of the kernel, and shows no address of it.
withheld() {
	for o in text json csv; do
		rm -f report.$o # not known as ours where files have no attributes
		"$MEMWHY" "$@" -o $o --out report.$o -- ls -R /proc/self >/dev/null
		run -1 grep -E 'ffff[0-9a-f]{8}' report.$o
	done
	jq -r '.notes[]' report.json
	jq -e '[.. | strings | select(. == "(no symbol)")] | length > 0' report.json
	jq -e 'any(.notes[]; test("hides the addresses of its functions.*kptr_restrict below 2"))' report.json
}

@test "symbols withheld: slab" {
	withheld slab
}

@test "symbols withheld: pages" {
	withheld pages --by stack --stacks=kernel
}

@test "symbols withheld: count" {
	withheld count kmem:mm_page_alloc --by stack --stacks=kernel
	withheld count kmem:kmem_cache_alloc --by call_site
}

@test "symbols withheld: faults" {
	withheld faults --stacks
}

# bats test_tags=host
@test "symbols withheld: -o folded, and a recording of them" {
	"$MEMWHY" pages --by stack --stacks=kernel --record log -o folded --out report -- ls -R /proc/self >/dev/null
	grep -q 'no.symbol' report
	run -1 grep -E 'ffff[0-9a-f]{8}' report
	"$MEMWHY" pages --by stack --stacks=kernel --input log >report
	run -1 grep -E 'ffff[0-9a-f]{8}' report
}

@test "symbols withheld: -v shows addresses" {
	"$MEMWHY" pages --by stack --stacks=kernel -v --out report -- ls -R /proc/self >/dev/null 2>&1
	grep -Eq 'ffff[0-9a-f]{8}' report
}

@test "symbols are shown again" {
	echo 0 >/proc/sys/kernel/kptr_restrict
	"$MEMWHY" pages --by stack --stacks=kernel -o json --out report.json -- ls -R /proc/self
	jq -e 'any(.rows[]; .stack // [] | tostring | test("alloc"))' report.json
	jq -e 'all(.notes[]?; test("kptr_restrict") | not)' report.json
}
