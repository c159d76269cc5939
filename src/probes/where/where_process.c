/*
 * The ledger of a process: what is resident of each of its mappings, by kind, from one reading of
 * /proc/PID/smaps; and what its allocator keeps of it.
 */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/greatest.h"
#include "base/groups.h"
#include "probes/where/where_inner.h"
#include "probes/where/where_ledger.h"
#include "sys/heap/managed.h"
#include "sys/heap/process_heap.h"
#include "sys/process/huge_waste.h"
#include "sys/process/maps.h"
#include "sys/process/outside.h"
#include "sys/process/proc.h"
#include "sys/process/smaps.h"
#include "sys/rights.h"
#include "sys/root.h"
#include "sys/scan.h"

#define PROCESSES_MOST 32 /* of a scope: those with most resident memory */
#define OWNERS_MOST 32    /* mappings told of a process */
#define THREADS_MOST 1024
#define SLOW_NS (100 * NSEC_PER_MSEC)
#define ANCESTORS 64
#define STACK_USUAL (8ULL << 20) /* the kernel's default of RLIMIT_STACK */
#define HUGE_LEAST (16ULL << 20)
#define HUGE_SAMPLE 32 /* huge pages that are read */

struct subject {
	u32 pid;
	int task; /* a thread through which its memory is read */
	struct maps maps;
	struct smaps_all rss;
	VEC(u64) stacks; /* where the stack pointers of its threads are */
	u64 stack_most;  /* what one is at most, if the program did not ask for more */
	struct process_heap heap;
	struct managed managed;
	bool refused, cut; /* its memory may not be read; there is more of it than may be */
	bool unread;       /* those before it took all that may be read */
	struct smaps huge;
	struct groups owners; /* struct owner_key -> struct where_owner */
};

struct owner_key {
	u32 row, name;
};

static void subject_free(struct subject *s)
{
	maps_free(&s->maps);
	smaps_all_free(&s->rss);
	vec_free(&s->stacks);
	process_heap_free(&s->heap);
	managed_free(&s->managed);
	smaps_free(&s->huge);
	groups_free(&s->owners);
}

/* "0 0x3 0x7ff… 0x400 … SP PC", "-1 SP PC" or "running". */
static bool stack_pointer_parse(const char *text, u64 *ret)
{
	struct scan s = scan_text(text), word, last = {}, before = {};

	while (scan_word(&s, &word)) {
		before = last;
		last = word;
	}
	return before.p && scan_lit(&before, "0x") && scan_hex(&before, ret);
}

static int stacks_read(struct where *w, struct subject *s)
{
	_cleanup_proc_iter_ struct proc_iter it = {};
	int tid, rc = proc_iter_open_tasks((int)s->pid, &it);
	struct rlimit most;
	u64 sp;

	s->stack_most = STACK_USUAL;
	if (!prlimit((pid_t)s->pid, RLIMIT_STACK, NULL, &most) && most.rlim_cur != RLIM_INFINITY)
		s->stack_most = MAX(s->stack_most, (u64)most.rlim_cur);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	while (!rc && s->stacks.n < THREADS_MOST && proc_iter_next(&it, &tid))
		if (!sys_read(&w->text, "/proc/%u/task/%d/syscall", s->pid, tid) &&
			stack_pointer_parse(str_get(&w->text), &sp))
			rc = vec_push(&s->stacks, sp);
	return rc;
}

/* Before 6.7 the kernel makes one mapping of a stack and a block right above it. */
static bool has_stack(const struct subject *s, const struct mapping *m)
{
	if (m->end - m->start > s->stack_most || managed_is_go(&s->maps, m))
		return false;
	vec_each (sp, &s->stacks)
		if (*sp >= m->start && *sp < m->end)
			return true;
	return false;
}

static bool has_heap(const struct subject *s, const struct mapping *m)
{
	vec_each (h, &s->heap.arenas.heaps)
		if (*h >= m->start && *h < m->end)
			return true;
	return false;
}

