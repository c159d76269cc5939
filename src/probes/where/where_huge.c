/* See where_tables.h. */
#include "probes/where/where_tables.h"

#include "base/units.h"

#define UNUSED_LEAST (16ULL << 20)
#define UNUSED_PART 10 /* of the resident memory, 1 in this */

/* With ", " before it; "": all were looked at, or those that were are alike. */
static const char *error_text(const struct where_ledger *l, struct report *r)
{
	char buf[UNIT_BUF];

	if (!l->parts[WHERE_P_HUGE_ERROR])
		return "";
	return report_text(r, ", give or take %s", fmt_bytes(buf, l->parts[WHERE_P_HUGE_ERROR]));
}

static const char *where_huge_confidence(const struct where_ledger *l)
{
	if (l->parts[WHERE_P_HUGE_GUESS])
		return "low: this kernel does not tell which pages are huge (6.7 does), so fully "
		       "resident ranges of 2 MiB were read; pages filled with zeros look as if "
		       "never written";
	return "medium: pages filled with zeros look as if never written; a random sample if it "
	       "has many huge pages";
}

void where_huge_advise(const struct where_ledger *l, struct report *r)
{
	u64 unused = l->parts[WHERE_P_HUGE_UNUSED];
	char part[UNIT_BUF], all[UNIT_BUF];
	const char *error;
	struct finding *f;

	if (unused < UNUSED_LEAST || unused < l->total_bytes / UNUSED_PART)
		return;
	f = report_finding(r, LEVEL_NOTE, "huge-unused");
	if (!f)
		return;
	r->has_findings = true;
	f->tgid = l->tgid;
	f->held_bytes = unused;
	fmt_bytes(part, unused);
	error = error_text(l, r);
	f->title = report_text(r, "%s (pid %u) has %s of only zeros in huge pages",
		stream_string(r->stream, l->name) ?: "?", l->tgid, part);
	f->confidence = where_huge_confidence(l);
	finding_line(r, f->evidence, "%s of %s in huge pages are zero%s", part,
		fmt_bytes(all, l->parts[WHERE_P_ANON_HUGE]), error);
	f->why = "The first write to any byte of a huge page takes all 2 MiB of it.";
	finding_line(r, f->try_,
		"Without huge pages it should need %s less (estimate%s): in the "
		"program prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), or madvise(MADV_NOHUGEPAGE) of "
		"the mapping, before it is touched",
		part, error);
	finding_line(r, f->try_, "Which mappings, and what it costs: `memwhy thp -p %u --for 10s`",
		l->tgid);
	finding_line(r, f->undo,
		"Remove the call; without huge pages it faults more often, up to 512 times");
	finding_line(r, f->verify, "`memwhy where -p %u`", l->tgid);
}
