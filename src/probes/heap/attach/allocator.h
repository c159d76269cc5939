/*
 * The allocator of a process: the file that its malloc is in, and where in it probes go. Files are
 * opened as the process has them mapped, whatever their path means to us or to anybody by now.
 */
#ifndef MEMWHY_PROBES_HEAP_ATTACH_ALLOCATOR_H
#define MEMWHY_PROBES_HEAP_ATTACH_ALLOCATOR_H

#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"
#include "sym/prologue.h"

struct reader; /* capture/reader/reader.h: by which files are read */

struct allocator_function {
	const char *name;
	u64 offset;         /* of the probe, in the file */
	u8 calls;           /* enum heap_calls */
	struct prologue at; /* the same place, in the function */
};

struct allocator {
	int fd;
	char path[32];  /* of it, for the kernel */
	char name[128]; /* of the file, for people */
	VEC(struct allocator_function) functions;
};

/*
 * wanted: a part of the file's name, or its path; NULL: found by itself, which is the program if it
 * has a malloc of its own, else what stands before libc, else libc. -EOPNOTSUPP: there is none
 * whose functions have names.
 */
int allocator_find(
	struct reader *r, pid_t pid, const char *wanted, struct allocator *ret, struct err *err);
struct preload_program;

/* The same of a program that is not run yet, static or not. -ENOENT: none has names. */
int allocator_of_program(struct reader *r, const struct preload_program *p, const char *wanted,
	struct allocator *ret);
void allocator_free(struct allocator *a);

#endif
