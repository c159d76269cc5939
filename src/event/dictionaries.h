/*
 * The dictionaries of a stream: tables from numbers to the records that name them. Private
 * to the stream. They hold pointers only, and keep their speed whatever numbers they are fed.
 */
#ifndef MEMWHY_EVENT_DICTIONARIES_H
#define MEMWHY_EVENT_DICTIONARIES_H

#include "base/types.h"
#include "base/vec.h"
#include "event/meta.h"

struct id_slot {
	u64 id;
	const void *value; /* NULL: a free slot */
};

/* Most numbers are given in turn: those that are not far beyond what there is are indexes. */
struct id_map {
	const void **low;      /* by id; NULL: not here */
	size_t n_low, set_low; /* room; in use */
	struct id_slot *slots;
	size_t n, cap; /* cap is 0 or a power of two */
	bool hashed;   /* no number is an index: what was set can be taken out again */
};

/* A task as it was named last. */
struct task_entry {
	struct rec_task task;
	bool over;    /* it has ended */
	bool leaving; /* is in stream_names.leaving */
};

#define ENUM_SETS_MAX 64

struct enum_name {
	u64 value;
	const char *name;
};

struct enum_set {
	char set[24];
	struct id_map names;         /* by value: index in `order`, plus 1, as a pointer */
	VEC(struct enum_name) order; /* as they were sent */
};

struct stream_names {
	u64 seed;              /* of the hashes: ids made to collide would need it */
	struct id_map strings; /* const char * */
	struct id_map tasks;   /* struct task_entry, by tgid << 32 | tid */
	struct id_map cgroups; /* const char * */
	struct id_map frames;  /* struct rec_frame */
	struct id_map symbols; /* struct rec_symbol, by frame */
	struct id_map modules; /* struct rec_module, by its path */
	struct id_map stacks;  /* struct rec_stack */
	VEC(struct enum_set) enums;
	/* Tasks that ended, or have another name now: in reports until these are forgotten. */
	VEC(struct task_entry *) leaving;
};

struct stream_names *names_new(void);
void names_free(struct stream_names *names);
/* NULL when there is none. */
const void *names_find(const struct stream_names *names, const struct id_map *map, u64 id);
/* Adds or replaces. -ENOMEM: nothing was changed. */
int names_set(const struct stream_names *names, struct id_map *map, u64 id, const void *value);
/* Takes a number out of a map that is hashed. */
void names_remove(const struct stream_names *names, struct id_map *map, u64 id);

u64 tasks_id(u32 tgid, u32 tid);
/* Adds or replaces the name of a task, or with TASK_OVER notes that it has ended. */
int tasks_feed(struct stream_names *names, const struct rec_task *t);
/* Frees those that leave. */
void tasks_forget(struct stream_names *names);
void tasks_free(struct stream_names *names);

#endif
