/* The pages probe: its hooks, and what its tables and ring become as records, with their schema. */
#include "probes/pages/pages.h"

#include <bpf/libbpf.h>
#include <string.h>

#include "base/clock.h"
#include "base/util.h"
#include "capture/names/names.h"
#include "capture/tracepoint.h"
#include "event/schema.h"
#include "probes/pages/pages_held.h"
#include "probes/pages/pages_host.h"
#include "probes/pages/pages_view.h"
#include "probes/probe.h"
#include "sys/keyvals.h"

/* capture.state of the probe. */
struct pages_pace {
	u64 pages; /* allocated since the boot, when last asked */
	u64 kept;  /* for objects of the kernel that cannot be reclaimed */
	u64 time_ns;
};

#define BUSY_PAGES 10000 /* a second: 40 MB/s */
#define KEPT_PAGES 256   /* … more than before: 1 MiB/s */

static u64 pages_allocated(u64 *ret_kept)
{
	_cleanup_keyvals_ struct keyvals vm = {};
	u64 sum = 0;

	*ret_kept = 0;
	if (keyvals_read("/proc/vmstat", &vm))
		return 0;
	vec_each (v, &vm.items)
		if (!strncmp(v->name, "pgalloc_", 8))
			sum += v->value;
	*ret_kept = keyvals_get_or(&vm, "nr_slab_unreclaimable", 0);
	return sum;
}

/* Are so many pages allocated that CPUs could get in each other's way, or do ever more of them
 * stay in the kernel? Against the last call. */
static bool pages_busy(struct capture *c)
{
	struct pages_pace *p = c->state;
	u64 now = clock_mono_ns(), kept, pages = pages_allocated(&kept);
	double seconds = (double)(now - p->time_ns) / 1e9;
	bool busy = p->time_ns && ((double)(pages - p->pages) >= BUSY_PAGES * seconds ||
					  (double)kept >= (double)p->kept + KEPT_PAGES * seconds);

	p->time_ns = now;
	p->pages = pages;
	p->kept = kept;
	return busy;
}

static int pages_sampled_send(struct capture *c, u64 on_ns, u64 covered_ns)
{
	struct pages_sampled r = REC_INIT(struct pages_sampled, REC_PAGES_SAMPLED, 0);

	r.bursts = 1;
	r.on_ns = on_ns;
	r.covered_ns = covered_ns;
	return capture_emit(c, &r.h);
}

enum {
	OPT_SUMS = 1,
	OPT_EACH = 2,
	OPT_WAITS = 4,
	OPT_KERNEL = 8,    /* for leak */
	OPT_LOCKED_3 = 16, /* arguments of mm_page_alloc_zone_locked */
	OPT_LOCKED_4 = 32,
};

static const struct attach_hook hooks[] = {
	{
		.data = "page allocations and frees",
		.only = OPT_SUMS | OPT_KERNEL,
		.required = true,
		.needs = "the kmem tracepoints",
		.methods =
			{
				{"raw tracepoints mm_page_*",
					{"raw_alloc", "raw_free", "raw_batched", "raw_locked",
						"raw_drained"},
					{}, OPT_LOCKED_4},
				{"raw tracepoints mm_page_* (before 5.19)",
					{"raw_alloc", "raw_free", "raw_batched", "raw_locked_3",
						"raw_drained"},
					{}, OPT_LOCKED_3},
				{"raw tracepoints mm_page_alloc, mm_page_free",
					{"raw_alloc", "raw_free"}, {}, OPT_KERNEL},
			},
	},
	/* Behind the one above; what it does is told in pages_count.bpf.h. */
	{
		.data = "those that interrupt a program",
		.only = OPT_SUMS | OPT_KERNEL,
		.methods =
			{
				{"raw tracepoints, second programs",
					{"more_alloc", "more_free", "more_batched"}, {}, OPT_SUMS},
				{"raw tracepoints, second programs", {"more_alloc", "more_free"},
					{}, OPT_KERNEL},
			},
	},
	{
		.data = PAGES_WAITS,
		.only = OPT_WAITS,
		.needs = "BTF, lock:contention_begin",
		.methods =
			{
				{"raw tracepoints contention_*", {"raw_wait", "raw_waited"}, {}, 0},
			},
	},
	{
		.data = "failed page allocations",
		.only = OPT_EACH,
		.required = true,
		.needs = "the kmem tracepoints",
		.methods =
			{
				{"raw tracepoint mm_page_alloc", {"raw_failed"}, {}, 0},
			},
	},
};

