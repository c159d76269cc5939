/*
 * Time that a process spends in calls that change its mappings, for themselves: each locks the
 * address space, walks page tables, splits and joins mappings. And in signals by which it is told
 * that it touched memory it may not touch, where it works with these.
 */
#include <errno.h>

#include "base/units.h"
#include "probes/mmcalls/mmcalls.h"
#include "probes/waits/waits.h"
#include "rules/facts.h"
#include "rules/rules.h"
#include "rules/runtime.h"

#define FINDINGS 2
#define NOTE_SHARE 0.05    /* of the time, in such calls and signals */
#define LEAST_SECOND 500.0 /* calls: few long ones are about what they map or free */
#define LEAST_BURSTS 3     /* that it was seen in: what is over in a second is a start */
#define PART 10            /* of the time, that a call is worth a line */
/* From the exception to the end of the handler, without what that calls. */
#define SIGNAL_NS 2000

struct call_key {
	u32 tgid;
	u16 call, advice;
};

struct calls {
	u64 count, bytes, timed, ns;
	u32 stack;
	u64 stack_count;
};

struct process {
	u64 ns;        /* in calls, in bursts, and estimated in signals */
	u64 count;     /* of both */
	u64 waited_ns; /* in such calls, for the lock: who has it may be another process */
	u32 bursts, last;
};

struct state {
	struct rule_sums sums; /* tgid -> struct process */
	struct groups calls;   /* struct call_key -> struct calls */
	u64 on_ns, covered_ns;
	u32 bursts;
};

static int mapping_calls_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	(void)o;
	(void)err;
	rule_sums_init(&s->sums, sizeof(u32), sizeof(struct process));
	groups_init(&s->calls, sizeof(struct call_key), sizeof(struct calls));
	return 0;
}

/* Of all, also of those whose end was not seen. */
static u64 calls_ns(const struct calls *c)
{
	return c->timed ? (u64)((double)c->ns * (double)c->count / (double)c->timed) : 0;
}

static int mapping_call_feed(struct state *s, const struct mmcalls_agg *r)
{
	struct call_key k = {r->tgid, r->call, r->advice};
	struct calls *c = groups_get(&s->calls, &k);
	struct process *p = c ? groups_get(&s->sums.by, &r->tgid) : NULL;

	if (!p)
		return -ENOMEM;
	c->count += r->count;
	c->bytes += r->bytes;
	c->timed += r->timed;
	c->ns += r->total_ns;
	if (r->stack && r->count > c->stack_count) {
		c->stack = r->stack;
		c->stack_count = r->count;
	}
	if (!p->bursts || p->last != s->bursts)
		p->bursts++;
	p->last = s->bursts;
	return 0;
}

/* Of whichever call: few others lock an address space. */
static int wait_feed(struct state *s, const struct waits_lock *r)
{
	bool in_call = r->flags & WAITS_CALL_KNOWN && r->call != WAITS_NO_CALL;
	struct process *p = in_call ? groups_get(&s->sums.by, &r->tgid) : NULL;

	if (p)
		p->waited_ns += r->total_ns;
	return p || !in_call ? 0 : -ENOMEM;
}

static int mapping_calls_rule_feed(void *v, const struct rec *r)
{
	const struct mmcalls_sampled *sampled = (const void *)r;
	struct state *s = v;

	switch (r->kind) {
	case REC_MMCALLS_AGG:
		return mapping_call_feed(s, (const void *)r);
	case REC_MMCALLS_SAMPLED:
		s->bursts++;
		s->on_ns += sampled->on_ns;
		s->covered_ns += sampled->covered_ns;
		return 0;
	case REC_WAITS_LOCK:
		return wait_feed(s, (const void *)r);
	default:
		return facts_feed(&s->sums.facts, r);
	}
}

/* The sums of each process, of its calls. */
static void processes_sum(struct state *s)
{
	for (size_t i = 0; i < s->sums.by.n; i++) {
		struct process *p = groups_value(&s->sums.by, i);

		p->ns = p->count = 0;
	}
	for (size_t i = 0; i < s->calls.n; i++) {
		const struct call_key *k = groups_key(&s->calls, i);
		const struct calls *c = groups_value(&s->calls, i);
		struct process *p = groups_find(&s->sums.by, &k->tgid);

		if (!p)
			continue;
		p->ns += k->call == MMCALLS_SIGNAL ? c->count * SIGNAL_NS : calls_ns(c);
		p->count += c->count;
	}
}

