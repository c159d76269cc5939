/*
 * Processes whose anonymous memory, or whose address space, grows all the time: each by itself, or
 * those of one program together. Ranked by when it will hurt. Never called a leak: a cache that
 * warms up or a working set that builds looks the same for a while; what fills and stops, and what
 * comes and goes, is none.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "probes/faults/faults.h"
#include "probes/processes/processes.h"
#include "rules/growth.h"
#include "rules/rules.h"
#include "rules/runtime.h"

#define MIN_SPACE_GROWTH (256.0 * 1024 * 1024) /* of address space: it costs little by itself */
#define SPACE_OF_ANON 4.0                      /* times the growth of memory: it is not used */
#define NOTES 3                                /* of what may never hurt */
#define MIN_KIN 3
#define ANCESTORS 8     /* of one name, that are looked through */
#define PATH_LEAST 0.15 /* of the sampled faults: a smaller share says nothing */
#define ONE_PART 0.7    /* of what a family grew: one process that has it is told alone */
#define MAPS_PART 0.7   /* of what one grew: it maps what it takes */

struct kin_key {
	char comm[COMM_LEN];
	u32 leader;
	u32 reserved;
};

struct kin {
	struct shape anon;
	struct process_family last;
};

struct path {
	u32 tgid, stack;
};

/* What a process touched. Most that touch memory end before they are sampled once, so this is
 * apart from struct grown, which is a hundred times as big. */
struct touched {
	u64 faults, stack_faults;
	u32 stack;
};

struct state {
	struct rule_sums sums; /* by process */
	struct groups touched; /* u32 to struct touched: by process too */
	struct groups paths;   /* struct path to its faults */
	struct groups kin;     /* struct kin_key -> struct kin */
	u64 last_ns;           /* of any sample of processes */
};

static int growth_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct state *s = v;

	(void)o;
	(void)err;
	rule_sums_init(&s->sums, sizeof(u32), sizeof(struct grown));
	groups_init(&s->touched, sizeof(u32), sizeof(struct touched));
	groups_init(&s->paths, sizeof(struct path), sizeof(u64));
	groups_init(&s->kin, sizeof(struct kin_key), sizeof(struct kin));
	return 0;
}

/* What comes back from swap is no growth. Before it is known how much is there, nothing is. */
static void exact_take(struct grown *g, const struct process_memory *m)
{
	if (!(m->h.flags & PROCESS_EXACT))
		return;
	if (!g->swap_known && m->swap_bytes)
		g->anon = (struct shape){};
	g->swap_known = true;
	g->swap_bytes = m->swap_bytes;
	if (!g->first_stack_bytes)
		g->first_stack_bytes = m->stack_bytes;
	g->stack_bytes = m->stack_bytes;
}

static int growth_rule_memory_feed(struct state *s, const struct process_memory *m)
{
	struct grown *g = groups_get(&s->sums.by, &m->tgid);

	if (!g)
		return -ENOMEM;
	if (g->start_ns != m->start_ns)
		*g = (struct grown){.start_ns = m->start_ns};
	s->last_ns = MAX(s->last_ns, m->h.time_ns);
	g->cgroup = m->cgroup;
	g->ppid = m->ppid;
	g->headless = m->h.flags & PROCESS_HEADLESS;
	g->heap_limit_bytes = m->heap_limit_bytes;
	memcpy(g->comm, m->comm, sizeof(g->comm));
	if (m->h.time_ns <= g->anon.trend.last_ns)
		return 0;
	exact_take(g, m);
	shape_add(&g->anon, m->h.time_ns,
		(double)(m->low_anon_bytes ? m->low_anon_bytes : m->anon_bytes) +
			(double)g->swap_bytes);
	if (m->vm_bytes)
		shape_add(&g->space, m->h.time_ns, (double)m->vm_bytes);
	return 0;
}

static int family_feed(struct state *s, const struct process_family *r)
{
	struct kin_key k = {.leader = r->leader};
	struct kin *kin;

	memcpy(k.comm, r->comm, sizeof(k.comm) - 1);
	kin = groups_get(&s->kin, &k);
	if (!kin)
		return -ENOMEM;
	if (!kin->anon.n && r->first_ns < r->h.time_ns)
		shape_add(&kin->anon, r->first_ns, (double)r->first_anon_bytes);
	shape_add(&kin->anon, r->h.time_ns, (double)r->anon_bytes);
	kin->last = *r;
	return 0;
}