static u32 row_of(const struct subject *s, const struct mapping *m)
{
	switch (m->kind) {
	case MAPPING_HEAP:
		return WHERE_HEAP;
	case MAPPING_STACK:
		return WHERE_USER_STACKS;
	case MAPPING_SHMEM:
		return WHERE_SHARED;
	case MAPPING_HUGETLB:
		return WHERE_HUGETLB;
	case MAPPING_VDSO:
		return WHERE_SPECIAL;
	case MAPPING_FILE:
		return WHERE_FILES;
	default:
		return has_heap(s, m)    ? WHERE_ARENAS
		       : has_stack(s, m) ? WHERE_USER_STACKS
					 : WHERE_ANON;
	}
}

/* Mappings of one file are one owner; those of none are told by their addresses. */
static u32 where_process_name_of(
	struct capture *c, const struct subject *s, const struct mapping *m)
{
	char name[64];

	if (m->path[0])
		return names_string(c->names, m->path);
	if (managed_is_go(&s->maps, m) && managed_found(&s->managed, MANAGED_GO))
		return names_string(c->names, "heap of Go");
	snprintf(name, sizeof(name), "%llx-%llx", m->start, m->end);
	return names_string(c->names, name);
}

static int owner_add(
	struct capture *c, struct subject *s, const struct mapping *m, u32 row, u64 bytes)
{
	struct owner_key key = {row, where_process_name_of(c, s, m)};
	struct where_owner *o;

	if (!bytes || !key.name)
		return 0;
	o = groups_get(&s->owners, &key);
	if (!o)
		return -ENOMEM;
	o->bytes += bytes;
	o->count++;
	return 0;
}

static void where_process_row_add(struct where_ledger *l, u32 row, u64 bytes)
{
	where_set(l, row, l->bytes[row] + bytes);
}

/* Pages of a file that the process has written to privately are anonymous. */
static int where_process_mapping_add(struct capture *c, struct subject *s, struct where_ledger *l,
	const struct mapping *m, const struct smaps_rss *v)
{
	u32 row = row_of(s, m);
	u64 own = row == WHERE_FILES ? MIN(v->anon_bytes, v->rss_bytes) : 0;
	int rc = owner_add(c, s, m, WHERE_FILE_PRIVATE, own);

	where_process_row_add(l, WHERE_FILE_PRIVATE, own);
	where_process_row_add(l, row, v->rss_bytes - own);
	l->total_bytes += v->rss_bytes;
	l->parts[WHERE_P_SWAP] += v->swap_bytes;
	l->parts[WHERE_P_PSS] += v->pss_bytes;
	l->parts[WHERE_P_ANON_HUGE] += v->anon_huge_bytes;
	l->parts[WHERE_P_MLOCKED] += v->locked_bytes;
	l->parts[WHERE_P_LAZY_FREE] += v->lazy_free_bytes;
	return rc ? rc : owner_add(c, s, m, row, v->rss_bytes - own);
}

/* What the allocator keeps is a part of its heap. */
static void kept_take(struct where_ledger *l, u32 row, u32 kept_row, u64 kept)
{
	u64 part = MIN(kept, l->bytes[row]);

	where_set(l, kept_row, part);
	where_set(l, row, l->bytes[row] - part);
}

static void where_process_heap_take(const struct subject *s, struct where_ledger *l)
{
	u64 main = 0, others = 0;

	if (!s->heap.found)
		return;
	vec_each (a, &s->heap.arenas.list) {
		main += a->is_main ? a->kept_bytes : 0;
		others += a->is_main ? 0 : a->kept_bytes;
	}
	kept_take(l, WHERE_HEAP, WHERE_HEAP_KEPT, main);
	kept_take(l, WHERE_ARENAS, WHERE_ARENAS_KEPT, others);
}

