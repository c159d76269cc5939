/* The faults probe: its hooks, and what its tables and ring become as records. */
#include "probes/faults/faults.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "capture/names/names.h"
#include "probes/faults/faults_growth.h"
#include "probes/faults/faults_view.h"
#include "probes/probe.h"

#define NAMED_ENTRIES 1024
#define KINDS_ENTRIES 256 /* of faults: flags that are in keys of others */

enum { OPT_MAPPING = 1, OPT_PLAIN = 2 };

#define SW PERF_TYPE_SOFTWARE
#define MINOR PERF_COUNT_SW_PAGE_FAULTS_MIN
#define MAJOR PERF_COUNT_SW_PAGE_FAULTS_MAJ

static const struct attach_hook hooks[] = {
	{
		.data = "minor and major faults with their mapping",
		.only = OPT_MAPPING,
		.required = true,
		.needs = "perf_event_open",
		.methods =
			{
				{"software events, bpf_find_vma", {},
					{{"fault_minor_vma", SW, MINOR},
						{"fault_major_vma", SW, MAJOR}},
					0},
				{"software events, mapping by 64 KiB region", {},
					{{"fault_minor", SW, MINOR}, {"fault_major", SW, MAJOR}},
					0},
			},
	},
	{
		.data = "minor and major faults",
		.only = OPT_PLAIN,
		.required = true,
		.needs = "perf_event_open",
		.methods =
			{
				{"software events", {},
					{{"fault_minor", SW, MINOR}, {"fault_major", SW, MAJOR}},
					0},
			},
	},
	{
		.data = "kind of access, duration",
		.needs = "the exceptions tracepoints (x86)",
		.methods =
			{
				{"raw tracepoints exceptions:page_fault_*",
					{"fault_begin_user", "fault_begin_kernel"}, {}, 0},
			},
	},
	{
		.data = "huge pages",
		.methods =
			{
				{"raw tracepoint kmem:mm_page_alloc", {"fault_huge_vma"}, {},
					OPT_MAPPING},
				{"raw tracepoint kmem:mm_page_alloc", {"fault_huge"}, {}, 0},
			},
	},
};

/* "major-mapping" is not for people: `check` asks for it. */
static u8 mapping_of(const struct capture *c)
{
	return capture_by(c, "mapping")         ? FAULTS_MAPPING_ALL
	       : capture_by(c, "major-mapping") ? FAULTS_MAPPING_MAJOR
						: FAULTS_MAPPING_NONE;
}

static u32 faults_options(const struct capture *c)
{
	return mapping_of(c) ? OPT_MAPPING : OPT_PLAIN;
}

static int faults_prepare(struct bpf_object *obj, const struct capture *c)
{
	struct faults_config config = {
		.mapping = mapping_of(c),
		.comms = capture_by(c, "comm"),
		.min_ns = c->opt.each ? c->opt.min_ns : 0,
	};
	int rc = attach_set_entries(obj, "named", NAMED_ENTRIES);

	rc = rc ? rc : attach_set_entries(obj, "others", KINDS_ENTRIES);
	if (!rc && !c->opt.user_stacks && !c->opt.kernel_stacks)
		rc = attach_set_entries(obj, "spill", 1);
	return rc ? rc : attach_set_const(obj, "config", &config, sizeof(config));
}

/* On kernels without bpf_find_vma: what /proc says of the region, where the process still lives. */
static void map_resolve(
	struct capture *c, u32 tgid, u64 region, u16 *flags, u8 *map, char file[AGG_NAME_LEN])
{
	u64 start = region << FAULT_REGION_SHIFT;
	const struct mapping *m = NULL;

	/* The mapping that begins in the region, where none covers its start. */
	for (u64 at = start; !m && at < start + (1UL << FAULT_REGION_SHIFT); at += 4096)
		m = mapping_find(&c->mappings, tgid, at);
	if (!m)
		return;
	*flags |= FAULT_MAP_KNOWN;
	*map = (u8)m->kind;
	mapping_file(m, file);
}

/* In `check` the processes probe tells it of all processes. */
static int faults_growth_count(struct capture *c, u32 tgid, u16 flags, u64 faults)
{
	return flags & FAULT_MAJOR || !capture_named(c) ? 0
							: faults_growth_add(c->state, tgid, faults);
}

static int open_growth(struct capture *c, struct err *err)
{
	(void)err;
	faults_growth_init(c->state);
	return 0;
}

static int faults_settle(
	struct capture *c, struct attached *a, const struct stack_maps *stacks, u64 *events)
{
	(void)a;
	(void)stacks;
	(void)events;
	return faults_growth_send(c->state, c);
}

static void close_growth(struct capture *c)
{
	faults_growth_free(c->state);
}

static int faults_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct fault_key *k = key;
	const struct agg_value *v = value;
	struct faults_agg r = REC_INIT(struct faults_agg, REC_FAULTS_AGG, 0);

	names_added(c->names, stacks, k, v, &r);
	r.flags = k->flags;
	r.map = k->map;
	r.object = k->object;
	r.timed = v->timed;
	table_take_times(&r, v);
	if (k->comm[0])
		memcpy(r.comm, k->comm, sizeof(r.comm));
	memcpy(r.file, v->name, sizeof(r.file));
	if (r.flags & FAULT_REGION)
		map_resolve(c, r.tgid, r.object, &r.flags, &r.map, r.file);
	return faults_growth_count(c, r.tgid, r.flags, r.count) ? -ENOMEM : capture_emit(c, &r.h);
}

