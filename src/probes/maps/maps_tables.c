/* See maps_tables.h. */
#include "probes/maps/maps_tables.h"

#include <errno.h>
#include <string.h>

#include "probes/maps/maps_words.h"

struct call_key {
	u32 detail;
	u32 call;
};

struct call_sums {
	u64 count, failed, length;
	struct durations durations;
};

struct name_key {
	u64 object;
	u64 kind;
};

struct name {
	char text[AGG_NAME_LEN];
};

struct limit_key {
	char name[MAPS_LIMIT_LEN];
};

static CELL_GET(call_cell)
{
	return cell_text(maps_call_name((u8)((const struct call_key *)row->key)->call));
}

static CELL_GET(call_detail_cell)
{
	const struct call_key *k = row->key;

	return cell_text(maps_detail_name(r, (u8)k->call, k->detail));
}

static const struct cell_column call_columns[] = {
	CELL_BY(0, "call", "CALL", CELL_TEXT, UNIT_NONE, 0, MAPS_CALL_HELP, call_cell),
	CELL_BY(0, "detail", "DETAIL", CELL_TEXT, UNIT_NONE, 0, MAPS_DETAIL_HELP, call_detail_cell),
	CELL_COUNT(struct call_sums, count, "CALLS", "calls (exact)"),
	CELL_NUMBER(
		struct call_sums, failed, "failed", "FAILED", UNIT_COUNT, 0, "of these, failed"),
	CELL_NUMBER(struct call_sums, length, "length_bytes", "LENGTH", UNIT_BYTES, 0,
		"sum of the lengths that successful calls named"),
	DURATIONS_CELLS(struct call_sums, durations, "time in them, of those whose start was seen"),
};

#define FAILURE(row_) ((const struct maps_failure_key *)(row_)->key)

static CELL_GET(failed_comm_cell)
{
	return cell_text(report_text(r, "%s", stream_comm(r->stream, FAILURE(row)->tgid, 0)));
}

static CELL_GET(failed_call_cell)
{
	return cell_text(maps_call_name(FAILURE(row)->call));
}

static CELL_GET(failed_detail_cell)
{
	return cell_text(maps_detail_name(r, FAILURE(row)->call, FAILURE(row)->detail));
}

static CELL_GET(failed_error_cell)
{
	return cell_text(maps_error_name(r, FAILURE(row)->error));
}

static CELL_GET(failed_why_cell)
{
	const struct maps_failure_key *k = row->key;

	return cell_text(maps_why_text(r, k->call, k->error, k->why, k->limit));
}

static CELL_GET(failed_stack_cell)
{
	return cell_stack(FAILURE(row)->stack);
}

static const struct cell_column failure_columns[] = {
	CELL_KEY(0, struct maps_failure_key, tgid, "pid", "PID", UNIT_ID, 0, "process id"),
	CELL_BY(0, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the process",
		failed_comm_cell),
	CELL_BY(0, "call", "CALL", CELL_TEXT, UNIT_NONE, 0, "system call", failed_call_cell),
	CELL_BY(0, "detail", "DETAIL", CELL_TEXT, UNIT_NONE, 0, MAPS_DETAIL_HELP,
		failed_detail_cell),
	CELL_BY(0, "error", "ERROR", CELL_TEXT, UNIT_NONE, 0,
		"errno by name. A brk that is refused returns the old break and no error: it is "
		"counted as ENOMEM, which is what sbrk makes of it",
		failed_error_cell),
	{0, {"count", "CALLS", CELL_U64, UNIT_COUNT, 0, "calls that failed so (exact)"},
		cell_of_u64, 0},
	CELL_BY(0, "why", "WHY", CELL_TEXT, UNIT_NONE, COL_ASIDE,
		"the limit that was met, as the kernel's numbers were when the call failed; else "
		"what the error means for this call, where it has one meaning",
		failed_why_cell),
	CELL_BY(0, "stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path (with --stacks)",
		failed_stack_cell), /* last: left out without --stacks */
};

