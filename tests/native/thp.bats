#!/usr/bin/env bats
# Huge pages against /proc/vmstat, and against what a workload did, on this kernel.
load common

DIR=/sys/kernel/mm/transparent_hugepage

setup() {
	needs_root
	cd "$BATS_TEST_DIRNAME/../.." || exit 1
	[ -d "$DIR" ] || skip "the kernel has no transparent huge pages"
	grep -q never "$DIR/enabled" && ! grep -q '\[never\]' "$DIR/enabled" || skip "huge pages are off"
	settings=()
}

# set_to SETTING VALUE: until the test is over. SETTING: a file, below $DIR unless its path is whole.
set_to() {
	local file=$1
	[ "${file#/}" != "$file" ] || file=$DIR/$1
	settings+=("$file=$(sed 's/.*\[\(.*\)\].*/\1/' "$file")")
	echo "$2" >"$file"
}

teardown() {
	for s in "${settings[@]}"; do
		echo "${s#*=}" >"${s%%=*}"
	done
	exec 7>&- || true
	jobs -p | xargs -r kill 2>/dev/null || true
	wait 2>/dev/null || true
}

# thp_start STEP...: leaves the workload waiting: $pid, its input on fd 7. RUN: what runs it.
thp_start() {
	mkfifo "$BATS_TEST_TMPDIR/in"
	"${RUN[@]}" "$WORKLOADS/thp" "$@" <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	pid=$!
	exec 7>"$BATS_TEST_TMPDIR/in"
	wait_for 'grep -q ready "$BATS_TEST_TMPDIR/out"'
}

thp_go() {
	vmstat_read inner_before
	echo go >&7
	wait_for 'grep -q done "$BATS_TEST_TMPDIR/out" || ! kill -0 $pid'
	cat "$BATS_TEST_TMPDIR/out"
	grep -q done "$BATS_TEST_TMPDIR/out"
	vmstat_read inner_after
}

vmstat_read() { # NAME
	cp /proc/vmstat "$BATS_TEST_TMPDIR/$1"
}

delta() { # FROM TO COUNTER
	awk -v n="$3" '$1 == n { v[FILENAME] = $2 } END { print v[ARGV[2]] - v[ARGV[1]] }' \
		"$BATS_TEST_TMPDIR/$1" "$BATS_TEST_TMPDIR/$2"
}

# Ours is the kernel's: no less than it counted while the workload ran, no more than around it.
equals() { # COUNTER OURS
	local least most
	least=$(delta inner_before inner_after "$1")
	most=$(delta outer_before outer_after "$1")
	echo "$1: ours $2, the kernel's $least to $most"
	[ "$2" -ge "$least" ]
	[ "$2" -le "$most" ]
}

report() {
	jq -r "$1" "$BATS_TEST_TMPDIR/report.json"
}

sum() { # COLUMN
	report "[.rows[] | select(.table == \"faults\") | .$1] | add // 0"
}

method() { # DATA
	report ".method_details.thp[\"$1\"] // empty"
}

needs_counts() {
	[ -n "$(method 'huge faults, fallbacks by process')" ] && [ -n "$(method 'splits by process')" ] ||
		skip "no debug registers to watch the kernel's counters with"
}

# memwhy over the whole machine while the workload does its steps.
watch_all() { # STEP...
	thp_start "$@"
	vmstat_read outer_before
	memwhy_start thp --with-self # the kernel counts it too
	thp_go
	memwhy_stop
	vmstat_read outer_after
	[ "$(report .lost.thp)" -eq 0 ]
}

@test "thp: faults and splits equal thp_fault_alloc, thp_split_pmd, thp_split_page; by process" {
	watch_all full:20 unmap
	needs_counts
	equals thp_fault_alloc "$(sum count)"
	equals thp_fault_fallback "$(sum fallbacks)"
	equals thp_split_pmd "$(sum pmd_splits)"
	equals thp_split_page "$(sum page_splits)"
	mine=$(report ".rows[] | select(.table == \"faults\" and .pid == $pid) | \"\(.count) \(.pmd_splits)\"")
	[ "$mine" = "20 20" ]
}

@test "thp: with -p it is that process only, by thread and with its stack" {
	thp_start full:7 protect
	memwhy_start thp -p "$pid" --by thread --stacks=kernel
	thp_go
	memwhy_stop
	needs_counts
	[ "$(sum count)" -eq 7 ]
	[ "$(sum pmd_splits)" -eq 7 ]
	[ "$(report '[.rows[] | select(.table == "faults") | .tid] | unique | length')" -eq 1 ]
	report '[.rows[] | select(.table == "faults" and .count > 0) | .stack[]] | unique | .[]' >"$BATS_TEST_TMPDIR/functions"
	grep -q do_huge_pmd_anonymous_page "$BATS_TEST_TMPDIR/functions"
}

