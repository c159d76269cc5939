/* See asks.h. */
#include "probes/heap/collect/asks.h"

#include <errno.h>
#include <x86intrin.h>

#include "probes/heap/collect/ring_reader.h"
#include "sys/process/proc.h"

/* Of the first process of a program in a pid namespace of its own only our own number is known, so
 * all of its threads are looked at; of a fork of it nothing is. */
static bool may_be_filtered(const struct tracked_program *program, const struct ring_reader *c)
{
	const struct heap_process *p = c->process;
	u32 filters = 0;
	int rc;

	if (!p->foreign && c->tid)
		rc = proc_filters_read((int)c->tid, 0, &filters);
	else
		rc = p->original && p->foreign ? -EACCES
					       : proc_filters_read((int)p->pid, 1, &filters);
	/* Who is gone asks for nothing. */
	return rc ? rc != -ENOENT && rc != -ESRCH : filters > program->filters;
}

static void filtered_set(struct tracked_program *program, const struct ring_reader *c)
{
	__atomic_store_n(&program->head->processes[c->process->index].filtered, 1,
		__ATOMIC_RELEASE);
}

void asks_answer_all(struct tracked_program *program)
{
	program->asks = __atomic_load_n(&program->head->asks, __ATOMIC_ACQUIRE);
	for (u32 i = 0; i < program->n_slots; i++) {
		const struct ring_reader *c = program->readers[i];
		u32 asked = c ? __atomic_load_n(&c->slot->asked, __ATOMIC_ACQUIRE) : 0;

		if (!c || asked == c->slot->sure)
			continue;
		c->slot->sure_at = __rdtsc();
		if (may_be_filtered(program, c))
			filtered_set(program, c);
		__atomic_store_n(&c->slot->sure, asked, __ATOMIC_RELEASE);
	}
}

void asks_look(struct tracked_program *program)
{
	for (u32 i = 0; i < program->n_slots; i++) {
		struct ring_reader *c = program->readers[i];

		if (!c || c->copies == c->slot->copies)
			continue;
		c->copies = c->slot->copies;
		if (may_be_filtered(program, c))
			filtered_set(program, c);
	}
}
