/* Calls that fail for a limit while memory is free: mappings, address space, locked memory, what
 * may be promised, tasks. The call, its caller, the limit and its value. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "probes/maps/maps.h"
#include "rules/limits.h"
#include "rules/rules.h"
#include "sys/calls/syscalls.h"

#define LOOK_NS (NSEC_PER_SEC / 2) /* records of one drain are nearer to each other */

static int limits_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct limits *s = v;
	int rc = held_rule_init(&s->held, o, err);

	s->held.ended_too = true; /* who met a limit may have ended by it */
	groups_init(&s->failures, sizeof(struct failure_key), sizeof(struct failure));
	return rc;
}

/* What says that a limit was met: anything else a program may well expect. */
static bool is_limit(u8 why)
{
	return why != MAPS_WHY_UNKNOWN && why != MAPS_WHY_SIZE && why != MAPS_WHY_BELOW &&
	       why < MAPS_WHY_N;
}

static int failure_feed(struct limits *s, const struct maps_agg *r)
{
	struct failure_key k = {.why = r->why};
	struct failure *f;

	if (!r->error || !is_limit(r->why))
		return 0;
	memcpy(k.comm, r->comm, sizeof(k.comm) - 1);
	f = groups_get(&s->failures, &k);
	if (!f)
		return -ENOMEM;
	f->count += r->count;
	f->asked = MAX(f->asked, r->count ? r->length_bytes / r->count : 0);
	f->times += r->h.time_ns >= f->last_ns + LOOK_NS;
	f->last_ns = r->h.time_ns;
	f->others |= f->tgid && f->tgid != r->tgid;
	if (f->tgid && f->tgid != r->tgid)
		return 0;
	f->tgid = r->tgid;
	f->call = r->call;
	f->number = r->detail;
	f->limit = r->object;
	f->hard = r->hard ? r->hard : f->hard;
	f->ended = r->start_ns == UINT64_MAX;
	f->start_ns = f->ended ? f->start_ns : r->start_ns;
	if (r->parent_tgid) {
		f->parent_tgid = r->parent_tgid;
		f->parent = r->parent;
		f->parent_soft = r->parent_soft;
		f->parent_hard = r->parent_hard;
	}
	f->cgroup = r->cgroup;
	f->error = r->error;
	f->stack = r->stack ? r->stack : f->stack;
	f->where = r->where ? r->where : f->where;
	return 0;
}

static int limits_rule_feed(void *v, const struct rec *r)
{
	struct limits *s = v;

	if (r->kind == REC_MAPS_AGG)
		return failure_feed(s, (const void *)r);
	if (r->kind == REC_MAPS_SAMPLED) {
		s->on_ns += ((const struct maps_sampled *)r)->on_ns;
		s->covered_ns += ((const struct maps_sampled *)r)->covered_ns;
	}
	return held_rule_feed(&s->held, r);
}

/* What programs try and go on without: the limit is no trouble by itself. */
static bool has_fallback(u8 why)
{
	return why == MAPS_WHY_HUGETLB || why == MAPS_WHY_MEMLOCK || why == MAPS_WHY_OBVIOUS;
}

/* A call that fails again and again is a program that cannot go on. */
static int failure_level(const struct failure *f, u8 why)
{
	if (f->times > 1)
		return has_fallback(why) ? LEVEL_RISK : LEVEL_WARNING;
	return has_fallback(why) ? LEVEL_NOTE : LEVEL_RISK;
}

