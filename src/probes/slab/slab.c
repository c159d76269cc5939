/* The slab probe: its hooks, and what its tables become as records, with their schema. */
#include "probes/slab/slab.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "capture/kbtf.h"
#include "capture/names/names.h"
#include "event/schema.h"
#include "probes/probe.h"
#include "probes/slab/slab_held.h"
#include "probes/slab/slab_sample.h"
#include "probes/slab/slab_view.h"
#include "sys/kernel/kernel_data.h"

enum {
	OPT_NODES = 1,       /* allocations of a node have tracepoints of their own (until 6.0) */
	OPT_MERGED = 2,      /* ... they have not */
	OPT_PREEMPTIBLE = 4, /* raw tracepoints are: see slab.bpf.c */
	OPT_LIVE = 8,        /* objects are followed */
};

static const struct attach_hook hooks[] = {
	{
		.data = SLAB_EVENTS,
		.required = true,
		.needs = "BTF, and the kmem tracepoints",
		.methods =
			{
				{"tracepoints kmem:*",
					{"tp_kmalloc", "tp_cache_alloc", "tp_kfree",
						"tp_cache_free"},
					{}, OPT_PREEMPTIBLE},
				{"raw tracepoints kmem:*",
					{"raw_kmalloc", "raw_cache_alloc", "raw_kfree",
						"raw_cache_free"},
					{}, OPT_MERGED},
				{"raw tracepoints kmem:*, *_node",
					{"raw_kmalloc", "raw_cache_alloc", "raw_kmalloc_node",
						"raw_cache_alloc_node", "raw_kfree",
						"raw_cache_free"},
					{}, OPT_NODES},
			},
	},
	{
		.data = "objects freed in bulk",
		.only = OPT_LIVE,
		.needs = "kprobes (CONFIG_KPROBES)",
		.methods =
			{
				{"kprobes kmem_cache_free_bulk, __kfree_rcu_sheaf",
					{"kp_free_bulk", "kp_free_sheaf"}, {}, 0},
				{"kprobe kmem_cache_free_bulk", {"kp_free_bulk"}, {}, 0},
			},
	},
};

static bool follows(const struct capture *c)
{
	return capture_by(c, "live") || c->opt.outstanding;
}

static u32 slab_options(const struct capture *c)
{
	return (follows(c) ? OPT_LIVE : 0) |
	       (kbtf_has_name("trace_event_raw_kmem_alloc_node") ? OPT_NODES : OPT_MERGED) |
	       (kbtf_raw_is_preemptible() ? OPT_PREEMPTIBLE : 0);
}

static bool by_tasks(const struct capture *c)
{
	return capture_by(c, "process") || capture_by(c, "thread") || capture_by(c, "comm") ||
	       capture_by(c, "cgroup");
}

static bool takes_stacks(const struct capture *c)
{
	return (c->opt.user_stacks || c->opt.kernel_stacks) && !c->opt.few_stacks;
}

/* Keys of tasks that ended make room, unless the ends of their objects are still waited for. */
static bool keys_stay;

#define SLOTS_SHRINK 3 /* from here on the slots, which have one size, are done without */

static int slab_prepare(struct bpf_object *obj, const struct capture *c)
{
	static const char *const names[] = {"vmemmap_base", "page_offset_base"};
	static u64 addresses[ARRAY_SIZE(names)];
	static bool known; /* once: every attempt to load asks, and kallsyms is long */
	struct slab_config config = {
		.live = follows(c),
		.ages = c->opt.outstanding,
		.tasks = by_tasks(c),
		.slots = !by_tasks(c) && !takes_stacks(c) && c->shrink < SLOTS_SHRINK,
		.no_stacks = !takes_stacks(c),
	};
	int rc = 0;

	if (!known)
		kernel_data_find(names, ARRAY_SIZE(names), addresses);
	known = true;
	keys_stay = config.live;
	config.vmemmap = addresses[0];
	config.page_offset = addresses[1];
	if (config.live)
		rc = attach_set_entries(obj, "objects", slab_objects_room());
	if (!rc && config.slots)
		rc = attach_set_entries(
			obj, "slots", (u32)libbpf_num_possible_cpus() * SLAB_SLOTS_CPU);
	if (!rc && (!config.live || config.ages))
		rc = attach_set_entries(obj, "crossings", 1);
	if (!rc && !config.ages)
		rc = attach_set_entries(obj, "lifetimes", 1);
	return rc ? rc : attach_set_const(obj, "config", &config, sizeof(config));
}

