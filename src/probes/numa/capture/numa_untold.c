/* See numa_untold.h. */
#include "probes/numa/capture/numa_untold.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "bpf/shared.h"
#include "probes/numa/capture/numa_config.h"
#include "sys/keyvals.h"

#define TRIES 8 /* to find no event between two readings */

static int told_read(int fd, struct numa_counters *v, struct numa_counters *ret)
{
	struct numa_counters sum = {};
	u32 zero = 0;

	if (bpf_map_lookup_elem(fd, &zero, v))
		return -errno;
	for (int i = 0; i < libbpf_num_possible_cpus(); i++) {
		sum.told += v[i].told;
		sum.told_pages += v[i].told_pages;
	}
	*ret = sum;
	return 0;
}

/* false: something happened meanwhile, or it cannot be read. */
static bool untold_try(int fd, struct numa_counters *v, struct numa_untold *ret)
{
	_cleanup_keyvals_ struct keyvals kv = {};
	struct numa_counters before, after;
	u64 hints, pages;

	if (told_read(fd, v, &before) || keyvals_read("/proc/vmstat", &kv) ||
		!keyvals_get(&kv, "numa_hint_faults", &hints) ||
		!keyvals_get(&kv, "numa_pages_migrated", &pages) || told_read(fd, v, &after))
		return false;
	ret->hints = (s64)(hints - after.told);
	ret->pages = (s64)(pages - after.told_pages);
	return before.told == after.told && before.told_pages == after.told_pages;
}

void numa_untold_read(struct attached *a, struct numa_untold *ret)
{
	_cleanup_free_ struct numa_counters *v =
		calloc((size_t)MAX(1, libbpf_num_possible_cpus()), sizeof(*v));
	int fd = attach_map(a, "counters");

	*ret = (struct numa_untold){};
	for (u32 i = 0; i < TRIES && fd >= 0 && v && !ret->known; i++)
		ret->known = untold_try(fd, v, ret);
}

static int counts_add(struct attached *a, u64 hints)
{
	size_t n = (size_t)MAX(1, libbpf_num_possible_cpus());
	_cleanup_free_ struct probe_counts *v = calloc(n, sizeof(*v));
	int fd = attach_map(a, "probe_counts");
	u32 zero = 0;

	if (!v)
		return -ENOMEM;
	if (fd < 0 || bpf_map_lookup_elem(fd, &zero, v))
		return -errno;
	v[0].seen += hints;
	v[0].lost_busy += hints;
	return bpf_map_update_elem(fd, &zero, v, BPF_ANY) ? -errno : 0;
}

static int untold_add(struct attached *a, struct capture *c, const struct numa_untold *before,
	const struct numa_untold *after)
{
	struct numa_move m = REC_INIT(struct numa_move, REC_NUMA_MOVE, 0);
	int rc = 0;

	if (after->hints > before->hints)
		rc = counts_add(a, (u64)(after->hints - before->hints));
	/* Whose they were is not known: in a scope they are left out. */
	if (rc || after->pages <= before->pages || c->opt.scope.by_task || c->opt.scope.tasks.n ||
		c->opt.scope.comm[0] || c->opt.scope.cgroup_id)
		return rc;
	m.pages = (u64)(after->pages - before->pages);
	m.from = m.to = -1;
	m.why = NUMA_MOVE_BALANCING;
	return capture_emit(c, &m.h);
}

int numa_untold_settle(struct attached *a, struct capture *c, struct numa_untold v[2])
{
	if (!c->ending || !v[0].known || !v[1].known)
		return 0;
	v[1].known = false;
	return untold_add(a, c, &v[0], &v[1]);
}
