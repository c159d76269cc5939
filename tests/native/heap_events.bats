# The events of a command's heap in a recording: what is made of them is what was counted live, for
# the whole run; a part of it is what the workload did then; and what goes wrong is told.
# bats file_tags=beside,host
load common

setup() {
	cd "$BATS_TEST_TMPDIR"
	work=$WORKLOADS/heap_work
}

# Records ARGS... -- CMD..., and holds what its events come to against the live report: live.jsonl.
# by: the keys of all three reports.
events() {
	local by=${by:-stack} r
	run --separate-stderr timeout 60 "$MEMWHY" heap --events --record run.mw -o jsonl --by "$by" --out live.jsonl "$@"
	# The command's, some of which die by a signal.
	[ "$status" -eq "$(tail -n 1 live.jsonl | jq .exit.status)" ] && [ -z "$stderr" ] ||
		{ echo "status $status: $stderr"; return 1; }
	"$MEMWHY" heap --input run.mw -o jsonl --by "$by" --out sums.jsonl
	"$MEMWHY" heap --input run.mw --to 1h -o jsonl --by "$by" --out events.jsonl
	for r in live sums events; do
		# What programs map is not among the events, nor is what all processes did together.
		{
			grep -E '^\{"table":"(heap|growth)"' $r.jsonl
			grep -E '^\{"(table":"process|end)"' $r.jsonl | jq -c 'if .end then .lost else
				del(.mapped_peak_bytes, .mapped_live_bytes, .unknown_unmapped_bytes, .replaced_bytes) end'
		} | LC_ALL=C sort >$r.rows
	done
	diff live.rows sums.rows && diff live.rows events.rows
	grep -q '^{"table":"heap"' live.rows
	grep -q '^{"table":"process"' live.rows
}

# Fields of the process rows of a part: part "--from 1s" allocations live_bytes
part() { # OPTIONS FIELD...
	"$MEMWHY" heap --input run.mw $1 -o json --out part.json
	jq -r --arg f "${*:2}" '.rows[] | select(.table == "process") | [.[$f | split(" ")[]]] | @tsv' part.json |
		tr '\t' ' '
}

@test "heap events: the whole run out of its events is as it was counted" {
	pings=20000
	[ -z "${MEMWHY_VM:-}" ] || pings=500 # each waits for a turn on the emulated CPU
	for words in each 'peak 1000' 'threads 20000 4' "ping $pings" 'churn 300' 'fork 30' 'exec 5' \
		'vfork 20' 'kill 5000' abort 'signal 20000' 'tls 100' 'coroutine 500' 'family 3'; do
		events -- "$work" $words || { echo "of: heap_work $words"; false; }
	done
}

@test "heap events: of real programs, in whole, by thread and over many chunks" {
	seq 60000 | jq -c '{id: ., name: "n\(.)", v: [., {k: "x\(.)"}]}' >in.json
	events -- jq -c . in.json
	grep '^{"table":"process"' live.rows | jq -e '.allocations > 500000' >/dev/null
	[ "$(stat -c %s run.mw)" -lt 150000 ] # the sums and names are most of it
	events -- sh -c 'sort in.json | tail -n 1 | cat'
	by=thread events -- "$work" threads 30000 3
	events -- env PYTHONMALLOC=malloc /usr/bin/python3 -sSc 'print(len([str(i) for i in range(30000)]))'
}

