/* See numa_patterns.h. */
#include "probes/numa/judge/numa_patterns.h"

#include <math.h>

#define OWN 0.15      /* pieces of which less is mixed belong to one node each */
#define MIXED 0.3     /* … more: are shared */
#define TURNS 0.35    /* changes of node, of those that chance would make: in turns */
#define ALLOCATOR 0.6 /* accesses by who made it: its own */
#define ONE_NODE 0.8  /* lies on one node */
#define HANDED 1.5    /* changes of node, of each object: it was handed over */
#define USER_NODE 0.1 /* a node with this share of the accesses uses it */

/*
 * Hint faults (numa_hint_stats.h). In guests and in models of them, mixing within a window was 0.6
 * to 0.9 of that within the object where nodes used it at the same time (0.33 where they also used
 * other memory), and below 0.15 in turns.
 */
#define SHARED 0.2        /* mixing of the object: one node of two has a ninth of the faults */
#define LOOKS 2.7         /* faults a page, on average, that a verdict takes */
#define LOOKS_MIXED 1.7   /* … where what was seen cannot be chance */
#define PAGE_OWN 0.15     /* mixing within pages, of that within the object: pages have one user */
#define PAGE_OWN_FEW 0.05 /* … at few looks */
#define PAGE_SHARED 0.4   /* … more: several */
#define CROSSED 0.25      /* pages of another node, of those chance would make: more are shared */
#define CROSSED_WINDOWS 3 /* … in at least so many windows of 50 ms */
#define CROSSED_BACK 0.1  /* … to and fro: else another takes them over */
#define ASIDE 0.04        /* mixing of the object: a second user, or some accesses aside */
#define WINDOW_MIXED 0.4  /* mixing within 50 ms, of that within the object: at once */
#define WINDOW_RAN 0.3    /* … where threads of both are known to run at the same time */
#define WINDOW_TURNS 0.2  /* … less: one node after the other */
#define SAVED_LEAST 0.1   /* of the remote accesses, by another layout: else it is right */
#define TURNS_SEEN 3      /* changes of node, of each object: neither handed over nor back */
#define RAN_TOGETHER 0.25 /* of the time threads of two nodes ran, at least */

/* The lower end of what a ratio can be, n samples given (Wilson, 95 %). */
static double at_least(u64 hits, u64 n)
{
	const double z = 1.96;
	double p, d = (double)n;

	if (!n)
		return 0;
	p = (double)hits / d;
	p = (p + z * z / (2 * d) - z * sqrt(p * (1 - p) / d + z * z / (4 * d * d))) /
	    (1 + z * z / d);
	return p > 0 ? p : 0;
}

static s32 largest(const u64 v[NUMA_NODES], double *ret_ratio)
{
	u64 all = 0;
	s32 best = -1;

	for (s32 i = 0; i < NUMA_NODES; i++) {
		all += v[i];
		if (v[i] && (best < 0 || v[i] > v[best]))
			best = i;
	}
	*ret_ratio = best < 0 ? 0 : (double)v[best] / (double)all;
	return best;
}

static bool numa_patterns_known(const struct numa_group *g, enum numa_unit unit)
{
	return g->sharing[unit].samples >= NUMA_MIN_SHARING;
}

static bool own(const struct numa_group *g, enum numa_unit unit)
{
	return numa_patterns_known(g, unit) && g->sharing[unit].mixed < OWN;
}

static bool mixed(const struct numa_group *g, enum numa_unit unit)
{
	return numa_patterns_known(g, unit) && g->sharing[unit].mixed >= MIXED;
}

/* Accesses to nodes that have memory only. */
static double slow_ratio(const struct numa_feed *f, const struct numa_sums *s)
{
	const struct numa_machine *m = numa_machine(f);
	u64 slow = 0, all = 0;

	for (u32 i = 0; i < NUMA_NODES; i++) {
		all += s->to[i];
		slow += m->nodes & 1ULL << i && !(m->cpus & 1ULL << i) ? s->to[i] : 0;
	}
	return m->cpus && all ? (double)slow / (double)all : 0;
}

static bool is_file(const struct numa_group *g)
{
	return g->site.kind == OBJECT_FILE || g->site.kind == OBJECT_CODE;
}

/* Has the one thread that uses it gone to another node since? Where a thread was before it used the
 * object says nothing: many are put on a node as they begin. */
