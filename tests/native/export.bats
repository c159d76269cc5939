#!/usr/bin/env bats
# Recordings and runs as files of other programs: what these read in them is what memwhy's JSON says.
# bats file_tags=host,beside
load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

needs() { # PROGRAM PACKAGE
	command -v "$1" >/dev/null || skip "$1 is missing (Debian: $2)"
}

# The heap of a program, twice: h1.mw, h2.mw, with reports of them, made once.
heaps() {
	local d=$BATS_FILE_TMPDIR/heaps
	if [ ! -d "$d" ]; then
		mkdir "$d"
		"$MEMWHY" heap -q --record "$d/h1.mw" --out /dev/null -- "$WORKLOADS/heap_work" peak 100 >/dev/null
		"$MEMWHY" heap -q --record "$d/h2.mw" --out /dev/null -- "$WORKLOADS/heap_work" peak 300 >/dev/null
	fi
	cp "$d"/*.mw .
	"$MEMWHY" heap --input h1.mw -o json --out h1.json
	"$MEMWHY" heap --input h2.mw -o json --out h2.json
}

# total TABLE FIELD FILE: the sum of a field over the rows of a table.
total() {
	jq --arg table "$1" --arg field "$2" '[.rows[] | select(.table == $table)[$field]] | add // 0' "$3"
}

# The total that go tool pprof has for a kind of sample, without its unit: pprof_total INDEX WORD...
pprof_total() {
	go tool pprof -top -unit b -sample_index="$1" "${@:2}" 2>/dev/null |
		sed -nE 's/^Showing nodes accounting for .* of (-?[0-9.]+)[a-zA-Z]* total$/\1/p'
}

@test "export: a heap as pprof: accepted by go tool pprof, and its totals are those of JSON" {
	needs go golang-go
	heaps
	"$MEMWHY" export --to pprof --out h1.pb.gz h1.mw
	go tool pprof -raw h1.pb.gz >raw
	grep -q '^PeriodType: space bytes$' raw
	grep -q '^alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes\[dflt\]$' raw
	grep -q 'comm:\[heap_work\] pid:\[[0-9]*\]' raw
	grep -qE ': (0x[0-9a-f]+ )?M=[0-9]+ main .*heap_work.c:[0-9]+' raw
	id=$(readelf -n "$WORKLOADS/heap_work" | sed -n 's/.*Build ID: //p')
	grep -qE "^1: .*/heap_work $id \[FN\]\[FL\]\[LN\]" raw
	for pair in alloc_objects=allocations alloc_space=allocated_bytes inuse_objects=live_blocks \
		inuse_space=live_bytes; do
		[ "$(pprof_total "${pair%=*}" h1.pb.gz)" = "$(total heap "${pair#*=}" h1.json)" ] ||
			{ echo "$pair" && false; }
	done
	[ "$(total heap live_bytes h1.json)" -gt 0 ]
}

@test "export: go tool pprof -diff_base is memwhy diff" {
	needs go golang-go
	heaps
	"$MEMWHY" export --to pprof --out h1.pb.gz h1.mw
	"$MEMWHY" export --to pprof --out h2.pb.gz h2.mw
	"$MEMWHY" diff --sort live_bytes -o json --out diff.json h1.mw h2.mw
	change=$(total heap change_live_bytes diff.json)
	[ "$change" -gt 0 ]
	shown=$(go tool pprof -top -unit b -nodecount=0 -nodefraction=0 -sample_index=inuse_space \
		-diff_base h1.pb.gz h2.pb.gz 2>/dev/null | sed -nE 's/^Showing nodes accounting for (-?[0-9]+)B,.*/\1/p')
	[ "$shown" = "$change" ]
	# and by function
	go tool pprof -top -unit b -nodecount=0 -nodefraction=0 -edgefraction=0 -sample_index=inuse_space \
		-diff_base h1.pb.gz h2.pb.gz 2>/dev/null |
		awk '/^ +-?[0-9]+B / && $1 != "0B" { sub("B$", "", $1); print $6, $1 }' | LC_ALL=C sort >shown
	jq -r '[.rows[] | select(.table == "heap" and .change_live_bytes != 0) |
		{f: (.stack[0] | split(" ")[0]), n: .change_live_bytes}] | group_by(.f)[] |
		"\(.[0].f) \(map(.n) | add)"' diff.json | LC_ALL=C sort >diffed
	[ -s diffed ]
	cmp shown diffed
}

@test "export: -o pprof of a run, and of a recording, is what export makes of it" {
	needs go golang-go
	"$MEMWHY" heap --record r.mw -o pprof --out live.pb.gz -- "$WORKLOADS/heap_work" peak 50 >/dev/null
	"$MEMWHY" export --to pprof --out made.pb.gz r.mw
	"$MEMWHY" heap --input r.mw -o pprof --out again.pb.gz
	for f in live made again; do
		go tool pprof -raw "$f.pb.gz" | sed -n '/^Samples:/,$p' >"$f"
	done
	[ "$(wc -l <live)" -gt 20 ]
	cmp live made
	cmp live again
}

@test "export: leak -o pprof of a command has what leak says is live" {
	needs go golang-go
	"$MEMWHY" leak --record l.mw -o pprof --out l.pb.gz -- "$WORKLOADS/heap_work" leak 1 >/dev/null
	"$MEMWHY" leak --input l.mw -o json --limit 0 --out l.json
	[ "$(total stacks live_bytes l.json)" -gt 0 ]
	[ "$(pprof_total live l.pb.gz)" = "$(total stacks live_bytes l.json)" ]
}

@test "export: faults as pprof, by thread, with the names of process and thread apart" {
	needs_root
	needs go golang-go
	"$MEMWHY" faults --stacks --by thread,stack --record f.mw -o json --out f.json -- \
		"$WORKLOADS/heap_work" threads 50 >/dev/null
	"$MEMWHY" export --to pprof --by thread,stack --out f.pb.gz f.mw
	[ "$(pprof_total faults f.pb.gz)" = "$(total faults count f.json)" ]
	go tool pprof -raw f.pb.gz >raw
	grep -q '^delay/nanoseconds major/count faults/count\[dflt\]$' raw
	grep -q 'comm:\[[^]]*\] pid:\[[0-9]*\] thread:\[[^]]*\] tid:\[[0-9]*\]' raw
}

@test "export: speedscope: frames in range, as many weights as samples, totals those of JSON" {
	heaps
	"$MEMWHY" export --to speedscope --out h.json h1.mw
	jq -e '.["$schema"] == "https://www.speedscope.app/file-format-schema.json"' h.json
	jq -e '(.shared.frames | length) as $n | .profiles | length == 4 and all(.type == "sampled" and
		(.samples | length) == (.weights | length) and ([.samples[][]] | all(. >= 0 and . < $n)) and
		all(.weights[]; . > 0) and .startValue == 0 and .endValue == (.weights | add // 0))' h.json
	jq -e '.shared.frames | length > 3 and all(.name != "") and ([.[] | [.name, .file, .line]] | unique | length) ==
		length' h.json
	jq -e '.profiles[.activeProfileIndex].name == "inuse_space"' h.json
	for pair in alloc_objects=allocations alloc_space=allocated_bytes inuse_objects=live_blocks \
		inuse_space=live_bytes; do
		[ "$(jq --arg n "${pair%=*}" '.profiles[] | select(.name == $n).endValue' h.json)" = \
			"$(total heap "${pair#*=}" h1.json)" ]
	done
	jq -e '.profiles | map({key: .name, value: .unit}) | from_entries ==
		{alloc_objects: "none", alloc_space: "bytes", inuse_objects: "none", inuse_space: "bytes"}' h.json
}

@test "export: folded is -o folded by process; --fields chooses the number" {
	heaps
	"$MEMWHY" export --to folded --by process,stack --fields live_bytes,comm,stack --out a h1.mw
	[ "$(awk '{ n += $NF } END { print n }' a)" = "$(total heap live_bytes h1.json)" ]
	"$MEMWHY" heap --input h1.mw --by process,stack --fields live_bytes,comm,stack -o folded --out b
	cmp a b
}

@test "export: sqlite: whole, as many rows and sums as the recording has, and stacks with names" {
	heaps
	"$MEMWHY" export --to sqlite --out h1.db h1.mw
	[ "$(sqlite3 h1.db 'PRAGMA integrity_check; PRAGMA user_version; PRAGMA application_id')" = $'ok\n1\n1836542073' ]
	sum() { # FIELD: of the last record of each site
		sqlite3 h1.db "SELECT sum($1) FROM (SELECT $1, max(rowid) FROM heap_site GROUP BY process, stack, site)"
	}
	for field in allocations live_bytes live_blocks; do
		[ "$(sum "$field")" = "$(total heap "$field" h1.json)" ]
	done
	sqlite3 h1.db "SELECT stack_text FROM heap_site_named" | grep -q '^peak_here < .*main < '
	[ "$(sqlite3 h1.db "SELECT count(*) FROM modules WHERE path LIKE '%/heap_work' AND build_id = '$(readelf -n \
		"$WORKLOADS/heap_work" | sed -n 's/.*Build ID: //p')'")" -eq 1 ]
	status=0
	"$MEMWHY" export --to sqlite --of heap h1.mw >out 2>err || status=$?
	[ "$status" -eq 2 ]
	# through a pipe, and of what is cut
	"$MEMWHY" export --to sqlite h1.mw | cmp - h1.db
	head -c 2500 h1.mw >cut.mw
	status=0
	"$MEMWHY" export --to sqlite --out cut.db cut.mw 2>err || status=$?
	[ "$status" -eq 4 ]
	[ "$(sqlite3 cut.db 'PRAGMA integrity_check')" = ok ]
}

@test "export: sqlite: each question of docs/sqlite.md has an answer" {
	needs_root
	"$MEMWHY" record -q --probes faults,slab,frag,processes,system all.mw -- ls -lR /usr/share/doc/bash /etc >/dev/null 2>&1
	"$MEMWHY" export --to sqlite --out all.db all.mw
	asked=0
	while IFS= read -r -d $'\x01' question; do
		sqlite3 -bail all.db "$question" >answer
		[ -s answer ] || { echo "$question" && false; }
		asked=$((asked + 1))
	done < <(sed -n '/^```sql$/,/^```$/p' "$BATS_TEST_DIRNAME/../../docs/sqlite.md" | sed '/^```sql$/d; s/^```$/\x01/')
	[ "$asked" -eq 10 ]
	[ "$(sqlite3 all.db 'SELECT sum(count) FROM faults_agg')" = \
		"$("$MEMWHY" faults --input all.mw -o json | jq '[.rows[] | select(.table == "faults").count] | add')" ]
}

# What a trace of Perfetto has, as JSON in ./has: perfetto_has FILE
perfetto_has() {
	protoc --proto_path="$BATS_TEST_DIRNAME/../export" --decode=Trace perfetto.proto <"$1" |
		"$BATS_TEST_DIRNAME/../export/perfetto_check" >has
}

@test "export: perfetto: each stall is a slice with its steps within it, on the track of its thread" {
	needs_root
	needs protoc protobuf-compiler
	"$MEMWHY" stalls --each --stacks --record s.mw -o json --out s.json -- \
		"$WORKLOADS/reclaim_memcg" -l 16 -f 64 -a 1 -r 1 >/dev/null || skip "no control group with a limit here"
	"$MEMWHY" export --to perfetto --out s.pftrace s.mw
	perfetto_has s.pftrace
	[ "$(jq '.rows | length' s.json)" -gt 0 ]
	jq -e --slurpfile s s.json '.slices - .nested == ($s[0].rows | length) and .nested > 0 and
		.stacks == ([$s[0].rows[] | select(.stack)] | length)' has
	jq -e '.clocks >= 1 and (.names | any(startswith("stalled charge")))' has
	# its clocks are those of the recording: each stall begins when JSON says, and is as long
	jq -e --slurpfile s s.json '.whole == ([$s[0].rows[] | [.time_ns, .duration_ns]] | sort)' has
	jq -e --slurpfile s s.json '($s[0].interval.start | (sub("[.].*"; "Z") | fromdateiso8601) * 1000 +
		(capture("[.](?<ms>[0-9]+)Z").ms | tonumber)) as $ms | .wall_ns / 1e6 - $ms | fabs < 2' has
}

@test "export: perfetto: each call is a slice; RSS, free blocks and pressure are counters" {
	needs_root
	needs protoc protobuf-compiler
	"$MEMWHY" syscalls --each --record c.mw -o json --out c.json -- ls / >/dev/null
	"$MEMWHY" export --to perfetto --out c.pftrace c.mw
	perfetto_has c.pftrace
	# all but exit_group, which takes no time
	jq -e --slurpfile c c.json '.slices == ([$c[0].rows[] | select(.duration_ns != null)] | length) and .slices > 10' has
	"$MEMWHY" record -q --probes system,frag,processes --for 1s m.mw 2>/dev/null
	"$MEMWHY" export --to perfetto --out m.pftrace m.mw 2>err
	grep -q 'counters only' err
	perfetto_has m.pftrace
	jq -e '.counters > 10 and .slices == 0 and (.units | contains(["blocks", "bytes"]))' has
}

@test "export: a recording of all probes goes through every format, command by command" {
	needs_root
	needs go golang-go
	needs protoc protobuf-compiler
	probes=faults,stalls,reclaim,compaction,frag,thp,swap,oom,slab,pages,maps,syscalls,policy
	"$MEMWHY" record -q --probes "$probes" all.mw -- "$WORKLOADS/maps_calls" >/dev/null 2>&1 </dev/null || [ -s all.mw ]
	tried=0
	for of in faults stalls reclaim compaction thp swap slab pages maps syscalls policy; do
		"$MEMWHY" export --to pprof --of $of --out $of.pb.gz all.mw
		go tool pprof -raw $of.pb.gz >raw || { cat raw && false; }
		grep -q '^PeriodType: ' raw
		"$MEMWHY" export --to speedscope --of $of --out $of.json all.mw
		jq -e '(.shared.frames | length) as $n | .profiles | length > 0 and
			all([.samples[][]] | all(. >= 0 and . < $n)) and all((.weights | add // 0) == .endValue)' $of.json
		"$MEMWHY" export --to folded --of $of --out $of.folded all.mw
		tried=$((tried + 1))
	done
	[ "$tried" -eq 11 ]
	for of in faults maps syscalls slab pages; do # there were some of these
		go tool pprof -raw $of.pb.gz | sed -n '/^Samples:/,/^Locations/p' | grep -qE '^ +[0-9-]+ .*: [0-9]+'
		[ -s $of.folded ]
	done
	"$MEMWHY" export --to sqlite --out all.db all.mw
	[ "$(sqlite3 all.db 'PRAGMA integrity_check')" = ok ]
	"$MEMWHY" export --to perfetto --out all.pftrace all.mw 2>/dev/null
	perfetto_has all.pftrace
}

@test "export: -o sqlite and -o perfetto of a run: what export makes of its recording; the command as ever" {
	needs_root
	needs protoc protobuf-compiler
	status=0
	"$MEMWHY" faults -o sqlite --out live.db -- sh -c 'echo said; exit 3' >out || status=$?
	[ "$status" -eq 3 ]
	[ "$(<out)" = said ]
	[ "$(sqlite3 live.db 'PRAGMA integrity_check; SELECT sum(count) > 50 FROM faults_agg')" = $'ok\n1' ]
	"$MEMWHY" heap --record kept.mw -o sqlite --out kept.db -- "$WORKLOADS/heap_work" peak 50 >/dev/null
	"$MEMWHY" export --to sqlite kept.mw | cmp - kept.db
	"$MEMWHY" heap --input kept.mw -o sqlite --out again.db
	cmp again.db kept.db
	"$MEMWHY" syscalls --each -o perfetto --out live.pftrace -- ls / >/dev/null
	perfetto_has live.pftrace
	jq -e '.slices > 10' has
	# interrupted, by what only memwhy is told, and by what its group is told
	for how in "" "-"; do
		rm -f cut.db
		setsid "$MEMWHY" faults -o sqlite --out cut.db 3>&- &
		sleep 3
		kill -INT -- "$how$!"
		status=0
		wait $! || status=$?
		[ "$status" -eq 130 ]
		[ "$(sqlite3 cut.db 'SELECT count(*) > 0 FROM faults_agg')" = 1 ]
	done
}

@test "export: what it refuses, and how it ends" {
	heaps
	refused() { # STATUS WORDS ARGS...
		status=0
		"$MEMWHY" "${@:3}" >out 2>err || status=$?
		[ "$status" -eq "$1" ]
		grep -q -- "$2" err
		[ ! -s out ]
	}
	refused 2 'export needs a format' export h1.mw
	refused 2 'did you mean --to pprof' export --to pprofs h1.mw
	refused 2 'perfetto is made after the run' heap -o perfetto -- true
	grep -q -- '--out FILE' err
	refused 2 'sqlite takes no --interval' faults -o sqlite -i 1s --for 2s
	refused 2 'it takes no --by' faults -o sqlite --by comm --for 1s
	refused 2 'json is not made of a recording' faults --anonymize -o json --for 1s
	refused 2 'top takes no --anonymize' top --anonymize
	refused 2 'cannot write' heap -o sqlite --out nosuch/x.db -- touch was-run
	[ ! -e was-run ]
	refused 2 'sqlite is made of a recording' doctor -o sqlite
	refused 2 'export needs a recording' export --to pprof
	refused 2 'is the recording' export --to pprof --out h1.mw h1.mw
	refused 2 'faults was not recorded' export --to pprof --of faults h1.mw
	refused 2 'not a command with tables' export --to pprof --of record h1.mw
	refused 2 'takes no --interval' heap -o pprof -i 1s -- true
	refused 2 'does not go with --each' faults --each -o speedscope --for 1s
	refused 2 'shows stacks, but doctor has none' doctor -o pprof
	# what could be read is exported all the same
	head -c 2500 h1.mw >cut.mw
	status=0
	"$MEMWHY" export --to speedscope --out cut.json cut.mw 2>err || status=$?
	[ "$status" -eq 4 ]
	grep -q 'cut.mw' err
}