static int path_feed(struct state *s, const struct process_path *r)
{
	struct grown *g = groups_get(&s->sums.by, &r->tgid);

	if (!g)
		return -ENOMEM;
	if (r->count > g->walked.count)
		g->walked = *r;
	return 0;
}

static int growth_rule_fault_feed(struct state *s, const struct faults_agg *r)
{
	struct path path = {r->tgid, r->stack};
	struct touched *t;
	u64 *faults;

	if (!r->stack || r->map == MAPPING_FILE || !(r->flags & FAULT_WRITE))
		return 0;
	t = groups_get(&s->touched, &r->tgid);
	faults = groups_get(&s->paths, &path);
	if (!t || !faults)
		return -ENOMEM;
	t->faults += r->count;
	*faults += r->count;
	if (*faults > t->stack_faults) {
		t->stack = r->stack;
		t->stack_faults = *faults;
	}
	return 0;
}

static void touched_take(struct state *s)
{
	for (size_t i = 0; i < s->sums.by.n; i++) {
		const struct touched *t = groups_find(&s->touched, groups_key(&s->sums.by, i));
		struct grown *g = groups_value(&s->sums.by, i);

		if (!t)
			continue;
		g->faults = t->faults;
		g->stack_faults = t->stack_faults;
		g->stack = t->stack;
	}
}

static int growth_rule_feed(void *v, const struct rec *r)
{
	struct state *s = v;

	if (r->kind == REC_PROCESS_MEMORY)
		return growth_rule_memory_feed(s, (const void *)r);
	if (r->kind == REC_PROCESS_FAMILY)
		return family_feed(s, (const void *)r);
	if (r->kind == REC_PROCESS_PATH)
		return path_feed(s, (const struct process_path *)r);
	if (r->kind == REC_FAULTS_AGG)
		return growth_rule_fault_feed(s, (const void *)r);
	return facts_feed(&s->sums.facts, r);
}

static bool growth_rule_judge(const struct state *s, const struct report *r, const struct grown *g,
	struct growth_verdict *ret)
{
	struct growth_seen seen = {&s->sums.facts, s->last_ns};

	return growth_judge(&seen, r, g, ret);
}

static void growth_rule_tell_numbers(
	struct report *r, struct finding *f, const struct shape *s, const struct growth_verdict *d)
{
	char a[UNIT_BUF], b[UNIT_BUF];

	/* What goes on to grow ranks by what it will have soon. */
	f->held_bytes =
		(u64)(d->young || d->bounded || d->drifts ? d->grown
							  : MAX(d->grown, d->rate * GROWTH_SOON_S));
	f->losses = d->left >= 0 && d->left < GROWTH_SOON_S
			    ? LOSS_RECLAIM | LOSS_SWAP | LOSS_REFAULT
			    : 0;
	f->confidence = report_text(r,
		"%s: its lower edge rose throughout (%llu samples, linear fit R² %.2f), but %.0f s "
		"cannot tell a leak from a cache that fills",
		d->young ? "low" : "medium", s->trend.n, trend_fit(&s->trend), d->seconds);
	if (d->drifts)
		finding_line(r, f->evidence, "its lower edge rose by %s in %.0f s; it now has %s",
			fmt_bytes(a, (u64)d->grown), d->seconds, fmt_bytes(b, (u64)s->trend.last));
	else
		finding_line(r, f->evidence, "from %s to %s in %.0f s",
			fmt_bytes(a, (u64)s->trend.first), fmt_bytes(b, (u64)s->trend.last),
			d->seconds);
	if (d->left >= 0 && d->left < GROWTH_FULL_S)
		finding_line(
			r, f->evidence, "%s is used up: %s left", d->what, fmt_bytes(a, d->room));
	else if (d->left >= 0 && d->left < 30 * 86400.0)
		finding_line(r, f->evidence, "at this rate %s (%s) lasts %s", d->what,
			fmt_bytes(a, d->room), time_left_text(r, d->left));
	if (d->life > 0)
		finding_line(r, f->evidence,
			"it has grown at this rate since it started, %s before the end",
			time_left_text(r, d->life));
	if (d->bounded)
		finding_line(r, f->evidence,
			"its address space does not grow: it fills what it mapped before, at most "
			"%s more, for which there is room",
			fmt_bytes(a, d->mapped));
	if (d->young)
		finding_line(r, f->evidence,
			"it started less than a minute ago, so this is only a %s: it may still be "
			"starting up, or do its work and exit",
			finding_level_name(d->level));
}

