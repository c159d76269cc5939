#!/usr/bin/env bats
# Exit statuses, and the commands that memwhy runs.
# bats file_tags=beside
load common

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR"
}

handed_on() { # COMMAND
	mw "$1" --out report --record run.mw -- sh -c 'echo mine; exit 7'
	[ "$status" -eq 7 ] && [ -z "$stderr" ] || try refuse "$1: the command's status"
	[ "$output" = mine ] || try refuse "$1: the command's output is its own"
	grep -q 'exit status 7' report || try refuse "$1: no report in --out, or not how the command ended"
	mw_ok "$1" --input run.mw -o json
	jq -e '.exit == {status: 7}' <<<"$output" >/dev/null || try refuse "$1: in JSON"
}

@test "status: 0 when done; with a command it is the command's" {
	mw_ok doctor
	mw_ok faults --for 50ms
	mw_ok faults --out report -- true
	[[ $(<report) != *"exit status"* ]]
	side_by_side handed_on $(commands_with input output)
	tried
}

@test "status: of a command that was killed it is a shell's, and the header names the signal" {
	for end in "KILL 137" "SEGV 139" "RTMIN 162"; do
		mw faults --each --out report --record run.mw -- sh -c "ulimit -c 0; kill -${end% *} \$\$"
		[ "$status" -eq "${end#* }" ] || try refuse "$end"
		case $end in
		RTMIN*) want='killed by signal 34' ;;
		*) want="killed by SIG${end% *}" ;;
		esac
		grep -q " · $want · events" report || try refuse "$end: $want"
		mw_ok faults --input run.mw -o jsonl
		jq -e --arg s "${want#killed by }" --argjson n "${end#* }" \
			'select(.end) | .exit == {status: $n, signal: $s}' <<<"$output" || try refuse "$end: in JSON"
	done
	# A command that goes on when memwhy ends has no status yet.
	mw_ok faults --for 100ms -o json --out report -- sh -c 'sleep 1; exit 7'
	jq -e '.exit == null' report
	tried
}

@test "status: memwhy's own failures and findings come before the command's status" {
	mw_error 2 faults --nothinglikeit -- sh -c 'exit 7'
	run --separate-stderr as_nobody timeout 10 "$MEMWHY" faults -- sh -c 'exit 7'
	[ "$status" -eq 3 ] && one_error || try refuse "without privilege"
	mw_error 4 faults --out /dev/full -- sh -c 'exit 7'
	mw check --fail-on critical -o json --out report -- sh -c 'exit 7'
	[ "$status" -eq "$(jq 'if any(.findings[]; .level == "critical") then 1 else 7 end' report)" ] ||
		try refuse "check --fail-on"
	tried
}

@test "status: check is 1 only where --fail-on asks for it, and there is such a finding" {
	"$MEMWHY" record run.mw --for 100ms 2>/dev/null
	for source in "--input run.mw" "--for 100ms"; do
		mw check $source -o json
		[ "$status" -eq 0 ]
		for levels in "note risk warning critical" "warning critical" "critical"; do
			level=${levels%% *}
			mw check $source -o json --fail-on "$level"
			found=$(jq --arg l "$levels" '[.findings[].level | select(IN($l / " " | .[]))] | length' <<<"$output")
			[ "$status" -eq "$((found > 0))" ] || try refuse "$source --fail-on $level: $found such findings"
		done
	done
	tried
}

@test "status: check --fail-on exits 1 over a workload that stalls in reclaim" {
	[ -x "$WORKLOADS/misbehave" ] || skip "the workload is not built"
	mw check -o json --out report --fail-on note -- "$BATS_TEST_DIRNAME/../../tools/with-cgroup" \
		"memwhy-cli-$$" 67108864 "$WORKLOADS/misbehave" 3 "$PWD/file" 120 3
	jq -c '[.findings[] | [.level, .title]], .exit' report
	[ "$(jq '.findings | length' report)" -gt 0 ]
	[ "$status" -eq 1 ]
}

