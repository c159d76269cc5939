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
	jobs -p | xargs -r kill || true
}

# none_lost JSON: no probe lost an event because a table or the ring was full
none_lost() {
	jq -c '[.events, .lost, .lost_reasons, .notes]' "$1"
	jq -e '[(.lost_reasons // {})[] | select(test("full"))] == []' "$1"
	jq -e '.events | add > 1000' "$1"
	adds_up "$1"
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

# A build: programs that start others, each new to memwhy, as many at a time as it may.
@test "churn: nor in a build with eight jobs at a time" {
	kill "$forks"
	mkdir build
	for i in $(seq 64); do
		echo "#include <stdio.h>
		int main(void) { return printf(\"$i\\n\") < 0; }" >build/p$i.c
	done
	printf 'all: %s\n%%.out: %%.c\n\tcc -O1 -o $@ $< && ./$@\n' "$(printf 'p%d.out ' $(seq 64))" >build/Makefile
	for words in "faults --stacks" check; do
		rm -f build/*.out
		# shellcheck disable=SC2086 # words
		MAKEFLAGS= "$MEMWHY" $words -o json --limit 1 --out report.json -- make -s -j8 -C build >out
		[ "$(wc -l <out)" -eq 64 ]
		jq -e '[.lost[]] | add == 0' report.json || { jq -c '[.events, .lost, .lost_reasons]' report.json; false; }
		none_lost report.json
	done
}

# held_up OPTIONS NAMES: report.json of a reader that is held up, so that every table is full of processes
# that have ended, each with a name of its own if NAMES is names
held_up() {
	run -2 "$MEMWHY" faults --stacks --max-memory 1K
	least=$(grep -o -- '--max-memory [0-9]*K' <<<"$output")
	# shellcheck disable=SC2086 # words
	"$MEMWHY" faults --stacks $least $1 -o json --out report.json 3>&- &
	memwhy=$!
	wait_for memwhy_attached
	kill -STOP "$memwhy"
	wait_for 'made=$((${made:-0} + $("$WORKLOADS/forks" 5000 1 0 '"$2"'))); [ "$made" -gt 3000 ]'
	kill -CONT "$memwhy"
	kill -INT "$memwhy"
	wait "$memwhy" || [ $? -eq 130 ]
	jq -c '[.events, .lost, .lost_reasons, .notes]' report.json
	jq -e '.lost.faults == 0 and ([.rows[].count] | add) == .events.faults' report.json
	jq -e '[.notes[] | select(test("counted only by process name: table full: larger --max-memory"))] | length == 1' report.json
}

@test "churn: what no table has room for is counted by the names of processes" {
	held_up "-c forks" ""
	jq -e '[.rows[] | select(.pid == null and .comm == "forks") | .count] | add > 0' report.json
}

@test "churn: where even the names are too many, those that are left are one row" {
	held_up "" names
	jq -e '[.rows[] | select(.pid == null and .comm == null) | .count] | add > 0' report.json
}

# In KiB: what memwhy holds that is no file's.
held() {
	awk '/^RssAnon/ { print $2 }' "/proc/$memwhy/status"
}

@test "churn: what a burst of processes took is given back when they have ended" {
	memwhy_run faults --stacks -i 1s -c forks
	"$WORKLOADS/forks" 500 3 >out # names are read
	before=$(held)
	"$WORKLOADS/forks" 5000 2 3 >out 3>&- &
	burst=$!
	most=0
	# It may be given back as soon as the last of them has ended.
	while kill -0 "$burst" 2>/dev/null || [ "$most" -lt $((before + 8192)) ]; do
		now=$(held)
		most=$((now > most ? now : most))
		((++looks < 600)) || break
		sleep 0.05
	done
	wait "$burst"
	echo "$before, $most KiB"
	[ "$most" -gt $((before + 8192)) ]
	wait_for '[ "$(held)" -lt $((before + (most - before) / 4)) ]' || { echo "$before, $most, $(held) KiB"; false; }
	memwhy_stop
}
