/*
 * Names of the allocation flags (gfp_t). Their bits change from kernel to kernel, so the names
 * come from the running one: from the print format of a tracepoint, and from there by way of the
 * stream (REC_ENUM set "gfp") to whoever shows a mask.
 */
#ifndef MEMWHY_CAPTURE_GFP_H
#define MEMWHY_CAPTURE_GFP_H

#include "base/str.h"
#include "capture/capture.h"
#include "event/stream.h"

#define GFP_SET "gfp"
#define GFP_NAMES_MAX 128
#define GFP_NAME_LEN 40

/*
 * Calls fn for each flag and each composite (GFP_KERNEL, ...) that the text of a tracepoint's
 * `format` file names, in its order. Returns how many, or what fn returned below 0. -EINVAL: the
 * text has no such list. Names whose value it cannot work out are left out.
 */
int gfp_parse(const char *format, int (*fn)(void *arg, u64 mask, const char *name), void *arg);
/* As gfp_parse, of the running kernel's format. -ENOENT, -EACCES: tracefs is not there for us. */
int gfp_read(int (*fn)(void *arg, u64 mask, const char *name), void *arg);

/* The bits of a mask that choose the migratetype of the page: __GFP_MOVABLE and __GFP_RECLAIMABLE,
 * the same from 5.10 to 7.3 (include/linux/gfp_types.h). */
#define GFP_MOBILITY 0x18U

/* The migratetype that a mask asks for, as gfp_migratetype() in include/linux/gfp.h has it. */
const char *gfp_migratetype(u64 mask);

/* REC_METHOD: whether the names can be had; with `send` they are sent too. */
int gfp_tell(struct capture *c, bool send);

/* Appends "GFP_KERNEL|__GFP_COMP": the largest composite first, bits without a name in hex,
 * "none" for 0. In hex altogether when the stream has no names. */
void gfp_add(struct str *out, const struct stream *s, u64 mask);

#endif
