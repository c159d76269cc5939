#!/usr/bin/env bats
# ./demo as a newcomer runs it: what it shows, that its advice helped, and that nothing outlives it.
# bats file_tags=host
load common

setup() {
	needs_root
	cd "$BATS_TEST_DIRNAME/../.." || return
	made >"$BATS_TEST_TMPDIR/before"
}

made() { # cgroups and directories
	find /sys/fs/cgroup build -maxdepth 2 \( -name 'memwhy-demo-*' -o -path 'build/demo*' \) | sort
}

# What was there before, of a ./demo that was killed, is not ours.
something_left() {
	made | comm -13 "$BATS_TEST_TMPDIR/before" - | grep .
}

@test "demo: the advice of the finding helps by its own measure, and is undone" {
	run timeout 180 ./demo
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"hits its memory limit of 96.0 MiB"* ]]
	[[ $output == *"explains "*" % of the "* ]]
	[[ $output =~ \$\ echo\ [0-9]+\ \>\ [^$'\n']*/memory\. ]]
	[[ $output == *'$ memwhy check --for 30s -g '* ]]
	read -r before after undone < <(awk '/^thousand pages that the reader gets a second/ { print $(NF - 2), $(NF - 1), $NF }' <<<"$output")
	[ "$after" -gt $((2 * before)) ]
	[ "$after" -gt $((2 * undone)) ]
	! something_left || false
	[[ $output == *"demo-report.html ("* ]]
	grep -q 'hits its memory limit' demo-report.html
}

@test "demo: interrupted, it leaves no process, no group and no file" {
	for after in 3 9; do
		status=0
		timeout -s INT "$after" ./demo >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- || status=$?
		[ "$status" -eq 124 ]
		! something_left || false
		! ps -eo stat=,comm= | grep -v '^Z' | grep -E ' demo-(reader|leaker)' || false
	done
}

@test "demo serve: the metrics and the incident tell of a kill, and nothing is left" {
	run timeout 120 ./demo serve
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *'"event":"oom_kill","comm":"oom_grow"'* ]]
	[[ $output == *'memwhy_oom_kills_total '[1-9]* ]]
	[[ $output == *'CRITICAL'*'OOM killer'* ]]
	! something_left || false
}
