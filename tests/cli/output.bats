#!/usr/bin/env bats
# The formats, the choice of what is shown, and where it goes.
# bats file_tags=beside
load common

# A recording, and what each report prints of it, in each format (of JSON all rows): shown/COMMAND.FORMAT,
# beside it what is on stderr (.err) and the status (.status).
setup_file() {
	local c f file
	[ "$(id -u)" -eq 0 ] || return 0
	cd "$BATS_FILE_TMPDIR"
	run_mw=$PWD/run.mw
	recording_make "$run_mw"
	mkdir shown
	while read -r c; do
		for f in text wide json jsonl csv folded; do
			file=shown/${c%% *}.$f
			mw $c -o $f $([ $f != json ] || echo --limit 0)
			printf '%s\n' "$output" >"$file"
			printf '%s' "$stderr" >"$file.err"
			echo "$status" >"$file.status"
		done
	done < <(reports)
}

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR"
	run_mw=$BATS_FILE_TMPDIR/run.mw
}

# Commands that show a recording, and doctor, with their arguments.
reports() {
	commands_with input output | sed "s|\$| --input $run_mw|"
	commands | grep -x doctor
}

# What was shown: $status, $output, $stderr.
shown() { # REPORT FORMAT
	local file=$BATS_FILE_TMPDIR/shown/${1%% *}.$2
	status=$(<"$file.status") output=$(<"$file") stderr=$(<"$file.err")
}

shown_ok() { # REPORT FORMAT
	shown "$1" "$2"
	[ "$status" -eq 0 ] && [ -z "$stderr" ] || refuse "memwhy $1 -o $2: expected status 0 and no error"
}

