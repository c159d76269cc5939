/* Findings: stacks of a heap that keep what they allocate. See leak_heap.h. */
#include <stdlib.h>

#include "base/units.h"
#include "probes/leak/leak_heap.h"

#define SUSPECTS 3
#define MIN_BLOCKS 30

static struct leak_evidence evidence_of(const struct leak_heap_row *w)
{
	return (struct leak_evidence){
		.judged = &w->judged,
		.live = w->live,
		.bytes = w->bytes,
		.allocated = w->allocations,
		.stayed = w->stayed,
	};
}

static int by_growth(const void *a, const void *b)
{
	const struct leak_heap_row *const *x = a, *const *y = b;

	return (*x)->judged.now < (*y)->judged.now   ? 1
	       : (*x)->judged.now > (*y)->judged.now ? -1
						     : 0;
}

static void tell_next(struct report *r, struct finding *f, const struct leak_heap_row *w)
{
	finding_line(r, f->try_,
		"See where the blocks go from there, and what should have freed them by now: a "
		"list or cache without a bound, or an owner that is never destroyed.");
	finding_line(r, f->try_, "Run it longer, to tell a leak from what fills: this was %.0f s.",
		w->judged.seconds);
	finding_line(r, f->try_,
		"Whether anything still points to them tells a debugger of the heap that looks at "
		"all of memory at exit (LeakSanitizer, valgrind); memwhy does not look.");
	finding_line(r, f->undo, "Nothing to undo.");
	finding_line(
		r, f->verify, "The same command again: this stack is \"comes and goes\" or flat.");
}

static void tell(struct report *r, const struct leak_heap_row *w)
{
	struct finding *f = report_finding(r, leak_suspect_level(r, &w->judged), "leak");
	struct leak_evidence e = evidence_of(w);
	char a[UNIT_BUF];

	if (!f)
		return;
	f->title = report_text(r, "Suspect: %.16s (pid %u) keeps what it allocates, %s a minute",
		w->process->now.comm, w->process->now.tgid, fmt_bytes(a, (u64)w->judged.now * 60));
	f->confidence =
		report_text(r, "medium: %s, but %.0f s cannot tell a leak from a cache that fills",
			w->process->now.h.flags & HEAP_SAMPLED ? "allocations were sampled"
							       : "every allocation was followed",
			w->judged.seconds);
	leak_tell_growth(r, f, &e);
	leak_tell_lives(r, f, w->frees, &w->lives);
	leak_tell_stack(r, f, w->stack);
	f->why =
		"What is allocated here stays and grows with time. That a block is live at the end "
		"is no fault by itself; that they become ever more is.";
	tell_next(r, f, w);
}

void leak_heap_suspects(struct report *r, const struct leak_heap_row *rows, size_t n)
{
	_cleanup_free_ const struct leak_heap_row **best = calloc(n + 1, sizeof(*best));
	size_t found = 0;

	for (size_t i = 0; best && i < n; i++) {
		struct leak_evidence e = evidence_of(&rows[i]);

		if (leak_is_suspect(&e, MIN_BLOCKS))
			best[found++] = &rows[i];
	}
	if (found)
		qsort(best, found, sizeof(*best), by_growth);
	for (size_t i = 0; i < found && i < SUSPECTS; i++)
		tell(r, best[i]);
	if (found > SUSPECTS)
		report_note(r, "%zu more stacks grow steadily: they are in the table",
			found - SUSPECTS);
}
