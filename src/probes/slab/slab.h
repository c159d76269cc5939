/* Slab caches: what the BPF programs, the probe, its view and the rules agree on; the records. */
#ifndef MEMWHY_PROBES_SLAB_H
#define MEMWHY_PROBES_SLAB_H

#include "bpf/shared.h"

#define SLAB_CACHE_NAME_LEN 64
/* Caches that rules look for by name. */
#define SLAB_EPOLL_NAME "eventpoll_epi"
#define SLAB_INOTIFY_NAME "inotify_inode_mark"
#define SLAB_KEYS_NAME "key_jar"
#define SLAB_LOCKS_NAME "file_lock_cache"
#define SLAB_NETNS_NAME "net_namespace"
#define SLAB_LARGE_NAME "(large)" /* blocks of kmalloc that are in no cache; slab_usage.name */
#define SLAB_EVENTS "slab allocations and frees" /* the data of its hook, as REC_METHOD names it \
						  */

/* Which tracepoint. On disk. The _NODE ones were merged into the others in 6.1. */
enum slab_event {
	SLAB_KMALLOC,
	SLAB_KMALLOC_NODE,
	SLAB_CACHE_ALLOC,
	SLAB_CACHE_ALLOC_NODE,
	SLAB_KFREE,
	SLAB_CACHE_FREE,
	SLAB_EVENT_N,
};

/* On disk. */
enum slab_flags {
	SLAB_NOTHING = 1, /* an allocation that failed, or the free of a NULL pointer */
	SLAB_LARGE = 2,   /* too large for a cache: whole pages */
	SLAB_TRACKED = 4, /* a free: the allocation was seen (live tracking) */
	SLAB_CHARGED = 8, /* an allocation: charged to the control group */
};

#define SLAB_NODE_ANY (-1)

struct slab_config {
	u8 live;      /* objects are followed from allocation to free */
	u8 tasks;     /* count by process, with its comm and cgroup */
	u8 slots;     /* there are slots: no key has more than SLAB_SLOT_KEY bytes that are not 0 */
	u8 ages;      /* with live, for leak: lifetimes; keys no finer than it shows */
	u8 no_stacks; /* whatever the scope says: call sites are sent anyway */
	u8 reserved[3];
	u64 vmemmap, page_offset; /* addresses of the kernel's vmemmap_base, page_offset_base; 0:
				   * not known */
};

/* Key of the table of events. */
struct slab_key {
	u64 call_site;
	u64 cache; /* struct kmem_cache *; 0: kmalloc, see slab_value.cache, or not known */
	u32 bytes; /* kmalloc: allocated to the object; else 0 */
	u32 gfp;   /* of an allocation */
	u8 event;  /* enum slab_event */
	u8 flags;
	s16 node; /* that was asked for; SLAB_NODE_ANY */
	u32 kstack;
	u32 ustack;
	u32 tgid, tid; /* 0 unless config.tasks, scope.by_thread */
	u32 reserved;
};

struct slab_value {
	u64 count;
	u64 requested; /* bytes */
	u64 squares;   /* of what was requested: tells whether all were of one size */
	/* The objects allocated under this key, with live tracking: */
	u64 freed;
	u64 untracked; /* no room: what becomes of them is not known */
	/* Read once, when the key was first seen on a CPU: */
	u64 described;
	u32 object_bytes, slot_bytes; /* of the cache: asked for, and with padding */
	u32 flags;                    /* SLAB_CHARGED, SLAB_LARGE */
	u32 reserved;
	u64 cgroup;
	char comm[COMM_LEN];
	char cache[AGG_NAME_LEN];
};

/* An object that is followed. */
struct slab_object {
	struct slab_key key; /* it was counted under */
	u32 slot;            /* ... or in this slot, plus one; 0: in none */
	u32 bytes;           /* allocated; 0: as much as its cache gives */
	u32 requested;
	u16 cpu, node;
	u64 time_ns; /* with config.ages: of the allocation */
};

/* The frequent keys of one program on one CPU (table.h): a cache line each. */
#define SLAB_SLOT_KEY 32
#define SLAB_SLOT_SUMS 4
#define SLAB_SLOTS_EACH 512 /* of a program and CPU */
#define SLAB_SLOTS_CPU (8 * SLAB_SLOTS_EACH)

struct slab_slot {
	u64 key[SLAB_SLOT_KEY / 8];
	u64 count, requested, squares, freed; /* as slab_value */
};

/* A free on another CPU than the allocation's; with live tracking. */
struct slab_crossing_key {
	u16 from_cpu, to_cpu;
	u16 from_node, to_node;
};

struct slab_crossing_value {
	u64 count;
	u64 bytes; /* allocated */
};

/*
 * On disk: one cache of kernel objects: sent at the start, every five seconds and at the end, for
 * the biggest caches and those that grew. Caches that the kernel merged have one name for all.
 */
