#!/usr/bin/env bats
# What check advises, carried out: the trouble is gone, and the undo brings it back. By the programs of
# the zoo.

# bats file_tags=host
load common
. "$BATS_TEST_DIRNAME/../zoo/zoo.bash"

setup() {
	needs_root
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	scratch=$BATS_TEST_TMPDIR zoo_pid= zoo_cgroup= mount_point= found=$BATS_TEST_TMPDIR/found
}


teardown() {
	[ -z "${zoo_pid-}" ] || zoo_stop
	[ -z "${group-}" ] || xargs -r kill -KILL <"$group/cgroup.procs" 2>/dev/null || true
	jobs -p | xargs -r kill 2>/dev/null || true # what has files open there
	wait
	[ -z "${mount_point-}" ] || ! mountpoint -q "$mount_point" || umount "$mount_point"
	common_teardown
}

# look RULE NAME [SECONDS]: the findings of that rule whose title has that name, in $found.
look() {
	timeout 60 "$MEMWHY" check -q --for "${3-3}s" -o json --out "$scratch/report" 3>&-
	jq --arg rule "$1" --arg name "$2" \
		'[.findings[] | select(.rule == $rule and (.title | test($name)))]' "$scratch/report" >"$found"
}

told() {
	jq -e 'length >= 1' "$found" || { jq -r '.findings[].title' "$scratch/report"; false; }
}

quiet() {
	jq -e 'length == 0' "$found"
}

# carry_out PART PATTERN: the commands of a part (try, undo, verify) of the first finding that match; at
# least one does.
carry_out() {
	jq -r --arg part "$1" --arg pattern "$2" '.[0][$part][] | scan("`([^`]+)`")[0] | select(test($pattern))' \
		"$found" >"$scratch/commands"
	cat "$scratch/commands"
	[ -s "$scratch/commands" ]
	as_owner bash -e <"$scratch/commands"
}

may_raise_limits() { # CAP_SYS_RESOURCE, 24
	((0x$(awk '$1 == "CapEff:" { print $2 }' /proc/self/status) >> 24 & 1))
}

# Root may change the limits of others where it has CAP_SYS_RESOURCE; else the owner of the process may.
as_owner() {
	local uid
	[ -n "$zoo_pid" ] || { "$@"; return; }
	uid=$(stat -c %u "/proc/$zoo_pid")
	if [ "$uid" -eq 0 ] || may_raise_limits; then
		"$@"
	else
		setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"
	fi
}

# advice RULE PROGRAM NAME PATTERN: told, carried out, gone; undone, told again.
advice() { # RULE PROGRAM NAME PATTERN
	zoo_start "tests/zoo/$2"
	look "$1" "$3"
	told
	cp "$found" "$scratch/first"
	carry_out try "$4"
	look "$1" "$3"
	quiet
	cp "$scratch/first" "$found"
	carry_out undo "$4"
	look "$1" "$3"
	told
}

@test "advice: RLIMIT_NPROC is raised for the process that is refused" {
	advice limit-met nproc-limit.py 'RLIMIT_NPROC is reached: 40 ' '^prlimit '
}

@test "advice: pids.max of the group is raised" {
	advice limit-met tasks-limit.py 'pids.max. is reached: 8' '^echo '
}

@test "advice: RLIMIT_AS is raised, the hard limit with it" {
	may_raise_limits || skip "no CAP_SYS_RESOURCE to raise a hard limit"
	advice limit-met address-limit.py 'RLIMIT_AS' '^prlimit '
}

@test "advice: RLIMIT_NOFILE is raised below the hard limit" {
	prlimit --nofile=256:4096 python3 - 3>&- <<-'P' &
		import resource, time
		kept = []
		while True:
		    try: kept.append(open("/dev/null"))
		    except OSError: pass
		    if len(kept) >= 300: kept.pop()
		    if len(kept) > 240: time.sleep(0.02)
	P
	wait_for '[ "$(ls "/proc/$!/fd" | wc -l)" -ge 256 ]'
	look limit-met 'RLIMIT_NOFILE is reached: 256 '
	told
	cp "$found" "$scratch/first"
	carry_out try '^prlimit '
	look limit-met 'RLIMIT_NOFILE is reached: 256 '
	quiet
	cp "$scratch/first" "$found"
	carry_out undo '^prlimit '
	look limit-met 'RLIMIT_NOFILE is reached: 256 '
	told
	kill $!
	wait $! || true
}

@test "advice: groups that were removed are emptied of their page cache" {
	[ -e $zoo_memory/memory.force_empty ] || skip "needs the memory controller of cgroup v1"
	zoo_start tests/zoo/dead-idle.py
	look dead-groups "of page cache"
	told
	# It names the place where most were: other tests leave dead groups too.
	for _ in 1 2 3; do
		carry_out try 'memory.force_empty$'
		look dead-groups "zoo-idle-$zoo_pid"
		[ "$(jq length "$found")" -gt 0 ] || break
	done
	quiet
}

@test "advice: groups that files in tmpfs keep go with the files, which where --files names" {
	[ -e $zoo_memory/memory.force_empty ] || skip "needs the memory controller of cgroup v1"
	zoo_start tests/zoo/dead-jobs.py
	look dead-groups "of files in tmpfs"
	told
	PATH=$BUILD:$PATH carry_out try "^memwhy where --files --table removed_groups\$" >"$scratch/files"
	grep -q "/dev/shm/zoo-jobs-$zoo_pid/" "$scratch/files"
	find "/dev/shm/zoo-jobs-$zoo_pid" -type f -delete
	look dead-groups "of files in tmpfs"
	quiet
}

