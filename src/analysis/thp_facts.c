/* See thp_facts.h. */
#include "analysis/thp_facts.h"

#include <errno.h>
#include <string.h>

void thp_facts_init(struct thp_facts *f)
{
	groups_init(&f->values, sizeof(struct thp_fact_key), sizeof(struct thp_fact));
	groups_init(&f->payers, sizeof(u32), sizeof(u64));
	groups_init(&f->reclaimers, sizeof(u32), sizeof(u64));
	groups_init(&f->usages, sizeof(u32), sizeof(struct thp_usage));
}

void thp_facts_free(struct thp_facts *f)
{
	groups_free(&f->values);
	groups_free(&f->payers);
	groups_free(&f->reclaimers);
	groups_free(&f->usages);
}

static bool usage_stays(void *arg, const void *key, const void *value)
{
	(void)arg;
	(void)key;
	return !((const struct thp_usage *)value)->over;
}

void thp_facts_reset(struct thp_facts *f)
{
	groups_filter(&f->usages, usage_stays, NULL);
	for (size_t i = 0; i < f->values.n; i++) {
		struct thp_fact *v = groups_value(&f->values, i);

		v->first = v->last;
	}
	groups_clear(&f->payers);
	groups_clear(&f->reclaimers);
	f->compact = f->reclaim = f->kswapd = (struct thp_load){};
	f->samples = f->samples_above = f->free_min = 0;
}

static struct thp_fact_key thp_facts_key_of(u32 source, const char *name)
{
	struct thp_fact_key k;

	memset(&k, 0, sizeof(k));
	k.source = source;
	memcpy(k.name, name, strnlen(name, sizeof(k.name) - 1));
	return k;
}

int thp_facts_value(struct thp_facts *f, u32 source, const char *name, u64 value, const char *text)
{
	struct thp_fact_key k = thp_facts_key_of(source, name);
	struct thp_fact *v = groups_find(&f->values, &k);

	if (!v) {
		v = groups_get(&f->values, &k);
		if (!v)
			return -ENOMEM;
		v->first = value;
	}
	v->last = value;
	memset(v->text, 0, sizeof(v->text));
	memcpy(v->text, text, strnlen(text, sizeof(v->text) - 1));
	return 0;
}

void thp_facts_memory(struct thp_facts *f, const char *name, u64 pages)
{
	if (!strcmp(name, "total"))
		f->total = pages;
	if (!strcmp(name, "high"))
		f->high = pages;
	if (strcmp(name, "free") != 0)
		return;
	f->free_min = f->samples ? MIN(f->free_min, pages) : pages;
	f->samples++;
	f->samples_above += f->high && pages > f->high;
}

static int payer_add(struct groups *g, u32 tgid, u64 ns)
{
	u64 *sum = groups_get(g, &tgid);

	if (!sum)
		return -ENOMEM;
	*sum += ns;
	return 0;
}

static void load_add(struct thp_load *l, const struct thp_work *w)
{
	l->count += w->count;
	l->ns += w->ns;
	l->max_ns = MAX(l->max_ns, w->max_ns);
	l->compared += w->compared ? w->count : 0;
	l->above += w->above;
	l->above_ns += w->above_ns;
}

int thp_facts_work(struct thp_facts *f, const struct thp_work *w)
{
	if (w->what == THP_WORK_KSWAPD) {
		load_add(&f->kswapd, w);
	} else if (w->what == THP_WORK_COMPACT && w->waits) {
		load_add(&f->compact, w);
		return payer_add(&f->payers, w->tgid, w->ns);
	} else if (w->what == THP_WORK_RECLAIM && w->waits) {
		load_add(&f->reclaim, w);
		return payer_add(&f->reclaimers, w->tgid, w->ns);
	}
	return 0;
}

int thp_facts_usage(struct thp_facts *f, u32 tgid, const struct thp_usage *u)
{
	struct thp_usage *to = groups_get(&f->usages, &tgid);

	if (!to)
		return -ENOMEM;
	*to = *u;
	return 0;
}

void thp_facts_task(struct thp_facts *f, const struct rec *r)
{
	const struct rec_task *t = (const void *)r;
	struct thp_usage *u = task_is_over(r) && !t->tid ? groups_find(&f->usages, &t->tgid) : NULL;

	if (u)
		u->over = true;
}

const struct thp_fact *thp_facts_find(const struct thp_facts *f, u32 source, const char *name)
{
	struct thp_fact_key k = thp_facts_key_of(source, name);

	return groups_find(&f->values, &k);
}

u64 thp_facts_delta(const struct thp_facts *f, u32 source, const char *name)
{
	const struct thp_fact *v = thp_facts_find(f, source, name);

	return v ? counter_rise(v->first, v->last) : 0;
}
