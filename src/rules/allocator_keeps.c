/*
 * Memory that a program has freed and its allocator keeps, glibc's malloc or another, after a
 * burst. Read from outside, for the few processes with most memory.
 */
#include <errno.h>

#include "analysis/give_back.h"
#include "base/less.h"
#include "base/units.h"
#include "rules/holdings.h"
#include "rules/rules.h"

#define KEPT_PART 0.3 /* of the anonymous memory, as far as it was looked at */
#define FEW_ARENAS 2

struct state {
	struct held held;
	struct groups heaps; /* of a process and an allocator -> struct held_heap, the last */
};

static int allocator_keeps_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	groups_init(&s->heaps, 2 * sizeof(u32), sizeof(struct held_heap));
	return held_rule_init(&s->held, o, err);
}

static int allocator_keeps_rule_feed(void *v, const struct rec *rec)
{
	const struct held_heap *r = (const void *)rec;
	struct state *s = v;
	struct held_heap *h;

	if (rec->kind != REC_HELD_HEAP) /* it may be shorter */
		return held_rule_feed(&s->held, rec);
	h = groups_get(&s->heaps, (const u32[]){r->tgid, r->allocator});
	if (!h)
		return -ENOMEM;
	*h = *r;
	return 0;
}

/* Of a large heap only so much is walked: what that part is of is told, not what the rest might be.
 */
static u64 looked_at(const struct held_heap *h)
{
	u64 walked = MAX(h->live_bytes + h->free_bytes, h->kept_bytes);

	return h->partial ? MIN(walked, h->anon_bytes) : h->anon_bytes;
}

/* With the rest of its arenas taken for alike. */
static u64 kept_in_all(const struct held_heap *h)
{
	u64 walked = looked_at(h);

	if (!h->partial || !walked || h->system_bytes <= walked)
		return h->kept_bytes;
	return (u64)((double)h->kept_bytes *
		     ((double)MIN(h->system_bytes, h->anon_bytes) / (double)walked));
}

static void allocator_keeps_tell_try(struct report *r, struct finding *x, const struct held_heap *h)
{
	char a[UNIT_BUF];

	finding_line(r, x->try_,
		"Call malloc_trim(0) in the program after it frees much: that returns %s. To try "
		"it once (" GDB_CALLS "): `gdb -p %u -batch -ex %s`",
		fmt_bytes(a, h->trimmable_bytes), h->tgid, "call (int)malloc_trim(0)");
	finding_line(r, x->undo, "Trimmed pages are faulted in again as the program allocates.");
	if (h->arenas > FEW_ARENAS) {
		finding_line(r, x->try_,
			"Use fewer arenas, so that threads reuse what others freed: start it with "
			"MALLOC_ARENA_MAX=%u in its environment.",
			FEW_ARENAS);
		finding_line(r, x->undo, "Start it without MALLOC_ARENA_MAX.");
	}
	finding_line(r, x->verify, "`memwhy where -p %u`", h->tgid);
}

/* No more than it has. */
static struct give_back given_back(const struct report *r, const struct held_heap *h)
{
	u64 most = u64_less(h->anon_bytes, h->live_bytes), kept = MIN(h->kept_bytes, most);

	return (struct give_back){.allocator = held_text(r, h->allocator),
		.process = held_text(r, h->name),
		.tgid = h->tgid,
		.kept_bytes = kept,
		.between_bytes = MIN(h->free_bytes, most - kept),
		.decay_ms = h->decay_ms};
}

