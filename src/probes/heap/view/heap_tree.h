/* Who started whom: the table of the process tree, with sums over all that a process began. Private
 * to the view. */
#ifndef MEMWHY_PROBES_HEAP_VIEW_TREE_H
#define MEMWHY_PROBES_HEAP_VIEW_TREE_H

#include "probes/heap/heap.h"
#include "report/view.h"

extern const struct view_table heap_tree_tables[];

/* of: as they were first seen, all with different numbers. together: NULL where it is not known. No
 * rows of one process alone. */
int heap_tree_add(struct report *r, const struct heap_total *const *of, size_t n,
	const struct heap_together_record *together);

#endif
