/* See oom_tables.h. */
#include "probes/oom/oom_tables.h"

#include <string.h>

#include "analysis/gfp_text.h"
#include "probes/oom/oom_detail.h"

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

/* Rows are of a struct kill; the view of each is the struct kills. */
CELL_EXPR(number_cell, struct kill, cell_u64(e->number))
CELL_EXPR(pid_cell, struct kill, kill_pid(e) ? cell_u64(kill_pid(e)) : (struct cell){})
CELL_EXPR(comm_cell, struct kill, cell_text(oom_text(r, kill_comm(e), COMM_LEN)))
CELL_EXPR(why_cell, struct kill, cell_text(why_name(kill_why(e))))
CELL_EXPR(victim_cgroup_cell, struct kill, cell_text(victim_cgroup(r, e)))
CELL_EXPR(asker_comm_cell, struct kill, cell_text(oom_text(r, kill_asker_comm(e), COMM_LEN)))
CELL_EXPR(asker_cell, struct kill, e->seen ? cell_u64(e->mark.tgid) : (struct cell){})
CELL_EXPR(asker_tid_cell, struct kill,
	e->seen                                ? cell_u64(e->mark.tid)
	: e->report.flags &OOM_REPORT_ASKER_ID ? cell_u64(e->report.tid)
					       : (struct cell){})
CELL_EXPR(asker_cgroup_cell, struct kill,
	cell_text(e->seen ? stream_cgroup(r->stream, e->mark.cgroup) : NULL))
CELL_EXPR(kill_gfp_cell, struct kill, cell_text(oom_gfp_name(r, e)))
CELL_EXPR(freed_cell, struct kill, e->freed_how ? cell_u64(e->freed_ns) : (struct cell){})
CELL_EXPR(counted_cell, struct kill, e->reported ? cell_u64(e->counted) : (struct cell){})
CELL_EXPR(stack_cell, struct kill, cell_stack(e->seen ? e->mark.ustack : 0))

static CELL_GET(cgroup_cell)
{
	const char *name = oom_cgroup_name(r, row->sums);

	return cell_text(name ? name : victim_cgroup(r, row->sums));
}

static CELL_GET(order_cell)
{
	s32 order;

	return oom_order(row->sums, &order) ? cell_s64(order) : (struct cell){};
}

/* Of a member of struct kill_sizes. */
static CELL_GET(size_cell)
{
	const struct kill_sizes s = kill_sizes(row->view, row->sums);

	return s.known ? cell_u64(*(const u64 *)((const char *)&s + offset)) : (struct cell){};
}

static CELL_GET(rss_cell)
{
	const struct kill_sizes s = kill_sizes(row->view, row->sums);

	return s.known ? cell_u64(s.anon + s.file + s.shmem) : (struct cell){};
}

static CELL_GET(swap_cell)
{
	const struct kill_sizes s = kill_sizes(row->view, row->sums);

	return s.known && s.swap_known ? cell_u64(s.swap) : (struct cell){};
}

static CELL_GET(score_cell)
{
	s64 score;

	return kill_sizes(row->view, row->sums).known && kill_score(row->view, row->sums, &score)
		       ? cell_s64(score)
		       : (struct cell){};
}

static bool is_marked(const struct kill *x)
{
	return x->seen && x->mark.flags & OOM_VICTIM_KNOWN;
}

CELL_EXPR(uid_cell, struct kill,
	kill_sizes(row->view, e).known
		? cell_u64(is_marked(e) ? e->mark.victim_uid : e->report.victim_uid)
		: (struct cell){})
CELL_EXPR(adj_cell, struct kill,
	kill_sizes(row->view, e).known
		? cell_s64(is_marked(e) ? e->mark.victim_adj : e->report.victim_adj)
		: (struct cell){})

/* Keys of columns. */
enum { PLAIN = 1, STACKS = 2 };

