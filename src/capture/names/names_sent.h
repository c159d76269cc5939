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

struct names {
	struct sink *sink;
	struct names_options opt;
	struct module_table *modules;
	struct sym_budget budget; /* of all that is read for names, and of the dictionaries */
	struct symbolizer *symbolizer;
	struct perf_maps *perf_maps;
	struct follow *follow;
	struct groups strings; /* 128-bit hash -> id */
	struct groups tasks;   /* task_key -> task_value */
	u64 drains;
	u64 followed;      /* the drain, from 1 on, for which events were taken */
	size_t tasks_look; /* with so many, or from then on, it is looked who has ended */
	u64 tasks_look_ns;
	struct groups cgroups; /* id -> 1 */
	struct groups frames;  /* frame_key -> id */
	struct groups told;    /* string of a path -> hash of the build id that was sent */
	struct groups stacks;  /* 128-bit hash of frame ids -> id */
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
/* The id of a key in a dictionary: *ret_new when it was not there. bytes: of its record, which the
 * reader of records keeps. 0: no memory, or the budget of dictionaries is used up. */
u32 names_intern(struct names *n, struct groups *g, const void *key, size_t bytes, bool *ret_new);

#endif
