/* See numa_known.h. */
#include "probes/numa/capture/numa_known.h"

#include <errno.h>
#include <stdlib.h>

#include "capture/names/names.h"
#include "sym/hash.h"
#include "sys/process/maps.h"

struct known_id {
	UT_hash_handle hh;
	u32 id;
};

/* 1: it was there, 0: it is new, -ENOMEM. */
static int id_add(struct known_id **set, u32 id)
{
	struct known_id *k;

	HASH_FIND(hh, *set, &id, sizeof(id), k);
	if (k)
		return 1;
	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->id = id;
	HASH_ADD(hh, *set, id, sizeof(id), k);
	if (k->hh.tbl)
		return 0;
	free(k);
	return -ENOMEM;
}

static void id_remove(struct known_id **set, u32 id)
{
	struct known_id *k;

	HASH_FIND(hh, *set, &id, sizeof(id), k);
	if (!k)
		return;
	HASH_DEL(*set, k);
	free(k);
}

static void ids_free(struct known_id **set)
{
	struct known_id *k, *next;

	HASH_ITER (hh, *set, k, next) {
		HASH_DEL(*set, k);
		free(k);
	}
}

void numa_known_init(struct numa_known *k)
{
	numa_data_init(&k->data);
	numa_tls_init(&k->tls);
}

static void mapping_fill(struct capture *c, const struct mapping *m, struct numa_mapping *r)
{
	r->offset = m->offset;
	r->inode = m->inode;
	r->device = m->dev_major << 20 | m->dev_minor;
	r->file = names_string(c->names, m->path);
	r->kind = (u8)m->kind;
	r->prot = m->prot;
	r->shared = m->shared;
}

static int numa_known_held_send(
	struct numa_known *k, struct capture *c, u32 tgid, u64 time_ns, const struct maps *maps)
{
	int rc = 0;

	vec_each (m, &maps->list) {
		struct numa_mapping r = REC_INIT(struct numa_mapping, REC_NUMA_MAP, time_ns);

		if (m->start >> 63) /* vsyscall: nobody's, and no memory */
			continue;
		r.tgid = tgid;
		r.what = NUMA_MAP_HELD;
		r.start = m->start;
		r.bytes = m->end - m->start;
		mapping_fill(c, m, &r);
		rc = numa_data_mapping(&k->data, &r, m->path);
		rc = rc ? rc : capture_emit(c, &r.h);
		if (rc)
			break;
	}
	return rc;
}

int numa_know_process(struct numa_known *k, struct capture *c, u32 tgid, u64 time_ns)
{
	_cleanup_maps_ struct maps maps = {};
	int rc = id_add(&k->processes, tgid);

	if (rc)
		return rc < 0 ? rc : 0;
	/* It may be gone already: then its samples have no objects, and that is said. */
	return maps_read((int)tgid, &maps) ? 0 : numa_known_held_send(k, c, tgid, time_ns, &maps);
}

int numa_know_thread(struct numa_known *k, struct capture *c, const struct numa_sample *s, u64 tls)
{
	struct numa_task r = REC_INIT(struct numa_task, REC_NUMA_TASK, s->h.time_ns - 1);
	/* An access within the kernel tells no stack: the next does. */
	int rc = s->sp ? id_add(&k->threads, s->tid) : 1;

	if (rc)
		return rc < 0 ? rc : 0;
	r.tgid = s->tgid;
	r.tid = s->tid;
	r.what = NUMA_TASK_HELD;
	r.stack = s->sp;
	r.tls = tls;
	return capture_emit(c, &r.h);
}

int numa_know_variables(
	struct numa_known *k, struct capture *c, const struct numa_sample *s, u64 tls)
{
	int rc = numa_data_sample(&k->data, c, s->tgid, s->address);

	return rc ? rc : numa_tls_sample(&k->tls, &k->data, c, s, tls);
}

int numa_know_copy(struct numa_known *k, u32 tgid)
{
	int rc = id_add(&k->processes, tgid);

	return rc < 0 ? rc : 0;
}

void numa_forget_process(struct numa_known *k, u32 tgid)
{
	id_remove(&k->processes, tgid);
	numa_data_drop(&k->data, tgid);
	numa_tls_drop(&k->tls, tgid);
}

void numa_forget_thread(struct numa_known *k, u32 tid)
{
	id_remove(&k->threads, tid);
	numa_tls_thread_drop(&k->tls, tid);
}

int numa_mapping_complete(struct numa_known *k, struct capture *c, struct numa_mapping *r)
{
	const struct mapping *m;
	u8 prot = r->prot;

	if (r->what != NUMA_MAP_MADE)
		return 0;
	if (r->kind != MAPPING_FILE && r->kind != MAPPING_SHMEM)
		return numa_data_mapping(&k->data, r, NULL);
	m = mapping_find(&c->mappings, r->tgid, r->start);
	if (!m || m->start != r->start) { /* what is kept may be older */
		c->mappings.tgid = 0;
		m = mapping_find(&c->mappings, r->tgid, r->start);
	}
	if (!m || m->start != r->start)
		return 0;
	if (!r->bytes)
		r->bytes = m->end - m->start;
	mapping_fill(c, m, r);
	/* The loader takes rights away from a part of what it mapped to be written. */
	r->prot = prot ? prot : r->prot;
	return numa_data_mapping(&k->data, r, m->path);
}

void numa_known_free(struct numa_known *k)
{
	ids_free(&k->processes);
	ids_free(&k->threads);
	numa_data_free(&k->data);
	numa_tls_free(&k->tls);
}
