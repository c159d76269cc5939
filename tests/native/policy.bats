#!/usr/bin/env bats
# Calls on memory policy: counted and decoded as they were made, their effect as the kernel's own
# numbers have it. With more than one node (guests) also where the pages are.
load common

CALLS=mbind,set_mempolicy,get_mempolicy,migrate_pages,move_pages,set_mempolicy_home_node

setup() {
	needs_root
	cd "$BATS_TEST_DIRNAME/../.." || exit 1
	json=$BATS_TEST_TMPDIR/report.json
	out=$BATS_TEST_TMPDIR/out
}

report() {
	jq -r "$1" "$json"
}

# Runs policy_calls under memwhy: calls WHAT [N] -- OPTIONS OF MEMWHY
calls() {
	local what=()

	while [ "$1" != -- ]; do
		what+=("$1")
		shift
	done
	shift
	echo go | "$MEMWHY" policy "$@" -o json --out "$json" -- "$WORKLOADS/policy_calls" "${what[@]}" \
		>"$out" 2>"$BATS_TEST_TMPDIR/err"
	grep -q '^done$' "$out"
}

# What the workload says it was returned, in order: lines of a label and one number.
returned() {
	awk 'NF == 2 { print $2 }' "$out"
}

# The two numbers of the workload's line with this label: pages on node 0 and 1.
pages() {
	awk -v label="$1" '$1 == label { print $2, $3 }' "$out"
}

# The row of the call whose label is the workload's: the n-th of its calls.
row() {
	local n

	n=$(awk -v label="$1" 'NF == 2 { n++ } $1 == label { print n }' "$out")
	report "[.rows[] | select(.table == \"call\")][$n - 1]$2"
}

@test "policy: each call is told with what it returned, in order" {
	for what in errors hostile; do
		calls "$what" -- --each
		[ "$(report '[.rows[].returned] | join(" ")')" = "$(returned | paste -sd' ')" ]
		[ "$(report .events.policy)" -eq "$(returned | wc -l)" ]
		[ "$(report .lost.policy)" -eq 0 ]
		# every error that is told has a meaning
		[ "$(report '[.rows[] | select(.error != null and .problems == null)] | length')" -eq 0 ]
	done
}

# bats test_tags=host
@test "policy: errors say what is wrong with this very call" {
	calls errors -- --each
	[[ $(row mbind-empty .problems) == *"the mask is empty, and this mode needs nodes"* ]]
	[[ $(row mbind-cut .problems) == *"maxnode cuts its nodes off"* ]]
	[[ $(row mbind-maxnode-0 .problems) == *"maxnode is 0"* ]]
	[[ $(row mbind-far .nodes) == 1023 ]]
	[[ $(row mbind-mode .mode) == 0x63 ]]
	[[ $(row mbind-mode .problems) == *"no such mode"* ]]
	[[ $(row mbind-flag .problems) == *"a flag that mbind does not have"* ]]
	[[ $(row mbind-unaligned .problems) == *"beginning of a page"* ]]
	[[ $(row mbind-hole .problems) == *"not mapped"* ]]
	[[ $(row set-both .mode) == *"MPOL_F_STATIC_NODES|MPOL_F_RELATIVE_NODES" ]]
	[[ $(row get-ok .mode) == MPOL_DEFAULT ]]
	[[ $(row get-addr .mode) == MPOL_BIND ]]
	[[ $(row get-addr .nodes) == 0 ]]
	[[ $(row get-addr .flags) == MPOL_F_ADDR ]]
	[[ $(row get-small .problems) == *"nr_node_ids"* ]]
	[[ $(row migrate-none .problems) == *"mask of new nodes is empty"* ]] ||
		[ "$(row migrate-none .returned)" -ge 0 ]
	[[ $(row move-nobody .problems) == *"no such process"* ]]
	[ "$(row mbind-ok .mapping)" = anonymous ]
}

