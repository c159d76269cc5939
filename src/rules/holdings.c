/* See holdings.h. */
#include "rules/holdings.h"

#include <errno.h>
#include <string.h>

#include "analysis/shape.h"
#include "base/units.h"
#include "sys/process/fdlink.h"

/* An open file with what is behind it (x86-64, 6.x): struct file 256, and of a pipe half of its
 * inode, ring and pages, of a socket its sock and inode, of a path its dentry and inode. Event
 * descriptors, watches and the like share one inode (fs/anon_inodes.c). */
#define FILE_BYTES 1200
#define FILE_SHARED_BYTES 512
#define WRITERS_LOOKED_AT 6
#define WROTE_PART 1.5 /* as much as it grew: less or more by this factor at most */
/* Less than this is no trouble anywhere, and less than this share not here. */
#define LEAST_BYTES (48ULL << 20)
#define NOTE_SHARE 0.004
#define ONE_HAS 0.7 /* of what its program has: that process is told alone */
#define RISK_SHARE 0.10
#define WARNING_SHARE 0.30
#define STUCK_SHARE 0.03
#define UNREAD_SHARE 0.01
#define UNREAD_BYTES (256ULL << 20)
#define GROWN_LEAST (32ULL << 20)
#define GROWN_SECONDS 2.0

int held_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct held *h = v;

	(void)o;
	(void)err;
	facts_init(&h->facts);
	groups_init(&h->files, sizeof(u64), sizeof(struct held_files));
	groups_init(&h->segments, sizeof(u64), sizeof(struct held_segment));
	groups_init(&h->processes, sizeof(u32), sizeof(struct held_both));
	groups_init(&h->parents, sizeof(u32), sizeof(struct held_children));
	groups_init(&h->parents_first, sizeof(u32), sizeof(struct held_children));
	groups_init(&h->disks, sizeof(u32), sizeof(struct held_disk));
	groups_init(&h->traces, sizeof(u32), sizeof(struct held_trace));
	groups_init(&h->courses, sizeof(u64), sizeof(struct shape));
	return 0;
}

static int files_feed(struct held *h, const struct held_files *r)
{
	u64 key = held_files_key(r);
	struct held_files *f = groups_get(&h->files, &key);
	struct shape *course = groups_get(&h->courses, &key);

	if (!f || !course)
		return -ENOMEM;
	*f = *r;
	if (r->h.time_ns > course->trend.last_ns)
		shape_add(course, r->h.time_ns, (double)r->used_bytes);
	return 0;
}

static int segment_feed(struct held *h, const struct held_segment *r)
{
	struct held_segment *g = groups_get(&h->segments, &r->id);

	if (!g)
		return -ENOMEM;
	*g = *r;
	if (!h->looked_ns && !r->attached)
		h->first_orphan_bytes += r->resident_bytes + r->swap_bytes;
	return 0;
}

static int holdings_process_feed(struct held *h, const struct held_process *r)
{
	bool ended = r->h.flags & HELD_ENDED;
	struct held_both *p =
		ended ? groups_find(&h->processes, &r->tgid) : groups_get(&h->processes, &r->tgid);

	if (p)
		p->ended = ended;
	if (ended)
		return 0;
	if (!p)
		return -ENOMEM;
	if (!p->first.h.size || p->first.start_ns != r->start_ns)
		p->first = *r;
	p->last = *r;
	p->look = h->looks;
	return 0;
}

static int children_feed(struct held *h, const struct held_children *r)
{
	struct held_children *c = groups_get(&h->parents, &r->tgid);
	struct held_children *first = groups_get(&h->parents_first, &r->tgid);

	if (!c || !first)
		return -ENOMEM;
	*c = *r;
	if (!first->h.size)
		*first = *r;
	return 0;
}

static int disk_feed(struct held *h, const struct held_disk *r)
{
	struct held_disk *d = groups_get(&h->disks, &r->device);

	if (!d)
		return -ENOMEM;
	*d = *r;
	return 0;
}

static int trace_feed(struct held *h, const struct held_trace *r)
{
	struct held_trace *t = groups_get(&h->traces, &r->instance);

	if (!t)
		return -ENOMEM;
	*t = *r;
	return 0;
}

