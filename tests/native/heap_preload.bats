# The file that the preload library is loaded from, where memwhy's binary is used alone: in a file
# system of the test's own, as what is made there is for the whole host.
# bats file_tags=beside,host
load common

setup() {
	cd "$BATS_TEST_TMPDIR"
	mkdir alone
	cp "$MEMWHY" alone/memwhy
	export alone=$PWD/alone/memwhy
	cat >functions <<-'END'
		tracked() { # NAME: so many programs of this name
			jq -r '.rows[] | select(.table == "process") | .comm' r.json | grep -cx "$1" || true
		}
		made() { # so many libraries, each with a name for each kind of program
			ls /run/memwhy | sed -E 's/^(libmemwhy-track-[0-9a-f]*).*/\1/' | sort -u | wc -l
		}
		wait_for() {
			for _ in $(seq 200); do
				eval "$1" && return 0
				sleep 0.05
			done
			echo "waited in vain for: $1" >&2
			return 1
		}
		# Another test of this host may have had its path in its environment.
		gone() {
			wait_for '[ ! -e /run/memwhy ] || { "$alone" heap -q --out r -- true; false; }'
		}
		# Whoever reads from `go` ends with this shell.
		mkfifo go
		exec 9<>go
	END
}

# apart: its input under a shell with /run (mounted with $options) and /var/cache of its own.
apart() {
	needs_root
	cat >script
	run --separate-stderr timeout 60 unshare -m bash -euc "
		mount -t tmpfs -o mode=755${options:+,$options} none /run
		mount -t tmpfs -o mode=755 none /var/cache
		. ./functions
		. ./script" 3>&-
	[ "$status" -eq 0 ] && [ -z "$stderr" ] || { printf '%s\n' "$status" "$output" "$stderr"; return 1; }
}

@test "heap: alone, it preloads a file of root's below directories of root's, and leaves nothing" {
	apart <<-'END'
		"$alone" heap -o json --out r.json -- sh -c 'echo "$LD_PRELOAD" >path; ls / >/dev/null
			at=$LD_PRELOAD; while [ "$at" != / ]; do stat -L -c "%u %a" "$at"; at=$(dirname "$at"); done >modes' 9>&-
		[[ $(cat path) == /run/memwhy/libmemwhy-track-*.so ]]
		[ "$(sort -u modes)" = "0 755" ]
		[ "$(tracked ls)" = 1 ]
		gone
	END
}

