#!/usr/bin/env bats
# --max-memory: what the maps of all probes take is within it, by the kernel's own number, and what
# they cannot hold is counted as lost.
load common

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR" || return 1
}

# least COMMAND...: KiB that it says it needs.
least() {
	"$MEMWHY" "$@" --max-memory 1 2>err && return 1
	[ $? -eq 2 ] || return 1
	sed -n 's/.*--max-memory \([0-9]*\)K$/\1/p' err
}

# held KIB COMMAND...
held() {
	kib=$1
	shift
	"$MEMWHY" "$@" --for 100ms --max-memory "${kib}K" -o json --out report.json
	took=$(jq .cost.bpf_bytes report.json)
	echo "$*: at most $kib KiB, took $((took / 1024))"
	[ "$took" -le $((kib * 1024)) ]
	jq -e 'all(.notes[]?; test("more than --max-memory") | not)' report.json >/dev/null
}

@test "memory: the limit is kept by every command, from the least it says to what it would take" {
	while read -r words; do
		# shellcheck disable=SC2086 # words
		n=$(least $words)
		[ "$n" -ge 4 ]
		limits="$n $((n * 2)) $((n * 5)) 4096"
		[ -z "${MEMWHY_VM-}" ] || limits=$n # each loads the programs anew, which takes seconds
		for kib in $limits; do
			# shellcheck disable=SC2086
			[ "$kib" -lt "$n" ] || held "$kib" $words
		done
	done <<-COMMANDS
	check
	faults --stacks
	faults --each --stacks
	stalls --each
	reclaim --stacks
	compaction
	frag
	thp
	swap --stacks
	oom
	slab
	slab --by live
	pages
	pages held --stacks
	count kmem:*
	COMMANDS
}

# bats test_tags=host
@test "memory: one KiB less than the least is refused, with the least" {
	n=$(least pages)
	run -2 "$MEMWHY" pages --for 100ms --max-memory $((n - 1))K
	[[ $output == *"--max-memory"*"is too little for pages: the minimum is"* ]]
	[[ $output == *"--max-memory ${n}K"* ]]
}

# bats test_tags=host
@test "memory: a recording keeps it too" {
	n=$(least record r.mw)
	"$MEMWHY" record r.mw --for 200ms --max-memory $((2 * n))K
	"$MEMWHY" faults --input r.mw -o json --out report.json
	[ "$(jq .cost.bpf_bytes report.json)" -le $((2 * n * 1024)) ]
}

@test "memory: what small maps cannot hold is counted by the names of processes" {
	perf --version >/dev/null 2>&1 || skip "there is no perf"
	mkfifo in
	"$WORKLOADS/pages_work" threads 2000 <in >out 3>&- &
	pid=$!
	exec 7>in
	wait_for 'grep -q ready out'
	memwhy_start faults -p "$pid" --by thread --max-memory "$(least faults -p "$pid" --by thread)K"
	"$with_kernelfs" perf stat -x, -o perf.csv -p "$pid" -e page-faults 3>&- 7>&- &
	perf=$!
	wait_for '[ "$(ls -l /proc/$perf/fd | grep -c perf_event)" -ge 1 ] || ! kill -0 $perf 2>/dev/null'
	sleep 0.5
	kill -0 $perf || skip "perf cannot count here: $(cat perf.csv)"
	echo go >&7
	wait_for '[ "$(wc -l <out)" -ge 2 ]'
	kill -INT $perf
	wait $perf || true
	memwhy_stop
	seen=$(awk -F, '$3 ~ /page-faults/ { print $1 }' perf.csv)
	jq -c '[.events, .lost, .cost, .lost_reasons, .notes]' "$json"
	echo "perf: $seen"
	jq -e '[.rows[] | select(.pid == null and .comm == "pages_work") | .count] | add >= 1000' "$json"
	jq -e '[.notes[] | select(test("only by process name: table full: larger --max-memory"))] | length == 1' "$json"
	# perf loses sight of a thread before its end
	[ "$(jq '.events.faults + .lost.faults' "$json")" -ge "$seen" ]
	[ "$(jq '.events.faults + .lost.faults' "$json")" -le $((seen * 11 / 10)) ]
	[ "$(jq '[.rows[].count] | add' "$json")" -eq "$(jq .events.faults "$json")" ]
}
