/* See client.h. */
#include "probes/heap/client.h"

#include <errno.h>
#include <string.h>

int client_send(int to, int file)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {};
	u64 version = TRACK_VERSION;
	struct iovec data = {&version, sizeof(version)};
	struct msghdr m = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	control.head = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
	memcpy(CMSG_DATA(&control.head), &file, sizeof(file));
	return sendmsg(to, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

bool client_has_gone(int client)
{
	char byte;

	return !recv(client, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT);
}

/* Anybody on this host may connect; the name is not to be guessed, but it is shown by the kernel.
 */
bool client_may(const struct ucred *who)
{
	return who->pid > 0 &&
	       (who->uid == geteuid() || who->uid == getuid() || !who->uid || !geteuid());
}

u32 client_before(struct heap_process *const *all, size_t n, pid_t pid, pid_t ppid)
{
	u32 parent = 0;

	for (size_t i = n; i > 0; i--) {
		const struct heap_process *p = all[i - 1];

		if (p->foreign)
			continue;
		if (p->pid == (u32)pid && !p->ended && !p->gone)
			return p->id;
		if (ppid && !parent && !p->ended && p->pid == (u32)ppid)
			parent = p->id;
	}
	return parent;
}
