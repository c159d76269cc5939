#!/usr/bin/env bats
# Recordings that are kept (tests/recordings, of each probe, made in a guest by `make` there): what is in them
# stays readable, record by record; their page says what -o json says; and each goes through every format.
# bats file_tags=beside
load common

kept=$BATS_TEST_DIRNAME/../recordings

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# sums TABLE: of each column of a table in kept.db that is not 0, by its name.
sums() {
	local columns values
	columns=$(sqlite3 kept.db "SELECT name FROM pragma_table_info('$1')") || return
	values=$(sqlite3 -separator $'\n' kept.db "SELECT $(sed 's/.*/total("&")/' <<<"$columns" | paste -sd,) FROM $1") || return
	paste <(echo "$columns") <(echo "$values") | awk '$2 != 0' | sort
}

# How many records of each kind, and names to them, a recording has, and a hash of the sums of its columns, so
# that no field is read from another's place: lines of FILE KIND COUNT HASH. A field that is new sums to 0, and
# changes nothing.
records() {
	local f t n
	for f in "$kept"/*.mw; do
		"$MEMWHY" export --to sqlite --out kept.db --force "$f" || return
		[ "$(sqlite3 kept.db 'PRAGMA integrity_check')" = ok ] || return
		for t in $(sqlite3 kept.db "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"); do
			n=$(sqlite3 kept.db "SELECT count(*) FROM $t") || return
			[ "$n" -eq 0 ] || echo "${f##*/} $t $n $(sums "$t" | md5sum | cut -c1-8)"
		done
	done
}

@test "recordings: each is read whole, with as many records of each kind as when it was made" {
	command -v sqlite3 >/dev/null || skip "needs sqlite3"
	records >got
	# For a recording that is new: MEMWHY_UPDATE_GOLDEN=1
	[ -z "${MEMWHY_UPDATE_GOLDEN-}" ] || cp got "$kept/records"
	diff "$kept/records" got
	[ "$(wc -l <got)" -gt 100 ]
}

@test "recordings: every probe is in one of them" {
	for f in "$kept"/*.mw; do
		"$MEMWHY" check --input "$f" -o json 2>/dev/null | jq -r '.methods | keys[]'
	done | sort -u >have
	for p in $(sed -n 's/^PROBE(\(.*\))$/\1/p' "$BATS_TEST_DIRNAME/../../src/probes/probes.def"); do
		grep -qx "$p" have || try refuse "no recording of $p: tests/recordings/make"
	done
	[ "$(wc -l <have)" -gt 20 ]
	tried
}

# same_page FILE: each report of its page has the rows and findings of -o json.
same_page() {
	local f=$1 n=${1##*/} json c words
	"$MEMWHY" report "$f" --out "$n.html" || return
	/usr/bin/python3 "$BATS_TEST_DIRNAME/page.py" check "$n.html" || return
	/usr/bin/python3 "$BATS_TEST_DIRNAME/page.py" json "$n.html" >"$n.pages" || return
	while read -r json; do
		c=$(jq -r .command <<<"$json")
		[ "$c" != report ] || continue # the course over time, of the page only
		words=()
		[ "$c" = check ] || { has_option "$c" stacks && jq -e 'any(.rows[]; has("stack"))' <<<"$json" >/dev/null && words+=(--stacks); }
		[[ $n != *_each.mw && $n != policy.mw ]] || words+=(--each)
		"$MEMWHY" "$c" --input "$f" "${words[@]}" --limit 0 -o json >"$n.json" || return
		jq -S '[.rows, .findings]' "$n.json" >want
		jq -S '[.rows, .findings]' <<<"$json" | diff -q - want >/dev/null || refuse "$n: $c ${words[*]}: the page has other rows" || return
		shown=$((shown + 1))
	done <"$n.pages"
}

@test "recordings: the page of each says what -o json says" {
	shown=0
	for f in "$kept"/*.mw; do
		try same_page "$f"
	done
	[ "$shown" -ge 25 ] || refuse "only $shown reports"
	tried
}

# pprof_sums FILE: the sum of each kind of sample, as go tool pprof reads it: lines of NAME SUM.
pprof_sums() {
	go tool pprof -raw "$1" 2>/dev/null | awk '
		/^Samples:/ { getline; n = split($0, names, " "); inside = 1; next }
		/^Locations/ { inside = 0 }
		inside && /^ +(-?[0-9]+ +)*-?[0-9]+:/ { sub(/:.*/, ""); for (i = 1; i <= n; i++) sums[i] += $i }
		END { for (i = 1; i <= n; i++) { sub(/\/.*/, "", names[i]); printf "%s %.0f\n", names[i], sums[i] } }' | sort
}

