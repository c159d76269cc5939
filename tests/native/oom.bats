#!/usr/bin/env bats
# OOM kills against oom_kill in /proc/vmstat, on this kernel: in control groups of this test's own
# and, in a guest, of the whole machine.
load common

setup() {
	needs_root
	cd "$BATS_TEST_DIRNAME/../.." || exit 1
	name=memwhy-test-$$-$BATS_TEST_NUMBER
	export MEMWHY_CGROUP_FILE=$BATS_TEST_TMPDIR/group
}

oom_kills() {
	awk '$1 == "oom_kill" { print $2 }' /proc/vmstat
}

report() {
	jq -r "$1" "$json"
}

# grow LIMIT ARGS...: oom_grow in a group with this limit and no swap; its pid in $grown.
grow() {
	local limit=$1
	shift
	# shellcheck disable=SC2016 # for the inner shell
	tools/with-cgroup "$name" "$limit" sh -c 'd=$(cat "$MEMWHY_CGROUP_FILE")
		echo 0 >"$d/memory.swap.max" || echo 0 >"$d/memory.swappiness"
		[ -z "$OOM_GROUP" ] || echo 1 >"$d/memory.oom.group"
		exec "$@"' sh "$WORKLOADS/oom_grow" "$@" >"$BATS_TEST_TMPDIR/grow" 2>/dev/null || status=$?
	[ "$status" -ne 3 ] || skip "no memory controller"
	grown=$(awk '/ready/ { print $2; exit }' "$BATS_TEST_TMPDIR/grow")
}

@test "oom: a kill from before it started is named, from the kernel's log" {
	status=0
	# A path as long as a container's, which a note has no room for: its end is cut, no command.
	name=$name-$(printf '0%.0s' {1..150})
	grow 67108864 -s 8
	[ "$status" -eq 137 ]
	now=$BATS_TEST_TMPDIR/now.json
	"$MEMWHY" oom --for 100ms -o json --out "$now"
	jq -r '.notes[]' "$now"
	jq -e --arg who "oom_grow ($grown); its report: dmesg -T | grep -B60 'Killed process $grown'; its group: /${name%%-0*}" \
		'[.notes[] | select(contains("before this") and contains($who))] | length == 1' "$now"
	dmesg | grep -q "Killed process $grown"
	# Whoever asks for one process or group does not ask for those of others.
	"$MEMWHY" oom --for 100ms -p $$ -o json --out "$now"
	jq -e '[.notes[]? | select(contains("before this"))] == []' "$now"
}

@test "oom: where /dev/kmsg cannot be opened, the kernel's report comes by syslog(2)" {
	status=0
	cat >"$BATS_TEST_TMPDIR/contained" <<-END
		#!/bin/sh
		exec unshare -m --propagation private sh -c 'mount -t tmpfs none /dev && mknod /dev/null c 1 3 && exec "\$0" "\$@"' $MEMWHY "\$@"
	END
	chmod +x "$BATS_TEST_TMPDIR/contained"
	MEMWHY=$BATS_TEST_TMPDIR/contained
	memwhy_start oom
	grow 67108864 -s 8
	[ "$status" -eq 137 ]
	memwhy_stop
	report '.methods.oom' | grep -q 'syslog(2)'
	[ "$(report '[.rows[] | select(.table == "kills" and .pid == '"$grown"') | .killed] | add')" -eq 1 ]
	[ "$(report '[.rows[] | select(.table == "ledger" and .source == "kernel'"'"'s report" and .of == "/'"$name"'") | .bytes] | add >= 66e6')" = true ]
	# what the log had from before; kills of tests beside may have come after this one
	"$MEMWHY" oom --for 100ms -o json --out "$BATS_TEST_TMPDIR/now.json"
	jq -r '.notes[]' "$BATS_TEST_TMPDIR/now.json"
	jq -e '[.notes[] | select(test("before this, the kernel.s log has [1-9]"))] | length == 1' "$BATS_TEST_TMPDIR/now.json"
}

