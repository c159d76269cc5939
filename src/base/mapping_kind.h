/*
 * Kinds of mappings, for everything that classifies one: readers of /proc, BPF programs, records
 * and views. A classification that only one probe makes (maps: by the call; heap: by who allocated)
 * has an enum of its own.
 */
#ifndef MEMWHY_BASE_MAPPING_KIND_H
#define MEMWHY_BASE_MAPPING_KIND_H

#include "base/types.h"

/* On disk, in records of faults, policy and numa: numbers are never used again for something else.
 */
enum mapping_kind {
	MAPPING_UNKNOWN = 0,
	MAPPING_ANON = 1,  /* private memory without a file; thread stacks, malloc's mmaps */
	MAPPING_HEAP = 2,  /* [heap]: the brk area */
	MAPPING_STACK = 3, /* [stack]: of the main thread; of numa: MAP_STACK, MAP_GROWSDOWN too */
	MAPPING_FILE = 4,  /* any file but those below */
	MAPPING_SHMEM = 5, /* memfd, /dev/shm, SysV, shared anonymous memory */
	MAPPING_HUGETLB = 6, /* anonymous MAP_HUGETLB, and hugetlbfs at its usual mount point */
	MAPPING_VDSO = 7,    /* put there by the kernel: vdso, vvar, vsyscall, uprobes, … */
	MAPPING_KINDS,
};

/* "anonymous", "shared memory"; "other" for what the kernel put there; NULL: unknown. */
const char *mapping_kind_words(u32 kind);

#endif