# formats FILE COMMAND: stacks as pprof, speedscope and folded lines, and their totals.
formats() {
	local f=$1 c=$2 n=${1##*/} folded fields=()
	n=${n%.mw}-$c
	[ "$c" != heap ] || fields=(--fields peak_bytes) # profiles have four others
	"$MEMWHY" export --to folded --of "$c" --out "$n.folded" "$f" 2>err || {
		grep -qE 'needs stacks|has single events|shows stacks' err || refuse "$n: folded: $(<err)"
		return
	}
	"$MEMWHY" export --to speedscope --of "$c" "${fields[@]}" --out "$n.json" "$f" 2>err ||
		refuse "$n: speedscope: $(<err)" || return
	"$MEMWHY" export --to pprof --of "$c" --out "$n.pb.gz" "$f" 2>err || refuse "$n: pprof: $(<err)" || return
	folded=$(awk '{ s += $NF } END { printf "%.0f", s }' "$n.folded")
	jq -e '(.shared.frames | length) as $n | all(.profiles[]; all(.samples[][]; . >= 0 and . < $n) and
		(.samples | length) == (.weights | length) and (.weights | add // 0) == .endValue)' "$n.json" >/dev/null ||
		refuse "$n: speedscope's samples" || return
	jq -e --argjson sum "$folded" 'any(.profiles[]; .endValue == $sum)' "$n.json" >/dev/null ||
		refuse "$n: folded lines have $folded, speedscope $(jq -c '[.profiles[].endValue]' "$n.json")" || return
	gzip -t "$n.pb.gz" || refuse "$n: pprof is no gzip" || return
	if [ -n "$go" ]; then
		go tool pprof -raw "$n.pb.gz" 2>err | grep -q '^PeriodType: ' || refuse "$n: go tool pprof: $(<err)" || return
		"$MEMWHY" export --to speedscope --of "$c" --out "$n.all.json" "$f" || return
		# growth may be negative, which speedscope does not draw
		diff <(pprof_sums "$n.pb.gz" | grep -v '^growth ') <(jq -r '.profiles[] | "\(.name) \(.endValue)"' "$n.all.json" | sort) ||
			refuse "$n: go tool pprof has other sums than speedscope's file" || return
	fi
	[ "$folded" -eq 0 ] || through=$((through + 1)) # an empty one says nothing
}

@test "recordings: each goes through every format, and the totals agree" {
	local go protoc
	go=$(command -v go) || true
	protoc=$(command -v protoc) || true
	through=0
	for f in "$kept"/*.mw; do
		n=${f##*/}
		for c in $("$MEMWHY" report "$f" --out page.html --force && /usr/bin/python3 "$BATS_TEST_DIRNAME/page.py" json page.html | jq -r .command); do
			[ "$c" = check ] || [ "$c" = report ] || try formats "$f" "$c"
		done
		"$MEMWHY" export --to perfetto --out "$n.pftrace" "$f" 2>err || try refuse "$n: perfetto: $(<err)"
		[ -n "$protoc" ] || continue
		protoc --proto_path="$BATS_TEST_DIRNAME/../export" --decode=Trace perfetto.proto <"$n.pftrace" |
			"$BATS_TEST_DIRNAME/../export/perfetto_check" >has || try refuse "$n: the trace"
	done
	[ "$through" -ge 8 ] || refuse "only $through profiles"
	tried
	[ -n "$go" ] && [ -n "$protoc" ] || skip "all but what needs go and protoc: one is not installed"
}

@test "recordings: without names, none of theirs is left" {
	local names=(numa_work heap_work policy_calls leak_work swap_walk reclaim_memcg huge_touch oom_grow /usr/local/bin sized greedy)
	: >named
	for f in "$kept"/*.mw; do
		n=${f##*/}
		"$MEMWHY" export --to sqlite --out named.db --force "$f" || try refuse "$n"
		sqlite3 named.db .dump >>named
		"$MEMWHY" export --to sqlite --anonymize --out anonymous.db --force "$f" || try refuse "$n"
		sqlite3 anonymous.db .dump >dump
		for name in "${names[@]}"; do
			! grep -qwF "$name" dump || try refuse "$n: $name is left"
		done
	done
	for name in "${names[@]}"; do
		grep -qwF "$name" named || try refuse "no recording has $name: it says nothing that none is left"
	done
	sqlite3 anonymous.db 'SELECT count(*) > 10 FROM string' | grep -qx 1
	tried
}
