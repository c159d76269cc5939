/* The head of `top`: the machine's memory in parts that add up, its pressure and zones, and what
 * memwhy itself costs. */
#include <string.h>

#include "base/less.h"
#include "top/top_view.h"

#define RATE_NS (50ULL * 1000000) /* of less no rate is told */

static u64 last(const struct top_view *v, const char *name)
{
	return facts_last(&v->facts, name);
}

struct part {
	const char *name;
	u64 bytes;
};

/* In the order of the bar. What the kernel counts in none of them is the rest. */
#define PARTS 9
enum { PART_CACHE = 2, PART_OTHER = 7, PART_FREE = 8 };

static void parts_fill(const struct top_view *v, struct part parts[PARTS])
{
	u64 total = last(v, "MemTotal"), shmem = last(v, "Shmem"), slab = last(v, "Slab"), sum = 0;
	u64 reclaimable = u64_less(last(v, "KReclaimable"), last(v, "SReclaimable"));

	memcpy(parts,
		(struct part[PARTS]){
			{"anon", last(v, "AnonPages")},
			{"shmem", shmem},
			{"cache", u64_less(last(v, "Cached") + last(v, "Buffers"), shmem)},
			{"slab", slab},
			{"tables", last(v, "PageTables") + last(v, "SecPageTables")},
			{"kernel", last(v, "KernelStack") + last(v, "Percpu") + reclaimable},
			{"huge", last(v, "Hugetlb")},
			{"other", 0},
			{"free", last(v, "MemFree")},
		},
		PARTS * sizeof(*parts));
	for (size_t i = 0; i < PARTS; i++)
		sum += parts[i].bytes;
	parts[PART_OTHER].bytes = u64_less(total, sum);
	/* The kernel's counts are not of one moment: the biggest bears the difference. */
	if (sum > total)
		parts[PART_CACHE].bytes = u64_less(parts[PART_CACHE].bytes, sum - total);
}

static void memory_report(struct top_view *v, struct report *r)
{
	struct table *t = top_table(r, TOP_MEMORY, "What the memory is used for");
	u64 total = last(v, "MemTotal");
	struct part parts[PARTS];

	if (!t || !total)
		return;
	parts_fill(v, parts);
	t->story = true; /* they add up */
	for (size_t i = 0; i < PARTS; i++) {
		struct cell *row = table_row(t);

		if (!row)
			return;
		row[TOP_P_PART] = cell_text(parts[i].name);
		row[TOP_P_BYTES] = cell_u64(parts[i].bytes);
		row[TOP_P_RATIO] = cell_f64((double)parts[i].bytes / (double)total);
	}
}

/* The kernel's total and the sample are not of the same moment: it is no more than all of it. */
static struct cell waited_cell(u64 us, double seconds)
{
	return cell_f64(MIN((double)us / 1e6 / seconds, 1.0));
}

static void pressure_cells(const struct top_view *v, struct report *r, struct cell *row)
{
	static const struct {
		u8 resource, some, full;
	} cells[] = {
		{SYSTEM_MEMORY, TOP_M_MEMORY_SOME, TOP_M_MEMORY_FULL},
		{SYSTEM_IO, TOP_M_IO_SOME, TOP_M_IO_FULL},
		{SYSTEM_CPU, TOP_M_CPU_SOME, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cells); i++) {
		const struct system_pressure *now = &v->pressure[cells[i].resource],
					     *was = &v->pressure_first[cells[i].resource];

		double seconds = top_seconds(r, was->h.time_ns, now->h.time_ns);

		if (!now->h.size || now->h.time_ns <= was->h.time_ns) /* one sample says nothing */
			continue;
		row[cells[i].some] =
			waited_cell(counter_rise(was->some_total_us, now->some_total_us), seconds);
		if (cells[i].full && now->has_full)
			row[cells[i].full] = waited_cell(
				counter_rise(was->full_total_us, now->full_total_us), seconds);
	}
}

/* Counters of /proc/vmstat, of which this kernel may not have all. */
static void counter_cells(const struct top_view *v, struct report *r, struct cell *row)
{
	static const struct {
		u8 cell;
		const char *names[2];
	} counters[] = {
		{TOP_M_FAULTS, {"pgfault"}},
		{TOP_M_MAJOR, {"pgmajfault"}},
		{TOP_M_KSWAPD, {"pgscan_kswapd"}},
		{TOP_M_DIRECT, {"pgscan_direct"}},
		{TOP_M_RECLAIMED, {"pgsteal_kswapd", "pgsteal_direct"}},
		{TOP_M_KCOMPACTD, {"compact_daemon_migrate_scanned"}},
		{TOP_M_COMPACT_STALLS, {"compact_stall"}},
		{TOP_M_SWAP_IN, {"pswpin"}},
		{TOP_M_SWAP_OUT, {"pswpout"}},
		{TOP_M_REFAULTS, {"workingset_refault_anon", "workingset_refault_file"}},
	};

	double seconds = top_seconds(r, v->due.values_first_ns, v->due.values_ns);

	if (v->due.values_ns < v->due.values_first_ns + RATE_NS) /* of one sample */
		return;
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		u64 n = 0;

		for (size_t k = 0; k < 2 && counters[i].names[k]; k++)
			n += facts_delta(&v->facts, counters[i].names[k]);
		if (facts_known(&v->facts, counters[i].names[0]))
			row[counters[i].cell] = cell_f64((double)n / seconds);
	}
	if (facts_known(&v->facts, "oom_kill") && !v->due.values)
		row[TOP_M_KILLS] = cell_u64(facts_delta(&v->facts, "oom_kill"));
}

