#!/usr/bin/env bats
# What check is made of: every cheap probe takes part, and what one of them names is right.
load common

setup() {
	[ "$(id -u)" -eq 0 ] || skip "needs root to load BPF programs"
	cd "$BATS_TEST_TMPDIR"
}

@test "check: no probe is left out in silence" {
	"$MEMWHY" check --for 300ms -o json >report
	for probe in faults stalls oom slab pages waits mmcalls lookups cache system processes cgroups holders maps; do
		jq -e --arg p "$probe" '(.methods | has($p)) or any(.not_checked[]?; startswith($p))' report >/dev/null ||
			{ echo "$probe is missing"; return 1; }
	done
}

# Adds 20000 names a second at most, that are not there. A tmpfs, as /tmp is in guests, keeps none of them.
misses() {
	missing=$BATS_TEST_TMPDIR
	[ "$(stat -f -c %T .)" != tmpfs ] || missing=$(mktemp -d /var/tmp/memwhy-test.XXXXXX)
	python3 - "$missing" 3>&- <<'P' &
import os, sys, time
n = 0
while True:
    for i in range(200):
        n += 1
        os.access(f"{sys.argv[1]}/no-such-name-{n}", os.F_OK)
    time.sleep(0.01)
P
	seeker=$!
}


teardown() {
	[ -z "${seeker:-}" ] || { pkill -KILL -P "$seeker"; kill "$seeker"; } 2>/dev/null || true
	[ "${missing:-$BATS_TEST_TMPDIR}" = "$BATS_TEST_TMPDIR" ] || rmdir "$missing"
	[ -z "${instance:-}" ] || "$with_kernelfs" rmdir "/sys/kernel/tracing/instances/$instance" 2>/dev/null || true
	[ -z "${bpffs:-}" ] || ! mountpoint -q "$bpffs" || umount "$bpffs"
	common_teardown
}

@test "check: who looks up names that do not exist is named, and its advice frees them" {
	read -r _ _ _ _ before _ </proc/sys/fs/dentry-state
	seeker=
	misses
	for ((i = 0; i < ${MEMWHY_VM:+1}200; i++)); do
		read -r _ _ _ _ now _ </proc/sys/fs/dentry-state
		[ "$now" -lt $((before + 60000)) ] || break
		sleep 0.1
	done
	[ "$now" -ge $((before + 60000)) ] || skip "the kernel does not count negative dentries"
	"$MEMWHY" check --for 5s -o json >report
	jq -c '[.findings[] | select(.rule == "negative-dentries")]' report
	jq -e --arg pid "(pid $seeker)" '[.findings[] | select(.rule == "negative-dentries") | .evidence[]] |
		any(.[]; contains($pid)) and any(.[]; contains("looked up in"))' report >/dev/null
	kill "$seeker"
	read -r _ _ _ _ now _ </proc/sys/fs/dentry-state
	command=$(jq -r '.findings[] | select(.rule == "negative-dentries") | .try[] | select(startswith("`echo")) | gsub("`"; "")' report)
	[ "$command" = "echo 2 > /proc/sys/vm/drop_caches" ]
	sh -c "$command"
	read -r _ _ _ _ after _ </proc/sys/fs/dentry-state
	[ "$after" -lt $((now / 2)) ]
}

# Stacks are addresses: each process brings new ones, and the map of the kernel's own ids forgets none.
@test "check: who comes after thousands of processes has a code path, too" {
	"$MEMWHY" check --for 1h --record log.mw -o json -- sh -c 'i=0
		while [ $i -lt 3000 ]; do sh -c :; i=$((i + 1)); done
		for i in 1 2 3 4; do echo go | "$0" 200; done' "$WORKLOADS/touch" >report 2>/dev/null
	"$MEMWHY" faults --input log.mw --stacks -o json --limit 0 >faults
	jq -c '[.rows[] | select(.comm == "touch") | {count, stack}]' faults
	# 204,800 faults, of which each 61st of a CPU has its stack
	jq -e '[.rows[] | select(any(.stack[]?; test("^touch_(pages|anonymous)"))) | .count] | add > 3000' faults
	jq -e '[.notes[]? | select(test("without their stack"))] == []' report
}

# Frame pointers find the innermost function and no further.
no_frames_named() { # HOW RULE CALLER
	"$WORKLOADS/no_frames" "$1" 300 3>&- &
	seeker=$!
	sleep 2 # what begins within the look is a start
	"$MEMWHY" check --for $((${MEMWHY_VM:-0} ? 45 : 8))s --record log.mw -o json >report
	kill "$seeker"
	jq -c --arg pid "(pid $seeker)" '.findings[] | select(.title | contains($pid)) | {rule, title, evidence}' report
	"$MEMWHY" check --input log.mw -o json >again
	for f in report again; do
		jq -e --arg pid "(pid $seeker)" --arg rule "$2" --arg caller "from $3+" '[.findings[] |
			select(.rule == $rule and (.title | contains($pid))) | .evidence[]] | any(contains($caller))' $f >/dev/null
	done
}

@test "check: code without frame pointers that takes memory is named with its callers" {
	no_frames_named again touch-again request_compute
	# On a busy host a guest's samples are too far apart to call it growth within a minute.
	[ -n "${MEMWHY_VM:-}" ] || no_frames_named grow growth request_answer
}

