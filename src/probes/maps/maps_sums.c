/* See maps_sums.h. */
#include "probes/maps/maps_sums.h"

#include <errno.h>

#include "probes/maps/maps_view.h"
#include "probes/maps/maps_words.h"

enum {
	BY_CALL = BY_OWN,
	BY_KIND = BY_OWN << 1,
	BY_MAPPING = BY_OWN << 2,
	BY_SIZE = BY_OWN << 3,
	BY_ERROR = BY_OWN << 4,
	BY_FINER = BY_STACK | BY_CALL | BY_KIND | BY_MAPPING | BY_SIZE | BY_ERROR,
};

const char *const maps_by_keys[] = {BY_TASK_KEYS, "call", "kind", "mapping", "size", "error", NULL};

static const char *mapping_text(
	struct report *r, const struct maps_tables *t, const struct maps_by_key *k)
{
	const char *name = k->object ? maps_object_name(t, (u8)k->kind, k->object) : NULL;
	bool is_key = k->call == MAPS_SHMGET || k->call == 1;

	if (name)
		return report_text(r, "%s", name);
	if (k->kind == MAPS_SYSV_SHM && k->object)
		return is_key ? report_text(r, "key 0x%llx", k->object)
			      : report_text(r, "id %llu", k->object);
	return NULL;
}

#define KEY(row_) ((const struct maps_by_key *)(row_)->key)

static CELL_GET(call_cell)
{
	return cell_text(maps_call_name((u8)KEY(row)->call));
}

static CELL_GET(detail_cell)
{
	return cell_text(maps_detail_name(r, (u8)KEY(row)->call, KEY(row)->detail));
}

static CELL_GET(kind_cell)
{
	return cell_text(maps_kind_name((u8)KEY(row)->kind));
}

static CELL_GET(mapping_cell)
{
	return cell_text(mapping_text(r, row->view, KEY(row)));
}

static CELL_GET(error_cell)
{
	return cell_text(maps_error_name(r, KEY(row)->error));
}

static CELL_GET(growth_cell)
{
	const struct maps_sums *s = row->sums;

	return cell_s64((s64)(s->added - s->taken));
}

static CELL_GET(heap_cell)
{
	const struct maps_sums *s = row->sums;

	return cell_s64((s64)(s->heap_added - s->heap_taken));
}

static CELL_GET(held_cell)
{
	const struct maps_sums *s = row->sums;

	return s->held_known ? cell_s64((s64)s->held) : (struct cell){};
}

/* The process whose row it is, and nothing else's; NULL: its sizes are not known. */
static const struct maps_proc *proc_of(const struct row_of *row)
{
	const struct maps_proc *p =
		row->by == BY_PROCESS ? maps_proc_find(row->view, KEY(row)->task.tgid) : NULL;

	return p && p->known ? p : NULL;
}

static CELL_GET(proc_u64_cell)
{
	const struct maps_proc *p = proc_of(row);

	return p ? cell_u64(*(const u64 *)((const char *)p + offset)) : (struct cell){};
}

static CELL_GET(proc_u32_cell)
{
	const struct maps_proc *p = proc_of(row);

	return p ? cell_u64(*(const u32 *)((const char *)p + offset)) : (struct cell){};
}

static CELL_GET(change_cell)
{
	const struct maps_proc *p = proc_of(row);

	return p ? cell_s64(maps_proc_change(p)) : (struct cell){};
}

static CELL_GET(other_cell)
{
	const struct maps_sums *s = row->sums;
	const struct maps_proc *p = proc_of(row);

	return p ? cell_s64((s64)((u64)maps_proc_change(p) - (s->added - s->taken)))
		 : (struct cell){};
}

static CELL_GET(data_cell)
{
	const struct maps_proc *p = proc_of(row);

	return p ? cell_s64(maps_proc_data_change(p)) : (struct cell){};
}

