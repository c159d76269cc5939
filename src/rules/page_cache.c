/*
 * Who pushes whose working set out of the page cache: pages that are read back (refaults), by whom,
 * against the pages that others read meanwhile. A stream that is read once and pushes out nothing
 * that is needed is told only where it keeps the kernel busy.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/cache/cache.h"
#include "rules/facts.h"
#include "rules/page_cache.h"
#include "rules/rules.h"

#define VICTIM_LEAST 100.0  /* pages a second */
#define VICTIM_PART 0.3     /* of all that was read back: it is the victim */
#define EVICTOR_PART 0.4    /* of all that was read: it is the evictor, … */
#define ONCE_PART 0.3       /* … where no more of its own reading was read back */
#define MUCH 2              /* times what the victim reads */
#define SEEN_PART 0.2       /* of the kernel's refaults: else somebody else has them */
#define PROGRAMS_MAX 1024   /* processes that are compared by their programs */
#define STOLEN_RISK 20000.0 /* pages a second, by kswapd */

#define COUPLES 3 /* told: one for each limit that they share */

static int page_cache_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct page_cache *s = v;

	(void)o;
	(void)err;
	rule_sums_init(&s->sums, sizeof(u32), sizeof(struct reader));
	groups_init(&s->pairs, sizeof(struct pair), sizeof(struct lost));
	return 0;
}

static int refault_feed(struct page_cache *s, struct reader *p, const struct cache_agg *r)
{
	struct pair key = {r->tgid, r->flags & CACHE_BY_KSWAPD ? 0 : r->evictor,
		page_cache_hand_text(r->call) ? r->call : 0};
	struct lost *lost = groups_get(&s->pairs, &key);

	if (!lost)
		return -ENOMEM;
	lost->times += !lost->times || r->h.time_ns != lost->last_ns;
	lost->last_ns = r->h.time_ns;
	lost->pages += r->count;
	p->refaults += r->count;
	p->refault_ns += r->total_ns;
	s->refaults += r->count;
	return 0;
}

static int page_cache_rule_feed(void *v, const struct rec *rec)
{
	const struct cache_sampled *sampled = (const void *)rec;
	const struct cache_agg *r = (const void *)rec;
	struct page_cache *s = v;
	struct reader *p;

	if (rec->kind == REC_CACHE_SAMPLED) {
		s->on_ns += sampled->on_ns;
		s->covered_ns += sampled->covered_ns;
		return 0;
	}
	if (rec->kind != REC_CACHE_AGG)
		return facts_feed(&s->sums.facts, rec);
	p = groups_get(&s->sums.by, &r->tgid);
	if (!p)
		return -ENOMEM;
	p->read += r->count;
	p->written += r->flags & CACHE_WRITTEN ? r->count : 0;
	p->cgroup = r->cgroup;
	s->read += r->count;
	/* Another rule tells of what was dropped. */
	return r->flags & CACHE_REFAULT && r->call != CACHE_CALL_DROP ? refault_feed(s, p, r) : 0;
}

static const struct reader *most(
	const struct groups *readers, bool refaults, u32 except, u32 *ret_tgid)
{
	const struct reader *best = NULL;
	u64 best_n = 0;

	for (size_t i = 0; i < readers->n; i++) {
		const struct reader *p = groups_value(readers, i);
		u32 tgid = *(const u32 *)groups_key(readers, i);
		u64 n = refaults ? p->refaults : p->read;

		if (n <= best_n || tgid == except || !tgid)
			continue;
		best = p;
		best_n = n;
		*ret_tgid = tgid;
	}
	return best;
}

/* The group whose limit makes room scarce for both; NULL: the machine's memory does. */
static const struct cgroup_usage *page_cache_group_of(
	const struct page_cache *s, const struct report *r, const struct reader *victim)
{
	for (size_t i = 0; i < s->sums.facts.cgroups.n; i++) {
		const struct cgroup_usage *cg = groups_value(&s->sums.facts.cgroups, i);

		if ((cg->limit_hit_total > cg->first_limit_hit_total || cgroup_is_throttled(cg)) &&
			report_cgroup_within(r, victim->cgroup, cg->cgroup))
			return cg;
	}
	return NULL;
}

