#!/usr/bin/env bats
# The binary, and where `make install` puts things.
# bats file_tags=beside
load common

root=$BATS_TEST_DIRNAME/../..

@test "install: the binary is static: no interpreter, no shared library" {
	sanitized && skip "built with sanitizers"
	! readelf -lW "$MEMWHY" | grep -q INTERP || false
	! readelf -dW "$MEMWHY" | grep -q NEEDED || false
	[ "$(readelf -hW "$MEMWHY" | awk '/Type:/ { print $2 }')" != REL ]
	# It runs where there is nothing else.
	empty=$BATS_TEST_TMPDIR/root
	mkdir "$empty"
	cp "$MEMWHY" "$empty/memwhy"
	run --separate-stderr unshare -r chroot "$empty" /memwhy help
	[ "$status" -eq 0 ]
	[[ $output == Usage:*Examples:* ]]
}

@test "install: what was stripped does the same and has no symbols" {
	stripped=$(dirname "$MEMWHY")/memwhy.stripped
	[ -x "$stripped" ]
	[ "$("$stripped" help)" = "$("$MEMWHY" help)" ]
	[ -z "$(readelf -SW "$stripped" | grep -F .symtab)" ]
}

# Some 2 MB are libraries: SQLite for `export`, ncurses for `top`, libevent for `serve`.
@test "install: what was stripped is under 5 MB" {
	sanitized && skip "built with sanitizers"
	[ "$(stat -c %s "$(dirname "$MEMWHY")/memwhy.stripped")" -lt 5000000 ]
}

@test "install: make install puts binary, man pages and completion under DESTDIR and PREFIX" {
	sanitized && skip "built with sanitizers"
	# From a copy: what was built is not touched.
	copy=$BATS_TEST_TMPDIR/copy
	mkdir "$copy"
	cp -a "$root/Makefile" "$root/src" "$root/tools" "$copy"
	mkdir "$copy/build"
	(cd "$root/build" && tar c --exclude=tap --exclude=tests --exclude=fuzz --exclude=san --exclude=vm .) | tar x -C "$copy/build"
	dest=$BATS_TEST_TMPDIR/dest
	run env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$copy" -s install DESTDIR="$dest" PREFIX=/opt/mw
	[ "$status" -eq 0 ] || { echo "$output"; false; }
	at=$dest/opt/mw
	[ -x "$at/bin/memwhy" ]
	[ "$("$at/bin/memwhy" --version)" = "$("$MEMWHY" --version)" ]
	for c in $("$at/bin/memwhy" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\+\) .*/\1/p'); do
		[ "$(<"$at/share/man/man8/memwhy-$c.8")" = "$("$at/bin/memwhy" help man "$c")" ] || { echo "$c"; false; }
	done
	man -l "$at/share/man/man8/memwhy.8" | grep -q memwhy
	man -M "$at/share/man" memwhy-faults | grep -q faults
	[ "$(<"$at/share/bash-completion/completions/memwhy")" = "$("$at/bin/memwhy" help completion)" ]
	[ "$(<"$at/share/fish/vendor_completions.d/memwhy.fish")" = "$("$at/bin/memwhy" help completion fish)" ]
	# Nothing outside, nothing else, nothing that others could write.
	[ -z "$(find "$dest" -type f -not -path "$at/*")" ]
	[ -z "$(find "$dest" -type f -not -name 'memwhy*' -not -name libmemwhy-track.so)" ]
	[ -z "$(find "$dest" -perm /022 -not -type l)" ]
}
