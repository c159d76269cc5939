/* See policy_each.h. */
#include "probes/policy/policy_each.h"

#include <string.h>

#include "analysis/cells.h"
#include "probes/policy/policy_judge.h"
#include "probes/policy/policy_words.h"

static bool takes_range(const struct policy_call *e)
{
	return e->call == CALL_MBIND || e->call == CALL_HOME_NODE;
}

static CELL_GET(maxnode_cell)
{
	const struct policy_call *e = row->sums;

	if (e->call == CALL_MOVE_PAGES || e->call == CALL_HOME_NODE)
		return (struct cell){};
	return cell_u64(e->args[e->call == CALL_MBIND ? 4 : e->call == CALL_MIGRATE_PAGES ? 1 : 2]);
}

static void policy_each_mask_add(struct str *s, const struct policy_call *e)
{
	bool has = e->call != CALL_MOVE_PAGES && e->call != CALL_HOME_NODE;

	if (has && !(e->masks[0].state & MASK_NULL) &&
		(e->call != CALL_GET_MEMPOLICY || e->args[1]))
		mempolicy_nodes_add(s, e->masks[0].bits, MASK_WORDS);
}

static void policy_each_mode_add(struct str *s, const struct policy_call *e)
{
	if (e->call == CALL_MBIND || e->call == CALL_SET_MEMPOLICY)
		flags_add(s, mempolicy_modes, policy_mode(e));
	else if (e->flags & POLICY_ANSWER && !(e->args[4] & GET_NODE))
		flags_add(s, mempolicy_modes, (u32)e->answer);
}

static void call_flags_add(struct str *s, const struct policy_call *e)
{
	const struct flag *flags = policy_flag_table(e->call);

	if (flags)
		flags_add(s, flags, policy_call_flags(e));
}

static void address_add(struct str *s, const struct policy_call *e)
{
	if (takes_range(e))
		str_add_hex(s, e->args[0]);
	else if (e->call == CALL_GET_MEMPOLICY && e->args[4] & GET_ADDR)
		str_add_hex(s, e->args[3]);
}

static void error_add(struct str *s, const struct policy_call *e)
{
	if (e->ret < 0 && e->ret >= -4095)
		policy_errno_add(s, (int)-e->ret);
}

