/* The users of `top`: what their processes have and do, added up. */
#include <string.h>

#include "top/top_view.h"

/* Which column of a process each is the sum of. */
static const u8 sum_of[TOP_USER_COLUMNS] = {
	[TOP_U_RSS] = TOP_RSS,
	[TOP_U_GROWTH] = TOP_GROWTH,
	[TOP_U_ANON] = TOP_ANON,
	[TOP_U_FILE] = TOP_FILE,
	[TOP_U_SHMEM] = TOP_SHMEM,
	[TOP_U_SWAP] = TOP_SWAP,
	[TOP_U_MINOR] = TOP_MINOR,
	[TOP_U_MAJOR] = TOP_MAJOR,
	[TOP_U_FAULT] = TOP_FAULT,
	[TOP_U_STALL] = TOP_STALL,
	[TOP_U_CPU] = TOP_CPU,
};

static struct cell *user_row(struct table *t, const char *user)
{
	struct cell *row;

	for (size_t i = 0; i < t->n_rows; i++)
		if (!strcmp(table_cell(t, i, TOP_U_USER)->text, user))
			return &t->cells.v[i * t->n_cols];
	row = table_row(t);
	if (row)
		row[TOP_U_USER] = cell_text(user);
	return row;
}

static void cell_sum(struct cell *sum, const struct cell *c)
{
	if (sum->type == CELL_EMPTY)
		*sum = *c;
	else if (c->type == CELL_U64)
		sum->u += c->u;
	else if (c->type == CELL_S64)
		sum->s += c->s;
	else if (c->type == CELL_F64)
		sum->f += c->f;
}

void top_users_report(struct report *r, const struct table *processes)
{
	struct table *t = processes ? top_table(r, TOP_USERS, "Users") : NULL;

	if (!t)
		return;
	t->sort = "rss_bytes";
	t->empty = "Not recorded.";
	for (size_t i = 0; i < processes->n_rows; i++) {
		const struct cell *user = table_cell(processes, i, TOP_USER), one = cell_u64(1);
		struct cell *row = user->type == CELL_TEXT ? user_row(t, user->text) : NULL;

		if (!row)
			continue;
		for (size_t c = TOP_U_RSS; c < TOP_U_PROCESSES; c++)
			cell_sum(&row[c], table_cell(processes, i, sum_of[c]));
		cell_sum(&row[TOP_U_PROCESSES], &one);
	}
}
