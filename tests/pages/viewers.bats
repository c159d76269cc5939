#!/usr/bin/env bats
# Profiles in the viewers that people have: speedscope (in chromium) and pprof-format read the totals that
# JSON has. Both come from npm, at one version, into build/.
# bats file_tags=host
load ../cli/common

VIEWERS="puppeteer-core@24.43.1 speedscope@1.25.0 pprof-format@2.3.2"

setup_file() {
	command -v npm >/dev/null && command -v chromium >/dev/null || skip "needs chromium and npm (tools/deps pages)"
	export NODE_PATH=${BUILD:-$BATS_TEST_DIRNAME/../../build}/pages/node_modules
	for p in $VIEWERS; do
		grep -qs "\"version\": \"${p#*@}\"" "$NODE_PATH/${p%@*}/package.json" || missing=yes
	done
	[ -z "${missing:-}" ] || npm install --silent --no-save --no-audit --no-fund --prefix "${NODE_PATH%/*}" $VIEWERS >&2 ||
		skip "npm has not all of $VIEWERS"
}

@test "viewers: speedscope and pprof-format have the total of JSON, and ask for nothing" {
	cd "$BATS_TEST_TMPDIR"
	work=${BUILD:-$BATS_TEST_DIRNAME/../../build}/tests/workloads/heap_work
	"$MEMWHY" heap --record h.mw -o json --out h.json -- "$work" peak 100 >/dev/null
	want=$(jq '[.rows[] | select(.table == "heap").allocations] | add' h.json)
	[ "$want" -gt 100 ]
	for to in speedscope:h.json pprof:h.pb.gz; do
		"$MEMWHY" export --to "${to%:*}" --by process,stack --fields allocations,comm,stack --force --out "made.${to#*.}" h.mw
	done
	timeout 200 node "$BATS_TEST_DIRNAME/viewers.js" "$PWD/made.json" "$PWD/made.pb.gz" >shown 3>&-
	jq -es --argjson want "$want" 'length == 2 and all(.speedscope.total == $want and .speedscope.heard == []) and
		.[1].pprof.total == $want' shown || refuse "JSON has $want, the viewers: $(<shown)"
}
