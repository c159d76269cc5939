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
		wait_for 'grep -q "^NoNewPrivs:.*1" /proc/$memwhy/status'
		sanitized || wait_for 'grep -q "^Seccomp:.*2" /proc/$memwhy/status'
		try shut_in "$memwhy"
		cat "$run_mw" >&8
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