static u32 slab_key_tgid(const void *key)
{
	return keys_stay ? 0 : ((const struct slab_key *)key)->tgid;
}

/* The name of a cache that a key could not tell: frees of pages, or no access to the cache. */
static u8 slab_flags_of(const struct slab_key *k, const struct slab_value *v)
{
	u8 flags = k->flags | (u8)v->flags;

	if (k->event < SLAB_KFREE && !v->cache[0] && k->bytes > 8192)
		flags |= SLAB_LARGE;
	return flags;
}

static int site_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct slab_key *k = key;
	const struct slab_value *v = value;
	struct slab_agg r = REC_INIT(struct slab_agg, REC_SLAB_AGG, 0);
	int rc;

	if (k->tgid)
		names_task(c->names, k->tgid, k->tid, v->comm, v->cgroup);
	r.tgid = k->tgid;
	r.tid = k->tid;
	r.stack = names_stack(c->names, stacks, k->tgid, k->ustack, k->kstack);
	r.site = names_kernel_symbol(c->names, k->call_site);
	r.gfp = k->gfp;
	r.bytes = k->bytes ? k->bytes : v->slot_bytes;
	r.object_bytes = k->bytes ? 0 : v->object_bytes;
	r.node = k->node;
	r.event = k->event;
	r.flags = slab_flags_of(k, v);
	r.count = v->count;
	r.requested = v->requested;
	r.squares = v->squares;
	r.freed = v->freed;
	r.untracked = v->untracked;
	r.cgroup = v->cgroup;
	memcpy(r.comm, v->comm, sizeof(r.comm));
	memcpy(r.cache, v->cache, sizeof(r.cache));
	rc = slab_held_learn(c, k, &r);
	return rc ? rc : capture_emit(c, &r.h);
}

static int crossing_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct slab_crossing_key *k = key;
	const struct slab_crossing_value *v = value;
	struct slab_crossing r = REC_INIT(struct slab_crossing, REC_SLAB_CROSSING, 0);

	(void)stacks;
	r.from_cpu = k->from_cpu;
	r.to_cpu = k->to_cpu;
	r.from_node = k->from_node;
	r.to_node = k->to_node;
	r.count = v->count;
	r.bytes = v->bytes;
	return capture_emit(c, &r.h);
}

static void slab_value_add(void *to, const void *cpu)
{
	struct slab_value *sum = to;
	const struct slab_value *v = cpu;

	if (!sum->described) {
		sum->described = v->described;
		sum->object_bytes = v->object_bytes;
		sum->slot_bytes = v->slot_bytes;
		sum->flags = v->flags;
		sum->cgroup = v->cgroup;
		memcpy(sum->comm, v->comm, sizeof(sum->comm));
		memcpy(sum->cache, v->cache, sizeof(sum->cache));
	}
	sum->count += v->count;
	sum->requested += v->requested;
	sum->squares += v->squares;
	sum->freed += v->freed;
	sum->untracked += v->untracked;
}

static void slab_value_subtract(void *from, const void *before)
{
	struct slab_value *v = from;
	const struct slab_value *last = before;

	v->count -= last->count;
	v->requested -= last->requested;
	v->squares -= last->squares;
	v->freed -= last->freed;
	v->untracked -= last->untracked;
}

static const struct table_values values = {
	sizeof(struct slab_value), slab_value_add, slab_value_subtract};

static void crossing_add(void *to, const void *cpu)
{
	((struct slab_crossing_value *)to)->count +=
		((const struct slab_crossing_value *)cpu)->count;
	((struct slab_crossing_value *)to)->bytes +=
		((const struct slab_crossing_value *)cpu)->bytes;
}

static void crossing_subtract(void *from, const void *last)
{
	((struct slab_crossing_value *)from)->count -=
		((const struct slab_crossing_value *)last)->count;
	((struct slab_crossing_value *)from)->bytes -=
		((const struct slab_crossing_value *)last)->bytes;
}

static const struct table_values crossing_values = {
	sizeof(struct slab_crossing_value), crossing_add, crossing_subtract};

