/* See policy_problems.h. */
#include "probes/policy/policy_problems.h"

#include <errno.h>
#include <string.h>

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

static const struct column columns[] = {
	{"pid", "PID", CELL_U64, UNIT_ID, 0, "process id"},
	{"comm", "COMM", CELL_TEXT, UNIT_NONE, 0, "name of the thread that made the first"},
	{"call", "CALL", CELL_TEXT, UNIT_NONE, 0, "system call"},
	{"problem", "PROBLEM", CELL_TEXT, UNIT_NONE, 0, "error, or what is wrong with the call"},
	{"count", "CALLS", CELL_U64, UNIT_COUNT, COL_WEIGHT, "calls with it (exact)"},
	{"example", "EXAMPLE", CELL_TEXT, UNIT_NONE, COL_BELOW, "the first such call, decoded"},
	{"meaning", "MEANING", CELL_TEXT, UNIT_NONE, COL_BELOW,
		"what is wrong with the example, and what to do about it"},
};

const struct view_table policy_problem_tables[] = {
	{"problems", columns, ARRAY_SIZE(columns), sizeof(columns[0])},
	{},
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

static const char *text_of(struct report *r, struct str *s)
{
	const char *text = report_text(r, "%s", str_get(s));

	str_free(s);
	*s = (struct str){};
	return text;
}

static void example_fill(
	struct cell *row, struct report *r, const struct key *k, const struct policy_call *e)
{
	const char *why = policy_error_text(e);
	struct str s = {};

	policy_call_add(&s, e);
	row[5] = cell_text(text_of(r, &s));
	if (k->warning)
		policy_problem_add(&s, e, k->warning);
	else if (why)
		str_addf(&s, "%s.", why);
	if (s.len)
		row[6] = cell_text(text_of(r, &s));
	str_free(&s);
}

static void problem_fill(struct cell *row, struct report *r, const struct policy_problems *p,
	const struct key *k, const struct problem *x)
{
	struct str s = {};

	row[0] = cell_u64(k->tgid);
	row[1] = cell_text(report_text(r, "%.16s", x->comm));
	policy_call_name_add(&s, k->call);
	row[2] = cell_text(text_of(r, &s));
	if (k->warning) {
		row[3] = cell_text(policy_problem_name(k->warning));
	} else {
		policy_errno_add(&s, k->error);
		row[3] = cell_text(text_of(r, &s));
	}
	row[4] = cell_u64(x->count);
	if (x->example)
		example_fill(row, r, k, &p->examples.v[x->example - 1]);
}

int policy_problems_report(const struct policy_problems *p, struct report *r)
{
	struct table *t =
		report_table(r, "problems", "Errors and mistakes", columns, ARRAY_SIZE(columns));

	if (!t)
		return -ENOMEM;
	t->sort = "count";
	for (size_t i = 0; i < p->by.n; i++) {
		struct cell *row = table_row(t);

		if (!row)
			return -ENOMEM;
		problem_fill(row, r, p, groups_key(&p->by, i), groups_value(&p->by, i));
	}
	return 0;
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
