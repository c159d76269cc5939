/* The swap probe: its hooks, and what its table and ring become as records, with their schema. */
#include "probes/swap/swap.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/util.h"
#include "capture/names/names.h"
#include "event/schema.h"
#include "probes/probe.h"
#include "probes/swap/swap_sample.h"
#include "probes/swap/swap_view.h"

enum {
	OPT_RW_PAGE = 1, /* there is a swap device that takes pages without a bio */
	OPT_ZSWAP = 2,   /* zswap is on, or still holds pages */
};

static const struct attach_hook hooks[] = {
	{
		.data = SWAP_DATA_IO,
		.required = true,
		.needs = "the kernel's BTF",
		.methods = {{"raw tracepoint block_bio_queue", {"bio_queued"}, {}, 0}},
	},
	{
		.data = "swap I/O of zram without a bio",
		.only = OPT_RW_PAGE,
		.counts = true,
		.needs = "CONFIG_KPROBES",
		.methods = {{"kprobes bdev_read_page, bdev_write_page",
			{"page_read", "page_written"}, {}, 0}},
	},
	{
		.data = SWAP_DATA_ZSWAP,
		.only = OPT_ZSWAP,
		.counts = true,
		.needs = "CONFIG_MEMCG (6.14) or kprobes",
		.methods =
			{
				{"raw tracepoint count_memcg_events", {"zswap_counted"}, {}, 0},
				{"kretprobe __frontswap_load", {"zswap_loaded_int"}, {}, 0},
				{"kretprobe zswap_load", {"zswap_loaded_bool"}, {}, 0},
			},
	},
	{
		.data = "time waited for swap-ins",
		.needs = "perf_event_open",
		.methods = {{"software event of major faults", {},
			{{"fault_over", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ}}, 0}},
	},
};

static u32 swap_options(const struct capture *c)
{
	(void)c;
	return (swap_takes_pages() ? OPT_RW_PAGE : 0) | (swap_has_zswap() ? OPT_ZSWAP : 0);
}

static int swap_prepare(struct bpf_object *obj, const struct capture *c)
{
	struct swap_config config = {
		.min_ns = c->opt.each ? c->opt.min_ns : 0,
		.comms = capture_by(c, "comm"),
	};

	return attach_set_const(obj, "config", &config, sizeof(config));
}

static int swap_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct swap_key *k = key;
	const struct agg_value *v = value;
	struct swap_agg r = REC_INIT(struct swap_agg, REC_SWAP_AGG, 0);

	names_added(c->names, stacks, k, v, &r);
	r.type = k->type;
	r.who = k->who;
	r.pages = v->sum[SWAP_PAGES];
	r.waits = v->timed;
	table_take_times(&r, v);
	if (k->comm[0])
		memcpy(r.comm, k->comm, sizeof(r.comm));
	return capture_emit(c, &r.h);
}

