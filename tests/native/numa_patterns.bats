#!/usr/bin/env bats
# numa's verdicts on real programs, seen by hint faults: a program of each pattern, of a mixture, and
# one whose memory is all local; and programs like those that MemProf was tried on, before and after
# what memwhy advises. What cannot be told yet may be asked again, longer; what is told must be right
# (tests/workloads/numa_verdict).

load common

setup() {
	needs_root
	[ -e /proc/sys/kernel/numa_balancing ] || skip "the kernel has no automatic NUMA balancing"
	two_nodes
}

# Half a minute where eight seconds do not tell. $seen, $counted: remote accesses/all, by memwhy and
# by the kernel.
is_told() { # PATTERN [fix]
	local seconds line result
	for seconds in 8 25; do
		line=$("$BATS_TEST_DIRNAME/../workloads/numa_verdict" "$MEMWHY" "$WORKLOADS/numa_work" "$1" "$seconds" "${2-}")
		echo "$line"
		IFS=$'\t' read -r result _ _ _ _ seen counted <<<"$line"
		case $result in
		right) return 0 ;;
		untold) ;;
		*) return 1 ;;
		esac
	done
	return 1
}

@test "numa: patterns are told from hint faults, and of local programs none" {
	for pattern in local producer turns readers writers main; do
		is_told "$pattern"
	done
}

# bats test_tags=host
@test "numa: two patterns in one program are told apart" {
	is_told both
}

# Is the share REMOTE/ALL at most 1/PARTS of what it was?
share_fell() { # BEFORE NOW PARTS
	[ "$(($3 * ${2%/*} * ${1#*/}))" -le "$((${1%/*} * ${2#*/}))" ]
}

# What was remote is told with its pattern, and is gone with the fix: by memwhy; and it is less by the
# kernel, which counts the accesses of all other programs too.
is_mended() { # PATTERN
	local before by_kernel
	is_told "$1"
	before=$seen by_kernel=$counted
	is_told "$1" fix
	echo "# $1: remote of all seen $before, fixed $seen; by the kernel $by_kernel, fixed $counted" >&3
	share_fell "$before" "$seen" 2
	share_fell "$by_kernel" "$counted" 1
}

@test "numa: a program like streamcluster, with a copy of the points on each node" {
	is_mended stream
}

@test "numa: a program like face recognition, with pictures on the node that works on them" {
	is_mended faces
}

@test "numa: a program like psearchy, with first touch by who sorts" {
	is_mended sort
}

@test "numa: a forking server, with a copy of the cache on each node" {
	local before by_kernel
	case $(uname -r) in # mm/mempolicy.c: vma_policy_mof()
	5.10.* | 6.1.*) skip "this kernel's balancing passes over shared memory without a file" ;;
	esac
	is_told fork
	before=${seen%/*} by_kernel=${counted%/*}
	is_told fork fix
	# Of a process with one thread the kernel lets only remote pages fault: numbers, not shares.
	echo "# fork: remote $before, fixed ${seen%/*}; by the kernel $by_kernel, fixed ${counted%/*}" >&3
	[ "$((2 * ${seen%/*}))" -lt "$before" ]
	[ "$((2 * ${counted%/*}))" -lt "$by_kernel" ]
}

# Of a program that runs on: where nodes share its pages, and these lie on one. Balancing may spread
# them meanwhile; then there is nothing to try, and it is looked at again.
command_find() { # $pid, $address, $bytes; $advised: the command of the finding, without memwhy
	local json=$BATS_TEST_TMPDIR/report.json out=$BATS_TEST_TMPDIR/out
	for _ in 1 2 3; do
		echo go | "$MEMWHY" numa --source hint --balancing --scan 200ms --for 10s -o json --out "$json" -- \
			"$WORKLOADS/numa_work" readers 2 90 >"$out" 3>&-
		read -r _ pid address bytes <"$out"
		advised=$(jq -r '[.findings[]?.try[] | capture("`memwhy (?<c>numa try [^`]*)`") | .c][0] // ""' "$json")
		[ -z "$advised" ] || return 0
		kill "$pid"
	done
	return 1
}

@test "numa: the command that a finding gives moves what it names, and measures" {
	local pid address bytes advised nodes after
	command_find
	[ "$advised" = "numa try -p $pid $(printf '0x%x-0x%x' "$address" $((address + bytes))) --interleave" ]
	# shellcheck disable=SC2086 # words
	after=$("$MEMWHY" $advised --yes --for 1s --source first-touch -o json |
		jq -r '.rows[] | select(.when == "after") | .pages_by_node')
	nodes=$(ls -d /sys/devices/system/node/node[0-9]* | wc -l)
	echo "# $after" >&3
	[ "$(grep -o ": $((bytes / 4096 / nodes))\>" <<<"$after" | wc -l)" -eq "$nodes" ]
	"$MEMWHY" numa try -p "$pid" --undo --yes
	kill "$pid"
}
