# Shared by the tests of the ledger: taking one, and holding a known amount of memory meanwhile.

# ledger FILE: one of now.
ledger() {
	"$MEMWHY" where -o json --out "$1" --force
}

# bytes FILE ROW
bytes() {
	jq --arg row "$2" '[.rows[] | select(.table == "ledger" and .row == $row) | .bytes] | add // 0' "$1"
}

total() {
	jq '[.rows[] | select(.table == "ledger") | .bytes] | add' "$1"
}

hold_end() {
	exec 7>&-
	wait "$holder" 2>/dev/null || true
	holder=
}

teardown() {
	[ -z "${holder-}" ] || hold_end
	[ -z "${segment-}" ] || ipcrm -m "$segment"
	[ -z "${mounted-}" ] || umount "$mounted"
	[ -z "${inner-}" ] || [ ! -d "$inner" ] || rmdir "$inner"
	common_teardown
}

# hold KIND BYTES [PATH]: starts it, and waits until it has it all.
hold() {
	rm -f in out
	mkfifo in
	"$WORKLOADS/where_work" "$@" <in >out 3>&- &
	holder=$!
	exec 7>in
	wait_for 'grep -q ready out || ! kill -0 "$holder" 2>/dev/null'
	grep -q ready out
}
