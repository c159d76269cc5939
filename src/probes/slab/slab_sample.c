/* The state of the caches: which are big, which grow, what they hold. See slab_sample.h. */
#include "probes/slab/slab_sample.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "capture/gfp_names.h"
#include "probes/slab/slab.h"
#include "sys/keyvals.h"
#include "sys/memory/slabinfo.h"
#include "sys/memory/slabsys.h"
#include "sys/rights.h"
#include "sys/root.h"

/* The kernel takes the locks of every cache in turn to fill /proc/slabinfo. */
#define EVERY_NS (5 * NSEC_PER_SEC)
/* Drains come on top of the sampler's own period: not twice within this time. */
#define GAP_NS (EVERY_NS * 9 / 10)
/* Reading it is to take no more than this part of one cpu. */
#define COST_PART 100
#define BIGGEST 24
#define GROWN_BYTES (1U << 20)
#define SENT_MAX 128

/* A cache as it was at the start. */
struct first {
	char name[SLAB_NAME_MAX];
	u64 bytes, active;
	struct slabsys more;
	bool known;       /* what `more` has, of which some numbers change */
	const char *also; /* a cache merged into it, of those in sought[]; NULL: none */
};

static const char *const sought[] = {
	SLAB_EPOLL_NAME, SLAB_INOTIFY_NAME, SLAB_KEYS_NAME, SLAB_LOCKS_NAME, SLAB_NETNS_NAME};

struct chosen {
	u64 bytes, grown;
	u32 at;    /* in the caches just read */
	u32 first; /* in the first ones, plus 1; 0: made since */
};

struct slab {
	struct str text;
	struct slabinfo info;
	VEC(struct first) first;
	VEC(struct chosen) chosen;
	u64 next_ns;
	u64 first_large;
	bool large_known;
	bool started;
};

/* Index plus 1. The file keeps its order, but for caches that come and go: looked for from
 * `hint` on. */
static u32 first_find(const struct slab *s, const char *name, size_t hint)
{
	for (size_t i = 0; i < s->first.n; i++) {
		size_t at = (hint + i) % s->first.n;

		if (!strcmp(s->first.v[at].name, name))
			return (u32)at + 1;
	}
	return 0;
}

/* One that has no line of its own was merged into one that has. */
static void also_find(struct slab *s)
{
	char its[SLABSYS_LINK_MAX], other[SLABSYS_LINK_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(sought); i++) {
		if (first_find(s, sought[i], 0) || !slabsys_link(sought[i], its))
			continue;
		vec_each (f, &s->first) {
			if (!slabsys_link(f->name, other) || strcmp(other, its) != 0)
				continue;
			f->also = sought[i];
			break;
		}
	}
}

static int first_take(struct slab *s)
{
	int rc = 0;

	s->started = true;
	vec_each (cache, &s->info.caches) {
		struct first f = {.bytes = cache->total_bytes, .active = cache->active_objs};

		memcpy(f.name, cache->name, sizeof(f.name));
		if (!rc)
			rc = vec_push(&s->first, f);
	}
	if (!rc)
		also_find(s);
	return rc;
}

static int slab_sample_by_bytes(const void *a, const void *b)
{
	const struct chosen *x = a, *y = b;

	return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : 0;
}

/* All caches, the biggest first. */
static int caches_rank(struct slab *s)
{
	size_t hint = 0;
	int rc = 0;

	s->chosen.n = 0;
	for (size_t i = 0; i < s->info.caches.n && !rc; i++) {
		const struct slab_cache *cache = &s->info.caches.v[i];
		struct chosen ch = {.bytes = cache->total_bytes, .at = (u32)i};
		u64 before = 0;

		ch.first = first_find(s, cache->name, hint);
		if (ch.first) {
			hint = ch.first;
			before = s->first.v[ch.first - 1].bytes;
		}
		ch.grown = ch.bytes > before ? ch.bytes - before : 0;
		rc = vec_push(&s->chosen, ch);
	}
	if (s->chosen.n)
		qsort(s->chosen.v, s->chosen.n, sizeof(s->chosen.v[0]), slab_sample_by_bytes);
	return rc;
}

static bool more_read(const char *name, struct first *f, struct slabsys *ret)
{
	if (!f)
		return !slabsys_read(name, ret);
	f->known = !(f->known ? slabsys_read_held(name, &f->more) : slabsys_read(name, &f->more));
	*ret = f->more;
	return f->known;
}

static int cache_send(struct capture *c, struct slab *s, const struct chosen *ch)
{
	struct slab_usage r = REC_INIT(struct slab_usage, REC_SLAB_CACHE, 0);
	const struct slab_cache *cache = &s->info.caches.v[ch->at];
	struct first *first = ch->first ? &s->first.v[ch->first - 1] : NULL;
	struct slabsys more;

	r.active_objects = cache->active_objs;
	r.objects = cache->num_objs;
	r.object_bytes = cache->object_bytes;
	r.slabs = cache->num_slabs;
	r.bytes = cache->total_bytes;
	if (first) {
		r.first_bytes = first->bytes;
		r.first_active_objects = first->active;
		if (first->also)
			snprintf(r.also, sizeof(r.also), "%s", first->also);
	}
	_Static_assert(sizeof(r.name) == sizeof(cache->name), "the same text");
	memcpy(r.name, cache->name, sizeof(r.name));
	if (more_read(cache->name, first, &more)) {
		r.used_bytes = more.object_size;
		r.held_slabs = more.cpu_slabs;
		r.aliases = (u32)more.aliases;
		r.reclaimable = more.reclaim_account != 0;
	}
	return capture_emit(c, &r.h);
}

