/* See residence.h: faults, and what memory is. */
#include "probes/heap/residence/residence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"

void residence_names_free(struct residence_names *n)
{
	vec_each (name, &n->list)
		free(*name);
	vec_free(&n->list);
}

struct residence *residence_new(struct residence_names *names)
{
	struct residence *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->names = names;
	groups_init(&r->sums, sizeof(struct residence_key), sizeof(struct residence_sums));
	groups_init(&r->stacks, sizeof(u32), sizeof(u64));
	return r;
}

void residence_free(struct residence *r)
{
	if (!r)
		return;
	groups_free(&r->sums);
	groups_free(&r->stacks);
	maps_free(&r->maps);
	vec_free(&r->keys);
	free(r);
}

static void residence_sums_add(struct residence *r, struct residence_sums *s, bool major)
{
	s->minor += !major;
	s->major += major;
	s->changed = true;
	r->minor += !major;
	r->major += major;
}

int residence_count(struct residence *r, const struct residence_key *k, bool major)
{
	struct residence_sums *s = groups_get(&r->sums, k);

	if (!s)
		return -ENOMEM;
	residence_sums_add(r, s, major);
	return 0;
}

int residence_adopt(struct residence *r, const struct residence_key *from, u32 stack, bool major)
{
	struct residence_sums *s = groups_find(&r->sums, from);

	if (!s)
		return 0;
	s->minor -= !major;
	s->major -= major;
	s->changed = true;
	r->minor -= !major;
	r->major -= major;
	return residence_count(
		r, &(struct residence_key){.what = HEAP_PLACE_BLOCK, .id = stack}, major);
}

int residence_stack(struct residence *r, u32 tid, u64 sp)
{
	u64 *at = sp ? groups_get(&r->stacks, &tid) : NULL;

	if (at)
		*at = sp;
	return sp && !at ? -ENOMEM : 0;
}

static int name_number(struct residence_names *n, const char *name, u32 *ret)
{
	char *copy;

	for (size_t i = 0; i < n->list.n; i++)
		if (!strcmp(n->list.v[i], name)) {
			*ret = (u32)i + 1;
			return 0;
		}
	copy = strdup(name);
	if (!copy || vec_push(&n->list, copy)) {
		free(copy);
		return -ENOMEM;
	}
	*ret = (u32)n->list.n;
	return 0;
}

static const u32 places[MAPPING_KINDS] = {
	[MAPPING_ANON] = HEAP_PLACE_LIBC,
	[MAPPING_HEAP] = HEAP_PLACE_LIBC,
	[MAPPING_STACK] = HEAP_PLACE_STACK,
	[MAPPING_FILE] = HEAP_PLACE_FILE,
	[MAPPING_SHMEM] = HEAP_PLACE_SHARED,
	[MAPPING_HUGETLB] = HEAP_PLACE_HUGETLB,
	[MAPPING_VDSO] = HEAP_PLACE_KERNEL,
};

/* The loader puts variables without a value (.bss) right behind those of the file that have one. */
static bool is_bss(const struct mapping *m, const struct mapping *before)
{
	return m->kind == MAPPING_ANON && !m->path[0] && before && before->kind == MAPPING_FILE &&
	       before->end == m->start && before->prot & MAPPING_WRITE && !before->shared;
}

/* The key of each mapping. */
static int keys_make(struct residence *r)
{
	int rc = 0;

	r->keys.n = 0;
	for (size_t i = 0; i < r->maps.list.n && !rc; i++) {
		const struct mapping *m = &r->maps.list.v[i];
		struct residence_key k = {.what = places[m->kind]};

		if (i && is_bss(m, m - 1))
			k = r->keys.v[i - 1];
		else if (k.what == HEAP_PLACE_FILE || k.what == HEAP_PLACE_SHARED)
			rc = name_number(r->names, path_name(m->path), &k.id);
		rc = rc ? rc : vec_push(&r->keys, k);
	}
	if (rc)
		r->maps.list.n = r->keys.n;
	return rc;
}

int residence_maps(struct residence *r, struct maps *maps, u64 time_ns)
{
	maps_free(&r->maps);
	r->maps = *maps;
	r->maps_ns = time_ns;
	*maps = (struct maps){};
	return keys_make(r);
}

int residence_read(struct residence *r, u32 pid)
{
	_cleanup_maps_ struct maps maps = {};
	u64 now = clock_mono_ns();

	r->maps_ns = now;
	if (maps_read((int)pid, &maps) || !maps.list.n)
		return 0; /* it is gone: what was known of it stays */
	return residence_maps(r, &maps, now);
}

struct residence_key residence_mapped(const struct mappings *m, const struct range *r)
{
	const struct mapping_site_key *k = groups_key(&m->sites, r->value);

	return (struct residence_key){HEAP_PLACE_MAPPED, k->stack, k->kind};
}

const struct residence_key *residence_key_of(const struct residence *r, const struct mapping *m)
{
	return &r->keys.v[m - r->maps.list.v];
}

bool residence_is_stack(const struct residence *r, const struct mapping *m)
{
	for (size_t i = 0; m->kind == MAPPING_ANON && i < r->stacks.n; i++) {
		u64 sp = *(const u64 *)groups_value(&r->stacks, i);

		if (sp >= m->start && sp < m->end)
			return true;
	}
	return false;
}

struct residence_key residence_place(struct residence *r, const struct residence *parent, u32 pid,
	u64 address, u64 sp, u64 time_ns)
{
	const struct residence *of = r;
	const struct mapping *m = maps_find(&r->maps, address);
	struct residence_key k = {.what = HEAP_PLACE_UNKNOWN};

	if (!m && pid && r->maps_ns < time_ns && !residence_read(r, pid))
		m = maps_find(&r->maps, address);
	if (!m && parent) {
		of = parent;
		m = maps_find(&parent->maps, address);
	}
	if (!m)
		return k;
	k = *residence_key_of(of, m);
	if (k.what == HEAP_PLACE_LIBC && m->kind == MAPPING_ANON && sp >= m->start && sp < m->end)
		k.what = HEAP_PLACE_STACK;
	return k;
}
