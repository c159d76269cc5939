/* The limit on tasks that a process's control groups set (the pids controller, v1 or v2). */
#ifndef MEMWHY_SYS_PIDS_LIMIT_H
#define MEMWHY_SYS_PIDS_LIMIT_H

#include <limits.h>
#include <stdbool.h>

#include "base/types.h"

struct pids_limit {
	char file[PATH_MAX]; /* of the group that is nearest to its limit: ".../pids.max" */
	u64 max, current;
	u64 refused; /* how often that group or one inside it was refused a task: pids.events */
};

/* Limits on tasks of the whole machine, as the numbers of this moment say. */
enum tasks_limit {
	TASKS_NEITHER,
	TASKS_THREADS, /* kernel.threads-max */
	TASKS_PIDS,    /* kernel.pid_max */
};

/* The path behind the pids controller, or v2's, in the text of /proc/PID/cgroup; v1's first.
 * *ret_v2: which. -ENOENT: none is there; -ENAMETOOLONG. */
int pids_path_parse(const char *text, char ret[PATH_MAX], int *ret_v2);
/* -ENOENT where none of its groups has a limit. */
int pids_limit_read(u32 pid, struct pids_limit *ret);
/* The one of them that is reached, or nearly, and its value; which is 0 for neither. */
enum tasks_limit tasks_machine_limit(u64 *ret);
enum tasks_limit tasks_machine_judge(u64 threads, u64 threads_max, u64 pid_max);

struct tasks_room {
	u64 left;            /* tasks until the limit */
	char name[PATH_MAX]; /* "kernel.pid_max", or a group's file */
};

/* What will be met first as a process starts more: a limit of its groups, or of the machine. False:
 * not known. */
bool tasks_room(u32 pid, struct tasks_room *ret);

#endif
