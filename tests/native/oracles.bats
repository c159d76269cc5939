#!/usr/bin/env bats
# User stacks of programs by other compilers, next to gdb's. Skipped where a compiler is not
# installed (tools/deps oracles).
load common
load oracle

setup() {
	needs_root
}

@test "stacks: a Rust program, optimised, next to gdb" {
	type rustc >/dev/null || skip "needs rustc"
	cat >"$BATS_TEST_TMPDIR/job.rs" <<-EOF
		use std::io::{Read, Write};
		trait Job { fn run(&self, n: u32); }
		struct Down;
		struct Over<'a>(&'a dyn Job);
		impl Job for Down {
		    fn run(&self, n: u32) {
		        if n > 0 { std::hint::black_box(Over(self)).run(n - 1) } else { std::io::stderr().write_all(b"x").unwrap() }
		    }
		}
		impl Job for Over<'_> {
		    fn run(&self, n: u32) { (0..1).for_each(|_| std::hint::black_box(self.0).run(n)) }
		}
		fn main() {
		    std::io::stdin().read_exact(&mut [0]).unwrap();
		    for i in 0..60 { std::hint::black_box(&Down as &dyn Job).run(i % 20) }
		}
	EOF
	rustc -O -C panic=unwind -o "$BATS_TEST_TMPDIR/job" "$BATS_TEST_TMPDIR/job.rs"
	echo >"$BATS_TEST_TMPDIR/input"
	program_holds write "$BATS_TEST_TMPDIR/input" "$BATS_TEST_TMPDIR/job"
}

@test "stacks: clang compiles, next to gdb" {
	type clang >/dev/null || skip "needs clang"
	cat >"$BATS_TEST_TMPDIR/input" <<-EOF
		#include <stdio.h>
		int main(void) { return printf("x"); }
	EOF
	compiler=$(clang -### -x c -O2 -S -o "$BATS_TEST_TMPDIR/out.s" - 2>&1 | sed -n 's/^ "\([^"]*\)".*/\1/p' | head -n 1)
	mapfile -t args < <(clang -### -x c -O2 -S -o "$BATS_TEST_TMPDIR/out.s" - 2>&1 | sed -n '/^ "/ { s/^ "[^"]*" "//; s/"$//; s/" "/\n/g; p; }')
	program_holds newfstatat "$BATS_TEST_TMPDIR/input" "$compiler" "${args[@]}"
}
