/*
 * Which processes a capture is about, for samplers of /proc. Owns the reading of scope
 * conditions off /proc; keeps no list of processes.
 */
#ifndef MEMWHY_CAPTURE_PROC_SCOPE_H
#define MEMWHY_CAPTURE_PROC_SCOPE_H

#include "capture/capture.h"
#include "sys/group/cgroup.h"
#include "sys/process/proc.h"

/* To be zeroed before its first use. */
struct proc_scope {
	const struct capture *capture; /* which knows memwhy's own processes; NULL: none are */
	bool by_task;                  /* only `roots`, and with follow their descendants */
	bool follow;
	VEC(u32) roots; /* process ids, ascending */
	char comm[COMM_LEN];
	u8 cgroup_version;              /* enum scope_cgroup, of cgroup_path; 0: any cgroup */
	char cgroup_path[2 * PATH_MAX]; /* as in /proc/PID/cgroup */
	struct proc_cgroup membership;
	struct str text;
};

int proc_scope_open(const struct capture *c, struct proc_scope *s);
void proc_scope_free(struct proc_scope *s);
bool proc_scope_has_root(const struct proc_scope *s, u32 pid);
/* Is it memwhy itself, or a process that works for it? They are left out. */
bool proc_scope_is_self(const struct proc_scope *s, u32 pid);
/* Are there conditions that have to be read off each process? */
bool proc_scope_tests(const struct proc_scope *s);
/* Does it have the name, and is it in the cgroup or below? False for a process that is gone. */
bool proc_scope_test(struct proc_scope *s, u32 pid);

#endif
