#!/usr/bin/env bats
# Any event, against what the workload did and what perf counts, on this kernel.
load common

setup() {
	needs_root
	grep -q tracefs /proc/filesystems || skip "the kernel has no tracefs"
}

needs_perf() { # EVENT
	command -v perf >/dev/null || skip "perf is not installed"
	"$with_kernelfs" perf stat -x, -e "$1" true >/dev/null 2>&1 || skip "perf does not count $1 here"
}

# of_command FILE ARGS... -- CMD: its JSON.
of_command() {
	"$MEMWHY" count -o json --out "$@"
}

total() { # FIELD [FILE]
	jq "[.rows[].$1] | add // 0" "${2:-$json}"
}

@test "count: system calls of a command: filter, field, sum and histogram are what it did" {
	o=$BATS_TEST_TMPDIR/o
	of_command "$o" syscalls:sys_enter_write --by comm,fd --filter 'comm == dd && fd == 1' \
		--sum count --hist count -- dd if=/dev/zero of=/dev/null bs=700 count=3000 status=none
	cat "$o"
	[ "$(jq -c '.rows[] | [.comm, .fd, .count, .sum, .min, .max, .avg]' "$o")" = \
		'["dd",1,3000,2100000,700,700,700]' ]
	[ "$(jq -c '.events.count, .lost.count' "$o" | xargs)" = "3000 0" ]
	jq -e '.rows[0].hist | tostring | contains("3000")' "$o"
}

