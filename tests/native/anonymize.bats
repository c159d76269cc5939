#!/usr/bin/env bats
# --anonymize: nothing that names the program, its path, its control group or its functions is left
# in any file, uncompressed and decoded; all of it is in the same file without the option.
# bats file_tags=beside
load common

names=zebra # in every name that is to go

broken() {
	echo "$*"
	return 1
}

setup_file() {
	[ "$(id -u)" -eq 0 ] || skip "needs root to record"
	cd "$BATS_FILE_TMPDIR"
	mkdir zebra_dir
	cat >zebra_source.c <<-'END'
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>
		__attribute__((noinline)) char *zebra_function(size_t n) { return memset(malloc(n), 1, n); }
		int main(void) { for (int i = 0; i < 300; i++) { if (i % 3) free(zebra_function(20000 + i)); else zebra_function(800000); usleep(500); } return 0; }
	END
	gcc -g -O1 -Wl,--build-id -o zebra_dir/zebra_program zebra_source.c
	"$BATS_TEST_DIRNAME/../../tools/with-cgroup" "zebra_group_$$" 400000000 \
		"$MEMWHY" record --probes faults,processes,cgroups,maps all.mw -- zebra_dir/zebra_program >/dev/null 3>&-
	"$MEMWHY" heap --record one.mw --out /dev/null -- zebra_dir/zebra_program 3>&-
	"$MEMWHY" heap --record two.mw --out /dev/null -- zebra_dir/zebra_program 3>&-
}

setup() {
	cd "$BATS_FILE_TMPDIR"
}

page() {
	python3 "$BATS_TEST_DIRNAME/../cli/page.py" json "$1"
	python3 "$BATS_TEST_DIRNAME/../cli/page.py" text "$1"
	cat "$1"
}

# hides DECODE FILE COMMAND...: with --anonymize no name is in what DECODE makes of FILE, without it there is.
hides() {
	local decode=$1 file=$2
	shift 2
	"$@" --force --out "$file"
	"$decode" "$file" | grep -qa "$names" || broken "$*: no name that could be hidden"
	"$@" --force --anonymize --out "$file"
	"$decode" "$file" >decoded
	[ -s decoded ]
	! grep -oa ".\{0,40\}$names.\{0,40\}" decoded || broken "$*: a name is left"
}

dump() { sqlite3 "$1" .dump; }

@test "anonymize: a page" {
	hides page page.html "$MEMWHY" report all.mw
	grep -qa 'program-[0-9]' decoded
	grep -qa 'function-[0-9]' decoded
}

@test "anonymize: every format of export" {
	hides dump all.db "$MEMWHY" export --to sqlite all.mw
	hides zcat heap.pb.gz "$MEMWHY" export --to pprof one.mw
	"$MEMWHY" heap -o html --anonymize --out live.html -- zebra_dir/zebra_program 3>&-
	page live.html | grep -q function- || broken "nothing is on the live page"
	! page live.html | grep -q "$names" || broken "names are on the live page"
	hides cat heap.json "$MEMWHY" export --to speedscope one.mw
	hides cat heap.folded "$MEMWHY" export --to folded one.mw
	hides cat all.pftrace "$MEMWHY" export --to perfetto all.mw
}

# A program with a name in every place that memwhy shows: itself, a thread, an argument, a file it maps, one of
# tmpfs, one without a name, its control group; and evidence and advice of check that speak of it.
rich_make() {
	cat >rich_source.c <<-'END'
		#define _GNU_SOURCE
		#include <fcntl.h>
		#include <pthread.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		__attribute__((noinline)) static void *zebra_grow(void *arg)
		{
			pthread_setname_np(pthread_self(), "zebra_thread");
			for (int i = 0; i < 40; i++, usleep(100000)) memset(malloc(1 << 20), 1, 1 << 20);
			return arg;
		}
		int main(int argc, char **argv)
		{
			int fds[] = {open(argv[1], O_RDWR | O_CREAT, 0600), open(argv[2], O_RDWR | O_CREAT, 0600), memfd_create("zebra_memfd", 0)};
			for (int i = 0; i < 3; i++) {
				if (ftruncate(fds[i], 24 << 20)) return 1;
				memset(mmap(0, 24 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fds[i], 0), 1, 24 << 20);
			}
			unlink(argv[2]);
			pthread_t t;
			pthread_create(&t, NULL, zebra_grow, NULL);
			pthread_join(t, NULL);
			return argc - argc;
		}
	END
	gcc -g -O1 -pthread -o zebra_dir/zebra_rich rich_source.c
}

