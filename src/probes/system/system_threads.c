/* See system_threads.h. */
#include "probes/system/system_threads.h"

#include <errno.h>

#include "base/clock.h"
#include "base/str.h"
#include "probes/system/system.h"
#include "sys/process/proc.h"

#define PIDS_MOST 2000

/* Any process may take such a name: it has to be the kernel's. */
static bool is_of_memory(const struct proc_stat *st)
{
	static const char *const names[] = {"kswapd", "kcompactd", "ksmd"};

	for (size_t i = 0; i < ARRAY_SIZE(names) && st->is_kthread; i++)
		if (begins_with(st->comm, names[i]))
			return true;
	return false;
}

/* They are started as the kernel boots, so the first numbers are enough to look at. */
int system_threads_find(struct system_threads *t)
{
	_cleanup_proc_iter_ struct proc_iter it = {};
	int pid, rc = proc_iter_open(&it);

	t->tick_ns = NSEC_PER_SEC / (u64)sysconf(_SC_CLK_TCK);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	while (!rc && proc_iter_next(&it, &pid) && pid < PIDS_MOST) {
		struct proc_stat st;

		if (!proc_stat_read(pid, &st) && is_of_memory(&st))
			rc = vec_push(&t->all, ((struct system_thread){.pid = pid}));
	}
	return rc;
}

static int system_thread_send(struct capture *c, struct system_thread *one, u64 tick_ns)
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
		rc = rc ? rc : system_thread_send(c, one, t->tick_ns);
	return rc;
}

void system_threads_free(struct system_threads *t)
{
	vec_free(&t->all);
}
