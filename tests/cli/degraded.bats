#!/usr/bin/env bats
# Hosts that lack something: it still works, or one sentence says what is missing.
# bats file_tags=beside
load common

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR"
	mkdir empty
	export empty=$PWD/empty
	memwhy_bin=$(realpath "$MEMWHY")
	no_mounts='umount -l /sys/kernel/debug/tracing; umount -l /sys/kernel/tracing; umount -l /sys/kernel/debug'
}

# without WHAT COMMAND...: in a mount namespace of its own. Who may mount has tracefs and debugfs
# all the same.
without() {
	local what=$1 hide drop=
	shift
	case $what in
	mounts) hide=$no_mounts ;;
	tracefs) hide=$no_mounts drop=-sys_admin ;;
	BTF) hide='mount --bind "$empty" /sys/kernel/btf' ;;
	cgroups) hide='umount -R -l /sys/fs/cgroup' ;;
	sysfs) hide='umount -R -l /sys' ;;
	proc) hide='umount -R -l /proc' ;;
	both) hide="$no_mounts; mount --bind \"\$empty\" /sys/kernel/btf" drop=-sys_admin ;;
	esac
	[ -z "$drop" ] || drop="setpriv --bounding-set $drop --inh-caps $drop"
	run --separate-stderr timeout -k 1 10 unshare -m sh -c "mount --make-rprivate /; { $hide; } 2>/dev/null; exec $drop \"\$@\"" - "$memwhy_bin" $(live "$1") "${@:2}" </dev/null
}

# still_works WHAT NAMED COMMAND...: it does; or status 3 and one sentence that has the word NAMED, or a
# report that says that it is not all, and which data was refused.
still_works() {
	local what=$1 named=$2
	shift 2
	without "$what" "$@"
	[ "$status" -eq 0 ] && [ -z "$stderr" ] && [ -n "$output" ] && return
	[ "$status" -eq 3 ] && [ -z "$output" ] && one_error && [[ $stderr =~ $named ]] && return
	[ "$status" -eq 3 ] && [ -z "$stderr" ] && [[ $output == *INCOMPLETE*"Operation not permitted"* ]] && return
	refuse "without $what: $*"
}

@test "degraded: the namespaces of these tests hide what they should" {
	run unshare -m sh -c 'mount --make-rprivate /; mount --bind "$empty" /sys/kernel/btf; ls /sys/kernel/btf'
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "degraded: tracefs and debugfs are not mounted: nothing is missing, nothing is mounted" {
	without mounts count kmem:mm_page_alloc --by gfp_flags -o json --out report -- /bin/echo
	[ "$status" -eq 0 ] || refuse "count"
	jq -e '[.rows[].gfp_flags] | length > 0 and all(test("GFP_"))' report
	without mounts doctor -o json
	[ "$status" -eq 0 ] || refuse "doctor"
	[ "$(jq '[.rows[] | select(.status == "missing" and (.missing | test("tracefs")))] | length' <<<"$output")" -eq 0 ]
	before=$(cat /proc/mounts)
	"$memwhy_bin" count kmem:mm_page_alloc --for 50ms >/dev/null
	[ "$(cat /proc/mounts)" = "$before" ]
}

@test "degraded: no tracefs and no debugfs, and the kernel refuses them" {
	each_works() { try still_works tracefs 'tracefs|tracing' "$1" --for 50ms --stacks; }
	side_by_side each_works $(commands_alone)
	try still_works tracefs 'tracefs|tracing' faults --follow -p $$ --for 50ms
	try still_works tracefs 'tracefs|tracing' doctor
	tried
}

@test "degraded: no tracefs: faults are counted all the same" {
	without tracefs faults -o json --out report -- sh -c 'ls >/dev/null'
	[ "$status" -eq 0 ]
	[ "$(jq '[.rows[].count] | add' report)" -gt 50 ]
}

@test "degraded: no BTF" {
	each_works() { try still_works BTF BTF $1 --for 50ms; }
	side_by_side each_works $(commands_alone) "faults --stacks" "faults --each" "faults -g /" \
		"faults -p $$ --follow" "faults -c sh"
	each_works() { try still_works BTF BTF faults --for 50ms "$1"; }
	side_by_side each_works $(by_each faults)
	tried
}

@test "degraded: no BTF: faults are counted all the same" {
	without BTF faults --for 500ms -o json -p $$
	[ "$status" -eq 0 ] || refuse "faults -p"
	(while sleep 0.02; do ls / >/dev/null; done) 3>&- &
	noise=$!
	without BTF faults --for 500ms -o json
	kill "$noise"
	[ "$status" -eq 0 ] || refuse "faults"
	[ "$(jq '[.rows[].count] | add' <<<"$output")" -gt 50 ]
}

@test "degraded: no BTF: a command and its children are observed, or what is missing is named" {
	without BTF faults -o json --out report -- sh -c 'ls >/dev/null; echo mine'
	if [ "$status" -eq 0 ]; then
		[ "$output" = mine ]
		[ "$(jq '[.rows[] | select(.comm == "ls") | .count] | add // 0' report)" -gt 20 ] || refuse "children: $(jq -c .rows report)"
	else
		[ "$status" -eq 3 ] && one_error && [[ $stderr == *BTF* ]] || refuse "faults -- CMD"
	fi
}

@test "degraded: no BTF: doctor says which data that costs" {
	# What this host lacks anyway (kprobes) is not the point, nor that a test beside has its watchpoints.
	anyway=$("$memwhy_bin" doctor -o json | jq '[.rows[] | select(.status == "missing") | .probe + .data]')
	without BTF doctor -o json
	[ "$status" -eq 0 ]
	jq -e --argjson anyway "$anyway" 'all(.rows[] | select(.status == "missing")
		| select(.probe + .data | IN($anyway[]) | not); .missing | test("BTF|No space left|busy"))' <<<"$output" ||
		refuse "$(jq -c '[.rows[] | select(.status == "missing")]' <<<"$output")"
}