static void cost_cells(const struct top_view *v, struct report *r, struct cell *row)
{
	const struct rec_cost *now = &r->stream->cost, *was = &v->cost;
	double ns = (double)counter_rise(was->h.time_ns, now->h.time_ns);

	if (!now->h.size)
		return;
	if (ns > 0) {
		row[TOP_M_TOP_CPU] = cell_f64((double)counter_rise(was->cpu_ns, now->cpu_ns) / ns);
		row[TOP_M_TOP_BPF] = cell_f64((double)counter_rise(was->bpf_ns, now->bpf_ns) / ns);
	}
	/* a recording of an earlier version has only the most it had */
	row[TOP_M_TOP_RSS] = cell_u64(now->now_bytes ? now->now_bytes : now->rss_bytes);
	row[TOP_M_TOP_MAPS] = cell_u64(now->bpf_bytes);
}

static void machine_row(struct top_view *v, struct report *r)
{
	struct table *t = top_table(r, TOP_MACHINE, "The machine");
	struct cell *row;

	if (!t || !facts_known(&v->facts, "MemTotal"))
		return;
	row = table_row(t);
	if (!row)
		return;
	row[TOP_M_TOTAL] = cell_u64(last(v, "MemTotal"));
	row[TOP_M_AVAILABLE] = cell_u64(last(v, "MemAvailable"));
	row[TOP_M_SWAP_TOTAL] = cell_u64(last(v, "SwapTotal"));
	row[TOP_M_SWAP_USED] = cell_u64(u64_less(last(v, "SwapTotal"), last(v, "SwapFree")));
	if (stream_interval_ns(r->stream) >= RATE_NS) {
		pressure_cells(v, r, row);
		counter_cells(v, r, row);
	}
	cost_cells(v, r, row);
}

static u64 zone_free_pages(const struct frag_zone *z)
{
	u64 pages = 0;

	for (u32 o = 0; o < z->orders; o++)
		pages += z->free_blocks[o] << o;
	return z->flags & FRAG_MARKS ? z->free_pages : pages;
}

static const char *blocks_text(struct report *r, const struct frag_zone *z)
{
	_cleanup_str_ struct str s = {};

	for (u32 o = 0; o < z->orders; o++)
		str_addf(&s, "%s%llu", o ? " " : "", z->free_blocks[o]);
	return report_text(r, "%s", str_get(&s));
}

/* How much the threads of a node worked that reclaim and compact. */
static void thread_cells(const struct top_view *v, struct report *r, struct cell *row, u32 node)
{
	static const struct {
		u8 cell;
		const char *name;
	} threads[] = {{TOP_Z_KSWAPD, "kswapd"}, {TOP_Z_KCOMPACTD, "kcompactd"}};
	double seconds = top_seconds(r, v->due.values_first_ns, v->due.values_ns);

	if (v->due.values_ns < v->due.values_first_ns + RATE_NS) /* of one sample */
		return;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		char name[SYSTEM_NAME_LEN];

		snprintf(name, sizeof(name), "%s%u", threads[i].name, node);
		if (facts_known(&v->facts, name))
			row[threads[i].cell] = cell_f64(MIN(
				(double)facts_delta(&v->facts, name) / 1e9 / seconds, 1.0));
	}
}

static void zones_report(struct top_view *v, struct report *r)
{
	struct table *t = top_table(r, TOP_ZONES, "Zones");
	u64 page = r->stream->host.page_bytes ? r->stream->host.page_bytes : 4096;

	for (size_t i = 0; t && i < v->zones.n; i++) {
		const struct frag_zone *z = groups_value(&v->zones, i);
		struct cell *row = table_row(t);

		if (!row)
			return;
		row[TOP_Z_NODE] = cell_u64(z->node);
		row[TOP_Z_ZONE] = cell_text(report_textn(r, z->zone, sizeof(z->zone)));
		row[TOP_Z_FREE] = cell_u64(zone_free_pages(z) * page);
		row[TOP_Z_BLOCKS] = cell_text(blocks_text(r, z));
		thread_cells(v, r, row, z->node);
		if (!(z->flags & FRAG_MARKS))
			continue;
		row[TOP_Z_MIN] = cell_u64(z->min_pages * page);
		row[TOP_Z_LOW] = cell_u64(z->low_pages * page);
		row[TOP_Z_HIGH] = cell_u64(z->high_pages * page);
	}
}

void top_machine_report(struct top_view *v, struct report *r)
{
	machine_row(v, r);
	memory_report(v, r);
	zones_report(v, r);
}
