/*
 * Stacks that came before the tables of their code: the first ones of a program that runs a new
 * file. Their registers and the bytes of the stack wait here, and are walked when the tables are
 * there; what comes of it takes the place of what frame pointers told. Must not know processes.
 */
#ifndef MEMWHY_CAPTURE_UNWIND_LATE_H
#define MEMWHY_CAPTURE_UNWIND_LATE_H

#include "bpf/unwind.h"
#include "capture/unwind/unwind_files.h"
#include "capture/unwind/unwind_layouts.h"

struct unwind_late;

/* The layout of the process whose address space this is; NULL: not known, or not yet. */
typedef const struct unwind_layout *unwind_layout_fn(void *ctx, u64 identity);

/* files, layouts: borrowed. */
int unwind_late_open(
	struct unwind_files *files, struct unwind_layouts *layouts, struct unwind_late **ret);
void unwind_late_close(struct unwind_late *l);
/* Takes a copy from the ring; what is too much is left as frame pointers had it. */
int unwind_late_add(struct unwind_late *l, const struct unwind_copy *copy, size_t size);
/* Walks those whose tables are there by now; stacks: descriptor of the map that has them. -ENOMEM.
 */
int unwind_late_walk(struct unwind_late *l, int stacks, unwind_layout_fn *layout_of, void *ctx);
/* How the stacks were had that were walked here, which BPF programs counted as not ready. */
const struct unwind_counts *unwind_late_counts(const struct unwind_late *l);

#endif
