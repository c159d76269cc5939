/*
 * Processes that end for want of memory by a signal of their own, though the kernel kills nobody: a
 * heap that met the limit of its runtime (SIGABRT), a stack that is used up (SIGSEGV), a page for
 * which a file system in memory or the pool of huge pages has no room (SIGBUS). Other crashes are
 * none of ours.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "probes/oom/oom.h"
#include "probes/processes/processes.h"
#include "rules/holdings.h"
#include "rules/rules.h"

#define SIGNAL_ABORT 6
#define SIGNAL_BUS 7
#define SIGNAL_SEGV 11
#define BUS_NO_PAGE 2 /* BUS_ADRERR of asm-generic/siginfo.h */
#define HEAP_PART 0.7 /* of what it may have: the rest is kept for the next objects */
#define FULL_PART 0.98
#define AT_STACK (64ULL << 10)  /* one frame */
#define STACK_ROOM (1ULL << 20) /* that the kernel leaves below it */

enum reason { REASON_NONE, REASON_HEAP, REASON_STACK, REASON_THREAD_STACK, REASON_FILES };

struct which {
	u32 reason;
	char comm[COMM_LEN];
};

struct crash {
	struct process_crashed last;
	u64 limit_bytes;
	u32 mount, count;
};

struct crashed {
	struct held held;
	struct groups by;    /* struct which -> struct crash */
	struct groups heaps; /* tgid -> u64: what it was started with allows its heap */
	struct held_files full;
	u64 page_bytes;
	bool pool_empty;
};

static int process_ended_rule_init(void *v, const struct view_options *o, struct err *err)
{
	struct crashed *s = v;

	groups_init(&s->by, sizeof(struct which), sizeof(struct crash));
	groups_init(&s->heaps, sizeof(u32), sizeof(u64));
	return held_rule_init(&s->held, o, err);
}

static bool is_pool_empty(const struct facts *f)
{
	return facts_last(f, "HugePages_Total") && facts_known(f, "HugePages_Free") &&
	       facts_known(f, "HugePages_Rsvd") &&
	       facts_last(f, "HugePages_Free") <= facts_last(f, "HugePages_Rsvd");
}

static enum reason stack_reason(const struct process_crashed *r)
{
	u64 away = r->address > r->stack_pointer ? r->address - r->stack_pointer
						 : r->stack_pointer - r->address;

	if (!r->stack_pointer || away > AT_STACK)
		return REASON_NONE;
	if (r->tid != r->tgid)
		return REASON_THREAD_STACK;
	return r->stack_start > r->address && r->stack_limit != ~0ULL &&
			       r->stack_start - r->address + STACK_ROOM >= r->stack_limit
		       ? REASON_STACK
		       : REASON_NONE;
}

static enum reason reason_of(const struct process_crashed *r, u64 page_bytes, u64 heap_bytes)
{
	u64 bytes = (r->anon_pages + r->swap_pages) * page_bytes;

	if (r->signal == SIGNAL_ABORT)
		return heap_bytes && (double)bytes >= HEAP_PART * (double)heap_bytes ? REASON_HEAP
										     : REASON_NONE;
	if (r->signal == SIGNAL_SEGV)
		return stack_reason(r);
	/* Which of the two is known at the end. */
	return r->signal == SIGNAL_BUS && r->code == BUS_NO_PAGE ? REASON_FILES : REASON_NONE;
}

static int crash_feed(struct crashed *s, const struct process_crashed *r)
{
	const u64 *heap = groups_find(&s->heaps, &r->tgid);
	struct which key = {.reason = reason_of(r, s->page_bytes, heap ? *heap : 0)};
	struct crash *c;

	if (key.reason == REASON_NONE)
		return 0;
	memcpy(key.comm, r->comm, sizeof(key.comm) - 1);
	c = groups_get(&s->by, &key);
	if (!c)
		return -ENOMEM;
	c->last = *r;
	c->count++;
	c->limit_bytes = key.reason == REASON_HEAP ? *heap : r->stack_limit;
	return 0;
}

