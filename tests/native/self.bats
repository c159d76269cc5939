#!/usr/bin/env bats
# memwhy does not count itself: neither what it faults, allocates and calls, nor its own memory, nor
# what the processes do that it runs; unless --with-self asks for it.
load common

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR" || return 1
}

# rows_of_itself JSON PID: how many rows are of that process
rows_of_itself() {
	jq --argjson pid "$2" '[.rows[] | select(.pid == $pid or .tgid == $pid)] | length' "$1"
}

# rows_of_readers JSON: how many are of the processes that read files for it
rows_of_readers() {
	jq --argjson pids "[$readers]" '[.rows[] | select(.pid as $p | $pids | any(. == $p))] | length' "$1"
}

# run_itself WORDS...: a run of a second in $out, its process id in $pid, those of its readers in $readers
run_itself() {
	out=$BATS_TEST_TMPDIR/$RANDOM.json
	"$MEMWHY" "$@" --for 1s -i 200ms -o jsonl --limit 0 --out "$out" 3>&- &
	pid=$!
	wait_for '[ "$(pgrep -P "$pid" memwhy-reader | tee readers | wc -l)" = 2 ]'
	readers=$(paste -sd , readers)
	wait $pid
	jq -s '{rows: map(select(.table))}' "$out" >"$out.rows"
	out=$out.rows
}

@test "self: what memwhy does is in no table, and is with --with-self" {
	while read -r words; do
		# shellcheck disable=SC2086 # words
		run_itself $words
		echo "$words: $(rows_of_itself "$out" $pid) rows of itself, $(rows_of_readers "$out") of its readers"
		[ "$(rows_of_itself "$out" $pid)" -eq 0 ]
		[ "$(rows_of_readers "$out")" -eq 0 ]
		# shellcheck disable=SC2086
		run_itself $words --with-self
		echo "$words --with-self: $(rows_of_itself "$out" $pid) rows of itself"
		[ "$(rows_of_itself "$out" $pid)" -ge 1 ]
		[[ $words != faults* ]] || [ "$(rows_of_readers "$out")" -ge 1 ]
	done <<-COMMANDS
	faults --stacks
	pages --by process
	slab --by process
	count raw_syscalls:sys_enter --by process
	COMMANDS
}

@test "self: a recording has no fault of memwhy's own, and its cost is in the header all the same" {
	"$MEMWHY" record r.mw --for 2s --stacks 3>&- &
	pid=$!
	wait $pid
	"$MEMWHY" faults --input r.mw -o json --limit 0 --out report.json
	[ "$(rows_of_itself report.json $pid)" -eq 0 ]
	jq -e '.cost.cpu_seconds > 0 and .cost.rss_bytes > 0' report.json
}