/* Of an older recording. */
static int thread_feed(struct held *h, const struct held_thread *r)
{
	struct system_value v = REC_INIT(struct system_value, REC_SYSTEM_VALUE, r->h.time_ns);

	v.source = SYSTEM_THREAD;
	v.value = r->cpu_ns;
	memcpy(v.name, r->comm, COMM_LEN - 1);
	return facts_feed(&h->facts, &v.h);
}

int held_rule_feed(void *v, const struct rec *r)
{
	struct held *h = v;

	h->last_ns = MAX(h->last_ns, r->time_ns);
	switch (r->kind) {
	case REC_HELD_FILES:
		return files_feed(v, (const void *)r);
	case REC_HELD_SEGMENT:
		return segment_feed(v, (const void *)r);
	case REC_HELD_PROCESS:
		return holdings_process_feed(v, (const void *)r);
	case REC_HELD_QUEUES:
		h->queues = *(const struct held_queues *)r;
		if (!h->queues_first.h.size)
			h->queues_first = h->queues;
		return 0;
	case REC_HELD_MAPS:
		h->maps = *(const struct held_maps *)r;
		return 0;
	case REC_HELD_TOTALS:
		h->totals = *(const struct held_totals *)r;
		h->looks++;
		if (!h->looked_ns) /* they end a look */
			h->looked_ns = r->time_ns;
		return 0;
	case REC_HELD_DISK:
		return disk_feed(h, (const void *)r);
	case REC_HELD_TRACE:
		return trace_feed(h, (const void *)r);
	case REC_HELD_CHILDREN:
		return children_feed(v, (const void *)r);
	case REC_HELD_THREAD:
		return thread_feed(v, (const void *)r);
	default:
		return facts_feed(&((struct held *)v)->facts, r);
	}
}

void held_rule_reset(void *v)
{
	struct held *h = v;

	facts_reset(&h->facts);
	groups_clear(&h->segments);
	groups_clear(&h->processes);
	groups_clear(&h->parents);
	groups_clear(&h->parents_first);
	groups_clear(&h->disks);
	groups_clear(&h->traces);
	groups_clear(&h->courses);
	h->queues_first = h->queues;
	h->looked_ns = h->first_orphan_bytes = 0;
	for (size_t i = 0; i < h->files.n; i++) {
		struct held_files *f = groups_value(&h->files, i);

		f->first_used_bytes = f->used_bytes;
	}
}

void held_rule_destroy(void *v)
{
	struct held *h = v;

	facts_free(&h->facts);
	groups_free(&h->files);
	groups_free(&h->segments);
	groups_free(&h->processes);
	groups_free(&h->parents);
	groups_free(&h->parents_first);
	groups_free(&h->disks);
	groups_free(&h->traces);
	groups_free(&h->courses);
}

const char *held_text(const struct report *r, u32 string)
{
	const char *text = stream_string(r->stream, string);

	return text ? text : "?";
}

const char *held_name(struct report *r, const struct held_process *p)
{
	return report_text(r, "%s (pid %u)", held_text(r, p->name), p->tgid);
}

/* 0 of a process that ended, or has nothing worth a record any more. */
static u64 amount_now(const struct held *h, const struct held_both *p, held_amount amount)
{
	bool whole = !h->totals.cut && !h->totals.status_cut;
	bool gone = p->ended || (whole && p->look + 1 < h->looks);

	return gone && !h->ended_too ? 0 : amount(&p->last);
}

struct held_top held_most_process(const struct held *h, held_amount amount)
{
	struct held_top t = {.processes = 1};

	for (size_t i = 0; i < h->processes.n; i++) {
		const struct held_both *p = groups_value(&h->processes, i);
		u64 bytes = amount_now(h, p, amount);

		t.all += bytes;
		if (bytes <= t.bytes)
			continue;
		t.bytes = t.most_bytes = bytes;
		t.first_bytes = amount(&p->first);
		t.most = p;
	}
	return t;
}

/* Processes of one name; those that have none are each for themselves. */
struct program_key {
	u32 name, tgid;
};

