/* See numa_hardware.h: which events there are, and how they are asked for. */
#include "probes/numa/capture/numa_hardware.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/root.h"

#define DEVICES "/sys/bus/event_source/devices/"

#define LOAD_LATENCY                                                                        \
	"ldlat=30"        /* cycles: loads that take less are not sampled, as perf mem does \
			   */
#define SAMPLES_HZ 1000   /* of each CPU */
#define IBS_PERIOD 262144 /* operations; a multiple of 16 */

/* PMUs that sample accesses, with the names perf has for their events
 * (tools/perf/util/mem-events.c). Newer Intel cores give loads only in a group that mem-loads-aux
 * leads. */
static const char *const intel[] = {"cpu", "cpu_core", "cpu_atom"};

/* "config:0-7", "config1:0-15", "config:0-7,32-35": puts the value there. */
static int bits_put(const char *format, u64 value, struct perf_event_attr *attr)
{
	static const char *const words[] = {"config:", "config1:", "config2:"};
	__u64 *const targets[] = {&attr->config, &attr->config1, &attr->config2};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const char *at = format + strlen(words[i]);

		if (strncmp(format, words[i], strlen(words[i])) != 0)
			continue;
		while (*at) {
			char *end;
			unsigned long from = strtoul(at, &end, 10), to = from;

			if (end == at ||
				(*end == '-' && (to = strtoul(end + 1, &end, 10)) < from) ||
				to > 63)
				return -EINVAL;
			for (unsigned long b = from; b <= to; b++, value >>= 1)
				*targets[i] |= (value & 1) << b;
			at = *end == ',' ? end + 1 : "";
		}
		return value ? -EINVAL : 0; /* more than there is room for */
	}
	return -EINVAL;
}

static int term_put(const char *pmu, const char *word, size_t len, struct perf_event_attr *attr)
{
	_cleanup_str_ struct str format = {};
	const char *is = memchr(word, '=', len);
	size_t name = is ? (size_t)(is - word) : len;
	u64 value = is ? strtoull(is + 1, NULL, 0) : 1;

	if (sys_read(&format, DEVICES "%s/format/%.*s", pmu, (int)name, word))
		return -EINVAL;
	return bits_put(str_get(&format), value, attr);
}

int numa_hardware_terms(const char *pmu, const char *words, struct perf_event_attr *ret)
{
	struct perf_event_attr attr = *ret;
	int rc = 0;

	for (const char *at = words; *at && !rc;) {
		size_t len = strcspn(at, ",\n");

		/* The latency is ours to choose. */
		rc = !strncmp(at, "ldlat=", 6)
			     ? term_put(pmu, LOAD_LATENCY, strlen(LOAD_LATENCY), &attr)
			     : term_put(pmu, at, len, &attr);
		at += len + (at[len] != '\0');
	}
	if (!rc)
		*ret = attr;
	return rc;
}

#define SAMPLE_TYPE                                                                                \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |                  \
		PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | \
		PERF_SAMPLE_PHYS_ADDR)

/* False: the PMU is not there, or has no such event. */
static bool spec_fill(const char *pmu, const char *event, struct numa_event_spec *s)
{
	_cleanup_str_ struct str words = {};
	u64 type;

	*s = (struct numa_event_spec){.source = event ? NUMA_PEBS : NUMA_IBS};
	if (sys_read_u64(&type, DEVICES "%s/type", pmu))
		return false;
	s->attr = (struct perf_event_attr){
		.type = (u32)type,
		.size = sizeof(s->attr),
		.sample_type = SAMPLE_TYPE,
		.disabled = 1,
		.use_clockid = 1,
		.clockid = 1, /* CLOCK_MONOTONIC */
		.watermark = 1,
		.wakeup_watermark = 1U << 30, /* looked at by the clock */
	};
	if (!sys_exists(DEVICES "%s/cpus", pmu))
		snprintf(s->cpus, sizeof(s->cpus), "%.31s", pmu);
	if (!event) {
		s->attr.sample_period = IBS_PERIOD;
		return true;
	}
	s->attr.freq = 1;
	s->attr.sample_freq = SAMPLES_HZ;
	s->attr.precise_ip = 2;
	return !sys_read(&words, DEVICES "%s/events/%s", pmu, event) &&
	       !numa_hardware_terms(pmu, str_get(&words), &s->attr);
}

static size_t intel_specs(const char *pmu, struct numa_event_spec specs[NUMA_SPECS])
{
	size_t n = 0;

	if (spec_fill(pmu, "mem-loads-aux", &specs[n])) {
		specs[n].leads = true;
		specs[n].attr.freq = 0;
		specs[n].attr.sample_freq = 0;
		n++;
	}
	if (!spec_fill(pmu, "mem-loads", &specs[n]))
		return 0;
	n++;
	return n + spec_fill(pmu, "mem-stores", &specs[n]);
}

size_t numa_hardware_specs(struct numa_event_spec specs[NUMA_SPECS], char why[NUMA_WHY_LEN])
{
	for (size_t i = 0; i < ARRAY_SIZE(intel); i++) {
		size_t n = intel_specs(intel[i], specs);

		if (n)
			return n;
	}
	if (spec_fill("ibs_op", NULL, &specs[0]))
		return 1;
	snprintf(why, NUMA_WHY_LEN,
		"no PMU samples accesses: neither mem-loads nor ibs_op in " DEVICES);
	return 0;
}
