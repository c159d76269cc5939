/*
 * The processes of a command that are not tracked, and why: found by looking now and then at who
 * its descendants are. One that lives for less than two looks is not found.
 */
#ifndef MEMWHY_PROBES_HEAP_UNTRACKED_H
#define MEMWHY_PROBES_HEAP_UNTRACKED_H

#include "base/vec.h"
#include "capture/capture.h"
#include "capture/preload_check.h"

struct untracked {
	u32 root;             /* the command's process */
	const char *name;     /* of the command */
	enum preload_why why; /* of the command, before it ran */
	u32 looks;
	VEC(struct untracked_process) seen;
};

struct untracked_process {
	u32 pid;
	u32 look;  /* when it was last seen so */
	u32 times; /* looks in a row */
	enum preload_why why;
	char comm[COMM_LEN];
};

/* The command is about to run. */
void untracked_begin(struct untracked *u, const struct capture *c);
/* -ENOMEM */
int untracked_look(struct untracked *u);
/* Notes on what was found. True: there was something to say. */
bool untracked_tell(const struct untracked *u, struct capture *c);
void untracked_free(struct untracked *u);

#endif
