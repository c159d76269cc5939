/* See block_lookup.h. */
#include "probes/heap/collect/block_lookup.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "probes/heap/collect/ring_reader.h"
#include "probes/heap/residence/fault_events.h"
#include "probes/numa/numa.h"

#define MISSES 4096        /* of a thread, until its next allocation … */
#define FAULTS (1U << 16)  /* … where faults are counted */
#define NODES (1U << 16)   /* moves of threads that are remembered, at least half of it */
#define EARLY (1ULL << 26) /* of the tracker's clock, 0.1 s: no call of an allocator is longer */
#define RESIZES 4U         /* told of, for each block told of: others are told anew */

struct block_lookup *block_lookup_new(block_lookup_buffer *out, u64 least_bytes)
{
	struct block_lookup *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->out = out;
	t->least_bytes = least_bytes;
	groups_init(&t->told, sizeof(u64), sizeof(u8));
	return t;
}

void block_lookup_free_all(struct block_lookup *t)
{
	if (!t)
		return;
	ranges_free(&t->big);
	groups_free(&t->told);
	vec_free(&t->nodes);
	free(t);
}

static bool block_lookup_was_told(const struct block_lookup *t, u64 address)
{
	const u8 *told = groups_find(&t->told, &address);

	return told && *told;
}

static void told_end(struct block_lookup *t, u64 address)
{
	u8 *told = groups_find(&t->told, &address);

	if (told)
		*told = 0;
}

static s16 block_lookup_node_of(u32 plus_one)
{
	return (s16)((s32)plus_one - 1);
}

/* The node a thread ran on then. */
static s16 node_then(const struct block_lookup *t, u32 thread, u64 ms)
{
	size_t low = 0, high = t->nodes.n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (t->nodes.v[mid].ms <= ms)
			low = mid + 1;
		else
			high = mid;
	}
	while (low--)
		if (t->nodes.v[low].thread == thread)
			return block_lookup_node_of(t->nodes.v[low].node);
	return -1;
}

int block_lookup_node(struct ring_reader *c, u32 node, u64 now_ms)
{
	struct block_lookup *t = c->process->touched;

	c->node = node;
	if (t->nodes.n >= NODES) {
		t->nodes.n = NODES / 2;
		memmove(t->nodes.v, t->nodes.v + NODES / 2, NODES / 2 * sizeof(t->nodes.v[0]));
	}
	return vec_push(&t->nodes, ((struct block_lookup_node){now_ms, c->thread, node}));
}

/* What an event of a thread did to a block. */
static int event_tell(struct ring_reader *c, struct block_lookup_block b)
{
	const struct heap_process *p = c->process;

	b.tgid = p->pid;
	b.program = p->program;
	b.tid = c->tid;
	b.node = block_lookup_node_of(c->node);
	return vec_push(p->touched->out, b);
}

/* owner: whose account has it. */
static void block_fill(struct block_lookup_block *b, const struct heap_process *owner,
	const struct account_view *v)
{
	b->what = TOUCHED_HELD;
	b->program = owner->program;
	b->stack = v->stack;
	b->node = owner->touched ? node_then(owner->touched, v->thread, v->begin_ms) : -1;
	b->address = v->address;
	b->bytes = v->bytes;
	b->begin_ns = b->begin_ns ? b->begin_ns : v->begin_ms * NSEC_PER_MSEC;
}

static int held_tell(const struct heap_process *p, const struct heap_process *owner,
	const struct account_view *v, struct block_lookup_block b)
{
	struct block_lookup *t = p->touched;
	u8 *told = groups_get(&t->told, &v->address);

	if (!told)
		return -ENOMEM;
	*told = 1;
	t->resizes_left += RESIZES;
	b.tgid = p->pid;
	b.tid = owner == p ? owner->account.threads.v[v->thread].tid : 0;
	block_fill(&b, owner, v);
	return vec_push(t->out, b);
}

/* What overlaps it was freed unseen. */
static int big_add(struct block_lookup *t, u64 address, u64 bytes)
{
	struct range r;
	int rc = 0;

	while (!rc && ranges_next(&t->big, address, &r) && r.start < address + bytes)
		rc = ranges_remove(&t->big, r.start);
	if (rc || bytes <= ACCOUNT_SMALL || address + bytes < address)
		return rc;
	return ranges_add(&t->big, (struct range){address, address + bytes, 0});
}

/* Was an access in this block, or right beside it? */
static bool is_beside(const struct touch *t, u64 address, u64 bytes)
{
	return t->address + NUMA_BLOCK_EDGE - address < bytes + 2 * NUMA_BLOCK_EDGE;
}

