/* Pages that are held, and how long others were: `pages held`. See pages_tables.h. */
#include <errno.h>
#include <string.h>

#include "analysis/durations.h"
#include "probes/pages/pages_tables.h"

struct kept_sums {
	u64 pages;
	struct durations ages; /* of what is held, at the last look */
	struct durations lives;
};

static const struct cell_column held_columns[] = {
	PAGES_KEY_CELLS,
	CELL_NUMBER(struct kept_sums, ages.count, "count", "HELD", UNIT_COUNT, COL_LEVEL,
		"allocations since the start that are not freed now"),
	CELL_NUMBER(struct kept_sums, pages, "pages", "PAGES", UNIT_PAGES, COL_WIDE | COL_LEVEL,
		"their pages"),
	CELL_FROM(0, struct kept_sums, pages, "bytes", "BYTES", CELL_U64, UNIT_BYTES,
		COL_WEIGHT | COL_LEVEL, "and bytes", pages_bytes_cell),
	CELL_FROM(0, struct kept_sums, ages, "age_p50_ns", "AGE P50", CELL_U64, UNIT_NS, COL_LESSER,
		"median age (estimated from a log2 histogram)", durations_p50),
	CELL_FROM(0, struct kept_sums, ages, "age_p99_ns", "AGE P99", CELL_U64, UNIT_NS, COL_LESSER,
		"99th percentile (estimated from a log2 histogram)", durations_p99),
	CELL_FROM(0, struct kept_sums, ages, "age_max_ns", "OLDEST", CELL_U64, UNIT_NS, COL_WIDE,
		"the oldest", durations_max),
	CELL_FROM(0, struct kept_sums, ages, "ages", "AGES", CELL_HIST, UNIT_NS, COL_WIDE,
		"log2 histogram of the ages", durations_hist),
	CELL_NUMBER(struct kept_sums, lives.count, "freed", "FREED", UNIT_COUNT, 0,
		"allocations since the start that were freed in the interval"),
	CELL_FROM(0, struct kept_sums, lives, "p50_ns", "LIFE P50", CELL_U64, UNIT_NS, COL_LESSER,
		"their median lifetime (estimated from a log2 histogram)", durations_p50),
	CELL_FROM(0, struct kept_sums, lives, "p99_ns", "LIFE P99", CELL_U64, UNIT_NS, COL_LESSER,
		"99th percentile (estimated from a log2 histogram)", durations_p99),
	CELL_FROM(0, struct kept_sums, lives, "max_ns", "LIFE MAX", CELL_U64, UNIT_NS, COL_WIDE,
		"longest (since the start)", durations_max),
	CELL_FROM(0, struct kept_sums, lives, "hist", "LIFETIMES", CELL_HIST, UNIT_NS, COL_WIDE,
		"log2 histogram of the lifetimes, from 512 ns on", durations_hist),
	BY_STACK_CELLS("code path that asked for the page"),
};

static bool pages_kept_is_any(const struct row_of *row)
{
	const struct kept_sums *s = row->sums;

	return s->ages.count || s->lives.count;
}

static const struct by_spec spec = CELLS_SPEC(
	held_columns, struct pages_view_key, struct kept_sums, .shows = pages_kept_is_any);

const struct view_table pages_kept_tables[] = {
	CELLS_VIEW("held", held_columns),
	{},
};

struct task {
	u32 tgid, tid;
};

struct task_facts {
	u64 cgroup;
	char comm[COMM_LEN];
};

int pages_kept_init(
	struct pages_kept *p, const struct view *v, const struct view_options *o, struct err *err)
{
	groups_init(&p->tasks, sizeof(struct task), sizeof(struct task_facts));
	return by_sums_init(&p->sums, &spec, v, o, err);
}

/* Every page that is followed was counted too, and that record comes first. */
static int task_learn(struct pages_kept *p, const struct pages_who *w)
{
	struct task k = {w->tgid, w->tid};
	struct task_facts *f;

	if (!(p->sums.by & (BY_COMM | BY_CGROUP)) || w->flags & PAGES_WHO_NAMED)
		return 0;
	f = groups_get(&p->tasks, &k);
	if (!f)
		return -ENOMEM;
	f->cgroup = w->cgroup;
	memcpy(f->comm, w->comm, sizeof(f->comm));
	return 0;
}

