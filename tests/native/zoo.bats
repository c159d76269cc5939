#!/usr/bin/env bats
# A few programs of the zoo (tests/zoo), in short looks: who and why in one finding of the first two,
# and silence about a healthy one. `make zoo` runs all of the open part.

# bats file_tags=host
load common
. "$BATS_TEST_DIRNAME/../zoo/zoo.bash"

setup() {
	needs_root
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	scratch=$BATS_TEST_TMPDIR zoo_pid= zoo_cgroup=
	export ZOO_SECONDS=3
	# What else runs here is not the program's.
	zoo_ignore='cc1|clang|memwhy|bats|\bmake\b'
}

teardown() {
	[ -z "${zoo_pid-}" ] || zoo_stop
}

zoo_named() { # FILE
	zoo_run "$1"
	echo "$zoo_result at $zoo_rank: $zoo_first"
	[ "$zoo_result" != skipped ] || skip "$zoo_first"
	[ "$zoo_result" = named ]
}

@test "zoo: threads that wait for a userfaultfd handler" {
	zoo_named tests/zoo/lazy-pager.c
}

@test "zoo: mappings that are changed all the time" {
	[ "$(nproc)" -gt 1 ] || skip "needs two CPUs"
	zoo_named tests/zoo/tlb-storm.c
}

@test "zoo: pages that are protected and written to all the time" {
	ZOO_SECONDS=6 zoo_named tests/zoo/write-barrier.c
}

@test "zoo: files in memory that were sent to a process which does not receive them" {
	ZOO_SECONDS=6 zoo_named tests/zoo/frames-in-flight.py
}

@test "zoo: files that are given back and read again, and those that are given back for good" {
	[ "$(stat -f -c %T "${ZOO_WORK:-/tmp}")" != tmpfs ] || skip "${ZOO_WORK:-/tmp} is no disk: its pages cannot be given back"
	ZOO_SECONDS=5 zoo_named tests/zoo/polite-reader.py
	ZOO_SECONDS=5 zoo_run tests/zoo/polite-backup.py
	echo "$zoo_result: $zoo_first"
	[ "$zoo_result" = quiet ]
}

@test "zoo: a process whose first thread has ended" {
	ZOO_SECONDS=6 zoo_named tests/zoo/leader-gone.c
}

@test "zoo: a cache that fills and stops is no alarm" {
	zoo_run tests/zoo/cache-fills.c
	echo "$zoo_result: $zoo_first"
	[ "$zoo_result" = quiet ]
}
