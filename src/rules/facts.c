/* See facts.h. */
#include "rules/facts.h"

#include <errno.h>
#include <string.h>

#define FULL_SLACK 32

struct fact {
	u64 first, last;
	bool seen;
	char text[SYSTEM_TEXT_LEN];
};

struct fact_name {
	char name[SYSTEM_NAME_LEN];
};

void facts_init(struct facts *f)
{
	*f = (struct facts){};
	groups_init(&f->values, sizeof(struct fact_name), sizeof(struct fact));
	groups_init(&f->cgroups, sizeof(u64), sizeof(struct cgroup_usage));
	groups_init(&f->fullest, sizeof(u64), sizeof(struct cgroup_usage));
	groups_init(&f->slabs, SLAB_CACHE_NAME_LEN, sizeof(struct slab_usage));
}

static struct fact_name name_key(const char *name)
{
	struct fact_name k = {};

	memcpy(k.name, name, strnlen(name, sizeof(k.name) - 1));
	return k;
}

static int facts_value_feed(struct facts *f, const struct system_value *r)
{
	struct fact_name k = name_key(r->name);
	struct fact *v = groups_get(&f->values, &k);

	if (!v)
		return -ENOMEM;
	if (!v->seen)
		v->first = r->value;
	v->seen = true;
	v->last = r->value;
	memcpy(v->text, r->text, sizeof(v->text) - 1);
	return 0;
}

/* With as much as it may have, but for what comes and goes: of such samples the last one counts, as
 * what fills the group changes while it is full. */
static bool is_full(const struct cgroup_usage *cg)
{
	return cg->limit_bytes != CGROUP_USAGE_NONE &&
	       cg->usage_bytes >= cg->limit_bytes - cg->limit_bytes / FULL_SLACK;
}

static int facts_cgroup_feed(struct facts *f, const struct cgroup_usage *r)
{
	struct cgroup_usage *cg = groups_get(&f->cgroups, &r->cgroup);
	struct cgroup_usage *most = groups_get(&f->fullest, &r->cgroup);

	if (!cg || !most)
		return -ENOMEM;
	*cg = *r;
	if (r->h.flags & CGROUP_HAS_PARTS && (r->usage_bytes >= most->usage_bytes || is_full(r)))
		*most = *r;
	return 0;
}

struct cgroup_usage facts_cgroup_fullest(const struct facts *f, size_t i)
{
	struct cgroup_usage cg = *(const struct cgroup_usage *)groups_value(&f->cgroups, i);
	const struct cgroup_usage *most = groups_find(&f->fullest, &cg.cgroup);

	if (!most || most->usage_bytes <= cg.usage_bytes ||
		(cg.h.flags & CGROUP_HAS_PARTS && is_full(&cg)))
		return cg;
	cg.h.flags |= CGROUP_HAS_PARTS;
	cg.usage_bytes = most->usage_bytes;
	cg.anon_bytes = most->anon_bytes;
	cg.file_bytes = most->file_bytes;
	cg.shmem_bytes = most->shmem_bytes;
	cg.kernel_bytes = most->kernel_bytes;
	cg.locked_bytes = most->locked_bytes;
	cg.dirty_bytes = most->dirty_bytes;
	return cg;
}

bool cgroup_is_throttled(const struct cgroup_usage *cg)
{
	return cg->version == 2 && cg->high_bytes < cg->limit_bytes &&
	       cg->high_hit_total > cg->first_high_hit_total;
}

struct cgroup_usage cgroup_by_high(const struct cgroup_usage *cg)
{
	struct cgroup_usage by = *cg;

	if (!cgroup_is_throttled(cg))
		return by;
	by.h.flags |= CGROUP_BY_HIGH;
	by.limit_bytes = cg->high_bytes;
	by.limit_hit_total = cg->high_hit_total;
	by.first_limit_hit_total = cg->first_high_hit_total;
	return by;
}

const struct cgroup_usage *facts_protected(const struct facts *f, u64 *ret_bytes)
{
	const struct cgroup_usage *most = NULL;

	*ret_bytes = 0;
	for (size_t i = 0; i < f->cgroups.n; i++) {
		const struct cgroup_usage *cg = groups_value(&f->cgroups, i);
		u64 asked = MAX(cg->min_bytes, cg->low_bytes);
		u64 bytes = cg->version == 2 && cg->level == 1 ? MIN(cg->usage_bytes, asked) : 0;

		if (bytes <= *ret_bytes)
			continue;
		most = cg;
		*ret_bytes = bytes;
	}
	return most;
}

