/* See thp_tables.h. */
#include "probes/thp/thp_tables.h"

#include <errno.h>
#include <string.h>

#include "analysis/cells.h"
#include "analysis/thp_symptoms.h"
#include "probes/thp/thp_words.h"

struct collapse_key {
	u32 tgid;
	u32 result;
	u8 kind, file;
	u8 reserved[6];
};

void thp_tables_init(struct thp_tables *t)
{
	thp_facts_init(&t->facts);
	groups_init(&t->collapses, sizeof(struct collapse_key), sizeof(u64));
}

void thp_tables_free(struct thp_tables *t)
{
	thp_facts_free(&t->facts);
	groups_free(&t->collapses);
}

void thp_tables_reset(struct thp_tables *t)
{
	thp_facts_reset(&t->facts);
	groups_clear(&t->collapses);
}

int thp_tables_value(struct thp_tables *t, const struct thp_value *v)
{
	if (v->source != THP_MEMORY)
		return thp_facts_value(&t->facts, v->source, v->name, v->value, v->text);
	thp_facts_memory(&t->facts, v->name, v->value);
	return 0;
}

int thp_tables_process(struct thp_tables *t, const struct thp_process *p)
{
	struct thp_usage u = {
		.start_ns = p->start_ns,
		.rss_bytes = p->rss_bytes,
		.anon_huge_bytes = p->anon_huge_bytes,
		.shmem_huge_bytes = p->shmem_huge_bytes,
		.file_huge_bytes = p->file_huge_bytes,
		.waste_bytes = p->waste_bytes,
		.error_bytes = p->error_bytes,
		.cgroup = p->cgroup,
		.sampled = p->sampled,
		.candidates = p->candidates,
		.exact = p->exact,
	};

	memcpy(u.comm, p->comm, sizeof(u.comm));
	return thp_facts_usage(&t->facts, p->tgid, &u);
}

static int collapse_add(struct thp_tables *t, const struct thp_agg *r)
{
	struct collapse_key k = {
		.tgid = r->tgid,
		.result = r->result,
		.kind = r->kind,
		.file = r->flags & THP_FILE ? 1 : 0,
	};
	u64 *count = groups_get(&t->collapses, &k);

	if (!count)
		return -ENOMEM;
	*count += r->count;
	return 0;
}

static u8 work_what(u8 kind)
{
	return kind == THP_COMPACT   ? THP_WORK_COMPACT
	       : kind == THP_RECLAIM ? THP_WORK_RECLAIM
	       : kind == THP_KSWAPD  ? THP_WORK_KSWAPD
				     : THP_WORK_NONE;
}

int thp_tables_agg(struct thp_tables *t, const struct thp_agg *r)
{
	struct thp_work w = {
		.what = work_what(r->kind),
		.waits = !(r->flags & THP_KERNEL),
		.compared = r->flags & THP_FREE_KNOWN,
		.tgid = r->tgid,
		.count = r->count,
		.ns = r->total_ns,
		.max_ns = r->max_ns,
		.above = r->sum[RECLAIM_ABOVE],
		.above_ns = r->sum[RECLAIM_ABOVE_NS],
	};

	if (r->kind == THP_SCAN || r->kind == THP_COLLAPSE)
		return collapse_add(t, r);
	return thp_facts_work(&t->facts, &w);
}

const char *thp_result_name(struct report *r, u32 result)
{
	return report_enum(r, THP_RESULT_SET, result);
}

static CELL_GET(symptom_seen)
{
	static const char *const seen[] = {
		[THP_NOT_SEEN] = "no", [THP_SEEN] = "yes", [THP_UNTESTED] = "unknown"};

	return cell_text(seen[((const struct thp_symptom *)row->sums)->seen]);
}

/* Of a text that is told only where it is seen. */
static CELL_GET(if_seen)
{
	return ((const struct thp_symptom *)row->sums)->seen == THP_SEEN
		       ? cell_of_text(r, row, offset)
		       : (struct cell){};
}

CELL_EXPR(symptom_cost, struct thp_symptom,
	e->seen != THP_UNTESTED && strcmp(e->name, "bloat") != 0 ? cell_u64(e->cost_ns)
								 : (struct cell){})

