/*
 * The objects in memory and their lifetimes: heap blocks and mappings of every process, from events
 * in the order of time, and which object an address was in at a given time. Memory that is freed
 * and allocated again is another object. Knows no records, no symbols and no nodes' meaning.
 *
 * An object has its number from its birth on. Of objects that have ended, only those that an
 * address was ever found in are kept.
 */
#ifndef MEMWHY_OBJECTS_OBJECTS_H
#define MEMWHY_OBJECTS_OBJECTS_H

#include "base/util.h"

#define OBJECT_NONE 0xffffffffU /* no object; no thread */
#define KERNEL_ADDRESS (1ULL << 63)

enum object_kind {
	OBJECT_UNKNOWN,
	OBJECT_BLOCK,    /* a heap block that was reported */
	OBJECT_HEAP,     /* the brk area, outside of such blocks */
	OBJECT_ANON,     /* an anonymous mapping */
	OBJECT_STACK,    /* of a thread */
	OBJECT_VARIABLE, /* of an ELF file, or of the kernel */
	OBJECT_DATA,     /* a writable mapping of an ELF file, where no variable is known */
	OBJECT_CODE,     /* an executable mapping of a file */
	OBJECT_FILE,     /* another mapping of a file */
	OBJECT_SHMEM,
	OBJECT_HUGETLB,
	OBJECT_VDSO,
	OBJECT_KERNEL, /* all memory of the kernel where no variable is known */
	OBJECT_KINDS,
};

struct object {
	u64 start, bytes; /* where it was last; bytes: the most it had */
	u64 begin_ns;     /* 0: it was there before */
	u64 end_ns;       /* 0: it lives */
	u64 offset;       /* into the file */
	u32 tgid;         /* 0: of the kernel */
	u32 thread;       /* number of the one that made it; of a stack: whose it is */
	u32 freer;        /* thread that freed it; OBJECT_NONE: nobody, or not known */
	u32 stack;        /* id of the code path that made it; 0: not known */
	u32 name, file;   /* ids of texts: of a variable, of a file; 0: none */
	u32 from;         /* the object that it is a fork's copy of; OBJECT_NONE: it is none */
	s16 node;         /* where the thread that made it ran; -1: not known */
	s16 free_node;    /* where the thread that freed it ran */
	u8 kind;          /* enum object_kind */
	u8 prot;          /* 1 read, 2 write, 4 execute */
	u8 shared;
	u8 section; /* of a variable, as its teller says */
	u8 grows;   /* a stack that grows down by itself */
};

/* Who does something, and when. */
struct object_by {
	u64 time_ns;
	u32 tgid;
	u32 thread;
	s16 node;
};

struct objects;

int objects_new(struct objects **ret);
void objects_free(struct objects *o);

/* All return 0 or -ENOMEM. */

/* A mapping: what: kind, start, bytes, and what more is known. It takes the place of what was
 * there. A brk area that goes on where another is, or ends, is the same object. */
int objects_map(struct objects *o, const struct object_by *by, const struct object *what);
/* A mapping that was there before: it is where nothing is known to be. */
int objects_held(struct objects *o, const struct object_by *by, const struct object *what);
/*
 * For a source that knows only the present state and not what was done: a mapping may have been
 * merged with its neighbour or changed its protection (then the objects are as before), or be new.
 */
int objects_now(struct objects *o, const struct object_by *by, const struct object *what);
/* An object that is only partly within the range lives on with the rest. */
int objects_unmap(struct objects *o, const struct object_by *by, u64 start, u64 bytes);
/* mremap: the objects are the same as before, elsewhere. old_bytes 0: a copy. */
int objects_move(struct objects *o, const struct object_by *by, u64 old_start, u64 old_bytes,
	u64 start, u64 bytes);
/* A heap block. One that overlaps it was freed unseen. */
int objects_alloc(struct objects *o, const struct object_by *by, const struct object *what);
int objects_free_block(struct objects *o, const struct object_by *by, u64 address);
/* In place, or where its pages were moved to, it is the same object; else another one. */
int objects_realloc(
	struct objects *o, const struct object_by *by, u64 old, const struct object *what);
/* The child has copies of its parent's objects; those are made when they are found. */
int objects_fork(struct objects *o, const struct object_by *by, u32 parent);
/* Exec, or the end of the process: all of its objects end. */
int objects_drop(struct objects *o, const struct object_by *by);

enum object_found { OBJECT_FOUND, OBJECT_NO_MAPS, OBJECT_NOT_MAPPED };

/* The object at an address at this time: a block, else a mapping. It is kept from now on. */
int objects_find(
	struct objects *o, u32 tgid, u64 address, enum object_found *ret_found, u32 *ret_object);
/* Addresses of one process that will be looked up, or change, soon: looks for their blocks, all at
 * once. n is at most OBJECTS_BATCH. */
#define OBJECTS_BATCH 16U
void objects_expect(struct objects *o, u32 tgid, const u64 *addresses, u32 n);
/* The thread runs with its stack pointer in this mapping: it is its stack. */
void objects_stack_of(struct objects *o, u32 object, u32 thread);
/* An object that no event reports (a variable): it has a number, but is never found by address.
 * OBJECT_NONE: no memory. */
u32 objects_add(struct objects *o, const struct object *what);

u32 objects_count(const struct objects *o); /* numbers are below */
/* false: it is kept no more. */
bool objects_get(const struct objects *o, u32 object, struct object *ret);

#endif
