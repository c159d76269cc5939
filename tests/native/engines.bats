#!/usr/bin/env bats
# Engines that exist, fed by `memwhy serve` on loopback: a real Prometheus and a real VictoriaMetrics
# store what it serves, and answer what the dashboard and the rules ask.
# bats file_tags=host,beside
load common

engine_addresses=(127.0.0.1:29671 127.0.0.1:29672)

setup_file() {
	[ "$(id -u)" -eq 0 ] && command -v prometheus >/dev/null || return 0
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	export ENGINES=$BATS_FILE_TMPDIR
	pids=()
	"$MEMWHY" serve -i 2s --listen 127.0.0.1:29670 --incidents "$ENGINES/incidents" >"$ENGINES/lines" 2>&1 3>&- &
	pids+=($!)
	# The configuration that is packaged, with other ports and a shorter time.
	cp packaging/prometheus/memwhy-*.yml "$ENGINES"
	sed 's/15s/1s/; s/127.0.0.1:9669/127.0.0.1:29670/' packaging/prometheus/prometheus.yml >"$ENGINES/prometheus.yml"
	sed -i 's/scrape_interval: 1s/&\n  evaluation_interval: 1s/' "$ENGINES/prometheus.yml"
	grep -v 'rule_files\|memwhy-.*yml\|evaluation' "$ENGINES/prometheus.yml" >"$ENGINES/scrape.yml"
	prometheus --config.file="$ENGINES/prometheus.yml" --storage.tsdb.path="$ENGINES/prometheus" \
		--web.listen-address=127.0.0.1:29671 --log.level=warn >"$ENGINES/prometheus.log" 2>&1 3>&- &
	pids+=($!)
	if command -v victoria-metrics >/dev/null; then
		victoria-metrics -promscrape.config="$ENGINES/scrape.yml" -storageDataPath="$ENGINES/victoria" \
			-httpListenAddr=127.0.0.1:29672 -search.latencyOffset=0s -loggerLevel=WARN >"$ENGINES/victoria.log" 2>&1 3>&- &
		pids+=($!)
	fi
	echo "${pids[*]}" >"$ENGINES/pids"
	wait_for 'grep -q "\"ready\"" "$ENGINES/lines"'
}

teardown_file() {
	[ ! -e "$ENGINES/pids" ] || kill $(<"$ENGINES/pids")
	wait
}

setup() {
	needs_root
	command -v prometheus >/dev/null || skip "no prometheus (tools/deps engines)"
	cd "$BATS_TEST_DIRNAME/../.." || exit 1
}

needs_victoria() {
	command -v victoria-metrics >/dev/null || skip "no victoria-metrics (tools/deps engines)"
}

# ask ADDRESS QUERY: the answer as JSON.
ask() {
	curl -sS --max-time 10 -G "http://$1/api/v1/query" --data-urlencode "query=$2"
}

value() { # ADDRESS QUERY
	ask "$1" "$2" | jq -r '.data.result[0].value[1] // empty'
}

vmstat() { # NAME
	awk -v name="$1" '$1 == name { print $2 }' /proc/vmstat
}

# is_stored ADDRESS: it has scraped us some times, and what it got was whole.
is_stored() {
	wait_for '[ "$(value '"$1"' "count_over_time(memwhy_page_faults_total{kind=\"all\"}[1m])")" -ge 4 ] 2>/dev/null'
	[ "$(value "$1" 'up{job="memwhy"}')" = 1 ]
	[ "$(value "$1" 'count({job="memwhy",__name__=~"memwhy_.+"})')" -gt 300 ]
	[ "$(value "$1" 'scrape_samples_scraped{job="memwhy"}')" -gt 300 ]
}

# What the panels ask; queries that have no answer on a host at rest are listed.
panels_answer() { # ADDRESS
	local query answers=0
	while IFS= read -r query; do
		query=${query//\$instance/.*}
		query=${query//\$__rate_interval/30s}
		ask "$1" "$query" >"$BATS_TEST_TMPDIR/answer"
		echo "$(jq -c '[.status, (.data.result | length)]' "$BATS_TEST_TMPDIR/answer") $query"
		jq -e '.status == "success"' "$BATS_TEST_TMPDIR/answer"
		# There may be no finding and no stall.
		if [[ $query != *memwhy_finding* && $query != *memwhy_cgroup_* && $query != *memwhy_stall_duration* ]]; then
			jq -e '.data.result | length > 0' "$BATS_TEST_TMPDIR/answer"
		fi
		answers=$((answers + 1))
	done < <(jq -r '.panels[].targets[].expr' packaging/grafana/memwhy.json)
	[ "$answers" -ge 12 ]
}

# The page faults that an engine has stored grew by what the kernel counted meanwhile, with the
# faults of a workload among them, whose number is known.
equals_kernel() { # ADDRESS
	local series='memwhy_page_faults_total{kind="all"}' first last before after
	before=$(vmstat pgfault)
	sleep 4
	first=$(value "$1" "$series")
	[ "$before" -le "$first" ]
	[ "$first" -le "$(vmstat pgfault)" ]
	"$WORKLOADS/touch" 200 < <(echo go) >"$BATS_TEST_TMPDIR/touch"
	sleep 4
	last=$(value "$1" "$series")
	after=$(vmstat pgfault)
	echo "$before <= $first, $last <= $after; touch: $(tail -n1 "$BATS_TEST_TMPDIR/touch")"
	[ "$((last - first))" -ge "$(awk '/^[0-9]+ [0-9]+$/ { print $1 }' "$BATS_TEST_TMPDIR/touch")" ]
	[ "$((last - first))" -le "$((after - before))" ]
}

@test "engines: Prometheus stores it; the dashboard's queries have answers; counters are the kernel's" {
	is_stored "${engine_addresses[0]}"
	panels_answer "${engine_addresses[0]}"
	equals_kernel "${engine_addresses[0]}"
	! grep -i 'level=error\|out of order\|duplicate' "$ENGINES/prometheus.log" || false
}

@test "engines: Prometheus evaluates the rules, and no alert fires for want of data" {
	at=${engine_addresses[0]}
	curl -sS "http://$at/api/v1/rules" >"$BATS_TEST_TMPDIR/rules"
	jq -e '[.data.groups[].rules[]] | length >= 8 and all(.health == "ok" or .health == "unknown")' "$BATS_TEST_TMPDIR/rules"
	jq -e '[.data.groups[].rules[] | select(.name == "MemwhyDown" or .name == "MemwhyIncidentLost") | .state] | length == 2 and all(. == "inactive")' "$BATS_TEST_TMPDIR/rules"
}

@test "engines: VictoriaMetrics stores the same" {
	needs_victoria
	is_stored "${engine_addresses[1]}"
	panels_answer "${engine_addresses[1]}"
	equals_kernel "${engine_addresses[1]}"
}
