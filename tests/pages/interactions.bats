#!/usr/bin/env bats
# Everything that a reader can do on a page, done once by a script (interactions.js): clicks, keys, the
# brush, search, sorting, CSV, copying. puppeteer-core comes from npm, at one version, into build/.
# bats file_tags=host
load ../cli/common

PUPPETEER=puppeteer-core@24.43.1

setup_file() {
	command -v npm >/dev/null || skip "needs npm (tools/deps pages)"
	[ "$(id -u)" -eq 0 ] || skip "needs root to record"
	export NODE_PATH=${BUILD:-$BATS_TEST_DIRNAME/../../build}/pages/node_modules
	grep -qs "\"version\": \"${PUPPETEER#*@}\"" "$NODE_PATH/puppeteer-core/package.json" ||
		npm install --silent --no-save --no-audit --no-fund --prefix "${NODE_PATH%/*}" "$PUPPETEER" >&2 ||
		skip "npm has no $PUPPETEER"
	cd "$BATS_FILE_TMPDIR"
	"$MEMWHY" faults --each --stacks --record each.mw --out /dev/null -- sh -c 'ls -R /proc/self; sleep 0.3; ls -R /proc/self' >/dev/null 3>&-
	"$MEMWHY" report each.mw --limit 0 --out each.html
	"$MEMWHY" faults --input each.mw --each --stacks --limit 0 -o json >each.json
	"$MEMWHY" where -o html --out where.html
	work=${BUILD:-$BATS_TEST_DIRNAME/../../build}/tests/workloads/heap_work
	"$MEMWHY" heap --events --record heap.mw --out /dev/null -- \
		sh -c "$work peak 100; sleep 0.2; $work threads 50; ls -l /usr/share/doc" >/dev/null 3>&-
	"$MEMWHY" report heap.mw --out heap.html
	"$MEMWHY" heap --record less.mw --out /dev/null -- "$work" peak 50 >/dev/null 3>&-
	"$MEMWHY" heap --record more.mw --out /dev/null -- "$work" peak 100 >/dev/null 3>&-
	"$MEMWHY" report less.mw more.mw --out change.html
	"$MEMWHY" diff less.mw more.mw -o json --out change.json
	"$MEMWHY" numa --record numa.mw -o json --out numa.all -- /usr/bin/python3 -c 'kept = bytearray(50 << 20)
for i in range(0, len(kept), 4096): kept[i] = 1' 3>&-
	object=$(jq -r '[.rows[] | select(.table == "sites" and .accesses > 0)][0].name' numa.all)
	"$MEMWHY" numa flow --input numa.mw --object "$object" -o html --out numa.html
	"$MEMWHY" numa flow --input numa.mw --object "$object" -o json --out numa.json
	"$MEMWHY" faults --stacks --record sums.mw --out /dev/null -- sh -c 'ls -R /proc/self; sleep 1.3; ls -lR /usr/share/doc; sleep 1.3; ls /' >/dev/null 3>&-
	"$MEMWHY" report sums.mw --limit 0 --out sums.html
	"$MEMWHY" record --probes faults,slab,frag all.mw -- sh -c 'sleep 1.3; ls -lR /usr/share/doc' >/dev/null 2>&1 3>&-
	"$MEMWHY" report all.mw --out all.html
	"$MEMWHY" oom --for 8s --record oom.mw -o json --out oom.json 2>/dev/null 3>&- &
	sleep 3
	"$BATS_TEST_DIRNAME/../../tools/with-cgroup" "memwhy_pages_$$" 50000000 /usr/bin/python3 -c 'import time
kept = []
while True:
    kept.append(bytearray(1 << 20))
    time.sleep(0.02)' 2>/dev/null 3>&- && refuse "it was not killed"
	wait $!
	# where no control group can have a limit, there is no kill
	[ "$(jq '[.rows[] | select(.table == "kills")] | length' oom.json)" -eq 0 ] || "$MEMWHY" report oom.mw --out oom.html
}

# in BROWSER
each_interaction() {
	cd "$BATS_FILE_TMPDIR"
	HOME=$BATS_TEST_TMPDIR timeout 240 node "$BATS_TEST_DIRNAME/interactions.js" "$1" "$PWD/each.html" each.json \
		"$PWD/where.html" "$PWD/heap.html" heap.mw \
		"$PWD/numa.html" numa.json "$PWD/change.html" change.json \
		"$PWD/sums.html" sums.mw "$PWD/all.html" $([ ! -e oom.html ] || echo "$PWD/oom.html" oom.json) 3>&-
}

@test "pages: each interaction in chromium, its numbers those of JSON, no request, nothing on the console" {
	command -v chromium >/dev/null || skip "needs chromium (tools/deps pages)"
	each_interaction chromium
}

@test "pages: each interaction in firefox, its numbers those of JSON, no request, nothing on the console" {
	command -v firefox-esr >/dev/null || skip "needs firefox-esr (tools/deps pages)"
	each_interaction firefox
}
