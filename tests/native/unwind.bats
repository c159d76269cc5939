#!/usr/bin/env bats
# The walk over user stacks in BPF by call-frame tables, on this kernel: the frames are libgcc's.
load common

UNWIND=$(dirname "$WORKLOADS")/bpf/unwind

setup() {
	needs_root
}

@test "frames of a program without frame pointers, at several depths, and in a signal handler" {
	for depth in 0 7 60; do
		run "$UNWIND" "$UNWIND.bpf.o" "$depth"
		echo "$output"
		[ "$status" -eq 0 ]
		[ "$(grep -c "method='exact' same=1" <<<"$output")" -eq 2 ]
	done
}

@test "a stack deeper than a walk goes ends with its reason, and so far is right" {
	run "$UNWIND" "$UNWIND.bpf.o" 300
	echo "$output"
	[ "$status" -eq 0 ]
	grep -q "^here: frames=127 .*method='cut: more than 127 frames' same=1" <<<"$output"
}

@test "of a process that nobody has looked at: by the files that it has mapped" {
	grep -q bpf_iter_task_vma_new /sys/kernel/btf/vmlinux || skip "needs an iterator over mappings (6.7)"
	run "$UNWIND" "$UNWIND.bpf.o" 7 files
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(grep -c "method='exact' same=1" <<<"$output")" -eq 2 ]
}

@test "the verifier has little to do" {
	run "$UNWIND" "$UNWIND.bpf.o" 0
	echo "$output"
	[ "$(sed -n 's/.*verified_insns=//p' <<<"$output")" -lt 50000 ]
}
