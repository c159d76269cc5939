/* See combined_peak.h. */
#include "probes/heap/collect/combined_peak.h"

#include "base/clock.h"

/* Of one turn, over all processes. */
struct look {
	u64 live; /* at its end */
	u64 most;
	u64 rise; /* the most by which one alone was above what it has at the end */
	u32 changed;
};

/*
 * At any time, what is first read of a process afterwards is read in one turn or in the next,
 * whichever process it is: so each held at most its most of two turns that follow each other.
 */
static void combined_peak_process_look(struct look *l, struct heap_process *p)
{
	struct account *a = &p->account;
	u64 events = a->allocations + a->frees, high = MAX(a->high_bytes, a->live_bytes);

	l->live += a->live_bytes;
	l->most += MAX(high, p->high_before);
	l->rise = MAX(l->rise, high - a->live_bytes);
	l->changed += events != p->looked;
	p->looked = events;
	p->high_before = high;
	a->high_bytes = a->live_bytes;
}

void combined_peak_look(struct combined_peak *t, struct tracked_program *const *tracked, size_t n,
	struct heap_process *also)
{
	struct look l = {};
	u64 seen;

	for (size_t i = 0; i < n; i++)
		for (u32 k = 0, left = tracked[i]->n_alive; k < TRACK_PROCESSES && left; k++)
			if (tracked[i]->processes[k]) {
				combined_peak_process_look(&l, tracked[i]->processes[k]);
				left--;
			}
	if (also)
		combined_peak_process_look(&l, also);
	/* Where one changed, its most was on top of what the others have. */
	seen = l.changed <= 1 ? l.live + l.rise : l.live;
	if (seen > t->peak_bytes) {
		t->peak_bytes = seen;
		t->peak_ns = clock_mono_ns();
	}
	t->peak_most_bytes = MAX(t->peak_most_bytes, l.most);
}
