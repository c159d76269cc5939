/*
 * The mmcalls probe: who maps, unmaps, protects and gives back memory, and how long that takes,
 * sampled. It looks only while there are many page faults or TLB shootdowns to explain, or the
 * kernel is at work for programs.
 */
#include "probes/mmcalls/mmcalls.h"

#include <string.h>

#include "base/clock.h"
#include "capture/names/names.h"
#include "probes/probe.h"
#include "sys/cpu_time.h"
#include "sys/keyvals.h"
#include "sys/memory/interrupts.h"

#define LENGTH_NS (50 * NSEC_PER_MSEC)
#define EVERY_NS NSEC_PER_SEC
/* A second: from here on a look may be worth its cost. */
#define MANY_FAULTS 5000.0
#define MANY_SHOOTDOWNS 1000.0
#define MUCH_WORK 0.05 /* of one CPU, in the kernel */

struct mmcalls {
	u64 time_ns, faults, shootdowns, kernel_ns; /* when it was last asked */
	u64 risen, risen_ns;                        /* shootdowns since the time before that */
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

static u64 faults_now(void)
{
	_cleanup_keyvals_ struct keyvals vm = {};

	return keyvals_read("/proc/vmstat", &vm) ? 0 : keyvals_get_or(&vm, "pgfault", 0);
}

static u64 shootdowns_now(void)
{
	_cleanup_str_ struct str text = {};
	u64 n;

	return interrupts_read(&text, "TLB", &n) ? 0 : n;
}

static bool mmcalls_due(struct capture *c)
{
	struct mmcalls *m = c->state;
	struct mmcalls now = {
		clock_mono_ns(), faults_now(), shootdowns_now(), cpu_time_kernel_ns(), 0, 0};
	double seconds = (double)(now.time_ns - m->time_ns) / 1e9;
	bool many = m->time_ns &&
		    ((double)(now.faults - m->faults) >= MANY_FAULTS * seconds ||
			    (double)(now.shootdowns - m->shootdowns) >= MANY_SHOOTDOWNS * seconds ||
			    (double)(now.kernel_ns - m->kernel_ns) >= MUCH_WORK * seconds * 1e9);

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

static int mmcalls_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct mmcalls_key *k = key;
	const struct agg_value *v = value;
	struct mmcalls_agg r = REC_INIT(struct mmcalls_agg, REC_MMCALLS_AGG, 0);

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
	RECORD_KIND(REC_MMCALLS_SAMPLED, struct mmcalls_sampled, "mmcalls_sampled",
		MMCALLS_SAMPLED_FIELDS,
		"for how long such calls were counted, and what that stands for"),
};

const struct probe probe_mmcalls = {
	.name = "mmcalls",
	.summary = "Who maps, protects and gives back memory, and for how long, sampled",
	.details =
		"Counts and times mmap, munmap, madvise, mprotect, mremap and brk for 50 ms each "
		"second while there are many page faults or TLB shootdowns, or programs are in "
		"the kernel for a twentieth of a CPU; and counts the signals for memory that may "
		"not be touched (SIGSEGV, SIGBUS) that a handler gets. It feeds `memwhy check` "
		"and has no command of its own; `memwhy maps` counts all such calls.",
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.aside = true,
	.cheap = true,
	.only_named = true,
};