static void program_add(struct groups *programs, const struct held *h, const struct held_both *p,
	held_amount amount)
{
	struct program_key key = {p->last.name, p->last.name ? 0 : p->last.tgid};
	u64 bytes = amount_now(h, p, amount);
	struct held_top *t = bytes ? groups_get(programs, &key) : NULL;

	if (!t)
		return;
	t->bytes += bytes;
	t->first_bytes += amount(&p->first);
	t->processes++;
	if (bytes <= t->most_bytes)
		return;
	t->most_bytes = bytes;
	t->most = p;
}

/* The program with most, of those with less than `below`. */
static struct held_top program_most(const struct held *h, held_amount amount, u64 below)
{
	struct held_top best = {};
	struct groups programs;

	groups_init(&programs, sizeof(struct program_key), sizeof(struct held_top));
	for (size_t i = 0; i < h->processes.n; i++)
		program_add(&programs, h, groups_value(&h->processes, i), amount);
	for (size_t i = 0; i < programs.n; i++) {
		const struct held_top *t = groups_value(&programs, i);

		if (t->bytes > best.bytes && t->bytes < below)
			best = *t;
	}
	groups_free(&programs);
	return best;
}

/* One of its processes that has nearly all is told alone. */
static void one_take(struct held_top *t, held_amount amount)
{
	t->program_bytes = t->bytes;
	if (!t->most || (double)t->most_bytes < ONE_HAS * (double)t->bytes)
		return;
	t->bytes = t->most_bytes;
	t->first_bytes = amount(&t->most->first);
	t->processes = 1;
}

struct held_top held_most(const struct held *h, held_amount amount)
{
	struct held_top t = program_most(h, amount, ~0ULL);

	t.all = held_most_process(h, amount).all;
	one_take(&t, amount);
	return t;
}

struct held_top held_next(const struct held *h, held_amount amount, const struct held_top *than)
{
	struct held_top t = program_most(h, amount, than->program_bytes);

	t.all = than->all;
	one_take(&t, amount);
	return t;
}

const char *held_who(struct report *r, const struct held_top *t)
{
	if (t->processes <= 1)
		return held_name(r, &t->most->last);
	return report_text(r, "%s (%u processes, pid %u has the most)",
		held_text(r, t->most->last.name), t->processes, t->most->last.tgid);
}

int held_level(const struct report *r, u64 bytes)
{
	double share = (double)bytes / (double)MAX(r->stream->host.memory_bytes, 1ULL);

	if (bytes < LEAST_BYTES || share < NOTE_SHARE)
		return -1;
	return MAX(share_level(share, RISK_SHARE, WARNING_SHARE, 2), (int)LEVEL_NOTE);
}

int held_level_group(int level, const struct facts *f, u64 cgroup, u64 bytes)
{
	return facts_cgroup_pressed(f, cgroup, bytes) ? MAX(level, (int)LEVEL_NOTE) : level;
}

/* How much of the time some task of the machine waited for memory (PSI). */
/* Pressure and kills may be those of a group at its limit: only where memory of the machine is
 * short do allocations reclaim directly (allocstall counts no group's). */
static bool costs_somebody(const struct report *r, const struct facts *f, u64 bytes)
{
	return (double)bytes >= HELD_ASIDE_SHARE * (double)r->stream->host.memory_bytes &&
	       (double)facts_delta_all(f, "allocstall_") >= report_seconds(r) &&
	       (facts_delta(f, "oom_kill") || facts_waited_share(f, r) >= HELD_WAITED_SHARE);
}

int held_level_aside(const struct report *r, const struct facts *f, u64 bytes)
{
	int level = held_level(r, bytes);

	return level >= 0 && costs_somebody(r, f, bytes) ? MAX(level, (int)LEVEL_WARNING) : level;
}

void held_tell_cost(struct report *r, struct finding *x, const struct facts *f, u64 bytes)
{
	u64 killed = facts_delta(f, "oom_kill");

	if (!costs_somebody(r, f, bytes))
		return;
	x->losses |= LOSS_RECLAIM | LOSS_REFAULT | LOSS_SWAP;
	finding_line(r, x->evidence,
		"others lack it: tasks waited for memory %.1f %% of the time (PSI of the "
		"machine)%s",
		100 * facts_waited_share(f, r),
		killed ? report_text(r, ", and the OOM killer killed %llu", killed) : "");
}

