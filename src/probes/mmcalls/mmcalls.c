/*
 * The mmcalls probe: who maps, unmaps, protects and gives back memory, and who waits until
 * something is on disk, and how long that takes, sampled. It looks only while there are many page
 * faults or TLB shootdowns to explain, the kernel is at work for programs, or tasks wait for disks.
 */
#include "probes/mmcalls/mmcalls.h"

#include <string.h>

#include "base/clock.h"
#include "capture/names/names.h"
#include "probes/probe.h"
#include "sys/cpu_time.h"
#include "sys/keyvals.h"
#include "sys/memory/interrupts.h"
#include "sys/memory/pressure.h"

#define LENGTH_NS (50 * NSEC_PER_MSEC)
#define EVERY_NS NSEC_PER_SEC
/* A second: from here on a look may be worth its cost. */
#define MANY_FAULTS 5000.0
#define MANY_SHOOTDOWNS 1000.0
#define MUCH_WORK 0.05   /* of one CPU, in the kernel */
#define LONG_WAITS 0.05  /* of the time, of some task for a disk */
#define MANY_WRITES 25.0 /* pages, where the kernel does not count such waits */

struct mmcalls {
	/* when it was last asked; written: pages, written back to disk */
	u64 time_ns, faults, written, shootdowns, kernel_ns, disk_ns;
	u64 risen, risen_ns; /* shootdowns since the time before that */
	bool no_pressure;    /* the kernel does not count waits for disks */
};

static const struct attach_hook hooks[] = {
	{
		.data = "calls that give memory back",
		.required = true,
		.needs = "raw tracepoints of system calls",
		.methods = {{"raw tracepoint sys_enter, in bursts", {"call_begins"}, {}, 0}},
	},
	{
		.data = "how long these take",
		.needs = "the raw tracepoint sys_exit",
		.methods = {{"raw tracepoint sys_exit, in bursts", {"call_ends"}, {}, 0}},
	},
	{
		.data = "signals for memory that may not be touched",
		.counts = true,
		.needs = "the raw tracepoint signal_deliver",
		.methods = {{"raw tracepoint signal_deliver, in bursts", {"signal_comes"}, {}, 0}},
	},
};

static struct mmcalls counts_now(void)
{
	_cleanup_keyvals_ struct keyvals vm = {};
	_cleanup_str_ struct str text = {};
	struct mmcalls now = {.time_ns = clock_mono_ns(), .kernel_ns = cpu_time_kernel_ns()};
	struct pressure disks;

	if (!keyvals_read("/proc/vmstat", &vm)) {
		now.faults = keyvals_get_or(&vm, "pgfault", 0);
		now.written = keyvals_get_or(&vm, "nr_written", 0);
	}
	if (interrupts_read(&text, "TLB", &now.shootdowns))
		now.shootdowns = 0;
	now.no_pressure = pressure_read("io", &disks);
	if (!now.no_pressure)
		now.disk_ns = disks.some.total_us * NSEC_PER_USEC;
	return now;
}

static bool disks_wait(const struct mmcalls *m, const struct mmcalls *now, double seconds)
{
	if (now->no_pressure)
		return (double)(now->written - m->written) >= MANY_WRITES * seconds;
	return (double)(now->disk_ns - m->disk_ns) >= LONG_WAITS * seconds * 1e9;
}

static bool mmcalls_due(struct capture *c)
{
	struct mmcalls *m = c->state, now = counts_now();
	double seconds = (double)(now.time_ns - m->time_ns) / 1e9;
	bool many = m->time_ns &&
		    ((double)(now.faults - m->faults) >= MANY_FAULTS * seconds ||
			    (double)(now.shootdowns - m->shootdowns) >= MANY_SHOOTDOWNS * seconds ||
			    (double)(now.kernel_ns - m->kernel_ns) >= MUCH_WORK * seconds * 1e9 ||
			    disks_wait(m, &now, seconds));

	if (m->time_ns) {
		now.risen = now.shootdowns - m->shootdowns;
		now.risen_ns = now.time_ns - m->time_ns;
	}
	*m = now;
	return many;
}

