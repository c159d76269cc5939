/* See numa_move_advice.h. */
#include "probes/numa/judge/numa_move_advice.h"

#include "probes/numa/judge/numa_words.h"

#define MOVE_NS 2000 /* of a base page: to unmap, copy and map it (an estimate) */
#define LOCAL_NS 100 /* of an access to local memory (an estimate) */
#define PARTS 64     /* that an object is looked at in */
#define OWN 0.8      /* of the accesses to a part: it is that node's */

bool numa_runs(const struct advice *a)
{
	if (!a->largest.tgid || a->largest.end_ns)
		return false;
	/* Variables have no end of their own. */
	for (u32 i = 0; i < numa_threads(a->f); i++) {
		const struct numa_thread *t = numa_thread(a->f, i);

		if (t->tgid == a->largest.tgid && !t->end_ns)
			return true;
	}
	return false;
}

struct page_range numa_largest_pages(const struct advice *a)
{
	u64 end = a->largest.start + a->largest.bytes;

	return (struct page_range){a->largest.start & ~4095ULL, (end + 4095) & ~4095ULL};
}

static u32 part_at(const struct page_range *all, u64 address)
{
	return (u32)((address - all->start) * PARTS / (all->end - all->start));
}

static u64 part_start(const struct page_range *all, u32 i)
{
	return (all->start + (all->end - all->start) * i / PARTS + 4095) & ~4095ULL;
}

/* The longest run of parts that this node uses; true: it has most of the node's accesses. */
static bool run_find(const u32 own[PARTS], const u32 by_all[PARTS], u32 *ret_first, u32 *ret_last)
{
	u32 all = 0, run = 0, best = 0, first = 0;

	for (u32 i = 0; i < PARTS; i++) {
		bool is_own = by_all[i] && own[i] >= OWN * by_all[i];

		all += own[i];
		if (by_all[i] && !is_own)
			run = 0;
		if (!is_own)
			continue;
		first = run ? first : i;
		run += own[i];
		if (run > best) {
			best = run;
			*ret_first = first;
			*ret_last = i;
		}
	}
	return best && best >= OWN * all;
}

/* The part of the object that this node uses, where it is one and not all of it. */
static bool part_of(const struct advice *a, s32 node, struct page_range *ret)
{
	struct numa_flow flow = numa_flow_object(a->f, a->g->largest);
	u32 own[PARTS] = {}, by_all[PARTS] = {}, first = 0, last = 0;
	struct page_range all = numa_largest_pages(a);
	const struct numa_access *access;

	while ((access = numa_flow_next(&flow))) {
		u32 i;

		if (access->address < all.start || access->address >= all.end)
			continue;
		i = part_at(&all, access->address);
		by_all[i]++;
		own[i] += access->cpu_node == node;
	}
	if (!run_find(own, by_all, &first, &last))
		return false;
	*ret = (struct page_range){part_start(&all, first), part_start(&all, last + 1)};
	return ret->end > ret->start && ret->end - ret->start < all.end - all.start;
}

/* Can `numa try` move it: not what the kernel places, nor what it does not move page by page. */
static bool is_movable(const struct advice *a)
{
	switch (a->largest.kind) {
	case OBJECT_BLOCK:
	case OBJECT_HEAP:
	case OBJECT_ANON:
	case OBJECT_VARIABLE:
	case OBJECT_DATA:
	case OBJECT_FILE:
		return a->largest.tgid;
	case OBJECT_STACK:
		return a->largest.tgid && !a->largest.grows;
	case OBJECT_SHMEM: /* pages that several processes map stay */
		return a->largest.tgid && a->g->shared_maps <= 1;
	default:
		return false;
	}
}

/* Has balancing moved most of what is used of it? */
static bool is_moved(const struct advice *a)
{
	return a->g->hints.samples && 2 * a->g->balanced_pages >= a->g->hints.pages;
}

/* Nodes to move it to, "": to all of them; NULL: a move is not the fix. *ret_of: of it, in words.
 */
static const char *trial_to(struct advice *a, struct page_range *range, const char **ret_of)
{
	const struct numa_verdict *v = a->v;

	*ret_of = a->g->n > 1 ? "the largest of them" : "it";
	*range = numa_largest_pages(a);
	switch (v->pattern) {
	case NUMA_PARTITIONED:
		if (v->user < 0 || !part_of(a, v->user, range))
			return NULL;
		*ret_of = report_text(a->r, "the part that node %d uses", v->user);
		return report_text(a->r, "%d", v->user);
	case NUMA_PRODUCER:
	case NUMA_MOVED_AWAY:
	case NUMA_PAGE_CACHE:
		return v->user < 0 ? NULL : report_text(a->r, "%d", v->user);
	case NUMA_SLOW_TIER:
		return numa_mask_text(a->r, numa_machine(a->f)->cpus);
	case NUMA_CONCURRENT:
		return numa_spread_already(a) ? NULL : "";
	default:
		return NULL;
	}
}

