# top on a terminal: the pty is tmux's. What the screen says, what keys do, what is left behind.
# bats file_tags=beside
load common

setup() {
	command -v tmux >/dev/null || skip "there is no tmux"
	T=(tmux -L "memwhy-test-$$" -f /dev/null)
	cd "$BATS_TEST_TMPDIR" || exit 1
	export HOME=$BATS_TEST_TMPDIR # what it keeps
	unset XDG_CONFIG_HOME
}

teardown() {
	[ -z "${other-}" ] || kill "$other" 2>/dev/null || true
	"${T[@]}" kill-server 2>/dev/null || true
}

# pane COLSxROWS COMMAND: in a shell of its own, which says what came of it, and how the terminal is.
pane() {
	printf '%s; echo "STATUS $?"; read x\n' "$2" >run.sh
	local size=$1
	# One that is told to end may be there yet, and takes no new session.
	wait_for 'env -u TMUX LC_ALL=C.UTF-8 "${T[@]}" new-session -d -x "${size%x*}" -y "${size#*x}" "exec bash $PWD/run.sh"'
}

screen() {
	"${T[@]}" capture-pane -p
}

shows() { # PATTERN
	screen | grep -qE -- "$1"
}

press() {
	"${T[@]}" send-keys "$@"
}

record_some() {
	needs_root
	MEMWHY_TEST=1 "$MEMWHY" top --record some.mw --for 4s -i 1s -o json --out some.json 3>&-
}

# The terminal is as it was: it echoes, and shows what was there before.
is_right() {
	stty -a -F "$("${T[@]}" display-message -p '#{pane_tty}')" | tr ' ;' '\n\n' | grep -qx echo
	[ "$("${T[@]}" display-message -p '#{alternate_on}')" -eq 0 ]
}

ends_with() { # STATUS
	wait_for "shows '^STATUS $1$'"
	wait_for is_right
}

@test "top: a live screen at three sizes, and q ends it" {
	needs_root
	for size in 80x24 120x40 200x60; do
		pane $size "'$MEMWHY' top"
		wait_for "shows 'PID +COMMAND.*RSS'"
		wait_for "shows '^ *[0-9]+ .* (KiB|MiB|GiB)'"
		shows '^Mem +\[[a-z ]+\] [0-9.]+ [GM]iB$'
		[ "$(screen | wc -l)" -eq "${size#*x}" ]
		[ "$(screen | tail -n 1 | grep -c F1Help)" -eq 1 ]
		wait_for "shows '  live '"
		press q
		ends_with 0
		"${T[@]}" kill-server
	done
}

# bats test_tags=host
@test "top: where the locale is C the screen and its help are ASCII" {
	needs_root
	pane 120x40 "LC_ALL=C '$MEMWHY' top"
	wait_for "shows '  live '"
	wait_for "shows '^ *[0-9]+ .* (KiB|MiB|GiB)'"
	screen >first
	press '?'
	wait_for "shows 'PgUp, PgDn'"
	screen >help
	press Escape
	wait_for "shows '^ +PID'"
	press q
	ends_with 0
	! LC_ALL=C grep -n '[^ -~]' first help || false
}

# bats test_tags=host
@test "top: another size while it runs" {
	needs_root
	pane 120x40 "'$MEMWHY' top"
	wait_for "shows 'F10Quit'"
	"${T[@]}" resize-window -x 90 -y 20
	wait_for '[ "$(screen | wc -l)" -eq 20 ] && screen | tail -n 1 | grep -q F1Help'
	"${T[@]}" resize-window -x 300 -y 100
	wait_for 'screen | tail -n 1 | grep -q F10Quit'
	wait_for "shows 'CGROUP'"
	press q
	ends_with 0
}

# bats test_tags=host
@test "top: each key once" {
	needs_root
	pane 120x40 "'$MEMWHY' top"
	wait_for "shows 'F10Quit'"
	wait_for "shows '  live '"
	press '?'
	wait_for "shows 'PgUp, PgDn'"
	press Escape
	press t
	wait_for "shows '^CGROUP +USAGE'"
	press t
	wait_for "shows '^ +PID'"
	press f
	wait_for "shows '^LEVEL +COST +FINDING'"
	press Escape
	press s
	wait_for "shows '^SORT BY'"
	press Escape
	press /
	press -l memwhy-no-such
	wait_for "shows 'nothing matches'"
	press Escape
	wait_for "shows '^ +[0-9]+ '"
	press Down PageDown PageUp Home End Up
	press Enter
	wait_for "shows '^A closer look'"
	press Escape
	press Space
	wait_for "shows 'PAUSED'"
	press '['
	press ']'
	press j
	wait_for "shows '^Jump to'"
	press Escape
	press J
	wait_for "shows '  live '"
	press '>'
	wait_for "shows 'sorted by GROWTH'"
	press F10
	ends_with 0
}