/* The different pages that it has read, as far as is known. */
static double set_bytes(const struct reader *p, const struct report *r)
{
	return (double)(p->read - p->refaults) * CACHE_STRIDE * (double)r->stream->host.page_bytes;
}

/* It reads more than its victim does, once, or more than there is room for, where the victim's
 * would fit. */
static bool streams_past(const struct page_cache *s, const struct report *r, const struct reader *e,
	const struct reader *victim)
{
	const struct cgroup_usage *cg = page_cache_group_of(s, r, victim);
	double room = (double)(cg ? cgroup_by_high(cg).limit_bytes
				  : facts_last(&s->sums.facts, "Cached"));

	if (e->read < MUCH * victim->read)
		return false;
	return (double)e->refaults <= ONCE_PART * (double)e->read ||
	       (set_bytes(e, r) > room && set_bytes(victim, r) < room);
}

/* Who reads and who loses what to whom: by process, or by program. */
struct sides {
	struct groups readers; /* tgid -> struct reader; of a program its process that reads most */
	struct groups pairs;   /* struct pair -> u64 */
	bool programs;
};

struct couple {
	u32 victim_tgid, evictor_tgid;
	struct reader victim, evictor;
	const struct cgroup_usage *group; /* whose limit they share; NULL: the machine */
	bool programs;
};

/* The first process of the same program in the same group stands for all of them. */
static u32 program_of(const struct page_cache *s, struct report *r, u32 tgid)
{
	const struct reader *p = groups_find(&s->sums.by, &tgid);
	const char *name = report_program(r, tgid);

	for (size_t i = 0; p && i < s->sums.by.n; i++) {
		const struct reader *q = groups_value(&s->sums.by, i);
		u32 other = *(const u32 *)groups_key(&s->sums.by, i);

		if (q->cgroup == p->cgroup && !strcmp(report_program(r, other), name))
			return other;
	}
	return tgid;
}

static int reader_merge(struct sides *d, u32 tgid, const struct reader *p)
{
	struct reader *m = groups_get(&d->readers, &tgid);

	if (!m)
		return -ENOMEM;
	m->read += p->read;
	m->written += p->written;
	m->refaults += p->refaults;
	m->refault_ns += p->refault_ns;
	m->cgroup = p->cgroup;
	m->processes++;
	return 0;
}

static int pair_merge(struct sides *d, const struct pair *p, u64 n)
{
	u64 *sum = groups_get(&d->pairs, p);

	if (!sum)
		return -ENOMEM;
	*sum += n;
	return 0;
}

/* Of programs that run again and again no process lives long enough to be seen as the one. What
 * went by hand is told of the process that did it, and is no part of this. */
static int sides_make(
	const struct page_cache *s, struct report *r, bool programs, struct sides *ret)
{
	int rc = 0;

	*ret = (struct sides){.programs = programs};
	groups_init(&ret->readers, sizeof(u32), sizeof(struct reader));
	groups_init(&ret->pairs, sizeof(struct pair), sizeof(u64));
	if (programs && (s->sums.by.n > PROGRAMS_MAX || s->pairs.n > PROGRAMS_MAX))
		return 0;
	for (size_t i = 0; i < s->sums.by.n && !rc; i++) {
		u32 tgid = *(const u32 *)groups_key(&s->sums.by, i);

		rc = reader_merge(ret, programs ? program_of(s, r, tgid) : tgid,
			groups_value(&s->sums.by, i));
	}
	for (size_t i = 0; i < s->pairs.n && !rc; i++) {
		struct pair p = *(const struct pair *)groups_key(&s->pairs, i);

		if (p.call)
			continue;
		if (programs) {
			p.victim = p.victim ? program_of(s, r, p.victim) : 0;
			p.evictor = p.evictor ? program_of(s, r, p.evictor) : 0;
		}
		rc = pair_merge(ret, &p, ((const struct lost *)groups_value(&s->pairs, i))->pages);
	}
	return rc;
}

