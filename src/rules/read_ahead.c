/*
 * Read-ahead that nobody uses: a process that reads at random on a device that is read far ahead
 * has many times as much read as it asks for. That takes the disk's time and the page cache's room.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/units.h"
#include "probes/cache/cache.h"
#include "probes/faults/faults.h"
#include "rules/facts.h"
#include "rules/rules.h"

#define MUCH_SECOND (8ULL << 20) /* bytes that were read in vain: a note */
#define RISK_SECOND (32ULL << 20)
#define WAIT_WARNING 0.2               /* of the time, in its faults */
#define USED_PART 4                    /* at most one in so many bytes can have been of use */
#define ASKS_SECOND 10.0               /* else it reads ahead itself: readahead(), io_uring */
#define AT_ONCE_NS (NSEC_PER_SEC / 10) /* records of one reading of the tables */
#define DEFAULT_KIB 128ULL             /* of the kernel */
/* What a fault maps around it where the pages are there (fault_around_bytes). */
#define AROUND_BYTES (64ULL << 10)

struct reader {
	u64 pages; /* sampled, since the first total */
	u64 first_asked, first_asks, first_faults;
	u64 asked, asks, faults;
	u64 fault_ns; /* major ones */
	u64 cgroup;
	u64 ahead_bytes;
	u32 ahead_file;
	u64 first_ns, last_ns; /* of the totals */
};

static int read_ahead_rule_init(void *v, const struct view_options *o, struct err *err)
{
	(void)o;
	(void)err;
	rule_sums_init(v, sizeof(u32), sizeof(struct reader));
	return 0;
}

static int read_feed(struct rule_sums *s, const struct cache_agg *r)
{
	struct reader *p;

	if (r->flags & CACHE_WRITTEN)
		return 0;
	p = groups_get(&s->by, &r->tgid);
	if (!p)
		return -ENOMEM;
	if (p->first_ns && r->h.time_ns > p->first_ns + AT_ONCE_NS)
		p->pages += r->count;
	if (!r->asks)
		return 0;
	if (!p->first_ns) {
		p->first_ns = r->h.time_ns;
		p->first_asked = r->asked_bytes;
		p->first_asks = r->asks;
		p->first_faults = r->faults;
	}
	p->last_ns = r->h.time_ns;
	p->cgroup = r->cgroup;
	p->asked = r->asked_bytes;
	p->asks = r->asks;
	p->faults = r->faults;
	if (r->read_ahead_bytes > p->ahead_bytes) {
		p->ahead_bytes = r->read_ahead_bytes;
		p->ahead_file = r->read_ahead_file;
	}
	return 0;
}

static int read_ahead_fault_feed(struct rule_sums *s, const struct faults_agg *r)
{
	struct reader *p = r->flags & FAULT_MAJOR ? groups_get(&s->by, &r->tgid) : NULL;

	if (p)
		p->fault_ns += r->total_ns;
	return p || !(r->flags & FAULT_MAJOR) ? 0 : -ENOMEM;
}

static int read_ahead_rule_feed(void *v, const struct rec *r)
{
	struct rule_sums *s = v;

	if (r->kind == REC_CACHE_AGG)
		return read_feed(s, (const void *)r);
	if (r->kind == REC_FAULTS_AGG)
		return read_ahead_fault_feed(s, (const void *)r);
	return facts_feed(&s->facts, r);
}

/* What it had read, and the most of it that can have been of use. */
struct waste {
	double seconds;
	u64 read, used, asks;
};

static struct waste waste_of(const struct report *r, const struct reader *p)
{
	u64 faults = counter_rise(p->first_faults, p->faults);

	return (struct waste){
		.seconds = (double)(p->last_ns - p->first_ns) / 1e9,
		.read = p->pages * CACHE_STRIDE * r->stream->host.page_bytes,
		.used = counter_rise(p->first_asked, p->asked) + faults * AROUND_BYTES,
		.asks = counter_rise(p->first_asks, p->asks),
	};
}

static u64 a_second(const struct waste *w, u64 n)
{
	return (u64)((double)n / w->seconds);
}

