/* See system_threads.h. */
#include "probes/system/system_threads.h"

#include <string.h>

#include "base/clock.h"
#include "probes/system/system.h"
#include "sys/host.h"
#include "sys/process/proc.h"

/* Any process may take such a name: it has to be the kernel's. */
static bool is_of_memory(const struct proc_stat *st)
{
	return st->is_kthread &&
	       (!strncmp(st->comm, "kswapd", 6) || !strncmp(st->comm, "kcompactd", 9));
}

/* The kernel makes them before there are processes: where each node has both, no more is read. */
int system_threads_find(struct system_threads *t)
{
	_cleanup_free_ struct host *host = calloc(1, sizeof(*host));
	_cleanup_proc_iter_ struct proc_iter it = {};
	u32 most = 2;
	int pid, rc = host ? 0 : -ENOMEM;

	t->tick_ns = NSEC_PER_SEC / (u64)sysconf(_SC_CLK_TCK);
	if (rc || proc_iter_open(&it))
		return rc;
	host_read(host);
	most *= host->nodes;
	while (!rc && t->all.n < most && proc_iter_next(&it, &pid)) {
		struct proc_stat st;

		if (!proc_stat_read(pid, &st) && is_of_memory(&st))
			rc = vec_push(&t->all, ((struct system_thread){.pid = pid}));
	}
	return rc;
}

static int thread_send(struct capture *c, struct system_thread *one, u64 tick_ns)
{
	struct system_value r = REC_INIT(struct system_value, REC_SYSTEM_VALUE, 0);
	struct proc_stat st;

	if (proc_stat_read(one->pid, &st) || !is_of_memory(&st))
		return 0; /* its node is gone */
	r.value = (st.utime_ticks + st.stime_ticks) * tick_ns;
	if (one->sent == r.value + 1)
		return 0;
	one->sent = r.value + 1;
	r.source = SYSTEM_THREAD;
	snprintf(r.name, sizeof(r.name), "%.*s", SYSTEM_NAME_LEN - 1, st.comm);
	return capture_emit(c, &r.h);
}

int system_threads_send(struct capture *c, struct system_threads *t)
{
	int rc = 0;

	vec_each (one, &t->all)
		rc = rc ? rc : thread_send(c, one, t->tick_ns);
	return rc;
}

void system_threads_free(struct system_threads *t)
{
	vec_free(&t->all);
}
