#!/usr/bin/env bats
# check of some tasks or a group, live and of a recording: others' troubles stand elsewhere.

# bats file_tags=host
load common
. "$BATS_TEST_DIRNAME/../zoo/zoo.bash"

setup() {
	needs_root
	[ -e $zoo_memory/memory.limit_in_bytes ] || skip "needs the memory controller of cgroup v1"
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	scratch=$BATS_TEST_TMPDIR zoo_pid= zoo_cgroup= bystander=
	report=$scratch/report
}

teardown() {
	[ -z "${zoo_pid-}" ] || zoo_stop
	[ -z "${bystander-}" ] || kill "$bystander"
}

# check ARGS...: its status is in $status, its report in $report.
look() {
	status=0
	timeout 60 "$MEMWHY" check -q --fail-on warning -o json --out "$report" "$@" 3>&- || status=$?
}

# Of the group that suffers, in findings or elsewhere.
told() { # findings|elsewhere
	jq -e --arg part "$1" '[.[$part][]? | select((.level == "warning" or .level == "critical") and
		(.title + (.evidence | join(" ")) | test("zoo-evicted-index")))] | length > 0' "$report"
}

not_told() {
	run told "$1"
	[ "$status" -eq 1 ]
}

@test "check: a group in trouble is the finding of itself, and elsewhere for a bystander" {
	zoo_start tests/zoo/evicted-index.c
	sleep 1000 3>&- &
	bystander=$!
	group=${zoo_cgroup#"$zoo_memory"}

	look --for 5s -g "$group"
	[ "$status" -eq 1 ]
	told findings
	not_told elsewhere

	look --for 5s -p "$bystander"
	[ "$status" -eq 0 ]
	jq -e '.findings == []' "$report"
	jq -e '.verdict | test("^Nothing is wrong with memory in what was asked for")' "$report"
	told elsewhere

	timeout 60 "$MEMWHY" check -q --for 5s --record "$scratch/log" >"$scratch/text" 3>&-
	look --input "$scratch/log" -p "$bystander"
	[ "$status" -eq 0 ]
	not_told findings
	told elsewhere
	timeout 60 "$MEMWHY" check -q --input "$scratch/log" -p "$bystander" >"$scratch/text"
	grep -q '^ELSEWHERE ON THIS MACHINE$' "$scratch/text"
	look --input "$scratch/log" -g "$group"
	[ "$status" -eq 1 ]
	told findings
	look --input "$scratch/log"
	[ "$status" -eq 1 ]
	told findings
	not_told elsewhere
}
