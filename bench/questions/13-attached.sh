# shellcheck shell=sh
# Question 13: what a tool that is attached to a running program adds to its allocations.

attached_pairs=300000

# LABEL | the tool, with PID for the program's
attached_tools() {
	cat <<-LIST
	bare|
	memwhy heap -p|"$memwhy" heap -q --no-lines --out /dev/null -p PID
	memwhy heap -p --by process|"$memwhy" heap -q --by process --out /dev/null -p PID
	memwhy heap -p --sample 512K|"$memwhy" heap -q --no-lines --sample 512K --out /dev/null -p PID
	BCC memleak|memleak-bpfcc -p PID 3600
	BCC memleak -s 10|memleak-bpfcc -p PID -s 10 3600
	LIST
}

# RSS_KB MAPS_BYTES of a tool at work.
attached_memory() {
	rss=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status")
	maps=$(cat /proc/"$1"/fdinfo/* 2>/dev/null | awk '/^map_id:/ && seen[$2]++ { m = 0 } /^memlock:/ { m = $2 }
		/^map_id:/ { if (seen[$2] == 1) s += m } END { print s + 0 }')
	echo "$rss $maps"
}

# CPU_NS RSS_KB MAPS_BYTES of one run of heap_work in mode $1 under tool $2; nothing where it failed.
attached_once() {
	rm -f "$tmp/go"
	mkfifo "$tmp/go"
	# shellcheck disable=SC2086
	HEAP_WORK_WAIT=0 "$build/tests/workloads/heap_work" $1 <"$tmp/go" >"$tmp/work" &
	work=$!
	exec 9>"$tmp/go"
	sleep 0.2
	tool=
	memory='0 0'
	if [ "$2" ]; then
		eval "exec $(echo "$2" | sed "s/PID/$work/")" >"$tmp/log" 2>&1 9>&- &
		tool=$!
		sleep 4 # BCC compiles
		memory=$(attached_memory $tool)
	fi
	echo >&9
	exec 9>&-
	wait $work
	if [ "$tool" ]; then
		kill -0 $tool 2>/dev/null || [ "${2#*memleak}" = "$2" ] || memory=
		kill $tool 2>/dev/null
		wait $tool 2>/dev/null
	fi
	[ -z "$memory" ] || awk -v m="$memory" '$1 == "cpu_pair_ps" { print $2 / 1000, m }' "$tmp/work"
}

question_13() {
	heading "13. HEAP OF A RUNNING PROGRAM: medians of $rounds rounds" \
		'one pair of malloc and free: CPU time of the program alone (tight: one after the other; mixed:' \
		'10,000 live, 8 to 11 frames); memory: RSS, and what the maps of BPF take'
	printf '  %-22s %-30s %9s %9s %9s %9s\n' '' '' 'cpu ns' 'more ns' 'RSS MiB' 'maps MiB'
	for mode in "tight $attached_pairs" "mixed $attached_pairs 1"; do
		attached_tools | while IFS='|' read -r label cmd; do
			i=0
			: >"$tmp/rows"
			while [ $i -lt "$rounds" ]; do
				attached_once "$mode" "$cmd" >>"$tmp/rows"
				i=$((i + 1))
			done
			ns=$(cut -d' ' -f1 "$tmp/rows" | spread | cut -d' ' -f1)
			echo "$label|$ns|$(tail -n 1 "$tmp/rows" | cut -d' ' -f2-)"
		done | awk -F'|' -v mode="$mode" '{ split($3, m, " "); if (NR == 1) bare = $2
			if ($2 == "") { printf "  %-22s %-30s failed\n", "", $1; next }
			printf "  %-22s %-30s %9.0f %9.0f %9.1f %9.1f\n", NR == 1 ? mode : "", $1, $2, $2 - bare, m[1] / 1024, m[2] / 1048576 }'
	done
}
