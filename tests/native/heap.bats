# The heap of a command: numbers held against what the workload is known to do, and against
# valgrind's; programs that make it hard.
# bats file_tags=beside,host
load common

setup() {
	cd "$BATS_TEST_TMPDIR"
	work=$WORKLOADS/heap_work
	rounds=5 # of what goes wrong in some only
	[ -z "${MEMWHY_VM-}" ] || rounds=1
}

# heap ARGS... -- CMD...: its JSON in $json, CMD's output in $output.
heap() {
	json=$BATS_TEST_TMPDIR/report.json
	run --separate-stderr timeout 60 "$MEMWHY" heap -o json --out "$json" "$@"
	[ "$status" -eq "${ends_with:-0}" ] && [ -z "$stderr" ] || { echo "status $status: $stderr"; return 1; }
	# Nothing is lost, every process's blocks add up, and what is of a file is named.
	jq -e '.lost.heap == 0 and all(.rows[] | select(.table == "process");
		.allocations == .frees + .live_blocks and .lost == 0) and
		all(.rows[] | select(.table == "heap") | .stack // ["[unknown]"] | .[] | tostring;
			startswith("[unknown]") | not)' "$json" >/dev/null ||
		{ jq -c . "$json"; return 1; }
}

# A field summed over the stacks that have this function.
of_function() { # FUNCTION FIELD
	jq --arg f "$1" "[.rows[] | select(.table == \"heap\") |
		select([.stack[]? | tostring] | any(test(\"\\\\b\" + \$f + \"\\\\b\"))) | .$2] | add // 0" "$json"
}

@test "heap: each function of the allocator is counted, realloc's failure too" {
	heap -- "$work" each
	# 16 calls that give a block, one of them moving one, and a realloc of 10 to 1000 bytes.
	[ "$(processes allocations frees live_blocks live_bytes moved unknown_frees unseen_frees)" = \
		"17 13 4 400 1 0 0" ]
	[ "$(processes allocated_bytes peak_bytes)" = "1868 1000" ]
}

@test "heap: the peak is as it was, by stack" {
	heap -- "$work" peak 1000
	[ "$(processes peak_bytes peak_blocks live_bytes allocations)" = "110000 2000 60000 2500" ]
	[ "$(of_function before_peak peak_bytes)" -eq 10000 ]
	[ "$(of_function before_peak live_bytes)" -eq 10000 ]
	[ "$(of_function peak_here peak_bytes)" -eq 100000 ]
	[ "$(of_function peak_here live_bytes)" -eq 50000 ]
	[ "$(of_function peak_here allocations)" -eq 1500 ]
	[ "$(of_function main allocations)" -eq 2500 ]
}

# slack_same [LIBRARY]: what memwhy says is what malloc_usable_size says, of an allocator linked.
slack_same() {
	local path
	if [ -n "$1" ]; then
		path=$(library "$1") || skip "no $1"
	fi
	cat >s.c <<-END
		#include <malloc.h>
		#include <stdio.h>
		#include <stdlib.h>
		static long slack;
		static void one(void *p, size_t size)
		{
			slack += (long)(malloc_usable_size(p) - size);
			if (rand() % 3)
				free(p);
		}
		__attribute__((noinline)) static void all(void)
		{
			for (int i = 1; i < 20000; i++) {
				size_t size = i % 100 ? 1 + rand() % 3000 : 200000 + rand() % 600;
				one(i % 7 ? malloc(size) : i % 2 ? calloc(1, size) : memalign(i % 4 ? 64 : 4096, size), size);
			}
			__asm__ volatile("");
		}
		int main(void)
		{
			all();
			printf("%ld\n", slack);
			return 0;
		}
	END
	gcc -O0 -o s s.c ${path:+-Wl,--no-as-needed "$path"}
	heap -- ./s
	[ "$(of_function all slack_bytes)" -eq "$output" ]
	jq -e 'all(.rows[] | select(.table == "heap"); .slack_bytes <= .allocations * 1048576)' "$json"
}

@test "heap: the slack is what malloc_usable_size says" {
	slack_same
}

@test "heap: the slack is what malloc_usable_size of jemalloc says" {
	slack_same libjemalloc.so.2
}

@test "heap: the slack is what malloc_usable_size of tcmalloc says" {
	slack_same libtcmalloc_minimal.so.4
}

@test "heap: the slack is what malloc_usable_size of mimalloc says" {
	slack_same libmimalloc.so
}

# new_and_delete [LIBRARY]: all forms, also where there is no memory; of an allocator linked.
new_and_delete() {
	local path
	command -v g++ >/dev/null || skip "no g++"
	if [ -n "$1" ]; then
		path=$(library "$1") || skip "no $1"
	fi
	cat >n.cc <<-'END'
		#include <new>
		#include <stdio.h>
		struct alignas(64) wide { char c[192]; };
		struct odd { char c[24]; virtual ~odd() {} };
		template <class T> static T *hide(T *p) { asm volatile("" : "+r"(p)); return p; }
		__attribute__((noinline)) static int all() {
			for (int i = 0; i < 10; i++) {
				delete hide(new odd);
				delete[] hide(new char[100]);
				delete hide(new (std::nothrow) long);
				delete[] hide(new (std::nothrow) long[5]);
				delete hide(new wide);
				delete[] hide(new wide[2]);
				delete hide(new (std::nothrow) wide);
				hide(new int);
			}
			return 0;
		}
		__attribute__((noinline)) static int fails() {
			int failed = 0;
			for (int i = 0; i < 10; i++) {
				try { hide(new char[(size_t)1 << 62]); } catch (const std::bad_alloc &) { failed++; }
				failed += !hide(new (std::nothrow) char[(size_t)1 << 62]);
			}
			return failed;
		}
		int main(int argc, char **) { printf("%d\n", argc > 1 ? fails() : all()); }
	END
	g++ -O2 -std=c++17 -o n n.cc ${path:+-Wl,--no-as-needed "$path" -Wl,--as-needed}
	# mimalloc in C ends a program that has no memory.
	run --separate-stderr ./n fail
	[ "$output" != 20 ] || [ "$("$MEMWHY" heap -q --out r -- ./n fail 2>/dev/null)" = 20 ]
	[ "$1" = libmimalloc.so ] || [ "$output" = 20 ]
	"$MEMWHY" heap -o json --out r.json -- ./n
	jq -e '[.rows[] | select(.table == "heap" and any(.stack[]?; tostring | test("\\ball\\b")))] |
		[(map(.allocations) | add), (map(.frees) | add), (map(.live_bytes) | add)] == [80, 70, 40]' r.json >/dev/null &&
		jq -e '.rows[] | select(.table == "process") | .unknown_frees == 0 and .unseen_frees == 0' r.json >/dev/null ||
		{ jq -c '.rows[]' r.json; return 1; }
}

@test "heap: new and delete" {
	new_and_delete
}

@test "heap: new and delete of jemalloc" {
	new_and_delete libjemalloc.so.2
}

@test "heap: new and delete of tcmalloc" {
	new_and_delete libtcmalloc_minimal.so.4
}

@test "heap: new and delete of mimalloc" {
	new_and_delete libmimalloc.so
}

@test "heap: sizes of a GiB and more are whole" {
	[ "$(sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' /proc/meminfo)" -gt 6000000 ] ||
		skip "the kernel gives no 5 GiB on a machine of less"
	heap -- "$work" huge
	[ "$(processes allocations allocated_bytes peak_bytes)" = "3 7516192767 5368709120" ]
}

@test "heap: blocks that other threads free; one address as fast as it goes round" {
	heap -- "$work" threads 20000 4
	[ "$(processes unknown_frees unseen_frees threads)" = "0 0 5" ]
	[ "$(of_function hand_over allocations)" -eq 80000 ]
	[ "$(of_function hand_over live_blocks)" -eq 0 ]
	[ "$(of_function hand_over peak_bytes)" -eq 1920000 ]
	pings=20000
	[ -z "${MEMWHY_VM-}" ] || pings=500 # each waits for a turn on the emulated CPU
	heap -- "$work" ping $pings
	[ "$(processes unknown_frees unseen_frees)" = "0 0" ]
	[ "$(of_function ping allocations)" -eq $pings ]
	[ "$(of_function ping live_blocks)" -eq 0 ]
}

@test "heap: a thousand threads at once, three thousand one after the other" {
	heap -- "$work" threads 20 1000
	[ "$(processes threads unknown_frees unseen_frees)" = "1001 0 0" ]
	[ "$(of_function hand_over allocations)" -eq 20000 ]
	heap -- "$work" churn 3000
	[ "$(of_function nothing allocations)" -eq 3000 ]
}

@test "heap: forks count what they allocate; what they inherited is apart" {
	heap -- "$work" fork 300
	[ "$(processes allocations allocated_bytes live_bytes unknown_frees state | sort | uniq -c | sed 's/^ *//')" = \
		"1 1 1000 1000 0 ended
300 2 500 300 1 ended fork" ]
}

@test "heap: exec begins a new heap; vfork does not" {
	heap -- "$work" exec 50
	[ "$(processes allocations live_bytes state | sort | uniq -c | sed 's/^ *//')" = "50 1 77 ended" ]
	heap -- "$work" vfork 30
	[ "$(processes comm allocations frees | grep heap_work)" = "heap_work 30 30" ]
}

@test "heap: a fork that allocates when its program is over; programs that are over take nothing" {
	# Of each program 270 MiB of address space are mapped, as long as anybody can write there.
	json=$PWD/r.json
	(ulimit -v 4194304; "$MEMWHY" heap -o json --out r.json -- sh -c '
		for i in 1 2 3; do "$0" late 3; done | cat
		for i in $(seq 60); do "$0" peak 1; done' "$work")
	[ "$(processes comm allocations live_bytes state | grep heap_work | sort | uniq -c | sed 's/^ *//')" = "\
3 heap_work 1 100 ended
60 heap_work 2 10 ended
3 heap_work 3 150 ended fork" ]
}

@test "heap: SIGKILL and abort lose nothing" {
	ends_with=137 heap -- "$work" kill 5000
	[ "$(processes allocations live_bytes)" = "5000 240000" ]
	ends_with=134 heap -- "$work" abort
	[ "$(processes allocations live_bytes)" = "1 48" ]
}

# Held to: in the program 8 MiB, and 1 MiB a thread; here 32 MiB, and 32 bytes a live block.
@test "heap: what memory it takes, with a million live blocks, and with a thousand threads" {
	cat >l.c <<-END
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		static pthread_barrier_t all;
		static void *work(void *arg)
		{
			for (int i = 0; i < 2000; i++) {
				void *volatile p = malloc(100);
				free(p);
			}
			pthread_barrier_wait(&all);
			pthread_barrier_wait(&all);
			return arg;
		}
		/* Resident and its own, or shared, of the program and of who runs it. */
		static void say(void)
		{
			char command[100];
			snprintf(command, sizeof(command), "cat /proc/%d/status | grep -E '^Rss(Anon|Shmem)'", getpid());
			system(command);
			snprintf(command, sizeof(command), "cat /proc/%d/status | grep -E '^RssAnon'", getppid());
			system(command);
		}
		int main(int argc, char **argv)
		{
			int blocks = atoi(argv[1]), threads = atoi(argv[2]);
			pthread_t t[1000];
			pthread_attr_t small;
			pthread_attr_init(&small);
			pthread_attr_setstacksize(&small, 65536);
			pthread_barrier_init(&all, NULL, threads + 1);
			for (int i = 0; i < threads; i++)
				pthread_create(&t[i], &small, work, NULL);
			pthread_barrier_wait(&all);
			for (int i = 0; i < blocks; i++)
				*(void *volatile *)malloc(16) = NULL;
			usleep(100000); /* the last is read */
			say();
			pthread_barrier_wait(&all);
			return argc < 3;
		}
	END
	gcc -O1 -pthread -o l l.c
	for args in "1000000 0" "0 1000"; do
		read -r blocks threads <<<"$args"
		bare=$(./l $args | awk 'NR < 3 { kib += $2 } END { print kib }')
		"$MEMWHY" heap -q --out r -- ./l $args >said
		more=$(($(awk 'NR < 3 { kib += $2 } END { print kib }' said) - bare))
		own=$(awk 'NR == 3 { print $2 }' said)
		echo "$args: the program $more KiB more, memwhy $own KiB"
		[ "$more" -le $((8192 + 1024 * (threads + 1))) ]
		# Sanitizers take memory of their own.
		readelf -d "$MEMWHY" | grep -q 'NEEDED.*asan' || [ "$own" -le $((32768 + blocks / 32)) ]
	done
}

@test "heap: signal handlers that allocate, and that never return" {
	heap -- "$work" signal 50000
	[ "$output" = "handled 50000" ]
	[ "$(processes allocations frees live_bytes)" = "100000 99999 333" ]
	[ "$(of_function on_signal_alloc allocations)" -eq 50000 ]
	heap -- "$work" jump 20000
	[ "$(processes allocations frees)" = "20000 20000" ]
}

@test "heap: recursion of any depth, libraries that come and go" {
	heap -- "$work" deep 400
	[ "$(of_function deep allocations)" -eq 400 ]
	heap -- "$work" dlopen 50
}

@test "heap: plug-ins of one layout that take turns at one address are told apart" {
	cat >plug.c <<-END
		#include <stdlib.h>
		void *ENTRY(void) { void *p = malloc(SIZE); __asm__ volatile("" : : "r"(p)); return p; }
		void *entry(void) { void *p = ENTRY(); __asm__ volatile("" : : "r"(p)); return p; }
	END
	cat >host.c <<-END
		#include <dlfcn.h>
		#include <pthread.h>
		#include <stdlib.h>
		static void *work(void *name)
		{
			for (int i = 0; i < 300; i++) {
				void *h = dlopen(name, RTLD_NOW);
				free(((void *(*)(void))dlsym(h, "entry"))());
				dlclose(h);
			}
			return NULL;
		}
		int main(int argc, char **argv)
		{
			pthread_t t[8];
			for (int i = 1; i < argc; i++)
				pthread_create(&t[i], NULL, work, argv[i]);
			for (int i = 1; i < argc; i++)
				pthread_join(t[i], NULL);
		}
	END
	for i in 1 2 3; do
		gcc -O1 -shared -fPIC -DENTRY=entry_$i -DSIZE=${i}00 -o plug$i.so plug.c
	done
	gcc -o host host.c
	for i in $(seq $rounds); do
		heap --limit 0 -- ./host ./plug1.so "$PWD/plug2.so" ./plug3.so # a relative path is one too
		for k in 1 2 3; do
			[ "$(of_function entry_$k allocations)" -eq 300 ]
			[ "$(of_function entry_$k allocated_bytes)" -eq $((k * 30000)) ]
		done
	done
}

@test "heap: a storm of short programs and forks, all named" {
	local n=60
	[ -z "${MEMWHY_VM-}" ] || n=10
	for i in $(seq $(((rounds + 1) / 2))); do
		heap --limit 0 -- sh -c 'for i in $(seq $0); do
			sh -c "ls / | cat | wc -l" >/dev/null &
			sh -c "(echo a | sort; true)" >/dev/null
		done; wait' $n
		[ "$(processes comm | grep -cE "^(ls|cat|wc|sort)$")" -eq $((4 * n)) ]
	done
}

@test "heap: coroutines, stacks full of alloca, blocks that die with their thread" {
	heap -- "$work" coroutine 2000
	[ "$(of_function routine_alloc allocations)" -eq 16000 ]
	[ "$(of_function routine_alloc live_blocks)" -eq 0 ]
	heap -- "$work" alloca 3000
	[ "$(of_function alloca_deep allocations)" -eq 3000 ]
	[ "$(of_function mode_alloca allocations)" -ge 1900 ] # the others are deeper than is looked
	heap -- "$work" tls 500
	[ "$(of_function tls_alloc allocations)" -eq 2000 ]
	[ "$(of_function tls_alloc live_blocks)" -eq 0 ]
}

# Of mappings, by function and kind: live calls mapped unmapped failed, in pages.
mappings() { # FUNCTION KIND
	jq -r --arg f "$1" --arg k "$2" '[.rows[] | select(.table == "mapping" and .kind == (if $k == "" then null else $k end) and
		([.stack[]? | tostring] | any(test("\\b" + $f + "\\b"))))] |
		[(map(.live_bytes) | add) / 4096, (map(.calls) | add), (map(.mapped_bytes) | add) / 4096,
		(map(.unmapped_bytes) | add) / 4096, (map(.failed) | add)] | @tsv' "$json" | tr '\t' ' '
}

@test "heap: what a program maps by itself, to the page" {
	heap -- "$work" map 50
	[ "$(mappings map_here anonymous)" = "12 55 172 160 0" ]
	[ "$(mappings grow_here anonymous)" = "6 3 10 4 0" ]
	[ "$(mappings break_here break)" = "0 1 10 10 1" ]
	[ "$(mappings file_here file)" = "0 1 1 1 0" ]
	[ "$(mappings file_here shared)" = "0 1 2 2 0" ]
	[ "$(mappings fail_here anonymous)" = "0 0 0 0 1" ]
	[ "$(mappings fail_here '')" = "0 0 0 0 3" ]
	[ "$(processes mapped_live_bytes replaced_bytes unknown_unmapped_bytes)" = "73728 8192 0" ]
	# By so many pages the process grows, says the kernel, when the tracker's own are not there.
	[ "$("$work" map 50)" = "pages 18" ]
	"$MEMWHY" heap --record run.mw --out /dev/null -- "$work" map 50
	"$MEMWHY" heap --input run.mw -o json --out "$json"
	[ "$(mappings map_here anonymous)" = "12 55 172 160 0" ]
}

@test "heap: mmap and munmap by threads, in signal handlers, in forks and after exec" {
	heap -- "$work" mapthreads 3000 4
	[ "$(processes mapped_live_bytes replaced_bytes unknown_unmapped_bytes)" = "0 0 0" ]
	[ "$(mappings map_here anonymous)" = "0 12000 24000 24000 0" ]
	heap -- "$work" mapfork 20
	# Each child maps 3 pages and unmaps one of them, and 2 of 5 that it inherited.
	[ "$(processes mapped_live_bytes unknown_unmapped_bytes state | sort | uniq -c | sed 's/^ *//')" = \
		"1 20480 0 ended
20 8192 8192 ended fork" ]
}

@test "heap: mmap is told of as strace sees it" {
	command -v strace >/dev/null || skip "no strace"
	heap -- "$work" map 20
	# What comes after the first call of ours, of the calls that are not the allocator's.
	strace -e trace=mmap,munmap,mremap,brk -o trace "$work" map 20 >/dev/null
	[ "$(grep -c '^mremap(.*= 0x' trace)" -eq 3 ]
	calls=$(jq '[.rows[] | select(.table == "mapping" and .kind != "break").calls] | add' "$json")
	first=$(grep -n -m1 'mmap(NULL, 12188,' trace | cut -d: -f1)
	[ "$calls" -eq "$(sed "1,$((first - 1))d" trace | grep -c '^\(mmap\|mremap\)(.*= 0x')" ]
}

# Fields of the rows of the tree, one line each.
tree() { # FIELD...
	jq -r --arg f "$*" '.rows[] | select(.table == "tree") | [.[$f | split(" ")[]]] | @tsv' "$json" |
		tr '\t' ' '
}

@test "heap: the tree of processes has sums, and the peak of all together" {
	heap -- "$work" family 3
	[ "$(tree depth processes allocations sum_allocations sum_allocated_bytes state)" = "\
 6  6 8000000 
0 6 1 6 8000000 
1 1 1 1 1000000 fork
1 1 1 1 1000000 fork
1 1 1 1 1000000 fork
1 1 1 1 1500000 fork
1 1 1 1 1500000 fork" ]
	# The last two held theirs at the same time, for a hundred turns of the reader.
	[ "$(tree peak_bytes | head -1)" -eq 5000000 ]
	[ "$(tree peak_most_bytes | head -1)" -ge 5000000 ]
	[ "$(tree peak_most_bytes | head -1)" -le 8000000 ]
	heap -- "$work" exec 3
	[ "$(tree depth sum_allocations state | sed 1d)" = "0 3 
1 2 exec
2 1 exec" ]
	[ "$(tree peak_bytes | head -1)" -eq 77 ] # exec leaves nothing
	heap -- sh -c '"$0" peak 10; "$0" peak 10' "$work"
	[ "$(tree depth tree | grep heap_work)" = "1   heap_work
1   heap_work" ]
	heap -- "$work" peak 10
	[ -z "$(tree pid)" ]
}

# Files in memory are under the limit too. With a full disk: heap_events.bats.
@test "heap: under a limit on file sizes nothing is tracked, no program waits, and that is said" {
	# The library is there already: else it cannot be written, which heap_preload.bats has.
	"$MEMWHY" heap -q --out first -- sh -c 'echo ready >ready; exec sleep 30' 3>&- &
	first=$!
	wait_for '[ -s ready ]'
	begin=$(date +%s)
	run --separate-stderr bash -c "ulimit -f 24; '$MEMWHY' heap -o json --out r.json -- sh -c '
		ls / >/dev/null; seq 1000 | sort >/dev/null; echo done'"
	kill "$first"
	wait "$first" || true
	# A program waits two seconds for an answer: four do not. (An emulated guest may take that long.)
	[ -n "${MEMWHY_VM-}" ] || [ $(($(date +%s) - begin)) -lt 8 ]
	[ "$output" = done ] && [ "$status" -eq 0 ] && [ -z "$stderr" ] || { echo "$status: $stderr"; false; }
	jq -e 'any(.notes[]; test("heap: [0-9]+ programs? w[a-z]+ not tracked.*File too large"))' r.json >/dev/null
}

@test "heap: the numbers are valgrind's, byte for byte" {
	command -v valgrind >/dev/null || skip "no valgrind"
	seq 500 | jq -c '{id: ., name: "n\(.)", v: [., {k: "x\(.)"}]}' >in.json
	while read -r cmd; do
		heap -- $cmd >/dev/null
		valgrind --run-libc-freeres=no --log-file=log $cmd >/dev/null
		valgrind --tool=dhat --run-libc-freeres=no --log-file=dlog --dhat-out-file=/dev/null $cmd >/dev/null
		processes allocations frees allocated_bytes live_bytes live_blocks peak_blocks >ours
		{
			sed -n 's/.*total heap usage: \([0-9,]*\) allocs, \([0-9,]*\) frees, \([0-9,]*\) bytes.*/\1 \2 \3/p' log
			sed -n 's/.*in use at exit: \([0-9,]*\) bytes in \([0-9,]*\) blocks/\1 \2/p' log
			sed -n 's/.*At t-gmax: \([0-9,]*\) bytes in \([0-9,]*\) blocks/\2/p' dlog
		} | tr -d , | awk '{ a[NR] = $0 } END { print a[1], a[2], a[3] }' >theirs
		diff ours theirs || { echo "of: $cmd"; false; }
	done <<-END
		jq -c . in.json
		ls -d /tmp
		sort in.json
		sqlite3 :memory: select(group_concat(value))from(generate_series(1,900))
	END
}

# The library has thread-local storage, so the table that glibc makes for a thread has an entry more.
@test "heap: of a program with threads too, but for 16 bytes a thread" {
	command -v valgrind >/dev/null || skip "no valgrind"
	cat >threads.c <<-END
		#include <pthread.h>
		#include <stdlib.h>
		static void *run(void *size) { free(malloc((size_t)size)); return NULL; }
		int main(int argc, char **argv)
		{
			pthread_t t[9];
			int n = atoi(argv[1]);
			for (int i = 0; i < n; i++)
				pthread_create(&t[i], NULL, run, (void *)(size_t)(100 + i));
			for (int i = 0; i < n; i++)
				pthread_join(t[i], NULL);
			return 0;
		}
	END
	gcc -w -pthread -o threads threads.c
	for n in 1 9; do
		heap -- ./threads $n
		valgrind --run-libc-freeres=no --log-file=log ./threads $n
		jq -r '.rows[] | select(.table == "process") |
			[.allocations, .frees, .allocated_bytes - 16 * (.threads - 1)] | @tsv' "$json" >ours
		sed -n 's/.*total heap usage: \([0-9,]*\) allocs, \([0-9,]*\) frees, \([0-9,]*\) bytes.*/\1\t\2\t\3/p' log |
			tr -d , >theirs
		diff ours theirs || { echo "of: $n threads"; false; }
	done
}

# heaptrack's library is in C++, whose run-time library has a block of 72,704 bytes for exceptions.
@test "heap: the numbers are heaptrack's" {
	command -v heaptrack >/dev/null || skip "no heaptrack"
	seq 500 | jq -c '{id: ., name: "n\(.)", v: [., {k: "x\(.)"}]}' >in.json
	while read -r cmd; do
		heap -- $cmd >/dev/null
		heaptrack -o track $cmd 2>&1 </dev/null | sed -n 's/^\s*\(leaked \|\)allocations:\s*//p' >theirs
		heaptrack_print track.* 2>/dev/null |
			sed -n 's/^peak heap memory consumption: //p; s/^total memory leaked: //p' >>theirs
		rm track.*
		jq -r '.rows[] | select(.table == "process") |
			[.allocations + 1, .live_blocks, .peak_bytes + 72704, .live_bytes] | @tsv' "$json" |
			awk '{ printf "%d\n%d\n%.2fK\n%.2fK\n", $1, $2, $3 / 1000, $4 / 1000 }' >ours
		diff ours theirs || { echo "of: $cmd"; false; }
	done <<-END
		jq -c . in.json
		jq -c .v in.json
	END
}

@test "heap: sampled by bytes, sums are about right, and what is freed is gone" {
	"$MEMWHY" heap --sample 4K -o json --out r.json -- "$work" threads 300000 2
	# 3,500 samples: four deviations are 7 %.
	jq -e '.rows[] | select(.table == "process") |
		.allocated_bytes > 13400000 and .allocated_bytes < 15400000 and .live_bytes < 20000 and
		.temporary == null and .unknown_frees == 0 and .lost == 0' r.json >/dev/null ||
		{ jq -c '.rows[] | select(.table == "process")' r.json; false; }
	jq -e '.notes[] | select(test("estimates"))' r.json >/dev/null
	# What each stack allocated is within five standard errors, which are not large.
	jq -e '[.rows[] | select(.table == "heap" and ((.stack // []) | tostring | test("hand_over")))] |
		(map(.allocated_bytes) | add) as $sum | (map(.allocated_error_bytes | . * .) | add | sqrt) as $error |
		$error > 50000 and $error < 600000 and ($sum - 14400000) / $error < 5 and
		($sum - 14400000) / $error > -5' r.json >/dev/null || { jq -c '.rows[]' r.json; false; }
	"$MEMWHY" heap --sample 1 -o json --out r.json -- "$work" peak 1000
	# Of 1000 blocks of 10 bytes one is missed in 4 % of all runs.
	jq -e '.rows[] | select(.table == "process") | .peak_bytes > 109900 and .peak_bytes < 110100' \
		r.json >/dev/null
	# All that is larger is told of by each function, and in forks.
	# malloc(0) counts as one byte, so it may not be, or count twice.
	heap --sample 1 -- "$work" each
	[ "$(processes live_blocks live_bytes moved unknown_frees unseen_frees)" = "4 400 1 0 0" ]
	[ "$(processes allocations)" -ge 16 ]
	[ "$(processes allocations)" -le 18 ]
	heap --sample 1 -- "$work" fork 3
	[ "$(jq -c '[.rows[] | select(.table == "process") | [.allocations, .frees, .live_bytes]]' "$json")" = \
		"[[1,0,1000],[2,1,300],[2,1,300],[2,1,300]]" ]
}

@test "heap: what cannot be tracked is said, with the reason" {
	cat >p.c <<-END
		#include <stdlib.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			void *volatile p = malloc(10);
			if (argc > 1)
				sleep(3);
			return p == NULL;
		}
	END
	gcc -static -o static p.c
	gcc -o dynamic p.c
	cp dynamic tracked
	cp dynamic other
	chown 1:1 other
	chmod 4755 other
	# Of a shell's children, those that live for a while.
	"$MEMWHY" heap -o json --out r.json -- sh -c './static 1 & env -i ./dynamic 1 & ./other 1 & ./tracked 1 & wait'
	jq -r '.notes[]' r.json
	for text in "'static' \\(pid [0-9]+\\) is not tracked: statically linked" \
		"'dynamic' .* is not tracked: it was started without LD_PRELOAD" \
		"'other' .* is not tracked: it has more privileges"; do
		jq -e --arg t "$text" '[.notes[] | select(test($t) and test("heap -p PID"))] | length == 1' r.json
	done
	[ "$(jq '[.notes[] | select(test("not tracked"))] | length' r.json)" -eq 3 ]
}

# follows WHY CMD...: by probes, from its exec on, since nothing can be preloaded.
follows() {
	local why=$1
	shift
	"$MEMWHY" heap -o json --out r.json -- "$@"
	jq -e --arg t "$why" '[.notes[] | select(test("is followed by probes") and test($t))] | length == 1' r.json >/dev/null &&
		jq -e '[.rows[] | select(.table == "heap" and (.stack | tostring | test("keep")))] |
			(map(.allocations) | add) == 100 and (map(.live_bytes) | add) == 100000' r.json >/dev/null &&
		jq -e '.rows[] | select(.table == "process") | .allocations == .frees + .live_blocks and
			.unknown_frees == 0 and .unseen_frees == 0' r.json >/dev/null || { jq -c . r.json; return 1; }
}

keep_write() {
	cat >p.c <<-END
		#include <stdlib.h>
		__attribute__((noinline)) static void *keep(void) { void *volatile p = malloc(1000); return p; }
		int main(void)
		{
			for (int i = 0; i < 100; i++)
				keep();
			for (int i = 0; i < 50; i++)
				free(malloc(20));
			return 0;
		}
	END
}

# privileged_follows CC...: a program of another user's that runs as that user.
privileged_follows() {
	needs_root
	keep_write
	"$@" -fno-omit-frame-pointer -o other p.c
	chown 1:1 other
	chmod 4755 other
	follows 'more privileges' ./other
}

@test "heap: static commands, and scripts of theirs, are followed by probes by itself" {
	needs_root
	keep_write
	gcc -fno-omit-frame-pointer -static -o static p.c
	follows 'statically linked' ./static
	printf '#!%s/static\n' "$PWD" >script
	printf '#! static\n' >relative # from where the command is run
	chmod +x script relative
	follows 'statically linked' ./script
	follows 'statically linked' ./relative
	# Without its symbols there is nothing to attach to.
	strip -o stripped static
	run "$MEMWHY" heap -- ./stripped
	[ "$status" -eq 3 ]
	[[ $output == *"a static program without a symbol for malloc"*"memwhy maps"* ]] || { echo "$output"; false; }
	# Who may not attach is told what would be needed, and why.
	chmod 755 "$BATS_TEST_TMPDIR"
	cp "$MEMWHY" own
	run as_nobody ./own heap -- ./static
	[ "$status" -eq 3 ]
	[[ $output == *"nothing can be preloaded into './static': statically linked"*"not permitted"*"run it as root"* ]] ||
		{ echo "$output"; false; }
}

@test "heap: commands with more privileges are followed by probes by itself" {
	privileged_follows gcc
}

@test "heap: commands with more privileges are followed by probes, with jemalloc" {
	library libjemalloc.so.2 >/dev/null || skip "no libjemalloc.so.2"
	privileged_follows gcc -Wl,--no-as-needed -l:libjemalloc.so.2
	jq -r '.method_details.heap[]' r.json | grep -q jemalloc
}

@test "heap: commands with more privileges are followed by probes, with musl" {
	command -v musl-gcc >/dev/null || skip "no musl-gcc"
	privileged_follows musl-gcc
}

@test "heap: programs of musl are tracked" {
	command -v musl-gcc >/dev/null || skip "no musl-gcc"
	cat >m.c <<-END
		#include <pthread.h>
		#include <stdlib.h>
		static void *work(void *arg)
		{
			for (int i = 0; i < 1000; i++)
				free(malloc(100));
			return arg;
		}
		int main(void)
		{
			pthread_t t[4];
			void *volatile p;
			for (int i = 0; i < 4; i++)
				pthread_create(&t[i], 0, work, 0);
			for (int i = 0; i < 4; i++)
				pthread_join(t[i], 0);
			for (int i = 0; i < 10; i++)
				p = malloc(1000);
			return !p;
		}
	END
	musl-gcc -O0 -o m m.c
	for i in $(seq $((rounds * 6))); do
		"$MEMWHY" heap -o json -- ./m
	done >runs.json
	jq -es 'map([.rows[] | select(.table == "process") | [.allocations, .frees, .live_bytes, .threads]] ==
		[[4010, 4000, 10000, 5]] and .lost.heap == 0 and
		([.rows[] | select(.table == "heap" and any(.stack[]; test("\\bwork\\b")))] |
			(map(.allocations) | add) == 4000 and (map(.slack_bytes) | add) == 0)) |
		length >= 6 and all' runs.json >/dev/null || { jq -c .rows runs.json; false; }
}

# Compares each stack with glibc's backtrace(): tests/track/stack_check.c.
stacks_same() { # LEAST CMD...
	local least=$1 checked different
	shift
	STACK_CHECK_SHOW=1 LD_PRELOAD=$WORKLOADS/../stack_check.so "$@" >/dev/null 2>err </dev/null
	read -r _ checked _ different < <(grep '^stacks ' err | tail -n 1)
	[ "$checked" -ge "$least" ] && [ "$different" -eq 0 ] || { echo "$*:"; head -40 err; return 1; }
}

@test "heap: stacks are those of glibc's unwinder, in programs without frame pointers" {
	seq 3000 | jq -c '{id: ., name: "n\(.)"}' >in.json
	stacks_same 10000 jq -c . in.json
	stacks_same 1000 bash -c 'declare -A a; for i in {1..100}; do a[$i]=$(echo $i); done'
	for mode in "signal 1000" "deep 120" "dlopen 10" "threads 100 20" "jump 100" "coroutine 200" "alloca 500"; do
		stacks_same 100 "$work" $mode
	done
}

# Segments 2 MiB apart, as node and others that lay out their code for huge pages have them.
@test "heap: stacks and names of files with holes between their segments" {
	cat >h.c <<-END
		#include <stdlib.h>
		void *keep(int n);
		#ifdef LIBRARY
		__attribute__((noinline)) void *keep(int n)
		{
			void *volatile p = n ? keep(n - 1) : malloc(100);
			return p;
		}
		#else
		int main(void)
		{
			for (int i = 0; i < 100; i++)
				keep(i % 50);
			return 0;
		}
		#endif
	END
	gap="-O2 -Wl,-z,separate-code,-z,max-page-size=0x200000,-z,common-page-size=0x200000"
	gcc -O2 -DLIBRARY -c -o keep.o h.c
	gcc $gap -no-pie -o fixed h.c keep.o
	gcc $gap -o moved h.c keep.o
	gcc $gap -shared -fPIC -DLIBRARY -o libh.so h.c
	gcc -O2 -o user h.c -L. -lh -Wl,-rpath,"$PWD"
	! command -v musl-gcc >/dev/null || musl-gcc -O2 -no-pie -Wl,--eh-frame-hdr -o musl h.c keep.o
	for program in fixed moved user; do
		stacks_same 100 ./$program
	done
	for program in fixed moved user musl; do
		[ -x $program ] || continue
		heap -- ./$program
		# Of 50 depths, each twice.
		jq -e '[.rows[] | select(.table == "heap") | .stack // [] | map(select(test("^keep\\b"))) | length |
			select(. > 0)] | sort == [range(1; 51)]' "$json" >/dev/null || { jq -c '.rows[]' "$json"; false; }
	done
}

@test "heap: stacks of python3 are those of glibc's unwinder" {
	[ -x /usr/bin/python3 ] || skip "no python3"
	PYTHONMALLOC=malloc stacks_same 10000 /usr/bin/python3 -c 'import json; print(json.dumps({str(i): [i] for i in range(9999)}))'
}

@test "heap: stacks of sqlite3 are those of glibc's unwinder" {
	command -v sqlite3 >/dev/null || skip "no sqlite3"
	stacks_same 1000 sqlite3 :memory: \
		"with recursive c(x) as (select 1 union all select x+1 from c where x<3000) select group_concat(x||'a') from c"
}

@test "heap: stacks of clang are those of glibc's unwinder" {
	command -v clang >/dev/null || skip "no clang"
	echo 'int main(void) { return 0; }' >t.c
	stacks_same 1000 clang -O2 -c -o /dev/null t.c
}

@test "heap: a recording shows what the live run showed, by each key and format" {
	"$MEMWHY" heap --record run.mw -o json --out live.json -- "$work" threads 100 3
	"$MEMWHY" heap --input run.mw -o json | diff live.json -
	for by in process thread comm cgroup stack; do
		"$MEMWHY" heap --input run.mw --by $by -o json |
			jq -e '[.rows[] | select(.table == "heap") | .allocations] | add == 303' >/dev/null
	done
	"$MEMWHY" heap --input run.mw -o folded | grep -q 'hand_over 7200$'
}

@test "heap: the command's output, input and status are its own" {
	run --separate-stderr bash -c "echo in | '$MEMWHY' heap --out report -- sh -c 'cat; echo err >&2; exit 7'"
	[ "$status" -eq 7 ]
	[ "$output" = in ]
	[ "$stderr" = err ]
	[ -s report ]
}

@test "heap: without memwhy the command goes on" {
	mkfifo go
	"$MEMWHY" heap -- sh -c 'echo $$ >pid; read -r x <go; ls / >/dev/null; jq -n 1 >out; echo done >>out' >/dev/null 2>&1 3>&- &
	memwhy=$!
	wait_for '[ -s pid ]'
	kill -KILL $memwhy
	wait $memwhy || [ $? -eq 137 ]
	echo go >go
	wait_for '[ -s out ] && grep -q done out'
	grep -qx 1 out
	wait_for '! kill -0 $(cat pid) 2>/dev/null'
}

# Whether memwhy's command has the ring that memwhy handed to it.
ring_mapped() { # MEMWHY
	local child
	child=$(pgrep -P "$1" heap_work) && grep -q memwhy-heap "/proc/$child/maps"
}

@test "heap: a command that may not wait goes on while memwhy stands still" {
	"$MEMWHY" heap -o json --out report -- "$work" tight 30000000 >out 2>err 3>&- &
	memwhy=$!
	wait_for 'ring_mapped $memwhy'
	kill -STOP $memwhy
	wait_for 'grep -q pair_ps out'
	kill -CONT $memwhy
	status=0
	wait $memwhy || status=$?
	[ "$status" -eq 0 ]
	jq -e '.notes[] | select(test("went on without memwhy"))' report >/dev/null || { jq -c . report; false; }
}

@test "heap: with --no-wait it loses events, and says how many, but no time" {
	"$MEMWHY" heap --no-wait -o json --out report -- "$work" tight 30000000 >out 2>err 3>&- &
	memwhy=$!
	wait_for 'ring_mapped $memwhy'
	kill -STOP $memwhy
	wait_for 'grep -q pair_ps out'
	kill -CONT $memwhy
	wait $memwhy
	jq -e '.lost.heap > 1000000 and .events.heap > 10000 and
		.events.heap + .lost.heap > 59900000 and .events.heap + .lost.heap < 60100000' report ||
		{ jq -c '.events, .lost, .notes' report; false; }
	jq -e '[.notes[]? | select(test("went on without"))] | length == 0' report
}

@test "heap: threads have their names" {
	cat >t.c <<-END
		#define _GNU_SOURCE
		#include <pthread.h>
		#include <stdlib.h>
		#include <unistd.h>
		static void *work(void *name)
		{
			pthread_setname_np(pthread_self(), name);
			for (int i = 0; i < 50; i++) {
				free(malloc(10));
				usleep(10000);
			}
			return NULL;
		}
		int main(void)
		{
			pthread_t t[2];
			pthread_create(&t[0], NULL, work, "reader");
			pthread_create(&t[1], NULL, work, "writer");
			pthread_join(t[0], NULL);
			pthread_join(t[1], NULL);
		}
	END
	gcc -O0 -o t t.c
	"$MEMWHY" heap --by thread -o json -- ./t >r.json
	jq -e '[.rows[] | select(.table == "heap" and .allocations == 50) | .comm] | sort == ["reader", "writer"]' r.json ||
		{ jq -c '.rows[]' r.json; false; }
}
