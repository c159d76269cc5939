#!/usr/bin/env bats
# What commands tell of each NUMA node, where there are several. policy and numa have files of their own.
load common

setup() {
	needs_root
	two_nodes
	cd "$BATS_TEST_TMPDIR"
	nodes=$(cd /sys/devices/system/node && ls -d node[0-9]* | wc -l)
}

@test "nodes: doctor says how many there are" {
	run "$MEMWHY" doctor
	[ "$status" -eq 0 ]
	grep -q "$nodes nodes" <<<"$output"
}

@test "nodes: frag has the free blocks of each" {
	"$MEMWHY" frag --for 100ms -o json --out report
	[ "$(jq '[.rows[] | select(.table == "zones") | .node] | unique | length' report)" -eq "$nodes" ]
}

@test "nodes: check looks at placement" {
	"$MEMWHY" check --for 3s >report
	! grep -q 'NUMA placement: this host has one node' report || false
}

@test "nodes: compaction on request is of each" {
	memwhy_start compaction --by node,kind
	echo 1 >/proc/sys/vm/compact_memory
	memwhy_stop
	[ "$(jq '[.rows[] | select(.table == "compaction" and .kind == "requested") | .node] | unique | length' "$json")" \
		-eq "$nodes" ]
}

# A file's inode and name, made by a CPU of one node, go on another.
@test "nodes: slab tells which objects were freed on another" {
	first=$(cat /sys/devices/system/node/node0/cpulist)
	second=$(cat /sys/devices/system/node/node1/cpulist)
	memwhy_start slab --by live
	for ((i = 0; i < 200; i++)); do
		echo "name-$i"
	done >names
	taskset -c "$first" xargs touch <names
	taskset -c "$second" xargs rm <names
	memwhy_stop
	jq -c '.rows[] | select(.table == "crossings")' "$json"
	jq -e 'any(.rows[]; .table == "crossings" and .from_node == 0 and .to_node == 1)' "$json"
}
