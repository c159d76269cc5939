/* Shared memory that grows: of one process, or in files that no process was seen to have. */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/processes/processes.h"
#include "rules/held.h"
#include "rules/rules.h"

#define YOUNG_NS (60 * NSEC_PER_SEC)

struct shared {
	struct held held;
	struct shape shmem; /* of the machine */
	struct groups own;  /* tgid -> struct shape: shared memory in it */
};

static u64 shared_grown(const struct held_both *p)
{
	return MAX(
		counter_rise(p->first.shmem_bytes, p->last.shmem_bytes), p->last.shmem_grown_bytes);
}

/* Whose resident shared memory grew most between the two looks. */
static const struct held_both *sharer_find(const struct held *h, u64 *ret_grown)
{
	const struct held_both *most = NULL;

	*ret_grown = 0;
	for (size_t i = 0; i < h->processes.n; i++) {
		const struct held_both *p = groups_value(&h->processes, i);
		u64 grown = shared_grown(p);

		if (grown <= *ret_grown)
			continue;
		*ret_grown = grown;
		most = p;
	}
	return most;
}

/* Files that are told with their file system are no growth of a process; those that were removed
 * from it meanwhile may be. */
static u64 files_grown(const struct held *h)
{
	u64 sum = 0;

	for (size_t i = 0; i < h->files.n; i++) {
		const struct held_files *f = groups_value(&h->files, i);

		sum += MIN(counter_rise(f->first_used_bytes, f->used_bytes),
			held_files_removed(f) ? f->found_bytes : f->used_bytes);
	}
	return sum;
}

/* What processes are seen to have, mapped or as files without a name that they have open: of each
 * the larger, as it may be the same. */
static u64 seen_grown(const struct held *h)
{
	u64 sum = 0;

	for (size_t i = 0; i < h->processes.n; i++) {
		const struct held_both *p = groups_value(&h->processes, i);

		sum += MAX(
			counter_rise(p->first.memfd_bytes, p->last.memfd_bytes), shared_grown(p));
	}
	return sum;
}

/* Who has most of the descriptors that wait in messages. */
static const struct held_both *sender_find(const struct held *h)
{
	const struct held_both *most = NULL;

	for (size_t i = 0; i < h->processes.n; i++) {
		const struct held_both *p = groups_value(&h->processes, i);

		if (p->last.in_flight > (most ? most->last.in_flight : 0))
			most = p;
	}
	return most;
}

static double course_seconds(const struct shared *s)
{
	return MAX((double)(s->shmem.trend.last_ns - s->shmem.trend.first_ns) / 1e9, 0.1);
}

/* Did it rise all the time, and to the end? */
static bool rises(const struct shared *s, const struct shape *shape)
{
	double rate;

	return shape && shape_judge(shape, &rate) == SHAPE_RISING &&
	       shape->trend.last_ns - shape->trend.first_ns >= HELD_COURSE_NS &&
	       shape->trend.last_ns + HELD_GONE_NS >= s->held.last_ns;
}

/* Shared memory that grows, and that no process was seen to have open or mapped. all: that of the
 * machine; of it, by: what is not in files or processes that were seen. */
static void tell_unseen(struct report *r, const struct shared *s, double all, double by)
{
	const struct held *h = &s->held;
	const struct held_both *both = sender_find(h);
	const struct held_process *sender = both ? &both->last : NULL;
	bool sends = both && both->last.in_flight > both->first.in_flight;
	double rate = by / course_seconds(s);
	double left = (double)facts_last(&h->facts, "MemAvailable") / rate, wrote = 0;
	struct finding *x;
	const char *who;
	u32 tgid = 0;
	char a[UNIT_BUF], b[UNIT_BUF];

	/* What others do to the machine's shared memory meanwhile matters less where descriptors
	 * are seen to pile up. */
	if (by < HELD_COURSE_BYTES || !h->totals.processes || h->totals.cut ||
		!(sends || (rises(s, &s->shmem) && by * 2 > all)))
		return;
	who = held_writer(r, h, &s->shmem, &wrote, &tgid);
	x = report_finding(r, left < HELD_SOON_S ? LEVEL_RISK : LEVEL_NOTE, "memfd-files");
	if (!x)
		return;
	if (sends) /* it is known without guessing */
		who = tgid == sender->tgid ? who : NULL;
	x->tgid = who ? tgid : sender ? sender->tgid : 0;
	x->held_bytes = (u64)by;
	x->losses = LOSS_GROUP;
	x->title = report_text(r,
		"Shared memory grows by %s a second in files that no process has open or "
		"mapped%s%s",
		fmt_bytes(a, (u64)rate), who || sender ? ", most likely of " : "",
		who      ? who
		: sender ? held_name(r, sender)
			 : "");
	x->confidence = "high that it grows; who it is follows from what processes wrote and "
			"what waits at their sockets";
	finding_line(r, x->evidence, "Shmem rose by %s in %.0f s, to %s", fmt_bytes(a, (u64)all),
		report_seconds(r), fmt_bytes(b, (u64)s->shmem.trend.last));
	if (by < all * 0.9)
		finding_line(r, x->evidence,
			"%s of that is in no file in tmpfs and in no process that was looked at",
			fmt_bytes(a, (u64)by));
	if (who)
		finding_line(r, x->evidence, "%s wrote %s a second to no disk, about as much", who,
			fmt_bytes(a, (u64)wrote));
	if (sender)
		finding_line(r, x->evidence,
			"%llu descriptors (%llu at first) wait in messages at UNIX sockets of %s: "
			"nobody has them open until they are received",
			sender->in_flight, both->first.in_flight, held_name(r, sender));
	finding_line(r, x->evidence, "at this rate available memory (%s) lasts %s",
		fmt_bytes(a, facts_last(&h->facts, "MemAvailable")), time_left_text(r, left));
	x->why = "A file in memory lives as long as anything refers to it: also a descriptor that "
		 "was sent over a UNIX socket (SCM_RIGHTS) and not received, or a mount that no "
		 "process sees. Closing it in the sender does not free it.";
	if (x->tgid) {
		finding_line(r, x->try_,
			"See which sockets have descriptors in flight, and let their other side "
			"receive, or close them:");
		finding_line(
			r, x->try_, "`grep -H scm_fds /proc/%u/fdinfo/* | grep -v ' 0$'`", x->tgid);
		finding_line(r, x->try_,
			"Where it makes and sends them: `memwhy syscalls --stacks=user --for 10s "
			"-p %u`",
			x->tgid);
	} else {
		finding_line(r, x->try_,
			"See who makes such files: `memwhy syscalls --for 10s | grep -e memfd -e "
			"sendmsg`");
	}
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`grep Shmem: /proc/meminfo`");
}

