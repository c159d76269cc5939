#!/usr/bin/env bats
# Swap-ins, swap-outs and waits against /proc/vmstat and getrusage, on this kernel.
load common

setup() {
	needs_root
	cd "$BATS_TEST_DIRNAME/../.." || exit 1
	needs_swap
}

# Starts swap_walk and leaves it waiting: $pid, its input on fd 7, its output in $out.
walk_start() {
	out=$BATS_TEST_TMPDIR/out
	mkfifo "$BATS_TEST_TMPDIR/in"
	"$WORKLOADS/swap_walk" "$@" <"$BATS_TEST_TMPDIR/in" >"$out" 3>&- &
	pid=$!
	exec 7>"$BATS_TEST_TMPDIR/in"
	wait_for 'grep -q ready "$out"'
	group=/sys/fs/cgroup/memwhy-swap-$pid
	[ ! -d /sys/fs/cgroup/memory ] || group=/sys/fs/cgroup/memory/memwhy-swap-$pid
}

# Lets it work; $in and $outs are what pswpin and pswpout grew by, $majflt its major faults.
walk_go() {
	local before=$BATS_TEST_TMPDIR/before
	cat /proc/vmstat >"$before"
	echo go >&7
	for _ in 1 2 3 4 5; do
		wait_for 'grep -q ^done "$out"' && break
	done
	in=$(grown pswpin) outs=$(grown pswpout)
	majflt=$(awk '$1 == "majflt" { print $2 }' "$out")
}

grown() {
	awk -v name="$1" 'NR == FNR { b[$1] = $2; next } $1 == name { print $2 - b[name] }' \
		"$BATS_TEST_TMPDIR/before" /proc/vmstat
}

walk_end() {
	exec 7>&-
	wait "$pid"
}

report() {
	jq -r "$1" "$BATS_TEST_TMPDIR/report.json"
}

@test "swap: swap-ins and swap-outs equal pswpin and pswpout" {
	tests/workloads/swap_verify "$MEMWHY" "$WORKLOADS/swap_walk" -a 24 -l 12
}

@test "swap: --each gives a line an event, and their sums are the same" {
	tests/workloads/swap_verify "$MEMWHY" -e "$WORKLOADS/swap_walk" -a 20 -l 10 -r 1
}

@test "swap: seen = delivered + lost with a tiny ring" {
	walk_start -a 24 -l 12
	memwhy_start swap -p "$pid" --each --ring-size 4096
	kill -STOP "$memwhy" # it would keep up
	walk_go
	kill -CONT "$memwhy"
	memwhy_stop
	walk_end
	rows=$(report '.rows | length') delivered=$(report .events.swap) lost=$(report .lost.swap)
	echo "pswpin $in, pswpout $outs, major $majflt; rows $rows, delivered $delivered, lost $lost"
	[ "$rows" -eq "$delivered" ]
	[ "$lost" -gt 0 ]
	[ $((delivered + lost)) -le $((in + outs + majflt)) ]
	# Others may swap too, but not nearly as much. An event is of up to 32 pages, where the kernel reads
	# and writes several at once.
	[ $((delivered + lost)) -ge $(((in + outs) * 9 / 10 / 32)) ]
}

@test "swap: the scope holds, waits are the process's, and --min leaves only waits" {
	walk_start -a 20 -l 10 -r 1
	memwhy_start swap -c no-such-name
	walk_go
	memwhy_stop
	walk_end
	[ "$(report .events.swap)" -eq 0 ]
	[ "$(report '[.rows[] | select(.table == "swap_ins" or .table == "swap_outs")] | length')" -eq 0 ]
	rm "$BATS_TEST_TMPDIR/in"
	walk_start -a 20 -l 10 -r 1
	memwhy_start swap -p "$pid" --each --min 1ns
	walk_go
	memwhy_stop
	walk_end
	echo "rows $(report '.rows | length'), majflt $majflt"
	[ "$(report '.rows | length')" -gt 0 ]
	[ "$(report '.rows | length')" -le "$majflt" ]
	[ "$(report '[.rows[] | select(.type != "wait" or .duration_ns <= 0)] | length')" -eq 0 ]
}

