# shellcheck shell=sh
# Question 9: what a tool adds to calls that set and ask a memory policy, and to calls beside them.

question_9() {
	heading "9. MEMORY POLICY: tool over bare, median (lowest..highest) of $rounds pairs, interleaved" \
		'a pair of mbind and get_mempolicy of 64 KiB that are there; CPU time of one such'
	cost_table "$loads policy N" <<-LIST
	bare, once more|20|@
	memwhy policy|20|"$memwhy" policy -q --out /dev/null -- @
	memwhy policy, all processes|20|during "$memwhy" policy -- @
	memwhy policy --each|20|"$memwhy" policy --each -q --out /dev/null -- @
	perf trace -s|3|perf trace -s -o /dev/null -e mbind,get_mempolicy -- @
	perf trace|3|perf trace -o /dev/null -e mbind,get_mempolicy -- @
	bpftrace: counts, times|20|bpftrace -o /dev/null -e 'tracepoint:syscalls:sys_enter_mbind, tracepoint:syscalls:sys_enter_get_mempolicy { @s[tid] = nsecs; } tracepoint:syscalls:sys_exit_mbind, tracepoint:syscalls:sys_exit_get_mempolicy /@s[tid]/ { @ns[pid, probe, args->ret] = hist(nsecs - @s[tid]); delete(@s[tid]); }' -c "@"
	strace -c|1|strace -f -c -o /dev/null -e trace=mbind,get_mempolicy @
	strace|1|strace -f -o /dev/null -e trace=mbind,get_mempolicy @
	LIST
	heading '' 'a write of one byte to /dev/null, beside them'
	cost_table "$loads write N" <<-LIST
	bare, once more|60|@
	memwhy policy|60|"$memwhy" policy -q --out /dev/null -- @
	memwhy policy, all processes|60|during "$memwhy" policy -- @
	LIST
}
