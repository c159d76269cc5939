/*
 * Memory that a process gives back and touches again: time in page faults that keeping it would
 * save. Memory touched for the first time is no trouble, as long as the process keeps it.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/units.h"
#include "probes/mmcalls/mmcalls.h"
#include "probes/processes/processes.h"
#include "rules/facts.h"
#include "rules/fault_storm.h"
#include "rules/rules.h"
#include "rules/runtime.h"

#define FINDINGS 3
#define NOTE_SHARE 0.03 /* of the time, in such faults */
/* Of the pages touched, at most this part may have been kept: the others were given back. */
#define KEPT_PART 3
#define MIN_CHURN_PAGES 16384 /* 64 MiB */
#define SHARED_SWING (4ULL << 20)
#define GIVEN_PART 3.0 /* of what was touched, at least one in so many bytes was given back */

struct process_faults {
	struct storm touched;
	u64 start_ns, first_bytes, last_bytes, peak_bytes; /* anonymous; start 0: not known */
	u64 samples, exact; /* exact: those that tell its shared memory */
	u64 least_bytes, shared_least, shared_peak;
	u64 first_resident, last_resident; /* all of it, in this look */
};

struct call_key {
	u32 tgid;
	u16 call, advice;
};

struct calls {
	u64 count, bytes;
	u32 stack;
	u64 stack_count;
};

struct state {
	struct rule_sums sums; /* tgid -> struct process_faults */
	struct groups calls;   /* struct call_key -> struct calls */
	u64 calls_on_ns, calls_covered_ns;
};

static int touch_again_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	(void)o;
	(void)err;
	rule_sums_init(&s->sums, sizeof(u32), sizeof(struct process_faults));
	groups_init(&s->calls, sizeof(struct call_key), sizeof(struct calls));
	return 0;
}

static int touch_again_fault_feed(struct state *s, const struct faults_agg *r)
{
	struct process_faults *p;

	if (!storm_takes(r) || storm_copies(r))
		return 0;
	p = groups_get(&s->sums.by, &r->tgid);
	if (!p)
		return -ENOMEM;
	storm_add(&p->touched, r);
	return 0;
}

static int path_feed(struct state *s, const struct process_path *r)
{
	struct process_faults *p = groups_get(&s->sums.by, &r->tgid);

	if (!p)
		return -ENOMEM;
	storm_walked(&p->touched, r);
	return 0;
}

static int touch_again_memory_feed(struct state *s, const struct process_memory *r)
{
	struct process_faults *p = groups_get(&s->sums.by, &r->tgid);

	if (!p)
		return -ENOMEM;
	if (p->start_ns != r->start_ns || !p->samples) {
		*p = (struct process_faults){.touched = p->touched,
			.start_ns = r->start_ns,
			.first_bytes = r->first_anon_bytes,
			.first_resident = r->rss_bytes,
			.least_bytes = ~0ULL,
			.shared_least = ~0ULL};
	}
	p->samples++;
	if (r->h.flags & PROCESS_EXACT) {
		p->exact++;
		p->shared_least = MIN(p->shared_least, r->rss_shmem_bytes);
		p->shared_peak = MAX(p->shared_peak, r->rss_shmem_bytes);
	}
	p->least_bytes = MIN(p->least_bytes, r->anon_bytes);
	p->last_bytes = r->anon_bytes;
	p->last_resident = r->rss_bytes;
	p->peak_bytes = MAX(p->peak_bytes, r->anon_bytes);
	return 0;
}

static int touch_again_call_feed(struct state *s, const struct mmcalls_agg *r)
{
	struct call_key k = {r->tgid, r->call, r->advice};
	struct calls *c = groups_get(&s->calls, &k);

	if (!c)
		return -ENOMEM;
	c->count += r->count;
	c->bytes += r->bytes;
	if (r->count > c->stack_count) {
		c->stack = r->stack;
		c->stack_count = r->count;
	}
	return 0;
}

static int touch_again_rule_feed(void *v, const struct rec *r)
{
	const struct mmcalls_sampled *sampled = (const void *)r;
	struct state *s = v;

	switch (r->kind) {
	case REC_FAULTS_AGG:
		return touch_again_fault_feed(s, (const void *)r);
	case REC_PROCESS_MEMORY:
		return touch_again_memory_feed(s, (const void *)r);
	case REC_PROCESS_PATH:
		return path_feed(s, (const void *)r);
	case REC_MMCALLS_AGG:
		return touch_again_call_feed(s, (const void *)r);
	case REC_MMCALLS_SAMPLED:
		s->calls_on_ns += sampled->on_ns;
		s->calls_covered_ns += sampled->covered_ns;
		return 0;
	default:
		return facts_feed(&s->sums.facts, r);
	}
}

