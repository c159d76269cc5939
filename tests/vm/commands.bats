#!/usr/bin/env bats
# Each command runs on this kernel: it ends with status 0 and says nothing that it should not (no word
# of the verifier or of libbpf), its report is whole, and it lost nothing that it does not name. What the
# numbers are worth, the native tests say. Run by run-native in each guest of full.bats.
load ../native/common

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR" || return 1
	report=$BATS_TEST_TMPDIR/report.json
}

# A program that allocates, maps, faults, reads and forks.
work() {
	local deadline=$((SECONDS + ${1:-2}))
	while [ $SECONDS -lt $deadline ]; do
		dd if=/dev/zero of=file bs=1M count=4 status=none
		sort -R /etc/passwd >/dev/null
		rm -f file
	done
}

# What ends on its own is not told of what does not: stderr is quiet but for what may be said.
quiet() {
	cat err
	! grep -Ei 'verifier|libbpf|warning|BUG|please report|internal error|invalid' err || false
}

# whole COMMAND ARGS...: its JSON is in $report; the probes that it has delivered or name why not.
whole() {
	local status=0
	"$MEMWHY" "$1" -o json --out "$report" "${@:2}" >out 2>err || status=$?
	quiet
	echo "status $status of: $*"
	# Three commands need it, and say so.
	if [ "$status" -eq 3 ] && [ ! -s /sys/kernel/btf/vmlinux ] && grep -q 'no kernel BTF' err; then
		skip "needs kernel BTF"
	fi
	[ "$status" -eq 0 ]
	jq -c '{methods, missing, lost, notes, not_checked}' "$report"
	jq -e '.schema == "memwhy/1" and (.methods | length) > 0' "$report" >/dev/null
	adds_up "$report" >/dev/null
}

# live COMMAND ARGS...: beside work, for a second.
live() {
	local status=0
	work 600 &
	whole "$1" --for 1s "${@:2}" || status=$?
	kill $!
	return $status
}

@test "commands: doctor: every probe works at least in part, or says what would provide it" {
	"$MEMWHY" doctor >out 2>err
	quiet
	cat out
	"$MEMWHY" doctor -o json --out "$report"
	jq -e '[.rows[] | select(.works == "no" and (.why // "") == "")] == []' "$report"
}

@test "commands: check: all its probes at once" {
	live check
}

@test "commands: check: a call that fails is told with the limit that it met" {
	[ -e /sys/kernel/btf/vmlinux ] || skip "needs kernel BTF"
	mkfifo never
	(
		exec <>never
		ulimit -n 3
		while :; do
			read -rt 0.02 _ || true </dev/null || true
		done
	) 2>/dev/null 3>&- &
	whole check --for 5s
	kill $!
	jq -c '.findings[] | [.rule, .title]' "$report"
	jq -e '.methods.maps | test("raw tracepoint sys_exit, in bursts")' "$report"
	jq -e 'any(.findings[]; .rule == "limit-met" and (.title | test("RLIMIT_NOFILE is reached: 3 ")))' "$report"
}

@test "commands: where: its rows add up to MemTotal, and little of it has no name" {
	whole where
	jq -r '.rows[] | select(.table == "ledger") | [.row, .bytes, .method, .mostly] | @tsv' "$report"
	# Pages of the guest's page tables and the like: MemTotal of 1 GiB has one per cent soon.
	jq -e --argjson kib "$(awk '$1 == "MemTotal:" { print $2 }' /proc/meminfo)" '
		[.rows[] | select(.table == "ledger")] | ($kib * 1024) as $total |
		(map(.bytes) | add) == $total and
		(map(select(.row == "rest").bytes) | add) < $total / 100' "$report"
}

@test "commands: where: of a process, what is resident of it" {
	whole where -p $$
	jq -e '[.rows[].bytes | numbers] | add > 0' "$report"
}

@test "commands: where: of a group" {
	whole where -g /
}

@test "commands: where: what the pages themselves say is all memory, and near the ledger" {
	whole where --census
	jq -r '.rows[] | select(.table == "census") | [.kind, .bytes, .ledger_bytes] | @tsv' "$report"
	jq -e --argjson kib "$(awk '$1 == "MemTotal:" { print $2 }' /proc/meminfo)" '
		[.rows[] | select(.table == "census")] | (map(.bytes) | add) >= $kib * 1024 and
		(.[] | select(.kind == "files") | .bytes > .ledger_bytes / 2 and .bytes < .ledger_bytes * 2)' "$report"
}

