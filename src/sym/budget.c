/* See budget.h. */
#include "sym/budget.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/file.h"

#define RSS_CHECK_EVERY_NS (20 * NSEC_PER_MSEC)
/* libdw makes at most a few bytes of each byte of honest debug information. */
#define RSS_SPARE_BYTES (256ULL << 20)
#define RSS_PER_BYTE 8

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

void budget_init(struct sym_budget *b, u64 bytes, u64 ns)
{
	*b = (struct sym_budget){
		.bytes_left = bytes,
		.ns_left = ns,
		.start_rss_bytes = self_rss_bytes(),
	};
}

int budget_take(struct sym_budget *b, u64 bytes)
{
	if (bytes > b->bytes_left)
		return -EFBIG;
	b->bytes_left -= bytes;
	b->bytes_taken += bytes;
	return 0;
}

void budget_give_back(struct sym_budget *b, u64 bytes)
{
	b->bytes_left += bytes;
	b->bytes_taken -= bytes;
}

void budget_begin(struct sym_budget *b, u64 max_ns)
{
	b->begun_ns = clock_mono_ns();
	b->deadline_ns = b->begun_ns + MIN(max_ns, b->ns_left);
	b->over = !b->ns_left;
}

int budget_end(struct sym_budget *b)
{
	u64 spent = clock_mono_ns() - b->begun_ns;

	b->ns_left -= MIN(spent, b->ns_left);
	return b->over ? -ETIMEDOUT : 0;
}

bool budget_over(struct sym_budget *b)
{
	u64 now;

	if (b->over)
		return true;
	now = clock_mono_ns();
	b->over = now >= b->deadline_ns;
	if (now - b->rss_checked_ns >= RSS_CHECK_EVERY_NS) {
		b->rss_checked_ns = now;
		if (self_rss_bytes() >
			b->start_rss_bytes + RSS_SPARE_BYTES + RSS_PER_BYTE * b->bytes_taken)
			b->over = true;
	}
	return b->over;
}