@test "oom: a kill at a cgroup's limit: victim, asker, limit, growth; counted as the kernel does" {
	status=0
	outer=$(oom_kills)
	memwhy_start oom
	inner=$(oom_kills)
	grow 83886080 -s 8 -r 10
	[ "$status" -eq 137 ]
	inner=$(($(oom_kills) - inner))
	memwhy_stop
	outer=$(($(oom_kills) - outer))
	killed=$(report '[.rows[] | select(.table == "kills") | .killed] | add')
	row=".rows[] | select(.table == \"kills\" and .pid == $grown)"
	report "$row"
	echo "killed $killed, vmstat $inner to $outer"
	[ "$killed" -ge "$inner" ]
	[ "$killed" -le "$outer" ]
	[ "$(report "$row | .comm")" = oom_grow ]
	[ "$(report "$row | .asker_pid")" -eq "$grown" ]
	[ "$(report "$row | .why")" = cgroup ]
	[ "$(report "$row | .cgroup")" = "/$name" ]
	[ "$(report "$row | .killed")" -eq 1 ]
	[ "$(report "$row | .order")" -eq 0 ]
	report "$row | .gfp" | grep -q '^GFP_'
	# All but page tables and a few pages of the kernel is its own.
	[ "$(report "$row | .rss_bytes > 70e6 and .rss_bytes < 90e6")" = true ]
	[ "$(report "$row | .freed_ns > 0")" = true ]
	# 10 MiB a second, with 8 MiB at its start; a busy machine may make it late, never early.
	[ "$(report "$row | .bytes_per_s > 5e6 and .bytes_per_s < 13e6")" = true ]
	[ "$(report "$row | .grown_bytes > 70e6 and .grown_bytes < 90e6")" = true ]
	[ "$(report "$row | .span_ns > 7e9 and .span_ns < 20e9")" = true ]
	limit=".rows[] | select(.table == \"cgroups\" and .cgroup == \"/$name\")"
	[ "$(report "$limit | .at_limit")" = true ]
	[ "$(report "$limit | .limit_bytes")" -eq 83886080 ]
	[ "$(report "$limit | .bytes >= 83000000 and .bytes <= 83886080")" = true ]
	[ "$(report '.lost.oom')" -eq 0 ]
	report '.findings[0].title' | grep -q "oom_grow ($grown) was killed; cgroup /$name was at"
	# Where memory was: of the group by the kernel's report, of the machine by the last look before it.
	ledger=".rows[] | select(.table == \"ledger\" and .kill == $(report "$row | .kill"))"
	report "$ledger" | jq -c '[.of, .source, .age_ns, .row, .bytes]'
	[ "$(report "[$ledger | select(.of == \"/$name\") | .bytes] | add >= 83000000 and add <= 83886080")" = true ]
	[ "$(report "[$ledger | select(.of == \"/$name\" and .row == \"anonymous\") | .bytes][0] > 70e6")" = true ]
	[ "$(report "[$ledger | select(.of == \"/$name\" and .source == \"kernel's report\") | .age_ns] | unique == [0]")" = true ]
	[ "$(report "[$ledger | select(.of == \"machine\") | .bytes] | add")" -eq $(($(awk '/^MemTotal/ { print $2 }' /proc/meminfo) * 1024)) ]
	[ "$(report "[$ledger | select(.of == \"machine\") | .age_ns] | unique | length == 1 and .[0] > 0 and .[0] < 7e9")" = true ]
}

# bats test_tags=host
@test "oom: a recording: list, show, --each and the live report tell the same" {
	status=0
	memwhy_start oom --record "$BATS_TEST_TMPDIR/r.mw"
	grow 33554432 -s 8 -r 40 -f # two of them: the other is next, unless it came first
	wait_for '[ "$(wc -l <"$BATS_TEST_TMPDIR/grow")" -ge 2 ]'
	memwhy_stop
	first=$(report '[.rows[] | select(.table == "kills")][0].pid')
	list=$("$MEMWHY" oom list --input "$BATS_TEST_TMPDIR/r.mw" -o csv --table kills --fields kill,pid)
	echo "$list"
	grep -qx "1,$first" <<<"$list"
	"$MEMWHY" oom show 1 --input "$BATS_TEST_TMPDIR/r.mw" | tee "$BATS_TEST_TMPDIR/show"
	grep -q "Kill 1: .*($first) was killed" "$BATS_TEST_TMPDIR/show"
	grep -q 'Processes at the kill' "$BATS_TEST_TMPDIR/show"
	! awk 'length($0) > 110' "$BATS_TEST_TMPDIR/show" | grep . || false
	n=$("$MEMWHY" oom --each --input "$BATS_TEST_TMPDIR/r.mw" -o jsonl | jq -s '[.[] | select(.pid)] | length')
	[ "$n" -eq "$(report '[.rows[] | select(.table == "kills")] | length')" ]
	run "$MEMWHY" oom show 99 --input "$BATS_TEST_TMPDIR/r.mw"
	grep -q 'no kill of this number' <<<"$output"
}

@test "oom: the report comes at once, while memwhy runs on" {
	status=0
	"$MEMWHY" oom >"$BATS_TEST_TMPDIR/live" 2>&1 3>&- &
	memwhy=$!
	wait_for memwhy_attached
	grow 33554432 -s 8 -r 40
	wait_for 'grep -q "($grown) was killed" "$BATS_TEST_TMPDIR/live"'
	first=$grown
	grow 33554432 -s 8 -r 40
	wait_for 'grep -q "($grown) was killed" "$BATS_TEST_TMPDIR/live"'
	[ "$first" != "$grown" ]
	kill -0 "$memwhy"
	memwhy_stop
	[ -z "$(grep '^Note: ' "$BATS_TEST_TMPDIR/live" | sort | uniq -d)" ] # said once
}

# bats test_tags=host
@test "oom: --like oomkill prints its line" {
	status=0
	"$MEMWHY" oom --like oomkill >"$BATS_TEST_TMPDIR/live" 2>/dev/null 3>&- &
	memwhy=$!
	wait_for memwhy_attached
	grow 33554432 -s 8 -r 40
	wait_for 'grep -q "OOM kill of PID" "$BATS_TEST_TMPDIR/live"'
	cat "$BATS_TEST_TMPDIR/live"
	grep -qE "^[0-9:]{8} Triggered by PID $grown \(\"oom_grow\"\), OOM kill of PID $grown \(\"oom_grow\"\), [0-9]+ pages, loadavg: [0-9.]+ [0-9.]+ [0-9.]+ [0-9]+/[0-9]+ [0-9]+$" "$BATS_TEST_TMPDIR/live"
	memwhy_stop
}

# bats test_tags=host
@test "oom: a scope leaves out the kills of others" {
	status=0
	memwhy_start oom -c nobody-has-this
	grow 33554432 -s 8 -r 40
	memwhy_stop
	[ "$(report '[.rows[] | select(.table == "kills")] | length')" -eq 0 ]
}

@test "oom: a command of memwhy's is neither locked nor out of the OOM killer's choice" {
	"$MEMWHY" oom -q -- sh -c 'cat /proc/self/oom_score_adj; grep VmLck /proc/self/status' >"$BATS_TEST_TMPDIR/out"
	cat "$BATS_TEST_TMPDIR/out"
	head -n1 "$BATS_TEST_TMPDIR/out" | grep -qx "$(cat /proc/self/oom_score_adj)"
	grep -q 'VmLck:[[:space:]]*0 kB' "$BATS_TEST_TMPDIR/out"
}

@test "oom: a whole group is killed: one more than victims, as the kernel counts" {
	[ ! -d /sys/fs/cgroup/memory ] || skip "memory.oom.group is of cgroup v2"
	status=0
	before=$(oom_kills)
	memwhy_start oom
	OOM_GROUP=1 grow 33554432 -s 4 -r 20 -f
	memwhy_stop
	after=$(oom_kills)
	rows=$(report '[.rows[] | select(.table == "kills")] | length')
	killed=$(report '[.rows[] | select(.table == "kills") | .killed] | add')
	report '[.rows[] | select(.table == "kills") | {pid, killed}]'
	echo "rows $rows, killed $killed, vmstat $((after - before))"
	[ "$killed" -eq $((after - before)) ]
	[ "$rows" -ge 2 ]
	report '.findings[].evidence[]' | grep -q 'memory.oom.group'
}

@test "oom: memwhy inside of the group whose other processes are all killed reports" {
	caps=$(awk '/^CapEff/ { print $2 }' /proc/self/status)
	[ $((0x$caps >> 24 & 1)) -eq 1 ] || skip "no CAP_SYS_RESOURCE: memwhy can be killed as any other"
	status=0
	# shellcheck disable=SC2016 # for the inner shell
	tools/with-cgroup "$name" 50331648 sh -c 'd=$(cat "$MEMWHY_CGROUP_FILE")
		echo 0 >"$d/memory.swap.max" || echo 0 >"$d/memory.swappiness"
		"$0" oom --for 8s >"$2" 2>&1 &
		for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.3; grep -q "NoNewPrivs:.*1" /proc/$!/status && break; done
		sleep 1
		"$1" -s 4 -r 40 & "$1" -s 4 -r 40 & "$1" -s 4 -r 40 &
		wait' "$MEMWHY" "$WORKLOADS/oom_grow" "$BATS_TEST_TMPDIR/live" >/dev/null 2>&1 || status=$?
	[ "$status" -ne 3 ] || skip "no memory controller"
	cat "$BATS_TEST_TMPDIR/live"
	[ "$(grep -c 'oom_grow .* was killed' "$BATS_TEST_TMPDIR/live")" -ge 3 ]
}

@test "oom: the machine is out of memory: kills equal oom_kill, and the report is there" {
	[ -n "$MEMWHY_VM" ] || skip "makes memory run out: only in a guest of its own (make check-vm)"
	status=0
	before=$(oom_kills)
	swapoff -a # emulated, it would swap for minutes first
	memwhy_start oom
	"$WORKLOADS/oom_grow" -s 32 -r 400 -f >"$BATS_TEST_TMPDIR/grow" || status=$?
	sleep 4
	[ ! -b /dev/vda ] || swapon /dev/vda || true
	memwhy_stop
	after=$(oom_kills)
	report '[.rows[] | select(.table == "kills") | {pid, comm, why, killed, rss_bytes, swap_bytes, bytes_per_s, score_pages, order, gfp}]'
	report '[.rows[] | select(.table == "zones")]'
	report '.findings[].evidence[]'
	[ "$after" -gt "$before" ]
	[ "$(report '[.rows[] | select(.table == "kills") | .killed] | add')" -eq $((after - before)) ]
	[ "$(report '[.rows[] | select(.table == "kills")][0] | .comm + " " + .why')" = 'oom_grow machine' ]
	[ "$(report '[.rows[] | select(.table == "kills")][0].pid')" -eq "$(awk '/ready/ { print $2 }' "$BATS_TEST_TMPDIR/grow" | grep -x "$(report '[.rows[] | select(.table == "kills")][0].pid')")" ]
	[ "$(report '[.rows[] | select(.table == "zones" and .when == "kill" and .state != "above")] | length')" -gt 0 ]
	# What the kernel says of memory at the kill adds up to MemTotal, and is known but for little.
	first=$(report '[.rows[] | select(.table == "ledger" and .source == "kernel'"'"'s report" and .of == "machine")][0].kill')
	ledger=".rows[] | select(.table == \"ledger\" and .kill == $first and .source == \"kernel's report\")"
	report "$ledger" | jq -c '[.row, .bytes]'
	total=$(($(awk '/^MemTotal/ { print $2 }' /proc/meminfo) * 1024))
	off=$(($(report "[$ledger | .bytes] | add") - total))
	[ "${off#-}" -le $((total / 100)) ]
	[ "$(report "[$ledger | select(.row == \"rest\") | .bytes][0]")" -lt $((total / 8)) ]
	[ "$(report "[$ledger | select(.row == \"anonymous\") | .bytes][0]")" -gt $((total / 2)) ]
	[ "$(report '.lost.oom')" -eq 0 ]
}
