/* A record whose time has come: what it does to objects, threads and accesses. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "probes/numa/feed/numa_inner.h"

#define STACK_NEAR (1ULL << 20) /* bytes around a stack pointer that are its stack */
#define RAN_NS 20000000ULL      /* between two numa_ran of a thread */
#define TLS_BLOCK 8192 /* the most that is above a thread pointer in its stack, in whole pages */

static bool kind_size(const struct rec *r, size_t size)
{
	return r->size >= size && !(r->size % sizeof(u64));
}

/* Bounds of what is an index or a range; the rest may be anything. */
bool numa_record_good(const struct rec *r)
{
	switch (r->kind) {
	case REC_NUMA_SAMPLE:
		return kind_size(r, sizeof(struct numa_sample));
	case REC_NUMA_MAP:
		return kind_size(r, sizeof(struct numa_mapping)) &&
		       ((const struct numa_mapping *)r)->bytes < KERNEL_ADDRESS;
	case REC_NUMA_TASK:
		return kind_size(r, sizeof(struct numa_task));
	case REC_NUMA_BLOCK:
		return kind_size(r, sizeof(struct numa_block)) &&
		       ((const struct numa_block *)r)->address < KERNEL_ADDRESS &&
		       ((const struct numa_block *)r)->bytes < KERNEL_ADDRESS;
	case REC_NUMA_VARIABLE:
		return kind_size(r, sizeof(struct numa_variable)) &&
		       ((const struct numa_variable *)r)->bytes < KERNEL_ADDRESS;
	case REC_NUMA_MOVE:
		return kind_size(r, sizeof(struct numa_move));
	case REC_NUMA_THREAD_MOVE:
		return kind_size(r, sizeof(struct numa_thread_move));
	case REC_NUMA_PLACE:
		return kind_size(r, sizeof(struct numa_place)) &&
		       ((const struct numa_place *)r)->bytes < KERNEL_ADDRESS;
	case REC_NUMA_NODE:
		return kind_size(r, sizeof(struct numa_node)) &&
		       ((const struct numa_node *)r)->node < NUMA_NODES;
	case REC_NUMA_CPU:
		return kind_size(r, sizeof(struct numa_cpu));
	default:
		return false;
	}
}

static s8 numa_apply_node_of(s32 node)
{
	return node >= 0 && node < NUMA_NODES ? (s8)node : -1;
}

static u16 squeeze(u64 v)
{
	u32 shift = 0;

	while (v >> shift > 2047)
		shift++;
	return shift > 31 ? 0xffff : (u16)(shift << 11 | v >> shift);
}

/* fresh: a thread of this name ends here, and another one begins. */
static u32 thread_look(struct numa_feed *f, u32 tgid, u32 tid, bool fresh)
{
	u64 name = numa_thread_name(tgid, tid);
	u32 *number = groups_find(&f->thread_numbers, &name);
	struct numa_thread t = {.tgid = tgid, .tid = tid};

	if (number && !(fresh && f->threads.v[*number].end_ns))
		return *number;
	number = groups_get(&f->thread_numbers, &name);
	if (!number || f->threads.n == NUMA_NONE || vec_push(&f->threads, t))
		return NUMA_NONE;
	if (vec_push(&f->thread_stacks, NUMA_NONE))
		return NUMA_NONE;
	*number = (u32)f->threads.n - 1;
	return *number;
}

static u32 thread_number(struct numa_feed *f, u32 tgid, u32 tid, bool fresh)
{
	struct recent_thread *r = &f->recent[tid % RECENT_THREADS];
	u32 number;

	if (r->tgid == tgid && r->tid == tid && r->known && !fresh)
		return r->number;
	number = thread_look(f, tgid, tid, fresh);
	*r = (struct recent_thread){tgid, tid, number, number != NUMA_NONE};
	return number;
}

