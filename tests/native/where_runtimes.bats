#!/usr/bin/env bats
# Heaps of runtimes and of allocators other than glibc's, against what they say of themselves. Skipped
# where one is not installed (tools/deps oracles).
# bats file_tags=beside,host
load common
load where

programs=$BATS_TEST_DIRNAME/../workloads/where_runtimes

setup() {
	needs_root
	cd "$BATS_TEST_TMPDIR" || return 1
}

teardown() {
	[ -z "${server-}" ] || kill "$server" 2>/dev/null || true
	[ -z "${holder-}" ] || hold_end
}

# program COMMAND...: starts it, waits until it is ready, and looks at it: $now, $holder.
program() {
	mkfifo in
	"$@" <in >out 2>err 3>&- &
	holder=$!
	exec 7>in
	wait_for 'grep -q ready out || ! kill -0 "$holder" 2>/dev/null'
	grep -q ready out
	"$MEMWHY" where -p "$holder" -o json --out now
	[ "$(bytes now rest)" -eq 0 ]
	[ "$(total now)" -gt 0 ]
	jq -c '.rows[] | select(.table == "runtimes")' now
}

# near WHAT OURS THEIRS PARTS: within 1/PARTS, and 64 KiB.
near() {
	local off=$(($2 - $3))
	echo "$1: $2, it says $3"
	[ "$3" -gt 0 ] || [ "$2" -eq 0 ]
	[ "${off#-}" -le $(($3 / $4 + 65536)) ]
}

of() { # RUNTIME COLUMN: summed over its parts
	jq --arg of "$1" --arg column "$2" '[.rows[] | select(.table == "runtimes" and .runtime == $of and .method != "mappings") | .[$column] // 0] | if length > 0 then add else error("no row") end' now
}

preload() { # LIBRARY THREADS BLOCKS: what it says of itself is in $used, $committed, $kept
	local name
	program env LD_PRELOAD="$1" "$WORKLOADS/where_allocators" "$2" "$3"
	read -r name used committed kept < <(grep -E '^(je|tc|mi)malloc ' out)
	[ -n "$name" ]
	# Looking makes nothing resident.
	before=$(awk '/^Rss:/ { print $2 }' "/proc/$holder/smaps_rollup")
	"$MEMWHY" where -p "$holder" -o json --out again --force
	[ "$(awk '/^Rss:/ { print $2 }' "/proc/$holder/smaps_rollup")" -eq "$before" ]
}

library() { # NAME: its path, or the test is skipped
	ldconfig -p | awk -v name="$1" '$1 == name { print $NF; exit }'
}

@test "where: jemalloc's arenas are what mallctl says" {
	lib=$(library libjemalloc.so.2)
	[ -n "$lib" ] || skip "libjemalloc2 is not installed"
	preload "$lib" 3 20000
	near used "$(of jemalloc used_bytes)" "$used" 50
	near committed "$(of jemalloc committed_bytes)" "$committed" 100
	near kept "$(of jemalloc kept_bytes)" "$kept" 100
	jq -e 'any(.findings[]; .rule == "allocator-keeps")' now
	jq -e 'any(.rows[]; .table == "runtimes" and (.part | test("^[0-9]+ arena")))' now
}

@test "where: jemalloc gives back what was predicted when dirty pages are not kept" {
	lib=$(library libjemalloc.so.2)
	[ -n "$lib" ] || skip "libjemalloc2 is not installed"
	preload "$lib" 3 20000
	want=$(of jemalloc kept_bytes)
	before=$(total now)
	echo >&7
	hold_end
	rm -f in
	program env LD_PRELOAD="$lib" MALLOC_CONF=dirty_decay_ms:0 "$WORKLOADS/where_allocators" 3 20000
	got=$((before - $(total now)))
	echo "predicted $want, saved $got"
	[ $((got * 10)) -gt $((want * 8)) ]
	[ $((got * 10)) -lt $((want * 12)) ]
}

rss() { # anonymous memory of the program
	awk '/^RssAnon:/ { print $2 * 1024 }' "/proc/$holder/status"
}

# keeps ALLOCATOR: check names the program, and that it keeps more than half of what it has, which is so:
# $free, of which pages without a block in use are $kept.
keeps() {
	"$MEMWHY" where -p "$holder" -o json --out now --force
	kept=$(of "$1" kept_bytes)
	free=$(($(of "$1" committed_bytes) - $(of "$1" used_bytes)))
	"$MEMWHY" check --for 1s -p "$holder" -o json --out checked
	jq -c '.findings[]? | select(.rule == "allocator-keeps")' checked
	jq -e --arg by "($1)" --arg pid "(pid $holder)" 'any(.findings[]; .rule == "allocator-keeps" and
		(.title | contains($by) and contains($pid)))' checked >/dev/null
	[ $((free * 2)) -gt "$(rss)" ]
}

