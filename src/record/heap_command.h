/* How the heap of a command is followed: under the preload library, or, where nothing can be
 * preloaded, by probes at its allocator. */
#ifndef MEMWHY_RECORD_HEAP_COMMAND_H
#define MEMWHY_RECORD_HEAP_COMMAND_H

#include "capture/preload_check.h"
#include "record/session.h"

/* Decides it, before the command is there. program has to live as long as c. */
int command_prepare(const struct session_config *cfg, struct capture *c,
	struct preload_program *program, struct err *err);
/* Probes are not permitted: says why they were wanted. */
void command_refused(const struct capture *c, struct err *err);

#endif
