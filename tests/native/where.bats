#!/usr/bin/env bats
# The ledger of the machine: it adds up, and known amounts of memory are in their row and no other.
load common

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR" || return 1
}

# ledger FILE: one of now.
ledger() {
	"$MEMWHY" where -o json --out "$1" --force
}

# bytes FILE ROW
bytes() {
	jq --arg row "$2" '[.rows[] | select(.table == "ledger" and .row == $row) | .bytes] | add // 0' "$1"
}

total() {
	jq '[.rows[] | select(.table == "ledger") | .bytes] | add' "$1"
}

hold_end() {
	exec 7>&-
	wait "$holder" 2>/dev/null || true
	holder=
}

teardown() {
	[ -z "${holder-}" ] || hold_end
	[ -z "${segment-}" ] || ipcrm -m "$segment"
	[ -z "${mounted-}" ] || umount "$mounted"
}

# hold KIND BYTES [PATH]: starts it, and waits until it has it all.
hold() {
	rm -f in out
	mkfifo in
	"$WORKLOADS/where_work" "$@" <in >out 3>&- &
	holder=$!
	exec 7>in
	wait_for 'grep -q ready out || ! kill -0 "$holder" 2>/dev/null'
	grep -q ready out
}

# Others use this machine too: a row of theirs may move meanwhile.
# rose ROW BYTES: it did, by that and 1 %, and rows that are quiet did not, between before and after.
rose() {
	local row=$1 want=$2 got quiet
	got=$(($(bytes after "$row") - $(bytes before "$row")))
	echo "$row rose by $got of $want"
	[ "$got" -ge $((want - want / 100)) ] && [ "$got" -le $((want + want / 100)) ] || return 1
	for quiet in tmpfs shared_memory hugetlb sockets pipes; do
		[ "$quiet" = "$row" ] && continue
		got=$(($(bytes after "$quiet") - $(bytes before "$quiet")))
		[ "${got#-}" -le $((want / 50)) ] || { echo "$quiet moved by $got"; return 1; }
	done
}

# settles KIND ROW BYTES: holding it raises the row; three attempts, as this is not the only user.
settles() {
	local kind=$1 row=$2 want=$3 attempt
	for attempt in 1 2 3; do
		ledger before
		hold "$kind" "$want" "${@:4}"
		ledger after
		if [ "$kind" = segment ]; then read -r _ segment <out; fi
		hold_end
		if rose "$row" "$want"; then return 0; fi
		[ -z "${segment-}" ] || ipcrm -m "$segment"
		segment=
	done
	return 1
}

@test "where: the rows add up to MemTotal, and little is in none of them" {
	ledger now
	[ "$(total now)" -eq $(($(awk '/^MemTotal/ { print $2 }' /proc/meminfo) * 1024)) ]
	for row in free anonymous page_cache tmpfs shared_memory hugetlb slab page_tables kernel_stacks percpu vmalloc \
		sockets pipes rest; do
		jq -e --arg row "$row" 'any(.rows[]; .row == $row)' now >/dev/null || { echo "no row $row"; false; }
	done
	rest=$(bytes now rest)
	echo "rest $rest"
	[ "$rest" -gt -$((16 << 20)) ]
	[ $((rest * 20)) -lt "$(total now)" ]
}

@test "where: rows are the kernel's counters" {
	ledger now
	near() { # ROW KIB: within 5 %, and 8 MiB that others may have taken meanwhile
		local got
		got=$(($(bytes now "$1") / 1024 - $2))
		echo "$1: $got KiB beside $2"
		[ "${got#-}" -le $(($2 / 20 + 8192)) ]
	}
	field() { awk -v f="$1:" '$1 == f { print $2 }' /proc/meminfo; }
	near anonymous "$(field AnonPages)"
	near slab "$(field Slab)"
	near page_tables "$(field PageTables)"
	near kernel_stacks "$(field KernelStack)"
	near page_cache $(($(field Cached) + $(field Buffers) - $(field Shmem)))
	near tmpfs $(($(field Shmem) - $(bytes now shared_memory) / 1024))
}

@test "where: it takes less than 100 ms of a CPU" {
	"$MEMWHY" where -o json --out cost
	jq -e '.cost.cpu_seconds < 0.1' cost >/dev/null || { jq .cost cost; [ -n "${MEMWHY_VM-}" ]; }
}