/* The thread's own access to the new block, while it was made: the time of the first; 0: none.
 * Where small blocks are not told of there may have been others since. */
static u64 miss_in(const struct ring_reader *c, u64 address, u64 bytes, u64 ticks)
{
	bool all = !c->process->touched->least_bytes;

	vec_each (m, &c->misses)
		if ((all || ticks < m->ticks + EARLY) && is_beside(m, address, bytes))
			return m->time_ns;
	return 0;
}

/* A block that was told of goes on, here or elsewhere. */
static int resized_tell(struct ring_reader *c, u64 address, u64 bytes, u64 ticks)
{
	struct block_lookup *t = c->process->touched;
	u8 *told;

	told_end(t, c->moved.address);
	told = groups_get(&t->told, &address);
	if (!told)
		return -ENOMEM;
	*told = 1;
	return event_tell(c, (struct block_lookup_block){.what = TOUCHED_RESIZED,
				     .address = address,
				     .bytes = bytes,
				     .old_address = c->moved.address,
				     .ticks = ticks});
}

static int freed_tell(struct ring_reader *c, u64 address, u64 ticks)
{
	told_end(c->process->touched, address);
	return event_tell(c, (struct block_lookup_block){
				     .what = TOUCHED_FREED, .address = address, .ticks = ticks});
}

/* Faults of the call that is about to return the block. */
static int misses_adopt(struct ring_reader *c, u64 address, u64 bytes)
{
	struct residence *r = c->process->residence;
	struct account_view v;
	int rc = 0;

	if (!account_find(&c->process->account, address, &v))
		return 0;
	vec_each (m, &c->misses)
		if (!rc && is_beside(m, address, bytes))
			rc = residence_adopt(r, &m->place, v.stack, m->fault == FAULT_IS_MAJOR);
	return rc;
}

/* realloc's old block, when the new one is there. */
static int moved_tell(struct ring_reader *c, u64 address, u64 bytes, bool copied, u64 ticks)
{
	struct block_lookup *t = c->process->touched;
	u64 old = c->moved.address;
	struct range r;
	int rc = 0;

	if (old != address && ranges_find(&t->big, old, &r) && r.start == old)
		rc = ranges_remove(&t->big, old);
	if (rc || !block_lookup_was_told(t, old))
		return rc;
	if (copied || !t->resizes_left)
		return freed_tell(c, old, ticks);
	t->resizes_left--;
	return resized_tell(c, address, bytes, ticks);
}

/* realloc to nothing: its block was freed, and no other came. */
static int vanished_tell(struct ring_reader *c, u64 ticks)
{
	u64 old = c->moved.address;
	struct account_view v;

	if (!block_lookup_was_told(c->process->touched, old) ||
		account_find(&c->process->account, old, &v))
		return 0;
	return freed_tell(c, old, ticks);
}

int block_lookup_alloc(struct ring_reader *c, u64 address, u64 bytes, bool moved, u64 ticks)
{
	struct block_lookup *t = c->process->touched;
	u64 miss = c->misses.n ? miss_in(c, address, bytes, ticks) : 0, old = c->moved.address;
	struct account_view v;
	int rc = 0;

	/* Nobody told that it was freed. */
	if (block_lookup_was_told(t, address) && !(moved && old == address))
		rc = freed_tell(c, address, ticks);
	if (!rc && moved)
		rc = moved_tell(c, address, bytes, miss && old != address, ticks);
	else if (!rc && old)
		rc = vanished_tell(c, ticks);
	if (!rc && (t->big.n || bytes > ACCOUNT_SMALL))
		rc = big_add(t, address, bytes);
	if (!rc && c->process->residence && c->misses.n)
		rc = misses_adopt(c, address, bytes);
	c->misses.n = 0;
	c->moved.address = 0;
	if (rc || !miss || c->process->residence || block_lookup_was_told(t, address) ||
		!account_find(&c->process->account, address, &v))
		return rc;
	return held_tell(c->process, c->process, &v,
		(struct block_lookup_block){.ticks = ticks, .begin_ns = miss, .early = true});
}

int block_lookup_free(struct ring_reader *c, u64 address, u64 ticks)
{
	struct block_lookup *t = c->process->touched;
	struct range r;
	int rc = 0;

	c->misses.n = 0;
	if (t->big.n && ranges_find(&t->big, address, &r) && r.start == address)
		rc = ranges_remove(&t->big, address);
	return !rc && block_lookup_was_told(t, address) ? freed_tell(c, address, ticks) : rc;
}

