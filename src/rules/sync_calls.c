/*
 * Processes that keep waiting until what they wrote is on disk: changed pages of mapped files
 * (msync), or of files that were written (fsync and its like). A database does that by design, so
 * the latter is a note; of a mapping each call also write-protects its pages again.
 */
#include <errno.h>

#include "base/units.h"
#include "probes/mmcalls/mmcalls.h"
#include "rules/facts.h"
#include "rules/rules.h"

#define FINDINGS 2
#define LEAST_BURSTS 3   /* that it was seen in: what is over in a second is no habit */
#define MAPPED_NOTE 0.05 /* of the time, in msync */
#define WRITTEN_NOTE 0.2 /* in the others: a database commits */
#define MAPPED_RISK 0.25
#define MAPPED_WARNING 4.0

struct syncs {
	u64 count, timed, ns, max_ns, bytes;
	u32 stack;
	u64 stack_count;
	u32 bursts, last;
};

struct sync_key {
	u32 tgid;
	u16 call, reserved;
};

struct state {
	struct rule_sums sums; /* struct sync_key -> struct syncs */
	u64 on_ns, covered_ns;
	u32 bursts;
};

static int sync_calls_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	(void)o;
	(void)err;
	rule_sums_init(&s->sums, sizeof(struct sync_key), sizeof(struct syncs));
	return 0;
}

static int sync_feed(struct state *s, const struct mmcalls_sync *r)
{
	struct sync_key k = {r->tgid, r->call, 0};
	struct syncs *c = groups_get(&s->sums.by, &k);

	if (!c)
		return -ENOMEM;
	c->count += r->count;
	c->timed += r->timed;
	c->ns += r->total_ns;
	c->max_ns = MAX(c->max_ns, r->max_ns);
	c->bytes += r->bytes;
	if (r->stack && r->count > c->stack_count) {
		c->stack = r->stack;
		c->stack_count = r->count;
	}
	if (!c->bursts || c->last != s->bursts)
		c->bursts++;
	c->last = s->bursts;
	return 0;
}

static int sync_calls_rule_feed(void *v, const struct rec *r)
{
	const struct mmcalls_sampled *sampled = (const void *)r;
	struct state *s = v;

	switch (r->kind) {
	case REC_MMCALLS_SYNC:
		return sync_feed(s, (const void *)r);
	case REC_MMCALLS_SAMPLED:
		s->bursts++;
		s->on_ns += sampled->on_ns;
		s->covered_ns += sampled->covered_ns;
		return 0;
	default:
		return facts_feed(&s->sums.facts, r);
	}
}

/* What was measured in bursts, of the whole interval. */
static u64 syncs_whole_ns(const struct state *s, const struct syncs *c)
{
	return (u64)((double)c->ns * (double)s->covered_ns / (double)MAX(s->on_ns, 1ULL));
}

static double syncs_a_second(const struct state *s, const struct syncs *c)
{
	return (double)c->count * 1e9 / (double)MAX(s->on_ns, 1ULL);
}

static const char *call_name(u16 call)
{
	switch (call) {
	case MMCALLS_MSYNC:
		return "msync()";
	case MMCALLS_FSYNC:
		return "fsync()";
	case MMCALLS_FDATASYNC:
		return "fdatasync()";
	case MMCALLS_SYNCFS:
		return "syncfs()";
	}
	return "sync_file_range()";
}

static void sync_calls_tell_try(struct report *r, struct finding *f, u16 call)
{
	finding_line(r, f->try_,
		"Make several changes durable with one call: commit in groups, by count or by time "
		"(for SQL, several statements in one transaction).");
	if (call == MMCALLS_MSYNC)
		finding_line(r, f->try_,
			"Keep what changes together in the same pages, or append changes to a log, "
			"sync that, and sync the mapping seldom (a checkpoint).");
	finding_line(r, f->try_,
		"Where losing the last moments in a crash of the machine is acceptable, do not "
		"wait: the kernel writes back by itself after vm.dirty_expire_centisecs.");
	finding_line(
		r, f->try_, "Otherwise only a device that is faster at flushing its cache helps.");
}

