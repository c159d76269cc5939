/* See idset.h. */
#include "sys/idset.h"

#include <errno.h>

#include "sys/scan.h"

static int range_parse(struct scan *s, struct idset *set)
{
	u64 first;
	u64 last;

	if (!scan_u64(s, &first))
		return -EINVAL;
	last = first;
	if (scan_lit(s, "-") && !scan_u64(s, &last))
		return -EINVAL;
	if (last < first)
		return -EINVAL;
	if (last >= IDSET_MAX)
		return -ERANGE;
	for (u64 id = first; id <= last; id++)
		set->bits[id / 64] |= 1ULL << (id % 64);
	return 0;
}

int idset_parse(const char *text, struct idset *ret)
{
	struct idset set = {};
	struct scan s = {};
	int rc = 0;

	if (scan_line(&text, &s))
		scan_blanks(&s);
	while (!rc && !scan_done(&s)) {
		rc = range_parse(&s, &set);
		scan_blanks(&s);
		if (!rc && !scan_done(&s) && (!scan_lit(&s, ",") || scan_done(&s)))
			rc = -EINVAL;
	}
	if (!rc)
		*ret = set;
	return rc;
}

bool idset_has(const struct idset *set, u32 id)
{
	return id < IDSET_MAX && (set->bits[id / 64] >> (id % 64) & 1);
}

u32 idset_count(const struct idset *set)
{
	u32 n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(set->bits); i++)
		n += (u32)__builtin_popcountll(set->bits[i]);
	return n;
}

u32 idset_next(const struct idset *set, u32 from)
{
	for (; from < IDSET_MAX; from++) {
		if (idset_has(set, from))
			return from;
	}
	return IDSET_MAX;
}
