# shellcheck shell=sh
# Question 7: what a tool adds to system calls.

question_7() {
	libbpf_syscount=$(command -v syscount || echo syscount)
	heading "7. SYSTEM CALLS: tool over bare, median (lowest..highest) of $rounds pairs, interleaved" \
		'dd copies N single bytes; a read and a write by its own clock, waiting included' \
		"only dd's calls count, but for bpftrace and syscount, which count all processes'"
	cost_table "$here/dd N" <<-LIST
	bare, once more|500000|@
	memwhy, none of dd's calls|500000|"$memwhy" syscalls openat -q --out /dev/null -- @
	memwhy --no-times|500000|"$memwhy" syscalls --no-times -q --out /dev/null -- @
	memwhy|500000|"$memwhy" syscalls -q --out /dev/null -- @
	memwhy --flight|500000|"$memwhy" syscalls --flight -q --out /dev/null -- @
	memwhy --each --min 200ms|500000|"$memwhy" syscalls --each --min 200ms -q --out /dev/null -- @
	memwhy --each --record|500000|"$memwhy" syscalls --each --ring-size 256M --record "$tmp/dd.mw" -o json -q --out "$tmp/json" -- @; rm "$tmp/dd.mw"
	memwhy --each -o jsonl|500000|"$memwhy" syscalls --each --ring-size 256M -o jsonl -q --out "$tmp/json" -- @
	memwhy count sys_enter|500000|"$memwhy" count raw_syscalls:sys_enter --by process -q --out /dev/null -- @
	strace -f -c|5000|strace -f -c -o /dev/null @
	strace -f|5000|strace -f -o /dev/null @
	perf trace -s|20000|perf trace -s -o /dev/null @
	perf trace|20000|perf trace -o /dev/null @
	bpftrace count|500000|bpftrace -o /dev/null -e 'tracepoint:raw_syscalls:sys_enter { @[pid, args->id] = count(); }' -c "/bin/sh @"
	bpftrace histograms|500000|bpftrace -o /dev/null -e 'tracepoint:raw_syscalls:sys_enter { @t[tid] = nsecs; } tracepoint:raw_syscalls:sys_exit /@t[tid]/ { @[pid, args->id] = hist(nsecs - @t[tid]); delete(@t[tid]); }' -c "/bin/sh @"
	libbpf-tools syscount|500000|during "$libbpf_syscount" -P -- @
	libbpf-tools syscount -L|500000|during "$libbpf_syscount" -L -- @
	BCC syscount -L|500000|during syscount-bpfcc -L -- @
	LIST
	[ -s "$tmp/json" ] && printf '  --each: %s calls delivered, %s lost\n' \
		"$(calls_told events)" "$(calls_told lost)"
}

calls_told() {
	tail -c 2000 "$tmp/json" | grep -ao "\"$1\": *{\"syscalls\": *[0-9]*" | tail -n 1 | sed 's/.*: *//'
}
