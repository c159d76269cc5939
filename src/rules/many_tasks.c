/* Tasks and mappings by the thousand: threads, child processes, those that have ended and that
 * nobody waited for, mappings that are never unmapped. Each is told by who has most of them. */
#include "base/units.h"
#include "rules/holdings.h"
#include "rules/kernel_memory.h"

#define MANY_THREADS 2000
#define ZOMBIE_BYTES (10ULL << 10) /* task_struct and signal_struct, and what hangs on them */
#define THREADS_MORE 100
#define MANY_MAPPINGS 3000
#define MAPPING_BYTES 256

static void threads_lines(struct report *r, struct finding *x, const struct held *h, u32 tgid)
{
	char a[UNIT_BUF];

	finding_line(r, x->evidence, "kernel stacks of all %llu threads of the machine: %s",
		facts_last(&h->facts, "task/threads"),
		fmt_bytes(a, facts_last(&h->facts, "KernelStack")));
	x->why = "Each thread has a kernel stack of 16 KiB and about 10 KiB of other kernel "
		 "structures, besides its user stack, even when idle.";
	finding_line(r, x->try_, "Bound the pool that starts them; until then the kernel can:");
	finding_line(r, x->try_,
		"`ps -o pid,ppid,nlwp,stat,etime,args --sort=-nlwp --ppid %u -p %u | head`", tgid,
		tgid);
	finding_line(r, x->try_, "Or limit its cgroup: pids.max of the pids controller.");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`grep KernelStack: /proc/meminfo`");
}

static u64 threads(const struct held_process *p)
{
	return p->threads;
}

static void tell_threads(struct report *r, const struct held *h)
{
	struct held_top t = held_most(h, threads);
	u64 bytes = t.bytes * HELD_THREAD_BYTES;
	struct finding *x;
	bool more = t.bytes > t.first_bytes + THREADS_MORE;
	char a[UNIT_BUF];

	/* Fewer, where there are ever more of them. */
	if (t.bytes < (more ? MANY_THREADS / 4 : MANY_THREADS))
		return;
	x = held_finding(r, MAX(held_level(r, bytes), (int)LEVEL_NOTE), "many-threads", bytes);
	if (!x)
		return;
	held_in_kernel(x, bytes, t.first_bytes * HELD_THREAD_BYTES);
	if (more)
		x->losses |= LOSS_SPACE; /* each has a stack of its own, and a guard below it */
	x->tgid = t.most->last.tgid;
	x->title = report_text(r, "%s has %llu threads%s: about %s of kernel stacks and structures",
		held_who(r, &t), t.bytes, more ? ", and ever more" : "", fmt_bytes(a, bytes));
	x->confidence = "high for the count; the memory is estimated at 32 KiB a thread";
	if (t.bytes > t.first_bytes)
		finding_line(r, x->evidence, "%llu more than a few seconds before",
			t.bytes - t.first_bytes);
	if (more)
		finding_line(r, x->try_,
			"See which code starts them: `memwhy count --stacks=user --for 10s -p %u "
			"sched:sched_process_fork`",
			t.most->last.tgid);
	threads_lines(r, x, h, t.most->last.tgid);
}

static void tell_children(struct report *r, const struct held *h, u32 told)
{
	const struct held_children *most = NULL;
	struct finding *x;
	u64 bytes;
	char a[UNIT_BUF];

	for (size_t i = 0; i < h->parents.n; i++) {
		const struct held_children *c = groups_value(&h->parents, i);

		if (!most || c->children > most->children)
			most = c;
	}
	/* Where the look ended before all were counted, there are more. */
	if (!most || most->tgid == told || most->children < MANY_THREADS / (most->partial ? 2 : 1))
		return;
	/* One that has ended has no stack any more. */
	bytes = (most->threads - MIN(most->zombies, most->threads)) * HELD_THREAD_BYTES +
		most->zombies * ZOMBIE_BYTES;
	x = held_finding(r, MAX(held_level(r, bytes), (int)LEVEL_NOTE), "many-processes", bytes);
	if (!x)
		return;
	held_in_kernel(x, bytes, 0);
	x->tgid = most->tgid;
	x->title = report_text(r,
		"%s (pid %u) has %s%llu child processes, %llu of them ended and not waited for: "
		"about %s of kernel %sstructures",
		held_text(r, most->name), most->tgid, most->partial ? "at least " : "",
		most->children, most->zombies, fmt_bytes(a, bytes),
		most->zombies < most->children ? "stacks and " : "");
	x->confidence = most->partial
				? "high that there are so many: not all processes were read; the "
				  "memory is estimated at 32 KiB per thread, 10 KiB if it has ended"
				: "high for the count; the memory is estimated at 32 KiB per "
				  "thread, 10 KiB if it has ended";
	finding_line(r, x->evidence, "one of them: %s; page tables of all: %s",
		held_text(r, most->child), fmt_bytes(a, most->page_table_bytes));
	threads_lines(r, x, h, most->tgid);
}

