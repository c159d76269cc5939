/* The lists of processes and of groups: which rows, in which order, with which columns. See ui.h.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"
#include "event/cgroup_name.h"
#include "render/render_cell.h"
#include "top/ui.h"

#define COLUMNS_MOST 26           /* and one for the trend */
#define TREND TOP_PROCESS_COLUMNS /* a column of the screen alone: one over the last frames */
#define TREND_WIDTH 8

/* Highlighted from these on. */
#define GROWTH_WARN (1.0 * (1 << 20)) /* a second */
#define SHARE_WARN 0.01
#define SHARE_BAD 0.1

void ui_list_move(struct ui_list *l, s64 by)
{
	s64 at = (s64)l->at + by, last = (s64)l->n - 1;

	l->at = at < 0 || last < 0 ? 0 : (size_t)MIN(at, last);
}

void ui_list_fit(struct ui_list *l, int rows)
{
	l->rows = MAX(1, rows);
	l->at = l->n ? MIN(l->at, l->n - 1) : 0;
	l->first = MIN(l->first, l->at);
	if (l->at >= l->first + (size_t)l->rows)
		l->first = l->at - (size_t)l->rows + 1;
	if (l->first + (size_t)l->rows > l->n)
		l->first = l->n > (size_t)l->rows ? l->n - (size_t)l->rows : 0;
}

static bool text_has(const struct cell *c, const char *word)
{
	return c->type == CELL_TEXT && strcasestr(c->text, word);
}

static bool process_passes(const struct ui *ui, const struct table *t, size_t row)
{
	const struct cell *group = table_cell(t, row, TOP_CGROUP);
	char pid[24];

	if (ui->user[0]) {
		const struct cell *user = table_cell(t, row, TOP_USER);

		if (user->type != CELL_TEXT || strcmp(user->text, ui->user) != 0)
			return false;
	}
	if (ui->group[0] &&
		(group->type != CELL_TEXT || !cgroup_path_within(group->text, ui->group)))
		return false;
	if (!ui->filter[0])
		return true;
	snprintf(pid, sizeof(pid), "%llu", table_cell(t, row, TOP_PID)->u);
	return strstr(pid, ui->filter) || text_has(table_cell(t, row, TOP_COMM), ui->filter) ||
	       text_has(group, ui->filter);
}

/* Levels of a path are compared one after the other: what is below a group comes right behind it.
 */
static int path_compare(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	if (*a == '/' || *b == '/')
		return !*a || (*a == '/' && *b) ? -1 : 1;
	return (unsigned char)*a < (unsigned char)*b ? -1 : *a != *b;
}

static int tree_compare(const void *a, const void *b, void *arg)
{
	const struct table *sorted = arg;
	const struct cell *x = table_cell(sorted, *(const size_t *)a, TOP_G_CGROUP),
			  *y = table_cell(sorted, *(const size_t *)b, TOP_G_CGROUP);

	return path_compare(
		x->type == CELL_TEXT ? x->text : "", y->type == CELL_TEXT ? y->text : "");
}

static void rows_order(const struct ui_table *u, const struct table *t, size_t *order)
{
	char sort[80];

	if (u->tree) {
		for (size_t i = 0; i < t->n_rows; i++)
			order[i] = i;
		qsort_r(order, t->n_rows, sizeof(*order), tree_compare, (void *)t);
		return;
	}
	snprintf(sort, sizeof(sort), "%s%s", u->ascending ? "-" : "", t->cols[u->sort].name);
	table_order(t, sort, order);
}

/* The cursor stays on its process while lines move, but at the top: there it shows the first. */
static void cursor_keep(struct ui *ui, const struct table *t)
{
	struct ui_table *u = &ui->processes;

	if (u->list.at)
		for (size_t i = 0; i < u->order.n; i++)
			if (table_cell(t, u->order.v[i], TOP_PID)->u == ui->pid)
				u->list.at = i;
	if (u->list.at >= u->list.n)
		u->list.at = u->list.n ? u->list.n - 1 : 0;
}