static const char *call_name(const struct failure *f)
{
	static const char *const names[MAPS_CALL_N] = {
		[MAPS_MMAP] = "mmap",
		[MAPS_MUNMAP] = "munmap",
		[MAPS_MREMAP] = "mremap",
		[MAPS_BRK] = "brk",
		[MAPS_MPROTECT] = "mprotect",
		[MAPS_PKEY_MPROTECT] = "pkey_mprotect",
		[MAPS_MADVISE] = "madvise",
		[MAPS_MLOCK] = "mlock",
		[MAPS_MLOCK2] = "mlock2",
		[MAPS_MLOCKALL] = "mlockall",
		[MAPS_FORK] = "fork or clone",
	};

	if (f->call == MAPS_OTHER)
		return syscall_name(f->number) ?: "a call";
	return f->call < MAPS_CALL_N && names[f->call] ? names[f->call] : "a call";
}

/* Of what the kernel counts beside memory. */
static const char *other_reason(struct report *r, const struct failure *f, u8 why)
{
	const char *size = fmt_bytes((char[UNIT_BUF]){}, f->limit);

	switch (why) {
	case MAPS_WHY_FILES:
		return report_text(r, "RLIMIT_NOFILE is reached: %llu open files", f->limit);
	case MAPS_WHY_ALL_FILES:
		return "fs.file-max is reached, the open files of the whole machine";
	case MAPS_WHY_INSTANCES:
		return "its user has reached fs.inotify.max_user_instances, or the process "
		       "RLIMIT_NOFILE (open files)";
	case MAPS_WHY_WATCHES:
		return "its user has reached fs.inotify.max_user_watches";
	case MAPS_WHY_EPOLL:
		return "its user has reached fs.epoll.max_user_watches";
	case MAPS_WHY_IPC:
		return report_text(r, "there are as many System V %s as %s%s allows",
			limit_ipc(f)[0], limit_ipc(f)[1], limit_ipc(f)[2]);
	case MAPS_WHY_SIGNALS:
		return report_text(r,
			"RLIMIT_SIGPENDING is reached, which includes POSIX timers: %llu",
			f->limit);
	case MAPS_WHY_NPROC:
		return report_text(r,
			"RLIMIT_NPROC is reached: %llu processes and threads of its user",
			f->limit);
	case MAPS_WHY_THREADS:
		return report_text(r,
			"kernel.threads-max is reached: %llu threads on the whole machine",
			f->limit);
	case MAPS_WHY_PIDS:
		return report_text(r,
			"kernel.pid_max is reached: %llu IDs for processes and threads of the "
			"whole machine",
			f->limit);
	case MAPS_WHY_FULL:
		if (f->where && f->limit)
			return report_text(
				r, "the tmpfs at %s is full: %s", held_text(r, f->where), size);
		return "the tmpfs that it writes to is full";
	case MAPS_WHY_TERMINALS:
		return f->where ? report_text(r,
					  "all pseudo-terminals of %s are in use: its maximum is "
					  "%llu",
					  held_text(r, f->where), f->limit)
				: report_text(r,
					  "all pseudo-terminals are in use: kernel.pty.max leaves "
					  "%llu",
					  f->limit);
	case MAPS_WHY_INODES:
		return report_text(r,
			"the tmpfs at %s has no free inode: it is limited to %llu files and "
			"directories",
			held_text(r, f->where), f->limit);
	}
	return NULL;
}

/* "RLIMIT_AS is reached: 512 MiB" */
static const char *reason(struct report *r, const struct failure *f, u8 why)
{
	const char *size = fmt_bytes((char[UNIT_BUF]){}, f->limit);
	const char *other = other_reason(r, f, why);

	if (other)
		return other;
	switch (why) {
	case MAPS_WHY_MAP_COUNT:
		return report_text(r, "vm.max_map_count is reached: %llu mappings", f->limit);
	case MAPS_WHY_AS:
		return report_text(
			r, "RLIMIT_AS, the limit on its address space, is reached: %s", size);
	case MAPS_WHY_DATA:
		return report_text(r, "RLIMIT_DATA is reached: %s", size);
	case MAPS_WHY_MEMLOCK:
		return report_text(
			r, "RLIMIT_MEMLOCK, the limit on locked memory, is reached: %s", size);
	case MAPS_WHY_STRICT:
		return "strict overcommit (vm.overcommit_memory=2): CommitLimit is reached";
	case MAPS_WHY_OBVIOUS:
		return report_text(r,
			"it asks for more at once than memory and swap hold (%s), which "
			"vm.overcommit_memory=0 refuses",
			size);
	case MAPS_WHY_HUGETLB:
		return "the pool has not enough free huge pages";
	}
	return f->limit ? report_text(r,
				  "the limit on tasks of its control group (pids.max) is reached: "
				  "%llu",
				  f->limit)
			: "an unknown limit on tasks is reached";
}

