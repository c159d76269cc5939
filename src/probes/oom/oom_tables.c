/* See oom_tables.h. */
#include "probes/oom/oom_tables.h"

#include <errno.h>
#include <string.h>

#include "analysis/gfp.h"
#include "probes/oom/oom_detail.h"

enum {
	K_KILL,
	K_TIME,
	K_PID,
	K_COMM,
	K_WHY,
	K_CGROUP,
	K_ASKER_COMM,
	K_RSS,
	K_SWAP,
	K_GROWN,
	K_PACE,
	K_ADJ,
	K_FREED,
	K_ASKER,
	K_ASKER_TID,
	K_ASKER_CGROUP,
	K_ORDER,
	K_GFP,
	K_ANON,
	K_FILE,
	K_SHMEM,
	K_TABLES,
	K_UID,
	K_SCORE,
	K_SPAN,
	K_COUNTED,
	K_VICTIM_CGROUP,
	K_STACK,
	K_N,
};

static const struct column kill_columns[K_N] = {
	[K_KILL] = KILL_COLUMN,
	[K_TIME] = {"time_ns", "TIME", CELL_U64, UNIT_NS, 0, "since the start"},
	[K_PID] = {"pid", "PID", CELL_U64, UNIT_ID, 0, "the victim"},
	[K_COMM] = {"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "its name"},
	[K_WHY] = {"why", "WHY", CELL_TEXT, UNIT_NONE, 0,
		"what was out of memory: machine, cgroup, cpuset or policy (of NUMA)"},
	[K_ASKER] = {"asker_pid", "ASKER PID", CELL_U64, UNIT_ID, COL_WIDE,
		"process whose allocation failed"},
	[K_ASKER_TID] = {"asker_tid", "TID", CELL_U64, UNIT_ID, COL_WIDE, "its thread"},
	[K_ASKER_COMM] = {"asker_comm", "ASKED BY", CELL_TEXT, UNIT_NONE, 0,
		"name of the thread whose allocation failed"},
	[K_ASKER_CGROUP] = {"asker_cgroup", "ASKER CGROUP", CELL_TEXT, UNIT_CGROUP, COL_WIDE,
		"its control group"},
	[K_ORDER] = {"order", "ORDER", CELL_S64, UNIT_ID, COL_WIDE,
		"of the allocation: 2^order pages; -1: a person asked (sysrq f)"},
	[K_GFP] = {"gfp", "GFP", CELL_TEXT, UNIT_NONE, COL_WIDE,
		"its flags; a kill that the kernel's log does not explain may have those of the "
		"group's reclaim instead"},
	[K_RSS] = {"rss_bytes", "RSS", CELL_U64, UNIT_BYTES, 0, "the victim's resident memory"},
	[K_ANON] = {"anon_bytes", "ANON", CELL_U64, UNIT_BYTES, COL_WIDE, "of this, anonymous"},
	[K_FILE] = {"file_bytes", "FILE", CELL_U64, UNIT_BYTES, COL_WIDE, "of this, of files"},
	[K_SHMEM] = {"shmem_bytes", "SHMEM", CELL_U64, UNIT_BYTES, COL_WIDE,
		"of this, shared memory and tmpfs"},
	[K_SWAP] = {"swap_bytes", "SWAP", CELL_U64, UNIT_BYTES, 0, "its memory in swap"},
	[K_TABLES] = {"page_table_bytes", "PGTABLES", CELL_U64, UNIT_BYTES, COL_WIDE,
		"its page tables"},
	[K_UID] = {"uid", "UID", CELL_U64, UNIT_ID, COL_WIDE, "its user"},
	[K_ADJ] = {"oom_score_adj", "ADJ", CELL_S64, UNIT_NONE, 0,
		"its oom_score_adj, from -1000 (never) to 1000 (first)"},
	[K_SCORE] = {"score_pages", "SCORE", CELL_S64, UNIT_PAGES, COL_WIDE,
		"resident, swap and page tables in pages, and its oom_score_adj in thousandths of "
		"what there is"},
	[K_GROWN] = {"grown_bytes", "GROWN", CELL_S64, UNIT_BYTES, 0,
		"how much its resident and swapped memory grew in the minute before, or since its "
		"start (from samples)"},
	[K_SPAN] = {"span_ns", "OVER", CELL_U64, UNIT_NS, COL_WIDE,
		"part of that minute in which it was there"},
	[K_PACE] = {"bytes_per_s", "GROWN/s", CELL_S64, UNIT_BYTES, 0,
		"its growth a second in the last five seconds (from samples)"},
	[K_FREED] = {"freed_ns", "FREED", CELL_U64, UNIT_NS, 0,
		"time until it had ended or the OOM reaper had taken its memory (up to 100 ms "
		"less)"},
	[K_COUNTED] = {"killed", "KILLED", CELL_U64, UNIT_COUNT, COL_WIDE,
		"times the kernel counted it (oom_kill in /proc/vmstat); 0: it was exiting "
		"already; 2: first victim of a memory.oom.group"},
	[K_CGROUP] = {"cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, 0,
		"control group at its limit, or for a machine out of memory the victim's"},
	[K_VICTIM_CGROUP] = {"victim_cgroup", "VICTIM CGROUP", CELL_TEXT, UNIT_CGROUP, COL_WIDE,
		"control group of the victim"},
	[K_STACK] = {"stack", "STACK", CELL_STACK, UNIT_NONE, 0,
		"code path that asked for the memory (with --stacks)"},
};

const struct view_table oom_kill_tables[] = {
	{"kills", kill_columns, K_N, sizeof(kill_columns[0])},
	{"kill", kill_columns, K_N, sizeof(kill_columns[0])},
	{},
};

struct table *oom_tables_kills(struct report *r, bool stacks)
{
	struct table *t =
		report_table(r, "kills", "OOM kills", kill_columns, stacks ? K_N : K_STACK);

	if (t)
		t->sort = "-kill";
	return t;
}

struct table *oom_tables_each(struct report *r)
{
	return report_table(r, "kill", "OOM kills, each", kill_columns, K_N);
}

static const char *why_name(u32 why)
{
	static const char *const names[] = {"machine", "cpuset", "policy", "cgroup"};

	return why < ARRAY_SIZE(names) ? names[why] : NULL;
}

const char *oom_cgroup_name(struct report *r, const struct kill *x)
{
	int level = kill_level(x);
	const char *name = NULL;

	if (level >= 0)
		name = stream_cgroup(r->stream, x->mark.chain[level].cgroup);
	if (!name && x->seen && x->mark.oom_cgroup)
		name = stream_cgroup(r->stream, x->mark.oom_cgroup);
	if (!name && x->reported)
		name = oom_text(r, x->report.oom_path, OOM_PATH_LEN);
	return name;
}

static const char *victim_cgroup(struct report *r, const struct kill *x)
{
	const char *name = x->seen ? stream_cgroup(r->stream, x->mark.victim_cgroup) : NULL;

	return name ? name : x->reported ? oom_text(r, x->report.victim_path, OOM_PATH_LEN) : NULL;
}

const char *oom_gfp_name(struct report *r, const struct kill *x)
{
	const u32 known = OOM_GFP_KNOWN | OOM_GFP_OF_RECLAIM;

	if (x->reported && x->report.flags & OOM_REPORT_ASKED)
		return gfp_text(r, x->report.gfp);
	return x->seen && x->mark.flags & known ? gfp_text(r, x->mark.gfp) : NULL;
}

bool oom_order(const struct kill *x, s32 *ret)
{
	if (x->reported && x->report.flags & OOM_REPORT_ASKED)
		*ret = x->report.order;
	else if (x->seen && x->mark.flags & OOM_ORDER_KNOWN)
		*ret = x->mark.order;
	else
		return false;
	return true;
}

static void asker_cells(struct cell *row, struct report *r, const struct kill *x)
{
	s32 order;

	row[K_ASKER_COMM] = cell_text(oom_text(r, kill_asker_comm(x), COMM_LEN));
	row[K_GFP] = cell_text(oom_gfp_name(r, x));
	if (oom_order(x, &order))
		row[K_ORDER] = cell_s64(order);
	if (x->seen) {
		row[K_ASKER] = cell_u64(x->mark.tgid);
		row[K_ASKER_TID] = cell_u64(x->mark.tid);
		row[K_ASKER_CGROUP] = cell_text(stream_cgroup(r->stream, x->mark.cgroup));
	} else if (x->report.flags & OOM_REPORT_ASKER_ID) {
		row[K_ASKER_TID] = cell_u64(x->report.tid);
	}
}

static void size_cells(struct cell *row, const struct kills *k, const struct kill *x)
{
	struct kill_sizes s = kill_sizes(k, x);
	bool marked = x->seen && x->mark.flags & OOM_VICTIM_KNOWN;
	s64 score;

	if (!s.known)
		return;
	row[K_RSS] = cell_u64(s.anon + s.file + s.shmem);
	row[K_ANON] = cell_u64(s.anon);
	row[K_FILE] = cell_u64(s.file);
	row[K_SHMEM] = cell_u64(s.shmem);
	if (s.swap_known)
		row[K_SWAP] = cell_u64(s.swap);
	row[K_TABLES] = cell_u64(s.page_tables);
	row[K_UID] = cell_u64(marked ? x->mark.victim_uid : x->report.victim_uid);
	row[K_ADJ] = cell_s64(marked ? x->mark.victim_adj : x->report.victim_adj);
	if (kill_score(k, x, &score))
		row[K_SCORE] = cell_s64(score);
}

int oom_kill_row(struct table *t, struct report *r, const struct kills *k, const struct kill *x)
{
	struct cell *row = table_row(t);
	const char *cgroup;

	if (!row)
		return -ENOMEM;
	row[K_KILL] = cell_u64(x->number);
	row[K_TIME] = cell_since(r, x->time_ns);
	if (kill_pid(x))
		row[K_PID] = cell_u64(kill_pid(x));
	row[K_COMM] = cell_text(oom_text(r, kill_comm(x), COMM_LEN));
	row[K_WHY] = cell_text(why_name(kill_why(x)));
	asker_cells(row, r, x);
	size_cells(row, k, x);
	oom_growth_cells(&x->victim, &row[K_GROWN], &row[K_SPAN], &row[K_PACE]);
	if (x->freed_how)
		row[K_FREED] = cell_u64(x->freed_ns);
	if (x->reported)
		row[K_COUNTED] = cell_u64(x->counted);
	cgroup = oom_cgroup_name(r, x);
	row[K_VICTIM_CGROUP] = cell_text(victim_cgroup(r, x));
	row[K_CGROUP] = cgroup ? cell_text(cgroup) : row[K_VICTIM_CGROUP];
	if (t->n_cols > K_STACK)
		row[K_STACK] = cell_stack(x->seen ? x->mark.ustack : 0);
	return 0;
}
