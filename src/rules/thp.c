/* Transparent huge pages: settings against what is seen. */
#include <string.h>

#include "base/units.h"
#include "rules/facts.h"
#include "rules/rules.h"

#define MIN_STALLS 20
#define MIN_FALLBACKS 200

#define DEFRAG "/sys/kernel/mm/transparent_hugepage/defrag"

/* Page faults that compact memory before they get a huge page. */
static void tell_defrag(struct report *r, const struct facts *f, u64 stalls)
{
	const char *now = facts_text(f, "thp/defrag");
	struct finding *x = report_finding(r, LEVEL_WARNING, "thp-defrag");

	if (!x)
		return;
	x->title = report_text(
		r, "Page faults stop to compact memory for huge pages: %llu times", stalls);
	x->confidence =
		"medium: compact_stall counts all direct compactions, not only those of THP";
	finding_line(r, x->evidence,
		"%llu direct compactions, %llu failed; %llu huge pages at faults, "
		"%llu fallbacks",
		stalls, facts_delta(f, "compact_fail"), facts_delta(f, "thp_fault_alloc"),
		facts_delta(f, "thp_fault_fallback"));
	finding_line(r, x->evidence, "transparent_hugepage/defrag is '%s'", now);
	x->why = "With this setting a fault that finds no free huge page compacts memory at once, "
		 "and "
		 "the program waits. With defer+madvise only programs that asked for huge pages "
		 "wait.";
	finding_line(r, x->try_, "`echo defer+madvise > " DEFRAG "`");
	finding_line(r, x->undo, "`echo %s > " DEFRAG "`", now);
	finding_line(r, x->verify, "`grep -E 'compact_stall|thp_fault' /proc/vmstat`");
}

static void tell_fallback(struct report *r, u64 alloc, u64 fallback)
{
	struct finding *x = report_finding(r, LEVEL_NOTE, "thp-fallback");

	if (!x)
		return;
	x->title =
		report_text(r, "Huge pages are asked for but rarely to be had: %.0f %% fall back",
			100.0 * (double)fallback / (double)(alloc + fallback));
	x->confidence = "high: the kernel's own counters";
	finding_line(
		r, x->evidence, "thp_fault_alloc %llu, thp_fault_fallback %llu", alloc, fallback);
	x->why = "No free block of the size was there, or the cgroup's limit did not allow it; "
		 "small "
		 "pages were used instead, with more page faults and TLB misses.";
	finding_line(r, x->try_, "See whether memory is fragmented: `memwhy frag`");
	finding_line(r, x->undo, "Nothing was changed.");
	finding_line(r, x->verify, "`grep thp_fault /proc/vmstat`");
}

static int report(void *v, struct report *r)
{
	const struct facts *f = v;
	const char *defrag = facts_text(f, "thp/defrag");
	u64 stalls = facts_delta(f, "compact_stall"), alloc = facts_delta(f, "thp_fault_alloc");
	u64 fallback = facts_delta(f, "thp_fault_fallback");

	if (stalls >= MIN_STALLS && alloc + fallback &&
		(!strcmp(defrag, "always") || !strcmp(defrag, "madvise")))
		tell_defrag(r, f, stalls);
	if (fallback >= MIN_FALLBACKS && fallback > alloc)
		tell_fallback(r, alloc, fallback);
	return 0;
}

const struct view rule_thp = FACTS_RULE(report);