/* Another allocator than glibc's. */
static void other_look(struct report *r, const struct held_heap *h)
{
	struct give_back g = given_back(r, h);
	u64 bytes = g.kept_bytes + g.between_bytes;
	int level = held_level_stuck(r, bytes);
	struct finding *x = NULL;
	char a[UNIT_BUF], b[UNIT_BUF];

	if ((double)bytes >= KEPT_PART * (double)h->anon_bytes)
		x = held_finding(r, level, "allocator-keeps", bytes);
	if (!x)
		return;
	x->tgid = h->tgid;
	x->cgroup = h->cgroup;
	x->title = report_text(r,
		"%s (pid %u) keeps %s of freed memory, %.0f %% of what it has: its allocator (%s) "
		"has not returned it to the kernel",
		g.process, h->tgid, fmt_bytes(a, bytes),
		100.0 * (double)bytes / (double)h->anon_bytes, g.allocator);
	x->confidence = "high: its allocator's own numbers, at that moment; they include pages it "
			"never touched";
	finding_line(r, x->evidence, "%s resident, of which %s are live blocks; that is %s",
		fmt_bytes(a, h->anon_bytes), fmt_bytes(b, h->live_bytes), held_share(r, bytes));
	give_back_tell(r, x, &g);
}

static void allocator_keeps_tell(struct report *r, const struct held_heap *h, int level)
{
	struct finding *x = report_finding(r, level, "allocator-keeps");
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF];

	if (!x)
		return;
	x->tgid = h->tgid;
	x->cgroup = h->cgroup;
	x->held_bytes = kept_in_all(h);
	x->title = report_text(r,
		"%s (pid %u) keeps %s%s%s of freed memory, %.0f %% of what %s: its allocator (%u "
		"arena%s of malloc) has not returned it to the kernel",
		held_text(r, h->name), h->tgid, h->partial ? "at least " : "",
		fmt_bytes(a, h->kept_bytes),
		h->partial ? report_text(r, ", probably about %s,", fmt_bytes(b, kept_in_all(h)))
			   : "",
		100.0 * (double)h->kept_bytes / (double)looked_at(h),
		h->partial ? "was read" : "it has", h->arenas, plural(h->arenas));
	x->confidence = h->partial ? "medium: the heap is large and was only partly read: this is "
				     "a lower bound, at that moment"
				   : "high: every block of its arenas was read, at that moment";
	finding_line(r, x->evidence,
		"%s resident, of which %s are live blocks and %s are pages holding only free ones",
		fmt_bytes(a, h->anon_bytes), fmt_bytes(b, h->live_bytes),
		fmt_bytes(c, h->kept_bytes));
	if (h->partial)
		finding_line(r, x->evidence,
			"%s of its heap was read; if the rest is like it, it keeps about %s",
			fmt_bytes(a, looked_at(h)), fmt_bytes(b, kept_in_all(h)));
	finding_line(r, x->evidence, "that is %s; malloc_trim would return %s of it",
		held_share(r, kept_in_all(h)), fmt_bytes(b, h->trimmable_bytes));
	x->why = "free() returns memory to malloc, and glibc returns it to the kernel only from "
		 "the end of an arena: one live block there keeps all free memory below it. "
		 "Threads have arenas of their own and cannot use what is free in others.";
	allocator_keeps_tell_try(r, x, h);
}

static int allocator_keeps_rule_report(void *v, struct report *r)
{
	const struct state *s = v;

	for (size_t i = 0; i < s->heaps.n; i++) {
		const struct held_heap *h = groups_value(&s->heaps, i);
		int level = held_level_stuck(r, kept_in_all(h));

		if (h->allocator)
			other_look(r, h);
		else if (level >= 0 && (double)h->kept_bytes >= KEPT_PART * (double)looked_at(h))
			allocator_keeps_tell(r, h, level);
	}
	return 0;
}

static void allocator_keeps_rule_reset(void *v)
{
	struct state *s = v;

	groups_clear(&s->heaps);
	held_rule_reset(&s->held);
}

static void allocator_keeps_rule_destroy(void *v)
{
	struct state *s = v;

	groups_free(&s->heaps);
	held_rule_destroy(&s->held);
}

const struct view rule_allocator_keeps = {
	.size = sizeof(struct state),
	.init = allocator_keeps_rule_init,
	.feed = allocator_keeps_rule_feed,
	.report = allocator_keeps_rule_report,
	.reset = allocator_keeps_rule_reset,
	.destroy = allocator_keeps_rule_destroy,
};
