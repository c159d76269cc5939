# shellcheck shell=sh
# Question 17: what a service costs that is always there, on an idle and on a busy host, with a scrape each
# 15 s; beside it prometheus-node-exporter in the same minute.

service_seconds=60

# RSS_MIB of a process.
service_rss() {
	awk '/^VmRSS/ { printf "%.1f", $2 / 1024 }' "/proc/$1/status"
}

service_ticks() {
	sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'
}

# A line a service, of one minute; $1 says what the host does meanwhile.
service_minute() {
	"$memwhy" serve --listen 127.0.0.1:29691 --incidents "$tmp/incidents" >"$tmp/lines" 2>"$tmp/log" &
	ours=$!
	prometheus-node-exporter --web.listen-address=127.0.0.1:29692 >/dev/null 2>&1 &
	peer=$!
	job="$ours $peer"
	while ! grep -q '"ready"' "$tmp/lines" && kill -0 $ours 2>/dev/null; do sleep 0.1; done
	sleep 5
	ours_before=$(service_ticks $ours) peer_before=$(service_ticks $peer)
	i=0
	while [ $i -lt $((service_seconds / 15)) ]; do
		sleep 15
		curl -s -o /dev/null http://127.0.0.1:29691/metrics
		curl -s -o /dev/null http://127.0.0.1:29692/metrics
		i=$((i + 1))
	done
	for s in "memwhy $ours $ours_before" "node_exporter $peer $peer_before"; do
		# shellcheck disable=SC2086
		set -- "$1" $s
		printf '  %-10s %-16s %9.2f %9s\n' "$1" "$2" "$(echo "$(service_ticks "$3") $4" |
			awk -v hz="$(getconf CLK_TCK)" -v s=$service_seconds '{ print ($1 - $2) / hz / s * 100 }')" "$(service_rss "$3")"
	done
	kill $ours $peer
	wait $ours $peer 2>/dev/null
	job=
}

question_17() {
	heading '17. A SERVICE' "CPU over $service_seconds s as a share of one CPU, RSS at its end; busy: page faults all the time on one CPU"
	command -v prometheus-node-exporter >/dev/null || echo '  prometheus-node-exporter: not installed (tools/deps engines)'
	printf '  %-10s %-16s %9s %9s\n' host service 'CPU %' 'RSS MiB'
	service_minute idle
	while :; do "$load" $pages $usual >/dev/null; done &
	busy=$!
	service_minute busy
	kill $busy
	wait $busy 2>/dev/null
}