/* "high: …", and what was looked at. */
static const char *limits_rule_confidence(const struct failure *f, u8 why)
{
	switch (why) {
	case MAPS_WHY_STRICT:
		return "medium: no other limit was met";
	case MAPS_WHY_INODES:
		return "medium: inferred from this file system being out of inodes; which one the "
		       "call used was not checked";
	case MAPS_WHY_TERMINALS:
		return "medium: inferred from all pseudo-terminals being in use a moment later; "
		       "which file the call opened was not checked";
	case MAPS_WHY_INSTANCES:
	case MAPS_WHY_WATCHES:
	case MAPS_WHY_EPOLL:
	case MAPS_WHY_ALL_FILES:
	case MAPS_WHY_IPC:
		return "high that it is this kind of limit: this call fails with this error for no "
		       "other reason; its value was not read";
	case MAPS_WHY_TASKS:
	case MAPS_WHY_THREADS:
	case MAPS_WHY_PIDS:
		return f->limit || why != MAPS_WHY_TASKS
			       ? "high: the limit was compared with the task counts after the call "
				 "failed"
			       : "high that calls fail; the limit was not found";
	}
	return "high: the limit was compared with the kernel's numbers when the call failed";
}

struct lines {
	struct report *r;
	struct finding *x;
	int n;
};

static void stack_line(void *arg, const char *text)
{
	struct lines *l = arg;

	if (strcmp(text, "?") && l->n++ < 4)
		finding_line(l->r, l->x->evidence, "%s%s", l->n == 1 ? "at " : "   from ", text);
}

/* As people know it, where it was looked at; else the thread's name. */
static const char *process_name(struct report *r, const struct limits *s,
	const struct failure_key *k, const struct failure *f)
{
	const struct held_both *p = groups_find(&s->held.processes, &f->tgid);
	const char *others = f->others ? " and others of that name" : "";

	if (p && p->last.name)
		return report_text(r, "%s%s", held_name(r, &p->last), others);
	if (stream_task(r->stream, f->tgid, 0))
		return report_text(r, "%s%s", report_process(r, f->tgid), others);
	return report_text(r, "%s (pid %u)%s", k->comm, f->tgid, others);
}

static bool is_unknown(u8 why, const struct failure *f)
{
	return why == MAPS_WHY_TASKS && !f->limit;
}

/* The one limit of a control group on tasks that was met; NULL: none, or several. */
static const struct failure *tasks_only(const struct limits *s)
{
	const struct failure *only = NULL;

	for (size_t i = 0; i < s->failures.n; i++) {
		const struct failure_key *k = groups_key(&s->failures, i);
		const struct failure *f = groups_value(&s->failures, i);

		if (k->why != MAPS_WHY_TASKS || is_unknown(k->why, f))
			continue;
		if (only && only->where != f->where)
			return NULL;
		only = only && only->count >= f->count ? only : f;
	}
	return only;
}

/* Who failed alike and had ended before its groups could be looked at. */
static void tell_alike(struct report *r, struct finding *x, const struct limits *s)
{
	for (size_t i = 0; i < s->failures.n; i++) {
		const struct failure_key *k = groups_key(&s->failures, i);
		const struct failure *f = groups_value(&s->failures, i);

		if (is_unknown(k->why, f))
			finding_line(r, x->evidence,
				"%s fails in %s too, %llu time%s; which limit it hit was not seen, "
				"and no other was hit",
				call_name(f), process_name(r, s, k, f), f->count, plural(f->count));
	}
}