static u32 pages_options(const struct capture *c)
{
	static u32 locked; /* asked once, as it may cost a program */

	if (c->opt.outstanding)
		return OPT_KERNEL;
	if (!locked)
		locked = tracepoint_has_argument("mm_page_alloc_zone_locked", 3) ? OPT_LOCKED_4
										 : OPT_LOCKED_3;
	return c->opt.each ? OPT_EACH : OPT_SUMS | OPT_WAITS | locked;
}

/* In check, which has other probes for what it shows of tasks. */
static bool pages_in_bursts(const struct capture *c)
{
	return c->opt.gentle && !capture_named(c);
}

/* Do the keys leave the task out? Stacks of user space need it, and names come with it. */
static bool any_task(const struct capture *c)
{
	return (c->opt.by || c->opt.outstanding) && !c->opt.user_stacks && !pages_in_bursts(c) &&
	       !capture_by(c, "process") && !capture_by(c, "thread") && !capture_by(c, "comm") &&
	       !capture_by(c, "cgroup");
}

#define NAMES_MAX 2048U
#define BURST_TASKS 1024U
#define PAIRS_MAX 65536U /* 9 MB; of more CPUs than 256 not every pair is told */

static int pages_prepare(struct bpf_object *obj, const struct capture *c)
{
	u32 cpus = (u32)libbpf_num_possible_cpus();
	u32 slots = c->opt.each || c->opt.outstanding
			    ? 1
			    : MAX(1024U, pages_drained_slots(pages_in_bursts(c)) >> c->shrink);
	u32 room = attach_table_entries(c, sizeof(struct pages_key), sizeof(struct sum_value));
	struct pages_config config = {
		.gfp = capture_by(c, "gfp"),
		.any_task = any_task(c),
		.held = pages_follows(c),
		.bursts = pages_in_bursts(c),
		.kernel = c->opt.outstanding,
		.drained_mask = slots - 1,
	};
	int rc = attach_set_const(obj, "config", &config, sizeof(config));

	if (!rc)
		rc = attach_set_entries(obj, "cpus", cpus);
	if (!rc)
		rc = attach_set_entries(obj, "drained", slots);
	if (!rc)
		rc = attach_set_entries(obj, "pairs", cpus < 256 ? cpus * cpus : PAIRS_MAX);
	if (!rc)
		rc = attach_set_entries(obj, "names", c->opt.each ? 1 : MIN(NAMES_MAX, room));
	if (!rc)
		rc = attach_set_entries(obj, "held", config.held ? PAGES_HELD_ROOM : 1);
	if (!rc && !config.held)
		rc = attach_set_entries(obj, "lifetimes", 1);
	if (!rc && config.bursts) /* what more tasks do is counted by their names */
		rc = attach_set_entries(obj, "sums", MIN(BURST_TASKS, room));
	return rc;
}

struct pages_who pages_who_of(
	struct capture *c, const struct stack_maps *stacks, const struct pages_key *k)
{
	const struct pages_task *t = &k->task;

	return (struct pages_who){
		.tgid = t->tgid,
		.tid = t->tid,
		.stack = names_stack(c->names, stacks, t->tgid, t->ustack, t->kstack),
		.gfp = k->gfp,
		.order = k->order,
		.migratetype = k->migratetype,
	};
}

