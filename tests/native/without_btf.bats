#!/usr/bin/env bats
# Kernels without BTF: each command of a probe works, by classic tracepoints. The other tests of these
# kernels are those of counts, in guests without BTF.
load common

setup() {
	needs_root
	mkdir "$BATS_TEST_TMPDIR/none"
}

# Runs it where the kernel's BTF is not seen.
without_btf() {
	unshare --mount sh -c 'mount --bind "$0" /sys/kernel/btf && exec "$@"' "$BATS_TEST_TMPDIR/none" "$@"
}

@test "doctor and the commands of probes work without kernel BTF" {
	[ ! -e "$BATS_TEST_TMPDIR/none/vmlinux" ]
	without_btf "$MEMWHY" doctor >"$BATS_TEST_TMPDIR/doctor"
	for command in faults reclaim frag stalls thp swap oom compaction pages maps syscalls; do
		without_btf "$MEMWHY" "$command" --for 100ms -o json --out "$BATS_TEST_TMPDIR/$command"
		jq -e ".methods.$command != null" "$BATS_TEST_TMPDIR/$command"
	done
}
