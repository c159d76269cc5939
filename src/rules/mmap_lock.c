/*
 * Waits for the lock of an address space (mmap_lock): which threads wait, in which calls, and who
 * had the lock meanwhile, be it a thread of the same process or another that reads its /proc files.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/units.h"
#include "probes/mmcalls/mmcalls.h"
#include "probes/waits/waits.h"
#include "rules/facts.h"
#include "rules/rules.h"
#include "rules/runtime.h"
#include "sys/calls/syscalls.h"

#define MIN_WAITS 20
#define FINDINGS 3
#define TOLD 3 /* of those who waited, or had it */

struct space {
	u64 waits, ns, max_ns;
	u64 known_ns;   /* of it, who had the lock is known */
	u64 outside_ns; /* while another process had it */
	u32 outsider;   /* the one with most of that */
	u64 outsider_ns;
	bool told;
};

/* Who waited in, or who held within, which call. */
struct party_key {
	u32 space, tgid;
	u16 call;
	u8 holds;
	u8 known; /* the call is */
	u32 reserved;
};

struct party {
	u64 ns, waits;
	u32 stack;
	bool told;
};

struct state {
	struct rule_sums sums; /* tgid -> struct space */
	struct groups parties;
};

static int mmap_lock_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	(void)o;
	(void)err;
	rule_sums_init(&s->sums, sizeof(u32), sizeof(struct space));
	groups_init(&s->parties, sizeof(struct party_key), sizeof(struct party));
	return 0;
}

static int party_add(struct state *s, const struct party_key *k, const struct waits_lock *r)
{
	struct party *p = groups_get(&s->parties, k);

	if (!p)
		return -ENOMEM;
	p->ns += r->total_ns;
	p->waits += r->count;
	if (!k->holds && r->stack)
		p->stack = r->stack;
	return 0;
}

static int mmap_lock_rule_feed(void *v, const struct rec *rec)
{
	const struct waits_lock *r = (const void *)rec;
	struct state *s = v;
	struct space *sp;
	int rc;

	if (rec->kind != REC_WAITS_LOCK)
		return facts_feed(&s->sums.facts, rec);
	sp = groups_get(&s->sums.by, &r->space);
	if (!sp)
		return -ENOMEM;
	sp->waits += r->count;
	sp->ns += r->total_ns;
	sp->max_ns = MAX(sp->max_ns, r->max_ns);
	rc = party_add(s,
		&(struct party_key){.space = r->space,
			.tgid = r->tgid,
			.call = r->call,
			.known = !!(r->flags & WAITS_CALL_KNOWN)},
		r);
	if (rc || !(r->flags & WAITS_HOLDER_KNOWN))
		return rc;
	sp->known_ns += r->total_ns;
	if (r->holder != r->space) {
		sp->outside_ns += r->total_ns;
		if (r->total_ns >= sp->outsider_ns) {
			sp->outsider = r->holder;
			sp->outsider_ns = r->total_ns;
		}
	}
	return party_add(s,
		&(struct party_key){.space = r->space,
			.tgid = r->holder,
			.call = r->holder_call,
			.holds = true,
			.known = !!(r->flags & WAITS_HOLDER_IN_CALL)},
		r);
}

/* Of many waits nobody is seen to have the lock, as it was let go and is handed on. */
static bool is_outside(const struct space *sp)
{
	return sp->outside_ns * 2 > sp->known_ns && sp->outside_ns * 4 > sp->ns;
}

static const char *mmap_lock_call_text(struct report *r, const struct party_key *k)
{
	const char *name = syscall_name(k->call);

	if (!k->known)
		return "";
	if (k->call == WAITS_NO_CALL)
		return " in page faults";
	return name ? report_text(r, " in %s()", name) : "";
}

static struct party *party_next(struct state *s, u32 space, bool holds, struct party_key *ret)
{
	struct party *best = NULL;

	for (size_t i = 0; i < s->parties.n; i++) {
		const struct party_key *k = groups_key(&s->parties, i);
		struct party *p = groups_value(&s->parties, i);

		if (k->space != space || k->holds != holds || p->told ||
			(best && p->ns <= best->ns))
			continue;
		best = p;
		*ret = *k;
	}
	return best;
}

/* The parties with most time; the first one's key is left in *ret. */
static void tell_parties(struct report *r, struct finding *f, struct state *s, u32 space,
	bool holds, struct party_key *ret)
{
	const struct space *sp = groups_find(&s->sums.by, &space);
	struct party_key k = {};

	for (int i = 0; i < TOLD; i++) {
		struct party *p = party_next(s, space, holds, &k);

		if (!p || p->ns * 50 < sp->ns)
			break;
		if (!i)
			*ret = k;
		p->told = true;
		finding_line(r, f->evidence, "%.0f %% of that time %s%s%s",
			100.0 * (double)p->ns / (double)sp->ns,
			report_text(r, holds ? "%s held the lock" : "%s waited",
				report_process(r, k.tgid)),
			mmap_lock_call_text(r, &k), holds && !k.known ? " (its last reader)" : "");
	}
}

static void tell_outside(struct report *r, struct finding *f, const struct space *sp)
{
	f->why = "Reading smaps, pagemap, numa_maps or (before Linux 6.17) maps of a process, and "
		 "process_vm_readv() or ptrace, holds the lock of its address space while all of "
		 "its pages are walked. Its threads that map, unmap or (behind a waiting writer) "
		 "fault wait for that.";
	finding_line(r, f->try_,
		"Let %s poll less often, or read less: statm or status for sizes, memory.stat of "
		"the cgroup, PSS from smaps_rollup at most once a minute.",
		report_process(r, sp->outsider));
}

