/* See numa_capture.h. */
#include "probes/numa/numa_capture.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "capture/kbtf.h"
#include "capture/names.h"
#include "capture/place.h"
#include "capture/ring.h"
#include "capture/watch.h"
#include "probes/numa/numa_config.h"

#include "numa.skel.h"

enum {
	OPT_PREEMPTIBLE = 1, /* raw tracepoints are */
};

#define WAKE_BYTES (16U << 10) /* a quarter of the smallest ring of a CPU */
#define HINTS "NUMA hint faults, pages moved"

static const struct attach_hook hooks[] = {
	{
		.data = HINTS,
		.needs = "CONFIG_NUMA_BALANCING, two free debug registers, BTF",
		.methods =
			{
				{"watchpoints on the kernel's counters", {},
					{WATCHPOINT("watch_hint", WATCH_NUMA_HINT_FAULTS),
						WATCHPOINT(
							"watch_moved", WATCH_NUMA_PAGES_MIGRATED)},
					0},
			},
	},
	{
		.data = "addresses of faults",
		.required = true,
		.needs = "the exceptions tracepoints (x86)",
		.methods =
			{
				{"tracepoints exceptions:page_fault_*",
					{"tp_fault_user", "tp_fault_kernel"}, {}, OPT_PREEMPTIBLE},
				{"raw tracepoints exceptions:page_fault_*",
					{"raw_fault_user", "raw_fault_kernel"}, {}, 0},
			},
	},
};

static u32 options(const struct capture *c)
{
	(void)c;
	return kbtf_raw_is_preemptible() ? OPT_PREEMPTIBLE : 0;
}

/* The node that all memory is on; -1: there are several. */
static s32 only_node(void)
{
	_cleanup_zoneinfo_ struct zoneinfo zones = {};
	s32 node = -1;

	if (zoneinfo_read(&zones))
		return -1;
	vec_each (z, &zones.zones) {
		if (!z->managed_pages)
			continue;
		if (node >= 0 && node != (s32)z->id.node)
			return -1;
		node = (s32)z->id.node;
	}
	return node;
}

static int prepare(struct bpf_object *obj, const struct capture *c)
{
	struct numa_config config = {.only_node = only_node(), .wake_bytes = WAKE_BYTES};
	int rc = attach_set_const(obj, "numa_config", &config, sizeof(config));

	(void)c;
	rc = rc ? rc : ring_prepare(obj, "rings");
	return rc ? rc : place_prepare(obj);
}

static int sample_send(
	struct capture *c, const struct stack_maps *stacks, const struct numa_event *e)
{
	struct numa_sample s = e->sample;

	s.h.size = sizeof(s);
	s.ustack = names_stack(c->names, stacks, s.tgid, s.ustack, s.kstack);
	s.kstack = 0;
	return capture_emit(c, &s.h);
}

static int move_send(struct capture *c, const struct numa_event *e)
{
	struct numa_move m = e->move;

	m.h.size = sizeof(m);
	return capture_emit(c, &m.h);
}

static int record(struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
{
	const struct numa_event *e = (const void *)rec;

	if (rec->size != sizeof(*e))
		return 0;
	names_task(c->names, e->sample.tgid, e->sample.tid, e->comm, e->cgroup);
	return rec->kind == REC_NUMA_SAMPLE ? sample_send(c, stacks, e)
	       : rec->kind == REC_NUMA_MOVE ? move_send(c, e)
					    : 0;
}

const struct probe_bpf numa_bpf = {
	.elf = numa_bpf__elf_bytes,
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.options = options,
	.prepare = prepare,
	.record = record,
	.rings = "rings",
	.needs_btf = true,
	.single = true,
};
