/* See budget.h. */
#include "sym/budget.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"

#define RSS_CHECK_EVERY_NS (20 * NSEC_PER_MSEC)

/* Resident bytes of this process; 0 where /proc cannot be read, which turns the limit off. */
static u64 self_rss_bytes(void)
{
	_cleanup_str_ struct str s = {};
	unsigned long size, resident;

	if (file_read("/proc/self/statm", &s))
		return 0;
	if (sscanf(str_get(&s), "%lu %lu", &size, &resident) != 2)
		return 0;
	return (u64)resident * (u64)sysconf(_SC_PAGESIZE);
}

void budget_init(struct sym_budget *b, u64 bytes, u64 ns, u64 max_growth_bytes)
{
	*b = (struct sym_budget){
		.bytes_left = bytes,
		.ns_left = ns,
		.max_rss_bytes = self_rss_bytes() + max_growth_bytes,
	};
}

int budget_take(struct sym_budget *b, u64 bytes)
{
	if (bytes > b->bytes_left)
		return -EFBIG;
	b->bytes_left -= bytes;
	return 0;
}

void budget_give_back(struct sym_budget *b, u64 bytes)
{
	b->bytes_left += bytes;
}

void budget_begin(struct sym_budget *b)
{
	b->started_ns = clock_mono_ns();
}

void budget_end(struct sym_budget *b)
{
	u64 spent = clock_mono_ns() - b->started_ns;

	b->ns_left -= MIN(spent, b->ns_left);
	b->started_ns = 0;
	if (!b->ns_left)
		b->exhausted = true;
}

bool budget_exhausted(struct sym_budget *b)
{
	u64 now;

	if (b->exhausted || !b->started_ns)
		return b->exhausted;
	now = clock_mono_ns();
	if (now - b->started_ns >= b->ns_left)
		b->exhausted = true;
	if (now - b->rss_checked_ns >= RSS_CHECK_EVERY_NS) {
		b->rss_checked_ns = now;
		if (self_rss_bytes() > b->max_rss_bytes)
			b->exhausted = true;
	}
	return b->exhausted;
}
