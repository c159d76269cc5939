/*
 * Names of the allocation flags (gfp_t). Their bits change from kernel to kernel, so the names come
 * from the running kernel where it has them: from the print format of a tracepoint, and from there
 * by way of the stream (REC_ENUM set GFP_SET) to analysis/gfp_text.h, which shows a mask.
 */
#ifndef MEMWHY_CAPTURE_GFP_NAMES_H
#define MEMWHY_CAPTURE_GFP_NAMES_H

#include "capture/capture.h"
#include "event/meta.h"

#define GFP_NAME_LEN 40

/*
 * Calls fn for each flag and each composite (GFP_KERNEL, ...) that the text of a tracepoint's
 * `format` file names, in its order. Returns how many, or what fn returned below 0. -EINVAL: the
 * text has no such list. Names whose value it cannot work out are left out.
 */
int gfp_parse(const char *format, int (*fn)(void *arg, u64 mask, const char *name), void *arg);
/* As gfp_parse, of the running kernel's format; where tracefs cannot be read, from a table of what
 * is the same on all kernels. *ret_method: which, a constant. */
int gfp_read(int (*fn)(void *arg, u64 mask, const char *name), void *arg, const char **ret_method);

/* REC_METHOD: whether the names are available; with `send` they are sent too. */
int gfp_tell(struct capture *c, bool send);

#endif