@test "policy: masks at the end of a page, unmapped pointers and sizes of 2^63" {
	calls hostile -- --each
	[ "$(row end-ok .nodes)" = 0 ]
	[[ $(row end-over .text) == *"{0}..., 66,"* ]]
	[[ $(row end-cut .text) == *"{0}..., 64,"* ]]
	[[ $(row bad-mask .problems) == *"not in mapped memory"* ]]
	[[ $(row kernel-mask .problems) == *"not in mapped memory"* ]]
	[[ $(row big-length .text) == *", 8.00 EiB, "* ]]
	[[ $(row big-count .text) == "move_pages(0, 9223372036854775808, NULL, NULL, NULL, MPOL_MF_MOVE)" ]]
	[ "$(row set-constant .nodes)" = 0 ] # paged in by the call itself
}

@test "policy: counts and errors by call are strace's" {
	command -v strace >/dev/null || skip "no strace"
	echo go | "$MEMWHY" policy --by call,error -o json --out "$json" -- strace -f -qq \
		-e "trace=$CALLS" -o "$BATS_TEST_TMPDIR/strace" "$WORKLOADS/policy_calls" errors >"$out"
	sed -nE 's/^[0-9]+ +([a-z_]+)\(.* = -1 ([A-Z0-9]+) .*/\1 \2/p; s/^[0-9]+ +([a-z_]+)\(.* = [0-9]+$/\1 null/p' \
		"$BATS_TEST_TMPDIR/strace" | sort | uniq -c | awk '{ print $2, $3, $1 }' >"$out.theirs"
	report '.rows[] | select(.table == "calls") | "\(.call) \(.error) \(.count)"' | sort >"$out.ours"
	diff "$out.theirs" "$out.ours"
	[ -s "$out.ours" ]
}

@test "policy: sums are exact, and the storm of a tiny ring is counted" {
	calls loop 20000 --
	[ "$(report '[.rows[] | select(.table == "calls") | .count] | add')" -eq 20000 ]
	[ "$(report .lost.policy)" -eq 0 ]
	calls loop 20000 -- --each --ring-size 4096
	[ "$(report '.events.policy + .lost.policy')" -eq 20000 ]
	[ "$(report '.rows | length')" -eq "$(report .events.policy)" ]
}

@test "policy: with a problem the first calls are examples, all are counted" {
	calls errors --
	[ "$(report '[.rows[] | select(.table == "calls") | .count] | add')" -eq "$(returned | wc -l)" ]
	[ "$(report '[.rows[] | select(.table == "calls") | .failed] | add')" -eq \
		"$(returned | grep -c -- -)" ]
	[ "$(report '[.rows[] | select(.table == "problems" and .example == null)] | length')" -eq 0 ]
	[ "$(report '[.rows[] | select(.problem == "EINVAL") | .count] | add')" -eq \
		"$(returned | grep -cx -- -22)" ]
}

@test "policy: calls of int 0x80 are others" {
	calls compat -- --each
	[ "$(report '.rows | length')" -eq 1 ]
	[ "$(report '.rows[0].call')" = set_mempolicy ]
}

@test "policy: the scope filters, --min too" {
	"$MEMWHY" policy -p $$ -o json --out "$json" --for 1s 3>&- &
	echo go | "$WORKLOADS/policy_calls" errors >"$out"
	wait $!
	[ "$(report .events.policy)" -eq 0 ]
	calls errors -- --each --min 10s
	[ "$(report '.rows | length')" -eq 0 ]
}

@test "policy: the stack has the function that made the call" {
	calls errors -- --stacks=user --by call
	[ "$(report '[.rows[] | select(.table == "calls") | .stack[]? | select(startswith("errors "))] | length > 0')" = true ]
}

