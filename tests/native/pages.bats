#!/usr/bin/env bats
# Page allocations and frees against perf's counts of the same tracepoints in the same processes.
load common

EVENTS=mm_page_alloc,mm_page_free,mm_page_free_batched,mm_page_alloc_zone_locked,mm_page_pcpu_drain

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR" || return 1
}

# work_start MODE N [PREFIX...]: leaves the workload waiting: $pid, its input on fd 7.
work_start() {
	mode=$1 n=$2
	shift 2
	mkfifo in
	"$@" "$WORKLOADS/pages_work" "$mode" "$n" <in >out 3>&- &
	pid=$!
	exec 7>in
	wait_for 'grep -q ready out'
}

work_go() {
	echo go >&7
	wait_for '[ "$(wc -l <out)" -ge 2 ]'
}

work_end() {
	exec 7>&-
	wait "$pid"
}

perf_start() {
	perf --version >/dev/null 2>&1 || skip "there is no perf"
	"$with_kernelfs" perf stat -x, -o perf.csv -e "kmem:${EVENTS//,/,kmem:}" -p "$pid" 3>&- 7>&- &
	perf=$!
	wait_for '[ "$(ls -l /proc/$perf/fd | grep -c perf_event)" -ge 5 ] || ! kill -0 $perf 2>/dev/null'
	sleep 0.5
	kill -0 $perf || skip "perf cannot count tracepoints here: $(cat perf.csv)"
}

perf_stop() {
	kill -INT $perf
	wait $perf || true
}

perf_count() { # EVENT
	awk -F, -v e="kmem:$1" '$3 == e { print $1 }' perf.csv
}

perf_all() {
	awk -F, '$3 ~ /^kmem:/ { n += $1 } END { print n + 0 }' perf.csv
}

sum() { # TABLE FIELD
	jq "[.rows[] | select(.table == \"$1\") | .$2 // 0] | add // 0" "$json"
}

# Nothing is lost; but where raw tracepoints are preemptible (7.x), an event that finds both programs
# of a tracepoint preempted is, and is told.
few_lost() {
	lost=$(jq .lost.pages "$json") events=$(jq .events.pages "$json")
	echo "events $events lost $lost"
	if grep -q class_srcu_fast_notrace_t /sys/kernel/btf/vmlinux 2>/dev/null; then
		[ $((lost * 1000)) -le "$events" ]
	else
		[ "$lost" -eq 0 ]
	fi
}

counts_equal() {
	[ $((events + lost)) -eq "$(perf_all)" ] || return
	[ "$lost" -eq 0 ] || return 0
	[ "$(($(sum allocations count) + $(sum allocations failures)))" -eq "$(perf_count mm_page_alloc)" ] &&
		[ "$(sum frees count)" -eq "$(perf_count mm_page_free)" ] &&
		[ "$(sum frees batched)" -eq "$(perf_count mm_page_free_batched)" ] &&
		[ "$(sum pcp allocations)" -eq "$(perf_count mm_page_alloc)" ] &&
		[ "$(sum pcp frees)" -eq "$(perf_count mm_page_free)" ]
}

# equal_perf MODE N: memwhy and perf count the same while the workload works. Three times at most: now
# and then perf has some fifty of a drained per-CPU list less, of which nobody else knows.
equal_perf() {
	local try
	for try in 1 2 3; do
		work_start "$@"
		memwhy_start pages -p "$pid"
		perf_start
		work_go
		perf_stop
		memwhy_stop
		work_end
		echo "perf: $(grep kmem: perf.csv | cut -d, -f1,3 | tr '\n' ' ')"
		few_lost
		! counts_equal || return 0
		rm -f in out perf.csv
	done
	return 1
}

@test "pages: touched pages, counts equal perf's" {
	equal_perf touch 20000
	[ "$(sum allocations count)" -ge 20000 ]
	[ "$(sum frees batched)" -ge 19000 ]
}

@test "pages: files made and removed, counts equal perf's" {
	equal_perf files 2000
}

@test "pages: network loopback, counts equal perf's" {
	equal_perf loopback 100
}

@test "pages: a fork storm is counted with its children, nothing is lost" {
	work_start forks 500
	memwhy_start pages -p "$pid" --follow
	perf_start
	work_go
	perf_stop
	memwhy_stop
	work_end
	few_lost
	echo "allocations $(sum allocations count) $(perf_count mm_page_alloc)"
	echo "frees $(sum frees count) $(perf_count mm_page_free)"
	# perf leaves a child before the child's end: what it does then is not in perf's count
	[ "$(sum allocations count)" -ge "$(perf_count mm_page_alloc)" ]
	[ "$(sum frees count)" -ge "$(perf_count mm_page_free)" ]
	[ "$(sum allocations count)" -le "$(($(perf_count mm_page_alloc) * 13 / 10 + 100))" ]
	[ "$(jq '[.rows[] | select(.table == "allocations") | .pid] | unique | length' "$json")" -ge 500 ]
}