/* Of several processes of a name: it has neither a task nor, but the first one's, a group. */
static int named_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct fault_key *k = key;
	const struct agg_value *v = value;
	struct faults_agg r = REC_INIT(struct faults_agg, REC_FAULTS_AGG, 0);

	(void)stacks;
	r.flags = k->flags;
	r.timed = v->timed;
	table_take_times(&r, v);
	memcpy(r.comm, k->comm, sizeof(r.comm));
	return capture_emit(c, &r.h);
}

static int faults_record(struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
{
	struct fault_event e = *(const struct fault_event *)rec;

	if (rec->kind != REC_FAULT || rec->size != sizeof(e))
		return 0;
	names_event(c->names, stacks, &e);
	if (e.flags & FAULT_REGION)
		map_resolve(c, e.tgid, e.address >> FAULT_REGION_SHIFT, &e.flags, &e.map, e.file);
	return capture_emit(c, &e.h);
}

static const struct probe_bpf bpf = {
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.state_size = sizeof(struct faults_growth),
	.open = open_growth,
	.options = faults_options,
	.prepare = faults_prepare,
	.settle = faults_settle,
	.close = close_growth,
	.tables = {{"table", sizeof(struct fault_key), table_key_tgid, faults_added,
			   .many_keys = true},
		{"spill", sizeof(struct fault_key), table_key_tgid, faults_added},
		{"named", sizeof(struct fault_key), NULL, named_added},
		{"others", sizeof(struct fault_key), NULL, named_added}},
	.record = faults_record,
	.frequent = true,
};

static const struct kind kinds[] = {
	RECORD_KIND(REC_FAULTS_AGG, struct faults_agg, "faults_agg", FAULTS_AGG_FIELDS,
		"page faults of one kind, process and place, since the last such record"),
	RECORD_KIND(REC_FAULT, struct fault_event, "fault", FAULT_EVENT_FIELDS, "one page fault"),
};

/* What a real run printed: the example of the man page. */
static const char output[] =
	"$ memwhy faults --limit 3 -- git status -s\n"
	"memwhy faults - Linux 6.18.44 - 2 CPUs, 1 node - command git\n"
	"0.1 s from 2026-11-21 19:46:34 UTC - events: faults 286 - none lost\n"
	"cost: 13.2 % of one CPU, BPF 1.25 ms (75 ns a run), RSS 3.40 MiB\n"
	"\n"
	"Page faults\n"
	"  PID  COMM  FAULTS  MAJOR  WRITE  KERNEL  HUGE    TIME      P50      P99      MAX\n"
	"28768  git      286      0    177       4     0  536 us  1.71 us  7.61 us  9.77 us\n"
	"\n"
	"$ memwhy faults --by mapping --limit 3 -- git status -s\n"
	"memwhy faults - Linux 6.18.44 - 2 CPUs, 1 node - command git\n"
	"0.1 s from 2026-11-21 19:46:35 UTC - events: faults 283 - none lost\n"
	"cost: 20.9 % of one CPU, BPF 1.73 ms (237 ns a run), RSS 3.55 MiB\n"
	"\n"
	"Page faults\n"
	"MAPPING    FILE  FAULTS  MAJOR  WRITE  KERNEL  HUGE    TIME      P50      P99      MAX\n"
	"anonymous  -         72      0     66       0     0  144 us  1.64 us  19.9 us  19.9 us\n"
	"heap       -         68      0     68       0     0  103 us  1.42 us  6.10 us  6.10 us\n"
	"file       git       66      0     24       2     0  213 us  3.23 us  7.50 us  7.50 us\n"
	"... 17 more rows; --limit 0 shows all\n";

static const char *const examples[] = {
	"memwhy faults --for 10s",
	"page faults of all processes for ten seconds",
	"memwhy faults --stacks -p 1234",
	"the code paths of one process that fault",
	"memwhy faults --by mapping -- sort big.txt",
	"the mappings a command touches first",
	"memwhy faults --each -c postgres",
	"each fault as it happens",
	NULL,
};

const struct probe probe_faults = {
	.name = "faults",
	.summary = "Who takes page faults, where, and how long they take",
	.details = "Counts page faults exactly, as the kernel does for getrusage(2): minor and "
		   "major, by process, thread, mapping, cgroup or stack, with the kind of access "
		   "and the time from the exception to its end.\n\nFaults that the kernel takes on "
		   "a task's behalf without an exception (MAP_POPULATE, mlock, direct I/O) are in "
		   "getrusage's numbers, and not in these.\n\nWhere processes come and go faster "
		   "than memwhy gets CPU time to read what was counted, faults are counted without "
		   "their code path, then by the name of the process alone: such rows have no pid, "
		   "and a note says how many faults.\n\nAmong the processes that fault most, "
		   "those whose anonymous memory grows steadily, by 256 KiB a second or more, are "
		   "named, with what to run next. That takes eight samples over four seconds, on a "
		   "straight line, and 4 MiB in all.",
	.examples = examples,
	.output = output,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.view = &faults_view,
	.cheap = true,
};
