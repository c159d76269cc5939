/* The kernel's own memory growing: its objects, and pages that no counter explains. */
#include <errno.h>
#include <string.h>

#include "analysis/trend.h"
#include "base/clock.h"
#include "base/units.h"
#include "probes/where/where.h"
#include "rules/holdings.h"
#include "rules/rules.h"
#include "rules/slab_suspects.h"

#define MIN_GROWTH (32ULL << 20)
#define SOON_S 600.0
#define LATER_S 3600.0
#define MIN_STEADY (8.0 * 1024 * 1024)
/* Pages without a counter are also those on the lists of CPUs, which fill and drain. */
#define MIN_UNOWNED (16.0 * 1024 * 1024)
#define UNOWNED_CPU (1024.0 * 1024)
#define MIN_SAMPLES 8
#define MIN_SECONDS 4.0
#define STEADY 0.9          /* R squared */
#define RECLAIMABLE_PART 20 /* of memory: less of it that can be reclaimed is no finding */
#define RECLAIMED_WITH 8    /* of what grew: less of it that cannot be reclaimed is no leak */
#define MOST 9e18           /* of bytes; records hold anything */

struct growth {
	struct held held;
	struct trend unreclaimable, unowned;
	struct slab_makers makers;
	struct where_ledger first, ledger; /* of the machine; h.size 0: not known */
};

/* All memory less what is free and what a counter says. Kernel stacks are in VmallocUsed too: they
 * only make it less. */
static double unowned(const struct facts *f)
{
	static const char *const owned[] = {"MemFree", "Active", "Inactive", "Unevictable", "Slab",
		"KernelStack", "PageTables", "SecPageTables", "Percpu", "VmallocUsed", "Hugetlb"};
	double left = (double)facts_last(f, "MemTotal");

	for (size_t i = 0; i < ARRAY_SIZE(owned); i++)
		left -= (double)facts_last(f, owned[i]);
	return left;
}

/* Two ledgers are there, and the rest of the second is no larger: what grew has a row. */
static bool is_explained(const struct growth *g)
{
	return g->first.h.size && g->ledger.h.time_ns > g->first.h.time_ns &&
	       (double)(where_rest(&g->ledger) - where_rest(&g->first)) < MIN_UNOWNED / 2;
}

static bool is_steady(const struct trend *t, double least)
{
	return t->n >= MIN_SAMPLES && (double)(t->last_ns - t->first_ns) / 1e9 >= MIN_SECONDS &&
	       trend_fit(t) >= STEADY && trend_slope(t) > 0 && t->last - t->first >= least;
}

/* MemFree comes early in a sample and changes with nearly each: what is known before is complete.
 */
static void slab_growth_sample_take(struct growth *g, const struct system_value *v)
{
	if (v->source != SYSTEM_MEMINFO || strncmp(v->name, "MemFree", sizeof(v->name)) != 0 ||
		!facts_known(&g->held.facts, "SUnreclaim") || v->h.time_ns <= g->unowned.last_ns)
		return;
	trend_add(&g->unowned, v->h.time_ns, unowned(&g->held.facts));
	trend_add(
		&g->unreclaimable, v->h.time_ns, (double)facts_last(&g->held.facts, "SUnreclaim"));
}

static int slab_growth_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct growth *g = v;

	slab_makers_init(&g->makers);
	return held_rule_init(&g->held, o, err);
}

static void ledger_take(struct growth *g, const struct where_ledger *l)
{
	if (l->scope != WHERE_MACHINE)
		return;
	g->ledger = *l;
	if (!g->first.h.size)
		g->first = *l;
}

static int slab_growth_rule_feed(void *v, const struct rec *r)
{
	struct growth *g = v;

	if (r->kind == REC_WHERE_LEDGER)
		ledger_take(g, (const void *)r);
	if (r->kind == REC_SYSTEM_VALUE)
		slab_growth_sample_take(g, (const struct system_value *)r);
	return slab_makers_feed(&g->makers, r) ?: held_rule_feed(&g->held, r);
}

static void slab_growth_rule_reset(void *v)
{
	struct growth *g = v;

	held_rule_reset(&g->held);
	slab_makers_reset(&g->makers);
	g->unreclaimable = g->unowned = (struct trend){};
	g->first = g->ledger;
}

