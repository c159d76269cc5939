/* Private to the capture of numa: which sources of accesses were asked for, best first. */
#ifndef MEMWHY_PROBES_NUMA_CAPTURE_SOURCE_H
#define MEMWHY_PROBES_NUMA_CAPTURE_SOURCE_H

#include "capture/capture.h"

enum numa_wanted {
	NUMA_WANT_HARDWARE = 1,
	NUMA_WANT_HINT = 2,
	NUMA_WANT_TOUCH = 4,
};

#define NUMA_SOURCES_DEFAULT "hardware,hint,first-touch"

/* Takes the first name off the list, as a bit; 0: there are no more; -EINVAL. */
int numa_source_next(const char **list);
/* -EINVAL: there is a name in --source that is none. */
int numa_sources_check(const struct capture *c, struct err *err);
const char *numa_wanted_name(u32 wanted);

#endif
