# shellcheck shell=sh
# Question 11: reading a perf.data file.

perfdata_row() { # label, command: the least CPU time of the rounds, and its memory
	label=$1
	shift
	best=
	i=0
	while [ "$i" -lt "$rounds" ]; do
		i=$((i + 1))
		if ! /usr/bin/time -f '%U %S %M' -o "$tmp/time" "$@" >/dev/null 2>"$tmp/log" </dev/null; then
			printf '  %-28s fails: %s\n' "$label" "$(why "$tmp/log")"
			return
		fi
		run=$(awk 'END { print $1 + $2, $3 }' "$tmp/time")
		best=$(printf '%s\n%s\n' "$best" "$run" | sed '/^$/d' | sort -n | head -n 1)
		# What takes half a minute is not run again.
		awk -v t="${best%% *}" 'BEGIN { exit t > 10 }' || break
	done
	awk -v label="$label" -v n="$samples" -v row="$best" 'BEGIN {
		split(row, f, " ")
		printf "  %-28s %9.2f %12.2f %10.1f\n", label, f[1], n / (f[1] > 0 ? f[1] : 0.01) / 1e6, f[2] / 1024 }'
}

question_11() {
	samples=1000000
	heading '11. PERF.DATA: a file of a million samples, the least CPU time of the rounds'
	if ! [ -x /usr/bin/time ] || ! "$build/tests/perfdata/make" order $samples >"$tmp/m.data"; then
		printf '  fails: needs GNU time, and make workloads\n'
		return
	fi
	printf '\n  %-28s %9s %12s %10s\n' tool 'CPU s' 'M samples/s' 'RSS MiB'
	perfdata_row 'reader alone' "$build/tests/perfdata/dump" -q "$tmp/m.data"
	perfdata_row 'memwhy numa --input' "$memwhy" numa --input "$tmp/m.data"
	perfdata_row 'perf script -G -F time' perf script -G -F time -i "$tmp/m.data"
	perfdata_row 'perf script' perf script -i "$tmp/m.data"
	perfdata_row 'perf report --stdio' perf report --stdio -i "$tmp/m.data"
	perfdata_row 'perf mem report --stdio' perf mem report --stdio -i "$tmp/m.data"
}
