#!/usr/bin/env bats
# The black box of `memwhy serve`: what makes it write, what is in what it wrote, and what a full disk
# and a sudden end do to it.
# bats file_tags=host
load incidents

# A kill in a group of 32 MiB.
kill_one() {
	tools/with-cgroup "$name" 33554432 sh -c 'd=$(cat "$MEMWHY_CGROUP_FILE")
		echo 0 >"$d/memory.swap.max" || echo 0 >"$d/memory.swappiness"
		exec "$@"' sh "$WORKLOADS/oom_grow" -s 8 -r 50 >"$BATS_TEST_TMPDIR/grow" 2>/dev/null || status=$?
	[ "$status" -ne 3 ] || skip "no memory controller"
}

@test "incidents: an OOM kill is recorded with what led to it, for any command" {
	status=0
	service_start -i 3s
	kill_one
	wait_for '[ "$(file "/$name")" != null ]'
	service_stop
	grown=$(awk '/ready/ { print $2; exit }' "$BATS_TEST_TMPDIR/grow")
	jq -es "any(.event == \"incident\" and .kind == \"oom-kill\" and (.reasons[] | test(\"oom_grow \\\\($grown\\\\) of /$name\")))" "$lines"
	"$MEMWHY" oom --input "$(file "/$name")" -o json >"$BATS_TEST_TMPDIR/oom"
	jq -e ".rows[] | select(.table == \"kills\" and .pid == $grown and .cgroup == \"/$name\" and .rss_bytes > 20e6)" "$BATS_TEST_TMPDIR/oom"
	jq -e '.damage == null and .interval.seconds > 0.2' "$BATS_TEST_TMPDIR/oom"
	number=$("$MEMWHY" incidents --incidents "$dir" -o json | jq ".rows[] | select(.file == \"$(file "/$name")\") | .number")
	"$MEMWHY" incidents show "$number" --incidents "$dir" >"$BATS_TEST_TMPDIR/shown"
	grep -q "CRITICAL.*$name.*OOM killer" "$BATS_TEST_TMPDIR/shown"
	grep -q "serve: the OOM killer killed oom_grow" "$BATS_TEST_TMPDIR/shown"
	grep -q "CRITICAL.*$name" "$dir"/*.txt
	[ "$(stat -c %a "$dir")" = 700 ]
	[ "$(stat -c %a "$(file "/$name")")" = 600 ]
}

@test "incidents: what the ring has dropped is known all the same: states, names, sums since then" {
	service_start -i 1s --keep 6s --on never
	"$WORKLOADS/touch" 8 < <(sleep 12; echo go; sleep 60) >"$BATS_TEST_TMPDIR/out" 3>&- &
	wait_for 'grep -q ready "$BATS_TEST_TMPDIR/out"'
	wait_for '[ "$(wc -l <"$BATS_TEST_TMPDIR/out")" -ge 2 ]'
	sleep 1.2
	minor=$(tail -n1 "$BATS_TEST_TMPDIR/out" | cut -d' ' -f1)
	ask
	wait_for '[ "$(asked incident)" -eq 1 ]'
	service_stop
	# The ring reaches back 6 s and the rest of a chunk, not to the start.
	"$MEMWHY" faults --input "$(file asked)" -o json >"$BATS_TEST_TMPDIR/f"
	jq -c '.interval, .lost, .events' "$BATS_TEST_TMPDIR/f"
	jq -e '.damage == null and .interval.seconds < 29 and .interval.seconds > 1' "$BATS_TEST_TMPDIR/f"
	[ "$(jq '[.rows[] | select(.comm == "touch" and .count != null) | .count] | add' "$BATS_TEST_TMPDIR/f")" -eq "$minor" ]
	# All processes and frames that rows name have names.
	jq -e '[.rows[] | select(.table == "process") | select(.comm == "?" or .comm == "")] | length == 0' "$BATS_TEST_TMPDIR/f"
	# So has code: naming rests after the first interval, but what is written has all names.
	"$MEMWHY" faults --input "$(file asked)" --stacks -o folded | grep -q '^touch;.*touch_pages'
	# Counters of the kernel that did not change meanwhile, settings, memory in all.
	"$MEMWHY" thp --input "$(file asked)" -o json | jq -e '[.rows[] | select(.table == "settings")] | length > 3'
	"$MEMWHY" check --input "$(file asked)" -o json | jq -e '.schema == "memwhy/1"'
	jq -e '(.events | add) >= '"$minor" "$BATS_TEST_TMPDIR/f"
}

@test "incidents: where none was recorded the list says where it looked" {
	"$MEMWHY" incidents --incidents "$dir/none" >"$BATS_TEST_TMPDIR/list"
	grep -q "There are no incidents in $dir/none" "$BATS_TEST_TMPDIR/list"
}

@test "incidents: a group at its limit is a reason where that is asked for; what is not asked for is none" {
	service_start -i 1s --on never --on-limit --on-pressure 100 --on-stall 1h
	tools/with-cgroup "$name" 33554432 sh -c 'sleep 2; "$@"; sleep 3' sh dd if=/dev/zero of="$BATS_TEST_TMPDIR/big" bs=1M count=100 status=none || status=$?
	[ "${status:-0}" -ne 3 ] || skip "no memory controller"
	wait_for '[ "$(file "/$name was at its memory limit")" != null ]'
	service_stop
	! jq -es 'any(.kind == "pressure" or .kind == "stall")' "$lines" || false
}

@test "incidents: a disk that becomes full while one is written: what was there stays, nothing half is left" {
	mkdir "$dir"
	mount -t tmpfs -o size=200k tmpfs "$dir"
	mounted=$dir
	service_start -i 1s --on never --min-free 1
	"$MEMWHY" serve --help >/dev/null # some faults
	cp /etc/passwd "$dir/other"
	ask
	wait_for '[ "$(asked incident_lost)" -ge 1 ]'
	cat "$lines"
	cmp /etc/passwd "$dir/other"
	[ "$("$MEMWHY" incidents --incidents "$dir" -o json | jq '.rows | length')" -eq 0 ]
	[ $(($(metric 'memwhy_incidents_total{result="failed"}') + $(metric 'memwhy_incidents_total{result="skipped"}'))) -ge 1 ]
	service_stop
}

# kills FILE: process ids of the killed that a recording tells of, with who they were and how large.
kills() {
	"$MEMWHY" oom list --input "$1" -o json | jq -r '.rows[] | select(.table == "kills" and .comm == "oom_grow" and .rss_bytes > 1e6) | .pid'
}

@test "incidents: a hundred kills in a group: each is in a recording, complete, with who grew" {
	service_start -i 5s --on never --on-stall 1h --on-pressure 100
	tools/with-cgroup "$name" 33554432 sh -c 'd=$(cat "$MEMWHY_CGROUP_FILE")
		echo 0 >"$d/memory.swap.max" || echo 0 >"$d/memory.swappiness"
		echo $$ >"${d%/*}/cgroup.procs" # else it may be the one that is killed
		for i in $(seq 100); do sh -c "echo \$\$ >\"\$0/cgroup.procs\" && exec \"\$@\"" "$d" "$@"; done
		exit 0' sh "$WORKLOADS/oom_grow" -s 8 -r 200 >"$BATS_TEST_TMPDIR/grow" 2>/dev/null || status=$?
	[ "${status:-0}" -ne 3 ] || skip "no memory controller"
	awk '/ready/ { print $2 }' "$BATS_TEST_TMPDIR/grow" | sort >"$BATS_TEST_TMPDIR/killed"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/killed")" -eq 100 ]
	kill "$service" # what fired as it ends is written too
	wait "$service"
	for f in "$dir"/*.mw; do
		[ "$("$MEMWHY" check --input "$f" -o json | jq .damage)" = null ]
		kills "$f"
	done | sort -u >"$BATS_TEST_TMPDIR/recorded"
	run comm -23 "$BATS_TEST_TMPDIR/killed" "$BATS_TEST_TMPDIR/recorded"
	echo "killed, and in no recording: $output"
	[ -z "$output" ]
	# Who grew before the last: the one that was killed.
	last=$(ls "$dir"/*.mw | tail -n1)
	"$MEMWHY" oom show 1 --input "$last" >"$BATS_TEST_TMPDIR/story"
	cat "$BATS_TEST_TMPDIR/story"
	grep -q "oom_grow" "$BATS_TEST_TMPDIR/story"
	grep -q "$name" "$BATS_TEST_TMPDIR/story"
}

# In a thread of that name, as systemd-oomd kills all of a group.
# USER NAME SIGNAL PID...
as_daemon=(python3 -c 'import ctypes, os, sys
os.setuid(int(sys.argv[1]))
ctypes.CDLL(None).prctl(15, sys.argv[2].encode(), 0, 0, 0)
for pid in sys.argv[4:]:
    try: os.kill(int(pid), int(sys.argv[3]))
    except ProcessLookupError: pass')

@test "incidents: kills by systemd-oomd and earlyoom are told apart from those of the kernel, and of others" {
	service_start -i 1s --on critical --on-stall 1h --on-pressure 100
	for i in 1 2 3 4; do
		sleep 100 3>&- &
		victim[i]=$!
	done
	sleep 1
	kill -KILL "${victim[1]}" # by a shell: nobody's business
	# Who takes such a name, without the right to end whatever runs here, or with a namespace's own.
	for rights in "setpriv --reuid=65534 --clear-groups" "unshare --user --map-root-user"; do
		$rights sleep 100 3>&- &
		pretend=$!
		wait_for '[ "$(cat "/proc/$pretend/comm")" = sleep ]'
		if [ "${rights%% *}" = setpriv ]; then
			"${as_daemon[@]}" 65534 systemd-oomd 9 "$pretend"
		else
			nsenter --user --preserve-credentials -t "$pretend" "${as_daemon[@]}" 0 systemd-oomd 9 "$pretend"
		fi
		status=0
		wait "$pretend" || status=$?
		[ "$status" -eq 137 ]
	done
	"${as_daemon[@]}" 0 systemd-oomd 9 "${victim[2]}" "${victim[3]}"
	wait_for '[ "$(file "systemd-oomd killed sleep .${victim[2]}")" != null ]'
	"${as_daemon[@]}" 0 earlyoom 15 "${victim[4]}"
	wait_for 'jq -es "any(.event == \"daemon_kill\" and .by == \"earlyoom\" and .signal == 15 and .pid == ${victim[4]})" "$lines"'
	wait_for '[ "$(metric memwhy_daemon_kills_seen_total)" -eq 2 ]' # two of a group at once are one
	service_stop
	jq -es "[.[] | select(.event == \"daemon_kill\") | .pid] | sort == ([${victim[2]}, ${victim[3]}, ${victim[4]}] | sort)" "$lines"
	jq -es "all(.event != \"oom_kill\" or .comm != \"sleep\")" "$lines"
	jq -es 'any(.event == "incident" and .kind == "daemon-kill")' "$lines"
	"$MEMWHY" check --input "$(file "systemd-oomd killed")" -o json >"$BATS_TEST_TMPDIR/json"
	jq -e ".findings[] | select(.rule == \"daemon-kill\" and .level == \"critical\" and (.title | test(\"systemd-oomd killed sleep .* .pid (${victim[2]}|${victim[3]}). and 1 more|systemd-oomd killed sleep .pid (${victim[2]}|${victim[3]}). and 1 more\")))" "$BATS_TEST_TMPDIR/json"
	"$MEMWHY" oom list --input "$(file "systemd-oomd killed")" -o json | jq -e "all(.rows[]; .pid != ${victim[2]})"
}

# Three processes in a group of cgroup v2: $group, ${victim[@]}.
group_fill() {
	local root=/sys/fs/cgroup
	[ -e $root/cgroup.procs ] || root=/sys/fs/cgroup/unified
	[ -e $root/cgroup.procs ] || skip "no cgroup v2"
	group=$root/$name
	mkdir "$group"
	[ -e "$group/cgroup.kill" ] || { rmdir "$group" && skip "no cgroup.kill"; }
	for i in 1 2 3; do
		sleep 100 3>&- &
		victim[i]=$!
		echo "${victim[i]}" >"$group/cgroup.procs"
	done
}

@test "incidents: what systemd-oomd does to a group is one kill, by cgroup.kill or by signals sent twice" {
	service_start -i 1s --on never --on-stall 1h --on-pressure 100
	group_fill
	python3 -c 'import ctypes, sys
ctypes.CDLL(None).prctl(15, b"systemd-oomd", 0, 0, 0)
open(sys.argv[1], "w").write("1")' "$group/cgroup.kill"
	wait "${victim[@]}" || true
	wait_for '[ "$(metric memwhy_daemon_kills_seen_total)" -ge 1 ]'
	for i in 1 2 3; do # the same group, at once again, each twice
		sleep 100 3>&- &
		victim[i]=$!
		echo "${victim[i]}" >"$group/cgroup.procs"
	done
	sleep 0.5
	"${as_daemon[@]}" 0 systemd-oomd 9 "${victim[@]}" "${victim[@]}"
	wait "${victim[@]}" || true
	wait_for 'jq -es "[.[] | select(.event == \"daemon_kill\")] | length >= 6" "$lines"'
	wait_for 'jq -es "any(.event == \"incident\" and .kind == \"daemon-kill\")" "$lines"'
	sleep 2.5
	[ "$(metric memwhy_daemon_kills_seen_total)" -eq 1 ]
	service_stop
	rmdir "$group"
	jq -es '[.[] | select(.event == "daemon_kill")] | length == 6' "$lines"
	jq -es '[.[] | select(.event == "incident")] | length == 1 and (.[0].reasons | length == 1)' "$lines"
}

@test "incidents: a stall, pressure and a finding of a level each make one; a page for browsers, text for others" {
	[ -r /proc/pressure/memory ] || skip "no PSI"
	service_start -i 2s --keep 1m --on note --on-stall 1ms --on-pressure 0.01
	# All the time: what is lost in a part of an interval, or in parts of two, may be too little for a finding.
	tools/with-cgroup "$name" 33554432 sh -c 'while :; do
		dd if=/dev/zero of="$1" bs=1M count=100 status=none
	done' sh "$BATS_TEST_TMPDIR/big" 3>&- &
	writer=$!
	wait_for '[ -e "$MEMWHY_CGROUP_FILE" ] || ! kill -0 "$writer" 2>/dev/null'
	[ -e "$MEMWHY_CGROUP_FILE" ] || skip "no memory controller"
	wait_for '[ "$(file "waited .* for memory$")" != null ]'
	wait_for '[ "$(file "tasks waited for memory .* of the last 10 s")" != null ]'
	wait_for '[ "$(file "^(note|risk|warning|critical): ")" != null ]'
	kill "$writer"
	wait "$writer" || true
	number=$("$MEMWHY" incidents --incidents "$dir" -o json | jq '.rows[-1].number')
	curl -sS --unix-socket "$BATS_TEST_TMPDIR/s" "http://localhost/incidents/$number" -H 'Accept: text/html' -D "$BATS_TEST_TMPDIR/head" >"$BATS_TEST_TMPDIR/page"
	grep -qi '^content-type: text/html' "$BATS_TEST_TMPDIR/head"
	grep -q '<section class="report" data-command="check"' "$BATS_TEST_TMPDIR/page"
	grep -q '^</html>' "$BATS_TEST_TMPDIR/page"
	curl -sS --unix-socket "$BATS_TEST_TMPDIR/s" "http://localhost/incidents/$number" -D "$BATS_TEST_TMPDIR/head" >"$BATS_TEST_TMPDIR/text"
	grep -qi '^content-type: text/plain' "$BATS_TEST_TMPDIR/head"
	grep -q '^memwhy check' "$BATS_TEST_TMPDIR/text"
	# The list: links for a browser, lines for others.
	curl -sS --unix-socket "$BATS_TEST_TMPDIR/s" http://localhost/incidents -H 'Accept: text/html' | grep -q "<a href=\"/incidents/$number\">"
	curl -sS --unix-socket "$BATS_TEST_TMPDIR/s" http://localhost/incidents | grep -q "^/incidents/$number  20"
	service_stop
}

@test "incidents: the command refuses what is none" {
	for words in "show" "show x" "show 99" "list 1" "nothing"; do
		status=0
		"$MEMWHY" incidents $words --incidents "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
		echo "$words: $status $(<"$BATS_TEST_TMPDIR/err")"
		[ "$status" -eq 2 ]
		grep -q '^memwhy: ' "$BATS_TEST_TMPDIR/err"
	done
	[ "$("$MEMWHY" incidents --incidents /nonexistent -o json | jq -c .rows)" = "[]" ]
}
