/* The options of `memwhy count` beyond those of every command. */
#ifndef MEMWHY_PROBES_COUNT_OPTS_H
#define MEMWHY_PROBES_COUNT_OPTS_H

#include <stdbool.h>

struct count_opts {
	const char *filter, *hist, *sum; /* NULL: not given */
	bool list;
};

#endif
