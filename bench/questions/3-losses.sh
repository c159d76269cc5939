# shellcheck shell=sh
# Question 3: what is lost in a storm of faults, and what the tool itself takes.

storms() {
	cat <<-LIST
	memwhy faults|"$memwhy" faults -c bench_faults -o json --out "$tmp/json"
	memwhy faults --stacks|"$memwhy" faults -c bench_faults --stacks -o json --out "$tmp/json"
	memwhy faults --each|"$memwhy" faults -c bench_faults --each -o jsonl --out "$tmp/json"
	memwhy faults --each, 64K ring|"$memwhy" faults -c bench_faults --each --ring-size 64K -o jsonl --out "$tmp/json"
	perf record -a -c 1|perf record -o "$tmp/perf.data" -a -e page-faults -c 1
	perf trace -a -F all|perf trace -o "$tmp/trace" -a -F all --no-syscalls
	bpftrace count by ustack|bpftrace -e 'software:page-faults:1 { @[pid, ustack] = count(); }'
	bpftrace, a line a fault|bpftrace -o "$tmp/lines" -e 'software:page-faults:1 { printf("%d %s\n", pid, comm); }'
	LIST
}

peer_lost() {
	grep -aihoE '(lost [0-9]+ [a-z]+|[0-9]+ [a-z]+ lost)[^(]*' "$1" "$tmp/trace" 2>/dev/null |
		awk '{ n++; for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+$/) s += $i }
			END { if (n) printf "%d", s; else printf "none told" }'
}

storm() {
	rm -f "$tmp/json" "$tmp/trace"
	: >"$tmp/log"
	# perf opens its events long before it enables them
	case $1 in perf*) SETTLED_MS=1500 ;; *) SETTLED_MS=300 ;; esac
	export SETTLED_MS
	eval "\"$measure\" during \"$tmp/log\" $2 -- \"$load\" $3 $pages" >"$tmp/out" 2>/dev/null </dev/null
	touched=$(awk 'NF == 2 && $1 ~ /^[0-9]+$/ { print $1 }' "$tmp/out")
	if [ -z "$touched" ]; then
		printf '  %-28s fails: %s\n' "$1" "$(why "$tmp/log")"
		return
	fi
	case $1 in
	memwhy*) seen=$(json_probe events) lost=$(json_probe lost) ;;
	perf\ record*) seen=$(sed -n 's/.*(\([0-9]*\) samples).*/\1/p' "$tmp/log") lost=$(peer_lost "$tmp/log") ;;
	perf\ trace*) seen=$(wc -l <"$tmp/trace") lost=$(peer_lost "$tmp/log") ;;
	*fault) seen=$(grep -c . "$tmp/lines") lost=$(peer_lost "$tmp/log") ;;
	*) seen=- lost=$(peer_lost "$tmp/log") ;;
	esac
	awk -v label="$1" -v touched="$touched" -v seen="${seen:--}" -v lost="${lost:--}" '$1 == "tool" {
		printf "  %-28s %9d %9s %10s %9.0f %9.0f %8.1f\n", label, touched, seen, lost, $5, $6, $4 / 1024 }' \
		"$tmp/out"
}

question_3() {
	heading '3. LOSSES AND OWN COST in a storm of faults, one run each' \
		'touched: pages the workload touched; a peer with -a also sees what others do' \
		'CPU of the tool itself while the storm lasts, and then until it has reported and exited'
	printf '\n  %-28s %9s %9s %10s %9s %9s %8s\n' tool touched told lost 'storm ms' 'after ms' 'RSS MiB'
	storms | while IFS='|' read -r label cmd; do
		n=$storm_rounds
		case $label in perf\ trace*) n=$few ;; esac
		storm "$label" "$cmd" $n
	done
}
