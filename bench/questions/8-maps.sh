# shellcheck shell=sh
# Question 8: what a tool adds to a pair of mmap and munmap, and to calls that are none of these.

question_8() {
	heading "8. MAPPINGS: tool over bare, median (lowest..highest) of $rounds pairs, interleaved" \
		'a pair of mmap and munmap of 64 KiB that are not touched; CPU time of one such'
	cost_table "$loads maps N" <<-LIST
	bare, once more|20|@
	memwhy maps|20|"$memwhy" maps -q --out /dev/null -- @
	memwhy maps, all processes|20|during "$memwhy" maps -- @
	memwhy maps --by stack|20|"$memwhy" maps --by stack -q --out /dev/null -- @
	memwhy maps --each|20|"$memwhy" maps --each -q --out /dev/null -- @
	perf trace -s|3|perf trace -s -o /dev/null -e mmap,munmap -- @
	perf trace|3|perf trace -o /dev/null -e mmap,munmap -- @
	bpftrace: count|20|bpftrace -o /dev/null -e 'tracepoint:syscalls:sys_enter_mmap, tracepoint:syscalls:sys_enter_munmap { @[pid, probe] = count(); }' -c "@"
	bpftrace: sizes, times|20|bpftrace -o /dev/null -e 'tracepoint:syscalls:sys_enter_mmap, tracepoint:syscalls:sys_enter_munmap { @s[tid] = nsecs; @l[pid, probe] = sum(args->len); } tracepoint:syscalls:sys_exit_mmap, tracepoint:syscalls:sys_exit_munmap /@s[tid]/ { @ns[pid, probe] = hist(nsecs - @s[tid]); delete(@s[tid]); }' -c "@"
	strace -c|1|strace -f -c -o /dev/null -e trace=mmap,munmap @
	strace|1|strace -f -o /dev/null -e trace=mmap,munmap @
	LIST
	heading '' 'a write of one byte to /dev/null, beside them'
	cost_table "$loads write N" <<-LIST
	bare, once more|60|@
	memwhy maps|60|"$memwhy" maps -q --out /dev/null -- @
	memwhy maps, all processes|60|during "$memwhy" maps -- @
	bpftrace: sizes, times|60|bpftrace -o /dev/null -e 'tracepoint:syscalls:sys_enter_mmap, tracepoint:syscalls:sys_enter_munmap { @s[tid] = nsecs; @l[pid, probe] = sum(args->len); } tracepoint:syscalls:sys_exit_mmap, tracepoint:syscalls:sys_exit_munmap /@s[tid]/ { @ns[pid, probe] = hist(nsecs - @s[tid]); delete(@s[tid]); }' -c "@"
	LIST
}
