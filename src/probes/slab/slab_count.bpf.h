/* What is done with an allocation and a free: counted by key; with live tracking, paired. */
#ifndef MEMWHY_PROBES_SLAB_COUNT_BPF_H
#define MEMWHY_PROBES_SLAB_COUNT_BPF_H

/* An interrupt comes while another of the programs runs, and allocates: each has its counters, and
 * its keys (slab_key.event). */
#define COUNTS_N 6 /* SLAB_EVENT_N */

#include "probes/slab/slab_cache.bpf.h"

/* The beginning of the classic tracepoints' records, since 6.1. */
struct trace_event_raw_kmalloc {
	unsigned long call_site;
	const void *ptr;
	unsigned long bytes_req, bytes_alloc, gfp_flags;
	int node;
} __attribute__((preserve_access_index));

struct trace_event_raw_kmem_cache_alloc {
	unsigned long call_site;
	const void *ptr;
	unsigned long bytes_req, bytes_alloc, gfp_flags;
	int node;
} __attribute__((preserve_access_index));

struct trace_event_raw_kfree {
	unsigned long call_site;
	const void *ptr;
} __attribute__((preserve_access_index));

struct trace_event_raw_kmem_cache_free {
	unsigned long call_site;
	const void *ptr;
} __attribute__((preserve_access_index));

/* kmalloc_node and kmem_cache_alloc_node were merged into the others in 6.1 (11e9734bcb6a). */
static __always_inline bool events_are_merged(void)
{
	return bpf_core_type_exists(struct trace_event_raw_kmalloc);
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1);
	__type(key, struct slab_key);
	__type(value, struct slab_value);
} sites SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1);
	__type(key, struct slab_crossing_key);
	__type(value, struct slab_crossing_value);
} crossings SEC(".maps");

/* Preallocated: memory for it must not come from the allocator that is looked at. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct slab_object);
} objects SEC(".maps");

AGG_TABLE(lifetimes, struct slab_key);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} lifetimes_full SEC(".maps");

#define ZERO_SIZE_PTR 16 /* include/linux/slab.h: of kmalloc(0), as good as NULL */

static const struct slab_value value_zero = {};
static const struct slab_crossing_value crossing_zero = {};

#define DESCRIBE_TRIES 64 /* events; the cache of the first few may not be known yet */

/* Fills in what is known when a key is first seen on this CPU. */
static __noinline int value_begin(struct slab_value *v, const struct slab_key *key, u64 ptr)
{
	u8 flags = 0;
	u64 cache;

	if (!v || !key)
		return 0;
	if (key->cache && !pages && key->event < SLAB_KFREE)
		pages_learn(key->cache, ptr);
	cache = key->cache ? key->cache : cache_of(ptr, &flags);
	if (cache)
		cache_describe(cache, v);
	v->described = cache || flags || v->count > DESCRIBE_TRIES || !ptr;
	v->flags |= flags;
	if (key->event < SLAB_KFREE && key->gfp & gfp_charged_mask())
		v->flags |= SLAB_CHARGED;
	if (config.tasks) {
		bpf_get_current_comm(v->comm, sizeof(v->comm));
		v->cgroup = current_cgroup_id();
	}
	return 0;
}

static __always_inline struct slab_value *value_get(const struct slab_key *key)
{
	struct slab_value *v = bpf_map_lookup_elem(&sites, key);

	if (v)
		return v;
	/* -EEXIST: another CPU was faster */
	if (!bpf_map_update_elem(&sites, key, &value_zero, BPF_NOEXIST))
		table_key_made();
	return bpf_map_lookup_elem(&sites, key);
}

/* Whose key an event is counted under. */
static __always_inline void key_task(
	void *ctx, u64 skip, struct slab_key *key, struct probe_counts *c)
{
	u64 pid_tgid;

	if (config.tasks) {
		pid_tgid = bpf_get_current_pid_tgid();
		key->tgid = pid_tgid >> 32;
		if (scope.by_thread)
			key->tid = (u32)pid_tgid;
	}
	if ((scope.kernel_stacks || scope.user_stacks) && !config.no_stacks && stack_due(c)) {
		key->kstack = stack_kernel(ctx, skip);
		key->ustack = stack_take(ctx, BPF_F_USER_STACK);
	}
}

/* Since 6.1 (05b24ff9b2cf, as the merged events) the kernel keeps a program from interrupting
 * itself. Before, what it adds to must not be torn by an interrupt, and there are no slots. */