static void slab_growth_rule_destroy(void *v)
{
	struct growth *g = v;

	held_rule_destroy(&g->held);
	slab_makers_free(&g->makers);
}

/* Of the process where one is known: the others' need not be looked through. */
static void slab_growth_tell_next(struct report *r, struct finding *x)
{
	if (x->tgid)
		finding_line(r, x->try_,
			"See where it allocates what it does not free: `memwhy leak --kernel "
			"--stacks=kernel --for 30s -p %u`",
			x->tgid);
	finding_line(r, x->try_,
		"See who allocates it and does not free it, and whether that goes on: `memwhy leak "
		"--kernel --for 60s`");
	finding_line(r, x->undo, "Nothing to undo.");
}

static const struct slab_usage *grown_most(const struct facts *f, bool kept)
{
	const struct slab_usage *worst = NULL;
	u64 most = 0;

	for (size_t i = 0; i < f->slabs.n; i++) {
		const struct slab_usage *s = groups_value(&f->slabs, i);

		if (s->bytes <= s->first_bytes || s->bytes - s->first_bytes <= most ||
			(kept && s->reclaimable))
			continue;
		most = s->bytes - s->first_bytes;
		worst = s;
	}
	return worst;
}

/* `kept`: it is about memory that cannot be reclaimed, and so is the cache to be named. */
static void tell_caches(struct report *r, struct finding *x, const struct facts *f, bool kept)
{
	const struct slab_usage *worst = grown_most(f, kept);
	bool large = worst && !strcmp(worst->name, SLAB_LARGE_NAME);
	char a[UNIT_BUF], b[UNIT_BUF];

	if (large)
		finding_line(r, x->evidence,
			"kmalloc blocks above 8 KiB, which are in no slab cache, grew most: by %s "
			"to %s (Slab less all caches of /proc/slabinfo)",
			fmt_bytes(a, worst->bytes - worst->first_bytes),
			fmt_bytes(b, worst->bytes));
	else if (worst)
		finding_line(r, x->evidence, "cache %.64s%s grew most: by %s to %s", worst->name,
			kept ? ", which cannot be reclaimed," : "",
			fmt_bytes(a, worst->bytes - worst->first_bytes),
			fmt_bytes(b, worst->bytes));
	if (worst && worst->aliases)
		finding_line(r, x->evidence,
			"%u more cache%s share%s it (merged): its name need not be that of what "
			"grew",
			worst->aliases, plural(worst->aliases), worst->aliases == 1 ? "s" : "");
	if (!f->slabs.n)
		report_not_checked(r, "which slab cache grew: /proc/slabinfo is for root only");
}

/* By when memory is used up at this rate. */
static int slab_growth_level_of(const struct report *r, const struct facts *f, u64 grown)
{
	double left = (double)facts_last(f, "MemAvailable") * report_seconds(r) /
		      (double)MAX(grown, 1ULL);

	if (!facts_known(f, "MemAvailable"))
		return LEVEL_RISK;
	return left < SOON_S ? LEVEL_WARNING : left < LATER_S ? LEVEL_RISK : LEVEL_NOTE;
}