void maps_tables_init(struct maps_tables *t, bool stacks)
{
	groups_init(&t->processes, sizeof(u32), sizeof(struct maps_proc));
	groups_init(&t->calls, sizeof(struct call_key), sizeof(struct call_sums));
	groups_init(&t->failures, sizeof(struct maps_failure_key), sizeof(u64));
	groups_init(&t->names, sizeof(struct name_key), sizeof(struct name));
	groups_init(&t->limits, sizeof(struct limit_key), sizeof(u64));
	t->stacks = stacks;
}

static int calls_feed(struct maps_tables *t, const struct maps_agg *r)
{
	struct call_key k = {r->detail, r->call};
	struct call_sums *s = groups_get(&t->calls, &k);

	if (!s)
		return -ENOMEM;
	s->count += r->count;
	s->failed += r->error ? r->count : 0;
	s->length += maps_length(r);
	durations_add(&s->durations, r->timed, r->total_ns, r->max_ns, r->hist, AGG_SLOTS);
	return 0;
}

static int failures_feed(struct maps_tables *t, const struct maps_agg *r)
{
	struct maps_failure_key k = {
		.tgid = r->tgid,
		.detail = r->detail,
		.limit = r->object,
		.error = r->error,
		.call = r->call,
		.why = r->why,
		.stack = t->stacks ? r->stack : 0,
	};
	u64 *n = groups_get(&t->failures, &k);

	if (!n)
		return -ENOMEM;
	*n += r->count;
	return 0;
}

static int names_feed(struct maps_tables *t, const struct maps_agg *r)
{
	struct name_key k = {r->object, r->kind};
	struct name *n = groups_get(&t->names, &k);

	if (!n)
		return -ENOMEM;
	memcpy(n->text, r->name, strnlen(r->name, sizeof(n->text) - 1));
	return 0;
}

/* What has the id of an earlier process begins anew. */
static int maps_tables_process_feed(struct maps_tables *t, const struct maps_process *r)
{
	struct maps_proc *p = groups_get(&t->processes, &r->tgid);

	if (!p)
		return -ENOMEM;
	if (!p->known || p->first != r->first_bytes || p->first_data != r->first_data_bytes) {
		p->before += p->last - p->base;
		p->before_data += p->last_data - p->base_data;
		p->first = p->base = r->first_bytes;
		p->first_data = p->base_data = r->first_data_bytes;
		p->trend = (struct trend){};
	}
	p->known = true;
	p->over = false;
	p->last = r->last_bytes;
	p->last_data = r->last_data_bytes;
	p->mappings = r->mappings;
	p->execs = r->execs;
	trend_add(&p->trend, r->h.time_ns, (double)r->last_bytes);
	return 0;
}

#define MADV_DONTNEED 4
#define MADV_FREE 8

static int churn_feed(struct maps_tables *t, const struct maps_agg *r)
{
	struct maps_proc *p = groups_get(&t->processes, &r->tgid);

	if (!p)
		return -ENOMEM;
	if (r->call == MAPS_MMAP) {
		p->maps += r->count;
		p->map_bytes += maps_length(r);
		p->map_ns += r->total_ns;
	} else if (r->call == MAPS_MUNMAP) {
		p->unmaps += r->count;
		p->map_ns += r->total_ns;
	} else if (r->call == MAPS_MADVISE &&
		   (r->detail == MADV_DONTNEED || r->detail == MADV_FREE)) {
		p->drops += r->count;
		p->drop_bytes += maps_length(r);
		p->drop_ns += r->total_ns;
	}
	return 0;
}

static int limit_feed(struct maps_tables *t, const struct maps_limit *r)
{
	struct limit_key k = {};
	u64 *value;

	memcpy(k.name, r->name, strnlen(r->name, sizeof(k.name) - 1));
	value = groups_get(&t->limits, &k);
	if (!value)
		return -ENOMEM;
	*value = r->value;
	return 0;
}

