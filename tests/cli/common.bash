# Shared by the tests of the command line. They ask memwhy itself what commands and options there
# are, so that a new command is held to the same contract without a new test.
load ../native/common

# Is memwhy built with the sanitizers, which need /proc and shared libraries, and take their time?
sanitized() {
	readelf -d "$MEMWHY" 2>/dev/null | grep -q 'NEEDED.*\(asan\|ubsan\)'
}

# untraced COMMAND...: without bats noting each line of it, which takes longer than to run it. Which line
# of the test failed is known all the same.
untraced() {
	local -
	set +T
	"$@"
}

# mw ARGS...: runs memwhy, with nothing to read, for $limit seconds at most: $status $output $stderr.
limit=10
! sanitized || limit=60
soon=$((limit * 500)) # milliseconds in which what was interrupted has ended
mw() {
	untraced mw_run "$@"
}
mw_run() {
	[ "${1:-}" != leak ] || set -- leak --kernel "${@:2}"
	[[ ${1:-} != limit || " $* " =~ " "(--input|--help|-h|-g|-C)" " ]] || set -- limit -g / "${@:2}"
	status=0
	output=$(timeout -k 1 "$limit" "$MEMWHY" "$@" </dev/null 2>"$BATS_TEST_TMPDIR/.stderr") || status=$?
	stderr=$(<"$BATS_TEST_TMPDIR/.stderr")
}

# A command as it runs live, with or without a command: leak of the kernel, limit of the group of all.
live() { # COMMAND
	case $1 in
	leak)	echo leak --kernel ;;
	limit)	echo limit -g / ;;
	*)	echo "$1" ;;
	esac
}

# Lines on standard input that are wider than 100 columns.
too_wide() {
	LC_ALL=C.UTF-8 grep -nP '^.{101}'
}

# Says what was run and what came of it, and fails.
refuse() { # WHY
	printf '%.300s\n  status: %s\n  stdout: %.250q\n  stderr: %.250q\n' "$1" "$status" "$output" "$stderr"
	return 1
}

