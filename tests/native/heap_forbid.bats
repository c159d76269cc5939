#!/usr/bin/env bats
# Programs that forbid themselves system calls or the time stamp counter, under `heap -- CMD`: they
# end as they do without memwhy, and what cannot be told is counted as lost.
# bats file_tags=beside,host
load common

setup() {
	cd "$BATS_TEST_TMPDIR"
	work=$WORKLOADS/forbid
	"$work" none >out || skip "no programs under test"
}

# runs_well MODE...: as without memwhy, where it runs; $json: the report.
runs_well() {
	json=report.json
	"$work" "$@" >out 2>err || skip "this kernel or C library does not allow it: $*"
	timeout 60 "$MEMWHY" heap -o json --out "$json" -- sh -c '"$@"; echo "status $?"' - "$work" "$@" \
		>out 2>err
	[ "$(cat out err)" = $'done\nstatus 0' ] || { cat out err; return 1; }
}

# The sums of the program's processes.
sums() { # FIELD...
	jq -r '[.rows[] | select(.table == "process" and .comm == "forbid")] as $p |
		[$ARGS.positional[] as $f | [$p[][$f]] | add] | @tsv' "$json" --args "$@"
}

@test "heap: a program whose filter lets only its own calls through" {
	for how in prctl syscall coroutine; do
		runs_well "$how"
		read -r allocations lost < <(sums allocations lost)
		# Some ten milliseconds it waits for who reads, and counts what had no room after that.
		[ "$allocations" -ge 100 ]
		[ "$allocations" -le 400510 ]
		[ "$lost" -gt 0 ] || [ "$allocations" -ge 400100 ]
	done
}

# goes_on_stopped MODE: memwhy is stopped before the filter is installed, for two seconds.
goes_on_stopped() {
	timeout 60 "$MEMWHY" heap -o json --out report.json -- sh -c '
		(sleep 2; kill -CONT $PPID) 3>&- &
		"$1" "$2" $PPID; echo "status $?"; wait' - "$work" "$1" >out 2>err
	[ "$(cat out err)" = $'done\nstatus 0' ] || { cat out err; return 1; }
	json=report.json
	read -r allocations frees lost < <(sums allocations frees lost)
}

@test "heap: a program with such a filter goes on while memwhy is stopped, and what is lost is counted" {
	# Seen or lost, nothing is counted twice: 400,000 blocks, and what the start takes.
	goes_on_stopped prctl
	[ "$lost" -gt 1000 ]
	[ $((allocations + frees + lost)) -ge 800000 ]
	[ $((allocations + frees + lost)) -le 801000 ]
	# Nor are times, which events of threads have: 300,000 blocks.
	goes_on_stopped threads
	[ "$lost" -gt 1000 ]
	[ $((allocations + frees + lost)) -ge 600000 ]
	[ $((allocations + frees + lost)) -le 605000 ]
}

@test "heap: threads and forks of a program with a filter" {
	runs_well threads
	read -r allocations lost < <(sums allocations lost)
	[ "$allocations" -gt 100000 ] || [ "$lost" -gt 0 ]
}

@test "heap: a program that was begun with a filter is not made to call anything" {
	runs_well exec "$work" none
	# Only what it was before the exec.
	[ "$(sums allocations)" -eq 100 ]
}

@test "heap: under a filter that memwhy has too all is told of" {
	"$work" allow "$MEMWHY" heap -o json --out report.json -- "$work" none >out
	json=report.json
	[ "$(sums allocations lost)" = $'400100\t0' ]
}

@test "heap: a program that only asks whether there are filters is followed as ever" {
	runs_well probe
	read -r allocations lost < <(sums allocations lost)
	[ "$allocations" -ge 301100 ]
	[ "$lost" -eq 0 ]
}

@test "heap: the strict mode, and a program of one thread without the counter" {
	runs_well strict
	[ "$(sums allocations)" -gt 100 ]
}

@test "heap: threads that must not read the time stamp counter" {
	for how in tsc tsc-late; do
		runs_well "$how"
		# They cannot be put in order: it is said that this is not all.
		[ "$(sums lost)" -gt 0 ]
	done
}

# What only a BPF program notices. Once it has, no call waits for a full ring: what does not fit is lost, and counted.
@test "heap: a filter that the program's own instruction installs, in a program of one thread" {
	for how in own own-first; do
		runs_well "$how"
		read -r allocations lost < <(sums allocations lost)
		[ $((allocations + lost)) -ge 400000 ]
		[ $((allocations + lost)) -le 400600 ]
		[ "$allocations" -ge 100 ]
	done
}

@test "heap: a filter that the program's own instruction installs, in one of its threads" {
	for how in own-thread own-thread-first own-threads; do
		runs_well "$how"
		read -r allocations lost < <(sums allocations lost)
		[ $((allocations + lost)) -ge 300000 ]
	done
}

@test "heap: a filter that the program's own instruction gives to all threads while these allocate" {
	for _ in 1 2 3 4 5; do
		runs_well own-sync
		read -r allocations lost < <(sums allocations lost)
		[ $((allocations + lost)) -ge 600000 ]
	done
}

@test "heap: forks with a filter of their own do not keep the program from waiting" {
	runs_well own-forks
	# No event of the program itself is lost, though more of its forks had filters than there are places for marks.
	jq -e '[.rows[] | select(.table == "process" and .comm == "forbid" and .allocations >= 400000)] | length == 1 and .[0].lost == 0' "$json"
	# They are followed, with no call to ask who they are.
	[ "$(jq '[.rows[] | select(.table == "process" and .comm == "forbid" and .allocations + .lost == 2000)] | length' "$json")" -eq 300 ]
}

@test "heap: what a program with a filter of its own executes" {
	runs_well own-exec "$work" none
	[ "$(sums allocations)" -eq 100 ]
	runs_well own-vfork "$work" none
	# That one knows that it has a filter, and asks nothing as it executes the next.
	runs_well own-exec "$work" exec "$work" none
}

@test "heap: a program with such a filter waits for a memwhy that is stopped, and goes on without it" {
	# For two seconds it waits: memwhy may be back by then.
	goes_on_stopped own
	[ $((allocations + frees + lost)) -ge 800000 ] ||
		jq -e '[.notes[] | select(test("went on without memwhy"))] | length > 0' "$json"
}