@test "swap: the stack names the function that walked the pages" {
	walk_start -a 20 -l 10 -r 1
	memwhy_start swap --stacks=user -p "$pid"
	walk_go
	memwhy_stop
	walk_end
	report '.rows[] | select(.table == "swap_ins") | .stack[0]'
	report '[.rows[] | select(.table == "swap_ins")] | max_by(.pages) | .stack[0]' |
		grep -q '^walk_pages (swap_walk.c:'
}

@test "swap: the owner's memory is what its status says, and the devices what /proc/swaps says" {
	walk_start -a 20 -l 10 -r 1
	walk_go
	memwhy_start swap --for 1h
	memwhy_stop
	vmswap=$(awk '$1 == "VmSwap:" { print $2 * 1024 }' "/proc/$pid/status")
	size=$(awk 'NR == 2 { print $3 * 1024 }' /proc/swaps)
	walk_end
	ours=$(report ".rows[] | select(.table == \"owners\" and .pid == $pid) | .swap_bytes")
	echo "VmSwap $vmswap, ours $ours"
	[ "$vmswap" -gt 0 ]
	[ "$ours" -eq "$vmswap" ]
	[ "$(report '[.rows[] | select(.table == "devices") | .size_bytes] | first')" -eq "$size" ]
}

# bats test_tags=host
@test "swap: a recording gives the same report" {
	walk_start -a 20 -l 10 -r 1
	memwhy_start swap --by process,stack --stacks --record "$BATS_TEST_TMPDIR/log"
	walk_go
	memwhy_stop
	walk_end
	"$MEMWHY" swap --by process,stack --stacks --input "$BATS_TEST_TMPDIR/log" -o json |
		jq -S .rows >"$BATS_TEST_TMPDIR/replayed"
	jq -S .rows "$BATS_TEST_TMPDIR/report.json" | cmp - "$BATS_TEST_TMPDIR/replayed"
}

# bats test_tags=host
@test "swap: --like swapin prints that tool's lines" {
	walk_start -a 20 -l 10 -r 1
	memwhy_run swap --like swapin -i 200ms
	walk_go
	memwhy_stop
	walk_end
	cat "$lines"
	[ "$(grep -vcE '^([0-9]{2}:[0-9]{2}:[0-9]{2}|@\[[^]]*, [0-9]+\]: [0-9]+|)$' "$lines")" -eq 0 ]
	[ "$(awk -v k=", $pid]:" 'index($0, k) { n += $NF } END { print n + 0 }' "$lines")" -gt 1000 ]
}

@test "swap: what top calls stalls is the time of swap-ins, with what they waited for room" {
	walk_start -a 24 -l 12
	memwhy_start top -p "$pid"
	walk_go
	memwhy_stop
	walk_end
	of() { # EVENTS: seconds
		report "[.rows[] | select(.table == \"paths\" and .pid == $pid and (.event | IN($1)) and
			(.event != \"major fault\" or (.mapping | IN(\"anonymous\", \"heap\", \"stack\")))) | .total_ns] |
			(add // 0) / 1e9"
	}
	swapped=$(of '"major fault"') rest=$(of '"allocation", "charge"')
	stalled=$(report ".interval.seconds as \$s | .rows[] | select(.table == \"top\" and .pid == $pid) | .stall_ratio * \$s")
	echo "major faults $majflt, pswpin $in; stalls $stalled s: swap-ins $swapped s, allocations $rest s"
	[ "$majflt" -gt 0 ]
	awk -v is="$stalled" -v swap="$swapped" -v rest="$rest" \
		'BEGIN { d = is - (swap > rest ? swap : rest); exit !(swap > 0 && d * d < (0.02 * is) ^ 2) }'
}
