# A file server that answers no more: whoever touches its files waits for ever, and not even SIGKILL
# ends that. memwhy does not wait.
# bats file_tags=beside
load common

setup() {
	export MEMWHY
	needs_root
	[ -c /dev/fuse ] || skip "needs FUSE"
	cd "$BATS_TEST_TMPDIR"
	mkdir dir
	mkfifo in
}

teardown() {
	exec 7>&-
	[ -z "${server-}" ] || wait "$server" || true
	umount -l dir/below 2>/dev/null || true
	umount -l dir 2>/dev/null || true
}

# hang WHAT [REQUEST]: of tests/workloads/hung_files.c
hang() {
	"$WORKLOADS/hung_files" dir "$@" <in >ready 2>err 3>&- &
	server=$!
	exec 7>in
	wait_for 'grep -q ready ready || ! kill -0 $server 2>/dev/null'
	grep -q ready ready || skip "$(cat err)"
}

# in_time ARGUMENT...: of memwhy, ended by nobody
in_time() {
	timeout -k 1 "${MEMWHY_VM:+2}40" "$MEMWHY" "$@" >report 2>&1 7>&-
}

@test "check is done where the lowest page of a process lies on a file server that hangs" {
	hang low
	in_time check --for 3s
}

@test "check is done where a program that grows lies on a file server that hangs" {
	hang exec
	in_time check --for 4s
}

@test "check and where are done where a tmpfs is mounted below a file server that hangs" {
	hang mount
	in_time check --for 3s
	in_time where
}

@test "check is done where a file of a server that hangs is open under a deleted file's name" {
	hang open
	in_time check --for 3s
}

@test "faults ends, and leaves no pipe open, where a program lies on a file server that hangs" {
	hang exec
	timeout -k 1 "${MEMWHY_VM:+2}40" sh -c '"$MEMWHY" faults --stacks --for 3s | cat' >report 7>&-
}

# It answers whoever looks, and not who opens or reads: its program is read by processes of their own.
@test "check and faults end where a file server answers all but who opens a file, and say so" {
	hang exec open
	in_time check --for 4s
	in_time faults --stacks --for 2s -o json
	jq -e '[.not_checked[] | select(startswith("files: ") and contains("did not answer in time"))] |
		length == 1 and (.[0] | contains("/dir/file"))' report
}

@test "check and faults end where a file server answers all but who reads a file" {
	hang exec read
	in_time check --for 4s
}

@test "faults ends soon where a file server answers with the first page of a file and no more, and says so" {
	hang exec beyond
	SECONDS=0
	in_time faults --stacks --for 2s -o json
	[ "$SECONDS" -lt 30 ]
	jq -e '[.notes[] | select(contains("/dir/file") and contains("took too long"))] | length == 1' report
}

@test "where and check end where a file server answers all but who lists a directory" {
	hang open readdir
	in_time check --for 3s
	in_time where --files
}
