/* See numa_hardware.h. */
#include "probes/numa/numa_hardware.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sys/root.h"

#define DEVICES "/sys/bus/event_source/devices/"

/* PMUs that sample accesses, and the event of each: perf's own names
 * (tools/perf/util/mem-events.c). */
static const struct {
	const char *pmu, *event;
} sources[] = {
	{"cpu", "mem-loads"},
	{"cpu_core", "mem-loads"},
	{"cpu_atom", "mem-loads"},
	{"ibs_op", NULL},
};

int numa_hardware_try(char why[NUMA_WHY_LEN])
{
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		if (sources[i].event ? !sys_exists(DEVICES "%s/events/%s", sources[i].pmu,
					       sources[i].event)
				     : !sys_exists(DEVICES "%s/type", sources[i].pmu)) {
			snprintf(why, NUMA_WHY_LEN, "not built yet");
			return -EOPNOTSUPP;
		}
	snprintf(why, NUMA_WHY_LEN,
		"no PMU samples accesses: neither mem-loads nor ibs_op in " DEVICES);
	return -ENODEV;
}
