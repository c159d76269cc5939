#!/usr/bin/env bats
# System calls against strace -c, on this kernel.
# bats file_tags=beside
load common

WORK=$WORKLOADS/syscalls

setup() {
	needs_root
	report=$BATS_TEST_TMPDIR/report.json
}

json() {
	jq -r "$@" "$report"
}

# The calls of a command, by call, in $report.
calls_of() {
	"$MEMWHY" syscalls --by call -q -o json --out "$report" -- "$@" >/dev/null 2>&1 3>&-
}

# "CALLS ERRORS" of a call.
counted() {
	json --arg call "$1" '[.rows[] | select(.table == "calls" and .call == $call) | "\(.count) \(.errors)"] | first // "0 0"'
}

whole() {
	[ "$(json '.lost.syscalls')" -eq 0 ]
	[ "$(json '.events.syscalls')" -eq "$(json '[.rows[] | select(.table == "calls") | .count] | add')" ]
}

# Holds the calls and errors of a command against those that strace -c counts. Of calls without an
# end strace tells nothing, nor of other ABIs apart.
same_as_strace() {
	command -v strace >/dev/null || skip "needs strace"
	strace -f -c -o "$BATS_TEST_TMPDIR/strace" "$@" >/dev/null 2>&1 3>&- || true
	calls_of "$@" || true
	whole
	awk '$1 ~ /^[0-9]/ && $NF != "total" { print $NF, $4, (NF > 5 ? $5 : 0) }' \
		"$BATS_TEST_TMPDIR/strace" | sort >"$BATS_TEST_TMPDIR/theirs"
	json '.rows[] | select(.table == "calls" and .call != "exit_group" and .call != "exit") | "\(.call) \(.count) \(.errors)"' |
		sort >"$BATS_TEST_TMPDIR/ours"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/ours")" -gt 5 ]
	[ -z "${but-}" ] || sed -i "/^$but /d" "$BATS_TEST_TMPDIR/ours" "$BATS_TEST_TMPDIR/theirs"
	diff "$BATS_TEST_TMPDIR/theirs" "$BATS_TEST_TMPDIR/ours"
}

# The lines of a kind of the workload.
lines_of() {
	"$MEMWHY" syscalls --each -q -o json --out "$report" -- "$WORK" "$@" >/dev/null 2>&1 3>&- 4>&- 5>&-
	json '.rows[].line'
}

# bats test_tags=host
@test "syscalls: calls and errors of a package manager equal strace's" {
	command -v dpkg >/dev/null || skip "needs dpkg"
	same_as_strace dpkg -l
}

@test "syscalls: … of a shell that forks a thousand times" {
	same_as_strace sh -c 'i=0; while [ $i -lt 1000 ]; do (:); i=$((i+1)); done'
	[ "$(counted exit_group)" = "1001 0" ]
}

# Each has keys of its own, thirty: three times as many as the table has room for.
# bats test_tags=host
@test "syscalls: a shell that runs a thousand programs: none is lost" {
	calls_of sh -c 'i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i+1)); done'
	whole
	[ "$(counted exit_group)" = "1001 0" ]
	[ "$(counted execve)" = "1001 0" ]
}

@test "syscalls: … of a shell that runs programs" {
	same_as_strace sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; ls / >/dev/null; done'
}

# bats test_tags=host
@test "syscalls: … of a compiler" {
	command -v gcc >/dev/null || skip "needs gcc"
	echo 'int main(void) { return 0; }' >"$BATS_TEST_TMPDIR/a.c"
	# How often it asks for more memory depends on where that lies; names of temporary files take
	# as many random numbers as it needs to get one that is fair.
	but=getrandom
	same_as_strace setarch -R sh -c 'gcc -O2 -c -o "$0.o" "$0.c" && rm "$0.o"' "$BATS_TEST_TMPDIR/a"
}