static bool gives_back(const struct call_key *k)
{
	return k->call == MMCALLS_MUNMAP || k->call == MMCALLS_BRK || k->call == MMCALLS_MREMAP ||
	       (k->call == MMCALLS_MADVISE &&
		       (k->advice == MADV_DONTNEED || k->advice == MADV_FREE));
}

/* By which calls it gives memory back: the kind with most bytes. NULL: none was seen. */
static const struct calls *giver_find(
	const struct state *s, u32 tgid, const struct call_key **ret_key)
{
	const struct calls *best = NULL;

	for (size_t i = 0; i < s->calls.n; i++) {
		const struct call_key *k = groups_key(&s->calls, i);
		const struct calls *c = groups_value(&s->calls, i);

		if (k->tgid != tgid || !gives_back(k) || (best && c->bytes <= best->bytes))
			continue;
		best = c;
		*ret_key = k;
	}
	return best;
}

/* Beside a whole code path, libc's function alone says nothing. */
static void tell_giver(struct report *r, struct finding *f, const struct state *s,
	const struct calls *c, const struct call_key *k, bool path_told)
{
	double seconds = (double)MAX(s->calls_on_ns, 1ULL) / 1e9;
	char a[UNIT_BUF];

	if (k->call == MMCALLS_BRK)
		finding_line(r, f->evidence, "it calls brk() %.0f times a second (sampled)",
			(double)c->count / seconds);
	else
		finding_line(r, f->evidence, "it calls %s %.0f times a second, for %s (sampled)",
			mmcalls_name(r, k->call, k->advice), (double)c->count / seconds,
			fmt_bytes(a, (u64)((double)c->bytes / seconds)));
	if (c->stack && (!path_told || stack_has_caller(r, c->stack)))
		finding_stack(r, f, c->stack, 6);
}

/* Files and segments in memory that it makes, fills and lets go: these go up and down, and its
 * anonymous memory does not. No allocator has a part in it. */
static bool is_shared(const struct process_faults *p)
{
	u64 swing = p->exact >= 3 ? p->shared_peak - p->shared_least : 0;

	return swing >= SHARED_SWING && swing >= 4 * (p->peak_bytes - p->least_bytes);
}

static void tell_keep(struct report *r, struct finding *f, const struct call_key *k,
	const struct calls *c, enum runtime runtime)
{
	struct runtime_habit h = {.maps = k && k->call != MMCALLS_MADVISE};

	if (c) {
		h.bytes = c->bytes / MAX(c->count, 1ULL);
		h.caller = runtime_own_caller(r, c->stack);
	}
	runtime_tell_keep(r, f, runtime, &h);
	finding_line(r, f->try_,
		"In your own code: allocate the buffer once and reuse it, or release it less "
		"often.");
}

static void touch_again_tell(
	struct report *r, const struct state *s, u32 tgid, struct process_faults *p, int level)
{
	struct finding *f = report_finding(r, level, "touch-again");
	const struct call_key *k = NULL;
	const struct calls *c = giver_find(s, tgid, &k);
	const u32 stacks[] = {c ? c->stack : 0, p->touched.stack};
	char a[UNIT_BUF];
	bool path_told;

