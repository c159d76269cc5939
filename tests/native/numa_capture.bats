# What numa captures live, against the kernel's own counters: hint faults of automatic NUMA balancing,
# pages it moved, first touches, settings put back; and moving an object of a running program.
load common

setup() {
	needs_root
	[ -e /proc/sys/kernel/numa_balancing ] || skip "the kernel has no automatic NUMA balancing"
}

vm() { # COUNTER
	awk -v name="$1" '$1 == name { print $2 }' /proc/vmstat
}

# Starts a program of known use and leaves it waiting: $pid, $address, $bytes, its input on fd 7.
work_start() { # PATTERN MIB SECONDS [fix]
	rm -f "$BATS_TEST_TMPDIR/in"
	mkfifo "$BATS_TEST_TMPDIR/in"
	"$WORKLOADS/numa_work" "$@" <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out" 3>&- &
	exec 7>"$BATS_TEST_TMPDIR/in"
	wait_for 'grep -q ready "$BATS_TEST_TMPDIR/out"'
	read -r _ pid address bytes <"$BATS_TEST_TMPDIR/out"
}

work_go() {
	echo go >&7
	wait_for 'grep -q done "$BATS_TEST_TMPDIR/out"'
}

work_end() {
	exec 7>&-
	wait_for '! kill -0 "$pid" 2>/dev/null'
}

report() {
	jq "$@" "$json"
}

# Samples of a source.
samples() { # SOURCE
	report "[.rows[] | select(.table == \"sources\" and .source == \"$1\") | .samples] | add // 0"
}

# Hint faults come when the kernel has looked at the memory: once a second at most, on a busy machine
# later. So the work goes on until there were some and, with several nodes, pages were moved.
hints_wait() { # HINTS MOVED
	local hints=$1 moved=$2
	wait_for '[ "$(vm numa_hint_faults)" -gt "$((hints + 500))" ]'
	[ ! -d /sys/devices/system/node/node1 ] || wait_for '[ "$(vm numa_pages_migrated)" -gt "$((moved + 200))" ]'
}

@test "numa: hint faults, local ones and pages moved equal the kernel's counters" {
	local before within after
	work_start readers 16 300
	before=($(vm numa_hint_faults) $(vm numa_hint_faults_local) $(vm numa_pages_migrated))
	memwhy_start numa --source hint --balancing --with-self # the kernel counts memwhy's, too
	within=($(vm numa_hint_faults) $(vm numa_hint_faults_local) $(vm numa_pages_migrated))
	echo go >&7
	hints_wait "${within[0]}" "${within[2]}"
	kill "$pid"
	work_end
	last=($(vm numa_hint_faults) $(vm numa_hint_faults_local) $(vm numa_pages_migrated))
	memwhy_stop
	after=($(vm numa_hint_faults) $(vm numa_hint_faults_local) $(vm numa_pages_migrated))
	ours=($(samples "hint fault") $(report '[.rows[] | select(.table == "matrix") | .accesses * (1 - .remote_ratio)] | add // 0 | round')
		$(report '[.rows[] | select(.table == "moves" and .why == "NUMA balancing") | .pages] | add // 0'))
	lost=$(report '.lost.numa // 0')
	echo "ours ${ours[*]} lost $lost kernel ${before[*]} ${within[*]} ${last[*]} ${after[*]}"
	[ "${ours[0]}" -gt 500 ]
	for i in 0 1 2; do
		[ "$((ours[i] + lost))" -ge "$((last[i] - within[i]))" ]
		[ "${ours[i]}" -le "$((after[i] - before[i]))" ]
	done
	# Between which nodes: a page that is looked up with no exception has no address.
	known=$(report '[.rows[] | select(.table == "moves" and .why == "NUMA balancing" and .from_node != null
		and .to_node != null and .from_node != .to_node) | .pages] | add // 0')
	echo "$known moved from a node to another that are known"
	[ "$((known * 10))" -ge "$((ours[2] * 9))" ]
}

