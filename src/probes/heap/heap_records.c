/* See heap_records.h. */
#include "probes/heap/heap_records.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "capture/capture.h"

static u64 heap_records_ns_of_ms(u64 ms)
{
	return ms * 1000000;
}

static u64 error_of(double variance)
{
	return (u64)sqrt(variance);
}

struct heap_total heap_total_of(const struct heap_process *p)
{
	const struct account *a = &p->account;
	struct heap_total r = REC_INIT(struct heap_total, REC_HEAP_TOTAL, 0);

	r.h.flags =
		(u16)((p->ended ? HEAP_ENDED : 0) | (p->parent ? HEAP_FORKED : 0) |
			(p->dropped ? HEAP_INCOMPLETE : 0) | (a->sample_bytes ? HEAP_SAMPLED : 0));
	r.tgid = p->pid;
	r.process = p->id;
	r.parent = p->parent;
	r.threads = (u32)a->threads.n;
	r.start_ns = p->start_ns;
	r.end_ns = p->end_ns;
	r.h.time_ns = clock_mono_ns();
	r.allocations = a->allocations;
	r.bytes = a->bytes;
	r.frees = a->frees;
	r.temporary = a->temporary;
	r.moved = a->moved;
	r.live_blocks = a->live_blocks;
	r.live_bytes = a->live_bytes;
	r.peak_blocks = a->peak_blocks;
	r.peak_bytes = a->peak_bytes;
	r.peak_ns = heap_records_ns_of_ms(a->peak_ms);
	r.unknown_frees = a->unknown_frees;
	r.overwritten = a->overwritten;
	r.lost = p->dropped;
	r.cgroup = p->cgroup;
	memcpy(r.comm, p->comm, sizeof(r.comm));
	for (u32 i = 0; i < HEAP_SIZES; i++)
		r.sizes[i] = (u32)MIN(a->sizes[i], 0xffffffffULL);
	r.old_ms = a->old_ms;
	r.live_error_bytes = error_of(a->variance.live);
	r.peak_error_bytes = error_of(a->variance.peak);
	r.error_bytes = error_of(a->variance.bytes);
	r.before = p->before;
	return r;
}

/* Those that the account does not count by slot are what is left of all. */
static void lives_copy(struct heap_site *r, const struct account_site *a)
{
	u64 others = 0;

	_Static_assert(HEAP_TIMES == ACCOUNT_TIMES && HEAP_SIZES == ACCOUNT_SIZES, "one histogram");
	for (u32 i = 1; i < HEAP_TIMES; i++)
		others += r->lives[i] = a->lives[i];
	r->lives[0] = (u32)MIN(a->frees > others ? a->frees - others : 0, 0xffffffffULL);
}

static void age_copy(struct heap_site *r, const struct account_age *age)
{
	r->oldest_ms = age->oldest_ms;
	r->old_blocks = age->old_blocks;
	r->old_bytes = age->old_bytes;
	memcpy(r->ages, age->blocks, sizeof(r->ages));
}

struct heap_site heap_site_of(struct heap_process *p, size_t index)
{
	struct account_site *a = &p->account.sites.v[index];
	struct heap_site r = REC_INIT(struct heap_site, REC_HEAP_SITE, 0);

	account_settle(&p->account, a);
	a->changed = false;
	r.tgid = p->pid;
	r.process = p->id;
	r.site = a->stack;
	r.max_life_ms = a->life_max_ms;
	r.allocations = a->allocations;
	r.bytes = a->bytes;
	r.frees = a->frees;
	r.temporary = a->temporary;
	r.moved = a->moved;
	r.live_blocks = a->live_blocks;
	r.live_bytes = a->live_bytes;
	r.peak_blocks = a->peak_blocks;
	r.peak_bytes = a->peak_bytes;
	r.slack_bytes = a->slack;
	r.life_ms = a->life_ms;
	r.min_bytes = a->min;
	r.max_bytes = a->max;
	lives_copy(&r, a);
	r.live_error_bytes = error_of(a->variance.live);
	r.peak_error_bytes = error_of(a->variance.peak);
	r.error_bytes = error_of(a->variance.bytes);
	if (index < p->account.ages.n)
		age_copy(&r, &p->account.ages.v[index]);
	return r;
}

struct heap_thread heap_thread_of(const struct heap_process *p, size_t index)
{
	const struct account_thread *a = &p->account.threads.v[index];
	struct heap_thread r = REC_INIT(struct heap_thread, REC_HEAP_THREAD, 0);

