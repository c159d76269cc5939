#!/usr/bin/env bats
# The ledger of a control group, version 2: known amounts of memory of each kind are in their row,
# within 1 %, and in no other. This kernel.
load common
load where

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR" || return 1
	[ -z "$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/' /proc/mounts)" ] || skip "the memory controller is of version 1"
	top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$top" ] || skip "no control groups of version 2"
	grep -qw memory "$top/cgroup.subtree_control" || echo +memory >"$top/cgroup.subtree_control"
	inner=$top/memwhy-where-$$
	mkdir "$inner"
	want=$((32 << 20))
}

# hold_inside KIND BYTES [PATH]: as hold, by a process of the group
hold_inside() {
	rm -f in out
	mkfifo in
	sh -c 'echo $$ >"$0/cgroup.procs"; shift; exec "$@"' "$inner" - "$WORKLOADS/where_work" "$@" <in >out 3>&- &
	holder=$!
	exec 7>in
	wait_for 'grep -q ready out || ! kill -0 "$holder" 2>/dev/null'
	grep -q ready out
}

group_ledger() {
	"$MEMWHY" where -g "/${inner##*/}" -o json --out now
	jq -c '[.rows[] | select(.table == "ledger") | {(.row): .bytes}] | add' now
}

stat_of() {
	awk -v name="$1" '$1 == name { v = $2 } END { print v + 0 }' "$inner/memory.stat"
}

# in_row ROW BYTES: it is there, within 1 % and what a small process has of it; the rest, and the sum of
# all other rows, are no more than such a process has, and what CPUs are charged for in advance.
in_row() {
	local got others
	got=$(bytes now "$1")
	[ "$got" -ge $(($2 - $2 / 100)) ]
	[ "$got" -le $(($2 + $2 / 100 + 524288)) ]
	others=$(($(total now) - got))
	echo "$1: $got for $2, all others $others"
	[ "${others#-}" -le $((5 << 20)) ] # page cache has slab: nodes of its trees
}

known_inside() { # KIND ROW [PATH]
	hold_inside "$1" "$want" "${@:3}"
	group_ledger
	off=$(($(total now) - $(<"$inner/memory.current")))
	in_row "$2" "$want"
	hold_end
	echo "memory.current was $off less, a little later"
	[ "${off#-}" -le $((4 << 20)) ]
}

@test "where -g: anonymous memory, shared memory and page tables" {
	known_inside anonymous anonymous
	known_inside memfd shared_memory
	grep -q '^pagetables ' "$inner/memory.stat" || return 0 # since 5.11
	hold_inside tables $((16 << 20))
	group_ledger
	hold_end
	# each has a page of memory, too
	[ "$(bytes now page_tables)" -ge $((16 << 20)) ]
	[ "$(bytes now page_tables)" -le $((17 << 20)) ]
	[ "$(bytes now anonymous)" -ge $((16 << 20)) ]
	[ "$(bytes now anonymous)" -le $((17 << 20)) ]
	[ $(($(total now) - $(bytes now page_tables) - $(bytes now anonymous))) -le $((3 << 20)) ]
}

@test "where -g: page cache" {
	needs_disk
	known_inside deleted page_cache "$disk/where-group"
}

@test "where -g: sockets that nobody reads" {
	hold_inside tcp "$want"
	group_ledger
	counted=$(stat_of sock)
	hold_end
	[ "$counted" -ge $((want * 9 / 10)) ]
	in_row sockets "$counted"
}

# The kernel charges maps to the group of their maker since 5.11, and tells vmalloc apart since 5.18.
@test "where -g: an array of BPF, in vmalloc, and one for each CPU, in percpu" {
	grep -q '^vmalloc ' "$inner/memory.stat" || skip "the kernel does not tell vmalloc of a group"
	known_inside vmalloc vmalloc
	cpus=$(getconf _NPROCESSORS_CONF)
	hold_inside percpu $((want / cpus))
	group_ledger
	counted=$(stat_of percpu)
	hold_end
	echo "the kernel charges $counted for $want" # 7.3 charges it to nobody
	[ "$counted" -lt $((want / 2)) ] || in_row percpu "$want"
	[ "$counted" -ge $((want / 2)) ] || [ "$(total now)" -le $((1 << 20)) ]
}

@test "where -g: pipes that nobody reads are the kernel's memory" {
	grep -q '^kernel ' "$inner/memory.stat" || skip "the kernel does not tell what it has of a group"
	known_inside pipes kernel
}

@test "where -g: what is in zswap is there and not in swap alone, and the machine's ledger has it" {
	[ -w /sys/module/zswap/parameters/enabled ] || skip "the kernel has no zswap"
	needs_swap
	old=$(</sys/module/zswap/parameters/enabled)
	echo Y >/sys/module/zswap/parameters/enabled
	ledger before
	hold_inside anonymous "$want"
	echo $((8 << 20)) >"$inner/memory.high"
	for _ in $(seq 50); do # what is above memory.high goes as it allocates, and by this
		[ -e "$inner/memory.reclaim" ] && { echo $((24 << 20)) >"$inner/memory.reclaim" || true; } 2>/dev/null
		[ "$(stat_of anon)" -gt $((12 << 20)) ] || break
		sleep 0.2
	done
	group_ledger
	ledger after
	counted=$(stat_of zswap)
	swapped=$(stat_of zswapped)
	pool=$(cat /sys/kernel/debug/zswap/pool_total_size 2>/dev/null || echo 0)
	echo "$old" >/sys/module/zswap/parameters/enabled
	echo max >"$inner/memory.high"
	hold_end
	echo "zswap $counted of $swapped, the pool $pool"
	moved=$(($(bytes after compressed_swap) - $(bytes before compressed_swap)))
	[ "$pool" -eq 0 ] || [ "$moved" -ge $((pool - pool / 100 - 65536)) ]
	[ "$pool" -eq 0 ] || [ "$moved" -le $((pool + pool / 100 + 65536)) ]
	[ "$swapped" -eq 0 ] || [ "$(bytes now compressed_swap)" -eq "$counted" ]
	[ "$(bytes now anonymous)" -le $((13 << 20)) ]
	rest=$(bytes now rest)
	[ "${rest#-}" -le $((2 << 20)) ]
}