static bool user_moved(
	const struct numa_feed *f, const struct numa_groups *all, const struct numa_group *g)
{
	const struct numa_access *a;
	struct numa_flow flow;
	size_t n;
	const struct numa_moved *moves = numa_thread_moves(f, &n);

	if (g->threads != 1 || !all->n_objects)
		return false;
	flow = numa_flow_object(f, g->largest);
	a = numa_flow_next(&flow);
	for (size_t i = 0; a && i < n; i++)
		if (moves[i].thread == a->thread && moves[i].from != moves[i].to &&
			moves[i].time_ns > a->time_ns)
			return true;
	return false;
}

static bool one_user(const struct numa_group *g)
{
	double ratio;

	return largest(g->sums.from, &ratio) >= 0 && ratio >= 0.9;
}

/* Memory that processes share is one object in each of them. */
static bool is_shared_memory(const struct numa_group *g)
{
	return g->shared_maps > 1 && 2 * g->shared_maps > g->n && g->site.kind != OBJECT_STACK;
}

/* How many nodes use it, each for more than a little. */
static u32 users_of(const struct numa_sums *s)
{
	u64 from = 0;
	u32 users = 0;

	for (u32 i = 0; i < NUMA_NODES; i++)
		from += s->from[i];
	for (u32 i = 0; i < NUMA_NODES; i++)
		users += s->from[i] && (double)s->from[i] >= USER_NODE * (double)from;
	return users;
}

/* Each object is used by one node, which is not where it lies. */
static u32 judge_one_user(
	const struct numa_feed *f, const struct numa_groups *all, const struct numa_group *g)
{
	bool allocator = g->by_known && (double)g->by_allocator >= ALLOCATOR * (double)g->by_known;

	if (is_shared_memory(g) && users_of(&g->sums) > 1)
		return NUMA_CONCURRENT;
	if (g->site.kind == OBJECT_STACK || allocator || user_moved(f, all, g))
		return NUMA_MOVED_AWAY;
	return NUMA_PRODUCER;
}

/*
 * Several nodes use the same objects. Those that are smaller than a page tell about false sharing
 * by lines and by pages beyond the object: a piece is looked at within one object only.
 */
static u32 judge_shared(const struct numa_group *g)
{
	double chance = g->sharing[NUMA_UNIT_OBJECT].mixed;
	double changes = g->switches * (double)g->switch_pairs;

	bool turns =
		chance > 0 && g->switch_pairs >= NUMA_MIN_SHARING && g->switches < TURNS * chance;

	/* One used it, then the other, and that was all: it was handed over. */
	if (changes < HANDED * (double)g->shared_objects ||
		(turns && (double)g->turns < HANDED * (double)g->shared_objects))
		return NUMA_PRODUCER;
	if (g->huge * 2 > g->sums.samples && own(g, NUMA_UNIT_PAGE) && mixed(g, NUMA_UNIT_HUGE))
		return NUMA_FALSE_HUGE;
	if (own(g, NUMA_UNIT_LINE) && mixed(g, NUMA_UNIT_PAGE))
		return NUMA_FALSE_PAGE;
	if (turns)
		return NUMA_ALTERNATING;
	/* Were each part where it is used, most would be local. */
	if (g->sums.remote_samples && g->bytes > 2 * 4096 &&
		(double)g->placed_remote < 0.35 * (double)g->sums.remote_samples)
		return NUMA_PARTITIONED;
	return NUMA_CONCURRENT;
}

static bool has_hints(const struct numa_group *g)
{
	return g->hints.samples;
}

/* How often a page was seen, on average. */
static double looks(const struct numa_group *g)
{
	return (double)g->hints.samples / (double)MAX(g->hints.pages, 1UL);
}

/* How mixed a finer unit is, of what chance would make of the whole object. -1: not known. */
static double of_object(const struct numa_group *g, double mixed, u64 samples)
{
	double object = g->sharing[NUMA_UNIT_OBJECT].mixed;

	return samples >= NUMA_MIN_SHARING && object > 0 ? mixed / object : -1;
}

