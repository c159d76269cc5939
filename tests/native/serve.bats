#!/usr/bin/env bats
# `memwhy serve`: what it serves, to whom, and that no client can harm it. One service for the whole
# file, but where a test needs its own.
load common

setup_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	export SERVE_DIR=$BATS_FILE_TMPDIR/serve
	mkdir "$SERVE_DIR"
	service_start "$SERVE_DIR" -i 2s --listen 127.0.0.1:29669 --incidents "$SERVE_DIR/incidents"
	echo "$service" >"$SERVE_DIR/pid"
}

teardown_file() {
	[ ! -e "$SERVE_DIR/pid" ] || kill "$(<"$SERVE_DIR/pid")"
}

setup() {
	needs_root
	cd "$BATS_TEST_DIRNAME/../.." || exit 1
	url=http://127.0.0.1:29669
	name=memwhy-test-$$-$BATS_TEST_NUMBER
	export MEMWHY_CGROUP_FILE=$BATS_TEST_TMPDIR/group
	service=
}

teardown() {
	[ -z "$service" ] || kill "$service" 2>/dev/null || true # of a test that failed
	[ -z "${allocates:-}" ] || kill "$allocates" 2>/dev/null || true
	[ -z "${engine:-}" ] || kill "$engine" 2>/dev/null || true
	rm -f "${log:-}"
	[ -z "${pod:-}" ] || rmdir --ignore-fail-on-non-empty "$pod" /var/log/pods /var/log/containers 2>/dev/null || true
	[ -z "$name" ] || find /sys/fs/cgroup -depth -maxdepth 4 -type d -path "*/$name*" -exec rmdir {} + 2>/dev/null || true
}

# service_start DIRECTORY ARGS...: its lines in DIRECTORY/lines, its number in $service.
service_start() {
	local d=$1
	shift
	"$MEMWHY" serve "$@" >"$d/lines" 2>"$d/err" 3>&- &
	service=$!
	wait_for "grep -q '\"ready\"' '$d/lines' || ! kill -0 $service 2>/dev/null"
}

service_stop() {
	kill "$service"
	wait "$service"
}

get() { # PATH [CURL'S OPTIONS...]
	curl -sS --max-time 10 "${@:2}" "$url$1"
}

# The value of one series, as it is written; nothing where it is not there.
metric() { # SERIES
	get /metrics | awk -v series="$1" 'substr($0, 1, length(series) + 1) == series " " { print $NF }'
}

vmstat() { # NAME
	awk -v name="$1" '$1 == name { print $2 }' /proc/vmstat
}

# bats test_tags=host
@test "serve: classic text passes promtool; each series is there once" {
	get /metrics -D "$BATS_TEST_TMPDIR/head" >"$BATS_TEST_TMPDIR/m"
	grep -qi '^content-type: text/plain; version=0.0.4' "$BATS_TEST_TMPDIR/head"
	promtool check metrics <"$BATS_TEST_TMPDIR/m"
	[ -z "$(grep -v '^#' "$BATS_TEST_TMPDIR/m" | sed 's/ [^ ]*$//' | sort | uniq -d)" ]
	[ "$(grep -c '^memwhy_' "$BATS_TEST_TMPDIR/m")" -gt 300 ]
	! grep -q 'pid=' "$BATS_TEST_TMPDIR/m" || false
}

