/* See unwind_layouts.h. */
#include "capture/unwind/unwind_layouts.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

#include "base/clock.h"
#include "capture/unwind/extents.h"

#define MAP_SIZE (UNWIND_MAPPINGS_MAX * sizeof(struct unwind_mapping))
/* A walk may still be reading what was in use a moment ago. */
#define REST_NS NSEC_PER_SEC

struct layout {
	struct unwind_layout part; /* first */
	XXH128_hash_t hash;
	u32 uses;
	UT_hash_handle hh;
};

struct resting {
	struct unwind_layout part;
	u64 since_ns;
};

struct unwind_layouts {
	struct unwind_files *files;
	struct unwind_mapping *map;
	struct extents free;
	struct layout *layouts;
	VEC(struct resting) resting;    /* by time */
	VEC(struct unwind_mapping) now; /* the one being made */
};

int unwind_layouts_open(int map, struct unwind_files *files, struct unwind_layouts **ret)
{
	struct unwind_layouts *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return -ENOMEM;
	l->files = files;
	l->map = mmap(NULL, MAP_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (l->map == MAP_FAILED) {
		rc = -errno;
		free(l);
		return rc;
	}
	extents_give(&l->free, 0, UNWIND_MAPPINGS_MAX);
	*ret = l;
	return 0;
}

void unwind_layouts_close(struct unwind_layouts *l)
{
	struct layout *x, *tmp;

	if (!l)
		return;
	HASH_ITER (hh, l->layouts, x, tmp) {
		HASH_DEL(l->layouts, x);
		free(x);
	}
	vec_free(&l->resting);
	vec_free(&l->now);
	extents_free(&l->free);
	munmap(l->map, MAP_SIZE);
	free(l);
}

static int mappings_make(struct unwind_layouts *l, const struct process_map *map)
{
	int rc = 0;

	l->now.n = 0;
	for (size_t i = 0; i < process_map_count(map) && !rc; i++) {
		struct unwind_mapping m = {};
		struct map_hit at;

		process_map_get(map, i, &m.start, &m.end, &at);
		rc = unwind_files_use(l->files, at.module, at.offset, m.start, &m);
		if (rc)
			break;
		rc = vec_push(&l->now, m);
		if (rc)
			unwind_files_unuse(l->files, &m);
	}
	return rc;
}

static void mappings_unuse(struct unwind_layouts *l, const struct unwind_mapping *m, size_t n)
{
	for (size_t i = 0; i < n; i++)
		unwind_files_unuse(l->files, &m[i]);
}

static void rested_free(struct unwind_layouts *l)
{
	u64 now = clock_mono_ns();
	size_t n = 0;

	while (n < l->resting.n && now - l->resting.v[n].since_ns >= REST_NS) {
		extents_give(&l->free, l->resting.v[n].part.first, l->resting.v[n].part.n);
		n++;
	}
	l->resting.n -= n;
	if (n && l->resting.n)
		memmove(l->resting.v, l->resting.v + n, l->resting.n * sizeof(*l->resting.v));
}

static int layout_add(struct unwind_layouts *l, XXH128_hash_t hash, struct layout **ret)
{
	struct layout *x = calloc(1, sizeof(*x));
	int rc;

	if (!x)
		return -ENOMEM;
	rested_free(l);
	x->hash = hash;
	x->part.n = (u32)l->now.n;
	rc = extents_take(&l->free, x->part.n, &x->part.first);
	if (rc) {
		free(x);
		return rc;
	}
	memcpy(l->map + x->part.first, l->now.v, l->now.n * sizeof(*l->now.v));
	HASH_ADD(hh, l->layouts, hash, sizeof(x->hash), x);
	*ret = x;
	return 0;
}

int unwind_layouts_use(
	struct unwind_layouts *l, const struct process_map *map, const struct unwind_layout **ret)
{
	struct layout *x = NULL;
	XXH128_hash_t hash;
	int rc = mappings_make(l, map);

	if (!rc && (!l->now.n || l->now.n > UNWIND_MAPPINGS_MAX))
		rc = -ENOSPC;
	if (!rc)
		rc = unwind_files_commit(l->files);
	if (!rc) {
		hash = XXH3_128bits(l->now.v, l->now.n * sizeof(*l->now.v));
		HASH_FIND(hh, l->layouts, &hash, sizeof(hash), x);
	}
	if (x || rc)
		mappings_unuse(l, l->now.v, l->now.n); /* it uses them already */
	if (!rc && !x) {
		rc = layout_add(l, hash, &x);
		if (rc)
			mappings_unuse(l, l->now.v, l->now.n);
	}
	if (rc)
		return rc;
	x->uses++;
	*ret = &x->part;
	return 0;
}

const struct unwind_mapping *unwind_layouts_find(
	const struct unwind_layouts *l, const struct unwind_layout *layout, u64 ip)
{
	const struct unwind_mapping *m = l->map + layout->first;
	u32 lo = 0, hi = layout->n;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (m[mid].end > ip)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo < layout->n && ip >= m[lo].start ? &m[lo] : NULL;
}

void unwind_layouts_share(const struct unwind_layout *layout)
{
	((struct layout *)(uintptr_t)layout)->uses++;
}

void unwind_layouts_unuse(struct unwind_layouts *l, const struct unwind_layout *layout)
{
	struct layout *x = (struct layout *)(uintptr_t)layout;
	struct resting rest = {x->part, clock_mono_ns()};

	if (--x->uses)
		return;
	mappings_unuse(l, l->map + x->part.first, x->part.n);
	HASH_DEL(l->layouts, x);
	vec_push(&l->resting, rest); /* without memory: that room is lost */
	free(x);
}