/* Returns the stack that it told; 0: none. */
static u32 tell_path(struct report *r, struct finding *f, const struct grown *g)
{
	if (finding_walked(r, f, &g->walked, "code path that touches most new pages"))
		return g->walked.stack;
	if (!g->stack || (double)g->stack_faults < PATH_LEAST * (double)g->faults)
		return 0;
	finding_line(r, f->evidence,
		"code path that touches most new pages (%.0f %% of the sampled faults):",
		100.0 * MIN((double)g->stack_faults / (double)g->faults, 1.0));
	finding_stack(r, f, g->stack, 6);
	return g->stack;
}

/* Most of what it grew by is the stack of its first thread. */
static bool is_stack(const struct grown *g, const struct growth_verdict *d)
{
	return g->first_stack_bytes &&
	       (double)counter_rise(g->first_stack_bytes, g->stack_bytes) >= ONE_PART * d->grown;
}

static void tell_stack(struct report *r, struct finding *f, u32 tgid, const struct grown *g)
{
	char a[UNIT_BUF], b[UNIT_BUF];

	finding_line(r, f->evidence, "its stack (VmStk) rose by %s, to %s",
		fmt_bytes(a, g->stack_bytes - g->first_stack_bytes), fmt_bytes(b, g->stack_bytes));
	f->why = "Its first thread calls deeper and deeper, as endless recursion does, or puts "
		 "ever more into local variables and alloca(). A stack takes memory as it deepens, "
		 "and returns none.";
	finding_line(r, f->try_,
		"See which functions call one another: `gdb -p %u -batch -ex 'bt 20'`", tgid);
	finding_line(r, f->try_,
		"Let the program crash (SIGSEGV) before it takes the machine's memory: start it "
		"with a stack limit, 8 MiB by default: `ulimit -s 8192`");
	finding_line(r, f->undo, "Nothing to undo.");
	finding_line(r, f->verify, "`grep VmStk: /proc/%u/status`", tgid);
}

static void tell_heap(
	struct report *r, struct finding *f, u32 tgid, const struct grown *g, u32 path)
{
	struct runtime_heap heap = {.tgid = tgid,
		.limit_bytes = g->heap_limit_bytes,
		.least_bytes = (u64)g->anon.trend.first,
		.stack = path,
		.maps = g->space.n &&
			growth_bytes(&g->space) >= MAPS_PART * growth_bytes(&g->anon)};

	f->why = "It keeps touching new anonymous pages (heap, mmap) and returns none.";
	if (!g->headless) /* its files are reached through its first thread, by gdb and jcmd too */
		runtime_tell_growth(
			r, f, runtime_of(r, tgid, (const u32[]){g->stack, path}, 2), &heap);
	finding_line(r, f->try_,
		"Find the code that touches new pages: `memwhy faults --stacks=user --for 30s -p "
		"%u`",
		tgid);
	finding_line(r, f->undo, "Nothing to undo.");
	finding_line(r, f->verify,
		"`memwhy check --for 10m -p %u` (longer distinguishes a leak from a cache)", tgid);
}

static void growth_rule_tell(
	struct report *r, u32 tgid, const struct grown *g, const struct growth_verdict *d)
{
	struct finding *f = report_finding(r, d->level, "growth");
	const char *who;
	char c[UNIT_BUF];
	u32 path;

