/*
 * The tasks of a stream, which come and go: one that has ended, or has another name now, is kept
 * for the report of the interval, and freed with tasks_forget(). See names.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/dictionaries.h"

u64 tasks_id(u32 tgid, u32 tid)
{
	return (u64)tgid << 32 | tid;
}

static int leaving_add(struct stream_names *names, struct task_entry *e)
{
	int rc = e->leaving ? 0 : vec_push(&names->leaving, e);

	e->leaving = e->leaving || !rc;
	return rc;
}

static bool task_is_same(const struct task_entry *e, const struct rec_task *t)
{
	return e->task.h.flags == t->h.flags &&
	       !memcmp(&e->task.h + 1, &t->h + 1, sizeof(*t) - sizeof(t->h));
}

static int task_add(struct stream_names *names, struct task_entry *old, const struct rec_task *t)
{
	struct task_entry *e = calloc(1, sizeof(*e));
	int rc = e ? 0 : -ENOMEM;

	if (!rc && old)
		rc = leaving_add(names, old);
	if (!rc) {
		e->task = *t;
		rc = names_set(names, &names->tasks, tasks_id(t->tgid, t->tid), e);
	}
	if (rc)
		free(e);
	return rc;
}

int tasks_feed(struct stream_names *names, const struct rec_task *t)
{
	struct task_entry *old =
		(struct task_entry *)names_find(names, &names->tasks, tasks_id(t->tgid, t->tid));

	if (t->h.flags & TASK_OVER) {
		if (!old)
			return 0;
		old->over = true;
		return leaving_add(names, old);
	}
	if (old && task_is_same(old, t)) {
		old->over = false;
		return 0;
	}
	return task_add(names, old, t);
}

void tasks_forget(struct stream_names *names)
{
	vec_each (at, &names->leaving) {
		struct task_entry *e = *at;
		u64 id = tasks_id(e->task.tgid, e->task.tid);
		bool is_current = names_find(names, &names->tasks, id) == e;

		e->leaving = false;
		if (is_current && !e->over)
			continue; /* the same came back */
		if (is_current)
			names_remove(names, &names->tasks, id);
		free(e);
	}
	names->leaving.n = 0;
}

void tasks_free(struct stream_names *names)
{
	tasks_forget(names);
	for (size_t i = 0; i < names->tasks.cap; i++)
		free((void *)names->tasks.slots[i].value);
	vec_free(&names->leaving);
}
