/*
 * Pages copied since a fork: by a parent that writes on while its child lives, or by children that
 * write to what they inherited. Processes of one program are told together: each may be short.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/processes/processes.h"
#include "probes/waits/waits.h"
#include "rules/facts.h"
#include "rules/fault_storm.h"
#include "rules/rules.h"

#define FINDINGS 3
#define MIN_PAGES 4096       /* fewer belong to the start of programs */
#define MIN_RATE 100         /* a second: or fewer in a short look */
#define MIN_LARGE_PAGES 1024 /* of a process whose memory is … */
#define LARGE_BYTES (128ULL << 20)
#define SMALL_BYTES (64ULL << 20)
#define SMALL_SHARE 0.05 /* of the time: less of it is not told of small processes */
#define ONE_PART 0.7     /* one process that has this part is told alone */
#define ANCESTORS 4

struct copies {
	struct storm storm;
	u64 reused, reused_ns; /* pages that it need not share any more: a fault, and no copy */
	u64 anon_bytes;        /* 0: not known */
	u64 start_ns;
	u64 forks; /* of its address space, within the look */
	u32 ppid;
};

struct program_key {
	char comm[COMM_LEN];
	u64 cgroup;
};

/* The processes of one program. */
struct program {
	struct storm storm;
	u64 reused, reused_ns;
	u32 processes;
	u32 tgid; /* who copied most */
	u64 tgid_ns;
	u32 named; /* one of which more than its name is known; 0: none */
	bool told;
};

static int copy_on_write_rule_init(void *v, const struct view_options *o, struct err *err)
{
	(void)o;
	(void)err;
	rule_sums_init(v, sizeof(u32), sizeof(struct copies));
	return 0;
}

static int copy_on_write_made_feed(struct rule_sums *s, const struct waits_made *r)
{
	struct copies *p = r->kind == WAITS_FORKED ? groups_get(&s->by, &r->tgid) : NULL;

	if (p)
		p->forks += r->count;
	return r->kind == WAITS_FORKED && !p ? -ENOMEM : 0;
}

static int copy_on_write_rule_feed(void *v, const struct rec *rec)
{
	const struct process_memory *m = (const void *)rec;
	const struct faults_agg *r = (const void *)rec;
	struct rule_sums *s = v;
	struct copies *p;

	if (rec->kind == REC_FAULTS_AGG && storm_copies(r) &&
		!(r->flags & (FAULT_MAJOR | FAULT_NAMED))) {
		p = groups_get(&s->by, &r->tgid);
		if (p && storm_takes(r)) {
			storm_add(&p->storm, r);
		} else if (p) {
			p->reused += r->count;
			p->reused_ns += r->total_ns;
		}
		return p ? 0 : -ENOMEM;
	}
	if (rec->kind == REC_PROCESS_PATH) {
		const struct process_path *path = (const void *)rec;

		p = groups_get(&s->by, &path->tgid);
		if (p)
			storm_walked(&p->storm, path);
		return p ? 0 : -ENOMEM;
	}
	if (rec->kind == REC_WAITS_MADE)
		return copy_on_write_made_feed(s, (const void *)rec);
	if (rec->kind == REC_PROCESS_MEMORY) {
		p = groups_get(&s->by, &m->tgid);
		if (!p)
			return -ENOMEM;
		p->anon_bytes = m->anon_bytes;
		p->ppid = m->ppid;
		p->start_ns = m->start_ns;
		return 0;
	}
	return facts_feed(&s->facts, rec);
}

/* A child that copies what its parent copies, too, has no story of its own, whatever its name. */
static u32 elder_of(const struct rule_sums *s, u32 tgid)
{
	const struct copies *p = groups_find(&s->by, &tgid), *parent;

	for (int i = 0; i < ANCESTORS && p && p->ppid; i++) {
		parent = groups_find(&s->by, &p->ppid);
		if (!parent || parent->storm.pages < MIN_LARGE_PAGES ||
			parent->anon_bytes < LARGE_BYTES || parent->anon_bytes / 2 > p->anon_bytes)
			break;
		tgid = p->ppid;
		p = parent;
	}
	return tgid;
}

/* The process it shares its pages with: its biggest child of those known, or its parent. */
static u32 relative_of(const struct rule_sums *s, u32 tgid)
{
	const struct copies *own = groups_find(&s->by, &tgid), *best = NULL;
	u32 found = 0;

	for (size_t i = 0; i < s->by.n; i++) {
		const struct copies *c = groups_value(&s->by, i);

		if (c->ppid != tgid || (best && c->anon_bytes <= best->anon_bytes))
			continue;
		best = c;
		found = *(const u32 *)groups_key(&s->by, i);
	}
	if (!found && own && groups_find(&s->by, &own->ppid))
		found = own->ppid;
	return found;
}