#define ZOMBIES_MORE 50 /* between two looks: fewer may be on their way out */
#define ZOMBIES_SOON_S 600.0

/* How many more a second, between its first look and its last; 0: hardly any. */
static double zombies_rate(const struct held *h, const struct held_children *c)
{
	const struct held_children *first = groups_find(&h->parents_first, &c->tgid);
	double seconds = first ? (double)(c->h.time_ns - first->h.time_ns) / 1e9 : 0;
	u64 more = first ? counter_rise(first->zombies, c->zombies) : 0;

	return seconds > 0 && more >= ZOMBIES_MORE ? (double)more / seconds : 0;
}

static const struct held_children *zombies_most(const struct held *h)
{
	const struct held_children *most = NULL;

	for (size_t i = 0; i < h->parents.n; i++) {
		const struct held_children *c = groups_value(&h->parents, i);

		if (c->zombies && (!most || zombies_rate(h, c) > zombies_rate(h, most)))
			most = c;
	}
	return most;
}

/* A parent that does not wait. What these keep is little memory, but numbers and places of tasks:
 * at a limit no fork() succeeds any more, for anybody below it. Who was told, or 0. */
static u32 tell_zombies(struct report *r, const struct held *h)
{
	const struct held_children *c = zombies_most(h);
	double rate = c ? zombies_rate(h, c) : 0,
	       left = rate > 0 && c->room ? (double)c->room / rate : HELD_NEVER_S;
	struct finding *x;
	char a[UNIT_BUF];

	if (rate <= 0 || left > HELD_SOON_S)
		return 0;
	x = held_finding(r, left < ZOMBIES_SOON_S ? LEVEL_WARNING : LEVEL_RISK, "many-processes",
		c->zombies * ZOMBIE_BYTES);
	if (!x)
		return 0;
	held_in_kernel(x, c->zombies * ZOMBIE_BYTES, 0);
	x->tgid = c->tgid;
	x->title = report_text(r,
		"%s (pid %u) does not wait for children that end: %llu are kept (zombies), %.0f "
		"more a second, and %s is reached in %s",
		held_text(r, c->name), c->tgid, c->zombies, rate, held_text(r, c->limit),
		time_left_text(r, left));
	x->confidence = "high for the count and the rate, medium for the time: whether it "
			"continues is not known";
	finding_line(r, x->evidence, "one of them: %s; it has %llu children that run",
		held_text(r, c->child), c->children - MIN(c->zombies, c->children));
	finding_line(
		r, x->evidence, "%s leaves room for %llu tasks", held_text(r, c->limit), c->room);
	finding_line(r, x->evidence, "they take about %s of kernel structures",
		fmt_bytes(a, c->zombies * ZOMBIE_BYTES));
	x->why = "A process that has ended keeps its PID and counts as a task until its parent "
		 "waits for it. At the limit fork() fails for everything under it.";
	finding_line(r, x->try_,
		"In that program: waitpid() on SIGCHLD, or ignore SIGCHLD (SA_NOCLDWAIT) if no "
		"status is needed. If it is the first process of a container: start that with an "
		"init (docker run --init).");
	finding_line(r, x->try_,
		"They go away when it ends, as their new parent waits for them: restart it.");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`ps --ppid %u -o stat= | grep -c Z`", c->tgid);
	return c->tgid;
}

static u64 mappings(const struct held_process *p)
{
	return p->mappings;
}

/* How many more mappings it has a second, at most: as many as the machine has more, by the cache
 * that they are in, and as its address space has more pages. */
