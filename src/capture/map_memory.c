/* See budget.h. Sizes are those of kernel/bpf, 5.10 to 7.3. */
#include "capture/map_memory.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "capture/attach.h"
#include "capture/object.h"

#define PAGE 4096UL
#define HASH_ELEM 64     /* struct htab_elem without key and value, rounded up */
#define HASH_BUCKET 16   /* struct bucket */
#define MAP_HEAD 1024    /* struct bpf_htab, bpf_array, … */
#define HASH_LEAST 64    /* entries */
#define SCOPE_LEAST 1024 /* tasks */
#define STACKS_LEAST 128
#define OBJECT_MAPS 64       /* of an object */
#define RING_LEAST 4096UL    /* bytes */
#define RING_HEAD (4 * PAGE) /* its positions, and struct bpf_ringbuf with its list of pages */

static u64 up(u64 n, u64 to)
{
	return (n + to - 1) / to * to;
}

static u64 power_of_two(u64 n)
{
	u64 p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static u64 hash_bytes(const struct bpf_map *m, u64 value, u64 cpus)
{
	u64 n = bpf_map__max_entries(m);
	u64 elem = HASH_ELEM + up(bpf_map__key_size(m), 8) + value;
	/* one more a CPU for updates in place; locks and lists of each CPU (LRU) */
	u64 bytes = (n + cpus) * elem + power_of_two(n) * HASH_BUCKET + cpus * 512;

	return bytes + MAP_HEAD;
}

static u64 map_bytes(const struct bpf_map *m)
{
	u64 n = bpf_map__max_entries(m), value = up(bpf_map__value_size(m), 8);
	u64 cpus = (u64)MAX(1, libbpf_num_possible_cpus());

	switch (bpf_map__type(m)) {
	case BPF_MAP_TYPE_HASH:
	case BPF_MAP_TYPE_LRU_HASH:
		return up(hash_bytes(m, value, cpus), PAGE);
	case BPF_MAP_TYPE_PERCPU_HASH:
	case BPF_MAP_TYPE_LRU_PERCPU_HASH:
		return up(hash_bytes(m, cpus * value + 8, cpus), PAGE);
	case BPF_MAP_TYPE_PERCPU_ARRAY:
		return up(n * (cpus * value + 8) + MAP_HEAD, PAGE);
	case BPF_MAP_TYPE_STACK_TRACE:
		return up(n * (value + 32) + power_of_two(n) * 8 + MAP_HEAD, PAGE);
	case BPF_MAP_TYPE_RINGBUF:
		return up(n, PAGE) + up(n / PAGE * 16, PAGE) + RING_HEAD;
	default: /* arrays; what can be mapped begins with a page of its own */
		return up(n * value, PAGE) + up(MAP_HEAD, PAGE);
	}
}

static int shared_index(const struct bpf_map *m)
{
	for (int i = 0; i < SHARED_MAPS; i++)
		if (!strcmp(bpf_map__name(m), object_shared_names[i]))
			return i;
	return -1;
}

void budget_add_bytes(struct budget *b, u64 bytes)
{
	for (u32 i = 0; i < BUDGET_LEVELS; i++)
		b->bytes[i] += bytes;
}

void budget_add_levels(struct budget *b, u64 (*bytes)(u32 level))
{
	for (u32 i = 0; i < BUDGET_LEVELS; i++)
		b->bytes[i] += bytes(i);
}

static void object_add(struct budget *b, struct bpf_object *obj, u32 level)
{
	struct bpf_map *m;

	bpf_object__for_each_map(m, obj)
	{
		int i = shared_index(m);
		u64 bytes = map_bytes(m), *had = i < 0 ? NULL : &b->shared[level][i];

		if (!had) {
			b->bytes[level] += bytes;
		} else if (bytes > *had) {
			b->bytes[level] += bytes - *had;
			*had = bytes;
		}
	}
}

/* The least entries of a map that may become smaller; 0: it may not. */
static u32 least_of(const struct bpf_map *m)
{
	switch (bpf_map__type(m)) {
	case BPF_MAP_TYPE_HASH:
	case BPF_MAP_TYPE_LRU_HASH:
	case BPF_MAP_TYPE_PERCPU_HASH:
	case BPF_MAP_TYPE_LRU_PERCPU_HASH:
		return strcmp(bpf_map__name(m), "scope_tasks") ? HASH_LEAST : SCOPE_LEAST;
	case BPF_MAP_TYPE_STACK_TRACE:
		return STACKS_LEAST;
	case BPF_MAP_TYPE_RINGBUF:
		return RING_LEAST;
	default:
		return 0;
	}
}

/* The sizes an object had when it was opened: those that are not set before each level. */
struct sizes {
	u32 n, entries[OBJECT_MAPS];
};

static void sizes_remember(struct sizes *s, struct bpf_object *obj)
{
	struct bpf_map *m;

	bpf_object__for_each_map(m, obj)
	{
		if (s->n < OBJECT_MAPS)
			s->entries[s->n++] = bpf_map__max_entries(m);
	}
}

static int sizes_restore(const struct sizes *s, struct bpf_object *obj)
{
	struct bpf_map *m;
	int rc = 0;
	u32 i = 0;

	bpf_object__for_each_map(m, obj)
	{
		if (i < s->n && !rc && bpf_map__max_entries(m) != s->entries[i])
			rc = bpf_map__set_max_entries(m, s->entries[i]);
		i++;
	}
	return rc;
}

static int map_memory_level_add(struct budget *b, struct capture *c, const struct attach_spec *spec,
	const struct sizes *sizes, struct bpf_object *obj)
{
	int rc = sizes_restore(sizes, obj);

	if (!rc)
		rc = object_prepare(obj, c);

	if (!rc && spec->prepare)
		rc = spec->prepare(obj, spec->arg);
	if (!rc)
		rc = budget_shrink(obj, c);
	if (!rc)
		object_add(b, obj, c->shrink);
	return rc;
}

int budget_add(struct budget *b, struct capture *c, const struct attach_spec *spec)
{
	u32 now = c->shrink;
	struct sizes sizes = {};
	struct bpf_object *obj;
	int rc = object_open(spec->object, &obj);

	if (rc)
		return rc;
	sizes_remember(&sizes, obj);
	for (c->shrink = 0; c->shrink < BUDGET_LEVELS && !rc; c->shrink++)
		rc = map_memory_level_add(b, c, spec, &sizes, obj);
	c->shrink = now;
	bpf_object__close(obj);
	return rc;
}

u32 budget_ring(u32 bytes, u32 level)
{
	u32 least = (u32)MIN((u64)bytes, RING_LEAST);

	return MAX(bytes >> level, least);
}

int budget_shrink(struct bpf_object *obj, const struct capture *c)
{
	struct bpf_map *m;
	int rc = 0;

	bpf_object__for_each_map(m, obj)
	{
		u32 now = bpf_map__max_entries(m), least = least_of(m);
		int shared = shared_index(m);

		if (shared >= 0 && c->shared[shared]) /* made already */
			continue;
		if (!rc && least && now > least)
			rc = bpf_map__set_max_entries(m, MAX(now >> c->shrink, least));
	}
	return rc;
}
