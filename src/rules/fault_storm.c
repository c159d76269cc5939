/* See fault_storm.h. */
#include "rules/fault_storm.h"

#include "base/units.h"
#include "rules/facts.h"

#define PATH_LEAST 0.15 /* of the samples: a smaller share does not say where they come from */

bool storm_takes(const struct faults_agg *r)
{
	return !(r->flags & (FAULT_MAJOR | FAULT_NAMED)) && r->flags & FAULT_ALLOCATED;
}

bool storm_copies(const struct faults_agg *r)
{
	u16 copy = FAULT_WRITE | FAULT_PRESENT;

	return (r->flags & copy) == copy;
}

static void stack_offer(struct storm *t, u32 stack, u64 faults)
{
	if (!stack || faults <= t->stack_faults)
		return;
	t->stack = stack;
	t->stack_faults = faults;
}

void storm_add(struct storm *t, const struct faults_agg *r)
{
	t->pages += r->count * (r->flags & FAULT_HUGE ? 512 : 1);
	t->ns += r->total_ns;
	t->faults += r->count;
	t->with_stack += r->stack ? r->count : 0;
	stack_offer(t, r->stack, r->count);
}

void storm_walked(struct storm *t, const struct process_path *p)
{
	if (p->count > t->walked.count)
		t->walked = *p;
}

void storm_merge(struct storm *t, const struct storm *more)
{
	storm_walked(t, &more->walked);
	t->pages += more->pages;
	t->ns += more->ns;
	t->faults += more->faults;
	t->with_stack += more->with_stack;
	stack_offer(t, more->stack, more->stack_faults);
}

bool storm_tell(struct report *r, struct finding *f, const struct storm *t, const char *what)
{
	u64 page = r->stream->host.page_bytes;
	double seconds = report_seconds(r);
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF];

	finding_line(r, f->evidence, "%llu pages (%s) were %s in %.1f s: %s a second", t->pages,
		fmt_bytes(a, t->pages * page), what, seconds,
		fmt_bytes(b, (u64)((double)(t->pages * page) / seconds)));
	finding_line(r, f->evidence, "%s in these faults, %s each", fmt_ns(b, t->ns),
		fmt_ns(c, t->ns / MAX(t->faults, 1ULL)));
	if (finding_walked(r, f, &t->walked, "code path"))
		return true;
	if (!t->stack || (double)t->stack_faults < PATH_LEAST * (double)t->with_stack)
		return false;
	finding_line(r, f->evidence, "code path of %.0f %% of the sampled faults:",
		100.0 * (double)t->stack_faults / (double)t->with_stack);
	finding_stack(r, f, t->stack, 6);
	return stack_has_caller(r, t->stack);
}
