/*
 * Who holds mappings made in the interval: by their start address, with the key they were counted
 * under, so that unmapping subtracts there. A mapping is known by its start and what was cut off
 * either end; if it was cut in the middle, only its size is known.
 */
#ifndef MEMWHY_PROBES_MAPS_HELD_BPF_H
#define MEMWHY_PROBES_MAPS_HELD_BPF_H

#include "probes/maps/maps_call.bpf.h"

#define HELD_MAPPINGS 65536
#define HELD_STEPS 8 /* neighbouring mappings that one munmap can release */

struct held_key {
	u32 tgid;
	u32 reserved;
	u64 start;
};

struct held {
	u64 mm; /* after an exec what is left of the old address space is void */
	u64 length;
	u64 bytes; /* of it that is still mapped */
	struct maps_key owner;
};

/* The least recently used go first: they are held, only their release will not be seen. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HELD_MAPPINGS);
	__type(key, struct held_key);
	__type(value, struct held);
} held SEC(".maps");

static __always_inline struct held *held_at(const struct maps_space *s, u32 tgid, u64 start)
{
	struct held_key k = {.tgid = tgid, .start = start};
	struct held *h = config.held ? bpf_map_lookup_elem(&held, &k) : 0;

	return h && h->mm == s->mm ? h : 0;
}

static __always_inline void held_forget(u32 tgid, u64 start)
{
	struct held_key k = {.tgid = tgid, .start = start};

	bpf_map_delete_elem(&held, &k);
}

static __always_inline void held_put(u32 tgid, u64 start, const struct held *h)
{
	struct held_key k = {.tgid = tgid, .start = start};

	bpf_map_update_elem(&held, &k, h, BPF_ANY);
}

static __always_inline void owner_release(const struct held *h, u64 bytes)
{
	struct agg_value *v = bpf_map_lookup_elem(&table, &h->owner);

	if (v)
		v->sum[MAPS_SUM_HELD] -= bytes;
}

/* `bytes` of a mapping from its start on are gone. */
static __always_inline void held_cut_head(u32 tgid, u64 start, struct held *h, u64 bytes)
{
	struct held rest = *h;
	u64 gone = bytes < h->bytes ? bytes : h->bytes;

	owner_release(h, bytes < h->length ? gone : h->bytes);
	held_forget(tgid, start);
	if (bytes >= rest.length)
		return;
	rest.length -= bytes;
	rest.bytes -= gone;
	held_put(tgid, start + bytes, &rest);
}

/* [at, end) lies in the mapping made last, but does not begin with it: an allocator trims what it
 * mapped too large to be aligned. */
static __always_inline u64 held_cut_recent(struct maps_space *s, u32 tgid, u64 at, u64 end)
{
	u64 start = s->recent, stop = start + s->recent_length, bytes;
	struct held *h;

	if (at <= start || at >= stop)
		return 0;
	h = held_at(s, tgid, start);
	if (!h)
		return 0;
	bytes = (end < stop ? end : stop) - at;
	bytes = bytes < h->bytes ? bytes : h->bytes;
	owner_release(h, bytes);
	h->bytes -= bytes;
	if (end >= stop) {
		h->length = at - start;
		s->recent_length = at - start;
	}
	return stop;
}

/* [start, start + length) is no longer what it was. */
static __always_inline void held_release(struct maps_space *s, u32 tgid, u64 start, u64 length)
{
	u64 at = start, end = start + length;

	for (int i = 0; i < HELD_STEPS && at < end; i++) {
		struct held *h = held_at(s, tgid, at);
		u64 next;

		if (h) {
			u64 whole = h->length, bytes = end - at < whole ? end - at : whole;

			held_cut_head(tgid, at, h, bytes);
			if (s->recent == at) {
				s->recent += bytes;
				s->recent_length -= bytes;
			}
			at += bytes;
			continue;
		}
		next = held_cut_recent(s, tgid, at, end);
		if (!next)
			break;
		at = next;
	}
}

/* A mapping was made under a key. */
static __always_inline void held_make(
	struct maps_space *s, u32 tgid, u64 start, u64 length, const struct maps_key *owner)
{
	struct held h = {.mm = s->mm, .length = length, .bytes = length, .owner = *owner};

	held_put(tgid, start, &h);
	if (start > s->recent && start < s->recent + s->recent_length)
		return; /* the loader of a library: segments over the whole of it */
	s->recent = start;
	s->recent_length = length;
}

static __always_inline void held_update(struct maps_space *s, struct maps_thread *t, u32 tgid)
{
	u64 old = page_align(t->args[1]);

	if (!config.held || !s || t->error)
		return;
	if (t->call == MAPS_MUNMAP) {
		held_release(s, tgid, t->args[0], t->length);
	} else if (t->call == MAPS_MMAP) {
		if (t->args[3] & MAP_FIXED)
			held_release(s, tgid, t->ret, t->length);
		held_make(s, tgid, t->ret, t->length, &t->key);
	} else if (t->call == MAPS_MREMAP) {
		if (!(t->args[3] & MREMAP_DONTUNMAP))
			held_release(s, tgid, t->args[0], old);
		held_make(s, tgid, t->ret, t->length, &t->key);
	} else if (t->call == MAPS_SHMAT && t->growth > 0) {
		held_make(s, tgid, t->ret, t->growth, &t->key);
	} else if (t->call == MAPS_SHMDT) {
		held_release(s, tgid, t->args[0], t->growth < 0 ? -t->growth : 0);
	}
}

/* What is held of a successful call, when it ends. */
static __always_inline u64 held_bytes(const struct maps_thread *t)
{
	if (t->call == MAPS_MMAP || t->call == MAPS_MREMAP)
		return t->length;
	return t->call == MAPS_SHMAT || t->call == MAPS_BRK ? t->growth : 0;
}

#endif
