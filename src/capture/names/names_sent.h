/* What the files names*.c share: what was sent, by content. Private to them.
 */
#ifndef MEMWHY_CAPTURE_NAMES_SENT_H
#define MEMWHY_CAPTURE_NAMES_SENT_H

#include "base/groups.h"
#include "capture/names/names.h"
#include "sym/symbolizer.h"
#include "sys/group/cgroup.h"

struct frame_key {
	u32 space; /* enum frame_space */
	u32 module;
	u64 offset;
	u32 is_return; /* not the innermost frame of its stack: the call is before it */
	u32 tgid;      /* of code without a file, which is another one in each process; else 0 */
};

struct task_key {
	u32 tgid, tid;
};

struct task_value {
	u64 cgroup;
	char comm[COMM_LEN]; /* "": the number belongs to another task now, whose name was not sent
			      */
	u64 gone_at;         /* the drain that found it had ended; 0: it was there */
	u64 asked;           /* the drain, from 1 on, in which /proc was asked for its name */
};

/* Ids of a user and a kernel stack: what they stand for does not change. */
struct stack_pair {
	u32 ustack, kstack;
};

/* An id of a dictionary. */
struct interned {
	u32 id;
	u16 used;  /* the minute (names.minute) in which it was asked for last */
	u16 words; /* of 8 bytes, of the budget of dictionaries */
};

struct names {
	struct sink *sink;
	struct names_options opt;
	struct module_table *modules;
	struct sym_budget budget; /* of all that is read for names, and of the dictionaries */
	struct symbolizer *symbolizer;
	struct perf_maps *perf_maps;
	struct follow *follow;
	struct groups strings; /* 128-bit hash -> struct interned */
	struct groups words;   /* the same of functions and source files; see names_keep */
	u32 last_string, last_frame, last_stack; /* ids that were given */
	u16 minute;    /* of the clock, as of the last drain; wraps */
	u64 forget_ns; /* when it is looked next what is to be forgotten */
	u64 hurried;   /* stacks that were forgotten sooner than names_keep says */
	bool hurried_told;
	struct groups tasks;   /* task_key -> task_value */
	u64 drains;
	u64 followed;      /* the drain, from 1 on, for which events were taken */
	size_t tasks_look; /* with so many, or from then on, it is looked who has ended */
	u64 tasks_look_ns;
	struct groups cgroups; /* id -> struct interned */
	struct groups frames;  /* frame_key -> struct interned */
	struct groups told;    /* string of a path -> hash of the build id that was sent */
	struct groups stacks;  /* 128-bit hash of frame ids -> struct interned */
	struct groups pairs;   /* stack_pair -> id of a stack, the same in every process */
	size_t resolved;       /* frames whose symbols were sent */
	u64 rest_ns;           /* names rest until then */
	u64 unread;            /* modules without names, as who read them died */
	bool other_kernel;
	bool unread_told; /* that from now on no file is read */
	struct cgroup_hierarchy hierarchy;
	struct cgroup_ids cgroup_ids;
	VEC(u64) nameless; /* groups that were not found: looked for with the next walk */
};

int names_put(struct names *n, struct rec *r);
/* After each drain: forgets who ended before the one before it, and says so to the sink. */
int names_tasks_forget(struct names *n);
/* The id of a key in a dictionary: *ret_new when it was not there, and has the next id after *last.
 * bytes: of its record, which the reader of records keeps. 0: no memory, or the budget of
 * dictionaries is used up. */
u32 names_intern(struct names *n, struct groups *g, u32 *last, const void *key, size_t bytes,
	bool *ret_new);
/* Id of the name of a function or a source file, which nothing but symbols means. */
u32 names_word(struct names *n, const char *text);
/* After a drain, once a minute: tells that what was not asked for in names_keep.ns is over.
 */
int names_forget(struct names *n);

#endif
