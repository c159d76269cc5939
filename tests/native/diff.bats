#!/usr/bin/env bats
# Runs of real programs compared: those of one program differ by noise only, however they are split.
# bats file_tags=beside
load common

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR" || return
}

# runs COMMAND NAME N WORD...: N recordings of what WORD... does, to NAME1.mw, NAME2.mw and so on.
runs() {
	local i
	for ((i = 1; i <= $3; i++)); do
		"$MEMWHY" "$1" -q --record "$2$i.mw" --out /dev/null -- "${@:4}" >/dev/null
	done
}

# touch: a page fault for each of so many pages.
touch_build() {
	cat >touch.c <<-'C'
		#include <stdlib.h>
		#include <sys/mman.h>
		int main(int argc, char **argv)
		{
			size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) << 12 : 0;
			char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			madvise(p, n, MADV_NOHUGEPAGE);
			for (size_t i = 0; i < n; i += 4096)
				p[i] = 1;
			return p == MAP_FAILED;
		}
	C
	gcc -O1 -o touch touch.c
}

@test "diff: six runs of one program are no regression, whichever three are after; 5 % more faults are" {
	touch_build
	runs faults a 6 ./touch 4000
	runs faults b 3 ./touch 4210
	for ((split = 0; split < 64; split++)); do
		before=() after=()
		for ((i = 1; i <= 6; i++)); do
			((split >> (i - 1) & 1)) && after+=("a$i.mw") || before+=("a$i.mw")
		done
		[ "${#after[@]}" -eq 3 ] || continue
		"$MEMWHY" diff --fail-on 2% -q "${before[@]}" -- "${after[@]}" >out 2>&1 ||
			{ echo "${before[*]} -- ${after[*]}: status $?" && cat out && false; }
	done
	status=0
	"$MEMWHY" diff --fail-on 2% -o json a1.mw a2.mw a3.mw -- b1.mw b2.mw b3.mw >out || status=$?
	[ "$status" -eq 1 ]
	jq -e '[.rows[] | select(.table == "total")][0] | .change_count > 190 and .change_count_p < 0.01' out
}

@test "diff: --fail-on judges the calls of syscalls, not their times, unless these are asked for" {
	runs syscalls a 2 sh -c 'for i in 1 2 3; do cat /proc/self/stat; done'
	runs syscalls b 1 sh -c 'for i in 1 2 3 4 5; do cat /proc/self/stat; done'
	"$MEMWHY" diff --fail-on 20% -o json a1.mw a2.mw >out
	jq -e '[.rows[0] | keys_unsorted[] | select(startswith("before_"))][0] == "before_count"' out
	jq -e '.notes | any(contains("--fail-on judges counts: --sort total_ns judges that time"))' out
	status=0
	"$MEMWHY" diff --fail-on 20% -o json a1.mw b1.mw >out || status=$?
	[ "$status" -eq 1 ]
	for words in "--fail-on 1h" "--fail-on 1000000% --sort total_ns"; do
		"$MEMWHY" diff $words -o json a1.mw a2.mw >out
		jq -e '[.rows[0] | keys_unsorted[] | select(startswith("before_"))][0] == "before_total_ns"' out
		jq -e '.notes | any(contains("judges counts")) | not' out
	done
}