# Fails unless the JSON of each report is one object of which this holds; $name is the command.
each_json() { # FILTER
	local not
	cd "$BATS_FILE_TMPDIR/shown"
	not=$(jq -rn "[inputs | (input_filename | rtrimstr(\".json\")) as \$name | {name: \$name, holds: ($1)}] |
		group_by(.name) as \$all | (\$all[] | select(length != 1 or (.[0].holds | not)) | .[0].name),
		((\$ARGS.positional | map(rtrimstr(\".json\"))) - [\$all[][0].name] | .[])" *.json --args *.json)
	[ -z "$not" ] || { echo "not of: $not"; return 1; }
}

@test "output: text and wide: no control bytes, and text fits 100 columns" {
	while read -r c; do
		for f in text wide; do
			try shown_ok "$c" $f
			[ -n "$output" ] || try refuse "$c -o $f is empty"
			! has_controls <<<"$output" || try refuse "$c -o $f has control bytes"
			[ $f = wide ] || ! too_wide <<<"$output" || try refuse "$c is wider than 100 columns"
		done
	done < <(reports)
	tried
}

@test "output: json is one object with every member of the contract" {
	while read -r c; do
		try shown_ok "$c" json
	done < <(reports)
	try each_json '.schema == "memwhy/1" and .command == $name
		and (.host | (.kernel | type == "string") and .cpus > 0 and .nodes > 0 and .page_size > 0)
		and (.interval.start | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$"))
		and .interval.seconds > 0
		and (.methods | type == "object" and all(.[]; type == "string"))
		and (.events | type == "object" and all(.[]; type == "number"))
		and (.lost | type == "object" and all(.[]; type == "number"))
		and (.events | keys) == (.lost | keys)
		and (.rows | type == "array" and all(.[]; type == "object"))
		and ((.findings // []) | type == "array")'
	tried
}

@test "output: the cost is in every json, and is a cost" {
	each_json '.cost | .cpu_seconds > 0 and .bpf_seconds >= 0 and .rss_bytes > 1000000'
}

@test "output: jsonl is a row a line, then the rest, marked as the end" {
	cd "$BATS_FILE_TMPDIR/shown"
	jq -rn '[inputs | {name: input_filename, it: .}] | group_by(.name)[] | .[0].name as $name | map(.it) |
		((.[-1] | .end == true and .schema == "memwhy/1" and has("host") and has("interval")
			and has("methods") and has("events") and has("lost") and has("cost"))
			and (.[:-1] | all(has("end") | not))) as $holds |
		"\($name | rtrimstr(".jsonl")) \($holds) \(length)"' *.jsonl >jsonl
	jq -r '"\(input_filename | rtrimstr(".json")) true \((.rows | length) + 1)"' *.json >json
	grep -q '^doctor true ' jsonl # what it finds is looked for anew each time, beside other tests
	diff <(grep -v ^doctor json) <(grep -v ^doctor jsonl)
	while read -r c; do
		try shown_ok "$c" jsonl
		[ "$(grep -c '^{.*}$' <<<"$output")" -eq "$(sed -n "s/^${c%% *} true //p" jsonl)" ] ||
			try refuse "$c: not an object a line"
	done < <(reports)
	tried
}

@test "output: csv has a header and as many fields in each row" {
	jq -r '(input_filename | rtrimstr(".json")) as $name | .rows | group_by(.table)[] | select(.[0].table) |
		"\($name) \(.[0].table) \(length + 1) \(.[0] | del(.table, .stack_method) | keys_unsorted | join(","))"' \
		"$BATS_FILE_TMPDIR"/shown/*.json | sed 's|.*/||' >tables # stack_method is no column, and not in each row
	while read -r c; do
		while read -r table rows; do
			if [[ $c == doctor* ]]; then
				shown "$c" csv
				rows="$(grep -c '' <<<"$output") ${rows#* }"
			else
				mw $c --table "$table" -o csv
			fi
			csv_check <<<"$output" || try refuse "$c --table $table"
			[ "$(grep -c '' <<<"$output") $(head -n1 <<<"$output")" = "$rows" ] ||
				try refuse "$c --table $table: lines and header are not $rows"
		done < <(sed -n "s/^${c%% *} //p" tables)
	done < <(reports)
	[ "$(wc -l <tables)" -ge 4 ] || try refuse "few tables: $(<tables)"
	tried
}

@test "output: folded is stacks and weights, which sum up to the events" {
	run --separate-stderr "$MEMWHY" faults --input "$run_mw" --stacks -o folded
	[ "$status" -eq 0 ]
	! grep -vE '^[^;]+(;[^;]+)* [0-9]+$' <<<"$output" || false
	total=$(awk '{ n += $NF } END { print n }' <<<"$output")
	mw faults --input "$run_mw" -o json
	[ "$total" -eq "$(jq '[.rows[].count] | add' <<<"$output")" ]
	[ "$total" -gt 0 ]
}

@test "output: what a format cannot show is said, instead of printing nothing" {
	while read -r c; do
		for f in folded csv; do
			shown "$c" $f
			[ -n "$output" ] || { [ "$status" -eq 2 ] && one_error; } ||
				try refuse "$c -o $f: nothing, and no word about it"
		done
	done < <(reports)
	tried
}

@test "output: every format gives the same rows" {
	mw faults --input "$run_mw" -o json
	want=$(jq -r '.rows[] | [.pid, .comm, .count] | @csv' <<<"$output" | tr -d '"')
	[ -n "$want" ]
	mw faults --input "$run_mw" -o jsonl
	[ "$(jq -r 'select(.end | not) | [.pid, .comm, .count] | @csv' <<<"$output" | tr -d '"')" = "$want" ]
	mw faults --input "$run_mw" -o csv --fields pid,comm,count
	[ "$output" = "pid,comm,count"$'\n'"$want" ]
	mw faults --input "$run_mw" -q --limit 0 --fields pid,comm,count
	[ "$(tail -n +2 <<<"$output" | tr -s ' ' , | sed 's/^,//')" = "$(sed 's/\([0-9]\)\([0-9]\{3\}\)$/\1,\2/' <<<"$want")" ]
}

@test "output: --fields chooses and orders, --sort sorts both ways, --limit cuts and says so" {
	in="--input $run_mw"
	mw faults $in -o csv --by mapping --fields count,mapping
	[ "$(head -n1 <<<"$output")" = count,mapping ]
	[ "$(wc -l <<<"$output")" -ge 3 ]
	[ "$(tail -n +2 <<<"$output" | cut -d, -f1)" = "$(tail -n +2 <<<"$output" | cut -d, -f1 | sort -rn)" ]
	mw faults $in -o csv --by mapping --fields count,mapping --sort -count
	[ "$(tail -n +2 <<<"$output" | cut -d, -f1)" = "$(tail -n +2 <<<"$output" | cut -d, -f1 | sort -n)" ]
	mw faults $in -o csv --by mapping --fields mapping --sort mapping
	[ "$(tail -n +2 <<<"$output")" = "$(tail -n +2 <<<"$output" | LC_ALL=C sort -r)" ]
	mw faults $in --by mapping --limit 1
	[[ $output == *"more row"* ]]
	mw faults $in --by mapping --limit 1 -o json
	[ "$(jq '.rows | length' <<<"$output")" -eq 1 ]
	[ "$(jq '[.rows_cut[]] | add' <<<"$output")" -ge 1 ]
	mw faults $in --by mapping --fields mapping,count -o json
	[ "$(jq -c '.rows[0] | keys' <<<"$output")" = '["count","mapping","table"]' ]
}

@test "output: unknown fields, tables, columns to sort by, keys and formats suggest the nearest" {
	in="--input $run_mw"
	mw_error 2 faults $in --fields pid,cuont
	[[ $stderr == *"'count'"* ]]
	mw_error 2 faults $in --sort cuont
	[[ $stderr == *"'count'"* ]]
	mw_error 2 faults $in --table fault
	[[ $stderr == *"'faults'"* ]]
	mw_error 2 faults $in -o jsn
	[[ $stderr == *json* ]]
	mw_error 2 faults $in --by proces
	[[ $stderr == *process* ]]
	mw_error 2 faults $in --sort stack --stacks
	mw_error 2 faults $in --stacks=usr
	[[ $stderr == *user* ]]
}

@test "output: what --each cannot show is refused as well" {
	limit=4
	for word in "--fields pid,cuont" "--sort cuont" "--table nosuch"; do
		for f in text json; do
			try mw_error 2 faults --each --for 50ms -o $f $word
		done
	done
	tried
}

@test "output: --limit and --fields hold for --each too" {
	for f in csv jsonl json; do
		mw_ok faults --each -o $f --limit 3 --fields pid,address --out "out.$f" -- sh -c 'ls >/dev/null'
	done
	[ "$(wc -l <out.csv)" -eq 4 ] || try refuse "csv has $(wc -l <out.csv) lines"
	[ "$(wc -l <out.jsonl)" -eq 4 ] || try refuse "jsonl has $(wc -l <out.jsonl) lines"
	[ "$(jq '.rows | length' out.json)" -eq 3 ] || try refuse "json has other rows"
	[ "$(head -n1 out.csv)" = pid,address ]
	tried
}

@test "output: --each is written as it comes, json too, and is whole at the end" {
	for words in "" --stacks=user; do
		rm -f rows.json
		mw_start faults --each $words -o json --out rows.json
		ls / >/dev/null
		wait_for '[ -s rows.json ] && [ "$(grep -c "\"table\"" rows.json)" -gt 10 ]'
		[ "$(head -c 26 rows.json)" = $'{\n  "schema": "memwhy/1",' ]
		kill -INT "$memwhy"
		mw_end
		[ "$status" -eq 130 ]
		jq -e '.command == "faults" and .host.cpus and .end == null and (.rows | length) > 10 and
			all(.rows[]; .table == "fault")' rows.json >/dev/null
		[ -z "$words" ] || jq -e 'any(.rows[]; .stack | length > 1)' rows.json >/dev/null
	done
	mw_ok faults --each -c nosuchname -o json --for 50ms
	jq -e '.rows == [] and .host' <<<"$output" >/dev/null
	mw_error 2 faults --each --sort duration_ns --for 50ms
	[[ $stderr == *--record* ]]
}

@test "output: a column that is not there is refused before the command is run" {
	limit=2
	try mw_error 2 faults --for 30s --sort nosuch
	for word in "--sort nosuch" "--fields nosuch" "--table nosuch"; do
		rm -f ran
		try mw_error 2 faults $word -- touch ran
		[ ! -e ran ] || try refuse "$word: the command was run"
	done
	tried
}

@test "output: -i csv is one table: one header" {
	mw_ok faults -i 100ms --for 450ms -o csv
	csv_check <<<"$output"
	[ "$(grep -c pid <<<"$output")" -eq 1 ]
	[[ $output == interval_start,interval_end,pid,* ]]
}

@test "output: -i tells what is of the interval, and rows say which it is" {
	# A machine with nothing else to do may fault nowhere for 200 ms.
	"$MEMWHY" faults --record run.mw -i 200ms -o json --out live.json -- \
		sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; /bin/true; done'
	mw_ok faults --input run.mw -i 200ms -o json
	diff live.json - <<<"$output"
	# Each report's events are the rows' of it, not of all so far.
	jq -es 'length >= 3 and (map(.events.faults) | add) > 500 and
		all(.events.faults == ([.rows[].count] | add // 0))' live.json ||
		{ jq -c '[.events.faults, ([.rows[].count] | add)]' live.json; false; }
	jq -r '.interval.start' live.json >starts
	mw_ok faults --input run.mw -i 200ms -o jsonl
	jq -r 'select(.end | not) | .interval_start' <<<"$output" | uniq | diff starts -
	jq -es '[.[] | select(.end | not)] | all(.interval_start < .interval_end)' <<<"$output"
	mw_ok faults --input run.mw -i 200ms -o csv
	tail -n +2 <<<"$output" | cut -d, -f1 | uniq | diff starts -
	mw_ok faults --input run.mw -o csv
	[[ $output != *interval_start* ]]
}

@test "output: -i prints each interval as it ends: json an object each, jsonl an end each" {
	mw_ok faults -i 100ms --for 450ms -o json
	n=$(jq -s length <<<"$output")
	[ "$n" -ge 3 ]
	[ "$n" -le 6 ]
	jq -es 'all(.schema == "memwhy/1") and ([.[].interval.start] | . == sort and . == unique)' <<<"$output"
	mw_ok faults -i 100ms --for 450ms -o jsonl
	n=$(jq -s 'map(select(.end)) | length' <<<"$output")
	[ "$n" -ge 3 ]
	[ "$n" -le 6 ]
}

@test "output: check says how long it looked, also when that was short" {
	mw_ok check --for 50ms
	[[ $output != *" 0 s "* ]] || refuse "check --for 50ms"
}

@test "output: -q is rows only, -v tells the methods" {
	mw_ok faults --input "$run_mw" -q
	[[ $(head -n1 <<<"$output") == *PID*COMM* ]]
	! grep -qE '^(memwhy|cost|Note|.*events:)' <<<"$output" || false
	mw_ok faults --input "$run_mw" -v
	grep -q '^method: faults' <<<"$output"
}

@test "output: every command takes -q, as the contract has it" {
	run --separate-stderr "$MEMWHY" record -q --probes faults quiet.mw -- true
	[ "$status" -eq 0 ] && [ -z "$stderr" ] || refuse "record -q"
}

@test "output: colour on a terminal only, and not with NO_COLOR or TERM=dumb" {
	show="$MEMWHY faults --input $run_mw"
	on_terminal() { script -qec "env $1 $show" /dev/null </dev/null; }
	on_terminal "-u NO_COLOR TERM=xterm" | grep -q $'\e\['
	! on_terminal "NO_COLOR=1 TERM=xterm" | grep -q $'\e' || false
	! on_terminal "-u NO_COLOR TERM=dumb" | grep -q $'\e' || false
	! on_terminal "-u NO_COLOR -u TERM" | grep -q $'\e' || false
	! env -u NO_COLOR TERM=xterm $show | grep -q $'\e' || false
	! on_terminal "-u NO_COLOR TERM=xterm $MEMWHY --version;" | grep -q $'\e\[1m.*\e\[1m.*version' || false
	for f in json jsonl csv; do
		show="$MEMWHY faults --input $run_mw -o $f"
		! on_terminal "-u NO_COLOR TERM=xterm" | grep -q $'\e' || false
	done
}

@test "output: data goes to stdout, notes of a recording to stderr" {
	run --separate-stderr "$MEMWHY" record --probes faults notes.mw -- echo data
	[ "$status" -eq 0 ]
	[ "$output" = data ]
	[[ $stderr == "memwhy: recorded "*" to notes.mw" ]]
	head -c $(($(stat -c %s notes.mw) - 10)) notes.mw >cut.mw
	run --separate-stderr "$MEMWHY" faults --input cut.mw -o json
	[ "$status" -eq 4 ]
	jq -e '.rows and .damage' <<<"$output"
	one_error
}

@test "output: --out gets the report, and nothing else does; it is private" {
	while read -r c; do
		rm -f report
		try mw_ok $c -o json --limit 0 --out report
		[ -z "$output" ] || try refuse "$c --out still prints"
		# doctor looks again, each time
		if [[ $c == doctor* ]]; then
			jq -e .schema report >/dev/null || try refuse "$c: no report"
		else
			cmp report "$BATS_FILE_TMPDIR/shown/${c%% *}.json" || try refuse "$c --out differs"
		fi
		[ "$(stat -c %a report)" = 600 ] || try refuse "$c: mode $(stat -c %a report)"
	done < <(reports)
	tried
}

@test "output: --out - is standard output" {
	mw_ok faults --input "$run_mw" -o json
	text=$output
	mw_ok faults --input "$run_mw" -o json --out -
	[ "$output" = "$text" ]
	[ ! -e ./- ]
}

@test "output: --out replaces a longer file, and a usage error leaves it alone" {
	head -c 100000 /dev/zero | tr '\0' x >report
	mw_error 2 faults --input "$run_mw" --out report -o json
	[ "$(stat -c %s report)" -eq 100000 ]
	mw_ok faults --input "$run_mw" --out report -o json --force
	jq -e .rows report >/dev/null
	mw_ok faults --input "$run_mw" --out report -q --limit 1
	[ "$(stat -c %s report)" -lt 1000 ]
	echo precious >report
	mw_error 2 faults --input "$run_mw" --out report --by nosuch
	[ "$(<report)" = precious ] || try refuse "--by nosuch"
	mw_error 2 faults --input "$run_mw" --out report --sort nosuch
	[ "$(<report)" = precious ] || try refuse "--sort nosuch"
	mw_error 2 faults --input nosuchfile --out report
	[ "$(<report)" = precious ] || try refuse "--input nosuchfile"
	mw_error 2 faults --out report -p 4194304
	[ "$(<report)" = precious ] || try refuse "-p 4194304"
	tried
}

# What is made of a recording is opened before the recording is read, by a process that may remove nothing.
@test "output: a run that fails leaves no empty file; one that was there stays" {
	head -c 1000 "$run_mw" >cut.mw
	for words in "export --to pprof --of nosuch $run_mw" "export --to sqlite $BATS_TEST_FILENAME" "report $BATS_TEST_FILENAME" \
		"report cut.mw" "diff $run_mw cut.mw" "faults --input $run_mw --sort nosuch" "faults -p 4194304"; do
		mw $words --out report
		[ "$status" -ne 0 ] || try refuse "$words: no error"
		[ ! -e report ] || try refuse "$words: a file is left"
		: >report
		mw $words --out report
		[ -e report ] || try refuse "$words: a file of others is gone"
		rm -f report
	done
	mw_ok faults --input "$run_mw" --limit 1 -q --out report
	[ -s report ]
	# with nothing to say it is there, and empty
	mw_ok export --to folded --of faults -c nobody "$run_mw" --out none
	[ -e none ]
	[ ! -s none ]
	tried
}

# Notes on files (user attributes), by which a report in csv is known.
needs_file_notes() {
	[ "$(stat -f -c %T .)" != tmpfs ] || skip "tmpfs has no user attributes before Linux 6.6"
}

# Formats that do not say that they are a report, and those that do; a recording; an empty file.
@test "output: --out and --record replace what memwhy wrote, and nothing else without --force" {
	needs_file_notes
	for f in text wide json jsonl csv; do
		try mw_ok faults --input "$run_mw" -o $f --out mine.$f
		try mw_ok faults --input "$run_mw" -q -o $f --out mine.$f
		try mw_ok faults --input "$run_mw" -o csv --out mine.$f
	done
	: >empty
	mw_ok faults --input "$run_mw" --out empty
	cp "$run_mw" mine.mw
	mw_ok faults --input "$run_mw" --out mine.mw
	mw_ok record mine.mw --for 50ms -q
	for content in theirs 'memwhy is a tool' '{"schema": "other/1"}' 'pid,comm,count'; do
		echo "$content" >theirs
		for words in "faults --for 50ms --out" "faults --for 50ms --record" "record --for 50ms" "doctor --out"; do
			try mw_error 2 $words theirs
			[[ $stderr == *--force* ]] || try refuse "$words does not name --force"
			[ "$(<theirs)" = "$content" ] || try refuse "$words: the file is gone"
		done
	done
	mw_ok record theirs --for 50ms -q --force
	mw_ok faults --input theirs
	tried
}

@test "output: --out and --record follow no link, and write to no file of others" {
	needs_root
	mkdir -m 1777 shared
	echo precious >precious
	ln -s ../precious shared/link
	echo >shared/theirs
	chown nobody shared/link -h
	chown nobody shared/theirs
	chmod 666 shared/theirs
	cp "$run_mw" old.mw
	ln old.mw shared/hard
	for f in link theirs hard; do
		for words in "faults --for 50ms --out" "faults --for 50ms --record" "record --for 50ms" "doctor --out"; do
			try mw_error 2 $words shared/$f
			[[ $stderr == *--force* ]] || try refuse "$words does not name --force"
		done
	done
	[ "$(<precious)" = precious ]
	[ "$(stat -c %U shared/theirs)" = nobody ]
	for f in link theirs hard; do
		mw_ok faults --input "$run_mw" --out shared/$f --force
		[ "$(stat -c '%F %U %a %h' shared/$f)" = "regular file root 600 1" ]
	done
	[ "$(<precious)" = precious ]
	[ "$(ls -A shared | wc -l)" -eq 3 ]
	cmp old.mw "$run_mw"
	tried
}

@test "output: --out takes descriptors, devices and pipes as they are" {
	mw_ok faults --input "$run_mw" -o json
	text=$output
	mw_ok faults --input "$run_mw" -o json --out /dev/stdout
	[ "$output" = "$text" ]
	echo before >log
	"$MEMWHY" faults --input "$run_mw" -o json --out /dev/stdout >>log
	[ "$(<log)" = "before"$'\n'"$text" ]
	echo before >log
	"$MEMWHY" faults --input "$run_mw" -o json --out /dev/stderr 2>>log
	[ "$(<log)" = "before"$'\n'"$text" ]
	"$MEMWHY" faults --input "$run_mw" -o json --out /dev/fd/9 9>log
	[ "$(<log)" = "$text" ]
	"$MEMWHY" faults --input "$run_mw" -o json --out >(cat >through)
	wait_for '[ -s through ] && jq -e .rows through >/dev/null'
	mw_ok faults --input "$run_mw" -o json --out /dev/null
	[ -z "$output" ]
	mkfifo pipe
	cat pipe >through 3>&- &
	mw_ok faults --input "$run_mw" -o json --out pipe
	wait $!
	[ "$(<through)" = "$text" ]
	cat "$run_mw" >pipe 3>&- &
	mw_ok faults --input pipe -o json
	wait $!
	[ "$output" = "$text" ]
	mw_error 2 faults --input "$run_mw" --out pipe
	[[ $stderr == *"no process reads this pipe"* ]]
	mw_error 2 faults --input pipe
	[[ $stderr == *"no process writes to this pipe"* ]]
	mw_error 2 faults --input "$run_mw" --out /dev/fd/77
}

@test "output: --record leaves an earlier recording alone when the command line is wrong" {
	for word in "-p 4194304" "--by nosuch" "--stacks=nosuch" "-c 1234567890123456" "-g /nosuch"; do
		cp "$run_mw" old.mw
		try mw_error 2 faults $word --record old.mw --for 50ms
		cmp -s "$run_mw" old.mw || try refuse "$word: the recording is gone"
		[ "$word" = "--by nosuch" ] && continue
		cp "$run_mw" old.mw
		try mw_error 2 record old.mw $word --for 50ms
		cmp -s "$run_mw" old.mw || try refuse "record $word: the recording is gone"
	done
	tried
}

@test "output: the report does not overwrite the recording it is about" {
	cp "$run_mw" old.mw
	mw faults --input old.mw --out old.mw
	[ "$status" -eq 2 ] && cmp -s "$run_mw" old.mw || refuse "--input and --out are one file"
}

@test "output: a reader that has seen enough ends it quietly" {
	for c in "faults -i 100ms" "faults -i 100ms -o jsonl" "faults --each -o csv" "faults --each"; do
		mkfifo pipe
		timeout 6 "$MEMWHY" $c >pipe 2>err 3>&- &
		writer=$!
		(while sleep 0.05; do ls / >/dev/null; done) 3>&- & # on a quiet machine there is nothing to write
		noise=$!
		head -n1 <pipe >first
		status=0
		wait "$writer" || status=$?
		kill "$noise"
		rm pipe
		output=$(<first) stderr=$(<err)
		[ "$status" -eq 0 ] && [ -z "$stderr" ] && [ -n "$output" ] || try refuse "$c | head -n1"
	done
	# Much of a recording, more than a pipe holds.
	mw_ok faults --each --record each.mw --out /dev/null -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do ls / >/dev/null; done'
	for c in "faults --input each.mw --each -o jsonl" "help man faults"; do
		run --separate-stderr bash -c '"$0" "$@" | head -c1 >/dev/null; echo ${PIPESTATUS[0]}' "$MEMWHY" $c
		[[ -z $stderr && ($output == 0 || $output == 141) ]] || try refuse "$c | head -c1"
	done
	tried
}

@test "output: a full disk is said, and is not success" {
	while read -r c; do
		for f in text $([[ $c == doctor* ]] || echo json) $([[ $c == faults* ]] && echo wide jsonl csv); do
			status=0
			"$MEMWHY" $c -o $f >/dev/full 2>err || status=$?
			output= stderr=$(<err)
			[ "$status" -eq 4 ] && one_error && [[ $stderr == *"No space left"* ]] ||
				try refuse "$c -o $f >/dev/full"
		done
		try mw_error 4 $c -o json --out /dev/full
	done < <(reports)
	for mode in "-i 50ms --for 300ms" "--each --for 300ms"; do
		status=0
		"$MEMWHY" faults $mode >/dev/full 2>err || status=$?
		output= stderr=$(<err)
		[ "$status" -eq 4 ] && one_error || try refuse "faults $mode >/dev/full"
	done
	tried
}

# A command that takes more faults than a small file has room for.
many_faults='for i in $(seq 250); do /bin/true; done'

@test "output: a limit on file sizes is said; what was written stays readable" {
	status=0
	(ulimit -f 64 && exec "$MEMWHY" faults --each --record big.mw -q -o csv --fields pid --limit 1 -- \
		sh -c "$many_faults") >/dev/null 2>err || status=$?
	output= stderr=$(<err)
	[ "$status" -eq 4 ] && one_error && [[ $stderr == *big.mw*"File too large"* ]] || try refuse "--record"
	mw faults --each --input big.mw -o csv --fields pid
	[ "$status" -eq 4 ] && one_error && [ "$(wc -l <<<"$output")" -gt 1000 ] || try refuse "replay of it"
	status=0
	(ulimit -f 64 && exec "$MEMWHY" faults --each --out report -- sh -c "$many_faults") 2>err || status=$?
	output= stderr=$(<err)
	[ "$status" -eq 4 ] && one_error && [[ $stderr == *"File too large"* ]] || try refuse "--out"
	tried
}

@test "output: a file system that is full is said; what was written stays readable" {
	mkdir small
	cat >full.sh <<-END
		mount --make-rprivate / && mount -t tmpfs -o size=64k none small && cd small || exit 99
		"$(realpath "$MEMWHY")" faults --each --record run.mw --out /dev/null -- sh -c '$many_faults'
		echo \$?
		"$(realpath "$MEMWHY")" faults --each --input run.mw -o csv --fields pid 2>/dev/null | wc -l
	END
	run --separate-stderr unshare -m sh full.sh
	[ "${lines[0]}" = 4 ] && [ "${lines[1]}" -gt 1000 ] || refuse "status, events that can be read"
	[[ $stderr == "memwhy: writing run.mw failed after"*"No space left"* ]] && one_error || refuse "the error"
}

@test "output: closed descriptors: the report never ends up in the recording" {
	"$MEMWHY" faults --for 100ms --record run.mw >&- 2>err
	mw_ok faults --input run.mw
	"$MEMWHY" faults --for 100ms --record run.mw >/dev/null 2>&-
	mw_ok faults --input run.mw
	"$MEMWHY" record --probes faults run.mw --for 100ms <&- >&- 2>&-
	mw_ok faults --input run.mw
}

# on_terminal COMMAND...: with standard error on a terminal; all that was written there is $drawn.
on_terminal() {
	local line
	printf -v line '%q ' "$@"
	TERM=xterm script -qec "$line </dev/null >out" drawn.log >/dev/null 3>&- || true
	drawn=$(<drawn.log)
}

@test "output: a terminal sees what is being done and for how long; the line is taken away" {
	command -v script >/dev/null || skip "needs script(1)"
	on_terminal "$MEMWHY" faults --for 2200ms
	[[ $drawn == *"looking, 2 s to go; Ctrl-C"* ]] || try refuse "no time left"
	[[ $drawn == *$'\r\e[K'*$'\r\e[K'* ]] || try refuse "not taken away"
	last=${drawn##*$'\r\e[K'}
	[[ ${last%%Script done*} != *looking* ]] || try refuse "still there: $last"
	grep -q '^memwhy faults' out || try refuse "no report"
	! grep -q 'looking' out || refuse "in the report"
	# Only on a terminal, not with -q, not beside a command, not where the terminal cannot erase.
	"$MEMWHY" faults --for 1200ms 2>err >out
	[ ! -s err ] || try refuse "in a file"
	on_terminal "$MEMWHY" faults -q --for 1200ms
	[[ $drawn != *looking* ]] || try refuse "with -q"
	on_terminal "$MEMWHY" faults -- sleep 1.2
	[[ $drawn != *looking* ]] || try refuse "with -- CMD"
	on_terminal env TERM=dumb "$MEMWHY" faults --for 1200ms
	[[ $drawn != *looking* ]] || try refuse "with TERM=dumb"
	# In a process group of its own that is not the terminal's.
	on_terminal setsid -w "$MEMWHY" faults --for 1200ms
	[[ $drawn != *looking* ]] || try refuse "in the background"
	tried
}

@test "output: csv of several tables is all of them, and each row says whose it is" {
	local rows
	"$MEMWHY" record -q --probes reclaim,stalls,thp several.mw --for 50ms
	for c in stalls reclaim thp; do
		mw_ok "$c" --input several.mw -o json
		rows=$(jq '.rows | length' <<<"$output")
		mw_ok "$c" --input several.mw -o csv
		csv_check <<<"$output" || try refuse "$c"
		[[ $output == table,* ]] || try refuse "$c: no column of tables"
		[ "$(grep -c '' <<<"$output")" -eq $((rows + 1)) ] || try refuse "$c: not $rows rows"
	done
	mw_ok thp --input several.mw -o csv --table counters
	[[ $output != table,* && $(head -n1 <<<"$output") != *,,* ]] || refuse "one table"
	tried
}

@test "output: what a command prints is not among what programs read" {
	for words in "-o json" "-o jsonl" "-o csv" "--stacks=user -o folded" "--each -o json" "-o json --out -" \
		"-o json --out /dev/stdout" "--each -o csv"; do
		mw faults $words -- sh -c 'echo mine; echo wrong >&2; exit 3'
		[ "$status" -eq 3 ] && [[ $output != *mine* && $stderr == mine$'\n'wrong ]] || try refuse "$words"
	done
	for words in "-o text" "-o wide" "-q" "-o json --out report"; do
		mw faults $words -- sh -c 'echo mine; echo wrong >&2; exit 3'
		[ "$status" -eq 3 ] && [[ $output == mine* && $stderr == wrong ]] || try refuse "$words"
	done
	mw maps -q --like mmapsnoop -- echo mine
	[[ $status -eq 0 && $output == PID* && $output != *mine* && $stderr == mine ]] || try refuse "--like"
	# a terminal is told
	script -qec "\"$MEMWHY\" faults -o csv -- true >rows" /dev/null </dev/null >told
	grep -q "the command's output goes to stderr" told || try refuse "on a terminal"
	tried
}

@test "output: under LC_ALL=C text is ASCII, and JSON is what it is" {
	needs_root
	cp /bin/true "$BATS_TEST_TMPDIR/naïve"
	"$MEMWHY" record -q --probes faults "$BATS_TEST_TMPDIR/run.mw" -- "$BATS_TEST_TMPDIR/naïve"
	faults() { env -u LC_ALL -u LC_CTYPE -u LANG "$@" "$MEMWHY" faults --input "$BATS_TEST_TMPDIR/run.mw"; }
	for locale in LC_ALL=C LANG=POSIX "LC_CTYPE=C LANG=de_DE.UTF-8"; do
		# shellcheck disable=SC2086
		text=$(faults $locale)
		[[ $text == "memwhy faults | Linux "*"na?ve"* ]] || try refuse "$locale: $text"
		! LC_ALL=C grep -q '[^ -~]' <<<"$text" || try refuse "$locale: not ASCII"
	done
	for locale in LC_ALL=C.UTF-8 LANG= "LC_ALL=C.UTF-8 LANG=C"; do
		# shellcheck disable=SC2086
		text=$(faults $locale)
		[[ $text == "memwhy faults · Linux "*"naïve"* ]] || try refuse "$locale: $text"
	done
	[ "$(LC_ALL=C "$MEMWHY" faults --input "$BATS_TEST_TMPDIR/run.mw" -o json | jq -r '.rows[0].comm')" = naïve ]
	tried
}

@test "output: under LC_ALL=C all reports, help and errors are ASCII" {
	export LC_ALL=C
	while read -r c; do
		for f in text wide; do
			try mw_ok $c -o $f
			! grep '[^ -~]' <<<"$output" || try refuse "$c -o $f: not ASCII"
		done
	done < <(reports)
	for c in $(commands); do
		try mw_ok help "$c"
		! grep '[^ -~]' <<<"$output" || try refuse "help $c: not ASCII"
		try mw_error 2 "$c" --nothing=ä
		! grep '[^ -~]' <<<"$stderr" || try refuse "$c: an error that is not ASCII"
	done
	tried
}

# What is said before anything is attached.
folded_hint_works() { # COMMAND
	local scope=()
	[ "$1" = limit ] && scope=(-g /)
	run --separate-stderr timeout "$limit" "$MEMWHY" "$1" "${scope[@]}" --for 50ms -o folded </dev/null
	[[ $stderr == *"add --stacks"* ]] || return 0
	run --separate-stderr timeout "$limit" "$MEMWHY" "$1" "${scope[@]}" --for 50ms -o folded --stacks </dev/null
	[[ $stderr != *"has none"* ]] || try refuse "$1 -o folded: to add --stacks does not help"
}

@test "folded: who is told to add --stacks gets stacks by it" {
	side_by_side folded_hint_works where limit faults oom frag syscalls
	tried
}