#define SUM(member_, name_, title_, unit_, flags_, help_) \
	CELL_NUMBER(struct maps_sums, member_, name_, title_, unit_, flags_, help_)

static const struct cell_column columns[] = {
	BY_TASK_CELLS,
	CELL_BY(BY_CALL, "call", "CALL", CELL_TEXT, UNIT_NONE, 0, MAPS_CALL_HELP, call_cell),
	CELL_BY(BY_CALL, "detail", "DETAIL", CELL_TEXT, UNIT_NONE, 0, MAPS_DETAIL_HELP,
		detail_cell),
	CELL_BY(BY_KIND | BY_MAPPING, "kind", "KIND", CELL_TEXT, UNIT_NONE, 0,
		"what is mapped: anonymous, heap (the break), reserved (PROT_NONE), stack "
		"(MAP_STACK), file, shared file, shared anonymous, POSIX shm, memfd, SysV shm, "
		"hugetlb, device, tmpfs; empty where a call names memory that was mapped before "
		"the start",
		kind_cell),
	CELL_BY(BY_MAPPING, "mapping", "MAPPING", CELL_TEXT, UNIT_NONE, 0,
		"name of the file, memfd or shared memory object; of SysV shared memory the key "
		"(shmget) or id",
		mapping_cell),
	CELL_KEY(BY_SIZE, struct maps_by_key, length, "size_bytes", "SIZE", UNIT_BYTES, COL_KEY,
		"length that the call named, in whole pages"),
	CELL_BY(BY_ERROR, "error", "ERROR", CELL_TEXT, UNIT_NONE, 0,
		"errno by name; empty: they succeeded", error_cell),
	SUM(count, "count", "CALLS", UNIT_COUNT, 0, "calls (exact)"),
	SUM(failed, "failed", "FAILED", UNIT_COUNT, 0, "of these, failed"),
	SUM(added, "mapped_bytes", "MAPPED", UNIT_BYTES, COL_WEIGHT, "what calls added to VmSize"),
	SUM(taken, "unmapped_bytes", "UNMAPPED", UNIT_BYTES, 0, "what calls took from VmSize"),
	CELL_BY(0, "growth_bytes", "GROWTH", CELL_S64, UNIT_BYTES, 0,
		"mapped less unmapped: the growth by these calls", growth_cell),
	CELL_BY(0, "heap_bytes", "HEAP", CELL_S64, UNIT_BYTES, 0,
		"of the growth, that of the break (brk)", heap_cell),
	CELL_BY(BY_FINER, "held_bytes", "HELD", CELL_S64, UNIT_BYTES, 0,
		"mapped by these calls in the interval and not unmapped since, by whomever "
		"(estimated: what was cut out of the middle of an older mapping is still in it)",
		held_cell),
	CELL_FROM(BY_PROCESS, struct maps_proc, last, "vmsize_bytes", "VMSIZE", CELL_U64,
		UNIT_BYTES, COL_LEVEL, "VmSize after the last call (exact)", proc_u64_cell),
	CELL_BY(BY_PROCESS, "vmsize_change_bytes", "CHANGE", CELL_S64, UNIT_BYTES, COL_WIDE,
		"change of VmSize in the interval, from before the first call to after the last "
		"(exact)",
		change_cell),
	CELL_BY(BY_PROCESS, "not_by_calls_bytes", "OTHER", CELL_S64, UNIT_BYTES, 0,
		"change of VmSize that is not in growth: exec, stacks that grow by faults, what "
		"the kernel or another process maps here",
		other_cell),
	CELL_BY(BY_PROCESS, "vmdata_change_bytes", "VMDATA", CELL_S64, UNIT_BYTES, COL_WIDE,
		"the same of VmData (exact): private, writable", data_cell),
	CELL_FROM(BY_PROCESS, struct maps_proc, mappings, "mappings", "MAPPINGS", CELL_U64,
		UNIT_COUNT, COL_WIDE | COL_LEVEL,
		"mappings after the last call; vm.max_map_count limits them", proc_u32_cell),
	CELL_FROM(BY_PROCESS, struct maps_proc, execs, "execs", "EXECS", CELL_U64, UNIT_COUNT,
		COL_WIDE, "how often exec replaced the program since it was first seen",
		proc_u32_cell),
	SUM(length, "length_bytes", "LENGTH", UNIT_BYTES, COL_WIDE,
		"sum of the lengths that successful calls named"),
	SUM(mixed, "mixed", "MIXED", UNIT_COUNT, COL_WIDE,
		"calls that overlapped others of their process: what they mapped comes from their "
		"arguments and results"),
	DURATIONS_CELLS(struct maps_sums, durations, "time in the calls whose start was seen"),
	BY_STACK_CELLS("code path of the call"),
};

