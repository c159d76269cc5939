/* See numa_hint_stats.h. */
#include "probes/numa/judge/numa_hint_stats.h"

#include <errno.h>
#include <string.h>

#define WINDOW_NS 50000000ULL    /* more than a time slice of a CPU, less than turns worth a move */
#define OF_ONE_NODE 0.85         /* of the samples of a window: the node's */
#define THREADS_MAX 64           /* of a group, those with most samples */
#define TOGETHER_NS 500000000ULL /* two threads are compared over at least so long */
#define PAGE_SHIFT 12

struct hint_thread {
	u64 samples;
	u32 thread;
	s8 node; /* of its last sample */
};

/* Groups hold plain bytes that begin as zeros: nodes are kept plus one. */
struct hint_page {
	u32 number;    /* in order of first sight */
	s8 home, last; /* where its first fault found it; from where the last one was */
};

struct window {
	u64 begin_ns, n;
	u32 counts[NUMA_NODES];
};

void hint_stats_begin(struct hint_stats_work *w)
{
	*w = (struct hint_stats_work){};
	groups_init(&w->pages, sizeof(u64), sizeof(struct hint_page));
	groups_init(&w->threads, sizeof(u32), sizeof(struct hint_thread));
	groups_init(&w->ways, 2 * sizeof(s8), sizeof(u64));
}

void hint_stats_free(struct hint_stats_work *w)
{
	groups_free(&w->pages);
	groups_free(&w->threads);
	groups_free(&w->ways);
	vec_free(&w->window);
}

/* Pages went from one node to another: how many, by way. */
static int way_add(struct hint_stats_work *w, s8 from, s8 to)
{
	s8 way[2] = {from, to};
	u64 *n = groups_get(&w->ways, way);

	if (!n)
		return -ENOMEM;
	++*n;
	return 0;
}

/*
 * The window ends. several: nodes used the object in it, and it tells whether a page stays with its
 * node when it can go to another. Where a node is alone, as who merges what others made, it cannot.
 */
static int window_cross(struct hint_stats_work *w, bool several)
{
	double crossed = 0, most = 0;
	int rc = 0;

	vec_each (f, &w->window) {
		struct hint_page *p = groups_value(&w->pages, f->page);

		if (p->last && p->last != f->node + 1) {
			rc = rc ? rc : way_add(w, p->last, (s8)(f->node + 1));
			crossed++;
		}
		most += p->last > 0;
		p->last = (s8)(f->node + 1);
	}
	w->sum.crossed += (u64)crossed;
	if (several && most > 0) {
		w->sum.crossings.n++;
		w->sum.crossings.hits += crossed;
		w->sum.crossings.of += most;
		w->sum.crossings.hits_hits += crossed * crossed;
		w->sum.crossings.hits_of += crossed * most;
		w->sum.crossings.of_of += most * most;
	}
	w->window.n = 0;
	return rc;
}

/* The window ends: how mixed it was, and whether another node than in the one before had it. */
static int window_end(struct hint_stats_work *w, struct window *v, s32 *node)
{
	double same = 0, n = (double)v->n;
	s32 most = 0;
	bool several;

	for (s32 i = 0; i < NUMA_NODES; i++) {
		same += (double)v->counts[i] * ((double)v->counts[i] - 1);
		most = v->counts[i] > v->counts[most] ? i : most;
	}
	if (v->n > 1) {
		w->mixed += (1 - same / (n * (n - 1))) * n;
		w->sum.window_samples += v->n;
	}
	several = v->counts[most] < OF_ONE_NODE * n;
	if (v->n && !several) {
		w->sum.changes += *node >= 0 && *node != most;
		*node = most;
	}
	*v = (struct window){};
	return window_cross(w, several);
}

static int numa_hint_stats_page_add(struct hint_stats_work *w, const struct numa_access *a)
{
	u64 page = a->address >> PAGE_SHIFT;
	size_t before = w->pages.n;
	struct hint_page *p = groups_get(&w->pages, &page);

	if (!p)
		return -ENOMEM;
	if (w->pages.n != before) {
		p->number = (u32)before;
		p->home = (s8)(a->page_node + 1);
	}
	w->sum.pages += w->pages.n != before;
	w->sum.laid_samples += p->home > 0;
	w->sum.laid_remote += p->home > 0 && p->home != a->cpu_node + 1;
	return vec_push(&w->window, ((struct hint_fault){p->number, a->cpu_node}));
}

static int thread_add(struct hint_stats_work *w, const struct numa_access *a)
{
	struct hint_thread *t = groups_get(&w->threads, &a->thread);

	if (!t)
		return -ENOMEM;
	t->samples++;
	t->thread = a->thread;
	t->node = a->cpu_node;
	return 0;
}