static void maps_tables_task_feed(struct maps_tables *t, const struct rec *r)
{
	const struct rec_task *task = (const void *)r;
	struct maps_proc *p =
		task_is_over(r) && !task->tid ? groups_find(&t->processes, &task->tgid) : NULL;

	if (p)
		p->over = true;
}

int maps_tables_feed(struct maps_tables *t, const struct rec *rec)
{
	const struct maps_agg *r = (const void *)rec;
	int rc = 0;

	maps_tables_task_feed(t, rec);
	if (rec->kind == REC_MAPS_PROCESS)
		return maps_tables_process_feed(t, (const void *)rec);
	if (rec->kind == REC_MAPS_LIMIT)
		return limit_feed(t, (const void *)rec);
	if (rec->kind != REC_MAPS_AGG)
		return 0;
	if (r->count)
		rc = calls_feed(t, r);
	if (!rc && r->count)
		rc = r->error ? failures_feed(t, r) : churn_feed(t, r);
	return rc || !r->object || r->error || !r->name[0] ? rc : names_feed(t, r);
}

int maps_tables_report(struct maps_tables *t, struct report *r)
{
	static const struct cell_table calls = {
		CELL_TABLE("calls", "Calls", "count", "No calls in scope.", call_columns)};
	struct cell_table failures = {CELL_TABLE(
		"failures", "Failed calls", "count", "No call failed.", failure_columns)};
	int rc = cells_report(r, &calls, &t->calls, NULL);

	failures.n_cols -= !t->stacks;
	return rc ? rc : cells_report(r, &failures, &t->failures, NULL);
}

static bool process_stays(void *arg, const void *key, const void *value)
{
	(void)arg;
	(void)key;
	return !((const struct maps_proc *)value)->over;
}

/* Address spaces and limits are what they are, until the process ends; names are still wanted for
 * what is unmapped. */
void maps_tables_reset(struct maps_tables *t)
{
	groups_filter(&t->processes, process_stays, NULL);
	groups_clear(&t->calls);
	groups_clear(&t->failures);
	for (size_t i = 0; i < t->processes.n; i++) {
		struct maps_proc *p = groups_value(&t->processes, i);

		p->before = p->before_data = 0;
		p->base = p->last;
		p->base_data = p->last_data;
		p->trend = (struct trend){};
		p->maps = p->unmaps = p->map_bytes = p->map_ns = 0;
		p->drops = p->drop_bytes = p->drop_ns = 0;
	}
}

void maps_tables_free(struct maps_tables *t)
{
	groups_free(&t->processes);
	groups_free(&t->calls);
	groups_free(&t->failures);
	groups_free(&t->names);
	groups_free(&t->limits);
}

const struct maps_proc *maps_proc_find(const struct maps_tables *t, u32 tgid)
{
	return groups_find(&t->processes, &tgid);
}

s64 maps_proc_change(const struct maps_proc *p)
{
	return (s64)(p->before + p->last - p->base);
}

s64 maps_proc_data_change(const struct maps_proc *p)
{
	return (s64)(p->before_data + p->last_data - p->base_data);
}

const char *maps_object_name(const struct maps_tables *t, u8 kind, u64 object)
{
	struct name_key k = {object, kind};
	const struct name *n = groups_find(&t->names, &k);

	return n ? n->text : NULL;
}

bool maps_limit_get(const struct maps_tables *t, const char *name, u64 *ret)
{
	struct limit_key k = {};
	const u64 *value;

	snprintf(k.name, sizeof(k.name), "%s", name);
	value = groups_find(&t->limits, &k);
	if (value)
		*ret = *value;
	return value != NULL;
}

const struct view_table maps_side_tables[] = {
	CELLS_VIEW("calls", call_columns),
	CELLS_VIEW("failures", failure_columns),
	{},
};
