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

void durations_cells(struct report *r, const struct durations *d, struct cell *cells)
{
	if (!d->count)
		return;
	cells[0] = cell_u64(d->total_ns);
	cells[1] = cell_u64(hist_quantile(&d->hist, 0.5, d->max_ns));
	cells[2] = cell_u64(hist_quantile(&d->hist, 0.99, d->max_ns));
	cells[3] = cell_u64(d->max_ns);
	cells[4] = hist_to_cell(r, &d->hist);
}
