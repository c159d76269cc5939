/* The options of `memwhy leak` beyond those of every command and of heap. */
#ifndef MEMWHY_PROBES_LEAK_OPTS_H
#define MEMWHY_PROBES_LEAK_OPTS_H

#include <stdbool.h>

struct leak_opts {
	bool kernel;
};

#endif
