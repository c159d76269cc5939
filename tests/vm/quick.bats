#!/usr/bin/env bats
# The oldest and the newest kernel, the tests that hold our counts against the kernel's own.
load guest

FILTER='getrusage|equal|allocstall'

@test "vm 5.10: counts equal the kernel's" {
	guest_native 5.10 "$FILTER" -m 768M -s 256M
}

@test "vm newest: counts equal the kernel's" {
	guest_native newest "$FILTER" -m 768M -s 256M
}
