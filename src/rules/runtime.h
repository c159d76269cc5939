/*
 * Whose memory management a process has, as far as its name and the code paths that were seen of it
 * tell: advice for one is of no use for another.
 */
#ifndef MEMWHY_RULES_RUNTIME_H
#define MEMWHY_RULES_RUNTIME_H

#include "report/report.h"

enum runtime {
	RUNTIME_UNKNOWN,
	RUNTIME_GLIBC,
	RUNTIME_JEMALLOC,
	RUNTIME_TCMALLOC,
	RUNTIME_GO,
	RUNTIME_JAVA,
	RUNTIME_V8,
};

/* The runtime, from code paths of the process; a stack of 0 means none. */
enum runtime runtime_of(const struct report *r, u32 tgid, const u32 *stacks, size_t n);
/* The function whose code makes the system call itself, where the code path to it leads through no
 * allocator: no setting of one changes that. NULL: it does, or it is not known. */
const char *runtime_own_caller(const struct report *r, u32 stack);
/* How it gives back what it will need again. */
struct runtime_habit {
	bool maps;          /* by munmap or brk */
	u64 bytes;          /* at a time; 0: not known */
	const char *caller; /* runtime_own_caller(), or NULL */
};
/* How to have it keep memory that it will need again. */
void runtime_tell_keep(
	struct report *r, struct finding *f, enum runtime runtime, const struct runtime_habit *h);
/* A process that grows: what bounds its heap, where that is known, and what it had at first. */
struct runtime_heap {
	u32 tgid;
	u64 limit_bytes; /* 0: not known */
	u64 least_bytes; /* anonymous memory */
	u32 stack;       /* of the code path that touches most new pages; 0: none does */
	bool maps;       /* its address space grows by what it takes */
};
/* How to see what is in its heap that grows, and what bounds that; or what is beside that heap. */
void runtime_tell_growth(
	struct report *r, struct finding *f, enum runtime runtime, const struct runtime_heap *heap);

#endif