bool facts_cgroup_at_limit(
	const struct facts *f, const struct report *r, u64 cgroup, struct cgroup_usage *ret)
{
	bool found = false;

	for (size_t i = 0; i < f->cgroups.n; i++) {
		struct cgroup_usage cg = cgroup_by_high(groups_value(&f->cgroups, i));

		if (cg.limit_bytes == CGROUP_USAGE_NONE ||
			cg.usage_bytes < cg.limit_bytes - cg.limit_bytes / 10 ||
			!report_cgroup_within(r, cgroup, cg.cgroup) ||
			(found && ret->limit_bytes <= cg.limit_bytes))
			continue;
		*ret = cg;
		found = true;
	}
	return found;
}

enum cgroup_filler cgroup_filler(const struct cgroup_usage *cg)
{
	const u64 parts[] = {cg->anon_bytes, cg->file_bytes, cg->shmem_bytes, cg->kernel_bytes};
	enum cgroup_filler most = BY_ANON;

	if (!(cg->h.flags & CGROUP_HAS_PARTS))
		return BY_UNKNOWN;
	for (u32 i = 1; i < ARRAY_SIZE(parts); i++)
		if (parts[i] > parts[most])
			most = i;
	return most;
}

#define NEARLY 4 /* the two counts may differ by one part in so many */

/* What cannot be dropped takes half of what it may have. */
static bool takes_most(const struct cgroup_usage *cg, enum cgroup_filler filler)
{
	return filler == BY_SHMEM && cg->limit_bytes != CGROUP_USAGE_NONE &&
	       cg->shmem_bytes * 2 >= cg->limit_bytes;
}

u64 facts_cgroup_full_of(const struct facts *f, enum cgroup_filler filler, u64 bytes)
{
	for (size_t i = 0; i < f->cgroups.n; i++) {
		struct cgroup_usage cg = facts_cgroup_fullest(f, i);
		u64 own = filler == BY_SHMEM ? cg.shmem_bytes : cg.anon_bytes;

		if ((is_full(&cg) || takes_most(&cg, filler)) && cgroup_filler(&cg) == filler &&
			own >= bytes - bytes / NEARLY && own <= bytes + bytes / NEARLY)
			return cg.cgroup;
	}
	return 0;
}

#define PRESSED_LEAST (8ULL << 20)

bool facts_cgroup_pressed(const struct facts *f, u64 cgroup, u64 bytes)
{
	const struct cgroup_usage *cg = cgroup ? facts_cgroup(f, cgroup) : NULL;

	return cg && cg->limit_bytes != CGROUP_USAGE_NONE && bytes >= PRESSED_LEAST &&
	       bytes >= cg->limit_bytes / 2 &&
	       counter_since(cg->first_limit_hit_total, cg->limit_hit_total);
}

static int facts_slab_feed(struct facts *f, const struct slab_usage *r)
{
	struct slab_usage *s = groups_get(&f->slabs, r->name);

	if (!s)
		return -ENOMEM;
	*s = *r;
	return 0;
}

static void facts_pressure_feed(struct system_pressure *first, struct system_pressure *last,
	const struct system_pressure *r)
{
	if (!first->h.size)
		*first = *r;
	*last = *r;
}

int facts_feed(struct facts *f, const struct rec *r)
{
	const struct system_pressure *p = (const void *)r;

	switch (r->kind) {
	case REC_SYSTEM_VALUE:
		return facts_value_feed(f, (const void *)r);
	case REC_CGROUP_MEMORY:
		return facts_cgroup_feed(f, (const void *)r);
	case REC_SLAB_CACHE:
		return facts_slab_feed(f, (const void *)r);
	case REC_SYSTEM_PRESSURE:
		if (p->resource == SYSTEM_MEMORY)
			facts_pressure_feed(&f->pressure_first, &f->pressure, p);
		else if (p->resource == SYSTEM_IO)
			facts_pressure_feed(&f->disks_first, &f->disks, p);
		return 0;
	default:
		return 0;
	}
}

void facts_free(struct facts *f)
{
	groups_free(&f->values);
	groups_free(&f->cgroups);
	groups_free(&f->fullest);
	groups_free(&f->slabs);
}