@test "heap events: a part of a run is what was done then" {
	cat >phases.c <<-END
		#include <stdio.h>
		#include <stdlib.h>
		#include <time.h>
		#include <unistd.h>
		static void *early[1000], *late[200];
		static char out[100];
		__attribute__((noinline)) static void allocate(void **at, int n, int size)
		{
			for (int i = 0; i < n; i++)
				at[i] = malloc(size);
		}
		static void pause_here(void)
		{
			struct timespec t;
			usleep(500000);
			clock_gettime(CLOCK_REALTIME, &t);
			printf("%ld.%03ld\n", (long)t.tv_sec, t.tv_nsec / 1000000);
			fflush(stdout);
			usleep(500000);
		}
		int main(void)
		{
			setvbuf(stdout, out, _IOFBF, sizeof(out));
			allocate(early, 1000, 100);
			pause_here();
			for (int i = 0; i < 600; i++)
				free(early[i]);
			allocate(late, 200, 1000);
			pause_here();
			for (int i = 0; i < 200; i++)
				free(late[i]);
			pause_here();
			return 0;
		}
	END
	gcc -O0 -o phases phases.c
	events -- ./phases
	# Between the phases, in ms since memwhy began.
	begin=$(date -d "$(tail -n 1 live.jsonl | jq -r .interval.start)" +%s%3N)
	mapfile -t ms < <(tr -d . <<<"$output")
	at() { echo "$((ms[$1] - begin))ms"; }
	f="allocations frees live_blocks live_bytes peak_bytes unknown_frees state"
	[ "$(part "--to $(at 0)" $f)" = "1000 0 1000 100000 100000 0 runs" ]
	[ "$(part "--to $(at 1)" $f)" = "1200 600 600 240000 240000 0 runs" ]
	[ "$(part "--from $(at 0) --to $(at 1)" $f)" = "200 0 200 200000 200000 600 runs" ]
	[ "$(part "--from $(at 0) --to $(at 2)" $f)" = "200 200 0 0 200000 600 runs" ]
	[ "$(part "--from $(at 0)" $f)" = "200 200 0 0 200000 600 ended" ]
	[ "$(part "--from $(at 1)" allocations unknown_frees)" = "0 200" ]
	[ "$(part "--from $(at 2)" $f)" = "" ]
	jq -e '.rows == [] and any(.notes[]; test("after memwhy began"))' part.json >/dev/null
	part "--to $(at 1)" comm
	[ "$(jq -r '[.rows[] | select(.table == "heap" and .live_blocks > 0) | .live_bytes] | sort | map(tostring) |
		join(" ")' part.json)" = "40000 200000" ]
}

@test "heap events: leak and diff read such a recording, and other recordings say that they have none" {
	events -- "$work" peak 1000
	"$MEMWHY" heap --record plain.mw --out /dev/null -- "$work" peak 1000
	"$MEMWHY" leak --input run.mw -o json --out leak.json
	[ "$(jq '[.rows[] | select(.table == "stacks") | .live_bytes] | add' leak.json)" -eq 60000 ]
	"$MEMWHY" diff plain.mw run.mw -o json --out diff.json --fail-on 1
	[ "$(jq -r '[.rows[] | select(.table == "heap").status] | join(" ")' diff.json)" = "same same" ]
	run --separate-stderr "$MEMWHY" heap --input plain.mw --to 1s -o json
	[ "$status" -eq 0 ]
	jq -e '.rows == [] and any(.not_checked[]; test("events were not recorded"))' <<<"$output" >/dev/null
	"$MEMWHY" leak --events --record leak.mw --out /dev/null -- "$work" peak 1000
	mv leak.mw run.mw
	[ "$(part '--to 1h' allocations live_bytes)" = "2500 60000" ]
}

@test "heap events: a full disk does the command no harm, and what is there can be read" {
	mkfifo in
	HEAP_WORK_WAIT=0 "$MEMWHY" heap --events -i 20ms --record run.mw -o jsonl --table process -- \
		sh -c 'exec >out; "$0" mixed 100000 1; ls / >/dev/null; echo done' "$work" \
		<in > >(cat >live.jsonl) 2>err 3>&- &
	memwhy=$!
	exec 7>in
	wait_for 'grep -q ready out'
	prlimit --pid "$memwhy" --fsize=24576 # of what it writes to files, and of those of programs
	echo go >&7
	status=0
	wait "$memwhy" || status=$?
	grep -q done out
	[ "$status" -eq 4 ] && grep -q run.mw err || { echo "$status: $(cat err)"; false; }
	wait_for 'grep -q "\"end\"" live.jsonl'
	jq -e 'select(.end) | any(.notes[]?; test("1 program was not tracked.*File too large"))' live.jsonl >/dev/null
	run --separate-stderr "$MEMWHY" heap --input run.mw --to 1h -o json
	[ "$status" -eq 4 ] && [[ $stderr == *run.mw* ]] || { echo "$status: $stderr"; false; }
	jq -e '.damage | length > 0' <<<"$output" >/dev/null
}

@test "heap events: memwhy killed, a file cut or damaged: what is there is told, and that it is not all" {
	printf '#include <stdlib.h>\n#include <unistd.h>\nint main(void)\n{\n\tfor (int i = 0; i < 4000; i++) {\n\t\tfree(malloc(10 + i %% 99));\n\t\tif (!malloc(1000))\n\t\t\treturn 1;\n\t\tusleep(1000);\n\t}\n\treturn 0;\n}\n' >slow.c
	gcc -O0 -o slow slow.c
	"$MEMWHY" heap --events --record run.mw --out /dev/null -- ./slow 3>&- &
	memwhy=$!
	wait_for '"$MEMWHY" heap --input run.mw --to 1h -o json 2>/dev/null |
		jq -e "[.rows[] | select(.table == \"process\").allocations] | add > 500" >/dev/null'
	kill -KILL "$memwhy"
	wait "$memwhy" || [ $? -eq 137 ]
	run --separate-stderr "$MEMWHY" heap --input run.mw --to 1h -o json
	[ "$status" -eq 4 ] && [[ $stderr == *"not closed in order"* ]] || { echo "$status: $stderr"; false; }
	jq -e '.rows[] | select(.table == "process") | .allocations == .frees + .live_blocks and .frees > 200' \
		<<<"$output" >/dev/null || { echo "$output"; false; }
	"$MEMWHY" heap --events --record run.mw --out /dev/null -- \
		env PYTHONMALLOC=malloc /usr/bin/python3 -sSc 'print(len([str(i) for i in range(300000)]))'
	size=$(stat -c %s run.mw)
	for part in 3 2; do
		head -c $((size * (part - 1) / part)) run.mw >cut.mw
		run --separate-stderr "$MEMWHY" heap --input cut.mw --to 1h -o json --table process
		[ "$status" -eq 4 ] && [[ $stderr == *cut.mw* ]] || { echo "$status: $stderr"; false; }
	done
}

@test "heap events: what does not go together is said before anything runs" {
	refuses() { # WORDS IN THE ERROR; OPTIONS...
		run --separate-stderr "$MEMWHY" heap "${@:2}"
		[ "$status" -eq 2 ] && [[ $stderr == *"$1"* ]] && [ -z "$output" ] ||
			{ echo "$status: $output $stderr"; return 1; }
	}
	refuses 'needs --record' --events -- echo ran
	refuses '--sample' --events --record r.mw --sample 4K -- echo ran
	refuses 'works with -- CMD only' --events --record r.mw -p $$
	refuses 'need --input' --from 1s -- echo ran
	refuses 'not before' --from 2s --to 1s --input r.mw
	refuses 'no --interval' --to 1s -i 1s --input r.mw
	[ ! -e r.mw ]
}