# try REGEX: the command that check prints with it
try() {
	jq -r --arg re "$1" 'first(.findings[] | select(.rule == "allocator-keeps") | .try[] | select(test($re)) | capture("`(?<c>[^`]*)`").c)' checked
}

# saved BEFORE WANT: it now has so much less, within a fifth
saved() {
	local got=$(($1 - $(rss)))
	echo "predicted $2, saved $got"
	[ $((got * 10)) -gt $(($2 * 8)) ]
	[ $((got * 10)) -lt $(($2 * 12)) ]
}

# gdb before 14 cannot call a function where the CPU has AMX; what is printed says so.
gdb_calls() {
	type gdb >/dev/null || return 1
	! grep -qw amx_tile /proc/cpuinfo || [ "$(gdb --version | sed -nE '1s/.* ([0-9]+)\..*/\1/p')" -ge 14 ]
}

# advised LIBRARY ALLOCATOR: what check prints to try is done, and gives back what it keeps.
advised() {
	local lib before want setting call
	lib=$(library "$1")
	[ -n "$lib" ] || skip "$1 is not installed"
	[ "$(awk '/^MemTotal/ { print $2 }' /proc/meminfo)" -lt $((48 << 20)) ] || skip "on a machine of so much memory that is little"
	preload "$lib" 3 20000
	keeps "$2"
	want=$kept
	before=$(rss)
	call=$(try '^Give back .* now')
	setting=$(try 'next start' | sed 's/ COMMAND$//')
	if [ -n "$call" ] && gdb_calls; then
		eval "$call" >gdb 2>&1 3>&-
		saved "$before" "$want"
	fi
	echo >&7
	hold_end
	rm -f in out
	# shellcheck disable=SC2086
	program env $setting LD_PRELOAD="$lib" "$WORKLOADS/where_allocators" 3 20000
	sleep 2.5 # a thread of jemalloc's gives back after a second
	saved "$before" "$want"
}

@test "check: jemalloc keeps what was freed: a purge gives it back, and so does a shorter decay with a thread" {
	advised libjemalloc.so.2 jemalloc
}

@test "check: tcmalloc keeps what was freed: ReleaseFreeMemory gives it back, and so does decommit" {
	advised libtcmalloc_minimal.so.4 tcmalloc
}

@test "check: mimalloc keeps what was freed: it gives it back where decommits are not put off" {
	advised libmimalloc.so.2 mimalloc
}

redis() { # [VARIABLE...]: it runs, with its data in this directory
	env "$@" redis-server --port 0 --unixsocket "$PWD/socket" --save '' --enable-debug-command local >log 2>&1 3>&- &
	holder=$!
	server=$holder
	wait_for 'redis-cli -s socket ping >/dev/null 2>&1'
}

# fill PYTHON: 600,000 keys, then all i without those for which that is true
fill() {
	redis-cli -s socket debug populate 600000 key 500
	python3 - "$1" <<-'PYTHON'
		import socket, sys
		keep = eval("lambda i: " + sys.argv[1])
		s = socket.socket(socket.AF_UNIX)
		s.connect("socket")
		for base in range(0, 600000, 5000):
		    words = ["UNLINK"] + [f"key:{i}" for i in range(base, base + 5000) if not keep(i)]
		    if len(words) > 1:
		        s.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words))
		        s.recv(100)
	PYTHON
}

@test "check: redis keeps pages of what was deleted: MEMORY PURGE gives them back" {
	type redis-server >/dev/null || skip "redis is not installed"
	redis MALLOC_CONF=dirty_decay_ms:-1
	redis-cli -s socket info memory | grep -q jemalloc || skip "redis has another allocator"
	fill 'i >= 540000'
	keeps jemalloc
	before=$(rss)
	call=$(try 'MEMORY PURGE')
	eval "${call/redis-cli/redis-cli -s socket}"
	saved "$before" "$kept"
}