static const struct probe_bpf bpf = {
	.needs_btf = true,
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.state_size = sizeof(struct slab_state),
	.open = slab_held_open,
	.close = slab_held_close,
	.options = slab_options,
	.prepare = slab_prepare,
	.tables =
		{
			{
				.map = "sites",
				.many_keys = true,
				.key_size = sizeof(struct slab_key),
				.tgid = slab_key_tgid,
				.added = site_added,
				.values = &values,
				.slots = "slots",
				.slot_key = SLAB_SLOT_KEY,
				.slot_sums = SLAB_SLOT_SUMS,
			},
			{
				.map = "crossings",
				.key_size = sizeof(struct slab_crossing_key),
				.added = crossing_added,
				.values = &crossing_values,
				.derived = true,
			},
			{
				.map = "lifetimes",
				.key_size = sizeof(struct slab_key),
				.added = slab_lifetime_added,
				.derived = true,
			},
		},
	.snapshot = slab_held_snapshot,
};

#define WHO(type_, member_, ftype_, unit_, help_)                                           \
	{                                                                                   \
		.name = #member_, .offset = offsetof(type_, who.member_), .type = (ftype_), \
		.unit = (unit_), .count = 1, .help = (help_)                                \
	}

#define WHO_FIELDS(type_)                                                                   \
	WHO(type_, tgid, FIELD_U32, UNIT_ID, "process; 0: not counted by process"),         \
		WHO(type_, tid, FIELD_U32, UNIT_ID, "thread; 0: not counted by thread"),    \
		WHO(type_, stack, FIELD_U32, UNIT_STACK, "code path of the allocation"),    \
		WHO(type_, site, FIELD_U32, UNIT_ID, "frame of the call of the allocator"), \
		WHO(type_, bytes, FIELD_U32, UNIT_BYTES,                                    \
			"allocated to one object, with padding; 0: not known"),             \
		WHO(type_, flags, FIELD_U32, UNIT_HEX, "2 whole pages"),                    \
	{                                                                                   \
		.name = "cache", .offset = offsetof(type_, who.cache), .type = FIELD_CHARS, \
		.unit = UNIT_NONE, .count = AGG_NAME_LEN,                                   \
		.help = "name of the cache; none: not known, or whole pages"                \
	}

static const struct field held_fields[] = {
	WHO_FIELDS(struct slab_held),
	FIELD(struct slab_held, count, FIELD_U64, UNIT_COUNT, "objects at this time"),
	FIELD(struct slab_held, old, FIELD_U64, UNIT_COUNT,
		"of these, older than old_ns of the slab_follow before"),
	FIELD(struct slab_held, oldest_ns, FIELD_U64, UNIT_NS, "age of the oldest"),
	FIELD_ARRAY(struct slab_held, hist, FIELD_U32, UNIT_COUNT, SLAB_AGE_SLOTS,
		"log2 histogram of ages: slot i is 2^(i-1) to 2^i ns"),
};

static const struct field lifetime_fields[] = {
	WHO_FIELDS(struct slab_lifetime),
	FIELD(struct slab_lifetime, count, FIELD_U64, UNIT_COUNT,
		"frees of objects followed: a sample, one in eight"),
	FIELD(struct slab_lifetime, total_ns, FIELD_U64, UNIT_NS, "sum of their lifetimes"),
	FIELD(struct slab_lifetime, max_ns, FIELD_U64, UNIT_NS, "the longest since the start"),
	FIELD_ARRAY(struct slab_lifetime, hist, FIELD_U32, UNIT_COUNT, SLAB_AGE_SLOTS,
		"log2 histogram of lifetimes: slot i is 2^(i-1) to 2^i ns; slot 10 has all below"),
};

static const struct kind kinds[] = {
	RECORD_KIND(REC_SLAB_CACHE, struct slab_usage, "slab_cache", SLAB_USAGE_FIELDS,
		"the state of a cache of kernel objects"),
	RECORD_KIND(REC_SLAB_AGG, struct slab_agg, "slab_agg", SLAB_AGG_FIELDS,
		"slab allocations or frees of one place and cache, since the last such record"),
	RECORD_KIND(REC_SLAB_CROSSING, struct slab_crossing, "slab_crossing", SLAB_CROSSING_FIELDS,
		"objects freed on another CPU than allocated, since the last such record"),
	KIND(REC_SLAB_HELD, struct slab_held, "slab_held", held_fields,
		"objects of one kind allocated since the start and not freed at this time"),
	KIND(REC_SLAB_LIFETIME, struct slab_lifetime, "slab_lifetime", lifetime_fields,
		"how long objects of one kind lived that were freed since the last such record"),
	RECORD_KIND(REC_SLAB_FOLLOW, struct slab_follow, "slab_follow", SLAB_FOLLOW_FIELDS,
		"how well objects could be followed"),
};

