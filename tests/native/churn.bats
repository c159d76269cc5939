#!/usr/bin/env bats
# Two thousand processes a second, each with its own keys in every table: nothing is lost for want of
# room, since tables are drained before they are full. They run where memwhy leaves them time, and
# only theirs is counted: how busy the machine is does not matter.
# bats file_tags=host
load common

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR" || return 1
	nice -n 19 "$WORKLOADS/forks" 2000 60 3>&- &
	forks=$!
}

teardown() {
	kill "$forks" || true
}

# none_lost JSON: no probe lost an event because a table or the ring was full
none_lost() {
	jq -c '[.events, .lost, .lost_reasons, .notes]' "$1"
	jq -e '[(.lost_reasons // {})[] | select(test("full"))] == []' "$1"
	jq -e '.events | add > 1000' "$1"
}

@test "churn: faults and slab by code path, check: nothing is lost for want of room" {
	for words in "faults --stacks" "slab --stacks" check; do
		# shellcheck disable=SC2086 # words
		"$MEMWHY" $words -c forks --for 3s -o json --limit 1 --out report.json
		none_lost report.json
	done
}

@test "churn: nor in a recording" {
	"$MEMWHY" record r.mw -c forks --for 3s
	"$MEMWHY" faults --input r.mw -o json --limit 1 --out report.json
	none_lost report.json
}
