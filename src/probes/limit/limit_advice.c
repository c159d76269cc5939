/* See limit_tables.h. The words of the advice. */
#include <string.h>

#include "base/units.h"
#include "probes/limit/limit_tables.h"

static const char *const thin_words[] = {
	[LIMIT_NO_GROUP] = "nothing is known of the group",
	[LIMIT_OF_SOME] = "only some of its tasks were seen",
	[LIMIT_TOO_SHORT] = "it was observed for less than 5 s",
	[LIMIT_NO_READS] = "it has page cache, and who reads which pages cannot be seen here",
	[LIMIT_LOST] = "too many uses of pages were lost",
	[LIMIT_REFUSED] = "it is not known what all of its processes touch through mappings",
	[LIMIT_UNSEEN] =
		"none of its anonymous memory was seen touched: measure while it works, or "
		"longer",
	[LIMIT_NOT_SETTLED] = "at the end it still touched much for the first time: run longer",
	[LIMIT_STARVED] = "it is at its limit, where its mappings are reclaimed before all of them "
			  "are seen: measure with a higher limit",
};

static const char *file_of(const struct limit_group *g)
{
	return g->version == 1 ? "memory.limit_in_bytes" : "memory.high";
}

/* What is in the file now; version 1 takes -1, version 2 max, for none. */
static const char *present(const struct limit_group *g, struct report *r)
{
	u64 v = g->version == 1 ? g->limit_bytes : g->high_bytes;

	if (v == LIMIT_NONE)
		return g->version == 1 ? "-1" : "max";
	return report_text(r, "%llu", v);
}

static const char *title_of(const struct limit_need *n, const char *name, struct report *r)
{
	char need[UNIT_BUF], limit[UNIT_BUF];

	fmt_bytes(need, n->needed_bytes);
	fmt_bytes(limit, n->limit_bytes);
	switch (n->verdict) {
	case LIMIT_SHORT:
		return report_text(r, "%s needs %s, more than its limit of %s", name, need, limit);
	case LIMIT_FITS:
		return report_text(r, "%s needs %s: its limit of %s fits", name, need, limit);
	case LIMIT_ROOMY:
		return report_text(
			r, "%s needs %s, much less than its limit of %s", name, need, limit);
	default:
		return report_text(r, "%s needs %s, and has no limit", name, need);
	}
}

static void evidence_tell(const struct limit_facts *f, const struct limit_need *n,
	struct finding *x, struct report *r)
{
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF], d[UNIT_BUF];

	/* the title says what it needs */
	if (strcmp(fmt_bytes(a, n->low_bytes), fmt_bytes(b, n->high_bytes)))
		finding_line(r, x->evidence, "it needs at least %s, at most %s", a, b);
	finding_line(r, x->evidence,
		"of its files it used %s more than once and %s once, and did not use %s in %s",
		fmt_bytes(a, n->read_bytes + n->mapped_bytes), fmt_bytes(b, n->once_bytes),
		fmt_bytes(c, n->cold_bytes), fmt_ns(d, n->elapsed_ns));
	if (n->starved)
		finding_line(r, x->evidence,
			"it hit its limit, and %llu pages came back after they had been reclaimed",
			f->last.refault_total - f->first.refault_total);
	if (n->pressed)
		finding_line(r, x->evidence, "%s waited for memory %.1f %% of the time",
			n->whole ? "some task of the machine" : "some task of it",
			100 * n->stall_ratio);
	if (n->elsewhere_bytes)
		finding_line(r, x->evidence, "it also uses %s of files charged to other groups",
			fmt_bytes(a, n->elsewhere_bytes));
}

static void cure_tell(const struct limit_facts *f, const struct limit_need *n, struct finding *x,
	struct report *r)
{
	const struct limit_group *g = &f->last;
	const char *dir = stream_string(r->stream, g->dir) ?: "GROUP";

	if (n->verdict == LIMIT_FITS) {
		finding_line(r, x->try_, "Nothing needs to be done.");
		finding_line(r, x->undo, "Nothing to undo.");
	} else {
		finding_line(r, x->try_, "`echo %llu > %s/%s`", n->advised_bytes, dir, file_of(g));
		finding_line(r, x->undo, "`echo %s > %s/%s`", present(g, r), dir, file_of(g));
	}
	if (n->has_cost)
		finding_line(r, x->try_,
			"Expect tasks to wait for memory at most %.1f %% of the time there.",
			100 * n->expected_ratio);
	finding_line(r, x->verify, "`memwhy limit -g %s --for 60s`", dir);
}

void limit_advise(const struct limit_facts *f, const struct limit_need *n, struct report *r)
{
	const char *path = stream_cgroup(r->stream, f->last.cgroup);
	struct finding *x;

	if (n->thin) {
		report_not_checked(r, "which limit fits: %s", thin_words[n->thin]);
		return;
	}
	x = report_finding(r, n->verdict == LIMIT_SHORT ? LEVEL_RISK : LEVEL_NOTE, "group-needs");
	if (!x)
		return;
	r->has_findings = true;
	x->cgroup = f->last.cgroup;
	x->held_bytes = n->needed_bytes;
	x->title = title_of(n, path ? report_cgroup(r, path) : "the group", r);
	x->confidence = report_text(r,
		"medium: what it used in this time; memory used less often counts as not needed%s",
		f->files.stride > 1 ? ", and pages of files were sampled" : "");
	x->why = "With less than a group uses again and again, each use evicts what is needed "
		 "next. With more, it only keeps pages that are not used again.";
	evidence_tell(f, n, x, r);
	cure_tell(f, n, x, r);
}