/* What the hook counts; empty where it is not there. */
static CELL_GET(moved_cell)
{
	return stream_knows(r->stream, "policy", POLICY_MOVED_DATA) ? cell_of_u64(r, row, offset)
								    : (struct cell){};
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

CELL_WORDS(call_cell, struct policy_call, policy_call_name_add(&s, e->call))
CELL_WORDS(mode_cell, struct policy_call, policy_each_mode_add(&s, e))
CELL_WORDS(nodes_cell, struct policy_call, policy_each_mask_add(&s, e))
CELL_WORDS(to_nodes_cell, struct policy_call,
	if (e->call == CALL_MIGRATE_PAGES) mempolicy_nodes_add(&s, e->masks[1].bits, MASK_WORDS))
CELL_WORDS(flags_cell, struct policy_call, call_flags_add(&s, e))
CELL_WORDS(address_cell, struct policy_call, address_add(&s, e))
CELL_EXPR(bytes_cell, struct policy_call, takes_range(e) ? cell_u64(e->args[1]) : (struct cell){})
CELL_EXPR(pages_cell, struct policy_call,
	policy_range_pages(e) ? cell_u64(policy_range_pages(e)) : (struct cell){})
CELL_EXPR(target_cell, struct policy_call,
	e->call == CALL_MIGRATE_PAGES || e->call == CALL_MOVE_PAGES ? cell_s64((s32)e->args[0])
								    : (struct cell){})
CELL_WORDS(result_cell, struct policy_call, policy_result_add(&s, e))
CELL_WORDS(error_cell, struct policy_call, error_add(&s, e))
CELL_EXPR(duration_cell, struct policy_call, e->start_ns ? cell_u64(e->ns) : (struct cell){})
CELL_EXPR(mapping_cell, struct policy_call, cell_text(policy_map_name(e->map)))
CELL_WORDS(file_cell, struct policy_call, str_addf(&s, "%.32s", e->file))
CELL_WORDS(text_cell, struct policy_call, policy_call_add(&s, e))
CELL_WORDS(effect_cell, struct policy_call, policy_effect_add(&s, e))
CELL_WORDS(problems_cell, struct policy_call, problems_add(&s, e))

static const struct cell_column columns[] = {
	EACH_CELLS(struct policy_call, "its end, since the start", cell_of_time),
	CELL_BY(0, "call", "CALL", CELL_TEXT, UNIT_NONE, COL_WIDE, "system call", call_cell),
	CELL_BY(0, "mode", "MODE", CELL_TEXT, UNIT_NONE, COL_WIDE,
		"of mbind and set_mempolicy, with its flags; of get_mempolicy: the answer",
		mode_cell),
	CELL_BY(0, "nodes", "NODES", CELL_TEXT, UNIT_NONE, COL_WIDE,
		"of the mask, those that the kernel takes; of migrate_pages: from", nodes_cell),
	CELL_BY(0, "to_nodes", "TO", CELL_TEXT, UNIT_NONE, COL_WIDE, "of migrate_pages: to",
		to_nodes_cell),
	CELL_BY(0, "maxnode", "MAXNODE", CELL_U64, UNIT_ID, COL_WIDE,
		"as given: bits of the mask plus one", maxnode_cell),
	CELL_BY(0, "flags", "FLAGS", CELL_TEXT, UNIT_NONE, COL_WIDE, "of the call", flags_cell),
	CELL_BY(0, "address", "ADDRESS", CELL_TEXT, UNIT_NONE, COL_WIDE, "begin of its range",
		address_cell),
	CELL_BY(0, "bytes", "SIZE", CELL_U64, UNIT_BYTES, COL_WIDE, "size of its range, as given",
		bytes_cell),
	CELL_BY(0, "pages", "PAGES", CELL_U64, UNIT_PAGES, COL_WIDE, "of its range, or its arrays",
		pages_cell),
	CELL_BY(0, "target_pid", "TARGET", CELL_S64, UNIT_ID, COL_WIDE,
		"of migrate_pages and move_pages: whose pages; 0: its own", target_cell),
	CELL_BY(0, "result", "RESULT", CELL_TEXT, UNIT_NONE, 0,
		"ok, the error, or what it returned", result_cell),
	CELL_BY(0, "error", "ERROR", CELL_TEXT, UNIT_NONE, COL_HIDDEN, "the error by name",
		error_cell),
	CELL_NUMBER(struct policy_call, ret, "returned", "RETURNED", UNIT_ID, COL_HIDDEN,
		"what it returned; errors < 0"),
	CELL_BY(0, "duration_ns", "DURATION", CELL_U64, UNIT_NS, 0, "how long it took",
		duration_cell),
	CELL_BY(0, "mapping", "MAPPING", CELL_TEXT, UNIT_NONE, 0,
		"what its range begins in: anonymous, heap, stack, file, shared memory, hugetlb",
		mapping_cell),
	CELL_BY(0, "file", "FILE", CELL_TEXT, UNIT_NONE, COL_WIDE, "name of the mapped file",
		file_cell),
	CELL_FROM(0, struct policy_call, moved, "moved_pages", "MOVED", CELL_U64, UNIT_PAGES,
		COL_WIDE, "pages the kernel migrated in it (exact)", moved_cell),
	CELL_FROM(0, struct policy_call, unmoved, "unmoved_pages", "NOT MOVED", CELL_U64,
		UNIT_PAGES, COL_WIDE, "pages it tried to migrate in vain (exact)", moved_cell),
	CELL_BY(0, "text", "CALLED AS", CELL_TEXT, UNIT_NONE, COL_BELOW,
		"the call as its source has it", text_cell),
	CELL_BY(0, "effect", "EFFECT", CELL_TEXT, UNIT_NONE, COL_BELOW,
		"pages of its range by node, before and after it; of move_pages: by the node asked "
		"for and by status (sampled where there are more than 512)",
		effect_cell),
	CELL_BY(0, "problems", "PROBLEMS", CELL_TEXT, UNIT_NONE, COL_BELOW,
		"what an error means, and what is wrong with the call", problems_cell),
	CELL_STACK_OF(struct policy_call, ustack, "where it was called"),
};

const struct view_table policy_each_tables[] = {
	CELLS_VIEW("call", columns),
	{},
};

struct table *policy_each_report(struct report *r, const struct policy_call *calls, size_t n)
{
	struct table *t = cells_table(
		r, "call", "Calls on memory policy, each", columns, ARRAY_SIZE(columns));

	for (size_t i = 0; i < n; i++)
		cells_one(t, r, columns, &calls[i], NULL);
	return t;
}
