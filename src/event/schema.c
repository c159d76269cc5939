/* See schema.h. */
#include "event/schema.h"

#include <errno.h>

#include "base/util.h"

int schema_add(struct schema *s, const struct kind *kinds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct kind *k = &kinds[i];

		if (k->kind >= ARRAY_SIZE(s->by_number))
			return -ERANGE;
		if (s->by_number[k->kind] && s->by_number[k->kind] != k)
			return -EEXIST;
		s->by_number[k->kind] = k;
	}
	return 0;
}

const struct kind *schema_find(const struct schema *s, u16 kind)
{
	return kind < ARRAY_SIZE(s->by_number) ? s->by_number[kind] : NULL;
}
