#!/usr/bin/env bats
# ./demo as a newcomer runs it: what it shows, that its advice helped, and that nothing outlives it.
# bats file_tags=host
load common

setup() {
	needs_root
	cd "$BATS_TEST_DIRNAME/../.." || return
}

groups_left() {
	find /sys/fs/cgroup -maxdepth 2 -name 'memwhy-demo-*' | grep .
}

@test "demo: the advice of the finding helps by its own measure, and is undone" {
	! groups_left || false
	run timeout 180 ./demo
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"hits its memory limit of 96.0 MiB"* ]]
	[[ $output == *"explains "*" % of the "* ]]
	[[ $output =~ \$\ echo\ [0-9]+\ \>\ [^$'\n']*/memory\. ]]
	[[ $output == *'$ memwhy check --for 30s -g '* ]]
	read -r before after undone < <(awk '/^pages that the reader touches in a second/ { print $(NF - 2), $(NF - 1), $NF }' <<<"$output")
	[ "$after" -gt $((2 * before)) ]
	[ "$after" -gt $((2 * undone)) ]
	! groups_left || false
	[ -z "$(find build -maxdepth 1 -name 'demo*')" ]
	[[ $output == *"demo-report.html ("* ]]
	grep -q 'hits its memory limit' demo-report.html
}

@test "demo: interrupted, it leaves no process, no group and no file" {
	for after in 3 9; do
		status=0
		timeout -s INT "$after" ./demo >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- || status=$?
		[ "$status" -eq 124 ]
		! groups_left || false
		! ps -eo stat=,comm= | grep -v '^Z' | grep -E ' demo-(reader|leaker)' || false
		[ -z "$(find build -maxdepth 1 -name 'demo*')" ]
	done
}

@test "demo serve: the metrics and the incident tell of a kill, and nothing is left" {
	run timeout 120 ./demo serve
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *'"event":"oom_kill","comm":"oom_grow"'* ]]
	[[ $output == *'memwhy_oom_kills_total '[1-9]* ]]
	[[ $output == *'CRITICAL'*'OOM killer'* ]]
	[ -z "$(find build -maxdepth 1 -name 'demo*')" ]
	! groups_left || false
}
