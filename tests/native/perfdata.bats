#!/usr/bin/env bats
# The reader of perf.data files against perf itself: on files made here, whose contents are known,
# and on recordings of the running kernel. What is compared: number, order, fields and callchains of
# samples, by event. Real PEBS and IBS samples need such a processor; their codes are made here.
# bats file_tags=beside,host
load common

setup_file() {
	command -v perf >/dev/null || skip "needs perf"
}

setup() {
	dump=${BUILD:-$BATS_TEST_DIRNAME/../../build}/tests/perfdata/dump
	make=${BUILD:-$BATS_TEST_DIRNAME/../../build}/tests/perfdata/make
	cd "$BATS_TEST_TMPDIR" || return
}

# ours FILE KEYS: the samples of dump, only these keys.
ours() {
	"$dump" "$1" >ours.all || return
	awk -v keys="$2" 'BEGIN { n = split(keys, k, ",") }
		/^sample / {
			for (i = 2; i <= NF; i++) { split($i, f, "="); v[f[1]] = substr($i, length(f[1]) + 2) }
			for (i = 1; i <= n; i++) printf "%s ", v[k[i]]
			print ""
		}' ours.all
}

# theirs FILE KEYS: the same of perf script, which writes fields in an order of its own.
theirs() {
	local fields=$2

	fields=${fields/src/data_src} fields=${fields/phys/phys_addr}
	fields=${fields/dpage/data_page_size} fields=${fields/cpage/code_page_size}
	"$with_kernelfs" perf script -G --ns -i "$1" -F "$fields" 2>perf.err |
		awk -v keys="$2" 'BEGIN { n = split(keys, k, ",") } {
			if (!sub(/\|OP.*\|BLK *[NADatdr\/]*( Ad*r*)?/, "") && (i = index($0, "|OP "))) {
				# words that do not fit are cut
				rest = substr($0, i)
				$0 = substr($0, 1, i - 1) (match(rest, /    +/) ? substr(rest, RSTART) : "")
			}
			gsub(/[][]/, "")
			$1 = $1
			t = 0
			for (i = 1; i <= n; i++) {
				v = $(++t)
				if (k[i] == "pid") { split(v, p, "/"); printf "%s %s ", p[1], p[2]; i++; continue }
				sub(/:$/, "", v)
				sub(/:$/, "", v)
				printf "%s ", v
			}
			print ""
		}'
}

same() { # FILE KEYS
	ours "$1" "$2" >ours.txt
	theirs "$1" "$2" >theirs.txt
	[ "$(wc -l <ours.txt)" -gt "${3:-0}" ]
	cmp ours.txt theirs.txt || { diff ours.txt theirs.txt | head -5 >&2; return 1; }
}

# Callchains, without the marks in them, as perf script -D has them.
same_chains() {
	"$dump" "$1" | sed -n 's/^sample .* chain=//p' >ours.txt
	"$with_kernelfs" perf script -D -i "$1" 2>/dev/null | awk '
		/chain: nr:/ { if (line) print line; line = "" }
		/^\.\.\.\.\. +[0-9]+: / && $3 !~ /^fffffffffffff[0-9a-f]+$/ {
			sub(/^0+/, "", $3)
			line = line (line ? "," : "") ($3 == "" ? "0" : $3) }
		END { if (line) print line }' >theirs.txt
	[ "$(wc -l <ours.txt)" -gt 10 ]
	cmp ours.txt theirs.txt || { diff ours.txt theirs.txt | head -5 >&2; return 1; }
}

known=pid,tid,cpu,time,period,event,addr,src,weight,ip,phys,dpage,cpage

@test "a made file of known samples: every field is perf's" {
	"$make" sources 4000 >f
	same f $known 3999
}

@test "the same of a machine of the other byte order" {
	"$make" sources 4000 swapped >f
	same f $known 3999
}

@test "the same through a pipe" {
	"$make" sources 4000 pipe >f
	same f $known 3999
	"$dump" - <f | cmp - <("$dump" f)
	cat f | "$dump" - | cmp - <("$dump" f)
}

@test "samples out of order in the file come in the order of perf" {
	"$make" order 40000 >f
	same f $known 39999
	same_chains f
	"$make" order 40000 swapped >f
	same f $known 39999
}

@test "compressed records, in pieces that end anywhere" {
	"$make" order 40000 packed >f
	"$make" order 40000 >plain
	[ "$(stat -c %s f)" -lt "$(stat -c %s plain)" ]
	cmp <("$dump" -u f | grep -v ^records) <("$dump" -u plain | grep -v ^records)
}

