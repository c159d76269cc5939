/*
 * Private to the processes probe: which processes a capture is about. Owns the reading of scope
 * conditions off /proc; keeps no list of processes.
 */
#ifndef MEMWHY_PROBES_PROCESSES_SCOPE_H
#define MEMWHY_PROBES_PROCESSES_SCOPE_H

#include "capture/capture.h"
#include "sys/cgroup.h"
#include "sys/proc.h"

/* To be zeroed before its first use. */
struct processes_scope {
	bool by_task; /* only `roots`, and with follow their descendants */
	bool follow;
	VEC(u32) roots; /* process ids, ascending */
	char comm[COMM_LEN];
	u8 cgroup_version;              /* enum scope_cgroup, of cgroup_path; 0: any cgroup */
	char cgroup_path[2 * PATH_MAX]; /* as in /proc/PID/cgroup */
	struct proc_cgroup membership;
	struct str text;
};

int processes_scope_open(const struct capture *c, struct processes_scope *s);
void processes_scope_free(struct processes_scope *s);
bool processes_scope_has_root(const struct processes_scope *s, u32 pid);
/* Are there conditions that have to be read off each process? */
bool processes_scope_tests(const struct processes_scope *s);
/* Does it have the name, and is it in the cgroup or below? False for a process that is gone. */
bool processes_scope_test(struct processes_scope *s, u32 pid);

#endif
