/* See table.h. */
#include "capture/table.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

#define HASH_FUNCTION(key, size, hash) ((hash) = (unsigned)XXH3_64bits(key, size))
#include <uthash.h>

#include "base/groups.h"
#include "base/util.h"
#include "capture/capture.h"

/* The value of a key at the last drain. */
struct known {
	UT_hash_handle hh;
	void *last; /* behind the key */
	char key[];
};

struct table {
	struct table_spec spec;
	struct known *known;
	int n_cpus;       /* values a key has: one a possible CPU, or one */
	char *cpus;       /* n_cpus of them */
	char *sum, *last; /* of the key at hand */
	u64 delivered;
	char *key, *next;
	const char *slots; /* mapped; NULL: none */
	size_t slots_bytes, slot_size;
	struct groups folded; /* of all slots, by key */

	u32 batch_n;         /* keys that the kernel hands out in one call; 0: it hands out one */
	u32 max_keys, keys;  /* as of the last drain */
	struct groups ended; /* tgid -> 1: it is there, 2: it has ended; of this drain */
};

#define ASK_KEYS 256 /* after so many that were read one by one it is asked whether to leave */
#define BATCH_BYTES (128UL << 10) /* stays in the cache of a CPU */
#define BATCH_MIN 64 /* no bucket of a hash holds as many */
#define BATCH_MAX 1024

static bool map_is_per_cpu(int map)
{
	struct bpf_map_info info = {};
	u32 len = sizeof(info);

	return !bpf_obj_get_info_by_fd(map, &info, &len) &&
	       (info.type == BPF_MAP_TYPE_PERCPU_HASH || info.type == BPF_MAP_TYPE_PERCPU_ARRAY);
}

/* The kernel hands values out in steps of 8 bytes. */
static size_t value_size(const struct table *t)
{
	return (t->spec.values->size + 7) & ~7UL;
}

static int slots_open(struct table *t)
{
	struct bpf_map_info info = {};
	u32 len = sizeof(info);
	void *p;

	if (t->spec.slots <= 0)
		return 0;
	if (bpf_obj_get_info_by_fd(t->spec.slots, &info, &len))
		return -errno;
	t->slot_size = t->spec.slot_key + t->spec.slot_sums * sizeof(u64);
	if (info.value_size != t->slot_size)
		return -EINVAL;
	t->slots_bytes = (size_t)info.max_entries * t->slot_size;
	p = mmap(NULL, t->slots_bytes, PROT_READ, MAP_SHARED, t->spec.slots, 0);
	if (p == MAP_FAILED)
		return -errno;
	t->slots = p;
	groups_init(&t->folded, t->spec.key_size, t->spec.slot_sums * sizeof(u64));
	return 0;
}

static bool room_grow(char **room, size_t *size, size_t wanted)
{
	char *p = wanted > *size ? realloc(*room, wanted) : *room;

	if (!p)
		return false;
	*room = p;
	*size = MAX(*size, wanted);
	return true;
}

/* Without memory for it, or where the kernel does not know how, keys are read one by one. */
static void batch_open(struct table *t)
{
	struct table_batch *b = t->spec.batch;
	struct bpf_map_info info = {};
	u32 len = sizeof(info), n;
	size_t each = (size_t)t->n_cpus * value_size(t);

	if (bpf_obj_get_info_by_fd(t->spec.map, &info, &len))
		return;
	t->max_keys = info.max_entries;
	n = (u32)MIN(MAX(BATCH_BYTES / each, (size_t)BATCH_MIN), (size_t)BATCH_MAX);
	if (b && room_grow(&b->keys, &b->keys_size, (size_t)n * t->spec.key_size) &&
		room_grow(&b->values, &b->values_size, n * each))
		t->batch_n = n;
}

void table_batch_free(struct table_batch *b)
{
	free(b->keys);
	free(b->values);
	*b = (struct table_batch){};
}