static void sync_calls_tell(
	struct report *r, const struct state *s, const struct sync_key *k, const struct syncs *c)
{
	double share = report_share(r, syncs_whole_ns(s, c));
	bool mapped = k->call == MMCALLS_MSYNC;
	int level = mapped ? share_level(share, MAPPED_RISK, MAPPED_WARNING, 1e9) : -1;
	struct finding *f = report_finding(r, MAX(level, (int)LEVEL_NOTE), "sync-calls");
	char a[UNIT_BUF], b[UNIT_BUF];

	if (!f)
		return;
	f->tgid = k->tgid;
	f->cost_ns = syncs_whole_ns(s, c);
	f->title = report_text(r, "%s keeps waiting until %s on disk: %s %.0f times a second: %s",
		report_process(r, k->tgid),
		mapped ? "changed pages of a mapped file are" : "what it wrote is",
		call_name(k->call), syncs_a_second(s, c), report_share_text(r, f->cost_ns));
	f->confidence = "high: the calls were timed, in samples of 50 ms; of calls that take "
			"longer, it is the least";
	finding_line(r, f->evidence, "%llu calls timed, mean %s, longest %s (sampled)", c->timed,
		fmt_ns(a, c->ns / MAX(c->timed, 1ULL)), fmt_ns(b, c->max_ns));
	if (mapped)
		finding_line(
			r, f->evidence, "%s a call", fmt_bytes(a, c->bytes / MAX(c->count, 1ULL)));
	if (c->stack)
		finding_stack(r, f, c->stack, 4);
	f->why = mapped ? "Each call writes the changed pages of its range back, waits for the "
			  "disk to store them (and, in most file systems, for their journal), and "
			  "write-protects them again, so that the next change of each is a page "
			  "fault."
			: "Each call writes the file's dirty pages back and waits for the disk to "
			  "store them, and in most file systems for their journal. Databases and "
			  "mail servers do so by design, once for each commit or message.";
	sync_calls_tell_try(r, f, k->call);
	finding_line(r, f->undo, "Start it again as before.");
	finding_line(r, f->verify, "`memwhy syscalls -p %u --for 10s`", k->tgid);
}

/* That with most time in such calls, below `below`. */
static size_t sync_calls_next_worst(const struct state *s, u64 below)
{
	const struct syncs *best = NULL;
	size_t at = s->sums.by.n;

	for (size_t i = 0; i < s->sums.by.n; i++) {
		const struct syncs *c = groups_value(&s->sums.by, i);

		if (c->ns >= below || (best && c->ns <= best->ns))
			continue;
		best = c;
		at = i;
	}
	return at;
}

static int sync_calls_rule_report(void *v, struct report *r)
{
	struct state *s = v;
	u64 below = ~0ULL;
	size_t i;

	for (int told = 0;
		told < FINDINGS && (i = sync_calls_next_worst(s, below)) < s->sums.by.n;) {
		const struct sync_key *k = groups_key(&s->sums.by, i);
		const struct syncs *c = groups_value(&s->sums.by, i);
		bool mapped = k->call == MMCALLS_MSYNC;

		below = c->ns;
		if (c->bursts < LEAST_BURSTS || report_share(r, syncs_whole_ns(s, c)) <
							(mapped ? MAPPED_NOTE : WRITTEN_NOTE))
			continue;
		sync_calls_tell(r, s, k, c);
		told++;
	}
	return 0;
}

static void sync_calls_rule_reset(void *v)
{
	struct state *s = v;

	rule_sums_reset(&s->sums);
	s->on_ns = s->covered_ns = 0;
	s->bursts = 0;
}

static void sync_calls_rule_destroy(void *v)
{
	struct state *s = v;

	rule_sums_destroy(&s->sums);
}

const struct view rule_sync_calls = {
	.size = sizeof(struct state),
	.init = sync_calls_rule_init,
	.feed = sync_calls_rule_feed,
	.report = sync_calls_rule_report,
	.reset = sync_calls_rule_reset,
	.destroy = sync_calls_rule_destroy,
};
