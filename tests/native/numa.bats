#!/usr/bin/env bats
# numa, what is made of the accesses: objects of a running program, its recording, its flows. On one
# node too: there nothing is remote, and that is what must be said.

load common

# One recording, which most tests ask of.
setup_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	cd "$BATS_FILE_TMPDIR"
	cat >job.c <<-'C'
	#include <pthread.h>
	#include <stdlib.h>
	#include <string.h>
	#include <sys/mman.h>
	#include <sys/prctl.h>
	#include <unistd.h>
	#define MIB (1 << 20)
	static char static_table[16 * MIB];
	static char static_data[8 * MIB] = {1};
	static void *worker(void *mapped)
	{
		volatile char stack[512 << 10];
		for (size_t i = 0; i < sizeof(stack); i += 4096)
			stack[i] = 1;
		memset(mapped, 1, 16 * MIB);
		return NULL;
	}
	int main(void)
	{
		char *mapped = mmap(NULL, 16 * MIB, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *small[4096];
		pthread_t t;
		/* Else the thread's stack may be one huge page, which pthread_create touches. */
		prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
		usleep(1500000);
		memset(static_table, 1, sizeof(static_table));
		memset(static_data, 1, sizeof(static_data));
		for (int i = 0; i < 4096; i++)
			memset(small[i] = malloc(4096), 1, 4096);
		pthread_create(&t, NULL, worker, mapped);
		pthread_join(t, NULL);
		usleep(300000);
		return small[7][9] + static_table[5] + static_data[5] == 99;
	}
	C
	gcc -O1 -g -pthread -o job job.c
	heap_job
	"$MEMWHY" numa --source first-touch --record run.mw -o json --by site,type,thread --out live.json -- ./job 2>refused ||
		[ $? -eq 3 ]
}

