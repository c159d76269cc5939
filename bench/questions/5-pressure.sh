# shellcheck shell=sh
# Question 5: what a tool adds to a task under memory pressure; that it adds nothing where there is none.

question_5() {
	heading "5. PRESSURE: tool over bare, median (lowest..highest) of $rounds pairs, interleaved" \
		'a task writes and reads a file of 64 MiB in a control group of 32 MiB; CPU time of 64 KiB'
	pressure_table
	idle
}

# Runs of the BPF programs while memory is plentiful.
idle() {
	heading '   and while nothing presses: 5 s of each' ''
	printf '  %-28s %12s %12s\n' tool events 'BPF ms'
	for probe in stalls reclaim compaction swap oom; do
		"$memwhy" $probe --for 5s -q -o json --out "$tmp/json" 2>/dev/null
		printf '  %-28s %12s %12s\n' "memwhy $probe" \
			"$(tr -d '\n ' <"$tmp/json" | sed 's/.*"events":{[^}]*"'$probe'":\([0-9]*\).*/\1/')" \
			"$(json_number bpf_seconds | awk '{ printf "%.3f", $1 * 1000 }')"
	done
}

pressure_table() {
	cost_table "$tools/with-cgroup memwhy-bench-$$ 33554432 $loads pressure N $tmp" <<-LIST
	bare, once more|4|@
	memwhy stalls|4|"$memwhy" stalls -q --out /dev/null -- @
	memwhy stalls --stacks|4|"$memwhy" stalls --stacks -q --out /dev/null -- @
	memwhy stalls --each|4|"$memwhy" stalls --each -q --out /dev/null -- @
	memwhy reclaim|4|"$memwhy" reclaim -q --out /dev/null -- @
	memwhy check, all processes|4|during "$memwhy" check --for 1h -- @
	perf trace -e vmscan:*|4|perf trace -o /dev/null --no-syscalls -e 'vmscan:*' -- @
	perf record -e vmscan:*|4|perf record -q -o "$tmp/perf.data" -e 'vmscan:*' -- @
	bpftrace: memcg reclaim|4|during bpftrace -e 'tracepoint:vmscan:mm_vmscan_memcg_reclaim_begin { @s[tid] = nsecs; } tracepoint:vmscan:mm_vmscan_memcg_reclaim_end /@s[tid]/ { @ns[comm] = hist(nsecs - @s[tid]); delete(@s[tid]); }' -- @
	LIST
}