/* Sends what was added to a key, of a task or only of a name. */
static int who_added(struct capture *c, struct pages_who *who, const struct pages_key *k,
	const struct sum_value *v)
{
	memcpy(who->comm, v->comm, sizeof(who->comm));
	who->cgroup = v->cgroup;
	if (k->what == PAGES_FREE) {
		struct pages_free r = REC_INIT(struct pages_free, REC_PAGES_FREE, 0);
		bool batched = k->order == PAGES_ORDER_UNKNOWN;

		r.who = *who;
		r.count = batched ? 0 : v->count;
		r.batched = batched ? v->count : 0;
		return capture_emit(c, &r.h);
	}
	struct pages_alloc r = REC_INIT(struct pages_alloc, REC_PAGES_ALLOC, 0);

	r.who = *who;
	r.count = k->what == PAGES_ALLOC ? v->count : 0;
	r.failures = k->what == PAGES_FAILED ? v->count : 0;
	r.direct = v->sum[PAGES_DIRECT];
	r.refilled = v->sum[PAGES_REFILLED];
	r.refill_pages = v->sum[PAGES_REFILL_PAGES];
	r.untracked = v->sum[PAGES_UNTRACKED];
	return capture_emit(c, &r.h);
}

static int sum_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct pages_key *k = key;
	const struct sum_value *v = value;
	struct pages_who who = pages_who_of(c, stacks, k);

	if (!any_task(c))
		names_task(c->names, k->task.tgid, k->task.tid, v->comm, v->cgroup);
	return who_added(c, &who, k, v);
}

static int name_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct pages_key *k = key;
	struct pages_who who = {
		.gfp = k->gfp,
		.order = k->order,
		.migratetype = k->migratetype,
		.flags = PAGES_WHO_NAMED,
	};
	struct sum_value v = *(const struct sum_value *)value;

	(void)stacks;
	memcpy(v.comm, k->comm, sizeof(v.comm));
	v.cgroup = 0; /* the first one's only */
	return who_added(c, &who, k, &v);
}

static int cpu_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct pages_cpu_sums *v = value;
	struct pages_pcp r = REC_INIT(struct pages_pcp, REC_PAGES_PCP, 0);

	(void)stacks;
	r.cpu = *(const u32 *)key;
	r.direct = v->direct;
	r.refill_runs = v->refill_runs;
	r.refill_pages = v->refill_pages;
	r.drain_runs = v->drain_runs;
	r.drain_pages = v->drain_pages;
	r.allocations = v->allocations + v->more_allocations;
	r.frees = v->frees + v->more_frees;
	r.waits = v->waits;
	r.wait_ns = v->wait_ns;
	return capture_emit(c, &r.h);
}

static int pair_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct pages_pair *k = key;
	struct pages_imbalance r = REC_INIT(struct pages_imbalance, REC_PAGES_IMBALANCE, 0);

	(void)stacks;
	r.from = k->from;
	r.to = k->to;
	r.pages = ((const struct sum_value *)value)->sum[0];
	return capture_emit(c, &r.h);
}

