/* See thp_symptoms.h. */
#include "analysis/thp_symptoms.h"

#include <string.h>

#include "base/units.h"

#define DIR "/sys/kernel/mm/transparent_hugepage/"
#define PAGE 4096ULL

/* Below these there is no pattern. */
#define MIN_EVENTS 10
#define MIN_NS (20 * 1000000ULL)
/* For a huge page that was asked for, at most: runs, and pages reclaimed for each of its own. */
#define TIMES_EACH 4
#define RECLAIMED_EACH 4
#define HUGE_PAGES 512ULL
/* Shares of the interval: time that all tasks together lost. */
#define SHARE_RISK 0.005
#define SHARE_WARNING 0.02
#define SHARE_CRITICAL 0.5
/* Waste of one process, and as shares of its huge pages and of its resident memory. */
#define MIN_WASTE (64ULL << 20)
#define WASTE_OF_HUGE 0.25
#define WASTE_OF_RSS 0.10
#define WASTE_OF_MACHINE 0.10 /* from here on it is a warning */

static const char *text_of(const struct thp_test *t, const char *name)
{
	const struct thp_fact *v = thp_facts_find(t->facts, t->setting, name);

	return v ? v->text : "";
}

/*
 * Did anybody ask for that many huge pages? Requests of order 9 are the page cache's too: since
 * Linux 5.18 readahead takes large folios (page_cache_ra_order(), mm/readahead.c), which no counter
 * of huge pages shows and no setting of them prevents. So there were some, compaction or reclaim
 * ran a few times for each at most, and what was reclaimed (where it is known) is no multiple of
 * them. Where the counters are not known: perhaps.
 */
