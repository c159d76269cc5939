#!/usr/bin/env bats
# Names that other people choose: of processes, files, libraries, cgroups. In no format may a byte
# of them act on a terminal, break a line, or end a field.
# bats file_tags=beside
load common

# A task's name is at most 15 bytes; these are.
names=($'\e[31mred' $'a"b\'c,d;e f' $'two\nlines\tx' $'\xff\xfe\xc3(' $'\xc2\x9b31mc1' $'\x9b31mc1'
	' lead' '=1+1' '\x1b\n' 'naïve €' $'\x7f\b\r' '{"end":true}' '%s%n$(id)`id`' '<b>&amp;'
	'<script>1' '<img src=x>' '-->]]>{{1}}' $'\u202egpj.exe')

setup_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	cd "$BATS_FILE_TMPDIR"
	mkdir bin
	for name in "${names[@]}"; do
		ln -s /bin/true "bin/$name"
	done
	cat >all.sh <<-'END'
		cd bin
		for f in *; do "./$f"; done
	END
	"$MEMWHY" record names.mw -- bash all.sh 2>record.err 3>&-
	# The same as single events.
	"$MEMWHY" faults --each --stacks --record each.mw --out each.text -- bash all.sh 3>&-
}

setup() {
	needs_root
	cd "$BATS_FILE_TMPDIR"
}

# Each way to show the recordings.
ways() {
	for c in $(commands_with input output); do
		for mode in "" "--by comm" "--by thread" "--by mapping" --stacks; do
			[[ $mode == --by* ]] && ! keys "$c" | grep -qw "${mode#--by }" && continue
			echo "$c --input names.mw $mode"
		done
	done
	echo "faults --input each.mw --each"
	echo "faults --input each.mw --each --stacks"
}

@test "hostile: no format lets a control byte through, or what is not UTF-8" {
	while read -r c; do
		for f in text wide json jsonl csv folded speedscope html; do
			[[ $f == @(folded|speedscope) && ($c != *--stacks* || $c == *--each*) ]] && continue
			[[ $c == check* && ($f == @(folded|speedscope) || $f == csv) ]] && continue
			[[ $c == where* && $f == @(folded|speedscope) ]] && continue # a ledger has no stacks
			# Of a probe that was not recorded there are no rows, and no place to say so: an error.
			[[ $f == @(csv|folded|speedscope) ]] && "$MEMWHY" $c --limit 1 | grep -q 'was not recorded' && continue
			"$MEMWHY" $c -o $f --limit 0 >shown 2>err || try refuse "$c -o $f"
			[ -s err ] && try refuse "$c -o $f: $(<err)"
			! has_controls <shown || try refuse "$c -o $f: control bytes"
			iconv -f utf-8 -t utf-8 shown >/dev/null || try refuse "$c -o $f: not UTF-8"
		done
	done < <(ways)
	tried
}

@test "hostile: json gives the names back" {
	for file in "names.mw" "each.mw --each"; do
		"$MEMWHY" faults --input $file -o json >shown
		for name in "${names[@]}"; do
			iconv -f utf-8 -t utf-8 <<<"$name" >/dev/null 2>&1 || continue
			jq -e --arg n "${name:0:15}" 'any(.rows[]; .comm == $n)' shown >/dev/null ||
				try refuse "$file: $(printf %q "$name") is not there"
		done
		"$MEMWHY" faults --input $file -o jsonl | jq -es '.[-1].end == true' >/dev/null || try refuse "$file: jsonl"
	done
	tried
}

@test "hostile: csv has the same number of fields in every line, and a line a row" {
	for words in "--input names.mw" "--input names.mw --by comm" "--input each.mw --each" "--input names.mw --by mapping --stacks"; do
		"$MEMWHY" faults $words -o csv >shown
		csv_check <shown || try refuse "$words"
		! grep -E '(^|,)"?[=+@]' shown || try refuse "$words: a formula"
		[[ $words == *mapping* ]] || grep -q "'=1+1" shown || try refuse "$words: where is =1+1?"
		rows=$("$MEMWHY" faults $words -o json | jq '.rows | length')
		[ "$(wc -l <shown)" -eq $((rows + 1)) ] || try refuse "$words: not $rows rows"
	done
	tried
}

@test "hostile: text has a line a process; folded a stack and a weight a line" {
	"$MEMWHY" faults --input names.mw --limit 0 -q >shown
	rows=$("$MEMWHY" faults --input names.mw -o json | jq '.rows | length')
	[ "$(grep -c '' shown)" -eq $((rows + 1)) ]
	"$MEMWHY" faults --input names.mw --stacks -o folded >shown
	! grep -vE '^[^; ]+(;[^; ]+)* [0-9]+$' shown || false
	[ "$(cut -d';' -f1 shown | sort -u | wc -l)" -ge "${#names[@]}" ]
}

@test "hostile: a name a process gives itself, exact by event" {
	cat >"$BATS_TEST_TMPDIR/rename.sh" <<-'END'
		printf '\e[7m";,\tx' >/proc/self/comm
		for i in 1 2 3 4 5 6 7 8; do x=$x$(printf '%100000s' .); done
	END
	for f in text wide json jsonl csv; do
		"$MEMWHY" faults --each -o $f --out told -- bash "$BATS_TEST_TMPDIR/rename.sh"
		! has_controls <told || try refuse "-o $f: control bytes"
		[ $f = csv ] && { csv_check <told || try refuse "csv"; }
	done
	"$MEMWHY" faults --each -o json --out told -- bash "$BATS_TEST_TMPDIR/rename.sh"
	[ "$(jq '[.rows[] | select(.comm == "\u001b[7m\";,\tx")] | length' told)" -gt 20 ]
	tried
}