@test "commands: limit: of a group that reads a file again and again" {
	v1=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/mounts)
	top=${v1:-$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)}
	[ -n "$v1" ] || echo +memory >"$top/cgroup.subtree_control"
	group=$top/memwhy-commands-$$
	mkdir "$group"
	(
		echo "$BASHPID" >"$group/cgroup.procs"
		head -c 8M /dev/zero >read
		while :; do
			cat read
		done
	) >/dev/null 2>&1 3>&- &
	worker=$!
	wait_for '[ "$(stat -c %s read)" -eq 8388608 ]'
	whole limit -g "/${group##*/}" --for 6s
	kill "$worker"
	wait "$worker" || true
	wait_for 'rmdir "$group"'
	jq -c '.rows[] | select(.table == "limit" or .table == "parts")' "$report"
	jq -e '.rows[] | select(.table == "limit") | .needed_bytes > 0 and .advised_bytes >= .needed_bytes' "$report"
}

@test "commands: top: a frame of each kind" {
	live top
	jq -r '[.rows[].table] | group_by(.) | map("\(.[0]) \(length)") | join(", ")' "$report"
	jq -e '[.rows[].table] | unique | length >= 3' "$report"
}

@test "commands: top: frames of a recording" {
	"$MEMWHY" top --record run.mw --for 2s -o json --out "$report" 2>err
	quiet
	"$MEMWHY" top --input run.mw -o json --out again.json 2>err
	quiet
	jq -e '.rows | length > 0' again.json
}

@test "commands: serve: is ready, is scraped, and ends" {
	"$MEMWHY" serve -i 2s --listen 127.0.0.1:29671 --incidents "$PWD/incidents" >lines 2>err 3>&- &
	service=$!
	wait_for 'grep -q "\"ready\"" lines || ! kill -0 $service 2>/dev/null'
	sleep 4
	curl -sS --max-time 60 http://127.0.0.1:29671/metrics >metrics
	kill "$service"
	wait "$service"
	cat lines
	quiet
	grep -c '^memwhy_' metrics
	[ "$(grep -c '^memwhy_' metrics)" -gt 100 ]
	"$MEMWHY" incidents --incidents "$PWD/incidents" list >out 2>err
	quiet
}

@test "commands: record, and what is made of a recording: report, export, diff, check" {
	"$MEMWHY" record one.mw -- "$MEMWHY" help >/dev/null 2>err
	quiet
	"$MEMWHY" record --stacks two.mw -- sh -c 'sort -R /etc/passwd >/dev/null' 2>err
	quiet
	"$MEMWHY" report two.mw --out two.html 2>err
	quiet
	"$MEMWHY" report one.mw two.mw --out change.html 2>err
	quiet
	"$MEMWHY" export --to sqlite --out two.db two.mw 2>err
	quiet
	"$MEMWHY" export --to pprof --of faults --out two.pb.gz two.mw 2>err
	quiet
	"$MEMWHY" check --input two.mw >out 2>err
	quiet
	"$MEMWHY" diff --of faults one.mw two.mw >out 2>err
	quiet
}

@test "commands: faults" {
	live faults --stacks
	jq -e '[.rows[].count | numbers] | add > 0' "$report"
}

@test "commands: faults: each" {
	live faults --each
}

@test "commands: maps" {
	live maps --stacks
}

@test "commands: syscalls" {
	live syscalls
	jq -e '[.rows[].count | numbers] | add > 0' "$report"
}

@test "commands: syscalls: the last calls" {
	live syscalls --flight
}

@test "commands: stalls" {
	live stalls --stacks
}

@test "commands: reclaim" {
	live reclaim --stacks
}

@test "commands: compaction" {
	work 600 &
	echo 1 >/proc/sys/vm/compact_memory &
	whole compaction --for 1s
	kill %1
}

@test "commands: swap" {
	live swap
}

@test "commands: thp" {
	live thp
}

@test "commands: frag" {
	live frag
}

@test "commands: slab" {
	live slab --stacks
	jq -e '[.rows[].count | numbers] | add > 0' "$report"
}

@test "commands: pages" {
	live pages --stacks
	jq -e '[.rows[].count | numbers] | add > 0' "$report"
}

@test "commands: count: a tracepoint, and one by its fields" {
	live count 'kmem:*'
	live count sched:sched_switch --by prev_comm
	jq -e '[.rows[].count | numbers] | add > 0' "$report"
}

@test "commands: numa" {
	live numa
}

@test "commands: policy" {
	live policy
	"$MEMWHY" policy show -p $$ >out 2>err
	quiet
}

@test "commands: oom" {
	live oom
}

@test "commands: heap: of a command, and of a process that runs" {
	whole heap -- sort -R /etc/passwd
	jq -e '[.rows[].allocated_bytes | numbers] | add > 0' "$report"
	sleep 600 &
	wait_for '[ "$(cat "/proc/$!/comm")" = sleep ]' # until then it is a shell, which may have no malloc
	whole heap -p $! --for 1s
	kill %1
}

@test "commands: leak: of a process, and of the kernel" {
	work 600 &
	whole leak -p $! --for 1s
	whole leak --kernel --for 1s
	kill %1
}
