#!/usr/bin/env bats
# User stacks of --stacks, of programs without frame pointers, held against what libgcc and gdb say
# of the same points.
# bats file_tags=beside
load common
load oracle

STACK=$(dirname "$WORKLOADS")/stack

setup() {
	needs_root
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

@test "stacks: recursion, qsort, exceptions, signals anywhere, a thread, a fork, an exec, libraries" {
	cp "$STACK/points_lib.so" "$BATS_TEST_TMPDIR/one.so"
	cp "$STACK/points_lib.so" "$BATS_TEST_TMPDIR/two.so"
	points_run points "$BATS_TEST_TMPDIR/one.so" "$BATS_TEST_TMPDIR/two.so"
	cat "$said" "$seen"
	[ "$(grep -c ^ "$said")" -ge 168 ]
	points_hold
}

@test "stacks: a static position-independent program" {
	points_run points_static
	cat "$said" "$seen"
	points_hold
}

# bats test_tags=host
@test "stacks: jq, next to gdb" {
	type jq >/dev/null || skip "needs jq"
	seq 60 >"$BATS_TEST_TMPDIR/input"
	program_holds write "$BATS_TEST_TMPDIR/input" jq --unbuffered '{a: ., b: [range(0; .)]}'
}

# bats test_tags=host
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

# bats test_tags=host
@test "stacks: sqlite3, next to gdb" {
	type sqlite3 >/dev/null || skip "needs sqlite3"
	cat >"$BATS_TEST_TMPDIR/input" <<-EOF
		pragma journal_mode = off; pragma cache_size = 5; create table t(a);
		insert into t select zeroblob(3000) from generate_series(1, 60);
		select count(*), max(a) from t a where exists (select 1 from t b where b.rowid = a.rowid);
	EOF
	program_holds pwrite64 "$BATS_TEST_TMPDIR/input" sqlite3 "$BATS_TEST_TMPDIR/db"
}

# jit_frames [UID|memfd]: the frames of the calls that come from code made at run time.
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

# bats test_tags=host
@test "stacks: code made at run time is named by its perf-PID.map" {
	run jit_frames
	echo "$output"
	[ "${lines[0]}" = "complete, some by frame pointer" ]
	[[ "${lines[2]}" == "called (jit.c:"* ]]
	[[ "${lines[3]}" == "made::at run time(int)+0x6 "* ]]
	[[ "${lines[4]}" == "main (jit.c:"* ]]
	# How all of them were had is one note.
	jq -r '.notes[]' "$BATS_TEST_TMPDIR/lines" | grep '^stacks: ' >"$BATS_TEST_TMPDIR/notes"
	grep -qx 'stacks: user stacks: .*100.0 % complete, some frames by frame pointer' "$BATS_TEST_TMPDIR/notes"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/notes")" -eq 1 ]
}

# bats test_tags=host
@test "stacks: code made at run time in a file without a name, as .NET does, is named too" {
	run jit_frames memfd
	echo "$output"
	[ "${lines[0]}" = "complete, some by frame pointer" ]
	[[ "${lines[3]}" == "made::at run time(int)+0x6 "* ]]
	[[ "${lines[4]}" == "main (jit.c:"* ]]
}

# bats test_tags=host
@test "stacks: a perf-PID.map that somebody else wrote counts for nothing" {
	run jit_frames 65534
	echo "$output"
	[[ "${lines[2]}" == "called (jit.c:"* ]]
	[[ "${lines[3]}" != *made::* ]]
}

# Each start of a program is at random addresses, and faults at the same places: were these other
# stacks, there would be more than the table has room for with so little memory.
# Within an exec the registers are those of a program that is no more.
@test "stacks: until its exec a command's are memwhy's, in its exec there are none" {
	"$MEMWHY" pages --stacks=user -o json --out "$BATS_TEST_TMPDIR/json" -q -- env true
	jq -r '.rows[] | select(.stack) | .stack_method // "exact"' "$BATS_TEST_TMPDIR/json" | sort | uniq -c
	jq -e 'any(.rows[]; any(.stack[]?; startswith("child_run ")))' "$BATS_TEST_TMPDIR/json"
	jq -e '[.rows[].stack_method // "" | select(startswith("cut:"))] -
		["cut: code without call-frame information"] == []' "$BATS_TEST_TMPDIR/json"
}

# bats test_tags=host
@test "stacks: those of many short processes are one stack, and the table of them does not fill" {
	o=$BATS_TEST_TMPDIR/o
	"$MEMWHY" faults --stacks=user --no-lines -o json --limit 0 --max-memory 40M --out "$o" -- \
		sh -c 'i=0; while [ $i -lt 150 ]; do /bin/true; i=$((i + 1)); done'
	jq -r '.notes[]?' "$o"
	jq -e '[.notes[]? | select(test("without their stack"))] == []' "$o"
	jq -e '[.rows[] | select(.comm == "true" and (.stack | length) > 0)] | length > 2000' "$o"
}
