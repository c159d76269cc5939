/* See table.h. */
#include "capture/table.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <uthash.h>

#include "base/util.h"

/* The value of a key at the last drain. */
struct known {
	UT_hash_handle hh;
	struct agg_value last;
	char key[];
};

struct table {
	struct table_spec spec;
	struct known *known;
	struct agg_value *cpus; /* one value a possible CPU */
	int n_cpus;
	u64 delivered;
	char *key, *next;
};

int table_open(const struct table_spec *spec, struct table **ret)
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->spec = *spec;
	t->n_cpus = libbpf_num_possible_cpus();
	t->cpus = calloc((size_t)MAX(1, t->n_cpus), sizeof(*t->cpus));
	t->key = calloc(2, spec->key_size);
	if (t->n_cpus < 1 || !t->cpus || !t->key) {
		table_close(t);
		return -ENOMEM;
	}
	t->next = t->key + spec->key_size;
	*ret = t;
	return 0;
}

static void value_sum(struct agg_value *sum, const struct agg_value *cpus, int n)
{
	*sum = (struct agg_value){};
	for (int i = 0; i < n; i++) {
		const struct agg_value *v = &cpus[i];

		if (!v->count)
			continue;
		if (!sum->count) {
			sum->cgroup = v->cgroup;
			memcpy(sum->comm, v->comm, sizeof(sum->comm));
			memcpy(sum->name, v->name, sizeof(sum->name));
		}
		sum->count += v->count;
		sum->timed += v->timed;
		sum->total_ns += v->total_ns;
		sum->max_ns = MAX(sum->max_ns, v->max_ns);
		for (size_t k = 0; k < ARRAY_SIZE(sum->sum); k++)
			sum->sum[k] += v->sum[k];
		for (size_t k = 0; k < AGG_SLOTS; k++)
			sum->hist[k] += v->hist[k];
	}
}

/* *v becomes what was added since *last, which becomes what *v was. */
static void value_delta(struct agg_value *v, struct agg_value *last)
{
	struct agg_value now = *v;

	v->count -= last->count;
	v->timed -= last->timed;
	v->total_ns -= last->total_ns;
	for (size_t k = 0; k < ARRAY_SIZE(v->sum); k++)
		v->sum[k] -= last->sum[k];
	for (size_t k = 0; k < AGG_SLOTS; k++)
		v->hist[k] -= last->hist[k];
	*last = now;
}

static struct known *known_get(struct table *t, const void *key)
{
	struct known *k;

	HASH_FIND(hh, t->known, key, t->spec.key_size, k);
	if (k)
		return k;
	k = calloc(1, sizeof(*k) + t->spec.key_size);
	if (!k)
		return NULL;
	memcpy(k->key, key, t->spec.key_size);
	HASH_ADD(hh, t->known, key, t->spec.key_size, k);
	return k;
}

static int key_read(struct table *t, const void *key)
{
	struct agg_value v;
	struct known *k;

	if (bpf_map_lookup_elem(t->spec.map, key, t->cpus))
		return 0;
	value_sum(&v, t->cpus, t->n_cpus);
	k = known_get(t, key);
	if (!k)
		return -ENOMEM;
	if (v.count == k->last.count)
		return 0;
	value_delta(&v, &k->last);
	t->delivered += v.count;
	return t->spec.added(t->spec.arg, key, &v);
}

/* Read again after the process was seen to be gone, so nothing is added any more. */
static int key_retire(struct table *t, const void *key)
{
	struct known *k;
	int rc = key_read(t, key);

	if (rc)
		return rc;
	bpf_map_delete_elem(t->spec.map, key);
	HASH_FIND(hh, t->known, key, t->spec.key_size, k);
	if (k) {
		HASH_DEL(t->known, k);
		free(k);
	}
	return 0;
}

static bool key_is_over(struct table *t, const void *key)
{
	u32 tgid = t->spec.tgid ? t->spec.tgid(key) : 0;

	return tgid && kill((pid_t)tgid, 0) && errno == ESRCH;
}

int table_drain(struct table *t)
{
	const void *at = NULL;
	int rc = 0;
	bool more = !bpf_map_get_next_key(t->spec.map, NULL, t->next);

	while (more && !rc) {
		memcpy(t->key, t->next, t->spec.key_size);
		at = t->key;
		more = !bpf_map_get_next_key(t->spec.map, at, t->next);
		rc = key_is_over(t, at) ? key_retire(t, at) : key_read(t, at);
	}
	return rc;
}

u64 table_delivered(const struct table *t)
{
	return t->delivered;
}

void table_close(struct table *t)
{
	struct known *k, *tmp;

	if (!t)
		return;
	HASH_ITER (hh, t->known, k, tmp) {
		HASH_DEL(t->known, k);
		free(k);
	}
	free(t->cpus);
	free(t->key);
	free(t);
}