@test "numa: seen is delivered and lost, also with a tiny ring" {
	setting_set kernel.numa_balancing 0 # hint faults are minor faults too
	work_start local 64 1
	memwhy_start numa --source first-touch -p "$pid" --ring-size 4096
	kill -STOP "$memwhy" # it would keep up
	work_go
	kill -CONT "$memwhy"
	memwhy_stop
	work_end
	delivered=$(report '.events.numa') lost=$(report '.lost.numa')
	echo "delivered $delivered, lost $lost"
	[ "$delivered" -gt 0 ]
	[ "$lost" -gt 0 ]
	# 64 MiB are 16384 pages, and one fault in 64 of each CPU is a sample
	[ $((delivered + lost)) -ge 128 ]
	[ $((delivered + lost)) -le 400 ]
}

@test "numa: first touches are of the page, on the node it got" {
	setting_set kernel.numa_balancing 0 # hint faults are minor faults too
	work_start local 64 1
	memwhy_start numa --source first-touch -p "$pid"
	work_go
	memwhy_stop
	work_end
	# 64 MiB are 16384 pages, and one fault in 64 of each CPU is a sample
	n=$(samples "first touch")
	echo "$n samples, lost $(report '.lost.numa // 0')"
	[ "$n" -ge 128 ]
	[ "$n" -le 400 ]
	[ "$(report '[.rows[] | select(.table == "sources" and .source == "first touch") | .node_known_by] | unique | .[0]')" = '"seen at the access"' ]
}

# bats test_tags=host
@test "numa: balancing is put back, also when memwhy is killed" {
	setting_set kernel.numa_balancing 0
	memwhy_start numa --source hint --balancing
	[ "$(sysctl -n kernel.numa_balancing)" = 1 ]
	memwhy_stop
	[ "$(sysctl -n kernel.numa_balancing)" = 0 ]
	memwhy_start numa --source hint --balancing
	[ "$(sysctl -n kernel.numa_balancing)" = 1 ]
	kill -KILL "$memwhy"
	wait_for '[ "$(sysctl -n kernel.numa_balancing)" = 0 ]'
}

# bats test_tags=host
@test "numa: who may not watch the kernel is told what right that needs" {
	run -3 setpriv --bounding-set -sys_admin "$MEMWHY" numa --source hint --balancing --for 100ms
	[[ $output == *"that needs CONFIG_NUMA_BALANCING, CAP_SYS_ADMIN, two free debug registers, BTF"* ]]
}

balancing() {
	sysctl -n kernel.numa_balancing
}

# bats test_tags=host
@test "numa: of two that turn balancing on the last one turns it off" {
	setting_set kernel.numa_balancing 0
	cd "$BATS_TEST_TMPDIR"
	memwhy_start numa --source hint --balancing
	"$MEMWHY" numa --source hint --balancing --for 200ms -o json --out second.json
	[ "$(balancing)" = 1 ]
	jq -e '.notes | tostring | contains("it was 0 and will be restored")' second.json
	# The first ends before the second.
	"$MEMWHY" numa --source hint --balancing --for 60s >/dev/null 2>second.err 3>&- &
	second=$!
	wait_for '[ "$(ls /run/memwhy/settings-* | wc -l)" = 2 ]'
	memwhy_stop
	[ "$(balancing)" = 1 ]
	kill -INT "$second"
	wait "$second" || [ $? -eq 130 ]
	[ "$(balancing)" = 0 ]
	[ "$(find /run/memwhy -name "settings-*" | wc -l)" = 0 ]
}

# bats test_tags=host
@test "numa: what a memwhy that was killed with its keeper left is put right by the next" {
	setting_set kernel.numa_balancing 0
	cd "$BATS_TEST_TMPDIR"
	memwhy_start numa --source hint --balancing
	keeper=$(pgrep -P "$memwhy" -x memwhy-settings)
	kill -KILL "$keeper" "$memwhy"
	status=0
	wait "$memwhy" || status=$?
	[ "$status" -eq 137 ]
	[ "$(balancing)" = 1 ]
	"$MEMWHY" faults --for 50ms -o json --out next.json
	[ "$(balancing)" = 0 ]
	jq -e '.notes | tostring | contains("numa_balancing was left at 1")' next.json
	[ "$(find /run/memwhy -name "settings-*" | wc -l)" = 0 ]
}

# bats test_tags=host
@test "numa: without balancing the hint source says what it needs" {
	setting_set kernel.numa_balancing 0
	run "$MEMWHY" numa --source hint --for 1s
	[ "$status" -eq 3 ]
	[[ $output == *"kernel.numa_balancing is 0; --balancing turns it on while memwhy runs"* ]]
}