static bool is_fork(u16 call)
{
	return call == SYS_clone || call == SYS_clone3 || call == SYS_fork || call == SYS_vfork;
}

/* The code path of who waited most, where that was in a call, and not for a page. */
static u32 call_stack(const struct state *s, const struct party_key *waiter)
{
	const struct party *p = waiter->known ? groups_find(&s->parties, waiter) : NULL;

	return p ? p->stack : 0;
}

static void tell_inside(struct report *r, struct finding *f, const struct state *s,
	const struct party_key *holder, const struct party_key *waiter, u32 tgid)
{
	u32 stack = call_stack(s, waiter);
	f->why = "All threads of a process share one address space. mmap, munmap, mprotect, brk "
		 "and madvise take its lock exclusively: one at a time, and page faults that need "
		 "the lock wait.";
	if (holder->known && holder->call == MMCALLS_MPROTECT) {
		finding_line(r, f->try_,
			"Change protections of larger ranges at once, or less often: glibc "
			"malloc() grows its arenas by mprotect(); a larger step makes that rarer. "
			"Before the program is started: `export "
			"GLIBC_TUNABLES=glibc.malloc.top_pad=67108864`");
	} else if (holder->known && is_fork(holder->call)) {
		f->why = "A fork copies the page tables of the whole address space and holds its "
			 "lock meanwhile: no other thread maps, unmaps or, usually, faults.";
		finding_line(r, f->try_,
			"Start programs with posix_spawn() or vfork(), which copy no page tables, "
			"or from a small process started early; save state less often, or from a "
			"smaller process.");
		return;
	} else {
		finding_line(r, f->try_, "Map less often: reuse buffers and thread stacks.");
		runtime_tell_keep(r, f, runtime_of(r, tgid, &stack, 1),
			&(struct runtime_habit){
				.maps = true, .caller = runtime_own_caller(r, stack)});
	}
	finding_line(
		r, f->try_, "Spread the work over processes, which do not share an address space.");
}

static void mmap_lock_tell(struct report *r, struct state *s, u32 tgid, struct space *sp, int level)
{
	struct finding *f = report_finding(r, level, "mmap-lock");
	bool outside = is_outside(sp);
	struct party_key waiter = {}, holder = {};
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF];

	if (!f)
		return;
	f->cost_ns = sp->ns;
	f->tgid = outside ? sp->outsider : tgid;
	f->losses = outside ? 0 : LOSS_SPACE | LOSS_FLUSH;
	f->title = outside ? report_text(r,
				     "%s keeps threads of %s waiting for the lock of its address "
				     "space (mmap_lock): %s",
				     report_process(r, sp->outsider), report_process(r, tgid),
				     report_share_text(r, sp->ns))
			   : report_text(r,
				     "Threads of %s wait for each other on the lock of their "
				     "address space (mmap_lock): %s",
				     report_process(r, tgid), report_share_text(r, sp->ns));
	f->confidence = "high: every wait was timed; the holder of the lock is known at the start "
			"of each wait";
	finding_line(r, f->evidence, "%llu waits, together %s: mean %s, worst %s", sp->waits,
		fmt_ns(a, sp->ns), fmt_ns(b, sp->ns / MAX(sp->waits, 1ULL)), fmt_ns(c, sp->max_ns));
	tell_parties(r, f, s, tgid, false, &waiter);
	tell_parties(r, f, s, tgid, true, &holder);
	if (!outside && call_stack(s, &waiter))
		finding_stack(r, f, call_stack(s, &waiter), 3);
	if (outside)
		tell_outside(r, f, sp);
	else
		tell_inside(r, f, s, &holder, &waiter, tgid);
	finding_line(r, f->undo, "Nothing to undo.");
	finding_line(r, f->verify, "`memwhy check --for 10s -p %u`", tgid);
	if (!outside)
		finding_line(r, f->verify, "`memwhy maps --stacks=user --for 10s -p %u`", tgid);
}

/* Of the waits of all threads, of which there may be many: a little of that slows nobody down. */
static int mmap_lock_level_of(double share)
{
	int level = share_level(share, 0.08, 0.15, 2);

	return level < 0 && share >= 0.03 ? LEVEL_NOTE : level;
}

static int mmap_lock_rule_report(void *v, struct report *r)
{
	struct state *s = v;

	for (int n = 0; n < FINDINGS; n++) {
		struct space *worst = NULL;
		u32 tgid = 0;
		int level;

		for (size_t i = 0; i < s->sums.by.n; i++) {
			struct space *sp = groups_value(&s->sums.by, i);

			if (sp->told || (worst && sp->ns <= worst->ns))
				continue;
			worst = sp;
			tgid = *(const u32 *)groups_key(&s->sums.by, i);
		}
		if (!worst)
			break;
		worst->told = true;
		level = mmap_lock_level_of(report_share(r, worst->ns));
		if (is_outside(worst) && looks_too(r, worst->outsider))
			level = MIN(level, (int)LEVEL_NOTE);
		if (level >= 0 && worst->waits >= MIN_WAITS)
			mmap_lock_tell(r, s, tgid, worst, level);
	}
	return 0;
}

static void mmap_lock_rule_reset(void *v)
{
	struct state *s = v;

	rule_sums_reset(&s->sums);
	groups_clear(&s->parties);
}

static void mmap_lock_rule_destroy(void *v)
{
	struct state *s = v;

	rule_sums_destroy(&s->sums);
	groups_free(&s->parties);
}

const struct view rule_mmap_lock = {
	.size = sizeof(struct state),
	.init = mmap_lock_rule_init,
	.feed = mmap_lock_rule_feed,
	.report = mmap_lock_rule_report,
	.reset = mmap_lock_rule_reset,
	.destroy = mmap_lock_rule_destroy,
};