static int arenas_send(struct capture *c, struct where *w, const struct subject *s)
{
	int rc = 0;

	for (size_t i = 0; i < s->heap.arenas.list.n && !rc; i++) {
		const struct glibc_arena *a = &s->heap.arenas.list.v[i];
		struct where_arena r = REC_INIT(struct where_arena, REC_WHERE_ARENA, 0);

		r.tgid = s->pid;
		r.sample = w->sample;
		r.index = (u32)i;
		r.partial = a->partial;
		r.address = a->address;
		r.heaps = a->heaps;
		r.system_bytes = a->system_bytes;
		r.used_blocks = a->used_blocks;
		r.used_bytes = a->used_bytes;
		r.free_blocks = a->free_blocks;
		r.free_bytes = a->free_bytes;
		r.top_bytes = a->top_bytes;
		r.fast_blocks = a->fast_blocks;
		r.fast_bytes = a->fast_bytes;
		r.cache_blocks = a->cache_blocks;
		r.cache_bytes = a->cache_bytes;
		r.kept_bytes = a->kept_bytes;
		r.trimmable_bytes = a->trimmable_bytes;
		rc = capture_emit(c, &r.h);
	}
	return rc;
}

static int owners_send(struct capture *c, struct where *w, const struct subject *s)
{
	struct top top;
	int rc = 0;

	top_clear(&top, OWNERS_MOST);
	for (size_t i = 0; i < s->owners.n; i++)
		top_offer(&top, ((const struct where_owner *)groups_value(&s->owners, i))->bytes,
			(u32)i);
	for (u32 i = 0; i < top.n && !rc; i++) {
		const struct owner_key *k = groups_key(&s->owners, top.at[i]);
		const struct where_owner *v = groups_value(&s->owners, top.at[i]);
		struct where_owner o = REC_INIT(struct where_owner, REC_WHERE_OWNER, 0);

		o.row = k->row;
		o.name = k->name;
		o.sample = w->sample;
		o.scope = WHERE_PROCESS;
		o.of_tgid = s->pid;
		o.bytes = v->bytes;
		o.count = v->count;
		rc = capture_emit(c, &o.h);
	}
	return rc;
}

static int runtime_send(struct capture *c, struct where *w, const struct subject *s,
	const struct managed_part *p, u32 index)
{
	struct where_runtime r = REC_INIT(struct where_runtime, REC_WHERE_RUNTIME, 0);

	r.tgid = s->pid;
	r.sample = w->sample;
	r.by = p->by;
	r.index = index;
	r.name = names_string(c->names, p->name);
	r.known = p->known | (p->by_mappings ? WHERE_BY_MAPPINGS : 0);
	memcpy(r.bytes, p->bytes, sizeof(p->bytes));
	r.decay_ms = p->decay_ms;
	return capture_emit(c, &r.h);
}

/* Of what is there and was not understood: the mappings without a file. */
static struct managed_part mappings_part(const struct subject *s, u32 by)
{
	struct managed_part p = {.by = by, .name = "all memory without a file"};
	struct mapping_rss at = {};

	while (mapping_rss_next(&s->maps, &s->rss, &at)) {
		if (!mapping_is_plain(at.map))
			continue;
		p.bytes[MANAGED_RESERVED] += at.map->end - at.map->start;
		p.bytes[MANAGED_COMMITTED] += at.rss->rss_bytes;
		p.bytes[MANAGED_KEPT] += at.rss->lazy_free_bytes;
	}
	p.known = 1U << MANAGED_RESERVED | 1U << MANAGED_COMMITTED | 1U << MANAGED_KEPT |
		  WHERE_BY_MAPPINGS;
	return p;
}

static int runtimes_send(struct capture *c, struct where *w, const struct subject *s)
{
	u32 index = 0, found = 0;
	int rc = 0;

	vec_each (p, &s->managed.list) {
		found |= 1U << p->by;
		rc = rc ? rc : runtime_send(c, w, s, p, index++);
	}
	for (u32 i = 0; i < MANAGED_BY && !rc; i++)
		if ((s->managed.seen & ~found) >> i & 1) {
			struct managed_part p = mappings_part(s, i);

			rc = runtime_send(c, w, s, &p, index++);
		}
	return rc;
}