# In an IPC namespace of its own: segments of others are not ours to remove.
segments() {
	local kept keeper=
	trap '[ -z "$keeper" ] || kill "$keeper"; [ -z "$zoo_pid" ] || zoo_stop' EXIT
	zoo_start tests/zoo/sysv-orphan.c
	python3 - >"$scratch/kept" <<-'P' &
		import ctypes, time
		libc = ctypes.CDLL(None)
		libc.shmat.restype = ctypes.c_void_p
		segment = libc.shmget(0, 300 << 20, 0o1600)
		ctypes.memset(libc.shmat(segment, None, 0), 1, 300 << 20)
		print(segment, flush=True)
		time.sleep(60)
	P
	keeper=$!
	wait_for '[ -s "$scratch/kept" ]'
	kept=$(<"$scratch/kept")
	look shm-orphans ''
	told
	carry_out try '^ipcrm '
	look shm-orphans ''
	quiet
	[ "$(ipcs -m | awk '$1 ~ /^0x/ { print $2 }')" = "$kept" ]
}

@test "advice: segments that nobody has attached are removed, and no other" {
	unshare -i bash -eET -c "$(declare -p scratch found zoo_memory MEMWHY BUILD BATS_TEST_DIRNAME
		declare -f)
segments" 3>&-
}

# In a devpts of its own, as containers have one.
terminals() {
	local holder= asker=
	trap 'kill $asker $holder || true' EXIT
	mount -t devpts -o newinstance,max=24,ptmxmode=0666 devpts /dev/pts
	python3 - >"$scratch/held" <<-'P' &
		import os, time
		kept = [os.open("/dev/pts/ptmx", os.O_RDWR | os.O_NOCTTY) for _ in range(24)]
		print(len(kept), flush=True)
		time.sleep(60)
	P
	holder=$!
	wait_for '[ -s "$scratch/held" ]'
	python3 - <<-'P' &
		import contextlib, os, time
		def ask():
		    with contextlib.suppress(OSError):
		        os.close(os.open("/dev/pts/ptmx", os.O_RDWR | os.O_NOCTTY))
		    time.sleep(0.02)
		any(ask() for _ in range(3000))
	P
	asker=$!
	look limit-met "pid $asker.*pid $holder\\) has the most open, 24"
	told
	cp "$found" "$scratch/first"
	carry_out try '^nsenter .*remount,max=48 '
	look limit-met pseudo-terminals
	quiet
	cp "$scratch/first" "$found"
	carry_out undo '^nsenter .*remount,max=24 '
	look limit-met pseudo-terminals
	told
}

@test "advice: where all pseudo-terminals are taken, the holder is named and more are allowed" {
	unshare -m --propagation private bash -eET -c "$(declare -p scratch found zoo_pid MEMWHY BUILD
		declare -f)
terminals" 3>&-
}

@test "advice: a pool of huge pages that nobody uses is given back" {
	local before
	before=$(sysctl -n vm.nr_hugepages)
	setting_set vm.nr_hugepages $((before + $(awk '/^MemTotal/ { print int($2 / 2048 / 16) }' /proc/meminfo)))
	look hugetlb-idle ''
	told
	cp "$found" "$scratch/first"
	carry_out try '^echo '
	look hugetlb-idle ''
	quiet
	cp "$scratch/first" "$found"
	carry_out undo '^echo '
	look hugetlb-idle ''
	told
}

@test "advice: a tmpfs out of inodes is allowed more" {
	mount_point=$BATS_TEST_TMPDIR/spool
	mkdir "$mount_point"
	mount -t tmpfs -o size=50m,nr_inodes=200 spool "$mount_point"
	python3 - "$mount_point" 3>&- <<-'P' &
		import itertools, os, sys, time
		for i in itertools.count():
		    try: os.close(os.open(f"{sys.argv[1]}/{i}", os.O_CREAT))
		    except OSError: pass
		    if i > 190: time.sleep(0.02)
	P
	wait_for '[ "$(df --output=iavail "$mount_point" | tail -n 1)" -eq 0 ]'
	look limit-met "at $mount_point has no free inode: it is limited to 200 "
	told
	cp "$found" "$scratch/first"
	carry_out try 'nr_inodes=400'
	find "$mount_point" -type f -delete
	look limit-met "at $mount_point"
	quiet
	find "$mount_point" -type f -delete
	cp "$scratch/first" "$found"
	carry_out undo 'nr_inodes=200'
	wait_for '[ "$(df --output=iavail "$mount_point" | tail -n 1)" -eq 0 ]'
	look limit-met "at $mount_point has no free inode: it is limited to 200 "
	told
	kill $!
	wait $! || true
}

@test "advice: tasks of a group without an OOM killer go on when its limit is raised" {
	[ -e $zoo_memory/memory.oom_control ] || skip "needs the memory controller of cgroup v1"
	group=$zoo_memory/memwhy-hangs-$$
	mkdir "$group"
	echo 20M >"$group/memory.limit_in_bytes"
	[ ! -e "$group/memory.memsw.limit_in_bytes" ] || echo 20M >"$group/memory.memsw.limit_in_bytes"
	echo 1 >"$group/memory.oom_control"
	sh -c 'echo $$ >"$0/cgroup.procs"; exec python3 -c "x = bytearray(18 << 20); import time; time.sleep(60)"' \
		"$group" 3>&- &
	wait_for 'grep -q "^under_oom 1" "$group/memory.oom_control"'
	look cgroup-hangs "memwhy-hangs-$$"
	told
	jq -e '.[0].level == "critical"' "$found"
	carry_out try '^echo [0-9]+ > .*limit_in_bytes'
	look cgroup-hangs "memwhy-hangs-$$"
	quiet
	kill $!
	wait $! || true
}