static void sides_free(struct sides *d)
{
	groups_free(&d->readers);
	groups_free(&d->pairs);
}

/* Who pushed the pages of a pair out: in the background the kernel does it for him who reads most.
 */
static const struct reader *evictor_of(
	const struct page_cache *s, const struct sides *d, const struct pair *p, u32 *ret_tgid)
{
	const struct reader *e;

	if (p->evictor) {
		*ret_tgid = p->evictor;
		return groups_find(&d->readers, &p->evictor);
	}
	e = most(&d->readers, false, p->victim, ret_tgid);
	return e && (double)e->read >= EVICTOR_PART * (double)s->read ? e : NULL;
}

/* Processes of one program that all read over again share what they read: none of them is the
 * evictor of another one. */
static bool are_one_set(const struct page_cache *s, struct report *r, u32 victim, u32 evictor,
	const struct reader *e)
{
	return (double)e->refaults > ONCE_PART * (double)e->read &&
	       program_of(s, r, victim) == program_of(s, r, evictor);
}

static bool couple_told(const struct couple *told, u32 n, const struct cgroup_usage *group)
{
	for (u32 i = 0; i < n; i++)
		if (told[i].group == group)
			return true;
	return false;
}

/* The worst couple that shares a limit which none of those told before shares. */
static bool couple_find(const struct page_cache *s, struct report *r, const struct sides *d,
	const struct couple *told, u32 n_told, struct couple *ret)
{
	u64 best = 0;

	for (size_t i = 0; i < d->pairs.n; i++) {
		const struct pair *p = groups_key(&d->pairs, i);
		u64 n = *(const u64 *)groups_value(&d->pairs, i);
		const struct reader *victim = groups_find(&d->readers, &p->victim), *e;
		const struct cgroup_usage *group;
		u32 tgid = 0;

		if (!p->victim || p->victim == p->evictor || n <= best || !victim ||
			page_cache_second(s, victim->refaults) < VICTIM_LEAST ||
			(double)n < PAIR_PART * (double)victim->refaults)
			continue;
		e = evictor_of(s, d, p, &tgid);
		group = page_cache_group_of(s, r, victim);
		if (!e || !streams_past(s, r, e, victim) || couple_told(told, n_told, group) ||
			are_one_set(s, r, p->victim, tgid, e))
			continue;
		best = n;
		*ret = (struct couple){p->victim, tgid, *victim, *e, group, d->programs};
	}
	return best;
}

static double kernel_refaults(const struct page_cache *s, const struct report *r)
{
	const char *name = facts_known(&s->sums.facts, "workingset_refault_file")
				   ? "workingset_refault_file"
				   : "workingset_refault"; /* to 5.8 */

	return (double)facts_delta(&s->sums.facts, name) / report_seconds(r);
}

static bool is_writer(const struct reader *p)
{
	return p->written * 2 > p->read;
}

static const char *verb(const struct reader *p)
{
	return is_writer(p) ? "writes" : "reads";
}

/* How it leaves the cache alone. */
static const char *past_text(const struct reader *p)
{
	return is_writer(p)
		       ? "sync_file_range, then posix_fadvise(POSIX_FADV_DONTNEED) behind what it "
			 "wrote, O_DIRECT (dd: oflag=direct or oflag=nocache)"
		       : "posix_fadvise(POSIX_FADV_DONTNEED) behind what it read, O_DIRECT (dd: "
			 "iflag=direct or iflag=nocache)";
}

