/* See scope_end.h. */
#include "record/scope_end.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/proc.h"

/* Each tells once: others may go on for long. */
static void watch(struct scope_end *e, u32 pid)
{
	struct epoll_event once = {.events = EPOLLIN | EPOLLONESHOT};
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return;
	if (epoll_ctl(e->epoll, EPOLL_CTL_ADD, fd, &once))
		close(fd);
	else
		e->pidfds[e->n_pidfds++] = fd;
}

void scope_end_open(struct scope_end *e, const u32 *pids, size_t n)
{
	e->pids = pids;
	e->n = n;
	e->epoll = n ? epoll_create1(EPOLL_CLOEXEC) : -1;
	for (size_t i = 0; i < n && i < SCOPE_END_WATCHED && e->epoll >= 0; i++)
		watch(e, pids[i]);
}

/* Has it ended, even if its parent has not yet asked for its status? */
static bool process_is_over(u32 pid)
{
	struct proc_stat st;
	int rc = proc_stat_read((int)pid, &st);

	return rc == -ENOENT || rc == -ESRCH || (!rc && (st.state == 'Z' || st.state == 'X'));
}

bool scope_end_is(struct scope_end *e)
{
	struct epoll_event told;

	while (e->epoll >= 0 && epoll_wait(e->epoll, &told, 1, 0) > 0)
		;
	for (size_t i = 0; i < e->n; i++)
		if (!process_is_over(e->pids[i]))
			return false;
	return e->n > 0;
}

void scope_end_close(struct scope_end *e)
{
	for (size_t i = 0; i < e->n_pidfds; i++)
		close(e->pidfds[i]);
	if (e->epoll >= 0)
		close(e->epoll);
}