	if (!f)
		return;
	f->tgid = tgid;
	f->home = g->cgroup;
	who = report_process(r, tgid);
	if (g->headless)
		who = report_text(r, "%s, whose first thread has ended,", who);
	f->title = report_text(r,
		is_stack(g, d) ? "The stack of %s grows steadily: %s a second"
		: d->drifts ? "%s seems to grow steadily under its ups and downs: %s of anonymous "
			      "memory a second"
			    : "%s grows steadily: %s of anonymous memory a second",
		who, fmt_bytes(c, (u64)d->rate));
	growth_rule_tell_numbers(r, f, &g->anon, d);
	if (d->drifts)
		f->confidence = report_text(
			r, "low: in %.0f s it may be chance; ten minutes would tell", d->seconds);
	path = tell_path(r, f, g);
	if (g->headless)
		finding_line(r, f->evidence,
			"its other threads still run: ps shows it as a zombie (<defunct>) without "
			"memory; see /proc/%u/task/TID/status of those",
			tgid);
	if (is_stack(g, d))
		tell_stack(r, f, tgid, g);
	else
		tell_heap(r, f, tgid, g, path);
}

/* Below its leader, others of its name between them. */
static bool is_of_kin(
	const struct state *s, const struct grown *g, u32 tgid, const struct kin_key *k)
{
	for (int i = 0; i < ANCESTORS && g && !strncmp(g->comm, k->comm, COMM_LEN); i++) {
		if (tgid == k->leader || g->ppid == k->leader)
			return true;
		tgid = g->ppid;
		g = groups_find(&s->sums.by, &tgid);
	}
	return false;
}

/* Of a family's growth, what its process that grew most has. */
static const struct grown *biggest_of(const struct state *s, const struct kin_key *k, u32 *ret_tgid)
{
	const struct grown *best = NULL;

	for (size_t i = 0; i < s->sums.by.n; i++) {
		const struct grown *g = groups_value(&s->sums.by, i);
		u32 tgid = *(const u32 *)groups_key(&s->sums.by, i);

		if (!is_of_kin(s, g, tgid, k) || !g->anon.n ||
			(best && growth_bytes(&g->anon) <= growth_bytes(&best->anon)))
			continue;
		best = g;
		*ret_tgid = tgid;
	}
	return best;
}

/* The group that all of a family are in, whose limit they share; 0: not known, or they are in
 * several. */
static u64 group_of_kin(const struct state *s, const struct kin_key *k)
{
	u64 cgroup = 0;

	for (size_t i = 0; i < s->sums.by.n; i++) {
		const struct grown *g = groups_value(&s->sums.by, i);

		if (!is_of_kin(s, g, *(const u32 *)groups_key(&s->sums.by, i), k))
			continue;
		if (cgroup && g->cgroup != cgroup)
			return 0;
		cgroup = g->cgroup;
	}
	return cgroup;
}

static void kin_mark(struct state *s, const struct kin_key *k)
{
	for (size_t i = 0; i < s->sums.by.n; i++) {
		struct grown *g = groups_value(&s->sums.by, i);
		u32 tgid = *(const u32 *)groups_key(&s->sums.by, i);

		if (is_of_kin(s, g, tgid, k))
			g->told = true;
	}
}

