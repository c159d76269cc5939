/* See numa_fixes.h. */
#include "probes/numa/numa_fixes.h"

#include "probes/numa/numa_move.h"

#define SPREAD 1.2 /* times its even share: a node has no more than its part of an object */

/* CPUs of a node, as taskset takes them; "" where they are not known. */
static const char *cpus_text(const struct advice *a, s32 node)
{
	_cleanup_str_ struct str s = {};

	for (u32 cpu = 0; node >= 0 && cpu < NUMA_CPUS; cpu++) {
		u32 to = cpu;

		if (numa_cpu_node(a->f, cpu) != node)
			continue;
		while (to + 1 < NUMA_CPUS && numa_cpu_node(a->f, to + 1) == node)
			to++;
		str_addf(&s, "%s%u", s.len ? "," : "", cpu);
		if (to > cpu)
			str_addf(&s, "-%u", to);
		cpu = to;
	}
	return report_text(a->r, "%s", str_get(&s));
}

/* The call that moves pages to nodes, as code of a program, and its arguments. */
#define MBIND "mbind((void *)0x%llx, %llu, %s, (unsigned long[]){0x%llx}, 65, MPOL_MF_MOVE)"
#define MBIND_OF(range, mode, nodes) (range).start, (range).end - (range).start, mode, (u64)(nodes)

static u64 bit(s32 node)
{
	return node >= 0 && node < NUMA_NODES ? 1ULL << node : 0;
}

/* Of a move to this node; -1: to several. Where balancing moved it since, it lies there already. */
static void undo_move(struct advice *a, s32 to)
{
	struct page_range of = numa_largest_pages(a);

	if (a->v->home >= 0 && a->v->home != to)
		finding_line(a->r, a->to->undo, "`" MBIND "`",
			MBIND_OF(of, "MPOL_BIND", bit(a->v->home)));
	else
		finding_line(a->r, a->to->undo, "Leave the move out, as before");
}

static void try_producer(struct advice *a)
{
	struct page_range of = numa_largest_pages(a);

	numa_move_cost(a);
	a->to->why = "A page lies on the node where it was first touched. What one node allocates "
		     "and fills, and another one uses, is remote for all of that use.";
	finding_line(a->r, a->to->try_,
		"Let the thread that uses it allocate it, or touch it first (memset by the "
		"consuming thread, not the allocating one)");
	finding_line(a->r, a->to->try_,
		"Or move it before its use, where that pays (see the evidence): `" MBIND "`",
		MBIND_OF(of, "MPOL_BIND", bit(a->v->user)));
	undo_move(a, a->v->user);
}

static void try_alternating(struct advice *a)
{
	struct page_range of = numa_largest_pages(a);
	const char *cpus = cpus_text(a, a->v->home);

	a->to->why = "Several nodes use it, but in turns: at each time it could be local.";
	if (*cpus)
		finding_line(a->r, a->to->try_,
			"Let its threads run where it lies: `taskset -cp %s TID` for each of them",
			cpus);
	finding_line(a->r, a->to->try_,
		"Or give each turn to threads of one node; or move it as the turn goes over: "
		"`" MBIND "`",
		MBIND_OF(of, "MPOL_BIND", bit(a->v->user)));
	finding_line(a->r, a->to->undo,
		"Let a thread run on all CPUs again: `taskset -cp 0-%u TID`",
		(u32)MAX(a->r->stream->host.cpus, 1U) - 1);
}

bool numa_spread_already(const struct advice *a)
{
	u32 nodes = (u32)__builtin_popcountll(numa_from_mask(&a->groups->all));

	return a->v->home_ratio < SPREAD / MAX(nodes, 2U);
}

static void try_concurrent(struct advice *a)
{
	struct page_range of = numa_largest_pages(a);
	u64 nodes = numa_from_mask(a->groups->all.samples ? &a->groups->all : &a->g->sums);
	const struct numa_sums *s = &a->g->sums;

	a->to->why =
		"Several nodes use the same parts of it at the same time: wherever it lies, it "
		"is remote for most of them, and one memory controller serves all.";
	if (s->loads && !s->stores && a->g->coarse.samples)
		finding_line(a->r, a->to->try_,
			"If it is only read give each node a copy, made by a thread of that node "
			"(no fault was by a store, but of each scan only the first access is "
			"seen)");
	else if (s->loads && !s->stores)
		finding_line(a->r, a->to->try_,
			"It is only read (no store in %llu samples): give each node a copy, made "
			"by "
			"a thread of that node",
			s->samples);
	else if (!s->stores)
		finding_line(a->r, a->to->try_,
			"If it is only read (the samples do not tell loads from stores): give each "
			"node a copy");
	if (a->g->n > 8)
		finding_line(a->r, a->to->try_,
			"These are %u objects: let each be allocated by the node that uses it "
			"most, "
			"or spread them over the nodes in turn",
			a->g->n);
	if (numa_spread_already(a))
		return;
	finding_line(a->r, a->to->try_,
		"Or interleave it: as many remote accesses, but all controllers share them: `" MBIND
		"`",
		MBIND_OF(of, "MPOL_INTERLEAVE", nodes));
	undo_move(a, -1);
}

