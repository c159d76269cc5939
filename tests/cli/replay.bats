#!/usr/bin/env bats
# A recording shows what the live run showed.
# bats file_tags=beside
load common

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR"
}

# replay_same COMMAND WORDS...: lives, records, and replays.
replay_same() {
	local c=$1 live
	shift
	"$MEMWHY" $(live "$c") "$@" --record run.mw --out live -- sh -c 'ls / >/dev/null; ls /proc/self/task >/dev/null' 2>err || {
		status=$? output= stderr=$(<err)
		refuse "$c $* (live)"
		return
	}
	mw "$c" "$@" --input run.mw
	[ "$status" -eq 0 ] && [ -z "$stderr" ] && [ "$output" = "$(<live)" ] ||
		refuse "$c $*: $(diff live - <<<"$output" | head -n 4)"
}

formats_same() { # COMMAND
	local f
	for f in text json; do
		try replay_same "$1" -o $f
	done
}

@test "replay: every command; every format" {
	side_by_side formats_same $(commands_with input output)
	for f in wide jsonl csv folded; do
		try replay_same faults --stacks -o $f
	done
	tried
}

faults_same() { # WORDS
	try replay_same faults $1
}

keys_same() { # COMMAND
	try replay_same "$1" --stacks "$(by_all "$1")" -o json
	[ "$1" = faults ] || ! has_option "$1" each || try replay_same "$1" --each --stacks
}

@test "replay: stacks, keys, single events" {
	side_by_side faults_same --stacks --stacks=kernel "--stacks -v" --each "--each --stacks -o json" \
		"--each --min 1us" $(by_each faults)
	side_by_side keys_same $(commands_with by input)
	tried
}

@test "replay: -i gives the intervals that the live run gave" {
	for f in text jsonl csv; do
		# something must happen after the last tick
		"$MEMWHY" faults -i 200ms --record run.mw -o $f --out live -- \
			sh -c 'for i in 1 2 3 4 5; do ls >/dev/null; sleep 0.1; done'
		mw faults -i 200ms -o $f --input run.mw
		[ "$status" -eq 0 ] && [ "$output" = "$(<live)" ] ||
			try refuse "-o $f: $(diff live - <<<"$output" | head -n 5)"
	done
	tried
}

@test "replay: the intervals sum up to the whole, and to the events delivered" {
	"$MEMWHY" faults -i 200ms --record run.mw -o jsonl --out live -- \
		sh -c 'for i in 1 2 3 4 5; do ls >/dev/null; sleep 0.1; done'
	events=$(jq -s '[.[].events.faults // 0] | add' live)
	[ "$(jq -s '[.[] | .count // 0] | add' live)" -eq "$events" ] || try refuse "live: not $events"
	mw faults -i 200ms -o jsonl --input run.mw
	[ "$(jq -s '[.[] | .count // 0] | add' <<<"$output")" -eq "$events" ] || try refuse "replay -i: not $events"
	mw faults -o jsonl --input run.mw
	[ "$(jq -s '[.[] | .count // 0] | add' <<<"$output")" -eq "$events" ] || try refuse "replay: not $events"
	# A recording without ticks has one interval.
	"$MEMWHY" faults --record run.mw --out live -- ls >/dev/null
	mw faults -i 1s --input run.mw
	[ "$output" = "$(<live)" ] || try refuse "no ticks"
	tried
}

@test "replay: what record wrote answers every command, by name" {
	"$MEMWHY" record run.mw -- sh -c 'ls / >/dev/null; echo' >/dev/null 2>&1
	for c in $(commands_with input output); do
		for words in "" --stacks $(by_all "$c"); do
			mw "$c" --input run.mw $words -o json
			[ "$status" -eq 0 ] && [ -z "$stderr" ] || try refuse "$c $words"
			[[ $output == *"\"command\": \"$c\""* ]] || try refuse "$c $words: command"
		done
	done
	mw faults --input run.mw -o json
	jq -e '[.rows[].comm] | index("ls") and index("sh") and (index("?") | not)' <<<"$output" >/dev/null ||
		try refuse "processes: $(jq -c '[.rows[].comm]' <<<"$output")"
	total=$(jq .events.faults <<<"$output")
	for words in "" --stacks $(by_each faults); do
		mw faults --input run.mw -o json $words
		[ "$(jq '[.rows[].count] | add' <<<"$output")" -eq "$total" ] || try refuse "faults $words: not $total"
	done
	mw faults --input run.mw --stacks -o json
	jq -e '[.rows[].stack // [] | .[]] | any(startswith("_dl_") or startswith("main"))' <<<"$output" >/dev/null ||
		try refuse "the stacks have no symbols"
	tried
}

