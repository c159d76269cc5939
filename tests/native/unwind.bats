#!/usr/bin/env bats
# The walk over user stacks in BPF by DWARF unwind tables, on this kernel: the frames are libgcc's.
# bats file_tags=beside
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
	run "$UNWIND" "$UNWIND.bpf.o" 7 files
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(grep -c "method='exact' same=1" <<<"$output")" -eq 2 ]
}

@test "stacks that came before the tables are walked when these are there, and are the same" {
	for depth in 0 7 60; do
		run "$UNWIND" "$UNWIND.bpf.o" "$depth" late
		echo "$output"
		[ "$status" -eq 0 ]
		grep -q "^too early: .*method='frame pointers: tables not ready yet'" <<<"$output"
		[ "$(grep -c "^late.*method='exact' same=1" <<<"$output")" -eq 2 ]
		grep -qx 'walked=2' <<<"$output"
	done
}

@test "the first stacks of a program that nobody has seen are exact" {
	# A library of its own, which no process has mapped before; it ends in some ms.
	cd "$BATS_TEST_TMPDIR"
	cat >lib.c <<-'EOF'
		#include <stdlib.h>
		#include <string.h>
		__attribute__((noinline)) void touch(char *at) { memset(at, 1, 4096); }
		__attribute__((noinline)) int deeper(char *at, int n) { int r = n ? deeper(at, n - 1) + 1 : (touch(at), 0); return r; }
		int work(void) { char *at = malloc(400 << 12); int sum = 0; for (int i = 0; i < 400; i++) sum += deeper(at + (i << 12), 9); return sum; }
	EOF
	echo 'int work(void); int main(void) { return work() != 3600; }' >main.c
	gcc -O2 -fno-optimize-sibling-calls -fomit-frame-pointer -shared -fPIC -o libfirst.so lib.c
	gcc -O2 -o first main.c -L. -lfirst -Wl,-rpath,"$PWD"
	"$MEMWHY" faults --stacks=user -o json --out report.json -- sh -c ./first
	jq -c .notes report.json
	jq '[.rows[] | select(.comm == "first" and (.stack_method // "exact") == "exact") | [.stack[]? | split("+")[0]]
		as $f | select([$f[] | select(. == "deeper")] == [range(10) | "deeper"] and ($f | index("main"))) | .count] | add // 0' \
		report.json | tee exact
	[ "$(cat exact)" -ge 395 ]
}

@test "the kernel's tree of mappings, read without its lock, is /proc/self/maps" {
	run "$UNWIND" "$UNWIND.bpf.o" tree
	echo "$output"
	[ "$status" -eq 0 ]
	grep -q "^mappings=[0-9]* bad=0$" <<<"$output"
}

@test "the verifier has little to do" {
	run "$UNWIND" "$UNWIND.bpf.o" 0
	echo "$output"
	[ "$(sed -n 's/.*verified_insns=//p' <<<"$output")" -lt 50000 ]
}

@test "what was noted of a process is not taken for its child's, however often either changed" {
	grep -q bpf_iter_task_vma_new /sys/kernel/btf/vmlinux || skip "needs an iterator over mappings (6.7)"
	run "$UNWIND" "$UNWIND.bpf.o" fork
	echo "$output"
	[ "$status" -eq 0 ]
	grep -q "^in a fork: .*method='frame pointers: tables not ready yet'" <<<"$output"
}

@test "tables that made room for others: stacks are not called exact, until they are made again" {
	run "$UNWIND" "$UNWIND.bpf.o" dropped
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(sed -n 's/^dropped=\([0-9]*\) .*/\1/p' <<<"$output")" -gt 3 ]
	grep -q "^unused: .*method='exact' same=1" <<<"$output"
	grep -q "^dropped: .*method='frame pointers: tables not ready yet'" <<<"$output"
	grep -q "^made again: .*method='exact' same=1" <<<"$output"
}

@test "a script: its interpreter has its tables before it begins" {
	command -v perl >/dev/null || skip "needs perl"
	cd "$BATS_TEST_TMPDIR"
	for line in "$(type -P perl)" "/usr/bin/env -S X=1 perl"; do
		printf '#!%s\nmy @a = (1 .. 100000);\n' "$line" >script
		chmod +x script
		"$MEMWHY" faults --stacks=user -o json --out report.json -- ./script
		jq -c .notes report.json
		jq -e '[.notes[] | select(test("user stacks: [0-9.]+ % exact"))] | length == 1' report.json
		# Where the mappings of a process cannot be looked up by BPF programs, its first stacks wait; where
		# they can, there are moments at which they cannot, which a guest has in plenty.
		grep -q bpf_iter_task_vma_new /sys/kernel/btf/vmlinux && most=${MEMWHY_VM:+0.3} || most=1
		most=${most:-0}
		jq -e --argjson most "$most" '[.notes[] | capture("(?<share>[0-9.]+) % by frame pointers only").share | tonumber]
			| add // 0 | . <= $most' report.json
	done
}

# loads_hold PROBE: its programs load with the walk, and none is too much for the verifier.
loads_hold() {
	out=$BATS_TEST_TMPDIR/${1//[ \/]/-}
	# shellcheck disable=SC2086 # two words
	VERIFIER_OUT=$out.loads "$loads" $1 --stacks --for 10ms -o json --out "$out" || return 1
	# Older kernels count the stacks of nested calls in larger steps: none is too large.
	jq -e --arg probe "$1" '[.notes[]? | select(test("most programs lack")) | $probe + ": " + .] | if . == [] then true else error(.[0]) end' "$out" || return 1
	awk -F '\t' -v probe="$1" '
		$2 == 0 && $4 > most { most = $4; name = $1 }
		END { print probe ": " name " " most; exit !(most > 0 && most < 200000) }' "$out.loads"
}

@test "no program of a probe comes near what the verifier allows: 1,000,000 instructions looked at" {
	export loads=${BUILD:-$BATS_TEST_DIRNAME/../../build}/bench/loads
	[ -x "$loads" ] || skip "needs bench/loads, which is not built with sanitizers"
	export -f loads_hold jq
	# shellcheck disable=SC2016 # expanded by that shell
	printf '%s\n' thp stalls 'leak --kernel' faults maps policy pages slab frag compaction reclaim swap oom numa \
		syscalls 'count sched:sched_process_fork' check 'limit -g /' |
		xargs -P "$(nproc)" -I {} bash -c 'loads_hold "$1"' - {}
}
