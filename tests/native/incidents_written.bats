#!/usr/bin/env bats
# How `memwhy serve` writes what it was asked for: rotation, the process that writes, and a sudden end of
# it or of the service. They look only at a service of their own.
# bats file_tags=host,beside
load incidents

@test "incidents: rotation by number; a disk that would be filled keeps the old ones, and it is counted" {
	mkdir "$dir"
	mount -t tmpfs -o size=6m tmpfs "$dir"
	mounted=$dir
	service_start -i 1s --on never --max-incidents 2 --min-free 1M
	for n in 1 2 3; do
		ask
		wait_for '[ "$(asked incident)" -ge $n ]'
	done
	kept=$("$MEMWHY" incidents --incidents "$dir" -o json | jq -c '[.rows[].number]')
	jq -e 'length == 2 and .[0] >= 3' <<<"$kept"
	[ "$(metric 'memwhy_incidents_total{result="written"}')" -ge 3 ]
	[ "$(metric memwhy_incidents_kept)" -eq 2 ]
	dd if=/dev/zero of="$dir/full" bs=64k status=none 2>/dev/null || true
	ask
	wait_for '[ "$(asked incident_lost)" -ge 1 ]'
	[ "$("$MEMWHY" incidents --incidents "$dir" -o json | jq -c '[.rows[].number]')" = "$kept" ]
	[ "$(metric 'memwhy_incidents_total{result="skipped"}')" -ge 1 ]
	service_stop
}

# The process that writes incidents.
writer() {
	local p
	for p in $(pgrep -P "$service"); do
		[ "$(cat "/proc/$p/comm")" != memwhy-writer ] || echo "$p"
	done
}

# Makes the writer slow, and has it write: it is in the middle of a recording, whose file is $f.
write_slowly() {
	sleep 3 # there is something to write
	slowed=$(writer)
	strace -qq -p "$slowed" -e trace=pwrite64 -e inject=pwrite64:delay_exit=2000000 -o "$BATS_TEST_TMPDIR/strace" 3>&- &
	slow=$!
	wait_for 'grep -q "^TracerPid:[[:space:]]*[1-9]" "/proc/$slowed/status"'
	ask
	wait_for '[ "$(stat -c %s "$dir"/*.mw 2>/dev/null || echo 0)" -gt 60000 ]'
	f=$(ls "$dir"/*.mw)
}

@test "incidents: SIGKILL of who writes one: it opens up to its last whole block, and the service goes on" {
	service_start -i 1s --on never --on-stall 1h --on-pressure 100
	write_slowly
	before=$(metric memwhy_last_record_seconds)
	wait_for '[ "$(metric memwhy_last_record_seconds)" != "$before" ]' # it counts meanwhile
	kill -0 "$slowed"
	kill -KILL "$slowed"
	wait "$slow" || true
	wait_for '[ "$(asked incident_lost)" -eq 1 ]'
	jq -es 'any(.event == "incident_lost" and (.error | test("ended")))' "$lines"
	wait_for 'jq -es "any(.event == \"writer_ended\")" "$lines"'
	[ "$(metric 'memwhy_incidents_total{result="failed"}')" -eq 1 ]
	status=0
	"$MEMWHY" check --input "$f" -o json >"$BATS_TEST_TMPDIR/json" 2>"$BATS_TEST_TMPDIR/err" || status=$?
	cat "$BATS_TEST_TMPDIR/err"
	[ "$status" -eq 4 ]
	jq -e '.schema == "memwhy/1" and .damage != null' "$BATS_TEST_TMPDIR/json"
	# The next one is written without it.
	ask
	wait_for '[ "$(asked incident)" -eq 1 ]'
	[ "$("$MEMWHY" incidents --incidents "$dir" -o json | jq -c '[.rows[].number] | sort')" = "[1,2]" ]
	[ "$("$MEMWHY" check --input "$(file asked)" -o json | jq .damage)" = null ]
	service_stop
}

@test "incidents: SIGKILL of the service: what is being written is written to its end" {
	service_start -i 1s --on never --on-stall 1h --on-pressure 100
	write_slowly
	kill -KILL "$service"
	wait "$service" || true
	kill -0 "$slowed"
	kill "$slow" # as fast as it can
	wait "$slow" || true
	wait_for '! kill -0 "$slowed" 2>/dev/null'
	[ "$("$MEMWHY" check --input "$f" -o json | jq .damage)" = null ]
	[ -s "${f%.mw}.txt" ]
	[ -s "${f%.mw}.html" ]
	# The next service counts on from it, and shows it.
	service_start -i 1s --on never
	ask
	wait_for '[ "$(asked incident)" -eq 1 ]'
	[ "$("$MEMWHY" incidents --incidents "$dir" -o json | jq -c '[.rows[].number] | sort')" = "[1,2]" ]
	service_stop
}

@test "incidents: who writes them has no rights, and no more memory than a report takes" {
	service_start -i 1s --on never --on-stall 1h --on-pressure 100
	status=$(<"/proc/$(writer)/status")
	grep -qE '^CapPrm:[[:space:]]*0+$' <<<"$status"
	grep -qE '^NoNewPrivs:[[:space:]]*1$' <<<"$status"
	sanitized || grep -qE '^Seccomp:[[:space:]]*2$' <<<"$status"
	sanitized || grep -qE '^Max data size +134217728 ' "/proc/$(writer)/limits"
	# Under a quota for both, the service goes first.
	[ "$(ps -o ni= -p "$(writer)" | tr -d ' ')" = 19 ]
	# Signals to the whole group are for the service.
	kill -TERM "$(writer)"
	kill -USR1 "$(writer)"
	ask
	wait_for '[ "$(asked incident)" -eq 1 ]'
	gone=$(writer)
	service_stop
	! kill -0 "$gone" 2>/dev/null || false
}
