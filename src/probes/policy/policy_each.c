/* See policy_each.h. */
#include "probes/policy/policy_each.h"

#include <errno.h>
#include <string.h>

#include "probes/policy/policy_judge.h"
#include "probes/policy/policy_words.h"

enum {
	E_TIME,
	E_PID,
	E_TID,
	E_COMM,
	E_CGROUP,
	E_CALL,
	E_MODE,
	E_NODES,
	E_TO_NODES,
	E_MAXNODE,
	E_FLAGS,
	E_ADDRESS,
	E_BYTES,
	E_PAGES,
	E_TARGET,
	E_RESULT,
	E_ERROR,
	E_RETURNED,
	E_DURATION,
	E_MAPPING,
	E_FILE,
	E_MOVED,
	E_UNMOVED,
	E_TEXT,
	E_EFFECT,
	E_PROBLEMS,
	E_STACK,
	E_N,
};

static const struct column columns[E_N] = {
	{"time_ns", "TIME", CELL_U64, UNIT_NS, 0, "its end, since the start"},
	{"pid", "PID", CELL_U64, UNIT_ID, 0, "process id"},
	{"tid", "TID", CELL_U64, UNIT_ID, COL_WIDE, "thread id"},
	{"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the thread"},
	{"cgroup", "CGROUP", CELL_TEXT, UNIT_CGROUP, COL_WIDE, "control group"},
	{"call", "CALL", CELL_TEXT, UNIT_NONE, COL_WIDE, "system call"},
	{"mode", "MODE", CELL_TEXT, UNIT_NONE, COL_WIDE,
		"of mbind and set_mempolicy, with its flags; of get_mempolicy: the answer"},
	{"nodes", "NODES", CELL_TEXT, UNIT_NONE, COL_WIDE,
		"of the mask, those that the kernel takes; of migrate_pages: from"},
	{"to_nodes", "TO", CELL_TEXT, UNIT_NONE, COL_WIDE, "of migrate_pages: to"},
	{"maxnode", "MAXNODE", CELL_U64, UNIT_ID, COL_WIDE, "as given: bits of the mask plus one"},
	{"flags", "FLAGS", CELL_TEXT, UNIT_NONE, COL_WIDE, "of the call"},
	{"address", "ADDRESS", CELL_TEXT, UNIT_NONE, COL_WIDE, "begin of its range"},
	{"bytes", "SIZE", CELL_U64, UNIT_BYTES, COL_WIDE, "size of its range, as given"},
	{"pages", "PAGES", CELL_U64, UNIT_PAGES, COL_WIDE, "of its range, or its arrays"},
	{"target_pid", "TARGET", CELL_S64, UNIT_ID, COL_WIDE,
		"of migrate_pages and move_pages: whose pages; 0: its own"},
	{"result", "RESULT", CELL_TEXT, UNIT_NONE, 0, "ok, the error, or what it returned"},
	{"error", "ERROR", CELL_TEXT, UNIT_NONE, COL_HIDDEN, "the error by name"},
	{"returned", "RETURNED", CELL_S64, UNIT_ID, COL_HIDDEN, "what it returned; errors < 0"},
	{"duration_ns", "DURATION", CELL_U64, UNIT_NS, 0, "how long it took"},
	{"mapping", "MAPPING", CELL_TEXT, UNIT_NONE, 0,
		"what its range begins in: anonymous, heap, stack, file, shared memory, hugetlb"},
	{"file", "FILE", CELL_TEXT, UNIT_NONE, COL_WIDE, "name of the mapped file"},
	{"moved_pages", "MOVED", CELL_U64, UNIT_PAGES, COL_WIDE,
		"pages the kernel migrated in it (exact)"},
	{"unmoved_pages", "NOT MOVED", CELL_U64, UNIT_PAGES, COL_WIDE,
		"pages it tried to migrate in vain (exact)"},
	{"text", "CALLED AS", CELL_TEXT, UNIT_NONE, COL_BELOW, "the call as its source has it"},
	{"effect", "EFFECT", CELL_TEXT, UNIT_NONE, COL_BELOW,
		"pages of its range by node, before and after it; of move_pages: by the node asked "
		"for and by status (sampled where there are more than 512)"},
	{"problems", "PROBLEMS", CELL_TEXT, UNIT_NONE, COL_BELOW,
		"what an error means, and what is wrong with the call"},
	{"stack", "STACK", CELL_STACK, UNIT_NONE, 0, "where it was called"},
};

const struct view_table policy_each_tables[] = {
	{"call", columns, E_N, sizeof(columns[0])},
	{},
};

struct table *policy_each_table(struct report *r)
{
	return report_table(r, "call", "Calls on memory policy, each", columns, E_N);
}

/* The text, which is emptied; nothing where there is none. */
static struct cell text_cell(struct report *r, struct str *s)
{
	struct cell c = s->len ? cell_text(report_text(r, "%s", str_get(s))) : (struct cell){};

	str_clear(s);
	return c;
}

