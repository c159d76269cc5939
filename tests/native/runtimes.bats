#!/usr/bin/env bats
# User stacks through code that Node.js and Java make at run time: next to gdb's, next to what the
# program says of itself, and its names from perf-PID.map. Skipped where one is not installed
# (tools/deps oracles).
# bats file_tags=beside,host
load common
load oracle

setup_file() {
	cat >"$BATS_FILE_TMPDIR/job.js" <<-EOF
		Error.stackTraceLimit = 100;
		const fs = require("fs"), byte = Buffer.alloc(1), kept = [];
		let said;
		function leaf(n) { if (said === null) said = new Error().stack; fs.writeSync(2, "x"); return n; }
		function down(n) { return n > 0 ? down(n - 1) + 1 : leaf(n); }
		function hold(n) { kept.push(Buffer.allocUnsafeSlow(1 << 20).fill(1)); return n; }
		function holdDown(n) { return n > 0 ? holdDown(n - 1) + 1 : hold(n); }
		holdDown(3);
		console.log("ready");
		fs.readSync(0, byte);
		for (let i = 0; i < 60; i++) { if (i === 59) said = null; [i % 20].forEach(down); }
		for (let i = 0; i < 10; i++) holdDown(3);
		console.log(said);
		console.log("done");
		fs.readSync(0, byte);
	EOF
	cat >"$BATS_FILE_TMPDIR/Job.java" <<-EOF
		import java.io.*;
		import java.nio.ByteBuffer;
		import java.util.*;
		public class Job {
			static final FileOutputStream err = new FileOutputStream(FileDescriptor.err);
			static final byte[] word = {120};
			static final List<Object> kept = new ArrayList<>();
			static int leaf(int n) throws IOException { err.write(word); return n; }
			static int down(int n) throws IOException { return n > 0 ? down(n - 1) + 1 : leaf(n); }
			static int hold(int n) { kept.add(ByteBuffer.allocateDirect(1 << 20)); return n; }
			static int holdDown(int n) { return n > 0 ? holdDown(n - 1) + 1 : hold(n); }
			public static void main(String[] args) throws IOException {
				down(3);
				holdDown(3);
				System.out.println("ready");
				System.in.read();
				for (int i = 0; i < 60; i++) down(i % 20);
				for (int i = 0; i < 10; i++) holdDown(3);
				System.out.println("done");
				System.in.read();
			}
		}
	EOF
	! type javac >/dev/null || javac -d "$BATS_FILE_TMPDIR" "$BATS_FILE_TMPDIR/Job.java"
}

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR" || return 1 # where node leaves a log
}

teardown() {
	common_teardown
	[ -z "${pid:-}" ] || rm -f "/tmp/perf-$pid.map"
}

# job_start COMMAND...: the job, which waits: $pid, its input on fd 7.
job_start() {
	mkfifo "$BATS_TEST_TMPDIR/in"
	said=$BATS_TEST_TMPDIR/said
	"$@" <"$BATS_TEST_TMPDIR/in" >"$said" 2>/dev/null 3>&- &
	pid=$!
	exec 7>"$BATS_TEST_TMPDIR/in"
	wait_for 'grep -q ready "$said"'
}

job_goes() {
	echo >&7
	wait_for 'grep -q done "$said"'
}

job_ends() {
	job_goes
	exec 7>&-
	wait "$pid"
}

node_start() {
	type node >/dev/null || skip "needs nodejs"
	job_start node "$@" "$BATS_FILE_TMPDIR/job.js"
}

java_start() {
	type javac jcmd >/dev/null || skip "needs openjdk-17-jdk-headless"
	job_start java -Xmx64m -XX:+UseSerialGC -cp "$BATS_FILE_TMPDIR" "$@" Job
}

@test "stacks: Node.js, next to gdb" {
	node_start
	NO_CFI=Builtins_ process_holds write job_ends
}

@test "stacks: Node.js, not optimised, next to gdb" {
	node_start --always-sparkplug --no-opt
	NO_CFI=Builtins_ process_holds write job_ends
}

@test "stacks: Java, interpreted, next to gdb" {
	java_start -Xint
	process_holds write job_ends
}

