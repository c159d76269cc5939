/*
 * Modules: the files (and the few things that are no file) that code runs from. The table gives
 * each one a stable small id and keeps the file open from first sight, so that its names can be
 * looked up after the process has exited or the file was deleted. Knows how to recognise and open a
 * module; must not know what is inside.
 *
 * At most max_fds files stay open: beyond that the least recently used file that still has a name
 * is closed, and reopened when needed, if it is still the same file.
 */
#ifndef MEMWHY_SYM_MODULE_H
#define MEMWHY_SYM_MODULE_H

#include <sys/types.h>

#include "sym/hash.h"
#include "base/util.h"

#define BUILD_ID_MAX 64

/* Ids known beforehand; files follow. Ids are written to recordings. */
enum module_id {
	MODULE_ID_UNKNOWN = 0,
	MODULE_ID_KERNEL = 1,
	MODULE_ID_VDSO = 2,
	MODULE_ID_ANON = 3, /* no file: code made at run time; offsets are addresses */
	MODULE_ID_FIRST_FILE = 4,
};

enum module_kind { MODULE_NONE, MODULE_KERNEL, MODULE_VDSO, MODULE_ANON, MODULE_FILE };

/* How the file was when first opened: only the same one is ever opened again. */
struct module_stamp {
	u64 dev;
	u64 ino;
	u64 size;
	u64 mtime_ns;
};

struct module {
	u32 id;
	enum module_kind kind;
	const char *path; /* as the mapping named it, without " (deleted)"; "[vdso]", "[anon]" … */
	u64 dev;          /* of the mapping; need not be what stat says (btrfs, overlayfs) */
	u64 ino;          /* 0: not known */
	int error;        /* why the file could not be opened, as -errno; -ESTALE: replaced since */
	u8 build_id[BUILD_ID_MAX]; /* filled by who reads the file */
	u8 build_id_len;           /* 0: none, or not read yet */

	/* Below: the table's own. */
	int fd;
	int root_fd; /* borrowed from the table, or ROOT_OURS */
	u8 tries;
	bool unlinked;
	bool made; /* see module_table_sight */
	u64 last_used;
	struct module_stamp stamp;
	char *key; /* dev, ino, path: also holds the path */
	UT_hash_handle hh;
};

/* A mapping of a file in a process, as maps or a perf MMAP2 record gives it. */
struct module_sight {
	pid_t pid;
	u64 start;
	u64 end;
	u64 dev;          /* as makedev(major, minor) */
	u64 ino;          /* 0: not known */
	const char *path; /* NULL or "" for none */
};

struct module_table;

/* max_fds 0: a quarter of what this process may open, at most 256. */
int module_table_new(unsigned int max_fds, struct module_table **ret);
void module_table_free(struct module_table *t);

/* Finds or adds the module of a mapping. A file that cannot be opened is a module too (see
 * error); opening is tried again a few times when it is seen again. -ENOSPC when there are more
 * modules than any honest host has.
 *
 * A file without a name (memfd, shared memory, deleted) that is no program holds code made at run
 * time, which .NET and others map once to write it and once to run it: MODULE_ID_ANON. */
int module_table_sight(struct module_table *t, const struct module_sight *sight, u32 *ret_id);
/* NULL for an id that was never given. Owned by the table. */
const struct module *module_table_get(const struct module_table *t, u32 id);
/* A descriptor to read the file from, opened again when it was closed for the limit. Stays the
 * table's and is good until its next call. */
int module_table_fd(struct module_table *t, u32 id, int *ret_fd);
/* The root directory the module was seen in, for root_open_file(). */
int module_table_root(const struct module_table *t, u32 id);
void module_table_set_build_id(struct module_table *t, u32 id, const u8 *build_id, size_t len);

static inline void module_table_freep(struct module_table **t)
{
	module_table_free(*t);
}
#define _cleanup_module_table_ _cleanup_(module_table_freep)

#endif