# Takes all four debug registers of each CPU until `registers_free`. What the host has is asked of perf.
registers_take() {
	local at events=()
	command -v perf >/dev/null || skip "needs perf"
	for at in 0x1000 0x2000 0x3000 0x4000; do
		events+=(-e "mem:$at:w")
	done
	"$with_kernelfs" perf stat -a -x, -o took "${events[@]}" true 2>perf.err || skip "no debug registers: perf stat -e mem:0x1000:w: $(tail -n1 perf.err)"
	! grep -E '<not (supported|counted)>' took || skip "no four free debug registers: $(grep -m1 '<not' took)"
	mkfifo hold
	"$with_kernelfs" perf stat -a -o /dev/null "${events[@]}" sh -c 'echo taken >taken; read -r _ <hold' 2>/dev/null 3>&- &
	registers=$!
	wait_for '[ -s taken ]'
}

registers_free() {
	echo >hold
	wait "$registers"
}

@test "numa: where others have the debug registers the next source is taken, and it is said why" {
	why="it takes two debug registers of each CPU, and they are in use"
	cd "$BATS_TEST_TMPDIR"
	registers_take
	"$MEMWHY" numa --balancing --for 1s -o json --out report.json
	run "$MEMWHY" numa --source hint --balancing --for 1s
	registers_free
	json=report.json
	[ "$(report '.not_checked | tostring | contains("'"$why"'")')" = true ]
	[ "$(report -r '.methods.numa | contains("minor faults")')" = true ]
	[ "$status" -eq 3 ]
	[[ $output == *"$why"* ]]
	[[ $output == *"--source first-touch needs no PMU and no balancing"* ]]
}

# bats test_tags=host
@test "numa: a source that is none is refused" {
	run "$MEMWHY" numa --source hnt --for 1s
	[ "$status" -eq 2 ]
	[[ $output == *"--source: 'hnt' is none"* ]]
}

# How many pages of the work's memory are on a node, as the kernel says.
pages_on() { # NODE
	awk -v at="${address#0x}" -v node="N$1=" '$1 == at { for (i = 2; i <= NF; i++)
		if (index($i, node) == 1) print substr($i, length(node) + 1) }' "/proc/$pid/numa_maps"
}

# bats test_tags=host
@test "numa try: asks, moves nothing without a yes, and refuses what it does not know" {
	work_start local 1 1
	node=0
	[ ! -d /sys/devices/system/node/node1 ] || node=1
	run "$MEMWHY" numa try -p "$pid" "$address" --to "$node" --source first-touch </dev/null
	[ "$status" -eq 2 ]
	if [ "$node" = 1 ]; then
		[[ $output == *"asks before it moves pages"* ]]
	else
		[[ $output == *"pages are on node 0 already"* ]]
	fi
	run "$MEMWHY" numa try -p "$pid" "$address" --to 63 --yes
	[ "$status" -eq 2 ]
	[[ $output == *"there is no node 63"* ]]
	run "$MEMWHY" numa try -p "$pid" 0x10 --to 0 --yes
	[ "$status" -eq 2 ]
	[[ $output == *"nothing is mapped there"* ]]
	run "$MEMWHY" numa try -p "$pid" --undo --yes
	[ "$status" -ne 0 ]
	[[ $output == *"nothing of process $pid was moved"* ]]
	work_go
	work_end
}

@test "numa try: moves an object's pages and puts them back" {
	two_nodes
	work_start turns 4 60
	json=$BATS_TEST_TMPDIR/report.json
	[ "$(pages_on 0)" -ge 1024 ]
	run "$MEMWHY" numa try -p "$pid" "$address" --to 0 --yes --for 1s --source first-touch
	[ "$status" -eq 2 ]
	[[ $output == *"all 1024 pages are on node 0 already"* ]]
	"$MEMWHY" numa try -p "$pid" "$address" --to 1 --yes --for 1s --source first-touch -o json >"$json"
	[ "$(report -r '.rows[] | select(.when == "before") | .pages_by_node')" = "0: 1024" ]
	[ "$(report -r '.rows[] | select(.when == "after") | .pages_by_node')" = "1: 1024" ]
	[ "$(pages_on 1)" -eq 1024 ]
	run "$MEMWHY" numa try -p "$pid" "$address" --interleave --yes --for 1s --source first-touch
	[ "$status" -ne 0 ]
	[[ $output == *"were already moved"* ]]
	"$MEMWHY" numa try -p "$pid" --undo --yes
	[ "$(pages_on 0)" -ge 1024 ]
	"$MEMWHY" numa try -p "$pid" "$address" --interleave --yes --for 1s --source first-touch
	nodes=$(ls -d /sys/devices/system/node/node[0-9]* | wc -l)
	[ "$(pages_on 1)" -eq $((1024 / nodes)) ]
	"$MEMWHY" numa try -p "$pid" --undo --yes
	[ "$(pages_on 0)" -ge 1024 ]
	work_end
}