static int programs_sum(const struct rule_sums *s, const struct report *r, struct groups *programs)
{
	for (size_t i = 0; i < s->by.n; i++) {
		const struct copies *p = groups_value(&s->by, i);
		u32 tgid = *(const u32 *)groups_key(&s->by, i), elder = elder_of(s, tgid);
		const struct rec_task *task = stream_task(r->stream, elder, 0);
		struct program_key k = {.cgroup = task ? task->cgroup : 0};
		struct program *g;

		if (!p->storm.pages)
			continue;
		snprintf(k.comm, sizeof(k.comm), "%s", stream_comm(r->stream, elder, 0));
		g = groups_get(programs, &k);
		if (!g)
			return -ENOMEM;
		storm_merge(&g->storm, &p->storm);
		if (p->anon_bytes >= LARGE_BYTES && relative_of(s, tgid)) {
			g->reused += p->reused;
			g->reused_ns += p->reused_ns;
		}
		g->processes++;
		if (task && task->program)
			g->named = tgid;
		if (p->storm.ns >= g->tgid_ns) {
			g->tgid = tgid;
			g->tgid_ns = p->storm.ns;
		}
	}
	return 0;
}

static u64 cost_ns(const struct program *g)
{
	return g->storm.ns + g->reused_ns;
}

static bool is_one(const struct program *g)
{
	return (double)g->tgid_ns >= ONE_PART * (double)g->storm.ns;
}

static const char *copy_on_write_who_of(struct report *r, const struct program *g)
{
	if (is_one(g))
		return report_process(r, g->tgid);
	return processes_text(r, g->named, g->processes, g->tgid);
}

static void tell_sharing(struct report *r, struct finding *f, const struct rule_sums *s, u32 tgid)
{
	const struct copies *own = groups_find(&s->by, &tgid), *other;
	u32 relative = relative_of(s, tgid);
	char a[UNIT_BUF], b[UNIT_BUF];

	if (own && own->anon_bytes)
		finding_line(r, f->evidence, "it has %s of anonymous memory, which can double",
			fmt_bytes(a, own->anon_bytes));
	other = groups_find(&s->by, &relative);
	if (other && other->anon_bytes)
		finding_line(r, f->evidence, "it shares pages with %s, %s",
			report_process(r, relative), fmt_bytes(b, other->anon_bytes));
}

/* Does it share as much as makes its memory grow? First writes to a file's private pages, too, copy
 * pages. */
static bool shares(const struct rule_sums *s, u32 tgid)
{
	const struct copies *own = groups_find(&s->by, &tgid), *other;
	u32 relative = relative_of(s, tgid);

	other = relative ? groups_find(&s->by, &relative) : NULL;
	return own && other && other->anon_bytes >= own->anon_bytes / 4;
}

/* Nobody has its pages too, and it did not fork: what it writes to it had only read before. */
static bool read_first(const struct rule_sums *s, const struct program *g)
{
	const struct copies *own = groups_find(&s->by, &g->tgid);

	return is_one(g) && own && own->anon_bytes && !own->forks && !shares(s, g->tgid);
}

static void read_first_tell(struct report *r, struct finding *f)
{
	f->why = "The first read of fresh memory maps the shared zero page, or the file's page in "
		 "a private mapping; the first write is a second fault, which allocates a page and "
		 "copies.";
	finding_line(r, f->try_,
		"Write to fresh memory before reading it, or track what was not written; "
		"MADV_POPULATE_WRITE allocates the pages of a range in one call (Linux 5.14).");
}

static void fork_tell(struct report *r, struct finding *f)
{
	f->why =
		"After fork() parent and child share all pages. The first write to each, on either "
		"side, is a page fault that copies it, and both copies stay as long as both "
		"processes do.";
	finding_line(r, f->try_,
		"If the child only starts another program: use posix_spawn() or vfork().");
	finding_line(r, f->try_,
		"If it writes a snapshot: fork when there are few writes, keep it short, and keep "
		"as much memory free as is written during it.");
	finding_line(r, f->try_,
		"If workers write to what they inherited (reference counts, garbage collectors): "
		"put it into shared memory (arrays, not objects), or load it after the fork. In "
		"Python, gc.freeze() before the fork avoids the collector's writes, but not "
		"reference counts.");
}

