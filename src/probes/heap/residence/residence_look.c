/* See residence.h: what is resident. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "probes/heap/residence/residence.h"
#include "sys/process/pagemap.h"
#include "sys/process/proc.h"
#include "sys/process/smaps.h"
#include "sys/root.h"

#define LOOK_MS 20    /* where there is more than was found before … */
#define AGAIN_MS 100  /* … or about as much */
#define LOOK_SHARE 20 /* looks take at most one part in so many of a CPU's time */
#define NEAR 64       /* with less than a part in so many less than was found before: look again */
#define PAGE 4096ULL
#define AREA_PAGES (1ULL << 22) /* 16 GiB: larger mappings are not looked into */
#define ALL_PAGES (1ULL << 24)

/* A mapping that has resident pages, or pages in swap. */
struct area {
	u64 start, end;
	u64 rss, swap;
	u64 taken, taken_swap; /* of these, by blocks and by what the process mapped itself */
	struct residence_key key;
	u8 *pages;    /* enum page_state; NULL: it was not looked into */
	double whole; /* what a page that is PAGE_PERHAPS counts */
};

struct looking {
	struct residence *r;
	const struct mappings *mappings;
	VEC(struct area) areas;
	struct area *last; /* that was found */
	u64 pages, beyond;
	int rc;
};

static void looking_free(struct looking *l)
{
	vec_each (a, &l->areas)
		free(a->pages);
	vec_free(&l->areas);
}

static bool overlaps_mapped(const struct mappings *m, const struct smaps_rss *s)
{
	struct range r;

	return ranges_next(&m->ranges, s->start, &r) && r.start < s->end;
}

/* How many of the pages that may be the zero page are no memory: the kernel leaves it out of Rss.
 */
static void area_weigh(struct area *a)
{
	u64 n[PAGE_STATES] = {}, present, rss = a->rss / PAGE;

	for (u64 i = 0; i < (a->end - a->start) / PAGE; i++)
		n[a->pages[i]]++;
	if (n[PAGE_PRESENT] > rss) { /* it grew while it was looked at */
		rss = n[PAGE_PRESENT];
		a->rss = rss * PAGE;
	}
	present = n[PAGE_PRESENT] + n[PAGE_PERHAPS];
	a->whole = 1;
	if (present > rss && n[PAGE_PERHAPS])
		a->whole = rss > n[PAGE_PRESENT]
				   ? (double)(rss - n[PAGE_PRESENT]) / (double)n[PAGE_PERHAPS]
				   : 0;
}

static int area_pages(struct looking *l, struct area *a, int pagemap)
{
	u64 n = (a->end - a->start) / PAGE;
	int rc;

	if (n > AREA_PAGES || l->pages + n > ALL_PAGES) {
		l->beyond += a->rss;
		a->key = (struct residence_key){.what = HEAP_PLACE_BEYOND};
		return 0;
	}
	l->pages += n;
	a->pages = malloc(n);
	if (!a->pages)
		return -ENOMEM;
	rc = pagemap_read(pagemap, a->start, n, a->pages);
	if (!rc)
		area_weigh(a);
	return rc;
}

/* What only files and the kernel have there needs no look at single pages. */
static int areas_read(struct looking *l, const struct smaps_all *all, int pagemap)
{
	int rc = 0;

	vec_each (s, &all->list) {
		const struct mapping *m = maps_find(&l->r->maps, s->start);
		struct area a = {.start = s->start,
			.end = s->end,
			.rss = s->rss_bytes,
			.swap = s->swap_bytes};

		if (!s->rss_bytes && !s->swap_bytes)
			continue;
		a.key = m ? *residence_key_of(l->r, m)
			  : (struct residence_key){.what = HEAP_PLACE_UNKNOWN};
		if (a.key.what == HEAP_PLACE_LIBC || overlaps_mapped(l->mappings, s))
			rc = area_pages(l, &a, pagemap);
		/* Before 6.7 the kernel makes one mapping of a stack and a block right above it. */
		if (a.key.what == HEAP_PLACE_LIBC && residence_is_stack(l->r, m))
			a.key.what = HEAP_PLACE_STACK;
		if (!rc)
			rc = vec_push(&l->areas, a);
		if (rc) {
			free(a.pages);
			return rc;
		}
	}
	return 0;
}

