/*
 * Pressure stall information (PSI), of the machine and of cgroups. Owns the format.
 */
#ifndef MEMWHY_SYS_PRESSURE_H
#define MEMWHY_SYS_PRESSURE_H

#include "base/util.h"

/* The share of time (percent, averaged over 10, 60 and 300 s) in which tasks were stalled, and
 * the stall time since boot. */
struct pressure_line {
	double avg10;
	double avg60;
	double avg300;
	u64 total_us;
};

struct pressure {
	struct pressure_line some; /* at least one task */
	struct pressure_line full; /* all tasks that were not idle */
	bool has_full;             /* the cpu resource has it since 5.13 only */
};

/* -EINVAL without a line "some". */
int pressure_parse(const char *text, struct pressure *ret);
/* The machine's pressure: resource is "memory", "io" or "cpu". -ENOENT without CONFIG_PSI,
 * -EOPNOTSUPP when PSI is off (psi=1 on the kernel's command line switches it on). */
int pressure_read(const char *resource, struct pressure *ret);
/* A cgroup v2's, by its directory (struct cgroup's dir). */
int pressure_read_cgroup(const char *dir, const char *resource, struct pressure *ret);

#endif
