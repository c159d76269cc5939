#!/usr/bin/env bats
# Two recordings compared: what the numbers are, what is refused, and what the formats have.
# bats file_tags=beside
load common

# Two versions of a program under other names: v2 leaks 100 blocks of 512 bytes in a function that v1
# has not, and has its functions in other lines and at other places.
version() { # FILE NAME FLAGS...
	cat >"$BATS_FILE_TMPDIR/$2.c" <<-'C'
		#include <stdlib.h>
		static void *kept[400];
		#ifdef V2
		__attribute__((noinline)) void *added(void) { return malloc(512); }
		#endif
		__attribute__((noinline)) void *held(void) { return malloc(1000); }
		__attribute__((noinline)) void *dropped(void) { return malloc(64); }
		int main(void)
		{
			int n = 0;
			for (int i = 0; i < 100; i++) {
				kept[n++] = held();
		#ifdef V2
				kept[n++] = held();
				kept[n++] = added();
		#else
				free(dropped());
		#endif
			}
			return n == 1;
		}
	C
	gcc -O1 -g "${@:3}" -o "$BATS_FILE_TMPDIR/$2" "$BATS_FILE_TMPDIR/$2.c"
	"$MEMWHY" heap -q --record "$BATS_FILE_TMPDIR/$1" --out /dev/null -- "$BATS_FILE_TMPDIR/$2"
}

