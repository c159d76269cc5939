#!/usr/bin/env bats
# numa's verdicts on real programs, seen by hint faults: a program of each pattern, of a mixture, and
# one whose memory is all local; and programs like those that MemProf was tried on, before and after
# what memwhy advises. What cannot be told yet may be asked again, longer; what is told must be right.

load common

setup() {
	needs_root
	[ -e /proc/sys/kernel/numa_balancing ] || skip "the kernel has no automatic NUMA balancing"
	two_nodes
	cd "$BATS_TEST_TMPDIR"
}

hints() { # local ones, all
	awk '$1 == "numa_hint_faults" { all = $2 } $1 == "numa_hint_faults_local" { near = $2 } END { print near, all }' /proc/vmstat
}

# One run: report.json, and $near of $all hint faults local, by the kernel.
measure() { # PATTERN SECONDS [fix]
	local before after
	before=($(hints))
	"$MEMWHY" numa --source hint --balancing --scan 200ms -o json --out report.json -- \
		"$WORKLOADS/numa_work" "$1" 2 "$2" ${3:+"$3"} <<<go >/dev/null 2>&1
	after=($(hints))
	near=$((after[0] - before[0])) all=$((after[1] - before[1]))
}

# The objects that the program is about, one verdict each; none where memory is small.
verdicts() {
	jq -r '.rows[] | select(.table == "sites" and .kind == "mapping" and .bytes >= 500000 and .samples > 200)
		| .pattern // "none"' report.json | sort | uniq | paste -sd,
}

# Verdicts on anything else that the program has.
others() {
	jq '[.rows[] | select(.table == "sites" and .bytes < 500000 and .pattern != null and .pattern != "too few samples")] | length' report.json
}

# Half a minute where eight seconds do not tell.
is_told() { # PATTERN VERDICT [fix]
	local seconds got
	for seconds in 8 25; do
		measure "$1" "$seconds" ${3:+"$3"}
		got=$(verdicts)
		echo "$1 ${3-}: $got (others $(others)); local by the kernel $near of $all"
		[ "$(others)" = 0 ] || return 1
		[ "$got" != "$2" ] || return 0
		case $got in
		*"too few"* | "several nodes use it" | none | "") ;;
		*) return 1 ;;
		esac
	done
	return 1
}

@test "numa: patterns are told from hint faults, and of local programs none" {
	is_told local none
	is_told producer "remote use after allocation"
	is_told turns "alternating remote access"
	is_told readers "concurrent remote access"
	is_told writers "concurrent remote access"
	is_told main "one node holds the parts of all"
}

@test "numa: two patterns in one program are told apart" {
	is_told both "concurrent remote access,remote use after allocation"
}

remote_percent() {
	jq '[.rows[] | select(.table == "sites")] | 100 * (map(.remote_total // 0) | add) / (map(.accesses) | add) | round' report.json
}

# What was remote is told with its pattern, and is gone with the fix: by memwhy, and by the kernel.
is_mended() { # PATTERN VERDICT
	local before after share
	is_told "$1" "$2"
	before=$(remote_percent) share=$((100 * (all - near) / all))
	is_told "$1" none fix
	after=$(remote_percent)
	echo "# $1: $before % remote, fixed $after %; by the kernel $share %, fixed $((100 * (all - near) / all)) %" >&3
	[ "$((2 * after))" -lt "$before" ]
	[ "$((2 * 100 * (all - near) / all))" -lt "$share" ]
}

@test "numa: a program like streamcluster, with a copy of the points on each node" {
	is_mended stream "concurrent remote access"
}

@test "numa: a program like face recognition, with pictures on the node that works on them" {
	is_mended faces "remote use after allocation"
}
