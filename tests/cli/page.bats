#!/usr/bin/env bats
# -o html and report: what is in the page is what -o json says, and nothing in it can act. What a browser
# makes of it is for tests/pages (make check-pages).
# bats file_tags=beside
load common

setup_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	cd "$BATS_FILE_TMPDIR"
	recording_make run.mw
	"$MEMWHY" faults --stacks --record stacks.mw --out /dev/null -- ls -R /proc/self >/dev/null 3>&-
	"$MEMWHY" faults --each --stacks --record each.mw --out /dev/null -- ls / >/dev/null 3>&-
	"$MEMWHY" heap --record heap.mw --out /dev/null -- ls -l / >/dev/null 3>&-
	"$MEMWHY" heap --record heap2.mw --out /dev/null -- ls -lR /proc/self/fdinfo >/dev/null 2>&1 3>&-
}

setup() {
	needs_root
	cd "$BATS_FILE_TMPDIR"
}

page() { # WHAT FILE
	/usr/bin/python3 "$BATS_TEST_DIRNAME/page.py" "$@"
}

# same_json WANT GOT: the same objects, digit by digit.
same_json() {
	/usr/bin/python3 - "$1" "$2" <<-'END'
		import json, sys
		exact = lambda name: json.load(open(name), parse_float=str)
		want, got = map(exact, sys.argv[1:])
		for key in sorted(set(want) | set(got)):
		    if want.get(key) != got.get(key):
		        print(f"{key}: {str(want.get(key)):.300}\nthe page has: {str(got.get(key)):.300}")
		sys.exit(want != got)
	END
}

# same_numbers WORDS...: the page of this command line has what -o json of it says.
same_numbers() {
	"$MEMWHY" "$@" -o json --limit 0 >want.json 2>want.err || { cat want.err; return 1; }
	"$MEMWHY" "$@" -o html --out got.html --force || return
	page check got.html || return
	page json got.html >got.json
	same_json want.json got.json
}

@test "page: each command's has the numbers of -o json" {
	for c in $(commands_with input output); do
		try same_numbers "$c" --input run.mw
	done
	for words in "faults --input stacks.mw --stacks" "faults --input each.mw --each --stacks" "heap --input heap.mw" \
		"faults --input stacks.mw --by comm --fields comm,count --limit 0" "diff heap.mw heap2.mw"; do
		try same_numbers $words || echo "$words"
	done
	jq -e '[.rows[] | .stack // empty] | length > 3 and any(length > 2)' got.json >/dev/null || refuse "no stacks were compared"
	tried
}

@test "page: doctor's" {
	mw_ok doctor -o html --out doctor.html
	page check doctor.html
	page json doctor.html | jq -e '.command == "doctor" and (.rows | length) > 10'
}

@test "page: report of a recording has what its commands say of it" {
	mw_ok report run.mw --out run.html
	page check run.html
	page json run.html >reports.json
	[ "$(jq -r .command reports.json | head -n 2 | xargs)" = "check faults" ]
	[ "$(jq -rs 'map(.command) | length == (unique | length)' reports.json)" = true ]
	for c in $(jq -r '.command | select(. != "report")' reports.json); do
		"$MEMWHY" "$c" --input run.mw -o json --limit 0 $([ "$c" = check ] || echo --stacks) >one.json
		jq -c --arg c "$c" 'select(.command == $c) | {rows, findings, verdict, events, lost, cost}' reports.json >of.json
		jq '{rows, findings, verdict, events, lost, cost}' one.json >want.json
		same_json want.json of.json || try refuse "$c"
	done
	# Said once: what is of the recording and not of one table.
	[ "$(jq -rs 'map(.not_checked // [] | .[]) | length == (unique | length)' reports.json)" = true ]
	tried
}

@test "page: over time: rates times their time are the sums of JSON" {
	"$MEMWHY" faults --record two.mw --out /dev/null -- sh -c 'ls / >/dev/null; sleep 2.3; ls /' >/dev/null 3>&-
	mw_ok report two.mw --out two.html
	page json two.html | jq -c 'select(.command == "report")' >course.json
	"$MEMWHY" faults --input two.mw -o json --limit 0 >faults.json
	want=$(jq '[.rows[] | select(.table == "faults") | .count] | add' faults.json)
	got=$(jq '[.rows[] | select(.series == "page faults")] | [range(1; length) as $i | .[$i - 1].value * (.[$i].time_ns - .[$i - 1].time_ns) / 1e9] | add | round' course.json)
	[ "$want" -gt 0 ]
	[ "$got" -eq "$want" ] || refuse "the page: $got, JSON: $want"
}

