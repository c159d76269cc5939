#!/usr/bin/env bats
# Pages in a real browser (chromium, headless): what its script builds has the numbers of -o json, says
# nothing on the console, asks for nothing but what the browser itself asks for, and is drawn at the
# widths of a telephone, a laptop and a wall. Pictures stay in build/pages, to be looked at.
# bats file_tags=host
load ../cli/common

setup_file() {
	command -v chromium >/dev/null || skip "needs chromium (tools/deps pages)"
	[ "$(id -u)" -eq 0 ] || skip "needs root to record"
	cd "$BATS_FILE_TMPDIR"
	"$MEMWHY" faults --stacks --record stacks.mw --out /dev/null -- ls -R /proc/self >/dev/null 3>&-
	"$MEMWHY" report stacks.mw --out page.html
	"$MEMWHY" faults --input stacks.mw --stacks --limit 0 -o json >want.json
}

setup() {
	cd "$BATS_FILE_TMPDIR"
}

# browser OPTIONS... URL: its profile is new, and it asks its maker for as little as it can be told to.
browser() {
	timeout 60 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
		--disable-background-networking --disable-component-update --disable-sync \
		--user-data-dir="$BATS_TEST_TMPDIR/profile" --enable-logging=stderr --virtual-time-budget=8000 "$@" 3>&-
}

@test "browser: the flame graph has all faults with a stack, and the function names" {
	browser --dump-dom "file://$PWD/page.html" >dom.html 2>said
	total=$(jq '[.rows[] | select(.stack and (.stack | length > 0)) | .count] | add' want.json)
	[ "$total" -gt 20 ]
	shown=$(grep -o 'aria-label="Flame graph of faults\. [0-9,]* (100' dom.html | grep -o '[0-9,]* (' | tr -dc 0-9)
	[ "$shown" = "$total" ] || refuse "the graph says $shown, the JSON $total"
	function=$(jq -r '[.rows[].stack // [] | .[]] | map(select(test("^_dl_[a-z_]+"))) | first | match("^[a-z_]+").string' want.json)
	grep -q "$function" dom.html || refuse "$function is not on the page"
}

@test "browser: nothing on the console, no request of the page" {
	browser --log-net-log="$PWD/net.json" --dump-dom "file://$PWD/page.html" >/dev/null 2>said
	grep CONSOLE said && refuse "the console"
	# What is left is the browser's own, to its maker.
	jq -r '[.. | .url? // empty | strings] | unique[]' net.json |
		grep -E '^(https?|wss?|ftp):' | grep -vE '^https?://[a-z0-9.]*\.google(apis)?\.com/' && refuse "a request"
	[ -s net.json ]
}

@test "browser: names of hostile programs stay text, and go through every exporter" {
	names=('<img src=x onerror=1>' '<script>alert(1)' '"><img src=x>' "';alert(1);'" $'\u202egpj.exe' $'\e]0;t\a<b>' $'\xff\xfe\xc3('
		$'two\nlines\tx' '{{1}}-->]]>' '=1+1&lt;$(id)')
	[ "${#names[@]}" -eq 10 ]
	for name in "${names[@]}"; do
		cp /bin/true "$name"
		"$MEMWHY" faults --stacks --record hostile.mw --out /dev/null -- "./$name"
		"$MEMWHY" report hostile.mw --out hostile.html
		browser --dump-dom "file://$PWD/hostile.html" >dom.html 2>said
		grep -q 'data-ready="yes"' dom.html || try refuse "$(printf %q "$name"): no page"
		! grep -qi '<img\|<script>alert' dom.html || try refuse "$(printf %q "$name") became an element"
		! grep CONSOLE said || try refuse "$(printf %q "$name"): the console"
		for to in pprof speedscope folded sqlite perfetto; do
			"$MEMWHY" export --to $to --force --out made.$to hostile.mw 2>err || try refuse "$(printf %q "$name"): $to: $(<err)"
		done
		jq -e '.profiles | length > 0' made.speedscope >/dev/null || try refuse "$(printf %q "$name"): speedscope"
		! has_controls <made.folded || try refuse "$(printf %q "$name"): folded"
		[ "$(sqlite3 made.sqlite 'PRAGMA integrity_check')" = ok ] || try refuse "$(printf %q "$name"): sqlite"
		[ "$(zcat made.pprof | wc -c)" -gt 1000 ] || try refuse "$(printf %q "$name"): pprof"
		[ -s made.perfetto ] || try refuse "$(printf %q "$name"): perfetto"
		[ "$name" != '<img src=x onerror=1>' ] || grep -q '&lt;img src=x' dom.html || try refuse "the name is not there"
	done
	tried
}

@test "browser: a picture at each width, light and dark" {
	local width scheme made=${BUILD:-$BATS_TEST_DIRNAME/../../build}/pages
	mkdir -p "$made"
	for width in 360 1280 2560; do
		for scheme in light dark; do
			flags=()
			[ "$scheme" = light ] || flags=(--blink-settings=preferredColorScheme=0)
			browser "${flags[@]}" --window-size="$width,1600" --screenshot="$made/$width-$scheme.png" \
				"file://$PWD/page.html" >/dev/null 2>said
			[ "$(stat -c %s "$made/$width-$scheme.png")" -gt 20000 ] || refuse "$width $scheme is empty"
		done
	done
	# README's: docs/images/flame-page.png
	browser --hide-scrollbars --window-size=1280,900 --screenshot="$made/flame-page.png" "file://$PWD/page.html" >/dev/null 2>said
	[ "$(stat -c %s "$made/flame-page.png")" -lt 200000 ] || refuse "the picture is too large"
	! cmp -s "$made/1280-light.png" "$made/1280-dark.png" || refuse "dark is as light"
}