# Functions of libc that make a system call: most have no frame, and their caller is on top of the
# stack; open() has one.
@test "check: … and where it calls libc to map and to open what it may not" {
	no_frames_named map limit-met request_map
	no_frames_named open limit-met request_open
}

@test "check: … also where only root may open perf events" {
	setting_set kernel.perf_event_paranoid 3
	no_frames_named again touch-again request_compute
	[ -z "$(pgrep -x memwhy-opener)" ]
}

# The estimate is of the time in which programs counted, not of that after the last was attached.
# Two looks one after the other: an emulated guest beside other work does not keep its speed.
# bats test_tags=host
@test "check: the time of its BPF programs is near what the kernel measures" {
	python3 -c 'import mmap
while True:
    with mmap.mmap(-1, 64 << 20) as m:
        m.madvise(15)
        for i in range(0, 64 << 20, 4096): m[i] = 1' 3>&- &
	seeker=$!
	setting_set kernel.bpf_stats_enabled 0
	"$MEMWHY" check --for 5s -o json >estimated
	setting_set kernel.bpf_stats_enabled 1
	"$MEMWHY" check --for 5s -o json >measured
	jq -se '(.[] | {cost, events}), (map(.cost.bpf_seconds / .events.faults) | .[0] / .[1] > 0.6 and .[0] / .[1] < 1.7)' \
		estimated measured
}

# maps_make [PIN]: two BPF maps, which together are 2 % of memory; the first is pinned.
maps_make() {
	python3 - "$@" 3>&- <<-'P'
		import ctypes, os, struct, sys, time
		libc = ctypes.CDLL(None)
		def bpf(command, attributes):
		    room = ctypes.create_string_buffer(attributes, 128)
		    return libc.syscall(321, command, room, 128)
		bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 100
		maps = [bpf(0, struct.pack("5I", 2, 4, 4096, max(bytes, 64 << 20) // 4096, 0)) for i in range(2)]
		assert min(maps) >= 0
		path = ctypes.create_string_buffer(sys.argv[1].encode()) if sys.argv[1:] else None
		assert not path or bpf(6, struct.pack("QI", ctypes.addressof(path), maps[0])) == 0
		print("made", flush=True)
		if not path: time.sleep(60)
	P
}

@test "check: BPF maps of nobody are told, those of a process that ends meanwhile are not" {
	"$MEMWHY" check --for 300ms -o json | jq '[.findings[] | select(.rule == "bpf-maps") | .title]' >others
	maps_make >made &
	seeker=$!
	wait_for '[ -s made ]'
	memwhy_start check --for 3s
	pkill -KILL -P "$seeker"
	wait "$memwhy"
	jq -e --slurpfile others others '[.findings[] | select(.rule == "bpf-maps") | .title] - $others[0] == []' "$json" ||
		{ jq -c .findings "$json"; false; }

	bpffs=$BATS_TEST_TMPDIR/bpf
	mkdir "$bpffs"
	mount -t bpf bpf "$bpffs"
	maps_make "$bpffs/flows"
	# A slow machine may leave processes out, and says so.
	for _ in 1 2 3; do
		"$MEMWHY" check --for 2s -o json >report
		grep -q 'would have taken too long' report || break
	done
	umount "$bpffs"
	if [ -n "${MEMWHY_VM-}" ] && grep -q 'would have taken too long' report; then
		skip "all looks at processes are cut short here: which maps none has is not known"
	fi
	jq -c '[.findings[] | select(.rule == "bpf-maps")]' report
	jq -e --arg pin "$bpffs/flows" 'any(.findings[]; .rule == "bpf-maps" and ([.title, .evidence[]] | any(contains($pin))))' report
}

@test "check: a buffer of the kernel's tracing is told, and its advice gives the memory back" {
	# The buffer takes 2 % of memory, and 64 MiB at least, CPUs together.
	kb=$(awk -v cpus="$(nproc --all)" '/^MemTotal:/ { all = $2 / 50; printf "%d", (all < 65536 ? 65536 : all) / cpus }' /proc/meminfo)
	instance=memwhy-test-$$
	"$with_kernelfs" sh -c 'cd /sys/kernel/tracing/instances && mkdir "$1" && echo "$2" >"$1/buffer_size_kb"' sh "$instance" "$kb" ||
		skip "no instance of tracefs can be made"
	"$MEMWHY" check --for 300ms -o json >report
	jq -c '[.findings[] | select(.rule | IN("trace-buffers", "kernel-held"))]' report
	jq --arg name "instance $instance holds" '[.findings[] | select(.rule == "trace-buffers" and (.title | contains($name)))]' report >own
	jq -e 'length == 1' own
	before=$("$with_kernelfs" cat "/sys/kernel/tracing/instances/$instance/buffer_total_size_kb")
	command=$(jq -r '.[0].try[] | select(startswith("`echo")) | gsub("`"; "")' own)
	"$with_kernelfs" sh -c "$command"
	after=$("$with_kernelfs" cat "/sys/kernel/tracing/instances/$instance/buffer_total_size_kb")
	[ "$after" -lt $((before / 2)) ]
	"$MEMWHY" check --for 300ms -o json >report
	jq -e --arg name "instance $instance holds" '[.findings[] | select(.title | contains($name))] == []' report
}
