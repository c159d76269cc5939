/* See policy_problems.h. */
#include "probes/policy/policy_problems.h"

#include <errno.h>
#include <string.h>

#include "analysis/cells.h"
#include "probes/policy/policy_words.h"

#define EXAMPLES_MAX 1024 /* kept for their sentences; more problems are shown without */

struct key {
	u32 tgid;
	u32 call;
	u32 warning; /* one bit; 0: an error */
	s32 error;
};

struct problem {
	u64 count;
	u32 example; /* in examples, plus one; 0: none */
	char comm[COMM_LEN];
};

void policy_problems_init(struct policy_problems *p)
{
	groups_init(&p->by, sizeof(struct key), sizeof(struct problem));
}

/* Adds calls with one problem; e is one of them, or NULL. */
static int problem_add(struct policy_problems *p, const struct key *k, u64 count,
	const char comm[COMM_LEN], const struct policy_call *e)
{
	struct problem *x = groups_get(&p->by, k);

	if (!x)
		return -ENOMEM;
	if (!x->count)
		memcpy(x->comm, comm, COMM_LEN);
	x->count += count;
	if (!e || x->example || p->examples.n == EXAMPLES_MAX)
		return 0;
	if (vec_push(&p->examples, *e))
		return -ENOMEM;
	x->example = (u32)p->examples.n;
	return 0;
}

static int problems_add(struct policy_problems *p, struct key k, u32 warnings, u64 count,
	const char comm[COMM_LEN], const struct policy_call *e)
{
	int rc = k.error ? problem_add(p, &k, count, comm, e) : 0;

	k.error = 0;
	for (u32 i = 0; i < POLICY_WARNING_N && !rc; i++) {
		k.warning = warnings & 1U << i;
		rc = k.warning ? problem_add(p, &k, count, comm, e) : 0;
	}
	return rc;
}

int policy_problems_agg(struct policy_problems *p, const struct policy_agg *r)
{
	struct key k = {.tgid = r->tgid, .call = r->call, .error = r->error};

	return problems_add(p, k, r->warnings, r->count, r->comm, NULL);
}

int policy_problems_call(struct policy_problems *p, const struct policy_call *e)
{
	struct key k = {.tgid = e->tgid,
		.call = e->call,
		.error = e->ret < 0 && e->ret >= -4095 ? (s32)-e->ret : 0};

	return problems_add(p, k, e->warnings, 1, e->comm, e);
}

#define KEY ((const struct key *)row->key)

/* Of the view, struct policy_problems; NULL: there is none. */
static const struct policy_call *example_of(const struct row_of *row)
{
	const struct policy_problems *p = row->view;
	u32 example = ((const struct problem *)row->sums)->example;

	return example ? &p->examples.v[example - 1] : NULL;
}

static void meaning_add(struct str *s, const struct key *k, const struct policy_call *e)
{
	const char *why = e ? policy_error_text(e) : NULL;

	if (e && k->warning)
		policy_problem_add(s, e, k->warning);
	else if (why)
		str_addf(s, "%s.", why);
}

static CELL_GET(problem_cell)
{
	_cleanup_str_ struct str s = {};

	if (KEY->warning)
		return cell_text(policy_problem_name(KEY->warning));
	policy_errno_add(&s, KEY->error);
	return cell_str(r, &s);
}

CELL_WORDS(call_cell, struct problem, policy_call_name_add(&s, KEY->call))
CELL_WORDS(example_cell, struct problem, if (e->example) policy_call_add(&s, example_of(row)))
CELL_WORDS(meaning_cell, struct problem, meaning_add(&s, KEY, example_of(row)))

static const struct cell_column columns[] = {
	CELL_KEY(0, struct key, tgid, "pid", "PID", UNIT_ID, 0, "process id"),
	CELL_FROM(0, struct problem, comm, "comm", "COMM", CELL_TEXT, UNIT_NONE, 0,
		"name of the thread that made the first", cell_of_comm),
	CELL_BY(0, "call", "CALL", CELL_TEXT, UNIT_NONE, 0, "system call", call_cell),
	CELL_BY(0, "problem", "PROBLEM", CELL_TEXT, UNIT_NONE, 0,
		"error, or what is wrong with the call", problem_cell),
	CELL_COUNT(struct problem, count, "CALLS", "calls with it (exact)"),
	CELL_BY(0, "example", "EXAMPLE", CELL_TEXT, UNIT_NONE, COL_BELOW,
		"the first such call, decoded", example_cell),
	CELL_BY(0, "meaning", "MEANING", CELL_TEXT, UNIT_NONE, COL_BELOW,
		"what is wrong with the example, and what to do about it", meaning_cell),
};

const struct view_table policy_problem_tables[] = {
	CELLS_VIEW("problems", columns),
	{},
};

int policy_problems_report(const struct policy_problems *p, struct report *r)
{
	static const struct cell_table table = {
		CELL_TABLE("problems", "Errors and mistakes", "count", NULL, columns)};

	return cells_report(r, &table, &p->by, p);
}

void policy_problems_reset(struct policy_problems *p)
{
	groups_clear(&p->by);
	p->examples.n = 0;
}

void policy_problems_free(struct policy_problems *p)
{
	groups_free(&p->by);
	vec_free(&p->examples);
}
