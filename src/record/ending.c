/* See ending.h. */
#include "record/ending.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/process/proc.h"

int ending_fd(const struct ending *e)
{
	return e->pid ? e->fd : -1;
}

void ending_close(struct ending *e)
{
	if (e->pid && e->fd >= 0)
		close(e->fd);
	e->pid = 0;
}

static void watch(struct ending *e, u32 pid)
{
	ending_close(e);
	e->fd = (int)syscall(SYS_pidfd_open, pid, 0);
	e->pid = pid;
}

bool ending_is_over(struct ending *e, const u32 *pids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (proc_has_ended((int)pids[i]))
			continue;
		if (e->pid != pids[i])
			watch(e, pids[i]);
		return false;
	}
	ending_close(e);
	return true;
}