setup_file() {
	export old=$BATS_FILE_TMPDIR/old.mw new=$BATS_FILE_TMPDIR/new.mw
	version old.mw v1
	version new.mw v2 -DV2
}

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# Fields of the row whose stack begins with a function.
row() { # FUNCTION FIELD...
	jq -r --arg f "$1" --arg w "${*:2}" '.rows[] | select(.table == "heap" and (.stack[0] | startswith($f + " "))) |
		[.[$w | split(" ")[]]] | map(. // "-") | join(" ")' <<<"$output"
}

total() { # FIELD...
	jq -r --arg w "$*" '[.rows[] | select(.table == "total")][0] | [.[$w | split(" ")[]]] | join(" ")' <<<"$output"
}

@test "diff: rows by stack, new, gone and changed; the total" {
	mw_ok diff -o json "$old" "$new"
	[ "$(row added status before_peak_bytes after_peak_bytes change_peak_bytes)" = "new - 51200 51200" ]
	[ "$(row held status before_peak_bytes after_peak_bytes change_peak_bytes change_peak_bytes_ratio)" = \
		"more 100000 200000 100000 1" ]
	[ "$(row held change_live_bytes change_live_blocks change_allocations)" = "100000 100 100" ]
	[ "$(row dropped status change_allocations)" = "gone -100" ]
	[[ $(jq -r '.rows[0].stack[0]' <<<"$output") == "held (v2.c:"* ]]
	[ "$(total rows new_rows gone_rows before_live_bytes change_live_bytes)" = "3 1 1 100000 151200" ]
	[ "$(jq -r '.of, .before.file, .after.file, .before.lost.heap' <<<"$output" | xargs)" = "heap $old $new 0" ]
	# the same numbers as the reports of the two
	for f in "$old" "$new"; do
		"$MEMWHY" heap --input "$f" -o json | jq '[.rows[] | select(.table == "heap") | .live_bytes] | add'
	done >sums
	[ "$(xargs <sums)" = "$(total before_live_bytes after_live_bytes)" ]
}

@test "diff: rows that hold those below them are not compared, nor added up" {
	for n in 1 2; do
		"$MEMWHY" heap -q --record "tree$n.mw" --out /dev/null -- sh -c 'ls / >/dev/null; ls /' >/dev/null 3>&-
	done
	"$MEMWHY" heap --input tree1.mw -o json | jq -e '[.rows[] | select(.table == "tree")] | length > 2' >/dev/null
	mw_ok diff tree1.mw tree2.mw
	! grep -q 'Who started whom' <<<"$output" || refuse "$output"
	mw_error 2 diff --table tree tree1.mw tree2.mw
	grep -q 'a row of tree holds those below it' <<<"$stderr" || refuse "why"
}

@test "diff: the other way round it is the other way round" {
	mw_ok diff -o json "$new" "$old"
	[ "$(row added status change_peak_bytes change_peak_bytes_ratio)" = "gone -51200 -1" ]
	[ "$(row held status change_peak_bytes)" = "less -100000" ]
	[[ $(jq -r '.notes[]' <<<"$output") == *"the second recording is the older one"* ]]
}

@test "diff: a recording and its copy have no change" {
	cp "$old" copy.mw
	mw_ok diff -o json "$old" copy.mw --fail-on 1
	[ "$(jq -r '[.rows[].status | select(. != null)] | unique[]' <<<"$output")" = same ]
	[ "$(total change_peak_bytes change_allocations new_rows gone_rows)" = "0 0 0 0" ]
	mw_ok diff "$old" copy.mw --min 1
	[[ $output == *"Nothing changed by as much as --min."* ]]
}

@test "diff: --sort, --fields, --min, --limit, --table, --by" {
	mw_ok diff -o json "$old" "$new" --sort allocations --table heap
	[ "$(jq -r '[.rows[].table] | unique | join(" ")' <<<"$output")" = "heap total" ]
	[ "$(jq -r '.rows[0] | keys_unsorted[2]' <<<"$output")" = before_allocations ]
	mw_ok diff -o json "$old" "$new" --fields live_blocks,max_bytes
	[ "$(row held change_live_blocks after_max_bytes change_max_bytes)" = "100 1000 0" ]
	[ "$(jq '.rows[0] | has("after_peak_bytes")' <<<"$output")" = false ]
	mw_ok diff -o json "$old" "$new" --min 60K --table heap
	[ "$(jq -c '[.rows[] | select(.table == "heap") | .change_peak_bytes]' <<<"$output")" = "[100000]" ]
	[ "$(total change_peak_bytes rows)" = "151136 3" ]
	mw_ok diff -o json "$old" "$new" --limit 1
	[ "$(jq .rows_cut.heap <<<"$output")" -eq 2 ]
	mw_ok diff -o json "$old" "$new" --by comm
	[ "$(jq -r '[.rows[] | select(.table == "heap") | .comm + " " + .status] | sort | join(", ")' <<<"$output")" = \
		"v1 gone, v2 new" ]
	[[ $(jq -r '.notes[]' <<<"$output") == *"the recordings have no row in common"* ]]
}

@test "diff: --rate divides counts, and leaves out what is there at one time" {
	mw_ok diff -o json "$old" "$new" --rate
	seconds=$(jq .after.interval.seconds <<<"$output")
	[ "$(total after_allocations_per_s | jq --argjson s "$seconds" '. * $s | round')" -eq 300 ]
	[ "$(jq '.rows[0] | has("after_live_bytes_per_s")' <<<"$output")" = false ]
	mw_error 2 diff "$old" "$new" --rate --sort live_bytes
}

@test "diff: --fail-on is of the total, or of a row as a part of the total; 1 only then" {
	for change in 1 151136 150% 151% 147K; do
		mw diff "$old" "$new" --fail-on $change
		[ "$status" -eq 1 ] && [[ $output == *"Regression"* ]] && [ -z "$stderr" ] || try refuse "--fail-on $change"
	done
	for change in 151137 151.2% 148K 1G; do
		mw_ok diff "$old" "$new" --fail-on $change
	done
	for change in 1 0.1%; do # what falls is none
		mw_ok diff "$new" "$old" --fail-on $change --sort live_bytes
	done
	mw diff "$new" "$old" --fail-on 100 --sort allocations --table heap # a row rose though the total fell
	[ "$status" -eq 1 ] || try refuse "--fail-on of a row"
	tried
}

@test "diff: what is refused, and why" {
	cp "$old" copy.mw
	ln copy.mw link.mw
	head -c 3000 /dev/urandom >noise.mw
	: >empty.mw
	try mw_error 2 diff
	try mw_error 2 diff "$old"
	try mw_error 2 diff "$old" "$new" extra
	for other in noise.mw empty.mw none.mw /etc/passwd /dev/null .; do
		try mw_error 2 diff "$old" "$other"
		try mw_error 2 diff "$other" "$new"
	done
	try mw_error 2 diff copy.mw link.mw
	[[ $stderr == *"are the same file"* ]] || try refuse "the same file"
	try mw_error 2 diff "$old" "$new" --of faults
	[[ $stderr == *"faults was not recorded"* ]] || try refuse "not recorded"
	for words in "--of nothing" "--of record" "--of check" "--sort comm" "--sort -peak_bytes" "--fields stack" \
		"--fields nothing" "--sort nothing" "--table growth" "--table nothing" "--fail-on 10ms" \
		"--fail-on much" "--min -1" "--by nothing" "-o nothing" "--by comm -o folded" "--out $old"; do
		try mw_error 2 diff "$old" "$new" $words
	done
	try mw_error 2 diff "$old" "$new" -- ls
	tried
}

@test "diff: a recording cut short is compared as far as it goes, with 4" {
	size=$(stat -c %s "$new")
	head -c $((size - 40)) "$new" >cut.mw
	mw diff "$old" cut.mw --fail-on 1
	[ "$status" -eq 4 ] && [[ $output == *"INCOMPLETE: "* && $output == *"added"* ]] && one_error || try refuse "after"
	mw diff -o json cut.mw "$old"
	[ "$status" -eq 4 ] && [ "$(jq '.before | has("damage")' <<<"$output")" = true ] && one_error || try refuse "before"
	for n in 8 100 $((size / 2)) $((size - 200)) $((size - 100)) $((size - 1)); do
		head -c "$n" "$new" >cut.mw
		mw diff "$old" cut.mw
		[ "$status" -eq 4 ] && one_error || try refuse "cut at $n"
	done
	for i in $(seq 30); do # damaged in its middle
		cp "$new" bad.mw
		printf '\xff\x00\x41' | dd of=bad.mw bs=1 seek=$((size * i / 31)) conv=notrunc status=none
		mw diff -o json "$old" bad.mw
		[[ $status -eq 0 || $status -eq 2 || $status -eq 4 ]] && { [ -z "$stderr" ] || one_error; } ||
			try refuse "damaged at $((size * i / 31))"
	done
	tried
}

@test "diff: every format; folded has two numbers a stack" {
	mw_ok diff -o folded "$old" "$new"
	grep -q 'main;held 100000 200000$' <<<"$output"
	grep -q 'main;added 0 51200$' <<<"$output"
	[ -z "$(grep -vE '^[^ ]+ [0-9]+ [0-9]+$' <<<"$output")" ]
	mw_ok diff -o csv "$old" "$new" --table heap
	csv_check <<<"$output"
	mw_ok diff -o jsonl "$old" "$new"
	jq -se 'length > 3 and .[-1].end == true and .[-1].of == "heap"' <<<"$output"
	for f in text wide; do
		mw_ok diff -o $f "$old" "$new"
		[[ $output == *$'\nbefore: '*$'\nafter: '*added* ]]
	done
	mw_ok diff "$old" "$new"
	[ -z "$(too_wide <<<"$output")" ]
	mw_ok diff --out report "$old" "$new"
	[ -s report ]
	[ -z "$output" ]
}

# many NAME COUNT...: a recording NAME1, NAME2 ... for each COUNT of allocations.
many() {
	local name=$1 n=0 count
	shift
	for count; do
		n=$((n + 1))
		"$MEMWHY" heap -q --record "$name$n.mw" --out /dev/null -- ./work "$count"
	done
}

# work: allocates as often as it is told, by one function, and 10 times by another.
work_build() {
	cat >work.c <<-'C'
		#include <stdlib.h>
		__attribute__((noinline)) void *counted(void) { return malloc(100); }
		__attribute__((noinline)) void *constant(void) { return malloc(10); }
		int main(int argc, char **argv)
		{
			for (int i = 0; i < atoi(argv[1]); i++)
				free(counted());
			for (int i = 0; i < 10; i++)
				free(constant());
			return argc != 2;
		}
	C
	gcc -O1 -g -o work work.c
}

@test "diff: several recordings a side: a rise beyond their noise fails, one within does not" {
	work_build
	many a 990 1000 1010
	many b 1020 1030 1040
	many c 1045 1050 1055
	words="--fail-on 2% --sort allocations -o json"
	mw_ok diff $words a1.mw a2.mw a3.mw -- b1.mw b2.mw b3.mw # 3 %, but p is 2 %
	[ "$(row counted status before_allocations before_allocations_spread after_allocations)" = "within noise 1000 10 1030" ]
	[ "$(row constant status change_allocations change_allocations_p)" = "same 0 1" ]
	jq -e '.verdict | test("within noise: p 2.1 %")' <<<"$output"
	mw diff $words a1.mw a2.mw a3.mw -- c1.mw c2.mw c3.mw # 5 %
	[ "$status" -eq 1 ] || refuse "5 %"
	[ "$(row counted status change_allocations_ratio)" = "more 0.05" ]
	[ "$(total change_allocations | cut -d. -f1)" -eq 50 ]
	jq -e '.verdict | startswith("Regression (--fail-on). Total allocations: 1,010 +- 10 before, 1,060 +- 5 after")' <<<"$output"
	jq -e '[.before.file, .before.others[].file] == ["a1.mw", "a2.mw", "a3.mw"] and (.after.others | length) == 2' <<<"$output"
	[[ $(jq -r '.notes[]' <<<"$output") == *"of 3 recordings before and 3 after"* ]] || refuse "the test is named"
	mw_ok diff $words c1.mw c2.mw c3.mw -- a1.mw a2.mw a3.mw # it fell
	mw diff $words a1.mw a2.mw a3.mw -- c2.mw # one that is taken to vary like the others: p 4 %
	[ "$status" -eq 0 ] || refuse "one after"
	[[ $(jq -r '.notes[]' <<<"$output") == *"a side with one recording is assumed to vary like the other"* ]]
}

@test "diff: several recordings: formats, damage, and what is refused" {
	work_build
	many a 100 110
	many b 200 210
	for f in text wide csv jsonl folded; do
		try mw_ok diff -o $f a1.mw a2.mw -- b1.mw b2.mw
		[[ $output == *counted* ]] || try refuse "$f"
	done
	mw_ok diff a1.mw a2.mw -- b1.mw b2.mw
	[ "$(grep -c '^before: a[12].mw' <<<"$output")" -eq 2 ]
	[ "$(grep -c '^after: b[12].mw' <<<"$output")" -eq 2 ]
	[ -z "$(too_wide <<<"$output")" ]
	mw_ok diff -o json a1.mw -- b1.mw
	[ "$(jq -c '.rows[0] | keys | map(select(endswith("_p")))' <<<"$output")" = "[]" ]
	cp a1.mw copy.mw
	ln copy.mw link.mw
	head -c $(($(stat -c %s b2.mw) - 40)) b2.mw >cut.mw
	try mw_error 2 diff a1.mw a2.mw b1.mw
	[[ $stderr == *"memwhy diff BEFORE BEFORE -- AFTER AFTER"* ]] || try refuse "three"
	try mw_error 2 diff -- b1.mw b2.mw
	try mw_error 2 diff a1.mw copy.mw -- b1.mw link.mw
	[[ $stderr == *"are the same file"* ]] || try refuse "the same file"
	try mw_error 2 diff a1.mw -- b1.mw --rate
	[[ $stderr == *"options go before --"* ]] || try refuse "an option at the end"
	try mw_error 2 diff a1.mw a2.mw -- b1.mw none.mw
	try mw_error 2 diff --out b2.mw a1.mw -- b1.mw b2.mw
	mw diff -o json a1.mw a2.mw -- b1.mw cut.mw
	[ "$status" -eq 4 ] && one_error && [ "$(jq '.after.others[0] | has("damage")' <<<"$output")" = true ] || try refuse "damaged"
	tried
}

@test "diff: of one recording a side --fail-on says that noise is not known" {
	mw_ok diff -o json "$old" "$new" --fail-on 1000%
	[[ $(jq -r '.notes[]' <<<"$output") == *"with one recording per side the noise is not known"* ]]
	mw_ok diff -o json "$old" "$new"
	[[ $(jq -r '.notes[]?' <<<"$output") != *"noise"* ]]
}

@test "diff: its fields are in the man page" {
	documented=$(man_section diff FIELDS | sed -n '/^\.TP$/{n;p}' | sort -u)
	keys=$(man_section heap FIELDS | sed -n '/^\.TP$/{n;p}' | sort -u)
	cp "$old" copy.mw
	mw_ok diff -o json "$old" copy.mw -- "$new"
	jq -r '[.rows[] | keys[]] | unique[] | select(. != "table")' <<<"$output" |
		sed -E 's/^(before|after|change)_.*_(ratio|error|spread|p)$/\1_FIELD_\2/; t; s/^(before|after|change)_.*/\1_FIELD/' |
		sort -u >fields
	[ -z "$(comm -23 fields <(sort -u <<<"$documented"$'\n'"$keys"))" ]
	grep -qx change_FIELD fields
	grep -qx change_FIELD_p fields
}

@test "diff: estimates are told with their error, and a change within it is said to be" {
	for i in 1 2; do
		"$MEMWHY" heap -q --sample 64K --record sampled$i.mw --out /dev/null -- \
			sh -c 'i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); x="$x$i"; done'
	done
	mw_ok diff -o json sampled1.mw sampled2.mw --sort allocated_bytes --fail-on 1000%
	[ "$(total change_allocated_bytes_error)" -gt 0 ]
	jq -e '[.rows[] | select(.change_allocated_bytes_error != null)] | length > 0' <<<"$output"
	jq -e 'all(.rows[] | select(.status != null and .change_allocated_bytes_error != null and .change_allocated_bytes != 0);
		((.change_allocated_bytes | fabs) <= 2 * .change_allocated_bytes_error - 2) as $in |
		if $in then .status | test("within error")
		elif (.change_allocated_bytes | fabs) > 2 * .change_allocated_bytes_error + 2
		then .status | test("within error") | not else true end)' <<<"$output"
	[[ $(jq -r '.notes[]' <<<"$output") == *"numbers are estimates"* ]]
}
