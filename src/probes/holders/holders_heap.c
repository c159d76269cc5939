/* The heaps of the few processes with most anonymous memory: what their allocator has from the
 * kernel, and how much of it is in use. Owns which processes these are, and how much is read. */
#include <errno.h>
#include <string.h>

#include "base/less.h"
#include "probes/holders/holders_inner.h"
#include "sys/heap/managed.h"
#include "sys/heap/process_heap.h"

#define LEAST_BYTES (128ULL << 20)
/* Of heap memory that is walked: some 30 ms. */
#define WALKED_BYTES (128ULL << 20)

void holders_heap_offer(struct holders *s, u32 pid, u64 anon_bytes)
{
	struct heap_entry e = {pid, anon_bytes};

	if (anon_bytes < LEAST_BYTES)
		return;
	for (size_t i = 0; i < HEAPS_LOOKED_AT; i++) {
		struct heap_entry other = s->heaps[i];

		if (other.anon_bytes >= e.anon_bytes)
			continue;
		s->heaps[i] = e;
		e = other;
	}
}

/* Blocks in fastbins and in caches of threads look as if they were in use. */
static u64 live_bytes(const struct glibc_arena *a)
{
	u64 idle = a->fast_bytes + a->cache_bytes;

	return a->used_bytes > idle ? a->used_bytes - idle : 0;
}

static void arenas_add(const struct process_heap *heap, struct held_heap *r)
{
	vec_each (a, &heap->arenas.list) {
		r->arenas++;
		r->partial += a->partial;
		r->system_bytes += a->system_bytes;
		r->live_bytes += live_bytes(a);
		r->free_bytes += a->free_bytes;
		r->kept_bytes += a->kept_bytes;
		r->trimmable_bytes += a->trimmable_bytes;
	}
}

static void who_take(struct capture *c, struct holders *s, u32 pid, struct held_heap *r)
{
	struct proc_stat st;

	r->tgid = pid;
	if (!proc_stat_read((int)pid, &st))
		r->start_ns = proc_start_ns(&st);
	if (!proc_label_read(pid, &s->label))
		r->name = names_string(c->names, str_get(&s->label));
	r->cgroup = holders_cgroup(c, s, pid);
}

/* Of other allocators it is known what is between live blocks, too. */
static int managed_send(struct capture *c, const struct managed *m, struct held_heap *r)
{
	int rc = 0;

	for (size_t i = 0; i < m->list.n && !rc; i++) {
		const struct managed_part *p = &m->list.v[i];
		u64 known = p->bytes[MANAGED_USED] + p->bytes[MANAGED_KEPT];

		r->allocator = names_string(c->names, managed_name(p->by));
		r->system_bytes = p->bytes[MANAGED_COMMITTED];
		r->live_bytes = p->bytes[MANAGED_USED];
		r->free_bytes = u64_less(r->system_bytes, known);
		r->kept_bytes = p->bytes[MANAGED_KEPT];
		r->trimmable_bytes = p->bytes[MANAGED_KEPT];
		r->decay_ms = p->decay_ms;
		rc = capture_emit(c, &r->h);
	}
	return rc;
}

static int heap_send(struct capture *c, struct holders *s, const struct heap_entry *e)
{
	struct held_heap r = REC_INIT(struct held_heap, REC_HELD_HEAP, 0), other = r;
	_cleanup_outside_ struct outside o = {.pagemap = -1};
	struct process_heap heap = {};
	struct managed managed = {};
	struct maps maps = {};
	int rc = maps_read((int)e->pid, &maps);

	if (!rc)
		rc = outside_open(proc_memory_task((int)e->pid), &maps, WALKED_BYTES, &o);
	if (!rc)
		rc = managed_read(&o, &maps, false, &managed);
	if (!rc)
		rc = process_heap_read(&o, &maps, &heap);
	if (!rc && (heap.found || managed.list.n)) {
		who_take(c, s, e->pid, &r);
		r.anon_bytes = e->anon_bytes;
		other = r;
		rc = managed_send(c, &managed, &other);
	}
	if (!rc && heap.found) {
		arenas_add(&heap, &r);
		rc = capture_emit(c, &r.h);
	}
	process_heap_free(&heap);
	managed_free(&managed);
	maps_free(&maps);
	return rc == -ENOMEM ? rc : 0; /* it is gone, or not ours to see */
}

int holders_heaps_send(struct capture *c, struct holders *s)
{
	int rc = 0;

	for (size_t i = 0; i < HEAPS_LOOKED_AT && s->heaps[i].pid && !rc; i++)
		rc = heap_send(c, s, &s->heaps[i]);
	return rc;
}
