#!/usr/bin/env bats
# Page faults against getrusage and /proc/vmstat, on this kernel.
load common

setup() {
	needs_root
}

sum() { # FIELD
	jq "[.rows[].$1] | add" "$json"
}

@test "faults: the count is getrusage's, minor and major" {
	dd if=/dev/urandom of="$BATS_TEST_TMPDIR/file" bs=1M count=8 status=none
	sync "$BATS_TEST_TMPDIR/file"
	touch_start 16 "$BATS_TEST_TMPDIR/file"
	memwhy_start faults -p "$pid"
	touch_go
	memwhy_stop
	touch_end
	echo "getrusage: $minor $major; memwhy: $(sum count) $(sum major)"
	[ "$minor" -ge 4096 ]
	[ "$(sum count)" -eq $((minor + major)) ]
	[ "$(sum major)" -eq "$major" ]
}

@test "faults: seen = delivered + lost with a tiny ring and a storm of faults" {
	touch_start 64
	memwhy_start faults -p "$pid" --each --ring-size 4096
	kill -STOP "$memwhy" # it could keep up
	touch_go
	kill -CONT "$memwhy"
	memwhy_stop
	touch_end
	rows=$(jq '.rows | length' "$json")
	delivered=$(jq .events.faults "$json") lost=$(jq .lost.faults "$json")
	echo "getrusage: $minor $major; rows $rows, delivered $delivered, lost $lost"
	[ "$rows" -eq "$delivered" ]
	[ $((delivered + lost)) -eq $((minor + major)) ]
	[ "$lost" -gt 0 ]
	adds_up "$json"
}

@test "faults: writes to anonymous memory are told from reads of a file" {
	dd if=/dev/zero of="$BATS_TEST_TMPDIR/file" bs=1M count=4 status=none
	touch_start 8 "$BATS_TEST_TMPDIR/file"
	memwhy_start faults -p "$pid" --by mapping
	touch_go
	memwhy_stop
	touch_end
	anon=$(jq '[.rows[] | select(.mapping == "anonymous") | .write] | add' "$json")
	file=$(jq '[.rows[] | select(.file == "file") | .count - .write] | add' "$json")
	# By regions of 64 KiB (before 5.17) the first and the last one may be taken for a neighbour's.
	edge=$(jq '.methods.faults | if test("by 64 KiB region") then 2 * 15 else 0 end' "$json")
	echo "anonymous writes: $anon, file reads: $file, at the edges $edge"
	[ "$anon" -ge $((2048 - edge)) ]
	[ "$file" -ge 1 ]
}

@test "faults: the stack names the function that touched the pages" {
	run --separate-stderr "$MEMWHY" faults --stacks=user -o json --limit 1 --out "$BATS_TEST_TMPDIR/o" \
		-- sh -c "echo | $WORKLOADS/touch 8"
	[ "$status" -eq 0 ]
	jq -e '.rows[0].stack[0] | startswith("touch_pages (touch.c:")' "$BATS_TEST_TMPDIR/o"
}

# bats test_tags=host
@test "faults: a command's output is its own" {
	run --separate-stderr "$MEMWHY" faults -q -o csv --out "$BATS_TEST_TMPDIR/o" -- sh -c 'echo hello; exit 3'
	[ "$output" = hello ]
	[ "$status" -eq 3 ]
	grep -q '^pid,comm' "$BATS_TEST_TMPDIR/o"
}

@test "faults: children are followed" {
	run --separate-stderr "$MEMWHY" faults -o json --out "$BATS_TEST_TMPDIR/o" -- \
		sh -c "(echo | $WORKLOADS/touch 4 >/dev/null); true"
	[ "$status" -eq 0 ]
	[ "$(jq '[.rows[] | select(.comm == "touch") | .count] | add' "$BATS_TEST_TMPDIR/o")" -ge 1024 ]
}

@test "faults: system-wide, within what /proc/vmstat counts around it" {
	pgfault() { awk '$1 == "pgfault" { print $2 }' /proc/vmstat; }
	touch_start 16
	before=$(pgfault)
	memwhy_start faults
	touch_go
	memwhy_stop
	after=$(pgfault)
	touch_end
	echo "vmstat around it: $((after - before)), memwhy: $(sum count), touch: $minor"
	[ "$(sum count)" -le $((after - before)) ]
	[ "$(sum count)" -ge "$minor" ]
}