/* Shared mappings and segments that one process fills all the time. */
static void tell_shared(
	struct report *r, const struct held *h, const struct held_both *p, u64 grown, double rate)
{
	double left = (double)facts_last(&h->facts, "MemAvailable") / rate;
	bool young = p->last.start_ns + YOUNG_NS > p->last.h.time_ns;
	struct finding *x;
	char a[UNIT_BUF], b[UNIT_BUF];

	x = report_finding(r, left < HELD_SOON_S && !young ? LEVEL_RISK : LEVEL_NOTE, "growth");
	if (!x)
		return;
	x->tgid = p->last.tgid;
	x->held_bytes = grown;
	x->title = report_text(r, "%s grows steadily: %s of shared memory a second",
		held_name(r, &p->last), fmt_bytes(a, (u64)rate));
	x->confidence = report_text(r,
		"%s: its shared memory rose all the time, and the machine's with it, but %.0f s "
		"cannot tell a leak from a buffer that fills",
		young ? "low" : "medium", report_seconds(r));
	finding_line(r, x->evidence, "its resident shared memory rose by %s, to %s",
		fmt_bytes(a, grown), fmt_bytes(b, p->last.shmem_bytes));
	finding_line(r, x->evidence, "at this rate available memory (%s) lasts %s",
		fmt_bytes(a, facts_last(&h->facts, "MemAvailable")), time_left_text(r, left));
	x->why = "Memory that is shared (MAP_SHARED, System V and POSIX segments) stays until the "
		 "last process unmaps it, or the segment is removed; without swap it cannot leave "
		 "memory.";
	finding_line(r, x->try_, "See which code touches new pages of which mapping:");
	finding_line(r, x->try_, "`memwhy faults --by mapping --stacks=user --for 30s -p %u`",
		p->last.tgid);
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify,
		"`memwhy check --for 10m -p %u` (longer tells a leak from a buffer)", p->last.tgid);
}

static int own_feed(struct shared *s, const struct process_memory *m)
{
	struct shape *shape;

	if (!(m->h.flags & PROCESS_EXACT) || !m->rss_shmem_bytes)
		return 0;
	shape = groups_get(&s->own, &m->tgid);
	if (!shape)
		return -ENOMEM;
	if (m->h.time_ns > shape->trend.last_ns)
		shape_add(shape, m->h.time_ns, (double)m->rss_shmem_bytes);
	return 0;
}

static int feed(void *v, const struct rec *rec)
{
	const struct system_value *value = (const void *)rec;
	struct shared *s = v;

	if (rec->kind == REC_SYSTEM_VALUE && value->source == SYSTEM_MEMINFO &&
		!strncmp(value->name, "Shmem", sizeof(value->name)) &&
		rec->time_ns > s->shmem.trend.last_ns)
		shape_add(&s->shmem, rec->time_ns, (double)value->value);
	if (rec->kind == REC_PROCESS_MEMORY && own_feed(s, (const void *)rec))
		return -ENOMEM;
	return held_rule_feed(&s->held, rec);
}

static int init(void *v, const struct view_options *o, struct err *err)
{
	struct shared *s = v;

	groups_init(&s->own, sizeof(u32), sizeof(struct shape));
	return held_rule_init(v, o, err); /* its first member */
}

static void reset(void *v)
{
	struct shared *s = v;

	held_rule_reset(&s->held);
	groups_clear(&s->own);
	s->shmem = (struct shape){};
}

static void destroy(void *v)
{
	struct shared *s = v;

	groups_free(&s->own);
	held_rule_destroy(v);
}

/* A process that touches what is there already grows too: only with the machine's it is growth. */
static int report(void *v, struct report *r)
{
	const struct shared *s = v;
	const struct held *h = &s->held;
	double all = s->shmem.trend.last - s->shmem.trend.first, files = (double)files_grown(h);
	const struct held_both *p;
	u64 grown;

	p = sharer_find(h, &grown);
	if (p && grown >= HELD_COURSE_BYTES && (double)grown <= 2 * all &&
		files * 2 <= MAX(all, (double)grown) &&
		((rises(s, &s->shmem) && (double)grown * 2 >= all) ||
			rises(s, groups_find(&s->own, &p->last.tgid))))
		tell_shared(r, h, p, grown, (double)grown / course_seconds(s));
	tell_unseen(r, s, all, all - files - (double)seen_grown(h));
	return 0;
}

const struct view rule_shared_growth = {
	.size = sizeof(struct shared),
	.init = init,
	.feed = feed,
	.report = report,
	.reset = reset,
	.destroy = destroy,
};
