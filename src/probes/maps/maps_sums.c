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

enum {
	C_CALL = BY_C_OWN,
	C_DETAIL,
	C_KIND,
	C_MAPPING,
	C_SIZE,
	C_ERROR,
	C_COUNT,
	C_FAILED,
	C_ADDED,
	C_TAKEN,
	C_GROWTH,
	C_HEAP,
	C_HELD,
	C_VMSIZE,
	C_CHANGE,
	C_OTHER,
	C_DATA,
	C_MAPPINGS,
	C_EXECS,
	C_LENGTH,
	C_MIXED,
	C_DURATIONS,
	C_STACK = C_DURATIONS + DURATIONS_N,
	C_N,
};

static const struct by_column columns[C_N] = {
	BY_TASK_COLUMNS,
	[C_CALL] = {BY_CALL, {"call", "CALL", CELL_TEXT, UNIT_NONE, 0,
				     "system call; shm_open and shm_unlink: open and unlink below "
				     "/dev/shm"}},
	[C_DETAIL] = {BY_CALL, {"detail", "DETAIL", CELL_TEXT, UNIT_NONE, 0,
				       "advice of madvise, command of shmctl"}},
	[C_KIND] = {BY_KIND | BY_MAPPING,
		{"kind", "KIND", CELL_TEXT, UNIT_NONE, 0,
			"what is mapped: anonymous, heap (the break), reserved (PROT_NONE), stack "
			"(MAP_STACK), file, shared file, shared anonymous, POSIX shm, memfd, SysV "
			"shm, hugetlb, device, tmpfs; empty where a call names memory that was "
			"mapped before the start"}},
	[C_MAPPING] = {BY_MAPPING,
		{"mapping", "MAPPING", CELL_TEXT, UNIT_NONE, 0,
			"name of the file, memfd or shared memory object; of SysV shared memory "
			"the key (shmget) or id"}},
	[C_SIZE] = {BY_SIZE, {"size_bytes", "SIZE", CELL_U64, UNIT_BYTES, COL_KEY,
				     "length that the call named, in whole pages"}},
	[C_ERROR] = {BY_ERROR, {"error", "ERROR", CELL_TEXT, UNIT_NONE, 0,
				       "errno by name; empty: they succeeded"}},
	[C_COUNT] = {0, {"count", "CALLS", CELL_U64, UNIT_COUNT, 0, "calls (exact)"}},
	[C_FAILED] = {0, {"failed", "FAILED", CELL_U64, UNIT_COUNT, 0, "of these, failed"}},
	[C_ADDED] = {0, {"mapped_bytes", "MAPPED", CELL_U64, UNIT_BYTES, COL_WEIGHT,
				"what calls added to VmSize"}},
	[C_TAKEN] = {0, {"unmapped_bytes", "UNMAPPED", CELL_U64, UNIT_BYTES, 0,
				"what calls took from VmSize"}},
	[C_GROWTH] = {0, {"growth_bytes", "GROWTH", CELL_S64, UNIT_BYTES, 0,
				 "mapped less unmapped: the growth by these calls"}},
	[C_HEAP] = {0, {"heap_bytes", "HEAP", CELL_S64, UNIT_BYTES, 0,
			       "of the growth, that of the break (brk)"}},
	[C_HELD] = {BY_FINER,
		{"held_bytes", "HELD", CELL_S64, UNIT_BYTES, 0,
			"mapped by these calls in the interval and not unmapped since, by "
			"whomever (estimated: what was cut out of the middle of an older "
			"mapping is still in it)"}},
	[C_VMSIZE] = {BY_PROCESS, {"vmsize_bytes", "VMSIZE", CELL_U64, UNIT_BYTES, COL_LEVEL,
					  "VmSize after the last call (exact)"}},
	[C_CHANGE] = {BY_PROCESS,
		{"vmsize_change_bytes", "CHANGE", CELL_S64, UNIT_BYTES, COL_WIDE,
			"change of VmSize in the interval, from before the first call to after "
			"the last (exact)"}},
	[C_OTHER] = {BY_PROCESS,
		{"not_by_calls_bytes", "OTHER", CELL_S64, UNIT_BYTES, 0,
			"change of VmSize that is not in growth: exec, stacks that grow by faults, "
			"what the kernel or another process maps here"}},
	[C_DATA] = {BY_PROCESS, {"vmdata_change_bytes", "VMDATA", CELL_S64, UNIT_BYTES, COL_WIDE,
					"the same of VmData (exact): private, writable"}},
	[C_MAPPINGS] = {BY_PROCESS,
		{"mappings", "MAPPINGS", CELL_U64, UNIT_COUNT, COL_WIDE | COL_LEVEL,
			"mappings after the last call; vm.max_map_count "
			"limits them"}},
	[C_EXECS] = {BY_PROCESS, {"execs", "EXECS", CELL_U64, UNIT_COUNT, COL_WIDE,
					 "how often exec replaced the program since it was first "
					 "seen"}},
	[C_LENGTH] = {0, {"length_bytes", "LENGTH", CELL_U64, UNIT_BYTES, COL_WIDE,
				 "sum of the lengths that successful calls named"}},
	[C_MIXED] = {0, {"mixed", "MIXED", CELL_U64, UNIT_COUNT, COL_WIDE,
				"calls that overlapped others of their process: what they mapped "
				"comes from their arguments and results"}},
	DURATIONS_COLUMNS(C_DURATIONS, "time in the calls whose start was seen"),
	[C_STACK] = {BY_STACK,
		{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "code path of the call"}},
};

