#!/usr/bin/env bats
# The ledger of the machine, of a process and of a group. Known amounts of memory are in
# where_known.bats.
load common
load where

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR" || return 1
}

@test "where: the rows add up to MemTotal, and little is in none of them" {
	ledger now
	[ "$(total now)" -eq $(($(awk '/^MemTotal/ { print $2 }' /proc/meminfo) * 1024)) ]
	for row in free anonymous page_cache tmpfs shared_memory hugetlb slab page_tables kernel_stacks percpu vmalloc \
		sockets pipes rest; do
		# what processes have open is not looked at for longer than 80 ms: a guest may need more
		jq -e --arg row "$row" 'any(.rows[]; .row == $row) or ($row == "pipes" and
			any(.not_checked[]?; test("have open")))' now >/dev/null || { echo "no row $row"; false; }
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

@test "where --census: the pages themselves say what the ledger does" {
	[ -r /proc/kpageflags ] || skip "the kernel has no CONFIG_PROC_PAGE_MONITOR"
	hold memfd $((64 << 20))
	"$MEMWHY" where --census -o json --out now
	hold_end
	[ "$(total now)" -eq $(($(awk '/^MemTotal/ { print $2 }' /proc/meminfo) * 1024)) ]
	jq -c '.rows[] | select(.table == "census") | [.kind, .bytes, .ledger_bytes, .difference_bytes]' now
	# Counters move while a million pages are looked at: within 3 % of the memory there is.
	jq -e '([.rows[] | select(.table == "ledger") | .bytes] | add) as $all | [.rows[] | select(.table == "census")] |
		length >= 8 and all(.[] | select(.kind | IN("free", "anonymous", "files", "shared", "hugetlb", "page_tables"));
			(.difference_bytes | fabs) < $all * 0.03)' now
	jq -e 'any(.rows[]; .table == "census" and .kind == "shared" and .bytes >= 67108864 and (.difference_bytes | fabs) < 4194304)' now
	run "$MEMWHY" where --census -p $$
	[ "$status" -eq 2 ]
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

@test "where: fewer arenas save what was predicted, where threads need their memory in turn" {
	arenas 6 20000 turn
	"$MEMWHY" where -p "$holder" -o json --out now
	before=$(rss)
	line=$(jq -r '.findings[] | select(.rule == "allocator-keeps") | .try[] | select(test("MALLOC_ARENA_MAX"))' now)
	echo "$line"
	want=$(sed -E 's/.*save ([0-9.]+) MiB.*/\1/' <<<"$line" | awk '{ printf "%d", $1 * 1048576 }')
	hold_end
	MALLOC_ARENA_MAX=2 arenas 6 20000 turn
	got=$((before - $(rss)))
	echo "predicted $want, saved $got"
	[ "$want" -gt $((64 << 20)) ]
	[ $((got * 10)) -gt $((want * 8)) ]
	[ $((got * 10)) -lt $((want * 12)) ]
}

@test "where: without huge pages a process needs as much less as was predicted" {
	grep -qE '\[(always|madvise)\]' /sys/kernel/mm/transparent_hugepage/enabled || skip "no transparent huge pages"
	hold huge $((256 << 20))
	huge=$(awk '/^AnonHugePages/ { print $2 * 1024 }' "/proc/$holder/smaps_rollup")
	[ "$huge" -gt $((64 << 20)) ] || skip "the machine has no free huge pages"
	before=$(rss)
	"$MEMWHY" where -p "$holder" -o json --out now
	line=$(jq -r '.findings[] | select(.rule == "huge-unused") | .try[0]' now)
	echo "$line"
	want=$(sed -E 's/.*need ([0-9.]+) MiB less.*/\1/' <<<"$line" | awk '{ printf "%d", $1 * 1048576 }')
	hold_end
	hold sparse $((256 << 20))
	got=$((before - $(rss)))
	echo "predicted $want, saved $got, of $huge in huge pages"
	[ $((got * 10)) -gt $((want * 8)) ]
	[ $((got * 10)) -lt $((want * 12)) ]
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

@test "where: a process that has no memory, or may not be looked at, is an error and not an empty ledger" {
	run --separate-stderr "$MEMWHY" where -p 2
	[ "$status" -eq 3 ]
	[ -z "$output" ]
	[[ $stderr == "memwhy: process 2 has no memory of its own: it is a kernel thread, or has ended" ]]
	run --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups "$MEMWHY" where -p $$
	[ "$status" -eq 3 ]
	[[ $stderr == "memwhy: process $$: its mappings: Permission denied"*"CAP_SYS_PTRACE" ]]
	"$MEMWHY" where -p 2,$$ -o json --out both
	[ "$(total both)" -gt 0 ]
	jq -e '.not_checked | any(test("process 2 has no memory of its own"))' both >/dev/null
}

@test "where: what is charged to a group, and the limits above it" {
	mount=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/mounts)
	limit=memory.limit_in_bytes
	usage=memory.usage_in_bytes
	if [ -z "$mount" ]; then
		mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
		limit=memory.max
		usage=memory.current
		echo +memory >"$mount/cgroup.subtree_control"
	fi
	group=$mount/memwhy-where-$$
	mkdir "$group"
	[ "$limit" != memory.max ] || echo +memory >"$group/cgroup.subtree_control"
	mkdir "$group/inner"
	echo $((200 << 20)) >"$group/$limit"
	rm -f in out
	mkfifo in
	sh -c 'echo $$ >"$1/inner/cgroup.procs"; exec "$2" anonymous 33554432' - "$group" "$WORKLOADS/where_work" <in >out 3>&- &
	holder=$!
	exec 7>in
	wait_for 'grep -q ready out'
	"$MEMWHY" where -g "memwhy-where-$$/inner" -o json --out now
	charged=$(<"$group/inner/$usage")
	hold_end
	rmdir "$group/inner" "$group"
	got=$(bytes now anonymous)
	# Each CPU may keep 32 pages of a group's counters to itself, before 5.13 also where they are read.
	[ "$got" -ge $((33554432 - $(nproc) * 32 * 4096)) ]
	[ "$got" -le $((33554432 + 2097152)) ]
	off=$(($(total now) - charged))
	[ "${off#-}" -le $((charged / 100)) ]
	jq -e 'any(.rows[]; .table == "owners" and .owner == "where_work")' now >/dev/null
	jq -e --arg top "/memwhy-where-$$" 'any(.rows[]; .table == "limits" and (.cgroup | endswith($top)) and .limit_bytes == 209715200 and .nearest == "yes")' now >/dev/null
}

@test "where -g: of the root, and which groups below have the page cache" {
	if ! awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { found = 1 } END { exit !found }' /proc/mounts; then
		"$MEMWHY" where -g / -o json --out now || [ $? -eq 3 ]
		jq -e 'any(.not_checked[]; test("not count this for the root"))' now >/dev/null
		return
	fi
	for _ in 1 2 3 4 5; do # counters of many groups, while others come and go
		"$MEMWHY" where -g / -o json --out now
		rest=$(bytes now rest)
		echo "rest $rest of $(total now)"
		[ $((${rest#-} * 100)) -ge "$(total now)" ] || break
	done
	[ $((${rest#-} * 100)) -lt "$(total now)" ]
	[ "$(bytes now kernel)" -gt 0 ]
	jq -e 'any(.rows[]; .table == "owners" and .row == "page_cache" and (.owner | startswith("group /")))' now >/dev/null
}

@test "where: of two recordings diff compares the rows, then who has them" {
	"$MEMWHY" where --record f.mw -o json --out f.json
	hold memfd $((64 << 20))
	"$MEMWHY" where --record g.mw -o json --out g.json
	hold_end
	"$MEMWHY" diff f.mw g.mw -o json --out diff.json
	jq -c '.rows[] | select(.row == "shared_memory" and .table == "ledger")' diff.json
	want=$(($(bytes g.json shared_memory) - $(bytes f.json shared_memory)))
	jq -e --argjson want "$want" '[.rows[] | select(.table == "ledger" and .row == "shared_memory") | .change_bytes] == [$want]' diff.json
	[ "$(jq -r '.rows[0].table' diff.json)" = ledger ]
}

@test "where: of a command, once it runs and not before" {
	"$MEMWHY" where -o json --out now -- sleep 2.5
	jq -e 'any(.rows[]; .table == "ledger" and .row == "files" and .bytes > 0 and (.mostly | test("libc|sleep|locale")))' now >/dev/null
	"$MEMWHY" where -o json --out short -- true
	jq -e 'all(.rows[]; .table != "ledger")' short >/dev/null
	"$MEMWHY" where -c no-such-comm --table ledger --out nobody
	grep -q "no process matches" nobody
}