static int by_of(
	struct numa_feed *f, u64 time_ns, u32 tgid, u32 tid, s32 node, struct object_by *ret)
{
	*ret = (struct object_by){
		.time_ns = time_ns,
		.tgid = tgid,
		.thread = tid ? thread_number(f, tgid, tid, false) : NUMA_NONE,
		.node = numa_apply_node_of(node),
	};
	return tid && ret->thread == NUMA_NONE ? -ENOMEM : 0;
}

static u8 kind_of_mapping(const struct numa_mapping *m)
{
	static const u8 kinds[MAPPING_KINDS] = {
		[MAPPING_UNKNOWN] = OBJECT_ANON,
		[MAPPING_ANON] = OBJECT_ANON,
		[MAPPING_HEAP] = OBJECT_HEAP,
		[MAPPING_STACK] = OBJECT_STACK,
		[MAPPING_FILE] = OBJECT_FILE,
		[MAPPING_SHMEM] = OBJECT_SHMEM,
		[MAPPING_HUGETLB] = OBJECT_HUGETLB,
		[MAPPING_VDSO] = OBJECT_VDSO,
	};
	u8 kind = m->kind < MAPPING_KINDS ? kinds[m->kind] : OBJECT_ANON;

	if (kind != OBJECT_FILE)
		return kind;
	if (m->prot & 4)
		return OBJECT_CODE;
	return m->prot & 2 && !m->shared ? OBJECT_DATA : OBJECT_FILE;
}

static int mapping_apply(struct numa_feed *f, const struct numa_mapping *m)
{
	struct object what = {
		.start = m->start,
		.bytes = m->bytes,
		.offset = m->offset,
		.file = m->file,
		.stack = m->ustack,
		.kind = kind_of_mapping(m),
		.prot = m->prot,
		.shared = m->shared,
		.thread = NUMA_NONE,
		.grows = m->kind == MAPPING_STACK &&
			 (m->what == NUMA_MAP_HELD || m->h.flags & NUMA_MAP_GROWS),
	};
	struct object_by by;
	int rc = by_of(f, m->h.time_ns, m->tgid, m->tid, -1, &by);

	if (what.grows)
		what.thread = thread_number(f, m->tgid, m->tgid, false);
	/* vsyscall is the kernel's. */
	if (rc || m->start >= KERNEL_ADDRESS)
		return rc;
	switch (m->what) {
	case NUMA_MAP_HELD:
		by.thread = NUMA_NONE;
		return objects_held(f->objects, &by, &what);
	case NUMA_MAP_MADE:
		return objects_map(f->objects, &by, &what);
	case NUMA_MAP_NOW:
		return objects_now(f->objects, &by, &what);
	case NUMA_MAP_GONE:
		return objects_unmap(f->objects, &by, m->start, m->bytes);
	case NUMA_MAP_MOVED:
		return objects_move(
			f->objects, &by, m->old_start, m->old_bytes, m->start, m->bytes);
	default:
		f->damaged++;
		return 0;
	}
}

/* The allocator wrote to the block before its call returned: these were taken for accesses to the
 * mapping it is in, which must still be there. */
static void early_adopt(struct numa_feed *f, const struct numa_block *b, u32 thread, u32 block)
{
	for (size_t i = f->accesses.n; i && f->accesses.v[i - 1].time_ns >= b->begin_ns; i--) {
		struct numa_access *a = &f->accesses.v[i - 1];
		struct object o;

		if (a->thread == thread &&
			a->address + NUMA_BLOCK_EDGE - b->address <
				b->bytes + 2 * NUMA_BLOCK_EDGE &&
			objects_get(f->objects, a->object, &o) && o.kind != OBJECT_BLOCK &&
			!o.end_ns)
			a->object = block;
	}
}

