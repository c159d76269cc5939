/* The thp probe: its hooks, and what its table and ring become as records, with their schema. */
#include "probes/thp/thp.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/util.h"
#include "capture/kbtf.h"
#include "capture/names/names.h"
#include "capture/tracepoint.h"
#include "capture/watch.h"
#include "event/schema.h"
#include "probes/probe.h"
#include "probes/thp/thp_host.h"
#include "probes/thp/thp_view.h"
#include "sys/kernel/kernel_data.h"

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
		.counts = true,
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
		.counts = true,
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

static u32 thp_options(const struct capture *c)
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

static int thp_prepare(struct bpf_object *obj, const struct capture *c)
{
	struct thp_config config = {
		.min_ns = c->opt.each ? c->opt.min_ns : 0,
		/* for check, samples of free memory have to do: kallsyms takes 30 ms */
		.free_pages = c->opt.gentle ? 0 : free_pages_find(),
		.high_pages = thp_host_high_pages(),
	};

	return attach_set_const(obj, "config", &config, sizeof(config));
}

static int thp_added(
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

static int thp_record(struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
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
	.options = thp_options,
	.prepare = thp_prepare,
	.tables = {{"sums", sizeof(struct thp_key), table_key_tgid, thp_added}},
	.record = thp_record,
};

static const struct kind kinds[] = {
	RECORD_KIND(REC_THP_VALUE, struct thp_value, "thp_value", THP_VALUE_FIELDS,
		"a setting or counter of huge pages, sent when it has changed"),
	RECORD_KIND(REC_THP_AGG, struct thp_agg, "thp_agg", THP_AGG_FIELDS,
		"what was done with huge pages, of one kind, since the last such record"),
	RECORD_KIND(
		REC_THP_EVENT, struct thp_event, "thp_event", THP_EVENT_FIELDS, "one such thing"),
	RECORD_KIND(REC_THP_PROCESS, struct thp_process, "thp_process", THP_PROCESS_FIELDS,
		"huge pages of a process, and an estimate of those not used"),
};

/* What a real run printed: the example of the man page. */
static const char output[] =
	"$ memwhy thp -c thp --for 5s\n"
	"memwhy thp - Linux 6.18.44 - 2 CPUs, 1 node - comm thp\n"
	"5.4 s from 2026-11-21 16:40:02 UTC - events: thp 300 - none lost\n"
	"cost: 3.7 % of one CPU, BPF 275 us (917 ns a run), RSS 10.3 MiB\n"
	"\n"
	"1. RISK        Huge pages are mostly untouched in 1 process: about 265 MiB of memory "
	"wasted\n"
	"   evidence    thp (process 31606): resident 267 MiB, 266 MiB of it huge, of which 265 "
	"MiB (+-0 B)\n"
	"                 is zero-filled: estimated from 64 of 133 huge pages\n"
	"               transparent_hugepage/khugepaged/max_ptes_none is '511'\n"
	"   confidence  medium: estimated from a sample; memory that is zero may be in use\n"
	"   why         A huge page takes 2 MiB of memory when its first byte is touched, or when "
	"khugepaged\n"
	"               puts a few small pages together (max_ptes_none of 512 may be missing). "
	"What the\n"
	"               program never touches is zero, and lost to others.\n"
	"   try         echo 64 > /sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none\n"
	"               With max_ptes_none below 511, shrink_underused splits mostly zero huge "
	"pages under\n"
	"                 memory pressure.\n"
	"               These mappings asked for huge pages: use MADV_HUGEPAGE only where memory "
	"is used\n"
	"                 densely\n"
	"               It counts for new memory: what is mapped stays huge until it is split or "
	"the program\n"
	"                 restarts\n"
	"   undo        echo 511 > /sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none\n"
	"   verify      memwhy thp --table resident --for 10s\n"
	"\n"
	"NOT CHECKED\n"
	"   thp: time of huge faults: kprobe do_huge_pmd_anonymous_page: No such file or "
	"directory; kprobes\n"
	"   thp: time zeroing: kprobe folio_zero_user: No such file or directory; kprobes\n"
	"\n"
	"Known ways in which huge pages hurt\n"
	"SYMPTOM     SEEN  COST  SETTING                   NOW  TRY\n"
	"compaction  no    0 ns  -                         -    -\n"
	"    0 zones compacted for huge pages, 0 ns, the longest 0 ns\n"
	"reclaim     no    0 ns  -                         -    -\n"
	"    direct reclaim for huge pages 0 times, 0 ns; of these with free memory above the "
	"high\n"
	"      watermarks: 0\n"
	"bloat       yes      -  khugepaged/max_ptes_none  511  64\n"
	"    thp (process 31606): resident 267 MiB, 266 MiB of it huge, of which 265 MiB (+-0 B) "
	"is\n"
	"      zero-filled: estimated from 64 of 133 huge pages\n"
	"\n"
	"Huge pages, by who gets or splits them\n"
	"  PID  COMM  HUGE  FALLBACK  TIME  P50  P99  MAX  ZEROING  COMPACTING  RECLAIMING  PMD "
	"SPLITS\n"
	"31606  thp    150         0     -    -    -    -        -        0 ns        0 ns         "
	"150\n"
	"... no room for PAGE SPLITS; -o wide shows all\n"
	"\n"
	"Small pages put together (khugepaged, MADV_COLLAPSE)\n"
	"No range was scanned or collapsed in this interval.\n"
	"\n"
	"Huge pages of the biggest processes\n"
	"  PID  COMM      RSS     HUGE   SHARE    WASTE  ERROR  READ\n"
	"31606  thp   267 MiB  266 MiB  99.5 %  265 MiB    0 B    64\n"
	"\n"
	"The kernel's counters that rose\n"
	"COUNTER                  COUNT  SINCE BOOT\n"
	"thp_fault_alloc            150     114,089\n"
	"thp_deferred_split_page    150       5,448\n"
	"thp_split_pmd              150       5,518\n";

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
	.output = output,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.sampler = &thp_sampler,
	.view = &thp_view,
	.aside = true,
	.cheap = true,
};