/* What a real run printed: the example of the man page. */
static const char output[] =
	"$ memwhy slab --limit 3 -- git status -s\n"
	"memwhy slab - Linux 6.18.44 - 2 CPUs, 1 node - command git\n"
	"0.4 s from 2026-11-21 19:46:37 UTC - events: slab 10,286 - none lost\n"
	"cost: 33.4 % of one CPU, BPF 7.61 ms (60 ns a run), RSS 10.3 MiB\n"
	"\n"
	"Slab caches\n"
	"CACHE           ALLOCS  FREES  ALLOCS/s  ALLOCATED     WASTE  WASTE%  "
	"NET  ACTIVE      SIZE\n"
	"names_cache      1,886  1,886     5,164   7.37 MiB       0 B   0.0 %   "
	" 0      16  4.00 KiB\n"
	"kmalloc-64       1,862  1,862     5,098    116 KiB  12.4 KiB  10.7 %   "
	" 0   2,702      64 B\n"
	"lsm_file_cache     358    360       980   8.39 KiB       0 B   0.0 %   "
	"-2   1,657      24 B\n"
	"... 129 more rows; --limit 0 shows all\n"
	"... no room for BYTES, UNUSED, GREW; -o wide shows all\n"
	"\n"
	"Call sites\n"
	"CACHE        CALL SITE                ALLOCS  FREES  ALLOCATED     "
	"WASTE  WASTE%      SIZE     CLASS\n"
	"names_cache  getname_fla...part.0+0x24   1,880      0   7.34 MiB       "
	"0 B   0.0 %  4.00 KiB  4.00 KiB\n"
	"kmalloc-64   ext4_htree_...dirent+0x34   1,648      0    103 KiB  12.4 "
	"KiB  12.0 %         -      64 B\n"
	"filp         alloc_empty_file+0x3c       358      0   67.1 KiB  2.80 "
	"KiB   4.2 %     184 B     192 B\n"
	"... 85 more rows; --limit 0 shows all\n"
	"\n"
	"Slab events\n"
	"EVENT             COUNT  FAILED\n"
	"kmem_cache_alloc  2,959       0\n"
	"kmem_cache_free   2,814       0\n"
	"kfree             2,424     331\n"
	"... 1 more row; --limit 0 shows all\n";

static const char *const examples[] = {
	"memwhy slab --for 10s",
	"what the kernel allocates for itself, by cache and call site",
	"memwhy slab top",
	"the busiest caches, refreshed every second",
	"memwhy slab --by site,live -- ./job",
	"where the objects that are still there were allocated, and where they are freed",
	"memwhy slab --by process,cache -p 1234",
	"the caches one process allocates from",
	"memwhy slab --stacks=kernel --by cache,stack --for 2s",
	"the code paths behind each cache",
	NULL,
};

const struct probe probe_slab = {
	.name = "slab",
	.summary = "Which kernel objects are allocated and freed, where, and what they waste",
	.details =
		"Counts every allocation from and every free to the slab allocator (kmalloc, "
		"kmem_cache_alloc, kfree, kmem_cache_free) in the kernel, by call site and cache, "
		"with the bytes that were asked for and those that were given. Beside it stands "
		"what /proc/slabinfo and /sys/kernel/slab say of each cache.\n\n"
		"With --by live each object is followed from its allocation to its free: objects "
		"and bytes still there at the end of the interval, by who allocated them, and "
		"objects freed on another CPU or node. That costs more, and takes a table of a "
		"256th of the memory, at most 1M objects; objects without room in it are counted "
		"as untracked. Frees of objects allocated before the start are counted "
		"separately.\n\n"
		"What an interrupt allocates counts for the task it interrupted. Sizes of objects "
		"that kfree frees are known with --by live, and else by the cache they lie in.",
	.examples = examples,
	.output = output,
	.operands = "[top]",
	.n_operands = 1,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.sampler = &slab_sampler,
	.view = &slab_view,
	.aside = true,
	.cheap = true,
	.only_named = true,
};