@test "anonymize: a page of each command, of a program that has names everywhere" {
	local command
	rich_make
	for command in "record rich.mw" "heap --events --faults" "syscalls --each --stacks" "stalls --each --stacks" "maps" "numa"; do
		[ "${command%% *}" = record ] || command+=" --record rich.mw --out /dev/null"
		"$BATS_TEST_DIRNAME/../../tools/with-cgroup" "zebra_group_$$" 400000000 "$MEMWHY" $command -- \
			zebra_dir/zebra_rich "$PWD/zebra_file" /dev/shm/zebra_shm zebra_argument >/dev/null 2>&1 3>&- || [ -s rich.mw ]
		hides page rich.html "$MEMWHY" report rich.mw
		rm -f rich.mw
	done
	zebra_dir/zebra_rich "$PWD/zebra_file" /dev/shm/zebra_shm zebra_argument 3>&- &
	sleep 1
	"$MEMWHY" where --files --census --for 1s --record rich.mw --out /dev/null
	wait $!
	"$MEMWHY" check --record checked.mw --out /dev/null -- zebra_dir/zebra_rich "$PWD/zebra_file" /dev/shm/zebra_shm zebra_argument || [ -s checked.mw ]
	for command in rich checked; do
		hides page rich.html "$MEMWHY" report $command.mw
		hides dump rich.db "$MEMWHY" export --to sqlite $command.mw
	done
}

@test "anonymize: no build id of the program, and that of libc" {
	names=$(readelf -n zebra_dir/zebra_program | awk '/Build ID/ { print $3 }')
	[ "${#names}" -eq 40 ]
	build_ids() { zcat "$1" | strings -n 40; }
	hides build_ids heap.pb.gz "$MEMWHY" export --to pprof one.mw
	grep -qE '[0-9a-f]{40}' decoded
}

@test "anonymize: numbers stay, and a name is one word in both recordings of a comparison" {
	hides page change.html "$MEMWHY" report one.mw two.mw
	python3 "$BATS_TEST_DIRNAME/../cli/page.py" json change.html | head -n 1 >change.json
	jq -e '[.rows[] | select(.table == "heap" and (.stack // [] | any(test("^function-")))) | .change_allocations] | length > 0 and all(. == 0)' change.json
	"$MEMWHY" export --to folded one.mw | awk '{ n += $NF } END { print n }' >with
	"$MEMWHY" export --to folded --anonymize one.mw | awk '{ n += $NF } END { print n }' >without
	cmp with without
}

@test "anonymize: what would bring names back is refused; a damaged recording ends with 4" {
	run -2 "$MEMWHY" report one.mw --anonymize -c zebra_program --out x.html
	[[ $output == *"-c, -g and -C would be names"* ]]
	run -2 "$MEMWHY" export --to folded --anonymize --out - <(cat one.mw)
	head -c $(($(stat -c %s all.mw) * 2 / 3)) all.mw >cut.mw
	run -4 "$MEMWHY" report cut.mw --anonymize --out cut.html
	! page cut.html | grep -qa "$names" || broken "a name is left"
}

@test "export: a part of a recording: by process and time" {
	local pid begin last late
	"$MEMWHY" export --to sqlite --force --out full.db all.mw
	pid=$(sqlite3 full.db "select tgid from task where comm like 'zebra%' limit 1")
	"$MEMWHY" export --to sqlite --force -p "$pid" --out part.db all.mw
	[ "$(sqlite3 part.db "select count(*) from faults_agg where tgid <> $pid")" -eq 0 ]
	[ "$(sqlite3 part.db 'select sum(count) from faults_agg')" -eq "$(sqlite3 full.db "select sum(count) from faults_agg where tgid = $pid")" ]
	begin=$(sqlite3 full.db 'select max(time_ns) from session')
	last=$(sqlite3 full.db "select (max(time_ns) - $begin) / 1000 from faults_agg")
	"$MEMWHY" export --to sqlite --force --from "${last}us" --until 1h --out part.db all.mw
	late="select count(*) from faults_agg where time_ns >= $begin + $last * 1000"
	[ "$(sqlite3 full.db "$late")" -gt 0 ]
	[ "$(sqlite3 part.db 'select count(*) from faults_agg')" -eq "$(sqlite3 full.db "$late")" ]
	"$MEMWHY" export --to sqlite --force --until "${last}us" --out part.db all.mw
	[ "$(sqlite3 part.db "$late" 2>/dev/null || echo 0)" -eq 0 ]
	"$MEMWHY" export --to folded --of faults -c zebra_program all.mw | grep -q '^zebra_program'
	run "$MEMWHY" export --to folded --of faults -c nobody all.mw
	[ -z "$(grep zebra <<<"$output")" ]
}
