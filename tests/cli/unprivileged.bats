#!/usr/bin/env bats
# Without root: what still works, and what is said about the rest.
# bats file_tags=beside
load common

setup() {
	needs_root # to become nobody
	cd "$BATS_TEST_TMPDIR"
	# A place that nobody may enter and write to, and a binary there.
	place=$(mktemp -d /tmp/memwhy-cli.XXXXXX)
	chmod 777 "$place"
	cp "$MEMWHY" "$place/memwhy"
	chmod 755 "$place/memwhy"
	cd "$place"
}

teardown() {
	rm -rf "$place" ${home:+"$home"}
}

nobody() {
	local words=$(live "$1")
	[[ " $* " != *" --input "* ]] || words=${words% -g /} # it would be a part of the recording
	run --separate-stderr as_nobody timeout -k 1 10 "$place/memwhy" $words "${@:2}" </dev/null
}

# nobody_error STATUS ARGS...
nobody_error() {
	local want=$1
	shift
	nobody "$@"
	[ "$status" -eq "$want" ] && [ -z "$output" ] && one_error || refuse "as nobody: memwhy $*: expected $want"
}

@test "unprivileged: help, man pages, completion, version" {
	for words in help "help man" "help man faults" "help completion" "faults --help" --version; do
		nobody $words
		[ "$status" -eq 0 ] && [ -z "$stderr" ] && [ "$output" = "$("$MEMWHY" $words)" ] || try refuse "$words"
	done
	tried
}

@test "unprivileged: doctor works, and says of the same data what root would add" {
	"$MEMWHY" doctor -o json >root.json
	nobody doctor -o json
	[ "$status" -eq 0 ] && [ -z "$stderr" ] || refuse "doctor"
	echo "$output" >nobody.json
	root_data=$(jq -r '.rows[] | .probe + ": " + .data' root.json | sort)
	nobody_data=$(jq -r '.rows[] | .probe + ": " + .data' nobody.json | sort)
	missing=$(comm -23 <(echo "$root_data") <(echo "$nobody_data"))
	[ -z "$missing" ] || try refuse "not a word about: $missing"
	[ "$(jq '[.rows[] | select(.status == "missing")] | length' nobody.json)" -gt 0 ]
	# Each missing one says what would provide it.
	jq -e 'all(.rows[] | select(.status == "missing"); .missing | test("root|CAP_|capab|sudo|CONFIG|mount"))' nobody.json ||
		try refuse "what would provide: $(jq -c '[.rows[] | .missing]' nobody.json)"
	nobody doctor
	[[ $output == *root* ]] || try refuse "doctor in text"
	# "faults: faults: ..." says it twice.
	! grep -qE '\b([a-z]+): \1: ' nobody.json || try refuse "doubled: $(jq -c '[.rows[] | .missing]' nobody.json)"
	tried
}

@test "unprivileged: doctor is short: root is one line, with sudo and setcap, and no word is cut" {
	nobody doctor
	[ "$status" -eq 0 ] && [ "$(wc -l <<<"$output")" -le 50 ] || refuse "not short"
	[ "$(grep -c 'root (sudo memwhy' <<<"$output")" -eq 1 ] || try refuse "root is not one line"
	# What is missing in part is not there as a whole.
	grep -qE '^processes +in part ' <<<"$output" || try refuse "processes: not in part"
	[[ $output == *"sudo memwhy doctor"* && $output == *"sudo setcap cap_bpf,"*"$place/memwhy"* ]] || try refuse "remedies"
	# What is cut in JSON would be cut everywhere: an errno's text stands whole.
	"$MEMWHY" doctor -o json >root.json
	nobody doctor -o json
	echo "$output" >nobody.json
	for f in root.json nobody.json; do
		cut=$(jq -r '.rows[].missing // empty' "$f" | grep -E 'No such file or [a-z]*(;|$)' |
			grep -cvE 'No such file or directory(;|$| )' || true)
		[ "$cut" -eq 0 ] || try refuse "cut: $f"
	done
	tried
}

@test "unprivileged: what all probes lack for the same reason is said once" {
	nobody check --for 50ms
	[ "$(grep -c 'not permitted to load BPF' <<<"$output")" -le 2 ] || refuse "said again and again"
}

@test "unprivileged: a file with capabilities sees what root sees, but for CAP_SYS_ADMIN" {
	command -v setcap >/dev/null || skip "needs setcap"
	nobody doctor
	caps=$(grep -oE 'cap_bpf,[a-z_,]+\+ep' <<<"$output")
	setcap "$caps" "$place/memwhy" 2>/dev/null || skip "this file system keeps no capabilities"
	setpriv --reuid=65534 --clear-groups "$place/memwhy" --version >/dev/null ||
		skip "the bounding set lacks one of $caps"
	for c in faults stalls slab pages swap maps syscalls; do
		run --separate-stderr setpriv --reuid=65534 --clear-groups "$place/memwhy" "$c" --for 50ms -o json </dev/null
		[ "$status" -eq 0 ] && jq -e '[.not_checked[]?, .notes[]?] | all(test("permitted") | not)' <<<"$output" >/dev/null ||
			try refuse "$c with $caps"
	done
	# The command has none of them, and can open the preload library all the same.
	home=$(mktemp -d /var/lib/memwhy-cli.XXXXXX) # below directories that only root may write to
	chown 65534:65534 "$home"
	HOME=$home run --separate-stderr setpriv --reuid=65534 --regid=65534 --clear-groups "$place/memwhy" heap -o json --out "$home/report" -- ls /
	[ "$status" -eq 0 ] && jq -e '.rows | length > 0' "$home/report" >/dev/null || try refuse "heap -- CMD"
	tried
}