@test "status: 2 for usage, 3 without privilege, 4 for a damaged recording" {
	mw_error 2 faults --nothinglikeit
	mw_error 2 check --fail-on nosuch
	recording_make good.mw
	for list in $$, ,$$ $$,,$$ ,; do
		try mw_error 2 faults -p $list --for 50ms
		[[ $stderr == *"--pid: '$list' has an empty word"* ]] || try refuse "-p $list"
		try mw_error 2 faults -p $list --input good.mw
	done
	try mw_error 2 faults --by comm, --for 50ms
	try mw_error 2 record --probes faults, --for 50ms list.mw
	[ ! -e list.mw ]
	head -c $(($(stat -c %s good.mw) / 2)) good.mw >cut.mw
	for c in $(commands_alone); do
		mw "$c" --input cut.mw
		[ "$status" -eq 4 ] && one_error || try refuse "$c --input of a cut recording"
		run --separate-stderr as_nobody timeout 10 "$MEMWHY" $(live "$c") --for 50ms
		# Anybody may read where memory is, and what a group has, with what is closed under NOT CHECKED.
		[[ $c =~ ^(where|limit)$ && $status -eq 0 && -z $stderr && $output == *"NOT CHECKED"* ]] && continue
		# What needs no privilege is told all the same; then it says what is not.
		[ "$status" -eq 3 ] && one_error && [[ $stderr == *root* ]] ||
			[[ $status -eq 3 && -z $stderr && $output == *INCOMPLETE*"NOT CHECKED"*permitted* ]] ||
			try refuse "$c as nobody"
	done
	tried
}

interrupted_is_130() { # COMMAND
	local c=$1 sig
	for sig in INT $([ "$c" = faults ] && echo TERM); do
		mw_start "$c" --for 30s -o json --record run.mw
		kill -$sig "$memwhy"
		mw_end
		[ "$status" -eq 130 ] && [ -z "$stderr" ] && jq -e .rows "$out" >/dev/null ||
			try refuse "$c after SIG$sig"
		try mw_ok "$c" --input run.mw -o json
		[ "$(md5sum <<<"$output")" = "$(md5sum <"$out")" ] || try refuse "$c: recording after SIG$sig"
	done
}

@test "status: 130 after SIGINT and SIGTERM, with the report and the recording complete" {
	side_by_side interrupted_is_130 $(commands_alone)
	tried
}

# A signal that is blocked and pending stays so over exec: it is there before anything is attached.
@test "status: 130 after a signal before it counts, without report, recording, or run of the command" {
	for sig in INT TERM HUP; do
		for c in "faults --stacks --record run.mw" "check --for 5s" "record run.mw" "count" "heap -p $$" \
			"faults --record run.mw -- touch ran" "heap -- touch ran" "record run.mw -- touch ran"; do
			status=0
			output=$(env --default-signal=$sig --block-signal=$sig bash -c "kill -$sig \$\$; exec \"\$@\"" - "$MEMWHY" $c 2>err) ||
				status=$?
			stderr=$(<err)
			[[ $status -eq 130 && -z $output && ! -e run.mw && ! -e ran &&
				$stderr == "memwhy: interrupted before anything was counted" ]] ||
				try refuse "SIG$sig: $c"
			rm -f run.mw ran
		done
	done
	tried
}

@test "status: a terminal that goes away interrupts too; the report is not lost" {
	# Not ignored, as it is where the tests themselves run under nohup.
	printf '#!/bin/sh\nexec env --default-signal=HUP "%s" "$@"\n' "$MEMWHY" >not-ignored
	chmod +x not-ignored
	MEMWHY=$PWD/not-ignored mw_start faults -o json --record run.mw
	kill -HUP "$memwhy"
	mw_end
	[ "$status" -eq 130 ] || refuse "after SIGHUP"
	jq -e .rows "$out" >/dev/null
	mw_ok faults --input run.mw
}

@test "status: nohup is respected" {
	out=out err=err
	nohup "$MEMWHY" faults --for 1s -o json >out 2>err </dev/null 3>&- &
	memwhy=$!
	wait_for memwhy_attached
	kill -HUP "$memwhy"
	mw_end
	[ "$status" -eq 0 ] || refuse "nohup memwhy, after SIGHUP"
	[ "$took" -ge 500 ]
}

@test "status: record hands on the command's" {
	for n in 7 255; do
		mw record --probes faults run.mw -- sh -c "exit $n"
		[ "$status" -eq "$n" ] || try refuse "exit $n"
	done
	for sig in KILL:137; do
		mw record --probes faults run.mw -- sh -c "kill -${sig%:*} \$\$"
		[ "$status" -eq "${sig#*:}" ] || try refuse "killed by SIG$sig"
	done
	tried
}

@test "status: record of a command that cannot be run, as a shell says it; no file is left" {
	mw_error 127 record --probes faults run.mw -- nosuchcommand
	[ ! -e run.mw ]
	mw_error 126 record --probes faults run.mw -- /etc/passwd
	mw_error 127 record --probes faults run.mw -- ""
	[ ! -e run.mw ]
}

@test "status: so do other commands" {
	for c in $(commands_with input output); do
		try mw_error 127 "$c" -- nosuchcommand
	done
	try mw_error 127 faults -- ""
	try mw_error 126 faults -- /etc/passwd
	tried
}

