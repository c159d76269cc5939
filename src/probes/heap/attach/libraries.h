/* The files that the loader would map with a program, asked of that loader: it lists them without
 * running anything of the program. */
#ifndef MEMWHY_PROBES_HEAP_ATTACH_LIBRARIES_H
#define MEMWHY_PROBES_HEAP_ATTACH_LIBRARIES_H

#include "base/vec.h"
#include "capture/preload_check.h"

struct libraries {
	VEC(char *) list; /* paths, in the loader's order */
};

int libraries_read(const struct preload_program *p, struct libraries *ret);
void libraries_free(struct libraries *l);

#define _cleanup_libraries_ __attribute__((cleanup(libraries_free)))

#endif
