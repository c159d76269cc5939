/*
 * The mappings of a process, from /proc/PID/maps: what each one is, and which one an address is
 * in. Owns the format and the classification; knows no symbols and no page counts.
 */
#ifndef MEMWHY_SYS_MAPS_H
#define MEMWHY_SYS_MAPS_H

#include "base/mapping_kind.h"
#include "base/vec.h"

/* Mappings kept of one process (the kernel's default vm.max_map_count is 65530). */
#define MAPS_MAX (1U << 20)

enum {
	MAPPING_READ = 1,
	MAPPING_WRITE = 2,
	MAPPING_EXEC = 4,
};

struct mapping {
	u64 start;
	u64 end;
	u64 offset; /* bytes into the file */
	u64 inode;
	u32 dev_major;
	u32 dev_minor;
	u8 prot; /* MAPPING_READ | … */
	bool shared;
	bool deleted; /* the file has no name any more; the kernel's " (deleted)" is cut off */
	enum mapping_kind kind;
	/* "" where there is none; [names] as the kernel writes them; \012 is a newline again. Owned
	 * by the struct maps. */
	const char *path;
};

/* Memory without a file that only this process has, and may write to. */
static inline bool mapping_is_plain(const struct mapping *m)
{
	return m->prot & MAPPING_WRITE && !m->shared && !m->path[0];
}

/* To be zeroed before its first use. */
struct maps {
	VEC(struct mapping) list; /* by address */
	char *text;               /* holds the paths */
};

#define _cleanup_maps_ _cleanup_(maps_free)

void maps_free(struct maps *maps);
/*
 * Replaces what ret held. Lines that are not mappings are skipped. An empty text is an empty list
 * (a kernel thread); -EINVAL when there was text but no mapping, -ENOMEM.
 *
 * Two things the file does not show: a path that itself ends in " (deleted)" or contains the four
 * characters \012; and a memfd made with MFD_HUGETLB, which looks as any memfd does (numa_maps.h
 * distinguishes it by `huge`).
 */
int maps_parse(const char *text, struct maps *ret);
/* -ESRCH or -ENOENT when the process is gone, -EACCES when it is not ours. */
int maps_read(int pid, struct maps *ret);
/* The mapping that addr is in; NULL where there is none. Logarithmic. */
const struct mapping *maps_find(const struct maps *maps, u64 addr);

/* The program's file, as far as mappings show it: the first that is mapped to be run. "": none. */
const char *maps_program(const struct maps *maps);

/* The kind of a mapping by what the file shows of it. */
enum mapping_kind mapping_classify(const char *path, bool shared);
/* "anon", "heap", "stack", "file", "shmem", "hugetlb", "vdso". Never NULL. */
const char *mapping_kind_name(enum mapping_kind kind);

#endif
