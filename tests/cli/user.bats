#!/usr/bin/env bats
# bats file_tags=beside
# As whom the command runs: --user, and who called sudo.
load common

setup() {
	[ "$(id -u)" -eq 0 ] || skip "needs root to change user"
	cd "$BATS_TEST_TMPDIR"
	chmod 755 .
	theirs="$(id -u nobody) $(id -g nobody) $(id -G nobody)"
	who='echo "$(id -u) $(id -g) $(id -G)"'
}

# run_as WORD... -- CMD...: what the command prints.
of_command() {
	"$MEMWHY" faults -q --out /dev/null "$@" 2>err || refuse "$*: $(<err)"
}

@test "user: a command runs as who called sudo; else as root" {
	[ "$(of_command -- sh -c "$who")" = "$(sh -c "$who")" ]
	export SUDO_USER=nobody SUDO_UID SUDO_GID
	SUDO_UID=$(id -u nobody) SUDO_GID=$(id -g nobody)
	[ "$(of_command -- sh -c "$who")" = "$theirs" ]
	[ "$(of_command --user root -- sh -c "$who")" = "$(sh -c "$who")" ]
	# none of root's groups is left
	[ "$(setpriv --groups 4,24 "$MEMWHY" faults -q --out /dev/null -- sh -c "$who")" = "$theirs" ]
	[ "$(HOME=/root of_command -- sh -c 'echo $HOME $USER')" = "$(getent passwd nobody | cut -d: -f6) nobody" ]
	# of a directory service, known by number only
	SUDO_USER=far.away SUDO_UID=54321 SUDO_GID=54322
	[ "$(of_command -- sh -c "$who")" = "54321 54322 54322" ]
	# what sudo never says
	SUDO_UID=0
	[ "$(of_command -- sh -c "$who")" = "$(sh -c "$who")" ]
}

@test "user: --user runs the command as another, and the report says so" {
	[ "$(of_command --user nobody -- sh -c "$who")" = "$theirs" ]
	[ "$("$MEMWHY" record -q run.mw --user nobody -- sh -c "$who")" = "$theirs" ]
	mw_ok faults --user nobody -o json --out r.json -- true
	jq -e '.notes[] | select(. == "true ran as nobody")' r.json
	jq -e '.rows[] | select(.comm == "true")' r.json
	# it has none of our rights: files of root's alone are not its own
	echo secret >mine
	chmod 600 mine
	run "$MEMWHY" faults -q --out /dev/null --user nobody -- cat mine
	[[ $output == *"Permission denied"* ]]
}

@test "user: the heap of a command that runs as another is followed" {
	for c in heap leak; do
		mw_ok "$c" --user nobody -o json --out r.json -- sh -c 'ls / >/dev/null'
	done
	"$MEMWHY" heap --user nobody -o json --out r.json -- ls / >/dev/null
	jq -e '[.rows[] | select(.table == "process") | .allocations] | add > 10' r.json
}

@test "user: what cannot be is refused before anything runs" {
	mw_error 2 faults --user nosuch -- touch ran
	mw_error 2 faults --user "" -- touch ran
	mw_error 2 faults --user nobody --for 1s
	[ ! -e ran ]
	run --separate-stderr as_nobody "$MEMWHY" faults --user root -- true
	[ "$status" -eq 3 ]
	[[ $stderr == *"only root"* ]]
}
