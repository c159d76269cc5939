/*
 * Page faults that wait for a program: userfaultfd hands them to a handler in user space, and the
 * thread that faulted sleeps until that has answered. Such faults count as minor ones, or, where
 * the kernel tried again under the lock of the address space (FAULT_FLAG_TRIED; before 6.4 always),
 * as major ones that read nothing: no counter of the kernel shows the wait.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/units.h"
#include "probes/faults/faults.h"
#include "rules/holdings.h"
#include "rules/rules.h"
#include "sys/process/fdlink.h"

#define SLOW_NS 50000ULL /* a fault that waits for nobody takes a tenth of it at most */
#define MIN_FAULTS 20
#define LONG_NS (100 * NSEC_PER_MSEC) /* of such, fewer will do */

struct waiter {
	u64 faults, ns, max_ns;
	u64 stack_ns;
	u32 stack;
	u8 reserved[4];
};

struct state {
	struct held held;
	struct groups waiters; /* tgid -> struct waiter */
	struct groups majors;  /* tgid -> struct waiter, of major faults that read no file */
};

static int userfault_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	groups_init(&s->waiters, sizeof(u32), sizeof(struct waiter));
	groups_init(&s->majors, sizeof(u32), sizeof(struct waiter));
	return held_rule_init(&s->held, o, err);
}

static int userfault_fault_feed(struct state *s, const struct faults_agg *r)
{
	struct waiter *w;

	/* The handler allocates the page, not who faults. */
	if (r->flags & (FAULT_NAMED | FAULT_ALLOCATED) || !r->timed ||
		(r->flags & FAULT_MAJOR && !fault_is_swap_in(r)))
		return 0;
	w = groups_get(r->flags & FAULT_MAJOR ? &s->majors : &s->waiters, &r->tgid);
	if (!w)
		return -ENOMEM;
	w->faults += r->timed;
	w->ns += r->total_ns;
	w->max_ns = MAX(w->max_ns, r->max_ns);
	if (r->stack && r->total_ns > w->stack_ns) {
		w->stack = r->stack;
		w->stack_ns = r->total_ns;
	}
	return 0;
}

static int userfault_rule_feed(void *v, const struct rec *r)
{
	struct state *s = v;

	return r->kind == REC_FAULTS_AGG ? userfault_fault_feed(s, (const void *)r)
					 : held_rule_feed(&s->held, r);
}

/* Who has a userfaultfd open: the process itself, else the first that does. */
static const struct held_process *handler_find(const struct state *s, u32 tgid)
{
	const struct held_both *own = groups_find(&s->held.processes, &tgid);

	if (own && own->last.kinds[FD_UFFD])
		return &own->last;
	for (size_t i = 0; i < s->held.processes.n; i++) {
		const struct held_both *p = groups_value(&s->held.processes, i);

		if (p->last.kinds[FD_UFFD])
			return &p->last;
	}
	return NULL;
}

static void userfault_tell(struct report *r, const struct waiter *w, u32 tgid,
	const struct held_process *handler, int level)
{
	struct finding *x = report_finding(r, level, "userfault");
	bool own = handler->tgid == tgid;
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF];

	if (!x)
		return;
	x->tgid = tgid;
	x->cost_ns = w->ns;
	x->title = report_text(r,
		"Threads of %s wait in page faults for a userfaultfd handler%s, %s each: %s",
		report_process(r, tgid),
		own ? "" : report_text(r, ", probably %s", held_name(r, handler)),
		fmt_ns(a, w->ns / w->faults), report_share_text(r, w->ns));
	x->confidence = own ? "high: every fault was counted and timed; that the handler serves "
			      "all of the slow ones is inferred from its open userfaultfd"
			    : "medium: every fault was counted and timed; the process has no "
			      "userfaultfd open itself, another one does";
	finding_line(r, x->evidence, "%llu faults took %s in all, the longest %s; none read a disk",
		w->faults, fmt_ns(b, w->ns), fmt_ns(c, w->max_ns));
	finding_line(r, x->evidence, "%s has %u userfaultfd open", held_name(r, handler),
		handler->kinds[FD_UFFD]);
	if (w->stack)
		finding_stack(r, x, w->stack, 3);
	x->why = "A page of a range registered with userfaultfd arrives when the handler provides "
		 "it. The kernel counts no disk wait, but the thread sleeps: a slow handler delays "
		 "all threads.";
	finding_line(r, x->try_,
		"Let the handler answer more at once (UFFDIO_COPY of larger ranges, or ahead of "
		"the faults in the background), from several threads.");
	finding_line(r, x->try_,
		"If it only tracks writes, use a cheaper way: soft-dirty bits, or "
		"UFFD_FEATURE_WP_ASYNC with PAGEMAP_SCAN (Linux 6.7).");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`memwhy faults --for 10s -p %u`", tgid);
}

/* Major faults on memory without a file are swap-ins, but where nothing was swapped in. */
static int majors_take(struct state *s)
{
	if (!facts_known(&s->held.facts, "pswpin") || facts_delta(&s->held.facts, "pswpin"))
		return 0;
	for (size_t i = 0; i < s->majors.n; i++) {
		const struct waiter *m = groups_value(&s->majors, i);
		struct waiter *w = groups_get(&s->waiters, groups_key(&s->majors, i));

		if (!w)
			return -ENOMEM;
		w->faults += m->faults;
		w->ns += m->ns;
		w->max_ns = MAX(w->max_ns, m->max_ns);
		if (m->stack_ns > w->stack_ns)
			w->stack = m->stack;
	}
	groups_clear(&s->majors);
	return 0;
}

static bool is_slow(const struct waiter *w)
{
	return w->ns >= w->faults * SLOW_NS &&
	       (w->faults >= MIN_FAULTS || w->ns >= w->faults * LONG_NS);
}

static int userfault_rule_report(void *v, struct report *r)
{
	struct state *s = v;
	int rc = majors_take(s);

	for (size_t i = 0; i < s->waiters.n && !rc; i++) {
		const struct waiter *w = groups_value(&s->waiters, i);
		u32 tgid = *(const u32 *)groups_key(&s->waiters, i);
		int level = share_level(report_share(r, w->ns), 0.05, 0.5, 4);
		const struct held_process *handler;

		if (level < 0 || !is_slow(w))
			continue;
		handler = handler_find(s, tgid);
		if (handler)
			userfault_tell(r, w, tgid, handler, level);
	}
	return rc;
}

static void userfault_rule_reset(void *v)
{
	struct state *s = v;

	groups_clear(&s->waiters);
	groups_clear(&s->majors);
	held_rule_reset(&s->held);
}

static void userfault_rule_destroy(void *v)
{
	struct state *s = v;

	groups_free(&s->waiters);
	groups_free(&s->majors);
	held_rule_destroy(&s->held);
}

const struct view rule_userfault = {
	.size = sizeof(struct state),
	.init = userfault_rule_init,
	.feed = userfault_rule_feed,
	.report = userfault_rule_report,
	.reset = userfault_rule_reset,
	.destroy = userfault_rule_destroy,
};