@test "heap: alone, what is planted in its place is not preloaded, nor what cannot be run there" {
	apart <<-'END'
		mkdir -m 777 /run/memwhy
		chown 65534 /run/memwhy
		"$alone" heap -o json --out r.json -- sh -c 'echo "$LD_PRELOAD" >path; true'
		[[ $(cat path) == /var/cache/memwhy/* ]]
		rm -r /run/memwhy
		mkdir /run/memwhy
		name=$(basename "$(cat path)")
		echo planted >"/run/memwhy/$name"
		"$alone" heap -o json --out r.json -- sh -c 'echo "$LD_PRELOAD" >path; ls / >/dev/null'
		[ "$(cat path)" = "/run/memwhy/$name" ]
		[ "$(tracked ls)" = 1 ]
	END
	rm go
	options=noexec apart <<-'END'
		"$alone" heap -o json --out r.json -- sh -c 'echo "$LD_PRELOAD" >path; ls / >/dev/null'
		[[ $(cat path) == /var/cache/memwhy/* ]]
		[ "$(tracked ls)" = 1 ]
	END
}

@test "heap: alone, programs that live on, change their user or have pids of their own load it" {
	apart <<-'END'
		"$alone" heap -o json --out r.json -- sh -c '
			sh -c "echo \$\$ >pid; read x <go; ls / >/dev/null; echo done >out" 2>err 9>&- &
			setpriv --reuid=65534 --regid=65534 --clear-groups ls / >/dev/null
			unshare -pf --mount-proc cat /dev/null
			until [ -s pid ]; do sleep 0.05; done'
		[ "$(tracked ls)" = 1 ]
		[ "$(tracked cat)" = 1 ]
		# One lives on, so does the file.
		[ "$(made)" = 1 ]
		"$alone" heap -q --out r -- true
		[ "$(made)" = 1 ]
		echo go >&9
		wait_for '[ -s out ] && ! kill -0 $(cat pid) 2>/dev/null'
		[ ! -s err ]
		gone
	END
}

@test "heap: alone, two at once share it, one that is killed leaves it to the next" {
	apart <<-'END'
		"$alone" heap -q --out r1 -- sh -c 'echo $$ >pid; read x <go' 9>&- &
		first=$!
		disown
		wait_for '[ -s pid ]'
		"$alone" heap -q --out r2 -- true
		[ "$(made)" = 1 ]
		kill -KILL $first
		wait_for '! kill -0 $first 2>/dev/null'
		[ "$(made)" = 1 ]
		echo go >&9
		wait_for '! kill -0 $(cat pid) 2>/dev/null'
		gone
	END
}

@test "heap: alone, it removes what others that were killed have left, and nothing in use" {
	apart <<-'END'
		mkdir /run/memwhy
		cd /run/memwhy
		for name in libmemwhy-track.999999999 libmemwhy-track.$$ libmemwhy-track-0123.so libmemwhy-track-4567.so; do
			echo part >$name
			touch -d '1 hour ago' $name
		done
		echo part >libmemwhy-track.999999998 # of now
		flock -sF libmemwhy-track-4567.so cat "$OLDPWD/go" >/dev/null &
		trap "kill $!" EXIT
		wait_for '! flock -xn libmemwhy-track-4567.so true'
		cd "$OLDPWD"
		"$alone" heap -q --out r -- true
		# Its own stays while another test of this host has that path in its environment.
		left=$(ls /run/memwhy | grep -vE 'track-[0-9a-f]{16}\.so' | LC_ALL=C sort | xargs)
		[ "$left" = "libmemwhy-track-4567.so libmemwhy-track.$$ libmemwhy-track.999999998" ] ||
			{ echo "$left" >&2; false; }
	END
}

@test "heap: alone, a library that cannot be written is said, with the reason" {
	apart <<-'END'
		status=0
		(ulimit -f 24; exec "$alone" heap --out r -- true) 2>err || status=$?
		[ "$status" -eq 3 ]
		grep -q '^memwhy: the preload library cannot be written: File too large$' err
		grep -q 'ulimit -f' err
		[ -z "$(ls /run/memwhy)" ]
	END
}

@test "heap: alone, a user's is in a directory that only the user can write to, else there is none" {
	apart <<-'END'
		mkdir /run/open /run/mine
		chmod 777 /run/open
		chown 65534 /run/mine
		as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups env -u HOME "$@"; }
		cp "$alone" /run/alone
		alone=/run/alone
		cd /run/mine
		status=0
		as_nobody XDG_RUNTIME_DIR=/run/open "$alone" heap -q --out r -- true 2>err || status=$?
		[ $status = 3 ] || { cat err; exit 1; }
		grep -q 'no directory for the preload library that only you can write to' err
		grep -q 'XDG_RUNTIME_DIR or HOME' err
		as_nobody XDG_RUNTIME_DIR=/run/open HOME=/run/mine "$alone" heap -o json --out r.json -- \
			sh -c 'echo "$LD_PRELOAD" >path; ls / >/dev/null'
		[[ $(cat path) == /run/mine/.cache/memwhy/* ]]
		[ "$(tracked ls)" = 1 ]
		wait_for '[ -z "$(ls -A .cache)" ] || { as_nobody HOME=/run/mine "$alone" heap -q --out r -- true; false; }'
	END
}

@test "heap: programs of 32 bits run without a word from their loader, others beside are followed" {
	cat >say.c <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		int main(void) { void *p = malloc(10); printf("%d\n", p ? (int)sizeof(p) : 0); free(p); return 0; }
	END
	gcc -m32 -o bits32 say.c || skip "needs a C library of 32 bits (libc6-dev-i386)"
	musl-gcc -o musl say.c
	apart <<-'END'
		"$alone" heap -o json --out r.json -- sh -c './bits32; ls / >/dev/null; ./musl; ./bits32' >out 2>err
		cat err
		[ ! -s err ]
		[ "$(tr "\n" " " <out)" = "4 8 4 " ]
		[ "$(tracked ls)" = 1 ]
		[ "$(tracked musl)" = 1 ]
		[ "$(tracked bits32)" = 0 ]
		gone
	END
}

@test "heap: what cannot be loaded by programs of 32 bits is said of one that lives on" {
	printf '#include <unistd.h>\nint main(void) { return (int)sleep(4); }\n' >stays.c
	gcc -m32 -o stays stays.c || skip "needs a C library of 32 bits (libc6-dev-i386)"
	apart <<-'END'
		"$alone" heap --out r.txt -- sh -c './stays; true' >out 2>err
		grep -q 'stays.*not a 64-bit program' r.txt || { cat r.txt; false; }
	END
}

@test "heap: programs begun while memwhy is stopped do not wait for it" {
	apart <<-'END'
		status=0
		timeout 30 "$alone" heap -o json --out r.json -- bash -c '
			kill -STOP $PPID
			SECONDS=0
			for i in $(seq 30); do /bin/true; done
			echo $SECONDS >seconds
			kill -CONT $PPID
			sleep 0.2
			ls / >/dev/null' 2>err || status=$?
		cat err
		[ $status = 0 ]
		[ ! -s err ]
		# Two seconds each they waited once. It may be a busy machine.
		[ "$(cat seconds)" -lt 20 ]
		[ "$(tracked ls)" = 1 ]
		# the first may begin before the signal has stopped every thread
		jq -e "any(.notes[]; test(\"heap: 3[01] programs .*stopped\"))" r.json || { jq .notes r.json; false; }
	END
}