# bats test_tags=host
@test "syscalls: calls and errors equal perf trace -s, by process" {
	"$with_kernelfs" perf trace -s true >/dev/null 2>&1 || skip "perf trace does not work here"
	command -v dpkg >/dev/null || skip "needs dpkg"
	"$with_kernelfs" perf trace -s -o "$BATS_TEST_TMPDIR/perf" dpkg -l >/dev/null 2>&1 3>&-
	calls_of dpkg -l
	whole
	# it enables itself with the command's execve, whose begin it does not see
	awk '/^ [^ (]+ \([0-9]+\),/ { n++ } $1 ~ /^[a-z_0-9]+$/ && NF >= 8 && $2 ~ /^[0-9]+$/ { c[$1] += $2; e[$1] += $3 }
		END { for (k in c) print k, c[k], e[k] }' "$BATS_TEST_TMPDIR/perf" | grep -v '^exec' | sort >"$BATS_TEST_TMPDIR/theirs"
	json '.rows[] | select(.table == "calls" and .call != "exit_group" and .call != "execve") | "\(.call) \(.count) \(.errors)"' |
		sort >"$BATS_TEST_TMPDIR/ours"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/ours")" -gt 5 ]
	diff "$BATS_TEST_TMPDIR/theirs" "$BATS_TEST_TMPDIR/ours"
}

# bats test_tags=host
@test "syscalls: a line of execve has the command's words, up to 32, and says where there are more" {
	lines=$BATS_TEST_TMPDIR/lines
	"$MEMWHY" syscalls --each --like strace execve --out "$lines" -- \
		sh -c '/bin/echo 1 2 3 4 5 6 7; /bin/echo 1 2 3 4 5 6 7 8 9 10 11; /bin/echo $(seq 31); /bin/echo $(seq 32); :'
	cat "$lines"
	grep -qF '["/bin/echo", "1", "2", "3", "4", "5", "6", "7"], 0x' "$lines"
	grep -qF '"8", "9", "10", "11"], 0x' "$lines"
	grep -qF '"30", "31"], 0x' "$lines"
	grep -qF '"30", "31", ...], 0x' "$lines"
}

@test "syscalls: vfork, signals, restarts and an execve in another thread" {
	calls_of "$WORK" tasks
	whole
	[ "$(counted vfork)" = "1 0" ]
	[ "$(counted execve)" = "2 0" ]
	[ "$(counted rt_sigreturn | cut -d' ' -f1)" = 2 ]
	[ "$(counted pause)" = "1 1" ] # the first thread dies in it
	[ "$(counted exit_group)" = "3 0" ]
	[ "$(json '[.rows[] | select(.table == "errors") | select(.error == "ERESTARTSYS") | .call] | join(",")')" = read ]
	[ "$(json '[.rows[] | select(.table == "errors" and .call == "clock_nanosleep") | .error] | join(",")')" = ERESTART_RESTARTBLOCK ]
}

@test "syscalls: a call that ends with the process is counted, and has an error" {
	calls_of "$WORK" killed
	whole
	[ "$(counted pause)" = "1 1" ]
	[ "$(json '[.rows[] | select(.table == "errors" and .call == "pause") | .error] | join(",")')" = ERESTARTNOHAND ]
}

@test "syscalls: 32-bit, x32, unknown and refused calls are not mixed up with native ones" {
	calls_of "$WORK" abis
	whole
	[ "$(counted writev)" = "0 0" ] # the native number of what was called as i386
	[ "$(counted getpid)" = "0 0" ]
	[ "$(counted compat:getpid | cut -d' ' -f1)" = 3 ]
	[ "$(counted x32:getpid | cut -d' ' -f1)" = 2 ]
	[ "$(counted syscall_1000)" = "1 1" ]
	[ "$(counted getppid)" = "5 5" ]
	[ "$(json '.rows[] | select(.call == "getppid" and .table == "calls") | "\(.refused) \(.total_ns)"')" = "5 null" ]
}

# bats test_tags=host
@test "syscalls: words choose calls, in any ABI; an unknown one is told with the nearest" {
	"$MEMWHY" syscalls getpid openat --by call -q -o json --out "$report" -- "$WORK" abis
	[ "$(json '[.rows[] | select(.table == "calls") | .call] | sort | join(",")')" = "compat:getpid,openat,x32:getpid" ]
	whole
	"$MEMWHY" syscalls execve getpid --by call -q -o json --out "$report" -- sh -c '/bin/true; :'
	[ "$(counted execve)" = "2 0" ]
	run -2 "$MEMWHY" syscalls opennat -- true
	[[ $output == *"did you mean 'openat'"* ]]
	run -2 "$MEMWHY" syscalls --flight --dump-on slow -- true
	[[ $output == *"slow>TIME"* ]]
}

