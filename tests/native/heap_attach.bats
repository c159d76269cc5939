# The heap of running processes: numbers held against what the workload is known to do after memwhy
# has attached, with each allocator, and whatever becomes of the process.
# bats file_tags=beside
load common

setup() {
	needs_root
	work=$WORKLOADS/heap_work
}

# Starts a program that waits for its go (HEAP_WORK_WAIT): $pid, its input on fd 7.
work_start() { # BEFORE CMD...
	mkfifo "$BATS_TEST_TMPDIR/in"
	HEAP_WORK_WAIT=$1 "${@:2}" <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out" 3>&- &
	job=$!
	exec 7>"$BATS_TEST_TMPDIR/in"
	wait_for 'grep -q ready "$BATS_TEST_TMPDIR/out"'
	pid=$(sed -n 's/^ready //p' "$BATS_TEST_TMPDIR/out")
}

# Lets it work to its end, which ends memwhy too. Nothing is lost, and the blocks add up.
work_go() {
	echo go >&7
	wait "$job" || true
	wait_for '! kill -0 $memwhy 2>/dev/null'
	wait "$memwhy" || { cat "$BATS_TEST_TMPDIR/err"; return 1; }
	adds_up
}

adds_up() {
	jq -e '.lost.heap == 0 and all(.rows[] | select(.table == "process");
		.allocations == .frees + .live_blocks + .unseen_frees and .lost == 0)' "$json" >/dev/null ||
		{ jq -c . "$json"; return 1; }
}

