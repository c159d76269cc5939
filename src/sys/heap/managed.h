/*
 * What runtimes (Java, Go, Python, Node.js) and allocators other than glibc's have from the kernel,
 * and how much of it is in use, read from outside while the process runs. Owns where in a process
 * each one's numbers are looked for; their form is in heaps.h and hsperf.h.
 */
#ifndef MEMWHY_SYS_MANAGED_H
#define MEMWHY_SYS_MANAGED_H

#include "sys/process/maps.h"
#include "sys/process/outside.h"

/* On disk, as places of an array: never reorder. */
enum managed_bytes {
	MANAGED_RESERVED,  /* may grow to, or address space that it has */
	MANAGED_COMMITTED, /* has from the kernel */
	MANAGED_USED,
	MANAGED_KEPT, /* of what is committed: not in use, and could be given back */
	MANAGED_N,
};

/* On disk: never reorder. */
enum managed_by {
	MANAGED_JAVA,
	MANAGED_GO,
	MANAGED_PYTHON,
	MANAGED_NODE,
	MANAGED_JEMALLOC,
	MANAGED_TCMALLOC,
	MANAGED_MIMALLOC,
	MANAGED_BY,
};

struct managed_part {
	enum managed_by by;
	char name[48];
	u32 known; /* a bit for each of bytes */
	u64 bytes[MANAGED_N];
	s64 decay_ms;     /* jemalloc: as in heaps.h; else 0 */
	bool by_mappings; /* no structure or counter was read: what is mapped */
};

/* To be zeroed before its first use. */
struct managed {
	VEC(struct managed_part) list;
	u32 seen; /* a bit for each enum managed_by whose files are mapped */
};

const char *managed_name(u32 by);
void managed_free(struct managed *m);
/* Is there a heap of Go? By its address alone. */
bool managed_has_go(const struct maps *maps);
/* Is there a heap of Go, which also has the stacks of goroutines, with this mapping in it? By its
 * addresses alone. */
bool managed_is_go(const struct maps *maps, const struct mapping *m);
/* Was a part of this one found? */
bool managed_found(const struct managed *m, enum managed_by by);
/* Whose file that is, by its name; MANAGED_BY: nobody's. */
u32 managed_by_file(const char *path);
/* Replaces what ret held. runtimes: of these too, not of allocators alone, which takes little.
 * Where there is more than may be read, the numbers are of a part. 0 or -ENOMEM. */
int managed_read(struct outside *o, const struct maps *maps, bool runtimes, struct managed *ret);
/* What a Java virtual machine says of its heap: sizes of each generation and space. */
int managed_java(const void *perf, size_t n, struct managed *ret);

#endif