others_read() { # COMMAND
	local c=$1 other
	"$MEMWHY" $(live "$c") --record run.mw --out /dev/null -- ls >/dev/null
	for other in $all; do
		mw "$other" --input run.mw -o json
		if [ "$other" = "$c" ] || [ "$other" = check ] || [[ $status -eq 0 && $c == @(check|top) ]] || [[ "$other over $c" == @(top|where)" over oom" ]]; then
			[ "$status" -eq 0 ] && [ -z "$stderr" ] || try refuse "$other over $c's"
			[[ $other != @(check|top) || $c == @(check|top) || $output == *"not recorded: "* ]] || try refuse "$other over $c's does not say what it lacks"
		else
			[[ $status -eq 0 || $status -eq 2 ]] && [[ $output$stderr == *"not recorded"* ]] ||
				try refuse "$other over $c's claims to know"
		fi
	done
}

@test "replay: what one command recorded another reads, or says that it was not recorded" {
	all=$(commands_with input output)
	side_by_side others_read $all
	tried
}

# What `record` and `check` do not look at, unless it is named, they cannot say "no" to.
only_named() {
	"$MEMWHY" record --help | tr -s ' \n' ' ' | sed 's/.*only when named: \([^;]*\);.*/\1/; s/,//g'
}

denies_nothing() { # COMMAND
	mw "$1" --input "$2"
	[ "$status" -eq 0 ] && ! grep -E '^(No|Nothing) ' <<<"$output" || try refuse "$1 says no of what $2 lacks"
}

@test "replay: a plain recording says no to nothing that was not looked at, and how to record it" {
	named=$(only_named)
	"$MEMWHY" record --for 100ms record.mw 2>/dev/null
	"$MEMWHY" check --for 100ms --record check.mw >/dev/null
	for c in $(commands_with input output); do
		[[ " $named " == *" $c "* ]] || continue
		denies_nothing "$c" record.mw
		[[ $output == *"not recorded"*"to record"*"memwhy record --probes"* ]] || try refuse "$c: no remedy"
		denies_nothing "$c" check.mw
	done
	for c in $(commands_with input output); do
		[[ " $named leak count limit check top " != *" $c "* ]] || continue
		mw "$c" --input record.mw
		[[ $status -eq 0 && $output != *"not recorded"* ]] || try refuse "$c: it was recorded"
	done
	denies_nothing limit record.mw
	[[ $output == *"limit was not recorded"*"memwhy limit -g GROUP"* ]] || try refuse limit
	mw check --input record.mw
	[[ $output == *"not recorded: pages, "*"the file is of 'memwhy record'"* && $output != *"Nothing is wrong with memory"* && $output != *"Nothing is wrong now"* ]] ||
		try refuse check
	mw check --input check.mw
	[[ $output != *"not recorded: "* ]] || try refuse "check over its own"
	for how in "export --to folded --of maps record.mw" "maps -o csv --input record.mw" "diff --of maps record.mw check.mw"; do
		mw $how
		[[ $status -eq 2 && $stderr == *"maps was not recorded"*"memwhy record --probes maps FILE"* ]] || try refuse "$how"
	done
	"$MEMWHY" report --out page.html record.mw
	! grep -qE 'No calls in scope|No page was (allocated|freed) in scope|No slab allocations' page.html || try refuse report
	tried
}

@test "replay: what was recorded by name is there, and nothing else" {
	for p in $(only_named); do
		"$MEMWHY" record --probes "$p" "$p.mw" -- ls >/dev/null 2>&1 || try refuse "--probes $p"
		has_option "$p" input 2>/dev/null || continue
		mw "$p" --input "$p.mw"
		[[ $status -eq 0 && $output != *"not recorded"* ]] || try refuse "$p of its own"
		mw check --input "$p.mw"
		[[ $output == *"not recorded: "* && $output != *"Nothing is wrong with"* ]] || try refuse "check over $p"
	done
	tried
}

@test "replay: numa follows the heap beside: only with all blocks there are sums for heap and leak" {
	"$MEMWHY" numa --all-blocks --record run.mw --out /dev/null -- ls >/dev/null
	for other in heap leak; do
		mw "$other" --input run.mw -o json
		[ "$status" -eq 0 ]
		jq -e '[.rows[] | select(.live_blocks > 0 or .live > 0 or .allocations > 0)] | length > 10' <<<"$output"
	done
	"$MEMWHY" numa --record run.mw --out /dev/null -- ls >/dev/null
	mw heap --input run.mw
	[[ "$output" == *"Not recorded."*"heap was not recorded"* ]]
}