static void try_unclear(struct advice *a)
{
	struct page_range of = numa_largest_pages(a);
	u64 nodes = numa_from_mask(&a->g->sums);

	a->to->why = "Several nodes use the same pages. Whether at the same time or in turns hint "
		     "faults do not tell here, and the fix depends on it.";
	finding_line(a->r, a->to->try_,
		"Look longer, or more often: `memwhy numa --scan 200ms --for 30s -p PID`; where "
		"there is a PMU, `memwhy numa --source hardware -- ./job` tells it");
	finding_line(a->r, a->to->try_,
		"If they use it at the same time, spread it: `" MBIND
		"`; if in turns, let its threads "
		"run on one node",
		MBIND_OF(of, "MPOL_INTERLEAVE", nodes));
	undo_move(a, -1);
}

static void try_parted(struct advice *a)
{
	a->to->why = "Each node uses a part of its own, but one thread touched all of it first, so "
		     "that it all lies on one node.";
	finding_line(a->r, a->to->try_,
		"Let each thread initialise the part that it will use (first touch in parallel), "
		"with threads pinned: OMP_PROC_BIND=true, or pthread_setaffinity_np");
	finding_line(a->r, a->to->try_, "Without a change of the program: `numactl -i all ./job`");
	finding_line(a->r, a->to->undo, "Run it without numactl, as before");
}

static void try_false(struct advice *a)
{
	bool huge = a->v->pattern == NUMA_FALSE_HUGE;
	struct page_range of = numa_largest_pages(a);

	a->to->why = huge ? "Nodes use base pages of their own, but these lie in one huge page, "
			    "which can be on one node only."
			  : "Nodes use lines of their own, but these lie in one page, which can be "
			    "on one node only.";
	if (huge) {
		finding_line(a->r, a->to->try_,
			"Give each thread its part at a boundary of 2 MiB, or let this memory have "
			"base pages: `madvise((void *)0x%llx, %llu, MADV_NOHUGEPAGE)`",
			(unsigned long long)of.start, (unsigned long long)(of.end - of.start));
		finding_line(a->r, a->to->undo, "`madvise(..., MADV_HUGEPAGE)`");
		return;
	}
	finding_line(a->r, a->to->try_,
		"Give each thread its part at a boundary of a page: aligned_alloc(4096, size), or "
		"an allocator with an arena for each thread");
	finding_line(a->r, a->to->undo, "The layout of before");
}

static void try_page_cache(struct advice *a)
{
	a->to->why =
		"The pages of a file lie on the node that read it first, and stay there as long "
		"as they are cached, for whoever comes later.";
	finding_line(a->r, a->to->try_,
		"Read it on the node that uses it, once the cached pages are gone: `dd of=FILE "
		"oflag=nocache conv=notrunc,fdatasync count=0`, then `numactl --cpunodebind=%d "
		"cat FILE >/dev/null`",
		a->v->user);
	finding_line(a->r, a->to->undo,
		"The same on the node of before; nothing but the cache changes: `numactl "
		"--cpunodebind=%d cat FILE >/dev/null`",
		a->v->home);
}

static void try_moved(struct advice *a)
{
	const char *cpus = cpus_text(a, a->v->home);
	const struct numa_thread *t =
		numa_thread(a->f, a->g->site.thread ? a->g->site.thread - 1 : a->largest.thread);

	a->to->why =
		"The thread that made this memory is its user, but runs on another node by now: "
		"the scheduler moved it, or a policy put its memory elsewhere.";
	if (*cpus)
		finding_line(a->r, a->to->try_,
			"Keep the thread where its memory is: `taskset -cp %s %s`", cpus,
			t ? report_text(a->r, "%u", t->tid) : "TID");
	finding_line(a->r, a->to->try_,
		"Or pin threads before they allocate: `numactl --cpunodebind=%d ./job`",
		a->v->home);
	finding_line(a->r, a->to->undo, "`taskset -cp 0-%u %s`",
		(u32)MAX(a->r->stream->host.cpus, 1U) - 1,
		t ? report_text(a->r, "%u", t->tid) : "TID");
}

static void try_tier(struct advice *a)
{
	struct page_range of = numa_largest_pages(a);

	a->to->why =
		"A node without CPUs is a slower tier of memory (CXL, PMEM). What is used often "
		"should not be there.";
	finding_line(a->r, a->to->try_,
		"Let the kernel bring back what is used: `sysctl kernel.numa_balancing=2`");
	finding_line(a->r, a->to->try_, "Or move it: `" MBIND "`",
		MBIND_OF(of, "MPOL_BIND", numa_machine(a->f)->cpus));
	finding_line(a->r, a->to->undo,
		"With the value it has now: `sysctl kernel.numa_balancing=VALUE`");
}

static void (*const tries[NUMA_PATTERNS])(struct advice *) = {
	[NUMA_PRODUCER] = try_producer,
	[NUMA_ALTERNATING] = try_alternating,
	[NUMA_CONCURRENT] = try_concurrent,
	[NUMA_PARTED] = try_parted,
	[NUMA_FALSE_PAGE] = try_false,
	[NUMA_FALSE_HUGE] = try_false,
	[NUMA_PAGE_CACHE] = try_page_cache,
	[NUMA_MOVED_AWAY] = try_moved,
	[NUMA_SLOW_TIER] = try_tier,
	[NUMA_UNCLEAR] = try_unclear,
};

void numa_fix(struct advice *a)
{
	tries[a->v->pattern](a);
	numa_trial(a);
}