static void tell_slab(struct report *r, const struct growth *g)
{
	struct slab_suspect who = slab_suspect_find(&g->makers, &g->held, report_seconds(r));
	const struct facts *f = &g->held.facts;
	u64 grown = facts_delta(f, "SUnreclaim"), all = facts_delta(f, "Slab");
	/* what comes with inodes that are looked at goes with them */
	bool steady = is_steady(&g->unreclaimable, MIN_STEADY) && grown > all / RECLAIMED_WITH;
	struct finding *x;
	char a[UNIT_BUF], b[UNIT_BUF];

	if (all < MIN_GROWTH && !steady)
		return;
	/* Names and inodes that are looked at fill it, and go when memory is short. */
	if (!steady &&
		(grown < MIN_GROWTH / 4 || (grown < MIN_GROWTH && grown <= all / RECLAIMED_WITH)) &&
		all < r->stream->host.memory_bytes / RECLAIMABLE_PART)
		return;
	x = report_finding(r,
		steady || grown >= MIN_GROWTH ? slab_growth_level_of(r, f, grown) : LEVEL_NOTE,
		"slab-growth");
	if (!x)
		return;
	x->folds = 1;
	x->losses = LOSS_KERNEL;
	x->held_bytes = x->grown_bytes = MAX(all, grown);
	x->title = report_text(r, "The kernel's slab memory grew by %s in %.0f s (%s)%s",
		fmt_bytes(a, MAX(all, grown)), report_seconds(r),
		all < grown ? "none of it can be reclaimed; reclaimable slab shrank"
			    : report_text(r, "%s of it cannot be reclaimed", fmt_bytes(b, grown)),
		who.tgid ? report_text(r, ", probably by %s", report_process(r, who.tgid)) : "");
	x->confidence =
		who.tgid ? "high that it grew; who did it is inferred from what else grew"
			 : "high that it grew; one interval does not tell whether it continues";
	if (who.tgid) {
		x->tgid = who.tgid;
		finding_line(r, x->evidence, "%s %s %s %s", report_process(r, who.tgid),
			who.took ? "took" : "has",
			who.bytes ? fmt_bytes(a, who.n) : report_text(r, "%llu", who.n), who.what);
	}
	finding_line(r, x->evidence, "Slab is now %s", fmt_bytes(a, facts_last(f, "Slab")));
	if (steady)
		finding_line(r, x->evidence,
			"unreclaimable slab grew steadily: a straight line fits (R² %.2f, %llu "
			"samples)",
			trend_fit(&g->unreclaimable), g->unreclaimable.n);
	tell_caches(r, x, f, grown * 2 >= all);
	x->why = "Reclaimable slab (dentries, inodes) grows with file accesses and is freed when "
		 "memory is short. Unreclaimable slab belongs to sockets, tasks, drivers.";
	slab_growth_tell_next(r, x);
	finding_line(r, x->verify, "`grep -i slab /proc/meminfo`");
}

static bool tell_unowned(struct report *r, const struct growth *g)
{
	double least = MIN_UNOWNED + UNOWNED_CPU * r->stream->host.cpus;
	const struct trend *t = &g->unowned;
	struct finding *x = is_steady(t, least) && !is_explained(g)
				    ? report_finding(r, LEVEL_RISK, "kernel-growth")
				    : NULL;
	char a[UNIT_BUF];

	if (!x)
		return false;
	x->folds = 1;
	x->losses = LOSS_KERNEL;
	x->held_bytes = x->grown_bytes = (u64)MIN(t->last - t->first, MOST);
	x->title = report_text(r, "Memory that no counter explains grows steadily: %s a second",
		fmt_bytes(a, (u64)MIN(trend_slope(t), MOST)));
	x->confidence = report_text(r,
		"medium: a straight line fits (R² %.2f, %llu samples), but %.0f s cannot tell a "
		"leak from buffers that fill",
		trend_fit(t), t->n, (double)(t->last_ns - t->first_ns) / 1e9);
	finding_line(r, x->evidence,
		"MemTotal less MemFree, the LRU lists, slab, page tables, stacks, per-CPU, vmalloc "
		"and huge pages grew by %s",
		fmt_bytes(a, (u64)MIN(t->last - t->first, MOST)));
	x->why = "Kernel pages that no counter includes belong to drivers, network and pipe "
		 "buffers, perf and BPF rings, or a memory balloon. If it is none of these, find "
		 "out who keeps them.";
	slab_growth_tell_next(r, x);
	finding_line(r, x->verify, "`memwhy check --for 60s`");
	return true;
}

/* Blocks of kmalloc that are in no cache and stay. Who made them is known of pipes, and of what was
 * made meanwhile, which the growth tells. */