/* The first area that ends after an address; NULL: none. */
static struct area *area_next(struct looking *l, u64 address)
{
	size_t low = 0, high = l->areas.n;

	if (l->last && address >= l->last->start && address < l->last->end)
		return l->last;
	while (low < high) {
		size_t mid = (low + high) / 2;

		if (l->areas.v[mid].end <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return l->last = low < l->areas.n ? &l->areas.v[low] : NULL;
}

struct there {
	double resident;
	u64 swapped;
};

/* What of [start, end), which lies in the area, is resident. */
static struct there area_range(const struct area *a, u64 start, u64 end)
{
	struct there t = {};

	while (start < end) {
		u64 next = MIN((start | (PAGE - 1)) + 1, end);

		switch ((enum page_state)a->pages[(start - a->start) / PAGE]) {
		case PAGE_PRESENT:
			t.resident += (double)(next - start);
			break;
		case PAGE_PERHAPS:
			t.resident += a->whole * (double)(next - start);
			break;
		case PAGE_SWAPPED:
			t.swapped += next - start;
			break;
		default:
			break;
		}
		start = next;
	}
	return t;
}

/* Adds what is there of a range to the sums of a key; from: it was in these. */
static void residence_look_range_add(struct looking *l, const struct residence_key *k, u64 start,
	u64 bytes, struct residence_sums *from)
{
	struct residence_sums *s = groups_find(&l->r->sums, k);
	u64 end = start + bytes;
	struct area *a;

	s->changed = true;
	s->live += bytes;
	if (from)
		from->live -= MIN(bytes, from->live);
	for (u64 at = start; at < end && (a = area_next(l, at)) && a->start < end; at = a->end) {
		struct there t;
		u64 resident;

		if (!a->pages)
			continue;
		t = area_range(a, MAX(at, a->start), MIN(end, a->end));
		resident = (u64)t.resident;
		s->resident += resident;
		s->swapped += t.swapped;
		if (from) {
			from->resident -= MIN(resident, from->resident);
			from->swapped -= MIN(t.swapped, from->swapped);
		} else {
			a->taken += resident;
			a->taken_swap += t.swapped;
		}
	}
}

static void mapped_add(struct looking *l)
{
	const struct mappings *m = l->mappings;
	struct range r;

	for (u64 at = 0; !l->rc && ranges_next(&m->ranges, at, &r); at = r.end) {
		struct residence_key k = residence_mapped(m, &r);

		if (groups_get(&l->r->sums, &k))
			residence_look_range_add(l, &k, r.start, r.end - r.start, NULL);
		else
			l->rc = -ENOMEM;
	}
}

/* What lies in memory that the process mapped itself is no longer that mapping's. */
static void block_add(void *arg, u64 address, u64 bytes, u32 stack)
{
	struct residence_key k = {.what = HEAP_PLACE_BLOCK, .id = stack}, mapped;
	struct residence_sums *from = NULL;
	struct looking *l = arg;
	struct range r;

	if (l->rc || !groups_get(&l->r->sums, &k)) {
		l->rc = -ENOMEM;
		return;
	}
	if (ranges_find(&l->mappings->ranges, address, &r)) {
		mapped = residence_mapped(l->mappings, &r);
		from = groups_find(&l->r->sums, &mapped);
	}
	residence_look_range_add(l, &k, address, bytes, from);
}

static void rest_add(struct looking *l)
{
	vec_each (a, &l->areas) {
		struct residence_sums *s = groups_get(&l->r->sums, &a->key);

		if (!s) {
			l->rc = -ENOMEM;
			return;
		}
		s->changed = true;
		s->resident += a->rss - MIN(a->taken, a->rss);
		s->swapped += a->swap - MIN(a->taken_swap, a->swap);
	}
}

static void sums_clear(struct residence *r)
{
	for (size_t i = 0; i < r->sums.n; i++) {
		struct residence_sums *s = groups_value(&r->sums, i);

		s->changed |= s->resident || s->swapped || s->live;
		s->resident = s->swapped = s->live = 0;
	}
}

static int look_at(struct residence *r, u32 pid, const struct account *a, const struct mappings *m)
{
	_cleanup_str_ struct str text = {};
	int task = proc_memory_task((int)pid);
	_cleanup_close_ int pagemap = pagemap_open(task);
	struct looking l = {.r = r, .mappings = m};
	_cleanup_maps_ struct maps maps = {};
	struct smaps_all all = {};
	int rc = pagemap < 0 ? pagemap : sys_read(&text, "/proc/%d/smaps", task);

	r->last_ns = clock_mono_ns();
	rc = rc ? rc : maps_parse(str_get(&text), &maps);
	rc = rc ? rc : smaps_all_parse(str_get(&text), &all);
	if (!rc && !all.list.n)
		rc = -ESRCH;
	rc = rc ? rc : residence_maps(r, &maps, r->last_ns);
	rc = rc ? rc : areas_read(&l, &all, pagemap);
	if (!rc) {
		sums_clear(r);
		mapped_add(&l);
		account_each(a, block_add, &l);
		rest_add(&l);
		rc = l.rc;
		r->look = (struct residence_look){.time_ns = r->last_ns, .beyond = l.beyond};
		vec_each (area, &l.areas)
			r->look.rss += area->rss;
		r->looks++;
	}
	smaps_all_free(&all);
	looking_free(&l);
	return rc;
}

static void hwm_take(struct residence *r, const struct proc_status *s)
{
	r->hwm = s->vm_hwm_bytes;
	r->hwm_faults = r->minor + r->major;
}

/* What the kernel counted itself, to be held against. */
static void kernel_read(struct residence *r, u32 pid)
{
	struct proc_status status;
	struct proc_stat stat;

	if (!proc_status_read((int)pid, &status) && status.has_mm)
		hwm_take(r, &status);
	if (!proc_stat_read((int)pid, &stat)) {
		r->kernel_minor = stat.minflt;
		r->kernel_major = stat.majflt;
	}
}

/* On a busy machine a look lasts many times what it takes. */
int residence_look(struct residence *r, u32 pid, const struct account *a, const struct mappings *m)
{
	u64 begin_ms = clock_mono_ns() / NSEC_PER_MSEC, cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int rc = look_at(r, pid, a, m);
	u64 wait_ms;

	kernel_read(r, pid);
	r->again = r->again && rc;
	wait_ms = LOOK_SHARE * (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns) / NSEC_PER_MSEC;
	r->next_ms = begin_ms + MAX(wait_ms, (u64)LOOK_MS);
	r->again_ms = begin_ms + MAX(wait_ms, (u64)AGAIN_MS);
	return rc == -ENOMEM ? rc : 0; /* gone, or no longer ours to see */
}

void residence_hurry(struct residence *r)
{
	r->check_ms = r->next_ms = r->again_ms = 0;
}

bool residence_due(struct residence *r, u32 pid, u64 now_ms, u64 every_ms)
{
	u64 near = r->look.rss / NEAR;
	struct proc_status s;

	if (now_ms < r->check_ms)
		return false;
	r->check_ms = now_ms + every_ms;
	if (proc_status_read((int)pid, &s) || !s.has_mm)
		return false;
	hwm_take(r, &s);
	if (!r->looks || s.vm_rss_bytes > r->look.rss + near)
		return now_ms >= r->next_ms;
	return now_ms >= r->again_ms && (r->again || s.vm_rss_bytes >= r->look.rss - near);
}
