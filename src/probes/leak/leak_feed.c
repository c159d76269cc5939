/* See leak_feed.h. */
#include "probes/leak/leak_feed.h"

#include <errno.h>
#include <string.h>

struct task {
	u32 tgid, tid;
};

struct task_facts {
	u64 cgroup;
	char comm[COMM_LEN];
};

/* Who allocated what, of either kind of record. */
struct origin {
	u32 tgid, tid, stack, site, order;
	struct leak_cache_key cache;
};

void leak_feed_init(struct leak_state *v)
{
	groups_init(&v->tasks, sizeof(struct task), sizeof(struct task_facts));
	leak_heap_init(&v->heap);
}

/* All that is followed was counted too, and that record comes first. */
static int task_learn(
	struct leak_state *v, u32 tgid, u32 tid, u64 cgroup, const char comm[COMM_LEN])
{
	struct task k = {tgid, tid};
	struct task_facts *f;

	if (!(v->sums.by & (BY_COMM | BY_CGROUP)))
		return 0;
	f = groups_get(&v->tasks, &k);
	if (!f)
		return -ENOMEM;
	f->cgroup = cgroup;
	memcpy(f->comm, comm, sizeof(f->comm));
	return 0;
}

static struct leak_site *site_get(struct leak_state *v, const struct origin *o)
{
	static const struct task_facts none;
	struct task t = {o->tgid, o->tid};
	const struct task_facts *f = groups_find(&v->tasks, &t);
	u32 by = v->sums.by;
	struct leak_key k = {.cache.kind = o->cache.kind == LEAK_PAGES ? LEAK_PAGES : LEAK_OBJECTS};

	f = f ? f : &none;
	k.task = by_task_key(by, o->tgid, o->tid, f->cgroup, o->stack, f->comm);
	if (by & BY_CACHE) {
		k.cache = o->cache;
		k.order = o->order;
	}
	if (by & BY_SITE)
		k.site = o->site;
	return groups_get(&v->sums.groups, &k);
}

/* n allocated and freed of them, of so many bytes each. */
static int change(struct leak_state *v, const struct origin *o, u64 n, u64 freed, u64 untracked,
	u64 bytes_each)
{
	struct leak_site *s = site_get(v, o);
	struct leak_cache *c = leak_caches_get(&v->caches, &o->cache);
	u64 net = n - freed - untracked;

	if (!s || !c)
		return -ENOMEM;
	leak_series_add(&s->series, &v->clock, (s64)(net * bytes_each));
	s->objects += net;
	s->bytes += net * bytes_each;
	s->allocated += n;
	s->all_allocated += n;
	s->freed += freed;
	s->all_freed += freed;
	s->untracked += untracked;
	c->objects += net;
	c->bytes += net * bytes_each;
	c->allocated += n;
	c->freed += freed;
	c->untracked += untracked;
	return 0;
}

static struct leak_cache_key cache_of(const char name[AGG_NAME_LEN], u32 flags)
{
	struct leak_cache_key k = {};

	memcpy(k.name, name, strnlen(name, sizeof(k.name) - 1));
	k.kind = !k.name[0] && flags & SLAB_LARGE ? LEAK_LARGE : LEAK_OBJECTS;
	return k;
}

static int leak_feed_slab_feed(struct leak_state *v, const struct slab_agg *r)
{
	struct origin o = {
		.tgid = r->tgid,
		.tid = r->tid,
		.stack = r->stack,
		.site = r->site,
		.cache = cache_of(r->cache, r->flags),
	};
	int rc;

	if (r->event >= SLAB_KFREE || r->flags & SLAB_NOTHING)
		return 0;
	rc = task_learn(v, r->tgid, r->tid, r->cgroup, r->comm);
	return rc ? rc : change(v, &o, r->count, r->freed, r->untracked, r->bytes);
}

static struct origin origin_of_slab(const struct slab_who *w)
{
	return (struct origin){
		.tgid = w->tgid,
		.tid = w->tid,
		.stack = w->stack,
		.site = w->site,
		.cache = cache_of(w->cache, w->flags),
	};
}

static struct origin origin_of_pages(const struct pages_who *w)
{
	return (struct origin){
		.tgid = w->tgid,
		.tid = w->tid,
		.stack = w->stack,
		.order = w->order,
		.cache.kind = LEAK_PAGES,
	};
}

static u64 leak_feed_bytes_of(const struct leak_state *v, u8 order)
{
	return order < PAGES_ORDERS ? (v->page_bytes ? v->page_bytes : 4096) << order : 0;
}

static int pages_feed(struct leak_state *v, const struct pages_alloc *r)
{
	struct origin o = origin_of_pages(&r->who);
	int rc = task_learn(v, r->who.tgid, r->who.tid, r->who.cgroup, r->who.comm);

	return rc ? rc
		  : change(v, &o, r->count, 0, r->untracked, leak_feed_bytes_of(v, r->who.order));
}