static const struct by_spec spec = {
	.columns = columns,
	.n_columns = C_N,
	.key_size = sizeof(struct maps_by_key),
	.value_size = sizeof(struct maps_sums),
};

/* Columns that say nothing by these keys are for programs only. */
static void columns_hide(struct by_sums *s)
{
	bool process = s->by == BY_PROCESS;

	for (size_t i = 0; i < s->n_cols; i++) {
		size_t c = s->index[i];

		if (!process && c >= C_VMSIZE && c <= C_EXECS)
			s->cols[i].flags |= COL_HIDDEN;
		if (c >= C_DURATIONS + 1 && c < C_STACK)
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

static struct maps_by_key key_of(u32 by, const struct maps_agg *r)
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
	struct maps_by_key k = key_of(b->by, r);
	struct maps_sums *s = groups_get(&b->groups, &k);

	if (!s)
		return -ENOMEM;
	s->count += r->count;
	s->failed += r->error ? r->count : 0;
	s->length += r->length_bytes;
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

static void process_fill(
	struct cell all[C_N], const struct maps_tables *t, u32 tgid, const struct maps_sums *s)
{
	const struct maps_proc *p = maps_proc_find(t, tgid);
	s64 change = p ? maps_proc_change(p) : 0;

	if (!p || !p->known)
		return;
	all[C_VMSIZE] = cell_u64(p->last);
	all[C_CHANGE] = cell_s64(change);
	all[C_OTHER] = cell_s64((s64)((u64)change - (s->added - s->taken)));
	all[C_DATA] = cell_s64(maps_proc_data_change(p));
	all[C_MAPPINGS] = cell_u64(p->mappings);
	all[C_EXECS] = cell_u64(p->execs);
}

static void row_fill(struct cell all[C_N], struct report *r, const struct by_sums *b,
	const struct maps_tables *t, const struct maps_by_key *k, const struct maps_sums *s)
{
	by_task_cells(r, b->by, &k->task, all);
	all[C_CALL] = cell_text(maps_call_name((u8)k->call));
	all[C_DETAIL] = cell_text(maps_detail_name(r, (u8)k->call, k->detail));
	all[C_KIND] = cell_text(maps_kind_name((u8)k->kind));
	all[C_MAPPING] = cell_text(mapping_text(r, t, k));
	all[C_SIZE] = cell_u64(k->length);
	all[C_ERROR] = cell_text(maps_error_name(r, k->error));
	all[C_COUNT] = cell_u64(s->count);
	all[C_FAILED] = cell_u64(s->failed);
	all[C_ADDED] = cell_u64(s->added);
	all[C_TAKEN] = cell_u64(s->taken);
	all[C_GROWTH] = cell_s64((s64)(s->added - s->taken));
	all[C_HEAP] = cell_s64((s64)(s->heap_added - s->heap_taken));
	all[C_HELD] = s->held_known ? cell_s64((s64)s->held) : (struct cell){};
	all[C_LENGTH] = cell_u64(s->length);
	all[C_MIXED] = cell_u64(s->mixed);
	all[C_STACK] = cell_stack(k->task.stack);
	if (b->by == BY_PROCESS)
		process_fill(all, t, k->task.tgid, s);
	durations_cells(r, &s->durations, &all[C_DURATIONS]);
}

int maps_sums_report(struct by_sums *b, const struct maps_tables *t, struct report *r)
{
	struct table *table = by_sums_table(b, r, "maps", "Changes of address spaces");
	const struct groups *g = &b->groups;
	int rc = 0;

	if (!table)
		return -ENOMEM;
	table->sort = b->by & BY_FINER ? "held_bytes" : "growth_bytes";
	table->empty = "No calls in scope.";
	for (size_t i = 0; i < g->n && !rc; i++) {
		struct cell all[C_N] = {};

		row_fill(all, r, b, t, groups_key(g, i), groups_value(g, i));
		rc = by_sums_row(b, table, all);
	}
	return rc;
}

const struct view_table maps_sums_tables[] = {
	{"maps", &columns[0].col, C_N, sizeof(columns[0])},
	{},
};
