#!/usr/bin/env bats
# Who pushes whose files out of the page cache: check names both, and what it says to try ends it.

# bats file_tags=host
load common
. "$BATS_TEST_DIRNAME/../zoo/zoo.bash"

setup() {
	[ "$(id -u)" -eq 0 ] || skip "needs root to load BPF programs"
	[ -e $zoo_memory/memory.limit_in_bytes ] || skip "needs the memory controller of cgroup v1"
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	scratch=$BATS_TEST_TMPDIR zoo_pid= zoo_cgroup= own=
}

teardown() {
	[ -z "${zoo_pid-}" ] || zoo_stop
	if [ -n "${own-}" ]; then
		while read -r pid; do kill -KILL "$pid"; done <"$own/cgroup.procs"
		[ -z "${hand-}" ] || kill "$hand"
		wait
		rmdir "$own"
	fi
}

look() {
	timeout 60 "$MEMWHY" check -q --for 6s -o json --out "$scratch/report" 3>&-
}

blamed() { # the finding that names the reader
	jq -e 'first(.findings[] | select(.rule == "page-cache" and (.title | test("^batch-scan"))))' \
		"$scratch/report"
}

@test "a reader that pushes a working set out is named with its victim; alone in a group it harms nobody" {
	zoo_start tests/zoo/evicted-index.c
	look
	blamed | jq -e '(.title | test("working set of evicted-index")) and
		(.level != "note") and (.evidence | any(test("^effect: cgroup .* hits its memory limit")))'
	jq -e '[.findings[] | select(.rule == "cgroup-limit" and (.title | test("zoo-evicted")))] == []' \
		"$scratch/report"

	own=$zoo_memory/zoo-own-$$
	mkdir "$own"
	echo 64M >"$own/memory.limit_in_bytes"
	pgrep -g "$zoo_pid" batch-scan >"$own/cgroup.procs"
	sleep 3 # until the index is back
	look
	run blamed
	[ "$status" -ne 0 ]
}

# A process of its own group that reads a file of 96 MiB again and again.
reader_start() { # LIMIT
	own=$zoo_memory/zoo-own-$$
	mkdir "$own"
	echo "$1" >"$own/memory.limit_in_bytes"
	cat >"$scratch/reader.py" <<-'END'
		import os, sys
		with open(sys.argv[1], "wb") as f:
		    f.write(bytes(96 << 20))
		    os.fsync(f.fileno())
		while True:
		    with open(sys.argv[1], "rb", buffering=0) as f:
		        while f.read(1 << 20):
		            pass
	END
	bash -c 'echo $$ >"$1/cgroup.procs"; exec python3 "$2" "$3"' - "$own" "$scratch/reader.py" "$scratch/index" 3>&- &
	sleep 2 # until the file is there
}

by_group() { # who is said to have had pages pushed out by a write to a file of a control group
	jq -r '.findings[] | select(.rule == "page-cache" and (.title | test("memory.force_empty"))) | .title' \
		"$scratch/report"
}

@test "a group that is emptied by hand: the process that writes to its file is named" {
	reader_start -1
	bash -c 'while sleep 0.2; do echo 1 >"$1/memory.force_empty"; done' - "$own" 3>&- &
	hand=$!
	look
	jq -c '.findings[] | [.level, .title]' "$scratch/report"
	by_group | grep "^bash.* (pid $hand) evicts file pages"
}

@test "a process that writes into pipes, and needs room for that, is not taken for one that empties groups" {
	reader_start 140M
	cat >"$scratch/writer.py" <<-'END'
		import os
		while True:
		    ends = [os.pipe() for _ in range(900)]
		    for _, end in ends:
		        os.write(end, bytes(65536))
		    for pair in ends:
		        os.close(pair[0]), os.close(pair[1])
	END
	bash -c 'ulimit -n 4096; echo $$ >"$1/cgroup.procs"; exec python3 "$2"' - "$own" "$scratch/writer.py" 3>&- &
	look
	jq -c '.findings[] | [.level, .title]' "$scratch/report"
	[ "$(awk '$1 == "workingset_refault_file" { print $2 }' "$own/memory.stat")" -gt 5000 ]
	[ -z "$(by_group)" ]
}

@test "where --for: who pushes whose files out, as often as the kernel counts it" {
	zoo_start tests/zoo/evicted-index.c
	refaults() {
		awk '$1 == "workingset_refault_file" { print $2 }' "$zoo_cgroup/memory.stat"
	}
	before=$(refaults)
	timeout 60 "$MEMWHY" where -q -g "${zoo_cgroup#"$zoo_memory"}" --for 12s -o json --out "$scratch/report" 3>&-
	counted=$((($(refaults) - before) * 4096))
	jq -c '.rows[] | select(.table == "evictions")' "$scratch/report"
	jq -e '[.rows[] | select(.table == "evictions" and .victim == "evicted-index")] | max_by(.read_back_bytes) |
		(.evictor | test("^(batch-scan|kswapd)")) and .after_ns > 0 and (.cgroup | test("zoo"))' "$scratch/report"
	got=$(jq '[.rows[] | select(.table == "evictions") | .read_back_bytes] | add' "$scratch/report")
	echo "read back $got, the kernel counts $counted"
	# It is the index, and its pages are those of the table above.
	jq -c '.rows[] | select(.table == "evicted_files")' "$scratch/report"
	file=$(jq -r '[.rows[] | select(.table == "evicted_files" and .victim == "evicted-index")] | max_by(.read_back_bytes) | .file' "$scratch/report")
	[[ $file == */index ]]
	of_files=$(jq '[.rows[] | select(.table == "evicted_files") | .read_back_bytes] | add' "$scratch/report")
	[ "$of_files" -ge $((got * 9 / 10)) ]
	[ "$of_files" -le $((got * 11 / 10)) ]
	# What was pushed out before is not known to have come back: here what came within two seconds.
	[ "$got" -gt $((counted * 6 / 10)) ]
	[ "$got" -lt $((counted * 11 / 10)) ]
}

@test "many small files that are read once are not counted as large ones that are read in vain" {
	zoo_start tests/zoo/mail-index.py
	look
	jq -c '.findings[] | [.level, .title]' "$scratch/report"
	jq -e '[.findings[] | select(.rule == "read-ahead" and (.title | test("mail-index")))] == []' \
		"$scratch/report"
}