void ui_pid_take(struct ui *ui)
{
	const struct ui_table *u = &ui->processes;

	if (ui->mode == UI_PROCESSES && ui->has_scene && u->list.at < u->order.n)
		ui->pid = (u32)table_cell(
			&ui->scene.tables[TOP_PROCESSES], u->order.v[u->list.at], TOP_PID)
				  ->u;
}

void ui_order(struct ui *ui)
{
	const struct table *t;
	struct ui_table *u = ui_table(ui, &t);
	bool processes = u == &ui->processes;
	_cleanup_free_ size_t *order = NULL;

	if (!t)
		return;
	order = calloc(t->n_rows + 1, sizeof(*order));
	u->order.n = 0;
	if (!order)
		return;
	rows_order(u, t, order);
	for (size_t i = 0; i < t->n_rows; i++) {
		bool passes = processes ? process_passes(ui, t, order[i])
					: !ui->filter[0] ||
						  text_has(table_cell(t, order[i], TOP_G_CGROUP),
							  ui->filter);

		if (passes && vec_push(&u->order, order[i]))
			return;
	}
	u->list.n = u->order.n;
	if (processes)
		cursor_keep(ui, t);
}

struct shown {
	size_t column;
	int width;
};

static int column_width(const struct column *c)
{
	int width = c->unit == UNIT_CGROUP  ? 24
		    : c->type == CELL_TEXT  ? 15
		    : c->unit == UNIT_BYTES ? (c->flags & COL_CHANGE ? 9 : 8)
		    : c->unit == UNIT_ID    ? 7
		    : c->unit == UNIT_NONE  ? 5
					    : 7;

	return MAX(width, (int)strlen(c->title));
}

static bool field_chosen(const char *fields, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = fields; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (!strncmp(p, name, n) && (!p[n] || p[n] == ','))
			return true;
	return false;
}

static bool has_swap(const struct ui *ui)
{
	const struct table *t = &ui->scene.tables[TOP_MACHINE];

	return t->n_rows && table_cell(t, 0, TOP_M_SWAP_TOTAL)->u;
}

static bool column_is_known(const struct table *t, size_t column)
{
	for (size_t i = 0; i < t->n_rows; i++)
		if (table_cell(t, i, column)->type != CELL_EMPTY)
			return true;
	return false;
}

/* Which come first where not all have room: what the list is for, then the column it is sorted by,
 * then the others, what says less at last. Wide ones only if they are asked for. */
static int column_rank(
	const struct ui *ui, const struct ui_table *u, const struct column *c, size_t i)
{
	if (ui->fields && u == &ui->processes)
		return field_chosen(ui->fields, c->name) || i == u->sort ? 0 : -1;
	if (c->flags & COL_MAIN)
		return 0;
	if (!strcmp(c->name, "swap_bytes") && !has_swap(ui))
		return -1;
	if (i == u->sort)
		return 1;
	if (u == &ui->processes && i >= TOP_PSS && i <= TOP_LOCAL)
		return column_is_known(&ui->scene.tables[TOP_PROCESSES], i) ? 1 : -1;
	if (c->flags & COL_WIDE)
		return -1;
	return c->flags & COL_LESSER ? 3 : 2;
}

static size_t ui_list_columns_choose(const struct ui *ui, const struct ui_table *u,
	const struct table *t, int width, struct shown ret[COLUMNS_MOST])
{
	static const size_t behind[] = {[TOP_PROCESSES] = TOP_GROWTH,
		[TOP_GROUPS] = TOP_G_GROWTH,
		[TOP_USERS] = TOP_U_GROWTH};
	bool taken[COLUMNS_MOST] = {}, trend = u != &ui->processes || !ui->fields;
	size_t n = 0;

	for (int rank = 0; rank <= 3; rank++) {
		for (size_t i = 0; i < t->n_cols && i < COLUMNS_MOST; i++) {
			int needs = column_width(&t->cols[i]) + 1;

			if (column_rank(ui, u, &t->cols[i], i) != rank || needs > width)
				continue;
			taken[i] = true;
			width -= needs;
		}
		if (rank == 1 && trend) {
			trend = width > TREND_WIDTH;
			width -= trend ? TREND_WIDTH + 1 : 0;
		}
	}
	for (size_t i = 0; i < t->n_cols && i < COLUMNS_MOST; i++) {
		if (taken[i])
			ret[n++] = (struct shown){i, column_width(&t->cols[i])};
		if (trend && i == behind[ui_which(ui)] && n < COLUMNS_MOST)
			ret[n++] = (struct shown){TREND, TREND_WIDTH};
	}
	/* What is left over is the texts'. */
	for (size_t i = n; i-- > 0 && width > 0;)
		if (ret[i].column < t->n_cols && t->cols[ret[i].column].type == CELL_TEXT) {
			ret[i].width += width;
			width = 0;
		}
	return n;
}