@test "unprivileged: doctor names the same things whichever capability is missing" {
	for caps in -bpf -perfmon,-sys_admin -bpf,-sys_admin -all; do
		run --separate-stderr setpriv --bounding-set="$caps" --inh-caps="$caps" "$MEMWHY" doctor -o json
		[ "$status" -eq 0 ] && jq -e '.rows | length >= 3' <<<"$output" >/dev/null || try refuse "without $caps"
	done
	tried
}

@test "unprivileged: commands that need privilege say so in one line, with what would do" {
	for c in $(commands_alone); do
		for words in "--for 50ms" "--for 50ms --stacks" "-i 50ms --for 200ms"; do
			nobody "$c" $words
			# Anybody may read where memory is, and what a group has; what is closed is named.
			[[ $c =~ ^(where|limit)$ && $status -eq 0 && -z $stderr && $output == *"NOT CHECKED"*permitted* ]] && continue
			[[ $status -eq 3 && -z $output && $stderr == *permitted*$'\n'*root* ]] && one_error ||
				[[ $status -eq 3 && -z $stderr && $output == *INCOMPLETE*"NOT CHECKED"*permitted* ]] || try refuse "$c $words"
		done
	done
	nobody faults --for 50ms
	[ "$status" -eq 3 ]
	[[ $stderr == *CAP_BPF* ]]
	tried
}

@test "unprivileged: what was not looked at is never told as a no, quiet or not" {
	for words in check "check -q" "check --fail-on warning -q" "check --fail-on critical -o json" "oom -q" "swap -q" "oom -o json"; do
		nobody $words --for 50ms
		[ "$status" -eq 3 ] && [ -z "$stderr" ] && [[ $output == *INCOMPLETE* ]] || try refuse "$words"
		[[ $output != *"Nothing is wrong"* && $output != *"No OOM kill"* && $output != *"No swap-ins"* ]] || try refuse "a no: $words"
	done
	# Nor by root where other users' processes are closed to it.
	for words in check "check -q --fail-on critical"; do
		run --separate-stderr setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace "$MEMWHY" $words --for 50ms
		[[ $status -eq 3 && $output == *INCOMPLETE* ]] || try refuse "$words without CAP_SYS_PTRACE"
	done
	# What is found in the rest stands: /proc/vmstat is open to all.
	nobody check --for 50ms -o json
	if jq -e '.findings | length > 0' <<<"$output" >/dev/null; then
		nobody check --for 50ms -q --fail-on note
		[ "$status" -eq 1 ] || try refuse "check --fail-on note with a finding"
	fi
	tried
}

@test "unprivileged: the command is not run where it cannot be observed" {
	nobody_error 3 faults -- touch "$place/ran"
	[ ! -e ran ] || try refuse "faults ran it"
	nobody_error 3 record run.mw -- touch "$place/ran"
	[ ! -e ran ] || try refuse "record ran it"
	tried
}

@test "unprivileged: record fails, and leaves no file that looks like a recording of a quiet machine" {
	nobody_error 3 record run.mw --for 50ms
	[ ! -e run.mw ] || try refuse "there is a file"
	nobody_error 3 faults --record run.mw --for 50ms
	[ ! -e run.mw ] || try refuse "faults --record: there is a file"
	tried
}

@test "unprivileged: a recording shows what the live run showed, in every format" {
	for c in $(commands_with input output); do
		for f in text json; do
			"$MEMWHY" $(live "$c") --record run.mw -o $f -- sh -c 'ls / >/dev/null' >live 2>err
			chmod 644 run.mw
			nobody "$c" --input run.mw -o $f
			[ "$status" -eq 0 ] && [ -z "$stderr" ] && [ "$output" = "$(<live)" ] ||
				try refuse "$c -o $f: $(diff live - <<<"$output" | head -4)"
		done
	done
	tried
}

@test "unprivileged: a recording of someone else is refused, by its mode" {
	"$MEMWHY" record run.mw -- true 2>/dev/null
	nobody_error 3 faults --input run.mw
	[[ $stderr == *"Permission denied"* ]]
	nobody faults --for 50ms --record run.mw
	[[ $status -eq 2 || $status -eq 3 ]] && one_error || refuse "--record over a file of root's"
	"$MEMWHY" faults --input run.mw >/dev/null
}

@test "unprivileged: places that may not be written" {
	for words in "faults --out /root/x" "faults --record /root/x" "record /root/x" "doctor --out /etc/x"; do
		nobody $words
		[[ $status -eq 2 || $status -eq 3 ]] && one_error && [[ $stderr == *"Permission denied"* ]] || try refuse "$words"
	done
	tried
}

@test "unprivileged: someone else's process is refused, with what would do" {
	for words in "heap -p $$ --for 1s" "policy show -p $$"; do
		nobody_error 3 $words
		[[ $stderr == *"Permission denied"*CAP_SYS_PTRACE* ]] || try refuse "$words"
	done
	# leak of a process, too (live is of the kernel)
	run --separate-stderr as_nobody "$place/memwhy" leak -p $$ --for 1s
	[[ $status -eq 3 && -z $output && $stderr == *"Permission denied"*CAP_SYS_PTRACE* ]] || try refuse leak
	tried
}
