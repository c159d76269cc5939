#!/usr/bin/env bats
# docs/schema/report.schema.json describes what every command prints with -o json and -o jsonl.
# bats file_tags=beside
load common

setup_file() {
	schema=$BATS_TEST_DIRNAME/../../docs/schema/report.schema.json
	export schema
}

setup() {
	/usr/bin/python3 -c 'import jsonschema' 2>/dev/null || skip "python3-jsonschema is missing (make deps)"
	cd "$BATS_TEST_TMPDIR" || return
}

# valid json|jsonl FILE...: each file is as the schema says. Prints what is not, one line each.
valid() {
	/usr/bin/python3 - "$schema" "$@" <<-'END'
		import json, sys
		from jsonschema import Draft202012Validator as Draft
		schema = json.load(open(sys.argv[1]))
		Draft.check_schema(schema)
		def part(name):
		    return Draft({"$defs": schema["$defs"], "$ref": "#/$defs/" + name})
		whole, row, end = Draft(schema), part("row"), part("end")
		wrong = 0
		def check(draft, value, name):
		    global wrong
		    for e in draft.iter_errors(value):
		        wrong += 1
		        print(f"{name}: {'/'.join(map(str, e.absolute_path))}: {e.message:.200}")
		for name in sys.argv[3:]:
		    if sys.argv[2] == "json":
		        check(whole, json.load(open(name)), name)
		        continue
		    lines = [json.loads(line) for line in open(name)]
		    for value in lines[:-1]:
		        check(row, value, name)
		    check(end, lines[-1], name)
		    rest = {k: v for k, v in lines[-1].items() if k != "end"}
		    check(whole, {"rows": lines[:-1], **rest}, name)
		sys.exit(wrong > 0)
	END
}

live_is_valid() { # COMMAND
	local c words="--for 200ms"
	c=$(live "$1")
	[[ $c != doctor && $c != "policy show"* ]] || words=
	"$MEMWHY" $c $words -o json --out one.json --force || try refuse "$c: status $?"
	valid json one.json || try refuse "$c"
	[ -n "$words" ] || return 0
	"$MEMWHY" $c $words -o jsonl --out one.jsonl --force || try refuse "$c -o jsonl: status $?"
	valid jsonl one.jsonl || try refuse "$c -o jsonl"
}

@test "schema: what each command prints, live" {
	needs_root
	side_by_side live_is_valid $(commands_alone) "count kmem:mm_page_alloc" "slab --stacks" \
		"faults --stacks --by process,mapping" "policy show -p $$" "syscalls --each" doctor
	tried
}

@test "schema: of commands, recordings, and two of these" {
	needs_root
	"$MEMWHY" record a.mw -q -- sh -c 'ls -lR /usr/share/doc >/dev/null; exit 3' || [ $? -eq 3 ]
	"$MEMWHY" record b.mw -q -- sh -c 'kill -SEGV $$' || [ $? -eq 139 ]
	cp a.mw a2.mw
	cp b.mw b2.mw
	for c in check faults slab stalls; do
		"$MEMWHY" $c --input a.mw -o json >a.json
		"$MEMWHY" $c --input b.mw -o json >b.json
		[ $c = check ] || "$MEMWHY" diff a.mw b.mw --of $c -o json >diff.json
		[ $c = check ] || "$MEMWHY" diff --of $c -o json a.mw a2.mw -- b.mw b2.mw >several.diff.json
		valid json a.json b.json $(find . -name '*diff.json') || try refuse "$c"
		jq -e '.exit.status == 3' a.json
		jq -e '.exit.signal == "SIGSEGV"' b.json
	done
	for words in "" "--events --record e.mw" "--table mapping"; do
		"$MEMWHY" heap $words -o json --out heap.json --force -- ls -l / >/dev/null
		valid json heap.json || try refuse "heap $words"
	done
	tried
}

@test "schema: findings outside of the scope" {
	jq 'del(.findings[1:]) | .elsewhere = .findings' "$BATS_TEST_DIRNAME/../golden/render/check.json.txt" >one.json
	valid json one.json
	jq '.elsewhere = []' one.json >none.json
	! valid json none.json || refuse "no finding is no list"
}

@test "schema: kills have no advice, all other findings have" {
	jq 'del(.findings[1:], .elsewhere) | .findings[0] |= (.why = null | .try = [] | .undo = [] | .verify = [])' \
		"$BATS_TEST_DIRNAME/../golden/render/check.json.txt" >check.json
	! valid json check.json || refuse "a finding of check without advice"
	jq '.command = "oom"' check.json >oom.json
	valid json oom.json
	jq 'del(.findings[0].try)' oom.json >none.json
	! valid json none.json || refuse "a kill without its members"
}

@test "schema: a report that is wrong is refused" {
	right='{"schema": "memwhy/1", "command": "faults", "host": {"kernel": "6", "cpus": 2, "nodes": 1, "page_size": 4096},
		"interval": {"start": null, "seconds": 1}, "cost": {"cpu_seconds": 0, "bpf_seconds": 0, "rss_bytes": 1,
		"bpf_bytes": 0}, "rows": [{"table": "faults", "pid": 1, "max_ns": 5}]}'
	jq . <<<"$right" >one.json
	valid json one.json
	for change in '.schema = "memwhy/2"' '.rows[0].max_ns = "5 ns"' 'del(.rows[0].table)' 'del(.host.cpus)' \
		'.interval.seconds = -1' '.lost = {faults: "1"}' '.other = 1' '.findings = [{level: "bad"}]'; do
		jq "$change" <<<"$right" >one.json
		! valid json one.json || try refuse "$change"
	done
	tried
}