static bool column_is_text(const struct table *t, size_t column)
{
	return column < t->n_cols && t->cols[column].type == CELL_TEXT;
}

static void head_draw(const struct ui_table *u, const struct table *t, const struct shown *shown,
	size_t n, struct canvas *c, int y)
{
	int x = 0;

	canvas_style(c, y, STYLE_HEAD);
	for (size_t i = 0; i < n; i++) {
		bool by = shown[i].column == u->sort && !u->tree;
		const char *title =
			shown[i].column == TREND ? "TREND" : t->cols[shown[i].column].title;
		char text[40];

		snprintf(text, sizeof(text), "%s%s", title,
			!by || (int)strlen(title) >= shown[i].width ? ""
			: u->ascending                              ? (c->ascii ? "^" : "↑")
								    : (c->ascii ? "v" : "↓"));
		if (column_is_text(t, shown[i].column) || shown[i].column == TREND)
			canvas_put(c, y, x, shown[i].width, by ? STYLE_SORTED : STYLE_HEAD, text);
		else
			canvas_put_right(
				c, y, x, shown[i].width, by ? STYLE_SORTED : STYLE_HEAD, text);
		x += shown[i].width + 1;
	}
}

/* Of the column that lines are sorted by, where it is a number. */
static size_t trend_column(enum top_table which, const struct ui_table *u)
{
	static const size_t otherwise[] = {
		[TOP_PROCESSES] = TOP_RSS, [TOP_GROUPS] = TOP_G_USAGE, [TOP_USERS] = TOP_U_RSS};
	const struct column *c = &top_tables[which].cols[u->sort];

	return u->tree || c->type == CELL_TEXT || c->unit == UNIT_ID ? otherwise[which] : u->sort;
}

/* The last frames up to the one that is shown. */
static void trend_text(
	struct ui *ui, const struct ui_table *u, const struct table *t, size_t row, struct str *out)
{
	enum top_table which = ui_which(ui);
	size_t column = trend_column(which, u);
	u32 key = history_key(t, row);
	double v[TREND_WIDTH];

	for (size_t i = 0; i < TREND_WIDTH; i++) {
		size_t ago = TREND_WIDTH - 1 - i;

		v[i] = ago > ui->at ? NAN
				    : history_value(&ui->history, ui->at - ago, which, key, column);
	}
	ui_spark(out, v, TREND_WIDTH);
}

static enum style cell_style(const struct column *col, const struct cell *v)
{
	double n = history_number(v);

	if (v->type == CELL_EMPTY || n == 0)
		return STYLE_DIM;
	if (col->flags & COL_CHANGE)
		return n >= GROWTH_WARN ? STYLE_WARN : STYLE_PLAIN;
	if (!strcmp(col->name, "stall_ratio") || !strcmp(col->name, "pressure_ratio"))
		return n >= SHARE_BAD ? STYLE_BAD : n >= SHARE_WARN ? STYLE_WARN : STYLE_PLAIN;
	if (!strcmp(col->name, "major_per_s") || !strcmp(col->name, "limit_hits_per_s"))
		return STYLE_WARN;
	if (!strcmp(col->name, "oom_kills"))
		return STYLE_BAD;
	return STYLE_PLAIN;
}

/* Is the group itself a container or a pod, not one below it? */
static bool group_is_named(const char *path)
{
	struct cgroup_part part = {.end = path};
	bool named = false;

	while (cgroup_part_next(path, &part))
		named = part.kind == CGROUP_CONTAINER || part.kind == CGROUP_POD;
	return named;
}