static void tell_kin(struct report *r, struct state *s, const struct kin_key *k,
	const struct kin *kin, const struct growth_verdict *d)
{
	struct finding *f = report_finding(r, d->level, "growth");
	const struct process_family *last = &kin->last;
	const struct grown *g;
	char c[UNIT_BUF];
	bool piles;
	u32 tgid = 0;

	if (!f)
		return;
	f->tgid = last->leader;
	f->home = group_of_kin(s, k);
	piles = last->processes > last->first_processes + last->first_processes / 8;
	f->title = report_text(r,
		"%u processes of %s (below %s)%s grow together: %s of anonymous memory a second",
		last->processes, report_program(r, last->biggest), report_process(r, last->leader),
		piles ? report_text(r, ", ever more (%u at first),", last->first_processes) : "",
		fmt_bytes(c, (u64)d->rate));
	growth_rule_tell_numbers(r, f, &kin->anon, d);
	finding_line(r, f->evidence,
		"there were %u at first, %u now; what they share since a fork is counted in each",
		last->first_processes, last->processes);
	g = biggest_of(s, k, &tgid);
	if (g && growth_bytes(&g->anon) > 0) {
		finding_line(r, f->evidence, "%s grew most, by %s", report_process(r, tgid),
			fmt_bytes(c, (u64)growth_bytes(&g->anon)));
		tell_path(r, f, g);
	}
	f->why = piles ? "New processes start and the old ones stay: none grows by itself, but all "
			 "of them together do."
		       : "Each of them keeps touching new anonymous pages and returns none: little "
			 "each, much together.";
	if (!tgid || tgid == last->leader) /* the one that started them has no part in it */
		tgid = last->biggest;
	if (piles)
		finding_line(r, f->try_,
			"See what one of them waits for, and why it does not exit: `cat "
			"/proc/%u/wchan; ls -l /proc/%u/fd | tail`",
			tgid, tgid);
	finding_line(r, f->try_,
		"See what one of them allocates and does not free: `memwhy leak -p %u --for 60s`",
		tgid);
	if (!piles)
		finding_line(r, f->try_,
			"Until the cause is found, let each exit after a number of requests "
			"(servers have a setting: max_requests, pm.max_requests, "
			"MaxConnectionsPerChild).");
	finding_line(r, f->undo, "Nothing to undo.");
	finding_line(r, f->verify, "`memwhy check --for 10m`");
}

/* The sum of a family tells nothing where some of it were killed or ended meanwhile: several that
 * each grow are told together all the same. */
static bool members_judge(const struct state *s, const struct report *r, const struct kin_key *k,
	struct shape *ret_anon, struct growth_verdict *ret)
{
	struct growth_seen seen = {&s->sums.facts, s->last_ns};
	double first = 0, last = 0, most = 0;
	struct growth_verdict d;
	struct shape anon = {};
	u32 n = 0;

	for (size_t i = 0; i < s->sums.by.n; i++) {
		const struct grown *g = groups_value(&s->sums.by, i);

		if (!g->anon.n || !is_of_kin(s, g, *(const u32 *)groups_key(&s->sums.by, i), k) ||
			!growth_rule_judge(s, r, g, &d))
			continue;
		if (n++)
			growth_add(ret, &d);
		else
			*ret = d;
		if (d.grown > most)
			anon = g->anon;
		most = MAX(most, d.grown);
		first += g->anon.trend.first;
		last += g->anon.trend.last;
	}
	if (n < MIN_KIN || most >= ONE_PART * ret->grown)
		return false;
	anon.trend.first = first;
	anon.trend.last = last;
	*ret_anon = anon;
	growth_judge_sum(&seen, r, group_of_kin(s, k), ret);
	return true;
}

static void families_report(struct report *r, struct state *s)
{
	for (size_t i = 0; i < s->kin.n; i++) {
		const struct kin_key *k = groups_key(&s->kin, i);
		struct kin *kin = groups_value(&s->kin, i);
		struct grown all = {.anon = kin->anon, .cgroup = group_of_kin(s, k)};
		const struct grown *g;
		struct growth_verdict d;
		u32 tgid = 0;

		g = biggest_of(s, k, &tgid);
		/* That new ones come does not make the program new. */
		all.start_ns = kin->last.oldest_ns ? kin->last.oldest_ns : g ? g->start_ns : 0;
		if (kin->last.processes < MIN_KIN)
			continue;
		if (growth_rule_judge(s, r, &all, &d)) {
			if (g && growth_bytes(&g->anon) >= ONE_PART * d.grown)
				continue;
		} else if (!members_judge(s, r, k, &kin->anon, &d)) {
			continue;
		}
		tell_kin(r, s, k, kin, &d);
		kin_mark(s, k);
	}
}