static bool thp_symptoms_is_asked_for(const struct thp_test *t, u64 times)
{
	static const char *const asked[] = {"thp_fault_alloc", "thp_fault_fallback",
		"thp_collapse_alloc", "thp_collapse_alloc_failed", "thp_file_alloc",
		"thp_file_fallback"};
	u64 reclaimed = thp_facts_delta(t->facts, t->counter, "pgsteal_kswapd") +
			thp_facts_delta(t->facts, t->counter, "pgsteal_direct");
	u64 n = 0;

	if (!thp_facts_find(t->facts, t->counter, "thp_fault_alloc"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		n += thp_facts_delta(t->facts, t->counter, asked[i]);
	return n >= MIN_EVENTS && n * TIMES_EACH >= times &&
	       n * HUGE_PAGES * RECLAIMED_EACH >= reclaimed;
}

static bool share_level(const struct report *r, u64 ns, s8 *ret_level)
{
	double share = report_share(r, ns);

	*ret_level = share >= SHARE_CRITICAL  ? LEVEL_CRITICAL
		     : share >= SHARE_WARNING ? LEVEL_WARNING
					      : LEVEL_RISK;
	return share >= SHARE_RISK;
}

/* The setting as one would type it, to a new value and back. */
static void setting_change(
	struct report *r, struct thp_symptom *s, const char *name, const char *now, const char *to)
{
	if (!s->setting) {
		s->setting = name;
		s->now = report_text(r, "%s", now);
		s->to = to;
	}
	finding_line(r, s->evidence, "transparent_hugepage/%s is '%s'", name, now);
	finding_line(r, s->try_, "`echo %s > " DIR "%s`", to, name);
	finding_line(r, s->undo, "`echo %s > " DIR "%s`", now, name);
}

/* "who lost most: java (1234), 1.2 s" */
static void payer_tell(
	struct report *r, struct thp_symptom *s, const struct groups *g, const char *what)
{
	char ns[UNIT_BUF];
	u64 most = 0;
	u32 tgid = 0;

	for (size_t i = 0; i < g->n; i++) {
		u64 sum = *(const u64 *)groups_value(g, i);

		if (sum <= most)
			continue;
		most = sum;
		memcpy(&tgid, groups_key(g, i), sizeof(tgid));
	}
	if (most)
		finding_line(r, s->evidence, "%s: %s (process %u), %s", what,
			stream_comm(r->stream, tgid, 0), tgid, fmt_ns(ns, most));
}

static void compaction_change(struct report *r, const struct thp_test *t, struct thp_symptom *s)
{
	const char *defrag = text_of(t, "defrag"), *enabled = text_of(t, "enabled");

	s->setting = NULL;
	if (!strcmp(defrag, "always"))
		setting_change(r, s, "defrag", defrag, "defer+madvise");
	else if (!strcmp(defrag, "madvise") || !strcmp(defrag, "defer+madvise"))
		setting_change(r, s, "defrag", defrag, "defer");
	if (!strcmp(enabled, "always"))
		setting_change(r, s, "enabled", enabled, "madvise");
	if (!s->setting)
		finding_line(r, s->try_,
			"With defrag '%s' no fault should compact: find who does with `memwhy thp "
			"--stacks`",
			defrag);
	finding_line(r, s->verify, "`memwhy thp --table symptoms --for 30s`");
	finding_line(r, s->verify, "`grep -E 'compact_stall|thp_fault' /proc/vmstat`");
}

static void compaction_test(struct report *r, const struct thp_test *t, struct thp_symptom *s)
{
	const struct thp_facts *f = t->facts;
	const struct thp_load *l = &f->compact;
	char ns[UNIT_BUF], max[UNIT_BUF];

	s->name = "compaction";
	s->title = report_text(r, "Page faults compact memory to get huge pages: %s lost, %s",
		fmt_ns(ns, l->ns), report_share_text(r, l->ns));
	s->cost_ns = l->ns;
	s->confidence = "high: each compaction of a zone for a huge page was timed";
	s->why = "A fault that finds no free huge page compacts memory at once, and the program "
		 "waits in the kernel. With defer+madvise only mappings that asked for huge pages "
		 "(MADV_HUGEPAGE) wait, with defer none: kcompactd works in the background.";
	finding_line(r, s->evidence, "%llu zones compacted for huge pages, %s, the longest %s",
		l->count, fmt_ns(ns, l->ns), fmt_ns(max, l->max_ns));
	finding_line(r, s->evidence, "huge faults %llu, fallbacks %llu, compact_stall %llu",
		thp_facts_delta(f, t->counter, "thp_fault_alloc"),
		thp_facts_delta(f, t->counter, "thp_fault_fallback"),
		thp_facts_delta(f, t->counter, "compact_stall"));
	payer_tell(r, s, &f->payers, "lost most");
	compaction_change(r, t, s);
	if (!t->looked)
		s->seen = THP_UNTESTED;
	else if (share_level(r, l->ns, &s->level) && l->count >= MIN_EVENTS && l->ns >= MIN_NS &&
		 thp_symptoms_is_asked_for(t, l->count))
		s->seen = THP_SEEN;
}

static void reclaim_change(struct report *r, const struct thp_test *t, struct thp_symptom *s)
{
	const char *defrag = text_of(t, "defrag");

	if (!strcmp(defrag, "madvise"))
		setting_change(r, s, "defrag", defrag, "never");
	else if (!strcmp(defrag, "never"))
		finding_line(r, s->try_,
			"With defrag 'never' no fault should reclaim: find who does with `memwhy "
			"reclaim --by process,order`");
	else if (defrag[0])
		setting_change(r, s, "defrag", defrag, "madvise");
	finding_line(r, s->verify, "`memwhy thp --table symptoms --for 30s`");
}

static void reclaim_free_tell(struct report *r, const struct thp_facts *f, struct thp_symptom *s)
{
	char free[UNIT_BUF], high[UNIT_BUF];

	if (f->samples && f->high)
		finding_line(r, s->evidence,
			"free memory was at least %s; the zones' high watermarks total %s",
			fmt_bytes(free, f->free_min * PAGE), fmt_bytes(high, f->high * PAGE));
}

/* What was done while memory was free. Where the kernel does not let free memory be compared at
 * each event, samples once a second stand for it: all of them must be above. */
static struct thp_load above_of(const struct thp_facts *f, bool *ret_known)
{
	const struct thp_load *a = &f->reclaim, *b = &f->kswapd;
	bool all = f->samples && f->samples_above == f->samples;
	u64 compared = a->compared + b->compared, count = a->count + b->count;

	*ret_known = compared == count || all || (f->samples && !f->samples_above);
	if (compared == count)
		return (struct thp_load){
			.count = a->above + b->above, .ns = a->above_ns + b->above_ns};
	return all ? (struct thp_load){.count = count, .ns = a->ns + b->ns} : (struct thp_load){};
}

static void load_tell(
	struct report *r, struct thp_symptom *s, const char *what, const struct thp_load *l)
{
	char ns[UNIT_BUF];

	finding_line(r, s->evidence, "%s %llu times, %s%s", what, l->count, fmt_ns(ns, l->ns),
		l->compared == l->count
			? report_text(r,
				  "; of these with free memory above the high watermarks: %llu",
				  l->above)
			: "");
}

static void reclaim_test(struct report *r, const struct thp_test *t, struct thp_symptom *s)
{
	const struct thp_facts *f = t->facts;
	bool known;
	struct thp_load l = above_of(f, &known);
	char ns[UNIT_BUF];

	s->name = "reclaim";
	s->title = report_text(r, "Memory is reclaimed for huge pages while enough is free: %s, %s",
		fmt_ns(ns, l.ns), report_share_text(r, l.ns));
	s->cost_ns = l.ns;
	s->confidence = f->reclaim.compared + f->kswapd.compared
				? "high: free memory was compared at the start of each"
				: "medium: free memory was read once a second";
	s->why = "No free block of 512 pages was left, though memory was free above the high "
		 "watermarks: reclaim takes pages in use to make one. With defrag=madvise, only "
		 "mappings that asked for huge pages do that.";
	load_tell(r, s, "direct reclaim for huge pages", &f->reclaim);
	load_tell(r, s, "kswapd awake for huge pages", &f->kswapd);
	reclaim_free_tell(r, f, s);
	payer_tell(r, s, &f->reclaimers, "waited most");
	reclaim_change(r, t, s);
	if (!t->looked || !known)
		s->seen = THP_UNTESTED;
	else if (share_level(r, l.ns, &s->level) && l.count >= MIN_EVENTS && l.ns >= MIN_NS &&
		 thp_symptoms_is_asked_for(t, l.count))
		s->seen = THP_SEEN;
}

static bool is_bloated(const struct thp_usage *u)
{
	double waste =
		(double)(u->waste_bytes > u->error_bytes ? u->waste_bytes - u->error_bytes : 0);

	return u->sampled && waste >= (double)MIN_WASTE &&
	       waste >= WASTE_OF_HUGE * (double)u->anon_huge_bytes &&
	       waste >= WASTE_OF_RSS * (double)u->rss_bytes;
}

/* Whole huge pages that nobody wrote to are no bloat of those that are used in part: who touches
 * all of its memory as it starts (a guest, a heap) means to use it. */
static bool is_in_advance(const struct thp_usage *u)
{
	u64 each = u->anon_huge_bytes / MAX(u->sampled, 1U);

	return u->untouched * each * 10 >= u->waste_bytes * 9;
}

static void bloat_evidence(
	struct report *r, struct thp_symptom *s, u32 tgid, const struct thp_usage *u)
{
	char rss[UNIT_BUF], huge[UNIT_BUF], waste[UNIT_BUF], error[UNIT_BUF];

	finding_line(r, s->evidence,
		"%.16s (process %u): resident %s, %s of it huge, of which %s (+-%s) is "
		"zero-filled: estimated from %u of %u huge pages",
		u->comm, tgid, fmt_bytes(rss, u->rss_bytes), fmt_bytes(huge, u->anon_huge_bytes),
		fmt_bytes(waste, u->waste_bytes), fmt_bytes(error, u->error_bytes), u->sampled,
		u->candidates);
}

static void bloat_change(struct report *r, const struct thp_test *t, struct thp_symptom *s)
{
	const struct thp_fact *none =
		thp_facts_find(t->facts, t->setting, "khugepaged/max_ptes_none");
	const struct thp_fact *shrink = thp_facts_find(t->facts, t->setting, "shrink_underused");
	const char *enabled = text_of(t, "enabled");

	if (!strcmp(enabled, "always"))
		setting_change(r, s, "enabled", enabled, "madvise");
	else
		finding_line(r, s->try_,
			"These mappings asked for huge pages: use MADV_HUGEPAGE only for densely "
			"used memory. These settings affect only khugepaged:");
	if (none && none->last > 64)
		setting_change(
			r, s, "khugepaged/max_ptes_none", report_text(r, "%llu", none->last), "64");
	if (shrink && !shrink->last)
		setting_change(r, s, "shrink_underused", "0", "1");
	/* thp_underused() in mm/huge_memory.c, since 6.12: 511 means never */
	if (shrink && none && none->last >= 511)
		finding_line(r, s->try_,
			"With max_ptes_none below 511, shrink_underused splits mostly zero huge "
			"pages under memory pressure.");
	finding_line(r, s->try_,
		"It affects new memory only: what is mapped stays huge until it is split or the "
		"program restarts");
	finding_line(r, s->verify, "`memwhy thp --table resident --for 10s`");
}

static void bloat_test(struct report *r, const struct thp_test *t, struct thp_symptom *s)
{
	const struct thp_facts *f = t->facts;
	u64 waste = 0, huge = 0, sampled = 0, n = 0, in_advance = 0;
	const char *who = "";
	char text[UNIT_BUF];

	for (size_t i = 0; i < f->usages.n; i++) {
		const struct thp_usage *u = groups_value(&f->usages, i);
		u32 tgid;

		memcpy(&tgid, groups_key(&f->usages, i), sizeof(tgid));
		huge += u->anon_huge_bytes;
		sampled += u->sampled;
		if (!is_bloated(u))
			continue;
		n++;
		waste += u->waste_bytes;
		in_advance += is_in_advance(u);
		who = report_process(r, tgid);
		bloat_evidence(r, s, tgid, u);
	}
	s->name = "bloat";
	s->title = report_text(r,
		n && in_advance == n
			? "Huge pages of %s are all zero: about %s is reserved ahead of use, and "
			  "not used so far"
			: "Huge pages are mostly untouched in %s: about %s of memory wasted",
		n == 1 ? who : report_text(r, "%llu processes", n), fmt_bytes(text, waste));
	s->confidence = "medium: estimated from a sample; memory that is zero may be in use";
	s->why = "A huge page takes 2 MiB of memory when its first byte is touched, or when "
		 "khugepaged collapses a few small pages (max_ptes_none of 512 may be missing). "
		 "What the program never touches is zero, and lost to others.";
	if (!n)
		finding_line(r, s->evidence,
			"%s of anonymous huge pages in the biggest processes, %llu pages read: no "
			"process wastes much",
			fmt_bytes(text, huge), sampled);
	bloat_change(r, t, s);
	s->level = (double)waste >= WASTE_OF_MACHINE * (double)f->total * PAGE ? LEVEL_WARNING
									       : LEVEL_RISK;
	if (n && in_advance == n)
		s->level = LEVEL_NOTE;
	if (!t->looked || (huge >= MIN_WASTE && !sampled))
		s->seen = THP_UNTESTED;
	else if (n)
		s->seen = THP_SEEN;
}

void thp_symptom_test(struct report *r, const struct thp_test *t, enum thp_symptom_name name,
	struct thp_symptom *ret)
{
	static void (*const tests[THP_SYMPTOMS])(
		struct report *, const struct thp_test *, struct thp_symptom *) = {
		[THP_COMPACTION] = compaction_test,
		[THP_RECLAIMING] = reclaim_test,
		[THP_BLOAT] = bloat_test,
	};

	*ret = (struct thp_symptom){};
	tests[name](r, t, ret);
}

void thp_symptom_tell(struct report *r, const char *rule, const struct thp_symptom *s)
{
	struct finding *x = s->seen == THP_SEEN
				    ? report_finding(r, s->level, report_text(r, "%s", rule))
				    : NULL;

	if (!x)
		return;
	x->title = s->title;
	x->confidence = s->confidence;
	x->cost_ns = s->cost_ns;
	x->why = s->why;
	memcpy(x->evidence, s->evidence, sizeof(x->evidence));
	memcpy(x->try_, s->try_, sizeof(x->try_));
	memcpy(x->undo, s->undo, sizeof(x->undo));
	memcpy(x->verify, s->verify, sizeof(x->verify));
	if (!x->undo[0])
		finding_line(r, x->undo, "Nothing to undo.");
}
