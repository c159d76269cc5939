#!/usr/bin/env bats
# -C and short names of control groups, with groups made and named as container runtimes and systemd
# do; faults are held against getrusage.
# bats file_tags=host,beside
load common

ID=fedcba98765432100123456789abcdef00112233445566778899aabbccddeeff

# Files that limit the memory of a group, and tell how much it has: $limit, $usage. $shm can be filled.
needs_memory_limit() {
	limit=memory.limit_in_bytes usage=memory.usage_in_bytes shm=/dev/shm/memwhy_$$
	[ ! -e "$root/$limit" ] || return 0
	limit=memory.max usage=memory.current
	grep -qw memory "$root/cgroup.subtree_control" 2>/dev/null || skip "no memory controller"
}

setup() {
	needs_root
	root=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/mounts)
	[ -n "$root" ] || root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$root" ] || skip "no cgroup hierarchy"
	groups=()
}

# make PATH: a group and those above it, removed by teardown.
make() {
	local at=$root part
	for part in ${1//\// }; do
		at=$at/$part
		[ -d "$at" ] && continue
		mkdir "$at"
		groups=("$at" "${groups[@]}")
	done
}

teardown() {
	exec 7>&- || true
	jobs -p | xargs -r kill 2>/dev/null || true
	wait 2>/dev/null || true
	local g
	rm -f "${shm:-}"
	for g in "${groups[@]}"; do rmdir "$g"; done
}

# Faults of a workload in group $1 are those of `memwhy faults -C $2`, and nobody else's.
faults_of() {
	rm -f "$BATS_TEST_TMPDIR/in"
	touch_start 4
	echo "$pid" >"$root/$1/cgroup.procs"
	memwhy_start faults -C "$2" --by process,cgroup
	touch_go
	memwhy_stop
	touch_end
	echo "$1, -C $2: touch $minor, memwhy: $(jq -c '[.rows[] | {pid, count, cgroup}]' "$json")"
	[ "$(jq "[.rows[] | select(.pid != $pid)] | length" "$json")" -eq 0 ]
	[ "$(jq '[.rows[].count] | add' "$json")" -ge "$minor" ]
	jq -e --arg p "/$1" 'all(.rows[]; .cgroup == $p)' "$json"
}

@test "containers: -C takes the first digits of an id, in the way of each runtime" {
	for path in "memwhy-$$/docker/$ID" "memwhy-$$/docker-$ID.scope" \
		"memwhy-$$/kubepods-burstable-pod11111111_2222_3333_4444_555555555555.slice/cri-containerd-$ID.scope" \
		"memwhy-$$/crio-$ID.scope/container" "memwhy-$$/libpod-$ID.scope/container"; do
		groups=()
		make "$path"
		faults_of "$path" "${ID:0:10}"
		[ "$(jq -r '.rows[0].container' "$json")" = "${ID:0:12}" ]
		[[ $(jq -r .scope "$json") == cgroup\ *:${ID:0:12} ]]
		for g in "${groups[@]}"; do rmdir "$g"; done
	done
	groups=()
}

@test "containers: -C takes a pod's UID, a unit and what text shows" {
	pod=kubepods-burstable-pod1111abcd_2222_3333_4444_555555555555.slice
	make "memwhy-$$/$pod/crio-$ID.scope"
	make "memwhy-$$/memwhy-unit-$$.service/worker"
	faults_of "memwhy-$$/$pod/crio-$ID.scope" 1111abcd-2222
	faults_of "memwhy-$$/$pod/crio-$ID.scope" "cri-o:${ID:0:12}"
	faults_of "memwhy-$$/memwhy-unit-$$.service/worker" "memwhy-unit-$$.service"
	jq -e 'all(.rows[]; has("container") | not)' "$json"
	faults_of "memwhy-$$/memwhy-unit-$$.service/worker" "memwhy-unit-$$"
	faults_of "memwhy-$$/memwhy-unit-$$.service/worker" "memwhy-unit-$$.service/worker"
}

@test "containers: text shows a short name, -o wide and CSV the path" {
	make "memwhy-$$/docker/$ID"
	in=$root/memwhy-$$/docker/$ID/cgroup.procs
	show() { sh -c 'echo $$ >"$0"; exec "$@"' "$in" "$MEMWHY" faults --by cgroup "$@" -- true; }
	run show
	[[ $output == *$'\n'"docker:${ID:0:12} "* && $output != *"/docker/"* ]]
	run show -o wide
	[[ $output == *"/memwhy-$$/docker/$ID "* ]]
	run show -v
	[[ $output != *"docker:${ID:0:12}"* ]]
	run show -o csv
	[[ $output == *"/memwhy-$$/docker/$ID,"* ]]
}

refuse() { # WORD CAUSE HINT
	run -2 --separate-stderr "$MEMWHY" faults --for 300ms -C "$1"
	echo "$stderr"
	[[ -z $output && $stderr == *"$2"* && $stderr == *"$3"* ]]
}

@test "containers: what stands for none or for several is refused, with what there is" {
	make "memwhy-$$/docker/$ID"
	make "memwhy-$$/docker/${ID:0:8}${ID:12}0000"
	make "memwhy-$$/memwhy-unit-$$.service"
	refuse "${ID:0:8}" "stands for 2 control groups: docker:${ID:0:12}, docker:" "more of the id"
	refuse "${ID:0:3}" "no container, pod or unit '${ID:0:3}'" "at least 4 digits"
	refuse "memwhy-nuit-$$.service" "no container" "is it 'memwhy-unit-$$.service'?"
	refuse 0123456789abcdef "no container" "containers here: docker:${ID:0:12}"
	make "memwhy-$$/system.slice/docker-$ID.scope" # the same short name: their paths tell
	refuse "$ID" "groups: /memwhy-$$/docker/$ID, /memwhy-$$/system.slice/docker-" "with -g"
	run -2 --separate-stderr "$MEMWHY" faults --for 300ms -C "$ID" -g /
	[[ $stderr == *"-g and -C exclude each other"* ]]
}

# Commands of part $2 ("try") of the finding on a memory limit in the text $1, one a line.
commands_shown() {
	sed -n '/^[0-9]*\. RISK  *cgroup /,/^$/p' "$1" |
		sed -n "/^ *$2 /,/^   [a-z]/s/^   \($2\|      *\)   *\(echo\|memwhy\) /\2 /p"
}

# A control group is named by who may make one: its name is in commands that root is to copy.
@test "containers: commands for a group with a hostile name do what they say, and nothing else" {
	needs_memory_limit
	local name at sh part
	cd "$BATS_TEST_TMPDIR"
	mkdir run
	for name in 'a;touch a1;' 'a`touch a2`' 'a$(touch a3)' "a'; touch a4; '" 'a"; touch a5; "' \
		$'a\ttouch a6\e[2J' 'a|touch a7&touch a8' 'a`echo `x y\\040'; do
		at=$root/memwhy_$$.$name
		mkdir "$at"
		groups+=("$at")
		sh -c 'echo $$ >"$1/cgroup.procs" && exec head -c 32M /dev/zero' sh "$at" >"$shm"
		full=$((($(<"$at/$usage") / 65536 + 2) * 65536))
		echo $full >"$at/$limit"
		"$MEMWHY" check --for 200ms -g "$at" >text
		printf '%q\n' "$at"
		cat text
		for part in $((full / 2 * 3)):try $full:undo; do
			commands_shown text "${part#*:}" >commands
			cat commands
			[ "$(wc -l <commands)" -eq 1 ]
			for sh in sh bash; do
				(cd run && $sh ../commands)
				[ -z "$(ls run)" ]
				[ "$(<"$at/$limit")" -eq "${part%:*}" ]
			done
		done
		commands_shown text verify | sed "s|^memwhy|$MEMWHY|; s/ 30s / 50ms /" >commands
		(cd run && sh ../commands >../verified)
		[ -z "$(ls run)" ]
		cat commands verified
		grep -q '^[0-9]*\. RISK  *cgroup ' verified
		rm "$shm"
	done
}