int held_level_stuck(const struct report *r, u64 bytes)
{
	int level = held_level(r, bytes);
	double share = (double)bytes / (double)MAX(r->stream->host.memory_bytes, 1ULL);

	return level >= 0 && share >= STUCK_SHARE ? MAX(level, (int)LEVEL_RISK) : level;
}

bool held_saw_all(const struct report *r, const struct held *h)
{
	const struct held_totals *t = &h->totals;

	return !r->scoped && t->processes && !t->refused && !t->cut && !t->status_cut;
}

struct finding *held_finding(struct report *r, int level, const char *rule, u64 bytes)
{
	struct finding *x = level < 0 ? NULL : report_finding(r, level, rule);

	if (x)
		x->held_bytes = bytes;
	return x;
}

void held_in_kernel(struct finding *x, u64 bytes, u64 first_bytes)
{
	x->losses = LOSS_KERNEL;
	x->grown_bytes = counter_rise(first_bytes, bytes);
}

u64 held_file_bytes(const struct held_process *p)
{
	u64 shared = (u64)p->kinds[FD_EPOLL] + p->kinds[FD_EVENT] + p->kinds[FD_WATCH];

	return shared * 2 > p->files ? FILE_SHARED_BYTES : FILE_BYTES;
}

const char *held_share(struct report *r, u64 bytes)
{
	return report_text(r, "%.1f %% of the machine's memory",
		100.0 * (double)bytes / (double)MAX(r->stream->host.memory_bytes, 1ULL));
}

void held_tell_growth(struct report *r, struct finding *f, const struct held_top *t)
{
	char a[UNIT_BUF];
	double seconds;

	if (!t->most || t->bytes <= t->first_bytes + t->first_bytes / 100)
		return;
	seconds = (double)(t->most->last.h.time_ns - t->most->first.h.time_ns) / 1e9;
	finding_line(r, f->evidence, "it grew by %s in %.0f s",
		fmt_bytes(a, t->bytes - t->first_bytes), seconds);
}

const char *held_share_of(struct report *r, const struct facts *f, u64 cgroup, u64 bytes)
{
	const struct cgroup_usage *cg = cgroup ? facts_cgroup(f, cgroup) : NULL;
	const char *path = cg ? stream_cgroup(r->stream, cgroup) : NULL;

	if (!path || cg->limit_bytes == CGROUP_USAGE_NONE || bytes < cg->limit_bytes / 2)
		return held_share(r, bytes);
	return report_text(r, "%.0f %% of the limit of cgroup %s",
		100.0 * (double)bytes / (double)MAX(cg->limit_bytes, 1ULL), report_cgroup(r, path));
}

bool held_is_orphan(const struct held *h, const struct held_segment *g)
{
	return !g->attached && !held_is_gone(h, g->h.time_ns);
}

struct held_orphans held_orphans(const struct held *h)
{
	struct held_orphans o = {};

	for (size_t i = 0; i < h->segments.n; i++) {
		const struct held_segment *g = groups_value(&h->segments, i);

		if (!held_is_orphan(h, g))
			continue;
		o.n++;
		o.bytes += g->resident_bytes + g->swap_bytes;
	}
	if (h->looked_ns)
		o.grown_bytes = counter_rise(h->first_orphan_bytes, o.bytes);
	return o;
}

struct held_growth held_growth(const struct facts *f, u64 grown, double seconds)
{
	struct held_growth g = {.left = HELD_NEVER_S};

	if (grown < GROWN_LEAST || seconds < GROWN_SECONDS)
		return g;
	g.rate = (double)grown / seconds;
	if (facts_known(f, "MemAvailable"))
		g.left = (double)facts_last(f, "MemAvailable") / g.rate;
	return g;
}

struct held_growth held_growth_of(const struct held *h, const struct held_top *t)
{
	if (!t->most)
		return (struct held_growth){.left = HELD_NEVER_S};
	return held_growth(&h->facts, counter_rise(t->first_bytes, t->bytes),
		(double)counter_rise(t->most->first.h.time_ns, t->most->last.h.time_ns) / 1e9);
}

int held_level_growing(const struct report *r, u64 bytes, const struct held_growth *g)
{
	return held_level_soon(held_level_stuck(r, bytes), g);
}