# bats test_tags=host
@test "syscalls: --each writes calls as strace does" {
	lines_of plain >"$BATS_TEST_TMPDIR/lines"
	cat "$BATS_TEST_TMPDIR/lines"
	while read -r want; do
		grep -qxF -- "$want" "$BATS_TEST_TMPDIR/lines" || { echo "missing: $want"; false; }
	done <<'E'
openat(AT_FDCWD, "/dev/null", O_RDWR|O_APPEND|O_CLOEXEC) = 3
openat(AT_FDCWD, "/no/such", O_WRONLY|O_CREAT|O_TRUNC, 0644) = -1 ENOENT (No such file or directory)
write(3, "hello\n\0\0019 and more than thirty-t"..., 48) = 48
read(3, "", 64) = 0
mmap(0x7000000000, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS|MAP_FIXED_NOREPLACE, -1, 0) = 0x7000000000
madvise(0x7000000000, 8192, MADV_HUGEPAGE) = 0
mprotect(0x7000000000, 4096, PROT_NONE) = 0
mbind(0x7000001000, 4096, MPOL_BIND, [0x1], 64, 0) = 0
munmap(0x7000000000, 8192) = 0
epoll_create1(O_CLOEXEC) = 4
epoll_ctl(4, EPOLL_CTL_ADD, 3, {events=EPOLLIN|EPOLLET, data=0x1234}) = -1 EPERM (Operation not permitted)
ioctl(3, _IOC(_IOC_READ|_IOC_WRITE, 0x6d, 0x7, 0x4), 0x10) = -1 ENOTTY (Inappropriate ioctl for device)
pipe2([5, 6], O_NONBLOCK) = 0
clone(child_stack=NULL, flags=CLONE_FS|CLONE_THREAD|SIGCHLD) = -1 EINVAL (Invalid argument)
exit_group(0) = ?
E
	grep -q '^futex(0x[0-9a-f]*, FUTEX_WAKE_PRIVATE, 1) = 0$' "$BATS_TEST_TMPDIR/lines"
	grep -q '^futex(0x[0-9a-f]*, FUTEX_WAIT, 2, {tv_sec=1, tv_nsec=500}) = -1 EAGAIN' "$BATS_TEST_TMPDIR/lines"
	shown="\"$WORK\""
	[ ${#WORK} -le 32 ] || shown="\"${WORK:0:32}\"..."
	grep -q "^execve(\"$WORK\", \[$shown, \"plain\"\], 0x[0-9a-f]*) = 0$" "$BATS_TEST_TMPDIR/lines"
}

# What differs from run to run: addresses, ports, ids of processes, time that was left; and what
# strace says beside a value.
same_each_time() {
	sed -E 's/0x[0-9a-f]{6,}/ADDRESS/g; s/htons\([0-9]{4,}\)/PORT/g; s/ = [0-9]{4,}$/ = N/
		s/^((get[pt]?p?id|clone|wait4)\(.*\)) = [0-9]+$/\1 = N/; s/ ,/,/g
		s/^(wait4|kill)\([0-9]+/\1(N/; s/left \{[^}]*\}/left/; s| /\*[^*]*\*/||g
		/^(sysinfo|getrusage|wait4)/s/([a-z]+)=[0-9]+/\1=N/g; s/loads=[^]]*/loads=N/; s|/proc/[0-9]+/|/proc/N/|
		s/data=\{u32=([0-9]), u64=[0-9]*\}/data=0x\1/g'
}

# The lines of the first process that strace -f wrote, from getppid on; where another one's came
# between its begin and its end, the two put together.
strace_lines() {
	awk 'NR == 1 { first = $1 } $1 != first { next } { sub(/^[0-9]+ +/, "") }
		/^(---|\+\+\+)/ { next }
		/<unfinished \.\.\.>$/ { sub(/ *<unfinished \.\.\.>$/, " "); begun = $0; next }
		/^<\.\.\. .* resumed>/ { sub(/^<\.\.\. .* resumed> ?/, ""); $0 = begun $0 }
		/^getppid/ { on = 1 }
		on { sub(/ +=/, " ="); sub(/\( +/, "("); print }' "$1" | same_each_time
}

# bats test_tags=host
@test "syscalls: --each writes structures as strace does, line by line" {
	command -v strace >/dev/null || skip "needs strace"
	strace -f -o "$BATS_TEST_TMPDIR/strace" "$WORKLOADS/syscall_values" </dev/null 3>&-
	strace_lines "$BATS_TEST_TMPDIR/strace" >"$BATS_TEST_TMPDIR/theirs"
	"$MEMWHY" syscalls --each -q -o json --out "$report" -- "$WORKLOADS/syscall_values" </dev/null 3>&-
	json '.rows[0].pid as $first | .rows[] | select(.pid == $first) | .line' |
		sed -n '/^getppid/,$p' | same_each_time >"$BATS_TEST_TMPDIR/ours"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/ours")" -gt 100 ]
	diff "$BATS_TEST_TMPDIR/theirs" "$BATS_TEST_TMPDIR/ours"
}

# bats test_tags=host
@test "syscalls: a hostile program breaks neither memwhy nor the terminal" {
	"$MEMWHY" syscalls --each --out "$BATS_TEST_TMPDIR/text" -- "$WORK" hostile
	run ! grep -qP '[\x00-\x08\x0b-\x1f\x7f]' "$BATS_TEST_TMPDIR/text"
	grep -qF 'openat(AT_FDCWD, 0xffff800000000000, O_RDONLY) = -1 EFAULT' "$BATS_TEST_TMPDIR/text"
	grep -qF '"\33]0;owned\7\33[2Jred\"q\\b\r\n\t"' "$BATS_TEST_TMPDIR/text"
	grep -qF '"\302\23331m\377\376\342\202"' "$BATS_TEST_TMPDIR/text"
	grep -qE 'openat\(AT_FDCWD, "l{127}"\.\.\., O_RDONLY\) = -1 ENAMETOOLONG' "$BATS_TEST_TMPDIR/text"
	grep -qF 'write(1, 0x10, 9223372036854775808) = -1 EFAULT' "$BATS_TEST_TMPDIR/text"
	grep -qF 'execve("/no/such", 0x' "$BATS_TEST_TMPDIR/text"
	grep -qF ', [{iov_base=0x10, iov_len=18446744073709551615}, {iov_base=0x' "$BATS_TEST_TMPDIR/text"
	grep -qF 'msg_iovlen=9223372036854775808' "$BATS_TEST_TMPDIR/text"
	grep -qF '{sa_family=AF_UNIX, sun_path="\33\33\33' "$BATS_TEST_TMPDIR/text"
	grep -qE 'rt_sigaction\(1000, 0x[0-9a-f]+, 0x10, ' "$BATS_TEST_TMPDIR/text"
	lines_of hostile >/dev/null
	[ "$(json '.lost.syscalls')" -eq 0 ]
	"$MEMWHY" syscalls --flight -o json --out "$report" -- "$WORK" hostile
	[ "$(json '[.rows[] | select(.table == "flight" and .call == "openat" and .error == "EFAULT")] | length')" -ge 4 ]
}

@test "syscalls: --min keeps only the calls that took as long" {
	"$MEMWHY" syscalls --each --min 40ms -q -o json --out "$report" -- sh -c 'sleep 0.1; echo' >/dev/null
	[ "$(json '[.rows[] | select(.duration_ns < 40000000)] | length')" -eq 0 ]
	[ "$(json '[.rows[] | .call] | map(select(. == "clock_nanosleep" or . == "wait4")) | length')" -ge 2 ]
	[ "$(json '.events.syscalls')" -eq "$(json '.rows | length')" ]
}

@test "syscalls: a storm into a tiny ring: seen is delivered and lost" {
	n=200000
	[ -z "$MEMWHY_VM" ] || n=20000
	"$MEMWHY" syscalls getppid --each --ring-size 4096 -q -o json --limit 1 --out "$report" -- "$WORK" storm $n
	echo "delivered $(json .events.syscalls), lost $(json .lost.syscalls)"
	[ "$(json '.events.syscalls + .lost.syscalls')" -eq $((2 * n)) ]
	[ "$(json .lost.syscalls)" -gt 0 ]
	"$MEMWHY" syscalls getppid --by call -q -o json --out "$report" -- "$WORK" storm $n
	[ "$(counted getppid)" = "$((2 * n)) 0" ]
	whole
}

@test "syscalls: --no-times counts the same, without times" {
	"$MEMWHY" syscalls getppid --by call --no-times -q -o json --out "$report" -- "$WORK" storm 1000
	[ "$(counted getppid)" = "2000 0" ]
	[ "$(json '.rows[0].total_ns')" = null ]
	for kind in abis tasks killed; do
		for times in "" --no-times; do
			# shellcheck disable=SC2086
			"$MEMWHY" syscalls --by call,comm $times -q -o json --out "$report" -- "$WORK" $kind 3>&-
			whole
			json '.rows[] | "\(.table) \(.comm) \(.call) \(.error) \(.count) \(.errors)"' |
				sort >"$BATS_TEST_TMPDIR/calls$times"
		done
		[ "$(wc -l <"$BATS_TEST_TMPDIR/calls")" -gt 5 ]
		diff "$BATS_TEST_TMPDIR/calls" "$BATS_TEST_TMPDIR/calls--no-times"
	done
}

@test "syscalls: scopes: a name, a process and its children" {
	mkfifo "$BATS_TEST_TMPDIR/go"
	sh -c 'read -r go; "$0" storm 500; echo done >"$1"; read -r go' "$WORK" "$BATS_TEST_TMPDIR/done" \
		<"$BATS_TEST_TMPDIR/go" 3>&- &
	outer=$!
	exec 7>"$BATS_TEST_TMPDIR/go"
	memwhy_start syscalls getppid -p $outer --follow --by process
	echo >&7
	wait_for '[ -s "$BATS_TEST_TMPDIR/done" ]'
	memwhy_stop
	exec 7>&-
	[ "$(jq '[.rows[] | select(.table == "calls") | .count] | add' "$json")" -eq 1000 ]
	[ "$(jq -r '.rows[0].comm' "$json")" = syscalls ]
	memwhy_start syscalls getppid -c syscalls --by comm
	"$WORK" storm 700
	memwhy_stop
	[ "$(jq '[.rows[] | select(.table == "calls") | .count] | add' "$json")" -eq 1400 ]
}

@test "syscalls: flight: the last calls, and only those" {
	"$MEMWHY" syscalls --flight=64 -q -o json --out "$report" -- "$WORK" storm 5000
	[ "$(json '[.rows[] | select(.table == "flight")] | length')" -eq 64 ]
	[ "$(json '[.rows[] | select(.table == "flight") | .line] | last')" = "exit_group(0) = ?" ]
	[ "$(json '[.rows[] | select(.table == "flight" and .call == "getppid")] | length > 10')" = true ]
	[ "$(json '.rows[] | select(.table == "dumps") | .kept > 10000')" = true ]
}

# bats test_tags=host
@test "syscalls: flight: a crash, a slow call and an error make a dump, by process" {
	run "$MEMWHY" syscalls --flight --by process --dump-on 'crash,slow>15ms,fail=ENOTTY' -q \
		-o json --out "$report" -- sh -c '"$0" crash; "$0" abis; :' "$WORK"
	json '.rows[] | select(.table == "dumps") | "\(.dump) \(.why) \(.comm)"'
	dump=$(json '[.rows[] | select(.table == "dumps" and .why == "process was killed, SIGSEGV") | .dump] | first')
	json --argjson d "$dump" '.rows[] | select(.table == "flight" and .dump == $d) | .line' >"$BATS_TEST_TMPDIR/lines"
	cat "$BATS_TEST_TMPDIR/lines"
	grep -qE 'openat\(AT_FDCWD, "/.*, O_RDONLY\) = [0-9]' "$BATS_TEST_TMPDIR/lines"
	grep -qF ', "\177ELF' "$BATS_TEST_TMPDIR/lines"
	grep -qE '^(clock_)?nanosleep' "$BATS_TEST_TMPDIR/lines"
	tail -n3 "$BATS_TEST_TMPDIR/lines" | grep -qE '^(tg)?kill\([0-9, ]*, SIGSEGV\) = 0'
	[ "$(json '[.rows[] | select(.table == "dumps" and (.why | startswith("slow call")) and .comm == "syscalls")] | length > 0')" = true ]
	[ "$(json '[.rows[] | select(.table == "dumps" and .why == "failed call, ENOTTY")] | length > 0')" = true ]
}

# "WHY COMM" of each dump, and the lines of one.
dumps() {
	json '.rows[] | select(.table == "dumps") | "\(.why) \(.comm)"'
}
lines_of_dump() {
	json --arg why "$1" '([.rows[] | select(.table == "dumps" and (.why | startswith($why))) | .dump] | first) as $d |
		.rows[] | select(.table == "flight" and .dump == $d) | .line'
}

# bats test_tags=host
@test "syscalls: flight: --dump-on exit: each process as it ends, with its status and its last calls" {
	"$MEMWHY" syscalls --flight --by process --dump-on exit -q -o json --out "$report" -- \
		sh -c '"$0" plain; "$0" crash; exit 7' "$WORK" >/dev/null 2>&1 3>&- 4>&- 5>&- || [ $? -eq 7 ]
	dumps
	[ "$(dumps | sort | tr '\n' ,)" = "process ended, SIGSEGV syscalls,process ended, status 0 syscalls,process ended, status 7 sh," ]
	[ "$(lines_of_dump 'process ended, status 7' | tail -n1)" = "exit_group(7) = ?" ]
	[ "$(lines_of_dump 'process ended, status 0' | tail -n1)" = "exit_group(0) = ?" ]
	lines_of_dump 'process ended, status 0' | grep -qxF 'openat(AT_FDCWD, "/dev/null", O_RDWR|O_APPEND|O_CLOEXEC) = 3'
	lines_of_dump 'process ended, SIGSEGV' | tail -n3 | grep -qE '^(tg)?kill\([0-9, ]*, SIGSEGV\) = 0'
}

# bats test_tags=host
@test "syscalls: flight: --dump-on crash: of those that are killed only" {
	"$MEMWHY" syscalls --flight --by process --dump-on crash -q -o json --out "$report" -- \
		sh -c '"$0" plain; "$0" crash; exit 7' "$WORK" >/dev/null 2>&1 3>&- 4>&- 5>&- || [ $? -eq 7 ]
	[ "$(dumps)" = "process was killed, SIGSEGV syscalls" ]
	lines_of_dump 'process was killed' | grep -qF '"\177ELF'
	"$MEMWHY" syscalls --flight --by process --dump-on crash -q -o json --out "$report" -- sh -c 'exit 7' 3>&- || [ $? -eq 7 ]
	[ "$(dumps)" = "" ]
	# of a group: the calls of all its processes
	"$MEMWHY" syscalls --flight --dump-on crash -q -o json --out "$report" -- \
		sh -c '"$0" plain; "$0" crash; exit 7' "$WORK" >/dev/null 2>&1 3>&- 4>&- 5>&- || [ $? -eq 7 ]
	[ "$(dumps)" = "process was killed, SIGSEGV syscalls" ]
	[ "$(lines_of_dump 'process was killed' | grep -cE '^(exit_group\(0\)|tgkill)')" -eq 2 ]
}

# bats test_tags=host
@test "syscalls: flight: --dump-on slow and fail, each alone" {
	"$MEMWHY" syscalls --flight --dump-on 'slow>50ms' -q -o json --out "$report" -- sh -c 'sleep 0.1; :' 3>&-
	dumps
	[ "$(dumps | grep -c '^slow call, ')" -ge 1 ]
	[ "$(dumps | grep -vc '^slow call, ')" -eq 0 ]
	lines_of_dump 'slow call' | grep -qE '^clock_nanosleep\(CLOCK_REALTIME, 0, \{tv_sec=0, tv_nsec=100000000\}, '
	[ "$(json '[.rows[] | select(.table == "flight") | .duration_ns] | max >= 50000000')" = true ]
	"$MEMWHY" syscalls --flight --dump-on fail=EPERM -q -o json --out "$report" -- "$WORK" plain 3>&- 4>&-
	[ "$(dumps)" = "failed call, EPERM syscalls" ]
	lines_of_dump 'failed call' | tail -n1 | grep -qE '^epoll_ctl\(4, .* = -1 EPERM'
	"$MEMWHY" syscalls --flight --dump-on fail -q -o json --out "$report" -- "$WORK" plain 3>&- 4>&-
	[ "$(dumps | head -n1 | cut -d, -f1)" = "failed call" ]
	"$MEMWHY" syscalls --flight --dump-on fail=EXDEV -q -o json --out "$report" -- "$WORK" plain 3>&- 4>&-
	[ "$(dumps)" = "" ]
}

# bats test_tags=host
@test "syscalls: flight: SIGUSR1 shows what was kept so far" {
	memwhy_run syscalls --flight=16 -c syscalls
	"$WORK" plain
	kill -USR1 "$memwhy"
	wait_for 'grep -q "pipe2(\[" "$lines"'
	grep -q "asked for" "$lines"
	memwhy_stop
}

@test "syscalls: --with-memory: the faults within a read are those of its pages" {
	command -v dd >/dev/null || skip "needs dd"
	"$MEMWHY" syscalls read --with-memory --by call -q -o json --out "$report" -- \
		dd if=/dev/zero of=/dev/null bs=16M count=1 2>/dev/null
	faults=$(json '.rows[0].faults') ns=$(json '.rows[0].fault_ns') total=$(json '.rows[0].total_ns')
	echo "$faults faults, $ns of $total ns"
	# a huge page takes one fault for 512
	[ "$faults" -ge 8 ]
	[ "$faults" -le 4200 ]
	[ "$ns" -gt 0 ]
	[ "$ns" -le "$total" ]
}

@test "syscalls: --with-memory: reclaim at a group's limit is the time that reclaim counts" {
	memwhy_start reclaim -c reclaim_memcg
	report=$BATS_TEST_TMPDIR/calls.json
	"$MEMWHY" syscalls read write --with-memory --by call -q -o json --out "$report" -- \
		"$WORKLOADS/reclaim_memcg" -l 16 -f 64 -a 1 -r 1 >"$BATS_TEST_TMPDIR/out" 3>&- ||
		skip "$(tail -n1 "$BATS_TEST_TMPDIR/out"): needs the memory controller"
	memwhy_stop
	cat "$BATS_TEST_TMPDIR/out"
	part=$(json '[.rows[] | .reclaim_ns // 0] | add') total=$(json '[.rows[] | .total_ns // 0] | add')
	all=$(jq '[.rows[] | select(.table == "stalls" and .kind == "memcg") | .total_ns] | add' "$json")
	echo "$part ns of $total ns in reclaim, of which the kernel did $all ns for the process"
	[ "$(json '[.rows[] | select(.reclaim_ns > 0) | .call] | index("write") != null')" = true ]
	[ "$part" -lt "$total" ]
	# what page faults outside of calls reclaim is not theirs; the two read the clock one by one
	[ "$part" -gt $((all / 2)) ]
	[ "$part" -lt $((all + all / 4)) ]
}

# bats test_tags=host
@test "syscalls: a recording tells the same as the live run" {
	for mode in "" --each "--flight=32"; do
		for format in json text; do
			rm -f "$BATS_TEST_TMPDIR/f.mw"
			# shellcheck disable=SC2086
			"$MEMWHY" syscalls $mode --record "$BATS_TEST_TMPDIR/f.mw" -o $format --out "$BATS_TEST_TMPDIR/live" -- "$WORK" hostile
			# shellcheck disable=SC2086
			"$MEMWHY" syscalls $mode --input "$BATS_TEST_TMPDIR/f.mw" -o $format --out "$BATS_TEST_TMPDIR/again"
			diff "$BATS_TEST_TMPDIR/live" "$BATS_TEST_TMPDIR/again"
		done
	done
}

# bats test_tags=host
@test "syscalls: what common programs call is in the table of arguments" {
	"$MEMWHY" syscalls --each -q -o json --out "$report" -- sh -c 'ls /; id; true' >/dev/null
	[ "$(json '[.rows[] | .line | select(test("^[a-z0-9_]+\\((0x[0-9a-f]+, ){5}0x"))] | length')" -eq 0 ]
	[ "$(json '.rows | length > 50')" = true ]
}
