/* See numa_fixes.h. */
#include "probes/numa/judge/numa_fixes.h"

#include "probes/numa/judge/numa_move_advice.h"

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

const char *numa_words(const struct advice *a)
{
	return a->largest.tgid ? numa_bound_command(a->bound, a->r, a->largest.tgid) : NULL;
}

/* Where it is, as an argument of a call in its program: of a process that has ended no address. */
static const char *address_text(const struct advice *a)
{
	if (!numa_runs(a))
		return "its address";
	return report_text(a->r, "(void *)0x%llx", (unsigned long long)numa_largest_pages(a).start);
}

/* The call that moves pages to nodes: code of a program, not a command. */
static const char *mbind_text(const struct advice *a, const char *mode, u64 nodes)
{
	struct page_range of = numa_largest_pages(a);

	return report_text(a->r, "mbind(%s, %llu, %s, (unsigned long[]){0x%llx}, 65, MPOL_MF_MOVE)",
		address_text(a), (unsigned long long)(of.end - of.start), mode,
		(unsigned long long)nodes);
}

static u64 bit(s32 node)
{
	return node >= 0 && node < NUMA_NODES ? 1ULL << node : 0;
}

/* Of a move to this node; -1: to several. Where balancing moved it since, it lies there already. */
static void undo_move(struct advice *a, s32 to)
{
	if (a->v->home >= 0 && a->v->home != to && numa_runs(a))
		finding_line(a->r, a->to->undo, "%s", mbind_text(a, "MPOL_BIND", bit(a->v->home)));
	else
		finding_line(a->r, a->to->undo, "Remove the move again");
}

static void try_producer(struct advice *a)
{
	numa_move_cost(a);
	a->to->why = "A page lies on the node where it was first touched. What one node allocates "
		     "and fills and another one uses is remote for every use.";
	finding_line(a->r, a->to->try_,
		"Let the thread that uses it allocate it, or touch it first (memset by the "
		"consuming thread, not the allocating one)");
	finding_line(a->r, a->to->try_,
		"Or move it before its use, if that pays (see the evidence): %s",
		mbind_text(a, "MPOL_BIND", bit(a->v->user)));
	undo_move(a, a->v->user);
}

static u32 last_cpu(const struct advice *a)
{
	return (u32)MAX(a->r->stream->host.cpus, 1U) - 1;
}

static void try_alternating(struct advice *a)
{
	const char *cpus = cpus_text(a, a->v->home);
	u32 pid = a->largest.tgid;

	a->to->why = "Several nodes use it, but in turns: it could be local each time.";
	if (*cpus && numa_runs(a)) {
		finding_line(a->r, a->to->try_,
			"Let its threads run where it lies: `taskset -acp %s %u`", cpus, pid);
		finding_line(a->r, a->to->undo,
			"Let its threads run on all CPUs again: `taskset -acp 0-%u %u`",
			last_cpu(a), pid);
	} else if (a->v->home >= 0) {
		NUMA_RUN(a, a->to->try_, "Let its threads run where it lies",
			"numactl --cpunodebind=%d", a->v->home);
	}
	finding_line(a->r, a->to->try_,
		"Or run each turn on threads of one node; or move it between turns: %s",
		mbind_text(a, "MPOL_BIND", bit(a->v->user)));
}

bool numa_spread_already(const struct advice *a)
{
	u32 nodes = (u32)__builtin_popcountll(numa_from_mask(&a->groups->all));

	return a->v->home_ratio < SPREAD / MAX(nodes, 2U);
}

static void try_concurrent(struct advice *a)
{
	u64 nodes = numa_from_mask(a->groups->all.samples ? &a->groups->all : &a->g->sums);
	const struct numa_sums *s = &a->g->sums;

	a->to->why =
		"Several nodes use the same parts of it at the same time: wherever it lies, it "
		"is remote for most of them, and one memory controller serves all.";
	if (s->loads && !s->stores && a->g->hints.samples)
		finding_line(a->r, a->to->try_,
			"If it is only read, give each node a copy, made by a thread of that node "
			"(no fault was a store, but only the first access of each scan is seen)");
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
		"Or interleave it: accesses stay remote, but all controllers share them: %s",
		mbind_text(a, "MPOL_INTERLEAVE", nodes));
	undo_move(a, -1);
}

