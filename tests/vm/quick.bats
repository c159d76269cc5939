#!/usr/bin/env bats
# The oldest and the newest kernel: of each kind of hook a test that holds our counts against the
# kernel's own, and is done within a minute in a guest.
load guest

FILTER='the count is getrusage|frag: .*equal|oom: a kill at'
GUEST_SECONDS=1200 # on a busy machine

@test "vm 5.10: counts equal the kernel's" {
	guest_native quick-5.10 5.10 "$FILTER" -m 1G -s 256M
}

@test "vm newest: counts equal the kernel's" {
	guest_native quick-newest newest "$FILTER" -m 1G -s 256M
}
