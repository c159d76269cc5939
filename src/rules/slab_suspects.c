/* See slab_suspects.h. */
#include "rules/slab_suspects.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "probes/waits/waits.h"

#define SUSPECT_LEAST 1000 /* files, threads */
#define CHILDREN_LEAST 200
#define PERCPU_LEAST (2ULL << 20)
#define TAKER_LEAST 100
#define TAKER_TIMES 3.0
#define LARGE_ORDER 2 /* of pages: what kmalloc() takes for a block that is in no cache */
#define LARGE_TAKER (4ULL << 20)
#define UNMOVABLE 0    /* enum migratetype: what the kernel takes for itself */
#define MOST 9e18      /* of bytes; records hold anything */
#define PAGES_LEAST 64 /* in the sample: fewer may be chance */
#define PAGES_TIMES 3  /* drains that it was seen in */
#define PAGES_PART 0.5 /* of what grew, at least, … */
#define PAGES_MOST 3.0 /* … and at most so many times that: more is something else */

/* Who takes memory on each CPU. */
struct taker {
	u64 count, last_ns;
	u32 times; /* in how many drains */
};

/* Who takes pages for the kernel, and frees pages. */
struct page_taker {
	u64 taken, freed, last_ns;
	u32 times;
};

void slab_makers_init(struct slab_makers *m)
{
	groups_init(&m->takers, sizeof(u32), sizeof(struct taker));
	groups_init(&m->blocks, sizeof(u32), sizeof(u64));
	groups_init(&m->pages, sizeof(u32), sizeof(struct page_taker));
}

void slab_makers_reset(struct slab_makers *m)
{
	groups_clear(&m->takers);
	groups_clear(&m->blocks);
	groups_clear(&m->pages);
	m->sampled = (struct pages_sampled){};
}

void slab_makers_free(struct slab_makers *m)
{
	groups_free(&m->takers);
	groups_free(&m->blocks);
	groups_free(&m->pages);
}

static int percpu_taker_feed(struct slab_makers *m, const struct waits_made *r)
{
	struct taker *t = r->kind == WAITS_PERCPU ? groups_get(&m->takers, &r->tgid) : NULL;

	if (r->kind != WAITS_PERCPU)
		return 0;
	if (!t)
		return -ENOMEM;
	t->count += r->count;
	/* Records of one drain, of several stacks, are nearer to each other. */
	t->times += r->h.time_ns >= t->last_ns + NSEC_PER_SEC / 2;
	t->last_ns = r->h.time_ns;
	return 0;
}

/* Pages that cannot be moved are what the kernel takes for itself; those that somebody took
 * together may be blocks of kmalloc. */
static int pages_alloc_feed(struct slab_makers *m, const struct pages_alloc *r)
{
	struct page_taker *t;
	u64 *bytes;

	if (r->who.order >= PAGES_ORDERS || r->who.migratetype != UNMOVABLE || !r->who.tgid)
		return 0;
	t = groups_get(&m->pages, &r->who.tgid);
	if (!t)
		return -ENOMEM;
	t->taken += r->count << r->who.order;
	t->times += r->count && r->h.time_ns >= t->last_ns + NSEC_PER_SEC / 2;
	t->last_ns = r->h.time_ns;
	if (r->who.order < LARGE_ORDER)
		return 0;
	bytes = groups_get(&m->blocks, &r->who.tgid);
	if (!bytes)
		return -ENOMEM;
	*bytes += r->count << (r->who.order + 12);
	return 0;
}

static int pages_free_feed(struct slab_makers *m, const struct pages_free *r)
{
	struct page_taker *t;

	if (r->who.order >= PAGES_ORDERS || !r->who.tgid)
		return 0;
	t = groups_get(&m->pages, &r->who.tgid);
	if (!t)
		return -ENOMEM;
	t->freed += r->count << r->who.order;
	return 0;
}

int slab_makers_feed(struct slab_makers *m, const struct rec *r)
{
	switch (r->kind) {
	case REC_PAGES_SAMPLED:
		pages_sampled_add(&m->sampled, (const struct pages_sampled *)r);
		return 0;
	case REC_PAGES_ALLOC:
		return pages_alloc_feed(m, (const struct pages_alloc *)r);
	case REC_PAGES_FREE:
		return pages_free_feed(m, (const struct pages_free *)r);
	case REC_WAITS_MADE:
		return percpu_taker_feed(m, (const void *)r);
	default:
		return 0;
	}
}

/* Files that it opened and has not closed, threads that it started: more than at the first look. */
static struct slab_suspect suspect_by_held(const struct held *h)
{
	struct slab_suspect most = {.n = SUSPECT_LEAST};

	for (size_t i = 0; i < h->processes.n; i++) {
		const struct held_both *p = groups_value(&h->processes, i);
		u64 files = counter_rise(p->first.files, p->last.files);
		u64 threads = counter_rise(p->first.threads, p->last.threads);

		if (MAX(files, threads) < most.n)
			continue;
		most.tgid = p->last.tgid;
		most.n = MAX(files, threads);
		most.what = files >= threads ? "more files open" : "more threads";
	}
	return most;
}

/* Who takes it all the time: a program that makes a large BPF map takes much, but once. */
static struct slab_suspect suspect_by_takers(const struct slab_makers *m, double seconds)
{
	struct slab_suspect most = {};
	u32 times = 0;

