/* The thp probe: its hooks, and what its table and ring become as records. */
#include "probes/thp/thp.h"

#include <linux/perf_event.h>
#include <string.h>

#include "capture/kbtf.h"
#include "capture/names.h"
#include "capture/tracepoint.h"
#include "capture/watch.h"
#include "probes/probe.h"
#include "probes/thp/thp_host.h"
#include "probes/thp/thp_kinds.h"
#include "probes/thp/thp_view.h"
#include "sys/kernel_data.h"

enum {
	OPT_COUNTED = 1, /* faults and splits by process: not for check, which needs no more
			  than the kernel's own counters */
	OPT_SCAN_6 = 4,  /* arguments of mm_khugepaged_scan_pmd */
	OPT_SCAN_7 = 8,
	OPT_PREEMPTIBLE = 2, /* raw tracepoints are: see thp_classic.bpf.h */
};

static const struct attach_hook hooks[] = {
	{
		.data = "huge faults, fallbacks by process",
		.only = OPT_COUNTED,
		.needs = "free debug registers, BTF",
		.methods =
			{
				{"watchpoints on the kernel's counters", {},
					{WATCHPOINT("watch_fault", WATCH_THP_FAULT_ALLOC),
						WATCHPOINT("watch_fallback",
							WATCH_THP_FAULT_FALLBACK)},
					0},
			},
	},
	{
		.data = "splits by process",
		.only = OPT_COUNTED,
		.needs = "free debug registers, BTF",
		.methods =
			{
				{"watchpoints on the kernel's counters", {},
					{WATCHPOINT("watch_split_pmd", WATCH_THP_SPLIT_PMD),
						WATCHPOINT(
							"watch_split_page", WATCH_THP_SPLIT_PAGE)},
					0},
			},
	},
	{
		.data = "time of huge faults",
		.only = OPT_COUNTED,
		.needs = "kprobes",
		.methods =
			{
				{"kprobe do_huge_pmd_anonymous_page",
					{"fault_entry", "fault_return"}, {}, 0},
			},
	},
	{
		.data = "time zeroing",
		.only = OPT_COUNTED,
		.needs = "kprobes",
		.methods =
			{
				{"kprobe folio_zero_user", {"zero_entry", "zero_return"}, {}, 0},
				{"kprobe clear_huge_page", {"clear_entry", "clear_return"}, {}, 0},
			},
	},
	{
		.data = "direct compaction for huge pages",
		.needs = "CONFIG_COMPACTION",
		.methods =
			{
				{"tracepoints compaction:mm_compaction_*",
					{"tp_compact_try", "tp_compact_begin", "tp_compact_end"},
					{}, OPT_PREEMPTIBLE},
				{"raw tracepoints mm_compaction_*",
					{"raw_compact_try", "raw_compact_begin", "raw_compact_end"},
					{}, 0},
			},
	},
	{
		.data = "direct reclaim for huge pages",
		.methods =
			{
				{"tracepoints vmscan:mm_vmscan_direct_reclaim_*",
					{"tp_reclaim_begin", "tp_reclaim_end"}, {},
					OPT_PREEMPTIBLE},
				{"raw tracepoints mm_vmscan_direct_reclaim_*",
					{"raw_reclaim_begin", "raw_reclaim_end"}, {}, 0},
			},
	},
	{
		.data = "kswapd for huge pages",
		.methods =
			{
				{"tracepoints vmscan:mm_vmscan_kswapd_*",
					{"tp_kswapd_wake", "tp_kswapd_sleep"}, {}, OPT_PREEMPTIBLE},
				{"raw tracepoints mm_vmscan_kswapd_*",
					{"raw_kswapd_wake", "raw_kswapd_sleep"}, {}, 0},
			},
	},
	{
		.data = "collapses",
		.required = true,
		.needs = "CONFIG_TRANSPARENT_HUGEPAGE",
		.methods =
			{
				{"tracepoints huge_memory:*", {"tp_scan", "tp_collapse"}, {},
					OPT_PREEMPTIBLE},
				{"raw tracepoints huge_memory (7 arguments)",
					{"raw_scan_7", "raw_collapse"}, {}, OPT_SCAN_7},
				{"raw tracepoints huge_memory (6 arguments)",
					{"raw_scan_6", "raw_collapse"}, {}, OPT_SCAN_6},
			},
	},
	{
		.data = "collapses of files",
		.needs = "Linux 6.1, 6.2",
		.methods =
			{
				{"tracepoints huge_memory:*_file",
					{"tp_scan_file", "tp_collapse_file"}, {}, OPT_PREEMPTIBLE},
				{"raw tracepoints huge_memory, files",
					{"raw_scan_file", "raw_collapse_file"}, {}, 0},
				{"raw tracepoint huge_memory, scans of files", {"raw_scan_file"},
					{}, 0},
			},
	},
};