@test "every code of a data source means what perf says" {
	"$make" sources 4000 >f
	"$dump" f | sed -n 's/^source src=[0-9a-f]* //p' >ours.txt
	"$with_kernelfs" perf script -G -i f -F data_src 2>/dev/null >theirs.txt
	[ "$(wc -l <ours.txt)" -eq 4000 ]
	paste -d'\t' ours.txt theirs.txt | awk -F'\t' '
		function part(name,   i) {
			i = index($2, "|" name " ")
			if (!i) return "cut"
			s = substr($2, i + length(name) + 2)
			if (name != "BLK" && !sub(/\|.*/, "", s)) return "cut"
			gsub(/^ +| +$/, "", s)
			return s
		}
		function has(text, word) { return index(" " text " ", " " word " ") > 0 }
		function bad(what) { print what ": " $0; wrong++ }
		{
			split($1, words, " ")
			delete v
			for (w in words) { split(words[w], f, "="); v[f[1]] = substr(words[w], length(f[1]) + 2) }
			level = $1; sub(/.*level=/, "", level)
			op = part("OP"); tlb = part("TLB"); lock = part("LCK"); blk = part("BLK")
			snoop = part("SNP"); lvl = part("LVL")
			split(v["op"], first, ",") # the only one that perf tells
			if (op != "N/A" && op != "No" && op != first[1]) bad("op")
			if (op == "No" && v["op"] != "") bad("op")
			split("hit miss L1 L2 Walker Fault", names, " ")
			for (i in names)
				if (tlb != "N/A" && tlb != "cut" &&
					has(tlb, names[i]) != (index("," v["tlb"] ",", "," names[i] ",") > 0)) bad("tlb")
			if (lock == "Yes" && v["lock"] != "1" || lock == "No" && v["lock"] != "0") bad("lock")
			if (snoop != "cut" && has(snoop, "HitM") != v["hitm"] + 0) bad("hitm")
			# The first ones are short, and so not cut.
			if (has(blk, "Data") && v["blk"] !~ /Data/ || has(blk, "Addr") && v["blk"] !~ /Addr/) bad("blk")
			if (NR <= 66 && v["blk"] !~ blk && blk !~ "N/A") bad("blk")
			want["LFB"] = "LFB/MAB"; want["cache"] = "[Cc]ache"; want["uncached"] = "Uncached|L8"
			want["L0"] = "L7"; want["L2 MHB"] = "L5"; want["memory-side cache"] = "L6"
			none = "N/A|  |(node|socket|board|null.)$"
			# Where the number is N/A, or none, perf does not look at the older field.
			if (lvl != "cut" && lvl !~ none &&
				lvl !~ (level in want ? want[level] : level)) bad("level")
			whole += lvl != "cut" && lvl !~ none
		}
		END { if (NR != 4000 || whole < 1500) bad("lines"); exit wrong > 0 }' >bad.txt || { head -5 bad.txt >&2; return 1; }
}

# record NAME OPTIONS...: of a command that lives a while.
record() {
	needs_root
	"$with_kernelfs" perf record -q -o "$1" "${@:2}" -- sh -c 'ls -R /usr/lib /usr/share >ls.out' 2>record.err || {
		cat record.err >&2
		skip "perf cannot record: $(tail -n1 record.err)"
	}
}

@test "a recording of the running kernel: times, addresses and callchains" {
	record f -e cpu-clock -d -g
	same f pid,tid,time,period,event,addr,src,ip 100
	same_chains f
	host=$(perf report --header-only -i f | sed -n 's/^# cmdline : //p' | sed 's/ *$//')
	[ "cmdline $host" = "$("$dump" f | grep ^cmdline)" ]
	perf buildid-list -i f | sort >theirs.txt
	"$dump" f | sed -n 's/^build-id //p' | sort | cmp - theirs.txt
}

@test "page faults with addresses, weights and sizes of pages" {
	record f -e page-faults -c 1 -d -W --phys-data --data-page-size --code-page-size
	same f pid,tid,time,event,addr,src,weight,ip,phys,dpage,cpage 100
}

@test "two events, threads of all CPUs, cgroups, switches, namespaces" {
	record f -e cpu-clock,page-faults -d -a --sample-cpu --all-cgroups --switch-events --namespaces
	same f pid,tid,cpu,time,period,event,addr,ip 100
}

@test "a compressed recording" {
	perf version --build-options 2>/dev/null | grep -q 'zstd: \[ on' || skip "perf has no zstd"
	record f -e cpu-clock -g -z
	same f pid,tid,time,period,event,ip 100
	same_chains f
}

@test "a recording through a pipe, compressed and not" {
	record - -e cpu-clock -g >f
	same f pid,tid,time,period,event,ip 100
	same_chains f
	record - -z -e cpu-clock -g >f
	same f pid,tid,time,period,event,ip 100
}

@test "registers, stacks and raw records of tracepoints are stepped over" {
	record f -e cpu-clock --call-graph dwarf,4096 -I
	same f pid,tid,time,period,event,ip 100
	record f -e exceptions:page_fault_user -d
	same f pid,tid,cpu,time,period,event,addr,ip 100
}

@test "a file that is cut gives the records before, and says where" {
	"$make" order 8000 >whole
	size=$(stat -c %s whole)
	for at in 100 300 500 5000 100001 $((size / 2)); do
		head -c "$at" whole >f
		run "$dump" f
		if [ "$at" -lt 400 ]; then [ "$status" -eq 2 ]; else [ "$status" -eq 4 ]; fi
		[[ $output == *"is cut"* ]]
	done
	[ "$("$dump" f 2>/dev/null | grep -c ^sample)" -gt 3000 ]
}

@test "what is no perf.data file is refused with words" {
	echo hello world this is text >f
	run "$dump" f
	[ "$status" -eq 2 ]
	[[ $output == *"is not a perf.data file"* ]]
	printf 'PERFFILE0123456789abcdef' >f
	run "$dump" f
	[[ $output == *"of the first format"* ]]
	run "$dump" .
	[[ $output == *"is a directory"* ]]
	: >f
	run "$dump" f
	[[ $output == *"is empty"* ]]
}
