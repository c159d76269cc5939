/* See thp_tables.h. */
#include "probes/thp/thp_tables.h"

#include <errno.h>
#include <string.h>

#include "analysis/thp_symptoms.h"
#include "probes/thp/thp_words.h"

struct collapse_key {
	u32 tgid;
	u32 result;
	u8 kind, file;
	u8 reserved[6];
};

static const struct column symptom_columns[] = {
	{"symptom", "SYMPTOM", CELL_TEXT, UNIT_NONE, 0,
		"compaction: faults compact memory for huge pages; reclaim: for huge pages, while "
		"memory is free; bloat: huge pages mostly untouched"},
	{"seen", "SEEN", CELL_TEXT, UNIT_NONE, 0, "yes, no, or unknown: could not be tested"},
	{"cost_ns", "COST", CELL_U64, UNIT_NS, 0, "time lost to it in the interval"},
	{"setting", "SETTING", CELL_TEXT, UNIT_NONE, 0,
		"what to change, below /sys/kernel/mm/transparent_hugepage; only where it is seen"},
	{"now", "NOW", CELL_TEXT, UNIT_NONE, 0, "its value: the undo"},
	{"to", "TRY", CELL_TEXT, UNIT_NONE, 0, "the value to try"},
	{"evidence", "EVIDENCE", CELL_TEXT, UNIT_NONE, COL_BELOW, "what was seen"},
	{"undo", "UNDO", CELL_TEXT, UNIT_NONE, COL_WIDE, "the command that takes the change back"},
};

static const struct column setting_columns[] = {
	{"setting", "SETTING", CELL_TEXT, UNIT_NONE, 0,
		"path below /sys/kernel/mm/transparent_hugepage"},
	{"value", "VALUE", CELL_TEXT, UNIT_NONE, 0, "its value now"},
	{"meaning", "MEANING", CELL_TEXT, UNIT_NONE, 0, "what this value does"},
};

static const struct column counter_columns[] = {
	{"counter", "COUNTER", CELL_TEXT, UNIT_NONE, 0, "name in /proc/vmstat"},
	{"count", "COUNT", CELL_U64, UNIT_COUNT, 0, "in the interval (exact)"},
	{"boot_total", "SINCE BOOT", CELL_U64, UNIT_COUNT, 0, "since boot"},
};

static const struct column size_columns[] = {
	{"size", "SIZE", CELL_TEXT, UNIT_NONE, 0, "size of the huge pages"},
	{"counter", "COUNTER", CELL_TEXT, UNIT_NONE, 0,
		"name in stats of that size; nr_*: how many there are now"},
	{"count", "COUNT", CELL_S64, UNIT_COUNT, 0, "in the interval (exact)"},
	{"now_total", "TOTAL", CELL_U64, UNIT_COUNT, 0, "since boot; nr_*: now"},
};