static int heap_tell(struct capture *c, const struct subject *s)
{
	if (s->refused)
		return capture_note(c, NOTE_NOT_CHECKED,
			"what the allocator of process %u keeps: its memory may not be read",
			s->pid);
	if (s->unread)
		return capture_note(c, NOTE_NOT_CHECKED,
			"what the allocator and runtime of process %u keep: memwhy reads at most "
			"%llu GiB of all processes together, and larger ones used that up",
			s->pid, WHERE_LOOK_MOST >> 30);
	if (s->cut)
		return capture_note(c, NOTE_NOT_CHECKED,
			"what the allocator and runtime of process %u keep: memwhy reads at most "
			"%llu GiB of all processes together, and the numbers cover these",
			s->pid, WHERE_LOOK_MOST >> 30);
	if (s->managed.list.n || s->managed.seen)
		return 0;
	if (s->heap.other)
		return capture_note(c, NOTE_INFO,
			"process %u uses %s: what it keeps of freed memory cannot be read from "
			"outside",
			s->pid, s->heap.other);
	if (!s->heap.found)
		return capture_note(c, NOTE_NOT_CHECKED,
			"what the allocator of process %u keeps: no arenas of glibc were found in "
			"it",
			s->pid);
	return 0;
}

/* What of its huge pages is zero; what cannot be read is told with the heap. */
static void huge_fill(const struct subject *s, struct where_ledger *l)
{
	struct waste v = {};

	if (l->parts[WHERE_P_ANON_HUGE] < HUGE_LEAST ||
		waste_estimate(s->task, &s->huge, HUGE_SAMPLE, &v))
		return;
	where_set_part(l, WHERE_P_HUGE_UNUSED, MIN(v.waste_bytes, l->parts[WHERE_P_ANON_HUGE]));
	where_set_part(l, WHERE_P_HUGE_ERROR, v.error_bytes);
	where_set_part(l, WHERE_P_HUGE_GUESS, !v.exact);
}

static int ledger_fill(
	struct capture *c, struct where *w, struct subject *s, struct where_ledger *l)
{
	struct mapping_rss at = {};
	struct proc_status st;
	int rc = 0;

	l->scope = WHERE_PROCESS;
	l->tgid = s->pid;
	l->sample = w->sample;
	if (!proc_label_read(s->pid, &w->label))
		l->name = names_string(c->names, str_get(&w->label));
	while (!rc && mapping_rss_next(&s->maps, &s->rss, &at))
		rc = where_process_mapping_add(c, s, l, at.map, at.rss);
	if (!proc_status_read((int)s->pid, &st))
		where_set_part(l, WHERE_P_PAGE_TABLES, st.vm_pte_bytes);
	where_process_heap_take(s, l);
	if (!rc && c->ending)
		huge_fill(s, l);
	return rc;
}

static int subject_send(struct capture *c, struct where *w, struct subject *s)
{
	struct where_ledger l = REC_INIT(struct where_ledger, REC_WHERE_LEDGER, 0);
	int rc = ledger_fill(c, w, s, &l);

	if (!rc)
		rc = capture_emit(c, &l.h);
	if (!rc)
		rc = owners_send(c, w, s);
	if (!rc)
		rc = arenas_send(c, w, s);
	if (!rc)
		rc = runtimes_send(c, w, s);
	return rc || !c->ending ? rc : heap_tell(c, s);
}

/* What cannot be read is told with the heap. */
static int memory_look(struct where *w, struct subject *s)
{
	_cleanup_outside_ struct outside o = {.pagemap = -1};
	int rc;

	s->refused = outside_open(s->task, &s->maps, w->left, &o) < 0;
	if (s->refused)
		return 0;
	s->unread = !w->left;
	rc = process_heap_read(&o, &s->maps, &s->heap);
	if (!rc)
		rc = managed_read(&o, &s->maps, true, &s->managed);
	w->left = o.left;
	s->cut = o.cut;
	return rc;
}

