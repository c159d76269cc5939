# shellcheck shell=sh
# Question 18: a page and exports of ten million allocations and frees, beside heaptrack's own reader.

# LABEL | command | what it makes
pages_makers() {
	cat <<-LIST
	memwhy report|"$memwhy" report "$tmp/p.mw" --force --out "$tmp/made.html"|made.html
	memwhy export --to pprof|"$memwhy" export --to pprof --force --out "$tmp/made.pb.gz" "$tmp/p.mw"|made.pb.gz
	memwhy export --to speedscope|"$memwhy" export --to speedscope --force --out "$tmp/made.json" "$tmp/p.mw"|made.json
	memwhy export --to folded|"$memwhy" export --to folded --force --out "$tmp/made.folded" "$tmp/p.mw"|made.folded
	memwhy export --to sqlite|"$memwhy" export --to sqlite --force --out "$tmp/made.db" "$tmp/p.mw"|made.db
	memwhy export --to perfetto|"$memwhy" export --to perfetto --force --out "$tmp/made.pftrace" "$tmp/p.mw"|made.pftrace
	heaptrack_print|heaptrack_print -f "$tmp/p.zst"|log
	heaptrack_print, folded|heaptrack_print -p 0 -a 0 -T 0 -l 0 -F "$tmp/made.ht" -f "$tmp/p.zst"|made.ht
	LIST
}

pages_table() {
	printf '  %-30s %9s %9s %9s\n' '' 'cpu ms' 'RSS MiB' 'made KiB'
	pages_makers | while IFS='|' read -r label cmd file; do
		i=0
		while [ $i -lt "$rounds" ]; do
			eval "\"$measure\" run \"$tmp/log\" $cmd" | awk '$1 == 0 { print $5, $4 / 1024 }'
			i=$((i + 1))
		done >"$tmp/made.of"
		[ -s "$tmp/made.of" ] || { printf '  %-30s %s\n' "$label" "$(why "$tmp/log")" && continue; }
		printf '  %-30s %9.0f %9.1f %9.0f\n' "$label" "$(cut -d' ' -f1 "$tmp/made.of" | spread | cut -d' ' -f1)" \
			"$(cut -d' ' -f2 "$tmp/made.of" | spread | cut -d' ' -f1)" "$(($(stat -c %s "$tmp/$file") / 1024))"
	done
}

question_18() {
	heading '18. A page of ten million allocations and frees' \
		"heap_work mixed 5000000 1; the page in chromium, where it is installed: until something is seen, until all" \
		"is there, a zoom of the flame graph, another part of the time. memray is not in Debian."
	"$memwhy" heap -q --events --record "$tmp/p.mw" --out /dev/null -- "$build/tests/workloads/heap_work" mixed 5000000 1 >/dev/null 2>&1
	heaptrack -o "$tmp/p" "$build/tests/workloads/heap_work" mixed 5000000 1 >/dev/null 2>&1
	pages_table
	NODE_PATH=$build/pages/node_modules node "$here/paint.js" "$tmp/made.html" 2>"$tmp/log" || printf '  %s\n' "$(why "$tmp/log")"
}