static void try_unclear(struct advice *a)
{
	u64 nodes = numa_from_mask(&a->g->sums);

	a->to->why = "Several nodes use the same pages. The fix depends on whether at the same "
		     "time or in turns, which hint faults do not tell here.";
	if (numa_runs(a))
		finding_line(a->r, a->to->try_,
			"Run longer, or sample more often (--source hardware shows it, if there is "
			"a PMU): `memwhy numa --scan 200ms --for 30s -p %u`",
			a->largest.tgid);
	else
		NUMA_RUN(a, a->to->try_,
			"Run longer, or sample more often (--source hardware shows it, if there is "
			"a PMU)",
			"memwhy numa --scan 200ms --");
	finding_line(a->r, a->to->try_,
		"If they use it at the same time, spread it: %s; if in turns, let its threads run "
		"on one node",
		mbind_text(a, "MPOL_INTERLEAVE", nodes));
	undo_move(a, -1);
}

static void try_partitioned(struct advice *a)
{
	a->to->why = "Each node uses a part of its own, but one thread touched all of it first, so "
		     "that it all lies on one node.";
	finding_line(a->r, a->to->try_,
		"Let each thread initialise the part that it will use (first touch in parallel), "
		"with threads pinned: OMP_PROC_BIND=true, or pthread_setaffinity_np");
	NUMA_RUN(a, a->to->try_, "Without changing the program", "numactl -i all");
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
			"Align each thread's part to 2 MiB, or use base pages for this memory: "
			"madvise(%s, %llu, MADV_NOHUGEPAGE)",
			address_text(a), (unsigned long long)(of.end - of.start));
		finding_line(a->r, a->to->undo, "madvise with MADV_HUGEPAGE, or without the call");
		return;
	}
	finding_line(a->r, a->to->try_,
		"Align each thread's part to a page: aligned_alloc(4096, size), or an allocator "
		"with an arena per thread");
	finding_line(a->r, a->to->undo, "The previous layout");
}

static void try_page_cache(struct advice *a)
{
	const char *path = stream_string(a->r->stream, a->g->site.file);

	a->to->why = "The pages of a file lie on the node that read it first, and stay there as "
		     "long as they are cached, whoever reads them later.";
	if (!path || *path != '/') {
		finding_line(a->r, a->to->try_,
			"Drop it from the page cache, and read it on the node that uses it");
		finding_line(a->r, a->to->undo, "Nothing but the cache changes");
		return;
	}
	finding_line(a->r, a->to->try_,
		"Read it on the node that uses it, once the cached pages are gone: `dd of=%s "
		"oflag=nocache conv=notrunc,fdatasync count=0`, then `numactl --cpunodebind=%d "
		"cat %s >/dev/null`",
		path, a->v->user, path);
	finding_line(a->r, a->to->undo,
		"The same on the previous node; nothing but the cache changes: `numactl "
		"--cpunodebind=%d cat %s >/dev/null`",
		a->v->home, path);
}

static void try_moved(struct advice *a)
{
	const char *cpus = cpus_text(a, a->v->home);
	const struct numa_thread *t =
		numa_thread(a->f, a->g->site.thread ? a->g->site.thread - 1 : a->largest.thread);

	a->to->why = "The thread that allocated this memory uses it, but now runs on another node: "
		     "the scheduler moved it, or a policy put its memory elsewhere.";
	if (*cpus && t && !t->end_ns) {
		finding_line(a->r, a->to->try_,
			"Keep the thread where its memory is: `taskset -cp %s %u`", cpus, t->tid);
		finding_line(a->r, a->to->undo, "`taskset -cp 0-%u %u`", last_cpu(a), t->tid);
	}
	NUMA_RUN(a, a->to->try_, "Or pin threads before they allocate", "numactl --cpunodebind=%d",
		a->v->home);
}

static void try_tier(struct advice *a)
{
	a->to->why =
		"A node without CPUs is a slower tier of memory (CXL, PMEM). What is used often "
		"should not be there.";
	finding_line(a->r, a->to->try_,
		"Let the kernel promote what is used: `sysctl kernel.numa_balancing=2`");
	finding_line(a->r, a->to->try_, "Or move it: %s",
		mbind_text(a, "MPOL_BIND", numa_machine(a->f)->cpus));
	finding_line(
		a->r, a->to->undo, "Restore the present value: `sysctl kernel.numa_balancing`");
}

static void (*const tries[NUMA_PATTERNS])(struct advice *) = {
	[NUMA_PRODUCER] = try_producer,
	[NUMA_ALTERNATING] = try_alternating,
	[NUMA_CONCURRENT] = try_concurrent,
	[NUMA_PARTITIONED] = try_partitioned,
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