setup() {
	needs_root
	[ -s "$BATS_FILE_TMPDIR/live.json" ] || skip "page faults tell no addresses here: $(head -n1 "$BATS_FILE_TMPDIR/refused")"
	cd "$BATS_TEST_TMPDIR"
	ln -s "$BATS_FILE_TMPDIR"/* .
}

rows() { # FILE TABLE FILTER
	jq -r ".rows[] | select(.table == \"$2\") | $3" "$1"
}

@test "numa: at least 97 % of the samples of a program are of an object" {
	all=$(rows live.json types .samples | jq -s add)
	missed=$(rows live.json unattributed .samples | jq -s 'add // 0')
	echo "$all with an object, $missed without"
	[ "$all" -gt 100 ]
	[ $((missed * 100)) -le $(((all + missed) * 3)) ]
}

@test "numa: variables, mappings, heap and stacks are told apart" {
	rows live.json sites '[.kind, .name] | @tsv' | tee all
	grep -P '^variable\tstatic_table' all
	grep -P '^variable\tstatic_data' all
	grep -P '^mapping\t' all
	grep -P '^heap block\tmain' all
	grep -P '^stack\tstack of job' all
	# About as many pages as the program touched.
	[ "$(rows live.json sites 'select(.name | startswith("static_data")) | .accesses')" -gt 1600 ]
	[ "$(rows live.json sites 'select(.name | startswith("static_data")) | .accesses')" -lt 2500 ]
}

@test "numa: on one node nothing is remote, and no pattern is found" {
	[ ! -d /sys/devices/system/node/node1 ] || skip "this host has several nodes"
	[ "$(jq '[.rows[] | select(.table == "sites") | .remote_ratio // 0] | max' live.json)" = 0 ]
	[ "$(jq '.findings // [] | length' live.json)" = 0 ]
}

@test "numa: the recording gives the same rows" {
	"$MEMWHY" numa --input run.mw -o json --by site,type,thread --out again.json
	diff <(jq -S '.rows' live.json) <(jq -S '.rows' again.json)
}

# bats test_tags=host
@test "numa flow: of an object and of a thread, in order, as many as the tables say" {
	for format in jsonl csv; do
		"$MEMWHY" numa flow --input run.mw --object static_table --table flow -o $format --out flow.$format
	done
	n=$(rows live.json sites 'select(.name | startswith("static_table")) | .samples')
	[ "$(grep -c '"table":"flow"' flow.jsonl)" = "$n" ]
	[ "$(wc -l <flow.csv)" = $((n + 1)) ]
	jq -s '[.[] | select(.table == "flow") | .time_ns] | . == sort' flow.jsonl | grep -qx true
	[ "$(jq -s '[.[] | select(.table == "flow") | .offset_bytes] | max' flow.jsonl)" -lt $((16 << 20)) ]
	tid=$(jq -r 'select(.table == "flow") | .tid' flow.jsonl | head -n 1)
	"$MEMWHY" numa flow --input run.mw --thread "$tid" --table flow -o jsonl --out thread.jsonl
	[ "$(jq -r 'select(.table == "flow") | .tid' thread.jsonl | sort -u)" = "$tid" ]
}

# bats test_tags=host
@test "numa: an analysis of one's own by the C interface sees the flows that numa flow shows" {
	"${BUILD:-$BATS_TEST_DIRNAME/../../build}/docs/examples/numa_flows" run.mw >ours
	"$MEMWHY" numa flow --input run.mw --table flow -o jsonl --fields tid,object,name,remote |
		jq -c 'select(.table == "flow")' >rows
	jq -r 'select(.object != null) | "\(.object) \(.name)"' rows | sort | uniq -c |
		awk '{ n = $1; $1 = ""; sub(/^ /, ""); o = $1; $1 = ""; print o, n $0 }' | sort >theirs
	[ -s theirs ]
	diff <(sed -n 's/^object \([0-9]*\) \([0-9]*\) [0-9]* [0-9]* /\1 \2 /p' ours | sort) theirs
	jq -r .tid rows | sort | uniq -c | awk '{ print $2, $1 }' | sort >theirs
	diff <(awk '$1 == "thread" { print $2, $3 }' ours | sort) theirs
	# The worker's mapping: the main thread made it, one other touched it.
	grep -E '^object [0-9]+ [0-9]+ 1 0 main' ours
}

@test "numa: each sample is of one object, or of one reason why of none" {
	"$MEMWHY" numa --input run.mw -o jsonl --by site,object,type,function,thread >all.jsonl
	sum() { jq -s "[.[] | select(.table == \"$1\") | .samples] | add // 0" all.jsonl; }
	n=$(sum sources)
	[ "$n" -gt 100 ]
	missed=$(sum unattributed)
	for table in sites objects types; do
		[ $(($(sum $table) + missed)) -eq "$n" ]
	done
	[ "$(sum functions)" -eq "$n" ]
	[ "$(sum threads)" -eq "$n" ]
	# Without a process's maps all are of the reason.
	"${BUILD:-$BATS_TEST_DIRNAME/../../build}/tests/perfdata/make" order 4000 >f
	"$MEMWHY" numa --input f -o csv --table unattributed | grep -x 'no mapping of the process is known,4000,1'
}

@test "numa: where the memory of a process is, as numa_maps says" {
	printf '#include <stdio.h>\n#include <string.h>\n#include <unistd.h>\nstatic char table[16 << 20];\nint main(void) { getchar(); memset(table, 1, sizeof(table)); puts("done"); fflush(stdout); return sleep(60); }\n' >still.c
	gcc -O1 -g -o still still.c
	mkfifo go
	./still <go >still.out 3>&- &
	pid=$!
	exec 7>go
	memwhy_start numa --source first-touch -p "$pid"
	echo >&7
	wait_for 'grep -q done still.out'
	sleep 1.5 # a look after its mappings were told
	memwhy_stop
	exec 7>&-
	want=$(awk '{ size = 0; pages = 0; for (i = 2; i <= NF; i++) {
			if ($i ~ /^N[0-9]+=/) { sub(/.*=/, "", $i); pages += $i }
			if (sub(/^kernelpagesize_kB=/, "", $i)) size = $i } sum += pages * size }
		END { print sum * 1024 }' "/proc/$pid/numa_maps")
	kill "$pid"
	[ "$want" -gt 0 ]
	[ "$(rows "$json" places .bytes | jq -s add)" -eq "$want" ]
	[ "$(rows "$json" nodes .held_bytes | jq -s add)" -eq "$want" ]
	rows "$json" places '"\(.kind) \(.name)"' | grep -x 'code libc.so.6'
	[ "$(rows "$json" places 'select(.kind == "mapping") | .bytes' | sort -n | tail -n 1)" -ge $((16 << 20)) ]
}

# bats test_tags=host
@test "numa --topology: nodes of another machine, or the line that is wrong" {
	printf 'node 0 cpus 0 bytes 1G distances 10,21\nnode 1 cpus 1-63 bytes 1G distances 21,10\n' >two
	"$MEMWHY" numa --input run.mw --topology two -o json --out two.json
	nodes=$(rows two.json nodes .node | xargs)
	[[ $nodes == "0 1"* ]] # and those of a machine that has more, whose memory was recorded
	printf 'node 0 cpus 0\nnode 1 cpu 1\n' >bad
	run "$MEMWHY" numa --input run.mw --topology bad
	[ "$status" -eq 2 ]
	[[ $output == *"line 2"* ]]
}

# Two arrays of one site, one after the other at one address; one that another thread writes and
# frees; one of calloc; small ones.
heap_job() {
	cat >blocks.c <<-'C'
	#include <pthread.h>
	#include <stdlib.h>
	#include <string.h>
	#include <sys/prctl.h>
	#define MIB (1 << 20)
	#define SITE(name, call) __attribute__((noinline)) static char *name(size_t n) { char *p = call; __asm__("" : "+r"(p)); return p; }
	SITE(site_mine, malloc(n))
	SITE(site_theirs, malloc(n))
	SITE(site_cleared, calloc(1, n))
	SITE(site_small, malloc(n))
	static void fill(char *p, size_t n) { memset(p, 1, n); __asm__("" ::"r"(p) : "memory"); }
	static void *worker(void *a) { fill(a, 32 * MIB); free(a); return NULL; }
	int main(void)
	{
		static char *small[20000];
		pthread_t t;
		prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* a page a fault */
		char *cleared = site_cleared(24 * MIB);
		char *theirs = site_theirs(32 * MIB);
		for (int i = 0; i < 2; i++) {
			char *mine = site_mine(65 * MIB);
			fill(mine, 65 * MIB);
			free(mine);
		}
		fill(cleared, 24 * MIB);
		for (int i = 0; i < 20000; i++)
			fill(small[i] = site_small(2000), 2000);
		pthread_create(&t, NULL, worker, theirs);
		pthread_join(t, NULL);
		return small[3][3] + cleared[5] == 99;
	}
	C
	gcc -O1 -g -pthread -o blocks blocks.c
}

