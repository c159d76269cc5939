# Stacks that memwhy saw, and what gdb says of the same points.
# shellcheck shell=bash

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