# Does it take signals itself by now, as a session does before it attaches?
memwhy_takes_signals() {
	[ $((16#$(awk '$1 == "SigBlk:" { print $2 }' "/proc/$memwhy/status") & 2)) -ne 0 ]
}

# bats test_tags=host
@test "count: Ctrl-C while it attaches hundreds of events ends it between two of them" {
	cd "$BATS_TEST_TMPDIR"
	"$MEMWHY" count '[a-r]*:*' --record run.mw >out 2>err 3>&- &
	memwhy=$!
	wait_for memwhy_takes_signals
	kill -INT "$memwhy"
	status=0
	wait "$memwhy" || status=$?
	[ "$status" -eq 130 ]
	[ "$(<err)" = "memwhy: interrupted before anything was counted" ]
	[ ! -s out ]
	[ ! -e run.mw ]
}

# bats test_tags=host
@test "count: a filter lets through what it says, and nothing else" {
	o=$BATS_TEST_TMPDIR/o
	# 40 writes of 10 bytes, 70 of 20, 90 of 30
	work='for i in 40:10 70:20 90:30; do dd if=/dev/zero of=/dev/null count=${i%:*} bs=${i#*:} status=none; done'
	while read -r want expr; do
		of_command "$o" syscalls:sys_enter_write --filter "comm == dd && ($expr)" -- sh -c "$work"
		echo "$expr: $(total count "$o"), not $want"
		[ "$(total count "$o")" -eq "$want" ]
	done <<-LIST
	200 count > 0
	90 count > 20
	160 count >= 20
	40 count < 20
	110 count <= 20
	70 count == 20
	130 count != 20
	160 count & 4
	130 count == 10 || count == 0x1e
	70 !(count == 10 || count == 30)
	110 count == 10 || count > 10 && count < 30
	0 count > 4G
	200 comm ~ 'd*' && comm ~ "dd*"
	0 comm ~ 'ddd*'
	0 comm != dd
	200 args.count != -1
	LIST
}

@test "count: page faults are getrusage's" {
	touch_start 16
	memwhy_start count minor-faults major-faults -p "$pid"
	touch_go
	memwhy_stop
	touch_end
	echo "getrusage: $minor $major; memwhy: $(total count)"
	[ "$(jq '[.rows[] | select(.event == "minor-faults") | .count] | add' "$json")" -eq "$minor" ]
	[ "$(total count)" -eq $((minor + major)) ]
}

# With perf beside it on the same process; $event $perf_count.
beside_perf() { # EVENT ARGS...
	event=$1
	touch_start 64
	"$with_kernelfs" perf stat -x, -e "$event" -p "$pid" 2>"$BATS_TEST_TMPDIR/perf" 3>&- 7>&- &
	perf=$!
	wait_for '[ -e /proc/$perf ] && ls -l /proc/$perf/fd | grep -q perf_event'
	memwhy_start count "$@" -p "$pid"
	touch_go
	memwhy_stop
	kill -INT "$perf"
	wait "$perf" || true
	touch_end
	perf_count=$(awk -F, '{ print $1 }' "$BATS_TEST_TMPDIR/perf")
	seen=$(jq '.events.count + .lost.count' "$json")
	echo "perf: $perf_count; memwhy: seen $seen, delivered $(jq .events.count "$json"), rows $(total count)"
	[ "$perf_count" -ge 16000 ]
	[ "$(total count)" -eq "$(jq .events.count "$json")" ]
}

@test "count: a tracepoint without its fields: perf's count" {
	needs_perf kmem:mm_page_alloc
	beside_perf kmem:mm_page_alloc
	[ "$seen" -eq "$perf_count" ]
	[ "$(jq .lost.count "$json")" -eq 0 ]
}

@test "count: a tracepoint by its fields: perf's count" {
	needs_perf kmem:mm_page_alloc
	beside_perf kmem:mm_page_alloc --by order,migratetype
	[ "$seen" -eq "$perf_count" ]
	[ "$(jq .lost.count "$json")" -eq 0 ]
}

# bats test_tags=host
@test "count: more keys than there is room for: what is left out is counted as lost" {
	needs_perf kmem:mm_page_alloc
	beside_perf kmem:mm_page_alloc --by pfn
	[ "$seen" -eq "$perf_count" ]
	[ "$(jq .lost.count "$json")" -gt 0 ]
	[ "$(jq '.rows | length' "$json")" -ge 512 ]
}

@test "count: a function of a program, its return and its code path" {
	[ -e /sys/bus/event_source/devices/uprobe ] || skip "the kernel has no uprobes"
	o=$BATS_TEST_TMPDIR/o
	of_command "$o" "u:$WORKLOADS/touch:touch_pages" "ur:$WORKLOADS/touch:touch_pages" \
		--by process,stack -- sh -c "for i in 1 2 3; do echo | $WORKLOADS/touch 1; done"
	jq -c '.rows[]' "$o"
	[ "$(total count "$o")" -eq 6 ]
	[ "$(jq '[.rows[] | select(.event | startswith("u:")) | .pid] | length' "$o")" -eq 3 ]
	jq -e '.rows[] | select(.event | startswith("u:")) | .stack[0] | startswith("touch_pages (")' "$o"
}

@test "count: a function of the kernel, or why it cannot be counted" {
	o=$BATS_TEST_TMPDIR/o
	run --separate-stderr of_command "$o" k:vfs_write syscalls:sys_enter_write --by comm \
		--filter 'comm == dd' -- dd if=/dev/zero of=/dev/null bs=1 count=500 status=none
	if [ "$status" -eq 3 ]; then
		[[ $stderr == *"k:vfs_write cannot be counted here: kprobe: "*"; fentry: "* ]]
		skip "$stderr"
	fi
	[ "$status" -eq 0 ]
	[ "$(jq -c '[.rows[] | .count] | unique | length' "$o")" -eq 1 ]
}

@test "count: without kprobes functions of the kernel are counted by fentry" {
	mkdir "$BATS_TEST_TMPDIR/none"
	run --separate-stderr unshare --mount sh -c 'mount --bind "$0" /sys/bus/event_source/devices/kprobe 2>/dev/null; exec "$@"' \
		"$BATS_TEST_TMPDIR/none" "$MEMWHY" count k:vfs_read --by comm -o json --out "$BATS_TEST_TMPDIR/o" -- \
		dd if=/dev/zero of=/dev/null bs=1 count=50 status=none
	[ "$status" -ne 3 ] || skip "$stderr"
	[ "$status" -eq 0 ]
	jq -e '.methods.count | test("fentry")' "$BATS_TEST_TMPDIR/o"
	calls=$(jq '[.rows[] | select(.comm == "dd") | .count] | add' "$BATS_TEST_TMPDIR/o")
	[ "$calls" -ge 50 ]
	[ "$calls" -le 59 ]
}

@test "count: names of flags are the kernel's" {
	o=$BATS_TEST_TMPDIR/o
	of_command "$o" kmem:mm_page_alloc --by gfp_flags -- sh -c "echo | $WORKLOADS/touch 4"
	jq -c '.rows[]' "$o"
	[ "$(jq '[.rows[] | select(.gfp_flags | test("GFP_HIGHUSER_MOVABLE")) | .count] | add' "$o")" -ge 1000 ]
}

# bats test_tags=host
@test "count: perf counts on while memwhy does" {
	needs_perf syscalls:sys_enter_write
	memwhy_start count syscalls:sys_enter_write -c nosuchname
	"$with_kernelfs" perf stat -x, -e syscalls:sys_enter_write -o "$BATS_TEST_TMPDIR/perf" \
		dd if=/dev/zero of=/dev/null bs=1 count=2000 status=none
	memwhy_stop
	cat "$BATS_TEST_TMPDIR/perf"
	[ "$(awk -F, '/sys_enter_write/ { print $1 }' "$BATS_TEST_TMPDIR/perf")" -ge 2000 ]
	[ "$(total count)" -eq 0 ]
}

# calls_beside_perf WHAT N: maps_calls, each event's count that of perf. Many of these events are
# counted by one program, which goes by the number of the call.
calls_beside_perf() {
	needs_perf syscalls:sys_enter_mmap
	cd "$BATS_TEST_TMPDIR"
	mkfifo in
	"$WORKLOADS/maps_calls" "$@" <in >out 3>&- &
	pid=$!
	exec 7>in
	wait_for 'grep -q ready out'
	memwhy_start count 'syscalls:sys_*_m*' 'syscalls:sys_*_shm*' 'syscalls:sys_*_brk' \
		'syscalls:sys_*_newfstat' -p "$pid"
	events=
	for e in mmap munmap mremap brk mprotect madvise mlock munlock memfd_create shmget shmat newfstat; do
		events=$events,syscalls:sys_enter_$e,syscalls:sys_exit_$e
	done
	"$with_kernelfs" perf stat -x, -o perf.csv -e "${events#,}" -p "$pid" 3>&- 7>&- &
	perf=$!
	wait_for '[ "$(ls -l /proc/$perf/fd | grep -c perf_event)" -ge 24 ] || ! kill -0 $perf'
	sleep 0.5
	echo go >&7
	wait_for 'grep -q done out'
	kill -INT $perf
	wait $perf || true
	memwhy_stop
	exec 7>&-
	grep -o 'tracepoints raw_syscalls[^"]*' "$json"
	[ "$(jq .lost.count "$json")" -eq 0 ]
	awk -F, '$3 ~ /^syscalls:/ { print $3, $1 }' perf.csv | sort >kernel
	while read -r name _; do
		echo "$name $(jq --arg e "$name" '[.rows[] | select(.event == $e) | .count] | add // 0' "$json")"
	done <kernel >ours
	cat kernel
	diff kernel ours
}

@test "count: many events of system calls: each as perf counts it" {
	calls_beside_perf kinds
	[ "$(awk '/sys_enter_mmap/ { print $2 }' kernel)" -ge 1 ]
}

@test "count: many events of system calls: those of 32-bit code are not among them" {
	calls_beside_perf compat 500
}

@test "count: the fields of many events of system calls" {
	o=$BATS_TEST_TMPDIR/o
	of_command "$o" 'syscalls:sys_*_read*' 'syscalls:sys_*_write*' --by __syscall_nr \
		--filter 'comm == dd' -- dd if=/dev/zero of=/dev/null bs=1 count=300 status=none
	jq -c '.rows[]' "$o"
	jq -e '.methods.count | test("raw_syscalls")' "$o"
	[ "$(jq '.rows[] | select(.event == "syscalls:sys_enter_write") | [.__syscall_nr, .count] == ["1", 300]
		or [.__syscall_nr, .count] == [1, 300]' "$o")" = true ]
	of_command "$o" 'syscalls:sys_exit_*' --sum ret --filter 'comm == dd && ret > 0' -- \
		dd if=/dev/zero of=/dev/null bs=64 count=300 status=none
	[ "$(jq '.rows[] | select(.event == "syscalls:sys_exit_write") | .sum' "$o")" -eq $((64 * 300)) ]
}

# bats test_tags=host
@test "count: a recording is asked again, by less" {
	r=$BATS_TEST_TMPDIR/r.mw o=$BATS_TEST_TMPDIR/o
	"$MEMWHY" count 'syscalls:sys_enter_[rw]*' --by comm,__syscall_nr --record "$r" -o json --out "$o" -- \
		dd if=/dev/zero of=/dev/null bs=1 count=300 status=none
	[ "$("$MEMWHY" count --input "$r" --by comm,__syscall_nr -o json | jq -S .rows)" = "$(jq -S .rows "$o")" ]
	run "$MEMWHY" count --input "$r" syscalls:sys_enter_write -o csv --fields event,count
	echo "$output"
	[ "${lines[1]}" = "syscalls:sys_enter_write,300" ]
	run "$MEMWHY" count --input "$r" --by fd
	[[ $output == *"fd was not recorded: that takes --by fd when recording"* ]]
}

# bats test_tags=host
@test "count: no such event, field or filter: exit 2 and the nearest" {
	run --separate-stderr "$MEMWHY" count kmem:kmaloc
	[ "$status" -eq 2 ]
	[[ $stderr == *"did you mean 'kmem:kmalloc'?"* ]]
	run --separate-stderr "$MEMWHY" count kmm:kmalloc
	[ "$status" -eq 2 ]
	[[ $stderr == *"did you mean 'kmem:kmalloc'?"* ]]
	run --separate-stderr "$MEMWHY" count kmm:no_event
	[ "$status" -eq 2 ]
	[[ $stderr == *"the nearest category is 'kmem'; memwhy count --list 'kmem:*' lists its events"* ]]
	run --separate-stderr "$MEMWHY" count kmem:kmalloc --by call_sit
	[ "$status" -eq 2 ]
	[[ $stderr == *"did you mean 'call_site'?"*"bytes_req"* ]]
	run --separate-stderr "$MEMWHY" count kmem:kmalloc --filter 'comm == x && bytes_re > 1'
	[ "$status" -eq 2 ]
	[[ $stderr == *"--filter: at 14: kmem:kmalloc has no field 'bytes_re': did you mean 'bytes_req'?"* ]]
	run --separate-stderr "$MEMWHY" count kmem:kmalloc --sum comm
	[ "$status" -eq 2 ]
}