@test "stacks: Java, compiled with frame pointers, next to gdb" {
	java_start -Xcomp -XX:-Inline -XX:+PreserveFramePointer
	process_holds write job_ends
}

# Three look at the process at once, until it ends: count.json, faults.json, heap.json.
looks_start() {
	looking=()
	for look in "count syscalls:sys_enter_write --stacks=user" "faults --stacks=user" heap; do
		# shellcheck disable=SC2086 # words
		memwhy_run $look -p "$pid" --limit 0 -o json --out "${look%% *}.json"
		looking+=("$memwhy")
	done
}

looks_end() {
	exec 7>&-
	wait "$pid"
	for memwhy in "${looking[@]}"; do wait "$memwhy"; done
}

# The program's functions of all stacks that were seen, a line a stack: COUNT NAME…, innermost first.
made_names() { # REPORT
	jq -r '.rows[] | "\(.count) \([.stack[] | select(test("^JS:|^Builtins_ArrayForEach|Job[.]"))
		| sub("^JS:."; "") | sub("[+]0x[0-9a-f]+ .*"; "") | sub("^Builtins_ArrayForEach"; "Array.forEach")
		| gsub(" "; "_")] | join(" "))"' "$1"
}

# shows FUNCTIONS REPORT: a stack has these functions, innermost first.
shows() {
	jq -r '.rows[].stack | select(. != null) | map(sub("[+]0x.*"; "")) | join(";")' "$2" | grep -m 3 -E "$1"
}

@test "stacks, faults, heap: Node.js, functions as in its own stack (--perf-basic-prof)" {
	node_start --perf-basic-prof --always-sparkplug --no-opt
	looks_start
	job_goes
	looks_end
	# "    at leaf (/job.js:5:1)", "    at node:internal/…": function, or nothing.
	own=$(sed -n 's/^    at //p' "$said" |
		sed -E 's/^(Object\.|Function\.)?([^ ]+) .*\(.*/\2/; s/<anonymous>//; s/^node:.*//; s/^\/.*//' | tr '\n' ',')
	made_names count.json | awk -v own="$own" '
		{
			line = ""
			for (i = 2; i <= NF; i++) { name = $i; sub("_(node:|/).*", "", name); line = line name "," }
			print $1 " " line
			if (line == "writeSync," own) found += $1
		}
		END { print "its own: " own; exit found != 3 }'
	shows 'JS:.hold [^;]*;(JS:.holdDown [^;]*;){4}' faults.json
	shows 'JS:.hold [^;]*;(JS:.holdDown [^;]*;){4}' heap.json
}

@test "stacks, faults, heap: Java, compiled, all depths and names (jcmd Compiler.perfmap)" {
	java_start -Xcomp -XX:-Inline -XX:+PreserveFramePointer
	looks_start
	job_goes
	jcmd "$pid" Compiler.perfmap >/dev/null
	looks_end
	made_names count.json | grep Job.leaf
	# From main to leaf, each of the 20 depths three times.
	jq -e '[.rows[] | select(.stack | tostring | test("int Job[.]leaf"))
		| {count, n: ([.stack[] | select(test("^int Job[.]down"))] | length),
		   main: any(.stack[]; test("^void Job[.]main"))}]
		| all(.[]; .main) and ([group_by(.n)[] | [.[0].n, (map(.count) | add)]] == [range(1; 21) | [., 3]])' count.json
	shows 'int Job.hold[^;]*;(int Job.holdDown[^;]*;){4}void Job.main' faults.json
	shows 'int Job.hold[^;]*;(int Job.holdDown[^;]*;){4}void Job.main' heap.json
}

@test "stacks: Java, compiled without frame pointers: never complete when it is not" {
	java_start -Xcomp
	memwhy_start count syscalls:sys_enter_write --stacks=user -p "$pid" --limit 0
	job_ends
	wait "$memwhy"
	jq -e '[.rows[] | select(.stack | tostring | test("handleWrite"))] | length > 0 and
		all(.[]; (.stack_method | startswith("cut: ")) or (.stack[-1] | test("clone")))' "$json"
}