	if (!f)
		return;
	f->cost_ns = p->touched.ns;
	f->tgid = tgid;
	f->folds = 1; /* below its waits for the lock that mapping and unmapping take */
	f->losses = LOSS_SPACE | LOSS_FLUSH;
	f->title = report_text(r,
		"%s gives memory back%s%s and touches it again, %.0f pages a second: %s in page "
		"faults",
		report_process(r, tgid), c ? " by " : "",
		c ? mmcalls_name(r, k->call, k->advice) : "",
		(double)p->touched.pages / report_seconds(r), report_share_text(r, p->touched.ns));
	f->confidence =
		c ? "high: every fault was counted and timed, and it was seen giving memory back"
		  : "medium: every fault was counted and timed, and its memory did not grow; how "
		    "it gives memory back was not seen";
	path_told = storm_tell(r, f, &p->touched, "touched");
	finding_line(r, f->evidence, "its anonymous memory was never above %s",
		fmt_bytes(a, p->peak_bytes));
	if (c)
		tell_giver(r, f, s, c, k, path_told);
	f->why = "Memory that was given back to the kernel has to be allocated, cleared and mapped "
		 "again, page by page, at the next touch. Keeping it costs nothing but the memory "
		 "itself.";
	if (is_shared(p))
		finding_line(r, f->try_,
			"Most of it is shared memory (segments, memfd, files in tmpfs): reuse one "
			"segment instead of a new one each time.");
	else
		tell_keep(r, f, k, c, runtime_of(r, tgid, stacks, ARRAY_SIZE(stacks)));
	finding_line(r, f->undo, "Start it again without that setting.");
	finding_line(r, f->verify, "`memwhy faults --stacks=user --for 10s -p %u`", tgid);
}

/* Did it live on, and keep little of what it touched? Of one that is too small to be sampled its
 * calls tell that it gave back as much. */
static bool churns(const struct state *s, u32 tgid, const struct process_faults *p, u64 page)
{
	const struct call_key *k;
	const struct calls *c = p->samples < 2 ? giver_find(s, tgid, &k) : NULL;
	/* Pages of files, as of memfd_secret(), are no anonymous memory, and kept all the same. */
	u64 grown = MAX(counter_rise(p->first_bytes, p->last_bytes),
		counter_rise(p->first_resident, p->last_resident));
	u64 kept = MAX(grown, p->peak_bytes / KEPT_PART) + facts_delta(&s->sums.facts, "Shmem");

	if (p->touched.pages < MIN_CHURN_PAGES || p->touched.pages * page < KEPT_PART * kept)
		return false;
	return p->samples >= 2 ||
	       (c && (double)c->bytes * GIVEN_PART * (double)s->calls_covered_ns >=
			       (double)(p->touched.pages * page) *
				       (double)MAX(s->calls_on_ns, 1ULL));
}

/* The process with most time in such faults, below `below`. */
static struct process_faults *touch_again_next_worst(struct state *s, u64 below, u32 *ret_tgid)
{
	struct process_faults *best = NULL;
	u64 best_ns = 0;

	for (size_t i = 0; i < s->sums.by.n; i++) {
		struct process_faults *p = groups_value(&s->sums.by, i);

		if (p->touched.ns >= below || p->touched.ns <= best_ns)
			continue;
		best = p;
		best_ns = p->touched.ns;
		*ret_tgid = *(const u32 *)groups_key(&s->sums.by, i);
	}
	return best;
}

/* What was started within the look, as a compiler is, may be over soon: no more than a note. Nor is
 * new shared memory, which is passed on. */
static int touch_again_level_of(const struct report *r, const struct process_faults *p)
{
	double share = report_share(r, p->touched.ns);
	bool young = p->start_ns > r->stream->first_ns;

	if (share < NOTE_SHARE)
		return -1;
	return young || is_shared(p) ? LEVEL_NOTE
				     : MAX(share_level(share, 0.1, 0.25, 0.7), (int)LEVEL_NOTE);
}

static int touch_again_rule_report(void *v, struct report *r)
{
	struct state *s = v;
	struct process_faults *p;
	u64 below = ~0ULL;
	u32 tgid = 0;

	for (int told = 0; told < FINDINGS;) {
		int level;

		p = touch_again_next_worst(s, below, &tgid);
		level = p ? touch_again_level_of(r, p) : -1;
		if (level < 0)
			break;
		below = p->touched.ns;
		if (!churns(s, tgid, p, r->stream->host.page_bytes))
			continue;
		touch_again_tell(r, s, tgid, p, level);
		told++;
	}
	return 0;
}

static void touch_again_rule_reset(void *v)
{
	struct state *s = v;

	rule_sums_reset(&s->sums);
	groups_clear(&s->calls);
	s->calls_on_ns = s->calls_covered_ns = 0;
}

static void touch_again_rule_destroy(void *v)
{
	struct state *s = v;

	rule_sums_destroy(&s->sums);
	groups_free(&s->calls);
}

const struct view rule_touch_again = {
	.size = sizeof(struct state),
	.init = touch_again_rule_init,
	.feed = touch_again_rule_feed,
	.report = touch_again_rule_report,
	.reset = touch_again_rule_reset,
	.destroy = touch_again_rule_destroy,
};