/* A new look replaces the one before. */
static void leak_feed_look_begin(
	struct leak_state *v, bool pages, struct leak_look *l, u64 time_ns, u64 old_ns)
{
	*l = (struct leak_look){time_ns, old_ns};
	for (size_t i = 0; i < v->sums.groups.n; i++) {
		const struct leak_key *k = groups_key(&v->sums.groups, i);
		struct leak_site *s = groups_value(&v->sums.groups, i);

		if ((k->cache.kind == LEAK_PAGES) != pages)
			continue;
		s->old = s->old_bytes = s->oldest_ns = 0;
		s->ages = (struct hist){};
	}
}

static int ages_feed(struct leak_state *v, const struct origin *o, u64 old, u64 bytes_each,
	u64 oldest_ns, const u32 hist[HIST_N])
{
	struct leak_site *s = site_get(v, o);

	if (!s)
		return -ENOMEM;
	s->old += old;
	s->old_bytes += old * bytes_each;
	s->oldest_ns = MAX(s->oldest_ns, oldest_ns);
	hist_merge32(&s->ages, hist, HIST_N);
	return 0;
}

static int slab_held_feed(struct leak_state *v, const struct slab_held *r)
{
	struct origin o = origin_of_slab(&r->who);

	return ages_feed(v, &o, r->old, r->who.bytes, r->oldest_ns, r->hist);
}

static int pages_held_feed(struct leak_state *v, const struct pages_held *r)
{
	struct origin o = origin_of_pages(&r->who);

	return ages_feed(v, &o, r->old, leak_feed_bytes_of(v, r->who.order), r->oldest_ns, r->hist);
}

static int lives_feed(struct leak_state *v, const struct origin *o, u64 count, u64 total_ns,
	u64 max_ns, const u32 hist[HIST_N])
{
	struct leak_site *s = site_get(v, o);

	if (!s)
		return -ENOMEM;
	durations_add(&s->lives, count, total_ns, max_ns, hist, HIST_N);
	return 0;
}

/* What slab counts as freed already is in its sums; of pages it is this record that tells. */
static int lifetime_feed(struct leak_state *v, const struct rec *rec)
{
	const struct slab_lifetime *s = (const void *)rec;
	const struct pages_lifetime *p = (const void *)rec;
	struct origin o;
	int rc;

	_Static_assert(ARRAY_SIZE(p->hist) == HIST_N && SLAB_AGE_SLOTS == HIST_N &&
			       PAGES_HELD_SLOTS == HIST_N,
		"one histogram");
	if (rec->kind == REC_SLAB_LIFETIME) {
		o = origin_of_slab(&s->who);
		return lives_feed(v, &o, s->count, s->total_ns, s->max_ns, s->hist);
	}
	o = origin_of_pages(&p->who);
	rc = change(v, &o, 0, p->count, 0, leak_feed_bytes_of(v, p->who.order));
	return rc ? rc : lives_feed(v, &o, p->count, p->total_ns, p->max_ns, p->hist);
}

static void drain_ends(struct leak_state *v, u64 time_ns)
{
	if (!leak_clock_drain(&v->clock, time_ns))
		return;
	for (size_t i = 0; i < v->sums.groups.n; i++)
		leak_series_join(&((struct leak_site *)groups_value(&v->sums.groups, i))->series);
}

/* What says where in time the records stand. */
static void frame_feed(struct leak_state *v, const struct rec *r)
{
	const struct rec_session *session = (const void *)r;

	if (r->kind == REC_HOST)
		v->page_bytes = ((const struct rec_host *)r)->page_bytes;
	else if (r->kind == REC_SESSION)
		v->scoped = strcmp(session->scope, "system-wide") != 0;
	else if (r->kind == REC_METHOD) /* the last is sent when all is attached */
		leak_clock_begin(&v->clock, r->time_ns);
	else if (r->kind == REC_COST) /* sent behind each drain */
		drain_ends(v, r->time_ns);
	else if (r->kind == REC_END)
		leak_clock_end(&v->clock, r->time_ns);
}

int leak_feed(struct leak_state *v, const struct rec *r)
{
	const struct slab_follow *objects = (const void *)r;
	const struct pages_follow *pages = (const void *)r;
	int rc = leak_caches_feed(&v->caches, r);

	rc = rc ? rc : leak_heap_feed(&v->heap, r);

	frame_feed(v, r);
	if (rc)
		return rc;
	switch (r->kind) {
	case REC_SLAB_AGG:
		return leak_feed_slab_feed(v, (const struct slab_agg *)r);
	case REC_PAGES_ALLOC:
		return pages_feed(v, (const struct pages_alloc *)r);
	case REC_SLAB_LIFETIME:
	case REC_PAGES_LIFETIME:
		return lifetime_feed(v, r);
	case REC_SLAB_FOLLOW:
		v->follow = *objects;
		leak_feed_look_begin(v, false, &v->objects, r->time_ns, objects->old_ns);
		return 0;
	case REC_PAGES_FOLLOW:
		leak_feed_look_begin(v, true, &v->pages, r->time_ns, pages->old_ns);
		return 0;
	case REC_SLAB_HELD:
		return slab_held_feed(v, (const struct slab_held *)r);
	case REC_PAGES_HELD:
		return pages_held_feed(v, (const struct pages_held *)r);
	case REC_SYSTEM_VALUE:
		leak_memory_feed(&v->memory, (const struct system_value *)r);
		return 0;
	default:
		return 0;
	}
}
