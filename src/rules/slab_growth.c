/* The kernel's own objects growing. */
#include "base/units.h"
#include "rules/facts.h"
#include "rules/rules.h"

#define MIN_GROWTH (32ULL << 20)

static void tell_caches(struct report *r, struct finding *x, const struct facts *f)
{
	const struct slab_usage *worst = NULL;
	u64 most = 0;
	char a[UNIT_BUF], b[UNIT_BUF];

	for (size_t i = 0; i < f->slabs.n; i++) {
		const struct slab_usage *s = groups_value(&f->slabs, i);

		if (s->bytes > s->first_bytes && s->bytes - s->first_bytes > most) {
			most = s->bytes - s->first_bytes;
			worst = s;
		}
	}
	if (worst)
		finding_line(r, x->evidence, "cache %.64s grew most: by %s to %s", worst->name,
			fmt_bytes(a, most), fmt_bytes(b, worst->bytes));
	else if (!f->slabs.n)
		report_not_checked(r, "which slab cache grew: /proc/slabinfo is for root only");
}

static int report(void *v, struct report *r)
{
	const struct facts *f = v;
	u64 grown = facts_delta(f, "SUnreclaim"), all = facts_delta(f, "Slab");
	struct finding *x;
	char a[UNIT_BUF], b[UNIT_BUF];

	if (all < MIN_GROWTH)
		return 0;
	x = report_finding(r, grown >= MIN_GROWTH ? LEVEL_WARNING : LEVEL_NOTE, "slab-growth");
	if (!x)
		return 0;
	x->title = report_text(r,
		"The kernel's slab memory grew by %s in %.0f s (%s of it cannot be "
		"reclaimed)",
		fmt_bytes(a, all), report_seconds(r), fmt_bytes(b, grown));
	x->confidence = "high that it grew; one interval does not tell whether it goes on";
	finding_line(r, x->evidence, "Slab is %s now", fmt_bytes(a, facts_last(f, "Slab")));
	tell_caches(r, x, f);
	x->why = "Reclaimable slab (dentries, inodes) grows with the files that are looked at and "
		 "goes "
		 "when memory is short. Unreclaimable slab belongs to sockets, tasks, drivers.";
	finding_line(r, x->try_, "Look which cache goes on growing: `slabtop -o -s c | head -20`");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`grep -i slab /proc/meminfo`");
	return 0;
}

const struct view rule_slab_growth = FACTS_RULE(report);
