/*
 * The lookups probe: who looks up names that do not exist, sampled. It looks only while the kernel
 * keeps many negative dentries, which such lookups leave, or ever more of them.
 */
#include "probes/lookups/lookups.h"

#include <string.h>

#include "base/clock.h"
#include "capture/names/names.h"
#include "probes/probe.h"
#include "sys/memory/counts.h"

#define LENGTH_NS (50 * NSEC_PER_MSEC)
#define EVERY_NS (930 * NSEC_PER_MSEC) /* no part of a second, as programs' rhythms are */
/* From here on a look may be worth its cost. */
#define MANY_A_SECOND 500.0
#define MANY 250000ULL /* some 50 MB */

struct lookups {
	u64 time_ns, negative; /* when it was last asked */
};

static const struct attach_hook hooks[] = {
	{
		.data = "lookups of names that do not exist",
		.required = true,
		.needs = "raw tracepoints of system calls",
		.methods = {{"raw tracepoint sys_exit, in bursts", {"call_ends"}, {}, 0}},
	},
};

static bool lookups_due(struct capture *c)
{
	struct lookups *l = c->state, now = {.time_ns = clock_mono_ns()};
	double seconds = (double)(now.time_ns - l->time_ns) / 1e9;
	bool many;

	if (count_read("dentry/negative", &now.negative))
		return false;
	many = l->time_ns &&
	       (now.negative >= MANY ||
		       (double)now.negative >= (double)l->negative + MANY_A_SECOND * seconds);
	*l = now;
	return many;
}

static int lookups_done(struct capture *c, u64 on_ns, u64 covered_ns)
{
	struct lookups_sampled r = REC_INIT(struct lookups_sampled, REC_LOOKUPS_SAMPLED, 0);

	r.on_ns = on_ns;
	r.covered_ns = covered_ns;
	return capture_emit(c, &r.h);
}

static int lookups_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct lookups_key *k = key;
	const struct agg_value *v = value;
	struct lookups_agg r = REC_INIT(struct lookups_agg, REC_LOOKUPS_AGG, 0);

	names_added(c->names, stacks, k, v, &r);
	r.count = v->count;
	r.cut = !!v->sum[LOOKUPS_CUT];
	r.removed = v->sum[LOOKUPS_REMOVED];
	memcpy(r.directory, v->name, sizeof(r.directory) - 1);
	return capture_emit(c, &r.h);
}

static const struct probe_bursts bursts = {
	.length_ns = LENGTH_NS,
	.every_ns = EVERY_NS,
	.map = "burst",
	.due = lookups_due,
	.done = lookups_done,
};

static const struct probe_bpf bpf = {
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.state_size = sizeof(struct lookups),
	.tables = {{"table", sizeof(struct lookups_key), table_key_tgid, lookups_added}},
	.bursts = &bursts,
	.optional = true,
};

static const struct kind kinds[] = {
	RECORD_KIND(REC_LOOKUPS_AGG, struct lookups_agg, "lookups_agg", LOOKUPS_AGG_FIELDS,
		"lookups of names that do not exist, counted in bursts"),
	RECORD_KIND(REC_LOOKUPS_SAMPLED, struct lookups_sampled, "lookups_sampled",
		LOOKUPS_SAMPLED_FIELDS,
		"for how long such lookups were counted, and what that stands for"),
};

const struct probe probe_lookups = {
	.name = "lookups",
	.summary = "Who looks up names that do not exist, sampled",
	.details =
		"Counts calls that fail since a name does not exist for 50 ms about each second, "
		"while the kernel keeps many negative dentries, which such lookups leave behind, "
		"or "
		"gets more of them. It feeds `memwhy check` and has no command of its own.",
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.aside = true,
	.cheap = true,
	.only_named = true,
};