# Touched pages of a site: accesses are about as many, a sample stands for 64.
near() { # FILE SITE MIB
	local n
	n=$(rows "$1" types 'select(.kind == "heap block")' | wc -l)
	[ "$n" -gt 0 ]
	n=$(rows "$1" sites "select(.kind == \"heap block\" and (.name | startswith(\"$2\"))) | .accesses" | jq -s 'add // 0')
	echo "$2: $n accesses, of about $(($3 * 256))"
	[ "$n" -gt $(($3 * 256 - $3 * 26 - 128)) ]
	[ "$n" -lt $(($3 * 256 + $3 * 26 + 128)) ]
}

# bats test_tags=host
@test "numa: heap blocks are objects by who allocated them, and an address used again is two" {
	"$MEMWHY" numa --source first-touch --all-blocks --record blocks.mw -o json --by site,type,object --out blocks.json -- ./blocks
	near blocks.json site_mine 130
	near blocks.json site_theirs 32
	near blocks.json site_cleared 24
	near blocks.json site_small 39
	all=$(rows blocks.json types .samples | jq -s add)
	blocks=$(rows blocks.json types 'select(.kind == "heap block") | .samples')
	echo "$blocks of $all samples are of heap blocks"
	[ $((blocks * 100)) -ge $((all * 95)) ]
	[ "$(rows blocks.json objects 'select(.name | startswith("site_mine")) | .object' | sort -u | wc -l)" = 2 ]
	# One thread made it (its allocator wrote to the first page), the other used and freed it.
	[ "$(rows blocks.json sites 'select(.name | startswith("site_theirs")) | [.maker_ratio < 0.01, .frees] | @tsv')" = "true	1" ]
	[ "$(rows blocks.json sites 'select(.name | startswith("site_mine")) | .frees' | jq -s add)" = 2 ]
	[ "$(rows blocks.json sites 'select(.name | startswith("site_mine")) | .maker_ratio' | sort -u)" = 1 ]
	"$MEMWHY" numa --input blocks.mw -o json --by site,type,object --out again.json
	diff <(jq -S '.rows' blocks.json) <(jq -S '.rows' again.json)
}

