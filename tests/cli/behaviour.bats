# The runner of tests/behaviour finds what changes: under commands that pass for memwhy and do harm.
# bats file_tags=beside
load common

# A memwhy that does what its input says in place of running a command well.
harmful() {
	cat >"$BATS_TEST_TMPDIR/memwhy"
	chmod +x "$BATS_TEST_TMPDIR/memwhy"
	MEMWHY=$BATS_TEST_TMPDIR/memwhy run "$BATS_TEST_DIRNAME/../behaviour/run" shell-input shell-pipes
}

@test "behaviour: a command that is only run has changed nothing" {
	harmful <<-'END'
		#!/bin/bash
		while [ "$1" != -- ]; do shift; done
		shift
		"$@"
	END
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = 1..2 ]
	[ "${lines[1]}" = "ok 1 - shell-pipes" ]
	[ "${lines[2]}" = "ok 2 - shell-input" ]
}

@test "behaviour: another status, a word more on stdout or stderr, and a command not run are found" {
	for harm in 'echo 3 >"$5/with.status"' 'echo more >>"$5/with.out"' 'echo more >>"$5/with.err"' \
		'rm "$5/with.status"' 'exit 5'; do
		harmful <<-END
			#!/bin/bash
			while [ "\$1" != -- ]; do shift; done
			set -- "\$@"
			"\${@:2}"
			set -- 1 2 3 4 "\$4"
			$harm
		END
		[ "$status" -eq 1 ] || { echo "$harm"; echo "$output"; false; }
		[ "$(grep -c "^not ok" <<<"$output")" -eq 2 ]
	done
}

@test "behaviour: each line has a half, a status, a command and a name of its own" {
	table=$BATS_TEST_DIRNAME/../behaviour/table
	awk '/^#/ || !NF { next }
		!/^(quick|full) +[a-z0-9-]+ +[0-9]+ +[a-z0-9,_-]+ +[^ ]/ || seen[$2]++ { print; bad = 1 }
		END { exit bad || NR < 200 }' "$table"
}