@test "where: files in a tmpfs" {
	mkdir mnt
	mount -t tmpfs -o size=100m tmpfs mnt
	mounted=$PWD/mnt
	for _ in 1 2 3; do
		rm -f mnt/*
		ledger before
		head -c $((64 << 20)) /dev/zero >mnt/file
		ledger after
		if rose tmpfs $((64 << 20)); then found=1 && break; fi
	done
	[ "${found-}" = 1 ]
	jq -e --arg dir "$mounted" 'any(.rows[]; .table == "owners" and .row == "tmpfs" and .owner == $dir)' after >/dev/null
}

@test "where: files in a tmpfs of another mount namespace" {
	mkfifo in
	unshare -m sh -c 'mount -t tmpfs -o size=100m tmpfs /mnt && head -c 50331648 /dev/zero >/mnt/file && echo ready >out; read -r _ <in' 3>&- &
	holder=$!
	exec 7>in
	wait_for 'grep -q ready out'
	ledger after
	hold_end
	[ "$(bytes after tmpfs)" -ge 50331648 ]
	jq -e 'any(.rows[]; .row == "tmpfs" and .owner == "/mnt" and .bytes >= 50331648)' after >/dev/null
}

@test "where: a System V segment that no process has attached" {
	settles segment shared_memory $((64 << 20))
	jq -e --arg name "System V segment $segment" 'any(.rows[]; .owner == $name and (.detail | test("attached by nobody")))' after >/dev/null
}

@test "where: a memfd that nobody maps, and who has it open" {
	settles memfd shared_memory $((64 << 20))
	jq -e 'any(.rows[]; .row == "shared_memory" and .owner == "where_work" and .bytes >= 67108864)' after >/dev/null
}

@test "where: pipes that nobody reads" {
	settles pipes pipes $((32 << 20))
}

@test "where: UNIX sockets that nobody reads" {
	"$MEMWHY" doctor -o json | jq -e 'any(.rows[]; .probe == "where" and (.data | test("UNIX")) and .status != "missing")' >/dev/null ||
		skip "the kernel has no CONFIG_UNIX_DIAG"
	settles unix sockets $((32 << 20))
}

# Other users of the machine move this row too: within a tenth, and exact where it says whose it is.
@test "where: locked memory is anonymous, and its owner is named" {
	want=$((128 << 20))
	ledger before
	hold locked "$want"
	ledger after
	hold_end
	got=$(($(bytes after anonymous) - $(bytes before anonymous)))
	echo "rose by $got of $want"
	[ "$got" -gt $((want * 8 / 10)) ]
	[ "$got" -lt $((want * 15 / 10)) ]
	got=$(jq '[.rows[] | select(.table == "owners" and .row == "anonymous" and .owner == "where_work") | .bytes] | add' after)
	[ "$got" -ge "$want" ]
	[ "$got" -le $((want + want / 100)) ]
}

# risen FILE ROW: how much the row rose since `before`, in MiB
risen() {
	echo $(((($(bytes "$1" "$2") - $(bytes before "$2")) + 524288) >> 20))
}

@test "where: page tables of memory that is touched here and there; names that are not there" {
	local dir attempt
	dir=$(mktemp -d -p "${BUILD:-$BATS_TEST_DIRNAME/../../build}" where-names.XXXXXX)
	for attempt in 1 2 3; do
		ledger before
		hold tables $((128 << 20))
		ledger after
		hold_end
		tables=$(risen after page_tables)
		[ "$tables" -lt 126 ] || [ "$tables" -gt 132 ] || break
	done
	# Each is a dentry; a name of more than 31 bytes would have memory of its own.
	size=$(awk '$1 == "dentry" { print $4 }' /proc/slabinfo)
	n=$(((96 << 20) / size))
	ledger before
	hold names "$n" "$dir"
	ledger after
	hold_end
	slab=$(risen after slab)
	rmdir "$dir"
	echo "page tables rose by $tables of 128 MiB, slab by $slab of 96"
	[ "$tables" -ge 126 ]
	[ "$tables" -le 132 ]
	[ "$slab" -ge 86 ]
	[ "$slab" -le 120 ]
	[ "$(risen after shared_memory)" -le 2 ]
	[ "$(risen after sockets)" -le 2 ]
}

@test "where --census: the pages themselves say what the ledger does" {
	[ -r /proc/kpageflags ] || skip "the kernel has no CONFIG_PROC_PAGE_MONITOR"
	hold memfd $((64 << 20))
	"$MEMWHY" where --census -o json --out now
	hold_end
	[ "$(total now)" -eq $(($(awk '/^MemTotal/ { print $2 }' /proc/meminfo) * 1024)) ]
	jq -c '.rows[] | select(.table == "census") | [.kind, .bytes, .ledger_bytes, .difference_bytes]' now
	# Counters move while a million pages are looked at: within 3 % of the memory there is.
	jq -e '([.rows[] | select(.table == "ledger") | .bytes] | add) as $all | [.rows[] | select(.table == "census")] |
		length >= 8 and all(.[] | select(.kind | IN("anonymous", "files", "shared", "hugetlb", "page_tables"));
			(.difference_bytes | fabs) < $all * 0.03)' now
	jq -e 'any(.rows[]; .table == "census" and .kind == "shared" and .bytes >= 67108864 and (.difference_bytes | fabs) < 4194304)' now
	run "$MEMWHY" where --census -p $$
	[ "$status" -eq 2 ]
}

@test "where: control groups that were removed and are kept" {
	mount=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/mounts)
	mount=${mount:-$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)}
	[ -n "$mount" ] || skip "no control groups"
	[ "$(stat -c %i "$mount")" -eq 1 ] || skip "only a part of the hierarchy is mounted here"
	mkdir mnt
	mount -t tmpfs -o size=20m tmpfs mnt
	mounted=$PWD/mnt
	# A page of a file that stays keeps each group.
	for i in $(seq 150); do
		mkdir "$mount/memwhy-where-$$-$i"
		sh -c 'echo $$ >"$1/cgroup.procs"; echo x >"$2"; echo $$ >"$3/cgroup.procs"' - "$mount/memwhy-where-$$-$i" "mnt/$i" "$mount"
		rmdir "$mount/memwhy-where-$$-$i"
	done
	ledger now
	jq -c '.rows[] | select(.table == "dying")' now
	jq -e 'any(.rows[]; .table == "dying" and .dying_groups >= 150 and .kernel_bytes > 150 * 11264)' now
}

@test "where: a huge page pool, idle and used" {
	[ -w /proc/sys/vm/nr_hugepages ] || skip "no huge pages"
	old=$(</proc/sys/vm/nr_hugepages)
	size=$(($(awk '/^Hugepagesize/ { print $2 }' /proc/meminfo) * 1024))
	ledger before
	echo $((old + 16)) >/proc/sys/vm/nr_hugepages
	got=$(($(</proc/sys/vm/nr_hugepages) - old))
	ledger after
	hold hugetlb $((size * 4)) || true
	ledger used
	hold_end
	echo "$old" >/proc/sys/vm/nr_hugepages
	[ "$got" -gt 4 ] || skip "memory is too fragmented for huge pages"
	rose hugetlb $((got * size))
	reclaimable() { jq '.rows[] | select(.row == "hugetlb" and .table == "ledger") | .reclaimable_bytes' "$1"; }
	[ $(($(reclaimable after) - $(reclaimable used))) -eq $((size * 4)) ]
}

@test "where: a recording shows the same ledger" {
	"$MEMWHY" where --record f.mw -o json --out live.json
	"$MEMWHY" where --input f.mw -o json --out replayed.json
	[ "$(jq -c '[.rows[] | select(.table == "ledger")]' live.json)" = "$(jq -c '[.rows[] | select(.table == "ledger")]' replayed.json)" ]
	"$MEMWHY" record g.mw --for 1s -q
	"$MEMWHY" where --input g.mw -o json --out of_record.json
	[ "$(total of_record.json)" -eq "$(total live.json)" ]
	"$MEMWHY" diff f.mw g.mw --of where -o json --out diff.json
	jq -e '.rows | length > 5' diff.json >/dev/null
}

# arenas THREADS BLOCKS: starts the program, $pid; lines to it on fd 7, what it says in out.
arenas() {
	rm -f in out
	mkfifo in
	"$WORKLOADS/where_arenas" "$@" <in >out 3>&- &
	holder=$!
	exec 7>in
	wait_for 'grep -q ready out || ! kill -0 "$holder" 2>/dev/null'
	sleep 0.3 # threads that wait
}

tell() { # LINE: the program obeys
	local n
	n=$(grep -c done out || true)
	echo "$1" >&7
	wait_for '[ "$(grep -c done out)" -gt "$n" ]'
}

rss() { # of smaps_rollup, in bytes
	awk '/^Rss:/ { print $2 * 1024 }' "/proc/$holder/smaps_rollup"
}

@test "where: the rows of a process add up to its Rss" {
	arenas 3 20000
	"$MEMWHY" where -p "$holder" -o json --out now
	[ "$(total now)" -eq "$(rss)" ]
	[ "$(bytes now rest)" -eq 0 ]
	jq -e --argjson pid "$holder" 'all(.rows[] | select(.table == "ledger"); .pid == $pid)' now >/dev/null
	[ "$(bytes now heap)" -gt 0 ]
	[ "$(bytes now arenas)" -gt 0 ]
	[ "$(bytes now stacks)" -gt 0 ]
	[ "$(bytes now files)" -gt 0 ]
}

@test "where: arenas are what malloc_info of the process says" {
	arenas 3 20000
	tell info
	"$MEMWHY" where -p "$holder" -o json --out now
	jq -r '[.rows[] | select(.table == "arenas")] | sort_by(.system_bytes)[] | "\(.fastbin_bytes) \(.free_bytes + .top_bytes) \(.system_bytes) \(.free_blocks) \(.read // "whole")"' now >ours
	sed -n 's/^arena //p' out | sort -k3,3n >theirs
	cat ours theirs
	[ "$(wc -l <ours)" -eq "$(wc -l <theirs)" ]
	# malloc_info counts the flags in sizes of free blocks, up to 7 bytes each, and takes memory itself.
	paste -d' ' ours theirs | while read -r fast rest size blocks read theirs_fast theirs_rest theirs_size; do
		[ "$read" = whole ]
		[ "$fast" -eq "$theirs_fast" ]
		off=$((rest - theirs_rest))
		[ "${off#-}" -le $((7 * blocks + 16384)) ]
		[ "$size" -eq "$theirs_size" ]
	done
}

@test "where: malloc_trim saves what was predicted" {
	arenas 3 40000
	"$MEMWHY" where -p "$holder" -o json --out now
	want=$(jq '[.rows[] | select(.table == "arenas") | .trimmable_bytes] | add' now)
	jq -e 'any(.findings[]; .rule == "allocator-keeps")' now >/dev/null
	before=$(rss)
	tell trim
	got=$((before - $(rss)))
	echo "predicted $want, saved $got"
	[ "$want" -gt $((32 << 20)) ]
	[ $((got * 10)) -gt $((want * 9)) ]
	[ $((got * 10)) -lt $((want * 11)) ]
	"$MEMWHY" where -p "$holder" -o json --out after
	[ "$(total after)" -eq "$(rss)" ]
	[ "$(jq '[.rows[] | select(.table == "arenas") | .trimmable_bytes] | add' after)" -lt $((want / 20)) ]
}

@test "where: looking at a process makes nothing resident" {
	arenas 2 20000
	before=$(rss)
	for _ in 1 2 3; do "$MEMWHY" where -p "$holder" -o json --out now --force; done
	[ "$(rss)" -eq "$before" ]
}

@test "where: a plain user sees the ledger, and what is merged or missing" {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$MEMWHY" where -o json >now || [ $? -eq 3 ]
	[ "$(total now)" -eq $(($(awk '/^MemTotal/ { print $2 }' /proc/meminfo) * 1024)) ]
	jq -e '[.not_checked[]] | map(test("slab caches|vmalloc|open")) | any' now >/dev/null
}

@test "where: what is charged to a group, and the limits above it" {
	mount=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/mounts)
	[ -n "$mount" ] || skip "the memory controller is not of version 1 here"
	mkdir "$mount/memwhy-where-$$" "$mount/memwhy-where-$$/inner"
	group=$mount/memwhy-where-$$
	echo $((200 << 20)) >"$group/memory.limit_in_bytes"
	rm -f in out
	mkfifo in
	sh -c 'echo $$ >"$1/inner/cgroup.procs"; exec "$2" anonymous 33554432' - "$group" "$WORKLOADS/where_work" <in >out 3>&- &
	holder=$!
	exec 7>in
	wait_for 'grep -q ready out'
	"$MEMWHY" where -g "memwhy-where-$$/inner" -o json --out now
	hold_end
	rmdir "$group/inner" "$group"
	got=$(bytes now anonymous)
	[ "$got" -ge 33554432 ]
	[ "$got" -le $((33554432 + 2097152)) ]
	jq -e 'any(.rows[]; .table == "owners" and .owner == "where_work")' now >/dev/null
	jq -e --arg top "/memwhy-where-$$" 'any(.rows[]; .table == "limits" and (.cgroup | endswith($top)) and .limit_bytes == 209715200 and .nearest == "yes")' now >/dev/null
}

@test "where: of a command, once it runs and not before" {
	"$MEMWHY" where -o json --out now -- sleep 2.5
	jq -e 'any(.rows[]; .table == "ledger" and .row == "files" and .bytes > 0 and (.mostly | test("libc|sleep|locale")))' now >/dev/null
	"$MEMWHY" where -o json --out short -- true
	jq -e 'all(.rows[]; .table != "ledger")' short >/dev/null
}
