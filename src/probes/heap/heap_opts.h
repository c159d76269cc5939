/* The options of `memwhy heap` beyond those of every command. */
#ifndef MEMWHY_PROBES_HEAP_OPTS_H
#define MEMWHY_PROBES_HEAP_OPTS_H

#include <stdbool.h>

#include "base/types.h"

struct heap_opts {
	u64 sample_bytes;      /* mean of bytes between two; 0: every allocation */
	bool no_wait;          /* rather lose events than time */
	bool events;           /* of a command each allocation and free is a record */
	bool faults;           /* page faults by who asked for the memory */
	const char *allocator; /* NULL: found by itself */
	u64 from_ns, to_ns;
};

#endif