static int read_ahead_level_of(
	const struct report *r, const struct reader *p, const struct waste *w)
{
	u64 vain;

	if (w->seconds < 2 || w->read < USED_PART * w->used ||
		(double)w->asks < ASKS_SECOND * w->seconds)
		return -1;
	vain = a_second(w, w->read - w->used);
	if (vain >= RISK_SECOND)
		return report_share(r, p->fault_ns) >= WAIT_WARNING ? LEVEL_WARNING : LEVEL_RISK;
	return vain >= MUCH_SECOND ? LEVEL_NOTE : -1;
}

static void read_ahead_tell_try(struct report *r, struct finding *f, const struct reader *p)
{
	const char *file = p->ahead_file ? stream_string(r->stream, p->ahead_file) : NULL;
	u64 kib = p->ahead_bytes >> 10;

	finding_line(r, f->try_,
		"Tell the kernel that it reads at random: posix_fadvise(fd, 0, 0, "
		"POSIX_FADV_RANDOM) after open(), madvise(MADV_RANDOM) on a mapping.");
	if (!file || kib <= DEFAULT_KIB) {
		finding_line(r, f->undo, "Remove that call again.");
		return;
	}
	finding_line(r, f->try_,
		"Or reduce read-ahead on this device, for all of its files (%llu KiB is the "
		"kernel's default; sequential reads of large files may want more): `echo %llu > "
		"%s`",
		DEFAULT_KIB, DEFAULT_KIB, file);
	finding_line(r, f->undo, "`echo %llu > %s`", kib, file);
}

static void read_ahead_tell(
	struct report *r, u32 tgid, const struct reader *p, const struct waste *w, int level)
{
	struct finding *f = report_finding(r, level, "read-ahead");
	double share = 100.0 * (double)(w->read - w->used) / (double)w->read;
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF];

	if (!f)
		return;
	f->tgid = tgid;
	f->cost_ns = p->fault_ns;
	f->cgroup = p->cgroup; /* whose limit, where it is met, is met for pages that nobody uses */
	f->losses = LOSS_REFAULT | LOSS_RECLAIM;
	f->title = report_text(r,
		"%s causes %s a second to be read from disk and uses at most %.0f %% of it: it "
		"reads at random, and the kernel reads %s ahead",
		report_process(r, tgid), fmt_bytes(a, a_second(w, w->read)), 100 - share,
		p->ahead_bytes ? fmt_bytes(b, p->ahead_bytes) : "far");
	f->confidence = "high: what it asked for is the kernel's own count; pages that came into "
			"the page cache are sampled, one in 64";
	finding_line(r, f->evidence,
		"in %.0f s %s came into the page cache for it; it asked for at most %s in read "
		"calls and faults: %.0f %% was read for nothing",
		w->seconds, fmt_bytes(a, w->read), fmt_bytes(b, w->used), share);
	finding_line(r, f->evidence, "%.0f read calls and major faults a second, %s read for each",
		(double)w->asks / w->seconds, fmt_bytes(c, w->read / MAX(w->asks, 1ULL)));
	if (p->ahead_file)
		finding_line(r, f->evidence, "read-ahead of the device: %s (%s)",
			fmt_bytes(a, p->ahead_bytes), stream_string(r->stream, p->ahead_file));
	f->why = "The kernel reads beyond what is asked for, and around what is touched in a "
		 "mapping, up to the device's read-ahead. Random readers use none of it: the disk "
		 "works for nothing, and these pages evict others from the page cache.";
	read_ahead_tell_try(r, f, p);
	finding_line(r, f->verify, "`memwhy check --for 15s -p %u`", tgid);
}

static int read_ahead_rule_report(void *v, struct report *r)
{
	struct rule_sums *s = v;

	for (size_t i = 0; i < s->by.n; i++) {
		const struct reader *p = groups_value(&s->by, i);
		struct waste w = waste_of(r, p);
		int level = read_ahead_level_of(r, p, &w);

		if (level >= 0)
			read_ahead_tell(r, *(const u32 *)groups_key(&s->by, i), p, &w, level);
	}
	return 0;
}

const struct view rule_read_ahead =
	SUMS_RULE(read_ahead_rule_init, read_ahead_rule_feed, read_ahead_rule_report);