void page_cache_tell_reads(struct report *r, struct finding *f, const struct page_cache *s,
	const char *who, const struct reader *p)
{
	u64 page = r->stream->host.page_bytes;
	char a[UNIT_BUF], b[UNIT_BUF];

	finding_line(r, f->evidence, "%s %s %s a second into the page cache, %.0f %% of it %s", who,
		verb(p), fmt_bytes(a, (u64)(page_cache_second(s, p->read) * (double)page)),
		100.0 * (double)p->refaults / (double)MAX(p->read, 1ULL),
		is_writer(p) ? "in pages that had been evicted" : "read back after eviction");
	if (p->refaults)
		finding_line(r, f->evidence, "   %s after that, on average",
			fmt_ns(b, p->refault_ns / p->refaults));
}

/* The kernel counts waits for pages that were needed again; what it has of them is the cost. */
void page_cache_tell_cost(
	struct report *r, struct finding *f, const struct page_cache *s, const struct reader *p)
{
	double all = (double)facts_delta_all(&s->sums.facts, "workingset_refault");
	double own = page_cache_second(s, p->refaults) * report_seconds(r);
	char a[UNIT_BUF];

	f->cost_ns = facts_refault_wait_ns(&s->sums.facts, (u64)MIN(own, all));
	if (f->cost_ns)
		finding_line(r, f->evidence, "some task waited for memory for %s (PSI)",
			fmt_ns(a, f->cost_ns));
}

static void page_cache_tell_place(struct report *r, struct finding *f, const struct page_cache *s,
	const struct cgroup_usage *cg)
{
	char a[UNIT_BUF], b[UNIT_BUF];

	if (cg) {
		const char *path = stream_cgroup(r->stream, cg->cgroup);

		f->cgroup = cg->cgroup;
		finding_line(r, f->evidence, "both share the limit of %s of cgroup %s",
			fmt_bytes(a, cgroup_by_high(cg).limit_bytes),
			path ? report_cgroup(r, path) : "?");
		return;
	}
	if (facts_known(&s->sums.facts, "Cached"))
		finding_line(r, f->evidence, "page cache of the machine: %s; free %s",
			fmt_bytes(a, facts_last(&s->sums.facts, "Cached")),
			fmt_bytes(b, facts_last(&s->sums.facts, "MemFree")));
}

static void tell_evictor(
	struct report *r, const struct page_cache *s, const struct couple *c, int level)
{
	struct finding *f = report_finding(r, level, "page-cache");
	char a[UNIT_BUF];

	if (!f)
		return;
	f->tgid = c->evictor_tgid;
	f->losses = LOSS_REFAULT | LOSS_RECLAIM;
	if (c->programs)
		finding_line(r, f->evidence,
			"processes of one program are counted together: they are short-lived");
	f->title = report_text(r,
		"%s %s %s a second and evicts the working set of %s from the page cache: %.0f "
		"pages a second are read back (refaults)",
		report_process(r, c->evictor_tgid), verb(&c->evictor),
		fmt_bytes(a, (u64)(page_cache_second(s, c->evictor.read) *
				     (double)r->stream->host.page_bytes)),
		report_process(r, c->victim_tgid), page_cache_second(s, c->victim.refaults));
	f->confidence =
		"high: the kernel counts the refaults; who reads is sampled, one page in 64";
	finding_line(r, f->evidence, "the kernel counts %.0f file refaults a second",
		kernel_refaults(s, r));
	page_cache_tell_reads(r, f, s, report_process(r, c->victim_tgid), &c->victim);
	page_cache_tell_reads(r, f, s, report_process(r, c->evictor_tgid), &c->evictor);
	page_cache_tell_cost(r, f, s, &c->victim);
	page_cache_tell_place(r, f, s, c->group);
	f->why = "What is read or written goes to the page cache and replaces older pages, even if "
		 "it is never read again. Pages that another process keeps using must then be read "
		 "from disk again.";
	finding_line(r, f->try_,
		"Let %s bypass the cache: %s, or run it in its own cgroup with a small memory "
		"limit (systemd-run --scope -p MemoryMax=64M before its command).",
		report_process(r, c->evictor_tgid), past_text(&c->evictor));
	finding_line(r, f->try_,
		"Or protect the other's pages: memory.low of its group (cgroup v2), or more "
		"memory.");
	finding_line(r, f->undo, "Run it again as before.");
	finding_line(r, f->verify, "`memwhy check --for 30s`");
}