static int heap_feed(struct crashed *s, const struct process_memory *m)
{
	bool is_wall = m->heap_limit_bytes && !(m->h.flags & PROCESS_SOFT_HEAP);
	u64 *heap = is_wall ? groups_get(&s->heaps, &m->tgid) : NULL;

	if (is_wall && !heap)
		return -ENOMEM;
	if (heap)
		*heap = m->heap_limit_bytes;
	return 0;
}

static int process_ended_rule_feed(void *v, const struct rec *rec)
{
	const struct held_files *f = (const void *)rec;
	struct crashed *s = v;
	int rc = held_rule_feed(&s->held, rec);

	if (rec->kind == REC_HOST)
		s->page_bytes = ((const struct rec_host *)rec)->page_bytes;
	if (rec->kind == REC_SYSTEM_VALUE)
		s->pool_empty |= is_pool_empty(&s->held.facts);
	if (rec->kind == REC_HELD_FILES && f->limit_bytes &&
		(double)f->used_bytes >= FULL_PART * (double)f->limit_bytes)
		s->full = *f;
	if (rec->kind == REC_PROCESS_MEMORY && !rc)
		rc = heap_feed(s, (const void *)rec);
	return rec->kind == REC_PROCESS_CRASHED && !rc ? crash_feed(s, (const void *)rec) : rc;
}

static void heap_tell(struct report *r, struct finding *x, const struct crash *c)
{
	char a[UNIT_BUF];

	x->title = report_text(
		r, "%s, as its heap hit its limit of %s", x->title, fmt_bytes(a, c->limit_bytes));
	finding_line(r, x->evidence, "its start options allow its heap %s",
		fmt_bytes(a, c->limit_bytes));
	x->why = "A runtime whose heap may not grow ends the program, however much memory is free: "
		 "the kernel counts no kill.";
	finding_line(r, x->try_,
		"If it needs that much, start it with a larger heap: --max-old-space-size=%llu "
		"(Node.js), -Xmx%llum (Java)",
		c->limit_bytes * 2 >> 20, c->limit_bytes * 2 >> 20);
	finding_line(r, x->try_,
		"Else find what it keeps: `node --heapsnapshot-near-heap-limit=1` writes a heap "
		"snapshot before it ends (Java: -XX:+HeapDumpOnOutOfMemoryError).");
}

static void stack_tell(struct report *r, struct finding *x, const struct crash *c, bool main)
{
	char a[UNIT_BUF];

	x->title = main ? report_text(r, "%s, as its stack is used up: RLIMIT_STACK is %s",
				  x->title, fmt_bytes(a, c->limit_bytes))
			: report_text(
				  r, "%s, as the stack of one of its threads is used up", x->title);
	finding_line(r, x->evidence, "it touched what lies at the end of its stack pointer, %s",
		main ? "beyond its maximum stack size" : "past that thread's stack");
	x->why = "A stack grows up to a limit, however much memory is free: calls nested too deep, "
		 "or large arrays on it, end the process.";
	finding_line(r, x->try_,
		"See which calls nest, in gdb with the core dump (bt -20): `coredumpctl gdb`");
	if (main)
		finding_line(r, x->try_,
			"If it needs that much, set it where it is started (or LimitSTACK= of its "
			"unit): `ulimit -s %llu`",
			c->limit_bytes * 2 >> 10);
	else
		finding_line(r, x->try_,
			"If it needs that much: pthread_attr_setstacksize() where the thread is "
			"made (Java: -Xss).");
}