static int held_apply(struct numa_feed *f, const struct numa_block *b, struct object_by *by,
	const struct object *what)
{
	enum object_found found;
	u32 block;
	int rc;

	if (b->begin_ns < by->time_ns)
		by->time_ns = b->begin_ns;
	rc = objects_alloc(f->objects, by, what);
	if (rc || !(b->h.flags & NUMA_BLOCK_EARLY))
		return rc;
	rc = objects_find(f->objects, b->tgid, b->address, &found, &block);
	if (!rc && found == OBJECT_FOUND)
		early_adopt(f, b, by->thread, block);
	return rc;
}

static int block_apply(struct numa_feed *f, const struct numa_block *b)
{
	struct object what = {.start = b->address, .bytes = b->bytes, .stack = b->ustack};
	struct object_by by;
	int rc = by_of(f, b->h.time_ns, b->tgid, b->tid, b->cpu_node, &by);

	if (rc)
		return rc;
	switch (b->what) {
	case NUMA_BLOCK_HELD:
		return held_apply(f, b, &by, &what);
	case NUMA_BLOCK_ALLOC:
		return objects_alloc(f->objects, &by, &what);
	case NUMA_BLOCK_FREE:
		return objects_free_block(f->objects, &by, b->address);
	case NUMA_BLOCK_REALLOC:
		return objects_realloc(f->objects, &by, b->old_address, &what);
	default:
		f->damaged++;
		return 0;
	}
}

/* The C library keeps the thread's own block, where the thread pointer points to, at the top of its
 * stack. What goes on beyond is another mapping that the kernel merged with it: which part of it is
 * used how cannot be told, and calling all of it a stack would be wrong. */
static bool is_merged(const struct object *o, u64 tls)
{
	return o->kind == OBJECT_ANON && tls >= o->start && tls - o->start < o->bytes &&
	       o->start + o->bytes - tls > TLS_BLOCK;
}

/* A mapping that an address of a thread's stack lies in is its stack. tls 0: not known. */
static int stack_known(struct numa_feed *f, u32 thread, u64 address, u64 tls)
{
	const struct numa_thread *t = &f->threads.v[thread];
	u32 known = f->thread_stacks.v[thread], object;
	enum object_found found;
	struct object o;
	int rc;

	if (!address || address >= KERNEL_ADDRESS)
		return 0;
	if (known != NUMA_NONE && objects_get(f->objects, known, &o) && !o.end_ns &&
		address >= o.start && address - o.start < o.bytes)
		return 0;
	rc = objects_find(f->objects, t->tgid, address, &found, &object);
	if (rc || found != OBJECT_FOUND)
		return rc;
	f->thread_stacks.v[thread] = object;
	if (!objects_get(f->objects, object, &o) || !is_merged(&o, tls))
		objects_stack_of(f->objects, object, thread);
	return 0;
}

static int task_apply(struct numa_feed *f, const struct numa_task *t)
{
	struct object_by by = {.time_ns = t->h.time_ns, .tgid = t->tgid, .node = -1};
	bool begins = t->what == NUMA_TASK_FORK || t->what == NUMA_TASK_THREAD;
	struct parent *p;

	by.thread = thread_number(f, t->tgid, t->tid, begins);
	if (by.thread == NUMA_NONE)
		return -ENOMEM;
	if (begins)
		f->threads.v[by.thread].begin_ns = t->h.time_ns;
	if (t->what == NUMA_TASK_THREAD_EXIT || t->what == NUMA_TASK_EXIT)
		f->threads.v[by.thread].end_ns = t->h.time_ns;
	switch (t->what) {
	case NUMA_TASK_FORK:
		p = groups_get(&f->parents, &t->tgid);
		if (!p)
			return -ENOMEM;
		*p = (struct parent){t->parent, t->h.time_ns, UINT64_MAX};
		return objects_fork(f->objects, &by, t->parent);
	case NUMA_TASK_EXEC:
		p = groups_find(&f->parents, &t->tgid);
		if (p && t->h.time_ns < p->until_ns)
			p->until_ns = t->h.time_ns;
		return objects_drop(f->objects, &by);
	case NUMA_TASK_EXIT:
		return objects_drop(f->objects, &by);
	case NUMA_TASK_THREAD:
	case NUMA_TASK_HELD:
		return stack_known(f, by.thread, t->stack, t->tls);
	case NUMA_TASK_THREAD_EXIT:
		return 0;
	default:
		f->damaged++;
		return 0;
	}
}

