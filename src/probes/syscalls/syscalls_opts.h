/* The options of `memwhy syscalls` beyond those of every command. */
#ifndef MEMWHY_PROBES_SYSCALLS_OPTS_H
#define MEMWHY_PROBES_SYSCALLS_OPTS_H

#include <stdbool.h>

struct syscalls_opts {
	const char *flight, *dump_on; /* NULL: not given */
	bool with_memory, no_times;
};

#endif