static const char *who_reads(struct report *r, const struct reader *p, u32 tgid)
{
	return p->processes > 1 ? report_text(r, "%u processes of %s (pid %u is one)", p->processes,
					  report_program(r, tgid), tgid)
				: report_process(r, tgid);
}

static void tell_too_small(struct report *r, const struct page_cache *s,
	const struct reader *victim, u32 tgid, int level)
{
	const char *who = who_reads(r, victim, tgid);
	bool several = victim->processes > 1;
	struct finding *f;

	if (page_cache_group_of(
		    s, r, victim)) /* the rule on limits tells it, with how much more is needed */
		return;
	f = report_finding(r, level, "page-cache");
	if (!f)
		return;
	f->tgid = tgid;
	f->losses = LOSS_REFAULT | LOSS_RECLAIM;
	f->title = report_text(r,
		"The page cache is too small for what %s read%s: %.0f pages a second are read back "
		"after eviction (refaults)",
		who, several ? " together, as one working set" : "s",
		page_cache_second(s, victim->refaults));
	f->confidence =
		"high: the kernel counts the refaults; who reads is sampled, one page in 64";
	finding_line(r, f->evidence, "the kernel counts %.0f file refaults a second",
		kernel_refaults(s, r));
	page_cache_tell_reads(r, f, s, who, victim);
	page_cache_tell_cost(r, f, s, victim);
	page_cache_tell_place(r, f, s, NULL);
	f->why = several ? "They read the same files, or the same kind of files, again and again, "
			   "and evict one another's pages: all that they read does not fit into "
			   "memory. Slowing one down only moves the loss to the others."
			 : "It reads the same files again and again, and they do not fit into the "
			   "memory left for them. A cold start reads once; this is read again.";
	swappiness_tell(r, f, &s->sums.facts, false);
	if (several)
		finding_line(r, f->try_,
			"Run fewer of them at a time, give each a part of the files, or make what "
			"they read smaller (an index, compression).");
	finding_line(r, f->try_,
		"Give %s more memory, or take it from processes that do not need it: `ps -eo "
		"pid,rss,comm --sort -rss | head`",
		several ? "them" : "it");
	finding_line(r, f->undo, "Nothing to undo.");
	finding_line(r, f->verify, "`memwhy check --for 30s`");
}

/* The process for which most is read back, or the program whose processes have more of it together.
 */
static int too_small_report(const struct page_cache *s, struct report *r, int level)
{
	const struct reader *victim, *program;
	u32 tgid = 0, first = 0;
	struct sides d;
	int rc = sides_make(s, r, true, &d);

	victim = most(&s->sums.by, true, 0, &tgid);
	program = rc ? NULL : most(&d.readers, true, 0, &first);
	if (victim && program && program->refaults > victim->refaults / 4 * 5) {
		victim = program;
		tgid = first;
	}
	if (!rc && victim && (double)victim->refaults >= VICTIM_PART * (double)s->refaults)
		tell_too_small(r, s, victim, tgid, level);
	sides_free(&d);
	return rc;
}