static int swap_record(struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
{
	struct swap_event e = *(const struct swap_event *)rec;

	if (rec->kind != REC_SWAP_EVENT || rec->size != sizeof(e))
		return 0;
	names_event(c->names, stacks, &e);
	return capture_emit(c, &e.h);
}

static const struct probe_bpf bpf = {
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.options = swap_options,
	.prepare = swap_prepare,
	.tables = {{"table", sizeof(struct swap_key), table_key_tgid, swap_added}},
	.record = swap_record,
	.optional = true,
};

static const struct kind kinds[] = {
	RECORD_KIND(REC_SWAP_AGG, struct swap_agg, "swap_agg", SWAP_AGG_FIELDS,
		"swap I/O of one task and place, since the last such record"),
	RECORD_KIND(REC_SWAP_EVENT, struct swap_event, "swap", SWAP_EVENT_FIELDS,
		"one read, write or wait"),
	RECORD_KIND(REC_SWAP_DEVICE, struct swap_device, "swap_device", SWAP_DEVICE_FIELDS,
		"a swap device or file as it is"),
	RECORD_KIND(REC_SWAP_OWNER, struct swap_owner, "swap_owner", SWAP_OWNER_FIELDS,
		"a process and its memory in swap, when that has changed; 0: none any more"),
	RECORD_KIND(REC_SWAP_COUNTER, struct swap_counter, "swap_counter", SWAP_COUNTER_FIELDS,
		"a counter or size, when it has changed"),
};

/* What a real run printed: the example of the man page. */
static const char output[] =
	"$ memwhy swap --for 9s\n"
	"memwhy swap - Linux 6.18.44 - 2 CPUs, 1 node - system-wide\n"
	"9.0 s from 2026-11-21 16:39:00 UTC - events: swap 24,589 - none lost\n"
	"cost: 0.5 % of one CPU, BPF about 7.18 ms (274 ns a run), RSS 5.26 MiB\n"
	"\n"
	"Swap-ins\n"
	"  PID  COMM        PAGES   READS  ZSWAP  WAITS    TIME      P50      P99      MAX\n"
	"31136  swap_walk  12,288  12,288      -  1,538  263 ms  84.8 us  3.20 ms  31.6 ms\n"
	"\n"
	"Swap-outs, by who reclaimed\n"
	"  PID  COMM       WHO             PAGES  WRITES\n"
	"31136  swap_walk  task           12,288  12,288\n"
	"   77  kdamond.0  kernel thread      13      13\n"
	"\n"
	"Swap devices\n"
	"DEVICE     TYPE  PRIORITY     SIZE      USED    FULL\n"
	"/swapfile  file        -2  256 MiB  52.0 KiB  <0.1 %\n"
	"\n"
	"Owners of swap\n"
	"No process has memory in swap.\n"
	"\n"
	"Refaults and other counters\n"
	"COUNTER                  NODE   COUNT   COUNT/s\n"
	"workingset_refault_anon     -  12,288      1366\n"
	"pswpin                      -  12,288      1366\n"
	"pswpout                     -  12,301      1367\n"
	"swap_ra                     -  10,750      1195\n"
	"swap_ra_hit                 -  10,750      1195\n"
	"\n"
	"Note: 100 % of the pages that came back from swap were refaults: needed again soon after "
	"they had\n"
	"      been pushed out\n";

static const char *const examples[] = {
	"memwhy swap --for 10s",
	"who reads from swap and waits for it, who writes, and whose memory is there",
	"memwhy swap --by cgroup",
	"the same by control group",
	"memwhy swap --stacks -p 1234",
	"the code paths of one process that touch swapped memory",
	"memwhy swap --each --min 10ms",
	"each wait of at least 10 ms as it happens",
	"memwhy swap --like swapin",
	"the lines of swapin.bt, every second",
	NULL,
};

const struct probe probe_swap = {
	.name = "swap",
	.summary = "Who waits for swap-ins, who swaps out, and whose memory is in swap",
	.details =
		"Counts swap I/O where the kernel adds to pswpin and pswpout in /proc/vmstat, and "
		"in the task that caused it: reads of a page fault with what is read ahead, reads "
		"for shared memory, swapoff or MADV_WILLNEED, and writes of reclaim. A wait is a "
		"page fault that had to read from swap, from its first read to its end; the "
		"allocation of the page and its reclaim come before and are not in it. A fault "
		"that finds its page already being read by another is not timed.\n\n"
		"Pages that come back from zswap are no I/O and not in pswpin: they have a column "
		"of their own, and are looked for where zswap is on. Zero-filled pages are not "
		"written at all: swpin_zero and swpout_zero count them. Swap over NFS or SMB does "
		"not go through the block layer and is in the counters only.\n\n"
		"Devices, owners, compressed memory and counters are of the whole machine, "
		"whatever the scope. A process owns what VmSwap says: its anonymous memory in "
		"swap, but not shared memory there.\n\n"
		"Refaults are pages that were needed again soon after they were reclaimed: the "
		"kernel compares the time they were gone with the size of the memory in use. "
		"Where most of what is swapped in is a refault, the working set does not fit "
		"(thrashing).",
	.examples = examples,
	.output = output,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.sampler = &swap_sampler,
	.view = &swap_view,
};