mouse() { # BUTTON LINE: pressed and let go, as xterm tells of it
	press -l "$(printf '\033[<%d;11;%dM\033[<%d;11;%dm' "$1" "$2" "$1" "$2")"
}

line_of() { # PATTERN
	screen | grep -nE -m 1 -- "$1" | cut -d : -f 1
}

# bats test_tags=host
@test "top: lines by user, whose processes a click shows; the wheel moves" {
	needs_root
	setpriv --reuid 65534 --regid 65534 --clear-groups sleep 600 3>&- &
	other=$!
	name=$(awk -F : '$3 == 65534 { print $1; exit }' /etc/passwd)
	name=${name:-65534}
	pane 120x40 "TERM=xterm-256color '$MEMWHY' top -p $other,$$" # of all others nobody knows how many
	wait_for "shows '  live '"
	press u
	wait_for "shows '^USER +RSS'"
	wait_for "shows '^root .* (KiB|MiB|GiB)'"
	wait_for "shows '^$name .* (KiB|MiB|GiB)'"
	press Space # lines stay where they are
	wait_for "shows 'PAUSED'"
	at=$(line_of "^$name ")
	mouse 0 "$at"
	mouse 0 "$at"
	wait_for "shows 'of $name\$'"
	shows "^ *$other "
	! shows "^ *$$ " || false
	press Escape
	wait_for "shows '^USER +RSS'"
	press u
	wait_for "shows '^ +PID'"
	press Enter
	wait_for "shows '^A closer look'"
	before=$(screen)
	mouse 65 20 # the wheel, down
	wait_for '[ "$(screen)" != "$before" ]'
	press q
	ends_with 0
	# the same numbers for programs
	"$MEMWHY" top --for 1s -o json --out users.json
	jq -e '[.rows[] | select(.table == "users" and .user == "root")] | length == 1 and .[0].rss_bytes > 0' users.json
	jq -e '([.rows[] | select(.table == "users") | .processes] | add) ==
		([.rows[] | select(.table == "top" and .user)] | length)' users.json
}

# bats test_tags=host
@test "top: a recording is the same screen, whose numbers are those of -o json" {
	record_some
	pane 160x50 "'$MEMWHY' top --input some.mw"
	wait_for "shows 'RECORDING .* of [0-9]+ '"
	press J
	last=$(jq -s 'length' some.json)
	wait_for "shows 'RECORDING .*, $last of $last '"
	total=$(jq -s -r '.[-1].rows[] | select(.table == "memory" and .part == "free") | .bytes' some.json)
	shown=$(awk -v b="$total" 'BEGIN { g = b / 1073741824; m = b / 1048576
		if (g >= 1) printf(g < 9.995 ? "%.2f GiB" : g < 99.95 ? "%.1f GiB" : "%.0f GiB", g)
		else printf(m < 9.995 ? "%.2f MiB" : m < 99.95 ? "%.1f MiB" : "%.0f MiB", m) }')
	wait_for "shows 'free $shown'"
	first=$(screen | grep -A1 -E '^ +PID +COMMAND' | tail -n 1 | awk '{ print $1 }')
	most=$(jq -s -r '[.[-1].rows[] | select(.table == "top")] | max_by(.rss_bytes) | .pid' some.json)
	[ "$first" = "$most" ]
	press '['
	wait_for "shows ', $((last - 1)) of $last '"
	press q
	ends_with 0
}

@test "top: of a recording, the memory adds up in each interval, and tables are the same again" {
	record_some
	[ "$(jq -s 'length' some.json)" -ge $([ "${MEMWHY_VM-}" ] && echo 1 || echo 3) ] # guests are slow
	jq -e -s 'all(.[]; ([.rows[] | select(.table == "memory") | .bytes] | add) ==
		(.rows[] | select(.table == "machine") | .total_bytes))' some.json
	"$MEMWHY" top --input some.mw -i 1s -o json >again.json
	for f in some again; do
		jq -S -c 'del(.rows[] | select(.table == "paths")) | .rows[]' "$f.json" | sha256sum >"$f.sum"
	done
	cmp some.sum again.sum
}