static void mask_cells(struct cell *row, struct report *r, const struct policy_call *e)
{
	bool migrates = e->call == CALL_MIGRATE_PAGES;
	_cleanup_str_ struct str s = {};

	if (e->call == CALL_MOVE_PAGES || e->call == CALL_HOME_NODE)
		return;
	row[E_MAXNODE] = cell_u64(e->args[e->call == CALL_MBIND ? 4 : migrates ? 1 : 2]);
	if (!(e->masks[0].state & MASK_NULL) && (e->call != CALL_GET_MEMPOLICY || e->args[1])) {
		mempolicy_nodes_add(&s, e->masks[0].bits, MASK_WORDS);
		row[E_NODES] = text_cell(r, &s);
	}
	if (migrates) {
		mempolicy_nodes_add(&s, e->masks[1].bits, MASK_WORDS);
		row[E_TO_NODES] = text_cell(r, &s);
	}
}

static void argument_cells(struct cell *row, struct report *r, const struct policy_call *e)
{
	const struct flag *flags = policy_flag_table(e->call);
	_cleanup_str_ struct str s = {};

	if (e->call == CALL_MBIND || e->call == CALL_SET_MEMPOLICY)
		flags_add(&s, mempolicy_modes, policy_mode(e));
	else if (e->flags & POLICY_ANSWER && !(e->args[4] & GET_NODE))
		flags_add(&s, mempolicy_modes, (u32)e->answer);
	row[E_MODE] = text_cell(r, &s);
	if (flags)
		flags_add(&s, flags, policy_call_flags(e));
	row[E_FLAGS] = text_cell(r, &s);
	if (e->call == CALL_MBIND || e->call == CALL_HOME_NODE)
		row[E_BYTES] = cell_u64(e->args[1]);
	if (e->call == CALL_MBIND || e->call == CALL_HOME_NODE)
		str_add_hex(&s, e->args[0]);
	else if (e->call == CALL_GET_MEMPOLICY && e->args[4] & GET_ADDR)
		str_add_hex(&s, e->args[3]);
	row[E_ADDRESS] = text_cell(r, &s);
	if (policy_range_pages(e))
		row[E_PAGES] = cell_u64(policy_range_pages(e));
	if (e->call == CALL_MIGRATE_PAGES || e->call == CALL_MOVE_PAGES)
		row[E_TARGET] = cell_s64((s32)e->args[0]);
}

static void result_cells(struct cell *row, struct report *r, const struct policy_call *e)
{
	_cleanup_str_ struct str s = {};

	policy_result_add(&s, e);
	row[E_RESULT] = text_cell(r, &s);
	if (e->ret < 0 && e->ret >= -4095)
		policy_errno_add(&s, (int)-e->ret);
	row[E_ERROR] = text_cell(r, &s);
	row[E_RETURNED] = cell_s64(e->ret);
	if (e->start_ns)
		row[E_DURATION] = cell_u64(e->ns);
	if (stream_knows(r->stream, "policy", POLICY_MOVED_DATA)) {
		row[E_MOVED] = cell_u64(e->moved);
		row[E_UNMOVED] = cell_u64(e->unmoved);
	}
}

static void problems_add(struct str *s, const struct policy_call *e)
{
	const char *why = policy_error_text(e);
	u32 told = why ? POLICY_EMPTY | POLICY_CUT : 0; /* by the error */

	if (why) {
		policy_errno_add(s, (int)-e->ret);
		str_addf(s, ": %s.", why);
	}
	for (u32 i = 0; i < POLICY_WARNING_N; i++) {
		if (!(e->warnings & ~told & 1U << i))
			continue;
		str_add(s, s->len ? " " : "");
		policy_problem_add(s, e, 1U << i);
	}
}

void policy_each_fill(struct cell *row, struct report *r, const struct policy_call *e)
{
	_cleanup_str_ struct str s = {};

	row[E_TIME] = cell_since(r, e->h.time_ns);
	row[E_PID] = cell_u64(e->tgid);
	row[E_TID] = cell_u64(e->tid);
	row[E_COMM] = cell_text(report_text(r, "%.16s", e->comm));
	row[E_CGROUP] = cell_text(stream_cgroup(r->stream, e->cgroup));
	policy_call_name_add(&s, e->call);
	row[E_CALL] = text_cell(r, &s);
	mask_cells(row, r, e);
	argument_cells(row, r, e);
	result_cells(row, r, e);
	row[E_MAPPING] = cell_text(policy_map_name(e->map));
	if (e->file[0])
		row[E_FILE] = cell_text(report_text(r, "%.32s", e->file));
	policy_call_add(&s, e);
	row[E_TEXT] = text_cell(r, &s);
	policy_effect_add(&s, e);
	row[E_EFFECT] = text_cell(r, &s);
	problems_add(&s, e);
	row[E_PROBLEMS] = text_cell(r, &s);
	row[E_STACK] = cell_stack(e->ustack);
}
