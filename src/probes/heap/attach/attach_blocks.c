/* See attach_blocks.h. */
#include "probes/heap/attach/attach_blocks.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "capture/names/names.h"
#include "probes/heap/attach/heap_attach.h"
#include "probes/numa/numa.h"

#define BATCH 4096
#define ACCESSES (1U << 20) /* that wait for a look */

/* A block that was told of. */
struct attached_told {
	u64 time_ns; /* when it was allocated; 0: it is no more */
	u64 address;
	u64 seen_ns; /* the last look that found it */
	u32 tgid, reserved;
};

static int accessed(void *arg, u32 tgid, u32 tid, u64 address, u64 time_ns)
{
	struct attached_blocks *b = arg;

	(void)tid;
	b->n_accesses++;
	vec_each (p, &b->heap->processes)
		if (p->pid == tgid && b->accesses.n < ACCESSES)
			return vec_push(&b->accesses,
				((struct attached_access){address, time_ns, p->number}));
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct attached_access *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* The first access of the process at or above an address. */
static size_t access_from(const struct attached_blocks *b, u32 process, u64 address)
{
	size_t low = 0, high = b->accesses.n;
	struct attached_access key = {address, 0, process};

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (by_address(&b->accesses.v[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int free_send(struct capture *c, const struct attached_told *t, u64 time_ns)
{
	struct numa_block r = REC_INIT(struct numa_block, REC_NUMA_BLOCK, time_ns);

	r.tgid = t->tgid;
	r.address = t->address;
	r.cpu_node = -1;
	r.what = NUMA_BLOCK_FREE;
	return capture_emit(c, &r.h);
}

static int attach_blocks_held_send(struct attached_blocks *b, struct capture *c,
	const struct heap_block *block, u64 address, u64 time_ns)
{
	struct numa_block r = REC_INIT(struct numa_block, REC_NUMA_BLOCK, time_ns - 1);
	struct stack_maps stacks = {
		.stacks = attach_map(b->attached, "stacks"),
		.user_stacks = attach_map(b->attached, "user_stacks"),
	};

	r.tgid = b->heap->processes.v[block->site.process].pid;
	r.tid = (u32)(block->thread >> 32);
	r.address = address;
	r.bytes = block->size;
	r.begin_ns = block->time_ns;
	r.cpu_node = -1;
	r.what = NUMA_BLOCK_HELD;
	r.ustack = heap_site_stack(c, &stacks, &block->site, r.tgid);
	return capture_emit(c, &r.h);
}

/* Tells of a block that was accessed. Another one that was at its address was freed before. */
static int block_tell(struct attached_blocks *b, struct capture *c, u64 key,
	const struct heap_block *block, u64 address, u64 time_ns)
{
	struct attached_told *t = groups_get(&b->told, &key);
	int rc = 0;

	if (!t)
		return -ENOMEM;
	if (t->time_ns == block->time_ns)
		return 0;
	if (t->time_ns)
		rc = free_send(c, t, block->time_ns - 1);
	rc = rc ? rc : attach_blocks_held_send(b, c, block, address, time_ns);
	*t = (struct attached_told){block->time_ns, address, b->looked_ns,
		b->heap->processes.v[block->site.process].pid, 0};
	return rc;
}

static int attach_block_look(
	struct attached_blocks *b, struct capture *c, u64 key, const struct heap_block *block)
{
	u64 address = HEAP_BLOCK_KEY(block->site.process, key), first = 0;
	struct attached_told *t = groups_find(&b->told, &key);

	if (block->site.process >= b->heap->processes.n)
		return 0;
	if (t && t->time_ns == block->time_ns)
		t->seen_ns = b->looked_ns;
	for (size_t i = access_from(b, block->site.process, address); i < b->accesses.n; i++) {
		const struct attached_access *a = &b->accesses.v[i];

		if (a->process != block->site.process || a->address - address >= block->size)
			break;
		if (a->time_ns < block->time_ns)
			continue;
		b->n_found++;
		first = first ? MIN(first, a->time_ns) : a->time_ns;
	}
	return first ? block_tell(b, c, key, block, address, first) : 0;
}

static int blocks_look(struct attached_blocks *b, struct capture *c)
{
	_cleanup_free_ struct heap_block *blocks = calloc(BATCH, sizeof(*blocks));
	_cleanup_free_ u64 *keys = calloc(BATCH, sizeof(*keys));
	int map = attach_map(b->attached, "heap_live"), end = 0, rc = 0;
	u64 at = 0, *from = NULL;

	if (!blocks || !keys)
		return -ENOMEM;
	while (!end && !rc) {
		u32 n = BATCH;

		end = bpf_map_lookup_batch(map, from, &at, keys, blocks, &n, NULL) ? -errno : 0;
		if (end && end != -ENOENT)
			return end;
		for (u32 i = 0; i < n && !rc; i++)
			rc = attach_block_look(b, c, keys[i], &blocks[i]);
		from = &at;
	}
	return rc;
}

/* What is no longer there was freed since the look before: from then on nothing is said to be it.
 */
static int gone_tell(struct attached_blocks *b, struct capture *c)
{
	int rc = 0;

	for (size_t i = 0; i < b->told.n && !rc; i++) {
		struct attached_told *t = groups_value(&b->told, i);

		if (!t->time_ns || t->seen_ns == b->looked_ns)
			continue;
		rc = free_send(c, t, t->seen_ns + 1);
		t->time_ns = 0;
	}
	return rc;
}

/* As struct blocks says; accesses are answered as soon as they are known. */
static int attach_blocks_settle(struct capture *c, void *arg, u64 time_ns)
{
	struct attached_blocks *b = arg;
	const char *asker = c->probe;
	void *state = c->state;
	int rc = 0;

	(void)time_ns;
	if (!b->accesses.n)
		return 0;
	c->probe = "heap";
	c->state = b->heap;
	b->looked_ns = clock_mono_ns();
	qsort(b->accesses.v, b->accesses.n, sizeof(b->accesses.v[0]), by_address);
	rc = blocks_look(b, c);
	rc = rc ? rc : gone_tell(b, c);
	b->accesses.n = 0;
	c->probe = asker;
	c->state = state;
	return rc;
}

void attached_blocks_begin(
	struct attached_blocks *b, struct capture *c, struct heap_attach *h, struct attached *a)
{
	if (!c->blocks_wanted)
		return;
	groups_init(&b->told, sizeof(u64), sizeof(struct attached_told));
	b->heap = h;
	b->attached = a;
	b->face = (struct blocks){.arg = b, .touched = accessed, .settle = attach_blocks_settle};
	c->blocks = &b->face;
}

void attached_blocks_tell(const struct attached_blocks *b, struct capture *c)
{
	if (b->n_accesses)
		capture_note(c, NOTE_INFO,
			"of %llu accesses %llu were in heap blocks allocated since memwhy "
			"attached; older blocks, and those freed within a second, count as [heap] "
			"or as their mapping",
			b->n_accesses, b->n_found);
}

void attached_blocks_free(struct attached_blocks *b)
{
	vec_free(&b->accesses);
	groups_free(&b->told);
}
