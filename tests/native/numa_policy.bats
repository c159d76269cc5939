#!/usr/bin/env bats
# Memory that a policy keeps on another node than its threads: that it is told, by whom it was bound, and
# that the commands which are printed do what they say. Needs two nodes: the guests have them.
load common

setup() {
	needs_root
	two_nodes
	command -v numactl >/dev/null || skip "no numactl"
	cd "$BATS_TEST_TMPDIR"
	cat >bound.c <<-'C'
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	#include <sys/mman.h>
	#include <time.h>
	#define BYTES (8 << 20)
	int main(int argc, char **argv)
	{
		volatile char *p = mmap(NULL, BYTES, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		int told = 0;
		time_t end = time(NULL) + atoi(argv[argc - 1]);
		memset((char *)p, 1, BYTES);
		while (time(NULL) < end) {
			for (int i = 0; i < BYTES; i += 64)
				p[i]++;
			if (!told && clock() > CLOCKS_PER_SEC / 2) {
				told = 1;
				puts("ready");
				fflush(stdout);
			}
		}
		return 0;
	}
	C
	gcc -O1 -g -o "bound job" bound.c
}

teardown() {
	[ -z "$pid" ] || kill "$pid" 2>/dev/null || true
}

# Its threads on node 0, its memory on node 1: $pid.
bound_start() {
	numactl --cpunodebind=0 --membind=1 "./bound job" 36000 >out 3>&- &
	pid=$!
	wait_for 'grep -q ready out'
}

# MiB of it that are on a node.
mib_on() { # NODE
	awk -v node="N$1=" '{ for (i = 2; i <= NF; i++) if (index($i, node) == 1)
		n += substr($i, length(node) + 1) } END { print int(n / 256) }' "/proc/$pid/numa_maps"
}

# The command of the finding that begins so: of `try`, `undo` or `verify`.
command_of() { # FILE PART BEGIN
	jq -r ".findings[] | select(.rule == \"numa-policy\") | .$2[]" "$1" |
		sed -n "s/.*\`\($3.*\)\`.*/\1/p" | head -n 1
}

finding() { # FILE FILTER
	jq -r ".findings[] | select(.rule == \"numa-policy\") | $2" "$1"
}

# What is printed is what a shell is given.
runs() { # COMMAND
	echo "$1"
	[ -n "$1" ]
	sh -c "$1"
}

@test "numa: check names the policy that binds memory to another node, and its commands do what they say" {
	bound_start
	"$MEMWHY" check --for 1s -o json --out check.json
	finding check.json '.title, .why, .evidence[], .try[], .undo[]'
	[[ $(finding check.json .title) == "bound job (pid $pid) runs on node 0, but its policy bind:1 puts its memory elsewhere: "*"is on node 1" ]]
	[[ $(finding check.json .why) != *"first touched"* ]]
	[ "$(jq '[.findings[] | select(.rule == "numa-placement")] | length' check.json)" = 0 ]
	finding check.json '.evidence[]' | grep -q 'Its affinity restricts it to CPUs of node 0'
	[ "$(command_of check.json try numactl)" = "numactl --cpunodebind=0 --preferred=0 './bound job' 36000" ]
	[ "$(mib_on 1)" -ge 8 ]
	runs "$(command_of check.json try migratepages)"
	[ "$(mib_on 0)" -ge 8 ]
	runs "$(command_of check.json undo migratepages)"
	[ "$(mib_on 1)" -ge 8 ]
	before=$(taskset -cp "$pid")
	runs "$(command_of check.json try taskset)"
	[ "$(taskset -cp "$pid" | sed 's/.*: //')" = "$(cat /sys/devices/system/node/node1/cpulist)" ]
	runs "$(command_of check.json undo taskset)"
	[ "$(taskset -cp "$pid")" = "$before" ]
}

@test "numa: memory that a policy keeps on another node is told without a sample of it, with the call that bound it" {
	"$MEMWHY" numa -o json --out run.json -- numactl --cpunodebind=0 --membind=1 "./bound job" "${MEMWHY_VM:+1}8"
	finding run.json '.title, .evidence[], .try[], .verify[]'
	[[ $(finding run.json .title) == "bound job ("*" runs on node 0, but its policy bind:1 puts its memory elsewhere: "*"is on node 1" ]]
	# The newest kernels skip a program for a task while another one is in it: that is counted.
	[ "$(jq '.lost.numa // 0' run.json)" -gt 0 ] ||
		finding run.json '.evidence[]' | grep -q 'It was set by set_mempolicy(MPOL_BIND, {1}).*called in .*numa_set_membind'
	# It has ended: nothing of it can be moved.
	! finding run.json '.try[]' | grep -E 'migratepages|taskset' || false
	[ "$(command_of run.json try numactl)" = "numactl --cpunodebind=0 --preferred=0 './bound job' ${MEMWHY_VM:+1}8" ]
}

@test "numa: of a running process the policy is told, and with its memory moved it is gone" {
	bound_start
	"$MEMWHY" numa -p "$pid" --for 2s -o json --out before.json
	finding before.json '.title, .evidence[]'
	finding before.json '.evidence[]' | grep -q 'The call that set it was not seen'
	runs "$(command_of before.json try migratepages)"
	"$MEMWHY" numa -p "$pid" --for 2s -o json --out after.json
	[ -z "$(finding after.json .title)" ]
	runs "$(command_of before.json undo migratepages)"
}