@test "thp: fallbacks at a cgroup's limit equal thp_fault_fallback" {
	RUN=(tools/with-cgroup "memwhy-thp-$$" 16777216)
	"${RUN[@]}" true || [ $? -ne 3 ] || skip "no memory controller"
	watch_all lock sparse:40 # or reclaim makes room
	needs_counts
	equals thp_fault_alloc "$(sum count)"
	equals thp_fault_fallback "$(sum fallbacks)"
	[ "$(delta inner_before inner_after thp_fault_fallback)" -gt 0 ]
}

@test "thp: a tiny ring loses events, and says how many" {
	thp_start full:60 unmap
	memwhy_start thp --each -p "$pid" --ring-size 4096
	kill -STOP "$memwhy" # it would keep up
	thp_go
	kill -CONT "$memwhy"
	memwhy_stop
	needs_counts
	echo "delivered $(report .events.thp), lost $(report .lost.thp)"
	[ "$(report .lost.thp)" -gt 0 ]
	# 60 faults, with kprobes their ends too, 60 splits; and khugepaged may come by and scan: 8 of them at
	# a time, each 10 seconds
	made=120
	[ -z "$(method 'time of huge faults')" ] || made=180
	[ "$(($(report .events.thp) + $(report .lost.thp)))" -ge "$made" ]
	[ "$(($(report .events.thp) + $(report .lost.thp)))" -le $((made + 16)) ]
}

@test "thp: --each gives a row an event" {
	thp_start full:50 unmap
	memwhy_start thp --each -p "$pid"
	thp_go
	memwhy_stop
	needs_counts
	[ "$(report '[.rows[] | select(.table == "event" and .event == "fault")] | length')" -eq 50 ]
	[ "$(report '[.rows[] | select(.table == "event" and .event == "pmd split")] | length')" -eq 50 ]
	[ "$(report .lost.thp)" -eq 0 ]
}

@test "thp: each collapse by MADV_COLLAPSE is told with its result; thp_collapse_alloc is ours" {
	watch_all small:8 collapse
	n=$(sed -n 's/collapsed //p' "$BATS_TEST_TMPDIR/out")
	[ "$n" -gt 0 ] || skip "the kernel has no MADV_COLLAPSE (6.1)"
	ours=$(report "[.rows[] | select(.table == \"collapses\" and .pid == $pid and .step == \"collapse\" and .result == \"succeeded\") | .count] | add // 0")
	echo "collapsed $n, ours $ours"
	[ "$ours" -eq "$n" ]
	# Counted by the kernel once there is a page (alloc_charge_folio in mm/khugepaged.c), whatever
	# comes of it.
	equals thp_collapse_alloc "$(report '[.rows[] | select(.table == "collapses" and .step == "collapse" and .result != "alloc_huge_page_failed") | .count] | add // 0')"
}

