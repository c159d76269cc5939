#!/usr/bin/env bats
# What check says of zone->lock and of the lists of CPUs: looked at in bursts, detached in between.
load common

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR" || return 1
}

# work MODE [NICE]: allocates and frees pages until the end of the test.
work() {
	mkfifo in
	nice -n "${2:-0}" "$WORKLOADS/pages_work" "$1" 2000000000 <in >out 3>&- &
	exec 7>in
	wait_for 'grep -q ready out'
	echo go >&7
}

allocated() {
	awk '/^pgalloc_/ { n += $2 } END { printf "%.0f\n", n }' /proc/vmstat
}

# Is a program of memwhy's attached that only pages has? Where links tell (5.13).
attached() {
	grep -qs 'tp_name:[[:space:]]*mm_page_pcpu_drain$' "/proc/$memwhy/fdinfo/"*
}

# An emulator lets the CPUs run in turn, up to 100 ms each: in many a burst of 40 ms the storm does not run. To
# attach and to detach takes long there, too.
@test "check: pages are looked at in bursts" {
	work storm
	before=$(allocated) on=0 off=0 length=9 part=4
	[ -z "${MEMWHY_VM-}" ] || length=40 part=1
	memwhy_start check --for "${length}s" --record log
	for _ in $(seq 100); do
		attached && on=$((on + 1)) || off=$((off + 1))
		sleep 0.05
	done
	wait "$memwhy"
	after=$(allocated)
	seconds=$(jq '.interval.seconds | ceil' "$json")
	echo "seen attached $on times, detached $off times"
	[ "$off" -gt "$((part * on))" ]
	[ "$(jq .events.pages "$json")" -ge 1000 ]
	# what the bursts stand for is about what the kernel counted
	"$MEMWHY" pages --input log -o json --out pages.json
	jq -r '.notes[]' pages.json | tee notes
	grep -q 'pages were counted in [0-9]* bursts, .* in total' notes
	rate=$(jq '[.rows[] | select(.table == "allocations" and .count > 0) |
		.pages * .per_second / .count] | add | floor' pages.json)
	echo "rate $rate, the kernel's: $(((after - before) / seconds))"
	[ "$((rate * 4))" -ge "$(((after - before) / seconds))" ]
	[ "$rate" -le "$(((after - before) / length * 4))" ]
}

@test "check: no finding about pages where each CPU keeps its own" {
	work storm
	memwhy_start check --for 5s
	wait "$memwhy"
	jq -c '[.findings[] | .rule]' "$json"
	jq -e 'all(.findings[]; .rule != "pcp-imbalance")' "$json"
}

# Skips where too few pages go from CPU 1 to CPU 0, as others have the CPUs.
travelling() {
	memwhy_start pages --for 4s
	wait "$memwhy"
	rate=$(jq '[.rows[] | select(.table == "imbalance" and .drained_cpu == 1 and
		.refilled_cpu == 0) | .pages] | add // 0 | . / 4 | floor' "$json")
	[ "$rate" -ge 15000 ] || skip "something else takes the CPUs: only $rate pages a second travel"
}

# bats test_tags=host
@test "check: pages that are freed on one CPU and allocated on another" {
	[ "$(nproc)" -ge 2 ] || skip "needs two CPUs"
	work cross -19 # also on a busy machine
	travelling
	for _ in 1 2 3; do
		memwhy_start check --for 20s
		wait "$memwhy"
		jq -c '[.findings[] | .rule], .events' "$json"
		jq -e 'any(.findings[]; .rule == "pcp-imbalance")' "$json" && break
		mv "$json" "$json.last"
		travelling # still
		mv "$json.last" "$json"
	done
	jq -e '.findings[] | select(.rule == "pcp-imbalance") | .title | test("from CPU 1 to CPU 0$")' "$json"
	now=$(cat /proc/sys/vm/percpu_pagelist_high_fraction)
	jq -e --arg undo "\`sysctl -w vm.percpu_pagelist_high_fraction=$now\`" \
		'.findings[] | select(.rule == "pcp-imbalance") | .undo | index($undo)' "$json"
}

# bats test_tags=host
@test "check: who waits for the lock of a zone" {
	[ "$(nproc)" -ge 4 ] || skip "the first that waits is not seen: needs four CPUs"
	[ -e /proc/sys/vm/percpu_pagelist_high_fraction ] || skip "no vm.percpu_pagelist_high_fraction"
	"$with_kernelfs" test -e /sys/kernel/tracing/events/lock/contention_begin || skip "no lock:contention_begin (5.19)"
	setting_set vm.percpu_pagelist_high_fraction 1000000
	work storm
	memwhy_start pages --for 5s
	wait "$memwhy"
	jq -c '.rows[] | select(.table == "pcp") | del(.table)' "$json"
	[ "$(jq '[.rows[] | select(.table == "pcp") | .waits] | add' "$json")" -ge 1 ]
	[ "$(jq '[.rows[] | select(.table == "pcp") | .wait_ns] | add' "$json")" -ge 1 ]
}
