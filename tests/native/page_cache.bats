#!/usr/bin/env bats
# Who pushes whose files out of the page cache: check names both, and what it says to try ends it.

# bats file_tags=host
load common
. "$BATS_TEST_DIRNAME/../zoo/zoo.bash"

setup() {
	[ "$(id -u)" -eq 0 ] || skip "needs root to load BPF programs"
	[ -e $zoo_memory/memory.limit_in_bytes ] || skip "needs the memory controller of cgroup v1"
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	scratch=$BATS_TEST_TMPDIR zoo_pid= zoo_cgroup= own=
}

teardown() {
	[ -z "${zoo_pid-}" ] || zoo_stop
	[ -z "${own-}" ] || rmdir "$own"
}

look() {
	timeout 60 "$MEMWHY" check -q --for 6s -o json --out "$scratch/report" 3>&-
}

blamed() { # the finding that names the reader
	jq -e 'first(.findings[] | select(.rule == "page-cache" and (.title | test("^batch-scan"))))' \
		"$scratch/report"
}

@test "a reader that pushes a working set out is named with its victim; alone in a group it harms nobody" {
	zoo_start tests/zoo/evicted-index.c
	look
	blamed | jq -e '(.title | test("working set of evicted-index")) and
		(.level != "note") and (.evidence | any(test("^hence: cgroup .* hits its memory limit")))'
	jq -e '[.findings[] | select(.rule == "cgroup-limit" and (.title | test("zoo-evicted")))] == []' \
		"$scratch/report"

	own=$zoo_memory/zoo-own-$$
	mkdir "$own"
	echo 64M >"$own/memory.limit_in_bytes"
	pgrep -g "$zoo_pid" batch-scan >"$own/cgroup.procs"
	sleep 3 # until the index is back
	look
	run blamed
	[ "$status" -ne 0 ]
}

@test "where --for: who pushes whose files out, as often as the kernel counts it" {
	zoo_start tests/zoo/evicted-index.c
	refaults() {
		awk '$1 == "workingset_refault_file" { print $2 }' "$zoo_cgroup/memory.stat"
	}
	before=$(refaults)
	timeout 60 "$MEMWHY" where -q -g "${zoo_cgroup#"$zoo_memory"}" --for 12s -o json --out "$scratch/report" 3>&-
	counted=$((($(refaults) - before) * 4096))
	jq -c '.rows[] | select(.table == "evictions")' "$scratch/report"
	jq -e '[.rows[] | select(.table == "evictions" and .victim == "evicted-index")] | max_by(.read_back_bytes) |
		(.evictor | test("^(batch-scan|kswapd)")) and .after_ns > 0 and (.cgroup | test("zoo"))' "$scratch/report"
	got=$(jq '[.rows[] | select(.table == "evictions") | .read_back_bytes] | add' "$scratch/report")
	echo "read back $got, the kernel counts $counted"
	# What was pushed out before is not known to have come back: here what came within two seconds.
	[ "$got" -gt $((counted * 6 / 10)) ]
	[ "$got" -lt $((counted * 11 / 10)) ]
}
