/* Pages that are held, and how long others were: `pages held`. See pages_tables.h. */
#include <errno.h>
#include <string.h>

#include "analysis/durations.h"
#include "probes/pages/pages_tables.h"

struct kept_sums {
	u64 count, pages, oldest_ns; /* at the last look */
	struct hist ages;
	struct durations lives;
};

enum {
	H_COUNT = K_OWN,
	H_PAGES,
	H_BYTES,
	H_AGE_P50,
	H_AGE_P99,
	H_OLDEST,
	H_AGES,
	H_FREED,
	H_LIFE_P50,
	H_LIFE_P99,
	H_LIFE_MAX,
	H_LIVES,
	H_STACK,
	H_N,
};

static const struct by_column held_columns[H_N] = {
	PAGES_KEY_COLUMNS,
	[H_COUNT] = {0, {"count", "HELD", CELL_U64, UNIT_COUNT, COL_LEVEL,
				"allocations since the start that are not freed now"}},
	[H_PAGES] = {0,
		{"pages", "PAGES", CELL_U64, UNIT_PAGES, COL_WIDE | COL_LEVEL, "their pages"}},
	[H_BYTES] = {0,
		{"bytes", "BYTES", CELL_U64, UNIT_BYTES, COL_WEIGHT | COL_LEVEL, "and bytes"}},
	[H_AGE_P50] = {0, {"age_p50_ns", "AGE P50", CELL_U64, UNIT_NS, COL_LESSER,
				  "median age (estimated from a log2 histogram)"}},
	[H_AGE_P99] = {0, {"age_p99_ns", "AGE P99", CELL_U64, UNIT_NS, COL_LESSER,
				  "99th percentile (estimated from a log2 histogram)"}},
	[H_OLDEST] = {0, {"age_max_ns", "OLDEST", CELL_U64, UNIT_NS, COL_WIDE, "the oldest"}},
	[H_AGES] = {0,
		{"ages", "AGES", CELL_HIST, UNIT_NS, COL_WIDE, "log2 histogram of the ages"}},
	[H_FREED] = {0, {"freed", "FREED", CELL_U64, UNIT_COUNT, 0,
				"allocations since the start that were freed in the interval"}},
	[H_LIFE_P50] = {0, {"p50_ns", "LIFE P50", CELL_U64, UNIT_NS, COL_LESSER,
				   "their median lifetime (estimated from a log2 histogram)"}},
	[H_LIFE_P99] = {0, {"p99_ns", "LIFE P99", CELL_U64, UNIT_NS, COL_LESSER,
				   "99th percentile (estimated from a log2 histogram)"}},
	[H_LIFE_MAX] = {0,
		{"max_ns", "LIFE MAX", CELL_U64, UNIT_NS, COL_WIDE, "longest (since the start)"}},
	[H_LIVES] = {0, {"hist", "LIFETIMES", CELL_HIST, UNIT_NS, COL_WIDE,
				"log2 histogram of the lifetimes, from 512 ns on"}},
	[H_STACK] = {BY_STACK,
		{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path that asked for the page"}},
};

static const struct by_spec spec = BY_SPEC(held_columns, struct pages_view_key, struct kept_sums);

const struct view_table pages_kept_tables[] = {
	{"held", &held_columns[0].col, H_N, sizeof(held_columns[0])},
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

static struct kept_sums *sums_of(struct pages_kept *p, const struct pages_who *who)
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
static void look_begin(struct pages_kept *p, const struct pages_follow *r)
{
	p->follow = *r;
	for (size_t i = 0; i < p->sums.groups.n; i++) {
		struct kept_sums *s = groups_value(&p->sums.groups, i);

		s->count = s->pages = s->oldest_ns = 0;
		s->ages = (struct hist){};
	}
}

static u64 pages_of(u64 count, u8 order)
{
	return order < PAGES_ORDERS ? count << order : 0;
}

static int held_feed(struct pages_kept *p, const struct pages_held *r)
{
	struct kept_sums *s = sums_of(p, &r->who);

	if (!s)
		return -ENOMEM;
	s->count += r->count;
	s->pages += pages_of(r->count, r->who.order);
	s->oldest_ns = MAX(s->oldest_ns, r->oldest_ns);
	hist_merge32(&s->ages, r->hist, ARRAY_SIZE(r->hist));
	return 0;
}

static int lifetime_feed(struct pages_kept *p, const struct pages_lifetime *r)
{
	struct kept_sums *s = sums_of(p, &r->who);

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
		look_begin(p, (const struct pages_follow *)r);
		return 0;
	case REC_PAGES_HELD:
		return held_feed(p, (const struct pages_held *)r);
	case REC_PAGES_LIFETIME:
		return lifetime_feed(p, (const struct pages_lifetime *)r);
	default:
		return 0;
	}
}

static void kept_fill(struct cell *all, struct report *r, const struct kept_sums *s)
{
	all[H_COUNT] = cell_u64(s->count);
	all[H_PAGES] = cell_u64(s->pages);
	all[H_BYTES] = cell_u64(s->pages * pages_page_bytes(r));
	all[H_FREED] = cell_u64(s->lives.count);
	if (s->count) {
		all[H_AGE_P50] = cell_u64(hist_quantile(&s->ages, 0.5, s->oldest_ns));
		all[H_AGE_P99] = cell_u64(hist_quantile(&s->ages, 0.99, s->oldest_ns));
		all[H_OLDEST] = cell_u64(s->oldest_ns);
		all[H_AGES] = hist_to_cell(r, &s->ages);
	}
	if (s->lives.count) {
		all[H_LIFE_P50] = cell_u64(hist_quantile(&s->lives.hist, 0.5, s->lives.max_ns));
		all[H_LIFE_P99] = cell_u64(hist_quantile(&s->lives.hist, 0.99, s->lives.max_ns));
		all[H_LIFE_MAX] = cell_u64(s->lives.max_ns);
		all[H_LIVES] = hist_to_cell(r, &s->lives.hist);
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
	struct table *t = by_sums_table(
		&p->sums, r, "held", "Pages allocated since the start, held and freed");
	const struct groups *g = &p->sums.groups;
	int rc = t ? 0 : -ENOMEM;

	if (rc)
		return rc;
	t->sort = "bytes";
	t->empty =
		p->follow.h.size ? "No page was allocated in scope." : "Pages were not followed.";
	for (size_t i = 0; i < g->n && !rc; i++) {
		const struct pages_view_key *k = groups_key(g, i);
		const struct kept_sums *s = groups_value(g, i);
		struct cell all[H_N] = {};

		if (!s->count && !s->lives.count)
			continue;
		pages_key_cells(r, p->sums.by, k, all);
		kept_fill(all, r, s);
		all[H_STACK] = cell_stack(k->task.stack);
		rc = by_sums_row(&p->sums, t, all);
	}
	follow_tell(p, r);
	return rc;
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