static const struct cell_column columns[] = {
	OOM_KILL_CELL(number_cell),
	CELL_FROM(0, struct kill, time_ns, "time_ns", "TIME", CELL_U64, UNIT_NS, 0,
		"since the start", cell_of_time),
	CELL_BY(0, "pid", "PID", CELL_U64, UNIT_ID, 0, "the victim", pid_cell),
	CELL_BY(0, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "its name", comm_cell),
	CELL_BY(0, "why", "WHY", CELL_TEXT, UNIT_NONE, 0,
		"what was out of memory: machine, cgroup, cpuset or policy (of NUMA)", why_cell),
	CELL_BY(0, "cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, 0,
		"control group at its limit, or for a machine out of memory the victim's",
		cgroup_cell),
	CELL_BY(0, "asker_comm", "ASKED BY", CELL_TEXT, UNIT_NONE, 0,
		"name of the thread whose allocation failed", asker_comm_cell),
	CELL_BY(0, "rss_bytes", "RSS", CELL_U64, UNIT_BYTES, 0, "the victim's resident memory",
		rss_cell),
	CELL_BY(0, "swap_bytes", "SWAP", CELL_U64, UNIT_BYTES, 0, "its memory in swap", swap_cell),
	CELL_FROM(0, struct kill, victim, "grown_bytes", "GROWN", CELL_S64, UNIT_BYTES, 0,
		"how much its resident and swapped memory grew in the minute before, or since its "
		"start (from samples)",
		oom_grown_cell),
	CELL_FROM(0, struct kill, victim, "bytes_per_s", "GROWN/s", CELL_S64, UNIT_BYTES, 0,
		"its growth a second in the last five seconds (from samples)", oom_pace_cell),
	CELL_BY(0, "oom_score_adj", "ADJ", CELL_S64, UNIT_NONE, 0,
		"its oom_score_adj, from -1000 (never) to 1000 (first)", adj_cell),
	CELL_BY(0, "freed_ns", "FREED", CELL_U64, UNIT_NS, 0,
		"time until it had ended or the OOM reaper had taken its memory (up to 100 ms "
		"less)",
		freed_cell),
	CELL_BY(0, "asker_pid", "ASKER PID", CELL_U64, UNIT_ID, COL_WIDE,
		"process whose allocation failed", asker_cell),
	CELL_BY(0, "asker_tid", "TID", CELL_U64, UNIT_ID, COL_WIDE, "its thread", asker_tid_cell),
	CELL_BY(0, "asker_cgroup", "ASKER CGROUP", CELL_TEXT, UNIT_CGROUP, COL_WIDE,
		"its control group", asker_cgroup_cell),
	CELL_BY(0, "order", "ORDER", CELL_S64, UNIT_ID, COL_WIDE,
		"of the allocation: 2^order pages; -1: a person asked (sysrq f)", order_cell),
	CELL_BY(0, "gfp", "GFP", CELL_TEXT, UNIT_NONE, COL_WIDE,
		"its flags; a kill that the kernel's log does not explain may have those of the "
		"group's reclaim instead",
		kill_gfp_cell),
	CELL_FROM(0, struct kill_sizes, anon, "anon_bytes", "ANON", CELL_U64, UNIT_BYTES, COL_WIDE,
		"of this, anonymous", size_cell),
	CELL_FROM(0, struct kill_sizes, file, "file_bytes", "FILE", CELL_U64, UNIT_BYTES, COL_WIDE,
		"of this, of files", size_cell),
	CELL_FROM(0, struct kill_sizes, shmem, "shmem_bytes", "SHMEM", CELL_U64, UNIT_BYTES,
		COL_WIDE, "of this, shared memory and tmpfs", size_cell),
	CELL_FROM(0, struct kill_sizes, page_tables, "page_table_bytes", "PGTABLES", CELL_U64,
		UNIT_BYTES, COL_WIDE, "its page tables", size_cell),
	CELL_BY(0, "uid", "UID", CELL_U64, UNIT_ID, COL_WIDE, "its user", uid_cell),
	CELL_BY(0, "score_pages", "SCORE", CELL_S64, UNIT_PAGES, COL_WIDE,
		"resident, swap and page tables in pages, and its oom_score_adj in thousandths of "
		"what there is",
		score_cell),
	CELL_FROM(0, struct kill, victim, "span_ns", "OVER", CELL_U64, UNIT_NS, COL_WIDE,
		"part of that minute in which it was there", oom_span_cell),
	CELL_BY(0, "killed", "KILLED", CELL_U64, UNIT_COUNT, COL_WIDE,
		"times the kernel counted it (oom_kill in /proc/vmstat); 0: it was exiting "
		"already; 2: first victim of a memory.oom.group",
		counted_cell),
	CELL_BY(0, "victim_cgroup", "VICTIM CGROUP", CELL_TEXT, UNIT_CGROUP, COL_WIDE,
		"control group of the victim", victim_cgroup_cell),
	CELL_BY(STACKS, "stack", "STACK", CELL_STACK, UNIT_NONE, 0,
		"code path that asked for the memory (with --stacks)", stack_cell),
};

const struct view_table oom_kill_tables[] = {
	CELLS_VIEW("kills", columns),
	CELLS_VIEW("kill", columns),
	{},
};

struct table *oom_tables_kills(struct report *r, bool stacks)
{
	struct table *t = cells_table_by(
		r, "kills", "OOM kills", columns, ARRAY_SIZE(columns), stacks ? STACKS : PLAIN);

	if (t)
		t->sort = "-kill";
	return t;
}

struct table *oom_tables_each(struct report *r)
{
	return cells_table(r, "kill", "OOM kills, each", columns, ARRAY_SIZE(columns));
}

int oom_kill_row(struct table *t, struct report *r, const struct kills *k, const struct kill *x)
{
	const u32 by = t->n_cols < ARRAY_SIZE(columns) ? PLAIN : STACKS;

	return cells_row(t, r, columns, ARRAY_SIZE(columns), &(struct row_of){by, x, x, k});
}