static u32 judge_hint_turns(const struct numa_group *g, double window)
{
	const struct numa_hint_stats *c = &g->hints;

	if (window < 0 || window > WINDOW_TURNS)
		return NUMA_UNCLEAR;
	/* Where threads run all the time, one that is always first takes all faults of a scan. */
	if (c->together >= RAN_TOGETHER)
		return NUMA_UNCLEAR;
	if (c->changes < HANDED * g->shared_objects)
		return NUMA_PRODUCER;
	if (c->changes < TURNS_SEEN * g->shared_objects)
		return NUMA_THIN;
	/* In turns only where it is known that they run apart. */
	return c->together < 0 ? NUMA_UNCLEAR : NUMA_ALTERNATING;
}

/* Of Student's t, 95 % are below: exact to 2 %. */
static double student(double freedom)
{
	return 1.645 + 1.524 / freedom + 1.42 / pow(freedom, 2) + 1.7 / pow(freedom, 3);
}

bool numa_share_bounds(const struct numa_clusters *c, double *ret_low, double *ret_high)
{
	double ratio, n = (double)c->n, spread;

	if (c->n < 2 || c->of < NUMA_MIN_SHARING)
		return false;
	ratio = c->hits / c->of;
	spread = c->hits_hits - 2 * ratio * c->hits_of + ratio * ratio * c->of_of;
	spread = student(n - 1) * sqrt(MAX(spread, 0.0) * n / (n - 1)) / c->of;
	*ret_low = MAX(ratio - spread, 0.0);
	*ret_high = MIN(ratio + spread, 1.0);
	return true;
}

/*
 * While several nodes use the object, do its pages go from one to another, to and fro? 1: yes; -1:
 * each page stays with its node; 0: neither is sure. Two tests, each wrong in one of 20 cases:
 * neighbours are walked one after another, so that windows are what is independent, not faults.
 */
static int pages_shared(const struct numa_group *g)
{
	const struct numa_hint_stats *c = &g->hints;
	double low, high, few = CROSSED * g->sharing[NUMA_UNIT_OBJECT].mixed;

	if (!numa_share_bounds(&c->crossings, &low, &high))
		return 0;
	if (low > few && c->crossings.n >= CROSSED_WINDOWS &&
		(double)c->crossed_back >= CROSSED_BACK * (double)c->crossed)
		return 1;
	return high < few ? -1 : 0;
}

/* Nodes use it at the same time. Is a page of one of them, or of all? */
static u32 judge_hint_together(const struct numa_group *g)
{
	int shared = pages_shared(g);

	if (shared > 0)
		return own(g, NUMA_UNIT_LINE) ? NUMA_FALSE_PAGE : NUMA_CONCURRENT;
	if (shared < 0)
		return NUMA_PARTITIONED;
	return looks(g) < LOOKS || g->hints.crossings.n < CROSSED_WINDOWS ? NUMA_THIN
									  : NUMA_UNCLEAR;
}

/* One node has most faults, but the others' are among them: it may be just first. */
static bool just_first(const struct numa_group *g, double window)
{
	return g->threads > 1 && g->sharing[NUMA_UNIT_OBJECT].mixed > ASIDE &&
	       window > WINDOW_MIXED;
}

/* Of hint faults: what cannot be told from them is not said. */
static u32 judge_hint(
	const struct numa_feed *f, const struct numa_groups *all, const struct numa_group *g)
{
	const struct numa_hint_stats *c = &g->hints;
	const struct numa_sharing *pages = &g->sharing[NUMA_UNIT_PAGE];
	double seen = looks(g);
	double window = of_object(g, c->window_mixed, c->window_samples);
	double page = of_object(g, pages->mixed, pages->samples);
	bool shared = g->sharing[NUMA_UNIT_OBJECT].mixed >= SHARED && g->threads > 1;
	u32 turns;

	if (seen < (shared ? LOOKS_MIXED : LOOKS))
		return NUMA_THIN;
	if (!shared)
		return just_first(g, window) ? NUMA_UNCLEAR : judge_one_user(f, all, g);
	if (page >= 0 && page < (seen < LOOKS ? PAGE_OWN_FEW : PAGE_OWN)) {
		if (g->huge * 2 > g->sums.samples && mixed(g, NUMA_UNIT_HUGE))
			return NUMA_FALSE_HUGE;
		return NUMA_PARTITIONED;
	}
	if (window > (c->together >= RAN_TOGETHER ? WINDOW_RAN : WINDOW_MIXED) && page >= 0)
		return judge_hint_together(g);
	turns = judge_hint_turns(g, window);
	if (seen < LOOKS && (turns != NUMA_ALTERNATING || page < PAGE_SHARED))
		return NUMA_THIN;
	return turns;
}

