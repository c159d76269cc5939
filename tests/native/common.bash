# Shared by the tests that look at the running kernel.
bats_require_minimum_version 1.5.0
: "${MEMWHY:=$BATS_TEST_DIRNAME/../../build/memwhy}"
WORKLOADS=${BUILD:-$BATS_TEST_DIRNAME/../../build}/tests/workloads
with_kernelfs=$BATS_TEST_DIRNAME/../with-kernelfs # for peers, and for what the kernel says itself
home=
swap_file=

needs_root() {
	[ "$(id -u)" -eq 0 ] || skip "needs root to load BPF programs"
}

# wait_for CONDITION: up to 20 seconds; in a guest, which is slow, up to two minutes.
wait_for() {
	for _ in $(seq "${MEMWHY_VM:+2}400"); do
		eval "$1" && return 0
		sleep 0.05
	done
	echo "waited in vain for: $1" >&2
	return 1
}

# Starts `touch` and leaves it waiting: $pid, its input on fd 7.
touch_start() {
	mkfifo "$BATS_TEST_TMPDIR/in"
	"$WORKLOADS/touch" "$@" <"$BATS_TEST_TMPDIR/in" >"$BATS_TEST_TMPDIR/out" 3>&- &
	pid=$!
	exec 7>"$BATS_TEST_TMPDIR/in"
	wait_for 'grep -q ready "$BATS_TEST_TMPDIR/out"'
}

# Lets it touch, and waits for its numbers: $minor, $major.
touch_go() {
	echo go >&7
	wait_for '[ "$(wc -l <"$BATS_TEST_TMPDIR/out")" -ge 2 ]'
	read -r minor major < <(tail -n1 "$BATS_TEST_TMPDIR/out")
}

touch_end() {
	exec 7>&-
	wait "$pid"
}

# Starts memwhy in the background, its JSON report going to $json, and waits until it counts.
memwhy_start() {
	json=$BATS_TEST_TMPDIR/report.json
	memwhy_run "$@" -o json --out "$json"
}

# The same, with what it prints going to $lines as it comes (--like).
memwhy_run() {
	lines=$BATS_TEST_TMPDIR/lines
	"$MEMWHY" "$@" >"$lines" 2>"$BATS_TEST_TMPDIR/err" 3>&- 7>&- &
	memwhy=$!
	wait_for 'memwhy_attached || ! kill -0 $memwhy 2>/dev/null'
}

# It drops its capabilities once everything is attached. Without a pid: $memwhy.
memwhy_attached() { # [PID]
	grep -q '^NoNewPrivs:[[:space:]]*1' "/proc/${1:-$memwhy}/status" 2>/dev/null
}

# As nobody, with no capability.
as_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs "$@"
}

# A home of nobody's below directories that only root may write to: $home, gone after the test.
home_make() {
	home=$(mktemp -d /var/lib/memwhy-test.XXXXXX)
	chown 65534:65534 "$home"
}

# Swap until the end of the test: what is on already, else a file of the test's own.
needs_swap() {
	local dir
	[ "$(wc -l </proc/swaps)" -le 1 ] || return 0
	for dir in "$BATS_TEST_TMPDIR" /var/tmp "${BUILD:-$BATS_TEST_DIRNAME/../../build}"; do
		swap_file=$(mktemp "$dir/memwhy-swap.XXXXXX")
		dd if=/dev/zero of="$swap_file" bs=1M count=64 status=none
		mkswap "$swap_file" >/dev/null && swapon "$swap_file" && return 0
		rm -f "$swap_file"
		swap_file=
	done
	skip "no swap is on, and no file can be swapped to"
}

# A directory on a file system whose pages reclaim can drop: $disk. The root of a guest is in memory;
# there one is made, in a file of the group that the test is in.
needs_disk() {
	disk=$(realpath "${BUILD:-$BATS_TEST_DIRNAME/../../build}")
	[ "$(stat -f -c %T "$disk")" = overlayfs ] || return 0
	busybox modprobe loop
	busybox modprobe ext4
	head -c 200M /dev/zero >"$BATS_TEST_TMPDIR/disk.img"
	mkfs.ext4 -q -E nodiscard "$BATS_TEST_TMPDIR/disk.img"
	disk=$BATS_TEST_TMPDIR/disk
	mkdir "$disk"
	mount -o loop "$BATS_TEST_TMPDIR/disk.img" "$disk"
	disk_mounted=$disk
}

disk_end() {
	[ -z "${disk_mounted-}" ] || umount "$disk_mounted"
	disk_mounted=
}

two_nodes() {
	[ -d /sys/devices/system/node/node1 ] || skip "needs two NUMA nodes"
}

# adds_up JSON: what the kernel counted is what was delivered and lost, by its own word
adds_up() {
	jq -e '[(.lost_reasons // {})[], .notes[]? | select(test("please report it"))] == []' "$1" ||
		{ jq -c '[.events, .lost, .lost_reasons, .notes]' "$1"; false; }
}

memwhy_stop() {
	kill -INT "$memwhy"
	status=0
	wait "$memwhy" || status=$?
	[ "$status" -eq 130 ] || { cat "$BATS_TEST_TMPDIR/err"; return 1; }
}

# Sets a sysctl until the end of the test.
setting_set() {
	printf '%s=%s\n' "$1" "$(sysctl -n "$1")" >>"$BATS_TEST_TMPDIR/settings"
	sysctl -qw "$1=$2"
}

# The path of the first shared library of the loader's whose name begins so; fails where there is none.
library() { # NAME
	ldconfig -p | awk -v name="$1" 'index($1, name) == 1 { print $NF; found = 1; exit } END { exit !found }'
}

# Of heap's report: fields of the process rows, one line each.
processes() { # FIELD...
	jq -r --arg f "$*" '.rows[] | select(.table == "process") | [.[$f | split(" ")[]]] | @tsv' "$json" |
		tr '\t' ' '
}

# jq 1.6 with -e is content when it has printed nothing, as of an empty report.
jq() {
	local printed status=0
	[[ $1 == -e || $1 == -es ]] || { command jq "$@"; return; }
	printed=$(command jq "$@") || status=$?
	echo "$printed"
	[[ $status -eq 0 && -n $printed ]]
}

# Also when a test failed or was interrupted: nothing runs on, no group ($group) is left, settings
# are as they were (after the end of what may change them too: numa --balancing), no swap file is on.
common_teardown() {
	exec 7>&- || true
	jobs -p | xargs -r kill 2>/dev/null || true
	wait 2>/dev/null || true
	[ ! -e "$BATS_TEST_TMPDIR/settings" ] || tac "$BATS_TEST_TMPDIR/settings" | xargs -rn1 sysctl -qw
	[ -z "$group" ] || [ ! -d "$group" ] || rmdir "$group"
	disk_end
	[ -z "$home" ] || rm -rf "$home"
	[ -z "$swap_file" ] || { swapoff "$swap_file"; rm -f "$swap_file"; }
}

# A file of tests with more to undo has a teardown of its own, which calls that one.
teardown() {
	common_teardown
}