static void copy_on_write_tell(
	struct report *r, const struct rule_sums *s, const struct program *g, int level)
{
	struct finding *f = report_finding(r, level, "copy-on-write");
	bool first = read_first(s, g);
	char a[UNIT_BUF];

	if (!f)
		return;
	f->cost_ns = cost_ns(g);
	f->tgid = g->tgid;
	f->title = report_text(r,
		first ? "%s writes to %.0f pages a second that it had only read before (copies of "
			"the zero page or a file's page): %s"
		      : "%s copies %.0f pages a second after fork (copy-on-write): %s",
		copy_on_write_who_of(r, g), (double)g->storm.pages / report_seconds(r),
		report_share_text(r, cost_ns(g)));
	f->confidence = "high: every such fault was counted and timed; a first write to memory "
			"that was only read looks the same";
	storm_tell(r, f, &g->storm, "copied");
	if (g->reused)
		finding_line(r, f->evidence,
			"%llu more faults, %s, on pages still marked as shared after the other "
			"process was gone",
			g->reused, fmt_ns(a, g->reused_ns));
	if (!first)
		tell_sharing(r, f, s, g->tgid);
	if (first)
		read_first_tell(r, f);
	else
		fork_tell(r, f);
	finding_line(r, f->undo, "Nothing to undo.");
	finding_line(r, f->verify, "`memwhy faults --stacks=user --for 10s -c %.15s`",
		stream_comm(r->stream, g->tgid, 0));
}

/* Shells and the like: what they copy is as small as they are, and cannot double much. */
static bool copy_on_write_is_small(const struct rule_sums *s, u32 tgid)
{
	u32 relative = relative_of(s, tgid);
	const struct copies *own = groups_find(&s->by, &tgid);
	const struct copies *other = relative ? groups_find(&s->by, &relative) : NULL;
	u64 most = MAX(own ? own->anon_bytes : 0, other ? other->anon_bytes : 0);

	return most && most < SMALL_BYTES;
}

/* A server that starts: it and its parent began within the look. */
static bool starts(const struct rule_sums *s, const struct report *r, u32 tgid)
{
	const struct copies *own = groups_find(&s->by, &tgid);
	const struct copies *parent = own ? groups_find(&s->by, &own->ppid) : NULL;

	return parent && own->start_ns > r->stream->first_ns &&
	       parent->start_ns > r->stream->first_ns;
}

static int copy_on_write_level_of(
	const struct rule_sums *s, const struct report *r, const struct program *g)
{
	const struct copies *most = groups_find(&s->by, &g->tgid);
	bool large = most && most->anon_bytes >= LARGE_BYTES && shares(s, g->tgid);
	u64 pages = g->storm.pages + g->reused, bytes = g->storm.pages * r->stream->host.page_bytes;
	int level;
	double part = (double)bytes / (double)MAX(r->stream->host.memory_bytes, 1ULL);

	/* Many short processes copy a little each, as they must. */
	if (pages / g->processes < MIN_PAGES / 4)
		return -1;
	if (pages < MIN_PAGES)
		return large && (double)pages >= MIN_RATE * report_seconds(r) ? LEVEL_NOTE : -1;
	if (copy_on_write_is_small(s, g->tgid) && report_share(r, cost_ns(g)) < SMALL_SHARE)
		return -1;
	level = MAX(share_level(report_share(r, cost_ns(g)), 0.02, 0.1, 0.5),
		share_level(part, 0.03, 0.1, 2));
	if (starts(s, r, g->tgid))
		level = MIN(level, (int)LEVEL_NOTE);
	return large ? MAX(level, (int)LEVEL_NOTE) : level;
}

static int copy_on_write_rule_report(void *v, struct report *r)
{
	struct rule_sums *s = v;
	struct groups programs;
	int rc;

	groups_init(&programs, sizeof(struct program_key), sizeof(struct program));
	rc = programs_sum(s, r, &programs);
	for (int n = 0; n < FINDINGS && !rc; n++) {
		struct program *worst = NULL;

		for (size_t i = 0; i < programs.n; i++) {
			struct program *g = groups_value(&programs, i);

			if (!g->told && (!worst || g->storm.ns > worst->storm.ns))
				worst = g;
		}
		if (!worst)
			break;
		worst->told = true;
		if (copy_on_write_level_of(s, r, worst) >= 0)
			copy_on_write_tell(r, s, worst, copy_on_write_level_of(s, r, worst));
	}
	groups_free(&programs);
	return rc;
}

const struct view rule_copy_on_write =
	SUMS_RULE(copy_on_write_rule_init, copy_on_write_rule_feed, copy_on_write_rule_report);