void facts_reset(struct facts *f)
{
	for (size_t i = 0; i < f->values.n; i++) {
		struct fact *v = groups_value(&f->values, i);

		v->first = v->last;
	}
	for (size_t i = 0; i < f->cgroups.n; i++) {
		struct cgroup_usage *cg = groups_value(&f->cgroups, i);

		cg->first_limit_hit_total = cg->limit_hit_total;
		cg->first_oom_kill_total = cg->oom_kill_total;
		cg->first_refault_file_total = cg->refault_file_total;
		cg->first_refault_anon_total = cg->refault_anon_total;
		cg->first_some_total_us = cg->some_total_us;
		cg->first_high_hit_total = cg->high_hit_total;
	}
	groups_clear(&f->fullest);
	f->pressure_first = f->pressure;
	f->disks_first = f->disks;
}

static const struct fact *fact_find(const struct facts *f, const char *name)
{
	struct fact_name k = name_key(name);

	return groups_find(&f->values, &k);
}

bool facts_known(const struct facts *f, const char *name)
{
	return fact_find(f, name) != NULL;
}

u64 facts_last(const struct facts *f, const char *name)
{
	const struct fact *v = fact_find(f, name);

	return v ? v->last : 0;
}

static u64 fact_delta(const struct fact *v)
{
	return counter_rise(v->first, v->last);
}

u64 facts_delta(const struct facts *f, const char *name)
{
	const struct fact *v = fact_find(f, name);

	return v ? fact_delta(v) : 0;
}

u64 facts_delta_all(const struct facts *f, const char *prefix)
{
	u64 sum = 0;

	for (size_t i = 0; i < f->values.n; i++)
		if (!strncmp(groups_key(&f->values, i), prefix, strlen(prefix)))
			sum += fact_delta(groups_value(&f->values, i));
	return sum;
}

static u64 pressure_ns(const struct system_pressure *first, const struct system_pressure *last)
{
	return counter_rise(first->some_total_us, last->some_total_us) * 1000;
}

double facts_waited_share(const struct facts *f, const struct report *r)
{
	return report_share(r, pressure_ns(&f->pressure_first, &f->pressure));
}

u64 facts_refault_wait_ns(const struct facts *f, u64 refaults)
{
	u64 all = facts_delta_all(f, "workingset_refault");

	if (!f->pressure.h.size || !refaults || refaults * 2 < all)
		return 0;
	return pressure_ns(&f->pressure_first, &f->pressure);
}

u64 facts_disk_wait_ns(const struct facts *f, u64 bytes)
{
	double all = (double)(facts_delta(f, "pgpgin") + facts_delta(f, "pgpgout")) * 1024;

	if (!f->disks.h.size || all <= 0)
		return 0;
	return (u64)((double)pressure_ns(&f->disks_first, &f->disks) *
		     MIN((double)bytes / all, 1.0));
}

const char *facts_text(const struct facts *f, const char *name)
{
	const struct fact *v = fact_find(f, name);

	return v ? v->text : "";
}

const struct cgroup_usage *facts_cgroup(const struct facts *f, u64 id)
{
	return groups_find(&f->cgroups, &id);
}

void rule_sums_init(struct rule_sums *s, size_t key_size, size_t value_size)
{
	facts_init(&s->facts);
	groups_init(&s->by, key_size, value_size);
}

void rule_sums_reset(void *v)
{
	struct rule_sums *s = v;

	groups_clear(&s->by);
	facts_reset(&s->facts);
}

void rule_sums_destroy(void *v)
{
	struct rule_sums *s = v;

	groups_free(&s->by);
	facts_free(&s->facts);
}

int facts_rule_init(void *v, const struct view_options *o, struct err *err)
{
	(void)o;
	(void)err;
	facts_init(v);
	return 0;
}

int facts_rule_feed(void *v, const struct rec *r)
{
	return facts_feed(v, r);
}

void facts_rule_reset(void *v)
{
	facts_reset(v);
}

void facts_rule_destroy(void *v)
{
	facts_free(v);
}

u64 facts_idle_pools(const struct facts *f)
{
	u64 small = counter_rise(
		facts_last(f, "hugepages/2M/resv"), facts_last(f, "hugepages/2M/free"));
	u64 large = counter_rise(
		facts_last(f, "hugepages/1G/resv"), facts_last(f, "hugepages/1G/free"));

	return (small << 21) + (large << 30);
}
