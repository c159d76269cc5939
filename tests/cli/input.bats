#!/usr/bin/env bats
# Bad input: the exit status of the contract, one line of error with the real cause, and no crash.
# bats file_tags=beside
load common

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR"
	run_mw=$BATS_FILE_TMPDIR/run.mw
	[ -e "$run_mw" ] || recording_make "$run_mw"
}

# The words that come before the options of a command.
begin() { # COMMAND
	[ "$1" = record ] && echo record x.mw || echo "$1"
}

@test "input: every option that takes a value says so when there is none" {
	while read -r c o; do
		try mw_error 2 $(begin "$c") "--$o"
		[[ $stderr == *"--$o needs a value"* ]] || try refuse "$c --$o"
	done < <(each_option '[A-Z][^ ]*')
	for o in p c g i o; do
		try mw_error 2 faults "-$o"
	done
	tried
}

@test "input: flags take no value" {
	while read -r c o; do
		try mw_error 2 $(begin "$c") "--$o=yes"
	done < <(for c in $(commands); do
		"$MEMWHY" "$c" --help | sed -n "s/^  \(-[a-zA-Z],\|   \) --\([a-z-]\+\)   .*/$c \2/p"
	done | awk '!seen[$2]++')
	tried
}

@test "input: absurd times, sizes and counts" {
	limit=3
	while read -r c o; do
		for v in -1 "" " " 0x10 nan 1e99 1e400 18446744073709551616 "10 s" 10x 1,5; do
			try mw_error 2 $(begin "$c") "--$o" "$v"
		done
	done < <(each_option '\(TIME\|SIZE\|N\)')
	while read -r c o; do
		for v in 1.5 1e3 18446744073709551616; do
			try mw_error 2 $(begin "$c") "--$o" "$v"
		done
	done < <(each_option N)
	tried
}

@test "input: a ring that no machine has room for is refused, not made smaller in silence" {
	for size in 1T 9000000T; do
		try mw_error 2 faults --each --ring-size $size --for 50ms
	done
	tried
}

@test "input: no time is no time: --for 0 and -i 0 are refused, not taken as 'for ever'" {
	limit=1.5
	for c in faults check "record x.mw"; do
		try mw_error 2 $c --for 0
		try mw_error 2 $c --for 100ms -i 0
		try mw_error 2 $c --for 100ms -i 1ns
	done
	try mw_error 2 faults --for 0s
	tried
}

@test "input: an empty word is no name: refused, not taken as if it were not there" {
	limit=3
	while read -r c o; do
		brief=
		[ "$o" != for ] && has_option "$c" for && brief="--for 50ms"
		try mw_error 2 $(begin "$c") $brief "--$o" ""
	done < <(each_option '[A-Z][^ ]*')
	try mw_error 2 record "" --for 50ms
	tried
}

@test "input: words that are not among those an option takes" {
	for c in $(commands); do
		for o in output by fail-on probes; do
			has_option "$c" "$o" && try mw_error 2 $(begin "$c") "--$o" nothinglikeit
		done
		has_option "$c" by && try mw_error 2 "$c" --by ,
		has_option "$c" stacks && try mw_error 2 $(begin "$c") --stacks=nothinglikeit
	done
	tried
}

@test "input: -p of what is no process" {
	limit=3
	for c in $(commands_with pid); do
		values=(0 -1 abc 4194304)
		[ "$c" = faults ] && values+=(4194305 4294967297 99999999999999999999 1.5 1e3 0x1 "" , "1 2" 1,x 1,0
			$'1\e[31m' "$(printf '%09999d' 0)")
		for p in "${values[@]}"; do
			try mw_error 2 $(begin "$c") -p "$p"
		done
		try mw_error 2 $(begin "$c") -p 1 -- true
		try mw_error 2 $(begin "$c") --follow
	done
	tried
}

@test "input: -c that no task can have" {
	for c in $(commands_alone); do
		try mw_error 2 $(begin "$c") -c 1234567890123456
		[[ $stderr == *"-c 123456789012345" ]] || try refuse "$c: what the kernel makes of it"
		try mw_error 2 $(begin "$c") -c "$(printf '%09999d' 0)"
	done
	mw_ok faults -c nosuchname -o json --for 50ms
	[ "$(jq '.rows | length' <<<"$output")" -eq 0 ]
	tried
}