static const struct column resident_columns[] = {
	{"pid", "PID", CELL_U64, UNIT_ID, 0, "process id"},
	{"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the process"},
	{"cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, COL_WIDE, "control group"},
	{"rss_bytes", "RSS", CELL_U64, UNIT_BYTES, COL_LEVEL, "resident memory"},
	{"huge_bytes", "HUGE", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"of it in huge pages: anonymous, shared memory, files"},
	{"huge_ratio", "SHARE", CELL_F64, UNIT_RATIO, 0, "huge_bytes of rss_bytes"},
	{"anon_huge_bytes", "ANON", CELL_U64, UNIT_BYTES, COL_WIDE | COL_LEVEL, "AnonHugePages"},
	{"shmem_huge_bytes", "SHMEM", CELL_U64, UNIT_BYTES, COL_WIDE | COL_LEVEL, "ShmemPmdMapped"},
	{"file_huge_bytes", "FILE", CELL_U64, UNIT_BYTES, COL_WIDE | COL_LEVEL, "FilePmdMapped"},
	{"waste_bytes", "WASTE", CELL_U64, UNIT_BYTES, COL_LEVEL,
		"zero-filled base pages in anonymous huge pages (estimated from a sample)"},
	{"error_bytes", "ERROR", CELL_U64, UNIT_BYTES, 0,
		"twice the standard error of waste_bytes (estimated)"},
	{"sampled", "READ", CELL_U64, UNIT_COUNT, COL_LEVEL, "huge pages that were read (sampled)"},
	{"candidates", "OF", CELL_U64, UNIT_COUNT, COL_WIDE | COL_LEVEL,
		"huge pages of which they were drawn"},
	{"sampling", "SAMPLING", CELL_TEXT, UNIT_NONE, COL_WIDE,
		"exact: the kernel told which pages are huge (PAGEMAP_SCAN, 6.7); guessed: 2 MiB "
		"that are fully mapped were taken for a huge page"},
};

static const struct column collapse_columns[] = {
	{"pid", "PID", CELL_U64, UNIT_ID, 0, "process whose memory it is"},
	{"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "its name"},
	{"memory", "MEMORY", CELL_TEXT, UNIT_NONE, 0, "anonymous, or file (shared memory too)"},
	{"step", "STEP", CELL_TEXT, UNIT_NONE, 0,
		"scan: a range was looked at; collapse: it was tried to make it huge"},
	{"result", "RESULT", CELL_TEXT, UNIT_NONE, 0, "as the running kernel names it"},
	{"count", "COUNT", CELL_U64, UNIT_COUNT, COL_WEIGHT, "ranges (exact)"},
};

#define TABLE(name_, cols_)                                       \
	{                                                         \
		name_, cols_, ARRAY_SIZE(cols_), sizeof(cols_[0]) \
	}

const struct view_table thp_side_tables[] = {
	TABLE("symptoms", symptom_columns),
	TABLE("collapses", collapse_columns),
	TABLE("resident", resident_columns),
	TABLE("counters", counter_columns),
	TABLE("mthp", size_columns),
	TABLE("settings", setting_columns),
	{},
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

static void symptom_row(struct cell *row, struct report *r, const struct thp_symptom *s)
{
	static const char *const seen[] = {
		[THP_NOT_SEEN] = "no", [THP_SEEN] = "yes", [THP_UNTESTED] = "unknown"};
	bool is_seen = s->seen == THP_SEEN;

	row[0] = cell_text(s->name);
	row[1] = cell_text(seen[s->seen]);
	if (s->seen != THP_UNTESTED && strcmp(s->name, "bloat") != 0)
		row[2] = cell_u64(s->cost_ns);
	row[3] = cell_text(is_seen ? s->setting : NULL);
	row[4] = cell_text(is_seen ? s->now : NULL);
	row[5] = cell_text(is_seen ? s->to : NULL);
	row[6] = cell_text(s->evidence[0]);
	row[7] = cell_text(is_seen && s->undo[0] ? report_text(r, "%s", s->undo[0]) : NULL);
}

int thp_tables_report_first(struct thp_tables *t, struct report *r)
{
	static const char *const hooks[THP_SYMPTOMS] = {
		[THP_COMPACTION] = "direct compaction for huge pages",
		[THP_RECLAIMING] = "direct reclaim for huge pages",
		[THP_BLOAT] = "huge pages of processes",
	};
	struct table *table = report_table(r, "symptoms", "Known ways in which huge pages hurt",
		symptom_columns, ARRAY_SIZE(symptom_columns));

	if (!table)
		return -ENOMEM;
	for (int i = 0; i < THP_SYMPTOMS; i++) {
		struct thp_test test = {&t->facts, THP_SETTING, THP_VMSTAT,
			stream_knows(r->stream, "thp", hooks[i])};
		struct thp_symptom s;
		struct cell *row = table_row(table);

		if (!row)
			return -ENOMEM;
		thp_symptom_test(r, &test, (enum thp_symptom_name)i, &s);
		symptom_row(row, r, &s);
		thp_symptom_tell(r, report_text(r, "thp-%s", s.name), &s);
	}
	return 0;
}

static int collapses_report(struct thp_tables *t, struct report *r)
{
	struct table *table =
		report_table(r, "collapses", "Small pages put together (khugepaged, MADV_COLLAPSE)",
			collapse_columns, ARRAY_SIZE(collapse_columns));

	if (!table)
		return -ENOMEM;
	table->sort = "count";
	table->empty = "No range was scanned or collapsed in this interval.";
	for (size_t i = 0; i < t->collapses.n; i++) {
		const struct collapse_key *k = groups_key(&t->collapses, i);
		struct cell *row = table_row(table);

		if (!row)
			return -ENOMEM;
		if (k->tgid) {
			row[0] = cell_u64(k->tgid);
			row[1] =
				cell_text(report_text(r, "%s", stream_comm(r->stream, k->tgid, 0)));
		}
		row[2] = cell_text(k->file ? "file" : "anonymous");
		row[3] = cell_text(k->kind == THP_SCAN ? "scan" : "collapse");
		row[4] = cell_text(thp_result_name(r, k->result));
		row[5] = cell_u64(*(const u64 *)groups_value(&t->collapses, i));
	}
	return 0;
}

static void resident_row(struct cell *row, struct report *r, u32 tgid, const struct thp_usage *u)
{
	u64 huge = u->anon_huge_bytes + u->shmem_huge_bytes + u->file_huge_bytes;

	row[0] = cell_u64(tgid);
	row[1] = cell_text(report_text(r, "%.16s", u->comm));
	row[2] = cell_text(stream_cgroup(r->stream, u->cgroup));
	row[3] = cell_u64(u->rss_bytes);
	row[4] = cell_u64(huge);
	if (u->rss_bytes)
		row[5] = cell_f64((double)huge / (double)u->rss_bytes);
	row[6] = cell_u64(u->anon_huge_bytes);
	row[7] = cell_u64(u->shmem_huge_bytes);
	row[8] = cell_u64(u->file_huge_bytes);
	row[11] = cell_u64(u->sampled);
	if (!u->sampled)
		return;
	row[9] = cell_u64(u->waste_bytes);
	row[10] = cell_u64(u->error_bytes);
	row[12] = cell_u64(u->candidates);
	row[13] = cell_text(u->exact ? "exact" : "guessed");
}

static int resident_report(struct thp_tables *t, struct report *r)
{
	struct table *table = report_table(r, "resident", "Huge pages of the biggest processes",
		resident_columns, ARRAY_SIZE(resident_columns));
	const struct groups *g = &t->facts.usages;

	if (!table)
		return -ENOMEM;
	table->sort = "huge_bytes";
	table->empty = "No process looked at has huge pages.";
	for (size_t i = 0; i < g->n; i++) {
		struct cell *row = table_row(table);
		u32 tgid;

		if (!row)
			return -ENOMEM;
		memcpy(&tgid, groups_key(g, i), sizeof(tgid));
		resident_row(row, r, tgid, groups_value(g, i));
	}
	return 0;
}

static int counters_report(struct thp_tables *t, struct report *r)
{
	struct table *table = report_table(r, "counters", "The kernel's counters that rose",
		counter_columns, ARRAY_SIZE(counter_columns));
	const struct groups *g = &t->facts.values;

	if (!table)
		return -ENOMEM;
	table->sort = "count";
	table->empty = "None of the kernel's counters of huge pages rose in this interval.";
	for (size_t i = 0; i < g->n; i++) {
		const struct thp_fact_key *k = groups_key(g, i);
		const struct thp_fact *v = groups_value(g, i);
		struct cell *row;

		if (k->source != THP_VMSTAT || v->last <= v->first)
			continue;
		row = table_row(table);
		if (!row)
			return -ENOMEM;
		row[0] = cell_text(report_text(r, "%s", k->name));
		row[1] = cell_u64(v->last - v->first);
		row[2] = cell_u64(v->last);
	}
	return 0;
}

static int sizes_report(struct thp_tables *t, struct report *r)
{
	struct table *table = report_table(r, "mthp", "By size of huge pages: what changed",
		size_columns, ARRAY_SIZE(size_columns));
	const struct groups *g = &t->facts.values;

	if (!table)
		return -ENOMEM;
	table->empty = "Nothing changed, or this kernel does not count by size.";
	for (size_t i = 0; i < g->n; i++) {
		const struct thp_fact_key *k = groups_key(g, i);
		const struct thp_fact *v = groups_value(g, i);
		const char *slash = strchr(k->name, '/');
		struct cell *row;

		if (k->source != THP_SIZE || !slash || v->last == v->first)
			continue;
		row = table_row(table);
		if (!row)
			return -ENOMEM;
		row[0] = cell_text(report_text(r, "%.*s", (int)(slash - k->name), k->name));
		row[1] = cell_text(report_text(r, "%s", slash + 1));
		row[2] = cell_s64((s64)(v->last - v->first));
		row[3] = cell_u64(v->last);
	}
	return 0;
}

static int settings_report(struct thp_tables *t, struct report *r)
{
	struct table *table = report_table(
		r, "settings", "Settings", setting_columns, ARRAY_SIZE(setting_columns));
	const struct groups *g = &t->facts.values;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < g->n; i++) {
		const struct thp_fact_key *k = groups_key(g, i);
		const struct thp_fact *v = groups_value(g, i);
		const char *value = v->text[0] ? report_text(r, "%s", v->text)
					       : report_text(r, "%llu", v->last);
		struct cell *row;

		if (k->source != THP_SETTING)
			continue;
		row = table_row(table);
		if (!row)
			return -ENOMEM;
		row[0] = cell_text(report_text(r, "%s", k->name));
		row[1] = cell_text(value);
		row[2] = cell_text(thp_setting_meaning(k->name, value));
	}
	return 0;
}

int thp_tables_report(struct thp_tables *t, struct report *r, bool each)
{
	int rc = each ? 0 : collapses_report(t, r);

	if (!rc)
		rc = resident_report(t, r);
	if (!rc)
		rc = counters_report(t, r);
	if (!rc)
		rc = sizes_report(t, r);
	return rc ? rc : settings_report(t, r);
}
