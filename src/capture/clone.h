/*
 * One program for any event. The object's program is loaded once per requested event, as the type
 * of program that the event takes and with its own read-only data, so that the verifier keeps only
 * the code that this event needs. Works from 5.10 on, where a program attached to several events
 * cannot tell which one it runs for (attach cookies came with 5.15, for raw tracepoints with 6.10),
 * and needs no compiler.
 *
 * The program must be written for this: it passes its context to helpers only. Knows no probe.
 */
#ifndef MEMWHY_CAPTURE_CLONE_H
#define MEMWHY_CAPTURE_CLONE_H

#include "capture/attach.h"

enum clone_how {
	CLONE_RAW,        /* a raw tracepoint: name */
	CLONE_TRACEPOINT, /* a classic one: number is its id */
	CLONE_SOFTWARE,   /* a software event: number is its config */
	CLONE_KPROBE,     /* name is the kernel's function */
	CLONE_FENTRY,     /* the same, without kprobes; needs BTF */
	CLONE_UPROBE,     /* name is a file, number the offset in it */
	CLONE_CALLED,     /* as CLONE_TRACEPOINT, but it is put into the array of programs `name` of
			   * the object, at `number`, for another one of it to go on to */
	CLONE_HOW_N,
};

struct clone_event {
	u8 how;       /* enum clone_how */
	bool returns; /* a probe at the function's return */
	const char *name;
	u64 number;
	u64 hz; /* software events that sample time: how often; 0: each event */
};

/* Section of the program, in its object. */
#define CLONE_SECTION "clone"

/* What clones are made from. */
struct clone_source {
	struct attached *attached;
	const char *prog; /* loaded with the object, attached to nothing (attach_spec.only_load) */
	const char *config; /* the constant that differs */
	size_t config_size;
};

/* Before an object with such a program is opened. */
int clone_prepare(void);
/* Loads and attaches. The error of what failed: of the load, or of attaching. */
int clone_attach(const struct clone_source *src, const struct clone_event *e, const void *config);
/* The two halves of it for CLONE_CALLED, where one program is put at several numbers. The
 * descriptor is the caller's. */
int clone_load(const struct clone_source *src, const struct clone_event *e, const void *config);
int clone_put(const struct clone_source *src, const struct clone_event *e, int prog);

#endif
