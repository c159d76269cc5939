/* See heap_room.h. */
#include "rules/heap_room.h"

#include <errno.h>

#include "base/clock.h"
#include "base/units.h"
#include "rules/facts.h"
#include "rules/runtime.h"

/* A runtime takes at least so much beside its heap: its code, threads, what its collector keeps. */
#define BESIDE_PART 4
#define BESIDE_LEAST (64ULL << 20)
#define TIGHT_PART 16 /* of the limit: with less beside the heap it is met */

#define AT_ONCE_NS NSEC_PER_SEC /* those of which nothing is known so late have ended */

struct heap {
	u64 time_ns, cgroup, bytes, rss_bytes;
	bool soft;
};

void heap_room_init(struct groups *heaps)
{
	groups_init(heaps, sizeof(u32), sizeof(struct heap));
}

int heap_room_feed(struct groups *heaps, const struct process_memory *m)
{
	struct heap *h =
		m->heap_limit_bytes ? groups_get(heaps, &m->tgid) : groups_find(heaps, &m->tgid);

	if (!h)
		return m->heap_limit_bytes ? -ENOMEM : 0;
	*h = (struct heap){m->h.time_ns, m->cgroup, m->heap_limit_bytes, m->rss_bytes,
		m->h.flags & PROCESS_SOFT_HEAP};
	return 0;
}

static void heap_add(struct heap_room *sum, u64 *resident, u32 tgid, const struct heap *h)
{
	sum->heap_bytes += h->bytes;
	sum->need_bytes += h->bytes + MAX(h->bytes / BESIDE_PART, BESIDE_LEAST);
	*resident += h->rss_bytes;
	if (h->bytes <= sum->most_bytes)
		return;
	sum->most_bytes = h->bytes;
	sum->soft = h->soft;
	sum->tgid = tgid;
}

/* Of one that was killed and begins again and again only the present one counts, or else the last.
 */
static struct heap_room heaps_sum(const struct groups *heaps, const struct report *r,
	const struct cgroup_usage *cg, u64 *ret_resident)
{
	struct heap_room sum = {}, one = {};
	u64 newest = 0, resident = 0, of_one = 0;

	for (size_t i = 0; i < heaps->n; i++)
		newest = MAX(newest, ((const struct heap *)groups_value(heaps, i))->time_ns);
	for (size_t i = 0; i < heaps->n; i++) {
		const struct heap *h = groups_value(heaps, i);
		u32 tgid = *(const u32 *)groups_key(heaps, i);

		if (!h->bytes || !report_cgroup_within(r, h->cgroup, cg->cgroup))
			continue;
		if (h->time_ns + AT_ONCE_NS >= newest)
			heap_add(&sum, &resident, tgid, h);
		if (h->bytes > one.most_bytes) {
			one = (struct heap_room){};
			of_one = 0;
			heap_add(&one, &of_one, tgid, h);
		}
	}
	*ret_resident = sum.heap_bytes >= one.heap_bytes ? resident : of_one;
	return sum.heap_bytes >= one.heap_bytes ? sum : one;
}

bool heap_room_exceeds(const struct groups *heaps, const struct report *r,
	const struct cgroup_usage *cg, struct heap_room *ret)
{
	u64 resident = 0;
	struct heap_room sum = heaps_sum(heaps, r, cg, &resident);

	if (!sum.heap_bytes || cg->limit_bytes == CGROUP_USAGE_NONE ||
		sum.heap_bytes <= cg->limit_bytes - cg->limit_bytes / TIGHT_PART)
		return false;
	sum.need_bytes += counter_rise(resident, cg->anon_bytes + cg->shmem_bytes);
	*ret = sum;
	return true;
}

static const char *option_of(struct report *r, const struct heap_room *h)
{
	return h->soft                                         ? "GOMEMLIMIT"
	       : runtime_of(r, h->tgid, NULL, 0) == RUNTIME_V8 ? "--max-old-space-size"
							       : "-Xmx";
}

void heap_room_tell(struct report *r, struct finding *f, const struct heap_room *h,
	const struct cgroup_usage *cg)
{
	char a[UNIT_BUF], b[UNIT_BUF];

	f->title = report_text(r, "%s; %s may have a heap of %s (%s)", f->title,
		report_process(r, h->tgid), fmt_bytes(a, h->most_bytes), option_of(r, h));
	finding_line(r, f->evidence,
		"its command line or environment allows %s a heap of %s, and the cgroup's limit is "
		"%s for everything: it hits that limit before it has a reason to collect garbage",
		report_process(r, h->tgid), fmt_bytes(a, h->most_bytes),
		fmt_bytes(b, cg->limit_bytes));
	if (h->heap_bytes > h->most_bytes)
		finding_line(r, f->evidence, "all heaps of the cgroup together may have %s",
			fmt_bytes(a, h->heap_bytes));
}

static void smaller_try(struct report *r, struct finding *f, const struct heap_room *h,
	const struct cgroup_usage *cg)
{
	/* Each its share of three quarters of the limit. */
	u64 mib = (u64)((double)cg->limit_bytes * 0.75 * (double)h->most_bytes /
			  (double)h->heap_bytes) >>
		  20;
	const char *text;

	if (h->soft)
		text = report_text(r, "GOMEMLIMIT=%lluMiB", mib);
	else if (runtime_of(r, h->tgid, NULL, 0) == RUNTIME_V8)
		text = report_text(r, "--max-old-space-size=%llu", mib);
	else
		text = report_text(r, "-Xmx%llum", mib);
	finding_line(r, f->try_,
		"Or start %s with a heap that fits, if its live data does: %s (three quarters of "
		"the limit).",
		report_program(r, h->tgid), text);
}

void heap_room_try(struct report *r, struct finding *f, const struct heap_room *h,
	const struct cgroup_usage *cg, const char *dir, u64 least_bytes)
{
	u64 bytes = MAX(h->need_bytes, least_bytes);
	char a[UNIT_BUF];

	if (bytes < r->stream->host.memory_bytes) {
		finding_line(r, f->try_,
			"Raise the limit to what the heaps may have (%s) plus what runtimes need "
			"outside them:",
			fmt_bytes(a, h->heap_bytes));
		cgroup_tell_limit(r, f, cg, dir, bytes);
	}
	smaller_try(r, f, h, cg);
}
