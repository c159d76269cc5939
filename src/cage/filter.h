/*
 * A filter of system calls: rules in, a program of the kernel's out (seccomp(2)). Calls are those
 * of this architecture; any other's fail with ENOSYS. Private to cage.c and tests.
 */
#ifndef MEMWHY_CAGE_FILTER_H
#define MEMWHY_CAGE_FILTER_H

#include <linux/seccomp.h>
#include <stdint.h>

#include "base/types.h"
#include "base/vec.h"

#define FILTER_ALLOW SECCOMP_RET_ALLOW
#define FILTER_FAIL(errno_) (SECCOMP_RET_ERRNO | (errno_))

/* Holds where (argument & mask) == value, or != if it is not. Looks at the lower half of an
 * argument: the kernel takes no more of those that are asked for here. */
struct filter_test {
	u8 argument; /* 0 to 5 */
	bool is_not;
	u32 mask, value;
};

/* The rules of one call have one action. It is taken if any of them holds. */
struct filter_rule {
	u32 call; /* SYS_... */
	u32 action;
	bool always; /* there is no test */
	struct filter_test test;
};

struct filter {
	u32 action; /* of calls where no rule holds */
	bool failed;
	VEC(struct filter_rule) rules;
};

void filter_calls(struct filter *f, u32 action, const u32 *calls, size_t n);
void filter_test(struct filter *f, u32 action, u32 call, struct filter_test test);

/* For the calling thread, or all of them, which have no_new_privs then. Frees the rules. 0, -ENOMEM
 * if one found no room, or as seccomp(2). */
int filter_load(struct filter *f, bool all_threads);

#endif