static const struct by_spec spec = CELLS_SPEC(columns, struct maps_by_key, struct maps_sums);

/* Columns that say nothing by these keys are for programs only. */
static void columns_hide(struct by_sums *s)
{
	bool process = s->by == BY_PROCESS;

	for (size_t i = 0; i < s->n_cols; i++) {
		const struct cell_column *c = &columns[s->index[i]];

		if (!process && c->keys == BY_PROCESS)
			s->cols[i].flags |= COL_HIDDEN;
		if (c->offset == offsetof(struct maps_sums, durations) && c->get != durations_total)
			s->cols[i].flags |= COL_WIDE;
	}
}

int maps_sums_init(struct by_sums *s, const struct view_options *o, struct err *err)
{
	int rc = by_sums_init(s, &spec, &maps_view, o, err);

	if (!rc)
		columns_hide(s);
	return rc;
}

static struct maps_by_key maps_sums_key_of(u32 by, const struct maps_agg *r)
{
	struct maps_by_key k = {
		.task = by_task_key(by, r->tgid, r->tid, r->cgroup, r->stack, r->comm)};

	if (by & (BY_KIND | BY_MAPPING))
		k.kind = r->kind;
	if (by & BY_MAPPING)
		k.object = r->error ? 0 : r->object;
	if (by & BY_SIZE)
		k.length = r->length;
	if (by & BY_ERROR)
		k.error = r->error;
	if (by & BY_CALL) {
		k.call = r->call;
		k.detail = r->detail;
	} else if (r->kind == MAPS_SYSV_SHM && k.object) {
		k.call = r->call == MAPS_SHMGET; /* a key is not an id */
	}
	return k;
}

int maps_sums_feed(struct by_sums *b, const struct maps_agg *r)
{
	struct maps_by_key k = maps_sums_key_of(b->by, r);
	struct maps_sums *s = groups_get(&b->groups, &k);

	if (!s)
		return -ENOMEM;
	s->count += r->count;
	s->failed += r->error ? r->count : 0;
	s->length += maps_length(r);
	s->added += r->added_bytes;
	s->taken += r->taken_bytes;
	if (r->call == MAPS_BRK) {
		s->heap_added += r->added_bytes;
		s->heap_taken += r->taken_bytes;
	}
	s->held += (u64)r->held_bytes;
	s->held_known |= r->h.flags & MAPS_HELD_KNOWN;
	s->mixed += r->mixed;
	durations_add(&s->durations, r->timed, r->total_ns, r->max_ns, r->hist, AGG_SLOTS);
	return 0;
}

int maps_sums_report(struct by_sums *b, const struct maps_tables *t, struct report *r)
{
	struct table *table = by_sums_show_with(b, r, "maps", "Changes of address spaces", t);

	if (!table)
		return -ENOMEM;
	table->sort = b->by & BY_FINER ? "held_bytes" : "growth_bytes";
	table->empty = "No calls in scope.";
	return 0;
}

const struct view_table maps_sums_tables[] = {
	CELLS_VIEW("maps", columns),
	{},
};