@test "faults: the scope filters: comm, cgroup" {
	dir=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ || $3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$dir" ] || skip "no cgroup hierarchy"
	group=$dir/memwhy-test-$$
	mkdir "$group"
	touch_start 4
	echo "$pid" >"$group/cgroup.procs"
	memwhy_start faults -g "$group" -c touch
	touch_go
	memwhy_stop
	touch_end
	rmdir "$group"
	echo "touch: $minor, memwhy: $(sum count), processes: $(jq '[.rows[].pid] | unique' "$json")"
	[ "$(jq "[.rows[] | select(.pid != $pid)] | length" "$json")" -eq 0 ]
	[ "$(sum count)" -ge "$minor" ]
	run "$MEMWHY" faults --for 300ms -c nosuchname -o json
	[ "$(jq '.rows | length' <<<"$output")" -eq 0 ]
}

# One that keeps what it touches, one that gives as much back, over the same time.
# bats test_tags=host
@test "faults: a process that grows is named, with what to run next; one that only faults is not" {
	cd "$BATS_TEST_TMPDIR"
	cat >grow.c <<-'C'
	#include <stdio.h>
	#include <stdlib.h>
	#include <sys/mman.h>
	#include <unistd.h>
	int main(int argc, char **argv)
	{
		int keep = argv[argc - 1][0] == 'k';
		for (int i = 0; i < 80; i++) {
			char *p = mmap(NULL, 256 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			for (int k = 0; k < 256 << 10; k += 4096)
				p[k] = 1;
			if (!keep)
				munmap(p, 256 << 10);
			usleep(125000);
		}
		return 0;
	}
	C
	gcc -O1 -o grow grow.c
	"$MEMWHY" faults -o json --out free.json -- ./grow free &
	"$MEMWHY" faults -o json --out short.json -- timeout 3 ./grow keep &
	"$MEMWHY" faults -o json --out keep.json -- ./grow keep
	wait
	for how in keep free; do
		jq -e '[.rows[].count] | add >= 5120' "$how.json"
	done
	jq -c .findings keep.json
	jq -e '.findings | length == 1 and (.[0].rule == "growth") and (.[0].title | startswith("grow (pid ")) and
		(.[0].try | any(test("memwhy leak -p [0-9]+ --for 60s")))' keep.json
	jq -e '.findings // [] | length == 0' free.json
	# Less than eight samples are no evidence.
	jq -e '.findings // [] | length == 0' short.json
}

has_map() { # PID: without starting anything, which takes longer than there is time for
	local f text
	for f in "/proc/$1"/fdinfo/*; do
		{ read -r -d '' text <"$f"; } 2>/dev/null
		[[ $text != *map_type* ]] || return 0
	done
	return 1
}

# Stopped while its programs load, of which nothing has counted yet.
@test "faults: the interval begins when everything is attached" {
	json=$BATS_TEST_TMPDIR/report.json
	for _ in 1 2 3 4 5; do
		"$MEMWHY" faults --for 200ms -o json --out "$json" 3>&- &
		memwhy=$!
		until has_map "$memwhy"; do :; done
		kill -STOP "$memwhy"
		memwhy_attached || break
		kill -CONT "$memwhy"
		wait "$memwhy"
	done
	! memwhy_attached || false
	sleep 1.5
	resumed=$(date +%s.%N)
	kill -CONT "$memwhy"
	wait "$memwhy"
	jq -e '.interval.seconds >= 0.2' "$json"
	jq -e --argjson t "$resumed" '.interval.start[:19] + "Z" | fromdate > $t - 1.5' "$json"
}

# What faults all the time does so while programs are attached and detached, too.
@test "faults: nothing counts before the interval and after it" {
	local seconds rows begun=1e5 # ns; an emulated CPU may stand still for 100 ms at any place
	[ -z "${MEMWHY_VM-}" ] || begun=2e8
	(while :; do ls /; done) >/dev/null 2>&1 3>&- &
	noise=$!
	for seconds in 0.3 3 30; do # or as long as it takes a slow machine
		"$MEMWHY" faults --each --for "${seconds}s" -o json --out "$BATS_TEST_TMPDIR/report.json" || rc=$?
		[ "${rc:-0}" -eq 0 ] || break
		rows=$(jq '.rows | length' "$BATS_TEST_TMPDIR/report.json")
		[ "$rows" -le 100 ] || break
	done
	kill "$noise"
	wait "$noise" || true
	[ "${rc:-0}" -eq 0 ]
	[ "$rows" -gt 100 ]
	jq -c '[.interval.seconds, (.rows | length), ([.rows[].time_ns] | min, max)]' "$BATS_TEST_TMPDIR/report.json"
	# A program that has begun as the interval ends goes on.
	jq -e --argjson begun "$begun" '(.interval.seconds * 1e9 + $begun) as $last | all(.rows[]; .time_ns > 0 and .time_ns <= $last)' \
		"$BATS_TEST_TMPDIR/report.json"
}