# bats test_tags=host
@test "pages: what the tables have no room for is counted by name, nothing is lost" {
	work_start threads 12000
	memwhy_start pages -p "$pid" --by thread
	perf_start
	work_go
	perf_stop
	memwhy_stop
	work_end
	few_lost
	[ "$(jq '[.rows[] | select(.table == "allocations" and .pid == null and
		.comm == "pages_work") | .count] | add' "$json")" -ge 1000 ]
	[ "$(sum allocations count)" -ge 12000 ]
	[ "$(sum allocations count)" -le "$(($(perf_count mm_page_alloc) * 13 / 10))" ]
}

@test "pages: a storm on all CPUs, nothing is lost" {
	work_start storm 20
	memwhy_start pages
	work_go
	memwhy_stop
	work_end
	few_lost
	[ "$(sum allocations count)" -ge "$((20 * 4096 * $(nproc)))" ]
}

@test "pages: migratetypes and flags have the kernel's names" {
	work_start touch 1000
	memwhy_start pages -p "$pid" --by gfp,migratetype,order
	work_go
	memwhy_stop
	work_end
	jq -e '.methods.pages | index("kernel BTF")' "$json" || skip "no kernel BTF"
	[ "$(jq '[.rows[] | select(.table == "allocations" and .migratetype == "Movable" and
		.order == 0 and (.gfp | startswith("GFP_HIGHUSER_MOVABLE"))) | .count] | add' "$json")" -ge 1000 ]
}

@test "pages: kernel stacks name the code path" {
	work_start touch 1000
	memwhy_start pages -p "$pid" --by stack --stacks=kernel
	work_go
	memwhy_stop
	work_end
	[ "$(jq '[.rows[] | select(.table == "allocations" and (.stack // [] | tostring |
		test("handle_mm_fault"))) | .count] | add' "$json")" -ge 1000 ]
	# the batched frees stand with the frees that they are
	[ "$(jq '[.rows[] | select(.table == "frees" and .batched >= 900 and .count >= .batched)] |
		length' "$json")" -ge 1 ]
}

@test "pages: held pages are those that were touched and not freed" {
	work_start keep 5000
	memwhy_start pages held -p "$pid"
	work_go
	memwhy_stop
	work_end
	held=$(jq '[.rows[] | select(.migratetype == "Movable" and .order == 0) | .count] | add' "$json")
	[ "$held" -ge 5000 ]
	[ "$held" -le 5200 ]
	[ "$(jq .cost.bpf_bytes "$json")" -le $((64 << 20)) ]
	adds_up "$json"
}

@test "pages: freed pages have a lifetime and are not held" {
	work_start touch 5000
	memwhy_start pages held -p "$pid" --by process
	work_go
	memwhy_stop
	work_end
	jq -c ".rows[] | del(.ages, .hist)" "$json"
	# a few wait in a batch of a CPU for their place on an LRU list
	[ "$(($(sum held freed) + $(sum held count)))" -ge 5000 ]
	[ "$(sum held freed)" -ge 4900 ]
	[ "$(sum held count)" -le 200 ]
	adds_up "$json"
	jq -e '.rows[0].p50_ns > 0 and .rows[0].p50_ns <= .rows[0].p99_ns and
		.rows[0].p99_ns <= .rows[0].max_ns' "$json"
}

# bats test_tags=host
@test "pages: pages that travel from CPU to CPU" {
	[ "$(nproc)" -ge 2 ] || skip "needs two CPUs"
	# which free blocks a refill takes is the buddy lists' affair: not all were drained by CPU 1, and
	# now and then none
	for _ in 1 2 3 4 5; do
		work_start cross 200000
		memwhy_start pages
		work_go
		memwhy_stop
		work_end
		rm -f in
		there=$(jq '[.rows[] | select(.table == "imbalance" and .drained_cpu == 1 and
			.refilled_cpu == 0) | .pages] | add // 0' "$json")
		back=$(jq '[.rows[] | select(.table == "imbalance" and .drained_cpu == 0 and
			.refilled_cpu == 1) | .pages] | add // 0' "$json")
		echo "there $there back $back"
		[ "$there" -lt 500 ] || break
	done
	[ "$there" -ge 500 ]
	[ "$there" -gt "$back" ]
}

# A page of a pipe is charged to the group when it is allocated, and at the limit there is none.
@test "pages: failed allocations, each" {
	top=/sys/fs/cgroup/memory
	[ -e $top/memory.oom_control ] || skip "needs the memory controller of cgroup v1"
	group=$top/memwhy_pages.$$
	mkdir "$group"
	echo 16M >"$group/memory.limit_in_bytes"
	echo 1 >"$group/memory.oom_control"
	work_start pipes 6400 sh -c "echo \$\$ >$group/cgroup.procs && exec \"\$@\"" sh
	memwhy_start pages --each -p "$pid"
	work_go
	memwhy_stop
	work_end
	jq -c '.rows[] | [.comm, .order, .gfp]' "$json"
	jq -e 'any(.rows[]; .order == 0 and .comm == "pages_work" and (.gfp | test("ACCOUNT")))' "$json"
	jq -e '.events.pages == (.rows | length) and .lost.pages == 0' "$json"
}

# bats test_tags=host
@test "pages: a recording shows the same" {
	work_start touch 2000
	memwhy_start pages -p "$pid" --record log
	work_go
	memwhy_stop
	work_end
	"$MEMWHY" pages --input log -o json --out again
	diff <(jq -S .rows "$json") <(jq -S .rows again)
}
