/* See latest.h. */
#include "serve/latest.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <xxhash.h>

#define HASH_FUNCTION(key, size, hash) ((hash) = (unsigned)XXH3_64bits(key, size))
#include <uthash.h>

#include "probes/cgroups/cgroups.h"
#include "probes/frag/frag.h"
#include "probes/holders/holders.h"
#include "probes/maps/maps.h"
#include "probes/pages/pages.h"
#include "probes/processes/processes.h"
#include "probes/slab/slab.h"
#include "probes/swap/swap.h"
#include "probes/system/system.h"
#include "probes/thp/thp.h"

#define KEY_MAX 76
#define THINGS_MAX 32768

/* What tells one thing from another: bytes of the record. of_task: it begins with a tgid, and ends
 * with that process. */
static const struct state_kind {
	u16 kind;
	u16 at, n;
	bool of_task;
} state_kinds[] = {
	{REC_TASK, offsetof(struct rec_task, tgid), 8, true},
	{REC_LOSS, offsetof(struct rec_loss, probe), PROBE_NAME_LEN, false},
	{REC_COST, 0, 0, false},
	{REC_SYSTEM_VALUE, offsetof(struct system_value, source), 8 + SYSTEM_NAME_LEN, false},
	{REC_SYSTEM_PRESSURE, offsetof(struct system_pressure, resource), 1, false},
	{REC_THP_VALUE, offsetof(struct thp_value, source), 8 + THP_NAME_LEN, false},
	{REC_THP_PROCESS, offsetof(struct thp_process, tgid), 4, true},
	{REC_PROCESS_MEMORY, offsetof(struct process_memory, tgid), 4, true},
	{REC_PROCESS_DETAIL, offsetof(struct process_detail, tgid), 4, true},
	{REC_PROCESS_NUMA, offsetof(struct process_numa, tgid), 4, true},
	{REC_PROCESS_FAMILY, offsetof(struct process_family, leader), 4, true},
	{REC_CGROUP_MEMORY, offsetof(struct cgroup_usage, cgroup), 8, false},
	{REC_SLAB_CACHE, offsetof(struct slab_usage, name), SLAB_CACHE_NAME_LEN, false},
	{REC_FRAG_ZONE, offsetof(struct frag_zone, node), 8 + FRAG_ZONE_NAME, false},
	{REC_FRAG_PAGETYPE, offsetof(struct frag_pagetype, node), 8 + FRAG_ZONE_NAME, false},
	{REC_SWAP_DEVICE, offsetof(struct swap_device, name), SWAP_NAME_LEN, false},
	{REC_PAGES_LISTS, 0, 0, false},
	{REC_MAPS_LIMIT, offsetof(struct maps_limit, name), MAPS_LIMIT_LEN, false},
	{REC_HELD_FILES, offsetof(struct held_files, device), 8, false},
	{REC_HELD_SEGMENT, offsetof(struct held_segment, id), 8, false},
	{REC_HELD_PROCESS, offsetof(struct held_process, tgid), 4, true},
	{REC_HELD_CHILDREN, offsetof(struct held_children, tgid), 4, true},
};

struct thing_key {
	u16 kind;
	u8 bytes[KEY_MAX];
};

struct thing {
	struct thing_key key;
	struct rec *rec;
	UT_hash_handle hh;
};

struct latest {
	struct thing *things;
	u64 bytes;
};

int latest_new(struct latest **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void thing_drop(struct latest *l, struct thing *t)
{
	HASH_DEL(l->things, t);
	l->bytes -= sizeof(*t) + t->rec->size;
	free(t->rec);
	free(t);
}

void latest_free(struct latest *l)
{
	struct thing *t, *next;

	if (!l)
		return;
	HASH_ITER (hh, l->things, t, next)
		thing_drop(l, t);
	free(l);
}

static const struct state_kind *kind_find(u16 kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(state_kinds); i++)
		if (state_kinds[i].kind == kind)
			return &state_kinds[i];
	return NULL;
}

static struct thing *thing_find(const struct latest *l, const struct thing_key *key)
{
	struct thing *t;

	HASH_FIND(hh, l->things, key, sizeof(*key), t);
	return t;
}

/* What was known of a process that has ended. */
static void task_drop(struct latest *l, const struct rec_task *task)
{
	for (size_t i = 0; i < ARRAY_SIZE(state_kinds); i++) {
		const struct state_kind *k = &state_kinds[i];
		struct thing_key key = {.kind = k->kind};
		struct thing *t;

		if (!k->of_task || (task->tid && k->kind != REC_TASK))
			continue;
		memcpy(key.bytes, &task->tgid, k->n); /* tid follows tgid */
		t = thing_find(l, &key);
		if (t)
			thing_drop(l, t);
	}
}

static void thing_set(struct latest *l, const struct thing_key *key, const struct rec *r)
{
	struct thing *t = thing_find(l, key);
	struct rec *copy;

	if (t && t->rec->size == r->size) {
		memcpy(t->rec, r, r->size);
		return;
	}
	if (!t && HASH_COUNT(l->things) >= THINGS_MAX)
		return;
	copy = malloc(r->size);
	if (!copy)
		return;
	memcpy(copy, r, r->size);
	if (t) {
		l->bytes += r->size - t->rec->size;
		free(t->rec);
		t->rec = copy;
		return;
	}
	t = calloc(1, sizeof(*t));
	if (!t) {
		free(copy);
		return;
	}
	t->key = *key;
	t->rec = copy;
	HASH_ADD(hh, l->things, key, sizeof(t->key), t);
	l->bytes += sizeof(*t) + r->size;
}

void latest_put(struct latest *l, const struct rec *r)
{
	const struct state_kind *k = kind_find(r->kind);
	struct thing_key key = {.kind = r->kind};

	if (!k || r->size < (u32)k->at + k->n)
		return;
	if (task_is_over(r)) {
		task_drop(l, (const struct rec_task *)r);
		return;
	}
	memcpy(key.bytes, (const char *)r + k->at, k->n);
	thing_set(l, &key, r);
}

const struct rec_loss *latest_loss(const struct latest *l, const char *probe)
{
	struct thing_key key = {.kind = REC_LOSS};
	struct thing *t;

	memcpy(key.bytes, probe, PROBE_NAME_LEN);
	t = thing_find(l, &key);
	return t && t->rec->size >= sizeof(struct rec_loss) ? (const struct rec_loss *)t->rec
							    : NULL;
}

const struct rec_cost *latest_cost(const struct latest *l)
{
	struct thing *t = thing_find(l, &(struct thing_key){.kind = REC_COST});

	return t && t->rec->size >= sizeof(struct rec_cost) ? (const struct rec_cost *)t->rec
							    : NULL;
}

static bool is_sum(const struct thing *t)
{
	return t->key.kind == REC_LOSS || t->key.kind == REC_COST;
}

int latest_send(const struct latest *l, u64 time_ns, struct sink *to)
{
	struct thing *t, *next;
	int rc = 0;

	HASH_ITER (hh, l->things, t, next) {
		if (rc || is_sum(t))
			continue;
		if (t->rec->time_ns)
			t->rec->time_ns = time_ns;
		rc = to->put(to, t->rec);
	}
	return rc;
}

int latest_send_sums(const struct latest *l, struct sink *to)
{
	struct thing *t, *next;
	int rc = 0;

	HASH_ITER (hh, l->things, t, next)
		if (!rc && is_sum(t))
			rc = to->put(to, t->rec);
	return rc;
}

u64 latest_bytes(const struct latest *l)
{
	return l->bytes;
}