static const struct cell_column symptom_columns[] = {
	CELL_FROM(0, struct thp_symptom, name, "symptom", "SYMPTOM", CELL_TEXT, UNIT_NONE, 0,
		"compaction: faults compact memory for huge pages; reclaim: for huge pages, while "
		"memory is free; bloat: huge pages mostly untouched",
		cell_of_text),
	CELL_BY(0, "seen", "SEEN", CELL_TEXT, UNIT_NONE, 0,
		"yes, no, or unknown: could not be tested", symptom_seen),
	CELL_BY(0, "cost_ns", "COST", CELL_U64, UNIT_NS, 0, "time lost to it in the interval",
		symptom_cost),
	CELL_FROM(0, struct thp_symptom, setting, "setting", "SETTING", CELL_TEXT, UNIT_NONE, 0,
		"what to change, below /sys/kernel/mm/transparent_hugepage; only where it is seen",
		if_seen),
	CELL_FROM(0, struct thp_symptom, now, "now", "NOW", CELL_TEXT, UNIT_NONE, 0,
		"its value: the undo", if_seen),
	CELL_FROM(0, struct thp_symptom, to, "to", "TRY", CELL_TEXT, UNIT_NONE, 0,
		"the value to try", if_seen),
	CELL_FROM(0, struct thp_symptom, evidence[0], "evidence", "EVIDENCE", CELL_TEXT, UNIT_NONE,
		COL_BELOW, "what was seen", cell_of_text),
	CELL_FROM(0, struct thp_symptom, undo[0], "undo", "UNDO", CELL_TEXT, UNIT_NONE, COL_WIDE,
		"the command that takes the change back", if_seen),
};

int thp_tables_report_first(struct thp_tables *t, struct report *r)
{
	static const char *const hooks[THP_SYMPTOMS] = {
		[THP_COMPACTION] = "direct compaction for huge pages",
		[THP_RECLAIMING] = "direct reclaim for huge pages",
		[THP_BLOAT] = "huge pages of processes",
	};
	struct table *table = cells_table(r, "symptoms", "Known ways in which huge pages hurt",
		symptom_columns, ARRAY_SIZE(symptom_columns));

	if (!table)
		return -ENOMEM;
	for (int i = 0; i < THP_SYMPTOMS; i++) {
		struct thp_test test = {&t->facts, THP_SETTING, THP_VMSTAT,
			stream_knows(r->stream, "thp", hooks[i])};
		struct thp_symptom s;

		thp_symptom_test(r, &test, (enum thp_symptom_name)i, &s);
		if (cells_one(table, r, symptom_columns, &s, NULL))
			return -ENOMEM;
		thp_symptom_tell(r, report_text(r, "thp-%s", s.name), &s);
	}
	return 0;
}

#define COLLAPSE ((const struct collapse_key *)row->key)

CELL_EXPR(collapse_pid, u64, COLLAPSE->tgid ? cell_u64(COLLAPSE->tgid) : (struct cell){})
CELL_EXPR(collapse_comm, u64,
	COLLAPSE->tgid ? cell_text(report_text(r, "%s", stream_comm(r->stream, COLLAPSE->tgid, 0)))
		       : (struct cell){})
CELL_EXPR(collapse_memory, u64, cell_text(COLLAPSE->file ? "file" : "anonymous"))
CELL_EXPR(collapse_step, u64, cell_text(COLLAPSE->kind == THP_SCAN ? "scan" : "collapse"))
CELL_EXPR(collapse_result, u64, cell_text(thp_result_name(r, COLLAPSE->result)))

static const struct cell_column collapse_columns[] = {
	CELL_BY(0, "pid", "PID", CELL_U64, UNIT_ID, 0, "process whose memory it is", collapse_pid),
	CELL_BY(0, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "its name", collapse_comm),
	CELL_BY(0, "memory", "MEMORY", CELL_TEXT, UNIT_NONE, 0,
		"anonymous, or file (shared memory too)", collapse_memory),
	CELL_BY(0, "step", "STEP", CELL_TEXT, UNIT_NONE, 0,
		"scan: a range was looked at; collapse: it was tried to make it huge",
		collapse_step),
	CELL_BY(0, "result", "RESULT", CELL_TEXT, UNIT_NONE, 0, "as the running kernel names it",
		collapse_result),
	CELL_BY(0, "count", "COUNT", CELL_U64, UNIT_COUNT, COL_WEIGHT, "ranges (exact)",
		cell_of_u64),
};

