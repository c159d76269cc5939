#!/usr/bin/env bats
# Two troubles at once: check names both, each with its own share, and puts what hurts below them.

# bats file_tags=host
load common
. "$BATS_TEST_DIRNAME/../zoo/zoo.bash"

setup() {
	needs_root
	[ -e $zoo_memory/memory.limit_in_bytes ] || skip "needs the memory controller of cgroup v1"
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	zoo_pid= zoo_cgroup= started=()
}

teardown() {
	for one in "${started[@]}"; do
		read -r zoo_pid zoo_cgroup scratch <<<"$one"
		zoo_stop
	done
}

start() { # PROGRAM: its process and its group are kept for the end
	scratch=$BATS_TEST_TMPDIR/${1%.*}
	mkdir "$scratch"
	zoo_start "tests/zoo/$1"
	started+=("$zoo_pid ${zoo_cgroup:--} $scratch")
}

# The first finding of a rule that names a program; its number and its share are printed.
finding() { # RULE NAME
	jq -e --arg rule "$1" --arg name "$2" 'first(.findings[] | select(.rule == $rule and
		(.title | test($name))))' "$BATS_TEST_TMPDIR/report"
}

@test "a reader that evicts another's files, and copies after fork: both causes, no symptom beside them" {
	start evicted-index.c
	start fork-snapshot.c
	timeout 60 "$MEMWHY" check -q --for 6s -o json --out "$BATS_TEST_TMPDIR/report" 3>&-
	jq -r '.findings[] | "\(.level) \(.rule) \(.title)"' "$BATS_TEST_TMPDIR/report"
	finding page-cache '^batch-scan .* working set of evicted-index' |
		jq -e '.level != "note" and (.evidence | any(test("^effect: ")))'
	finding copy-on-write '^fork-snapshot' |
		jq -e '.level != "note" and (.evidence | any(test("^explains [0-9]+ % of the ")))'
	# What the readers wait for is told once, below the cause.
	jq -e '[.findings[] | select((.rule == "reclaim-stalls" or .rule == "cgroup-limit") and
		(.title | test("evicted-index|batch-scan")))] == []' "$BATS_TEST_TMPDIR/report"
}