	r.tgid = p->pid;
	r.process = p->id;
	r.tid = a->tid;
	r.thread = (u32)index;
	r.allocations = a->allocations;
	r.bytes = a->bytes;
	r.frees = a->frees;
	r.freed_bytes = a->freed_bytes;
	r.temporary = a->temporary;
	r.live_blocks = a->live_blocks;
	r.live_bytes = a->live_bytes;
	memcpy(r.comm, index < p->names.n ? p->names.v[index].comm : p->comm, sizeof(r.comm));
	return r;
}

struct heap_mapped heap_mapped_of(const struct heap_process *p)
{
	const struct mappings *m = &p->mappings;
	struct heap_mapped r = REC_INIT(struct heap_mapped, REC_HEAP_MAPPED, 0);

	r.tgid = p->pid;
	r.process = p->id;
	r.calls = m->calls;
	r.failed = m->failed;
	r.unmaps = m->unmaps;
	r.mapped_bytes = m->mapped;
	r.unmapped_bytes = m->unmapped;
	r.live_bytes = m->live;
	r.peak_bytes = m->peak_bytes;
	r.peak_ns = heap_records_ns_of_ms(m->peak_ms);
	r.unknown_bytes = m->unknown;
	r.replaced_bytes = m->replaced;
	return r;
}

struct heap_mapping heap_mapping_of(struct heap_process *p, size_t index)
{
	const struct mapping_site_key *k = groups_key(&p->mappings.sites, index);
	struct mapping_site *s = groups_value(&p->mappings.sites, index);
	struct heap_mapping r = REC_INIT(struct heap_mapping, REC_HEAP_MAPPING, 0);

	_Static_assert((int)HEAP_MAPPED_KINDS == (int)TRACK_MAPPED_KINDS &&
			       (int)HEAP_MAPPED_BREAK == (int)TRACK_MAPPED_BREAK,
		"kinds of mappings");
	mappings_settle(&p->mappings, s);
	s->changed = false;
	r.tgid = p->pid;
	r.process = p->id;
	r.site = k->stack;
	r.kind = k->kind;
	r.calls = s->calls;
	r.failed = s->failed;
	r.mapped_bytes = s->mapped;
	r.unmapped_bytes = s->unmapped;
	r.live_bytes = s->live;
	r.peak_bytes = s->peak_bytes;
	return r;
}

struct heap_residence heap_residence_of(struct heap_process *p, size_t index)
{
	const struct residence_key *k = groups_key(&p->residence->sums, index);
	struct residence_sums *s = groups_value(&p->residence->sums, index);
	struct heap_residence r = REC_INIT(struct heap_residence, REC_HEAP_RESIDENCE, 0);

	s->changed = false;
	r.tgid = p->pid;
	r.process = p->id;
	r.place = k->what;
	r.kind = k->kind;
	r.site = k->id;
	r.minor = s->minor;
	r.major = s->major;
	r.resident_bytes = s->resident;
	r.swapped_bytes = s->swapped;
	r.live_bytes = s->live;
	return r;
}

struct heap_looked heap_looked_of(const struct heap_process *p)
{
	const struct residence *a = p->residence;
	struct heap_looked r = REC_INIT(struct heap_looked, REC_HEAP_LOOKED, 0);

	r.tgid = p->pid;
	r.process = p->id;
	r.looks = a->looks;
	r.minor = a->minor;
	r.major = a->major;
	r.look_ns = a->look.time_ns;
	r.rss_bytes = a->look.rss;
	r.beyond_bytes = a->look.beyond;
	r.last_ns = a->last_ns;
	r.hwm_bytes = a->hwm;
	r.hwm_faults = a->hwm_faults;
	r.kernel_minor = a->kernel_minor;
	r.kernel_major = a->kernel_major;
	return r;
}

struct numa_block heap_block_of(const struct block_lookup_block *t)
{
	static const u8 whats[] = {
		[TOUCHED_HELD] = NUMA_BLOCK_HELD,
		[TOUCHED_FREED] = NUMA_BLOCK_FREE,
		[TOUCHED_RESIZED] = NUMA_BLOCK_REALLOC,
	};
	struct numa_block b = REC_INIT(struct numa_block, REC_NUMA_BLOCK, t->time_ns);

	b.h.flags = t->early ? NUMA_BLOCK_EARLY : 0;
	b.tgid = t->tgid;
	b.tid = t->tid;
	b.address = t->address;
	b.bytes = t->bytes;
	b.old_address = t->old_address;
	b.cpu_node = t->node;
	b.what = whats[t->what];
	b.begin_ns = t->begin_ns;
	return b;
}

struct heap_together_record heap_together_of(const struct combined_peak *t)
{
	struct heap_together_record r = REC_INIT(struct heap_together_record, REC_HEAP_TOGETHER, 0);

	r.peak_bytes = t->peak_bytes;
	r.peak_most_bytes = t->peak_most_bytes;
	r.peak_ns = t->peak_ns;
	return r;
}
