#!/usr/bin/env bats
# numa --input on files of perf: numbers, addresses and names against perf script's on the same file.
# Samples of loads and stores take a processor with PEBS or IBS: made files stand for them.
# bats file_tags=host
load common

setup() {
	command -v perf >/dev/null || skip "needs perf"
	make=${BUILD:-$BATS_TEST_DIRNAME/../../build}/tests/perfdata/make
	cd "$BATS_TEST_TMPDIR" || return
}

record() {
	needs_root
	"$with_kernelfs" perf record -q -o "$@" -- ls -R /usr/lib /usr/share >ls.out 2>record.err ||
		skip "perf cannot record: $(tail -n1 record.err)"
}

flow() { # FILE: address and function of each sample
	"$MEMWHY" numa flow --input "$1" -o jsonl --limit 0 | grep '"table":"flow"' |
		sed 's/.*"address":"0x\([0-9a-f]*\)".*"function":"\([^+ ("]*\).*/\1 \2/'
}

@test "page faults of a recording: count, addresses in order, functions of the kernel" {
	record f -e page-faults -c 1 -d -g --sample-cpu
	"$with_kernelfs" perf script -G -i f -F addr,ip,sym 2>/dev/null >theirs.all
	awk '{ print $1 }' theirs.all >theirs
	flow f >ours.all
	cut -d' ' -f1 ours.all >ours
	[ "$(wc -l <ours)" -gt 100 ]
	cmp ours theirs
	events=$("$MEMWHY" numa --input f -o json | sed -n 's/.*"events": *{"numa": *\([0-9]*\)}.*/\1/p;s/.*"numa": *\([0-9][0-9]*\).*/\1/p' | head -n1)
	[ "$events" -eq "$(wc -l <theirs)" ]
	# What the kernel did for a process, by perf's names and ours. Of the others many are of
	# inlined functions, which perf tells only when asked.
	paste -d' ' ours.all theirs.all | awk '$(NF - 1) ~ /^ffffffff/ { n++; bad += $2 != $NF; next }
		$2 == $NF { same++ }
		END { exit n < 3 || bad > 0 || same < 20 }'
}

@test "a pipe's data in a file is the same" {
	needs_root
	"$with_kernelfs" perf record -q -e page-faults -c 1 -d -g --sample-cpu -o - -- ls -R /usr/lib >p 2>/dev/null
	[ "$(flow p | wc -l)" -gt 100 ]
	flow p | cut -d' ' -f1 >ours
	"$with_kernelfs" perf script -G -i p -F addr 2>/dev/null | awk '{ print $1 }' >theirs
	cmp ours theirs
}

@test "loads and stores of a made file: all are there" {
	"$make" sources 3000 >f
	"$make" sources 3000 swapped >s
	flow f >ours
	flow s | cmp - ours
	# Those that are no access are left out, and said to be.
	want=$("$with_kernelfs" perf script -G -i f -F data_src 2>/dev/null |
		awk '{ v = $1; op = 0; c = index("0123456789abcdef", substr(v, length(v), 1)) - 1
			if (int(c / 2) % 2 || int(c / 4) % 2) n++ } END { print n }')
	[ "$(wc -l <ours)" -eq "$want" ]
	"$MEMWHY" numa --input f -o json | grep -q 'neither loads nor stores'
}

@test "a file that is cut: what is there is shown, with status 4" {
	"$make" order 8000 >whole
	head -c 400001 whole >f
	run "$MEMWHY" numa --input f
	[ "$status" -eq 4 ]
	[[ $output == *"is cut at byte"* ]]
	[[ $output == *"OBJECT"* || $output == *"Accesses"* ]]
}

@test "other commands say who reads it" {
	"$make" sources 10 >f
	run "$MEMWHY" faults --input f
	[ "$status" -eq 2 ]
	[[ $output == *"it is a perf.data file"* ]]
	[[ $output == *"memwhy numa --input"* ]]
}

@test "events without addresses are of no use" {
	record f -e cpu-clock -g
	run "$MEMWHY" numa --input f
	[ "$status" -eq 2 ]
	[[ $output == *"no samples with the addresses"* ]]
}

@test "without the nodes of the machine it is said that nothing can be judged" {
	"$make" sources 3000 >f
	"$MEMWHY" numa --input f >without
	grep -q '^It cannot be judged: .* --topology FILE' without
	! grep -q 'No problem' without || false
	printf 'node 0 cpus 0-3\nnode 1 cpus 4-63\n' >nodes
	"$MEMWHY" numa --input f --topology nodes >with
	! grep -q 'It cannot be judged: which' with || false
}
