/*
 * Files of one name and one number a line: /proc/vmstat, /proc/meminfo, a node's meminfo, vmstat
 * and numastat, a cgroup's memory.stat, memory.events and memory.oom_control. Owns the list;
 * knows no name's meaning.
 *
 * Lines are "name 123", "name: 123", "name: 123 kB" and "Node 0 name: 123 kB" (the node is
 * dropped). A value with the suffix kB is given in bytes, every other one as it is in the file.
 * A line of any other form is skipped, and so are names of KEYVAL_NAME_MAX bytes or more and
 * lines after the first KEYVALS_MAX.
 */
#ifndef MEMWHY_SYS_KEYVALS_H
#define MEMWHY_SYS_KEYVALS_H

#include "base/str.h"
#include "base/vec.h"

#define KEYVAL_NAME_MAX 48
#define KEYVALS_MAX 4096

struct keyval {
	char name[KEYVAL_NAME_MAX];
	u64 value;
};

/* To be zeroed before its first use. Reading again into the same one allocates nothing. */
struct keyvals {
	VEC(struct keyval) items; /* in the order of the file */
	struct str text;          /* the reader's buffer */
};

#define _cleanup_keyvals_ _cleanup_(keyvals_free)

void keyvals_free(struct keyvals *kv);
/* Replaces what kv held. 0, -EINVAL when no line could be read, -ENOMEM; kv is empty then. */
int keyvals_parse(const char *text, struct keyvals *kv);
/* As keyvals_parse, of the file at path below sys_root(). 0 or -errno; kv is empty then. */
int keyvals_read(const char *path, struct keyvals *kv);

/* A search from the front: 200 names take well under a microsecond. The first of equal names. */
bool keyvals_get(const struct keyvals *kv, const char *name, u64 *ret);
u64 keyvals_get_or(const struct keyvals *kv, const char *name, u64 missing);

#endif
