# Shared by the tests of the black box: a service that records, what it says, and what it keeps.
load common

setup() {
	needs_root
	cd "$BATS_TEST_DIRNAME/../.." || exit 1
	name=memwhy-test-$$-$BATS_TEST_NUMBER
	export MEMWHY_CGROUP_FILE=$BATS_TEST_TMPDIR/group
	dir=$BATS_TEST_TMPDIR/incidents
	lines=$BATS_TEST_TMPDIR/lines
	mounted=
}

teardown() {
	jobs -p | xargs -r kill 2>/dev/null || true
	wait 2>/dev/null || true
	[ -z "$mounted" ] || umount "$mounted"
}

# Starts a service that records to $dir: $service.
service_start() {
	"$MEMWHY" serve --listen "unix:$BATS_TEST_TMPDIR/s" --incidents "$dir" "$@" >"$lines" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	service=$!
	wait_for 'grep -q "\"ready\"" "$lines" || ! kill -0 $service 2>/dev/null'
}

service_stop() {
	kill "$service"
	wait "$service"
}

metric() { # SERIES
	curl -sS --unix-socket "$BATS_TEST_TMPDIR/s" http://localhost/metrics |
		awk -v series="$1" 'substr($0, 1, length(series) + 1) == series " " { print $NF }'
}

ask() {
	kill -USR1 "$service"
}

# The file of the last incident with such a reason; others on this machine may have processes killed too.
file() { # PATTERN
	jq -rs "[.[] | select(.event == \"incident\" and (.reasons | any(test(\"$1\"))))] | last | .file" "$lines"
}

# How many were asked for and written, or not.
asked() { # EVENT
	jq -s "[.[] | select(.event == \"$1\" and (.reasons | any(test(\"asked\"))))] | length" "$lines"
}