# Is $stderr one line "memwhy: ...", at most one line of hint after it, and no raw control byte?
one_error() {
	local LC_ALL=C lines
	mapfile -t lines <<<"$stderr"
	[[ ${#lines[@]} -le 2 && ${lines[0]} == "memwhy: "* ]] || return 1
	[[ ${#lines[@]} -eq 1 || ${lines[1]} == "  "[!\ ]* ]] || return 1
	[[ ${lines[*]} != *[[:cntrl:]]* ]]
}

# mw_error STATUS ARGS...: memwhy refuses, says why in one line, and prints no report.
mw_error() {
	untraced mw_refuses "$@"
}
mw_refuses() {
	local want=$1
	shift
	mw_run "$@"
	[ "$status" -eq "$want" ] || refuse "memwhy $*: expected status $want" || return
	[ -z "$output" ] || refuse "memwhy $*: an error, and something on stdout" || return
	one_error || refuse "memwhy $*: not one line of error"
}

# mw_ok ARGS...: memwhy does it, and has nothing to complain about.
mw_ok() {
	untraced mw_does "$@"
}
mw_does() {
	mw_run "$@"
	[ "$status" -eq 0 ] && [ -z "$stderr" ] || refuse "memwhy $*: expected status 0 and no error"
}

# try COMMAND...: goes on after a failure, which `tried` counts at the end of the test.
failures=0
try() {
	untraced "$@" || failures=$((failures + 1))
}
tried() {
	echo "$failures failed"
	[ "$failures" -eq 0 ]
}

# side_by_side FUNCTION WORD...: calls FUNCTION WORD for each, as many at a time as there are CPUs, each in
# a directory of its own, which is its $BATS_TEST_TMPDIR too. What `try` counts there is counted here.
side_by_side() {
	local word n=0 d pids=() cpus
	cpus=$(nproc)
	for word in "${@:2}"; do
		n=$((n + 1)) d=$PWD/beside/$n
		mkdir -p "$d"
		(
			set +T
			cd "$d"
			BATS_TEST_TMPDIR=$d failures=0
			"$1" "$word"
			echo "$failures" >failures
		) >"$d.out" 2>&1 3>&- &
		pids+=($!)
		[ "$n" -lt "$cpus" ] || wait -n || true
	done
	wait "${pids[@]}" || true
	while [ "$n" -gt 0 ]; do
		d=beside/$n
		[ -e "$d/failures" ] || echo 1 >"$d/failures" # it ended by a failure
		failures=$((failures + $(<"$d/failures")))
		[ "$(<"$d/failures")" -eq 0 ] || cat "$d.out"
		n=$((n - 1))
	done
	rm -rf beside
}

# What --help says of each command, in files of that name, and the overview (-): asked once a file of
# tests. The directory is $helps.
helps_make() {
	local c made=$BATS_FILE_TMPDIR/help.$BASHPID
	helps=$BATS_FILE_TMPDIR/help
	[ ! -d "$helps" ] || return 0
	mkdir "$made"
	"$MEMWHY" help >"$made/-"
	for c in $(commands_of "$made/-"); do
		"$MEMWHY" "$c" --help >"$made/$c"
	done
	mv -T "$made" "$helps" 2>/dev/null || rm -r "$made"
}

commands_of() { # OVERVIEW
	sed -n '/^Commands:/,/^$/s/^  \([a-z]\+\) .*/\1/p' "$1"
}

commands() {
	helps_make
	commands_of "$helps/-"
}

# The commands with all these options.
commands_with() { # OPTION...
	untraced commands_having "$@"
}
commands_having() {
	local c o
	for c in $(commands); do
		for o; do
			has_option "$c" "$o" || continue 2
		done
		echo "$c"
	done
}

# The commands that run without a command or a process being named; -c of the others is of recordings.
commands_alone() {
	local c
	helps_make
	for c in $(commands_with input output comm); do
		grep -q -- '--comm COMM  *with --input' "$helps/$c" || echo "$c"
	done
}

# Does the command have this long option?
has_option() { # COMMAND OPTION
	helps_make
	grep -qE -- "^  (-[a-zA-Z],|   ) --$2([^a-z-]|\$)" "$helps/$1"
}

# The long options of a command, as --help has them.
options() { # COMMAND
	helps_make
	sed -n 's/^  \(-[a-zA-Z],\|   \) --\([a-z-]\+\).*/\2/p' "$helps/$1"
}

# Those whose value is called so in --help.
options_taking() { # COMMAND VALUE
	helps_make
	sed -n "s/^  \(-[a-zA-Z],\|   \) --\([a-z-]\+\) $2\( .*\)\?\$/\2/p" "$helps/$1"
}

# "COMMAND OPTION" for each option whose value is called so, with the first command that has it:
# commands share the tables of options.
each_option() { # VALUE
	untraced options_of_all "$1"
}
options_of_all() {
	local c o
	for c in $(commands); do
		for o in $(options_taking "$c" "$1"); do
			echo "$c $o"
		done
	done | awk '!seen[$2]++'
}

# What --by takes.
keys() { # COMMAND
	helps_make
	sed -n '/^--by takes: /,/(default/p' "$helps/$1" | tr '\n' ' ' |
		sed 's/^--by takes: //; s/ *(default.*/ /' | tr -d , | tr -s ' '
}

# --by with each of them, as one word each.
by_each() { # COMMAND
	keys "$1" | tr -s ' ' '\n' | sed '/^$/d; s/^/--by=/'
}

# --by with all of them.
by_all() { # COMMAND
	keys "$1" | sed 's/^/--by=/; s/ $//; s/ /,/g'
}

# The man page of a command without its roff, each construct on its line.
man_words() { # COMMAND
	"$MEMWHY" help man "$1" | sed 's/\\-/-/g; s/\\f[BIR]//g; s/\\&//g; s/\\e/\\/g'
}

# A section of it.
man_section() { # COMMAND SECTION
	man_words "$1" | sed -n "/^\.SH $2\$/,/^\.SH /p" | grep -v '^\.SH '
}

# CSV on standard input: fails unless each line has as many fields as the first.
csv_check() {
	LC_ALL=C awk '{
		n = 1; quoted = 0
		for (i = 1; i <= length($0); i++) {
			c = substr($0, i, 1)
			if (c == "\"") quoted = !quoted
			else if (c == "," && !quoted) n++
		}
		if (NR == 1) want = n
		if (n != want || quoted) { print "line " NR " has " n " fields, not " want ": " $0; bad = 1 }
	} END { exit bad || !NR }'
}

# Bytes on standard input that a terminal would act on, other than the end of a line.
has_controls() {
	LC_ALL=C grep -qaP '[\x00-\x08\x0b-\x1f\x7f]|\t|\xc2[\x80-\x9f]'
}

# A recording of all probes over a command that faults: $1, made once a file of tests.
recording_make() { # FILE
	"$MEMWHY" record "$1" -- sh -c 'ls / >/dev/null; ls /proc/self >/dev/null' 2>"$1.err" 3>&-
}

# Starts memwhy in the background, output in $out and errors in $err, and waits until it looks.
mw_start() {
	out=$BATS_TEST_TMPDIR/out err=$BATS_TEST_TMPDIR/err
	"$MEMWHY" $(live "$1") "${@:2}" >"$out" 2>"$err" </dev/null 3>&- &
	memwhy=$!
	wait_for 'memwhy_attached || ! kill -0 $memwhy 2>/dev/null'
}

# Waits for its end, 6 seconds at most, with sanitizers a minute: $status, $took (ms).
mw_end() {
	local from=$(date +%s%3N) i most=120
	! sanitized || most=1200
	status=0
	for i in $(seq $most); do
		kill -0 "$memwhy" 2>/dev/null || break
		sleep 0.05
	done
	[ "$i" -lt $most ] || kill -9 "$memwhy"
	wait "$memwhy" || status=$?
	took=$(($(date +%s%3N) - from))
	output=$(head -c 3000 "$out" | tr -d '\0') stderr=$(<"$err")
}