int hint_stats_object(struct numa_feed *f, u32 object, struct hint_stats_work *w)
{
	struct numa_flow flow = numa_flow_object(f, object);
	const struct numa_access *a;
	struct window v = {};
	s32 node = -1;
	int rc = 0;

	groups_clear(&w->pages);
	while (!rc && (a = numa_flow_next(&flow))) {
		if (a->cpu_node < 0 || a->source != NUMA_HINT_FAULT)
			continue;
		if (v.n && a->time_ns - v.begin_ns >= WINDOW_NS)
			rc = window_end(w, &v, &node);
		if (!v.n)
			v.begin_ns = a->time_ns;
		v.n++;
		v.counts[a->cpu_node]++;
		w->sum.samples++;
		rc = rc ? rc : numa_hint_stats_page_add(w, a);
		rc = rc ? rc : thread_add(w, a);
	}
	return rc ? rc : window_end(w, &v, &node);
}

/* What is known of a thread's CPU time: a line of points, in order of time. */
struct line {
	struct hint_thread t;
	VEC(struct numa_ran) points;
};

static int by_samples(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return x->t.samples > y->t.samples ? -1 : x->t.samples < y->t.samples;
}

static double ran_at(const struct line *l, u64 time_ns)
{
	size_t i = 1;
	const struct numa_ran *a, *b;

	while (i + 1 < l->points.n && l->points.v[i].time_ns < time_ns)
		i++;
	a = &l->points.v[i - 1];
	b = &l->points.v[i];
	if (b->time_ns <= a->time_ns)
		return (double)a->ran_ns;
	return (double)a->ran_ns + ((double)b->ran_ns - (double)a->ran_ns) *
					   ((double)time_ns - (double)a->time_ns) /
					   ((double)b->time_ns - (double)a->time_ns);
}

/*
 * Two threads ran for more time than passed: the rest is when both did (at least). Over the time in
 * which both are known.
 */
static void pair_add(const struct line *x, const struct line *y, double *over, double *all)
{
	u64 from, to;
	double both;

	if (x->points.n < 2 || y->points.n < 2 || x->t.node == y->t.node)
		return;
	from = MAX(x->points.v[0].time_ns, y->points.v[0].time_ns);
	to = MIN(x->points.v[x->points.n - 1].time_ns, y->points.v[y->points.n - 1].time_ns);
	if (to < from + TOGETHER_NS)
		return;
	both = ran_at(x, to) - ran_at(x, from) + ran_at(y, to) - ran_at(y, from) -
	       (double)(to - from);
	*over += both > 0 ? both : 0;
	*all += (double)(to - from);
}

static void lines_free(struct line *lines, size_t n)
{
	for (size_t i = 0; i < n; i++)
		vec_free(&lines[i].points);
	free(lines);
}

static int lines_fill(const struct numa_feed *f, struct line *lines, size_t n)
{
	struct groups number;
	size_t n_runs;
	const struct numa_ran *runs = numa_thread_runs(f, &n_runs);
	int rc = 0;

	groups_init(&number, sizeof(u32), sizeof(u32));
	for (u32 i = 0; i < n && !rc; i++) {
		u32 *at = groups_get(&number, &lines[i].t.thread);

		rc = at ? 0 : -ENOMEM;
		if (at)
			*at = i;
	}
	for (size_t i = 0; i < n_runs && !rc; i++) {
		const u32 *at = groups_find(&number, &runs[i].thread);

		rc = at ? vec_push(&lines[*at].points, runs[i]) : 0;
	}
	groups_free(&number);
	return rc;
}

static int together(const struct numa_feed *f, const struct groups *threads, double *ret)
{
	struct line *lines = calloc(MAX(threads->n, 1UL), sizeof(*lines));
	size_t n = MIN(threads->n, (size_t)THREADS_MAX);
	double over = 0, all = 0;
	int rc;

	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < threads->n; i++)
		lines[i].t = *(const struct hint_thread *)groups_value(threads, i);
	qsort(lines, threads->n, sizeof(*lines), by_samples);
	rc = lines_fill(f, lines, n);
	for (size_t i = 0; i < n && !rc; i++)
		for (size_t k = 0; k < i; k++)
			pair_add(&lines[i], &lines[k], &over, &all);
	lines_free(lines, threads->n);
	*ret = all > 0 ? over / all : -1;
	return rc;
}

/* Of the pages that went one way, as many as went the other. */
static u64 ways_back(const struct groups *ways)
{
	u64 back = 0;

	for (size_t i = 0; i < ways->n; i++) {
		const s8 *way = groups_key(ways, i);
		s8 other[2] = {way[1], way[0]};
		const u64 *n = groups_value(ways, i), *m = groups_find(ways, other);

		back += m ? MIN(*n, *m) : 0;
	}
	return back;
}

int hint_stats_finish(struct numa_feed *f, struct hint_stats_work *w, struct numa_group *g)
{
	g->hints = w->sum;
	if (w->sum.window_samples)
		g->hints.window_mixed = w->mixed / (double)w->sum.window_samples;
	g->hints.crossed_back = ways_back(&w->ways);
	return together(f, &w->threads, &g->hints.together);
}