# bats test_tags=host
@test "top: a signal, or the end of either process, leaves the terminal as it was" {
	needs_root
	for way in "TERM top" "TERM screen" "KILL top" "KILL screen" "HUP top" "SEGV top" "SEGV screen"; do
		read -r signal who <<<"$way"
		pane 100x30 "'$MEMWHY' top"
		wait_for "shows '  live '"
		shell=$("${T[@]}" display-message -p '#{pane_pid}')
		top=$(pgrep -P "$shell" memwhy)
		drawer=$(for p in $(pgrep -P "$top"); do
			grep -q '^CapPrm:[[:space:]]*0*$' "/proc/$p/status" && readlink "/proc/$p/fd/0" | grep -q pts && echo "$p"
		done | head -n 1)
		if [ "$who" = top ]; then kill -"$signal" "$top"; else kill -"$signal" "$drawer"; fi
		wait_for is_right
		wait_for '! kill -0 $top && ! kill -0 $drawer'
		"${T[@]}" kill-server
	done
}

# bats test_tags=host
@test "top: a terminal that is unknown, or none, gets a sentence" {
	pane 100x30 "TERM=nosuchterm '$MEMWHY' top"
	wait_for "shows '^STATUS 2$'"
	shows "does not know the terminal 'nosuchterm'"
	"${T[@]}" kill-server
	pane 100x30 "TERM= '$MEMWHY' top"
	wait_for "shows '^STATUS 2$'"
	shows '^memwhy: TERM is not set'
	"${T[@]}" kill-server
	run --separate-stderr timeout 10 "$MEMWHY" top </dev/null
	[ "$status" -eq 2 ]
	[[ $stderr == *"draws on a terminal"* ]]
	[[ -z $output ]]
}

# bats test_tags=host
@test "top: where there is no database of terminals, the common ones are known" {
	needs_root
	mkdir empty
	pane 100x30 "TERM=xterm-256color HOME=$PWD TERMINFO=$PWD/empty unshare -m sh -c 'for d in /etc/terminfo /lib/terminfo /usr/share/terminfo /usr/lib/terminfo; do [ ! -d \$d ] || mount --bind $PWD/empty \$d; done; exec \"$MEMWHY\" top'"
	wait_for "shows 'F10Quit' || shows '^STATUS'"
	shows F10Quit
	press q
	ends_with 0
}

@test "top: without rights it shows what procfs tells, and says what is missing" {
	needs_root
	pane 100x30 "setpriv --reuid 65534 --regid 65534 --clear-groups '$MEMWHY' top"
	wait_for "shows '  live '"
	wait_for "shows '^ *[0-9]+ .* (KiB|MiB|GiB)'"
	press f
	wait_for "shows 'NOT CHECKED'"
	press q
	ends_with 0
}

# More of them: MEMWHY_TOP_KEYS=5000. The same without a terminal, 8,000 keys, is in tests/unit/top/top_ui_test.c.
# bats test_tags=host
@test "top: any keys and sizes leave a screen that draws, and ends" {
	needs_root
	keys=(Up Down PageUp PageDown Home End Enter Escape Space t f s n N J I / j '[' ']' '{' '}' '<' '>' '?' a 1 F1 F2 F4 F5 F6)
	RANDOM=7
	pane 100x30 "'$MEMWHY' top"
	wait_for "shows '  live '"
	for i in $(seq "${MEMWHY_TOP_KEYS:-150}"); do
		press "${keys[RANDOM % ${#keys[@]}]}"
		[ $((i % 10)) -ne 0 ] ||
			"${T[@]}" resize-window -x $((20 + RANDOM % 200)) -y $((5 + RANDOM % 60))
	done
	"${T[@]}" resize-window -x 100 -y 30
	press Escape
	sleep 0.1
	press Escape
	wait_for "shows '(F10Quit|F10)'"
	press F10
	ends_with 0
}

# bats test_tags=host
@test "top: a closer look at a process is what the command says, and Esc ends one" {
	needs_root
	sleep 300 3>&- &
	pid=$!
	pane 100x40 "'$MEMWHY' top"
	wait_for "shows '  live '"
	press /
	press -l "$pid"
	press Enter
	wait_for "shows '^ +$pid sleep'"
	press M
	wait_for "shows 'Resident memory of sleep .pid $pid.'"
	press Escape
	wait_for "shows '^ +$pid sleep'"
	press S
	wait_for "shows 'pid $pid: its stalls.* [3-9] s so far'"
	press Escape
	wait_for "shows '^memwhy stalls '"
	press Escape
	wait_for "shows '^ +$pid sleep'"
	press H
	wait_for "shows '^y: begin, others: no. pid $pid, 10 s: a malloc'"
	press n
	wait_for "shows 'F1Help'"
	press q
	ends_with 0
	kill "$pid"
}