/* Where nodes share pages, which of them each has is chance: the nodes' shares tell what is remote.
 * The faults need not show it: who was first at a page often is so again. */
static double used_ratio(const struct numa_group *g)
{
	const struct numa_sums *s = &g->sums;
	double from = 0, to = 0, near = 0;

	for (u32 i = 0; i < NUMA_NODES; i++) {
		from += (double)s->from[i];
		to += (double)s->to[i];
		near += (double)s->from[i] * (double)s->to[i];
	}
	return from > 0 && to > 0 ? 1 - near / (from * to) : 0;
}

/* The remote accesses that remain, of those that there are: as the fix of the pattern has it. */
static double saved(const struct numa_groups *all, const struct numa_group *g, u32 pattern)
{
	double remote = (double)g->sums.remote_samples, left;
	u32 users = 0;

	if (pattern == NUMA_CONCURRENT && pages_shared(g) > 0)
		remote = MAX(remote, used_ratio(g) * (double)g->sums.judged_samples);
	switch (pattern) {
	case NUMA_PRODUCER:
	case NUMA_PARTITIONED:
	case NUMA_MOVED_AWAY:
	case NUMA_PAGE_CACHE:
		left = (double)g->placed_remote;
		break;
	case NUMA_ALTERNATING: /* memory goes with its user: once a turn it is elsewhere */
		left = g->switches * (double)g->sums.judged_samples;
		break;
	case NUMA_FALSE_PAGE:
		left = g->sharing[NUMA_UNIT_LINE].mixed * (double)g->sums.judged_samples;
		break;
	case NUMA_FALSE_HUGE:
		left = g->sharing[NUMA_UNIT_PAGE].mixed * (double)g->sums.judged_samples;
		break;
	case NUMA_CONCURRENT:
		if (!g->sums.stores && g->sums.loads && !has_hints(g)) {
			left = 0; /* a replica on each node */
			break;
		}
		users = (u32)__builtin_popcountll(numa_from_mask(&all->all));
		left = users ? (double)g->sums.judged_samples * (1 - 1.0 / users) : remote;
		break;
	default:
		left = 0;
	}
	return remote > 0 && left < remote ? 1 - left / remote : 0;
}

/* Who uses it from afar, and where it lies. */
static void numa_patterns_nodes_fill(const struct numa_group *g, struct numa_verdict *v)
{
	double ratio;

	v->user = largest(g->sums.remote_from, &ratio);
	v->home = largest(g->sums.to, &v->home_ratio);
}

/* The layout is what is wrong, and balancing mends it as it goes. */
static bool is_layout(u32 pattern)
{
	return pattern == NUMA_PRODUCER || pattern == NUMA_PARTITIONED;
}

/* Remote enough for a verdict: as it was, … */
static bool is_remote(const struct numa_group *g)
{
	return at_least(g->sums.remote_samples, g->sums.judged_samples) >= NUMA_MIN_RATIO;
}

/* … by the layout where balancing has moved what was remote, … */
static bool is_laid_remote(const struct numa_group *g, const struct numa_verdict *v)
{
	return v->laid_ratio > v->remote_ratio &&
	       at_least(g->hints.laid_remote, g->hints.laid_samples) >= NUMA_MIN_RATIO;
}

/* … or by how nodes share its pages. */
static bool is_used_remote(const struct numa_group *g)
{
	double remote = used_ratio(g) * (double)g->sums.judged_samples;

	return pages_shared(g) > 0 &&
	       at_least((u64)remote, g->sums.judged_samples) >= NUMA_MIN_RATIO;
}

static u32 judge_pattern(
	const struct numa_feed *f, const struct numa_groups *all, const struct numa_group *g)
{
	if (slow_ratio(f, &g->sums) >= 0.5)
		return NUMA_SLOW_TIER;
	if (is_file(g))
		return NUMA_PAGE_CACHE;
	if (g->site.kind == OBJECT_KERNEL || g->site.kind == OBJECT_VDSO)
		return NUMA_NO_PATTERN; /* no program can place it */
	if (!numa_patterns_known(g, NUMA_UNIT_OBJECT) && !one_user(g))
		return NUMA_THIN; /* each object was seen once: who shares it is not known */
	if (has_hints(g))
		return judge_hint(f, all, g);
	if (!mixed(g, NUMA_UNIT_OBJECT) || g->threads == 1)
		return judge_one_user(f, all, g);
	return judge_shared(g);
}

