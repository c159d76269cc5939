#!/usr/bin/env bats
# All supported kernels, with the native tests that depend on the kernel; NUMA; cgroup v1 and v2; kinds
# of swap; no BTF. What the native tests said is in build/vm, a file a guest: tests/vm/table shows it.
load guest

GUEST_SECONDS=14400 # a native test takes some seconds in a guest, and there are 200

@test "vm 5.10: native tests" {
	guest_native 5.10 5.10 . -m 1G -s 256M
}

@test "vm 6.1: native tests" {
	tests/vm/module 6.1 || true # without it a test says that it was skipped
	guest_native 6.1 6.1 . -m 1G -s 256M
}

@test "vm 6.12: native tests" {
	guest_native 6.12 6.12 . -m 1G -s 256M
}

@test "vm newest: native tests" {
	guest_native newest newest . -m 1G -s 256M
}

@test "vm 6.1 with cgroup v1: native tests of groups" {
	guest_native 6.1-v1 6.1 '^commands|scope|^reclaim|^stalls|limit|^oom|^swap|failed allocations' -m 1G -s 256M --cgroup v1
}

@test "vm 6.12 with 2 nodes: native tests of nodes" {
	guest_native 6.12-2nodes 6.12 '^commands|^policy|^numa|^nodes' -n 2 -m 1G
}

@test "vm newest with 4 nodes: native tests of nodes" {
	guest_native newest-4nodes newest '^policy|^numa|^nodes' -n 4 -m 1G
}

# Of each probe what holds its counts against the kernel's; and what has a way of its own without BTF.
NO_BTF='^commands|the count is|equal|counts? equal|without kernel BTF|32-bit|no-times|runs programs|are counted|is counted'

@test "vm 5.10 without kernel BTF: native tests of counts" {
	guest_native 5.10-nobtf 5.10 "$NO_BTF" -m 1G -s 256M --btf no
}

@test "vm 6.12 without kernel BTF: native tests of counts" {
	guest_native 6.12-nobtf 6.12 "$NO_BTF" -m 1G -s 256M --btf no
}

# Debian 12's systemd-oomd, which is unpacked, not installed: it would be at work on this machine then.
@test "vm 6.12: what a real systemd-oomd kills is told apart from the kernel's kills" {
	oomd=${BUILD:-build}/vm/oomd
	if [ ! -e "$oomd/lib/systemd/systemd-oomd" ]; then
		mkdir -p "$oomd"
		(cd "$oomd" && apt-get download systemd-oomd && dpkg -x systemd-oomd_*.deb .) || skip "systemd-oomd cannot be fetched"
	fi
	ldd "$oomd/lib/systemd/systemd-oomd" | grep -q 'not found' && skip "systemd-oomd needs the libraries of systemd 252"
	guest 6.12 -m 1G -s 256M -- env MEMWHY="$MEMWHY" tests/vm/oomd "$oomd/lib/systemd/systemd-oomd"
	[ "$status" -eq 0 ]
	[ "${lines[-1]}" = "told apart" ]
}

@test "no native test is skipped in all guests that it ran in" {
	run tests/vm/table --check "${BUILD:-build}"/vm/[0-9n]*.tap
	echo "$output"
	! grep -q '^skipped wherever' <<<"$output" || false
}