static __always_inline void add(u64 *sum, u64 n)
{
	if (events_are_merged())
		*sum += n;
	else
		__sync_fetch_and_add(sum, n);
}

static __always_inline bool slots_used(void)
{
	return config.slots && events_are_merged();
}

static __always_inline bool in_scope(void)
{
	return scope_match(scope.by_task || scope.except ? bpf_get_current_pid_tgid() : 0);
}

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct slab_slot);
} slots SEC(".maps");

#define HASH_STEP 0x9e3779b97f4a7c15

static __always_inline bool slot_is(const struct slab_slot *s, const u64 *key)
{
	return s->key[0] == key[0] && s->key[1] == key[1] && s->key[2] == key[2] &&
	       s->key[3] == key[3];
}

/*
 * The slot of a key on this CPU, among two; 0: none yet. An empty one is returned in *empty. Slots
 * of different programs do not mix, and the kernel does not let a program interrupt itself, so
 * nobody else writes to one (before 6.1 it does, and there are no slots).
 */
static __always_inline struct slab_slot *slot_find(
	const struct slab_key *k, u32 *at, struct slab_slot **empty)
{
	const u64 *key = (const u64 *)k;
	u64 hash = ((key[0] ^ key[1]) + key[2]) * HASH_STEP;
	struct slab_slot *s;

	*at = (u32)bpf_get_smp_processor_id() * SLAB_SLOTS_CPU + k->event * SLAB_SLOTS_EACH +
	      (u32)(hash >> 40) % SLAB_SLOTS_EACH;
	s = bpf_map_lookup_elem(&slots, at);
	if (!s || slot_is(s, key))
		return s;
	if (!s->count) {
		*empty = s;
		return 0;
	}
	*at ^= 1;
	s = bpf_map_lookup_elem(&slots, at);
	if (!s || slot_is(s, key))
		return s;
	if (!s->count)
		*empty = s;
	return 0;
}

static __always_inline void slot_take(struct slab_slot *s, const struct slab_key *k)
{
	const u64 *key = (const u64 *)k;

	s->key[0] = key[0];
	s->key[1] = key[1];
	s->key[2] = key[2];
	s->key[3] = key[3];
}

/* Credits the allocation with the end of one of its objects. */
static __always_inline void object_over(const struct slab_object *o)
{
	struct slab_value *v;
	struct slab_slot *s;
	u32 at = o->slot - 1;

	/* by two programs, and on any CPU that frees: interrupts come between */
	if (o->slot && (s = bpf_map_lookup_elem(&slots, &at))) {
		__sync_fetch_and_add(&s->freed, 1);
		return;
	}
	v = value_get(&o->key);
	if (v)
		__sync_fetch_and_add(&v->freed, 1);
}

/* The lifetime of an object whose free was seen: one in SLAB_LIVES_EVERY, by when it was allocated.
 */
static __always_inline void object_lived(const struct slab_object *o)
{
	struct agg_value *v;
	u64 *full;
	u32 zero = 0;

	if ((o->time_ns >> 6) % SLAB_LIVES_EVERY)
		return;
	v = agg_get(&lifetimes, &o->key, 0);
	if (v)
		agg_lifetime(v, bpf_ktime_get_ns() - o->time_ns);
	else if ((full = bpf_map_lookup_elem(&lifetimes_full, &zero)))
		__sync_fetch_and_add(full, 1);
}

/* false: there is no room. */
static __always_inline bool object_track(u64 ptr, const struct slab_object *o)
{
	struct slab_object *stale = bpf_map_lookup_elem(&objects, &ptr);

	if (stale) { /* its free was not seen */
		object_over(stale);
		*stale = *o;
		return true;
	}
	return !bpf_map_update_elem(&objects, &ptr, o, BPF_NOEXIST);
}

struct alloc {
	u64 site, ptr, requested;
	u64 cache; /* 0: kmalloc, or not known */
	u32 bytes; /* kmalloc: allocated */
	u32 gfp;
	s16 node;
	u8 flags;
};

/* Counts in the table, and takes the empty slot for the next time; 0: there is no room. */
static __always_inline struct slab_value *count_slow(const struct slab_key *key, u64 ptr,
	u64 requested, struct slab_slot *empty, struct probe_counts *c)
{
	struct slab_value *v = value_get(key);

	if (!v) {
		add(&c->lost_map, 1);
		return 0;
	}
	if (!v->described)
		value_begin(v, key, ptr);
	if (empty && v->described)
		slot_take(empty, key);
	add(&v->count, 1);
	if (requested) { /* an atomic addition of 0 becomes an `or`, which 5.10 does not know */
		add(&v->requested, requested);
		add(&v->squares, requested * requested);
	}
	return v;
}

