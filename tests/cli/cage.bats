#!/usr/bin/env bats
# bats file_tags=beside
# What memwhy can still do while it reads the files of others: asked of the kernel as it runs.
load common

setup_file() {
	[ "$(id -u)" -eq 0 ] || skip "needs root to make a recording"
	cd "$BATS_FILE_TMPDIR"
	"$MEMWHY" faults --stacks --record run.mw --out /dev/null -- sh -c 'ls / >/dev/null'
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	run_mw=$BATS_FILE_TMPDIR/run.mw
}

# shut_in PID: neither a capability nor a way to one, and a filter.
shut_in() {
	local status
	status=$(</proc/"$1"/status)
	for key in CapInh CapPrm CapEff CapBnd CapAmb; do
		grep -qE "^$key:[[:space:]]*0+$" <<<"$status" || refuse "$key: $status" || return
	done
	grep -qE '^NoNewPrivs:[[:space:]]*1$' <<<"$status" || refuse "$status" || return
	sanitized || grep -qE '^Seccomp:[[:space:]]*2$' <<<"$status" || refuse "$status"
}

@test "cage: --input and diff read without a capability, and with few system calls" {
	mkfifo pipe
	for words in "faults --input pipe" "check --input pipe" "diff --of faults $run_mw pipe"; do
		"$MEMWHY" $words >out 2>err </dev/null 3>&- &
		memwhy=$!
		exec 8>pipe
		head -c 100 "$run_mw" >&8 # a pipe is waited for until it has something
		wait_for 'grep -q "^NoNewPrivs:.*1" /proc/$memwhy/status'
		sanitized || wait_for 'grep -q "^Seccomp:.*2" /proc/$memwhy/status'
		try shut_in "$memwhy"
		tail -c +101 "$run_mw" >&8
		exec 8>&-
		wait "$memwhy"
		[ -s out ] || try refuse "$words: no report"
		[ ! -s err ] || try refuse "$words: $(<err)"
	done
	tried
}

@test "cage: a recording is opened while there is the right to" {
	cp "$run_mw" theirs.mw
	chown 65534 theirs.mw
	chmod 600 theirs.mw
	mw_ok faults --input theirs.mw --out report -o json
	jq -e '.rows | length > 0' report
	mw_ok diff --of faults theirs.mw "$run_mw"
}

# A number of a process's status, in hex.
of_status() { # TEXT KEY
	awk -v key="$2:" '$1 == key { print $2 }' <<<"$1"
}

@test "cage: while it looks memwhy keeps five capabilities at most, no way to more, and a filter; each thread" {
	# BPF, SYS_PTRACE, DAC_READ_SEARCH, SYSLOG, CHECKPOINT_RESTORE
	kept=$((1 << 39 | 1 << 19 | 1 << 2 | 1 << 34 | 1 << 40))
	"$MEMWHY" faults --stacks --for 60s >out 2>err </dev/null 3>&- &
	memwhy=$!
	wait_for memwhy_attached
	sanitized || wait_for 'grep -q "^Seccomp:.*2" /proc/$memwhy/status'
	seen=0
	for task in /proc/"$memwhy"/task/*; do
		text=$(cat "$task/status" 2>/dev/null) || continue # threads of a moment
		seen=$((seen + 1))
		for key in CapEff CapPrm; do
			[ $((16#$(of_status "$text" "$key") & ~kept)) -eq 0 ] || try refuse "$task: $key"
		done
		for key in CapInh CapBnd CapAmb; do
			[ $((16#$(of_status "$text" "$key"))) -eq 0 ] || try refuse "$task: $key"
		done
		[ "$(of_status "$text" NoNewPrivs)" = 1 ] || try refuse "$task: no_new_privs"
		sanitized || [ "$(of_status "$text" Seccomp)" = 2 ] || try refuse "$task: no filter"
	done
	[ "$seen" -gt 0 ]
	kill -INT "$memwhy"
	wait "$memwhy" || [ $? -eq 130 ]
	tried
}

@test "cage: files of programs are read by processes without rights; one that is killed costs one file" {
	local readers=() pid fd to files
	cp "$(type -P sleep)" never-seen
	"$MEMWHY" faults --stacks --for 60s -o json >out 2>err </dev/null 3>&- &
	memwhy=$!
	wait_for memwhy_attached
	for pid in $(<"/proc/$memwhy/task/$memwhy/children"); do
		[ "$(<"/proc/$pid/comm")" != memwhy-reader ] || readers+=("$pid")
	done
	[ ${#readers[@]} -eq 2 ]
	for pid in "${readers[@]}"; do
		try shut_in "$pid"
		files=0 # that it reads at the moment
		for fd in /proc/"$pid"/fd/*; do
			to=$(readlink "$fd") || continue
			[[ $to == socket:* || $to == /dev/null || $to == "/proc/$pid/statm" ]] ||
				files=$((files + 1))
		done
		[ "$files" -le 1 ] || try refuse "$pid has $files files open"
	done
	kill -KILL "${readers[0]}"
	./never-seen 1
	kill -INT "$memwhy"
	wait "$memwhy" || [ $? -eq 130 ]
	jq -e '[.notes[] | select(test("of 1 file was not read"))] | length == 1' out
	for pid in "${readers[@]}"; do
		[ ! -e "/proc/$pid" ] || try refuse "$pid is there yet"
	done
	tried
}

@test "cage: no name of a program's code is found but by these: without them the counts are as they were" {
	local find_them='for t in $(cat "/proc/$PPID/task/$PPID/children"); do
		read -r comm <"/proc/$t/comm" && [ "$comm" != memwhy-reader ] || echo "$t"; done'
	for words in "heap" "faults --stacks=user"; do
		"$MEMWHY" $words -o json --out whole -- sh -c "$find_them; exec true" >readers
		[ "$(wc -l <readers)" -eq 2 ] || try refuse "$words: $(<readers)"
		"$MEMWHY" $words -o json --out without -- sh -c "kill -KILL \$($find_them); exec true"
		# A frame with a name has its file in brackets behind it; the kernel's are memwhy's own.
		named='[.rows[].stack // [] | .[] | select(test("^[^/[].* \\("))] | length'
		[ "$(jq "$named" whole)" -gt 0 ] || try refuse "$words: no names: $(<whole)"
		[ "$(jq "$named" without)" -eq 0 ] || try refuse "$words: names: $(jq -c '.rows[].stack' without)"
		jq -e '[.notes[] | select(test("have no names: the process that read them died"))] | length == 1' \
			without || try refuse "$words: $(jq -c .notes without)"
		jq -e '.rows | length > 0' without || try refuse "$words: no rows"
	done
	tried
}

@test "cage: a command that memwhy runs is free of all this: programs that change user work" {
	cp "$(type -P id)" id
	chmod 4755 id
	chmod 755 .
	for words in faults heap "faults --stacks"; do
		"$MEMWHY" $words -q --out /dev/null -- setpriv --reuid=65534 --regid=65534 --clear-groups \
			sh -c './id -u; grep -E "^(NoNewPrivs|Seccomp|CapBnd):" /proc/self/status' >out 2>err
		[ "$(head -n1 out)" = 0 ] || try refuse "$words: the program has not changed user: $(<out)"
		[ "$(awk '/^(NoNewPrivs|Seccomp):/ { print $2 }' out | tr '\n' ' ')" = "0 0 " ] ||
			try refuse "$words: $(<out)"
		[ "$(of_status "$(<out)" CapBnd)" = "$(of_status "$(</proc/self/status)" CapBnd)" ] ||
			try refuse "$words: $(<out)"
	done
	tried
}
