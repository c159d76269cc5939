/*
 * Names of flags that system calls take, as in their manual pages. Owns how a set of flags is
 * written and the tables of the calls that change an address space; a table that only one reader
 * needs belongs to that reader. The values are ABI of x86-64.
 */
#ifndef MEMWHY_SYS_FLAGS_H
#define MEMWHY_SYS_FLAGS_H

#include <stdint.h>

#include "base/str.h"

/*
 * It is said by its name when the bits of mask have this value. A bit: mask and value are the bit.
 * One of several in a field: mask is the field. A name for zero, or for the whole word: FLAG_WHOLE.
 */
struct flag {
	u64 mask;
	u64 value;
	const char *name;
};

#define FLAG_WHOLE UINT64_MAX
#define FLAG_BIT(id_, value_)        \
	{                            \
		value_, value_, #id_ \
	}
#define FLAG_VALUE(id_, value_)          \
	{                                \
		FLAG_WHOLE, value_, #id_ \
	}
#define FLAG_END           \
	{                  \
		0, 0, NULL \
	}

/* Appends "MAP_PRIVATE|MAP_ANONYMOUS|0x40"; what has no name is in hexadecimal; zero without a
 * name is "0". */
void flags_add(struct str *s, const struct flag *table, u64 value);
/* The name of the whole value, NULL when it has none. */
const char *flag_name(const struct flag *table, u64 value);

extern const struct flag prot_flags[];   /* mmap, mprotect, pkey_mprotect */
extern const struct flag map_flags[];    /* mmap */
extern const struct flag mremap_flags[]; /* mremap */
extern const struct flag madvise_advice[];
extern const struct flag memfd_flags[]; /* memfd_create */
extern const struct flag mlock2_flags[];
extern const struct flag mlockall_flags[];
extern const struct flag msync_flags[];
extern const struct flag shmget_flags[]; /* with the mode left as a number: see shmget(2) */
extern const struct flag shmat_flags[];
extern const struct flag shmctl_commands[];

#endif
