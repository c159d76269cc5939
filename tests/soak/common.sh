# shellcheck shell=bash
# What the soaks share: what a session takes, a plot of it, and whether it grows. They set $out and
# write its table: a line a minute, the names of the columns in the first one.

# resident PID: KiB of it and its helpers; fails when it has ended
resident() {
	local pid sum=0 kib
	kib=$(awk '/^VmRSS/ { print $2 }' "/proc/$1/status" 2>/dev/null)
	[ -n "$kib" ] || return 1
	for pid in $(pgrep -P "$1"); do
		sum=$((sum + $(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status" 2>/dev/null)))
	done
	echo $((kib + sum))
}

# plot COLUMN TITLE: a line of each minute's value.
plot() {
	awk -F'\t' -v c="$1" -v title="$2" 'NR > 1 { v[++n] = $c; if ($c > max) max = $c } END {
		if (!max) max = 1
		print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 240\" font-family=\"sans-serif\" font-size=\"12\">"
		printf "<text x=\"8\" y=\"16\">%s: at most %d, at the end %d</text>\n<polyline fill=\"none\" stroke=\"#06c\" points=\"", title, max, v[n]
		for (i = 1; i <= n; i++) printf "%.1f,%.1f ", 10 + 620 * (i - 1) / (n > 1 ? n - 1 : 1), 230 - 200 * v[i] / max
		print "\"/>\n</svg>" }' "$out/table" >"$out/${2// /-}.svg"
}

# grows COLUMN: the mean of the last quarter over that of the second one, if it is more than 1.25.
grows() {
	awk -F'\t' -v c="$1" 'NR > 1 { v[++n] = $c } END {
		q = int(n / 4)
		for (i = 1; i <= q; i++) { early += v[q + i]; late += v[n - q + i] }
		if (early && late > 1.25 * early) printf "%.2f", late / early }' "$out/table"
}
