# shellcheck shell=sh
# Question 15: what it adds to whole programs to sample their accesses without a PMU.

# LABEL | what the program runs during
numa_tools() {
	cat <<-LIST
	bare, once more|
	memwhy numa --source first-touch|during "$memwhy" numa --source first-touch --
	memwhy numa --source first-touch --all-blocks|during "$memwhy" numa --source first-touch --all-blocks --
	memwhy numa --source first-touch --no-heap|during "$memwhy" numa --source first-touch --no-heap --
	memwhy numa --source hint --balancing|during "$memwhy" numa --source hint --balancing --
	memwhy numa, balancing on before|during "$memwhy" numa --source hint --
	perf record -d -e page-faults|during perf record -q -a -d -e page-faults -o "$tmp/numa.data" --
	LIST
}

numa_query='WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 600000) SELECT count(*) FROM (SELECT x, x * 7 % 1000003 AS y FROM c ORDER BY y)'

numa_loads() {
	cat <<-LIST
	sort -n, two threads|sort -n --parallel=2 -S 100M -o /dev/null "$tmp/numa.txt"
	xz -1, two threads|sh -c "xz -1 -T2 -c \"$tmp/numa.txt\" >/dev/null"
	python3, 300,000 lists|/usr/bin/python3 "$tmp/numa.py"
	gzip|sh -c "gzip -c \"$tmp/numa.txt\" >/dev/null"
	sqlite3, a sort|sqlite3 :memory: "$numa_query"
	jq, a sum|jq "map(.a) | add" "$tmp/numa.json"
	LIST
}

# CPU ms of one run of the program $1 during $2.
numa_once() {
	eval "$2 \"$measure\" run \"$tmp/log\" $1" 2>/dev/null | awk '$1 == 0 && NF >= 5 { print $5 }'
}

numa_pairs() { # LOAD TOOL BALANCING
	i=0
	sysctl -qw kernel.numa_balancing="$3"
	while [ $i -lt "$rounds" ]; do
		bare=$(numa_once "$1" '')
		with=$(numa_once "$1" "$2")
		i=$((i + 1))
		[ -z "$with" ] || awk -v a="$bare" -v b="$with" 'BEGIN { print b / a }'
	done
}

question_15() {
	heading "15. ACCESSES BY NODE: CPU time of a program, tool over bare, median (lowest..highest) of $rounds pairs" \
		'Balancing is off before, so what the kernel does for it is in the ratio; or on in both'
	balancing_was=$(sysctl -n kernel.numa_balancing) # clean() puts it back
	awk 'BEGIN { srand(1); for (i = 0; i < 1200000; i++) printf "%d%09d %d\n", rand() * 1e9, rand() * 1e9, i }' >"$tmp/numa.txt"
	awk 'BEGIN { print "["; for (i = 0; i < 400000; i++) printf "%s{\"a\":%d,\"b\":\"x%d\"}\n", i ? "," : "", i, i; print "]" }' >"$tmp/numa.json"
	printf 'd = {}\nfor i in range(300000): d[str(i)] = [i, str(i * 2)]\nprint(len(d))\n' >"$tmp/numa.py"
	numa_loads | while IFS='|' read -r load cmd; do
		printf '\n  %s\n' "$load"
		numa_tools | while IFS='|' read -r tool before; do
			case $tool in *'on before'*) balancing=1 ;; *) balancing=0 ;; esac
			numa_pairs "$cmd" "$before" $balancing >"$tmp/numa.ratios" </dev/null
			if [ -s "$tmp/numa.ratios" ]; then
				spread <"$tmp/numa.ratios" | awk -v t="$tool" '{ printf "  %-40s %6.3f (%.3f..%.3f)\n", t, $1, $2, $3 }'
			else
				printf '  %-40s fails\n' "$tool"
			fi
		done
	done
	sysctl -qw kernel.numa_balancing="$balancing_was"
}