@test "degraded: neither tracefs nor BTF" {
	each_works() { try still_works both 'BTF|trac' "$1" --for 50ms; }
	side_by_side each_works $(commands_alone)
	try still_works both 'BTF|trac' doctor
	tried
}

@test "degraded: no cgroup hierarchy" {
	each_works() { try still_works cgroups cgroup "$1" --for 50ms; }
	side_by_side each_works $(commands_alone | grep -vx limit) # which is of a group
	try still_works cgroups cgroup faults --by cgroup --for 50ms
	for c in faults limit; do
		without cgroups "$c" -g / --for 50ms
		[[ $status -eq 2 || $status -eq 3 ]] && one_error && [[ $stderr == *cgroup* ]] || try refuse "$c -g"
	done
	tried
}

@test "degraded: no /sys, no /proc" {
	for c in faults check doctor; do
		run_for=
		[ "$c" = doctor ] || run_for="--for 50ms"
		try still_works sysfs '/sys|sysfs' "$c" $run_for
		sanitized || try still_works proc '/proc|procfs' "$c" $run_for
	done
	tried
}

@test "degraded: -p and -- CMD in another pid namespace look at the right process, or say that they cannot" {
	run --separate-stderr timeout 10 unshare -pf --mount-proc "$memwhy_bin" faults -o json --out report -- sh -c 'ls >/dev/null'
	if [ "$status" -eq 0 ]; then
		[ "$(jq '[.rows[].count] | add // 0' report)" -gt 50 ] || refuse "a report without the command's faults"
	else
		[ "$status" -eq 3 ] && one_error && [[ $stderr == *namespace* ]] || refuse "in a pid namespace"
	fi
}

@test "no BPF program needs atomics that return a value (Linux 5.12)" {
	objects=("${BUILD:-$BATS_TEST_DIRNAME/../../build}"/gen/*[a-z].bpf.o)
	[ -e "${objects[0]}" ]
	# Atomic operations are opcodes c3 and db; what they do is in the last four bytes, 0 for adding.
	for object in "${objects[@]}"; do
		llvm-objdump -d "$object" | awk -v name="$(basename "$object")" -F'\t' '
			$2 ~ /^(c3|db) / && $2 !~ / 00 00 00 00$/ { print name ": " $0; bad = 1 }
			END { exit bad || !NR }'
	done
}