static u8 page_code(u8 shift)
{
	return shift == 12 ? 1 : shift == 21 ? 2 : shift == 30 ? 3 : 0;
}

static bool is_page_from(u8 from)
{
	return from <= NUMA_PAGE_FRAME || from == NUMA_PAGE_LEVEL;
}

/* Written where it stays: read back as a whole it would have to wait for each of its parts. */
static void access_set(struct numa_access *a, const struct numa_sample *s, u32 thread, u32 object,
	enum numa_why why)
{
	a->time_ns = s->h.time_ns;
	a->address = s->address;
	a->object = object;
	a->thread = thread;
	a->stack = s->ustack;
	a->weight_c = squeeze(s->weight ? s->weight : 1);
	a->latency_c = squeeze(s->latency);
	a->cpu = s->cpu >= 0 && s->cpu < 32768 ? (s16)s->cpu : -1;
	a->cpu_node = numa_apply_node_of(s->cpu_node);
	a->page_node = numa_apply_node_of(s->page_node);
	a->flags = (u8)s->h.flags;
	a->op = s->op <= NUMA_FETCH ? s->op : NUMA_OP_UNKNOWN;
	a->level = s->level < NUMA_LEVELS ? s->level : NUMA_LEVEL_UNKNOWN;
	a->source = s->source < NUMA_SOURCES ? s->source : NUMA_SOURCE_UNKNOWN;
	a->from = is_page_from(s->node_from) ? s->node_from : NUMA_PAGE_UNKNOWN;
	a->why = why;
	a->page = page_code(s->page_shift);
}

/* A stack that no mapping tells of (the kernel makes it at exec): what is near its pointer. */
static int stack_make(struct numa_feed *f, const struct numa_sample *s, u32 thread,
	enum object_found *ret_found, u32 *ret_object)
{
	struct object what = {
		.start = (MIN(s->address, s->sp) & ~4095ULL),
		.kind = OBJECT_STACK,
		.thread = thread,
		.node = -1,
		.prot = 3,
		.grows = true,
	};
	struct object_by by = {s->h.time_ns, s->tgid, thread, -1};
	u64 far = MAX(s->address, s->sp) - MIN(s->address, s->sp);
	int rc;

	if (!s->sp || s->sp >= KERNEL_ADDRESS || far > STACK_NEAR)
		return 0;
	what.bytes = (far | 4095) + 1 + 4096;
	rc = objects_held(f->objects, &by, &what);
	return rc ? rc : objects_find(f->objects, s->tgid, s->address, ret_found, ret_object);
}

/* Seldom enough to be few, often enough to follow turns. */
static int ran_apply(struct numa_feed *f, const struct numa_sample *s, u32 thread)
{
	struct numa_thread *t = &f->threads.v[thread];

	if (!s->ran_ns || s->h.time_ns < t->ran_at_ns + RAN_NS)
		return 0;
	t->ran_at_ns = s->h.time_ns;
	return vec_push(&f->runs, ((struct numa_ran){s->h.time_ns, s->ran_ns, thread}));
}

/* The object of an access; why: there is none. */
static int object_of(struct numa_feed *f, const struct numa_sample *s, u32 thread, u32 *ret_object,
	enum numa_why *ret_why)
{
	enum object_found found;
	int rc = stack_known(f, thread, s->sp, 0);

