/* Private to the limit probe: its own options. */
#ifndef MEMWHY_PROBES_LIMIT_OPTS_H
#define MEMWHY_PROBES_LIMIT_OPTS_H

#include <stdbool.h>

struct limit_opts {
	bool keep_bits;
};

#endif
