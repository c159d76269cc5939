# shellcheck shell=sh
# Question 10: what a tool adds to the allocations of a program, and to whole programs.

# LABEL | what is put before the command
heap_tools() {
	cat <<-LIST
	bare|
	memwhy heap|"$memwhy" heap -q --no-lines --out /dev/null --
	memwhy heap --events|"$memwhy" heap --events --record "$tmp/ht.mw" -q --no-lines --out /dev/null --
	memwhy heap --sample 512K|"$memwhy" heap --sample 512K -q --no-lines --out /dev/null --
	heaptrack|heaptrack -o "$tmp/ht"
	LIST
}

heap_loads() {
	cat <<-LIST
	jq, 13 MB of JSON|jq -c . "$tmp/heap.json"
	sqlite3, inserts and an index|sqlite3 :memory: "create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c where x<300000) insert into t select x, 'abc'||x from c; create index i on t(b)"
	python3, malloc for all|/usr/bin/python3 "$tmp/heap.py"
	clang -O2, a file of 100 functions|clang -O2 -c -o /dev/null "$tmp/heap.c"
	LIST
}

heap_prepare() {
	jq -cn '[range(170000) | {id: ., name: "name\(.)", v: [., . * 2, {k: "\(.)"}]}]' >"$tmp/heap.json" 2>/dev/null
	printf 'd = {}\nfor i in range(300000): d[str(i)] = [i, str(i * 2)]\nprint(len(d))\n' >"$tmp/heap.py"
	awk 'BEGIN { print "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>"
		for (i = 0; i < 100; i++)
			printf "int f%d(const char *s, int n)\n{\n\tint t = 0;\n\tfor (int i = 0; i < n; i++)\n\t\tt += s[i] * %d + (int)strlen(s + i);\n\tprintf(\"%%d\\n\", t);\n\treturn t;\n}\n", i, i }' >"$tmp/heap.c"
}

# WALL_MS CPU_MS of one run with $2 before the command $1; nothing where it failed. Python's setting
# is not set by env(1) after heaptrack, which would follow env alone.
heap_once() {
	eval "PYTHONMALLOC=malloc \"$measure\" run \"$tmp/log\" $2 $1" 2>/dev/null | awk '$1 == 0 { print $2, $5 }'
	rm -f "$tmp"/ht.*
}

heap_programs() {
	printf '  %-36s %-26s %9s %9s %9s %9s\n' program '' 'wall ms' 'times' 'cpu ms' 'times'
	heap_loads | while IFS='|' read -r load cmd; do
		i=0
		while [ $i -lt "$rounds" ]; do
			heap_tools | while IFS='|' read -r tool before; do
				heap_once "$cmd" "$before" >>"$tmp/heap.$tool"
			done
			i=$((i + 1))
		done
		heap_tools | while IFS='|' read -r tool _; do
			wall=$(cut -d' ' -f1 "$tmp/heap.$tool" | spread | cut -d' ' -f1)
			cpu=$(cut -d' ' -f2 "$tmp/heap.$tool" | spread | cut -d' ' -f1)
			[ "$tool" = bare ] && bare="$wall $cpu"
			echo "$load|$tool|$wall|$cpu|$bare"
		done | awk -F'|' '{ split($5, b, " ")
			printf "  %-36s %-26s %9.0f %9.2f %9.0f %9.2f\n", NR == 1 ? $1 : "", $2, $3, b[1] ? $3 / b[1] : 0, $4, b[2] ? $4 / b[2] : 0 }'
		rm -f "$tmp"/heap.bare "$tmp"/heap.memwhy* "$tmp"/heap.heaptrack
	done
}

# Of one pair of malloc and free: ns of CPU time of the program itself; ns that went by, over those; and
# how many CPUs were busy all the while, the tool's own work included: a lock leaves them idle.
heap_pair_once() { # MODE BEFORE
	eval "\"$measure\" run \"$tmp/log\" $2 \"$build/tests/workloads/heap_work\" $1" 2>/dev/null |
		awk 'NR == FNR { if ($1 == 0) busy = $5 / $2; next } { v[$1] = $2 }
			END { if (busy && v["cpu_pair_ps"]) print v["cpu_pair_ps"] / 1000, v["pair_ps"] / v["cpu_pair_ps"], busy }' \
			- "$tmp/log"
	rm -f "$tmp"/ht.*
}

heap_pairs() {
	printf '  %-36s %-26s %9s %9s %9s %9s\n' 'one pair of malloc and free' '' 'cpu ns' 'more ns' 'wall/cpu' 'CPUs busy'
	for mode in 'tight 10000000' 'mixed 1000000 1' 'mixed 3000000 2'; do
		heap_tools | while IFS='|' read -r tool before; do
			i=0
			while [ $i -lt "$rounds" ]; do
				heap_pair_once "$mode" "$before"
				i=$((i + 1))
			done >"$tmp/pairs"
			echo "$tool|$(for k in 1 2 3; do cut -d' ' -f$k "$tmp/pairs" | spread | cut -d' ' -f1; done | xargs)"
		done | awk -v mode="$mode" -F'|' '{ split($2, v, " "); if (NR == 1) bare = v[1]
			printf "  %-36s %-26s %9.1f %9.1f %9.2f %9.2f\n", NR == 1 ? mode : "", $1, v[1], v[1] - bare, v[2], v[3] }'
	done
}

# Bytes of the file for an event, with all that is in it; events a second of CPU time in a report that
# is made of all of them.
heap_events() {
	printf '  %-36s %-26s %9s %9s %9s\n' 'each event in a file' '' events B/event M/s
	heap_loads | while IFS='|' read -r load cmd; do
		eval "PYTHONMALLOC=malloc \"$memwhy\" heap --events --record \"$tmp/ev.mw\" -q --no-lines -o csv --table process \
			--fields allocations,frees --out \"$tmp/ev.csv\" -- $cmd" >/dev/null 2>&1
		n=$(awk -F, 'NR > 1 { n += $1 + $2 } END { print n }' "$tmp/ev.csv")
		eval "PYTHONMALLOC=malloc heaptrack -o \"$tmp/ev.ht\" $cmd" >/dev/null 2>&1
		for tool in memwhy heaptrack; do
			file=$tmp/ev.mw
			report="\"$memwhy\" heap --input $file --to 24h -q --out /dev/null"
			if [ $tool = heaptrack ]; then
				file=$(ls "$tmp"/ev.ht.* 2>/dev/null) || continue
				report="heaptrack_print -f $file"
			fi
			i=0
			while [ $i -lt "$rounds" ]; do
				eval "\"$measure\" run \"$tmp/log\" $report" 2>/dev/null | awk '$1 == 0 { print $5 }'
				i=$((i + 1))
			done | spread | awk -v l="$load" -v t=$tool -v n="$n" -v b="$(stat -c %s "$file")" \
				'{ printf "  %-36s %-26s %9d %9.3f %9.1f\n", t == "memwhy" ? l : "", t, n, b / n, n / $2 / 1000 }'
		done
		rm -f "$tmp"/ev.*
	done
}

question_10() {
	heading "10. HEAP: medians of $rounds rounds, interleaved" \
		'whole programs: wall time and CPU time of all that runs, report included; a pair: CPU time of' \
		'the program alone (tight: one after the other; mixed N THREADS: 10,000 live, 8 to 11 frames),' \
		'the time that went by over that, and the CPUs that were busy meanwhile, with the tool'
	heap_prepare
	heap_programs
	heap_pairs
	heap_events
}
