/*
 * See attach.h: the threads of running processes. One that ends leaves the map of those that live,
 * and what it did is taken from there at the next drain. What it allocated may be freed by others
 * long after, which is counted by its id.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "probes/heap/attach/heap_attach.h"

/* What of its blocks others freed; an end of it all is forgotten in the kernel. */
static void live_fill(u64 id, struct heap_thread_sum *s, int gone_map)
{
	struct heap_thread_gone gone = {};

	bpf_map_lookup_elem(gone_map, &id, &gone);
	s->r.live_blocks = s->r.allocations - s->own_blocks - gone.blocks;
	s->r.live_bytes = s->r.bytes - s->own_bytes - gone.bytes;
	s->settled = s->ended && !s->r.live_blocks;
	if (s->settled)
		bpf_map_delete_elem(gone_map, &id);
}

static int thread_note(
	struct heap_attach *h, u64 id, const struct heap_thread_sums *now, bool ended, int gone_map)
{
	struct heap_attached *p = &h->processes.v[now->process];
	size_t had = h->threads.n;
	struct heap_thread_sum *s;

	if (!now->allocations && !now->frees)
		return 0;
	s = groups_get(&h->threads, &id);
	if (!s)
		return -ENOMEM;
	if (h->threads.n > had) {
		s->r = REC_INIT(struct heap_thread, REC_HEAP_THREAD, 0);
		s->r.tgid = p->pid;
		s->r.process = now->process + 1;
		s->r.tid = (u32)(id >> 32);
		s->r.thread = p->threads++;
	}
	if (s->ended)
		return 0; /* it was about to leave the map of those that live */
	if (p->awaits && s->r.tid == p->pid)
		memcpy(p->comm, now->comm, sizeof(p->comm));
	s->ended = ended;
	s->own_blocks = now->own_blocks;
	s->own_bytes = now->own_bytes;
	s->r.allocations = now->allocations;
	s->r.bytes = now->bytes;
	s->r.frees = now->frees;
	s->r.freed_bytes = now->freed_bytes;
	s->r.temporary = now->temporary;
	memcpy(s->r.comm, now->comm, sizeof(s->r.comm));
	if (ended)
		live_fill(id, s, gone_map);
	return 0;
}

int heap_threads_take(struct capture *c, struct attached *a)
{
	struct heap_attach *h = c->state;
	int map = attach_map(a, "heap_ended"), gone_map = attach_map(a, "heap_gone");
	int rc = 0, end;
	struct heap_thread_sums now;
	u64 id, next;

	end = bpf_map_get_next_key(map, NULL, &id);
	for (; !end && !rc; id = next) {
		end = bpf_map_get_next_key(map, &id, &next);
		if (bpf_map_lookup_elem(map, &id, &now) || now.process >= h->processes.n)
			continue;
		if (id < HEAP_ATTACHED_MAX) {
			rc = thread_note(h, id, &now, false, gone_map);
			continue;
		}
		rc = thread_note(h, id, &now, true, gone_map);
		rc = rc || !bpf_map_delete_elem(map, &id) ? rc : -errno;
	}
	return rc;
}

static int living_note(struct heap_attach *h, struct attached *a)
{
	int map = attach_map(a, "heap_threads"), gone_map = attach_map(a, "heap_gone"), rc = 0;
	u32 tid, *from = NULL;
	struct heap_thread_now t;

	while (!rc && !bpf_map_get_next_key(map, from, &tid)) {
		from = &tid;
		if (!bpf_map_lookup_elem(map, &tid, &t) && t.sums.process < h->processes.n)
			rc = thread_note(h, t.id, &t.sums, false, gone_map);
	}
	return rc;
}

/* Those that live first: one that ends meanwhile is then seen with what it did to its end. */
int heap_threads_send(struct capture *c, struct attached *a)
{
	struct heap_attach *h = c->state;
	int gone_map = attach_map(a, "heap_gone"), rc = living_note(h, a);

	rc = rc ? rc : heap_threads_take(c, a);
	for (size_t i = 0; i < h->threads.n && !rc; i++) {
		struct heap_thread_sum *s = groups_value(&h->threads, i);

		if (s->sent)
			continue;
		if (!s->settled)
			live_fill(*(const u64 *)groups_key(&h->threads, i), s, gone_map);
		s->sent = s->settled;
		rc = capture_emit(c, &s->r.h);
	}
	return rc;
}