@test "input: -g of what is no cgroup, whatever it may be called" {
	limit=3
	for c in $(commands_with cgroup); do
		values=(nosuch /nosuch)
		[ "$c" = faults ] && values+=(.. ../../.. /../../etc /etc /proc " " '%s%n' $'a\e[31mb' $'a\nb' $'\xff'
			"$(printf '%05000d' 0)" "$(printf 'a/%.0s' {1..2000})" /dev/null "$run_mw")
		for g in "${values[@]}"; do
			try mw_error 2 $(begin "$c") -g "$g" --for 50ms
		done
	done
	mw faults -g /nosuch
	[[ $stderr != *"Invalid argument"* ]] || try refuse "the cause is that there is none, not an invalid argument"
	tried
}

@test "input: words where none are expected" {
	for c in $(commands_with input output) doctor; do
		try mw_error 2 "$c" word
		try mw_error 2 "$c" $'a\e[31mb\n'
		try mw_error 2 "$c" ""
	done
	try mw_error 2 doctor -- true
	try mw_error 2 help -- true
	try mw_error 2 record
	try mw_error 2 record one.mw two
	[[ $stderr == *"memwhy record "*" -- two"* ]] || try refuse "record one.mw two: the hint"
	[ ! -e one.mw ] || try refuse "a file was made"
	try mw_error 2 faults --stacks user
	[[ $stderr == *--stacks=user* ]] || try refuse "--stacks user: the hint"
	tried
}

@test "input: --input of what is no recording" {
	mkdir dir
	: >empty
	head -c 3000 /dev/urandom >garbage
	printf 'PERFILE2%0200d' 0 >perf.data
	printf 'MEMWHX%0200d' 0 >almost
	seq 1000 >text
	cp "$MEMWHY" program
	ln -s loop loop
	for c in $(commands_with input output); do
		values=(nosuch dir empty garbage)
		[ "$c" = faults ] && values+=(/dev/null /dev/zero perf.data almost text program loop text/x
			"$(printf '%0300d' 0)" "$(printf 'a/%.0s' {1..3000})" $'a\e[31mb')
		for f in "${values[@]}"; do
			try mw_error 2 "$c" --input "$f"
		done
	done
	mw_error 2 faults --input perf.data
	[[ $stderr == *perf.data\ file* ]]
	tried
}

