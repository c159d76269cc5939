/*
 * The cache probe: who has pages read into the page cache, and whose come back after they were
 * pushed out. It looks only while the kernel pushes pages out to make room, or reads them back.
 */
#include "probes/cache/cache.h"

#include <string.h>

#include "base/clock.h"
#include "capture/names.h"
#include "probes/probe.h"
#include "sys/keyvals.h"

#define EVERY_NS NSEC_PER_SEC
/* Nearly all of the time: what is pushed out while nobody looks is not known to have come back. */
#define LENGTH_NS (EVERY_NS - 20 * NSEC_PER_MSEC)
/* Pages a second: fewer hurt nobody. */
#define MANY_REFAULTS 200.0
#define MANY_STOLEN 5000.0

struct cache_pace {
	u64 time_ns, refaults, stolen; /* when it was last asked */
};

static const struct attach_hook hooks[] = {
	{
		.data = "pages that come into the page cache and go",
		.required = true,
		.needs = "the filemap tracepoints and kernel BTF",
		.methods = {{"raw tracepoints mm_filemap_*, sampled", {"page_comes", "page_goes"},
			{}, 0}},
	},
};

static struct cache_pace pace_now(void)
{
	_cleanup_keyvals_ struct keyvals vm = {};
	struct cache_pace p = {.time_ns = clock_mono_ns()};

	if (keyvals_read("/proc/vmstat", &vm))
		return p;
	p.refaults = keyvals_get_or(&vm, "workingset_refault_file", 0);
	p.stolen = keyvals_get_or(&vm, "pgsteal_file", 0);
	return p;
}

static bool due(struct capture *c)
{
	struct cache_pace *last = c->state, now = pace_now();
	double seconds = (double)(now.time_ns - last->time_ns) / 1e9;
	bool many = last->time_ns &&
		    ((double)(now.refaults - last->refaults) >= MANY_REFAULTS * seconds ||
			    (double)(now.stolen - last->stolen) >= MANY_STOLEN * seconds);

	*last = now;
	return many;
}

static int done(struct capture *c, u64 on_ns, u64 covered_ns)
{
	struct cache_sampled r = REC_INIT(struct cache_sampled, REC_CACHE_SAMPLED, 0);

	r.bursts = 1;
	r.on_ns = on_ns;
	r.covered_ns = covered_ns;
	return capture_emit(c, &r.h);
}

static int added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct cache_key *k = key;
	const struct agg_value *v = value;
	struct cache_agg r = REC_INIT(struct cache_agg, REC_CACHE_AGG, 0);

	names_added(c->names, stacks, k, v, &r);
	r.evictor = k->evictor;
	r.flags = k->flags;
	r.count = v->count;
	r.total_ns = v->total_ns;
	return capture_emit(c, &r.h);
}

static const struct probe_bursts bursts = {
	.length_ns = LENGTH_NS,
	.every_ns = EVERY_NS,
	.map = "burst",
	.due = due,
	.done = done,
};

static const struct probe_bpf bpf = {
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.state_size = sizeof(struct cache_pace),
	.tables = {{"table", sizeof(struct cache_key), table_key_tgid, added}},
	.bursts = &bursts,
	.needs_btf = true,
	.optional = true,
};

#define AGG(member_, type_, unit_, help_) FIELD(struct cache_agg, member_, type_, unit_, help_)

static const struct field agg_fields[] = {
	AGG(tgid, FIELD_U32, UNIT_ID, "process that had the page read"),
	AGG(tid, FIELD_U32, UNIT_ID, "0"),
	AGG(stack, FIELD_U32, UNIT_STACK, "0"),
	AGG(evictor, FIELD_U32, UNIT_ID, "of refaults: process that had pushed it out; 0: none"),
	AGG(flags, FIELD_U16, UNIT_HEX, "1 read back after it was pushed out, 2 by kswapd"),
	AGG(count, FIELD_U64, UNIT_COUNT, "pages that were looked at, one in 64"),
	AGG(total_ns, FIELD_U64, UNIT_NS, "of refaults: time from pushed out to read back, sum"),
	AGG(cgroup, FIELD_U64, UNIT_CGROUP, "cgroup of the process"),
	FIELD_ARRAY(struct cache_agg, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
};

static const struct field sampled_fields[] = {
	FIELD(struct cache_sampled, bursts, FIELD_U64, UNIT_COUNT, "bursts"),
	FIELD(struct cache_sampled, on_ns, FIELD_U64, UNIT_NS, "time in which pages counted"),
	FIELD(struct cache_sampled, covered_ns, FIELD_U64, UNIT_NS, "time it stands for"),
};

static const struct kind kinds[] = {
	KIND(REC_CACHE_AGG, struct cache_agg, "cache_agg", agg_fields,
		"pages put into the page cache, sampled"),
	KIND(REC_CACHE_SAMPLED, struct cache_sampled, "cache_sampled", sampled_fields,
		"for how long such pages were counted, and what that stands for"),
};

const struct probe probe_cache = {
	.name = "cache",
	.summary = "Who fills the page cache, and whose pages go for it, sampled",
	.details = "While the kernel pushes pages of files out, or reads them back, it follows one "
		   "page in 64 of each file into the page cache and out of it. It feeds `memwhy "
		   "check` and has no command of its own.",
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.cheap = true,
	.only_named = true,
};
