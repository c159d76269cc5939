#!/usr/bin/env bats
# User stacks of --stacks, of programs without frame pointers, held against what libgcc and gdb say
# of the same points.
load common

STACK=$(dirname "$WORKLOADS")/stack

setup() {
	needs_root
}

# Addresses of the stacks in a report of `count` (-v -o wide), a line each: "COUNT ADDRESS…", and
# behind them "[reason]" where it is cut.
addresses() { # FILE
	awk '
		/^ +[0-9a-f]+ / && n { line = line " " $1; next }
		/^ +\[/ && n { sub(/^ +/, ""); line = line " " $0; next }
		{ if (n) print line; n = 0 }
		/^syscalls:/ { line = $2; gsub(",", "", line); n = 1 }
		END { if (n) print line }' "$1"
}

# points_run NAME ARG...: runs that program with its stacks taken: what it says is in $said, what
# memwhy saw in $seen.
points_run() {
	mkfifo "$BATS_TEST_TMPDIR/in"
	said=$BATS_TEST_TMPDIR/said seen=$BATS_TEST_TMPDIR/seen
	"$STACK/$1" "${@:2}" <"$BATS_TEST_TMPDIR/in" >"$said" 3>&- &
	pid=$!
	exec 7>"$BATS_TEST_TMPDIR/in"
	wait_for 'grep -q ready "$said"'
	memwhy_run count syscalls:sys_enter_getppid --stacks=user -p "$pid" --follow -v -o wide \
		--limit 0 --no-lines
	echo >&7
	wait_for 'grep -q "done\|error" "$said"'
	memwhy_stop
	echo >&7
	exec 7>&-
	wait "$pid"
	addresses "$lines" >"$seen"
}

# Each point's stack is one that memwhy saw: behind the call and its caller come the same addresses.
# Of those deeper than 127 frames, so many. A frame is shown with the address at which it was seen
# first, so those behind an exec are compared by their offsets in a page.
points_hold() {
	awk -v seen="$seen" '
		function offsets(line,   a, n, i, out) {
			n = split(line, a, " ")
			for (i = 1; i <= n; i++) out = out " " substr(a[i], length(a[i]) - 2)
			return out
		}
		BEGIN {
			while ((getline line < seen) > 0) {
				sub(/^[0-9]+ [0-9a-f]+ [0-9a-f]+ ?/, "", line)
				found[line] = found[offsets(line)] = 1
			}
		}
		/^[a-z]+:/ && !/^warm:/ {
			name = $1; n = NF > 126 ? 126 : NF
			line = $2
			for (i = 3; i <= n; i++) line = line " " $i
			if (NF > 126) line = line " [cut: more than 127 frames]"
			if (name == "exec:") line = offsets(line)
			all++
			if (line in found) good++; else print "not seen: " name " " line
		}
		END { print good + 0 " of " all " identical"; exit !(all && good == all) }' "$said"
}

@test "stacks: recursion, qsort, exceptions, signals, a thread, a fork, an exec, libraries" {
	cp "$STACK/points_lib.so" "$BATS_TEST_TMPDIR/one.so"
	cp "$STACK/points_lib.so" "$BATS_TEST_TMPDIR/two.so"
	points_run points "$BATS_TEST_TMPDIR/one.so" "$BATS_TEST_TMPDIR/two.so"
	cat "$said" "$seen"
	[ "$(grep -c ^ "$said")" -ge 18 ]
	points_hold
}

@test "stacks: a static position-independent program" {
	points_run points_static
	cat "$said" "$seen"
	points_hold
}

# gdb_stacks SYSCALL INPUT COMMAND...: the stacks at each such call, as lines of addresses.
gdb_stacks() {
	cat >"$BATS_TEST_TMPDIR/gdb.py" <<-EOF
		import gdb, os
		for setting in ("pagination off", "debuginfod enabled off", "startup-with-shell on",
		                "backtrace past-main on", "backtrace past-entry on", "backtrace limit 200"):
		    gdb.execute("set " + setting)
		gdb.execute("catch syscall $1")
		out = open("$BATS_TEST_TMPDIR/gdb.stacks", "w")
		gdb.execute("run " + os.environ["ARGS"] + " <$2 >/dev/null 2>&1")
		enter = True
		while gdb.selected_thread():
		    if enter:
		        frame, line = gdb.newest_frame(), []
		        while frame:
		            if frame.type() != gdb.INLINE_FRAME:
		                line.append("%x" % frame.pc())
		            frame = frame.older()
		        out.write(" ".join(line) + "\\n")
		    enter = not enter
		    gdb.execute("continue")
	EOF
	ARGS=$(printf '%q ' "${@:4}") gdb -q -batch -nx -x "$BATS_TEST_TMPDIR/gdb.py" \
		"$(type -P "$3")" >"$BATS_TEST_TMPDIR/gdb.out" 2>&1 </dev/null || true
}

# program_holds SYSCALL INPUT COMMAND...: gdb and memwhy look at two runs of the command without
# randomised addresses; of the stacks that memwhy saw, at least 99 of 100 gdb saw as well.
program_holds() {
	type gdb setarch >/dev/null || skip "needs gdb and setarch"
	gdb_stacks "$@"
	[ -s "$BATS_TEST_TMPDIR/gdb.stacks" ] || { cat "$BATS_TEST_TMPDIR/gdb.out"; false; }
	mkfifo "$BATS_TEST_TMPDIR/in"
	setarch -R "${@:3}" <"$BATS_TEST_TMPDIR/in" >/dev/null 3>&- &
	pid=$!
	exec 7>"$BATS_TEST_TMPDIR/in"
	wait_for 'grep -q pipe "/proc/$pid/wchan" || grep -q pipe "/proc/$pid/stack"'
	memwhy_run count "syscalls:sys_enter_$1" --stacks=user -p "$pid" -v -o wide --limit 0 --no-lines
	cat "$2" >&7
	exec 7>&-
	wait "$memwhy"
	addresses "$lines" >"$BATS_TEST_TMPDIR/seen"
	grep '^Note' "$lines" || true
	awk -v gdb="$BATS_TEST_TMPDIR/gdb.stacks" '
		BEGIN { while ((getline line < gdb) > 0) there[line]++ }
		{
			n = $1; sub(/^[0-9]+ /, "")
			all += n; same = n < there[$0] ? n : there[$0]; good += same
			if (same < n && bad++ < 3) print "memwhy: " n " " $0
		}
		END { printf "%d of %d identical\n", good, all; exit !(all >= 20 && good >= 0.99 * all) }' \
		"$BATS_TEST_TMPDIR/seen"
}

@test "stacks: jq, next to gdb" {
	type jq >/dev/null || skip "needs jq"
	seq 60 >"$BATS_TEST_TMPDIR/input"
	program_holds write "$BATS_TEST_TMPDIR/input" jq --unbuffered '{a: ., b: [range(0; .)]}'
}

@test "stacks: python3, next to gdb" {
	type python3 >/dev/null || skip "needs python3"
	echo >"$BATS_TEST_TMPDIR/input"
	cat >"$BATS_TEST_TMPDIR/job.py" <<-EOF
		import os
		def down(n):
		    if n: down(n - 1)
		    else: os.write(1, b"x")
		os.read(0, 1)
		for i in range(60): sorted([3, i % 20, 1], key=lambda n: down(n) or 0)
	EOF
	program_holds write "$BATS_TEST_TMPDIR/input" "$(python3 -c 'import sys; print(sys.executable)')" -S -E "$BATS_TEST_TMPDIR/job.py"
}

@test "stacks: sqlite3, next to gdb" {
	type sqlite3 >/dev/null || skip "needs sqlite3"
	cat >"$BATS_TEST_TMPDIR/input" <<-EOF
		pragma journal_mode = off; pragma cache_size = 5; create table t(a);
		insert into t select zeroblob(3000) from generate_series(1, 60);
		select count(*), max(a) from t a where exists (select 1 from t b where b.rowid = a.rowid);
	EOF
	program_holds pwrite64 "$BATS_TEST_TMPDIR/input" sqlite3 "$BATS_TEST_TMPDIR/db"
}

# jit_frames [UID]: the frames of the calls that come from code made at run time.
jit_frames() {
	mkfifo "$BATS_TEST_TMPDIR/in"
	said=$BATS_TEST_TMPDIR/said
	"$WORKLOADS/jit" "$@" <"$BATS_TEST_TMPDIR/in" >"$said" 3>&- &
	pid=$!
	exec 7>"$BATS_TEST_TMPDIR/in"
	wait_for 'grep -q ready "$said"'
	memwhy_run count syscalls:sys_enter_getppid --stacks=user -p "$pid" -o json
	echo >&7
	wait_for 'grep -q done "$said"'
	memwhy_stop
	exec 7>&-
	wait "$pid"
	rm -f "/tmp/perf-$pid.map"
	jq -r '.rows[] | select(.count == 10) | .stack_method, .stack[]' "$lines"
}

@test "stacks: code made at run time is named by its perf-PID.map" {
	run jit_frames
	echo "$output"
	[ "${lines[0]}" = "complete, some by frame pointer" ]
	[[ "${lines[2]}" == "called (jit.c:"* ]]
	[[ "${lines[3]}" == "made::at run time(int)+0x6 "* ]]
	[[ "${lines[4]}" == "main (jit.c:"* ]]
}

@test "stacks: a perf-PID.map that somebody else wrote counts for nothing" {
	run jit_frames 65534
	echo "$output"
	[[ "${lines[2]}" == "called (jit.c:"* ]]
	[[ "${lines[3]}" != *made::* ]]
}