	for (size_t i = 0; i < m->takers.n; i++) {
		const struct taker *t = groups_value(&m->takers, i);

		if (t->count < TAKER_LEAST || t->times < times ||
			(t->times == times && t->count < most.n) ||
			t->times < MIN(TAKER_TIMES, seconds))
			continue;
		times = t->times;
		most.tgid = *(const u32 *)groups_key(&m->takers, i);
		most.n = t->count;
		most.what = "allocations on each CPU, as namespaces, mounts and control groups "
			    "have";
	}
	return most;
}

/* More children than at the first look. */
static struct slab_suspect suspect_by_children(const struct held *h)
{
	struct slab_suspect most = {.n = CHILDREN_LEAST};

	for (size_t i = 0; i < h->parents.n; i++) {
		const struct held_children *last = groups_value(&h->parents, i);
		const struct held_children *first = groups_find(&h->parents_first, &last->tgid);
		u64 n = first ? counter_rise(first->children, last->children) : 0;

		if (n < most.n)
			continue;
		most = (struct slab_suspect){last->tgid, n, "more children", false, false};
	}
	return most;
}

u64 slab_slots_bytes(const struct held_process *p)
{
	return p->slots_bytes;
}

const struct slab_usage *slab_large_find(const struct facts *f)
{
	char name[SLAB_CACHE_NAME_LEN] = SLAB_LARGE_NAME;

	return groups_find(&f->slabs, name);
}

/* Did blocks that are in no cache grow by most of this? */
static bool large_grew(const struct facts *f, u64 grown)
{
	const struct slab_usage *s = slab_large_find(f);
	u64 more = s ? counter_rise(s->first_bytes, s->bytes) : 0;

	return grown && more * SLAB_LARGE_PART >= grown;
}

/* From the sample to the whole time. */
static double sample_scale(const struct slab_makers *m)
{
	return m->sampled.bursts && m->sampled.on_ns
		       ? (double)m->sampled.covered_ns / (double)m->sampled.on_ns
		       : 1;
}

/* Who took most in such blocks meanwhile: of a sample, scaled up, it must be a good part of what
 * grew, for blocks that were given back count too. */
static struct slab_suspect suspect_by_blocks(const struct slab_makers *m, u64 grown)
{
	struct slab_suspect most = {};
	u64 bytes = 0;

	for (size_t i = 0; i < m->blocks.n; i++) {
		u64 taken = *(const u64 *)groups_value(&m->blocks, i);

		if (taken <= bytes)
			continue;
		bytes = taken;
		most.tgid = *(const u32 *)groups_key(&m->blocks, i);
	}
	most.n = (u64)MIN((double)bytes * sample_scale(m), MOST);
	most.what = "in blocks of 16 KiB and more in that time (a sample, scaled up)";
	most.took = true;
	most.bytes = true;
	return most.n >= LARGE_TAKER && most.n >= grown / SLAB_LARGE_PART ? most
									  : (struct slab_suspect){};
}

/* Whose pipes have arrays that grew by most of it. */
static struct slab_suspect suspect_by_slots(const struct held *h, u64 grown)
{
	struct held_top t = held_most(h, slab_slots_bytes);
	u64 more = t.most ? counter_rise(t.first_bytes, t.bytes) : 0;

	return more >= LARGE_TAKER && more * SLAB_LARGE_PART >= grown
		       ? (struct slab_suspect){t.most->last.tgid, more,
				 "more in its pipes' buffer arrays (F_SETPIPE_SZ)", true, false}
		       : (struct slab_suspect){};
}

static u64 pages_kept(const struct page_taker *t)
{
	return t->taken >= PAGES_LEAST && t->times >= PAGES_TIMES ? counter_rise(t->freed, t->taken)
								  : 0;
}

/* The one process that took about as much in pages for the kernel, less what it freed, as grew. */
static struct slab_suspect suspect_by_pages(const struct slab_makers *m, u64 grown)
{
	struct slab_suspect one = {};
	double least = PAGES_PART * (double)grown, bytes;

	for (size_t i = 0; i < m->pages.n; i++) {
		bytes = (double)(pages_kept(groups_value(&m->pages, i)) << 12) * sample_scale(m);
		if (bytes < least || !grown)
			continue;
		if (one.tgid || bytes > PAGES_MOST * (double)grown)
			return (struct slab_suspect){}; /* it may be another one's */
		one = (struct slab_suspect){*(const u32 *)groups_key(&m->pages, i),
			(u64)MIN(bytes, MOST),
			"more of pages for the kernel than it freed in that time (a sample, scaled "
			"up)",
			true, true};
	}
	return one;
}

/* That somebody took memory on each CPU is a witness only where that grew, too. */
struct slab_suspect slab_suspect_find(
	const struct slab_makers *m, const struct held *h, double seconds)
{
	u64 grown = facts_delta(&h->facts, "SUnreclaim");
	struct slab_suspect s = {};

	if (large_grew(&h->facts, grown)) {
		s = suspect_by_slots(h, grown);
		if (!s.tgid)
			s = suspect_by_blocks(m, grown);
	}
	if (!s.tgid)
		s = suspect_by_held(h);
	if (!s.tgid)
		s = suspect_by_children(h);
	if (!s.tgid && facts_delta(&h->facts, "Percpu") >= PERCPU_LEAST)
		s = suspect_by_takers(m, seconds);
	return s.tgid ? s : suspect_by_pages(m, grown);
}
