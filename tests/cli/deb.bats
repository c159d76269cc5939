#!/usr/bin/env bats
# The Debian package: what lintian says of it, and that it installs, upgrades and goes again without a
# trace, in a root of its own; the unit as systemd reads it.
# bats file_tags=beside
load common

setup_file() {
	[ "$(id -u)" -eq 0 ] || return 0
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	sanitized && return 0
	export DEB_ROOT=$BATS_FILE_TMPDIR/root
	mkdir "$BATS_FILE_TMPDIR/debs"
	# Both from what is built; the newer one is only called so.
	for version in 0.1.0 0.1.1; do
		env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS DEB_DIR="$BATS_FILE_TMPDIR/debs" packaging/make-deb $version >/dev/null
	done
}

setup() {
	[ "$(id -u)" -eq 0 ] || skip "needs root for a root of its own"
	sanitized && skip "built with sanitizers"
	cd "$BATS_TEST_DIRNAME/../.." || exit 1
	debs=$BATS_FILE_TMPDIR/debs
	unit=packaging/systemd/memwhy.service
}

# A root that has nothing but a shell for the package's scripts.
root_make() {
	command -v busybox >/dev/null || skip "no busybox (tools/deps vm)"
	mkdir -p "$DEB_ROOT"/{bin,usr/bin,etc,var/lib/dpkg/{info,updates,triggers}}
	: >"$DEB_ROOT/var/lib/dpkg/status"
	cp "$(command -v busybox)" "$DEB_ROOT/bin/busybox"
	for name in sh rm; do ln -sf busybox "$DEB_ROOT/bin/$name"; done
}

in_root() {
	dpkg --root="$DEB_ROOT" --force-not-root --log=/dev/null "$@"
}

status_of() {
	dpkg-query --admindir="$DEB_ROOT/var/lib/dpkg" -W -f='${Status} ${Version}' memwhy 2>/dev/null
}

@test "deb: lintian has nothing to say" {
	command -v lintian >/dev/null || skip "no lintian (tools/deps engines)"
	lintian --allow-root --fail-on error,warning "$debs/memwhy_0.1.0_amd64.deb"
}

@test "deb: installs, upgrades with settings and incidents kept, goes, and a purge leaves nothing" {
	root_make
	# A systemd that notes what it is asked.
	mkdir -p "$DEB_ROOT/run/systemd/system"
	printf '#!/bin/sh\necho "$@" >>/run/asked\n' >"$DEB_ROOT/usr/bin/systemctl"
	chmod 755 "$DEB_ROOT/usr/bin/systemctl"
	in_root --install "$debs/memwhy_0.1.0_amd64.deb"
	[ "$(status_of)" = "install ok installed 0.1.0" ]
	! grep -q restart "$DEB_ROOT/run/asked" || false
	chroot "$DEB_ROOT" /usr/bin/memwhy --version
	[ -f "$DEB_ROOT/lib/systemd/system/memwhy.service" ]
	[ ! -e "$DEB_ROOT/etc/systemd/system/multi-user.target.wants/memwhy.service" ] # nobody asked for it to run
	echo "max-series 700" >>"$DEB_ROOT/etc/memwhy/serve.conf"
	mkdir -p "$DEB_ROOT/var/lib/memwhy/incidents"
	: >"$DEB_ROOT/var/lib/memwhy/incidents/incident-000001-20261124T134501Z-asked.mw"
	in_root --install "$debs/memwhy_0.1.1_amd64.deb"
	[ "$(status_of)" = "install ok installed 0.1.1" ]
	grep -qx "try-restart memwhy.service" "$DEB_ROOT/run/asked" # where it ran, the new one runs
	grep -q "max-series 700" "$DEB_ROOT/etc/memwhy/serve.conf"
	[ "$(chroot "$DEB_ROOT" /usr/bin/memwhy incidents -o json | jq '.rows | length')" -eq 1 ]
	in_root --remove memwhy
	[ ! -e "$DEB_ROOT/usr/bin/memwhy" ]
	grep -q "max-series 700" "$DEB_ROOT/etc/memwhy/serve.conf"
	[ -e "$DEB_ROOT/var/lib/memwhy/incidents" ]
	in_root --purge memwhy
	run find "$DEB_ROOT" -path '*memwhy*'
	echo "left: $output"
	[ -z "$output" ]
}

@test "deb: systemd reads the unit without complaint, and it is no more open than is documented" {
	command -v systemd-analyze >/dev/null || skip "no systemd-analyze (tools/deps engines)"
	mkdir -p "$BATS_TEST_TMPDIR/units"
	sed "s,/usr/bin/memwhy,$PWD/build/memwhy," $unit >"$BATS_TEST_TMPDIR/units/memwhy.service"
	run systemd-analyze verify --man=no "$BATS_TEST_TMPDIR/units/memwhy.service"
	echo "$output"
	[ "$status" -eq 0 ]
	[ -z "$(grep memwhy <<<"$output")" ]
	score=$(sed -n 's/.* rates the unit \([0-9.]*\).*/\1/p' docs/serve.md)
	[ -n "$score" ]
	systemd-analyze security --offline=yes --threshold="${score/./}" $unit >"$BATS_TEST_TMPDIR/security"
	tail -n1 "$BATS_TEST_TMPDIR/security"
	grep -q "memwhy.service: $score " "$BATS_TEST_TMPDIR/security"
}

# All system calls that a set or a call stands for.
calls_of() {
	local word
	for word in "$@"; do
		case $word in
		@*) calls_of $(systemd-analyze syscall-filter "$word" | sed '1d; s/^ *//; /^#/d') ;;
		*) echo "$word" ;;
		esac
	done
}

@test "deb: the unit's filter lets through all that a service at work calls" {
	command -v systemd-analyze >/dev/null || skip "no systemd-analyze (tools/deps engines)"
	calls_of $(sed -n 's/^SystemCallFilter=//p' $unit) | sort -u >"$BATS_TEST_TMPDIR/allowed"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/allowed")" -gt 200 ]
	strace -f -qq -c -U name -o "$BATS_TEST_TMPDIR/calls" "$MEMWHY" serve --listen "unix:$BATS_TEST_TMPDIR/s" \
		--incidents "$BATS_TEST_TMPDIR/i" --for 2s -i 1s >"$BATS_TEST_TMPDIR/lines"
	grep -q '"ready"' "$BATS_TEST_TMPDIR/lines"
	sed '/^total/d; /^syscall/d; /^-/d; s/ *$//' "$BATS_TEST_TMPDIR/calls" | sort -u >"$BATS_TEST_TMPDIR/called"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/called")" -gt 40 ]
	run comm -13 "$BATS_TEST_TMPDIR/allowed" "$BATS_TEST_TMPDIR/called"
	echo "called, and refused: $output"
	[ -z "$output" ]
}