/* skip: see stack_kernel */
static __always_inline int allocated(void *ctx, u64 skip, u8 event, const struct alloc *a)
{
	struct slab_key key = {
		.call_site = a->site,
		.cache = a->cache,
		.bytes = a->bytes,
		.gfp = config.ages ? 0 : a->gfp,
		.event = event,
		.node = config.ages ? SLAB_NODE_ANY : a->node,
	};
	struct slab_object o = {.requested = (u32)a->requested};
	struct slab_slot *slot = 0, *empty = 0;
	struct probe_counts *c;
	struct slab_value *v = 0;

	if (!in_scope())
		return 0;
	c = counts_of(event);
	if (!c)
		return 0;
	add(&c->seen, 1);
	if (!a->ptr)
		key.flags = SLAB_NOTHING;
	key_task(ctx, skip, &key, c);
	if (slots_used())
		slot = slot_find(&key, &o.slot, &empty);
	if (slot) {
		slot->count++;
		slot->requested += a->requested;
		slot->squares += a->requested * a->requested;
		o.slot++;
	} else {
		o.slot = 0;
		v = count_slow(&key, a->ptr, a->requested, empty, c);
		if (!v)
			return 0;
	}
	if (!config.live || !a->ptr)
		return 0;
	o.key = key;
	o.bytes = key.bytes;
	o.cpu = (u16)bpf_get_smp_processor_id();
	o.node = (u16)bpf_get_numa_node_id();
	if (config.ages)
		o.time_ns = bpf_ktime_get_ns();
	if (!object_track(a->ptr, &o)) {
		if (!v)
			v = value_get(&key);
		if (v)
			add(&v->untracked, 1);
	}
	return 0;
}

static __always_inline void crossed(const struct slab_object *o)
{
	struct slab_crossing_key key = {.from_cpu = o->cpu, .from_node = o->node};
	struct slab_crossing_value *v;

	key.to_cpu = (u16)bpf_get_smp_processor_id();
	if (key.from_cpu == key.to_cpu)
		return;
	key.to_node = (u16)bpf_get_numa_node_id();
	v = bpf_map_lookup_elem(&crossings, &key);
	if (!v) {
		bpf_map_update_elem(&crossings, &key, &crossing_zero, BPF_NOEXIST);
		v = bpf_map_lookup_elem(&crossings, &key);
	}
	if (!v)
		return;
	__sync_fetch_and_add(&v->count, 1);
	__sync_fetch_and_add(&v->bytes, o->bytes ? o->bytes : cache_bytes(o->key.cache));
}

static __always_inline bool object_end(u64 ptr, u64 *cache)
{
	struct slab_object *o = bpf_map_lookup_elem(&objects, &ptr);

	if (!o)
		return false;
	object_over(o);
	if (config.ages)
		object_lived(o);
	else
		crossed(o);
	*cache = o->key.cache;
	bpf_map_delete_elem(&objects, &ptr);
	return true;
}

/* Not static, so that the verifier looks at it once, and not at each turn of a loop that calls it:
 * 5,000 instructions instead of 500,000. */
int object_gone(u64 ptr);

__noinline int object_gone(u64 ptr)
{
	u64 cache = 0;

	return object_end(ptr, &cache);
}

static __always_inline int freed(void *ctx, u64 skip, u8 event, u64 site, u64 ptr, u64 cache)
{
	struct slab_key key = {.call_site = site, .event = event, .node = SLAB_NODE_ANY};
	struct slab_slot *slot = 0, *empty = 0;
	struct probe_counts *c;
	u64 known = 0;
	bool nothing = ptr <= ZERO_SIZE_PTR;
	u32 at;

	/* of an object in the scope, whoever frees it */
	if (config.live && !nothing && object_end(ptr, &known))
		key.flags = SLAB_TRACKED;
	if (!in_scope())
		return 0;
	c = counts_of(event);
	if (!c)
		return 0;
	add(&c->seen, 1);
	if (nothing)
		key.flags = SLAB_NOTHING;
	else
		key.cache = cache ? cache : known ? known : cache_of(ptr, &key.flags);
	if (config.ages)
		key.call_site = 0; /* it is counted by cache alone */
	else
		key_task(ctx, skip, &key, c);
	if (slots_used())
		slot = slot_find(&key, &at, &empty);
	if (slot)
		slot->count++;
	else
		count_slow(&key, ptr, 0, empty, c);
	return 0;
}

#endif
