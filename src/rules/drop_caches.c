/* Somebody tells the kernel to forget its caches (vm.drop_caches): what was in them is read again.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/oom/oom.h"
#include "rules/page_cache.h"
#include "rules/rules.h"

/* Who did it, by the name of the thread: each time it may be another process. */
struct dropper {
	char comm[COMM_LEN];
};

struct drops {
	u32 tgid; /* the last */
	u64 count;
};

struct state {
	struct rule_sums sums; /* struct dropper -> struct drops */
	struct groups readers; /* tgid -> u64: dropped pages that it read again, sampled */
	u64 on_ns;             /* time in which these counted */
};

static int drop_caches_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	(void)o;
	(void)err;
	rule_sums_init(&s->sums, sizeof(struct dropper), sizeof(struct drops));
	groups_init(&s->readers, sizeof(u32), sizeof(u64));
	return 0;
}

static int dropped_feed(struct state *s, const struct caches_dropped *r)
{
	struct dropper key = {};
	struct drops *d;

	memcpy(key.comm, r->comm, sizeof(key.comm) - 1);
	d = groups_get(&s->sums.by, &key);
	if (!d)
		return -ENOMEM;
	d->tgid = r->tgid;
	d->count++;
	return 0;
}

static int cache_feed(struct state *s, const struct cache_agg *r)
{
	u64 *pages;

	if (!(r->flags & CACHE_REFAULT) || r->call != CACHE_CALL_DROP)
		return 0;
	pages = groups_get(&s->readers, &r->tgid);
	if (!pages)
		return -ENOMEM;
	*pages += r->count;
	return 0;
}

static int drop_caches_rule_feed(void *v, const struct rec *rec)
{
	struct state *s = v;

	if (rec->kind == REC_CACHES_DROPPED)
		return dropped_feed(s, (const void *)rec);
	if (rec->kind == REC_CACHE_AGG)
		return cache_feed(s, (const void *)rec);
	if (rec->kind == REC_CACHE_SAMPLED)
		s->on_ns += ((const struct cache_sampled *)rec)->on_ns;
	return facts_feed(&s->sums.facts, rec);
}

static const char *what_dropped(u64 pages, u64 slab)
{
	return pages && slab ? "the page cache, dentries and inodes"
	       : pages       ? "the page cache"
			     : "dentries and inodes";
}

static const char *who_did(struct report *r, const struct rule_sums *s, u32 *ret_tgid)
{
	const struct drops *most = NULL;
	const struct dropper *who = NULL;
	const char *program;

	for (size_t i = 0; i < s->by.n; i++) {
		const struct drops *d = groups_value(&s->by, i);

		if (most && d->count <= most->count)
			continue;
		most = d;
		who = groups_key(&s->by, i);
	}
	if (!most)
		return "Somebody";
	*ret_tgid = most->tgid;
	program = report_program(r, most->tgid);
	return program[0] ? report_process(r, most->tgid)
			  : report_text(r, "%.16s (pid %u)", who->comm, most->tgid);
}

static void drop_caches_tell_numbers(struct report *r, struct finding *x, const struct facts *f)
{
	char a[UNIT_BUF];

	finding_line(r, x->evidence, "drop_pagecache rose by %llu and drop_slab by %llu in %.1f s",
		facts_delta(f, "drop_pagecache"), facts_delta(f, "drop_slab"), report_seconds(r));
	if (facts_known(f, "Cached"))
		finding_line(r, x->evidence, "the page cache has %s now",
			fmt_bytes(a, facts_last(f, "Cached")));
	if (facts_known(f, "MemAvailable"))
		finding_line(r, x->evidence,
			"%s of memory is available: that includes caches, dropped or not",
			fmt_bytes(a, facts_last(f, "MemAvailable")));
}

/* Who reads most of it again. */
struct back {
	u32 tgid;    /* 0: nobody was seen to */
	u64 pages;   /* a second */
	double part; /* of all that is read again */
};

static struct back back_of(const struct state *s)
{
	struct back b = {};
	u64 most = 0, all = 0;

	for (size_t i = 0; i < s->readers.n; i++) {
		u64 n = *(const u64 *)groups_value(&s->readers, i);

		all += n;
		if (n <= most)
			continue;
		most = n;
		b.tgid = *(const u32 *)groups_key(&s->readers, i);
	}
	b.pages = (u64)((double)all * CACHE_STRIDE * 1e9 / (double)MAX(s->on_ns, 1ULL));
	b.part = (double)most / (double)MAX(all, 1ULL);
	return b;
}

static void tell_back(struct report *r, struct finding *x, const struct back *b)
{
	char a[UNIT_BUF];

	if (!b->tgid)
		return;
	finding_line(r, x->evidence,
		"%s a second of what was dropped is read back, %.0f %% of that by %s (sampled, one "
		"page in %d)",
		fmt_bytes(a, b->pages * r->stream->host.page_bytes), 100 * b->part,
		report_process(r, b->tgid), CACHE_STRIDE);
}

static int drop_caches_rule_report(void *v, struct report *r)
{
	const struct state *s = v;
	const struct facts *facts = &s->sums.facts;
	u64 pages = facts_delta(facts, "drop_pagecache");
	u64 slab = facts_delta(facts, "drop_slab"), times = MAX(pages, slab);
	struct back back = back_of(s);
	struct finding *x;
	const char *who;
	u32 tgid = 0;

	if (!times)
		return 0;
	x = report_finding(r,
		times < DROPS_OFTEN              ? LEVEL_NOTE
		: back.pages >= REFAULTS_WARNING ? LEVEL_WARNING
						 : LEVEL_RISK,
		"drop-caches");
	if (!x)
		return 0;
	who = who_did(r, &s->sums, &tgid);
	x->tgid = tgid;
	if (pages >= DROPS_OFTEN)
		x->losses = LOSS_DROPPED;
	x->title = report_text(r,
		"%s throws %s away through vm.drop_caches, %llu time%s in %.0f s%s", who,
		what_dropped(pages, slab), times, plural(times), report_seconds(r),
		back.pages >= REFAULTS_RISK
			? report_text(r, "; %s reads it again", report_process(r, back.tgid))
			: "");
	x->confidence = tgid ? "high: the kernel's own count, and its log says who"
			     : "high for the number, which the kernel counts; who did it is not "
			       "known: its log cannot be read, or logging was turned off";
	drop_caches_tell_numbers(r, x, facts);
	tell_back(r, x, &back);
	x->why = "The kernel hands cache memory to any program that needs it. Dropping it "
		 "beforehand helps no one, and every program has to read its files and look up its "
		 "names again.";
	finding_line(r, x->try_, "Stop what does it; look for it in timers and cron jobs:");
	finding_line(r, x->try_, "`grep -rs drop_caches /etc/cron* /var/spool/cron /etc/systemd`");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(
		r, x->verify, "`grep ^drop_ /proc/vmstat; sleep 10; grep ^drop_ /proc/vmstat`");
	return 0;
}

static void drop_caches_rule_reset(void *v)
{
	struct state *s = v;

	rule_sums_reset(&s->sums);
	groups_clear(&s->readers);
	s->on_ns = 0;
}

static void drop_caches_rule_destroy(void *v)
{
	struct state *s = v;

	rule_sums_destroy(&s->sums);
	groups_free(&s->readers);
}

const struct view rule_drop_caches = {
	.size = sizeof(struct state),
	.init = drop_caches_rule_init,
	.feed = drop_caches_rule_feed,
	.report = drop_caches_rule_report,
	.reset = drop_caches_rule_reset,
	.destroy = drop_caches_rule_destroy,
};