/* The block of this account that the address is in. */
static bool block_at(const struct heap_process *p, u64 address, struct account_view *ret)
{
	struct range r;

	if (p->touched && ranges_find(&p->touched->big, address, &r) &&
		account_find(&p->account, r.start, ret))
		return address - ret->address < ret->bytes;
	return account_around(&p->account, address, ret);
}

/* … or that realloc is at. */
static bool moving_at(const struct heap_process *p, u64 address, struct account_view *ret)
{
	vec_each (at, &p->readers) {
		const struct ring_reader *c = *at;

		if (c->moving && account_moved_block(&p->account, &c->moved, ret) &&
			address - ret->address < ret->bytes)
			return true;
	}
	return false;
}

static int miss_add(const struct heap_process *p, u32 tid, const struct touch *touch)
{
	size_t most = p->residence ? FAULTS : MISSES;

	vec_each (c, &p->readers)
		if ((*c)->tid == tid && (*c)->misses.n < most)
			return vec_push(&(*c)->misses, *touch);
	return 0;
}

/* A fault in no block: what the process mapped itself, or what else is there. */
static int place_count(struct heap_process *p, const struct heap_process *parent, u32 tid,
	const struct touch *touch)
{
	struct residence *r = p->residence;
	struct touch t = *touch;
	struct range range;
	int rc;

	if (ranges_find(&p->mappings.ranges, t.address, &range))
		t.place = residence_mapped(&p->mappings, &range);
	else
		t.place = residence_place(r, parent ? parent->residence : NULL,
			p->gone || p->exec_ns ? 0 : p->pid, t.address, t.sp, t.time_ns);
	rc = residence_count(r, &t.place, t.fault == FAULT_IS_MAJOR);
	return rc ? rc : miss_add(p, tid, &t);
}

static int fault_count(struct heap_process *p, const struct heap_process *parent, u32 tid,
	const struct touch *touch, const struct account_view *block)
{
	struct residence_key k = {.what = HEAP_PLACE_BLOCK};
	int rc = residence_stack(p->residence, tid, touch->sp);

	if (rc || !block)
		return rc ? rc : place_count(p, parent, tid, touch);
	k.id = block->stack;
	return residence_count(p->residence, &k, touch->fault == FAULT_IS_MAJOR);
}

int block_lookup_ask_copy(const struct heap_process *had, u64 then_ns,
	struct block_lookup_copy copy, const struct touch *touch, struct groups *told)
{
	struct block_lookup_block b = {.tgid = (u32)copy.tgid, .time_ns = touch->time_ns - 1};
	struct account_view v;
	u8 *was;

	if (!block_at(had, touch->address, &v) || v.begin_ms > then_ns / NSEC_PER_MSEC)
		return 0;
	copy.address = v.address;
	was = groups_get(told, &copy);
	if (!was)
		return -ENOMEM;
	if (*was)
		return 0;
	*was = 1;
	block_fill(&b, had, &v);
	return vec_push(had->touched->out, b);
}

int block_lookup_copies_take(struct heap_process *p, u64 fork_ns, const struct groups *told)
{
	for (size_t i = 0; i < told->n; i++) {
		const struct block_lookup_copy *copy = groups_key(told, i);
		u8 *known;

		if (copy->tgid != p->pid || copy->fork_ns != fork_ns)
			continue;
		known = groups_get(&p->touched->told, &copy->address);
		if (!known)
			return -ENOMEM;
		*known = 1;
		p->touched->resizes_left += RESIZES;
	}
	return 0;
}

int block_lookup_ask(struct heap_process *p, const struct heap_process *parent, u32 tid,
	const struct touch *touch)
{
	u64 ms = touch->time_ns / NSEC_PER_MSEC;
	const struct heap_process *owner = p;
	struct account_view v;
	bool found = block_at(p, touch->address, &v) || moving_at(p, touch->address, &v);

	if (found && p->ahead && v.begin_ms > ms) {
		if (!p->residence)
			return 0; /* what was there before it is not known */
		found = false;
	}
	if (!found && parent && block_at(parent, touch->address, &v) &&
		v.begin_ms <= p->start_ns / NSEC_PER_MSEC) {
		owner = parent;
		found = true;
	}
	if (p->residence)
		return fault_count(p, parent, tid, touch, found ? &v : NULL);
	if (!found)
		return miss_add(p, tid, touch);
	if (block_lookup_was_told(p->touched, v.address))
		return 0;
	return held_tell(p, owner, &v, (struct block_lookup_block){.time_ns = touch->time_ns - 1});
}