@test "numa: threads that go to another node are told, and where memory is" {
	two_nodes
	work_start turns 4 4
	memwhy_start numa --source first-touch -p "$pid"
	work_go
	memwhy_stop
	work_end
	[ "$(report '[.rows[] | select(.table == "moves" and .what == "threads") | .moves] | add // 0')" -ge 1 ]
	[ "$(report '[.rows[] | select(.table == "nodes") | .held_bytes] | add')" -ge $((4 << 20)) ]
}

# Two arrays: one the main thread keeps to itself, one that a thread on another node reads and frees.
@test "numa: a heap block used from afar is named by who allocated it, and so is its far free" {
	two_nodes
	cd "$BATS_TEST_TMPDIR"
	cat >two.c <<-'C'
	#define _GNU_SOURCE
	#include <pthread.h>
	#include <sched.h>
	#include <stdlib.h>
	#include <string.h>
	#include <time.h>
	#define BYTES (8 << 20)
	static time_t until;
	__attribute__((noinline)) static char *site_kept(void) { char *p = malloc(BYTES); __asm__("" : "+r"(p)); return p; }
	__attribute__((noinline)) static char *site_given(void) { char *p = malloc(BYTES); __asm__("" : "+r"(p)); return p; }
	static void on_cpu(int cpu) { cpu_set_t s; CPU_ZERO(&s); CPU_SET(cpu, &s); sched_setaffinity(0, sizeof(s), &s); }
	static long use(volatile char *p) { long n = 0; while (time(NULL) < until) for (int i = 0; i < BYTES; i += 4096) n += p[i]; return n; }
	static void *far(void *p) { on_cpu(1); use(p); free(p); return NULL; }
	int main(int argc, char **argv)
	{
		pthread_t t;
		on_cpu(0);
		char *kept = site_kept(), *given = site_given();
		memset(kept, 1, BYTES);
		memset(given, 1, BYTES);
		until = time(NULL) + atoi(argv[argc - 1]);
		pthread_create(&t, NULL, far, given);
		use(kept);
		pthread_join(t, NULL);
		return 0;
	}
	C
	gcc -O1 -g -pthread -o two two.c
	"$MEMWHY" numa --source hint --balancing --scan 100ms -o json --by site --out two.json -- ./two "${MEMWHY_VM:+3}5"
	jq -r '.rows[] | select(.table == "sites") | [.name, .kind, .samples, .remote_ratio, .from_nodes, .maker_ratio, .frees, .remote_frees] | @tsv' two.json
	site() { # NAME FIELD
		jq -r ".rows[] | select(.table == \"sites\" and .kind == \"heap block\" and (.name | startswith(\"$1\"))) | .$2" two.json
	}
	[ "$(site site_kept samples)" -gt 100 ]
	[ "$(site site_given samples)" -gt 100 ]
	[ "$(site site_given from_nodes)" = 1 ]
	[ "$(site site_kept from_nodes)" = 0 ]
	[ "$(site site_given remote_frees)" = 1 ]
	[ "$(site site_given maker_ratio)" = 0 ]
	[ "$(site site_kept maker_ratio)" = 1 ]
	# Where a node has little room left some pages of it lie on another, until they are moved.
	awk -v ratio="$(site site_kept remote_ratio)" 'BEGIN { exit ratio >= 0.01 }'
	# The first of its accesses found the pages where they were filled.
	jq -e '[.rows[] | select(.table == "sites" and (.name | startswith("site_given")))][0].remote_ratio > 0' two.json
}
