#!/usr/bin/env bats
# Calls that change address spaces against what the caller counted, strace and VmSize, on this
# kernel.
# bats file_tags=beside
load common

setup() {
	needs_root
	out=$BATS_TEST_TMPDIR/out
}

# Starts maps_calls and leaves it waiting: $pid, its input on fd 7, its output in $out.
calls_start() {
	rm -f "$BATS_TEST_TMPDIR/in"
	mkfifo "$BATS_TEST_TMPDIR/in"
	"$WORKLOADS/maps_calls" "$@" <"$BATS_TEST_TMPDIR/in" >"$out" 3>&- &
	pid=$!
	exec 7>"$BATS_TEST_TMPDIR/in"
	wait_for 'grep -q ready "$out"'
}

calls_go() {
	echo go >&7
	wait_for 'grep -q ^done "$out"'
}

calls_end() {
	exec 7>&-
	wait "$pid"
}

# The whole of it: `calls_run WHAT N [options of memwhy]`; what memwhy says is in $json.
calls_run() {
	calls_start "$1" "$2"
	shift 2
	memwhy_start maps -p "$pid" "$@"
	calls_go
	memwhy_stop
	calls_end
}

report() {
	jq -r "$1" "$json"
}

# What the caller counted, and what we did: "NAME CALLS FAILED".
theirs() {
	awk 'NF == 3 && $2 > 0 && $1 !~ /^Vm/' "$out" | sort
}

ours() {
	report '.rows[] | select(.table == "calls") | [.call, .count, .failed] | @tsv' |
		awk '{ n[$1] += $2; f[$1] += $3 } END { for (c in n) print c, n[c], f[c] }' | sort
}

# By how many KiB what the kernel says grew: `grown VmSize`.
grown() {
	awk -v name="$1" '$1 == name { print $3 - $2 }' "$out"
}

# Why the calls of that name failed, a line each.
why() {
	report ".rows[] | select(.table == \"failures\" and .call == \"$1\") | .why"
}

assert_same() {
	diff <(theirs) <(ours)
	[ "$(theirs | wc -l)" -gt 0 ]
}

@test "maps: each kind of call is counted, the count is the caller's, and growth is VmSize's" {
	calls_run kinds 1
	assert_same
	[ "$(report .events.maps)" -eq "$(theirs | awk '{ n += $2 } END { print n }')" ]
	[ "$(report '.rows[0].growth_bytes')" -eq $(($(grown VmSize) * 1024)) ]
	[ "$(report '.rows[0].not_by_calls_bytes')" -eq 0 ]
	[ "$(report '.rows[0].vmdata_change_bytes')" -eq $(($(grown VmData) * 1024)) ]
	[ "$(report '.rows[0].heap_bytes')" -eq $((1024 * 1024 + 4096)) ]
	report '.rows[] | select(.detail == "MADV_HUGEPAGE") | .count' | grep -qx 1
}

@test "maps: of threads that map at once no call is lost, and the sum is VmSize's growth" {
	mixed=0
	for _ in 1 2 3 4 5 6 7 8; do # a busy machine may run one after the other
		calls_run threads 2000
		assert_same
		[ "$(report .lost.maps)" -eq 0 ]
		[ "$(report '.rows[0].growth_bytes')" -eq $(($(grown VmSize) * 1024)) ]
		[ "$(report '.rows[0].not_by_calls_bytes')" -eq 0 ]
		mixed=$((mixed + $(report '.rows[0].mixed')))
		[ "$mixed" -eq 0 ] || break
	done
	[ "$mixed" -gt 0 ]
}

