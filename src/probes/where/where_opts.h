/* Private to the where probe: its own options. */
#ifndef MEMWHY_PROBES_WHERE_OPTS_H
#define MEMWHY_PROBES_WHERE_OPTS_H

#include <stdbool.h>

struct where_opts {
	bool census;
	bool files;
	bool taken;
	bool at_once; /* not asked for: one look is all, so it is the last one */
};

#endif
