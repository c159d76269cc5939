/*
 * Which code is mapped where, as BPF programs read it: arrays of mappings in a map, one for all
 * processes that have the same (forks). Must not know processes.
 */
#ifndef MEMWHY_CAPTURE_UNWIND_LAYOUTS_H
#define MEMWHY_CAPTURE_UNWIND_LAYOUTS_H

#include "capture/unwind/unwind_files.h"
#include "sym/process_map.h"

struct unwind_layouts;

struct unwind_layout {
	u32 first, n;
};

/* map: descriptor of the map, borrowed. files: borrowed. */
int unwind_layouts_open(int map, struct unwind_files *files, struct unwind_layouts **ret);
void unwind_layouts_close(struct unwind_layouts *l);
/* The layout of a process's code, once more in use. -ENOSPC: no room for so many mappings. */
int unwind_layouts_use(
	struct unwind_layouts *l, const struct process_map *map, const struct unwind_layout **ret);
/* The mapping that an address is in; NULL: there is none. Good while the layout is in use. */
const struct unwind_mapping *unwind_layouts_find(
	const struct unwind_layouts *l, const struct unwind_layout *layout, u64 ip);
/* The same layout once more. */
void unwind_layouts_share(const struct unwind_layout *layout);
void unwind_layouts_unuse(struct unwind_layouts *l, const struct unwind_layout *layout);

#endif