static void files_tell(struct report *r, struct finding *x, const struct held_files *full)
{
	char a[UNIT_BUF];

	x->title = report_text(r, "%s, as the tmpfs %s is full: %s", x->title,
		held_place_text(r, held_text(r, full->mount)), fmt_bytes(a, full->limit_bytes));
	finding_line(r, x->evidence, "files in it take %s", fmt_bytes(a, full->used_bytes));
	x->why = "A mapped file takes memory when its pages are first touched. If the file system "
		 "is full then, no call can fail, so the process ends.";
	finding_line(r, x->try_, "Remove what is not needed there, or enlarge it:");
	held_tell_remount(
		r, x->try_, held_text(r, full->mount), "size", full->limit_bytes * 2 / 1024, "k");
	held_tell_remount(
		r, x->undo, held_text(r, full->mount), "size", full->limit_bytes / 1024, "k");
	finding_line(r, x->try_,
		"For a container: a larger --shm-size, or an emptyDir with medium Memory. In the "
		"program: posix_fallocate() fails instead of a touch ending it.");
}

static void pool_tell(struct report *r, struct finding *x, const struct facts *f)
{
	u64 now = facts_last(f, "HugePages_Total");

	x->title = report_text(
		r, "%s, as the pool of huge pages is empty: all %llu are in use", x->title, now);
	finding_line(r, x->evidence, "HugePages_Free was no more than HugePages_Rsvd");
	x->why = "Huge pages that were not reserved when they were mapped (MAP_NORESERVE, or a "
		 "pool of another node) are taken at the first touch, which ends the process if "
		 "none is free.";
	finding_line(r, x->try_, "`sysctl -w vm.nr_hugepages=%llu`", now * 2);
	finding_line(r, x->undo, "`sysctl -w vm.nr_hugepages=%llu`", now);
}

static void process_ended_tell(
	struct report *r, const struct crashed *s, const struct which *k, const struct crash *c)
{
	bool files = k->reason == REASON_FILES;
	bool often = c->count > 1 || k->reason == REASON_HEAP || files;
	struct finding *x = report_finding(r, often ? LEVEL_WARNING : LEVEL_RISK, "process-ended");
	char a[UNIT_BUF];

	if (!x)
		return;
	x->tgid = c->last.tgid;
	x->title = report_text(r, "%s was ended by %s%s", report_process(r, c->last.tgid),
		k->reason == REASON_HEAP ? "itself (SIGABRT)"
		: files                  ? "SIGBUS"
					 : "SIGSEGV",
		c->count > 1 ? report_text(r, ", as were %u of that name", c->count) : "");
	x->confidence = files ? "medium: what was full then is inferred from what is full now"
			      : "high: seen as it ended";
	finding_line(r, x->evidence, "it had %s of anonymous memory",
		fmt_bytes(
			a, (c->last.anon_pages + c->last.swap_pages) * r->stream->host.page_bytes));
	if (k->reason == REASON_HEAP)
		heap_tell(r, x, c);
	else if (!files)
		stack_tell(r, x, c, k->reason == REASON_STACK);
	else if (s->full.h.size)
		files_tell(r, x, &s->full);
	else
		pool_tell(r, x, &s->held.facts);
	if (!x->undo[0])
		finding_line(r, x->undo, "Start it as before.");
	finding_line(r, x->verify, "`memwhy check --for 60s`");
}

static int process_ended_rule_report(void *v, struct report *r)
{
	const struct crashed *s = v;

	for (size_t i = 0; i < s->by.n; i++) {
		const struct which *k = groups_key(&s->by, i);

		/* Else a file that was cut short: no want of memory. */
		if (k->reason != REASON_FILES || s->full.h.size || s->pool_empty)
			process_ended_tell(r, s, k, groups_value(&s->by, i));
	}
	return 0;
}

static void process_ended_rule_reset(void *v)
{
	struct crashed *s = v;

	groups_clear(&s->by);
	s->full = (struct held_files){};
	s->pool_empty = false;
	held_rule_reset(&s->held);
}

static void process_ended_rule_destroy(void *v)
{
	struct crashed *s = v;

	groups_free(&s->by);
	groups_free(&s->heaps);
	held_rule_destroy(&s->held);
}

const struct view rule_process_ended = {
	.size = sizeof(struct crashed),
	.init = process_ended_rule_init,
	.feed = process_ended_rule_feed,
	.report = process_ended_rule_report,
	.reset = process_ended_rule_reset,
	.destroy = process_ended_rule_destroy,
};