# bats test_tags=host
@test "serve: OpenMetrics by negotiation: units, totals, an end; compressed where that is asked for" {
	get /metrics -H 'Accept: application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.2' \
		-D "$BATS_TEST_TMPDIR/head" --compressed >"$BATS_TEST_TMPDIR/m"
	grep -qi '^content-type: application/openmetrics-text; version=1.0.0' "$BATS_TEST_TMPDIR/head"
	grep -qi '^content-encoding: gzip' "$BATS_TEST_TMPDIR/head"
	[ "$(tail -n1 "$BATS_TEST_TMPDIR/m")" = "# EOF" ]
	[ "$(grep -c '^# EOF' "$BATS_TEST_TMPDIR/m")" -eq 1 ]
	# A family with a unit ends in it; all samples are of the family announced last.
	awk '$2 == "UNIT" { if ($3 !~ "_" $4 "$") { print; bad = 1 } next }
		$2 == "TYPE" { family = $3; type = $4; next } /^#/ { next }
		{ n = $1; sub(/{.*/, "", n)
		  s = substr(n, length(family) + 1)
		  if (index(n, family) != 1 || (type == "counter" && s != "_total") || (type == "gauge" && s != "") ||
			(type == "info" && s != "_info") || (type == "histogram" && s !~ /^_(bucket|sum|count)$/)) { print; bad = 1 } }
		END { exit bad }' "$BATS_TEST_TMPDIR/m"
	get /metrics -H 'Accept: application/openmetrics-text;q=0.2,text/plain;q=0.5' -o /dev/null -D - |
		grep -qi '^content-type: text/plain'
}

# bats test_tags=host
@test "serve: docs/serve.md names each metric, and no other" {
	diff <(get /metrics | sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' | sort) \
		<(sed -n 's/^| `\(memwhy_[a-z_]*\)` .*/\1/p' docs/serve.md | sort) >"$BATS_TEST_TMPDIR/diff" || true
	cat "$BATS_TEST_TMPDIR/diff"
	! grep -q '^<' "$BATS_TEST_TMPDIR/diff" || false # served, and not described
	# What this kernel does not count is not served.
	! grep '^>' "$BATS_TEST_TMPDIR/diff" | grep -v 'numa\|slab\|pressure\|push' || false
}

# bats test_tags=host
@test "serve: histograms are cumulative, and end in their count" {
	get /metrics | awk '/_bucket/ { split($1, part, "le="); n = $NF
			if (part[1] == last && n < before) { print; bad = 1 }
			last = part[1]; before = n }
		/_count/ && $NF != before { print; bad = 1 } END { exit bad }'
	count=memwhy_page_fault_duration_seconds_count'{kind="minor"}' # looked at every two seconds
	wait_for '[ "$(metric "$count")" -gt 0 ] 2>/dev/null'
}

@test "serve: counters of /proc/vmstat are the kernel's" {
	for pair in pgfault:memwhy_page_faults_total'{kind="all"}' pgmajfault:memwhy_page_faults_total'{kind="major"}' \
		allocstall_normal:memwhy_allocstall_total'{zone="Normal"}'; do
		before=$(vmstat "${pair%%:*}")
		sleep 3
		now=$(metric "${pair#*:}")
		after=$(vmstat "${pair%%:*}")
		echo "${pair#*:}: $before <= $now <= $after"
		[ "$before" -le "$now" ]
		[ "$now" -le "$after" ]
	done
}

@test "serve: faults of a group are those that its tasks made" {
	tools/with-cgroup "$name" 500000000 sh -c 'echo go | "$@"; sleep 3; curl -sS --max-time 5 "$0/metrics"' "$url" "$WORKLOADS/touch" 16 \
		>"$BATS_TEST_TMPDIR/m" || status=$?
	[ "${status:-0}" -ne 3 ] || skip "no memory controller"
	minor=$(awk '/^[0-9]+ [0-9]+$/ { print $1 }' "$BATS_TEST_TMPDIR/m")
	counted=$(awk -v s="memwhy_cgroup_page_faults_total{cgroup=\"/$name\",kind=\"minor\"}" 'index($0, s) == 1 { print $NF }' "$BATS_TEST_TMPDIR/m")
	echo "touch: $minor, counted with sh, its loader and curl: $counted"
	[ "$minor" -ge 4096 ]
	[ "$counted" -ge "$minor" ]
	[ "$counted" -le $((minor + 3000)) ]
}

@test "serve: an OOM kill in a group: counted, told in a line, and gone with the group" {
	kills=$(vmstat oom_kill)
	tools/with-cgroup "$name" 33554432 sh -c 'd=$(cat "$MEMWHY_CGROUP_FILE")
		echo 0 >"$d/memory.swap.max" || echo 0 >"$d/memory.swappiness"
		"$@"; sleep 3; curl -sS --max-time 5 "$0/metrics"' "$url" "$WORKLOADS/oom_grow" -s 8 -r 50 \
		>"$BATS_TEST_TMPDIR/m" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	[ "${status:-0}" -ne 3 ] || skip "no memory controller"
	[ "$(grep -c "memwhy_cgroup_oom_kills_total{cgroup=\"/$name\"} 1" "$BATS_TEST_TMPDIR/m")" -eq 1 ]
	[ "$(awk '$1 == "memwhy_oom_kills_total" { print $2 }' "$BATS_TEST_TMPDIR/m")" -ge $((kills + 1)) ]
	cat "$SERVE_DIR/lines"
	jq -es "any(.event == \"oom_kill\" and .comm == \"oom_grow\" and .cgroup == \"/$name\")" "$SERVE_DIR/lines"
	wait_for '! get /metrics | grep -q "$name"'
}

@test "serve: a container's group has its names, and its pod's, also where these come later" {
	root=/sys/fs/cgroup
	[ ! -d "$root/memory" ] || root=$root/memory
	id=$(printf '%s' "$name" | sha256sum | cut -d' ' -f1)
	uid=$(cat /proc/sys/kernel/random/uuid)
	group=$root/$name/pod$uid/$id
	mkdir -p "$group" || skip "no cgroups"
	log=/var/log/containers/web-1_shop_front-$id.log pod=/var/log/pods/shop_web-1_$uid
	mkdir -p /var/log/containers "$pod"
	(echo "$BASHPID" >"$group/cgroup.procs" && exec "$WORKLOADS/touch" 4 <<<go)
	series="memwhy_cgroup_page_faults_total{cgroup=\"/$name/pod$uid/$id\",container=\"$id\""
	wait_for 'get /metrics | grep -qF "$series,pod=\"web-1\",namespace=\"shop\",kind=\"minor\"}"'
	ln -s /nonexistent "$log"
	wait_for 'get /metrics | grep -qF "$series,container_name=\"front\",pod=\"web-1\",namespace=\"shop\",kind=\"minor\"}"'
	rm "$log"
	rmdir "$group" "${group%/*}" "$root/$name"
	wait_for '! get /metrics | grep -q "$id"'
}

# bats test_tags=host
@test "serve: pages, and what is none" {
	wait_for 'get / | grep -q "^memwhy check"' # the first interval is over
	get / -H 'Accept: text/html' -D - >"$BATS_TEST_TMPDIR/page"
	grep -qi '^content-type: text/html' "$BATS_TEST_TMPDIR/page"
	grep -q '<section class="report" data-command="check"' "$BATS_TEST_TMPDIR/page"
	grep -q '^</html>' "$BATS_TEST_TMPDIR/page"
	[ "$(get /healthz)" = ok ]
	[ "$(get /nothing -o /dev/null -w '%{http_code}')" = 404 ]
	[ "$(get /metrics -X POST -d x -o /dev/null -w '%{http_code}')" = 405 ]
	[ "$(get "/$(printf 'a%.0s' {1..300})" -o /dev/null -w '%{http_code}')" = 414 ]
	[ "$(get / -H "X: $(printf 'a%.0s' {1..9000})" -o /dev/null -w '%{http_code}')" = 431 ]
	[ -z "$(get /metrics -I | sed '1,/^\r$/d')" ]
	get /metrics -I | grep -q '^Content-Length: [1-9]'
}

# bats test_tags=host
@test "serve: garbage, slow and many clients: others are answered, the session goes on" {
	rss=$(awk '/^VmRSS/ { print $2 }' "/proc/$(<"$SERVE_DIR/pid")/status")
	python3 - <<-'END'
		import os, resource, socket, time
		resource.setrlimit(resource.RLIMIT_NOFILE, (11000, max(11000, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
		def connect():
		    s = socket.socket(); s.settimeout(5); s.connect(("127.0.0.1", 29669)); return s
		slow = []
		for i in range(10000):  # they ask for a bit and wait, all at once
		    s = connect(); s.setblocking(False); slow.append(s)
		    try:
		        s.send(b"GET /metr")
		    except OSError:  # closed to make room
		        pass
		for i in range(10):  # a scraper is answered all the same
		    began = time.time()
		    s = connect(); s.send(b"GET /metrics HTTP/1.1\r\n\r\n")
		    assert s.recv(12) == b"HTTP/1.1 200", "a scraper is not answered beside 10,000 others"
		    s.close()
		    assert time.time() - began < 5
		for i in range(200):
		    s = connect()
		    try:
		        s.send(os.urandom(1 + i * 50) + b"\r\n\r\n"); s.recv(1 << 16)
		    except OSError:
		        pass
		    s.close()
		s = connect(); s.send(b"GET /metrics HTTP/1.1\r\n\r\n")
		assert s.recv(12) == b"HTTP/1.1 200", "not answered"
		s.close()  # the rest of the answer is not read
		deaf = [connect() for i in range(100)]
		for s in deaf:
		    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048); s.send(b"GET /metrics HTTP/1.1\r\n\r\n")
		s = connect(); s.send(b"GET /healthz HTTP/1.1\r\n\r\n")
		assert s.recv(12) == b"HTTP/1.1 200", "not answered beside those who do not read"
	END
	[ "$(get /healthz)" = ok ]
	[ "$(metric 'memwhy_http_requests_total{result="dropped"}')" -gt 500 ]
	wait_for '[ "$(find "/proc/$(<"$SERVE_DIR/pid")/fd" -lname "socket:*" | wc -l)" -lt 100 ]'
	grown=$(($(awk '/^VmRSS/ { print $2 }' "/proc/$(<"$SERVE_DIR/pid")/status") - rss))
	echo "resident memory grew by $grown kB"
	[ "$grown" -lt 16000 ]
}

# bats test_tags=host
@test "serve: the server's thread has no capability; the process only those of a session" {
	pid=$(<"$SERVE_DIR/pid")
	for task in /proc/"$pid"/task/*; do
		grep -H '^CapEff\|^NoNewPrivs\|^Seccomp:' "$task/status"
		grep -q '^NoNewPrivs:.*1' "$task/status"
	done
	[ "$(cat /proc/"$pid"/task/*/status | grep -c '^CapEff:.*0000000000000000$')" -eq 1 ]
}

# bats test_tags=host
@test "serve: processes that open, ask and write for it have no copy of what it holds" {
	for helper in $(pgrep -P "$(<"$SERVE_DIR/pid")"); do
		grep -H '^Name\|^RssAnon' "/proc/$helper/status"
		grep -q '^Name:.*memwhy-reader' "/proc/$helper/status" || # of symbols that it was asked for
			[ "$(awk '/^RssAnon/ { print $2 }' "/proc/$helper/status")" -lt 1024 ]
	done
}

# bats test_tags=host
@test "serve: a Unix socket, a file of settings read again at SIGHUP, users, and systemd is told" {
	cat >"$BATS_TEST_TMPDIR/users" <<<'scraper:secret'
	chmod 600 "$BATS_TEST_TMPDIR/users"
	printf '# settings\nlisten unix:%s\nmax-series = 700\ninterval 1s\nincidents %s\n' "$BATS_TEST_TMPDIR/s" "$BATS_TEST_TMPDIR/i" >"$BATS_TEST_TMPDIR/conf"
	python3 - "$BATS_TEST_TMPDIR" <<-'END' 3>&- &
		import socket, sys, time
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1] + "/notify"); s.settimeout(30)
		out = open(sys.argv[1] + "/told", "w", buffering=1)
		while True:
		    text = s.recv(4096).decode(); out.write(text + "\n")
		    if "STOPPING=1" in text: break
	END
	wait_for '[ -S "$BATS_TEST_TMPDIR/notify" ]'
	NOTIFY_SOCKET=$BATS_TEST_TMPDIR/notify service_start "$BATS_TEST_TMPDIR" --config "$BATS_TEST_TMPDIR/conf"
	at=(--unix-socket "$BATS_TEST_TMPDIR/s" -o /dev/null -w '%{http_code}')
	[ "$(get /metrics "${at[@]}")" = 200 ]
	echo "auth $BATS_TEST_TMPDIR/users" >>"$BATS_TEST_TMPDIR/conf"
	kill -HUP "$service"
	wait_for 'grep -q "\"reloaded\"" "$BATS_TEST_TMPDIR/lines"'
	[ "$(get /metrics "${at[@]}")" = 401 ]
	[ "$(get /metrics "${at[@]}" -u scraper:wrong)" = 401 ]
	[ "$(get /metrics "${at[@]}" -u scraper:secret)" = 200 ]
	# What it cannot take while it runs is told; words of settings that it did not take are not its own.
	sed -i "s|^incidents .*|incidents $BATS_TEST_TMPDIR/j|; s/^interval .*/interval 2s/" "$BATS_TEST_TMPDIR/conf"
	kill -HUP "$service"
	wait_for 'grep -q "\"reloaded\".*these change after a restart: interval, incidents\"" "$BATS_TEST_TMPDIR/lines"'
	cp "$BATS_TEST_TMPDIR/conf" "$BATS_TEST_TMPDIR/good"
	for n in 1 2 3; do
		echo "on-pressure ${n}00%" >>"$BATS_TEST_TMPDIR/conf"
		kill -HUP "$service"
		wait_for '[ "$(grep -c "reload_failed.*is not a percentage (a number above 0, up to 100)" "$BATS_TEST_TMPDIR/lines")" = "$n" ]'
		cp "$BATS_TEST_TMPDIR/good" "$BATS_TEST_TMPDIR/conf"
	done
	echo "nonsense 1" >>"$BATS_TEST_TMPDIR/conf"
	kill -HUP "$service"
	wait_for 'grep -q "reload_failed.*nonsense" "$BATS_TEST_TMPDIR/lines"'
	[ "$(get /metrics "${at[@]}" -u scraper:secret)" = 200 ]
	service_stop
	grep -q READY=1 "$BATS_TEST_TMPDIR/told"
	grep -q RELOADING=1 "$BATS_TEST_TMPDIR/told"
	wait_for 'grep -q STOPPING=1 "$BATS_TEST_TMPDIR/told"'
}

# profile NAME?QUERY: what `go tool pprof` makes of it, in $BATS_TEST_TMPDIR/raw.
profile() {
	PPROF_TMPDIR=$BATS_TEST_TMPDIR go tool pprof -raw "http://127.0.0.1:29673/debug/pprof/$1" >"$BATS_TEST_TMPDIR/raw" 2>"$BATS_TEST_TMPDIR/err"
}

@test "serve: profiles: off by default; with --allow-profiles pprof reads them by their address" {
	[ "$(get '/debug/pprof/heap?pid=1' -o "$BATS_TEST_TMPDIR/off" -w '%{http_code}')" = 403 ]
	grep -q -- '--allow-profiles' "$BATS_TEST_TMPDIR/off"
	command -v go >/dev/null || skip "no go"
	service_start "$BATS_TEST_TMPDIR" -i 2s --no-incidents --allow-profiles --listen 127.0.0.1:29673
	# Up to 20 blocks of 100 kB a second, which it keeps; it says how many there are.
	python3 -c $'import sys, time; kept = []; told = open(sys.argv[1], "w", buffering=1)\nfor i in range(1200): kept.append(bytearray(100000)); told.write("x\\n"); time.sleep(0.05)' \
		"$BATS_TEST_TMPDIR/blocks" 3>&- &
	allocates=$!
	wait_for '[ -s "$BATS_TEST_TMPDIR/blocks" ]' # it may be a script that becomes python
	before=$(wc -l <"$BATS_TEST_TMPDIR/blocks")
	profile "heap?pid=$allocates&seconds=2"
	after=$(wc -l <"$BATS_TEST_TMPDIR/blocks")
	grep -q 'inuse_space/bytes' "$BATS_TEST_TMPDIR/raw"
	# The probes saw two seconds of the time that it took to ask: some of these blocks, and no others.
	sum=$(awk '/^Samples:/ { on = 1 } /^Locations/ { on = 0 } on && $4 ~ /:$/ { n += $4 } END { print n + 0 }' "$BATS_TEST_TMPDIR/raw")
	echo "in use: $sum, of $((after - before)) blocks meanwhile"
	[ "$sum" -ge 500000 ]
	[ "$sum" -le $(((after - before + 2) * 101000)) ]
	profile "faults?seconds=1"
	grep -q 'faults/count' "$BATS_TEST_TMPDIR/raw"
	profile "stalls?seconds=1&pid=$allocates"
	grep -q 'delay/nanoseconds' "$BATS_TEST_TMPDIR/raw"
	profile "pages?seconds=1&pid=$allocates"
	kill "$allocates"
	url=http://127.0.0.1:29673
	kthread=$(pgrep -x kthreadd) || kthread= # has no heap; in a namespace of processes there is none
	for want in 400:heap 400:heap?pid=x 400:faults?seconds=301 404:heap?pid=4194400 404:nothing ${kthread:+"503:heap?pid=$kthread&seconds=1"}; do
		got=$(get "/debug/pprof/${want#*:}" -o "$BATS_TEST_TMPDIR/said" -w '%{http_code}')
		echo "$want: $got $(<"$BATS_TEST_TMPDIR/said")"
		[ "$got" = "${want%%:*}" ]
		[ -s "$BATS_TEST_TMPDIR/said" ]
	done
	[ "$(get '/debug/pprof/faults' -H 'Sec-Fetch-Site: cross-site' -o /dev/null -w '%{http_code}')" = 403 ]
	[ "$(get '/debug/pprof/faults' -H 'Host: evil.example' -o /dev/null -w '%{http_code}')" = 403 ]
	for path in /metrics / /incidents /healthz; do
		[ "$(get "$path" -H 'Host: evil.example' -o /dev/null -w '%{http_code}')" = 403 ]
	done
	[ "$(get '/debug/pprof/faults' -H 'Referer: http://evil.example/' -o /dev/null -w '%{http_code}')" = 403 ]
	[ "$(get '/debug/pprof/faults' -H "Host: localhost:29673" -o /dev/null -w '%{http_code}' -I)" = 405 ]
	# A query that is too long to be read is not taken for none.
	[ "$(get "/debug/pprof/faults?$(printf 'a%.0s' {1..600})&pid=1" -o /dev/null -w '%{http_code}')" = 414 ]
	# Whoever goes away stops it, and more than two are not made at once.
	curl -s --max-time 1 "$url/debug/pprof/stalls?seconds=60" -o /dev/null || true
	wait_for '! pgrep -f "memwhy stalls -o pprof --for 60s"'
	for i in 1 2 3; do
		curl -s "$url/debug/pprof/stalls?seconds=2" -o /dev/null -w '%{http_code}\n' >"$BATS_TEST_TMPDIR/at-once$i" 3>&- &
	done
	[ "$(get /healthz)" = ok ] # meanwhile others are answered
	wait_for '[ "$(cat "$BATS_TEST_TMPDIR"/at-once* | sort | tr "\n" " ")" = "200 200 503 " ]'
	helper=$(pgrep -P "$service" -x memwhy-profiles)
	service_stop
	[ ! -e "/proc/$helper" ]
}

# bats test_tags=host
@test "serve: signals to the group do not end who makes profiles; where it has ended, that is told" {
	service_start "$BATS_TEST_TMPDIR" --no-incidents --allow-profiles --listen 127.0.0.1:29673
	helper=$(pgrep -P "$service" -x memwhy-profiles)
	for signal in HUP USR1 USR2 INT; do
		kill -"$signal" "$helper"
	done
	sleep 1
	[ "$(grep -c '"profiles_ended"' "$BATS_TEST_TMPDIR/lines")" = 0 ]
	grep -q '^State:.*S' "/proc/$helper/status"
	kill -TERM "$helper"
	wait_for 'grep -q "\"profiles_ended\"" "$BATS_TEST_TMPDIR/lines"'
	service_stop
}

# bats test_tags=host
@test "serve: profiles beyond this machine need a password, also after a reload" {
	conf=$BATS_TEST_TMPDIR/conf users=$BATS_TEST_TMPDIR/users url=http://127.0.0.1:29675
	listen='listen 0.0.0.0:29675\nallow-profiles\nno-incidents\n'
	printf "$listen" >"$conf"
	status=0
	timeout 20 "$MEMWHY" serve --config "$conf" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	[ "$status" -ne 0 ]
	[ "$status" -ne 124 ]
	grep -q 'add --auth FILE' "$BATS_TEST_TMPDIR/err"
	echo 'scraper:secret' >"$users"
	chmod 600 "$users"
	printf "${listen}auth $users\n" >"$conf"
	service_start "$BATS_TEST_TMPDIR" --config "$conf"
	grep -q '"warning".*unencrypted' "$BATS_TEST_TMPDIR/lines"
	for without in "# scraper:secret" "" "scraper"; do # a file with nobody in it is not for everybody
		echo "$without" >"$users"
		kill -HUP "$service"
		wait_for '[ "$(grep -c "reload_failed.*no USER:PASSWORD line" "$BATS_TEST_TMPDIR/lines")" -gt "${failed:-0}" ]'
		failed=$((${failed:-0} + 1))
		[ "$(get /debug/pprof -o /dev/null -w '%{http_code}')" = 401 ]
	done
	printf "$listen" >"$conf"
	kill -HUP "$service"
	wait_for 'grep -q "reload_failed.*look into processes" "$BATS_TEST_TMPDIR/lines"'
	[ "$(get /debug/pprof -o /dev/null -w '%{http_code}')" = 401 ]
	[ "$(get /debug/pprof -o /dev/null -w '%{http_code}' -u scraper:secret)" = 200 ]
	# By another name, as scrapers ask; a page that has a browser ask is refused all the same.
	[ "$(get /debug/pprof -o /dev/null -w '%{http_code}' -u scraper:secret -H 'Host: node1:29675')" = 200 ]
	[ "$(get /debug/pprof -o /dev/null -w '%{http_code}' -u scraper:secret -H 'Origin: http://evil.example')" = 403 ]
	service_stop
}

# An engine as Pyroscope is: keeps what is posted in $BATS_TEST_TMPDIR, and answers with each of the
# statuses in turn, then 200. Its number is in $engine.
engine_start() { # STATUS...
	cat >"$BATS_TEST_TMPDIR/engine.py" <<-'END'
		import http.server, json, sys, urllib.parse
		out, statuses = sys.argv[1], [int(x) for x in sys.argv[2:]]
		class Engine(http.server.BaseHTTPRequestHandler):
		    n = 0
		    def do_POST(self):
		        body = self.rfile.read(int(self.headers["Content-Length"]))
		        status = statuses.pop(0) if statuses else 200
		        url = urllib.parse.urlsplit(self.path)
		        Engine.n += 1
		        open(f"{out}/{Engine.n}.pb.gz", "wb").write(body)
		        with open(f"{out}/posted", "a") as f:
		            print(json.dumps({"n": Engine.n, "status": status, "path": url.path, "secret": self.headers["Authorization"],
		                **dict(urllib.parse.parse_qsl(url.query))}), file=f)
		        self.send_response(status); self.send_header("Content-Length", "0"); self.end_headers()
		    def log_message(self, *a): pass
		http.server.HTTPServer(("127.0.0.1", 29674), Engine).serve_forever()
	END
	python3 "$BATS_TEST_TMPDIR/engine.py" "$BATS_TEST_TMPDIR" "$@" 2>"$BATS_TEST_TMPDIR/engine.err" 3>&- &
	engine=$!
}

posted() { # JQ'S FILTER
	cat "$BATS_TEST_TMPDIR/posted" 2>/dev/null | jq -es "$1" >/dev/null
}

@test "serve: profiles are pushed: as pprof reads them, again where that failed, and what is refused is dropped" {
	echo 'Authorization: Bearer 5ecret' >"$BATS_TEST_TMPDIR/headers"
	chmod 644 "$BATS_TEST_TMPDIR/headers"
	status=0
	"$MEMWHY" serve --no-incidents --listen "unix:$BATS_TEST_TMPDIR/s" --push http://127.0.0.1:29674 --push-headers "$BATS_TEST_TMPDIR/headers" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	[ "$status" -eq 2 ] || [ "$status" -eq 3 ]
	grep -q 'others may read' "$BATS_TEST_TMPDIR/err"
	chmod 600 "$BATS_TEST_TMPDIR/headers"
	echo 'Content-Length: 0' >>"$BATS_TEST_TMPDIR/headers"
	status=0
	timeout 20 "$MEMWHY" serve --no-incidents --listen "unix:$BATS_TEST_TMPDIR/s" --push http://127.0.0.1:29674 --push-headers "$BATS_TEST_TMPDIR/headers" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	[ "$status" -eq 2 ] || [ "$status" -eq 3 ]
	grep -q 'line 2 of .* sets Content-Length' "$BATS_TEST_TMPDIR/err"
	sed -i 2d "$BATS_TEST_TMPDIR/headers"
	service_start "$BATS_TEST_TMPDIR" -i 2s --no-incidents --listen "unix:$BATS_TEST_TMPDIR/s" \
		--push http://127.0.0.1:29674/base/ --push-labels zone=b --push-headers "$BATS_TEST_TMPDIR/headers"
	! ps -o args= -p "$service" | grep -q 5ecret || false
	pushes() {
		get /metrics --unix-socket "$BATS_TEST_TMPDIR/s" | awk -v series="memwhy_pushes_total{result=\"$1\"}" '$1 == series { print $2 }'
	}
	for _ in 1 2 3; do "$WORKLOADS/touch" 64 <<<go >"$BATS_TEST_TMPDIR/touch"; done
	wait_for '[ "$(pushes retried)" -ge 1 ]' # nobody listens
	wait_for 'grep -q "\"push_failed\".*refused" "$BATS_TEST_TMPDIR/lines"'
	engine_start 500 400
	wait_for 'posted "length > 0"'
	host=$(uname -n)
	[[ $host =~ ^[[:graph:]]+$ && ! $host =~ [{}\"=,] ]] || host=unknown
	export host
	wait_for '"$WORKLOADS/touch" 64 <<<go >"$BATS_TEST_TMPDIR/touch"
		posted "any(.status == 200 and .name == \"memwhy.faults{hostname=$host,zone=b}\")"'
	posted '.[0].status == 500 and .[1].status == 400 and .[0].from == .[1].from and .[1].name == .[0].name and all(.path == "/base/ingest"
		and .format == "pprof" and .secret == "Bearer 5ecret" and .until >= .from)'
	wait_for '[ "$(pushes sent)" -ge 1 ]'
	[ "$(pushes refused)" -eq 1 ]
	[ "$(pushes dropped)" -eq 0 ]
	wait_for 'grep -q "\"push_works\"" "$BATS_TEST_TMPDIR/lines"'
	command -v go >/dev/null || skip "no go"
	for n in $(jq -r 'select(.name | test("faults")) | .n' "$BATS_TEST_TMPDIR/posted"); do
		go tool pprof -raw "$BATS_TEST_TMPDIR/$n.pb.gz" >>"$BATS_TEST_TMPDIR/raw"
	done
	grep -q 'faults/count' "$BATS_TEST_TMPDIR/raw"
	grep -q 'one page fault in 251' "$BATS_TEST_TMPDIR/raw"
	grep -q ' touch_pages \| main ' "$BATS_TEST_TMPDIR/raw" # the workload's function
	kill "$engine"
	service_stop
}

# Descriptors but those of files that were mapped, of which at most 256 are kept for names.
own_descriptors() { # PID
	find "/proc/$1/fd" -lname '/*' -prune -o -type l -printf '%l\n' | wc -l
}

@test "serve: hundreds of groups that come and go: series stay under the cap, and nothing is left of them" {
	root=/sys/fs/cgroup
	[ ! -d "$root/memory" ] || root=$root/memory
	mkdir "$root/$name" || skip "no cgroups"
	service_start "$BATS_TEST_TMPDIR" -i 2s --max-series 800 --no-incidents --listen "unix:$BATS_TEST_TMPDIR/s"
	series() { get /metrics --unix-socket "$BATS_TEST_TMPDIR/s" | tee "$BATS_TEST_TMPDIR/m" | grep -vc '^#'; }
	series >/dev/null
	before=$(own_descriptors "$service")
	for round in 1 2; do
		for i in $(seq 60); do
			mkdir "$root/$name/$i"
			(echo "$BASHPID" >"$root/$name/$i/cgroup.procs" && exec true)
		done
		sleep 2.5
		n=$(series)
		echo "round $round: $n series, $(awk '/^memwhy_cgroup(s_with|_cut)/' "$BATS_TEST_TMPDIR/m" | tr '\n' ' ')"
		[ "$n" -le 800 ]
		for i in $(seq 60); do rmdir "$root/$name/$i"; done
	done
	# They were too many for the room there is, and what was cut is in `other`.
	[ "$(awk '$1 == "memwhy_cgroup_cut_total" { print $2 }' "$BATS_TEST_TMPDIR/m")" -gt 0 ]
	grep -q 'cgroup="other"' "$BATS_TEST_TMPDIR/m"
	rmdir "$root/$name"
	wait_for '! series >/dev/null || ! grep -q "/$name/" "$BATS_TEST_TMPDIR/m"'
	echo "descriptors: $before before, $(own_descriptors "$service") after"
	wait_for '[ "$(own_descriptors "$service")" -le $((before + 4)) ]' # some are open for moments only
	service_stop
}

# bats test_tags=host
@test "serve: refuses what it cannot do, and says why" {
	for words in "--listen nowhere" "--listen 127.0.0.1:0" "--listen unix:relative" "--listen 127.0.0.1:29669" \
		"--config /nonexistent" "--on nothing" "--on-pressure 200" "--auth /nonexistent --listen unix:$BATS_TEST_TMPDIR/x"; do
		status=0
		timeout 10 "$MEMWHY" serve --incidents "$BATS_TEST_TMPDIR/i" $words >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
		echo "$words: $status $(<"$BATS_TEST_TMPDIR/err")"
		[ "$status" -ne 0 ]
		[ "$status" -ne 124 ]
		grep -q '^memwhy: ' "$BATS_TEST_TMPDIR/err"
	done
	echo 'a:b' >"$BATS_TEST_TMPDIR/users"
	chmod 644 "$BATS_TEST_TMPDIR/users"
	status=0
	"$MEMWHY" serve --no-incidents --listen "unix:$BATS_TEST_TMPDIR/x" --auth "$BATS_TEST_TMPDIR/users" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	[ "$status" -ne 0 ]
	grep -q 'others may read' "$BATS_TEST_TMPDIR/err"
}
