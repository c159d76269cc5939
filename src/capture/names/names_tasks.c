/*
 * The names of tasks: told once, and again when they change or their number is another's. One that
 * has ended is forgotten once all that it did was drained. See names.h.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "capture/names/follow.h"
#include "capture/names/names_sent.h"
#include "sys/process/proc.h"
#include "sys/root.h"

/* It is looked who has ended at each so many new tasks, at least so often. */
#define LOOK_TASKS 1024
#define LOOK_NS (10 * NSEC_PER_SEC)
/* The drain after the one that found a task gone is the last with something of it. */
#define GONE_DRAINS 2

static bool task_is_gone(const struct task_key *key)
{
	return kill((pid_t)(key->tid ? key->tid : key->tgid), 0) && errno == ESRCH;
}

/* What is known of a task; NULL: nothing. Where its number is that of another one by now, what
 * was known is of no use. */
static struct task_value *task_known(struct names *n, const struct task_key *key)
{
	struct task_value *v = groups_find(&n->tasks, key);

	if (v && v->gone_at && !task_is_gone(key))
		*v = (struct task_value){};
	return v && v->comm[0] ? v : NULL;
}

/* Of an interpreter: what it runs; of a name that is cut: the whole. */
static u32 program_string(struct names *n, u32 tgid, const char *comm)
{
	_cleanup_str_ struct str raw = {}, name = {};

	if (!proc_may_have_program(comm) || sys_read(&raw, "/proc/%u/cmdline", tgid) || !raw.len ||
		!proc_program_name(comm, raw.buf, raw.len, &name))
		return 0;
	return names_string(n, str_get(&name));
}

static int names_task_send(struct names *n, u32 tgid, u32 tid, const char *comm, u64 cgroup)
{
	struct task_key key = {tgid, tid};
	struct task_value *v = task_known(n, &key);
	struct rec_task r = REC_INIT(struct rec_task, REC_TASK, 0);
	const char *renamed = tid ? NULL : follow_comm(n->follow, tgid);

	if (v && !cgroup)
		cgroup = v->cgroup;      /* the caller does not know it */
	comm = renamed ? renamed : comm; /* what was counted may have begun under another name */
	if (v && v->cgroup == cgroup && !strncmp(v->comm, comm, COMM_LEN))
		return 0;
	v = groups_get(&n->tasks, &key);
	if (!v)
		return -ENOMEM;
	v->cgroup = cgroup;
	snprintf(v->comm, sizeof(v->comm), "%s", comm);
	names_cgroup(n, cgroup);
	r.tgid = tgid;
	r.tid = tid;
	r.cgroup = cgroup;
	memcpy(r.comm, v->comm, sizeof(r.comm));
	r.program = tid ? 0 : program_string(n, tgid, v->comm);
	return names_put(n, &r.h);
}

/* Was it seen to take a name? Events are taken once a drain for that. */
static bool comm_was_seen(struct names *n, u32 tgid)
{
	if (!follow_comm(n->follow, tgid) && n->followed != n->drains + 1) {
		n->followed = n->drains + 1;
		(void)follow_take(n->follow); /* /proc is left */
	}
	return follow_comm(n->follow, tgid) != NULL;
}

/*
 * A process has the name of its first thread. One that is told without a thread (tid 0) may come
 * with the name of any of its threads: where that is news, the process is asked, once a drain; one
 * that has ended does not answer, which takes as long.
 */
static int names_tasks_process_send(
	struct names *n, u32 tgid, u32 tid, const char *comm, u64 cgroup)
{
	struct task_key key = {tgid, 0};
	struct task_value *v = task_known(n, &key);
	char name[PROC_COMM_MAX];
	int rc;

	if (v && tid && tid != tgid)
		return 0;
	if (tid == tgid || (v && !strncmp(v->comm, comm, COMM_LEN)) || comm_was_seen(n, tgid))
		return names_task_send(n, tgid, 0, comm, cgroup);
	if (v && v->asked == n->drains + 1)
		snprintf(name, sizeof(name), "%s", v->comm);
	else if (proc_comm_read((int)tgid, name))
		snprintf(name, sizeof(name), "%.*s", COMM_LEN, comm);
	rc = names_task_send(n, tgid, 0, name, cgroup);
	v = groups_find(&n->tasks, &key);
	if (v)
		v->asked = n->drains + 1;
	return rc;
}

int names_task(struct names *n, u32 tgid, u32 tid, const char *comm, u64 cgroup)
{
	int rc = names_tasks_process_send(n, tgid, tid, comm, cgroup);

	return rc || !tid ? rc : names_task_send(n, tgid, tid, comm, cgroup);
}

static int over_send(struct names *n, const struct task_key *key, const struct task_value *v)
{
	struct rec_task r = REC_INIT(struct rec_task, REC_TASK, 0);

	r.h.flags = TASK_OVER;
	r.tgid = key->tgid;
	r.tid = key->tid;
	r.cgroup = v->cgroup;
	memcpy(r.comm, v->comm, sizeof(r.comm));
	return names_put(n, &r.h);
}

struct forgetting {
	struct names *n;
	int rc;
};

static bool task_stays(void *arg, const void *key, const void *value)
{
	struct forgetting *f = arg;
	const struct task_value *v = value;

	if (f->rc || !v->gone_at || f->n->drains - v->gone_at < GONE_DRAINS)
		return true;
	f->rc = over_send(f->n, key, v);
	return false;
}

int names_tasks_forget(struct names *n)
{
	struct forgetting f = {.n = n};
	u64 now = clock_mono_ns();
	size_t there = 0;

	n->drains++;
	if (n->tasks.n < n->tasks_look && now < n->tasks_look_ns)
		return 0;
	for (size_t i = 0; i < n->tasks.n; i++) {
		struct task_value *v = groups_value(&n->tasks, i);

		if (!v->gone_at && task_is_gone(groups_key(&n->tasks, i)))
			v->gone_at = n->drains;
		there += !v->gone_at;
	}
	groups_filter(&n->tasks, task_stays, &f);
	n->tasks_look = n->tasks.n + MAX(there, (size_t)LOOK_TASKS);
	n->tasks_look_ns = now + LOOK_NS;
	return f.rc;
}
