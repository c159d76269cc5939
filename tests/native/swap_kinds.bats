#!/usr/bin/env bats
# Swap that is no disk, against the kernel's own counts: swap-ins from zram have no bio, and what zswap
# holds comes back without any. In guests, as both are settings of the whole machine.
load common

setup() {
	[ -n "$MEMWHY_VM" ] || skip "changes settings of the machine: only in a guest of its own (make check-vm)"
	cd "$BATS_TEST_DIRNAME/../.." || exit 1
}

# What was on before, again.
swap_restore() {
	echo N >/sys/module/zswap/parameters/enabled
	swapoff -a
	[ ! -b /dev/vda ] || swapon /dev/vda
}

@test "swap: from zram swap-ins equal pswpin" {
	swapoff -a
	busybox modprobe zram
	wait_for '[ -b /dev/zram0 ]'
	echo 64M >/sys/block/zram0/disksize
	mkswap /dev/zram0 >/dev/null
	swapon /dev/zram0
	run tests/workloads/swap_verify "$MEMWHY" "$WORKLOADS/swap_walk" -a 20 -l 10 -r 1
	swap_restore
	busybox modprobe -r zram
	echo "$output"
	[ "$status" -eq 0 ]
	grep -q '^pswpin [1-9]' <<<"$output"
	# Until 6.4 the kernel reads such a device by a call of its own.
	[[ ! $(uname -r) =~ ^(5\.|6\.[0-4]\.) ]] || grep -q 'kprobes bdev_read_page' <<<"$output"
}

@test "swap: what comes back from zswap equals zswpin" {
	grep -q '^zswpin ' /proc/vmstat || skip "the kernel does not count what comes back from zswap (6.0)"
	needs_swap
	echo Y >/sys/module/zswap/parameters/enabled
	run tests/workloads/swap_verify "$MEMWHY" "$WORKLOADS/swap_walk" -z -a 20 -l 10 -r 1
	swap_restore
	echo "$output"
	[ "$status" -eq 0 ]
	grep -q '^zswpin [1-9]' <<<"$output"
}
