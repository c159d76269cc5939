#!/usr/bin/env bats
# Everything that a reader can do on a page, done once by a script (interactions.js): clicks, keys, the
# brush, search, sorting, CSV, copying. puppeteer-core comes from npm, at one version, into build/.
# bats file_tags=host
load ../cli/common

PUPPETEER=puppeteer-core@22.15.0

setup_file() {
	command -v chromium >/dev/null && command -v npm >/dev/null || skip "needs chromium and npm (tools/deps pages)"
	[ "$(id -u)" -eq 0 ] || skip "needs root to record"
	export NODE_PATH=${BUILD:-$BATS_TEST_DIRNAME/../../build}/pages/node_modules
	[ -d "$NODE_PATH/puppeteer-core" ] ||
		npm install --silent --no-save --no-audit --no-fund --prefix "${NODE_PATH%/*}" "$PUPPETEER" >&2 ||
		skip "npm has no $PUPPETEER"
	cd "$BATS_FILE_TMPDIR"
	"$MEMWHY" faults --each --stacks --record each.mw --out /dev/null -- sh -c 'ls -R /proc/self; sleep 0.3; ls -R /proc/self' >/dev/null 3>&-
	"$MEMWHY" report each.mw --limit 0 --out each.html
	"$MEMWHY" faults --input each.mw --each --stacks --limit 0 -o json >each.json
	"$MEMWHY" where -o html --out where.html
}

@test "pages: each interaction, its numbers those of JSON, no request, nothing on the console" {
	cd "$BATS_FILE_TMPDIR"
	timeout 120 node "$BATS_TEST_DIRNAME/interactions.js" "$PWD/each.html" each.json "$PWD/where.html" 3>&-
}
