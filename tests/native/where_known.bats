#!/usr/bin/env bats
# Known amounts of memory: each is in its row of the ledger, within 1 %, and in no other. This kernel.
load common
load where

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR" || return 1
	want=$((96 << 20))
	[ -z "${MEMWHY_VM-}" ] || want=$((32 << 20))
}

# moved ROW: by how much, between the files before and after
moved() {
	echo $(($(bytes after "$1") - $(bytes before "$1")))
}

# about GOT WANT: within 1 %
about() {
	local off=$(($1 - $2))
	[ $((${off#-} * 100)) -le "$2" ] || { echo "$1 beside $2"; return 1; }
}

# Others use this machine too, and they move some rows all the time: these may move by a quarter.
# only ROW BYTES: it rose by that, and no other did
only() {
	local row off
	about "$(moved "$1")" "$2" || return 1
	for row in tmpfs shared_memory hugetlb sockets pipes compressed_swap; do
		off=$(moved "$row")
		[ "$row" = "$1" ] || [ $((${off#-} * 100)) -le "$2" ] || { echo "$row moved by $off"; return 1; }
	done
	for row in page_tables percpu vmalloc rest; do
		off=$(moved "$row")
		[ "$row" = "$1" ] || [ $((${off#-} * 4)) -le "$2" ] || { echo "$row moved by $off"; return 1; }
	done
}

# All that processes have open was looked at in time, which it is not while others have thousands open.
whole_look() {
	jq -e '[.not_checked[]? | select(test("have open"))] == []' after >/dev/null
}

# known KIND ROW BYTES [PATH]: to hold it raises the row and no other; up to six attempts.
known() {
	local attempt
	for attempt in 1 2 3 4 5 6; do
		ledger before
		hold "$1" "$3" "${@:4}" || return 1
		ledger after
		read -r _ segment <out || true
		hold_end
		if only "$2" "$3" && whole_look; then return 0; fi
		[ -z "$segment" ] || ipcrm -m "$segment" 2>/dev/null || true
		segment=
	done
	return 1
}

# owner ROW OWNER: bytes of it, in the file after
owner() {
	jq --arg row "$1" --arg owner "$2" '[.rows[] | select(.table == "owners" and .row == $row and .owner == $owner) | .bytes] | add // 0' after
}

@test "where: files in a tmpfs" {
	mkdir mnt
	mount -t tmpfs -o size=200m tmpfs mnt
	mounted=$PWD/mnt
	for _ in 1 2 3 4 5 6; do
		rm -f mnt/*
		ledger before
		head -c "$want" /dev/zero >mnt/file
		ledger after
		if only tmpfs "$want"; then found=1 && break; fi
	done
	[ "${found-}" = 1 ]
	[ "$(owner tmpfs "$mounted")" -ge "$want" ]
}

@test "where: files in a tmpfs of another mount namespace" {
	mkfifo in
	unshare -m sh -c 'mount -t tmpfs -o size=200m tmpfs /mnt && head -c "$0" /dev/zero >/mnt/file && echo ready >out; read -r _ <in' "$want" 3>&- &
	holder=$!
	exec 7>in
	wait_for 'grep -q ready out'
	ledger after
	hold_end
	[ "$(bytes after tmpfs)" -ge "$want" ]
	about "$(owner tmpfs /mnt)" "$want"
}

@test "where: a System V segment that no process has attached, and one that a process has" {
	known segment shared_memory "$want"
	jq -e --arg name "System V segment $segment" 'any(.rows[]; .owner == $name and (.detail | test("attached by nobody")))' after >/dev/null
	ipcrm -m "$segment"
	known attached shared_memory "$want"
	jq -e --arg name "System V segment $segment" 'any(.rows[]; .owner == $name and .count == 1)' after >/dev/null
}

@test "where: a POSIX segment, without a process and mapped by one" {
	[ "$(stat -f -c %T /dev/shm)" = tmpfs ] || skip "/dev/shm is no tmpfs"
	for _ in 1 2 3 4 5 6; do
		ledger before
		python3 -c 'import sys
from multiprocessing import resource_tracker, shared_memory
resource_tracker.register = lambda *unused: None
s = shared_memory.SharedMemory("memwhy-where", create=True, size=int(sys.argv[1]))
s.buf[:] = b"x" * s.size' "$want"
		ledger after
		if only tmpfs "$want"; then found=1; fi
		if [ "${found-}" = 1 ]; then
			python3 -c 'import mmap, sys
f = open("/dev/shm/memwhy-where", "r+b")
m = mmap.mmap(f.fileno(), 0)
n = sum(m[i] for i in range(0, len(m), 4096))
open("mapped", "w").write("x")
sys.stdin.read()' < <(sleep 60) 3>&- &
			mapper=$!
			wait_for '[ -s mapped ]'
			ledger after
			kill "$mapper"
			wait "$mapper" || true
			if only tmpfs "$want"; then both=1; fi
		fi
		rm -f /dev/shm/memwhy-where mapped
		[ "${both-}" != 1 ] || break
	done
	[ "${found-}" = 1 ]
	[ "${both-}" = 1 ]
}

@test "where: a memfd that nobody maps, and who has it open" {
	known memfd shared_memory "$want"
	about "$(owner shared_memory where_work)" "$want"
}

# As a database shares its buffers: no file, no segment, and only the mapping says whose it is.
@test "where: shared memory without a name, and who maps it" {
	known shared shared_memory "$want"
	about "$(owner shared_memory where_work)" "$want"
	mostly shared_memory | grep -E '\(pid [0-9]+\)' # others may have more
}

# mostly ROW: who has most of it, in the file after
mostly() {
	jq -r --arg row "$1" '.rows[] | select(.table == "ledger" and .row == $row) | .mostly' after
}

@test "where: pipes that nobody reads" {
	known pipes pipes "$((want / 2))"
	about "$(owner pipes where_work)" "$((want / 2))"
	mostly pipes | grep -E '^where_work \(pid [0-9]+\)'
}

@test "where: UNIX sockets that nobody reads" {
	"$MEMWHY" doctor -o json | jq -e 'any(.rows[]; .probe == "where" and (.data | test("UNIX")) and .status != "missing")' >/dev/null ||
		skip "the kernel has no CONFIG_UNIX_DIAG"
	for _ in 1 2 3 4 5 6; do
		ledger before
		hold unix "$((want / 2))"
		ledger after
		hold_end
		# of 64 KiB, 4 are in slab
		if only sockets $((want / 2 * 15 / 16)) && whole_look; then found=1 && break; fi
	done
	[ "${found-}" = 1 ]
	# it has both ends, and what it wrote and did not read is the same: with heads, no more
	got=$(owner sockets where_work)
	[ "$got" -ge "$((want / 2))" ]
	[ "$got" -le "$((want * 6 / 10))" ]
}

# What the kernel counts for TCP has the heads of its buffers in it: the row is held to that count.
@test "where: TCP sockets that nobody reads" {
	tcp() { awk '$1 == "TCP:" { for (i = 2; i < NF; i += 2) if ($i == "mem") print $(i + 1) * 4096 }' /proc/net/sockstat; }
	for _ in 1 2 3 4 5 6; do
		base=$(tcp)
		ledger before
		hold tcp "$((want / 2))"
		ledger after
		got=$(($(tcp) - base))
		hold_end
		echo "the kernel counts $got for $((want / 2)), the row rose by $(moved sockets)"
		# The counter is behind by up to a MiB of each CPU (SK_MEMORY_PCPU_RESERVE, include/net/sock.h, 6.0).
		[ "$got" -ge "$((want * 44 / 100))" ]
		[ "$got" -le "$((want * 6 / 10))" ]
		if only sockets "$got"; then return 0; fi
	done
	false
}

# held_anonymous KIND: it raises the row by that, and is its owner's; up to six attempts.
held_anonymous() {
	for _ in 1 2 3 4 5 6; do
		ledger before
		hold "$1" "$want" || return 1
		ledger after
		hold_end
		about "$(owner anonymous where_work)" "$want" || return 1
		if about "$(moved anonymous)" "$want"; then return 0; fi
		# of others, who move this row all the time, no more than a quarter
		if [ "$(moved anonymous)" -ge $((want * 3 / 4)) ] && [ "$(moved anonymous)" -le $((want * 5 / 4)) ]; then near=1; fi
	done
	[ "${near-}" = 1 ]
}

@test "where: locked memory is anonymous, and its owner is named" {
	held_anonymous locked
}

@test "where: what a userfaultfd puts into a mapping is anonymous, and its owner is named" {
	held_anonymous userfault
}

@test "where: of a process whose first thread has ended, its allocator is read as of any other" {
	hold headless "$want"
	"$MEMWHY" where -p "$holder" -o json --out now
	about "$(bytes now heap)" "$want"
	jq -e --argjson want "$want" '[.rows[] | select(.table == "arenas") | .live_bytes] | add >= $want' now
	jq -e '[.notes[]? | select(test("what the allocator"))] == []' now
}

@test "where: page tables of memory that is touched here and there" {
	known tables page_tables "$want"
}

# Each is a dentry; a name of more than 31 bytes would have memory of its own.
@test "where: names that are not there are in slab, as dentries" {
	needs_disk
	size=$(awk '$1 == "dentry" { print $4 }' /proc/slabinfo)
	in_slab=$(awk -v n=$((want / size)) '$1 == "dentry" { printf "%d", n / $5 * $6 * 4096 }' /proc/slabinfo)
	used() { jq '.rows[] | select(.table == "owners" and .owner == "dentry") | .bytes - (.unused_bytes // 0)' "$1"; }
	n=$((want / size))
	for _ in 1 2 3 4 5 6; do
		dir=$(mktemp -d -p "$disk" where-names.XXXXXX)
		ledger before
		hold names "$n" "$dir"
		ledger after
		hold_end
		rmdir "$dir" # they go with it
		[ "$(used after)" -gt "$want" ]
		if about $(($(used after) - $(used before))) "$in_slab" && [ "$(moved slab)" -le $((want + want / 4)) ]; then return 0; fi
	done
	false
}

@test "where: a huge page pool: idle, reserved and used" {
	[ -w /proc/sys/vm/nr_hugepages ] || skip "no huge pages"
	old=$(</proc/sys/vm/nr_hugepages)
	size=$(($(awk '/^Hugepagesize/ { print $2 }' /proc/meminfo) * 1024))
	ledger before
	echo $((old + 16)) >/proc/sys/vm/nr_hugepages
	got=$(($(</proc/sys/vm/nr_hugepages) - old))
	ledger after
	hold hugetlb $((size * 4)) || true
	ledger used
	user=$(jq '[.rows[] | select(.table == "owners" and .row == "hugetlb" and .owner == "where_work") | .bytes] | add' used)
	hold_end
	hold reserved $((size * 4)) || true
	ledger reserved
	hold_end
	echo "$old" >/proc/sys/vm/nr_hugepages
	[ "$got" -gt 4 ] || skip "memory is too fragmented for huge pages"
	[ "$(moved hugetlb)" -eq $((got * size)) ]
	[ "$(bytes used hugetlb)" -eq "$(bytes reserved hugetlb)" ]
	[ "$user" -eq $((size * 4)) ]
	reclaimable() { jq '.rows[] | select(.row == "hugetlb" and .table == "ledger") | .reclaimable_bytes' "$1"; }
	[ $(($(reclaimable after) - $(reclaimable used))) -eq $((size * 4)) ]
	[ $(($(reclaimable after) - $(reclaimable reserved))) -eq $((size * 4)) ]
}

@test "where: an array of BPF, in vmalloc" {
	known vmalloc vmalloc "$want"
	about "$(owner vmalloc where_work)" "$want"
	jq -e 'any(.rows[]; .owner == "array_map_alloc" and .detail == "arrays of BPF")' after >/dev/null
}

# The kernel uses pages again that it kept when others freed theirs, some MiB: so it takes much to see 1 %
# (of 128 MiB in a guest 5.10 had 2 MiB in store).
@test "where: an array of BPF for each CPU, in percpu" {
	cpus=$(getconf _NPROCESSORS_CONF)
	for _ in 1 2 3 4 5 6; do
		ledger before
		hold percpu $((want * 4 / cpus))
		ledger after
		hold_end
		about "$(moved percpu)" $((want * 4 / cpus * cpus)) && return 0
		short=$((want * 4 / cpus * cpus - $(moved percpu)))
		if [ -n "${MEMWHY_VM-}" ] && [ "$short" -ge 0 ] && [ "$short" -le $((2 << 20)) ]; then return 0; fi
	done
	false
}

# These have no counter: they are what the rest is.
@test "where: pages that the network code takes for a ring of packets" {
	known packets rest "$want"
	about "$(owner rest where_work)" "$want"
	mostly rest | grep -E '\(pid [0-9]+\)'
}

# A module of our own is loaded in guests only: tests/vm/module builds it.
@test "where: pages that a driver takes, and its code" {
	module=${BUILD:-build}/vm/take_pages-$(uname -r).ko
	[ -n "${MEMWHY_VM-}" ] && [ -e "$module" ] || skip "no module was built for this kernel (tests/vm/module)"
	for _ in 1 2 3; do
		ledger before
		busybox insmod "$module" mib=$((want >> 20))
		ledger after
		busybox rmmod take_pages
		ledger freed
		echo "rest rose by $(moved rest), and by $(($(bytes freed rest) - $(bytes before rest))) once it was unloaded"
		if only rest "$want"; then found=1 && break; fi
	done
	[ "${found-}" = 1 ]
	off=$(($(bytes freed rest) - $(bytes before rest)))
	[ $((${off#-} * 100)) -le "$want" ]
	memwhy_start where --taken --for 120s
	busybox insmod "$module" mib=$((want >> 20))
	sleep 1
	memwhy_stop
	busybox rmmod take_pages
	jq -c '.rows[] | select(.table == "taken" and .bytes > 1e6)' "$json"
	about "$(jq '[.rows[] | select(.table == "taken" and .row == "rest" and (.code | test("take_pages"))) | .bytes] | add' "$json")" "$want"
}

@test "where: buffers of perf events, and who maps them" {
	known perf rest "$want"
	about "$(owner rest where_work)" "$want"
}

# No process maps them any more, and AnonPages has them no more.
@test "where: anonymous pages that were given to pipes" {
	known gifts pipes "$((want / 2))"
	about "$(owner pipes where_work)" "$((want / 2))"
}

# Kernels to 6.9 take powers of two: 4 MiB a ring.
@test "where: rings of io_uring, and whose they are" {
	[ "$(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null || echo 0)" -eq 0 ] || skip "io_uring is disabled"
	size=$((8 * 3280896))
	for _ in 1 2 3 4 5 6; do
		ledger before
		hold rings "$size"
		ledger after
		known=$(grep -c '^SqMask' "/proc/$holder/fdinfo/3" || true)
		hold_end
		whole_look || continue
		[ "$known" -eq 0 ] || [ "$(owner rest where_work)" -eq "$size" ]
		[ "$known" -eq 0 ] || [ "$(mostly rest)" != null ] # others may have more
		got=$(moved rest)
		if [ "$got" -ge $((size * 99 / 100)) ] && [ "$got" -le $((33 << 20)) ]; then return 0; fi
		echo "rest moved by $got"
	done
	false
}

@test "where: a zram device that is no swap, and what it is used for" {
	[ -z "${MEMWHY_VM-}" ] || busybox modprobe zram
	[ -w /sys/block/zram0/disksize ] && [ "$(</sys/block/zram0/disksize)" = 0 ] || skip "needs a zram device that is not in use"
	for _ in 1 2 3; do
		ledger before
		echo 200M >/sys/block/zram0/disksize
		dd if=/dev/urandom of=/dev/zram0 bs=1M count=$((want >> 20)) oflag=direct status=none
		ledger after
		jq -r '.rows[] | select(.owner == "/dev/zram0") | .detail' after >detail
		echo 1 >/sys/block/zram0/reset
		cat detail
		grep -q "not mounted here; stores" detail
		if only compressed_swap "$want"; then return 0; fi
	done
	false
}

# files ROW FILE: bytes and state of it, in the file after
files() {
	jq -r --arg row "$1" --arg file "$2" '.rows[] | select(.table == "files" and .row == $row and .file == $file) | "\(.bytes) \(.state)"' after
}

can_walk() {
	"$MEMWHY" where --files -o json --out after --force
	jq -e '[.not_checked[]?, .notes[]?] | any(test("files in memory")) | not' after >/dev/null ||
		skip "$(jq -r '[.not_checked[]?, .notes[]?][] | select(test("files in memory"))' after)"
}

@test "where --files: the pages of a file in memory are what mincore and cachestat count" {
	can_walk
	needs_disk
	path=$(mktemp -p "$disk" where-file.XXXXXX)
	head -c "$want" /dev/zero >"$path"
	for _ in 1 2 3 4 5 6; do
		"$MEMWHY" where --files -o json --out after --force
		read -r mincore cachestat < <("$WORKLOADS/where_work" resident "$path")
		read -r got _ < <(files page_cache "$path") || got=0
		echo "$got, mincore $((mincore * 4096)), cachestat $((cachestat * 4096))"
		[ "$cachestat" -eq -1 ] || [ "$cachestat" -eq "$mincore" ] || continue
		if [ "$got" -eq $((mincore * 4096)) ] && [ "$got" -gt 0 ]; then found=1 && break; fi
	done
	rm "$path"
	[ "${found-}" = 1 ]
	# The rows of the mounts are the row of the ledger.
	off=$(jq '[.rows[] | select(.table == "mounts" and .row == "page_cache" and .mount == null) | .bytes] | add' after)
	[ "${off#-}" -le $(($(bytes after page_cache) / 4)) ]
}

@test "where --files: a file that was removed and is open" {
	can_walk
	needs_disk
	path=$disk/where-removed.$$
	for _ in 1 2 3 4 5 6; do
		hold deleted "$want" "$path"
		"$MEMWHY" where --files -o json --out after --force
		hold_end
		read -r got state < <(files page_cache "$path") || got=0
		echo "$got $state"
		if [ "$got" -eq "$want" ]; then break; fi
	done
	[ "$got" -eq "$want" ]
	[ "$state" = "removed, open" ]
}

# There a name keeps a file in memory as an open file does.
@test "where --files: a file in a ramfs is not told to be open, and none of it can be reclaimed" {
	can_walk
	mkdir mount
	mount -t ramfs none mount
	mounted=$PWD/mount
	path=$mounted/file
	reclaimable() { jq '.rows[] | select(.row == "page_cache" and .table == "ledger") | .bytes - .reclaimable_bytes' "$1"; }
	for _ in 1 2 3 4 5 6; do
		rm -f "$path"
		ledger before
		head -c "$want" /dev/zero >"$path"
		"$MEMWHY" where --files -o json --out after --force
		read -r got state < <(files page_cache "$path")
		echo "$got $state, kept: $(reclaimable before) $(reclaimable after)"
		[ "$got" -eq "$want" ]
		[ "$state" = null ]
		if about $(($(reclaimable after) - $(reclaimable before))) "$want"; then kept=1 && break; fi
	done
	[ "${kept-}" = 1 ]
}

@test "where --files: segments, memfd and files in tmpfs by name" {
	can_walk
	hold memfd "$want"
	mkdir mnt
	mount -t tmpfs -o size=200m tmpfs mnt
	mounted=$PWD/mnt
	mkdir mnt/below # and in it a file that is among the largest, of which 200 are told
	head -c 67108864 /dev/zero >mnt/below/file
	"$MEMWHY" where --files -o json --out after --force
	hold_end
	files shared_memory memfd:where_work
	[ "$(files shared_memory memfd:where_work)" = "$want open" ]
	[ "$(files tmpfs "$mounted/below/file")" = "67108864 null" ]
	# what this report answers is not asked for again
	jq -e '(.next // []) | all(test("--files") | not)' after >/dev/null
	jq -e --arg mount "$mounted" 'any(.rows[]; .table == "mounts" and .mount == $mount and .files == 1 and .bytes == 67108864)' after >/dev/null
}

@test "where: a thousand control groups that were removed, and the files that keep them" {
	mount=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/mounts)
	mount=${mount:-$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)}
	[ -n "$mount" ] || skip "no control groups"
	[ "$(stat -c %i "$mount")" -eq 1 ] || skip "only a part of the hierarchy is mounted here"
	groups=${MEMWHY_VM:+150}
	groups=${groups:-1000}
	mkdir mnt
	mount -t tmpfs -o size=20m tmpfs mnt
	mounted=$PWD/mnt
	# A page of a file that stays keeps each group.
	bash -c 'for i in $(seq "$1"); do
		mkdir "$2/memwhy-where-$$-$i"
		echo $$ >"$2/memwhy-where-$$-$i/cgroup.procs"
		echo x >"mnt/$i"
		echo $$ >"$2/cgroup.procs"
		rmdir "$2/memwhy-where-$$-$i"
	done' - "$groups" "$mount"
	"$MEMWHY" where --files -o json --limit 0 --out after --force
	jq -c '.rows[] | select(.table == "dying")' after
	if grep -q ' lru_reparent_memcg$' /proc/kallsyms; then # pages go to the group above: they keep none
		jq -e --argjson n "$groups" 'any(.rows[]; .table == "ledger") and
			all(.rows[]; .table != "removed_groups" and (.table != "dying" or .dying_groups < $n))' after >/dev/null
		return
	fi
	jq -e --argjson n "$groups" 'any(.rows[]; .table == "dying" and .dying_groups >= $n and .kernel_bytes > $n * 11264)' after
	jq -e 'any([.not_checked[]?, .notes[]?][]; test("inodes"))' after >/dev/null && return 0
	jq -e --arg dir "$mounted" '[.rows[] | select(.table == "removed_groups" and (.removed_group | startswith("memwhy-where")))]
		| length >= 100 and all(.[]; .files >= 1 and .bytes >= 4096 and (.file | startswith($dir)))' after
}

@test "where --taken: pages that no counter knows are charged to the code that took them" {
	memwhy_start where --taken --for 60s
	hold packets $((64 << 20))
	sleep 1 # rows have no change over less than half a second
	memwhy_stop
	hold_end
	jq -c '.rows[] | select(.table == "taken" and .bytes > 1e6)' "$json"
	jq -e '[.rows[] | select(.table == "taken" and .row == "rest" and (.code | test("packet_set_ring"))) | .bytes] | add |
		. >= 67108864 and . <= 68000000' "$json"
	grown=$(jq '.rows[] | select(.table == "ledger" and .row == "rest") | .change_bytes' "$json")
	echo "rest grew by $grown"
	[ "$grown" -gt $((56 << 20)) ]
	[ "$grown" -lt $((80 << 20)) ]
	run "$MEMWHY" where --taken
	[ "$status" -eq 2 ]
}