static void tell_space(struct report *r, u32 tgid, const struct grown *g, double rate, int level)
{
	struct finding *f = report_finding(r, level, "address-space");
	char a[UNIT_BUF], b[UNIT_BUF], c[UNIT_BUF];

	if (!f)
		return;
	f->tgid = tgid;
	f->folds = 2; /* also below mappings that are counted */
	f->losses = LOSS_SPACE;
	f->held_bytes = 1;
	f->title = report_text(r,
		"%s maps address space that it does not touch: %s more a second (mappings leaked)",
		report_process(r, tgid), fmt_bytes(c, (u64)rate));
	f->confidence = report_text(r,
		"medium: it rose throughout, but %.0f s cannot tell whether it will stop",
		growth_seconds(&g->space));
	finding_line(r, f->evidence, "address space from %s to %s in %.0f s",
		fmt_bytes(a, (u64)g->space.trend.first), fmt_bytes(b, (u64)g->space.trend.last),
		growth_seconds(&g->space));
	finding_line(r, f->evidence, "its anonymous memory rose by %s in that time",
		fmt_bytes(a, (u64)MAX(growth_bytes(&g->anon), 0.0)));
	f->why = "Mappings take no memory until they are touched, but each counts towards "
		 "vm.max_map_count, RLIMIT_AS and, with strict overcommit, CommitLimit.";
	finding_line(r, f->try_,
		"Find who maps and does not unmap: `memwhy maps --stacks=user --for 30s -p %u`",
		tgid);
	finding_line(r, f->undo, "Nothing to undo.");
	finding_line(r, f->verify, "`grep VmSize /proc/%u/status`", tgid);
}

static void space_report(struct report *r, const struct state *s, u32 tgid, const struct grown *g)
{
	double rate, grown = growth_bytes(&g->space);
	u64 memory = MAX(r->stream->host.memory_bytes, 1ULL);

	if (shape_judge(&g->space, &rate) != SHAPE_RISING || grown < MIN_SPACE_GROWTH ||
		growth_seconds(&g->space) < GROWTH_MIN_SECONDS ||
		grown < SPACE_OF_ANON * MAX(growth_bytes(&g->anon), 0.0) ||
		g->space.trend.last_ns + GROWTH_GONE_NS < s->last_ns)
		return;
	/* All of memory within the hour, or more than there is already. */
	tell_space(r, tgid, g, rate,
		!growth_is_young(g, &g->space) &&
				(rate * GROWTH_LATER_S > (double)memory ||
					g->space.trend.last > 4.0 * (double)memory)
			? LEVEL_RISK
			: LEVEL_NOTE);
}

/* Of the growth that may never hurt only the greatest is worth a line. */
static bool worth(const struct state *s, const struct report *r, const struct growth_verdict *d)
{
	struct growth_verdict other;
	size_t greater = 0;

	if (d->level > LEVEL_NOTE)
		return true;
	for (size_t i = 0; i < s->sums.by.n; i++) {
		const struct grown *g = groups_value(&s->sums.by, i);

		greater += g->anon.n && !g->told && growth_rule_judge(s, r, g, &other) &&
			   other.level == LEVEL_NOTE && other.grown > d->grown;
	}
	return greater < NOTES;
}

static int growth_rule_report(void *v, struct report *r)
{
	struct state *s = v;
	struct growth_verdict d;

	touched_take(s);
	families_report(r, s);
	for (size_t i = 0; i < s->sums.by.n; i++) {
		const struct grown *g = groups_value(&s->sums.by, i);
		u32 tgid = *(const u32 *)groups_key(&s->sums.by, i);

		if (g->anon.n && !g->told && growth_rule_judge(s, r, g, &d) && worth(s, r, &d) &&
			!(d.level == LEVEL_NOTE && looks_too(r, tgid)))
			growth_rule_tell(r, tgid, g, &d);
		if (g->space.n)
			space_report(r, s, tgid, g);
	}
	return 0;
}

static void growth_rule_reset(void *v)
{
	struct state *s = v;

	rule_sums_reset(&s->sums);
	groups_clear(&s->touched);
	groups_clear(&s->paths);
	groups_clear(&s->kin);
}

static void growth_rule_destroy(void *v)
{
	struct state *s = v;

	rule_sums_destroy(&s->sums);
	groups_free(&s->touched);
	groups_free(&s->paths);
	groups_free(&s->kin);
}

const struct view rule_growth = {
	.size = sizeof(struct state),
	.init = growth_rule_init,
	.feed = growth_rule_feed,
	.report = growth_rule_report,
	.reset = growth_rule_reset,
	.destroy = growth_rule_destroy,
};
