#!/usr/bin/env bats
# What runs the native tests in guests, and makes a table of what they said, without a guest:
# run-native says of a file what bats says of it.
# bats file_tags=beside
load common

setup() {
	cd "$BATS_TEST_TMPDIR"
	top=$BATS_TEST_DIRNAME/../..
	cat >common.bash <<-'EOF'
		bats_require_minimum_version 1.5.0
		teardown() {
			[ ! -e "$BATS_TEST_TMPDIR/refuse" ]
		}
	EOF
	# `@` is not at the start of a line here, or bats would take these for its own.
	sed 's/^ *TEST/@test/' >some.bats <<-'EOF'
		load common
		setup_file() { export made=$BATS_FILE_TMPDIR/made; echo 1 >"$made"; }
		setup() { [ "$BATS_TEST_DESCRIPTION" != "fails in its beginning" ]; }
		TEST "passes, after a command that fails in a condition" {
			[ "$(cat "$made")" -eq 1 ]
			false || true
			if false; then true; fi
			! false || false
		}
		TEST "fails in the middle" {
			false
			true
		}
		TEST "fails within a function" {
			inner() { grep -q no /dev/null; true; }
			inner
		}
		TEST "is skipped (why)" {
			skip "has a reason"
			false
		}
		TEST "run: status, lines, what went to stderr" {
			run sh -c 'echo a; echo; echo b >&2; exit 3'
			[ "$status" -eq 3 ]
			[ "$output" = $'a\n\nb' ]
			[ "${lines[*]}" = "a b" ]
			run -2 --separate-stderr sh -c 'echo a; echo b >&2; exit 2'
			[ "$output" = a ]
			[ "$stderr" = b ]
			run ! false
		}
		TEST "run: another status than said" {
			run -2 sh -c 'exit 3'
		}
		TEST "fails in its end" {
			: >"$BATS_TEST_TMPDIR/refuse"
		}
		# bats test_tags=host
		TEST "of the host" {
			false
		}
		TEST "fails in its beginning" {
			true
		}
		TEST "each is a process of its own" {
			[ "$$" -eq "$BASHPID" ]
			[ -z "$(jobs -p)" ]
		}
	EOF
}

@test "run-native: passes, fails and skips what bats does, in a file of all kinds" {
	run env -u MEMWHY_VM bats --formatter tap --filter-tags '!host' some.bats
	echo "$output"
	grep -E '^(not )?ok' <<<"$output" >by-bats
	run -1 "$top/tests/vm/run-native" some.bats
	echo "$output"
	grep -E '^(not )?ok' <<<"$output" >ours
	diff by-bats ours
	[ "$(grep -c '^ok' ours)" -eq 4 ]
	[ "$(grep -c '^not ok' ours)" -eq 5 ]
	grep -q '^# status 1: line 11, in test_2 .*: false$' <<<"$output"
	grep -qx '1\.\.9' <<<"$output"
}

@test "run-native: a filter, what was done before, and a test that takes too long" {
	run -1 "$top/tests/vm/run-native" -f 'skipped|middle' some.bats
	echo "$output" >before
	[ "$(grep -cE '^(not )?ok' before)" -eq 2 ]
	run -1 "$top/tests/vm/run-native" -d before -f 'skipped|middle' some.bats
	[ "$(grep -cE '^(not )?ok' <<<"$output")" -eq 1 ]
	run -1 "$top/tests/vm/run-native" -f 'of the host|misspelt' some.bats
	grep -qx "not ok 1 no test of a guest has a name like 'of the host|misspelt'" <<<"$output"
	run -0 "$top/tests/vm/run-native" -d before -f 'skipped' some.bats
	printf '%s "hangs" {\n\tsleep 1000\n}\n%s "goes on" {\n\ttrue\n}\n' @test @test >slow.bats
	run -1 "$top/tests/vm/run-native" -s 1 slow.bats
	grep -q '^not ok 1 hangs' <<<"$output"
	grep -q '^# not done within 1 s' <<<"$output"
	grep -qx 'ok 2 goes on' <<<"$output"
}

@test "run-native: a file that bash cannot read has failed" {
	printf '%s "never" {\n\ttrue\n}\n}\n' @test >broken.bats
	run -1 "$top/tests/vm/run-native" broken.bats some.bats
	grep -qx 'not ok 1 broken.bats cannot be read' <<<"$output"
	grep -q '^ok 2 passes' <<<"$output"
}

@test "the table of guests: passed, failed, skipped with the reason once, not run" {
	printf '%s\n' '# guest: 5.10.1, 1 nodes' '# a.bats' 'ok 1 a: one' 'not ok 2 a: two' 'ok 3 a: three # skip no | here' >5.10.tap
	printf '%s\n' '# guest: 7.0, 4 nodes' '# a.bats' 'ok 1 a: one' 'ok 2 a: three # skip no | here' '# b.bats' 'ok 3 four' >newest-4nodes.tap
	printf '%s\n' head '<!-- guests: begin -->' old '<!-- guests: end -->' tail >doc.md
	"$top/tests/vm/table" --into doc.md newest-4nodes.tap 5.10.tap
	cat doc.md
	diff doc.md - <<-'EOF'
		head
		<!-- guests: begin -->
		| guest | kernel | passed | failed | skipped |
		|---|---|---|---|---|
		| 5.10 | 5.10.1, 1 nodes | 1 | 1 | 1 |
		| newest-4nodes | 7.0, 4 nodes | 2 | 0 | 1 |

		`ok`: passed; a number: skipped, for the reason below; empty: not run in this guest.

		| test | 5.10 | newest-4nodes |
		|---|---|---|
		| a: one | ok | ok |
		| a: two | **failed** |  |
		| a: three | 1 | 1 |
		| b: four |  | ok |

		1. no \| here
		<!-- guests: end -->
		tail
	EOF
	run -1 "$top/tests/vm/table" --check newest-4nodes.tap 5.10.tap
	[ "${lines[0]}" = "skipped wherever it ran: a: three (no | here)" ]
	[ "${lines[1]}" = "failed: a: two (5.10)" ]
}