# What is small, becomes large and is small again, twice at one address.
grow_job() {
	cat >grow.c <<-'C'
	#include <stdlib.h>
	#include <string.h>
	#include <sys/prctl.h>
	#define SITE(name, call) __attribute__((noinline)) static char *name(char *p, size_t n) { p = call; __asm__("" : "+r"(p)); return p; }
	SITE(site_begin, malloc(n))
	SITE(site_grown, realloc(p, n))
	SITE(site_shrunk, realloc(p, n))
	int main(void)
	{
		char *keep[20000], *p;
		prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
		for (int i = 0; i < 20000; i++)
			memset(keep[i] = malloc(2000), 1, 2000);
		for (int i = 0; i < 2; i++) {
			p = site_begin(NULL, 100);
			p = site_grown(p, 40 << 20);
			memset(p, 1, 40 << 20);
			p = site_shrunk(p, 100);
			memset(p, 1, 100);
			free(p);
		}
		return keep[7][7] == 9;
	}
	C
	gcc -O1 -g -o grow grow.c
}

# bats test_tags=host
@test "numa: by default large blocks are told apart, small ones are of the heap" {
	"$MEMWHY" numa --source first-touch -o json --by site,type,object --out large.json -- ./blocks
	near large.json site_mine 130
	near large.json site_theirs 32
	near large.json site_cleared 24
	[ "$(rows large.json sites 'select(.name | startswith("site_small"))' | wc -l)" = 0 ]
	[ "$(rows large.json types 'select(.kind == "heap") | .accesses')" -gt 8000 ]
	grow_job
	"$MEMWHY" numa --source first-touch --record grow.mw -o json --by site,type,object --out grow.json -- ./grow
	near grow.json site_grown 80
	[ "$(rows grow.json objects 'select(.name | startswith("site_grown")) | .object' | sort -u | wc -l)" = 2 ]
	[ "$(rows grow.json sites 'select(.name | startswith("site_grown")) | .frees' | jq -s add)" = 2 ]
	[ "$(rows grow.json sites 'select(.name | startswith("site_begin") or startswith("site_shrunk"))' | wc -l)" = 0 ]
	# Sums of a part would pass for sums of all.
	run "$MEMWHY" heap --input grow.mw -o json
	[ "$(jq '.rows | length' <<<"$output" 2>/dev/null || echo 0)" = 0 ]
	run -2 "$MEMWHY" numa --all-blocks --no-heap -- ./grow
	[[ $output == *"--all-blocks and --no-heap"* ]]
	run -2 "$MEMWHY" numa --all-blocks --input grow.mw
	[[ $output == *"--all-blocks works with -- CMD only"* ]]
}

# bats test_tags=host
@test "numa: a fork that allocates nothing has its parent's heap blocks" {
	cat >forks.c <<-'C'
	#include <stdlib.h>
	#include <sys/prctl.h>
	#include <sys/wait.h>
	#include <unistd.h>
	#define BYTES (32 << 20)
	__attribute__((noinline)) static char *site_cache(void) { char *p = malloc(BYTES); __asm__("" : "+r"(p)); return p; }
	int main(void)
	{
		char *p = site_cache();
		prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* a page a fault */
		if (!fork()) {
			for (int i = 0; i < BYTES; i += 4096)
				p[i] = 1;
			_exit(0);
		}
		wait(NULL);
		return 0;
	}
	C
	gcc -O1 -g -o forks forks.c
	"$MEMWHY" numa --source first-touch -o json --by site,type --out forks.json -- ./forks
	near forks.json site_cache 32
}