static struct kept_sums *pages_kept_sums_of(struct pages_kept *p, const struct pages_who *who)
{
	struct pages_who w = *who;
	struct task t = {w.tgid, w.tid};
	const struct task_facts *f = groups_find(&p->tasks, &t);
	struct pages_view_key k;

	if (f) {
		w.cgroup = f->cgroup;
		memcpy(w.comm, f->comm, sizeof(w.comm));
	}
	k = pages_view_key(p->sums.by, &w);
	return groups_get(&p->sums.groups, &k);
}

/* A new look replaces the one before. */
static void pages_kept_look_begin(struct pages_kept *p, const struct pages_follow *r)
{
	p->follow = *r;
	for (size_t i = 0; i < p->sums.groups.n; i++) {
		struct kept_sums *s = groups_value(&p->sums.groups, i);

		s->pages = 0;
		s->ages = (struct durations){};
	}
}

static u64 pages_kept_pages_of(u64 count, u8 order)
{
	return order < PAGES_ORDERS ? count << order : 0;
}

static int held_feed(struct pages_kept *p, const struct pages_held *r)
{
	struct kept_sums *s = pages_kept_sums_of(p, &r->who);

	if (!s)
		return -ENOMEM;
	s->pages += pages_kept_pages_of(r->count, r->who.order);
	durations_add(&s->ages, r->count, 0, r->oldest_ns, r->hist, ARRAY_SIZE(r->hist));
	return 0;
}

static int lifetime_feed(struct pages_kept *p, const struct pages_lifetime *r)
{
	struct kept_sums *s = pages_kept_sums_of(p, &r->who);

	if (!s)
		return -ENOMEM;
	durations_add(&s->lives, r->count, r->total_ns, r->max_ns, r->hist, ARRAY_SIZE(r->hist));
	return 0;
}

int pages_kept_feed(struct pages_kept *p, const struct rec *r)
{
	switch (r->kind) {
	case REC_PAGES_ALLOC:
		return task_learn(p, &((const struct pages_alloc *)r)->who);
	case REC_PAGES_FOLLOW:
		pages_kept_look_begin(p, (const struct pages_follow *)r);
		return 0;
	case REC_PAGES_HELD:
		return held_feed(p, (const struct pages_held *)r);
	case REC_PAGES_LIFETIME:
		return lifetime_feed(p, (const struct pages_lifetime *)r);
	default:
		return 0;
	}
}

/* What makes the numbers of held pages less than all. */
static void follow_tell(const struct pages_kept *p, struct report *r)
{
	const struct pages_follow *now = &p->follow, *before = &p->before;

	if (now->untracked > before->untracked)
		report_note(r,
			"%llu allocations were not followed: there is room for %llu at a time; a "
			"narrower scope (-p, -c, -g) helps",
			now->untracked - before->untracked, now->room);
	if (now->unknown > before->unknown)
		report_note(r,
			"%llu frees were of pages allocated before the start, in bulk or not "
			"followed",
			now->unknown - before->unknown);
	if (now->parts > before->parts)
		report_note(r,
			"%llu allocations were freed in parts: they count as freed with the first "
			"part",
			now->parts - before->parts);
	if (now->lifetimes_full > before->lifetimes_full)
		report_note(r, "%llu lifetimes found no room in their table",
			now->lifetimes_full - before->lifetimes_full);
}

int pages_kept_report(struct pages_kept *p, struct report *r)
{
	struct table *t = by_sums_show(
		&p->sums, r, "held", "Pages allocated since the start, held and freed");

	if (!t)
		return -ENOMEM;
	t->sort = "bytes";
	t->empty =
		p->follow.h.size ? "No page was allocated in scope." : "Pages were not followed.";
	follow_tell(p, r);
	return 0;
}

void pages_kept_reset(struct pages_kept *p)
{
	groups_clear(&p->sums.groups);
	p->before = p->follow;
}

void pages_kept_free(struct pages_kept *p)
{
	by_sums_free(&p->sums);
	groups_free(&p->tasks);
}