static void tell_large(struct report *r, const struct growth *g)
{
	const struct slab_usage *s = slab_large_find(&g->held.facts);
	struct held_top t = held_most(&g->held, slab_slots_bytes);
	bool known = s && t.most && t.bytes * SLAB_LARGE_PART >= s->bytes;
	int level = !s ? -1 : known ? held_level_stuck(r, s->bytes) : held_level(r, s->bytes);
	struct finding *x = held_finding(r, level, "large-blocks", s ? s->bytes : 0);
	char a[UNIT_BUF], b[UNIT_BUF];

	if (!x)
		return;
	held_in_kernel(x, s->bytes, s->first_bytes);
	x->folds = known ? 0 : 2;
	x->tgid = known ? t.most->last.tgid : 0;
	x->title = known ? report_text(r,
				   "Pipes of %s take %s of kernel memory for their buffer arrays "
				   "(F_SETPIPE_SZ), %s",
				   held_who(r, &t), fmt_bytes(a, t.bytes), held_share(r, t.bytes))
			 : report_text(r,
				   "The kernel has %s in kmalloc blocks above 8 KiB, which are in "
				   "no slab cache, %s",
				   fmt_bytes(a, s->bytes), held_share(r, s->bytes));
	x->confidence = known ? "high: the size of each pipe was read, up to 1,024 per process"
			      : "high for the size (Slab less all caches of /proc/slabinfo); only "
				"tracing allocations shows whose they are";
	finding_line(r, x->evidence, "in blocks above 8 KiB, which are in no slab cache: %s",
		fmt_bytes(a, s->bytes));
	if (known)
		finding_line(r, x->evidence, "it has %llu pipes, holding %s of unread data",
			t.most->last.pipes, fmt_bytes(b, t.most->last.pipe_bytes));
	if (s->bytes > s->first_bytes)
		finding_line(r, x->evidence, "%s more in %.0f s",
			fmt_bytes(a, s->bytes - s->first_bytes), report_seconds(r));
	x->why = known ? "A pipe has a slot of 40 bytes for each page that it may hold, in one "
			 "block of a power of two, even when empty: 16 KiB for a pipe of 1 MiB."
		       : "Such blocks come straight from the page allocator and count as slab: "
			 "tables of drivers, network devices and enlarged pipes, payloads of keys "
			 "and messages.";
	if (known)
		finding_line(r, x->try_,
			"Size its pipes to what it moves at once, 64 KiB unless measurements show "
			"that more helps, or keep fewer of them open.");
	slab_growth_tell_next(r, x);
	finding_line(r, x->verify, "`memwhy check --for 5s`");
}

static u64 packet_sockets(const struct held_process *p)
{
	return p->packets;
}

static u64 ring_bytes(const struct held_process *p)
{
	return p->ring_bytes;
}

static u64 mapped_bytes(const struct held_process *p)
{
	return p->mapped_bytes;
}

static u64 pipe_bytes(const struct held_process *p)
{
	return p->pipe_bytes;
}

static u64 traces_bytes(const struct held *h)
{
	u64 bytes = 0;

	for (size_t i = 0; i < h->traces.n; i++) {
		const struct held_trace *t = groups_value(&h->traces, i);

		bytes += held_is_gone(h, t->h.time_ns) ? 0 : t->bytes;
	}
	return bytes;
}

static void tell_ledger(struct report *r, struct finding *x, const struct growth *g, u64 pipes)
{
	s64 rest = where_rest(&g->ledger), more = rest - where_rest(&g->first);
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF];

	finding_line(r, x->evidence,
		"MemTotal is %s: all counters add up to %s, of which %s is free",
		fmt_bytes(a, g->ledger.total_bytes),
		fmt_bytes(b, g->ledger.total_bytes - (u64)rest),
		fmt_bytes(c, g->ledger.bytes[WHERE_FREE] + g->ledger.bytes[WHERE_FREE_CPU]));
	if (pipes)
		finding_line(r, x->evidence,
			"pipes, which have no counter either, hold %s, not included",
			fmt_bytes(a, pipes));
	if (g->held.traces.n)
		finding_line(r, x->evidence, "tracing buffers hold %s, not included",
			fmt_bytes(a, traces_bytes(&g->held)));
	if (g->first.h.size && more > 0 && (double)more > MIN_UNOWNED / 2)
		finding_line(r, x->evidence, "it grew by %s in that time", fmt_bytes(a, (u64)more));
}

/* Rings that a process maps: of packet sockets and of perf events. */
static void mapped_who(struct report *r, struct finding *x, const struct held_top *m)
{
	char a[UNIT_BUF];

	x->tgid = m->most->last.tgid;
	x->title = report_text(r, "%s: %s of it is rings that %s maps", x->title,
		fmt_bytes(a, m->bytes), held_who(r, m));
	finding_line(r, x->try_,
		"See which of packet sockets, and which of perf events: "
		"`grep -E 'socket:|perf_event' /proc/%u/maps`",
		x->tgid);
	finding_line(
		r, x->try_, "Use smaller ones: tcpdump -B, ring-size of suricata, perf record -m");
}