	rc = rc ? rc : objects_find(f->objects, s->tgid, s->address, &found, ret_object);
	if (!rc && found == OBJECT_NOT_MAPPED)
		rc = stack_make(f, s, thread, &found, ret_object);
	*ret_why = found == OBJECT_FOUND     ? NUMA_HAS_OBJECT
		   : found == OBJECT_NO_MAPS ? NUMA_WHY_NO_MAPS
					     : NUMA_WHY_NOT_MAPPED;
	return rc;
}

static int sample_apply(struct numa_feed *f, const struct numa_sample *s, bool late)
{
	u32 thread = thread_number(f, s->tgid, s->tid, false), object = NUMA_NONE;
	enum numa_why why = late ? NUMA_WHY_LATE : NUMA_WHY_NO_ADDRESS;
	int rc = 0;

	if (thread == NUMA_NONE)
		return -ENOMEM;
	if (!late && s->address)
		rc = object_of(f, s, thread, &object, &why);
	if (!rc && !late)
		rc = ran_apply(f, s, thread);
	rc = rc ? rc : big_reserve(&f->accesses, 1);
	if (rc)
		return rc;
	f->unattributed[why] += why != NUMA_HAS_OBJECT;
	if (f->accesses.n < NUMA_NONE)
		access_set(&f->accesses.v[f->accesses.n++], s, thread, object, why);
	return 0;
}

static int move_apply(struct numa_feed *f, const struct numa_move *m)
{
	struct numa_moved v = {
		.time_ns = m->h.time_ns,
		.object = NUMA_NONE,
		.pages = (u32)MIN(m->pages, (u64)0xffffffff),
		.failed = (u32)MIN(m->failed, (u64)0xffffffff),
		.from = numa_apply_node_of(m->from),
		.to = numa_apply_node_of(m->to),
		.why = m->why <= NUMA_MOVE_OTHER ? m->why : NUMA_MOVE_UNKNOWN,
	};
	enum object_found found;
	int rc = 0;

	v.thread = thread_number(f, m->tgid, m->tid, false);
	if (m->address)
		rc = objects_find(f->objects, m->tgid, m->address, &found, &v.object);
	return rc ? rc : vec_push(&f->page_moves, v);
}

static int thread_move_apply(struct numa_feed *f, const struct numa_thread_move *m)
{
	struct numa_moved v = {
		.time_ns = m->h.time_ns,
		.object = NUMA_NONE,
		.thread = thread_number(f, m->tgid, m->tid, false),
		.from = numa_apply_node_of(m->from_node),
		.to = numa_apply_node_of(m->to_node),
	};

	return vec_push(&f->thread_moves, v);
}

static int place_apply(struct numa_feed *f, const struct numa_place *p)
{
	struct numa_placed v = {
		.time_ns = p->h.time_ns,
		.start = p->start,
		.bytes = p->bytes,
		.pages = p->pages,
		.tgid = p->tgid,
		.object = NUMA_NONE,
		.page_bytes = p->page_bytes,
		.node = numa_apply_node_of(p->node),
		.sum = p->h.flags & NUMA_PLACE_SUM,
	};
	enum object_found found;
	int rc = objects_find(f->objects, p->tgid, p->start, &found, &v.object);

	return rc ? rc : vec_push(&f->places, v);
}

int numa_apply(struct numa_feed *f, const struct rec *r, bool late)
{
	f->late += late && r->kind != REC_NUMA_SAMPLE;
	switch (r->kind) {
	case REC_NUMA_SAMPLE:
		return sample_apply(f, (const void *)r, late);
	case REC_NUMA_MAP:
		return mapping_apply(f, (const void *)r);
	case REC_NUMA_TASK:
		return task_apply(f, (const void *)r);
	case REC_NUMA_BLOCK:
		return block_apply(f, (const void *)r);
	case REC_NUMA_MOVE:
		return move_apply(f, (const void *)r);
	case REC_NUMA_THREAD_MOVE:
		return thread_move_apply(f, (const void *)r);
	case REC_NUMA_PLACE:
		return place_apply(f, (const void *)r);
	default:
		return 0;
	}
}
