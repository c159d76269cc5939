# shellcheck shell=sh
# Question 12: how fast accesses become objects and flows, and in how much memory.

# SAMPLES ALLOCATIONS LIVE
numa_sizes() {
	cat <<-LIST
	1000000 0 100000
	1000000 0 1000000
	10000000 0 1000000
	1000000 1000000 100000
	10000000 10000000 1000000
	LIST
}

numa_word() { # $1: key, of a line of key=value
	tr ' ' '\n' <"$tmp/numa" | sed -n "s/^$1=//p"
}

question_12() {
	feed=$build/bench/numa_feed
	heading '12. ACCESSES: post-processing of made-up records, on one CPU, median of CPU time' \
		'events: samples, allocations and frees (numa_feed); each sample is looked up among the live blocks'
	if [ ! -x "$feed" ]; then
		echo "  no $feed: make bench builds it"
		return
	fi
	printf '  %10s %12s %10s %14s %12s %8s\n' samples allocations live 'samples/s' 'ns/event' 'RSS MB'
	numa_sizes | while read -r samples allocs live; do
		i=0
		rm -f "$tmp/numa.all"
		while [ $i -lt "$rounds" ]; do
			"$feed" "$samples" "$allocs" "$live" >"$tmp/numa"
			numa_word seconds >>"$tmp/numa.all"
			i=$((i + 1))
		done
		spread <"$tmp/numa.all" | awk -v s="$samples" -v a="$allocs" -v l="$live" -v rss="$(numa_word rss_mb)" \
			'{ n = s + 2 * a; printf "  %10d %12d %10d %14.0f %12.0f %8d\n", s, a, l, s / $1, $1 * 1e9 / n, rss }'
	done
}
