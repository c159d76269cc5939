# shellcheck shell=sh
# Question 14: what the user stack of a program without frame pointers costs in the kernel, and what
# its tables cost, next to other ways to have it.

question_14() {
	heading '14. USER STACKS without frame pointers: a stack of 16 frames, ns by the kernel'"'"'s BPF statistics' \
		'less an empty program; the kernel'"'"'s walk by frame pointers (bpftrace: ustack) ends after 1 or 2'
	round=0
	while [ $round -lt "$rounds" ]; do
		"$build/tests/bpf/unwind" "$build/tests/bpf/unwind.bpf.o" 7 20000
		round=$((round + 1))
	done >"$tmp/stacks"
	for key in walk kernel_walk; do
		none=$(sed -n 's/.* nothing_ns=//p' "$tmp/stacks" | spread | cut -d' ' -f1)
		printf '  %-36s' "$([ $key = walk ] && echo "memwhy, by DWARF unwind tables" || echo "kernel, by frame pointers")"
		sed -n "s/.*\\b${key}_ns=\\([0-9]*\\).*/\\1/p" "$tmp/stacks" | spread |
			awk -v none="$none" '{ printf " %5d (%d..%d) ns\n", $1 - none, $2 - none, $3 - none }'
	done
	sed -n 's/.*kernel_frames=\([0-9]*\).*/  frames that the kernel gives: \1 of 16/p' "$tmp/stacks" | head -n 1
	sed -n 's/^loaded_ms=\([0-9.]*\) verified_insns=\(.*\)/\1 \2/p' "$tmp/stacks" | sort -g | awk '
		{ v[NR] = $1; n = $2 } END { printf "  three programs load in %s ms, %s instructions verified\n", v[int((NR + 1) / 2)], n }'
	libraries
	stack_costs
}

# A process with sixty libraries: their tables, its own and the vdso's, from none.
libraries() {
	round=0
	while [ $round -lt "$rounds" ]; do
		"$build/tests/bpf/unwind" "$build/tests/bpf/unwind.bpf.o" libraries
		round=$((round + 1))
	done | grep '^files=' | tr '=' ' ' | awk '
		{ files = $2; cfi = $4; words = $6; pages = $8; print $12 >ms; print $14 >cpu }
		END { printf "  tables of 60 libraries (%d files): %.1f MB of .eh_frame, %.2f MB for each, %d MiB of pages;", \
			files, cfi / 1e6, words / cfi, pages }' ms="$tmp/ms" cpu="$tmp/cpu"
	spread <"$tmp/cpu" | awk '{ printf " %.0f (%.0f..%.0f) ms of CPU time,", $1, $2, $3 }'
	spread <"$tmp/ms" | awk '{ printf " made in %.0f (%.0f..%.0f) ms\n", $1, $2, $3 }'
}

# What each stack costs the program that is looked at, and through perf what is left to do later.
stack_costs() {
	printf '\n  %s\n' 'getppid from 13 calls deep, stacks summed up; CPU time of a call, tool over bare'
	cost_table "$loads deep N" <<-LIST
	bare, once more|20|@
	memwhy count|20|"$memwhy" count syscalls:sys_enter_getppid -q --out /dev/null -- @
	memwhy count --stacks=user|20|"$memwhy" count syscalls:sys_enter_getppid --stacks=user -q --out /dev/null -- @
	bpftrace: count()|20|bpftrace -o /dev/null -e 'tracepoint:syscalls:sys_enter_getppid { @ = count(); }' -c "@"
	bpftrace: @[ustack]|20|bpftrace -o "$tmp/stacks.bpftrace" -e 'tracepoint:syscalls:sys_enter_getppid { @[ustack] = count(); }' -c "@"
	perf record -g|20|perf record -q -o "$tmp/perf.fp" -e syscalls:sys_enter_getppid -c 1 -g -- @
	perf record, copies|1|perf record -q -o "$tmp/perf.data" -e syscalls:sys_enter_getppid -c 1 -m 65536 --call-graph dwarf -- @
	LIST
	printf '  frames of a stack: memwhy %s, bpftrace %s\n' \
		"$("$memwhy" count syscalls:sys_enter_getppid --stacks=user -o folded -q -- $loads deep 1 |
			awk -F';' 'NF > n { n = NF } END { print n - 1 }')" \
		"$(awk '/^@\[/ { n = 0 } /^ / { n++ } n > most { most = n } END { print most + 0 }' "$tmp/stacks.bpftrace")"
	perf_later
}

# Of the samples that perf took with copies of the stack: how many bytes each, and how long it takes to
# unwind them.
perf_later() {
	[ -s "$tmp/perf.data" ] || return
	begun=$(date +%s%N)
	perf script -i "$tmp/perf.data" -F ip,sym 2>/dev/null >"$tmp/perf.script"
	spent=$(($(date +%s%N) - begun))
	samples=$(perf script -i "$tmp/perf.data" -G -F event 2>/dev/null | grep -c getppid)
	[ "${samples:-0}" -gt 0 ] || return
	frames=$(grep -c . "$tmp/perf.script")
	awk -v bytes="$(stat -c %s "$tmp/perf.data")" -v n="$samples" -v ns="$spent" -v frames="$frames" 'BEGIN {
		printf "  perf record --call-graph dwarf: %d of 20000 stacks taken, %d bytes each; perf script: %.1f frames,", n, bytes / n, frames / n
		printf " %.1f us to unwind one\n", ns / n / 1000 }'
}
