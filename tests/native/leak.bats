#!/usr/bin/env bats
# What is allocated and not freed, against what a workload holds and /proc/slabinfo. This kernel.
# bats file_tags=beside
load common

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR" || return 1
}

# What takes its time goes on beside the first tests: see had(). Each is waited for as a job, so that
# it can be ended.
setup_file() {
	needs_root
	[ -z "${MEMWHY_VM-}" ] || return 0
	for run in pages command running; do
		(run_begin $run && run_$run) >"$BATS_FILE_TMPDIR/$run.log" 2>&1 3>&- &
	done
}

teardown_file() {
	jobs -rp | xargs -r kill
	wait
}

run_begin() {
	mkdir "$BATS_FILE_TMPDIR/$1" && cd "$BATS_FILE_TMPDIR/$1" || return
	BATS_TEST_TMPDIR=$PWD
	trap ': >done; jobs -rp | xargs -r kill' EXIT
}

# had RUN: goes to where its files are, when it is over. An emulated guest does one thing at a time.
had() {
	[ -z "${MEMWHY_VM-}" ] || [ -d "$BATS_FILE_TMPDIR/$1" ] ||
		(run_begin "$1" && run_$1) >"$BATS_FILE_TMPDIR/$1.log" 2>&1 3>&-
	cd "$BATS_FILE_TMPDIR/$1" || return
	wait_for '[ -e done ]' || wait_for '[ -e done ]'
	cat "../$1.log"
	json=$PWD/report.json
}

# work_start MODE PER_SECOND: leaves the workload waiting: $pid, its input on fd $in.
in=7
work_start() {
	mkfifo in
	"$WORKLOADS/leak_work" "$@" <in >out 3>&- &
	pid=$!
	works+=($pid)
	eval "exec $in>in"
	wait_for 'grep -q ready out'
}

# work_for SECONDS: lets it work, and stops it: $held.
work_for() {
	echo go >&$in
	sleep "$1" 3>&- &
	wait $!
	echo stop >&$in
	wait_for 'grep -q held out'
	held=$(awk '$1 == "held" { print $2 }' out)
}

work_end() {
	eval "exec $in>&-"
	wait "$pid"
}

# In a guest, which is slow, a second does not have that much in it.
rate=${MEMWHY_VM:+400}
rate=${rate:-900}

