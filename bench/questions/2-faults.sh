# shellcheck shell=sh
# Question 2: what a tool adds to a page fault.

# LABEL | rounds | command, in which @ is the workload; one that takes none runs around it (during).
costs() {
	cat <<-LIST
	bare, once more|$usual|@
	memwhy faults|$usual|"$memwhy" faults -q --out /dev/null -- @
	memwhy faults, all processes|$usual|during "$memwhy" faults -- @
	memwhy faults --by mapping|$usual|"$memwhy" faults -q --out /dev/null --by mapping -- @
	memwhy faults --stacks=user|$usual|"$memwhy" faults -q --out /dev/null --stacks=user -- @
	memwhy faults --stacks|$usual|"$memwhy" faults -q --out /dev/null --stacks -- @
	memwhy faults --each|$usual|"$memwhy" faults -q --out /dev/null --each -- @
	perf stat|$usual|perf stat -o /dev/null -e page-faults -- @
	perf record -c 1|$usual|perf record -q -o "$tmp/perf.data" -e page-faults -c 1 -- @
	perf record -c 1 -g|$usual|perf record -q -o "$tmp/perf.data" -e page-faults -c 1 -g -- @
	perf trace -F all|$few|perf trace -o /dev/null -F all --no-syscalls -- @
	bpftrace count by pid|$usual|bpftrace -o /dev/null -e 'software:page-faults:1 { @[pid] = count(); }' -c "@"
	bpftrace count by ustack|$usual|bpftrace -o /dev/null -e 'software:page-faults:1 { @[pid, ustack] = count(); }' -c "@"
	BCC funccount|$usual|during funccount-bpfcc t:exceptions:page_fault_user -- @
	BCC stackcount -U|$usual|during stackcount-bpfcc -U t:exceptions:page_fault_user -- @
	LIST
}

question_2() {
	heading "2. PAGE-FAULT COST: tool over bare, median (lowest..highest) of $rounds pairs, interleaved" \
		'a thread touches fresh anonymous 4 KiB pages; its own CPU time for one fault'
	costs | cost_table "$load N $pages"
	programs
}

# ns a run of each BPF program.
programs() {
	heading '   BPF programs, ns a run by the kernel (less what it says of an empty one), median of 3'
	round=0
	while [ $round -lt 3 ]; do
		"$measure" empty "$load" 40 "$pages" 2>/dev/null | sed -n 's/^prog/empty/p'
		program_runs 'memwhy faults' "$memwhy" faults
		program_runs '… --by mapping' "$memwhy" faults --by mapping
		program_runs '… --stacks=user' "$memwhy" faults --stacks=user
		program_runs '… --each' "$memwhy" faults --each
		program_runs 'bpftrace count' bpftrace -e 'software:page-faults:1 { @[pid] = count(); }'
		program_runs 'bpftrace ustack' bpftrace -e 'software:page-faults:1 { @[pid, ustack] = count(); }'
		program_runs 'BCC stackcount -U' stackcount-bpfcc -U t:exceptions:page_fault_user
		round=$((round + 1))
	done >"$tmp/programs"
	none=$(awk '$1 == "empty" { print $4 }' "$tmp/programs" | spread | cut -d' ' -f1)
	printf '\n  %-28s %-18s %12s   (empty program: %s ns)\n' tool program 'ns a run' "${none:-unknown}"
	awk -F'\t' -v none="${none:-0}" '
		$1 ~ /^empty/ { next }
		{ k = $1 "\t" $2; if (!(k in n)) order[++m] = k; v[k, ++n[k]] = $3 }
		END { for (i = 1; i <= m; i++) {
			k = order[i]; a = v[k, 1]; b = v[k, 2]; c = v[k, 3]
			if (n[k] == 3) a = a > b ? (b > c ? b : a > c ? c : a) : (a > c ? a : b > c ? c : b)
			split(k, f, "\t"); printf "  %-28s %-18s %12.0f\n", f[1], f[2], a - none
		} }' "$tmp/programs"
}

# Only programs that run for about every fault are of interest.
program_runs() {
	label=$1
	shift
	"$measure" progs "$tmp/log" "$@" -- "$load" 40 "$pages" </dev/null 2>/dev/null |
		awk -v label="$label" '$1 == "prog" && $3 > 40000 { print label "\t" $2 "\t" $4 }'
}