/* A process that is gone is no error. */
static int where_process_send(struct capture *c, struct where *w, u32 pid)
{
	struct subject s = {.pid = pid, .task = proc_memory_task((int)pid)};
	u64 began = clock_mono_ns(), took;
	int rc = sys_read(&w->text, "/proc/%d/smaps", s.task);

	groups_init(&s.owners, sizeof(struct owner_key), sizeof(struct where_owner));
	took = clock_mono_ns() - began;
	if (!rc)
		rc = maps_parse(str_get(&w->text), &s.maps);
	if (!rc)
		rc = smaps_all_parse(str_get(&w->text), &s.rss);
	if (!rc)
		rc = smaps_parse(str_get(&w->text), &s.huge);
	if (!rc)
		rc = stacks_read(w, &s);
	if (!rc)
		rc = memory_look(w, &s);
	if (!rc)
		rc = subject_send(c, w, &s);
	if (!rc && c->ending && took > SLOW_NS)
		rc = capture_note(c, NOTE_INFO,
			"reading the %zu mappings of process %u took %llu ms; its page faults may "
			"have waited for that",
			s.maps.list.n, pid, took / NSEC_PER_MSEC);
	if ((rc == -EACCES || rc == -EPERM) && c->ending)
		rc = capture_note(
			c, NOTE_NOT_CHECKED, "process %u: its mappings may not be read", pid);
	subject_free(&s);
	return rc == -ENOMEM ? rc : 0;
}

static bool is_within(struct where *w, u32 pid)
{
	if (!w->scope.by_task)
		return true;
	for (u32 i = 0; i < ANCESTORS && pid > 1; i++) {
		struct proc_stat st;

		if (proc_scope_has_root(&w->scope, pid))
			return true;
		if (!w->scope.follow || proc_stat_read((int)pid, &st))
			return false;
		pid = (u32)st.ppid;
	}
	return proc_scope_has_root(&w->scope, pid);
}

/* Kernel threads have no memory of their own, and what has ended has none any more. */
static int root_check(struct where *w, u32 pid, struct err *err)
{
	struct proc_status st;
	int rc = proc_status_read((int)pid, &st);

	if (!rc && !st.has_mm)
		return err_set(err, -EOPNOTSUPP,
			"process %u has no memory of its own: it is a kernel thread, or has ended",
			pid);
	rc = rc ? rc : sys_read_once(&w->text, "/proc/%u/maps", pid);
	if (rc != -EACCES && rc != -EPERM)
		return 0;
	err_errno(err, rc, "process %u: its mappings", pid);
	return rights_over_others_hint(err);
}

int where_processes_open(struct capture *c, struct where *w, struct err *err)
{
	bool any = !w->scope.roots.n || w->scope.follow || c->opt.command;
	struct err first = {};
	int rc = 0;

	vec_each (pid, &w->scope.roots) {
		struct err why = {};
		int bad = root_check(w, *pid, &why);

		any |= !bad;
		if (bad && !first.code)
			first = why;
		if (bad == -EOPNOTSUPP && !rc)
			rc = capture_note(c, NOTE_NOT_CHECKED, "%s", why.msg);
	}
	if (rc || any)
		return rc;
	*err = first;
	return first.code;
}

int where_processes_send(struct capture *c, struct where *w)
{
	_cleanup_proc_iter_ struct proc_iter it = {};
	struct top top;
	int pid, rc = proc_iter_open(&it);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	w->left = WHERE_LOOK_MOST;
	top_clear(&top, PROCESSES_MOST);
	while (proc_iter_next(&it, &pid)) {
		struct proc_statm m;

		if (proc_scope_is_self(&w->scope, (u32)pid) || !is_within(w, (u32)pid) ||
			(proc_scope_tests(&w->scope) && !proc_scope_test(&w->scope, (u32)pid)) ||
			proc_statm_read(pid, &m))
			continue;
		top_offer(&top, m.resident_pages, (u32)pid);
	}
	for (u32 i = 0; i < top.n && !rc; i++)
		rc = where_process_send(c, w, top.at[i]);
	return rc;
}
