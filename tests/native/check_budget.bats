#!/usr/bin/env bats
# check keeps to its budget of CPU time and memory whatever is on the host: here 5,000 processes and
# 2,000 control groups, and groups that come and go. The bounds are several times what it takes on an idle machine.

# bats file_tags=host
load common

CROWD=5000 GROUPS_MADE=2000

setup() {
	needs_root
	base=/sys/fs/cgroup/memory/check-budget-$$ pid=
	[ -e /sys/fs/cgroup/memory/memory.limit_in_bytes ] ||
		skip "needs the memory controller of cgroup v1"
	[ "$(ulimit -u)" = unlimited ] || [ "$(ulimit -u)" -gt $((2 * CROWD)) ] ||
		skip "fewer than $((2 * CROWD)) processes are allowed"
	[ "$(awk '/MemAvailable/ { print $2 }' /proc/meminfo)" -gt 3000000 ] || skip "needs 3 GB"
}

teardown() {
	[ -z "${pid-}" ] || kill "$pid"
	[ -z "${pid-}" ] || wait "$pid" || true
	[ -d "${base-/nowhere}" ] && find "$base" -depth -type d -exec rmdir {} +
}

@test "check: CPU time and memory stay within the budget on a crowded host" {
	mkdir "$base"
	(cd "$base" && seq $GROUPS_MADE | xargs mkdir)
	"$WORKLOADS/crowd" $CROWD >"$BATS_TEST_TMPDIR/says" 3>&- &
	pid=$!
	for i in {1..400}; do
		[ ! -s "$BATS_TEST_TMPDIR/says" ] || break
		sleep 0.1
	done
	[ -s "$BATS_TEST_TMPDIR/says" ] || skip "$CROWD processes take more than 40 s here"
	timeout 60 "$MEMWHY" check -q --for 4s -o json --out "$BATS_TEST_TMPDIR/report" 3>&-
	jq -c .cost "$BATS_TEST_TMPDIR/report"
	jq -e '.cost | .cpu_seconds < 5 and .rss_bytes < 100e6' "$BATS_TEST_TMPDIR/report"
	# What it left out for that is said, and who has so many processes.
	jq -e --arg pid $pid '[.findings[].title | select(test("crowd \\(pid " + $pid +
		"\\) has (at least )?[0-9]+ child processes"))] | length == 1' \
		"$BATS_TEST_TMPDIR/report"
}

# Each runs a program in a group that is removed at once: its id is never found again.
groups_come_and_go() {
	local g n=0
	while :; do
		g=$base/job$((n += 1))
		mkdir "$g"
		(echo "$BASHPID" >"$g/cgroup.procs" && exec true)
		rmdir "$g" || true # which it is still leaving
	done
}

@test "check: ends in time, and at a signal, while control groups come and go" {
	mkdir "$base"
	(cd "$base" && seq $GROUPS_MADE | xargs mkdir)
	groups_come_and_go 3>&- 2>/dev/null &
	pid=$!
	timeout -k 1 60 "$MEMWHY" check -q --for 4s -o json --out "$BATS_TEST_TMPDIR/report" 3>&-
	jq -e '.interval.seconds < 20 and .cost.cpu_seconds < 5' "$BATS_TEST_TMPDIR/report" ||
		{ jq -c '[.interval, .cost]' "$BATS_TEST_TMPDIR/report" && false; }
	memwhy_start check -q --for 600s
	sleep 2
	kill -TERM "$memwhy"
	wait_for '! kill -0 "$memwhy" 2>/dev/null'
	rc=0
	wait "$memwhy" || rc=$?
	echo "ended with $rc"
	[ "$rc" -eq 130 ]
	jq -e '.cost' "$json"
}