# at_once SECONDS MODE...: each of them under a memwhy of its own, in a directory of its name.
at_once() {
	local -A pids memwhys fds
	local mode by
	for mode in "${@:2}"; do
		by=
		[ $mode != churn ] || by="--by cache"
		mkdir $mode
		pushd $mode
		work_start $mode $((rate / ($# - 1)))
		BATS_TEST_TMPDIR=$PWD memwhy_start leak --kernel -p "$pid" $by
		pids[$mode]=$pid memwhys[$mode]=$memwhy fds[$mode]=$((in++))
		popd
	done
	for mode in "${@:2}"; do
		echo go >&${fds[$mode]}
	done
	sleep "$1"
	for mode in "${@:2}"; do
		echo stop >&${fds[$mode]}
		wait_for "grep -q held $mode/out"
	done
	sleep 2 # RCU frees some later
	for mode in "${@:2}"; do
		memwhy=${memwhys[$mode]}
		BATS_TEST_TMPDIR=$PWD/$mode memwhy_stop
	done
	for mode in "${@:2}"; do # all: the later ones hold the earlier ones' too
		eval "exec ${fds[$mode]}>&-"
	done
	wait "${pids[@]}"
}

# Objects of a cache in use, as /proc/slabinfo says.
active() {
	awk -v c="$1" '$1 == c { print $2 }' /proc/slabinfo
}

# Sum of a column over the rows of a table that are so.
sum() { # TABLE COLUMN CONDITION
	jq "[.rows[] | select(.table == \"$1\" and ($3)) | .$2 // 0] | add // 0" "$json"
}

verdict() { # CONDITION
	jq -r "[.rows[] | select(.table == \"sites\" and ($1))] | max_by(.objects) | .verdict" "$json"
}

inodes='.cache == "shmem_inode_cache"'
lost() {
	jq '[.lost[]] | add' "$json"
}

@test "leak: objects that are kept are outstanding, exactly, and a suspect" {
	# Others on this machine may make and remove such files meanwhile; in a guest the program cannot always
	# keep its pace.
	for _ in 1 2 3; do
		work_start keep $rate
		before=$(active shmem_inode_cache)
		memwhy_start leak --kernel -p "$pid"
		work_for 13
		grown=$(($(active shmem_inode_cache) - before))
		memwhy_stop
		work_end
		rm in
		echo "held $held, lost $(lost), slabinfo +$grown"
		[ $((grown - held)) -le 300 ] && [ $((held - grown)) -le 300 ] || continue
		[ -n "${MEMWHY_VM-}" ] && [ "$(verdict "$inodes")" != "grows steadily" ] || break
	done
	jq -c '.rows[] | select(.cache == "shmem_inode_cache") | del(.stack, .ages)' "$json"
	[ "$(sum caches objects "$inodes")" -le "$held" ]
	[ "$(sum caches objects "$inodes")" -ge $((held - $(lost))) ]
	[ "$(sum sites objects "$inodes")" -eq "$(sum caches objects "$inodes")" ]
	[ $((grown - held)) -le 300 ]
	[ $((held - grown)) -le 300 ]
	[ "$(verdict "$inodes")" = "grows steadily" ]
	# dentries grow as much, and the kernel gives them back
	jq -c '.findings[] | [.level, .title]' "$json"
	jq -e 'any(.findings[]; .rule == "leak" and .level != "note" and (.title | test("shmem_inode_cache")))' "$json"
	jq -e 'all(.findings[] | select(.title | test("dentry")); .level == "note")' "$json"
	jq -e "any(.rows[]; $inodes and (.site // \"\" | test(\"shmem_alloc_inode\")) and (.stack | not))" "$json"
}

@test "leak: with --stacks objects have their code path" {
	work_start keep $rate
	memwhy_start leak --kernel --stacks=kernel -p "$pid"
	work_for 3
	memwhy_stop
	work_end
	path="$inodes and (.stack // [] | tostring | test(\"shmem_alloc_inode\"))"
	echo "held $held, lost $(lost), with their path $(sum sites objects "$path")"
	jq -c ".rows[] | select($inodes) | del(.ages)" "$json"
	[ "$(sum sites objects "$path")" -le "$held" ]
	[ "$(sum sites objects "$path")" -ge $((held / 2)) ]
	# Two stacks of the same hash share one place in the kernel's table: the later one goes without.
	bare="$inodes and (.stack | not)"
	[ $(($(sum sites objects "$path") + $(sum sites objects "$bare"))) -ge $((held * 98 / 100 - $(lost))) ]
}

# bats test_tags=host
@test "leak: what is given back at once is not outstanding; a warm cache and a saw-tooth are no suspects" {
	at_once 13 churn warm saw
	for mode in churn warm saw; do
		json=$mode/report.json
		jq -c '.rows[] | select(.table == "caches") | [.cache, .objects, .allocated, .freed]' "$json" | head -5
		jq -e '(.findings // []) | length == 0' "$json"
	done
	for mode in warm saw; do
		json=$mode/report.json
		echo "$mode: $(verdict "$inodes")"
		[ "$(verdict "$inodes")" != "grows steadily" ]
	done
	json=churn/report.json
	[ "$(sum caches allocated "$inodes")" -ge $rate ]
	[ "$(sum caches objects "$inodes")" -le $((30 + $(lost))) ]
}

run_pages() {
	work_start pages 450
	memwhy_start leak --kernel -p "$pid" --record f.mw
	work_for 13
	memwhy_stop
	work_end
}

@test "leak: pages in pipes are outstanding, at their place" {
	had pages
	held=$(awk '$1 == "held" { print $2 }' out)
	pipe='.cache == "(pages)" and .order == 0 and (.stack // [] | tostring | test("pipe_write"))'
	jq -c '.rows[] | select(.cache == "(pages)") | del(.stack, .ages)' "$json"
	echo "held $held, lost $(lost)"
	[ "$held" -ge 500 ]
	[ "$(sum sites objects "$pipe")" -le "$held" ]
	bare='.cache == "(pages)" and .order == 0 and (.stack | not) and (.site | not)'
	[ "$(($(sum sites objects "$pipe") + $(sum sites objects "$bare")))" -ge $((held - $(lost))) ]
	[ "$(verdict "$pipe")" = "grows steadily" ]
}

@test "leak: frees of what was there before are counted apart" {
	work_start keep $rate
	work_for 2
	memwhy_start leak --kernel --by cache,site
	work_end # it removes them all
	sleep 3 # RCU frees them, in the name of whoever runs then
	memwhy_stop
	jq -c ".rows[] | select(.table == \"caches\" and $inodes)" "$json"
	echo "held $held, lost $(lost)"
	[ "$(sum caches old_frees "$inodes")" -ge $((held - $(lost))) ]
	[ "$(sum caches objects "$inodes")" -le 50 ]
	[ "$(jq "[.rows[] | select(.table == \"caches\" and $inodes) | .grown_objects] | add" "$json")" -lt 0 ]
}

@test "leak: ages add up to what is outstanding, of objects and pages" {
	had pages
	jq -e '[.rows[] | select(.table == "sites" and .ages)] | length > 0' "$json"
	jq -c '.rows[] | select(.table == "sites" and .ages) |
		select(([.ages[] | if type == "object" then .count else . end] | add) != .objects) |
		del(.stack)' "$json" | tee wrong
	[ ! -s wrong ]
}

# bats test_tags=host
@test "leak: a recording gives the same report" {
	had pages
	"$MEMWHY" leak --kernel --input f.mw -o json >again.json
	diff <(jq -S '.rows, .findings, .notes' "$json") <(jq -S '.rows, .findings, .notes' again.json)
}

@test "leak: of the whole machine: every event is delivered or lost, memwhy does not count" {
	memwhy_start leak --kernel --by process,cache
	sleep 2
	memwhy_stop
	jq -e '.events.slab > 0 and .events.pages > 0' "$json"
	jq -e "all(.rows[]; .pid != $memwhy)" "$json"
	all=$(sum caches allocated '.cache != "(pages)"')
	[ "$all" -gt 0 ]
	[ "$all" -le "$(jq .events.slab "$json")" ]
	[ "$(sum caches allocated '.cache == "(pages)"')" -le "$(jq .events.pages "$json")" ]
}

teardown() {
	common_teardown
	for pid in "${works[@]}"; do
		find /dev/shm -name "leak_work.$pid.*" -delete
	done
}

# Of programs: what heap_work keeps, by function.
run_command() {
	"$MEMWHY" leak -o json --record run.mw --out r.json -- "$WORKLOADS/heap_work" leak 12 &
	wait $!
}

# bats test_tags=host
@test "leak: of a command, what grows is told from what came once and from what comes and goes" {
	had command
	row() { # FUNCTION FIELDS: of the stack that has it
		jq -r --arg f "$1" '.rows[] | select(.table == "stacks") |
			select([.stack[] | tostring] | any(test("\\b" + $f + "\\b"))) | ['"$2"'] | @tsv' r.json | tr '\t' ' '
	}
	[ "$(row leak_grows .live_blocks,.live_bytes,.frees,.verdict)" = "24000 24000000 0 grows steadily" ]
	[ "$(row leak_once .live_blocks,.live_bytes,.verdict)" = "1 100000 one-time: came early, stays" ]
	[ "$(row leak_fills .live_blocks,.live_bytes,.verdict)" = "64 320000 filled early, flat since" ]
	[ "$(row leak_renews .live_blocks,.live_bytes,.frees,.verdict)" = "256 768000 11744 comes and goes" ]
	jq -e '.rows[] | select(.table == "stacks" and .verdict == "grows steadily") |
		.stayed_ratio > 0.99 and .growth_bytes_per_s > 1000000 and .growth_bytes_per_s < 2100000 and
		.old_objects > 6000 and .old_objects < 10000' r.json
	jq -e '.rows[] | select(.table == "stacks" and .verdict == "comes and goes") |
		.stayed_ratio < 0.1 and .p50_ns > 100000000 and .p50_ns < 2000000000' r.json
	jq -e '[.findings[] | select(.rule == "leak")] | length == 1 and
		(.[0].evidence | any(test("leak_grows")))' r.json
	jq -e '[.rows[] | select(.table == "mappings")] | length == 2 and
		(.[0] | .verdict == "grows steadily" and .live_bytes == 240 * 65536 and .unmapped_bytes == 0 and
			.calls == 240 and .stayed_ratio == 1 and any(.stack[] | tostring; test("leak_maps"))) and
		(.[1] | .verdict == "comes and goes" and .live_bytes == 65536 and .unmapped_bytes == 239 * 65536 and
			.stayed_ratio == 0)' r.json
	jq -e '[.findings[] | select(.rule == "leak-mapped")] | length == 1 and
		(.[0].evidence | any(test("leak_maps")))' r.json
	jq -e '.rows[] | select(.table == "processes") | .live_blocks == 24321 and .state == "ended" and
		.verdict == "grows steadily"' r.json
	"$MEMWHY" leak --input run.mw -o json | diff r.json -
}

# bats test_tags=host
@test "leak: a command that is over soon is not judged, what it held is told all the same" {
	"$MEMWHY" leak -o json --out r.json -- "$WORKLOADS/heap_work" peak 1000
	jq -e '[.rows[] | select(.table == "stacks")] | length == 2 and all(.verdict == "too short to tell") and
		([.[].live_bytes] | add) == 60000' r.json
	jq -e '.findings == null or .findings == []' r.json
	# A recording of heap has the stacks at the end only.
	"$MEMWHY" heap --record run.mw --out /dev/null -- "$WORKLOADS/heap_work" peak 1000
	"$MEMWHY" leak --input run.mw -o json |
		jq -e '[.rows[] | select(.table == "stacks") | .live_bytes] | add == 60000'
	"$MEMWHY" leak --input run.mw -o json | jq -e '.not_checked[] | select(test("leak --record"))'
}

# bats test_tags=host
@test "leak: whose memory has to be said" {
	for args in "" "--for 1s" "--by stack -- true" "--kernel --sample 1K -- true"; do
		run --separate-stderr "$MEMWHY" leak $args
		[ "$status" -eq 2 ] && [[ $stderr == "memwhy: "* ]] || { echo "$args: $status $stderr"; false; }
	done
}

# bats test_tags=host
@test "leak: where the process cannot be looked at there is no report that says all is freed" {
	run --separate-stderr "$MEMWHY" leak -p 2 --for 1s
	[ "$status" -eq 3 ]
	[ -z "$output" ]
	[[ $stderr == "memwhy: process 2: none of the files it has mapped has a malloc"* ]]
}

run_running() {
	"$WORKLOADS/heap_work" leak 25 &
	"$MEMWHY" leak -p $! --for 12s -o json --out r.json &
	wait $!
}

# bats test_tags=host
@test "leak: of a running process" {
	[ -e /sys/bus/event_source/devices/uprobe ] || skip "the kernel has no uprobes"
	had running
	jq -e '.rows[] | select(.table == "stacks" and ([.stack[] | tostring] | any(test("leak_grows")))) |
		.verdict == "grows steadily" and .live_blocks > 10000 and .frees == 0 and .stayed_ratio > 0.9' r.json
	jq -e '.rows[] | select(.table == "stacks" and ([.stack[] | tostring] | any(test("leak_renews")))) |
		.verdict != "grows steadily" and .live_blocks == 256' r.json
}