static double a_second(const struct state *s, u64 in_bursts)
{
	return (double)in_bursts * 1e9 / (double)MAX(s->on_ns, 1ULL);
}

/* What was measured in bursts, of the whole interval. */
static u64 whole_ns(const struct state *s, u64 in_bursts)
{
	return (u64)((double)in_bursts * (double)s->covered_ns / (double)MAX(s->on_ns, 1ULL));
}

/* Without the waits for the lock, which another rule tells. */
static u64 cost_ns(const struct state *s, const struct process *p)
{
	return counter_rise(p->waited_ns, whole_ns(s, p->ns));
}

/* The call of a process with most time, below `below`. */
static const struct calls *call_next(
	const struct state *s, u32 tgid, u64 below, const struct call_key **ret_key)
{
	const struct calls *best = NULL;

	for (size_t i = 0; i < s->calls.n; i++) {
		const struct call_key *k = groups_key(&s->calls, i);
		const struct calls *c = groups_value(&s->calls, i);

		if (k->tgid != tgid || k->call == MMCALLS_SIGNAL || calls_ns(c) >= below ||
			(best && calls_ns(c) <= calls_ns(best)))
			continue;
		best = c;
		*ret_key = k;
	}
	return best;
}

static void calls_tell(struct report *r, struct finding *f, const struct state *s, u32 tgid)
{
	const struct process *p = groups_find(&s->sums.by, &tgid);
	const struct call_key *k;
	const struct calls *c;
	u64 below = ~0ULL;
	char a[UNIT_BUF], b[UNIT_BUF];

	for (int n = 0; n < 3 && (c = call_next(s, tgid, below, &k)); n++) {
		below = calls_ns(c);
		if (n && below < p->ns / PART)
			break;
		finding_line(r, f->evidence,
			"%s %.0f times a second, %s each, mean %s: %s (sampled)",
			mmcalls_name(r, k->call, k->advice), a_second(s, c->count),
			fmt_bytes(a, c->bytes / MAX(c->count, 1ULL)),
			fmt_ns(b, c->ns / MAX(c->timed, 1ULL)),
			report_share_text(r, whole_ns(s, calls_ns(c))));
		if (c->stack)
			finding_stack(r, f, c->stack, 6);
	}
}

static void signals_tell(
	struct report *r, struct finding *f, const struct state *s, const struct calls *signals)
{
	finding_line(r, f->evidence,
		"%.0f times a second it touches a protected page and its SIGSEGV or SIGBUS handler "
		"runs: %s, at an estimated %d us each",
		a_second(s, signals->count),
		report_share_text(r, whole_ns(s, signals->count * SIGNAL_NS)), SIGNAL_NS / 1000);
	if (signals->stack)
		finding_stack(r, f, signals->stack, 4);
}

static void barrier_try(struct report *r, struct finding *f)
{
	finding_line(r, f->try_,
		"Track writes without a signal per page: a write barrier in code (card marking), "
		"or let the kernel track them: userfaultfd with UFFDIO_WRITEPROTECT and, since "
		"Linux 6.7, PAGEMAP_SCAN of /proc/self/pagemap; before that, soft-dirty bits "
		"(write 4 to /proc/self/clear_refs, read bit 55 of pagemap).");
	finding_line(r, f->try_,
		"Or protect and unprotect more pages at once, such as 16 around the one written, "
		"and less often.");
}

static void protect_try(struct report *r, struct finding *f)
{
	finding_line(r, f->try_,
		"Do not change the protection each time: map the memory twice (memfd_create() and "
		"two mmap(), one to write, one to read or execute), or batch all changes of one "
		"round between two calls.");
	finding_line(r, f->try_,
		"Or pkey_mprotect() once and then pkey_set(), which is not a system call, if the "
		"CPU has protection keys: `grep -c pku /proc/cpuinfo`");
	finding_line(r, f->try_,
		"A runtime that keeps its code write-protected may have a setting: .NET has "
		"DOTNET_EnableWriteXorExecute=0.");
}

static void call_try(struct report *r, struct finding *f, u32 tgid, const struct call_key *k,
	const struct calls *c)
{
	struct runtime_habit h = {.maps = k->call != MMCALLS_MADVISE,
		.bytes = c->bytes / MAX(c->count, 1ULL),
		.caller = runtime_own_caller(r, c->stack)};

	if (k->call == MMCALLS_MPROTECT) {
		protect_try(r, f);
		return;
	}
	if (k->call == MMCALLS_MREMAP)
		finding_line(r, f->try_,
			"Grow blocks (mremap(), realloc() of large ones) by a factor, such as 2, "
			"instead of a constant, and do not shrink them each time.");
	runtime_tell_keep(r, f, runtime_of(r, tgid, &c->stack, 1), &h);
}

