# Programs of a command that cannot be followed, and processes that live on: named in the report,
# however short they live.
# bats file_tags=beside,host
load common

setup() {
	cd "$BATS_TEST_TMPDIR"
	chmod 755 .
	json=$PWD/r.json
	cat >p.c <<-END
		#include <stdlib.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			void *volatile p = malloc(10);
			if (argc > 1)
				usleep(1000 * (unsigned)atoi(argv[1]));
			return p == NULL;
		}
	END
	gcc -o dynamic p.c
	gcc -static -o static p.c
	cp dynamic followed
	echo 'int main(void) { return 0; }' >n.c
	gcc -o nothing n.c # never asks for memory
}

# A root directory with a loader and libc, and no memwhy: ./jail.
jail_make() {
	mkdir -p jail/bin
	cp dynamic jail/bin/jailed
	cp static jail/bin/jailed-static
	ldd dynamic | grep -o '/[^ ]*' | xargs -I% cp --parents -L % jail
}

# said TEXT: by exactly one note.
said() {
	jq -e --arg t "$1" '[.notes[]? | select(test($t))] | length == 1' "$json" >/dev/null ||
		{ echo "not once: $1"; jq .notes "$json"; return 1; }
}

@test "heap: programs that cannot be followed are named though they end at once" {
	"$MEMWHY" heap -o json --out "$json" -- sh -c './static; env -i ./dynamic; ./followed; ./nothing
		for i in 1 2 3; do ./static; done'
	said "4 programs 'static' \\(the last: pid [0-9]+\\) are not tracked: statically linked"
	said "'dynamic' \\(pid [0-9]+\\) is not tracked: it was started without LD_PRELOAD"
	[ "$(jq '.notes | length' "$json")" = 2 ] || { jq .notes "$json"; false; }
	[ "$(processes comm | sort | uniq -c | xargs)" = "1 env 1 followed 1 sh" ]
}

@test "heap: so are those in other roots and namespaces, and with more privileges" {
	needs_root
	jail_make
	unshare -n true || skip "no network namespaces"
	cp dynamic other
	cp dynamic apart
	chown 1:1 other
	chmod 4755 other
	"$MEMWHY" heap -o json --out "$json" -- sh -c './other; unshare -n ./apart; chroot jail /bin/jailed
		chroot jail /bin/jailed-static; unshare -m ./followed; unshare --fork -p ./followed' 2>/dev/null
	said "'other' .* is not tracked: it has more privileges"
	said "'apart' .* is not tracked: it is in another network namespace"
	said "'jailed' .* is not tracked: it cannot see memwhy's library"
	said "'jailed-static' .* is not tracked: statically linked"
	[ "$(jq '.notes | length' "$json")" = 4 ] || { jq .notes "$json"; false; }
}

@test "heap: who lives on after the command's end is named, tracked or not" {
	"$MEMWHY" heap -o json --out "$json" -- sh -c 'setsid ./followed 2500 </dev/null >/dev/null 2>&1 &
		(./static 2500 &) ; ./followed 1000'
	said "'followed' \\(pid [0-9]+\\) lives on"
	said "'static' \\(pid [0-9]+\\) lives on"
	said "'static' \\(pid [0-9]+\\) is not tracked: statically linked"
	[ "$(jq '.notes | length' "$json")" = 3 ] || { jq .notes "$json"; false; }
	# Not of a command that was not waited for.
	"$MEMWHY" heap -o json --out "$json" --for 300ms -- ./followed 1000
	[ "$(jq '[.notes[]? | select(test("lives on"))] | length' "$json")" = 0 ]
}

@test "heap: a user's programs are named as root's are" {
	needs_root
	local paranoid
	paranoid=$(sysctl -n kernel.perf_event_paranoid)
	[ "$paranoid" -le 2 ] || skip "kernel.perf_event_paranoid is $paranoid"
	home_make
	cp dynamic static followed "$home"
	cp "$MEMWHY" "$home/own"
	cd "$home"
	as_nobody env HOME="$home" ./own heap -o json -- sh -c './static; env -i ./dynamic; ./followed' >"$json"
	said "'static' .* is not tracked: statically linked"
	said "'dynamic' .* is not tracked: it was started without LD_PRELOAD"
	[ "$(jq '.notes | length' "$json")" = 2 ] || { jq .notes "$json"; false; }
}

@test "heap: where the kernel does not tell, that is said, and who lives for a while is named" {
	cat >deny.c <<-END
		#include <errno.h>
		#include <linux/filter.h>
		#include <linux/seccomp.h>
		#include <sys/prctl.h>
		#include <sys/syscall.h>
		#include <unistd.h>
		/* What follows, without perf_event_open(). */
		int main(int argc, char **argv)
		{
			struct sock_filter f[] = {
				BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
				BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
				BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
				BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
			};
			struct sock_fprog p = {4, f};
			if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
				return 1;
			execv(argv[1], argv + 1);
			return 1;
		}
	END
	gcc -o deny deny.c
	./deny "$MEMWHY" heap -o json --out "$json" -- sh -c './static 3200; ./static'
	jq -e '[.missing[] | tostring | select(test("end within two seconds"))] | length == 1' "$json" ||
		{ jq .missing "$json"; false; }
	said "'static' \\(pid [0-9]+\\) is not tracked: statically linked"
}
