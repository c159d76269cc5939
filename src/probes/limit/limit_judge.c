/* See limit_judge.h. */
#include "probes/limit/limit_judge.h"

#include <math.h>

#include "base/less.h"
#include "base/util.h"

#define PAGE 4096ULL
#define STOCK_PAGES \
	64ULL           /* that each CPU has charged ahead (MEMCG_CHARGE_BATCH, mm/memcontrol.c) */
#define MARGIN_PART 32  /* of what is needed: reclaim does not know the oldest page exactly */
#define LATE_PART 4     /* the last quarter of the look */
#define SETTLED_PART 10 /* new memory in it may be this part of all */
#define ROOMY_PART 4
#define REFAULTS_LEAST 64
#define LOST_PART 100
#define STREAM_PART 4 /* room for what is used once, so that it does not push out the rest */
#define STEP (64ULL << 10)
/* Reclaim takes now and then a page that is needed: no less is promised. */
#define LEAST_RATIO 0.005

static u64 followed_bytes(const struct limit_files *f, u64 pages)
{
	return pages * f->stride * f->page_bytes;
}

static u64 first_late(const struct limit_files *f)
{
	u64 n = 0;

	for (u32 i = LIMIT_PARTS - LIMIT_PARTS / LATE_PART; i < LIMIT_PARTS; i++)
		n += f->first[i];
	return followed_bytes(f, n);
}

/* Of what is mapped: what came since the early look, as much as falls into the last quarter. */
static u64 mapped_late(const struct limit_facts *f, bool swaps)
{
	const struct limit_mapped *a = &f->early, *b = &f->mapped;
	u64 grown = u64_less(b->file_bytes, a->file_bytes),
	    since = u64_less(b->elapsed_ns, a->elapsed_ns);

	if (swaps)
		grown += u64_less(b->anon_bytes, a->anon_bytes);
	if (!a->h.kind || !since)
		return 0;
	return (u64)((double)grown * MIN(1.0, (double)b->elapsed_ns / LATE_PART / (double)since));
}

static u64 refaults(const struct limit_facts *f)
{
	return u64_less(f->last.refault_total, f->first.refault_total);
}

static bool is_starved(const struct limit_facts *f)
{
	return refaults(f) > REFAULTS_LEAST &&
	       (f->last.limit_hit_total > f->first.limit_hit_total ||
		       f->last.high_hit_total > f->first.high_hit_total);
}

/* Whatever runs touches its stack. So nothing ran, which says nothing of when it does; or a CPU
 * that was not reached did not set the bits again (sys/process/tlb.h). */
static bool is_unseen(const struct limit_facts *f)
{
	return f->mapped.h.kind && !f->mapped.anon_bytes && f->last.anon_bytes;
}

/* Sampling: each page was taken with a chance of 1 in stride. */
static u64 sampling_error(const struct limit_files *f)
{
	double stride = (double)f->stride, n = (double)f->reused;

	if (f->stride <= 1)
		return 0;
	return (u64)(2 * sqrt(n * (1 - 1 / stride)) * stride * (double)f->page_bytes);
}

static void files_weigh(const struct limit_facts *f, struct limit_need *n)
{
	u64 charged = f->last.file_bytes, hot;

	if (f->files.h.kind) {
		n->read_bytes = followed_bytes(&f->files, f->files.reused);
		n->once_bytes = followed_bytes(&f->files, f->files.once);
		n->error_bytes = sampling_error(&f->files);
		n->late_bytes = first_late(&f->files);
	}
	n->mapped_bytes = f->mapped.file_bytes;
	n->late_bytes += mapped_late(f, n->swaps);
	hot = n->read_bytes + n->mapped_bytes;
	if (!n->starved && hot > charged) {
		n->elsewhere_bytes = hot - charged;
		n->mapped_bytes = u64_less(n->mapped_bytes, n->elsewhere_bytes);
		n->read_bytes = MIN(n->read_bytes, charged);
		hot = charged;
	}
	n->cold_bytes = u64_less(charged, hot + n->once_bytes);
	n->blind = !f->files.h.kind || !(f->files.h.flags & LIMIT_READS_KNOWN) ||
		   !f->mapped.h.kind || f->mapped.refused;
}

