/* See kpage.h. */
#include "sys/memory/kpage.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/less.h"
#include "sys/root.h"

/* Documentation/admin-guide/mm/pagemap.rst; bits from 32 on: linux/kernel-page-flags.h */
enum {
	BIT_LRU = 5,
	BIT_SLAB = 7,
	BIT_BUDDY = 10,
	BIT_MMAP = 11,
	BIT_ANON = 12,
	BIT_SWAPCACHE = 13,
	BIT_SWAPBACKED = 14,
	BIT_TAIL = 16,
	BIT_HUGE = 17,
	BIT_UNEVICTABLE = 18,
	BIT_NOPAGE = 20,
	BIT_THP = 22,
	BIT_OFFLINE = 23,
	BIT_PGTABLE = 26,
	BIT_RESERVED = 32,
};

#define CHUNK 8192 /* frames: no compound page but those of hugetlb crosses a boundary */
#define FRAMES_MOST (1ULL << 40)

static bool has(u64 flags, u32 bit)
{
	return flags >> bit & 1;
}

static u8 kpage_kind_of(u64 f)
{
	if (has(f, BIT_NOPAGE))
		return KPAGE_NONE;
	if (has(f, BIT_BUDDY))
		return KPAGE_FREE;
	if (has(f, BIT_HUGE))
		return KPAGE_HUGETLB;
	if (has(f, BIT_SLAB))
		return KPAGE_SLAB;
	if (has(f, BIT_PGTABLE))
		return KPAGE_TABLE;
	if (has(f, BIT_OFFLINE))
		return KPAGE_OFFLINE;
	if (has(f, BIT_ANON))
		return KPAGE_ANON;
	if (has(f, BIT_LRU) || has(f, BIT_UNEVICTABLE))
		return has(f, BIT_SWAPCACHE)    ? KPAGE_ANON
		       : has(f, BIT_SWAPBACKED) ? KPAGE_SHMEM
						: KPAGE_FILE;
	return has(f, BIT_RESERVED) ? KPAGE_RESERVED : KPAGE_OTHER;
}

u8 kpage_kind(u64 flags, u8 *head)
{
	u8 kind = kpage_kind_of(flags);

	if (!has(flags, BIT_TAIL)) {
		*head = kind == KPAGE_NONE ? (u8)KPAGE_OTHER : kind;
		return kind;
	}
	return kind == KPAGE_OTHER ? *head : kind;
}

u64 kpage_error(double sum, double squares, u64 n, u64 all)
{
	double mean, variance;

	if (n < 2 || n >= all)
		return 0;
	mean = sum / (double)n;
	variance = MAX(0.0, (squares - sum * mean) / (double)(n - 1));
	return (u64)(2 * (double)all * sqrt((1 - (double)n / (double)all) * variance / (double)n));
}

struct taking {
	int flags_fd, group_fd; /* group_fd -1: there is none */
	u64 root;
	u64 *flags, *groups; /* CHUNK each */
	struct kpage_census *ret;
	double sum[KPAGE_KINDS], squares[KPAGE_KINDS];
};

static int kpage_file_open(const char *name)
{
	char path[PATH_MAX];
	int rc = sys_path(path, "/proc/%s", name), fd;

	if (rc)
		return rc;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static size_t frames_read(int fd, u64 *buf, u64 frame)
{
	ssize_t n = pread(fd, buf, CHUNK * sizeof(*buf), (off_t)(frame * sizeof(*buf)));

	return n > 0 ? (size_t)n / sizeof(*buf) : 0;
}

/* The file ends where the memory does. */
static u64 frames_count(const struct taking *t)
{
	u64 low = 0, high = 1, one;

	while (high < FRAMES_MOST && pread(t->flags_fd, &one, sizeof(one), (off_t)(high * 8)) == 8)
		high *= 2;
	while (low < high) {
		u64 mid = low + (high - low) / 2;

		if (pread(t->flags_fd, &one, sizeof(one), (off_t)(mid * 8)) == 8)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void chunk_add(struct taking *t, u64 frame)
{
	size_t n = frames_read(t->flags_fd, t->flags, frame);
	size_t g = t->group_fd >= 0 ? frames_read(t->group_fd, t->groups, frame) : 0;
	u64 pages[KPAGE_KINDS] = {};
	u8 head = KPAGE_OTHER;

	for (size_t i = 0; i < n; i++) {
		u8 kind = kpage_kind(t->flags[i], &head);

		if (kind == KPAGE_NONE)
			continue;
		pages[kind]++;
		t->ret->mapped[kind] += has(t->flags[i], BIT_MMAP);
		t->ret->charged[kind] += i < g && t->groups[i] && t->groups[i] != t->root;
	}
	t->ret->looked += n;
	for (u32 k = 0; k < KPAGE_KINDS; k++) {
		t->ret->pages[k] += pages[k];
		t->sum[k] += (double)pages[k];
		t->squares[k] += (double)pages[k] * (double)pages[k];
	}
}

static u64 scaled(u64 v, u64 n, u64 all)
{
	return (u64)((double)v * (double)all / (double)n);
}

/* One chunk out of each so many that lie side by side, chosen at random. */
static void chunks_take(struct taking *t, u64 most)
{
	u64 frames = frames_count(t), all = (frames + CHUNK - 1) / CHUNK, n = 0, random = 0;
	u64 stride = most ? (all * CHUNK + most - 1) / most : all;

	stride = MAX(stride, 1ULL);
	t->ret->of = frames;
	for (u64 at = 0; at < all; at += stride, n++) {
		u64 of = MIN(stride, all - at);

		if (of > 1 && getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
			random = 0;
		chunk_add(t, (at + random % of) * CHUNK);
	}
	for (u32 k = 0; k < KPAGE_KINDS && n && n < all; k++) {
		t->ret->pages[k] = scaled(t->ret->pages[k], n, all);
		t->ret->mapped[k] = scaled(t->ret->mapped[k], n, all);
		t->ret->charged[k] = scaled(t->ret->charged[k], n, all);
		t->ret->error[k] = kpage_error(t->sum[k], t->squares[k], n, all);
	}
}

void kpage_census_close(struct kpage_census *k, u64 present, u64 unprepared)
{
	u64 told = 0;

	for (u32 i = 0; i < KPAGE_KINDS; i++)
		told += i == KPAGE_OTHER ? 0 : k->pages[i];
	if (present && told + k->pages[KPAGE_OTHER] > present)
		k->pages[KPAGE_OTHER] = u64_less(present, told);
	unprepared = MIN(unprepared, k->pages[KPAGE_OTHER]);
	k->pages[KPAGE_OTHER] -= unprepared;
	k->pages[KPAGE_FREE] += unprepared;
}

int kpage_census_take(u64 most, u64 root, struct kpage_census *ret)
{
	struct taking t = {.root = root, .ret = ret};
	int rc = 0;

	t.flags_fd = kpage_file_open("kpageflags");
	if (t.flags_fd < 0)
		return t.flags_fd;
	t.group_fd = kpage_file_open("kpagecgroup");
	t.flags = calloc(CHUNK, sizeof(*t.flags));
	t.groups = calloc(CHUNK, sizeof(*t.groups));
	memset(ret, 0, sizeof(*ret));
	ret->has_charged = t.group_fd >= 0;
	if (t.flags && t.groups)
		chunks_take(&t, most);
	else
		rc = -ENOMEM;
	free(t.flags);
	free(t.groups);
	close(t.flags_fd);
	if (t.group_fd >= 0)
		close(t.group_fd);
	return rc ? rc : ret->looked ? 0 : -ENODATA;
}