@test "hostile: a process is shown by the name it has, not one it had" {
	printf 'printf newname >/proc/self/comm\nfor i in 1 2 3 4 5 6; do x=$x$(printf "%%100000s" .); done' >"$BATS_TEST_TMPDIR/r.sh"
	"$MEMWHY" faults -o json --out told -- bash -c 'echo $$ >pid; . "$1"; :' - "$BATS_TEST_TMPDIR/r.sh"
	[ "$(jq -r --argjson p "$(<pid)" '.rows[] | select(.pid == $p) | .comm' told)" = newname ] || {
		jq -c '.rows[]' told
		false
	}
}

@test "hostile: --by comm counts a fault under the name the task had" {
	[ -x "$WORKLOADS/touch" ] || skip "the workload is not built"
	echo go >input
	"$MEMWHY" faults --by comm -o json --out told -- sh -c 'exec "$0" 16 <input >/dev/null 2>&1' "$WORKLOADS/touch"
	[ "$(jq '[.rows[] | select(.comm == "touch") | .count] | add // 0' told)" -ge 4096 ] || {
		jq -c '.rows[]' told
		false
	}
}

@test "hostile: files, libraries and functions in mappings and stacks" {
	dir=$BATS_TEST_TMPDIR/$'d\e[32m;,"\n'
	mkdir "$dir"
	cp "$WORKLOADS/touch" "$dir/"$'p\e[1m,;" '
	strip "$dir/"$'p\e[1m,;" '
	head -c 2000000 /dev/zero >"$dir/"$'f\e]0;t\a,;"'
	for words in "--by mapping" "--stacks=user" "--by mapping --stacks" "--each --by mapping --stacks"; do
		"$MEMWHY" faults $words --record files.mw --out /dev/null -- \
			sh -c 'echo go | "$0" 4 "$1" >/dev/null 2>&1' "$dir/"$'p\e[1m,;" ' "$dir/"$'f\e]0;t\a,;"'
		for f in text wide json jsonl csv folded speedscope html; do
			[[ $f == @(folded|speedscope) && ($words != *stacks* || $words == *each*) ]] && continue
			"$MEMWHY" faults --input files.mw $words -o $f --limit 0 >shown || try refuse "$words -o $f"
			! has_controls <shown || try refuse "$words -o $f: control bytes"
			[ $f != csv ] || csv_check <shown || try refuse "$words: csv"
			[[ $f != json || $words != *mapping* ]] ||
				jq -e 'any(.rows[]; .file // "" | startswith("f\u001b]0;t\u0007"))' shown >/dev/null ||
				try refuse "$words: the mapped file is not shown: $(jq -c '[.rows[].file] | unique' shown)"
		done
	done
	tried
}

@test "hostile: a control group" {
	dir=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ || $3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$dir" ] || skip "no cgroup hierarchy"
	group=$dir/$'m\e[31m",;%s'-$$
	mkdir "$group"
	mw_status=0
	"$MEMWHY" faults -g "$group" --by cgroup -o json --out told -- sh -c 'echo $$ >"$0/cgroup.procs"; ls / >/dev/null' "$group" || mw_status=$?
	"$MEMWHY" faults -g "$group" --by cgroup --for 50ms -v >text || mw_status=$?
	rmdir "$group"
	[ "$mw_status" -eq 0 ]
	! has_controls <told || false
	! has_controls <text || false
	jq -e 'any(.rows[]; .cgroup // "" | contains("m\u001b[31m\",;%s-"))' told || { cat told; false; }
}

@test "hostile: the scope is shown escaped, and json gives it back" {
	mw_ok faults -c $'\e[31m,"' --for 50ms
	! has_controls <<<"$output" || false
	mw_ok faults -c $'\e[31m,"' --for 50ms -o json
	jq -e '.scope | contains("\u001b[31m,\"")' <<<"$output"
	mw_ok faults --out told -- "$PWD/bin/"$'\e[31mred'
	! has_controls <told || false
	mw_error 127 faults -- $'./no\e[31msuch\n'
}

# Hints name commands with words of the command line: a shell reads these back as they were.
@test "hostile: the command of a hint can be copied" {
	local word
	for word in 'a b' 'a;touch pwned' '`touch pwned`' '$(touch pwned)' "it's" $'a\nb' "';touch pwned;'"; do
		mw_error 2 faults "$word"
		[[ $stderr == *"goes after --: memwhy faults -- "* ]]
		printf '%s\n' "memwhy() { printf '%s|' \"\$@\"; }" "${stderr##*goes after --: }" >hint
		[ "$(sh hint)" = "faults|--|$word|" ]
		[ "$(bash hint)" = "faults|--|$word|" ]
	done
	mw_error 2 faults -c "';touch pwned;'..."
	[ "$(sh -c "printf %s ${stderr##*use -c }")" = "';touch pwned;'" ]
	[ ! -e pwned ]
}
