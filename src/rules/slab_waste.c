/* Caches of kernel objects that hold far more pages than their objects need. */
#include "base/units.h"
#include "rules/facts.h"
#include "rules/rules.h"

#define MIN_BYTES (64ULL << 20) /* unused in one cache */
#define MIN_SHARE 0.5           /* of its pages */
#define RISK_SHARE 0.05         /* of the machine's memory, in all such caches */
#define NAMED 3

struct waste {
	const struct slab_usage *v[NAMED]; /* the worst, the first before all */
	u64 bytes;                         /* of all */
	u32 n;
};

/* A lower bound: the kernel counts the free objects of slabs that CPUs hold as in use. */
static u64 unused(const struct slab_usage *s)
{
	u64 used;

	if (__builtin_mul_overflow(s->active_objects, s->object_bytes, &used))
		return 0;
	return s->bytes > used ? s->bytes - used : 0;
}

static void waste_add(struct waste *w, const struct slab_usage *s)
{
	u64 bytes = unused(s);

	if (bytes < MIN_BYTES || (double)bytes < MIN_SHARE * (double)s->bytes)
		return;
	w->bytes += bytes;
	w->n++;
	for (size_t i = 0; i < NAMED; i++) {
		const struct slab_usage *other = w->v[i];

		if (other && unused(other) >= unused(s))
			continue;
		w->v[i] = s;
		s = other;
		if (!s)
			break;
	}
}

static void tell_cache(struct report *r, struct finding *x, const struct slab_usage *s)
{
	char a[UNIT_BUF], b[UNIT_BUF];

	finding_line(r, x->evidence,
		"cache %.64s: %s in %llu slabs, at most %llu of %llu objects in use, %s unused",
		s->name, fmt_bytes(a, s->bytes), s->slabs, s->active_objects, s->objects,
		fmt_bytes(b, unused(s)));
	finding_line(r, x->try_, "`echo 1 > %s`",
		report_text(r, "/sys/kernel/slab/%.64s/shrink", s->name));
}

static int slab_waste_rule_report(void *v, struct report *r)
{
	const struct facts *f = v;
	u64 memory = r->stream->host.memory_bytes;
	struct waste w = {};
	struct finding *x;
	char a[UNIT_BUF];

	for (size_t i = 0; i < f->slabs.n; i++)
		waste_add(&w, groups_value(&f->slabs, i));
	if (!w.n)
		return 0;
	x = report_finding(r,
		memory && (double)w.bytes >= RISK_SHARE * (double)memory ? LEVEL_RISK : LEVEL_NOTE,
		"slab-waste");
	if (!x)
		return 0;
	x->title = report_text(
		r, "Slab caches hold %s for objects that were freed", fmt_bytes(a, w.bytes));
	x->confidence = "high: a lower bound, from the kernel's own counts of objects and slabs";
	for (size_t i = 0; i < NAMED && w.v[i]; i++)
		tell_cache(r, x, w.v[i]);
	x->why = "A cache grew and its objects were freed again, but scattered: a slab goes back "
		 "to the page allocator only when its last object is freed. Only this cache can "
		 "use the pages.";
	finding_line(r, x->undo,
		"Nothing to undo: this frees empty slabs and sorts the others; the cache grows "
		"again when it needs to.");
	finding_line(r, x->verify, "`memwhy slab --for 1s --table caches --sort unused_bytes`");
	return 0;
}

const struct view rule_slab_waste = FACTS_RULE(slab_waste_rule_report);
