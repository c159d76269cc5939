/* See processes_table.h: which processes are worth a record, and which a closer look. */
#include <string.h>

#include "base/clock.h"
#include "probes/processes/processes_table.h"

u64 process_entry_growth(const struct process_entry *e)
{
	return e->anon_bytes > e->first_anon_bytes ? e->anon_bytes - e->first_anon_bytes : 0;
}

static void entry_offer(
	struct processes_table *t, const struct process_entry *e, u32 at, u64 now_ns)
{
	u64 age = now_ns - e->first_ns;
	u64 grown = process_entry_growth(e);

	u64 vm = e->vm_bytes > e->first_vm_bytes ? e->vm_bytes - e->first_vm_bytes : 0;
	u64 shared = e->rss_bytes - MIN(e->rss_bytes, e->anon_bytes);

	shared -= MIN(shared, e->first_shared_bytes);
	top_offer(&t->by_shared, shared > PROCESSES_GROWN_BYTES ? shared : 0, at);
	top_offer(&t->by_vm, vm > grown + PROCESSES_GROWN_BYTES ? vm : 0, at);
	top_offer(&t->by_rss, e->rss_bytes, at);
	top_offer(&t->by_anon, e->anon_bytes, at);
	top_offer(&t->by_growth, grown > PROCESSES_GROWN_BYTES ? grown : 0, at);
	/* By second, and as if a second had passed for those just seen. */
	top_offer(&t->by_rate, (u64)((double)grown * NSEC_PER_SEC / (double)MAX(age, NSEC_PER_SEC)),
		at);
}

static int top_choose(struct processes_table *t, const struct top *top, u16 flags)
{
	int rc = 0;

	for (u32 i = 0; i < top->n && !rc; i++) {
		struct process_entry *e = &t->list.v[top->at[i]];

		if (!(e->flags & ENTRY_CHOSEN))
			rc = vec_push(&t->chosen, top->at[i]);
		e->flags |= flags;
	}
	return rc;
}

int processes_choose(
	struct processes_table *t, const struct proc_scope *s, u64 now_ns, bool watched)
{
	bool scoped = watched || s->by_task || proc_scope_tests(s);
	u16 flags = watched ? ENTRY_CHOSEN | ENTRY_DEEP : ENTRY_CHOSEN;
	int rc;

	top_clear(&t->by_rss, scoped ? PROCESSES_SCOPED : PROCESSES_BIGGEST);
	top_clear(&t->by_growth, PROCESSES_GROWN);
	top_clear(&t->by_vm, PROCESSES_VAST);
	top_clear(&t->by_shared, PROCESSES_SHARERS);
	top_clear(&t->by_anon, PROCESSES_DEEP);
	top_clear(&t->by_rate, PROCESSES_DEEP);
	t->chosen.n = 0;
	for (size_t i = 0; i < t->list.n; i++)
		if (t->list.v[i].flags & ENTRY_MATCHES)
			entry_offer(t, &t->list.v[i], (u32)i, now_ns);
	rc = top_choose(t, &t->by_anon, ENTRY_CHOSEN | ENTRY_DEEP);
	if (!rc)
		rc = top_choose(t, &t->by_rate, ENTRY_CHOSEN | ENTRY_DEEP);
	if (!rc)
		rc = top_choose(t, &t->by_shared, ENTRY_CHOSEN | ENTRY_DEEP);
	if (!rc)
		rc = top_choose(t, &t->by_rss, flags);
	if (!rc)
		rc = top_choose(t, &t->by_vm, flags);
	return rc ? rc : top_choose(t, &t->by_growth, flags);
}
