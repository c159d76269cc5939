/* See where_evictions.h. */
#include "probes/where/where_evictions.h"

#include <errno.h>

#define READERS_MOST (1U << 16)

struct reader {
	u64 count; /* pages that were looked at */
	u64 cgroup;
};

struct pair {
	u32 victim, evictor; /* 0: the kernel in the background */
};

struct lost {
	u64 count, total_ns;
};

enum { E_VICTIM, E_PID, E_GROUP, E_EVICTOR, E_BY, E_BY_GROUP, E_BYTES, E_PART, E_AFTER, E_N };

static const struct column columns[E_N] = {
	[E_VICTIM] = {"victim", "VICTIM", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"who read pages of files back"},
	[E_PID] = {"pid", "PID", CELL_U64, UNIT_ID, 0, "its process id"},
	[E_GROUP] = {"cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, 0, "its control group"},
	[E_EVICTOR] = {"evictor", "PUSHED OUT BY", CELL_TEXT, UNIT_NONE, COL_MAIN,
		"who needed memory when they went; kswapd: the kernel, in the background, for all "
		"who do"},
	[E_BY] = {"evictor_pid", "BY PID", CELL_U64, UNIT_ID, COL_LESSER, "its process id"},
	[E_BY_GROUP] = {"evictor_cgroup", "BY CGROUP", CELL_TEXT, UNIT_CGROUP, COL_LESSER,
		"its control group, where it has read, too"},
	[E_BYTES] = {"read_back_bytes", "READ BACK", CELL_U64, UNIT_BYTES, COL_MAIN,
		"read again after it was pushed out, both in the interval, so that a short one "
		"shows less of it (estimated, from one page in 64 of each file)"},
	[E_PART] = {"share_ratio", "OF ITS READING", CELL_F64, UNIT_RATIO, 0,
		"share of all that the victim has read into the page cache"},
	[E_AFTER] = {"after_ns", "AFTER", CELL_U64, UNIT_NS, 0,
		"from pushed out to read back, on average"},
};

const struct view_table where_evictions_tables[] = {
	{"evictions", columns, E_N, sizeof(struct column)},
	{},
};

void where_evictions_init(struct where_evictions *e)
{
	groups_init(&e->readers, sizeof(u32), sizeof(struct reader));
	groups_init(&e->pairs, sizeof(struct pair), sizeof(struct lost));
}

void where_evictions_free(struct where_evictions *e)
{
	groups_free(&e->readers);
	groups_free(&e->pairs);
}

void where_evictions_reset(struct where_evictions *e)
{
	groups_clear(&e->readers);
	groups_clear(&e->pairs);
	e->on_ns = e->covered_ns = 0;
	e->seen = false;
}

static int agg_feed(struct where_evictions *e, const struct cache_agg *r)
{
	struct pair key = {r->tgid, r->flags & CACHE_BY_KSWAPD ? 0 : r->evictor};
	struct reader *p;
	struct lost *l;

	e->seen = true;
	if (e->readers.n >= READERS_MOST && !groups_find(&e->readers, &r->tgid))
		return 0;
	p = groups_get(&e->readers, &r->tgid);
	if (!p)
		return -ENOMEM;
	p->count += r->count;
	p->cgroup = r->cgroup;
	if (!(r->flags & CACHE_REFAULT))
		return 0;
	l = groups_get(&e->pairs, &key);
	if (!l)
		return -ENOMEM;
	l->count += r->count;
	l->total_ns += r->total_ns;
	return 0;
}

bool where_evictions_feed(struct where_evictions *e, const struct rec *r, int *ret_rc)
{
	const struct cache_sampled *s = (const void *)r;

	if (r->kind == REC_CACHE_AGG) {
		*ret_rc = agg_feed(e, (const void *)r);
		return true;
	}
	if (r->kind != REC_CACHE_SAMPLED)
		return false;
	e->on_ns += s->on_ns;
	e->covered_ns += s->covered_ns;
	return true;
}

/* What so many pages that were looked at stand for. */
static u64 bytes_of(const struct where_evictions *e, const struct report *r, u64 count)
{
	double times = e->on_ns ? MAX(1.0, (double)e->covered_ns / (double)e->on_ns) : 1.0;

	return (u64)((double)count * CACHE_STRIDE * times * (double)r->stream->host.page_bytes);
}

static void row_fill(struct cell *c, struct report *r, const struct where_evictions *e,
	const struct pair *p, const struct lost *l)
{
	const struct reader *victim = groups_find(&e->readers, &p->victim);
	const struct reader *by = groups_find(&e->readers, &p->evictor);

	c[E_VICTIM] = cell_text(report_program(r, p->victim));
	c[E_PID] = cell_u64(p->victim);
	if (victim && victim->cgroup)
		c[E_GROUP] = cell_text(stream_cgroup(r->stream, victim->cgroup));
	c[E_EVICTOR] = cell_text(p->evictor ? report_program(r, p->evictor) : "kswapd");
	if (p->evictor)
		c[E_BY] = cell_u64(p->evictor);
	if (p->evictor && by && by->cgroup)
		c[E_BY_GROUP] = cell_text(stream_cgroup(r->stream, by->cgroup));
	c[E_BYTES] = cell_u64(bytes_of(e, r, l->count));
	if (victim && victim->count)
		c[E_PART] = cell_f64((double)l->count / (double)victim->count);
	if (l->count)
		c[E_AFTER] = cell_u64(l->total_ns / l->count);
}

int where_evictions_report(const struct where_evictions *e, struct report *r)
{
	struct table *t = report_table(
		r, "evictions", "Who pushes whose files out of the page cache", columns, E_N);

	if (!t)
		return -ENOMEM;
	t->sort = "read_back_bytes";
	t->empty = "Nothing that was pushed out was read back.";
	for (size_t i = 0; i < e->pairs.n; i++) {
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		row_fill(row, r, e, groups_key(&e->pairs, i), groups_value(&e->pairs, i));
	}
	return t->failed ? -ENOMEM : 0;
}
