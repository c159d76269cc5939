/* See spans.h. */
#include "sym/spans.h"

int spans_add(struct spans *s, u64 start, u64 end, u64 value)
{
	struct span span = {.start = start, .end = end, .value = value};

	return start < end ? vec_push(&s->list, span) : 0;
}

/* By start; of those with one start, the larger first. */
static int span_compare(const void *pa, const void *pb)
{
	const struct span *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return a->value < b->value ? -1 : a->value > b->value;
}

void spans_finish(struct spans *s)
{
	u64 reach = 0;

	if (s->list.n)
		qsort(s->list.v, s->list.n, sizeof(*s->list.v), span_compare);
	vec_each (span, &s->list) {
		reach = MAX(reach, span->end);
		span->reach = reach;
	}
}

const struct span *spans_find(const struct spans *s, u64 address)
{
	size_t lo = 0, hi = s->list.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->list.v[mid].start > address)
			hi = mid;
		else
			lo = mid + 1;
	}
	while (lo-- > 0 && s->list.v[lo].reach > address) {
		if (address < s->list.v[lo].end)
			return &s->list.v[lo];
	}
	return NULL;
}

void spans_free(struct spans *s)
{
	vec_free(&s->list);
}
