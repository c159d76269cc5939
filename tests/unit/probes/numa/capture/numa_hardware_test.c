/*
 * Samples of hardware, as far as that goes without such hardware: the events of PMUs as their files
 * in /sys describe them, and the way of a sample out of a ring, with a software event.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "data/sys/fixture.h"
#include "probes/numa/capture/numa_hardware.h"

#define CPU "/sys/bus/event_source/devices/cpu/"
#define CORE "/sys/bus/event_source/devices/cpu_core/"
#define IBS "/sys/bus/event_source/devices/ibs_op/"

static void put_formats(const char *pmu)
{
	char file[200];

	snprintf(file, sizeof(file), "%sformat/event", pmu);
	fixture_put_text(file, "config:0-7\n");
	snprintf(file, sizeof(file), "%sformat/umask", pmu);
	fixture_put_text(file, "config:8-15\n");
	snprintf(file, sizeof(file), "%sformat/ldlat", pmu);
	fixture_put_text(file, "config1:0-15\n");
}

/* What Skylake says. */
static void test_loads_and_stores(void **state)
{
	struct numa_event_spec specs[NUMA_SPECS];
	char why[NUMA_WHY_LEN], root[PATH_MAX];

	(void)state;
	fixture_make(root);
	fixture_put_text(CPU "type", "4\n");
	put_formats(CPU);
	fixture_put_text(CPU "events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
	fixture_put_text(CPU "events/mem-stores", "event=0xd0,umask=0x82\n");
	assert_int_equal(numa_hardware_specs(specs, why), 2);
	assert_int_equal(specs[0].attr.type, 4);
	assert_int_equal(specs[0].attr.config, 0x1cd);
	assert_int_equal(specs[0].attr.config1, 30);
	assert_int_equal(specs[0].attr.precise_ip, 2);
	assert_int_equal(specs[1].attr.config, 0x82d0);
	assert_int_equal(specs[1].attr.config1, 0);
	assert_int_equal(specs[0].source, NUMA_PEBS);
	assert_false(specs[0].leads);
	fixture_remove(root);
}

/* Sapphire Rapids and newer: in a group. A hybrid one has cpu_core, with its CPUs. */
static void test_group_that_leads(void **state)
{
	struct numa_event_spec specs[NUMA_SPECS];
	char why[NUMA_WHY_LEN], root[PATH_MAX];

	(void)state;
	fixture_make(root);
	fixture_put_text(CORE "type", "4\n");
	fixture_put_text(CORE "cpus", "0-3\n");
	put_formats(CORE);
	fixture_put_text(CORE "events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
	fixture_put_text(CORE "events/mem-loads-aux", "event=0x3,umask=0x82\n");
	fixture_put_text(CORE "events/mem-stores", "event=0xcd,umask=0x2\n");
	assert_int_equal(numa_hardware_specs(specs, why), 3);
	assert_true(specs[0].leads);
	assert_int_equal(specs[0].attr.config, 0x8203);
	assert_int_equal(specs[1].attr.config, 0x1cd);
	assert_string_equal(specs[1].cpus, "cpu_core");
	fixture_remove(root);
}

static void test_ibs_and_nothing(void **state)
{
	struct numa_event_spec specs[NUMA_SPECS];
	char why[NUMA_WHY_LEN] = "", root[PATH_MAX];

	(void)state;
	fixture_make(root);
	assert_int_equal(numa_hardware_specs(specs, why), 0);
	assert_non_null(strstr(why, "mem-loads"));
	fixture_put_text(IBS "type", "11\n");
	assert_int_equal(numa_hardware_specs(specs, why), 1);
	assert_int_equal(specs[0].source, NUMA_IBS);
	assert_int_equal(specs[0].attr.sample_period % 16, 0);
	assert_int_equal(specs[0].attr.precise_ip, 0);
	fixture_remove(root);
}

static void test_words_that_are_none(void **state)
{
	struct perf_event_attr attr = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	put_formats(CPU);
	fixture_put_text(CPU "format/odd", "config9:0-3\n");
	fixture_put_text(CPU "format/back", "config:9-3\n");
	fixture_put_text(CPU "format/far", "config:60-64\n");
	fixture_put_text(CPU "format/split", "config:0-1,8-9\n");
	assert_int_equal(numa_hardware_terms("cpu", "nix=1", &attr), -EINVAL);
	assert_int_equal(numa_hardware_terms("cpu", "odd=1", &attr), -EINVAL);
	assert_int_equal(numa_hardware_terms("cpu", "back=1", &attr), -EINVAL);
	assert_int_equal(numa_hardware_terms("cpu", "far=1", &attr), -EINVAL);
	assert_int_equal(numa_hardware_terms("cpu", "event=0x100", &attr), -EINVAL);
	assert_int_equal(attr.config, 0);
	assert_int_equal(numa_hardware_terms("cpu", "split=0xd", &attr), 0);
	assert_int_equal(attr.config, 0x301);
	fixture_remove(root);
}

struct seen {
	char *memory;
	size_t bytes;
	u32 pages, wrong;
};

static int take(void *arg, struct numa_sample *s, u64 phys)
{
	struct seen *seen = arg;

	(void)phys;
	if (s->address < (u64)seen->memory || s->address >= (u64)seen->memory + seen->bytes)
		return 0;
	seen->pages++;
	seen->wrong += s->tgid != (u32)getpid() || s->h.kind != REC_NUMA_SAMPLE || !s->ip ||
		       !s->h.time_ns || s->weight != 1;
	return 0;
}

/* Page faults have addresses too: 2000 of them, in a ring that goes round, each once. */
static void test_samples_out_of_a_ring(void **state)
{
	struct numa_event_spec specs[NUMA_SPECS] = {};
	struct seen seen = {.bytes = 2000 * 4096};
	struct numa_hardware *h;
	char why[NUMA_WHY_LEN];

	(void)state;
	specs[0].attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.size = sizeof(specs[0].attr),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR,
		.disabled = 1,
	};
	specs[0].source = NUMA_PERF;
	if (numa_hardware_open(specs, 1, &h, why))
		fixture_skip(why);
	numa_hardware_start(h);
	seen.memory =
		mmap(NULL, seen.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(seen.memory, seen.bytes, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < seen.bytes; i += 4096) {
		seen.memory[i] = 1;
		if (i / 4096 % 500 == 499)
			assert_int_equal(numa_hardware_read(h, take, &seen), 0);
	}
	numa_hardware_stop(h);
	assert_int_equal(numa_hardware_read(h, take, &seen), 0);
	if (numa_hardware_lost(h))
		fixture_skip("the machine is too busy: samples were lost");
	assert_int_equal(seen.pages, 2000);
	assert_int_equal(seen.wrong, 0);
	numa_hardware_close(h);
	munmap(seen.memory, seen.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loads_and_stores),
		cmocka_unit_test(test_group_that_leads),
		cmocka_unit_test(test_ibs_and_nothing),
		cmocka_unit_test(test_words_that_are_none),
		cmocka_unit_test(test_samples_out_of_a_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