@test "thp: what khugepaged collapses is told for the process whose memory it is" {
	[ -n "$MEMWHY_VM" ] || skip "changes settings of the machine: only in a guest of its own (make check-vm)"
	set_to khugepaged/scan_sleep_millisecs 50
	set_to khugepaged/alloc_sleep_millisecs 50
	set_to khugepaged/pages_to_scan 65536
	thp_start small:6
	vmstat_read outer_before
	memwhy_start thp
	vmstat_read inner_before
	echo go >&7
	wait_for 'grep -q done "$BATS_TEST_TMPDIR/out"'
	wait_for '[ "$(awk "/AnonHugePages/ { print \$2 }" /proc/$pid/smaps_rollup)" -ge 12288 ]'
	vmstat_read inner_after
	memwhy_stop
	vmstat_read outer_after
	[ "$(report "[.rows[] | select(.table == \"collapses\" and .pid == $pid and .step == \"collapse\" and .result == \"succeeded\") | .count] | add // 0")" -eq 6 ]
	equals thp_collapse_alloc "$(report '[.rows[] | select(.table == "collapses" and .step == "collapse" and .result != "alloc_huge_page_failed") | .count] | add // 0')"
	[ "$(report "[.rows[] | select(.table == \"resident\" and .pid == $pid) | .huge_bytes] | add")" -eq 12582912 ]
}

# The waste of the workload, in thousandths of its huge pages.
waste() {
	report ".rows[] | select(.table == \"resident\" and .pid == $pid) | .waste_bytes * 1000 / .anon_huge_bytes | round"
}

bloat() {
	report '.rows[] | select(.table == "symptoms" and .symptom == "bloat") | .seen'
}

waste_of() { # STEP...
	thp_start "$@"
	memwhy_start thp -p "$pid"
	thp_go
	memwhy_stop
	echo "waste $(waste), bloat $(bloat)"
}

@test "thp: huge pages with one page in use are waste, and seen as bloat" {
	waste_of sparse:60
	[ "$(waste)" -ge 990 ]
	[ "$(bloat)" = yes ]
	report '.findings[] | select(.rule == "thp-bloat") | .try[], .undo[]' >"$BATS_TEST_TMPDIR/advice"
	grep -q 'max_ptes_none\|enabled' "$BATS_TEST_TMPDIR/advice"
}

@test "thp: huge pages in use by half are half waste; in full, none" {
	waste_of partial:60
	[ "$(waste)" -ge 490 ]
	[ "$(waste)" -le 510 ]
	exec 7>&-
	rm "$BATS_TEST_TMPDIR/in"
	waste_of full:60
	[ "$(waste)" -le 10 ]
	[ "$(bloat)" = no ]
}

@test "thp: memory excluded from dumps is not read" {
	waste_of sparse:60 secret
	[ "$(report ".rows[] | select(.table == \"resident\" and .pid == $pid) | .sampled")" -eq 0 ]
	[ "$(bloat)" = unknown ]
}

@test "thp: time of huge faults, and zeroing within, where there are kprobes" {
	thp_start full:20
	memwhy_start thp -p "$pid"
	thp_go
	memwhy_stop
	[ -n "$(method 'time of huge faults')" ] || skip "the kernel has no kprobes"
	[ "$(sum total_ns)" -gt 0 ]
	[ -n "$(method 'time zeroing')" ]
	# With init_on_alloc=1 the allocator zeroes, since 6.14 it alone (user_alloc_needs_zeroing in
	# linux/mm.h): that time has no function of its own.
	if [ "$(report '[.rows[] | select(.table == "faults" and .zero_ns != null)] | length')" -eq 0 ]; then
		[ "$(printf '%s\n' 6.14 "$(uname -r)" | sort -V | head -n1)" = 6.14 ]
		return
	fi
	[ "$(sum zero_ns)" -gt 0 ]
	[ "$(sum zero_ns)" -lt "$(sum total_ns)" ]
}

# Half of the memory that is available stays free, in single pages, and is left so by kcompactd.
fragment() {
	set_to /proc/sys/vm/compaction_proactiveness 0
	"$WORKLOADS/frag_pin" -u -f -s 300 "$(awk '/MemAvailable/ { print int($2 / 1024 * 0.94) }' /proc/meminfo)" \
		>"$BATS_TEST_TMPDIR/pin" 2>&1 3>&- &
	wait_for 'grep -q taken "$BATS_TEST_TMPDIR/pin"'
}

symptom() { # NAME FIELD
	report ".rows[] | select(.table == \"symptoms\" and .symptom == \"$1\") | .$2"
}

@test "thp: compaction below huge faults is seen, with who pays and the setting" {
	[ -n "$MEMWHY_VM" ] || skip "fragments all memory: only in a guest of its own (make check-vm)"
	set_to enabled always
	set_to defrag always
	fragment
	watch_all full:120
	echo "compactions $(sum compactions), $(sum compact_ns) ns; seen $(symptom compaction seen)"
	needs_counts
	equals thp_fault_alloc "$(sum count)"
	equals thp_fault_fallback "$(sum fallbacks)"
	[ "$(sum compactions)" -gt 0 ]
	[ "$(symptom compaction seen)" = yes ]
	[ "$(symptom compaction now)" = always ]
	[ "$(symptom compaction to)" = defer+madvise ]
	report '.findings[] | select(.rule == "thp-compaction") | .undo[]' | grep 'echo always > .*/defrag'
}

@test "thp: kswapd's work for huge pages is counted while memory is free" {
	[ -n "$MEMWHY_VM" ] || skip "fragments all memory: only in a guest of its own (make check-vm)"
	set_to enabled always
	set_to defrag defer
	fragment
	watch_all full:120
	echo "kswapd $(report '[.rows[] | select(.table == "faults" and (.comm | startswith("kswapd"))) | .reclaims] | add // 0')"
	[ "$(report '[.rows[] | select(.table == "faults" and (.comm | startswith("kswapd"))) | .reclaims] | add // 0')" -gt 0 ]
	[ "$(symptom reclaim seen)" != unknown ]
}

# bats test_tags=host
@test "thp: a recording gives the same report" {
	thp_start full:5 unmap
	memwhy_start thp -p "$pid" --record "$BATS_TEST_TMPDIR/thp.mw"
	thp_go
	memwhy_stop
	"$MEMWHY" thp --input "$BATS_TEST_TMPDIR/thp.mw" -o json >"$BATS_TEST_TMPDIR/replay.json"
	diff <(report '.rows[]') <(jq -r '.rows[]' "$BATS_TEST_TMPDIR/replay.json")
}
