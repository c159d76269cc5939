/* Findings: stacks of a heap that keep what they allocate. See leak_heap.h. */
#include <stdlib.h>

#include "base/units.h"
#include "probes/leak/leak_evidence.h"
#include "probes/leak/leak_heap.h"

#define MIN_BLOCKS 30

static struct leak_evidence evidence_of(const struct leak_heap_row *w)
{
	return (struct leak_evidence){
		.of = w,
		.judged = &w->judged,
		.live = w->live,
		.bytes = w->bytes,
		.allocated = w->allocations,
		.least = MIN_BLOCKS,
		.stayed = w->stayed,
	};
}

static void leak_heap_suspects_tell_next(
	struct report *r, struct finding *f, const struct leak_heap_row *w)
{
	finding_line(r, f->try_,
		"See where the blocks go from there, and what should have freed them by now: a "
		"list or cache without a bound, or an owner that is never destroyed.");
	finding_line(r, f->try_,
		"Run it longer, to tell a leak from a cache that fills: this was %.0f s.",
		w->judged.seconds);
	finding_line(r, f->try_,
		"To learn whether anything still points to them, use a heap checker that scans "
		"memory at exit (LeakSanitizer, valgrind).");
	finding_line(r, f->undo, "Nothing to undo.");
	finding_line(
		r, f->verify, "The same command again: this stack is \"comes and goes\" or flat.");
}

static void leak_stack_tell(struct report *r, const struct leak_evidence *e, const void *arg)
{
	const struct leak_heap_row *w = e->of;
	struct finding *f = report_finding(r, leak_suspect_level(r, e->judged), "leak");
	char a[UNIT_BUF];

	(void)arg;
	if (!f)
		return;
	f->title = report_text(r, "Suspect: %.16s (pid %u) keeps what it allocates, %s a minute",
		w->process->now.comm, w->process->now.tgid, fmt_bytes(a, (u64)w->judged.now * 60));
	f->confidence =
		report_text(r, "medium: %s, but %.0f s cannot tell a leak from a cache that fills",
			w->process->now.h.flags & HEAP_SAMPLED ? "allocations were sampled"
							       : "every allocation was followed",
			w->judged.seconds);
	leak_tell_growth(r, f, e);
	leak_tell_lives(r, f, w->frees, &w->lives);
	leak_tell_stack(r, f, w->stack);
	f->why = "What is allocated here stays, and grows with time. A block live at the end is "
		 "not a leak as such; ever more of them are.";
	leak_heap_suspects_tell_next(r, f, w);
}

void leak_heap_suspects(struct report *r, const struct leak_heap_row *rows, size_t n)
{
	_cleanup_free_ struct leak_evidence *v = calloc(n + 1, sizeof(*v));

	for (size_t i = 0; v && i < n; i++)
		v[i] = evidence_of(&rows[i]);
	if (v)
		leak_suspects_tell(r, v, n, "stacks", leak_stack_tell, NULL);
}
