# shellcheck shell=sh
# Question 4: recordings.

log_row() {
	awk -v label="$1" -v n="$2" -v bytes="$3" -v s="$4" -v cpu="$5" 'BEGIN {
		printf "  %-28s %9d %12.0f %12.1f %14s\n", label, n, n / s, bytes / n,
			cpu == "" ? "-" : sprintf("%.0f", cpu * 1e9 / n) }'
}

log_memwhy() { # label, options
	label=$1
	shift
	rm -f "$tmp/log.mw"
	if ! "$memwhy" faults -q "$@" -o jsonl --out "$tmp/json" --record "$tmp/log.mw" -- \
		"$load" $storm_rounds $pages >/dev/null 2>"$tmp/log" </dev/null; then
		printf '  %-28s fails: %s\n' "$label" "$(why "$tmp/log")"
		return
	fi
	log_row "$label" "$(json_probe events)" "$(stat -c %s "$tmp/log.mw")" "$(json_number seconds)" \
		"$(json_number cpu_seconds)"
}

log_perf() {
	label=$1
	shift
	before=$(date +%s.%N)
	perf record -o "$tmp/perf.data" -e page-faults -c 1 "$@" -- "$load" $storm_rounds $pages \
		>/dev/null 2>"$tmp/log" </dev/null
	after=$(date +%s.%N)
	n=$(sed -n 's/.*(\([0-9]*\) samples).*/\1/p' "$tmp/log")
	if [ -z "$n" ]; then
		printf '  %-28s fails: %s\n' "$label" "$(why "$tmp/log")"
		return
	fi
	log_row "$label" "$n" "$(stat -c %s "$tmp/perf.data")" \
		"$(awk -v a="$after" -v b="$before" 'BEGIN { print a - b }')" ''
}

question_4() {
	heading '4. RECORDINGS of a storm of faults, one event a record, one run each' \
		'a second: of the whole run; CPU: of the tool, symbols included'
	printf '\n  %-28s %9s %12s %12s %14s\n' tool events 'a second' 'bytes each' 'CPU ns each'
	log_memwhy 'memwhy --each, printing too' --each
	log_memwhy 'memwhy --each --stacks' --each --stacks # prints at the end
	log_perf 'perf record -c 1'
	log_perf 'perf record -c 1 -g' -g
}