static int pages_record(struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
{
	struct pages_failure e;

	if (rec->kind != REC_PAGES_FAILURE || rec->size != sizeof(e))
		return 0;
	e = *(const struct pages_failure *)rec;
	names_event(c->names, stacks, &e);
	return capture_emit(c, &e.h);
}

#define CPU_SUMS (sizeof(struct pages_cpu_sums) / sizeof(u64))

/* An element of `cpus` as a value: what it counts stands first. */
static void cpu_add(void *to, const void *cpu)
{
	for (size_t i = 0; i < CPU_SUMS; i++)
		((u64 *)to)[i] += ((const u64 *)cpu)[i];
}

static void cpu_subtract(void *from, const void *last)
{
	for (size_t i = 0; i < CPU_SUMS; i++)
		((u64 *)from)[i] -= ((const u64 *)last)[i];
}

static const struct table_values cpu_values = {sizeof(struct pages_cpu), cpu_add, cpu_subtract};

static const struct probe_bursts bursts = {
	.length_ns = 40 * NSEC_PER_MSEC,
	.every_ns = 2 * NSEC_PER_SEC,
	.map = "burst",
	.due = pages_busy,
	.done = pages_sampled_send,
};

static const struct probe_bpf bpf = {
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.state_size = sizeof(struct pages_pace),
	.options = pages_options,
	.prepare = pages_prepare,
	.bursts = &bursts,
	.tables =
		{
			{"sums", sizeof(struct pages_key), table_key_tgid, sum_added, &table_sum,
				false},
			{"names", sizeof(struct pages_key), NULL, name_added, &table_sum, false},
			{"cpus", sizeof(u32), NULL, cpu_added, &cpu_values, false},
			{"pairs", sizeof(struct pages_pair), NULL, pair_added, &table_sum,
				.derived = true},
			{"lifetimes", sizeof(struct pages_key), table_key_tgid,
				pages_lifetime_added, &table_agg, true, .derived = true},
		},
	.record = pages_record,
	.snapshot = pages_held_snapshot,
	.frequent = true,
};

#define WHO(type_, member_, name_, ftype_, unit_, help_)                                 \
	{                                                                                \
		.name = name_, .offset = offsetof(type_, who.member_), .type = (ftype_), \
		.unit = (unit_), .count = 1, .help = (help_)                             \
	}

#define WHO_FIELDS(type_)                                                                       \
	WHO(type_, cgroup, "cgroup", FIELD_U64, UNIT_CGROUP, "control group of the task"),      \
		WHO(type_, tgid, "tgid", FIELD_U32, UNIT_ID, "process"),                        \
		WHO(type_, tid, "tid", FIELD_U32, UNIT_ID, "thread; 0: not counted by thread"), \
		WHO(type_, stack, "stack", FIELD_U32, UNIT_STACK, "where it happened"),         \
		WHO(type_, gfp, "gfp", FIELD_U32, UNIT_HEX,                                     \
			"allocation flags (enum gfp); 0: not counted by them"),                 \
		WHO(type_, order, "order", FIELD_U8, UNIT_ID, "2^order pages; 255: unknown"),   \
		WHO(type_, migratetype, "migratetype", FIELD_U8, UNIT_ID,                       \
			"of the allocation (enum migratetype)"),                                \
		WHO(type_, flags, "flags", FIELD_U8, UNIT_HEX,                                  \
			"1 only the name of the process is known"),                             \
	{                                                                                       \
		.name = "comm", .offset = offsetof(type_, who.comm), .type = FIELD_CHARS,       \
		.unit = UNIT_NONE, .count = COMM_LEN, .help = "thread name"                     \
	}

static const struct field alloc_fields[] = {
	WHO_FIELDS(struct pages_alloc),
	FIELD(struct pages_alloc, count, FIELD_U64, UNIT_COUNT, "allocations that got a page"),
	FIELD(struct pages_alloc, failures, FIELD_U64, UNIT_COUNT, "allocations that got none"),
	FIELD(struct pages_alloc, direct, FIELD_U64, UNIT_COUNT,
		"of the former, taken from the buddy lists"),
	FIELD(struct pages_alloc, refilled, FIELD_U64, UNIT_COUNT,
		"of the former, that refilled the list of the CPU"),
	FIELD(struct pages_alloc, refill_pages, FIELD_U64, UNIT_PAGES, "by so many pages"),
	FIELD(struct pages_alloc, untracked, FIELD_U64, UNIT_COUNT,
		"of the count, could not be followed: the table was full"),
};

static const struct field free_fields[] = {
	WHO_FIELDS(struct pages_free),
	FIELD(struct pages_free, count, FIELD_U64, UNIT_COUNT, "frees (mm_page_free)"),
	FIELD(struct pages_free, batched, FIELD_U64, UNIT_COUNT,
		"frees in batches (mm_page_free_batched), which mm_page_free has too"),
};

static const struct field held_fields[] = {
	WHO_FIELDS(struct pages_held),
	FIELD(struct pages_held, count, FIELD_U64, UNIT_COUNT, "allocations held at this time"),
	FIELD(struct pages_held, oldest_ns, FIELD_U64, UNIT_NS, "age of the oldest"),
	FIELD_ARRAY(struct pages_held, hist, FIELD_U32, UNIT_COUNT, PAGES_HELD_SLOTS,
		"log2 histogram of ages: slot i is 2^(i-1) to 2^i ns"),
	FIELD(struct pages_held, old, FIELD_U64, UNIT_COUNT,
		"of the count, older than old_ns of the pages_follow before"),
};

static const struct field lifetime_fields[] = {
	WHO_FIELDS(struct pages_lifetime),
	FIELD(struct pages_lifetime, count, FIELD_U64, UNIT_COUNT, "frees of pages followed"),
	FIELD(struct pages_lifetime, total_ns, FIELD_U64, UNIT_NS, "sum of their lifetimes"),
	FIELD(struct pages_lifetime, max_ns, FIELD_U64, UNIT_NS, "the longest since the start"),
	FIELD_ARRAY(struct pages_lifetime, hist, FIELD_U32, UNIT_COUNT, AGG_SLOTS + 8,
		"log2 histogram of lifetimes: slot i is 2^(i-1) to 2^i ns; slot 10 has all below"),
};

static const struct kind kinds[] = {
	KIND(REC_PAGES_ALLOC, struct pages_alloc, "pages_alloc", alloc_fields,
		"page allocations of one kind since the last such record"),
	KIND(REC_PAGES_FREE, struct pages_free, "pages_free", free_fields,
		"page frees of one kind since the last such record"),
	RECORD_KIND(REC_PAGES_PCP, struct pages_pcp, "pages_pcp", PAGES_PCP_FIELDS,
		"what one CPU did with its lists since the last such record"),
	RECORD_KIND(REC_PAGES_IMBALANCE, struct pages_imbalance, "pages_imbalance",
		PAGES_IMBALANCE_FIELDS,
		"pages refilled on one CPU that another had drained, since the last such record"),
	KIND(REC_PAGES_HELD, struct pages_held, "pages_held", held_fields,
		"pages of one kind held at this time"),
	KIND(REC_PAGES_LIFETIME, struct pages_lifetime, "pages_lifetime", lifetime_fields,
		"how long pages of one kind were held that were freed since the last such record"),
	RECORD_KIND(REC_PAGES_FOLLOW, struct pages_follow, "pages_follow", PAGES_FOLLOW_FIELDS,
		"how well pages could be followed"),
	RECORD_KIND(REC_PAGES_FAILURE, struct pages_failure, "pages_failure", PAGES_FAILURE_FIELDS,
		"one allocation that failed"),
	RECORD_KIND(REC_PAGES_LISTS, struct pages_lists, "pages_lists", PAGES_LISTS_FIELDS,
		"the per-CPU lists of all zones at this time"),
	RECORD_KIND(REC_PAGES_SAMPLED, struct pages_sampled, "pages_sampled", PAGES_SAMPLED_FIELDS,
		"what was counted in bursts: for how long, and what that stands for"),
};

/* What a real run printed: the example of the man page. */
static const char output[] =
	"$ memwhy pages --limit 3 -- git status -s\n"
	"memwhy pages - Linux 6.18.44 - 2 CPUs, 1 node - command git\n"
	"0.1 s from 2026-11-21 19:46:38 UTC - events: pages 648 - none lost\n"
	"cost: 18.8 % of one CPU, BPF 1.48 ms (79 ns a run), RSS 4.11 MiB\n"
	"\n"
	"Page allocations\n"
	"  PID  COMM  ORDER  TYPE       ALLOCS     /s    BYTES  LOCKED      %  FAILED\n"
	"31297  git       0  Movable       178  1,230  712 KiB       0  0.0 %       0\n"
	"31297  git       0  Unmovable      29    200  116 KiB       0  0.0 %       0\n"
	"\n"
	"Page frees\n"
	"  PID  COMM  FREES     /s    BYTES  BATCHED  SINGLE      %\n"
	"31297  git     225  1,555  900 KiB      216       9  4.0 %\n"
	"\n"
	"Lists of free pages of each CPU\n"
	"CPU  ALLOCS  FREES  DIRECT  REFILLS  PAGES IN  DRAINS  PAGES OUT  LOCKS/s  IN - OUT  "
	"WAITED\n"
	"  0     150     43       0        0         0       0          0     0.00         0    0 "
	"ns\n"
	"  1      57    182       0        0         0       0          0     0.00         0    0 "
	"ns\n"
	"\n"
	"Pages drained on one CPU and refilled on one\n"
	"No page was seen to be drained and refilled.\n";

static const char *const examples[] = {
	"memwhy pages --for 10s",
	"who allocates and frees pages, of what order and type, and how the per-CPU lists fare",
	"memwhy pages --by comm,gfp -- make",
	"with which flags the programs of a command allocate",
	"memwhy pages --stacks=kernel --for 5s",
	"the code paths; those with LOCKED are the ones that contend for the zone's lock",
	"memwhy pages held --stacks=kernel --for 60s",
	"pages that were allocated and not freed, by code path, with their age",
	"memwhy pages --each",
	"each allocation that fails, as it happens",
	NULL,
};

const struct probe probe_pages = {
	.name = "pages",
	.summary = "Who allocates and frees pages, and how much of it takes the zone's lock",
	.operands = "[held]",
	.n_operands = 1,
	.details =
		"Counts each page allocation (mm_page_alloc) and each free (mm_page_free), "
		"exactly, by process, order and migratetype, or by what --by says. An event "
		"counts for the task that is current: an interrupt's allocation counts for the "
		"task it interrupted. Pages that a caller takes in bulk (alloc_pages_bulk) or by "
		"address (alloc_contig_range) fire no mm_page_alloc; their frees are seen.\n\n"
		"An allocation is served from a list of the CPU or, under zone->lock, from the "
		"buddy lists of the zone. LOCKED are the latter: taken from the buddy lists "
		"directly, or the list of the CPU was empty and was refilled first. The lock "
		"turns interrupts off, makes CPUs wait for each other, and moves cache lines "
		"between them, so a high share is worth a look at the code paths "
		"(--stacks=kernel). From 6.10 on a block that is taken of another migratetype "
		"fires no event of the lock (frag has it).\n\n"
		"A free is single, or batched: the kernel was given many pages at once "
		"(mm_page_free_batched). Who frees many pages singly could batch them. Much "
		"batching is pages coming off the LRU lists: of ending processes and truncated "
		"files, or, with reclaim at work, memory pressure and contention on the LRU lock "
		"(`memwhy reclaim`).\n\n"
		"The lists of each CPU are refilled when empty and drained when full, many pages "
		"at a time. A run is one such time: its events follow each other on a CPU without "
		"another, and the lock is taken at least once for it. Many refills and drains say "
		"that the lists are small for the work. The table of imbalance says where pages "
		"refilled on a CPU had been drained last: when that was another CPU, pages are "
		"allocated here and freed there, and their cache lines travel. Whether an "
		"allocation of order 0 to 3 was a refill is what the kernel says; from 5.19 on it "
		"says so too of the few that went past the list.\n\n"
		"With `held` each page is followed from its allocation to its free: those still "
		"held are shown with their age, the others with how long they lived. At most "
		"262144 pages are followed at a time (25 MiB); those that found no room are "
		"counted and reported. It costs more; the rest is counted in the kernel and "
		"cheap.\n\n"
		"WAITED is the time CPUs waited for the lock of a zone behind another that "
		"waited: the first that waits is not seen, unless the kernel has paravirtual "
		"spinlocks, so it is a lower bound. It takes Linux 5.19.\n\n"
		"When more processes allocate than the tables hold, those that come last are "
		"counted by name only: nothing is lost, their PID is empty.",
	.examples = examples,
	.output = output,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.sampler = &pages_sampler,
	.view = &pages_view,
	.aside = true,
	.cheap = true,
	.only_named = true,
};