static void limits_rule_tell(struct report *r, const struct limits *s, const struct failure_key *k,
	const struct failure *f)
{
	struct finding *x = report_finding(r, failure_level(f, k->why), "limit-met");
	struct lines lines = {r, x, 0};
	const char *path;
	char a[UNIT_BUF];

	if (!x)
		return;
	x->tgid = f->tgid;
	x->title = report_text(r, "%s fails in %s: %s%s", call_name(f), process_name(r, s, k, f),
		reason(r, f, k->why), limits_holder(r, &s->held, k->why, f));
	x->confidence = limits_rule_confidence(f, k->why);
	if (s->covered_ns)
		finding_line(r, x->evidence,
			"%s %llu time%s in the %.1f s watched of %.1f s (sampled in bursts)",
			strerrorname_np((int)f->error), f->count, plural(f->count),
			(double)s->on_ns / 1e9, (double)s->covered_ns / 1e9);
	else
		finding_line(r, x->evidence, "%s %llu time%s", strerrorname_np((int)f->error),
			f->count, plural(f->count));
	if (limit_is_of_memory(k->why) && facts_known(&s->held.facts, "MemAvailable"))
		finding_line(r, x->evidence, "%s of memory is available",
			fmt_bytes(a, facts_last(&s->held.facts, "MemAvailable")));
	if (f->where && k->why != MAPS_WHY_FULL && k->why != MAPS_WHY_INODES &&
		k->why != MAPS_WHY_TERMINALS)
		finding_line(r, x->evidence, "%s is %llu", held_text(r, f->where), f->limit);
	path = stream_cgroup(r->stream, f->cgroup);
	if (path && strcmp(path, "/") && f->call != MAPS_FORK) /* that of memory */
		finding_line(r, x->evidence, "it runs in cgroup %s", report_cgroup(r, path));
	if (f->asked)
		finding_line(r, x->evidence, "it asks for %s at a time", fmt_bytes(a, f->asked));
	if (f->stack)
		stack_told_lines(r->stream, f->stack, stack_line, &lines);
	if (f == tasks_only(s))
		tell_alike(r, x, s);
	limits_advise(r, x, s, k, f);
}

/* Nobody has made a pool of huge pages, and the program asked once whether there is one: it goes on
 * without. */
static bool is_mere_try(const struct limits *s, u8 why, const struct failure *f)
{
	const struct facts *facts = &s->held.facts;

	return why == MAPS_WHY_HUGETLB && f->times <= 1 && facts_known(facts, "hugepages/2M/nr") &&
	       !facts_last(facts, "hugepages/2M/nr") && !facts_last(facts, "hugepages/1G/nr");
}

static int limits_rule_report(void *v, struct report *r)
{
	const struct limits *s = v;

	for (size_t i = 0; i < s->failures.n; i++) {
		const struct failure_key *k = groups_key(&s->failures, i);
		const struct failure *f = groups_value(&s->failures, i);

		if (!is_mere_try(s, k->why, f) && (!is_unknown(k->why, f) || !tasks_only(s)))
			limits_rule_tell(r, s, k, f);
	}
	return 0;
}

static void limits_rule_reset(void *v)
{
	struct limits *s = v;

	groups_clear(&s->failures);
	s->on_ns = s->covered_ns = 0;
	held_rule_reset(&s->held);
}

static void limits_rule_destroy(void *v)
{
	struct limits *s = v;

	groups_free(&s->failures);
	held_rule_destroy(&s->held);
}

const struct view rule_limits = {
	.size = sizeof(struct limits),
	.init = limits_rule_init,
	.feed = limits_rule_feed,
	.report = limits_rule_report,
	.reset = limits_rule_reset,
	.destroy = limits_rule_destroy,
};