# A field summed over the stacks whose innermost function this is.
of_caller() { # FUNCTION FIELD
	jq --arg f "$1" "[.rows[] | select(.table == \"heap\") |
		select(.stack[0]? // \"\" | tostring | test(\"\\\\b\" + \$f + \"\\\\b\")) | .$2] | add // 0" "$json"
}

notes() {
	jq -r '.notes[]?' "$json"
}

# bats test_tags=host
@test "heap -p: each function of the allocator is counted once, realloc's failure too" {
	work_start 0 "$work" each
	memwhy_start heap -p "$pid"
	work_go
	[ "$(processes allocations frees live_blocks live_bytes moved unknown_frees unseen_frees)" = \
		"17 13 4 400 1 0 0" ]
	[ "$(processes allocated_bytes peak_bytes state)" = "1868 1000 ended" ]
	[[ "$(notes)" = *"1 allocations failed"* ]]
}

# bats test_tags=host
@test "heap -p: a process that ends while memwhy comes: what was seen, or one true sentence" {
	cd "$BATS_TEST_TMPDIR"
	bash -c 'sleep 0.1 & exec sleep 60' 3>&- & # which nobody waits for
	parent=$!
	wait_for 'pgrep -P "$parent" -r Z'
	run "$MEMWHY" heap -p "$(pgrep -P "$parent")" --for 1s
	kill "$parent"
	[ "$status" -eq 2 ]
	[[ $output == *" ended before memwhy could read it"* ]]
	for ms in 0 005 010 020 030 040 050 060 070 080 090 100 120 150; do
		sleep "0.$ms" &
		"$MEMWHY" heap -p $! --for 1s >out 2>err && continue
		[ $? -eq 2 ]
		echo "$ms: $(cat err)"
		grep -Eq '^memwhy: (-p: there is no process [0-9]+|process [0-9]+ ended before memwhy could read it)$' err
	done
}

@test "heap -p: the peak is as it was, by stack; the caller is right" {
	work_start 0 "$work" peak 1000
	memwhy_start heap -p "$pid"
	work_go
	[ "$(processes peak_bytes peak_blocks live_bytes allocations)" = "110000 2000 60000 2500" ]
	[ "$(of_caller before_peak peak_bytes)" -eq 10000 ]
	[ "$(of_caller before_peak live_bytes)" -eq 10000 ]
	[ "$(of_caller peak_here peak_bytes)" -eq 100000 ]
	[ "$(of_caller peak_here live_bytes)" -eq 50000 ]
	[ "$(of_caller peak_here allocations)" -eq 1500 ]
}

# The libraries of distributions have no frame pointers: without the tables a stack is one frame.
# bats test_tags=host
@test "heap -p: without being asked to, stacks of a distribution's program are whole" {
	env jq -n 'def f: [range(20000)] | map(tostring) | length; [range(1000) | f] | add' >/dev/null 3>&- &
	job=$!
	wait_for 'grep -q libjq "/proc/$job/maps"'
	memwhy_start heap -p "$job" --for 1s
	wait "$memwhy"
	kill "$job"
	shares=$(jq '[.rows[] | select(.table == "heap") |
		{n: .allocations, whole: (.stack_method == null and (.stack | length > 4) and
			(.stack[-3:] | tostring | test("libc_start|_start|jq\\+0x")))}] |
		{all: map(.n) | add, whole: map(select(.whole).n) | add}' "$json")
	jq -e '.all > 1000 and .whole >= .all * 0.99' <<<"$shares" || { echo "$shares"; return 1; }
}

@test "heap -p: frees of blocks from before are counted apart" {
	work_start 300 "$work" peak 10
	memwhy_start heap -p "$pid"
	work_go
	[ "$(processes unknown_frees unseen_frees)" = "300 0" ]
	[ "$(of_caller peak_here allocations)" -eq 15 ]
}

@test "heap -p: blocks that other threads free; one address as fast as it goes round" {
	work_start 0 "$work" threads 5000 4
	memwhy_start heap -p "$pid"
	work_go
	[ "$(processes unseen_frees threads)" = "0 5" ]
	[ "$(of_caller hand_over allocations)" -eq 20000 ]
	[ "$(of_caller hand_over live_blocks)" -eq 0 ]
}

@test "heap -p: by thread, what each allocated and freed" {
	work_start 0 "$work" threads 2000 4
	memwhy_start heap -p "$pid" --by thread
	work_go
	[ "$(jq '[.rows[] | select(.table == "heap") | select(.allocations >= 2000)] | length' "$json")" -ge 4 ]
	[ "$(jq '[.rows[] | select(.table == "heap") | .allocations] | add' "$json")" = "$(processes allocations)" ]
	[ "$(jq '[.rows[] | select(.table == "heap") | .live_bytes] | add' "$json")" = "$(processes live_bytes)" ]
}

# bats test_tags=host
@test "heap -p: ten thousand threads, one after the other; blocks that outlive theirs" {
	local n=10000 # there is room for 8192 at a time
	[ -z "${MEMWHY_VM-}" ] || n=1000 # an emulated guest takes minutes for as many
	work_start 0 "$work" orphans $n
	memwhy_start heap -p "$pid" --by thread --limit 0
	work_go
	[ "$(processes live_blocks live_bytes unseen_frees)" = "$((n / 100 + 1)) $((n / 100 * 72 + 272)) 0" ] || { processes allocations frees live_blocks unseen_frees; notes; false; }
	# Each thread has its own row, also where the kernel gave a tid again.
	jq -e --argjson n $n '[.rows[] | select(.table == "heap")] |
		map(select(.allocations == 1 and .allocated_bytes == 72)) as $threads |
		($threads | length) == $n and ($threads | map(.live_blocks) | add) == $n / 100 and
		(map(.live_bytes) | add) == $n / 100 * 72 + 272' "$json" || { jq -c '[.rows[:5], .notes]' "$json"; false; }
	[ "$(jq '[.rows[] | select(.table == "heap") | .allocations] | add' "$json")" = "$(processes allocations)" ]
	[ "$(jq '[.rows[] | select(.table == "heap") | .frees] | add' "$json")" = "$(processes frees)" ]
}

# bats test_tags=host
@test "heap -p: sizes of a GiB and more are whole" {
	[ "$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)" -gt 6000000 ] ||
		skip "blocks of so many GiB are refused here"
	work_start 0 "$work" huge
	memwhy_start heap -p "$pid"
	work_go
	[ "$(processes allocations allocated_bytes peak_bytes)" = "3 7516192767 5368709120" ]
}

# bats test_tags=host
@test "heap -p: SIGKILL loses nothing" {
	work_start 0 "$work" kill 5000
	memwhy_start heap -p "$pid"
	work_go
	[ "$(processes allocations live_bytes state)" = "5000 240000 ended" ]
}

# bats test_tags=host
@test "heap -p: children and what an exec makes of it are not followed, and said" {
	work_start 0 "$work" fork 20
	memwhy_start heap -p "$pid"
	work_go
	[ "$(processes allocations allocated_bytes)" = "1 1000" ]
	[[ "$(notes)" = *"had 20 children"* ]]
}

@test "heap -p: an exec ends it" {
	work_start 5 sh -c 'echo ready $$; read -r go; unset HEAP_WORK_WAIT; exec "$0" each' "$work"
	memwhy_start heap -p "$pid" --for 2s
	echo go >&7
	wait "$memwhy"
	[ "$(processes state)" = ended ]
	[[ "$(notes)" = *"ran another program"* ]]
	wait "$job" || true
}

@test "heap -p: it runs on when memwhy leaves, or is killed, in the middle of its calls" {
	work_start 0 "$work" tight 1000000000
	memwhy_start heap -p "$pid"
	echo go >&7
	sleep 0.3
	memwhy_stop
	adds_up
	memwhy_start heap -p "$pid"
	kill -KILL "$memwhy"
	wait "$memwhy" || [ $? -eq 137 ]
	memwhy_start heap -p "$pid"
	sleep 0.2
	memwhy_stop
	adds_up
	[ "$(processes allocations)" -gt 1000 ]
	kill -0 "$job"
	kill "$job"
}

# bats test_tags=host
@test "heap -p: two processes at once" {
	work_start 0 "$work" peak 100
	mkfifo "$BATS_TEST_TMPDIR/in2"
	HEAP_WORK_WAIT=7 "$work" peak 30 <"$BATS_TEST_TMPDIR/in2" >"$BATS_TEST_TMPDIR/out2" 3>&- 7>&- &
	second=$!
	exec 8>"$BATS_TEST_TMPDIR/in2"
	wait_for 'grep -q ready "$BATS_TEST_TMPDIR/out2"'
	memwhy_start heap -p "$pid,$second"
	echo go >&8
	exec 8>&-
	work_go
	[ "$(processes pid unknown_frees | sort)" = "$(printf '%s\n' "$pid 0" "$second 7" | sort)" ]
	[ "$(of_caller peak_here allocations)" -eq 195 ]
}

@test "heap -p: sampled by bytes, the estimate is near, and the live blocks come out even" {
	work_start 0 "$work" churn 2000
	memwhy_start heap -p "$pid" --sample 1
	work_go
	[ "$(of_caller nothing allocations)" -eq 2000 ]
	exec 7>&-
	rm "$BATS_TEST_TMPDIR/in"
	work_start 0 "$work" tight 400000
	memwhy_start heap -p "$pid" --sample 4K
	work_go
	# 6250 samples: 1.3 % is one standard deviation
	n=$(processes allocated_bytes)
	[ "$n" -gt 24000000 ] && [ "$n" -lt 27200000 ] || { echo "$n"; false; }
	[ "$(processes live_bytes)" -lt 8192 ]
	[ -z "$(processes temporary)" ]
	# its standard error: 6250 samples of 4 KiB, each as good as independent
	jq -e '.rows[] | select(.table == "heap" and .allocations > 1000) |
		.allocated_error_bytes > 250000 and .allocated_error_bytes < 400000' "$json" ||
		{ jq -c '.rows[]' "$json"; false; }
}

# bats test_tags=host
@test "heap -p: recorded, it reads the same" {
	work_start 3 "$work" peak 100
	memwhy_start heap -p "$pid" --record "$BATS_TEST_TMPDIR/r.mw"
	work_go
	"$MEMWHY" heap --input "$BATS_TEST_TMPDIR/r.mw" -o json | jq -S .rows >"$BATS_TEST_TMPDIR/again"
	jq -S .rows "$json" | diff - "$BATS_TEST_TMPDIR/again"
}

allocator_start() { # NAME LIBRARY BEFORE CMD...
	local path
	path=$(library "$2") || skip "no $2"
	work_start "$3" env LD_PRELOAD="$path" "${@:4}"
	memwhy_start heap -p "$pid"
	work_go
	jq -r '.method_details.heap' "$json" | grep -q "$1"
	# no function of it is where the kernel single-steps
	[ "$(jq '[.notes[]? | tostring | select(test("single-steps") and test("'"$1"'"))] | length' "$json")" -eq 0 ]
}

# Every function: those that the library has not are libc's, which call it.
allocator_each() { # NAME LIBRARY
	allocator_start "$1" "$2" 20 "$work" each
	[ "$(processes allocations frees live_blocks live_bytes unknown_frees unseen_frees)" = "17 13 4 400 20 0" ]
}

# bats test_tags=host
@test "heap -p: jemalloc, found by itself" {
	allocator_start jemalloc libjemalloc.so.2 20 "$work" peak 1000
	[ "$(processes peak_bytes unknown_frees unseen_frees)" = "110000 20 0" ]
	[ "$(of_caller peak_here allocations)" -eq 1500 ]
}

@test "heap -p: what probes the kernel single-steps, and what that costs, is said" {
	grep -q 'ID=debian' /etc/os-release && [[ $(ldd --version) == *" 2.36"* ]] ||
		skip "of another libc than Debian 12's it is not known which"
	work_start 3 "$work" peak 100
	memwhy_start heap -p "$pid"
	work_go
	jq -r '.notes[]? | tostring' "$json" | grep -E 'single-steps the probe of reallocarray in libc.so.6: [0-9.]+ us a call'
}

# bats test_tags=host
@test "heap -p: tcmalloc, found by itself" {
	allocator_each tcmalloc libtcmalloc_minimal.so.4
}

# bats test_tags=host
@test "heap -p: mimalloc, found by itself" {
	allocator_each mimalloc libmimalloc.so
}

# In libc, or an allocator in its place.
new_and_delete() { # [NAME LIBRARY]
	command -v g++ >/dev/null || skip "no g++"
	cat >"$BATS_TEST_TMPDIR/new.cc" <<-'END'
		#include <new>
		#include <stdio.h>
		#include <unistd.h>
		struct alignas(64) wide { char c[192]; };
		struct odd { char c[24]; virtual ~odd() {} };
		template <class T> static T *hide(T *p) { asm volatile("" : "+r"(p)); return p; }
		int main() {
			char c;
			dprintf(1, "ready %d\n", getpid());
			if (read(0, &c, 1) < 1) return 1;
			for (int i = 0; i < 10; i++) {
				delete hide(new odd);
				delete[] hide(new char[100]);
				delete hide(new (std::nothrow) long);
				delete hide(new wide);
				hide(new int);
			}
			_exit(0);
		}
	END
	g++ -O2 -std=c++17 -o "$BATS_TEST_TMPDIR/new" "$BATS_TEST_TMPDIR/new.cc"
	if [ -n "$1" ]; then
		allocator_start "$1" "$2" 0 "$BATS_TEST_TMPDIR/new"
	else
		work_start 0 "$BATS_TEST_TMPDIR/new"
		memwhy_start heap -p "$pid"
		work_go
	fi
	[ "$(processes allocations frees live_bytes unknown_frees)" = "50 40 40 0" ] ||
		{ processes allocations frees live_bytes unknown_frees; false; }
}

# bats test_tags=host
@test "heap -p: new and delete" {
	new_and_delete
}

# bats test_tags=host
@test "heap -p: new and delete of jemalloc" {
	new_and_delete jemalloc libjemalloc.so.2
}

# bats test_tags=host
@test "heap -p: new and delete of tcmalloc" {
	new_and_delete tcmalloc libtcmalloc_minimal.so.4
}

# bats test_tags=host
@test "heap -p: new and delete of mimalloc" {
	new_and_delete mimalloc libmimalloc.so
}

@test "heap -p: a static program" {
	[ -x "$WORKLOADS/heap_work_static" ] || skip "no static C library"
	work_start 20 "$WORKLOADS/heap_work_static" peak 1000
	memwhy_start heap -p "$pid"
	work_go
	[ "$(processes peak_bytes unknown_frees)" = "110000 20" ]
	[ "$(of_caller peak_here allocations)" -eq 1500 ]
}

@test "heap -- a static program: followed from its beginning" {
	[ -x "$WORKLOADS/heap_work_static" ] || skip "no static C library"
	json=$BATS_TEST_TMPDIR/report.json
	"$MEMWHY" heap -o json --out "$json" -- "$WORKLOADS/heap_work_static" peak 1000
	adds_up
	[ "$(processes comm unknown_frees state)" = "heap_work_stati 0 ended" ]
	[ "$(processes peak_bytes)" -gt 110000 ] # with libc's own before main
	[ "$(of_caller peak_here peak_bytes)" -eq 100000 ]
	[ "$(of_caller peak_here live_bytes)" -eq 50000 ]
	[ "$(of_caller before_peak live_bytes)" -eq 10000 ]
	strip -o "$BATS_TEST_TMPDIR/stripped" "$WORKLOADS/heap_work_static"
	run "$MEMWHY" heap -- "$BATS_TEST_TMPDIR/stripped" each
	[ "$status" -eq 3 ]
	[[ "$output" = *"static program without a symbol for malloc"* ]]
}

@test "leak -p: what stays and grows, by stack, with its age; what is freed is not there" {
	cat >"$BATS_TEST_TMPDIR/leaky.c" <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		void *volatile sink;
		__attribute__((noinline)) void leaky(void) { sink = malloc(1000); __asm__ volatile(""); }
		__attribute__((noinline)) void fine(void) { sink = malloc(500); free(sink); __asm__ volatile(""); }
		int main(void) {
			char c;
			dprintf(1, "ready %d\n", getpid());
			if (read(0, &c, 1) < 1) return 1;
			for (int i = 0; i < 300; i++) {
				leaky();
				for (int k = 0; k < 5; k++) fine();
				usleep(4000);
			}
			_exit(0);
		}
	END
	cc -O1 -fno-omit-frame-pointer -o "$BATS_TEST_TMPDIR/leaky" "$BATS_TEST_TMPDIR/leaky.c"
	work_start 0 "$BATS_TEST_TMPDIR/leaky"
	memwhy_start leak -p "$pid"
	echo go >&7
	wait "$job"
	wait "$memwhy"
	[ "$(jq '.lost.heap' "$json")" -eq 0 ]
	row='.rows[] | select((.stack[0]? // "" | tostring | test("leaky")))'
	[ "$(jq -r "$row | [.live_blocks, .live_bytes, .allocations, .frees] | @tsv" "$json" | tr '\t' ' ')" = \
		"300 300000 300 0" ] || { jq -c . "$json"; false; }
	jq -e "$row | .old_objects > 40 and .old_objects < 170" "$json"
	jq -e '[.rows[] | select((.stack[0]? // "" | tostring | test("fine")))] | length == 0' "$json"
}

# bats test_tags=host
@test "heap -p: the file that has malloc, by any of its names" {
	ln -s "$(ldd "$work" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')" "$BATS_TEST_TMPDIR/mine.so"
	work_start 0 "$work" each
	memwhy_start heap -p "$pid" --allocator "$BATS_TEST_TMPDIR/mine.so"
	work_go
	[ "$(processes allocations frees live_blocks live_bytes)" = "17 13 4 400" ]
}

@test "heap -p: what cannot be attached to is said" {
	run "$MEMWHY" heap -p $$ --allocator nosuch
	[ "$status" -eq 2 ]
	[[ "$output" = *"has no 'nosuch' with a malloc"* ]]
	run "$MEMWHY" heap -p $$ --no-wait
	[ "$status" -eq 2 ]
	[[ "$output" = *"--no-wait works with -- CMD only"* ]]
	run "$MEMWHY" heap --allocator jemalloc -- true
	[ "$status" -eq 2 ]
	[[ "$output" = *"--allocator works with -p only"* ]]
	run "$MEMWHY" heap -p 2
	[ "$status" -ne 0 ]
	[[ "$output" = *"process 2"* ]]
	run "$MEMWHY" heap
	[ "$status" -eq 2 ]
	[[ "$output" = *"needs a command to run, or -p"* ]]
}

# One block from before, one that stays, one that is freed and comes back: which of them the first
# touches of pages (one in 64) were in.
@test "numa -p --heap: accesses are of the blocks allocated since, by who allocated them" {
	cd "$BATS_TEST_TMPDIR"
	cat >blocks.c <<-'C'
	#include <stdio.h>
	#include <stdlib.h>
	#include <sys/prctl.h>
	#include <unistd.h>
	#define SITE(name) __attribute__((noinline, noclone, no_icf)) static char *name(size_t n) \
		{ char *p = malloc(n); __asm__ volatile("" : "+r"(p)); return p; }
	#define MIB (1UL << 20)
	SITE(site_early)
	SITE(site_kept)
	SITE(site_again)
	static void use(char *p, size_t n) { for (size_t i = 0; i < n; i += 4096) p[i] = 1; }
	int main(void)
	{
		char *early = site_early(32 * MIB), *kept, *again;
		prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
		printf("ready %d\n", getpid());
		fflush(stdout);
		getchar();
		use(early, 32 * MIB);
		kept = site_kept(64 * MIB);
		use(kept, 64 * MIB);
		for (int i = 0; i < 2; i++) {
			again = site_again(32 * MIB);
			use(again, 32 * MIB);
			sleep(2); /* it is there when blocks are looked at */
			free(again);
		}
		return 0;
	}
	C
	gcc -O1 -g -o blocks blocks.c
	work_start 0 ./blocks
	memwhy_start numa -p "$pid" --heap --source first-touch --by site
	echo go >&7
	wait "$job" || true
	wait_for '! kill -0 $memwhy 2>/dev/null'
	wait "$memwhy" || { cat "$BATS_TEST_TMPDIR/err"; return 1; }
	samples() { # NAME: of the objects of this site
		jq "[.rows[] | select(.table == \"sites\" and (.name | startswith(\"$1\"))) | .samples] | add // 0" "$json"
	}
	jq -c '.rows[] | select(.table == "sites") | [.name, .kind, .samples]' "$json"
	jq -e '.lost.numa == 0 and .lost.heap == 0' "$json"
	[ "$(samples site_early)" -eq 0 ]
	# 64 MiB are 16384 faults, and one of 64 on each CPU is a sample
	[ "$(samples site_kept)" -ge 248 ]
	[ "$(samples site_kept)" -le 264 ]
	[ "$(samples site_again)" -ge 120 ]
	[ "$(samples site_again)" -le 264 ]
	jq -e '.notes[] | select(test("of [0-9]+ accesses [0-9]+ were in heap blocks allocated since"))' "$json"
	run "$MEMWHY" numa --heap -- true
	[ "$status" -eq 2 ]
	[[ $output == *"--heap works with -p"* ]]
}
