/* Private to src/objects: address spaces, and how objects are kept. */
#ifndef MEMWHY_OBJECTS_SPACES_H
#define MEMWHY_OBJECTS_SPACES_H

#include "base/big.h"
#include "base/groups.h"
#include "objects/objects.h"
#include "objects/ranges.h"

/* An object; there may be ten million. kind 0: there is none of this number. */
struct slot {
	u64 start, bytes, begin_ns, end_ns;
	u32 tgid, thread;
	u32 freer; /* without a kind: the next number without one */
	u32 stack;
	u32 extra; /* + 1; 0: none */
	u32 seq;   /* of its birth */
	s8 node, free_node;
	u8 kind;
	bool touched; /* it was found */
};

struct extra {
	u64 live; /* bytes still mapped */
	u64 offset;
	u32 name, file;
	u32 from; /* of one that is not used: the next, + 1 */
	u8 prot, shared, section, grows;
};

/* The values of ranges are objects: the space's own or, in a child of a fork that has not touched
 * them yet, its parent's. */
struct space {
	u32 tgid;
	bool known; /* a mapping was reported */
	struct ranges maps, blocks;
};

/* Blocks that were looked for before they are asked for; they hold while the space's blocks are as
 * they were then. */
struct expected {
	const struct space *space; /* NULL: nothing is */
	u64 changes;
	u32 n, next;
	u64 addresses[OBJECTS_BATCH];
	struct range blocks[OBJECTS_BATCH];
};

struct objects {
	struct groups spaces; /* tgid -> struct space * */
	struct space *last;
	VEC(struct slot) slots; /* big_*() */
	VEC(struct extra) extras;
	u32 spare, spare_extra; /* the first unused: number; number + 1 */
	u32 births;
	u32 fork_births; /* objects born before may be in a fork's memory */
	u32 kernel;      /* the object of all its memory */
	struct expected expected;
};

void space_free(struct space *s);
struct space *space_find(struct objects *o, u32 tgid);
struct space *space_get(struct objects *o, u32 tgid);
/* Takes [start, end) out: blocks that are in it, even in part, end; of mappings this part. */
int space_cut(struct objects *o, struct space *s, const struct object_by *by, u64 start, u64 end);

static inline bool range_good(u64 start, u64 bytes)
{
	return bytes && start + bytes > start;
}

/* The space's own object for what its ranges say: in a child, a copy, made now. OBJECT_NONE: no
 * memory. */
u32 own_object(struct objects *o, struct space *s, const struct range *r);
/* It has that many bytes more. */
void object_extend(struct objects *o, u32 object, u64 bytes);
struct extra *slot_extra(struct objects *o, u32 object);
void slot_end(struct objects *o, u32 object, const struct object_by *by, bool freed);

#endif