# Of a recording of sums: what rows had in each reading, of which a reader brushes some.
@test "page: parts of the time add up to the tables, and are what --from and --to give" {
	"$MEMWHY" record --probes faults,slab,reclaim parts.mw -- sh -c 'ls -R /proc/self >/dev/null; sleep 1.2; ls -lR /etc >/dev/null
		sleep 1.2; ls / >/dev/null; exec ls -R /proc/self' >/dev/null 2>&1 3>&-
	mw_ok report parts.mw --limit 0 --out parts.html
	page parts parts.html >parts.json # fails where a row is not the sum of its parts
	jq -es 'map(select(.command == "faults" and .table == "faults")) | length > 2 and .[0].from == 0 and
		(map(.to) == (map(.to) | sort)) and (map(select(.sums.count > 0)) | length > 1)' parts.json >/dev/null || refuse "$(<parts.json)"
	while read -r from to want; do # the first and the last have no other beginning and end
		words=()
		[ "$from" = 0 ] || words+=(--from "${from}ns")
		[ "$to" = 0 ] || words+=(--to "${to}ns")
		got=$("$MEMWHY" faults --input parts.mw "${words[@]}" -o json --limit 0 |
			jq '[.rows[] | select(.table == "faults") | .count] | add // 0')
		[ "$got" -eq "$want" ] || try refuse "$from to $to: the page has $want, --from and --to $got"
	done < <(jq -rs 'map(select(.command == "faults" and .table == "faults")) | .[-1].to = 0 | .[] | "\(.from) \(.to) \(.sums.count)"' parts.json)
	tried
}

@test "page: report of one command's recording; of two, what diff says" {
	mw_ok report heap.mw --out heap.html
	page json heap.html | head -n 1 >got.json
	"$MEMWHY" heap --input heap.mw -o json >want.json
	same_json want.json got.json
	mw_ok report heap.mw heap2.mw --out change.html
	page json change.html >got.json
	"$MEMWHY" diff heap.mw heap2.mw -o json >want.json
	same_json want.json got.json
	cp run.mw run2.mw
	mw_ok report run.mw run2.mw --out all.html
	page check all.html
	page json all.html | jq -es 'map(select(.of == "faults"))[0].verdict | test(": 0 [(]")' >/dev/null || refuse "$(page json all.html | jq .verdict)"
	mw_ok report each.mw --out each.html
	page json each.html | head -n 1 >got.json
	"$MEMWHY" faults --input each.mw --each --stacks -o json >want.json
	same_json want.json got.json
}

# More events than memwhy takes at once: those that --limit leaves out are counted, and not held.
@test "page: of single events, the first ones, in bounded memory" {
	[ -x "$WORKLOADS/bench_faults" ] || skip "the workload is not built"
	"$MEMWHY" faults --each --stacks --ring-size 64M --record many.mw --out /dev/null -- "$WORKLOADS/bench_faults" 20 5000 >/dev/null
	"$MEMWHY" faults --input many.mw --each --stacks --limit 0 -o json | jq -c '.rows | length, .[:5000][]' >want.rows
	events=$(head -n 1 want.rows)
	[ "$events" -gt 20000 ]
	"$MEMWHY" faults --input many.mw --each --stacks -o html --limit 5000 --max-memory 48M --out many.html
	page json many.html >many.json
	jq -c '.rows[]' many.json | diff -q - <(tail -n +2 want.rows)
	jq -e --argjson n "$events" '(.rows | length) == 5000 and .rows_cut.fault == $n - 5000' many.json
	"$MEMWHY" report many.mw --max-memory 48M --out many.html --force
	page json many.html | jq -se --argjson n "$events" 'any(.[]; .command == "faults" and .rows_cut.fault == $n - 20000)'
}

@test "page: without scripts it has findings and the first rows of each table" {
	mw_ok heap --input heap.mw -o html --out heap.html
	page text heap.html >shown
	for words in "memwhy heap" "Heap by stack" "$(jq -r '.host.kernel' <("$MEMWHY" heap --input heap.mw -o json))"; do
		grep -qF -- "$words" shown || try refuse "no '$words'"
	done
	"$MEMWHY" heap --input heap.mw --table heap --limit 5 -o json | jq -r '.rows[].stack[0]' >frames
	while IFS= read -r frame; do
		grep -qxF -- "$frame" shown || try refuse "no $frame"
	done <frames
	tried
}

@test "page: of a command that ran, its own output and status as ever" {
	mw heap -o html --out live.html --force -- sh -c 'echo said; exit 3'
	[ "$status" -eq 3 ]
	[ "$output" = said ]
	page check live.html
	mw check -o html --out check.html --force -- true
	[ "$status" -eq 0 ]
	page json check.html | jq -e 'has("verdict") and has("findings")'
}

@test "page: it is replaced without --force, nothing else is" {
	mw_ok heap --input heap.mw -o html --out same.html
	setfattr -x user.memwhy same.html 2>/dev/null || true
	mw_ok report heap.mw --out same.html
	echo mine >mine.html
	mw_error 2 report heap.mw --out mine.html
	[ "$(<mine.html)" = mine ]
	mw_error 2 report heap.mw --out heap.mw
}

@test "page: what cannot be a page is refused" {
	mw_error 2 report
	mw_error 2 report nosuch.mw --out x.html
	mw_error 2 report heap.mw heap2.mw run.mw --out x.html
	mw_error 2 report heap.mw --of faults --out x.html
	mw_error 2 faults -i 1s --for 2s -o html
	mw_error 2 faults --each --for 1s -o html
	[[ $stderr == *"--each --record FILE"* ]]
	printf 'no recording' >text
	mw_error 2 report text --out x.html
}

@test "page: a damaged recording: what could be read, and status 4" {
	"$MEMWHY" heap --record large.mw --out /dev/null -- /usr/bin/python3 -c 'import json, xml.dom.minidom' 3>&-
	head -c $(($(stat -c %s large.mw) * 9 / 10)) large.mw >cut.mw
	mw report cut.mw --out cut.html
	[ "$status" -eq 4 ] && one_error
	page check cut.html
	page text cut.html | grep -q '^INCOMPLETE: '
}