@test "check: redis keeps pages that deleted and live blocks share: a new start gives them back" {
	type redis-server >/dev/null || skip "redis is not installed"
	redis A=1
	redis-cli -s socket info memory | grep -q jemalloc || skip "redis has another allocator"
	fill 'i % 10 == 0'
	keeps jemalloc
	before=$(rss)
	call=$(try activedefrag)
	run eval "${call/redis-cli/redis-cli -s socket}"
	[[ $output == *"cannot be enabled"* ]] || skip "this redis moves its blocks"
	call=$(try 'SHUTDOWN SAVE')
	eval "${call/redis-cli/redis-cli -s socket}"
	wait "$holder" || true
	redis A=1
	[ "$(redis-cli -s socket dbsize)" -eq 60000 ]
	saved "$before" "$free"
}

@test "where: tcmalloc's page heap is what MallocExtension says" {
	lib=$(library libtcmalloc_minimal.so.4)
	[ -n "$lib" ] || skip "libtcmalloc-minimal4 is not installed"
	preload "$lib" 3 20000
	near used "$(of tcmalloc used_bytes)" "$used" 50
	near committed "$(of tcmalloc committed_bytes)" "$committed" 100
	near kept "$(of tcmalloc kept_bytes)" "$kept" 50
}

@test "where: mimalloc's segments are what it says when it is asked for its blocks" {
	lib=$(library libmimalloc.so.2)
	[ -n "$lib" ] || skip "libmimalloc2.0 is not installed"
	preload "$lib" 0 40000
	near used "$(of mimalloc used_bytes)" "$used" 100
	[ "$(of mimalloc committed_bytes)" -le "$(total now)" ]
	[ "$(of mimalloc committed_bytes)" -ge "$(of mimalloc used_bytes)" ]
}

# Linked into a program there is no file of that name.
@test "where: mimalloc's segments are found without its library" {
	lib=$(library libmimalloc.so.2)
	[ -n "$lib" ] || skip "libmimalloc2.0 is not installed"
	cp "$lib" own.so
	preload "$PWD/own.so" 0 40000
	[ "$(grep -c libmimalloc "/proc/$holder/maps")" -eq 0 ]
	near used "$(of mimalloc used_bytes)" "$used" 100
}

# Linked into the program, as in redis or programs in Rust: found by what is in its data.
linked() { # NAME LIBRARY
	local name=$1 used committed kept
	gcc -O2 -rdynamic -o program "$BATS_TEST_DIRNAME/../workloads/where_allocators.c" \
		-Wl,--whole-archive "$2" -Wl,--no-whole-archive -lstdc++ -lm -lpthread -ldl
	strip program
	program ./program 3 20000
	[ "$(grep -c "lib$name" "/proc/$holder/maps")" -eq 0 ]
	read -r _ used committed kept < <(grep "^$name " out)
	near used "$(of "$name" used_bytes)" "$used" 50
	near committed "$(of "$name" committed_bytes)" "$committed" 100
	near kept "$(of "$name" kept_bytes)" "$kept" 50
}

@test "where: jemalloc linked into a stripped program is found" {
	lib=$(gcc -print-file-name=libjemalloc.a)
	[ -f "$lib" ] || skip "libjemalloc-dev is not installed"
	linked jemalloc "$lib"
}

@test "where: tcmalloc linked into a stripped program is found" {
	lib=$(gcc -print-file-name=libtcmalloc_minimal.a)
	[ -f "$lib" ] || skip "libgoogle-perftools-dev is not installed"
	linked tcmalloc "$lib"
}

@test "where: an allocator whose structures are not found is told by its mappings" {
	cc -shared -fPIC -x c -o libjemalloc.so.1 - <<<'int nothing;'
	program env LD_PRELOAD="$PWD/libjemalloc.so.1" "$WORKLOADS/where_allocators" 0 2000
	jq -e 'any(.rows[]; .table == "runtimes" and .runtime == "jemalloc" and .method == "mappings" and .committed_bytes > 0 and .used_bytes == null)' now
}

@test "where: the heap of a Go program is what runtime.ReadMemStats says, stripped or not" {
	type go >/dev/null || skip "Go is not installed"
	cp "$programs/heap.go" .
	for flags in "" "-s -w"; do
		GO111MODULE=off GOCACHE="$BATS_FILE_TMPDIR/go" go build -ldflags "$flags" -o heap heap.go
		rm -f in out
		program ./heap
		read -r _ used committed kept < <(grep '^go ' out)
		near used "$(of go used_bytes)" "$used" 50
		near committed "$(of go committed_bytes)" "$committed" 50
		near kept "$(of go kept_bytes)" "$kept" 20
		# stacks of goroutines are in the heap, which is no stack for that
		jq -e '([.rows[] | select(.table == "ledger")] | (map(select(.row == "stacks") | .bytes) | add) < 4194304) and
			any(.rows[]; .table == "owners" and .row == "anonymous" and .owner == "heap of Go")' now >/dev/null
		echo >&7
		hold_end
	done
}