# bats test_tags=host
@test "policy: a recording says the same" {
	echo go | "$MEMWHY" policy --record "$BATS_TEST_TMPDIR/r.mw" -o json --out "$json" -- \
		"$WORKLOADS/policy_calls" errors >"$out"
	"$MEMWHY" policy --input "$BATS_TEST_TMPDIR/r.mw" -o json >"$json.again"
	diff <(jq -S .rows "$json") <(jq -S .rows "$json.again")
	echo go | "$MEMWHY" policy --each --record "$BATS_TEST_TMPDIR/e.mw" -o json --out "$json" -- \
		"$WORKLOADS/policy_calls" hostile >"$out"
	"$MEMWHY" policy --each --input "$BATS_TEST_TMPDIR/e.mw" -o json >"$json.again"
	diff <(jq -S .rows "$json") <(jq -S .rows "$json.again")
	[ "$(report '.rows | length')" -gt 10 ]
}

@test "policy show: mappings, policies and pages are those of numa_maps" {
	sleep 60 3>&- &
	pid=$!
	wait_for '[ "$(cat /proc/$pid/comm)" = sleep ]'
	"$MEMWHY" policy show -p $pid --limit 0 -o json --out "$json" --record "$BATS_TEST_TMPDIR/s.mw"
	[ "$(report '[.rows[] | select(.table == "mappings")] | length')" -eq \
		"$(wc -l <"/proc/$pid/numa_maps")" ]
	theirs=$(awk '{ for (i = 3; i <= NF; i++) if ($i ~ /^N[0-9]+=/) { split($i, a, "="); n += a[2] } }
		END { print n * 4096 }' "/proc/$pid/numa_maps")
	[ "$(report '[.rows[] | select(.table == "mappings") | .present_bytes] | add')" -eq "$theirs" ]
	[ "$(report '[.rows[] | select(.table == "nodes") | .bytes] | add')" -eq "$theirs" ]
	[ "$(report '[.rows[] | select(.table == "mappings") | .policy] | unique | join(",")')" = default ]
	[ "$(report '.rows[] | select(.table == "threads") | "\(.tid) \(.comm) \(.policy)"')" = "$pid sleep default" ]
	"$MEMWHY" policy show --input "$BATS_TEST_TMPDIR/s.mw" -o json >"$json.again"
	diff <(jq -S .rows "$json") <(jq -S .rows "$json.again")
	kill $pid
}

# bats test_tags=host
@test "policy show: without -p it says what it needs" {
	run --separate-stderr "$MEMWHY" policy show
	[ "$status" -eq 2 ]
	[[ $stderr == *"-p PID"* ]]
}

@test "policy: pages before and after are those of numa_maps" {
	two_nodes
	calls effect -- --each
	[ "$(report .lost.policy)" -eq 0 ]
	[ "$(pages begin)" = "200 0" ] # all on node 0
	[ "$(pages after-bind)" = "200 0" ]
	[ "$(row bind .effect)" = "pages: node 0 200, not there yet 200" ]
	[[ $(row bind .problems) == "200 of 400 pages looked at are on other nodes and stay there"* ]]
	[[ $(row strict .problems) == "EIO: MPOL_MF_STRICT"* ]]
	[ "$(pages after-move)" = "0 200" ]
	[ "$(row move .effect)" = "before: node 0 200, not there yet 200; after: node 1 200, not there yet 200; moved 200, not moved 0" ]
	[ "$(row move .problems)" = null ]
	[ "$(pages after-pages)" = "200 0" ]
	[ "$(row pages .moved_pages)" -eq 200 ]
	# a page that is not there: EFAULT on 5.10 and 6.1, ENOENT on 6.12 and 7.3
	row pages .effect | sed 's/EFAULT/ENOENT/' |
		grep -qx "pages: node 1 200, not there yet 200; asked for: node 0 400; status: node 0 200, ENOENT 200; moved 200, not moved 0"
	[ "$(pages after-migrate)" = "0 200" ]
	[ "$(row migrate .nodes)" = 0 ]
	[ "$(row migrate .to_nodes)" = 1 ]
	[ "$(row migrate .moved_pages)" -ge 200 ]
}

@test "policy: large ranges are sampled, and the sample is fair" {
	two_nodes
	calls effect -- --each
	[ "$(pages big)" = "0 8192" ] # by migrate_pages
	[ "$(pages after-big)" = "8192 0" ]
	row big-move .effect
	[[ $(row big-move .effect) == "before: node 1 512; after: node 0 512 (512 of 8192 pages looked at); moved 8192, not moved 0" ]]
	[ "$(row big-move .moved_pages)" -eq 8192 ]
	read -r zero one < <(row spread-again .effect | sed -nE 's/pages: node 0 ([0-9]+), node 1 ([0-9]+).*/\1 \2/p')
	echo "of 512 looked at: $zero $one; numa_maps: $(pages after-spread)"
	[ "$(pages after-spread)" = "4096 4096" ]
	[ "$zero" -gt 200 ]
	[ "$one" -gt 200 ]
	[ $((zero + one)) -eq 512 ]
	[[ $(row ask .effect) == *"(512 of 1000 pages looked at)"* ]]
}

# bats test_tags=host
@test "policy: the classic mistakes are named" {
	two_nodes
	calls effect --
	for problem in "maxnode cuts nodes off" "pages stay elsewhere" "memory was there before"; do
		[ "$(report "[.rows[] | select(.problem == \"$problem\")] | length")" -ge 1 ] ||
			{ echo "not found: $problem"; report '.rows[] | .problem'; return 1; }
	done
	calls effect -- --each
	[[ $(row off-by-one .problems) == *"The mask also has node 1, which the kernel does not look at"* ]]
	[[ $(row late .problems) == *"of anonymous memory by then"* ]]
}

@test "policy: pages moved are what vmstat counts" {
	two_nodes
	before=$(awk '$1 == "pgmigrate_success" { print $2 }' /proc/vmstat)
	calls effect --
	after=$(awk '$1 == "pgmigrate_success" { print $2 }' /proc/vmstat)
	ours=$(report '[.rows[] | select(.table == "calls") | .moved_pages] | add')
	echo "ours $ours, vmstat $((after - before))"
	[ "$ours" -gt 4000 ]
	[ "$ours" -le $((after - before)) ]
	# compaction and others may have moved some, meanwhile
	[ $((after - before - ours)) -le 100 ]
}

@test "policy: numactl's call, decoded" {
	two_nodes
	command -v numactl >/dev/null || skip "no numactl"
	"$MEMWHY" policy --each -o json --out "$json" -- numactl --interleave=0,1 true
	[ "$(report '[.rows[] | select(.call == "set_mempolicy" and .mode == "MPOL_INTERLEAVE") | .nodes] | last')" = 0-1 ]
	"$MEMWHY" policy --each -o json --out "$json" -- numactl --membind=1 true
	[ "$(report '[.rows[] | select(.call == "set_mempolicy" and .mode == "MPOL_BIND") | .nodes] | last')" = 1 ]
}

@test "policy show: pages on two nodes, and the thread's policy" {
	two_nodes
	mkfifo "$BATS_TEST_TMPDIR/in"
	"$WORKLOADS/policy_calls" effect <"$BATS_TEST_TMPDIR/in" >"$out" 3>&- &
	pid=$!
	exec 7>"$BATS_TEST_TMPDIR/in"
	echo go >&7
	wait_for 'grep -q done "$out"'
	"$MEMWHY" policy show -p $pid --limit 0 -o json --out "$json"
	[ "$(report '[.rows[] | select(.table == "mappings" and .policy == "interleave:0-1")] | length')" -ge 1 ]
	# As the workload itself was told by move_pages; neighbours of one policy may be one mapping.
	read -r on_0 on_1 <<<"$(pages after-spread)"
	zeros=$(((20 * on_0 + (on_0 + on_1) / 2) / (on_0 + on_1)))
	want=$(printf '%*s' "$zeros" '' | tr ' ' 0)$(printf '%*s' $((20 - zeros)) '' | tr ' ' 1)
	report '[.rows[] | select(.table == "mappings" and .policy == "interleave:0-1") | .picture] | unique[]' |
		tee "$BATS_TEST_TMPDIR/pictures"
	grep -qx "$want" "$BATS_TEST_TMPDIR/pictures"
	exec 7>&-
	wait $pid
}
