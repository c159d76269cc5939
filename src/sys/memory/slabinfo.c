/* See slabinfo.h. */
#include "sys/memory/slabinfo.h"

#include "sys/root.h"
#include "sys/scan.h"

void slabinfo_free(struct slabinfo *info)
{
	vec_free(&info->caches);
}

static bool sizes_parse(struct scan *s, struct slab_cache *c)
{
	return scan_u64(s, &c->active_objs) && scan_u64(s, &c->num_objs) &&
	       scan_u64(s, &c->object_bytes) && scan_u64(s, &c->objs_per_slab) &&
	       scan_u64(s, &c->pages_per_slab) && scan_lit(s, ":");
}

/* A name may hold spaces: it reaches as far as what follows it is not the five numbers. */
static bool slabinfo_name_parse(struct scan *s, struct slab_cache *c)
{
	struct scan at = *s;
	struct scan name;
	struct scan word;

	if (!scan_word(&at, &name) || name.p[0] == '#')
		return false;
	for (;;) {
		struct scan rest = at;

		if (sizes_parse(&rest, c)) {
			*s = rest;
			scan_copy(&name, c->name, sizeof(c->name));
			return true;
		}
		if (!scan_word(&at, &word))
			return false;
		name.end = word.end;
	}
}

static bool slabs_parse(struct scan *s, struct slab_cache *c)
{
	u64 limit;
	u64 batch;
	u64 factor;

	return scan_lit(s, "tunables") && scan_u64(s, &limit) && scan_u64(s, &batch) &&
	       scan_u64(s, &factor) && scan_lit(s, ":") && scan_lit(s, "slabdata") &&
	       scan_u64(s, &c->active_slabs) && scan_u64(s, &c->num_slabs);
}

static u64 cache_bytes(const struct slab_cache *c, u64 page_bytes)
{
	u64 bytes;

	if (__builtin_mul_overflow(c->num_slabs, c->pages_per_slab, &bytes) ||
		__builtin_mul_overflow(bytes, page_bytes, &bytes))
		return ~0ULL;
	return bytes;
}

int slabinfo_parse(const char *text, u64 page_bytes, struct slabinfo *ret)
{
	_cleanup_slabinfo_ struct slabinfo info = {};
	struct scan s;

	while (info.caches.n < SLABS_MAX && scan_line(&text, &s)) {
		struct slab_cache c = {};

		if (!slabinfo_name_parse(&s, &c) || !slabs_parse(&s, &c))
			continue;
		c.total_bytes = cache_bytes(&c, page_bytes);
		if (vec_push(&info.caches, c))
			return -ENOMEM;
	}
	if (!info.caches.n)
		return -EINVAL;
	slabinfo_free(ret);
	*ret = info;
	info = (struct slabinfo){};
	return 0;
}

int slabinfo_read(struct slabinfo *ret)
{
	_cleanup_str_ struct str text = {};
	int rc = sys_read(&text, "/proc/slabinfo");

	return rc ? rc : slabinfo_parse(str_get(&text), (u64)sysconf(_SC_PAGESIZE), ret);
}