# bats test_tags=host
@test "top: r records what is watched, from the interval on, and check and top read it" {
	needs_root
	pane 100x30 "'$MEMWHY' top"
	wait_for "shows '  live '"
	sleep 1
	press r
	wait_for "shows ' REC '"
	file=$(echo memwhy-*.mw)
	[ "$(stat -c %a "$file")" = 600 ]
	sleep 3
	press r
	wait_for "! shows ' REC '"
	press q
	ends_with 0
	"$MEMWHY" check --input "$file" -o json >check.json || [ $? -eq 4 ]
	jq -e '.interval.seconds >= 2 and .interval.seconds < 60 and .lost.faults >= 0' check.json
	"$MEMWHY" top --input "$file" -i 1s -o json >top.json
	jq -e -s 'length >= 2 and all(.[]; ([.rows[] | select(.table == "memory") | .bytes] | add) ==
		(.rows[] | select(.table == "machine") | .total_bytes))' top.json
	jq -e -s '[.[0].rows[] | select(.table == "top") | .comm] | length > 0 and (index("?") | not)' top.json
	jq -e -s '[.[0].rows[] | select(.table == "zones")] | length > 0' top.json
}

# bats test_tags=host
@test "top: keys work while what looks at the machine stands still" {
	needs_root
	pane 100x30 "'$MEMWHY' top"
	wait_for "shows '^Rate/s kswapd'" # the second screen: before, it is late since it attaches
	top=$(pgrep -P "$("${T[@]}" display-message -p '#{pane_pid}')" memwhy)
	kill -STOP "$top"
	wait_for "shows '  [0-9]+ s LATE'"
	press f
	wait_for "shows '^LEVEL +COST +FINDING'"
	press Escape
	wait_for "shows '^ +PID +COMMAND'"
	"${T[@]}" resize-window -x 90 -y 20
	wait_for '[ "$(screen | wc -l)" -eq 20 ] && screen | tail -n 1 | grep -q F1Help'
	kill -CONT "$top"
	wait_for "shows '  live '"
	press q
	ends_with 0
}

# bats test_tags=host
@test "top: NO_COLOR draws without colours, which are there otherwise" {
	record_some
	for colours in 0 1; do
		pane 100x30 "TERM=xterm-256color NO_COLOR=$([ $colours = 1 ] || echo 1) '$MEMWHY' top --input some.mw"
		wait_for "shows 'PID +COMMAND'"
		[ "$("${T[@]}" capture-pane -p -e | grep -cE $'\e\\[[0-9;]*(38|48|3[0-7]|4[0-7])[;m]')" -gt 0 ] && found=1 || found=0
		[ "$found" -eq "$colours" ]
		press q
		ends_with 0
		"${T[@]}" kill-server
	done
}

# bats test_tags=host
@test "top: the order of its lines is kept from one time to the next, and the columns that the user wrote" {
	record_some
	kept=.config/memwhy/top
	sorted() { # KEYS
		pane 120x40 "'$MEMWHY' top --input some.mw"
		wait_for "shows 'PID +COMMAND'"
		[ -z "$1" ] || press "$1"
		press q
		ends_with 0
		press Enter
		wait_for '! "${T[@]}" has-session 2>/dev/null'
	}
	sorted ''
	[ ! -s "$kept" ] # nothing was chosen
	sorted '>'
	first=$(sed -n 's/^sort //p' "$kept")
	[ -n "$first" ]
	sorted '>'
	second=$(sed -n 's/^sort //p' "$kept")
	echo "$first, then $second"
	[ "$second" != "$first" ]
	[ "$(stat -c %a "$kept")" = 600 ]
	# Another user's words, of another version: what is not known is passed over.
	printf 'sort nonsense\nfields pid,comm,swap_bytes\nwhat ever\n' >"$kept"
	pane 120x40 "'$MEMWHY' top --input some.mw"
	wait_for "shows 'PID +COMMAND'"
	shows 'SWAP'
	! shows ' PSS' || false
	press '>'
	press q
	ends_with 0
	grep -qx 'fields pid,comm,swap_bytes' "$kept"
	! grep -q nonsense "$kept" || false
	# It cannot be written: no reason not to begin.
	press Enter
	wait_for '! "${T[@]}" has-session 2>/dev/null'
	rm "$kept" && ln -s /etc/passwd "$kept"
	sorted '>'
	[ -L "$kept" ]
}
