#!/usr/bin/env bats
# Names of user frames wherever a program keeps what they come from, and of programs that are not
# where they were: seen through `count --stacks`, of a program that is built here in each form.
# bats file_tags=beside,host
load common

setup() {
	needs_root
	type gcc objcopy >/dev/null || skip "needs gcc and objcopy"
	cd "$BATS_TEST_TMPDIR" || return 1
	id=fe$(od -An -N 19 -tx1 /dev/urandom | tr -d ' \n')
	cat >job.c <<-EOF
		#include <stdio.h>
		#include <sys/syscall.h>
		#include <unistd.h>
		static volatile int sink;
		static inline __attribute__((always_inline)) void innermost(void) { sink += syscall(SYS_getppid); }
		static inline __attribute__((always_inline)) void middle(void) { innermost(); sink++; }
		__attribute__((noinline)) void outer(void) { middle(); sink++; }
		int main(void)
		{
			puts("ready");
			fflush(stdout);
			getchar();
			for (int i = 0; i < 10; i++)
				outer();
			puts("done");
			fflush(stdout);
			getchar();
		}
	EOF
}

teardown() {
	common_teardown
	[ -z "${server:-}" ] || kill "$server" 2>/dev/null || true
	rm -f "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
	rmdir "/usr/lib/debug/.build-id/${id:0:2}" 2>/dev/null || true
	[ -z "${elsewhere:-}" ] || rm -rf "$elsewhere"
}

job_build() { # OPTION...
	gcc -O2 -g -Wl,--build-id=0x"$id" -o full job.c "$@"
}

# Takes the debug information out of job (it is in full.debug then).
job_split() {
	objcopy --only-keep-debug full full.debug
	objcopy --strip-all full job
}

# job_starts COMMAND...: the program, which waits: $pid, its input on fd 7.
job_starts() {
	mkfifo in
	"$@" <in >said 3>&- &
	pid=$!
	exec 7>in
	wait_for 'grep -q ready said'
}

# What memwhy sees of it: $report. What the program does stands in the way of nothing.
job_seen() { # [OPTION...]
	report=$BATS_TEST_TMPDIR/report
	memwhy_run count syscalls:sys_enter_getppid --stacks=user -p "$pid" -o json --out "$report" "$@"
	echo >&7
	wait_for 'grep -q done said'
}

# Its report is written once it has ended.
job_ends() {
	exec 7>&-
	wait "$pid"
	wait "$memwhy" || { cat err; false; }
	frames=$(jq -r '[.rows[] | select(.count == 10)] | if length == 1 then .[0].stack[] else "rows: \(length)" end' "$report")
	echo "$frames"
}

# The whole stack, with inlined calls and lines: what the kernel was asked from (libc), then these.
all_is_named() {
	sed -n 2p <<<"$frames" | grep -qx 'innermost (job.c:5) \[inlined\]' || return 1
	sed -n 3p <<<"$frames" | grep -qx 'middle (job.c:6) \[inlined\]' || return 1
	sed -n 4p <<<"$frames" | grep -qx 'outer (job.c:7)' || return 1
	sed -n 5p <<<"$frames" | grep -qx 'main (job.c:14)'
}

functions_are_named() {
	sed -n 2p <<<"$frames" | grep -Eq '^outer\+0x' || return 1
	sed -n 3p <<<"$frames" | grep -Eq '^main\+0x'
}

# Only what is exported, which is nothing.
nothing_is_named() {
	[[ "$frames" != *outer* && "$frames" != *innermost* ]] || return 1
	sed -n 2p <<<"$frames" | grep -q job
}

job_shows() { # CONDITION [COMMAND...]
	rm -f in said
	job_starts "${@:2}"
	job_seen
	job_ends
	"$1"
}

@test "debug information: inlined calls and lines, in the program itself" {
	job_build
	job_shows all_is_named ./full
}