void numa_trial(struct advice *a)
{
	u32 pid = a->largest.tgid;
	const char *of, *to;
	struct page_range range;
	bool spread;

	to = is_movable(a) ? trial_to(a, &range, &of) : NULL;
	if (!to)
		return;
	spread = a->v->pattern == NUMA_CONCURRENT;
	if (!spread && is_moved(a)) {
		finding_line(a->r, a->to->try_,
			"A trial (numa try) would find nothing to move: NUMA balancing has already "
			"moved its pages");
		return;
	}
	if (!numa_runs(a)) {
		finding_line(a->r, a->to->try_,
			"To try that when it runs again, measured before and after, run memwhy "
			"numa -p on it: that prints the command");
		return;
	}
	if (spread)
		finding_line(a->r, a->to->try_,
			"Try to interleave %s while process %u runs, measured before and after (as "
			"many accesses stay remote: LATENCY shows it, with hardware samples): "
			"`memwhy "
			"numa try -p %u 0x%llx-0x%llx --interleave`",
			of, pid, pid, range.start, range.end);
	else
		finding_line(a->r, a->to->try_,
			"Try to move %s while process %u runs, measured before and after: `memwhy "
			"numa try -p %u 0x%llx-0x%llx --to %s`",
			of, pid, pid, range.start, range.end, to);
	finding_line(a->r, a->to->undo, "`memwhy numa try -p %u --undo`", pid);
}

/* The other node that most accesses went to; -1: none. */
static s32 lies_on(const struct numa_sums *s, s32 user)
{
	s32 on = -1;

	for (s32 i = 0; i < NUMA_NODES; i++)
		if (i != user && s->to[i] && (on < 0 || s->to[i] > s->to[on]))
			on = i;
	return on;
}

/* What a remote access costs more than a local one, and how that is known. 0: it is not. */
static u64 extra_ns(const struct advice *a, const char **ret_how)
{
	const struct numa_sums *s = &a->g->sums;
	const struct numa_verdict *v = a->v;
	u32 near, far;
	s32 from;

	if (!s->cycles && s->latency_n[0] && s->latency_n[1]) {
		u64 local = s->latency_sum[0] / s->latency_n[0];
		u64 remote = s->latency_sum[1] / s->latency_n[1];

		*ret_how = "by the latencies";
		return remote > local ? remote - local : 0;
	}
	from = lies_on(s, v->user);
	if (v->user < 0 || from < 0)
		return 0;
	near = numa_machine(a->f)->distances[v->user][v->user];
	far = numa_machine(a->f)->distances[v->user][from];
	if (!near || far <= near)
		return 0;
	*ret_how = report_text(a->r, "estimated: distance %u against %u, %u ns for a local one",
		far, near, LOCAL_NS);
	return (u64)LOCAL_NS * (far - near) / near;
}

/* The remote accesses that were seen, as far as they tell how many there are. */
static const char *seen_text(const struct advice *a, u64 pages)
{
	const struct numa_sums *s = &a->g->sums;

	if (s->hint_samples || s->accesses == s->samples || a->g->n > 1)
		return "the samples do not tell how many there are";
	return report_text(a->r, "here there were about %.1f a page in %.1f s (estimated)",
		(double)s->remote / (double)pages, report_seconds(a->r));
}

void numa_move_cost(struct advice *a)
{
	struct page_range all = numa_largest_pages(a);
	u64 pages = (all.end - all.start) / 4096, extra;
	const char *how = "";
	char took[UNIT_BUF];

	if (!pages)
		return;
	extra = extra_ns(a, &how);
	finding_line(a->r, a->to->evidence,
		"To move %s %llu page%s takes about %s, once (estimated: %u us a page; numa try "
		"shows what it took)",
		a->g->n > 1 ? "the largest of them," : "its", (unsigned long long)pages,
		plural(pages), fmt_ns(took, pages * MOVE_NS), MOVE_NS / 1000);
	if (!extra)
		return;
	finding_line(a->r, a->to->evidence,
		"A remote access to memory takes about %llu ns more (%s): the move pays from %llu "
		"a page on; %s",
		(unsigned long long)extra, how, (unsigned long long)((MOVE_NS + extra - 1) / extra),
		seen_text(a, pages));
}