@test "maps: --each has the arguments and results that strace prints" {
	calls_run kinds 1 --each
	[ "$(report '.rows | length')" -eq "$(theirs | awk '{ n += $2 } END { print n }')" ]
	[ "$(report '[.rows[].growth_bytes] | add')" -eq $(($(grown VmSize) * 1024)) ]
	report '.rows[].line' >"$BATS_TEST_TMPDIR/lines"
	cat "$BATS_TEST_TMPDIR/lines"
	while read -r line; do
		grep -qE -- "$line" "$BATS_TEST_TMPDIR/lines" || { echo "missing: $line"; false; }
	done <<-'LINES'
	^mmap\(NULL, 2097153, PROT_READ\|PROT_WRITE, MAP_PRIVATE\|MAP_ANONYMOUS, -1, 0\) = 0x
	^mmap\(NULL, 9223372036854775808, .* = -1 ENOMEM \(Cannot allocate memory\)$
	^memfd_create\("known", MFD_CLOEXEC\) = [0-9]+$
	^memfd_create\(0x10, 0\) = -1 EFAULT \(Bad address\)$
	^mmap\(NULL, 4194304, .*, MAP_SHARED, [0-9]+<memfd:known>, 0\) = 0x
	^shm_open\("memwhy-known", O_RDWR\|O_CREAT\|O_CLOEXEC, 0600\) = [0-9]+$
	^shm_open\("memwhy/no/such", O_RDONLY\) = -1 ENOENT
	^mmap\(NULL, 2097152, .*, MAP_SHARED, [0-9]+<memwhy-known>, 0\) = 0x
	^shm_unlink\("memwhy-known"\) = 0$
	^mremap\(0x[0-9a-f]+, 524288, 8388608, MREMAP_MAYMOVE\) = 0x
	^madvise\(0x[0-9a-f]+, 8388608, MADV_HUGEPAGE\) = 0$
	^brk\(0x[0-9a-f]+\) = 0x[0-9a-f]+ \(refused\)$
	^shmget\(IPC_PRIVATE, 3145728, IPC_CREAT\|0600\) = [0-9]+$
	^shmat\(-7, NULL, 0\) = -1 EINVAL
	^shmctl\([0-9]+, IPC_RMID, NULL\) = 0$
	LINES
}

@test "maps: kinds of memory are told apart, and what is unmapped is known by what it was" {
	calls_run kinds 1 --by kind,mapping
	kind() {
		report "[.rows[] | select(.table == \"maps\" and .kind == \"$1\") | .$2] | add"
	}
	report '.rows[] | select(.table == "maps") | [.kind, .mapping, .count, .mapped_bytes, .held_bytes] | @tsv'
	[ "$(kind reserved held_bytes)" -eq $((16 << 20)) ]
	[ "$(kind stack held_bytes)" -eq $((1 << 20)) ]
	[ "$(kind 'shared anonymous' held_bytes)" -eq $((1 << 20)) ]
	[ "$(kind memfd held_bytes)" -eq $((4 << 20)) ]
	[ "$(kind 'SysV shm' held_bytes)" -eq $((3 << 20)) ]
	[ "$(kind heap held_bytes)" -eq $(((1 << 20) + 4096)) ]
	[ "$(kind file held_bytes)" -eq 8192 ]
	[ "$(kind 'shared file' held_bytes)" -eq 8192 ]
	[ -d /dev/shm ]
	[ "$(kind 'POSIX shm' held_bytes)" -eq $((2 << 20)) ]
	report '.rows[] | select(.kind == "file") | .mapping' | grep -qx maps_calls
	report '.rows[] | select(.kind == "memfd" and .held_bytes > 0) | .mapping' | grep -qx memfd:known
}

@test "maps: seen = delivered + lost with a tiny ring" {
	calls_run churn 20000 --each --ring-size 4096
	rows=$(report '.rows | length') delivered=$(report .events.maps) lost=$(report .lost.maps)
	echo "rows $rows, delivered $delivered, lost $lost"
	[ "$rows" -eq "$delivered" ]
	[ "$lost" -gt 0 ]
	[ $((delivered + lost)) -eq 40000 ]
}

@test "maps: the stack names the function that mapped, and holds what it has not unmapped" {
	calls_run kinds 1 --by stack --stacks=user
	# the kernel's map of stacks may have no room for one: its calls are counted without
	report '.rows[] | select(.table == "maps") | [.held_bytes, (.stack // [] | join(" "))] | @tsv' |
		tee "$BATS_TEST_TMPDIR/stacks"
	grep -q 'map_kinds (maps_calls.c:' "$BATS_TEST_TMPDIR/stacks"
	held=$(awk '{ n += $1 } END { print n }' "$BATS_TEST_TMPDIR/stacks")
	# a hole in the middle of an older mapping is the one thing that is not taken off
	echo "held $held, grown $(($(grown VmSize) * 1024))"
	[ "$held" -ge $(($(grown VmSize) * 1024)) ]
	[ "$held" -le $(($(grown VmSize) * 1024 + (1 << 20))) ]
}

@test "maps: the limit that a call met is named" {
	calls_run limits 1
	assert_same
	why mmap | grep -q '^RLIMIT_DATA is reached'
	why mmap | grep -q '^RLIMIT_AS is reached'
	why mmap | grep -qx 'larger than an address space'
	why brk | grep -q '^RLIMIT_DATA is reached'
	why mremap | grep -q '^RLIMIT_AS is reached'
	why mlock | grep -q '^RLIMIT_MEMLOCK is reached'
	[ "$(report '[.findings[] | select(.rule == "maps-limit")] | length')" -ge 3 ]
}

@test "maps: overcommit and the pool of huge pages are named" {
	[ "$(cat /proc/sys/vm/overcommit_memory)" -eq 0 ] || skip "vm.overcommit_memory is not 0 here"
	[ -d /sys/kernel/mm/hugepages ] || skip "this kernel has no pool of huge pages"
	calls_run machine 1
	assert_same
	why mmap | grep -q '^overcommit (vm.overcommit_memory=0): memory and swap is reached'
	why mmap | grep -qx 'the pool has not enough free huge pages of this size'
}

@test "maps: strict overcommit is named" {
	# So much may be promised that nobody else meets the limit. A limit in kB takes the ratio's place.
	[ "$(cat /proc/sys/vm/overcommit_kbytes)" -eq 0 ] || skip "vm.overcommit_kbytes is set here"
	setting_set vm.overcommit_ratio 10000
	setting_set vm.overcommit_memory 2
	calls_run machine 1
	assert_same
	why mmap | grep -qx 'strict overcommit (vm.overcommit_memory=2): CommitLimit is reached'
	report '.findings[] | select(.rule == "maps-limit") | .evidence[]' | grep -q CommitLimit
}

@test "maps: too many mappings are told with the sysctl and its present value" {
	limit=$(cat /proc/sys/vm/max_map_count)
	[ "$limit" -le 100000 ] || skip "vm.max_map_count is $limit: that takes too long"
	calls_run count 1
	assert_same
	report '.rows[] | select(.table == "failures") | .why' |
		grep -qx "vm.max_map_count is reached: $limit mappings"
	report '.findings[] | .undo[]' | grep -qx "\`sysctl -w vm.max_map_count=$limit\`"
}

# bats test_tags=host
@test "maps: pointers to nothing, sizes of 2^63 and names without end" {
	calls_run hostile 1
	assert_same
	calls_run hostile 1 --each
	[ "$(report '[.rows[] | select(.result < 0 and .growth_bytes != 0)] | length')" -eq 0 ]
	calls_start hostile 1
	memwhy_run maps -p "$pid" --each
	calls_go
	memwhy_stop
	calls_end
	grep -qF '\x1b[31mAAAA' "$lines"
	! grep -q "$(printf '\033')" "$lines" || false
}

@test "maps: calls by int 0x80 are not taken for native ones of the same number" {
	calls_start compat 3000
	memwhy_start maps -p "$pid"
	echo go >&7
	wait_for 'grep -q ^done "$out" || ! kill -0 "$pid" 2>/dev/null'
	memwhy_stop
	exec 7>&-
	status=0
	wait "$pid" || status=$?
	[ "$status" -ne 3 ] || skip "this kernel has no 32-bit calls (CONFIG_IA32_EMULATION)"
	[ "$status" -eq 0 ]
	[ "$(ours)" = 'mmap 1 0' ]
}

@test "maps: children inherit their size, and vfork's map in their parent's" {
	calls_start fork
	memwhy_start maps -p "$pid" --follow
	calls_go
	memwhy_stop
	calls_end
	report '.rows[] | select(.table == "maps") | [.pid, .count, .growth_bytes, .vmsize_change_bytes, .vmsize_bytes] | @tsv'
	[ "$(report "[.rows[] | select(.table == \"maps\")] | length")" -eq 3 ]
	parent=$(report ".rows[] | select(.table == \"maps\" and .pid == $pid) | .vmsize_change_bytes")
	[ "$parent" -eq $(($(grown VmSize) * 1024)) ]
	[ "$(report ".rows[] | select(.pid == $pid and .table == \"maps\") | .not_by_calls_bytes")" -eq $((1 << 20)) ]
	[ "$(report "[.rows[] | select(.table == \"maps\" and .pid != $pid) | .growth_bytes] | sort | join(\" \")")" = \
		"$((1 << 20)) $((7 << 20))" ]
	[ "$(report "[.rows[] | select(.table == \"maps\" and .growth_bytes == $((7 << 20))) | .vmsize_change_bytes] | add")" -eq $((7 << 20)) ]
}

# bats test_tags=host
@test "maps: the count is strace's on a compiler, a shell and a package manager" {
	command -v strace >/dev/null || skip "no strace"
	command -v gcc >/dev/null || skip "no gcc"
	traced=mmap,munmap,mremap,brk,mprotect,madvise
	run_all='echo "int main(void) { return 0; }" >'$BATS_TEST_TMPDIR'/x.c
		gcc -O2 -o '$BATS_TEST_TMPDIR'/x '$BATS_TEST_TMPDIR'/x.c
		for i in 1 2 3; do ls / >/dev/null; done
		dpkg -l >/dev/null; apt-cache policy gcc >/dev/null; true'
	"$MEMWHY" maps --by comm,call,error -q -o json --out "$BATS_TEST_TMPDIR/report.json" -- \
		strace -f -c -U name,calls,errors -o "$BATS_TEST_TMPDIR/strace" -e trace="$traced" \
		sh -c "$run_all"
	json=$BATS_TEST_TMPDIR/report.json
	report '.rows[] | select(.table == "maps" and .comm != "strace") |
		[.call, .count, if .error and .call != "brk" then .count else 0 end] | @tsv' |
		awk '{ n[$1] += $2; f[$1] += $3 } END { for (c in n) print c, n[c], f[c] }' |
		sort >"$BATS_TEST_TMPDIR/ours"
	awk 'NR > 2 && $1 ~ /^[a-z]/ && $1 != "total" { print $1, $2, $3 + 0 }' \
		"$BATS_TEST_TMPDIR/strace" | sort >"$BATS_TEST_TMPDIR/theirs"
	lost=$(report .lost.maps)
	echo "lost $lost"
	# Where classic tracepoints are used (7.3) the kernel skips them while a task that reads a map
	# is preempted, and does not say whose call that was: at most those are missing.
	join -a 1 "$BATS_TEST_TMPDIR/theirs" "$BATS_TEST_TMPDIR/ours" | tee "$BATS_TEST_TMPDIR/both"
	awk -v lost="$lost" '
		{ missing += $2 - $4; wrong += $4 > $2 || $5 > $3 }
		END { exit !NR || wrong || missing > lost }' "$BATS_TEST_TMPDIR/both"
}

# bats test_tags=host
@test "maps: a recording gives the same report" {
	calls_run kinds 1 --by process,stack --stacks=user --record "$BATS_TEST_TMPDIR/log"
	"$MEMWHY" maps --by process,stack --stacks=user --input "$BATS_TEST_TMPDIR/log" -o json |
		jq -S .rows >"$BATS_TEST_TMPDIR/replayed"
	jq -S .rows "$json" | cmp - "$BATS_TEST_TMPDIR/replayed"
}

@test "maps: the scope holds, and --min leaves the quick calls out" {
	calls_start churn 100
	memwhy_start maps -c no-such-name
	calls_go
	memwhy_stop
	calls_end
	[ "$(report .events.maps)" -eq 0 ]
	calls_run kinds 1 --each --min 1h
	[ "$(report '.rows | length')" -eq 0 ]
}

# bats test_tags=host
@test "maps: --like prints the lines of mmapsnoop, shmsnoop and brkstack" {
	for tool in mmapsnoop shmsnoop brkstack; do
		calls_start kinds
		memwhy_run maps -p "$pid" --like "$tool"
		calls_go
		memwhy_stop
		calls_end
		cat "$lines"
		case $tool in
		mmapsnoop)
			grep -qE '^[0-9]+ +maps_calls +R-- +-P-- +0 +8 +maps_calls$' "$lines"
			[ "$(wc -l <"$lines")" -eq 5 ]
			;;
		shmsnoop)
			grep -qE '^[0-9]+ +maps_calls +SHMGET +[0-9a-f]+ key: 0x0, size: 3145728, shmflg: 0x380 \(IPC_CREAT\|0600\)$' "$lines"
			[ "$(wc -l <"$lines")" -eq 10 ]
			;;
		brkstack)
			grep -qx '@\[' "$lines"
			grep -qE '^    heap\+[0-9]+$' "$lines"
			grep -qx ', maps_calls\]: [0-9]*' "$lines"
			;;
		esac
	done
}