/* In the tree: the last part of the path, behind its depth. */
static void group_text(const char *path, u64 level, struct str *out)
{
	_cleanup_str_ struct str name = {};
	const char *last = strrchr(path, '/'), *text = last && last[1] ? last + 1 : path;

	for (u64 i = 0; i < MIN(level, 16ULL); i++)
		str_add(out, "  ");
	if (group_is_named(path) && cgroup_name_add(&name, path))
		text = str_get(&name);
	str_add_escaped(out, text);
}

void ui_cell_add(struct str *out, const struct column *c, const struct cell *v)
{
	if (v->type == CELL_F64 && v->f == 0)
		str_add(out, "0");
	else
		cell_add(out, c, v, CELL_COMPACT | CELL_SHORT);
}

static void cell_text_add(
	const struct ui_table *u, const struct table *t, size_t row, size_t column, struct str *out)
{
	const struct cell *v = table_cell(t, row, column), *level;

	if (u->tree && t->cols[column].unit == UNIT_CGROUP && v->type == CELL_TEXT) {
		level = table_cell(t, row, TOP_G_LEVEL);
		group_text(v->text, level->type == CELL_U64 ? level->u : 0, out);
	} else {
		ui_cell_add(out, &t->cols[column], v);
	}
}

static void row_draw(struct ui *ui, const struct ui_table *u, const struct table *t, size_t row,
	const struct shown *shown, size_t n, struct canvas *c, int y, bool chosen)
{
	int x = 0;

	for (size_t i = 0; i < n; i++) {
		_cleanup_str_ struct str s = {};
		size_t column = shown[i].column;

		if (column == TREND) {
			trend_text(ui, u, t, row, &s);
			canvas_put(c, y, x, shown[i].width, STYLE_GOOD, str_get(&s));
		} else {
			enum style style = cell_style(&t->cols[column], table_cell(t, row, column));

			cell_text_add(u, t, row, column, &s);
			if (column_is_text(t, column))
				canvas_put_cut(c, y, x, shown[i].width, style, str_get(&s));
			else
				canvas_put_right(c, y, x, shown[i].width, style, str_get(&s));
		}
		x += shown[i].width + 1;
	}
	if (chosen)
		canvas_style(c, y, STYLE_CHOSEN);
}

size_t ui_list_column(struct ui *ui, int x)
{
	const struct table *t;
	struct ui_table *u = ui_table(ui, &t);
	struct shown shown[COLUMNS_MOST];
	size_t n = t ? ui_list_columns_choose(ui, u, t, ui->cols, shown) : 0;
	int end = 0;

	for (size_t i = 0; i < n; i++) {
		end += shown[i].width + 1;
		if (x < end)
			return shown[i].column == TREND ? trend_column(ui_which(ui), u)
							: shown[i].column;
	}
	return SIZE_MAX;
}

void ui_list_draw(struct ui *ui, struct canvas *c, int y)
{
	const struct table *t;
	struct ui_table *u = ui_table(ui, &t);
	struct shown shown[COLUMNS_MOST];
	size_t n;

	if (!t)
		return;
	n = ui_list_columns_choose(ui, u, t, c->cols, shown);
	head_draw(u, t, shown, n, c, y);
	u->list.y = y + 1;
	ui->cols = c->cols;
	ui_list_fit(&u->list, c->rows - y - 2);
	history_column(
		&ui->history, ui->at, &ui->scene, ui_which(ui), trend_column(ui_which(ui), u));
	for (int i = 0; i < u->list.rows; i++) {
		size_t at = u->list.first + (size_t)i;

		if (at >= u->order.n)
			break;
		row_draw(ui, u, t, u->order.v[at], shown, n, c, y + 1 + i, at == u->list.at);
	}
	if (!u->order.n)
		canvas_put(c, y + 1, 0, c->cols, STYLE_DIM,
			ui->filter[0]      ? "nothing matches the filter; Esc takes it away"
			: u == &ui->groups ? "no control group with memory is known"
			: u == &ui->users  ? "whose processes these are was not recorded"
					   : "no process is known");
	ui_pid_take(ui);
}
