#!/usr/bin/env bats
# Programs that leave their stacks in unusual ways, under `heap -- CMD`: whatever the tracker reads to
# tell who allocated, it must not fault, and their blocks add up.
# bats file_tags=beside,host
load common

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# runs_well PROGRAM ARGS...: it ends as it does without memwhy, and nothing of it is lost.
runs_well() {
	timeout 120 "$MEMWHY" heap -o json --out report.json -- sh -c '"$@"; echo "status $?"' - "$@" >out
	[ "$(cat out)" = $'done\nstatus 0' ] || { cat out; return 1; }
	jq -e '.lost.heap == 0 and all(.rows[] | select(.table == "process");
		.allocations == .frees + .live_blocks and .lost == 0)' report.json >/dev/null ||
		{ jq -c . report.json; return 1; }
}

# The allocations of stacks that have all these functions.
of_functions() {
	jq 'def has($f): any(.stack[]? | tostring; test("\\b" + $f + "\\b"));
		[.rows[] | select(.table == "heap") |
			select(all($ARGS.positional[] as $f | has($f); .)) | .allocations] | add // 0' \
		report.json --args "$@"
}

@test "heap: a handler on an alternate stack unmaps the stack it interrupted" {
	for seed in 1 2 3; do
		runs_well "$WORKLOADS/stack_switch" handler "$seed" 50
	done
}

@test "heap: a coroutine begun in a signal handler, whose interrupted stack is gone" {
	for seed in 1 2 3; do
		runs_well "$WORKLOADS/stack_switch" frame "$seed" 50
	done
}

@test "heap: a smaller stack where a larger one was, and a frame pointer that points past it" {
	runs_well "$WORKLOADS/stack_switch" reuse 1 20
}

@test "heap: coroutines, alternate stacks, stacks of the program's own and wild frame pointers, under a storm of signals" {
	for seed in $(seq "${MEMWHY_FUZZ_ROUNDS:-8}"); do
		runs_well "$WORKLOADS/stack_switch" storm "$seed" 200
	done
}

@test "heap: another thread takes outer frames of those that run away, and puts them back" {
	timeout 120 "$MEMWHY" heap -o json --out report.json -- \
		sh -c '"$@"; echo "status $?"' - "$WORKLOADS/stack_switch" outer 1 300 >out
	[ "$(cat out)" = $'done\nstatus 0' ] || { cat out; return 1; }
	# While they are away stacks end there; else they are as ever.
	[ "$(of_functions allocate dive deep_thread)" -gt 1000 ]
}

@test "heap: stacks that grow by pieces" {
	cat >split.c <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		static __attribute__((noinline)) int down(int n)
		{
			volatile char room[3000];
			void *p = malloc(n + 1);
			room[0] = 1;
			if (n)
				room[0] += down(n - 1);
			free(p);
			free(malloc(3));
			return room[0] & 1;
		}
		int main(void)
		{
			for (int i = 0; i < 100; i++)
				down(i % 60 * 2);
			puts("done");
			return 0;
		}
	END
	gcc -O1 -fsplit-stack -fno-builtin -o split split.c 2>err || skip "no split stacks: $(head -n1 err)"
	runs_well ./split
}

# The thread's own stack is known again after it grew, also below code that nothing tells of.
@test "heap: the frames of a deep stack are all told of, on a coroutine's too" {
	cat >deep.c <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		#include <ucontext.h>
		static ucontext_t home, other;
		__attribute__((noinline)) static void leaf(void)
		{
			free(malloc(10));
			__asm__ volatile("");
		}
		__attribute__((noinline)) static void down(int n)
		{
			char room[1500];
			__asm__ volatile("" : : "r"(room) : "memory");
			if (n)
				down(n - 1);
			else
				leaf();
			leaf();
			__asm__ volatile("");
		}
		__attribute__((noinline)) static void on_coroutine(void)
		{
			down(40);
			__asm__ volatile("");
		}
		int main(void)
		{
			static char stack[1 << 20];
			down(60);
			getcontext(&other);
			other.uc_stack.ss_sp = stack;
			other.uc_stack.ss_size = sizeof(stack);
			other.uc_link = &home;
			makecontext(&other, on_coroutine, 0);
			swapcontext(&home, &other);
			puts("done");
			return 0;
		}
	END
	gcc -O1 -g -fno-builtin -o deep deep.c
	runs_well ./deep
	# Of each depth a stack, all the way out.
	[ "$(of_functions leaf main _start)" -eq 62 ]
	[ "$(of_functions leaf on_coroutine)" -eq 42 ]
}