static u64 huge_of(const struct thp_usage *u)
{
	return u->anon_huge_bytes + u->shmem_huge_bytes + u->file_huge_bytes;
}

/* Known only of those that were sampled. */
static CELL_GET(sampled_u64)
{
	return ((const struct thp_usage *)row->sums)->sampled ? cell_of_u64(r, row, offset)
							      : (struct cell){};
}

CELL_EXPR(resident_huge, struct thp_usage, cell_u64(huge_of(e)))
CELL_EXPR(resident_share, struct thp_usage, cell_ratio(huge_of(e), e->rss_bytes))
CELL_EXPR(resident_candidates, struct thp_usage,
	e->sampled ? cell_u64(e->candidates) : (struct cell){})
CELL_EXPR(resident_sampling, struct thp_usage,
	cell_text(!e->sampled ? NULL
		  : e->exact  ? "exact"
			      : "guessed"))

static const struct cell_column resident_columns[] = {
	CELL_BY(0, "pid", "PID", CELL_U64, UNIT_ID, 0, "process id", cell_of_key_u32),
	CELL_FROM(0, struct thp_usage, comm, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0,
		"name of the process", cell_of_comm),
	CELL_FROM(0, struct thp_usage, cgroup, "cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, COL_WIDE,
		"control group", cell_of_cgroup),
	CELL_NUMBER(struct thp_usage, rss_bytes, "rss_bytes", "RSS", UNIT_BYTES, COL_LEVEL,
		"resident memory"),
	CELL_BY(0, "huge_bytes", "HUGE", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"of it in huge pages: anonymous, shared memory, files", resident_huge),
	CELL_BY(0, "huge_ratio", "SHARE", CELL_F64, UNIT_RATIO, 0, "huge_bytes of rss_bytes",
		resident_share),
	CELL_NUMBER(struct thp_usage, anon_huge_bytes, "anon_huge_bytes", "ANON", UNIT_BYTES,
		COL_WIDE | COL_LEVEL, "AnonHugePages"),
	CELL_NUMBER(struct thp_usage, shmem_huge_bytes, "shmem_huge_bytes", "SHMEM", UNIT_BYTES,
		COL_WIDE | COL_LEVEL, "ShmemPmdMapped"),
	CELL_NUMBER(struct thp_usage, file_huge_bytes, "file_huge_bytes", "FILE", UNIT_BYTES,
		COL_WIDE | COL_LEVEL, "FilePmdMapped"),
	CELL_FROM(0, struct thp_usage, waste_bytes, "waste_bytes", "WASTE", CELL_U64, UNIT_BYTES,
		COL_LEVEL,
		"zero-filled base pages in anonymous huge pages (estimated from a sample)",
		sampled_u64),
	CELL_FROM(0, struct thp_usage, error_bytes, "error_bytes", "ERROR", CELL_U64, UNIT_BYTES, 0,
		"twice the standard error of waste_bytes (estimated)", sampled_u64),
	CELL_NUMBER(struct thp_usage, sampled, "sampled", "READ", UNIT_COUNT, COL_LEVEL,
		"huge pages that were read (sampled)"),
	CELL_BY(0, "candidates", "OF", CELL_U64, UNIT_COUNT, COL_WIDE | COL_LEVEL,
		"huge pages of which they were drawn", resident_candidates),
	CELL_BY(0, "sampling", "SAMPLING", CELL_TEXT, UNIT_NONE, COL_WIDE,
		"exact: the kernel told which pages are huge (PAGEMAP_SCAN, 6.7); guessed: 2 MiB "
		"that are fully mapped were taken for a huge page",
		resident_sampling),
};

#define FACT_KEY ((const struct thp_fact_key *)row->key)

CELL_EXPR(fact_name, struct thp_fact, cell_text(report_text(r, "%s", FACT_KEY->name)))
CELL_EXPR(counter_count, struct thp_fact, cell_u64(e->last - e->first))

static const struct cell_column counter_columns[] = {
	CELL_BY(0, "counter", "COUNTER", CELL_TEXT, UNIT_NONE, 0, "name in /proc/vmstat",
		fact_name),
	CELL_BY(0, "count", "COUNT", CELL_U64, UNIT_COUNT, 0, "in the interval (exact)",
		counter_count),
	CELL_NUMBER(struct thp_fact, last, "boot_total", "SINCE BOOT", UNIT_COUNT, 0, "since boot"),
};