static int mmcalls_done(struct capture *c, u64 on_ns, u64 covered_ns)
{
	struct mmcalls_sampled r = REC_INIT(struct mmcalls_sampled, REC_MMCALLS_SAMPLED, 0);
	const struct mmcalls *m = c->state;

	r.shootdowns = m->risen;
	r.shootdown_ns = m->risen_ns;
	r.bursts = 1;
	r.on_ns = on_ns;
	r.covered_ns = covered_ns;
	return capture_emit(c, &r.h);
}

static int mmcalls_sync_added(struct capture *c, const struct stack_maps *stacks,
	const struct mmcalls_key *k, const struct agg_value *v)
{
	struct mmcalls_sync r = REC_INIT(struct mmcalls_sync, REC_MMCALLS_SYNC, 0);

	names_added(c->names, stacks, k, v, &r);
	r.call = k->call;
	r.count = v->count;
	r.bytes = v->sum[MMCALLS_BYTES];
	r.timed = v->timed;
	r.total_ns = v->total_ns;
	r.max_ns = v->max_ns;
	return capture_emit(c, &r.h);
}

static int mmcalls_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct mmcalls_key *k = key;
	const struct agg_value *v = value;
	struct mmcalls_agg r = REC_INIT(struct mmcalls_agg, REC_MMCALLS_AGG, 0);

	if (mmcalls_syncs(k->call))
		return mmcalls_sync_added(c, stacks, k, v);
	names_added(c->names, stacks, k, v, &r);
	r.call = k->call;
	r.advice = k->advice;
	r.count = v->count;
	r.bytes = v->sum[MMCALLS_BYTES];
	r.timed = v->timed;
	r.total_ns = v->total_ns;
	return capture_emit(c, &r.h);
}

static const struct probe_bursts bursts = {
	.length_ns = LENGTH_NS,
	.every_ns = EVERY_NS,
	.map = "burst",
	.due = mmcalls_due,
	.done = mmcalls_done,
};

static const struct probe_bpf bpf = {
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.state_size = sizeof(struct mmcalls),
	.tables = {{"table", sizeof(struct mmcalls_key), table_key_tgid, mmcalls_added}},
	.bursts = &bursts,
	.optional = true,
};

static const struct kind kinds[] = {
	RECORD_KIND(REC_MMCALLS_AGG, struct mmcalls_agg, "mmcalls_agg", MMCALLS_AGG_FIELDS,
		"calls that change an address space, counted in bursts"),
	RECORD_KIND(REC_MMCALLS_SYNC, struct mmcalls_sync, "mmcalls_sync", MMCALLS_SYNC_FIELDS,
		"calls that wait until something is on disk, counted in bursts"),
	RECORD_KIND(REC_MMCALLS_SAMPLED, struct mmcalls_sampled, "mmcalls_sampled",
		MMCALLS_SAMPLED_FIELDS,
		"for how long such calls were counted, and what that stands for"),
};

const struct probe probe_mmcalls = {
	.name = "mmcalls",
	.summary =
		"Who maps, protects and gives back memory or waits for it to be on disk, sampled",
	.details =
		"Counts and times mmap, munmap, madvise, mprotect, mremap and brk, and msync, "
		"fsync, fdatasync, syncfs and sync_file_range, for 50 ms each second while there "
		"are many page faults or TLB shootdowns, programs are in the kernel for a "
		"twentieth of a CPU, or tasks wait for disks a twentieth of the time; and counts "
		"the signals for memory that may "
		"not be touched (SIGSEGV, SIGBUS) that a handler gets. It feeds `memwhy check` "
		"and has no command of its own; `memwhy maps` counts all such calls.",
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.aside = true,
	.cheap = true,
	.only_named = true,
};