int table_open(const struct table_spec *spec, struct table **ret)
{
	struct table *t = calloc(1, sizeof(*t));
	int rc;

	if (!t)
		return -ENOMEM;
	t->spec = *spec;
	if (!t->spec.values)
		t->spec.values = &table_agg;
	t->n_cpus = map_is_per_cpu(spec->map) ? libbpf_num_possible_cpus() : 1;
	t->cpus = calloc((size_t)MAX(1, t->n_cpus) + 2, value_size(t));
	t->key = calloc(2, spec->key_size);
	if (t->n_cpus < 1 || !t->cpus || !t->key) {
		table_close(t);
		return -ENOMEM;
	}
	t->sum = t->cpus + (size_t)t->n_cpus * value_size(t);
	t->last = t->sum + value_size(t);
	t->next = t->key + spec->key_size;
	groups_init(&t->ended, sizeof(u32), sizeof(u32));
	batch_open(t);
	rc = slots_open(t);
	if (rc) {
		table_close(t);
		return rc;
	}
	*ret = t;
	return 0;
}

static void agg_add(void *to, const void *cpu)
{
	struct agg_value *sum = to;
	const struct agg_value *v = cpu;

	if (!v->count)
		return;
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

static void agg_subtract(void *from, const void *before)
{
	struct agg_value *v = from;
	const struct agg_value *last = before;

	v->count -= last->count;
	v->timed -= last->timed;
	v->total_ns -= last->total_ns;
	for (size_t k = 0; k < ARRAY_SIZE(v->sum); k++)
		v->sum[k] -= last->sum[k];
	for (size_t k = 0; k < AGG_SLOTS; k++)
		v->hist[k] -= last->hist[k];
}

const struct table_values table_agg = {sizeof(struct agg_value), agg_add, agg_subtract};

static void sum_add(void *to, const void *cpu)
{
	struct sum_value *sum = to;
	const struct sum_value *v = cpu;

	if (!v->count)
		return;
	if (!sum->count) {
		sum->cgroup = v->cgroup;
		memcpy(sum->comm, v->comm, sizeof(sum->comm));
	}
	sum->count += v->count;
	for (size_t k = 0; k < SUM_SLOTS; k++)
		sum->sum[k] += v->sum[k];
}

static void sum_subtract(void *from, const void *before)
{
	struct sum_value *v = from;
	const struct sum_value *last = before;

	v->count -= last->count;
	for (size_t k = 0; k < SUM_SLOTS; k++)
		v->sum[k] -= last->sum[k];
}

const struct table_values table_sum = {sizeof(struct sum_value), sum_add, sum_subtract};

static u64 value_count(const void *value)
{
	return *(const u64 *)value;
}

/* Sums of all slots of a key. */
static int slots_fold(struct table *t)
{
	char *key = t->key; /* of no use between two keys */

	groups_clear(&t->folded);
	memset(key, 0, t->spec.key_size);
	for (const char *s = t->slots; s < t->slots + t->slots_bytes; s += t->slot_size) {
		const u64 *sums = (const u64 *)(s + t->spec.slot_key);
		u64 *all;

		if (!__atomic_load_n(&sums[0], __ATOMIC_ACQUIRE))
			continue;
		memcpy(key, s, t->spec.slot_key);
		all = groups_get(&t->folded, key);
		if (!all)
			return -ENOMEM;
		for (u32 i = 0; i < t->spec.slot_sums; i++)
			all[i] += sums[i];
	}
	return 0;
}

static void slots_add(struct table *t, const void *key)
{
	const u64 *sums = t->slots ? groups_find(&t->folded, key) : NULL;

	for (u32 i = 0; sums && i < t->spec.slot_sums; i++)
		((u64 *)t->sum)[i] += sums[i];
}

/* Does t->sum differ from what it was? */
static bool value_differs(const struct table *t, const void *last)
{
	return memcmp(t->sum, last, value_size(t)) != 0;
}

/* t->sum becomes what all CPUs together have counted. */
static void value_sum(struct table *t, const char *cpus)
{
	memset(t->sum, 0, value_size(t));
	for (int i = 0; i < t->n_cpus; i++)
		t->spec.values->add(t->sum, cpus + (size_t)i * value_size(t));
}

static struct known *known_find(struct table *t, const void *key)
{
	struct known *k;

	HASH_FIND(hh, t->known, key, t->spec.key_size, k);
	return k;
}

static struct known *known_get(struct table *t, const void *key)
{
	size_t key_size = (t->spec.key_size + 7) & ~7U;
	struct known *k = known_find(t, key);

	if (k)
		return k;
	k = calloc(1, sizeof(*k) + key_size + value_size(t));
	if (!k)
		return NULL;
	k->last = k->key + key_size;
	memcpy(k->key, key, t->spec.key_size);
	HASH_ADD(hh, t->known, key, t->spec.key_size, k);
	return k;
}

/* t->sum becomes what was added since the last drain. */
static void value_delta(struct table *t, struct known *k)
{
	memcpy(t->last, k->last, value_size(t));
	memcpy(k->last, t->sum, value_size(t));
	t->spec.values->subtract(t->sum, t->last);
}

/* Hands out what was added to a key whose values are these, a CPU each. last: nothing will be. */
static int key_take(struct table *t, const void *key, const char *cpus, bool last)
{
	struct known *k;

	value_sum(t, cpus);
	slots_add(t, key);
	memset(t->last, 0, value_size(t));
	if (!value_differs(t, t->last))
		return 0;
	k = last ? known_find(t, key) : known_get(t, key);
	if (!k && last)
		goto deliver;
	if (!k)
		return -ENOMEM;
	if (!value_differs(t, k->last))
		return 0;
	value_delta(t, k);
deliver:
	t->delivered += value_count(t->sum);
	return t->spec.added(t->spec.arg, key, t->sum);
}

static int key_read(struct table *t, const void *key)
{
	return bpf_map_lookup_elem(t->spec.map, key, t->cpus) ? 0
							      : key_take(t, key, t->cpus, false);
}

static void key_forget(struct table *t, const void *key)
{
	struct known *k = known_find(t, key);

	if (k) {
		HASH_DEL(t->known, k);
		free(k);
	}
}

/* Read again after the process was seen to be gone, so nothing is added any more. */
static int key_retire(struct table *t, const void *key)
{
	int rc = key_read(t, key);

	if (rc)
		return rc;
	bpf_map_delete_elem(t->spec.map, key);
	key_forget(t, key);
	return 0;
}

static bool key_is_over(struct table *t, const void *key)
{
	u32 tgid = t->spec.tgid ? t->spec.tgid(key) : 0;

	return tgid && kill((pid_t)tgid, 0) && errno == ESRCH;
}

static int leaves(const struct table *t)
{
	return t->spec.capture ? capture_leaves(t->spec.capture) : 0;
}

static int drain_one_by_one(struct table *t)
{
	bool more = !bpf_map_get_next_key(t->spec.map, NULL, t->next);
	const void *at = NULL;
	u32 n = 0;
	int rc = 0;

	t->keys = 0;
	while (more && !rc) {
		memcpy(t->key, t->next, t->spec.key_size);
		at = t->key;
		more = !bpf_map_get_next_key(t->spec.map, at, t->next);
		if (key_is_over(t, at)) {
			rc = key_retire(t, at);
		} else {
			rc = key_read(t, at);
			t->keys++;
		}
		if (!rc && !(++n % ASK_KEYS))
			rc = leaves(t);
	}
	return rc;
}

static const void *batch_key(const struct table *t, u32 i)
{
	return t->spec.batch->keys + (size_t)i * t->spec.key_size;
}

/* The keys and values that follow *from (NULL: the first). 1: there are no more after these.
 * -ENOTSUP: this kernel or this map has no batches. */
static int batch_read(struct table *t, u32 *from, u32 *ret_next, u32 *ret_n)
{
	struct table_batch *b = t->spec.batch;

	*ret_n = t->batch_n;
	if (!bpf_map_lookup_batch(t->spec.map, from, ret_next, b->keys, b->values, ret_n, NULL))
		return 0;
	if (errno == ENOENT)
		return 1;
	return !from || errno == ENOSPC ? -ENOTSUP : -errno;
}

/* Looks which processes of the batch have ended. 1: some have. */
static int ended_find(struct table *t, u32 n)
{
	bool some = false;

	for (u32 i = 0; i < n; i++) {
		u32 tgid = t->spec.tgid(batch_key(t, i));
		u32 *state = tgid ? groups_get(&t->ended, &tgid) : NULL;

		if (tgid && !state)
			return -ENOMEM;
		if (state && !*state)
			*state = kill((pid_t)tgid, 0) && errno == ESRCH ? 2 : 1;
		some |= state && *state == 2;
	}
	return some;
}

static bool has_ended(const struct table *t, const void *key)
{
	u32 tgid = t->spec.tgid ? t->spec.tgid(key) : 0, *state;

	state = tgid ? groups_find(&t->ended, &tgid) : NULL;
	return state && *state == 2;
}

/* The first n keys of the batch. */
static void batch_delete(struct table *t, u32 n)
{
	u32 done = n;

	if (!n || !bpf_map_delete_batch(t->spec.map, t->spec.batch->keys, &done, NULL))
		return;
	for (u32 i = 0; i < n; i++)
		bpf_map_delete_elem(t->spec.map, batch_key(t, i));
}

static int batch_take(struct table *t, u32 n)
{
	size_t each = (size_t)t->n_cpus * value_size(t);
	u32 over = 0;
	int rc = 0;

	for (u32 i = 0; i < n && !rc; i++) {
		const void *key = batch_key(t, i);
		bool ended = has_ended(t, key);

		rc = key_take(t, key, t->spec.batch->values + i * each, ended);
		if (rc || !ended) {
			t->keys++;
			continue;
		}
		key_forget(t, key);
		memmove(t->spec.batch->keys + (size_t)over++ * t->spec.key_size, key,
			t->spec.key_size);
	}
	batch_delete(t, over);
	return rc;
}

/* Where processes have ended the batch is read again, so that all they did is in its values. */
static int drain_batches(struct table *t)
{
	u32 at = 0, next = 0, n;
	bool first = true;
	int more = 0, rc = 0;

	if (!t->batch_n)
		return -ENOTSUP;
	groups_clear(&t->ended);
	t->keys = 0;
	for (; !more && !rc; first = false, at = next) {
		more = batch_read(t, first ? NULL : &at, &next, &n);
		if (more >= 0 && t->spec.tgid)
			rc = ended_find(t, n);
		if (rc == 1)
			more = batch_read(t, first ? NULL : &at, &next, &n);
		if (more < 0)
			return more;
		rc = MIN(rc, 0);
		rc = rc || !n ? rc : batch_take(t, n);
		rc = rc ? rc : leaves(t);
	}
	return rc;
}

int table_drain(struct table *t)
{
	int rc = t->slots ? slots_fold(t) : 0;

	rc = rc ? rc : drain_batches(t);
	rc = rc == -ENOTSUP ? drain_one_by_one(t) : rc;
	return MIN(rc, 0);
}

u32 table_keys(const struct table *t)
{
	return t->keys;
}

u32 table_room(const struct table *t)
{
	return t->max_keys > t->keys ? t->max_keys - t->keys : 0;
}

u32 table_key_tgid(const void *key)
{
	return *(const u32 *)key;
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
	if (t->slots) {
		munmap((void *)(uintptr_t)t->slots, t->slots_bytes);
		groups_free(&t->folded);
	}
	groups_free(&t->ended);
	free(t->cpus);
	free(t->key);
	free(t);
}
