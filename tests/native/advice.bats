#!/usr/bin/env bats
# What check advises, carried out: the trouble is gone, and the undo brings it back. By the programs of
# the zoo.

# bats file_tags=host
load common
. "$BATS_TEST_DIRNAME/../zoo/zoo.bash"

setup() {
	needs_root
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	scratch=$BATS_TEST_TMPDIR zoo_pid= zoo_cgroup= found=$BATS_TEST_TMPDIR/found
}

teardown() {
	[ -z "${zoo_pid-}" ] || zoo_stop
}

# look RULE NAME [SECONDS]: the findings of that rule whose title has that name, in $found.
look() {
	timeout 60 "$MEMWHY" check -q --for "${3-3}s" -o json --out "$scratch/report" 3>&-
	jq --arg rule "$1" --arg name "$2" \
		'[.findings[] | select(.rule == $rule and (.title | test($name)))]' "$scratch/report" >"$found"
}

told() {
	jq -e 'length >= 1' "$found" || { jq -r '.findings[].title' "$scratch/report"; false; }
}

quiet() {
	jq -e 'length == 0' "$found"
}

# carry_out PART PATTERN: the commands of a part (try, undo, verify) of the first finding that match; at
# least one does.
carry_out() {
	jq -r --arg part "$1" --arg pattern "$2" '.[0][$part][] | scan("`([^`]+)`")[0] | select(test($pattern))' \
		"$found" >"$scratch/commands"
	cat "$scratch/commands"
	[ -s "$scratch/commands" ]
	as_owner bash -e <"$scratch/commands"
}

# Root may change the limits of others where it has CAP_SYS_RESOURCE; else the owner of the process may.
as_owner() {
	local uid
	uid=$(stat -c %u "/proc/$zoo_pid")
	if [ "$uid" -eq 0 ] || capsh --has-p=cap_sys_resource 2>/dev/null; then
		"$@"
	else
		setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"
	fi
}

# advice RULE PROGRAM NAME PATTERN: told, carried out, gone; undone, told again.
advice() { # RULE PROGRAM NAME PATTERN
	zoo_start "tests/zoo/$2"
	look "$1" "$3"
	told
	cp "$found" "$scratch/first"
	carry_out try "$4"
	look "$1" "$3"
	quiet
	cp "$scratch/first" "$found"
	carry_out undo "$4"
	look "$1" "$3"
	told
}

@test "advice: RLIMIT_NPROC is raised for the process that is refused" {
	advice limit-met nproc-limit.py 'RLIMIT_NPROC is reached: 40 ' '^prlimit '
}

@test "advice: pids.max of the group is raised" {
	advice limit-met tasks-limit.py 'pids.max. is reached: 8' '^echo '
}
