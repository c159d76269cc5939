#!/usr/bin/env bats
# --help, the man pages, the completion and the parser come from one table: here they are held
# against each other, and against what the commands do.
# bats file_tags=beside
load common

@test "help: every command's --help is usage, examples, options, and is 'help COMMAND'" {
	[ "$(commands | wc -l)" -ge 5 ]
	for c in $(commands); do
		try mw_ok "$c" --help
		text=$output
		[[ $text == "Usage: memwhy $c"*$'\n\nExamples:\n  '*memwhy* ]] || try refuse "$c --help does not begin with usage and examples"
		# The description of an example is two columns from it, or on the next line.
		glued=$(sed -n '/^Examples:/,/^$/p' <<<"$text" | awk '
			held != "" && ($0 !~ /^ *[^ ]/ || match($0, /[^ ]/) != 47) { print held }
			{ held = /^  [^ ]/ && length > 44 && substr($0, 45, 2) != "  " ? $0 : "" }')
		[ -z "$glued" ] || try refuse "$c: glued: $glued"
		try mw_ok help "$c"
		[ "$output" = "$text" ] || try refuse "'help $c' is not '$c --help'"
		try mw_ok "$c" -h
		[ "$output" = "$text" ] || try refuse "'$c -h' is not '$c --help'"
	done
	tried
}

@test "help: the overview lists the commands; without a command it is a usage error" {
	mw_ok help
	overview=$output
	[[ $overview == "Usage: "*"Examples:"*"Commands:"*" Diagnose:"*" NUMA:"* ]]
	for c in help check doctor record faults; do
		grep -q "^  $c  *[A-Z]" <<<"$overview"
	done
	for flag in --help -h; do
		mw_ok "$flag"
		[ "$output" = "$overview" ]
	done
	mw
	[ "$status" -eq 2 ]
	[ -z "$output" ]
	[ "$stderr" = "$overview" ]
}

@test "help: everything fits 100 columns" {
	for c in "" $(commands); do
		! "$MEMWHY" help $c | too_wide || false
	done
}

@test "help: --version" {
	mw_ok --version
	[[ $output =~ ^memwhy\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "help: refuses what it does not know, and suggests the nearest" {
	for c in $(commands); do
		near="$c${c: -1}"
		try mw_error 2 "$near"
		[[ $stderr == *"did you mean 'memwhy $c'"* ]] || try refuse "memwhy $near does not suggest $c"
		try mw_error 2 help "$near"
		[[ $stderr == *"$c'"* ]] || try refuse "memwhy help $near does not suggest $c"
		try mw_error 2 help man "$near"
	done
	try mw_error 2 nothinglikeit
	try mw_error 2 ""
	try mw_error 2 --nothinglikeit
	try mw_error 2 -z
	try mw_error 2 -p 1
	[[ $stderr == *"'-p' before the command"*"memwhy COMMAND -p"* ]] || try refuse "memwhy -p 1"
	try mw_error 2 help help help
	try mw_error 2 help faults extra
	tried
}

@test "help: the name of an older tool names what does it here" {
	while read -r tool ours; do
		try mw_error 2 "$tool"
		[[ $stderr == *"memwhy $ours"* ]] || try refuse "$tool: not $ours"
	done <<-END
		memleak leak
		drsnoop reclaim --like drsnoop
		oomkill oom --like oomkill
		strace syscalls --like strace
		numastat numa
		slabtop slab
	END
	# What they name is there.
	for tool in drsnoop vmscan compactsnoop swapin oomkill mmapsnoop brkstack shmsnoop strace; do
		try mw_error 2 "$tool"
		words=${stderr##*memwhy }
		"$MEMWHY" ${words% --like*} --help | grep -q "^--like takes:.*${words##* }" || try refuse "$tool: $words"
	done
	tried
}

@test "help: count --list prints the events of a glob and their fields" {
	needs_root
	mw_ok count --list 'kmem:mm_page_*' -o json
	jq -e '[.rows[].event] | index("kmem:mm_page_alloc")' <<<"$output" >/dev/null || refuse "no event"
	jq -e '.rows[] | select(.event == "kmem:mm_page_alloc") | .fields | test("order, gfp_flags")' <<<"$output" >/dev/null || refuse "no fields"
	mw_ok count --list page-faults
	[[ $output == *page-faults* ]] || refuse "no software event"
	mw_error 2 count --list
	mw_error 2 count --list 'nosuch:*'
}

@test "help: an unknown option suggests the nearest one" {
	seen=" "
	for c in $(commands); do
		for o in $(options "$c"); do
			[[ $seen == *" $o "* ]] && continue # the tables are shared
			seen+="$o "
			near="$o${o: -1}"
			try mw_error 2 "$c" "--$near"
			[[ $stderr == *"did you mean --$o?"* ]] || try refuse "$c --$near does not suggest --$o"
		done
		try mw_error 2 "$c" -Z
		try mw_error 2 "$c" --nothinglikeit
	done
	tried
}

@test "help: a usage error suggests what would be right" {
	for o in -V --versio --verson; do
		mw_error 2 "$o"
		[[ $stderr == *"did you mean --version?" ]]
	done
	mw_error 2 -p
	[[ $stderr == *"memwhy COMMAND -p ..."* ]]
	mw_error 2 report
	[[ $stderr == *"memwhy report FILE --out report.html" ]]
	mw_error 2 where -o nosuch
	[[ $stderr == *"formats: text, "*", pprof, speedscope, perfetto, sqlite" ]]
}

@test "help: to a full disk is an error" {
	for words in help "help man" "help man faults" "help completion" "faults --help" --version; do
		status=0
		"$MEMWHY" $words >/dev/full 2>"$BATS_TEST_TMPDIR/err" || status=$?
		stderr=$(<"$BATS_TEST_TMPDIR/err") output=
		[ "$status" -ne 0 ] && one_error || try refuse "$words to /dev/full"
	done
	tried
}

@test "man: every option and its help are in the man page, and no other" {
	for c in $(commands); do
		diff <(options "$c" | sort) \
			<(man_section "$c" OPTIONS | sed -n 's/^\(-[a-zA-Z], \)\?--\([a-z-]\+\).*/\2/p' | sort) ||
			try refuse "$c: options in --help (<) and in the man page (>)"
		mine=$("$MEMWHY" "$c" --help | tr -s ' \n' '  ')
		while read -r line; do
			[[ $mine == *"$line"* ]] || try refuse "$c: not in --help: $line"
		done < <(man_section "$c" OPTIONS | grep -v '^\.\|^-')
	done
	tried
}

@test "man: the synopsis is the usage line, the name line the summary" {
	for c in $(commands); do
		usage=$("$MEMWHY" "$c" --help | sed -n 's/^Usage: //p')
		[ -n "$usage" ]
		[ "$(man_section "$c" SYNOPSIS)" = "$usage" ] || try refuse "$c: $usage"
		summary=$("$MEMWHY" help | sed -n "s/^  $c  *//p")
		[ "$(man_section "$c" NAME)" = "memwhy-$c - $summary" ] || try refuse "$c: $summary"
	done
	tried
}

@test "man: the main page lists every command" {
	page=$("$MEMWHY" help man | sed 's/\\-/-/g')
	for c in $(commands); do
		grep -q "^\.BR memwhy-$c (8)" <<<"$page"
	done
}

@test "man: a column of what there is a second ends in /s, in every command" {
	for c in $(commands); do
		other=$("$MEMWHY" help man "$c" | sed -n '/^\.SH EXAMPLE OUTPUT/,/^\.SH OPTIONS/p' |
			grep -E '(PER|A) SECOND|/S( |$)') || continue
		try refuse "$c: $other"
	done
	other=$(grep -rnE '"[A-Z ]*((PER|A) SECOND|/S|PER S|PER SEC)", CELL_' "$BATS_TEST_DIRNAME/../../src") ||
		[ $? -eq 1 ]
	[ -z "$other" ] || try refuse "$other"
	tried
}

@test "man: every page is valid roff" {
	cd "$BATS_TEST_TMPDIR"
	for c in "" $(commands); do
		page=memwhy-$c.8
		"$MEMWHY" help man $c >"$page"
		man --warnings -l "$page" >shown 2>warnings
		[ ! -s warnings ] || { echo "$c: $(<warnings)"; false; }
		grep -q EXIT shown
	done
	groff -man -ww -Tutf8 memwhy-*.8 >shown 2>warnings
	[ ! -s warnings ] || { cat warnings; false; }
}

# Live with --each where there are single events, and a recording of all probes with all keys.
fields_described() { # COMMAND
	local c=$1 ways=() way fields= missing
	[[ $c == doctor || $c == incidents ]] && ways=("$c") || ways=("$c --input $run_mw --stacks $(by_all "$c")")
	mw ${ways[0]} -o csv
	if [[ $stderr == *" not recorded"* ]]; then # record leaves out what must be asked for
		mw_ok $(live "$c") --record own.mw --out /dev/null -- true || return
		ways=("$c --input own.mw $(by_all "$c")")
	fi
	if has_option "$c" each; then
		mw_ok $(live "$c") --for 50ms --each --record each.mw --out /dev/null || return
		ways+=("$c --input each.mw --each")
	fi
	for way in "${ways[@]}"; do
		mw_ok $way -o csv || return
		fields+=$'\n'$(head -n1 <<<"$output" | sed 's/^table,//' | tr , '\n')
		mw_ok $way -o json || return
		fields+=$'\n'$(jq -r '[.rows[] | keys[]] | unique[] | select(. != "table")' <<<"$output")
	done
	missing=$(sed '/^$/d' <<<"$fields" | sort -u |
		comm -23 - <(man_section "$c" FIELDS | sed -n '/^\.TP$/{n;p}' | sort -u) | xargs)
	[ -z "$missing" ] || try refuse "$c: not under FIELDS: $missing"
}

@test "man: every column and every field of JSON rows is described under FIELDS" {
	needs_root
	cd "$BATS_TEST_TMPDIR"
	run_mw=$PWD/run.mw
	recording_make "$run_mw"
	side_by_side fields_described $(commands_with output | grep -vx diff) # diff.bats
	tried
}

# An example as it can be run here in little time: a process that is there, a short time.
example_adapt() { # LINE
	local line=$1 cmd
	line=${line#sudo }
	line=$(sed -E "s/-p [0-9]+(,[0-9]+)*/-p $sleeper/; s/--for [0-9.]+(ms|s|m|h)?/--for 50ms/
		s/-i [0-9.]+(ms|s|m|h)?/-i 50ms/; s/-[gC] [^ ]+/-g \\//" <<<"$line")
	cmd=$(cut -d' ' -f2 <<<"$line")
	if [ "$cmd" = serve ]; then # not where another service may be
		: >serve.conf
		line=$(sed -E 's/--listen [^ ]+//; s/--config [^ ]+/--config serve.conf/' <<<"$line")" --listen unix:$PWD/serve.sock --incidents $PWD/inc -q"
	fi
	if [[ $line != *" -- "* && $line != *--for* && $line != *--input* ]] && has_option "$cmd" for; then
		line="memwhy $cmd --for 50ms${line#memwhy "$cmd"}"
	fi
	echo "$line"
}

# In the order of the page: an example may read what one before it has recorded.
examples_work() { # COMMAND
	local c=$1 line file
	printf '#!/bin/sh\nls / >/dev/null\n' >job
	chmod +x job
	seq 5000 >big.txt
	echo '[1, 2, 3]' >big.json
	echo 'print(1)' >script.py
	echo 'all:; @ls / >/dev/null' >Makefile
	while IFS= read -r line; do
		# moves memory to a second node: tests/native/numa_capture.bats
		[[ $line != *'numa try'* ]] || continue
		# of an incident that is there: tests/native/incidents.bats
		[[ $line != *'incidents show'* ]] || continue
		for file in $(grep -oE '[a-z0-9_-]+\.(mw|memwhy)' <<<"$line"); do
			[ -e "$file" ] || cp "$examples/$([ "$c" = diff ] && echo of_diff || echo of_all).mw" "$file"
		done
		run --separate-stderr timeout "$limit" sh -c "$(example_adapt "$line")" </dev/null
		[ "$status" -eq 0 ] || [[ $line == *--fail-on* && $status -eq 1 ]] ||
			try refuse "'$line', run as '$(example_adapt "$line")'"
		echo "$line" >>done
	done < <(man_section "$c" EXAMPLES | sed -n '/^\.TP$/{n;p}')
	cp done "$examples/$c.done"
}

@test "man: the examples work" {
	needs_root
	cd "$BATS_TEST_TMPDIR"
	examples=$PWD
	mkdir bin
	ln -s "$(realpath "$MEMWHY")" bin/memwhy
	PATH=$PWD/bin:$PATH
	recording_make of_all.mw
	"$MEMWHY" record -q --probes faults,heap of_diff.mw -- ls / >/dev/null
	sleep 600 3>&- &
	sleeper=$!
	side_by_side examples_work $(commands)
	kill "$sleeper"
	[ "$(cat ./*.done | wc -l)" -ge 100 ]
	tried
}

@test "completion: loads without a word, in bash as it is called there" {
	"$MEMWHY" help completion >"$BATS_TEST_TMPDIR/c"
	run bash -euc 'source "$1"; complete -p memwhy' - "$BATS_TEST_TMPDIR/c"
	[ "$status" -eq 0 ]
	[[ $output == "complete -F"*" memwhy" ]]
}

# What bash would offer for these words, the last being typed; sets of words are separated by ';'.
complete_words() {
	"$MEMWHY" help completion >"$BATS_TEST_TMPDIR/c"
	MEMWHY=$MEMWHY bash -c 'source "$1"; shift; COMP_WORDBREAKS=${WORDBREAKS:-$COMP_WORDBREAKS}
		f=$(complete -p memwhy); f=${f#*-F }; f=${f%% *}
		COMP_WORDS=("$MEMWHY" "$@"); COMP_CWORD=$#; COMPREPLY=() COMP_LINE="memwhy $*"; COMP_POINT=${#COMP_LINE}
		"$f" memwhy "${@: -1}" "${COMP_WORDS[COMP_CWORD-1]}"
		[ ${#COMPREPLY[@]} -eq 0 ] || printf "%s\n" "${COMPREPLY[@]}"' - "$BATS_TEST_TMPDIR/c" "$@"
}

@test "completion: the commands, and of each its options, all of them" {
	cd "$BATS_TEST_TMPDIR"
	diff <(commands | sort) <(complete_words "" | grep -v '^-' | sort)
	[ "$(complete_words fault)" = faults ]
	for c in $(commands); do
		diff <(options "$c" | sed 's/^/--/' | sort) <(complete_words "$c" -- | sort) ||
			try refuse "$c: options in --help (<) and in the completion (>)"
	done
	tried
}

@test "completion: formats, levels, commands to explain, files" {
	cd "$BATS_TEST_TMPDIR"
	touch somefile
	for c in $(commands_with output); do
		for o in -o --output; do
			[ "$(complete_words "$c" $o "" | sort | xargs)" = "csv folded html json jsonl perfetto pprof speedscope sqlite text wide" ]
		done
	done
	[ "$(complete_words check --fail-on crit)" = critical ]
	[ "$(complete_words record some)" = somefile ]
	[ "$(complete_words help fau)" = faults ]
	[ "$(complete_words help man fau)" = faults ]
}

@test "completion: keys, columns and cgroups, one after the other" {
	cd "$BATS_TEST_TMPDIR"
	[ "$(complete_words faults --by proc)" = process ]
	complete_words faults --by "" | grep -qx stack
	complete_words faults --by "" | grep -qx mapping
	[ "$(complete_words faults --by process,mapp)" = process,mapping ]
	[ -z "$(complete_words reclaim --by mapp)" ]
	[ "$(complete_words where --table own | sort -u)" = owners ]
	[ "$(complete_words export --of fau)" = faults ]
	[ "$(complete_words record --probes faults,recl)" = faults,reclaim ]
	[ "$(complete_words incidents sho)" = show ]
	[ "$(complete_words serve --on ris)" = risk ]
	[ "$(complete_words where --cen)" = --census ]
	[ "$(complete_words limit --table ag)" = ages ]
	[ "$(complete_words syscalls --like st)" = strace ]
	[ "$(complete_words compaction --like comp)" = compactsnoop ]
	[ "$(complete_words syscalls --dump-on crash,fa)" = crash,fail ]
	[ "$(complete_words faults --sort p99 | sort -u)" = p99_ns ]
	[ "$(complete_words syscalls --fields call,reclaim_n | sort -u)" = call,reclaim_ns ]
	root=/sys/fs/cgroup
	[ ! -d $root/memory ] || root=$root/memory
	first=$(find $root -mindepth 1 -maxdepth 1 -type d -printf '/%P\n' | head -1)
	[ -z "$first" ] || complete_words faults -g "" | grep -qxF "$first"
}

@test "completion: events of count, of which bash wants what follows the colon" {
	needs_root
	cd "$BATS_TEST_TMPDIR"
	[ "$(complete_words count kmem:mm_page_pcpu)" = mm_page_pcpu_drain ]
	complete_words count kme | grep -qx kmem:kfree
	[ "$(WORDBREAKS=' ' complete_words count kmem:mm_page_pcpu)" = kmem:mm_page_pcpu_drain ]
	[ "$(complete_words count --by pro)" = process ]
	command -v fish >/dev/null || skip "fish is missing (make deps)"
	"$MEMWHY" help completion fish >c.fish
	[ "$(fish_words "memwhy count kmem:mm_page_pcpu")" = kmem:mm_page_pcpu_drain ]
}

@test "completion: what follows '--' is not memwhy's; --stacks takes no separate word" {
	cd "$BATS_TEST_TMPDIR"
	[ -z "$(complete_words faults -- ls --)" ]
	! complete_words faults --stacks "" | grep -qx user || false
}

# What fish would offer for a command line, without descriptions.
fish_words() { # LINE
	PATH=$(dirname "$MEMWHY"):$PATH XDG_CONFIG_HOME=$BATS_TEST_TMPDIR XDG_DATA_HOME=$BATS_TEST_TMPDIR \
		fish --no-config -c 'source $argv[1]; complete -C "$argv[2]"' "$BATS_TEST_TMPDIR/c.fish" "$1" </dev/null |
		cut -f1
}

@test "completion: fish has the same commands, options, keys and columns" {
	command -v fish >/dev/null || skip "fish is missing (make deps)"
	cd "$BATS_TEST_TMPDIR"
	"$MEMWHY" help completion fish >c.fish
	diff <(commands | sort) <(fish_words "memwhy " | sort)
	for c in faults diff record help; do
		diff <(options "$c" | sed 's/^/--/' | sort -u) <(fish_words "memwhy $c --" | sed 's/=$//' | sort -u) ||
			try refuse "$c: options in --help (<) and in the completion (>)"
	done
	[ "$(fish_words "memwhy faults --by proc")" = process ]
	[ "$(fish_words "memwhy faults --by process,mapp")" = process,mapping ]
	[ "$(fish_words "memwhy faults --sort p99" | sort -u)" = p99_ns ]
	[ "$(fish_words "memwhy faults -o fol")" = folded ]
	[ "$(fish_words "memwhy where --table own" | sort -u)" = owners ]
	[ "$(fish_words "memwhy export --of fau")" = faults ]
	[ "$(fish_words "memwhy record --probes faults,recl")" = faults,reclaim ]
	[ "$(fish_words "memwhy incidents sho")" = show ]
	[ "$(fish_words "memwhy serve --on ris")" = risk ]
	[ "$(fish_words "memwhy limit --table ag" | sort -u)" = ages ]
	[ "$(fish_words "memwhy syscalls --like st")" = strace ]
	[ "$(fish_words "memwhy syscalls --dump-on crash,fa")" = crash,fail ]
	[ "$(fish_words "memwhy help fau")" = faults ]
	touch somefile
	[ "$(fish_words "memwhy faults --input somef")" = somefile ]
	[ -z "$(fish_words "memwhy faults -- ls --by proc")" ]
	tried
}

@test "completion: zsh takes that of bash" {
	command -v zsh >/dev/null || skip "zsh is missing (make deps)"
	cd "$BATS_TEST_TMPDIR"
	"$MEMWHY" help completion >c
	cat >ask.zsh <<-'Z'
		zmodload zsh/zpty
		zpty z 'TERM=dumb HISTFILE= zsh -f -i'
		zpty -w z 'unsetopt zle_bracketed_paste; autoload -U compinit bashcompinit; compinit -u -D; bashcompinit'
		zpty -w z 'source ./c; print rea""dy'
		zpty -r z out '*ready*'
		for typed in 'memwhy faults --by pro' ' --sort p99'; do
			zpty -w -n z "$typed"$'\t'
		done
		zpty -r z out '*process*p99_ns*'
		print found
	Z
	run timeout "$limit" zsh -f ask.zsh </dev/null
	[ "$output" = found ]
}
