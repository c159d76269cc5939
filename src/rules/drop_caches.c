/* Somebody tells the kernel to forget its caches (vm.drop_caches): what was in them is read again.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/oom/oom.h"
#include "rules/facts.h"
#include "rules/rules.h"

/* Who did it, by the name of the thread: each time it may be another process. */
struct dropper {
	char comm[COMM_LEN];
};

struct drops {
	u32 tgid; /* the last */
	u64 count;
};

static int init(void *v, const struct view_options *o, struct err *err)
{
	(void)o;
	(void)err;
	rule_sums_init(v, sizeof(struct dropper), sizeof(struct drops));
	return 0;
}

static int feed(void *v, const struct rec *rec)
{
	const struct caches_dropped *r = (const void *)rec;
	struct rule_sums *s = v;
	struct dropper key = {};
	struct drops *d;

	if (rec->kind != REC_CACHES_DROPPED)
		return facts_feed(&s->facts, rec);
	memcpy(key.comm, r->comm, sizeof(key.comm) - 1);
	d = groups_get(&s->by, &key);
	if (!d)
		return -ENOMEM;
	d->tgid = r->tgid;
	d->count++;
	return 0;
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

static void tell_numbers(struct report *r, struct finding *x, const struct facts *f)
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

static int report(void *v, struct report *r)
{
	const struct rule_sums *s = v;
	u64 pages = facts_delta(&s->facts, "drop_pagecache");
	u64 slab = facts_delta(&s->facts, "drop_slab"), times = MAX(pages, slab);
	struct finding *x;
	const char *who;
	u32 tgid = 0;

	if (!times)
		return 0;
	x = report_finding(r, times >= DROPS_OFTEN ? LEVEL_RISK : LEVEL_NOTE, "drop-caches");
	if (!x)
		return 0;
	who = who_did(r, s, &tgid);
	x->tgid = tgid;
	if (pages >= DROPS_OFTEN)
		x->losses = LOSS_DROPPED;
	x->title = report_text(r, "%s throws %s away through vm.drop_caches, %llu time%s in %.0f s",
		who, what_dropped(pages, slab), times, plural(times), report_seconds(r));
	x->confidence = tgid ? "high: the kernel's own count, and its log says who"
			     : "high for the number, which the kernel counts; who did it is not "
			       "known: its log cannot be read, or logging was turned off";
	tell_numbers(r, x, &s->facts);
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

const struct view rule_drop_caches = SUMS_RULE(init, feed, report);
