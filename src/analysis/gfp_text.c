/* See gfp.h. */
#include "analysis/gfp_text.h"

struct names {
	size_t n;
	struct {
		u64 mask;
		const char *name;
	} v[GFP_NAMES_MAX];
};

static void name_take(void *arg, u64 mask, const char *name)
{
	struct names *all = arg;

	if (all->n < GFP_NAMES_MAX && mask) {
		all->v[all->n].mask = mask;
		all->v[all->n++].name = name;
	}
}

/* The name that covers most of mask, the first of equal ones; -1: none. */
static int name_largest(const struct names *all, u64 mask)
{
	int best = -1;

	for (size_t i = 0; i < all->n; i++) {
		if ((all->v[i].mask & mask) != all->v[i].mask)
			continue;
		if (best < 0 || __builtin_popcountll(all->v[i].mask) >
					__builtin_popcountll(all->v[best].mask))
			best = (int)i;
	}
	return best;
}

void gfp_add(struct str *out, const struct stream *s, u64 mask)
{
	struct names all = {};
	const char *between = "";
	int i;

	stream_enum_each(s, GFP_SET, name_take, &all);
	if (!mask && all.n) {
		str_add(out, "none");
		return;
	}
	while (mask && (i = name_largest(&all, mask)) >= 0) {
		str_addf(out, "%s%s", between, all.v[i].name);
		mask &= ~all.v[i].mask;
		between = "|";
	}
	if (mask || !all.n)
		str_addf(out, "%s0x%llx", between, mask);
}

const char *gfp_migratetype(u64 mask)
{
	static const char *const names[] = {"Unmovable", "Movable", "Reclaimable", NULL};

	return names[(mask & GFP_MOBILITY) >> 3];
}

const char *gfp_text(struct report *r, u64 mask)
{
	_cleanup_str_ struct str s = {};

	gfp_add(&s, r->stream, mask);
	return report_text(r, "%s", str_get(&s));
}

CELL_GET(gfp_cell)
{
	return cell_text(gfp_text(r, *(const u32 *)((const char *)row->key + offset)));
}

CELL_GET(gfp_migratetype_cell)
{
	return cell_text(gfp_migratetype(*(const u32 *)((const char *)row->key + offset)));
}