@test "status: '--' and no command is a usage error, not a look at the whole system" {
	limit=1.5
	for c in faults check "record run.mw"; do
		try mw_error 2 $c --
	done
	tried
}

@test "status: the observed command finds signals and descriptors as without memwhy" {
	mw_ok faults --out report -- grep -E '^Sig(Blk|Ign)|^NoNewPrivs|^Seccomp:' /proc/self/status
	# by way of timeout, as memwhy is: it undoes what is ignored
	[ "$output" = "$(timeout 9 grep -E '^Sig(Blk|Ign)|^NoNewPrivs|^Seccomp:' /proc/self/status)" ] || refuse "status"
	mw_ok faults --out report --record run.mw -- ls /proc/self/fd
	[ "$output" = "$(run --separate-stderr ls /proc/self/fd </dev/null; echo "$output")" ] || refuse "descriptors"
	mw_ok faults --out report -- sh -c 'trap "" PIPE; trap - PIPE; yes | head -n1'
	[ "$output" = y ]
}

@test "status: the observed command reads memwhy's input; a closed pipe ends it as without memwhy" {
	[ "$(echo hello | "$MEMWHY" faults --out report -- cat)" = hello ]
	run --separate-stderr bash -c '"$0" record --probes faults run.mw -- yes 2>/dev/null | head -n1; echo ${PIPESTATUS[0]}' "$MEMWHY"
	[ "$output" = y$'\n'141 ] || refuse "record -- yes | head -n1"
}

@test "status: Ctrl-C goes to command and memwhy alike: its status, a complete recording" {
	setsid env --default-signal=INT "$MEMWHY" record --probes faults run.mw -- sh -c 'echo >started; exec sleep 30' 2>err 3>&- &
	leader=$!
	wait_for '[ -e started ]'
	kill -INT -- -"$leader"
	status=0
	wait "$leader" || status=$?
	[ "$status" -eq 130 ]
	grep -q '^memwhy: recorded' err
	mw_ok faults --input run.mw
}

@test "status: SIGTERM to memwhy alone ends it, not the command" {
	mw_start record --probes faults run.mw -- sh -c 'echo $$ >pid; exec sleep 30'
	wait_for '[ -s pid ]'
	kill -TERM "$memwhy"
	mw_end
	ended=$took
	state=$(ps -o stat= -p "$(cat pid)")
	kill "$(cat pid)"
	[ "$status" -eq 130 ] || refuse "after SIGTERM"
	[ "$ended" -lt "$soon" ]
	[ -n "$state" ]
	mw_ok faults --input run.mw
}

@test "status: a second SIGINT ends memwhy with 130 while the command runs on" {
	for c in "record run.mw" "faults --record run.mw"; do
		rm -f pid
		mw_start $c -- sh -c 'echo $$ >pid; exec sleep 30'
		wait_for '[ -s pid ]'
		kill -INT "$memwhy"
		sleep 0.3
		kill -0 "$memwhy" || try refuse "$c ended at the first"
		kill -INT "$memwhy"
		mw_end
		[ "$status" -eq 130 ] || try refuse "$c, after the second SIGINT"
		kill -0 "$(cat pid)" || try refuse "the command is gone"
		kill "$(cat pid)"
		mw_ok faults --input run.mw || try refuse "$c: the recording"
	done
	tried
}

@test "status: -p of a process that ends during the run: memwhy ends too, with a report" {
	for mode in "" "-i 300ms" "--each" "-o json"; do
		sleep 30 3>&- &
		pid=$!
		mw_start faults -p "$pid" $mode
		kill "$pid"
		wait "$pid" || true
		mw_end
		[ "$status" -eq 0 ] && [ -z "$stderr" ] && [ -n "$output" ] && [ "$took" -lt "$soon" ] ||
			try refuse "faults -p $mode: $took ms after the process ended"
	done
	tried
}

@test "status: a process that ended but was not waited for counts as ended" {
	sh -c 'sleep 0.1 & echo $! >pid; exec sleep 30' 3>&- &
	parent=$!
	wait_for '[ -s pid ]'
	wait_for '[ "$(ps -o stat= -p "$(cat pid)")" = Z ] || [ "$(ps -o stat= -p "$(cat pid)" | cut -c1)" = Z ]'
	mw_start faults -p "$(cat pid)"
	mw_end
	kill "$parent"
	[ "$status" -eq 0 ] || [ "$status" -eq 2 ] || refuse "faults -p of a zombie, after $took ms"
	[ "$took" -lt "$soon" ]
}
