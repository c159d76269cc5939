/*
 * The programs of a command that are not tracked, and why, however short they live; and its
 * processes that live on. From the kernel's word on them (lineage.h). Where it gives none, from
 * looking now and then at who the command's descendants are: what lives for less than two looks is
 * not found then.
 */
#ifndef MEMWHY_PROBES_HEAP_COLLECT_UNTRACKED_H
#define MEMWHY_PROBES_HEAP_COLLECT_UNTRACKED_H

#include "base/vec.h"
#include "capture/capture.h"
#include "capture/preload_check.h"
#include "probes/heap/collect/collector.h"
#include "probes/heap/collect/lineage.h"

struct untracked {
	u32 root;             /* the command's process */
	const char *name;     /* of the command */
	enum preload_why why; /* of the command, before it ran */
	u32 looks;
	VEC(struct untracked_process) seen; /* in looks, where there is no lineage */
	struct collector *collector;        /* borrowed */
	struct lineage *lineage;            /* NULL: the kernel does not tell */
	VEC(struct lineage_program) taken;  /* to be judged */
	VEC(struct untracked_programs) programs;
	u64 more;                          /* programs of other names and reasons than are kept */
	VEC(struct lineage_program) alive; /* when it ended … */
	size_t n_alive;                    /* … of these */
};

struct untracked_process {
	u32 pid;
	u32 look;  /* when it was last seen so */
	u32 times; /* looks in a row */
	enum preload_why why;
	char comm[COMM_LEN];
};

/* Programs of one name, untracked for one reason. */
struct untracked_programs {
	u32 pid; /* the last one's */
	u32 n;
	enum preload_why why;
	char comm[COMM_LEN];
};

/* The command is about to run. -errno, and where the kernel does not tell a record that says so. */
int untracked_begin(struct untracked *u, struct capture *c, struct collector *collector);
/* ending: the last time. -ENOMEM */
int untracked_look(struct untracked *u, bool ending);
/* Notes on what was found. True: there was something to say of programs that are not tracked. */
bool untracked_tell(const struct untracked *u, struct capture *c);
void untracked_free(struct untracked *u);

#endif
