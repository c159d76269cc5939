#!/usr/bin/env bats
# All supported kernels, with the native tests that depend on the kernel; NUMA; cgroup v1 and v2; kinds
# of swap; no BTF. What the native tests said is in build/vm, a file a guest: tests/vm/table shows it.
load guest

GUEST_SECONDS=14400 # a native test takes some seconds in a guest, and there are 200

@test "vm 5.10: native tests" {
	guest_native 5.10 5.10 . -m 1G -s 256M
}

@test "vm 6.1: native tests" {
	guest_native 6.1 6.1 . -m 1G -s 256M
}

@test "vm 6.12: native tests" {
	guest_native 6.12 6.12 . -m 1G -s 256M
}

@test "vm newest: native tests" {
	guest_native newest newest . -m 1G -s 256M
}

@test "vm 6.1 with cgroup v1: native tests of groups" {
	guest_native 6.1-v1 6.1 'scope|^reclaim|^stalls|limit|^oom|^swap|failed allocations|working set' -m 1G -s 256M --cgroup v1
}

@test "vm 6.12 with 2 nodes: doctor, frag and check name both" {
	guest 6.12 -n 2 -m 1G -- sh -c "$MEMWHY doctor && $MEMWHY frag --for 1s -o csv --fields node && $MEMWHY check --for 3s"
	[ "$status" -eq 0 ]
	grep -q '2 nodes' <<<"$output"
	grep -qx 1 <<<"$output"
	! grep -q 'NUMA placement: this host has one node' <<<"$output" || false
}

@test "vm 6.12 with 2 nodes: compaction names both" {
	guest 6.12 -n 2 -m 1G -- sh -c "(sleep 5; echo 1 >/proc/sys/vm/compact_memory) & $MEMWHY compaction --for 10s --by node,kind -o csv --table compaction --fields node,kind"
	[ "$status" -eq 0 ]
	grep -qx '0,requested' <<<"$output"
	grep -qx '1,requested' <<<"$output"
}

@test "vm 6.12 with 2 nodes: slab tells which objects were freed on the other" {
	guest 6.12 -n 2 -m 1G -- sh -c "$MEMWHY slab --by live --for 3s -o csv --table crossings"
	[ "$status" -eq 0 ]
	grep -qE '^[0-9]+,[0-9]+,(0,1|1,0),[1-9]' <<<"$output"
}

@test "vm 6.12 with 2 nodes: native tests of policy and numa" {
	guest_native 6.12-2nodes 6.12 '^policy|^numa' -n 2 -m 1G
}

@test "vm newest with 4 nodes: native tests of policy and numa" {
	guest_native newest-4nodes newest '^policy|^numa' -n 4 -m 1G
}

@test "vm 5.10 without kernel BTF: the commands of probes work" {
	guest 5.10 -m 1G -- sh -c "mkdir -p /tmp/none && mount --bind /tmp/none /sys/kernel/btf && $MEMWHY doctor && for c in faults reclaim frag stalls thp swap oom compaction pages maps syscalls; do $MEMWHY \$c --for 1s || exit; done"
	[ "$status" -eq 0 ]
}

@test "vm 5.10 and 6.12 without kernel BTF: system calls of 32-bit code are told apart" {
	for kernel in 5.10 6.12; do
		guest "$kernel" -m 1G -- sh -c "mkdir -p /tmp/none && mount --bind /tmp/none /sys/kernel/btf && MEMWHY=$MEMWHY BUILD=$BUILD bats --tap -f '32-bit|no-times|structures|runs programs' tests/native/syscalls.bats"
		[ "$status" -eq 0 ]
		grep -q '^ok .*32-bit' <<<"$output"
	done
}

@test "vm 5.10 and 6.1 with zram: swap-ins without a bio equal pswpin" {
	for kernel in 5.10 6.1; do
		guest "$kernel" -m 1G -- sh -c "busybox modprobe zram && sleep 1 && echo 256M >/sys/block/zram0/disksize && mkswap /dev/zram0 && swapon /dev/zram0 && tests/workloads/swap_verify $MEMWHY $BUILD/tests/workloads/swap_walk -a 20 -l 10 -r 1"
		[ "$status" -eq 0 ]
		grep -q 'kprobes bdev_read_page' <<<"$output"
		grep -q '^pswpin [1-9]' <<<"$output"
	done
}

@test "vm 6.1, 6.12 and newest with zswap: what comes back from it equals zswpin" {
	for kernel in 6.1 6.12 newest; do
		guest "$kernel" -m 1G -s 256M -- sh -c "echo 1 >/sys/module/zswap/parameters/enabled && tests/workloads/swap_verify $MEMWHY $BUILD/tests/workloads/swap_walk -z -a 20 -l 10 -r 1"
		[ "$status" -eq 0 ]
		grep -q '^zswpin [1-9]' <<<"$output"
	done
}

@test "vm 6.12 without kprobes: count has functions of the kernel by fentry" {
	guest 6.12 -m 1G -- sh -c "mkdir -p /tmp/none && mount --bind /tmp/none /sys/bus/event_source/devices/kprobe && $MEMWHY count k:vfs_read --by comm -v -- dd if=/dev/zero of=/dev/null bs=1 count=50"
	[ "$status" -eq 0 ]
	grep -q 'events: 1 fentry' <<<"$output"
	grep -Eq 'k:vfs_read +dd +5[0-9]' <<<"$output"
}

@test "no native test is skipped in all guests that it ran in" {
	run tests/vm/table --check "${BUILD:-build}"/vm/[0-9n]*.tap
	echo "$output"
	! grep -q '^skipped wherever' <<<"$output" || false
}