/* Shares, by the layout as the program made it where that is what counts. */
static void shares_fill(
	const struct numa_groups *all, const struct numa_group *g, struct numa_verdict *v)
{
	const struct numa_hint_stats *c = &g->hints;
	double remote = (double)g->sums.remote;

	v->remote_ratio = v->laid_ratio = numa_remote_ratio(&g->sums);
	if (c->laid_samples && g->balanced_pages) {
		v->laid_ratio = (double)c->laid_remote / (double)c->laid_samples;
		remote = MAX(remote, (double)c->laid_remote);
	}
	v->share = all->all.accesses ? remote / (double)all->all.accesses : 0;
}

struct numa_verdict numa_judge(const struct numa_feed *f, const struct numa_groups *all, u32 group)
{
	const struct numa_group *g = &all->list.v[group];
	const struct numa_sums *s = &g->sums;
	struct numa_verdict v = {.group = group, .user = -1, .home = -1};
	bool remote = is_remote(g), laid, used = is_used_remote(g);

	numa_patterns_nodes_fill(g, &v);
	shares_fill(all, g, &v);
	laid = is_laid_remote(g, &v);
	/* Who uses it is not known where no CPU's node is, though the hardware may say remote. */
	if (v.share < NUMA_MIN_SHARE || !numa_from_mask(&all->all))
		return v;
	/* All faults of a scan may be of one turn: a few scans are a few samples. */
	if (has_hints(g) && looks(g) < LOOKS)
		v.pattern = NUMA_THIN;
	if (MAX(v.remote_ratio, v.laid_ratio) < NUMA_MIN_RATIO && !used)
		return v;
	if (s->judged_samples < NUMA_MIN_SAMPLES || s->remote_samples < NUMA_MIN_REMOTE) {
		v.pattern = NUMA_THIN;
		return v;
	}
	if (!remote && !laid && !used)
		return v;
	v.pattern = judge_pattern(f, all, g);
	v.balanced = laid && is_layout(v.pattern);
	v.used = !remote && used && v.pattern == NUMA_CONCURRENT;
	v.used_ratio = used_ratio(g);
	if (!remote && !v.balanced && !v.used)
		v.pattern = NUMA_NO_PATTERN;
	v.saved_ratio = saved(all, g, v.pattern);
	/* Parts lie where they are used; who merges them is remote anyway. */
	if (v.pattern == NUMA_PARTITIONED && has_hints(g) && v.saved_ratio < SAVED_LEAST)
		v.pattern = NUMA_NO_PATTERN;
	return v;
}

const char *numa_pattern_name(u32 pattern)
{
	static const char *const names[NUMA_PATTERNS] = {
		[NUMA_NO_PATTERN] = "none",
		[NUMA_THIN] = "too few samples",
		[NUMA_PRODUCER] = "remote use after allocation",
		[NUMA_ALTERNATING] = "alternating remote access",
		[NUMA_CONCURRENT] = "concurrent remote access",
		[NUMA_PARTITIONED] = "one node holds the parts of all",
		[NUMA_FALSE_PAGE] = "nodes share pages falsely",
		[NUMA_FALSE_HUGE] = "nodes share huge pages falsely",
		[NUMA_PAGE_CACHE] = "misplaced page cache",
		[NUMA_MOVED_AWAY] = "user moved away from its memory",
		[NUMA_SLOW_TIER] = "slow tier",
		[NUMA_UNCLEAR] = "several nodes use it",
	};

	return pattern < NUMA_PATTERNS ? names[pattern] : "?";
}

bool numa_all_on_one(const struct numa_groups *g, s32 *ret_node, double *ret_ratio)
{
	const struct numa_sums *s = &g->all;

	if (s->judged_samples < NUMA_MIN_SAMPLES || s->remote_samples < NUMA_MIN_REMOTE ||
		at_least(s->remote_samples, s->judged_samples) < NUMA_MIN_RATIO)
		return false;
	*ret_node = largest(s->to, ret_ratio);
	return users_of(s) > 1 && *ret_node >= 0 && *ret_ratio >= ONE_NODE;
}
