/*
 * Memory that the kernel allocated by vmalloc, summed up by the function that asked for it, from
 * /proc/vmallocinfo (root, CONFIG_MMU). Owns the format.
 */
#ifndef MEMWHY_SYS_VMALLOCINFO_H
#define MEMWHY_SYS_VMALLOCINFO_H

#include "base/vec.h"

#define VMALLOC_CALLER_MAX 64
#define VMALLOC_CALLERS_MAX 4096 /* those beyond are left out */

struct vmalloc_caller {
	char caller[VMALLOC_CALLER_MAX]; /* without the offset; cut when longer */
	u64 areas;
	u64 pages; /* of memory: what is only mapped (ioremap, vmap) has none */
};

/* To be zeroed before its first use. */
struct vmallocinfo {
	VEC(struct vmalloc_caller) list; /* in the order of first sight */
};

#define _cleanup_vmallocinfo_ _cleanup_(vmallocinfo_free)

void vmallocinfo_free(struct vmallocinfo *info);
/* Replaces what ret held. Lines of another form are skipped. 0 or -ENOMEM. */
int vmallocinfo_parse(const char *text, struct vmallocinfo *ret);
/* -EACCES unless root, -ENOENT where the kernel has none. */
int vmallocinfo_read(struct vmallocinfo *ret);
/* Is it the function that allocates the stacks of threads (CONFIG_VMAP_STACK)? Its name is that of
 * whatever it was inlined into. */
bool vmalloc_is_stack(const char *caller);

#endif