static int caches_send(struct capture *c, struct slab *s)
{
	bool all = capture_named(c); /* they stand beside what is counted */
	size_t sent = 0;
	int rc = 0;

	for (size_t i = 0; i < s->chosen.n && (all || sent < SENT_MAX) && !rc; i++) {
		const struct chosen *ch = &s->chosen.v[i];

		if (!all && (!ch->bytes || (i >= BIGGEST && ch->grown <= GROWN_BYTES)))
			continue;
		rc = cache_send(c, s, ch);
		sent++;
	}
	return rc;
}

/* Blocks of kmalloc above two pages are in no cache, and count as slab: what is left of that. */
static u64 large_bytes(const struct slab *s)
{
	struct keyvals kv = {};
	u64 slab, caches = 0;

	if (keyvals_read("/proc/meminfo", &kv))
		return 0;
	slab = keyvals_get_or(&kv, "Slab", 0);
	keyvals_free(&kv);
	vec_each (cache, &s->info.caches)
		caches += cache->total_bytes;
	return slab > caches ? slab - caches : 0;
}

/* Only for rules: commands that count allocations tell these by themselves. */
static int large_send(struct capture *c, struct slab *s)
{
	struct slab_usage r = REC_INIT(struct slab_usage, REC_SLAB_CACHE, 0);

	r.bytes = large_bytes(s);
	if (!s->large_known)
		s->first_large = r.bytes;
	s->large_known = true;
	r.first_bytes = s->first_large;
	r.object_bytes = (u64)sysconf(_SC_PAGESIZE); /* all in use, of whatever size they are */
	r.active_objects = r.objects = r.bytes / r.object_bytes;
	r.first_active_objects = r.first_bytes / r.object_bytes;
	memcpy(r.name, SLAB_LARGE_NAME, sizeof(SLAB_LARGE_NAME));
	return r.bytes || r.first_bytes ? capture_emit(c, &r.h) : 0;
}

static int slab_read(struct slab *s)
{
	int rc = sys_read(&s->text, "/proc/slabinfo");

	return rc ? rc : slabinfo_parse(str_get(&s->text), (u64)sysconf(_SC_PAGESIZE), &s->info);
}

static int slab_sample(struct capture *c, void *state)
{
	struct slab *s = state;
	u64 now = clock_mono_ns(), cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int rc;

	if (c->opt.gentle && !c->ending && now < s->next_ns)
		return 0;
	s->next_ns = now + GAP_NS;
	if (slab_read(s))
		return 0; /* methods_tell() said why */
	rc = s->started ? 0 : first_take(s);
	if (!rc)
		rc = caches_rank(s);
	if (!rc)
		rc = caches_send(c, s);
	if (!rc && !capture_named(c))
		rc = large_send(c, s);
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	s->next_ns = now + MAX(GAP_NS, cpu * COST_PART);
	return rc;
}

/* Opened only: reading takes the locks of the caches. */
static int methods_tell(struct capture *c, bool send_names)
{
	char path[PATH_MAX];
	int rc = sys_path(path, "/proc/slabinfo");
	_cleanup_close_ int fd = rc ? -1 : open(path, O_RDONLY | O_CLOEXEC);

	if (!rc && fd < 0)
		rc = -errno;
	if (!send_names || capture_named(c)) /* their allocations are shown */
		gfp_tell(c, send_names);
	if (!rc)
		return capture_method(c, "sizes of slab caches", "/proc/slabinfo", NULL);
	if (rc == -EACCES || rc == -EPERM)
		return capture_refused(
			c, "sizes of slab caches", "/proc/slabinfo is root's", rc, RIGHTS_ROOT);
	return capture_missing(c, "sizes of slab caches", "the kernel has no /proc/slabinfo",
		"CONFIG_SLUB_DEBUG=y");
}

static int slab_survey(struct capture *c)
{
	return methods_tell(c, false);
}

static int slab_open(struct capture *c, void *state, struct err *err)
{
	int rc = methods_tell(c, true);

	(void)state;
	return rc ? err_errno(err, rc, "slab") : 0;
}

static void slab_close(void *state)
{
	struct slab *s = state;

	str_free(&s->text);
	slabinfo_free(&s->info);
	vec_free(&s->first);
	vec_free(&s->chosen);
}

const struct probe_sampler slab_sampler = {
	.size = sizeof(struct slab),
	.every_ns = EVERY_NS,
	.open = slab_open,
	.sample = slab_sample,
	.close = slab_close,
	.survey = slab_survey,
	.alone = true,
};