static double mappings_rate(
	const struct report *r, const struct facts *f, const struct held_both *b)
{
	char name[SLAB_CACHE_NAME_LEN] = "vm_area_struct";
	const struct slab_usage *s = groups_find(&f->slabs, name);
	double all = s ? (double)counter_rise(s->first_active_objects, s->active_objects) /
				     report_seconds(r)
		       : 0;
	double pages = (double)counter_rise(b->first.vm_bytes, b->last.vm_bytes) /
		       (double)MAX(r->stream->host.page_bytes, 1U);

	return MIN(all, pages / report_seconds(r));
}

/* Stacks of threads that have ended, as far as its mappings tell: most of these are stacks, or
 * their guards, of more than the threads that it has. */
static u64 stacks_left(const struct held_process *p)
{
	u64 left = counter_rise(p->threads, p->guarded);

	return left * 4 >= p->mappings ? left : 0;
}

static void tell_stacks(struct report *r, struct finding *x, const struct held_process *p)
{
	finding_line(r, x->evidence,
		"%llu of its mappings have a guard page below them, as thread stacks do, and it "
		"has %u thread%s: the rest belong to ended threads",
		p->guarded, p->threads, plural(p->threads));
	x->why = "The stack and return value of an ended thread are kept until another thread "
		 "calls pthread_join(), unless it was detached. Each stack is two mappings and 8 "
		 "MiB of address space, and keeps the pages it touched.";
	finding_line(r, x->try_,
		"Join each thread (pthread_join), or start it detached (pthread_detach(), "
		"PTHREAD_CREATE_DETACHED).");
	finding_line(r, x->try_,
		"Find who starts them: `memwhy maps --stacks=user --for 30s -p %u`", x->tgid);
}

static void tell_mapped(struct report *r, struct finding *x)
{
	x->why = "Each mapping is a kernel object, and a process may have at most vm.max_map_count "
		 "of them, however small.";
	finding_line(r, x->try_,
		"Find who maps and does not unmap: `memwhy maps --stacks=user --for 30s -p %u`",
		x->tgid);
	finding_line(r, x->try_, "What is mapped most often:");
	finding_line(r, x->try_,
		"`awk '{print $6}' /proc/%u/maps | sort | uniq -c | sort -rn | head`", x->tgid);
}

/* Mappings that a process makes and does not unmap: small ones, so that not their size but their
 * number will hurt. */
static void tell_mappings(struct report *r, const struct held *h)
{
	struct held_top t = held_most_process(h, mappings);
	u64 limit = facts_last(&h->facts, "vm.max_map_count");
	double rate = t.most ? mappings_rate(r, &h->facts, t.most) : 0, left;
	struct finding *x;
	u64 stacks;

	if (t.bytes < MANY_MAPPINGS || !limit || rate < 1)
		return;
	left = (double)(limit - MIN(t.bytes, limit)) / rate;
	x = held_finding(r, left < HELD_SOON_S ? LEVEL_RISK : LEVEL_NOTE, "mappings-leaked",
		t.bytes * MAPPING_BYTES);
	if (!x)
		return;
	x->tgid = t.most->last.tgid;
	x->folds = 1;
	x->losses = LOSS_SPACE;
	stacks = stacks_left(&t.most->last);
	x->title = report_text(r,
		"%s maps memory and does not unmap it: it has %llu mappings%s, and about %.0f more "
		"a second (mappings leaked)",
		held_name(r, &t.most->last), t.bytes,
		stacks ? ", most of them stacks of ended threads that were never joined" : "",
		rate);
	x->confidence = "medium: its mappings were counted; the rate is that of the whole machine, "
			"from the kernel's cache of mappings, as far as its address space grew";
	finding_line(r, x->evidence,
		"vm.max_map_count is %llu: at this rate it is reached in %s, and then every mmap "
		"fails",
		limit, time_left_text(r, left));
	if (stacks)
		tell_stacks(r, x, &t.most->last);
	else
		tell_mapped(r, x);
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`wc -l /proc/%u/maps`", x->tgid);
}

void tell_tasks(struct report *r, const struct held *h)
{
	tell_threads(r, h);
	tell_children(r, h, tell_zombies(r, h));
	tell_mappings(r, h);
}
