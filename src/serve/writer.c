/* See writer.h. */
#include "serve/writer.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd_pass.h"
#include "cage/cage.h"

#define NICE 19 /* under a quota for both of them, as the unit has, the service goes first */
#define MEMORY_MAX (128UL << 20) /* that it may allocate; a report takes 20 to 60 MiB */

/* Signals to the whole group are for the service. */
static void writer_shut_in(int socket)
{
	struct err err = {};
	int rc;

	child_shut_in("memwhy-writer", socket);
	(void)setpriority(PRIO_PROCESS, 0, NICE);
#ifndef __SANITIZE_ADDRESS__
	setrlimit(RLIMIT_DATA, &(struct rlimit){MEMORY_MAX, MEMORY_MAX});
#endif
	rc = cage_enter(CAGE_WRITER, &err);
	if (rc && rc != -EOPNOTSUPP) /* a kernel without filters: without capabilities at least */
		_exit(1);
}

static void writer_work(int socket)
{
	static struct dump_order order;
	struct dump_result result;
	int ring;

	writer_shut_in(socket);
	while (!fd_receive(0, &order, sizeof(order), &ring)) {
		dump_write(&order, ring, &result);
		if (ring >= 0)
			close(ring);
		if (fd_send(0, &result, sizeof(result), -1))
			return;
	}
}

int writer_begin(struct writer *ret)
{
	return child_begin(SOCK_SEQPACKET, 0, writer_work, &ret->pid, &ret->socket);
}

int writer_ask(const struct writer *w, const struct dump_order *o, int ring)
{
	return w->socket < 0 ? -EPIPE : fd_send(w->socket, o, sizeof(*o), ring);
}

int writer_take(const struct writer *w, int wait_ms, struct dump_result *ret)
{
	struct pollfd fd = {.fd = w->socket, .events = POLLIN};
	int none, rc;

	if (w->socket < 0)
		return -EPIPE;
	if (poll(&fd, 1, wait_ms) <= 0)
		return 0;
	rc = fd_receive(w->socket, ret, sizeof(*ret), &none);
	return rc ? rc : 1;
}

bool writer_is_gone(const struct writer *w)
{
	return w->socket >= 0 && child_has_ended(w->pid);
}

void writer_end(struct writer *w)
{
	if (w->socket < 0)
		return;
	child_end(w->pid, w->socket);
	*w = (struct writer){.socket = -1};
}
