/* See watch.h. */
#include "capture/watch.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/percpu_where.h"
#include "capture/embedded.h"
#include "capture/kbtf.h"
#include "capture/object.h"
#include "sys/kernel/kernel_data.h"
#include "sys/keyvals.h"

static const char *const counters[WATCHES] = {
	[WATCH_THP_FAULT_ALLOC] = "thp_fault_alloc",
	[WATCH_THP_FAULT_FALLBACK] = "thp_fault_fallback",
	[WATCH_THP_SPLIT_PMD] = "thp_split_pmd",
	[WATCH_THP_SPLIT_PAGE] = "thp_split_page",
	[WATCH_NUMA_HINT_FAULTS] = "numa_hint_faults",
	[WATCH_NUMA_PAGES_MIGRATED] = "numa_pages_migrated",
};

_Static_assert(WATCHES <= PERCPU_WHERE_MAX, "struct percpu_where has room for all");

enum { SYM_EVENTS, SYM_RUNQUEUES, SYM_N };

static const char *const symbol_names[SYM_N] = {"vm_event_states", "runqueues"};

/* The counters of each CPU; found once, as every attempt to attach asks. */
static struct {
	bool tried;
	int error;
	u64 *address; /* WATCHES for each possible CPU; 0: the CPU is offline */
	int cpus;
	struct percpu_where where; /* distance 0: the kernel does not count that */
} found;

/* From the run queue of a CPU to its counters. The events of /proc/vmstat are in the order of enum
 * vm_event_item, which begins with PGPGIN (mm/vmstat.c: vmstat_text, from 5.10 to 7.3). */
static int distances_find(const struct keyvals *vmstat, struct percpu_where *w)
{
	u64 at[SYM_N];
	size_t first = vmstat->items.n;
	int rc = kbtf_percpu(symbol_names, SYM_N, at); /* 5.10 has none in its BTF */

	if (rc) {
		kernel_data_find(symbol_names, SYM_N, at);
		if (!at[SYM_EVENTS] || !at[SYM_RUNQUEUES])
			return rc;
	}
	for (size_t i = 0; i < vmstat->items.n; i++) {
		const char *name = vmstat->items.v[i].name;

		if (!strcmp(name, "pgpgin"))
			first = i;
		for (size_t k = 0; k < WATCHES && i > first; k++)
			if (!strcmp(name, counters[k]))
				w->distance[k] =
					(s64)(at[SYM_EVENTS] - at[SYM_RUNQUEUES] + 8 * (i - first));
	}
	return 0;
}

static int where_open(struct bpf_object **ret, int *ret_prog, int *ret_map)
{
	struct bpf_program *prog;
	struct bpf_object *obj;
	int rc = object_open(embedded_find("percpu_where"), &obj);

	if (rc)
		return rc;
	prog = bpf_object__find_program_by_name(obj, "where_find");
	rc = prog ? bpf_program__set_autoload(prog, true) : -ENOENT;
	if (!rc)
		rc = bpf_object__load(obj);
	if (rc) {
		bpf_object__close(obj);
		return rc;
	}
	*ret = obj;
	*ret_prog = bpf_program__fd(prog);
	*ret_map = bpf_object__find_map_fd_by_name(obj, "where");
	return 0;
}

/* Asks one CPU, and adds its counters to the sums. */
static int cpu_ask(int prog, int map, int cpu, u64 sums[WATCHES])
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = (u32)cpu);
	struct percpu_where w;
	u32 zero = 0;
	int rc = bpf_prog_test_run_opts(prog, &opts);

	if (rc == -ENXIO)
		return 0; /* offline; its counters were added to those of another */
	if (rc)
		return rc;
	if (bpf_map_lookup_elem(map, &zero, &w))
		return -errno;
	if (!w.rq || w.cpu != (u32)cpu)
		return -ENODATA;
	for (size_t k = 0; k < WATCHES; k++) {
		found.address[(size_t)cpu * WATCHES + k] = w.rq + (u64)w.distance[k];
		sums[k] += w.value[k];
	}
	return 0;
}

/* Are these the counters? All CPUs together they must say what /proc/vmstat says. */
static int sums_prove(const struct keyvals *before, const struct keyvals *after,
	const struct percpu_where *w, const u64 sums[WATCHES])
{
	for (size_t k = 0; k < WATCHES; k++)
		if (w->distance[k] && (sums[k] < keyvals_get_or(before, counters[k], UINT64_MAX) ||
					      sums[k] > keyvals_get_or(after, counters[k], 0)))
			return -ENODATA;
	return 0;
}

static int where_find(void)
{
	_cleanup_keyvals_ struct keyvals before = {}, after = {};
	struct bpf_object *obj = NULL;
	u64 sums[WATCHES] = {};
	int prog = -1, map = -1;
	u32 zero = 0;
	int rc = keyvals_read("/proc/vmstat", &before);

	found.cpus = libbpf_num_possible_cpus();
	found.address = calloc((size_t)MAX(1, found.cpus) * WATCHES, sizeof(u64));
	if (!rc && !found.address)
		rc = -ENOMEM;
	if (!rc)
		rc = distances_find(&before, &found.where);
	if (!rc)
		rc = where_open(&obj, &prog, &map);
	if (rc)
		return rc;
	if (bpf_map_update_elem(map, &zero, &found.where, BPF_ANY))
		rc = -errno;
	for (int cpu = 0; cpu < found.cpus && !rc; cpu++)
		rc = cpu_ask(prog, map, cpu, sums);
	if (!rc)
		rc = keyvals_read("/proc/vmstat", &after);
	bpf_object__close(obj);
	return rc ? rc : sums_prove(&before, &after, &found.where, sums);
}

int watch_aim(struct perf_event_attr *attr, int cpu)
{
	u64 address;

	if (!found.tried)
		found.error = where_find();
	found.tried = true;
	if (found.error)
		return found.error;
	if (cpu >= found.cpus || attr->config >= WATCHES)
		return -EINVAL;
	if (!found.where.distance[attr->config])
		return -ENODATA;
	address = found.address[(size_t)cpu * WATCHES + attr->config];
	if (!address)
		return -ENODEV;
	attr->config = 0;
	attr->bp_type = HW_BREAKPOINT_W;
	attr->bp_addr = address;
	attr->bp_len = HW_BREAKPOINT_LEN_8;
	return 0;
}

/* 0 and *ret_fd -1: the CPU is offline. */
static int watch_open(enum watch what, int cpu, int *ret_fd)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.config = what,
		.size = sizeof(attr),
		.disabled = 1, /* a register is reserved all the same */
	};
	int rc = watch_aim(&attr, cpu);

	*ret_fd = -1;
	if (rc)
		return rc == -ENODEV ? 0 : rc;
	*ret_fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return *ret_fd >= 0 || errno == ENODEV ? 0 : -errno;
}

int watch_try(const enum watch *list, size_t n)
{
	int rc = 0;

	for (int cpu = 0; cpu < libbpf_num_possible_cpus() && !rc; cpu++) {
		int fds[WATCHES];
		size_t done = 0;

		while (done < MIN(n, (size_t)WATCHES) && !rc) {
			rc = watch_open(list[done], cpu, &fds[done]);
			done++;
		}
		while (done--)
			if (fds[done] >= 0)
				close(fds[done]);
	}
	return rc;
}
