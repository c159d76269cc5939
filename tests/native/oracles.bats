#!/usr/bin/env bats
# User stacks of programs by other compilers, of servers and of code made at run time, next to gdb's
# and to what the program itself says. Skipped where one is not installed (tools/deps oracles).
# bats file_tags=beside,host
load common
load oracle

setup() {
	needs_root
}

teardown() {
	common_teardown
	[ -z "${data:-}" ] || rm -rf "$data"
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

# Writes at 20 depths, three times each.
go_job() {
	cat >"$BATS_TEST_TMPDIR/job.go" <<-EOF
		package main
		import "os"
		var word = []byte("x")
		//go:noinline
		func down(n int) int {
			if n > 0 { return down(n-1) + 1 }
			os.Stderr.Write(word)
			return 0
		}
		func main() {
			os.Stdin.Read(make([]byte, 1))
			for i := 0; i < 60; i++ { down(i % 20) }
		}
	EOF
	HOME=$BATS_TEST_TMPDIR GOFLAGS=-mod=mod GO111MODULE=off go build -o "$BATS_TEST_TMPDIR/job" "$BATS_TEST_TMPDIR/job.go"
}

@test "stacks: a Go program, which has frame pointers and no call-frame information" {
	type go >/dev/null || skip "needs go"
	go_job
	echo >"$BATS_TEST_TMPDIR/input"
	"$MEMWHY" count syscalls:sys_enter_write --stacks=user -o json --limit 0 --out "$BATS_TEST_TMPDIR/report" -- \
		"$BATS_TEST_TMPDIR/job" <"$BATS_TEST_TMPDIR/input"
	jq -r '.notes[]?' "$BATS_TEST_TMPDIR/report"
	# Each of the 20 depths three times, down to main.main; the first ones before it was looked at.
	jq -e '[.rows[] | select(.stack | tostring | test("main.down")) |
		{count, n: ([.stack[] | select(test("main[.]down"))] | length),
		 main: any(.stack[]; test("main[.]main"))}]
		| all(.[]; .main) and ([group_by(.n)[] | [.[0].n, (map(.count) | add)]] == [range(1; 21) | [., 3]])' \
		"$BATS_TEST_TMPDIR/report"
}

# go_names PROGRAM: the stacks of its writes, by names of functions alone.
go_names() {
	"$MEMWHY" count syscalls:sys_enter_write --stacks=user --no-lines -o json --limit 0 --out "$1.report" -- \
		"$1" <"$BATS_TEST_TMPDIR/input"
	jq -c '[.rows[] | select(.stack | tostring | test("main.down")) |
		{count, stack: [.stack[] | sub("[+]0x.*"; "") | sub("[.]abi0$"; "")]}]
		| group_by(.stack) | map({stack: .[0].stack, count: (map(.count) | add)})' "$1.report"
}

@test "stacks: a Go program without symbols has the names of one with them, and lines" {
	type go >/dev/null || skip "needs go"
	go_job
	echo >"$BATS_TEST_TMPDIR/input"
	strip -o "$BATS_TEST_TMPDIR/stripped" "$BATS_TEST_TMPDIR/job"
	[ -z "$(readelf -SW "$BATS_TEST_TMPDIR/stripped" | grep -E '[.](symtab|debug|zdebug)')" ]
	full=$(go_names "$BATS_TEST_TMPDIR/job")
	stripped=$(go_names "$BATS_TEST_TMPDIR/stripped")
	diff <(jq . <<<"$full") <(jq . <<<"$stripped")
	jq -e 'length == 20 and all(.[]; .count == 3) and all(.[]; .stack | index("main.main"))' <<<"$stripped"
	"$MEMWHY" count syscalls:sys_enter_write --stacks=user -o json --limit 0 --out "$BATS_TEST_TMPDIR/report" -- \
		"$BATS_TEST_TMPDIR/stripped" <"$BATS_TEST_TMPDIR/input"
	jq -e '[.rows[].stack[]? | select(startswith("main."))] | unique |
		any(. == "main.main (job.go:12)") and any(. == "main.down (job.go:6)")' "$BATS_TEST_TMPDIR/report"
}

@test "stacks: PostgreSQL, next to gdb" {
	postgres=$(ls /usr/lib/postgresql/*/bin/postgres 2>/dev/null | tail -n 1)
	[ -n "$postgres" ] || skip "needs postgresql"
	data=$(mktemp -d /var/tmp/memwhy-oracle.XXXXXX)
	chown nobody "$data"
	setpriv --reuid nobody --clear-groups "${postgres%/*}/initdb" -D "$data" -N -A trust >/dev/null
	for i in $(seq 30); do echo "select pg_notify('a', '$i'), count(*) from pg_class a, generate_series(1, 2) b"; done >"$BATS_TEST_TMPDIR/input"
	program_holds write "$BATS_TEST_TMPDIR/input" setpriv --reuid nobody --clear-groups "$postgres" --single -D "$data" postgres
}

nginx_asked() {
	for i in $(seq 30); do
		curl -s --unix-socket "$data/socket" "http://host/$((i % 3))/$i" >/dev/null
	done
	kill -QUIT "$pid"
}

@test "stacks: nginx, next to gdb" {
	type nginx curl >/dev/null || skip "needs nginx and curl"
	data=$(mktemp -d /var/tmp/memwhy-oracle.XXXXXX)
	cat >"$data/conf" <<-EOF
		daemon off; master_process off; pid $data/pid; error_log $data/error;
		events {}
		http {
			access_log off;
			gzip on; gzip_min_length 1; gzip_types *;
			client_body_temp_path $data/a; proxy_temp_path $data/b; fastcgi_temp_path $data/c;
			uwsgi_temp_path $data/d; scgi_temp_path $data/e;
			server {
				listen unix:$data/socket;
				location /0/ { return 200 "text"; }
				location /1/ { try_files /none /0/x; }
				location /2/ { root $data; }
			}
		}
	EOF
	nginx -c "$data/conf" >"$BATS_TEST_TMPDIR/nginx.out" 2>&1 3>&- &
	pid=$!
	wait_for '[ -S "$data/socket" ]'
	process_holds writev nginx_asked
}