@test "replay: a recording of single events does not show as none at all without --each" {
	"$MEMWHY" faults --each --record run.mw --out live -o json -- ls >/dev/null
	mw faults --input run.mw -o json
	sums=$(jq '[.rows[]?.count] | add // 0' <<<"$output")
	mw faults --input run.mw
	# They are summed up, or it is said that they are there.
	[ "$sums" = "$(jq .events.faults live)" ] || [[ "$output$stderr" == *--each* && $output != *"No page faults"* ]] ||
		refuse "--input without --each"
}

@test "replay: a recording of single events is no empty profile, table or difference" {
	"$MEMWHY" faults --each --stacks --record run.mw --out /dev/null -- ls >/dev/null
	"$MEMWHY" faults --each --stacks --record other.mw --out /dev/null -- ls >/dev/null
	for how in "export --to folded run.mw" "export --to pprof --out p.gz run.mw" "faults --input run.mw --stacks -o speedscope" \
		"faults --input run.mw -o csv" "diff run.mw other.mw"; do
		mw $how
		[[ $status -eq 2 && $stderr == *"single events only"*"memwhy faults --each --input"* ]] || try refuse "$how"
	done
	for how in "export --to sqlite --out r.db run.mw" "faults --input run.mw --each -o csv" "report --out r.html run.mw"; do
		try mw_ok $how
	done
	tried
}

@test "replay: --min holds over a recording too" {
	"$MEMWHY" faults --each --record run.mw --out live -o json -- ls >/dev/null
	[ "$(jq '.rows | length' live)" -gt 50 ]
	mw faults --each --min 1us --input run.mw -o json
	[ "$(jq '.rows | length' <<<"$output")" -eq "$(jq '[.rows[] | select((.duration_ns // 0) >= 1000)] | length' live)" ] ||
		refuse "--min 1us: $(jq '.rows | length' <<<"$output") rows"
	mw faults --each --min 1h --input run.mw -o json
	[ "$(jq '.rows | length' <<<"$output")" -eq 0 ] || refuse "--min 1h"
}

@test "replay: the recording is private, whatever the umask" {
	(umask 0; "$MEMWHY" faults --record run.mw --for 50ms >/dev/null)
	[ "$(stat -c %a run.mw)" = 600 ]
	(umask 0; "$MEMWHY" record --probes faults rec.mw -- true 2>/dev/null)
	[ "$(stat -c %a rec.mw)" = 600 ]
	install -m 666 /dev/null old.mw
	"$MEMWHY" record --probes faults old.mw -- true 2>/dev/null
	[ "$(stat -c %a old.mw)" = 600 ]
	mw_ok faults --input old.mw
}

@test "replay: from a pipe" {
	"$MEMWHY" faults --record run.mw --out live -- ls >/dev/null
	run --separate-stderr bash -c 'cat run.mw | "$0" faults --input /dev/stdin' "$MEMWHY"
	[ "$status" -eq 0 ] && [ "$output" = "$(<live)" ] || refuse "--input /dev/stdin"
}

@test "replay: does not depend on the machine: no /proc, no /sys, other time zone and locale" {
	"$MEMWHY" faults --stacks --record run.mw --out live -- ls >/dev/null
	hide='umount -l /sys'
	sanitized || hide+='; umount -l /proc'
	run --separate-stderr unshare -m sh -c "mount --make-rprivate /; $hide;"'
		exec env -i TZ=Asia/Tokyo LC_ALL=de_DE.UTF-8 "$0" faults --stacks --input run.mw' "$(realpath "$MEMWHY")"
	[ "$status" -eq 0 ] && [ -z "$stderr" ] && [ "$output" = "$(<live)" ] ||
		refuse "elsewhere: $(diff live - <<<"$output" | head -n 4)"
}

@test "replay: over a recording that is still being written, and one of a killed memwhy: what is there, status 4" {
	mw_start record --probes faults run.mw -- sh -c 'echo $$ >pid; while sleep 0.05; do ls / >/dev/null; done'
	sleep 2.4
	mw faults --input run.mw -o json
	[ "$status" -eq 4 ] && one_error && [[ $stderr == *"still being recorded"* ]] || try refuse "still being written"
	[ "$(jq '[.rows[].count] | add // 0' <<<"$output")" -gt 100 ] || try refuse "nothing of the first seconds can be read"
	kill -9 "$memwhy"
	mw_end
	kill "$(<pid)" || try refuse "the command is gone"
	mw faults --input run.mw -o json
	[ "$status" -eq 4 ] && one_error || try refuse "killed"
	[ "$(jq '[.rows[].count] | add // 0' <<<"$output")" -gt 100 ] || try refuse "the seconds before it was killed are lost"
	tried
}
