/* Shared memory that grows: of one process, or in files that no process was seen to have; and what
 * there is of the latter. */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/processes/processes.h"
#include "rules/holdings.h"
#include "rules/rules.h"

#define WAIT_MORE 16 /* descriptors: some always come and go */

struct shared {
	struct held held;
	struct shape shmem; /* of the machine */
	struct groups own;  /* tgid -> struct shape: shared memory in it */
	u64 since_ns;       /* the first value of shmem after the first look, … */
	double since_bytes; /* … which is what growth between the looks is held against */
};

static u64 shared_grown(const struct held_both *p)
{
	return MAX(
		counter_rise(p->first.shmem_bytes, p->last.shmem_bytes), p->last.shmem_grown_bytes);
}

/* It was not there at the first look, or had too little to be told. */
static bool is_new(const struct held_both *p)
{
	return p->first.h.time_ns == p->last.h.time_ns;
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

		sum += is_new(p) ? MAX(p->last.memfd_bytes, p->last.shmem_bytes)
				 : MAX(counter_rise(p->first.memfd_bytes, p->last.memfd_bytes),
					   shared_grown(p));
	}
	return sum;
}

static u64 waiting_more(const struct held_both *p)
{
	return is_new(p) ? p->last.in_flight : counter_rise(p->first.in_flight, p->last.in_flight);
}

/* At whose sockets ever more descriptors wait in messages: the kernel counts them at the side that
 * is to receive them. */
static const struct held_both *receiver_find(const struct held *h)
{
	const struct held_both *most = NULL;

	for (size_t i = 0; i < h->processes.n; i++) {
		const struct held_both *p = groups_value(&h->processes, i);

		if (waiting_more(p) >= (most ? waiting_more(most) + 1 : WAIT_MORE))
			most = p;
	}
	return most;
}

/* Did it rise all the time, and to the end? */
static bool rises(const struct shared *s, const struct shape *shape)
{
	double rate;

	return shape && shape_judge(shape, &rate) == SHAPE_RISING &&
	       shape->trend.last_ns - shape->trend.first_ns >= HELD_COURSE_NS &&
	       shape->trend.last_ns + HELD_GONE_NS >= s->held.last_ns;
}

static void unseen_try(struct report *r, struct finding *x, u32 receiver, u32 writer)
{
	if (receiver) {
		finding_line(r, x->try_,
			"Let it receive what waits in its sockets (recvmsg), or close them; to "
			"list them:");
		finding_line(r, x->try_, "`grep -H scm_fds /proc/%u/fdinfo/* | grep -v ' 0$'`",
			receiver);
	}
	if (writer)
		finding_line(r, x->try_,
			"Where they are made and sent: `memwhy syscalls --stacks=user --for 10s "
			"-p %u`",
			writer);
	else
		finding_line(r, x->try_,
			"See who makes such files: `memwhy syscalls --for 10s | grep -e memfd -e "
			"sendmsg`");
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify, "`grep Shmem: /proc/meminfo`");
}

static const char hidden_why[] =
	"A file in memory lives as long as anything refers to it: also a descriptor that was sent "
	"over a UNIX socket (SCM_RIGHTS) and not received, a mount that no process sees any more, "
	"a System V segment of another IPC namespace, or the kernel itself, as for buffers of "
	"graphics.";

/* Shared memory that grows, and that no process was seen to have open or mapped. all: that of the
 * machine; of it, by: what is not in files or processes that were seen. */
static bool tell_unseen(
	struct report *r, const struct shared *s, double all, double by, double seconds)
{
	const struct held *h = &s->held;
	const struct held_both *both = receiver_find(h);
	const char *name = both ? held_name(r, &both->last) : NULL;
	double rate = by / seconds, wrote = 0;
	double left = (double)facts_last(&h->facts, "MemAvailable") / rate;
	struct finding *x;
	const char *who;
	u32 tgid = 0;
	char a[UNIT_BUF], b[UNIT_BUF];