@test "where: spaces of a Java heap are what the virtual machine says of its pools" {
	type javac >/dev/null || skip "Java is not installed"
	javac -d . "$programs/Heap.java"
	for gc in Serial Parallel G1 Z; do
		rm -f in out
		program java -XX:+Use${gc}GC -Xmx256m -cp . Heap
		# the pools of the heap; it has moved on by what it printed since
		committed=$(awk '/^(Tenured|Eden|Survivor|PS_|G1_|ZHeap)/ && !/Survivor/ { n += $3 } END { print n }' out)
		old=$(awk '/^(Tenured|PS_Old|G1_Old|ZHeap)/ { print $2 }' out)
		got=$(jq '[.rows[] | select(.table == "runtimes" and .runtime == "java" and .part == "old") | .used_bytes] | add' now)
		near "$gc old" "$got" "$old" 10
		got=$(jq '[.rows[] | select(.table == "runtimes" and .runtime == "java" and (.part | test("s0|s1|meta|code") | not)) | .committed_bytes] | add' now)
		near "$gc committed" "$got" "$committed" 10
		code=$(awk '/^Code/ { n += $3 } END { print n }' out)
		got=$(jq '[.rows[] | select(.table == "runtimes" and .part == "code cache" and .method == "mappings") | .committed_bytes] | add' now)
		near "$gc code" "$got" "$code" 10
		jq -e 'all(.rows[] | select(.table == "runtimes"); .committed_bytes >= 4096)' now
		echo >&7
		hold_end
	done
}

@test "where: a Java process without counters is told by its mappings" {
	type javac >/dev/null || skip "Java is not installed"
	javac -d . "$programs/Heap.java"
	program java -XX:-UsePerfData -Xmx256m -cp . Heap
	jq -e '[.rows[] | select(.table == "runtimes")] | length == 1 and .[0].runtime == "java" and .[0].method == "mappings" and .[0].committed_bytes > 1000000 and .[0].used_bytes == null' now
}

@test "where: the heap of Node.js is what V8 says" {
	type node >/dev/null || skip "Node.js is not installed"
	program node --expose-gc "$programs/heap.js"
	read -r _ all young used < <(grep '^node ' out)
	near committed "$(of node committed_bytes)" "$all" 100
	got=$(jq '[.rows[] | select(.table == "runtimes" and .part == "young generation") | .committed_bytes] | add' now)
	near young "$got" "$young" 100
	near used "$(of node used_bytes)" "$used" 10
}

# V8 puts chunks anywhere, where Go has its heap too.
@test "where: memory of another runtime at addresses of Go's is not taken for Go's" {
	python3 - <<-'PYTHON' >out &
		import ctypes, sys, time
		mmap = ctypes.CDLL(None).mmap
		mmap.restype = ctypes.c_void_p
		mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
		at = mmap(0xc000000000 + (64 << 20), 8 << 20, 3, 0x100022, -1, 0)
		ctypes.memset(at, 1, 8 << 20)
		print("ready", hex(at), flush=True)
		time.sleep(60)
	PYTHON
	other=$!
	wait_for 'grep -q ready out'
	grep 'ready 0xc0' out
	"$MEMWHY" where -p "$other" -o json --out now
	kill "$other"
	wait "$other" || true
	[ "$(total now)" -gt 8000000 ]
	jq -e 'all(.rows[] | select(.table == "runtimes"); .runtime != "go")' now
}

@test "where: arenas of Python are what sys._debugmallocstats says" {
	tried=
	for python in /usr/bin/python3 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/{3.6,3.7,3.8,3.9,3.10,3.12,3.13}*/bin/python; do
		[ -x "$python" ] || continue
		rm -f in out
		program "$python" "$programs/heap.py"
		committed=$(sed -n 's/.* arenas \* .* = *\([0-9,]*\)$/\1/p' err | tr -d ,)
		[ -n "$committed" ] || committed=$(sed -n 's/^[0-9]* arenas \* [0-9]* bytes.arena *= *//p' err | tr -d ,)
		used=$(sed -n 's/^# bytes in allocated blocks *= *//p' err | tr -d ,)
		echo "$python"
		near committed "$(of python committed_bytes)" "$committed" 50
		near used "$(of python used_bytes)" "$used" 50
		tried=1
		echo >&7
		hold_end
	done
	[ -n "$tried" ] || skip "Python is not installed"
}
