/* See durations.h. */
#include "analysis/durations.h"

#include "base/util.h"

void durations_add(struct durations *d, u64 count, u64 total_ns, u64 max_ns, const u32 *hist, u32 n)
{
	d->count += count;
	d->total_ns += total_ns;
	d->max_ns = MAX(d->max_ns, max_ns);
	hist_merge32(&d->hist, hist, n);
}

/* Empty where nothing was timed. */
static const struct durations *timed(const struct row_of *row, size_t offset)
{
	const struct durations *d = (const void *)((const char *)row->sums + offset);

	return d->count ? d : NULL;
}

CELL_GET(durations_total)
{
	const struct durations *d = timed(row, offset);

	return d ? cell_u64(d->total_ns) : (struct cell){};
}

CELL_GET(durations_p50)
{
	const struct durations *d = timed(row, offset);

	return d ? cell_u64(hist_quantile(&d->hist, 0.5, d->max_ns)) : (struct cell){};
}

CELL_GET(durations_p99)
{
	const struct durations *d = timed(row, offset);

	return d ? cell_u64(hist_quantile(&d->hist, 0.99, d->max_ns)) : (struct cell){};
}

CELL_GET(durations_max)
{
	const struct durations *d = timed(row, offset);

	return d ? cell_u64(d->max_ns) : (struct cell){};
}

CELL_GET(durations_hist)
{
	const struct durations *d = timed(row, offset);

	return d ? hist_to_cell(r, &d->hist) : (struct cell){};
}
