/*
 * Large processes that fork often: each fork copies the page tables of all their anonymous memory
 * before it returns, also where the child only starts another program. The pages that are copied
 * afterwards are told by another rule.
 */
#include <errno.h>

#include "base/units.h"
#include "probes/processes/processes.h"
#include "probes/waits/waits.h"
#include "rules/facts.h"
#include "rules/rules.h"

#define MIN_FORKS 5
#define MIN_BYTES (256ULL << 20)
/* To copy one entry and count its page once more (x86-64, 6.18: 150); the child's end takes as much
 * again, on some CPU. */
#define PAGE_NS 120

struct forker {
	u64 count, anon_bytes, huge_bytes, page_table_bytes;
	u32 stack;
};

static int fork_cost_rule_init(void *v, const struct view_options *o, struct err *err)
{
	(void)o;
	(void)err;
	rule_sums_init(v, sizeof(u32), sizeof(struct forker));
	return 0;
}

static int fork_cost_made_feed(struct rule_sums *s, const struct waits_made *r)
{
	struct forker *f = r->kind == WAITS_FORKED ? groups_get(&s->by, &r->tgid) : NULL;

	if (r->kind != WAITS_FORKED)
		return 0;
	if (!f)
		return -ENOMEM;
	f->count += r->count;
	f->stack = r->stack ? r->stack : f->stack;
	return 0;
}

static int fork_cost_rule_feed(void *v, const struct rec *r)
{
	const struct process_memory *m = (const void *)r;
	const struct process_detail *d = (const void *)r;
	struct rule_sums *s = v;
	struct forker *f;

	if (r->kind == REC_WAITS_MADE)
		return fork_cost_made_feed(s, (const void *)r);
	if (r->kind != REC_PROCESS_MEMORY && r->kind != REC_PROCESS_DETAIL)
		return facts_feed(&s->facts, r);
	f = groups_get(&s->by, r->kind == REC_PROCESS_MEMORY ? &m->tgid : &d->tgid);
	if (!f)
		return -ENOMEM;
	if (r->kind == REC_PROCESS_DETAIL) {
		f->huge_bytes = d->anon_huge_bytes;
		return 0;
	}
	f->anon_bytes = m->anon_bytes;
	if (m->h.flags & PROCESS_EXACT)
		f->page_table_bytes = m->page_table_bytes;
	return 0;
}

/* Entries of one fork: huge pages have one for 512. */
static u64 fork_ns(const struct report *r, const struct forker *f)
{
	u64 bytes = f->anon_bytes > f->huge_bytes ? f->anon_bytes - f->huge_bytes : 0;

	return bytes / MAX(r->stream->host.page_bytes, 1U) * PAGE_NS;
}

static void fork_cost_tell(struct report *r, u32 tgid, const struct forker *f, int level)
{
	struct finding *x = report_finding(r, level, "fork-cost");
	double rate = (double)f->count / report_seconds(r);
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF];

	if (!x)
		return;
	x->tgid = tgid;
	x->cost_ns = f->count * fork_ns(r, f);
	x->title = report_text(r,
		"%s forks %.1f times a second with %s of memory: each fork copies its page tables, "
		"about %s, together about %s",
		report_process(r, tgid), rate, fmt_bytes(a, f->anon_bytes),
		fmt_ns(b, fork_ns(r, f)), report_share_text(r, x->cost_ns));
	x->confidence =
		"medium: forks were counted; their time is estimated from its pages, 120 ns each";
	finding_line(r, x->evidence, "%llu forks that copied its address space in %.0f s", f->count,
		report_seconds(r));
	if (f->page_table_bytes)
		finding_line(
			r, x->evidence, "its page tables: %s", fmt_bytes(c, f->page_table_bytes));
	if (f->stack)
		finding_stack(r, x, f->stack, 4);
	x->why = "fork() returns only when the child has a copy of all page tables and a reference "
		 "to each page. The cost grows with the parent's memory, even if the child runs "
		 "another program at once, and the child's exit costs as much again.";
	finding_line(r, x->try_,
		"Start programs with posix_spawn() or vfork(), which copy nothing; most runtimes "
		"can (in Python: subprocess with close_fds=False and no preexec_fn).");
	finding_line(r, x->try_,
		"Or let a small process, forked before memory fills, start them on request.");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`memwhy syscalls --for 10s -p %u`", tgid);
}

static int fork_cost_rule_report(void *v, struct report *r)
{
	const struct rule_sums *s = v;

	for (size_t i = 0; i < s->by.n; i++) {
		const struct forker *f = groups_value(&s->by, i);
		int level = share_level(report_share(r, f->count * fork_ns(r, f)), 0.05, 0.25, 4);

		if (level >= 0 && f->count >= MIN_FORKS && f->anon_bytes >= MIN_BYTES)
			fork_cost_tell(r, *(const u32 *)groups_key(&s->by, i), f, level);
	}
	return 0;
}

const struct view rule_fork_cost =
	SUMS_RULE(fork_cost_rule_init, fork_cost_rule_feed, fork_cost_rule_report);
