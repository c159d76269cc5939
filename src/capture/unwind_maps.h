/* The maps of bpf/unwind.bpf.h, made before any object that uses them. Owns their sizes. */
#ifndef MEMWHY_CAPTURE_UNWIND_MAPS_H
#define MEMWHY_CAPTURE_UNWIND_MAPS_H

#include "capture/capture.h"

/* Into c->shared. */
int unwind_maps_make(struct capture *c);
/* Pages of 1 MiB at most, at a level of capture.shrink. */
u32 unwind_maps_pages(u32 shrink);
/* Of all of them but the pages, by the kernel's own account. */
u64 unwind_maps_bytes(const struct capture *c);

#endif
