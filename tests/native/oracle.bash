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
	SYSCALL=$1 OUT=$BATS_TEST_TMPDIR/gdb.stacks \
		ARGS="$(printf '%q ' "${@:4}") <$(printf %q "$2") >/dev/null 2>&1" \
		gdb -q -batch -nx -x "$BATS_TEST_DIRNAME/oracle_gdb.py" "$(type -P "$3")" \
		>"$BATS_TEST_TMPDIR/gdb.out" 2>&1 </dev/null || true
}

# Of the stacks that memwhy saw ($lines), at least 99 of 100 gdb saw as well.
stacks_hold() {
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
	stacks_hold
}

# process_holds SYSCALL COMMAND...: gdb and memwhy look at the same calls of process $pid, which waits
# now, and ends when COMMAND has been run. So addresses need not be the same in two runs.
process_holds() {
	type gdb >/dev/null || skip "needs gdb"
	memwhy_run count "syscalls:sys_enter_$1" --stacks=user -p "$pid" -v -o wide --limit 0 --no-lines
	SYSCALL=$1 OUT=$BATS_TEST_TMPDIR/gdb.stacks PID=$pid gdb -q -batch -nx \
		-x "$BATS_TEST_DIRNAME/oracle_gdb.py" >"$BATS_TEST_TMPDIR/gdb.out" 2>&1 </dev/null 3>&- 7>&- &
	wait_for 'grep -q attached "$BATS_TEST_TMPDIR/gdb.stacks" 2>/dev/null' || { cat "$BATS_TEST_TMPDIR/gdb.out"; false; }
	"${@:2}"
	wait "$memwhy"
	stacks_hold
}