static bool counter_shows(const struct row_of *row)
{
	const struct thp_fact *v = row->sums;

	return FACT_KEY->source == THP_VMSTAT && v->last > v->first;
}

/* Names by size are "SIZE/COUNTER". */
CELL_EXPR(size_size, struct thp_fact,
	cell_text(report_textn(r, FACT_KEY->name, strcspn(FACT_KEY->name, "/"))))
CELL_EXPR(size_counter, struct thp_fact,
	cell_text(report_text(r, "%s", strchr(FACT_KEY->name, '/') + 1)))
CELL_EXPR(size_count, struct thp_fact, cell_s64((s64)(e->last - e->first)))

static const struct cell_column size_columns[] = {
	CELL_BY(0, "size", "SIZE", CELL_TEXT, UNIT_NONE, 0, "size of the huge pages", size_size),
	CELL_BY(0, "counter", "COUNTER", CELL_TEXT, UNIT_NONE, 0,
		"name in stats of that size; nr_*: how many there are now", size_counter),
	CELL_BY(0, "count", "COUNT", CELL_S64, UNIT_COUNT, 0, "in the interval (exact)",
		size_count),
	CELL_NUMBER(struct thp_fact, last, "now_total", "TOTAL", UNIT_COUNT, 0,
		"since boot; nr_*: now"),
};

static bool size_shows(const struct row_of *row)
{
	const struct thp_fact *v = row->sums;

	return FACT_KEY->source == THP_SIZE && strchr(FACT_KEY->name, '/') && v->last != v->first;
}

static const char *setting_value(struct report *r, const struct thp_fact *v)
{
	return v->text[0] ? report_text(r, "%s", v->text) : report_text(r, "%llu", v->last);
}

CELL_EXPR(setting_value_cell, struct thp_fact, cell_text(setting_value(r, e)))
CELL_EXPR(setting_meaning, struct thp_fact,
	cell_text(thp_setting_meaning(FACT_KEY->name, setting_value(r, e))))

static const struct cell_column setting_columns[] = {
	CELL_BY(0, "setting", "SETTING", CELL_TEXT, UNIT_NONE, 0,
		"path below /sys/kernel/mm/transparent_hugepage", fact_name),
	CELL_BY(0, "value", "VALUE", CELL_TEXT, UNIT_NONE, 0, "its value now", setting_value_cell),
	CELL_BY(0, "meaning", "MEANING", CELL_TEXT, UNIT_NONE, 0, "what this value does",
		setting_meaning),
};

static bool setting_shows(const struct row_of *row)
{
	return FACT_KEY->source == THP_SETTING;
}

int thp_tables_report(struct thp_tables *t, struct report *r, bool each)
{
	static const struct cell_table collapses = {CELL_TABLE("collapses",
		"Small pages put together (khugepaged, MADV_COLLAPSE)", "count",
		"No range was scanned or collapsed in this interval.", collapse_columns)};
	static const struct cell_table resident = {
		CELL_TABLE("resident", "Huge pages of the biggest processes", "huge_bytes",
			"No process looked at has huge pages.", resident_columns)};
	static const struct cell_table facts[] = {
		{CELL_TABLE("counters", "The kernel's counters that rose", "count",
			 "None of the kernel's counters of huge pages rose in this interval.",
			 counter_columns),
			.shows = counter_shows},
		{CELL_TABLE("mthp", "By size of huge pages: what changed", NULL,
			 "Nothing changed, or this kernel does not count by size.", size_columns),
			.shows = size_shows},
		{CELL_TABLE("settings", "Settings", NULL, NULL, setting_columns),
			.shows = setting_shows},
	};
	int rc = each ? 0 : cells_report(r, &collapses, &t->collapses, NULL);

	rc = rc ? rc : cells_report(r, &resident, &t->facts.usages, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(facts) && !rc; i++)
		rc = cells_report(r, &facts[i], &t->facts.values, NULL);
	return rc;
}

const struct view_table thp_side_tables[] = {
	CELLS_VIEW("symptoms", symptom_columns),
	CELLS_VIEW("collapses", collapse_columns),
	CELLS_VIEW("resident", resident_columns),
	CELLS_VIEW("counters", counter_columns),
	CELLS_VIEW("mthp", size_columns),
	CELLS_VIEW("settings", setting_columns),
	{},
};
