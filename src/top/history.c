/* See history.h. */
#include "top/history.h"

#include <string.h>
#include <xxhash.h>

static void frame_free(struct history_frame *f)
{
	free(f->packed);
	free(f->sizes);
}

static size_t frame_bytes(const struct history_frame *f)
{
	return f->n + f->n_sizes * sizeof(*f->sizes) + sizeof(*f);
}

static int size_compare(const void *a, const void *b)
{
	const struct history_size *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int sizes_take(struct history_frame *f, const struct scene *s)
{
	const struct table *t = &s->tables[TOP_PROCESSES];

	f->sizes = calloc(t->n_rows + 1, sizeof(*f->sizes));
	for (size_t i = 0; f->sizes && i < t->n_rows; i++) {
		const struct cell *rss = table_cell(t, i, TOP_RSS);

		if (rss->type == CELL_U64)
			f->sizes[f->n_sizes++] = (struct history_size){
				(u32)table_cell(t, i, TOP_PID)->u, (float)rss->u};
	}
	if (f->n_sizes)
		qsort(f->sizes, f->n_sizes, sizeof(*f->sizes), size_compare);
	return f->sizes ? 0 : -ENOMEM;
}

/* The beginning goes where it is too old or there is too much; of a recording every second one. */
static void history_trim(struct history *h)
{
	size_t drop = 0, kept = 0;
	u64 last_ns = h->list.v[h->list.n - 1].end_ns;

	if (h->all && h->bytes > 4UL * HISTORY_BYTES) {
		for (size_t i = 0; i < h->list.n; i++) {
			if (i % 2 == 0 || i + 1 == h->list.n) {
				h->list.v[kept++] = h->list.v[i];
				continue;
			}
			h->bytes -= frame_bytes(&h->list.v[i]);
			frame_free(&h->list.v[i]);
		}
		h->list.n = kept;
	}
	while (!h->all && drop + 1 < h->list.n &&
		(h->bytes > HISTORY_BYTES || last_ns - h->list.v[drop].end_ns > HISTORY_NS)) {
		h->bytes -= frame_bytes(&h->list.v[drop]);
		frame_free(&h->list.v[drop++]);
	}
	memmove(h->list.v, h->list.v + drop, (h->list.n - drop) * sizeof(*h->list.v));
	h->list.n -= drop;
	h->gone += drop;
}

int history_add(struct history *h, const void *packed, size_t n, const struct scene *s)
{
	struct history_frame f = {.n = n, .end_ns = s->end_ns, .wall_ns = s->wall_ns};
	int rc;

	f.packed = malloc(n);
	rc = f.packed ? sizes_take(&f, s) : -ENOMEM;
	vec_each (finding, &s->findings)
		f.rules |= 1ULL << (XXH3_64bits(finding->rule, strlen(finding->rule)) & 63);
	rc = rc ? rc : vec_push(&h->list, f);
	if (rc) {
		frame_free(&f);
		return rc;
	}
	memcpy(f.packed, packed, n);
	h->bytes += frame_bytes(&f);
	history_trim(h);
	return 0;
}

double history_rss(const struct history *h, size_t i, u32 pid)
{
	const struct history_size key = {.pid = pid}, *found;

	if (i >= h->list.n || !h->list.v[i].n_sizes)
		return -1;
	found = bsearch(&key, h->list.v[i].sizes, h->list.v[i].n_sizes, sizeof(key), size_compare);
	return found ? (double)found->rss_bytes : -1;
}

size_t history_find(const struct history *h, u64 end_ns)
{
	size_t i = 0;

	while (i + 1 < h->list.n && h->list.v[i].end_ns < end_ns)
		i++;
	return i;
}

size_t history_next_finding(const struct history *h, size_t at, int step)
{
	for (size_t i = at + (size_t)step; i < h->list.n; i += (size_t)step) {
		u64 before = i ? h->list.v[i - 1].rules : 0;

		if (h->list.v[i].rules & ~before)
			return i;
	}
	return at;
}

void history_free(struct history *h)
{
	vec_each (f, &h->list)
		frame_free(f);
	vec_free(&h->list);
}