# bats test_tags=host
@test "numa: without the preload library the heap is one object, and it is said why" {
	"$MEMWHY" numa --source first-touch --no-heap -o json --by type --out no.json -- ./blocks
	[ "$(rows no.json types 'select(.kind == "heap block")' | wc -l)" = 0 ]
	[ "$(jq '.events | has("heap")' no.json)" = false ]
	gcc -O1 -static -pthread -o static blocks.c
	"$MEMWHY" numa --source first-touch -o json --by type --out no.json -- ./static
	[ "$(rows no.json types 'select(.kind == "heap block")' | wc -l)" = 0 ]
	jq -c '.missing' no.json
	jq -r '.missing[] | tostring' no.json | grep 'heap blocks' | grep static
}

# Thread-local areas, of the program and of a library, that threads give back and touch again: their
# own, and the main thread one that is not. Prints the tids.
tls_job() {
	cat >lib.c <<-'C'
	__thread char lib_area[4 << 20] __attribute__((tls_model("initial-exec")));
	char *lib_at(void) { return lib_area; }
	C
	cat >tls.c <<-'C'
	#define _GNU_SOURCE
	#include <pthread.h>
	#include <stdio.h>
	#include <string.h>
	#include <sys/mman.h>
	#include <sys/prctl.h>
	#include <unistd.h>
	#define PAGES 1000
	static __thread char small;
	static __thread char area[4 << 20];
	char *lib_at(void);
	static pthread_barrier_t begun, used;
	static char *shared;
	static void use(char *p, int rounds)
	{
		p = (char *)(((unsigned long)p + 4095) & ~4095UL);
		for (; rounds; rounds--) {
			madvise(p, PAGES * 4096, MADV_DONTNEED);
			for (int i = 0; i < PAGES; i++)
				((volatile char *)p)[i * 4096] = 1;
		}
	}
	static void *own(void *arg)
	{
		printf("own %d\n", gettid());
		use(area, 16);
		shared = area;
		pthread_barrier_wait(&begun);
		pthread_barrier_wait(&used);
		return arg;
	}
	static void *library(void *arg)
	{
		printf("library %d\n", gettid());
		use(lib_at(), 16);
		return arg;
	}
	int main(void)
	{
		pthread_t t;
		prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
		usleep(300000);
		printf("main %d\n", gettid());
		use(area, 8);
		pthread_barrier_init(&begun, NULL, 2);
		pthread_barrier_init(&used, NULL, 2);
		pthread_create(&t, NULL, own, NULL);
		pthread_barrier_wait(&begun);
		use(shared, 16);
		pthread_barrier_wait(&used);
		pthread_join(t, NULL);
		pthread_create(&t, NULL, library, NULL);
		pthread_join(t, NULL);
		return small;
	}
	C
	gcc -O1 -g -shared -fPIC -o libtls.so lib.c
	gcc -O1 -g -pthread -o tls tls.c -L. -ltls -Wl,-rpath,"$PWD"
}

# Accesses to a thread's variable, a sample stands for 64.
tls_near() { # NAME THREAD ACCESSES
	local n tid
	tid=$(sed -n "s/^$2 //p" tids)
	n=$(rows tls.json sites "select(.kind == \"variable\" and (.name | startswith(\"$1 (TLS of \")) and (.name | endswith(\" ($tid))\"))) | .accesses" | jq -s 'add // 0')
	echo "$1 of $2: $n accesses, of about $3"
	[ "$n" -gt $(($3 - $3 / 10 - 512)) ]
	[ "$n" -lt $(($3 + $3 / 10 + 512)) ]
}

@test "numa: thread-local variables are objects of their threads, whoever accesses them" {
	tls_job
	"$MEMWHY" numa --source first-touch --record tls.mw -o json --out tls.json -- ./tls >tids
	rows tls.json sites '[.name, .accesses] | @tsv'
	tls_near area main 9024 # with the loader's clearing of all 4 MiB
	tls_near area own 32000
	tls_near lib_area library 16000
	"$MEMWHY" numa --input tls.mw -o json --out again.json
	diff <(jq -S '.rows' tls.json) <(jq -S '.rows' again.json)
}