@test "debug information: of DWARF 4, and compressed by zlib or zstd" {
	job_build -gdwarf-4
	job_shows all_is_named ./full
	for how in zlib zlib-gnu zstd; do
		objcopy --compress-debug-sections=$how full job
		readelf -t job | grep -A 4 debug_info
		job_shows all_is_named ./job
	done
}

@test "debug information: taken out, below /usr/lib/debug by build-id" {
	job_build
	job_split
	mkdir -p "/usr/lib/debug/.build-id/${id:0:2}"
	cp full.debug "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
	job_shows all_is_named ./job
	# Not that of another program.
	gcc -O2 -g -Wl,--build-id=0xfeed -o other job.c
	objcopy --only-keep-debug other "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
	job_shows nothing_is_named ./job
}

@test "debug information: taken out, by .gnu_debuglink: beside, in .debug, below /usr/lib/debug" {
	job_build -Wl,--build-id=none
	job_split
	objcopy --add-gnu-debuglink=full.debug job
	job_shows all_is_named ./job
	mkdir .debug
	mv full.debug .debug
	job_shows all_is_named ./job
	elsewhere=/usr/lib/debug$BATS_TEST_TMPDIR
	mkdir -p "$elsewhere"
	mv .debug/full.debug "$elsewhere"
	job_shows all_is_named ./job
	printf x >>"$elsewhere/full.debug" # the sum in the link is another one now
	job_shows nothing_is_named ./job
}

@test "debug information: function names alone, from .gnu_debugdata" {
	type xz >/dev/null || skip "needs xz"
	job_build
	job_split
	objcopy --strip-debug full mini
	xz -c mini >mini.xz
	job_shows nothing_is_named ./job
	objcopy --add-section .gnu_debugdata=mini.xz job
	job_shows functions_are_named ./job
}

@test "debug information: what dwz shared: a path of any form, by build-id, and not there" {
	type dwz >/dev/null || skip "needs dwz"
	job_build
	gcc -O2 -g -DOTHER -o other job.c
	mkdir -p deep/shared
	for path in "$PWD/deep/shared/alt" ../deep/shared/alt; do
		job_split
		objcopy --only-keep-debug other other.debug
		rm -f deep/shared/alt
		dwz -m deep/shared/alt -M "$path" full.debug other.debug
		readelf --debug-dump=links full.debug
		# Found by its build-id through a link, from where a relative path does not lead there.
		mkdir -p "/usr/lib/debug/.build-id/${id:0:2}" debug
		mv full.debug debug
		ln -sfn "$PWD/debug/full.debug" "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
		job_shows all_is_named ./job
	done
	rm deep/shared/alt
	job_shows true ./job
	[ "$(sed -n 2p <<<"$frames")" = "outer (job.c:7)" ] # names of inlined calls were in there
}

# servers_run PORT: debuginfod over files/, on this machine alone.
server_start() {
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	debuginfod -d :memory: -p "$port" -t 0 -F "$PWD/files" >debuginfod.log 2>&1 3>&- 7>&- &
	server=$!
	wait_for 'curl -s "http://127.0.0.1:$port/metrics" | grep -q "thread_work_total{role=\"traverse\"} [1-9]"'
}

@test "debug information: from servers, only where that was asked for" {
	type debuginfod debuginfod-find curl python3 >/dev/null || skip "needs debuginfod, curl and python3"
	export HOME=$PWD DEBUGINFOD_CACHE_PATH=$PWD/cache
	job_build
	job_split
	mkdir files
	mv full.debug full files
	server_start
	export DEBUGINFOD_URLS=http://127.0.0.1:$port
	job_shows nothing_is_named ./job
	[ ! -e cache ]
	rm -f in said
	job_starts ./job
	job_seen --debuginfod
	job_ends
	all_is_named
	jq -r '.notes[]' report
	jq -e 'any(.notes[]; test("debuginfod: requested the debug files of [0-9]+ modules and got [1-9]"))' report
	ls "cache/$id/debuginfo"
}

