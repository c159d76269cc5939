/* See huge_waste.h. */
#include "sys/process/huge_waste.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "sys/process/pagemap.h"

#define PAGE 4096UL
#define HUGE (2UL << 20) /* x86-64 */
#define SUBPAGES (HUGE / PAGE)
#define PEEK 64 /* bytes of each base page that are looked at first */
/* Where the kernel does not tell which pages are huge, at most this many ranges are looked at. */
#define RANGES_MAX 4096

/* include/uapi/linux/fs.h, since 6.7 */
struct scan_arg {
	u64 size, flags, start, end, walk_end, vec, vec_len, max_pages;
	u64 category_inverted, category_mask, category_anyof_mask, return_mask;
};

struct scan_region {
	u64 start, end, categories;
};

#define SCAN_PAGES _IOWR('f', 16, struct scan_arg)
#define SCAN_PRESENT (1 << 3)
#define SCAN_ZERO (1 << 5)
#define SCAN_HUGE (1 << 6)

/* Every candidate is as likely to be in it (reservoir sampling). */
struct sample {
	u64 random;
	u32 limit, n, candidates;
	u64 at[WASTE_SAMPLE_MAX];
};

static u64 random_next(struct sample *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return s->random;
}

static void sample_offer(struct sample *s, u64 address)
{
	u64 i;

	s->candidates++;
	if (s->n < s->limit) {
		s->at[s->n++] = address;
		return;
	}
	i = random_next(s) % s->candidates;
	if (i < s->limit)
		s->at[i] = address;
}

static int regions_scan(int fd, const struct smaps_huge *m, struct sample *s)
{
	struct scan_region regions[64];
	struct scan_arg arg = {
		.size = sizeof(arg),
		.start = m->start,
		.end = m->end,
		.vec = (u64)(uintptr_t)regions,
		.vec_len = ARRAY_SIZE(regions),
		.category_inverted = SCAN_ZERO,
		.category_mask = SCAN_PRESENT | SCAN_HUGE | SCAN_ZERO,
		.return_mask = SCAN_HUGE,
	};

	while (arg.start < m->end) {
		int n = ioctl(fd, SCAN_PAGES, &arg);

		if (n < 0)
			return -errno;
		for (int i = 0; i < n; i++)
			for (u64 a = (regions[i].start + HUGE - 1) & ~(HUGE - 1);
				a + HUGE <= regions[i].end; a += HUGE)
				sample_offer(s, a);
		if (arg.walk_end <= arg.start)
			break;
		arg.start = arg.walk_end;
	}
	return 0;
}

/* Is all of it mapped, by pages of its own? As a huge page is; 512 small ones may be, too. Not as
 * the huge zero page is. */
static bool range_is_full(int fd, u64 address)
{
	u8 states[SUBPAGES];

	if (pagemap_read(fd, address, SUBPAGES, states))
		return false;
	for (size_t i = 0; i < SUBPAGES; i++)
		if (states[i] != PAGE_PRESENT)
			return false;
	return true;
}

static void ranges_guess(int fd, const struct smaps_huge *m, u64 step, struct sample *s)
{
	for (u64 a = (m->start + HUGE - 1) & ~(HUGE - 1); a + HUGE <= m->end; a += HUGE * step)
		if (range_is_full(fd, a))
			sample_offer(s, a);
}

static bool is_all_zero(const void *p, size_t n)
{
	const u64 *v = p;

	for (size_t i = 0; i < n / sizeof(*v); i++)
		if (v[i])
			return false;
	return true;
}

/* Reads `bytes` from the beginning of each of n pages. */
static int pages_read(int pid, const u64 *pages, size_t n, size_t bytes, char *buf)
{
	struct iovec local = {buf, n * bytes}, remote[SUBPAGES];
	ssize_t got;

	for (size_t i = 0; i < n; i++)
		remote[i] = (struct iovec){(void *)(uintptr_t)pages[i], bytes};
	got = process_vm_readv(pid, &local, 1, remote, n, 0);
	return got < 0 ? -errno : (size_t)got == n * bytes ? 0 : -EFAULT;
}

/* Which share of a huge page is zero. Most pages that are used show it in their first bytes. */
static int page_share(int pid, u64 address, char *buf, double *ret)
{
	u64 pages[SUBPAGES];
	size_t n = 0, zero = 0;
	int rc;

	for (size_t i = 0; i < SUBPAGES; i++)
		pages[i] = address + i * PAGE;
	rc = pages_read(pid, pages, SUBPAGES, PEEK, buf);
	if (rc)
		return rc;
	for (size_t i = 0; i < SUBPAGES; i++)
		if (is_all_zero(buf + i * PEEK, PEEK))
			pages[n++] = pages[i];
	rc = n ? pages_read(pid, pages, n, PAGE, buf) : 0;
	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		zero += is_all_zero(buf + i * PAGE, PAGE);
	*ret = (double)zero / SUBPAGES;
	return 0;
}

void waste_compute(const double *shares, u32 n, u32 candidates, u64 huge_bytes, struct waste *ret)
{
	double mean = 0, squares = 0, error = 0;

	for (u32 i = 0; i < n; i++)
		mean += shares[i] / n;
	for (u32 i = 0; i < n; i++)
		squares += (shares[i] - mean) * (shares[i] - mean);
	if (candidates > n) /* one alone says nothing of the others */
		error = n > 1 ? sqrt(squares / (n - 1) / n * (1 - (double)n / candidates)) : 0.5;
	ret->sampled = n;
	ret->candidates = candidates;
	ret->untouched = 0;
	for (u32 i = 0; i < n; i++)
		ret->untouched += shares[i] >= 1;
	ret->waste_bytes = (u64)(mean * (double)huge_bytes);
	ret->error_bytes = (u64)(2 * error * (double)huge_bytes);
}

/* Fills the sample, and returns the huge bytes that it stands for. */
static u64 candidates_find(int fd, const struct smaps *maps, struct sample *s, bool *ret_exact)
{
	u64 bytes = 0, ranges = 0;
	bool exact = true;

	vec_each (m, &maps->list)
		if (!m->dont_dump) {
			bytes += m->anon_huge_bytes;
			ranges += (m->end - m->start) / HUGE;
		}
	vec_each (m, &maps->list) {
		if (m->dont_dump)
			continue;
		if (exact && regions_scan(fd, m, s))
			exact = false;
		if (!exact)
			ranges_guess(fd, m, 1 + ranges / RANGES_MAX, s);
	}
	*ret_exact = exact;
	return bytes;
}

int waste_estimate(int pid, const struct smaps *maps, u32 sample, struct waste *ret)
{
	struct sample s = {
		.random = clock_mono_ns() | 1,
		.limit = MIN(sample, (u32)WASTE_SAMPLE_MAX),
	};
	_cleanup_free_ char *buf = malloc(HUGE);
	double shares[WASTE_SAMPLE_MAX];
	_cleanup_close_ int fd = pagemap_open(pid);
	u64 bytes;
	u32 n = 0;
	int rc = 0;

	if (fd < 0 || !buf)
		return fd < 0 ? fd : -ENOMEM;
	bytes = candidates_find(fd, maps, &s, &ret->exact);
	for (u32 i = 0; i < s.n && rc != -EPERM && rc != -ESRCH; i++) {
		rc = page_share(pid, s.at[i], buf, &shares[n]);
		n += !rc;
	}
	if (!n)
		return rc ? rc : -ENODATA;
	waste_compute(shares, n, s.candidates, bytes, ret);
	return 0;
}