	if (by < HELD_COURSE_BYTES || by * 2 <= all || !(both || rises(s, &s->shmem)) ||
		!held_saw_all(r, h))
		return false;
	who = held_writer(r, h, &s->shmem, &wrote, &tgid);
	x = report_finding(r, left < HELD_SOON_S ? LEVEL_RISK : LEVEL_NOTE, "memfd-files");
	if (!x)
		return false;
	x->tgid = both ? both->last.tgid : tgid;
	x->held_bytes = (u64)by;
	x->losses = LOSS_GROUP;
	x->title = report_text(r,
		"Shared memory grows by %s a second in files that no process has open or mapped%s",
		fmt_bytes(a, (u64)rate),
		name  ? report_text(r, ": %s does not receive them%s%s", name,
                               who && tgid != x->tgid ? ", most likely sent by " : "",
                               who && tgid != x->tgid ? who : "")
		: who ? report_text(r, ", most likely by %s", who)
		      : "");
	x->confidence = "high that it grows; the process is inferred from what processes wrote and "
			"what waits in their sockets";
	finding_line(r, x->evidence, "Shmem rose by %s in %.0f s, to %s", fmt_bytes(a, (u64)all),
		seconds, fmt_bytes(b, (u64)s->shmem.trend.last));
	if (by < all * 0.9)
		finding_line(r, x->evidence,
			"%s of that is in no tmpfs file and in no process that was read",
			fmt_bytes(a, (u64)by));
	if (who)
		finding_line(r, x->evidence, "%s wrote %s a second to no disk, about as much", who,
			fmt_bytes(a, (u64)wrote));
	if (both)
		finding_line(r, x->evidence,
			"%llu descriptors (%llu at first) wait in messages that %s has not "
			"received: no process has them open until then",
			both->last.in_flight, both->last.in_flight - waiting_more(both), name);
	finding_line(r, x->evidence, "at this rate available memory (%s) lasts %s",
		fmt_bytes(a, facts_last(&h->facts, "MemAvailable")), time_left_text(r, left));
	x->why = hidden_why;
	unseen_try(r, x, both ? both->last.tgid : 0, tgid);
	return true;
}

static u64 waiting(const struct held_process *p)
{
	return p->in_flight;
}

/* What there is of it, whether it grows or not. Of whom descriptors wait it cannot be meant to be;
 * else it may be as it should. */
static void tell_hidden(struct report *r, const struct shared *s)
{
	const struct held *h = &s->held;
	u64 all = facts_last(&h->facts, "Shmem"), shown = h->totals.shown_bytes;
	u64 bytes = shown ? counter_rise(shown, all) : 0;
	struct held_top t = held_most_process(h, waiting);
	int level =
		t.most ? held_level_stuck(r, bytes) : MIN(held_level(r, bytes), (int)LEVEL_NOTE);
	const char *name = t.most ? held_name(r, &t.most->last) : NULL;
	struct finding *x;
	char a[UNIT_BUF], b[UNIT_BUF];

	if (level < 0 || !held_saw_all(r, h))
		return;
	x = report_finding(r, level, "memfd-files");
	if (!x)
		return;
	x->tgid = t.most ? t.most->last.tgid : 0;
	x->held_bytes = bytes;
	x->cgroup = facts_cgroup_full_of(&h->facts, BY_SHMEM, bytes);
	x->losses = LOSS_GROUP;
	x->title = report_text(r,
		"%s of shared memory is in files that no process has open or mapped, %s%s%s",
		fmt_bytes(a, bytes), held_share_of(r, &h->facts, x->cgroup, bytes),
		name ? report_text(r, ": %llu descriptor%s wait%s to be received by ", t.bytes,
			       plural(t.bytes), t.bytes == 1 ? "s" : "")
		     : "",
		name ? name : "");
	x->confidence = name ? "medium: high for the amount; that it is in files whose descriptors "
			       "wait in sockets is inferred"
			     : "high for the amount, a lower bound; its owner is not known";
	finding_line(r, x->evidence,
		"Shmem is %s; tmpfs files, segments, unnamed files and shared memory of processes "
		"are at most %s",
		fmt_bytes(a, all), fmt_bytes(b, shown));
	x->why = hidden_why;
	unseen_try(r, x, x->tgid, 0);
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
		"%s: its shared memory rose throughout, and the machine's with it, but %.0f s "
		"cannot tell a leak from a buffer that fills",
		young ? "low" : "medium", report_seconds(r));
	finding_line(r, x->evidence, "its resident shared memory rose by %s, to %s",
		fmt_bytes(a, grown), fmt_bytes(b, p->last.shmem_bytes));
	finding_line(r, x->evidence, "at this rate available memory (%s) lasts %s",
		fmt_bytes(a, facts_last(&h->facts, "MemAvailable")), time_left_text(r, left));
	x->why = "Shared memory (MAP_SHARED, System V and POSIX segments) stays until the last "
		 "process unmaps it, or the segment is removed; without swap it cannot leave "
		 "memory.";
	finding_line(r, x->try_, "See which code touches new pages of which mapping:");
	finding_line(r, x->try_, "`memwhy faults --by mapping --stacks=user --for 30s -p %u`",
		p->last.tgid);
	finding_line(r, x->undo, "Nothing to undo.");
	finding_line(r, x->verify,
		"`memwhy check --for 10m -p %u` (longer distinguishes a leak from a buffer)",
		p->last.tgid);
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