static void need_sum(const struct limit_facts *f, struct limit_need *n)
{
	const struct limit_group *g = &f->last;
	u64 fixed = n->anon_bytes + g->shmem_bytes + g->kernel_bytes;
	u64 hot = n->read_bytes + n->mapped_bytes;
	u64 stream = MIN(n->once_bytes, hot / STREAM_PART);

	n->needed_bytes = fixed + hot;
	/* a page that is read and mapped counts in both */
	n->low_bytes = fixed + MAX(u64_less(n->read_bytes, n->error_bytes), n->mapped_bytes);
	n->high_bytes = fixed + hot + n->error_bytes + MIN(n->once_bytes, g->file_bytes) +
			(n->blind ? n->cold_bytes : 0);
	n->advised_bytes = n->needed_bytes + n->needed_bytes / MARGIN_PART + n->error_bytes +
			   stream + STOCK_PAGES * PAGE * g->cpus;
	n->advised_bytes = (n->advised_bytes + STEP - 1) / STEP * STEP;
}

static void stall_weigh(const struct limit_facts *f, struct limit_need *n)
{
	const struct limit_group *a = &f->first, *b = &f->last;
	double pages, ns;

	n->elapsed_ns = u64_less(b->elapsed_ns, a->elapsed_ns);
	n->pressed = n->elapsed_ns &&
		     b->h.flags & a->h.flags & (LIMIT_PRESSURE_GROUP | LIMIT_PRESSURE_MACHINE);
	n->whole = b->h.flags & LIMIT_PRESSURE_MACHINE;
	if (n->pressed)
		n->stall_ratio =
			(double)u64_less(b->some_us, a->some_us) * 1000 / (double)n->elapsed_ns;
	n->has_cost = b->read_bytes && n->elapsed_ns;
	if (!n->has_cost)
		return;
	/* what is used less often than the look was long may have gone when it is used again */
	pages = (double)n->late_bytes / (double)PAGE;
	ns = (double)b->read_ns / ((double)b->read_bytes / (double)PAGE);
	n->expected_ratio = pages * ns / ((double)n->elapsed_ns / LATE_PART);
	if (n->pressed && !n->whole && !n->starved)
		n->expected_ratio += n->stall_ratio;
	n->expected_ratio = MIN(MAX(n->expected_ratio, LEAST_RATIO), 1.0);
}

static int thin_why(const struct limit_facts *f, const struct limit_need *n, u64 lost, u64 uses)
{
	bool reads = f->files.h.kind && f->files.h.flags & LIMIT_READS_KNOWN;

	if (f->last.h.flags & LIMIT_PARTIAL)
		return LIMIT_OF_SOME;
	if (n->elapsed_ns < LIMIT_LEAST_NS)
		return LIMIT_TOO_SHORT;
	if (!reads && f->last.file_bytes > f->last.usage_bytes / SETTLED_PART)
		return LIMIT_NO_READS;
	if (lost > uses / LOST_PART)
		return LIMIT_LOST;
	if (!f->mapped.h.kind || f->mapped.refused)
		return LIMIT_REFUSED;
	if (n->unseen)
		return LIMIT_UNSEEN;
	if (n->late_bytes > n->needed_bytes / SETTLED_PART)
		return LIMIT_NOT_SETTLED;
	if (n->starved && n->mapped_bytes + (n->swaps ? n->anon_bytes : 0) > n->read_bytes)
		return LIMIT_STARVED;
	return LIMIT_ENOUGH;
}

static int verdict_of(const struct limit_need *n)
{
	if (n->thin)
		return LIMIT_UNKNOWN;
	if (n->limit_bytes == LIMIT_NONE)
		return LIMIT_UNLIMITED;
	if (n->needed_bytes > n->limit_bytes || (n->starved && n->advised_bytes > n->limit_bytes))
		return LIMIT_SHORT;
	return n->limit_bytes - n->limit_bytes / ROOMY_PART > n->advised_bytes ? LIMIT_ROOMY
									       : LIMIT_FITS;
}

void limit_judge(const struct limit_facts *f, u64 lost, u64 uses, struct limit_need *n)
{
	const struct limit_group *g = &f->last;

	*n = (struct limit_need){.limit_bytes = LIMIT_NONE};
	if (!g->h.kind) {
		n->thin = LIMIT_NO_GROUP;
		return;
	}
	n->limit_bytes = MIN(g->limit_bytes, g->high_bytes);
	n->starved = is_starved(f);
	n->swaps = g->swap_free_bytes || g->swap_bytes;
	n->unseen = n->swaps && is_unseen(f);
	n->anon_bytes = n->swaps && f->mapped.h.kind && !f->mapped.refused && !n->unseen
				? MIN(f->mapped.anon_bytes, g->anon_bytes)
				: g->anon_bytes;
	files_weigh(f, n);
	need_sum(f, n);
	stall_weigh(f, n);
	n->thin = thin_why(f, n, lost, uses);
	n->verdict = verdict_of(n);
}