/* Rings of io_uring were measured; of packet sockets that are not mapped only their number is
 * known.
 */
static void unowned_who(
	struct report *r, struct finding *x, const struct held_top *rings, const struct held_top *p)
{
	char a[UNIT_BUF];

	x->tgid = rings ? rings->most->last.tgid : p->most ? p->most->last.tgid : 0;
	x->title = report_text(r, "%s%s", x->title,
		rings     ? report_text(r, ": %s of it is io_uring rings of %s",
				    fmt_bytes(a, rings->bytes), held_who(r, rings))
		: p->most ? report_text(r,
				    ": perhaps the rings of %s, which has %llu packet socket%s",
				    held_who(r, p), p->bytes, plural(p->bytes))
			  : "");
	if (rings)
		finding_line(r, x->try_,
			"Use fewer of them, with fewer entries (io_uring_setup), and close those "
			"not in use: `grep -H Mask: /proc/%u/fdinfo/*`",
			x->tgid);
	else if (p->most)
		finding_line(r, x->try_, "See its sockets: `ss -0 -p | grep pid=%u,`", x->tgid);
}

/* The free lists of CPUs, which meminfo leaves out, have a row in the ledger. Pages without a row
 * that stay: rings of packet sockets, buffers of drivers. Not what pipes and tracing buffers have,
 * which another rule tells. */
static void tell_unowned_held(struct report *r, const struct growth *g)
{
	u64 pipes = held_most(&g->held, pipe_bytes).all;
	struct held_top packets = held_most(&g->held, packet_sockets);
	struct held_top rings = held_most(&g->held, ring_bytes);
	struct held_top mapped = held_most(&g->held, mapped_bytes);
	u64 memory = r->stream->host.memory_bytes;
	double all = g->ledger.h.size ? (double)where_rest(&g->ledger) - (double)pipes -
						(double)traces_bytes(&g->held)
				      : 0;
	double usual = (double)(memory / 100 + (128ULL << 20));
	struct finding *x;
	bool known, maps;
	int level;
	char a[UNIT_BUF];

	if (all < usual || all > MOST)
		return;
	level = held_level_stuck(r, (u64)all);
	x = level < 0 ? NULL : report_finding(r, level, "kernel-held");
	if (!x)
		return;
	x->held_bytes = (u64)all;
	x->folds = 1;
	x->losses = LOSS_KERNEL;
	x->title = report_text(r, "The kernel has %s that no counter explains, %s",
		fmt_bytes(a, (u64)all), held_share(r, (u64)all));
	known = rings.most && (double)rings.bytes * 2 >= all;
	maps = !known && mapped.most && (double)mapped.bytes * 2 >= all;
	if (maps)
		mapped_who(r, x, &mapped);
	else
		unowned_who(r, x, known ? &rings : NULL, &packets);
	x->confidence =
		"medium: it is the remainder in the ledger of `memwhy where`: MemTotal less all "
		"counters; an owner, if named, is inferred from what processes have open";
	tell_ledger(r, x, g, pipes);
	x->why = "Kernel pages that no counter includes belong to packet socket rings "
		 "(PACKET_RX_RING), io_uring rings, network, graphics and hypervisor drivers, or "
		 "perf. No process shows them, and nothing reclaims them.";
	finding_line(r, x->try_, "Compare with the rest of the machine's memory: `memwhy where`");
	if (!known && !maps)
		finding_line(r, x->try_,
			"Rings of a capture tool: a smaller buffer (tcpdump -B, wireshark, "
			"suricata ring-size). Rings of a network interface: `ethtool -g eth0`");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`memwhy check --for 5s`");
}

static int slab_growth_rule_report(void *v, struct report *r)
{
	tell_slab(r, v);
	tell_large(r, v);
	if (!tell_unowned(r, v))
		tell_unowned_held(r, v);
	return 0;
}

const struct view rule_slab_growth = {
	.size = sizeof(struct growth),
	.init = slab_growth_rule_init,
	.feed = slab_growth_rule_feed,
	.report = slab_growth_rule_report,
	.reset = slab_growth_rule_reset,
	.destroy = slab_growth_rule_destroy,
};
