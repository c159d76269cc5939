# heap --faults: page faults and resident bytes by site, held against what the workload is known to
# touch, and against getrusage and smaps.
load common

setup() {
	cd "$BATS_TEST_TMPDIR"
	work=$WORKLOADS/heap_faults
}

# faults ARGS... -- CMD...: its JSON in $json, CMD's output in $output.
faults() {
	json=$BATS_TEST_TMPDIR/report.json
	run --separate-stderr timeout 60 "$MEMWHY" heap --faults -o json --out "$json" "$@"
	[ "$status" -eq 0 ] && [ -z "$stderr" ] || { echo "status $status: $stderr"; return 1; }
	# Each fault is in one row, and what is resident too.
	jq -e '.lost.heap == 0 and
		([.rows[] | select(.table == "residence") | .faults] | add) ==
		([.rows[] | select(.table == "looked") | .faults] | add) and
		([.rows[] | select(.table == "residence") | .resident_bytes] | add) ==
		([.rows[] | select(.table == "looked") | .rss_bytes // 0] | add)' "$json" >/dev/null ||
		{ jq -c . "$json"; return 1; }
}

# A field summed over the rows of a place, or of the stacks that have this function.
of_place() { # PLACE FIELD
	jq "[.rows[] | select(.table == \"residence\" and .place == \"$1\") | .$2] | add // 0" "$json"
}

of_site() { # FUNCTION FIELD
	jq --arg f "$1" "[.rows[] | select(.table == \"residence\") |
		select([.stack[]? | tostring] | any(test(\"\\\\b\" + \$f + \"\\\\b\"))) | .$2] | add // 0" "$json"
}

looked() { # FIELD
	jq ".rows[] | select(.table == \"looked\") | .$1" "$json"
}

near() { # VALUE WANTED EDGE
	echo "$1, wanted $2 within $3"
	[ "$1" -ge $(($2 - $3)) ]
	[ "$1" -le $(($2 + $3)) ]
}

@test "heap --faults: faults and resident bytes of each site are what it touched" {
	faults -- "$work" sites
	[ "$(of_site half_touched faults)" -eq 8192 ]
	[ "$(of_site all_touched faults)" -eq 2048 ]
	[ "$(of_site only_read faults)" -eq 1024 ]
	[ "$(of_site mapped_here faults)" -eq 1024 ]
	[ "$(of_site never_touched faults)" -eq 1 ] # the allocator's header, in the block's first page
	[ "$(of_site given_back faults)" -eq 1024 ]
	near "$(of_site by_read faults)" 512 1 # the kernel's, in read(2)
	[ "$(of_site half_touched live_bytes)" -eq $((64 << 20)) ]
	# From 16 bytes into the first page on; and one byte of the last page of the half.
	near "$(of_site half_touched resident_bytes)" $((32 << 20)) 4096
	near "$(of_site all_touched resident_bytes)" $((8 << 20)) 16
	near "$(of_site only_read resident_bytes)" 4080 16 # the rest is the zero page
	near "$(of_site given_back resident_bytes)" 4080 16
	near "$(of_site never_touched resident_bytes)" 4080 16
	[ "$(of_site mapped_here resident_bytes)" -eq $((4 << 20)) ]
	[ "$(of_site mapped_here live_bytes)" -eq $((16 << 20)) ]
	[ "$(of_site mapped_here untouched_bytes)" -eq $((12 << 20)) ]
	near "$(of_site half_touched untouched_bytes)" $((32 << 20)) 4096
}

# Before its exec it was memwhy's child; its end comes after what it says.
@test "heap --faults: all faults are getrusage's, all resident bytes are smaps' Rss" {
	local said major rss
	faults -- "$work" sites
	read -r _ said _ major _ rss <<<"$output"
	echo "said $output; looked $(looked faults) $(looked rss_bytes) kernel $(looked kernel_faults)"
	[ "$(looked faults)" -ge $((said - 64)) ]
	[ "$(looked faults)" -le $((said + 32)) ]
	[ "$(looked faults)" -le "$(looked kernel_faults)" ]
	[ "$(looked major_faults)" -eq "$major" ]
	near "$(looked rss_bytes)" $((rss * 1024)) $((512 << 10))
	# which the kernel counts in batches
	[ "$(looked rss_bytes)" -le $(($(looked peak_rss_bytes) + (512 << 10))) ]
}

@test "heap --faults: a program that allocates nothing has its faults too" {
	# One fault a page, whatever the setting of huge pages.
	cat >n.c <<-'C'
		#include <sys/prctl.h>
		char a[4096 * 1000];
		int main(void)
		{
			prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
			for (int i = 0; i < 1000; i++) a[i * 4096] = 1;
			return 0;
		}
	C
	gcc -O1 -o nothing n.c
	faults -- ./nothing
	[ "$(jq '[.rows[] | select(.place == "file" and .name == "nothing").faults] | add' "$json")" -ge 999 ]
	[ "$(looked faults)" -le "$(looked kernel_faults)" ]
	[ "$(looked rss_bytes)" -ge 4096000 ]
	[ "$(processes allocations live_bytes)" = "0 0" ]
}

# bats test_tags=host
@test "heap --faults: a page that sites share is split by bytes" {
	faults -- "$work" small 5000
	[ "$(of_site small_one resident_bytes)" -eq 5000000 ]
	[ "$(of_site small_other resident_bytes)" -eq 2500000 ]
	[ "$(of_site small_one untouched_bytes)" -eq 0 ]
	# 7.5 MB and the headers, page by page; who of the two touched it first is chance
	near "$(($(of_site small_one faults) + $(of_site small_other faults)))" 1855 60
}

# bats test_tags=host
@test "heap --faults: stacks of threads, and what threads allocate" {
	faults -- "$work" threads 4
	near "$(of_site all_touched faults)" 1024 8
	near "$(of_site all_touched resident_bytes)" $((4 << 20)) 4096
	[ "$(of_place stack faults)" -ge 248 ] # 4 times 256 KiB
	[ "$(of_place stack faults)" -le 320 ]
}

# bats test_tags=host
@test "heap --faults: what realloc copies and moves stays with its site" {
	faults -- "$work" grow
	[ "$(of_site mode_grow live_bytes)" -eq 16384000 ]
	[ "$(of_site mode_grow resident_bytes)" -eq 16384000 ]
	near "$(of_site mode_grow faults)" 4032 48
}

@test "heap --faults: a fork's faults are its own, exactly; its parent's blocks keep their site" {
	local said
	faults -- "$work" fork
	read -r _ said _ <<<"${lines[0]}" # the child's, which began with none
	counted=$(jq '[.rows[] | select(.table == "looked") | .faults] | min' "$json")
	echo "child said $said, counted $counted"
	[ "$counted" -ge "$said" ]
	[ "$counted" -le $((said + 32)) ]
	near "$(of_site of_parent faults)" 3072 2 # the parent's 2048, and 1024 that the child copied
	[ "$(of_site all_touched faults)" -eq 512 ]
}

# bats test_tags=host
@test "heap --faults: programs after exec, each counted for itself" {
	faults -- sh -c "$work small 100; exec $work small 100"
	[ "$(jq '[.rows[] | select(.table == "looked" and .comm == "heap_faults")] | length' "$json")" -eq 2 ]
	[ "$(of_site small_one resident_bytes)" -eq 200000 ]
}

noted() { # PATTERN
	jq -e --arg p "$1" 'any(.notes[]?; test($p))' "$json" >/dev/null
}

# bats test_tags=host
@test "heap --faults: a peak that no look was at is the kernel's, and that is said" {
	local of="'heap_faults' \\(pid [0-9]+\\)" comm='.comm == "heap_faults"'
	local each=".rows[] | select(.table == \"looked\" and $comm)"
	faults -- sh -c '"$0" short $PPID' "$work" # while memwhy is stopped
	jq -c "$each" "$json"
	jq -e "$each | .peak_rss_bytes > 33554432 and .rss_bytes < 8388608" "$json" >/dev/null
	noted "^RSS of $of peaked at 3[2-6].*the most found is [1-7]\\."
	# Its end came unseen.
	faults -- sh -c 'exec 2>/dev/null; "$0" killed $PPID; kill -CONT $PPID' "$work"
	noted "^$of took 8[0-9]{3} page faults (after|and ended before)"
	# A look there was, or it is said that there was none.
	faults -- "$work" peak 60
	if jq -e "$each | .rss_bytes > 33554432" "$json" >/dev/null; then
		near "$(of_site half_touched resident_bytes)" $((32 << 20)) 4096
		! noted "^RSS of" || false
	else
		noted "^RSS of $of peaked at 3"
	fi
}

# bats test_tags=host
@test "heap --faults: a recording shows the same; intervals show what came in them" {
	faults --record r.mw -- "$work" sites
	"$MEMWHY" heap --input r.mw -o json --out again.json
	for f in "$json" again.json; do
		jq -cS '[.rows[] | select(.table == "residence" or .table == "looked")]' "$f" >"$f.rows"
	done
	diff "$json.rows" again.json.rows
	"$MEMWHY" heap --faults -i 300ms -o jsonl --table residence --out i.jsonl -- \
		sh -c "$work small 100; sleep 1"
	[ "$(jq -s '[.[] | select(.table == "residence" and .place == "heap blocks" and
		([.stack[]? | tostring] | any(test("small_one"))) and .faults > 0)] | length' i.jsonl)" -eq 1 ]
}

# bats test_tags=host
@test "heap --faults: without privilege" {
	needs_root
	chmod 755 .
	cp "$MEMWHY" own
	cp "$work" .
	home_make
	local paranoid
	paranoid=$(sysctl -n kernel.perf_event_paranoid)
	[ "$paranoid" -le 2 ] || skip "kernel.perf_event_paranoid is $paranoid"
	as_nobody env HOME="$home" ./own heap --faults -o json -- ./heap_faults sites >out 2>err || { cat err; false; }
	sed -n '/^{/,$p' out >plain.json
	of_size() { # BYTES: faults of the block of that size, as its stack may have no names here
		jq ".rows[] | select(.place == \"heap blocks\" and .live_bytes == $1) | .faults" plain.json
	}
	[ "$(of_size $((64 << 20)))" -eq 8192 ]
	if [ "$paranoid" -eq 2 ]; then
		[ "$(of_size $((2 << 20)))" -le 1 ]
		jq -r '.notes[]' plain.json | grep -q 'page faults in kernel mode'
	fi
}

# bats test_tags=host
@test "heap --faults: what it does not go with" {
	run "$MEMWHY" heap --faults -p $$
	[ "$status" -eq 2 ]
	[[ $output == *"--faults works with -- CMD only"* ]]
	run "$MEMWHY" heap --faults --sample 512K -- true
	[ "$status" -eq 2 ]
	[[ $output == *"cannot be combined with --sample"* ]]
	run "$MEMWHY" heap --faults -- "$WORKLOADS/heap_work_static" each
	[ "$status" -eq 3 ]
	[[ $output == *"--faults needs the preload library"* ]]
}