#define SLAB_USAGE_FIELDS(F, R)                                                                 \
	F(R, u64, active_objects, COUNT, "objects in use, or free on a slab that a cpu holds")  \
	F(R, u64, objects, COUNT, "objects, in use or free")                                    \
	F(R, u64, object_bytes, BYTES, "of one, with padding")                                  \
	F(R, u64, slabs, COUNT, "slabs")                                                        \
	F(R, u64, bytes, BYTES, "pages of all slabs")                                           \
	F(R, u64, first_bytes, BYTES, "bytes at the start; 0 for a cache made since")           \
	F(R, u64, first_active_objects, COUNT, "active_objects at the start")                   \
	F(R, char[SLAB_CACHE_NAME_LEN], name, NONE, "cache; merged ones have one name for all") \
	F(R, u64, used_bytes, BYTES, "of one object, without padding; 0: not known")            \
	F(R, u64, held_slabs, COUNT, "slabs that CPUs hold")                                    \
	F(R, u32, aliases, COUNT, "caches merged into this one")                                \
	F(R, u32, reclaimable, COUNT, "1: given back when memory is short")                     \
	F(R, char[SLAB_CACHE_NAME_LEN], also, NONE,                                             \
		"of the caches merged into this one, that which rules look for")
RECORD(slab_usage, SLAB_USAGE_FIELDS);

/* On disk: what was counted for one key since the last record of it. */
#define SLAB_AGG_FIELDS(F, R)                                                                     \
	F(R, u32, tgid, ID, "process; 0: not counted by process")                                 \
	F(R, u32, tid, ID, "thread; 0: not counted by thread")                                    \
	F(R, u32, stack, STACK, "code path")                                                      \
	F(R, u32, site, ID, "frame of the call of the allocator")                                 \
	F(R, u32, gfp, HEX, "allocation flags (enum gfp)")                                        \
	F(R, u32, bytes, BYTES, "allocated to one object, with padding; 0: not known")            \
	F(R, u32, object_bytes, BYTES,                                                            \
		"of one object of the cache, without padding; 0: kmalloc, see requested")         \
	F(R, s32, node, ID, "NUMA node asked for; -1: any")                                       \
	F(R, u8, event, ID,                                                                       \
		"0 kmalloc, 1 kmalloc_node, 2 kmem_cache_alloc, 3 kmem_cache_alloc_node, 4 "      \
		"kfree, 5 kmem_cache_free")                                                       \
	F(R, u8, flags, HEX,                                                                      \
		"1 failed, or of a NULL pointer; 2 whole pages; 4 free of an object whose "       \
		"allocation was seen; 8 charged to the control group")                            \
	F(R, u8[6], reserved, HIDDEN, "")                                                         \
	F(R, u64, count, COUNT, "events")                                                         \
	F(R, u64, requested, BYTES, "asked of kmalloc")                                           \
	F(R, u64, squares, COUNT, "sum of the squares of what was asked of kmalloc, modulo 2^64") \
	F(R, u64, freed, COUNT,                                                                   \
		"objects allocated so that were freed since the last record (live tracking)")     \
	F(R, u64, untracked, COUNT, "objects that could not be followed: the table was full")     \
	F(R, u64, cgroup, CGROUP, "control group of the task")                                    \
	F(R, char[COMM_LEN], comm, NONE, "thread name")                                           \
	F(R, char[AGG_NAME_LEN], cache, NONE, "name of the cache; none: not known, or whole pages")
RECORD(slab_agg, SLAB_AGG_FIELDS);

#define SLAB_CROSSING_FIELDS(F, R)                    \
	F(R, u32, from_cpu, ID, "CPU that allocated") \
	F(R, u32, to_cpu, ID, "CPU that freed")       \
	F(R, u32, from_node, ID, "its NUMA node")     \
	F(R, u32, to_node, ID, "its NUMA node")       \
	F(R, u64, count, COUNT, "objects")            \
	F(R, u64, bytes, BYTES, "allocated to them")
RECORD(slab_crossing, SLAB_CROSSING_FIELDS);

/* The key that objects are counted by: what they have in common. */
struct slab_who {
	u32 tgid, tid; /* 0: not counted by process, by thread */
	u32 stack;
	u32 site;
	u32 bytes; /* allocated to one; 0: not known */
	u32 flags; /* SLAB_LARGE */
	char cache[AGG_NAME_LEN];
};

#define SLAB_AGE_SLOTS 40 /* of a log2 histogram: slot i is 2^(i-1) to 2^i ns */

/* Objects of one kind that were allocated since the start and are not freed. All records of one
 * look have one time, and replace those before. */
struct slab_held {
	struct rec h;
	struct slab_who who;
	u64 count;
	u64 old; /* of these, older than slab_follow.old_ns */
	u64 oldest_ns;
	u32 hist[SLAB_AGE_SLOTS];
};

#define SLAB_LIVES_EVERY 8

/* How long freed objects had lived, since the last such record: of one in SLAB_LIVES_EVERY. */
struct slab_lifetime {
	struct rec h;
	struct slab_who who;
	u64 count;
	u64 total_ns;
	u64 max_ns; /* since the start */
	u32 hist[SLAB_AGE_SLOTS];
};

/* A look at the objects that are followed: before its REC_SLAB_HELD. */
#define SLAB_FOLLOW_FIELDS(F, R)                               \
	F(R, u64, held, COUNT, "objects followed now")         \
	F(R, u64, room, COUNT, "that can be, at most")         \
	F(R, u64, old_ns, NS, "two thirds of the time so far") \
	F(R, u64, lifetimes_full, COUNT, "frees whose lifetime found no room, since the start")
RECORD(slab_follow, SLAB_FOLLOW_FIELDS);

#endif