int held_level_unread(const struct report *r, u64 bytes, const struct held_growth *g)
{
	double share = (double)bytes / (double)MAX(r->stream->host.memory_bytes, 1ULL);
	int level = held_level_growing(r, bytes, g);

	return bytes >= UNREAD_BYTES && share >= UNREAD_SHARE ? MAX(level, (int)LEVEL_RISK) : level;
}

int held_level_soon(int level, const struct held_growth *g)
{
	return level >= 0 && g->rate > 0 && g->left < HELD_SOON_S ? MAX(level, (int)LEVEL_RISK)
								  : level;
}

void held_tell_left(
	struct report *r, struct finding *f, const struct facts *facts, const struct held_growth *g)
{
	char a[UNIT_BUF], b[UNIT_BUF];

	if (g->rate > 0 && g->left < HELD_SOON_S)
		finding_line(r, f->evidence,
			"it grows by %s a second: at this rate available memory (%s) lasts %s",
			fmt_bytes(a, (u64)g->rate), fmt_bytes(b, facts_last(facts, "MemAvailable")),
			time_left_text(r, g->left));
}

static u64 written_bytes(const struct held_process *p)
{
	return p->written_bytes;
}

const char *held_writer(struct report *r, const struct held *h, const struct shape *s,
	double *ret_rate, u32 *ret_tgid)
{
	struct held_top t = held_most(h, written_bytes);
	const char *who = NULL;
	double grown;

	if (!s || s->trend.last_ns <= s->trend.first_ns ||
		s->trend.last - s->trend.first < HELD_COURSE_BYTES)
		return NULL;
	grown = (s->trend.last - s->trend.first) * 1e9 /
		(double)(s->trend.last_ns - s->trend.first_ns);
	for (int i = 0; i < WRITERS_LOOKED_AT && t.most && t.most->last.written_ns; i++) {
		double rate = (double)t.bytes * 1e9 / (double)t.most->last.written_ns;

		if (rate >= grown / WROTE_PART && rate <= grown * WROTE_PART) {
			if (who)
				return NULL;
			who = held_who(r, &t);
			*ret_rate = rate;
			*ret_tgid = t.most->last.tgid;
		}
		t = held_next(h, written_bytes, &t);
	}
	return who;
}

bool held_is_gone(const struct held *h, u64 time_ns)
{
	return time_ns + HELD_GONE_NS < h->totals.h.time_ns;
}

u64 held_files_key(const struct held_files *f)
{
	return f->device ? f->device : f->mount; /* 0: not recorded, of any */
}

bool held_files_removed(const struct held_files *f)
{
	return f->directory && !f->partial && f->found_bytes * 2 < f->used_bytes;
}

/* A file system of another mount namespace is reached through a process that is in it. */
static u32 elsewhere(const char *mount, const char **ret_point)
{
	u32 pid;
	int n = 0;

	*ret_point = mount;
	if (sscanf(mount, "/proc/%u/root%n", &pid, &n) != 1 || !n || mount[n] != '/')
		return 0;
	*ret_point = mount + n;
	return pid;
}

const char *held_place_text(struct report *r, const char *path)
{
	const char *point;
	u32 pid = elsewhere(path, &point);

	return pid ? report_text(
			     r, "%s in the mount namespace of %s", point, report_process(r, pid))
		   : path;
}

void held_tell_remount(struct report *r, const char *lines[FINDING_LINES], const char *mount,
	const char *option, u64 n, const char *unit)
{
	const char *point;
	u32 pid = elsewhere(mount, &point);

	if (pid)
		finding_line(r, lines, "`nsenter -t %u -m mount -o remount,%s=%llu%s %s`", pid,
			option, n, unit, point);
	else
		finding_line(r, lines, "`mount -o remount,%s=%llu%s %s`", option, n, unit, point);
}

void held_tell_df(
	struct report *r, const char *lines[FINDING_LINES], const char *mount, const char *option)
{
	const char *point;
	u32 pid = elsewhere(mount, &point);

	if (pid)
		finding_line(r, lines, "`nsenter -t %u -m df %s %s`", pid, option, point);
	else
		finding_line(r, lines, "`df %s %s`", option, point);
}
