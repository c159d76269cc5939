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