@test "debug information: a server that does not answer is waited for as long as was said" {
	type debuginfod-find python3 >/dev/null || skip "needs debuginfod-find and python3"
	export HOME=$PWD DEBUGINFOD_CACHE_PATH=$PWD/cache
	python3 -c '
import socket, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
print(s.getsockname()[1], flush=True)
time.sleep(600)' >port 3>&- 7>&- &
	server=$!
	wait_for '[ -s port ]'
	export DEBUGINFOD_URLS=http://127.0.0.1:$(<port)
	job_build
	job_split
	rm full.debug
	job_starts ./job
	job_seen --debuginfod=2s
	begun=$SECONDS
	job_ends
	[ $((SECONDS - begun)) -ge 1 ]
	[ $((SECONDS - begun)) -lt 20 ]
	nothing_is_named
	jq -e 'any(.notes[]; test("debuginfod: requested .* 1 modules and got 0, then stopped"))' report
	! pgrep -f "[d]ebuginfod-find debuginfo $id" || false
}

@test "debug information: --debuginfod without a server is an error" {
	unset DEBUGINFOD_URLS
	run -2 "$MEMWHY" count sched:sched_switch --debuginfod --for 1s
	[[ "$output" == *"DEBUGINFOD_URLS names no server"* ]]
	DEBUGINFOD_URLS=http://127.0.0.1:1 run -2 "$MEMWHY" count sched:sched_switch --debuginfod=soon --for 1s
	DEBUGINFOD_URLS=http://127.0.0.1:1 PATH=/none run -3 "$MEMWHY" count sched:sched_switch --debuginfod --for 1s
	[[ "$output" == *"needs the program debuginfod-find"* ]]
}

@test "a program replaced on disk while it runs, by another under its name" {
	job_build
	cp full job
	job_starts ./job
	job_seen
	gcc -O0 -g -o new job.c -Douter=another 
	mv new job
	job_ends
	all_is_named
}

@test "a program replaced on disk before anybody looked" {
	job_build
	cp full job
	job_starts ./job
	gcc -O0 -g -o new job.c -Douter=another
	mv new job
	job_seen
	job_ends
	all_is_named
}

@test "a program that is deleted" {
	job_build
	cp full job
	job_starts ./job
	rm job
	job_seen
	job_ends
	all_is_named
	! grep -q 'deleted' "$report" || false
}

@test "a library that is deleted while it runs" {
	job_build
	echo 'int library(int (*f)(void)) { return f() + 1; }' >lib.c
	gcc -O2 -g -shared -fPIC -o lib.so lib.c
	cat >user.c <<-EOF
		int library(int (*f)(void));
		#define main job_main
		#include "job.c"
		#undef main
		int main(void) { return library(job_main); }
	EOF
	gcc -O2 -g -o job user.c ./lib.so
	job_starts ./job
	rm lib.so job
	job_seen
	job_ends
	grep -Eq '^library .*lib\.c:1\b' <<<"$frames"
}

@test "a program without a file: memfd" {
	type python3 >/dev/null || skip "needs python3"
	job_build
	job_starts python3 -c '
import os
fd = os.memfd_create("job", os.MFD_CLOEXEC)
os.write(fd, open("full", "rb").read())
os.execve(fd, ["job"], os.environ)'
	job_seen
	job_ends
	all_is_named
}

@test "a program in another mount namespace and root, its debug information there, gone at the end" {
	type unshare chroot >/dev/null || skip "needs unshare and chroot"
	job_build -static
	job_split
	mkdir root
	cat >enter <<-EOF
		mount -t tmpfs memwhy-test root && mkdir -p root/bin root/usr/lib/debug/.build-id/${id:0:2} &&
			cp job root/bin/sh && cp full.debug root/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug &&
			exec chroot root /bin/sh
	EOF
	job_starts unshare -m sh enter
	rm full full.debug job
	job_seen
	job_ends
	all_is_named
	[ -z "$(ls root)" ]
}