static void tell_stream(struct report *r, const struct page_cache *s, double stolen)
{
	const struct reader *p;
	struct finding *f;
	char a[UNIT_BUF];
	u32 tgid = 0;

	p = most(&s->sums.by, false, 0, &tgid);
	if (!p || page_cache_second(s, p->read - p->refaults) < EVICTOR_PART * stolen)
		return;
	f = report_finding(r, stolen >= STOLEN_RISK ? LEVEL_RISK : LEVEL_NOTE, "kswapd-busy");
	if (!f)
		return;
	f->tgid = tgid;
	f->losses = LOSS_RECLAIM;
	f->title = report_text(r,
		"%s keeps kswapd busy: it %s %s a second into the page cache and hardly any of it "
		"is read again",
		report_process(r, tgid), verb(p),
		fmt_bytes(a,
			(u64)(page_cache_second(s, p->read) * (double)r->stream->host.page_bytes)));
	f->confidence = "high: the kernel's own counters; who reads is sampled, one page in 64";
	finding_line(r, f->evidence, "kswapd frees %.0f pages a second, of %.0f scanned", stolen,
		(double)facts_delta(&s->sums.facts, "pgscan_kswapd") / report_seconds(r));
	finding_line(r, f->evidence,
		"%.0f file refaults a second: hardly any page was needed again",
		kernel_refaults(s, r));
	page_cache_tell_reads(r, f, s, report_process(r, tgid), p);
	f->why = "Each page that enters the cache needs a free one, and kswapd keeps freeing them "
		 "in the background. That costs CPU, and free memory stays low for all.";
	finding_line(r, f->try_,
		"Let it bypass the cache: %s, or give it a memory limit of its own.", past_text(p));
	finding_line(r, f->undo, "Run it again as before.");
	finding_line(r, f->verify, "`grep -E 'pgscan_kswapd|pgsteal_kswapd' /proc/vmstat`");
}

static int page_cache_level_of(double refaults)
{
	return refaults >= REFAULTS_WARNING ? LEVEL_WARNING
	       : refaults >= REFAULTS_RISK  ? LEVEL_RISK
					    : -1;
}

/* By process, and where no process is the one, by program. Returns how many were told, or -ENOMEM.
 */
static int tell_couples(const struct page_cache *s, struct report *r)
{
	struct couple told[COUPLES];
	u32 n = 0;
	int rc = 0;

	for (int programs = 0; programs < 2 && !rc; programs++) {
		struct sides d;

		rc = sides_make(s, r, programs, &d);
		while (!rc && n < COUPLES && couple_find(s, r, &d, told, n, &told[n]))
			n++;
		sides_free(&d);
	}
	for (u32 i = 0; i < n && !rc; i++) {
		int level = page_cache_level_of(page_cache_second(s, told[i].victim.refaults));

		tell_evictor(r, s, &told[i], MAX(level, (int)LEVEL_RISK));
	}
	return rc ? rc : (int)n;
}

static int page_cache_rule_report(void *v, struct report *r)
{
	const struct page_cache *s = v;
	double refaults = kernel_refaults(s, r);
	double stolen = (double)facts_delta(&s->sums.facts, "pgsteal_kswapd") / report_seconds(r);
	u32 tgid = 0;
	int level = page_cache_level_of(refaults), told, by_hand;

	most(&s->sums.by, true, 0, &tgid);
	by_hand = page_cache_tell_by_hand(r, s, tgid);
	if (by_hand < 0)
		return by_hand;
	if (level < 0) {
		if (stolen >= STOLEN_RISK / 4 && s->read)
			tell_stream(r, s, stolen);
		return 0;
	}
	if (page_cache_second(s, s->refaults) < SEEN_PART * refaults)
		return 0;
	told = tell_couples(s, r);
	if (told)
		return MIN(told, 0);
	return by_hand ? 0 : too_small_report(s, r, level);
}

static void page_cache_rule_reset(void *v)
{
	struct page_cache *s = v;

	rule_sums_reset(&s->sums);
	groups_clear(&s->pairs);
	s->read = s->refaults = 0;
	s->on_ns = s->covered_ns = 0;
}

static void page_cache_rule_destroy(void *v)
{
	struct page_cache *s = v;

	rule_sums_destroy(&s->sums);
	groups_free(&s->pairs);
}

const struct view rule_page_cache = {
	.size = sizeof(struct page_cache),
	.init = page_cache_rule_init,
	.feed = page_cache_rule_feed,
	.report = page_cache_rule_report,
	.reset = page_cache_rule_reset,
	.destroy = page_cache_rule_destroy,
};