@test "input: a recording that is cut anywhere: status 4, how much is missing, what is left" {
	size=$(stat -c %s "$run_mw")
	mw faults --input "$run_mw" -o json
	whole=$(jq '[.rows[].count] | add' <<<"$output")
	mkdir shown
	for n in 1 8 9 64 200 $((size / 3)) $((size / 2)) $((size - 200)) $((size - 72)) $((size - 40)) $((size - 1)); do
		head -c "$n" "$run_mw" >cut.mw
		all=faults
		[[ $n -eq 8 || $n -eq $((size / 2)) || $n -eq $((size - 1)) ]] && all=$(commands_with input output)
		for c in $all; do
			mw "$c" --input cut.mw -o json
			[ "$status" -eq 4 ] && one_error && [[ $stderr == "memwhy: cut.mw "* ]] || try refuse "$c, $n of $size bytes"
			printf '%s\n' "$output" >"shown/$c.$n"
		done
	done
	jq -r 'select(.rows and (.damage | length > 0)) | input_filename' shown/* | diff <(printf '%s\n' shown/*) - ||
		try refuse "not of all a report that says what is missing"
	jq '[.rows[].count] | add // 0' shown/faults.* >counts
	[ "$(awk -v whole="$whole" '$1 <= whole' counts | wc -l)" -eq 11 ] || try refuse "more than in the whole: $(<counts)"
	[ "$(jq '[.rows[].count] | add' "shown/faults.$((size - 1))")" -eq "$whole" ] ||
		try refuse "without its last byte it has all records"
	mw faults --input cut.mw
	[[ $output == *INCOMPLETE* ]] || try refuse "the report does not say that it is incomplete"
	tried
}

@test "input: a recording with changed bytes, anywhere: an error, never a crash" {
	size=$(stat -c %s "$run_mw")
	for i in $(seq 0 17); do
		at=$((i < 9 ? i * 9 : size * (i - 8) / 11))
		cp "$run_mw" flip.mw
		head -c 3 /dev/urandom | dd of=flip.mw bs=1 seek=$at conv=notrunc status=none
		cmp -s flip.mw "$run_mw" && continue
		for c in faults $([ $((i % 6)) -eq 5 ] && commands_with input output); do
			mw "$c" --input flip.mw
			[[ $status -eq 4 || ($at -lt 8 && $status -eq 2) ]] && one_error || try refuse "$c: byte $at of $size changed"
		done
	done
	for made in "cat $run_mw $run_mw" "tail -c +9 $run_mw" "cat $run_mw /etc/passwd"; do
		$made >flip.mw
		mw faults --input flip.mw
		[[ $status -eq 4 || $status -eq 2 ]] && one_error || try refuse "$made"
	done
	tried
}

@test "input: what failed before it began leaves no recording, and a head alone is not a quiet machine" {
	mw_error 2 record empty.mw --stacks=nosuch
	mw_error 127 record empty.mw -- /nosuch
	[ ! -e empty.mw ]
	head -c 64 "$run_mw" >head.mw
	mw faults --input head.mw
	[ "$status" -eq 4 ] || refuse "nothing was recorded"
}

@test "input: --input takes nothing that says how to record" {
	for c in $(commands_with input output); do
		for words in "--record x.mw" "-- true" --follow "--for 3s" "--ring-size 8M" --no-lines --debuginfod; do
			try mw_error 2 "$c" --input "$run_mw" $words
		done
	done
	tried
}

@test "input: -p, -c, -g, -C, --from and --to choose a part of a recording, with every command" {
	"$MEMWHY" record part.mw -- sh -c 'sleep 0.1 & ls / >/dev/null; wait' 2>part.err
	"$MEMWHY" faults --input part.mw -o json >all.json
	pid=$(jq '.rows[] | select(.comm == "ls") | .pid' all.json)
	for words in "-p $pid" "-c ls"; do
		"$MEMWHY" faults --input part.mw -o json $words >one.json
		[ "$(jq -c '.rows' one.json)" = "$(jq -c '[.rows[] | select(.comm == "ls")]' all.json)" ] ||
			try refuse "not what is of ls: $words: $(jq -c .rows one.json)"
		[[ $(jq -r .scope one.json) == *"only "*"${words##* }" ]] || try refuse "not said: $words"
	done
	[ "$("$MEMWHY" faults --input part.mw -o json -g / | jq -c '.rows')" = "$(jq -c .rows all.json)" ] || try refuse "-g /"
	[ "$("$MEMWHY" faults --input part.mw -o json -g /nosuch | jq '.rows | length')" -eq 0 ] || try refuse "-g /nosuch"
	for c in $(commands_with input output); do
		for words in "-p 4194304" "-c nobody" "-g /nosuch" "-C 0123456789" "--from 1ms --to 1h" "--from 1h"; do
			[[ $c != heap || $words != --from* ]] || continue # of recordings with --events
			mw "$c" --input part.mw $words
			[ "$status" -eq 0 ] && [ -z "$stderr" ] && [[ $output == *"only "* ]] || try refuse "$c $words"
		done
	done
	# The bounds of the interval are those of the part.
	"$MEMWHY" faults --input part.mw --from 20ms --to 60ms -o json >time.json
	jq -e '.interval.seconds > 0.039 and .interval.seconds < 0.041' time.json || try refuse "--from, --to"
	try mw_error 2 faults --input part.mw --from 2s --to 1s
	try mw_error 2 faults --from 1s --for 50ms
	try mw_error 2 faults --input part.mw -g / -C 0123
	try mw_error 2 heap -c ls -- true
	tried
}

@test "input: what the recording does not have is said, not shown as nothing or 'unknown'" {
	"$MEMWHY" faults --record plain.mw --out /dev/null -- sh -c 'ls / >/dev/null'
	for words in --each --stacks "--by mapping" "--by thread"; do
		mw faults --input plain.mw $words
		[[ $status -eq 2 || "$output$stderr" =~ (was|were)\ (not\ )?recorded|not\ in\ the\ recording|recorded\ without ]] ||
			try refuse "$words over a recording without"
	done
	tried
}

@test "input: record has no use for --input and --record, and does not ignore them" {
	limit=3
	for words in "--input nosuch.mw" "--record other.mw"; do
		try mw_error 2 record x.mw $words -- true
	done
	tried
}

@test "input: --record and --out where nothing can be written" {
	mkdir dir
	ln -s loop loop
	limit=3
	for c in $(commands_with input output); do
		values=(dir)
		[ "$c" = faults ] && values+=(/nosuch/x /proc/x /dev/null /dev/full "$(printf '%0300d' 0)" loop /etc/passwd/x)
		for f in "${values[@]}"; do
			try mw_error 2 "$c" --for 50ms --record "$f"
			[[ $f == /dev/* ]] || try mw_error 2 "$c" --for 50ms --out "$f"
		done
	done
	for f in dir /nosuch/x /proc/x /dev/null; do
		try mw_error 2 record "$f" --for 50ms
	done
	run --separate-stderr unshare -m sh -c 'mount --make-rprivate / && mount -t tmpfs none dir &&
		mount -o remount,ro dir && exec "$0" faults --for 50ms --record dir/x' "$MEMWHY"
	[[ $status -eq 2 || $status -eq 3 ]] && one_error || try refuse "--record to a read-only file system"
	tried
}

@test "input: two recordings to one file: the second is refused and harms nothing" {
	mw_start record --probes faults run.mw --for 1s
	mw_error 2 faults --for 50ms --record run.mw
	mw_end
	[ "$status" -eq 0 ]
	mw_ok faults --input run.mw
}

@test "input: a path with control characters is shown escaped" {
	name=$'a\e[31mb\nc'
	run --separate-stderr "$MEMWHY" record --probes faults "$name" -- true
	[ "$status" -eq 0 ] && one_error || try refuse "record"
	mw_ok faults --input "$name"
	head -c 100 "$name" >"$name.cut"
	mw faults --input "$name.cut" -o json
	[ "$status" -eq 4 ] && one_error || try refuse "a cut recording of that name"
	tried
}

# Under limits that may not be raised: hard ones, without the capability to.
limited() { # ULIMIT-OPTIONS COMMAND...
	run --separate-stderr setpriv --bounding-set=-sys_resource bash -c 'ulimit $1; shift; exec "$@"' - "$@"
}

@test "input: limits that are too tight are named, with what raises them; no signal ends memwhy" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to load BPF programs"
	sanitized && skip "the sanitizers' libraries need more"
	for limit in "-s 128" "-n 8"; do
		for words in "faults --stacks --for 50ms" "heap -- true"; do
			# shellcheck disable=SC2086 # words
			limited "$limit" "$MEMWHY" $words
			[ "$status" -eq 3 ] && [[ ${stderr_lines[1]} == *"ulimit ${limit% *}"* ]] || try refuse "$limit $words"
		done
		limited "$limit" "$MEMWHY" faults --help
		[ "$status" -eq 0 ] || try refuse "$limit --help"
	done
	limited "-f 1" "$MEMWHY" faults --for 50ms # KiB
	[ "$status" -eq 4 ] && [[ ${stderr_lines[1]} == *"ulimit -f"* ]] || try refuse "-f 1"
	tried
}

@test "input: limits that may be raised are, and the command has its own" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to load BPF programs"
	sanitized && skip "the sanitizers' libraries need more"
	limited "-S -s 128 -n 40" "$MEMWHY" record r.mw -- bash -c 'ulimit -S -s; ulimit -S -n; kill -XFSZ $$'
	echo "$status $output $stderr"
	[ "$status" -eq $((128 + $(kill -l XFSZ))) ] # it did not ignore the signal, as memwhy does
	[ "${lines[0]} ${lines[1]}" = "128 40" ]
	limited "-S -s 128 -n 40" "$MEMWHY" faults --input r.mw -q
	[ "$status" -eq 0 ]
}

@test "input: few descriptors, little memory: an error, never a crash" {
	for n in $(sanitized || echo 4) 8 12 16 24; do # the sanitizers' libraries need some
		run --separate-stderr timeout 5 bash -c 'ulimit -n $1; shift; exec "$@"' - "$n" "$MEMWHY" faults --for 50ms
		[[ $status -eq 0 || ($status -ge 2 && $status -le 5) ]] && { [ "$status" -eq 0 ] || one_error; } ||
			try refuse "ulimit -n $n"
	done
	least=$(($(stat -c %s "$MEMWHY") / 1024)) # or the kernel cannot start it
	sizes=($((least + 1000)) $((least + 10000)) $((least + 50000)))
	sanitized && sizes=() # they reserve terabytes
	for n in "${sizes[@]}"; do
		run --separate-stderr timeout 5 bash -c 'ulimit -v $1; shift; exec "$@"' - "$n" "$MEMWHY" faults --for 50ms
		[[ $status -eq 0 || ($status -ge 2 && $status -le 5) ]] && { [ "$status" -eq 0 ] || one_error; } ||
			try refuse "ulimit -v $n"
	done
	tried
}