static const char *signals_text(
	struct report *r, const struct state *s, const struct calls *signals)
{
	return signals ? report_text(r, ", and handles a signal for a protected page %.0f times",
				 a_second(s, signals->count))
		       : "";
}

static void mapping_calls_tell(
	struct report *r, const struct state *s, u32 tgid, const struct process *p, int level)
{
	const struct call_key of = {tgid, MMCALLS_SIGNAL, 0}, *k = NULL;
	const struct calls *signals = groups_find(&s->calls, &of);
	const struct calls *c = call_next(s, tgid, ~0ULL, &k);
	struct finding *f = c ? report_finding(r, level, "mapping-calls") : NULL;

	if (!f)
		return;
	f->tgid = tgid;
	f->cost_ns = cost_ns(s, p);
	f->folds = 3; /* below what such calls cost more in: the lock, faults, flushes */
	f->losses = LOSS_FLUSH;
	f->title = report_text(r,
		"%s keeps changing its mappings: it calls %s %.0f times a second%s: %s",
		report_process(r, tgid), mmcalls_name(r, k->call, k->advice), a_second(s, c->count),
		signals_text(r, s, signals), report_share_text(r, f->cost_ns));
	f->confidence = signals ? "high for the calls, timed in samples of 50 ms; the time of "
				  "signals is estimated"
				: "high: the calls were timed, in samples of 50 ms";
	calls_tell(r, f, s, tgid);
	if (signals)
		signals_tell(r, f, s, signals);
	f->why = "Each such call enters the kernel, locks the address space, splits and merges "
		 "mappings, changes page tables and flushes the TLB, however small the range. A "
		 "signal for a protected page costs an exception, a signal frame, a handler and a "
		 "return.";
	if (signals && k->call == MMCALLS_MPROTECT)
		barrier_try(r, f);
	else
		call_try(r, f, tgid, k, c);
	finding_line(r, f->undo, "Start it again as before.");
	finding_line(r, f->verify, "`memwhy maps --by call,stack -p %u --for 10s`", tgid);
}

/* The process with most time in such calls, below `below`. */
static const struct process *mapping_calls_next_worst(
	const struct state *s, u64 below, u32 *ret_tgid)
{
	const struct process *best = NULL;

	for (size_t i = 0; i < s->sums.by.n; i++) {
		const struct process *p = groups_value(&s->sums.by, i);

		if (cost_ns(s, p) >= below || (best && cost_ns(s, p) <= cost_ns(s, best)))
			continue;
		best = p;
		*ret_tgid = *(const u32 *)groups_key(&s->sums.by, i);
	}
	return best;
}

static int mapping_calls_rule_report(void *v, struct report *r)
{
	struct state *s = v;
	const struct process *p;
	u64 below = ~0ULL;
	u32 tgid = 0;

	processes_sum(s);
	for (int told = 0; told < FINDINGS && (p = mapping_calls_next_worst(s, below, &tgid));) {
		double share = report_share(r, cost_ns(s, p));

		below = cost_ns(s, p);
		if (share < NOTE_SHARE)
			break;
		if (p->bursts < LEAST_BURSTS || a_second(s, p->count) < LEAST_SECOND)
			continue;
		mapping_calls_tell(
			r, s, tgid, p, MAX(share_level(share, 0.2, 0.7, 4), (int)LEVEL_NOTE));
		told++;
	}
	return 0;
}

static void mapping_calls_rule_reset(void *v)
{
	struct state *s = v;

	rule_sums_reset(&s->sums);
	groups_clear(&s->calls);
	s->on_ns = s->covered_ns = 0;
	s->bursts = 0;
}

static void mapping_calls_rule_destroy(void *v)
{
	struct state *s = v;

	rule_sums_destroy(&s->sums);
	groups_free(&s->calls);
}

const struct view rule_mapping_calls = {
	.size = sizeof(struct state),
	.init = mapping_calls_rule_init,
	.feed = mapping_calls_rule_feed,
	.report = mapping_calls_rule_report,
	.reset = mapping_calls_rule_reset,
	.destroy = mapping_calls_rule_destroy,
};
