/* The pages probe: its hooks, and what its tables and ring become as records. */
#include "probes/pages/pages.h"

#include <bpf/libbpf.h>
#include <string.h>

#include "base/clock.h"
#include "capture/names.h"
#include "capture/tracepoint.h"
#include "probes/pages/pages_held.h"
#include "probes/pages/pages_host.h"
#include "probes/pages/pages_kinds.h"
#include "probes/pages/pages_pace.h"
#include "probes/pages/pages_view.h"
#include "probes/probe.h"

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
	/* Behind the one above; what it does is told in count.bpf.h. */
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

static u32 options(const struct capture *c)
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
static bool in_bursts(const struct capture *c)
{
	return c->opt.gentle && !capture_named(c);
}

/* Do the keys leave the task out? Stacks of user space need it, and names come with it. */
static bool any_task(const struct capture *c)
{
	return (c->opt.by || c->opt.outstanding) && !c->opt.user_stacks && !in_bursts(c) &&
	       !capture_by(c, "process") && !capture_by(c, "thread") && !capture_by(c, "comm") &&
	       !capture_by(c, "cgroup");
}

#define NAMES_MAX 2048U
#define BURST_TASKS 1024U
#define PAIRS_MAX 65536U /* 9 MB; of more CPUs than 256 not every pair is told */

static int prepare(struct bpf_object *obj, const struct capture *c)
{
	u32 cpus = (u32)libbpf_num_possible_cpus();
	u32 slots = c->opt.each || c->opt.outstanding
			    ? 1
			    : MAX(1024U, pages_drained_slots(in_bursts(c)) >> c->shrink);
	u32 room = attach_table_entries(c, sizeof(struct pages_key), sizeof(struct sum_value));
	struct pages_config config = {
		.gfp = capture_by(c, "gfp"),
		.any_task = any_task(c),
		.held = pages_follows(c),
		.bursts = in_bursts(c),
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

static int record(struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
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
	.options = options,
	.prepare = prepare,
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
	.record = record,
	.snapshot = pages_held_snapshot,
	.frequent = true,
};

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
	.output = pages_output,
	.kinds = pages_kinds,
	.n_kinds = PAGES_KINDS,
	.bpf = &bpf,
	.sampler = &pages_sampler,
	.view = &pages_view,
	.cheap = true,
	.only_named = true,
};
