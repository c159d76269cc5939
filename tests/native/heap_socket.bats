# Who may ask a memwhy of root's for a file to write to, and whom a program takes one from.
# bats file_tags=beside,host
load common

setup() {
	cd "$BATS_TEST_TMPDIR"
	chmod 755 .
	json=$PWD/r.json
	cat >c.c <<-END
		#include <poll.h>
		#include <stddef.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <sys/socket.h>
		#include <sys/un.h>
		#include <unistd.h>
		#include "tracker/ring.h"
		static socklen_t name_set(struct sockaddr_un *at, const char *name)
		{
			*at = (struct sockaddr_un){.sun_family = AF_UNIX};
			memcpy(at->sun_path + 1, name, strlen(name));
			return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
		}
		/* A stranger: what it sends is what it is called with; how many descriptors it was given. */
		static int ask(const char *name, const char *sends)
		{
			char data[200], control[CMSG_SPACE(sizeof(int))] = "";
			struct iovec v = {data, sizeof(data)};
			struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control,
				.msg_controllen = sizeof(control)};
			struct sockaddr_un at;
			int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
			if (connect(fd, (struct sockaddr *)&at, name_set(&at, name)))
				return -1;
			if (*sends)
				send(fd, sends, strlen(sends), MSG_NOSIGNAL);
			if (poll(&(struct pollfd){fd, POLLIN, 0}, 1, *sends ? 1000 : 1) < 1)
				return 0;
			return recvmsg(fd, &m, 0) > 0 && m.msg_controllen >= sizeof(struct cmsghdr);
		}
		/* In the place of a memwhy that has ended: was what it handed out written to? */
		static int serve(const char *name)
		{
			struct track_head head = {.magic = TRACK_MAGIC, .version = TRACK_VERSION, .next_stack = 1};
			struct track_answer answer = {.version = TRACK_VERSION};
			char control[CMSG_SPACE(sizeof(int))] = "", said[100];
			struct iovec v = {&answer, sizeof(answer)};
			struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control,
				.msg_controllen = sizeof(control)};
			struct sockaddr_un at;
			int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), file = memfd_create("x", 0), to;
			unsigned state = 0;
			memset(answer.token, '0', sizeof(answer.token));
			if (bind(fd, (struct sockaddr *)&at, name_set(&at, name)) || listen(fd, 9) ||
				ftruncate(file, TRACK_FILE_BYTES))
				return 2;
			pwrite(file, &head, offsetof(struct track_head, processes), 0);
			puts("ready");
			fflush(stdout);
			to = accept(fd, NULL, NULL);
			recv(to, said, sizeof(said), 0);
			*CMSG_FIRSTHDR(&m) = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
			memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &file, sizeof(file));
			sendmsg(to, &m, MSG_NOSIGNAL);
			recv(to, said, sizeof(said), 0); /* it hangs up */
			usleep(300000);
			pread(file, &state, sizeof(state), offsetof(struct track_head, processes));
			printf("%u\n", state);
			return 0;
		}
		int main(int argc, char **argv)
		{
			int given = 0, n = argc > 4 ? atoi(argv[4]) : 1;
			if (!strcmp(argv[1], "serve"))
				return serve(argv[2]);
			while (n--)
				given += ask(argv[2], argv[3]);
			printf("%d\n", given);
			return 0;
		}
	END
	gcc -w -D_GNU_SOURCE -I"$BATS_TEST_DIRNAME/../../src" -o c c.c
}

@test "heap: who has no token gets no file, and is not in the report" {
	needs_root
	mkfifo go
	"$MEMWHY" heap -o json --out "$json" -- sh -c 'echo "$MEMWHY_TRACK" >env; read x <go; ls / >/dev/null
		setpriv --reuid=65534 --regid=65534 --clear-groups ls / >/dev/null' 3>&- &
	memwhy=$!
	wait_for '[ -s env ]'
	name=$(cut -d: -f1 env) tokens=$(cut -d: -f2 env)
	grep -q "@$name" /proc/net/unix
	[ "$(as_nobody ./c ask "$name" "")" = 0 ]
	[ "$(as_nobody ./c ask "$name" 00000000000000000000000000000000)" = 0 ]
	[ "$(as_nobody ./c ask "$name" "${tokens:32}")" = 0 ]
	[ "$(as_nobody ./c ask "$name" "$tokens")" = 0 ]
	[ "$(as_nobody ./c ask "$name" "x${tokens:1:31}")" = 0 ]
	# A thousand that say nothing are in nobody's way.
	[ "$(as_nobody ./c ask "$name" "" 900)" = 0 ]
	[ "$(./c ask "$name" "${tokens:0:32}")" = 1 ]
	echo >go
	wait $memwhy
	[ "$(processes comm | sort | xargs)" = "ls ls setpriv sh" ] || { processes comm; false; }
	jq -e '.lost.heap == 0' "$json"
	jq -e '[.notes[] | select(test("^heap: 6[0-9]{2} connections were closed before they showed a token"))] | length == 1' "$json" ||
		{ jq -c .notes "$json"; false; }
}

@test "heap: a program takes no file from who has the socket's name and not its token" {
	library=$(dirname "$MEMWHY")/libmemwhy-track.so
	[ -e "$library" ] || skip "no $library"
	filters=$(awk '$1 == "Seccomp_filters:" { print $2 }' /proc/self/status)
	for digits in 0 1; do # with the right token, and with another
		timeout 20 ./c serve memwhy-test-$$ >said 3>&- &
		wait_for 'grep -q ready said'
		LD_PRELOAD=$library MEMWHY_TRACK=memwhy-test-$$:$(printf '%063d%d' 0 $digits):${filters:-0} ls / >/dev/null
		wait $!
		echo "token of ${digits}s: $(tail -n1 said)"
		[ "$(tail -n1 said)" = $((digits ? 0 : 2)) ] # TRACK_TAKEN
	done
}