static int shared_growth_rule_feed(void *v, const struct rec *rec)
{
	const struct system_value *value = (const void *)rec;
	struct shared *s = v;

	if (rec->kind == REC_SYSTEM_VALUE && value->source == SYSTEM_MEMINFO &&
		!strncmp(value->name, "Shmem", sizeof(value->name)) &&
		rec->time_ns > s->shmem.trend.last_ns) {
		shape_add(&s->shmem, rec->time_ns, (double)value->value);
		if (s->held.looked_ns && !s->since_ns) {
			s->since_ns = rec->time_ns;
			s->since_bytes = (double)value->value;
		}
	}
	if (rec->kind == REC_PROCESS_MEMORY && own_feed(s, (const void *)rec))
		return -ENOMEM;
	return held_rule_feed(&s->held, rec);
}

static int shared_growth_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct shared *s = v;

	groups_init(&s->own, sizeof(u32), sizeof(struct shape));
	return held_rule_init(v, o, err); /* its first member */
}

static void shared_growth_rule_reset(void *v)
{
	struct shared *s = v;

	held_rule_reset(&s->held);
	groups_clear(&s->own);
	s->shmem = (struct shape){};
	s->since_ns = 0;
}

static void shared_growth_rule_destroy(void *v)
{
	struct shared *s = v;

	groups_free(&s->own);
	held_rule_destroy(v);
}

/* A process that touches what is there already grows too: only with the machine's it is growth. */
static int shared_growth_rule_report(void *v, struct report *r)
{
	const struct shared *s = v;
	const struct held *h = &s->held;
	double all = s->shmem.trend.last - s->since_bytes, files = (double)files_grown(h);
	u64 between_ns = counter_rise(h->looked_ns, h->totals.h.time_ns);
	const struct held_both *p;
	u64 grown;

	/* Growth needs two looks at processes, and what the machine's memory did meanwhile. */
	if (!between_ns || !s->since_ns || s->shmem.trend.last_ns <= s->since_ns) {
		tell_hidden(r, s);
		return 0;
	}
	p = sharer_find(h, &grown);
	if (p && grown >= HELD_COURSE_BYTES && (double)grown <= 2 * all &&
		files * 2 <= MAX(all, (double)grown) &&
		((rises(s, &s->shmem) && (double)grown * 2 >= all) ||
			rises(s, groups_find(&s->own, &p->last.tgid))))
		tell_shared(r, h, p, grown, (double)grown * 1e9 / (double)between_ns);
	if (!tell_unseen(r, s, all,
		    all - files - (double)seen_grown(h) - (double)held_orphans(h).grown_bytes,
		    (double)(s->shmem.trend.last_ns - s->since_ns) / 1e9))
		tell_hidden(r, s);
	return 0;
}

const struct view rule_shared_growth = {
	.size = sizeof(struct shared),
	.init = shared_growth_rule_init,
	.feed = shared_growth_rule_feed,
	.report = shared_growth_rule_report,
	.reset = shared_growth_rule_reset,
	.destroy = shared_growth_rule_destroy,
};