/* Asked for beforehand: a method that does not attach costs a load of all programs. */
static u32 arguments(void)
{
	static u32 known;

	if (!known)
		known = tracepoint_has_argument("mm_khugepaged_scan_pmd", 6) ? OPT_SCAN_7
									     : OPT_SCAN_6;
	return known;
}

static u32 options(const struct capture *c)
{
	return (c->opt.gentle ? 0 : OPT_COUNTED) |
	       (kbtf_raw_is_preemptible() ? OPT_PREEMPTIBLE : 0) | arguments();
}

/* Of the kernel's vm_zone_stat; 0: not known. */
static u64 free_pages_find(void)
{
	static const char *const name = "vm_zone_stat";
	static bool known;
	static u64 address;

	if (!known)
		kernel_data_find(&name, 1, &address);
	known = true;
	return address;
}

static int prepare(struct bpf_object *obj, const struct capture *c)
{
	struct thp_config config = {
		.min_ns = c->opt.each ? c->opt.min_ns : 0,
		/* for check, samples of free memory have to do: kallsyms takes 30 ms */
		.free_pages = c->opt.gentle ? 0 : free_pages_find(),
		.high_pages = thp_host_high_pages(),
	};

	return attach_set_const(obj, "config", &config, sizeof(config));
}

static int added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct thp_key *k = key;
	const struct agg_value *v = value;
	struct thp_agg r = REC_INIT(struct thp_agg, REC_THP_AGG, 0);

	names_added(c->names, stacks, k, v, &r);
	r.result = k->result;
	r.kind = k->kind;
	r.flags = k->flags;
	r.timed = v->timed;
	table_take_times(&r, v);
	memcpy(r.sum, v->sum, sizeof(r.sum));
	return capture_emit(c, &r.h);
}

static int record(struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
{
	struct thp_event e = *(const struct thp_event *)rec;

	if (rec->kind != REC_THP_EVENT || rec->size != sizeof(e))
		return 0;
	names_event(c->names, stacks, &e);
	return capture_emit(c, &e.h);
}

static const struct probe_bpf bpf = {
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.options = options,
	.prepare = prepare,
	.tables = {{"sums", sizeof(struct thp_key), table_key_tgid, added}},
	.record = record,
};

static const char *const examples[] = {
	"memwhy thp --for 10s",
	"do huge pages help or hurt here: settings, faults, collapses, waste, symptoms",
	"memwhy thp --table symptoms",
	"only the three known ways in which they hurt, each tested",
	"memwhy thp --stacks -p 1234",
	"the code paths of one process that get huge pages, or split them",
	"memwhy thp --each --for 5s",
	"each huge fault, fallback, split and collapse as it happens",
	"memwhy thp --table resident",
	"who has huge pages, and how much of them is likely never used",
	NULL,
};

const struct probe probe_thp = {
	.name = "thp",
	.summary = "Do transparent huge pages help or hurt: faults, collapses, waste, and symptoms",
	.details =
		"Shows the settings, who gets huge pages at page faults and who falls back to "
		"small ones, what khugepaged and MADV_COLLAPSE did and why not, splits, direct "
		"compaction and reclaim done for huge pages, which processes have huge pages and "
		"how much of them is likely waste. Then it tests the three known ways in which "
		"they hurt: time in compaction below a huge fault, reclaim for huge pages while "
		"memory is free, and resident memory far above need.\n\n"
		"Faults, fallbacks and splits are counted where the kernel counts them: hardware "
		"watchpoints on its counters (thp_fault_alloc, thp_fault_fallback, thp_split_pmd, "
		"thp_split_page in /proc/vmstat), so the numbers are the same, by process, and "
		"nothing happens at faults of small pages. These take the four debug registers of "
		"each CPU: hardware watchpoints of debuggers fail meanwhile. Their time is known "
		"only where there are kprobes. A split is counted for the task that splits, which "
		"may be kswapd.\n\n"
		"Waste is estimated: of the processes with the most huge pages, up to 64 of their "
		"anonymous huge pages are read (process_vm_readv), and base pages full of zeroes "
		"count as waste, as the kernel's own shrink_underused has it. Memory that a "
		"program set to zero and needs counts too. Only the number of such pages is kept. "
		"Mappings that their owner excluded from core dumps (MADV_DONTDUMP) are not read. "
		"Reading marks these huge pages as used, which reclaim sees.\n\n"
		"The names of results (scan_result) are the running kernel's. A range that "
		"khugepaged can collapse has two rows: what its scan said, and what the collapse "
		"came to.",
	.examples = examples,
	.output = thp_output,
	.kinds = thp_kinds,
	.n_kinds = THP_KINDS,
	.bpf = &bpf,
	.sampler = &thp_sampler,
	.view = &thp_view,
	.cheap = true,
};
