/* What fills the screen below the head instead of a list: findings, one of them, one process, help.
 * See ui.h. */
#include <string.h>

#include "base/units.h"
#include "event/cgroup_name.h"
#include "render/render_cell.h"
#include "top/ui.h"

#define INDENT 13
#define INDENT_CELLS 30
#define GRID 20 /* of a number: its title and value, and a blank */
#define BARS 6  /* behind it, on a narrow screen */
#define WIDE 110
#define MAPPINGS 32

void ui_line_add(struct ui *ui, enum style style, const char *text, size_t n, int indent)
{
	_cleanup_str_ struct str s = {};
	struct ui_line l = {.style = (u8)style};

	for (int i = 0; i < indent; i++)
		str_addc(&s, ' ');
	str_addn(&s, text, n);
	l.text = strdup(str_get(&s));
	if (!l.text || vec_push(&ui->lines, l))
		free(l.text);
}

/* How much of the text goes into a line: up to a blank, where there is one. */
static size_t line_fit(const char *text, int width)
{
	size_t n = 0, blank = 0, left = strlen(text);

	for (int x = 0; x < width && left; x++) {
		size_t k = utf8_len(text + n, left);

		if (text[n] == ' ')
			blank = n;
		k = k ? k : 1;
		n += k;
		left -= k;
	}
	return left && blank ? blank : n;
}

/* A word in front, then sentences, wrapped. */
static void text_add_at(
	struct ui *ui, int width, int indent, enum style style, const char *word, const char *text)
{
	_cleanup_str_ struct str s = {};
	const char *p;
	bool first = true;

	str_add_printable(&s, text);
	p = str_get(&s);
	width = MAX(10, width - indent);
	do {
		size_t n = line_fit(p, width);
		char line[2048];

		if (first)
			snprintf(line, sizeof(line), "%-*s%.*s", indent, word, (int)n, p);
		else
			snprintf(line, sizeof(line), "%*s%.*s", indent, "", (int)n, p);
		ui_line_add(ui, style, line, strlen(line), 0);
		first = false;
		p += n;
		while (*p == ' ')
			p++;
	} while (*p);
}

void ui_text_add(struct ui *ui, int width, const char *word, const char *text)
{
	text_add_at(ui, width, (int)strlen(word), STYLE_PLAIN, word, text);
}

static void ui_pages_text_add(
	struct ui *ui, int width, enum style style, const char *word, const char *text)
{
	text_add_at(ui, width, INDENT, style, word, text);
}

static void texts_add(
	struct ui *ui, int width, const char *word, const char *const lines[FINDING_LINES])
{
	for (size_t i = 0; i < FINDING_LINES && lines[i]; i++)
		ui_pages_text_add(ui, width, lines[i][0] == '`' ? STYLE_GOOD : STYLE_PLAIN,
			i ? "" : word, lines[i]);
}

static void blank_add(struct ui *ui)
{
	ui_line_add(ui, STYLE_PLAIN, "", 0, 0);
}

static void finding_fill(struct ui *ui, int width, const struct finding *f)
{
	char cost[UNIT_BUF];

	ui_pages_text_add(ui, width, STYLE_BOLD, finding_level_name(f->level), f->title);
	if (f->cost_ns)
		ui_pages_text_add(ui, width, STYLE_PLAIN, "  cost", fmt_ns(cost, f->cost_ns));
	ui_pages_text_add(ui, width, STYLE_DIM, "  confidence", f->confidence);
	texts_add(ui, width, "  evidence", f->evidence);
	ui_pages_text_add(ui, width, STYLE_PLAIN, "  why", f->why);
	texts_add(ui, width, "  try", f->try_);
	texts_add(ui, width, "  undo", f->undo);
	texts_add(ui, width, "  verify", f->verify);
}

static void cells_fill(struct ui *ui, int width, const struct table *t, size_t row)
{
	for (size_t i = 0; i < t->n_cols; i++) {
		_cleanup_str_ struct str s = {};
		char word[128];

		cell_add(&s, &t->cols[i], table_cell(t, row, i), CELL_SHORT);
		snprintf(word, sizeof(word), "  %-9s  %-15s", t->cols[i].title, str_get(&s));
		text_add_at(ui, width, INDENT_CELLS,
			table_cell(t, row, i)->type == CELL_EMPTY ? STYLE_DIM : STYLE_PLAIN, word,
			t->cols[i].help);
	}
}

/* The numbers of a row, side by side, each with how it went. */
static void grid_fill(struct ui *ui, int width, const struct table *t, size_t row)
{
	const struct ui_trends *trends = ui_trends(ui, ui->detail);
	size_t bars = width >= WIDE ? UI_TRENDS : BARS, each = GRID + bars, n = 0;
	_cleanup_str_ struct str line = {}, value = {};

	for (size_t i = 0; i < t->n_cols; i++) {
		const struct cell *v = table_cell(t, row, i);

		if (v->type == CELL_EMPTY || v->type == CELL_TEXT || i == TOP_PID)
			continue;
		if (n && (n + 1) * each > (size_t)width) {
			ui_line_add(ui, STYLE_PLAIN, str_get(&line), line.len, 2);
			str_clear(&line);
			n = 0;
		}
		str_clear(&value);
		ui_cell_add(&value, &t->cols[i], v);
		str_addf(&line, "%-8s %-10s", t->cols[i].title, str_get(&value));
		ui_spark(&line, trends->v[i] + UI_TRENDS - bars, bars);
		str_addc(&line, ' ');
		n++;
	}
	ui_line_add(ui, STYLE_PLAIN, str_get(&line), line.len, 2);
}

/* Who it is, and in which group. */
static void name_fill(struct ui *ui, int width, const struct table *t, size_t row)
{
	static const size_t columns[] = {TOP_COMM, TOP_CGROUP};
	_cleanup_str_ struct str s = {};

	str_addf(&s, "pid %u", ui->detail);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		const struct cell *v = table_cell(t, row, columns[i]);

		if (v->type != CELL_TEXT)
			continue;
		str_add(&s, i ? "  in " : "  ");
		str_add_escaped(&s, v->text);
	}
	text_add_at(ui, width, 0, STYLE_BOLD, "", str_get(&s));
}

struct mapping_sum {
	const char *what, *mapping;
	u64 count, ns;
};

static void ui_pages_mapping_add(
	struct mapping_sum *sums, size_t *n, const struct table *t, size_t row)
{
	const struct cell *what = table_cell(t, row, TOP_X_WHAT),
			  *map = table_cell(t, row, TOP_X_MAPPING),
			  *time = table_cell(t, row, TOP_X_TIME);
	size_t i = 0;

	if (what->type != CELL_TEXT || map->type != CELL_TEXT)
		return;
	while (i < *n && (strcmp(sums[i].what, what->text) || strcmp(sums[i].mapping, map->text)))
		i++;
	if (i == MAPPINGS)
		return;
	*n = MAX(*n, i + 1);
	sums[i].what = what->text;
	sums[i].mapping = map->text;
	sums[i].count += table_cell(t, row, TOP_X_COUNT)->u;
	sums[i].ns += time->type == CELL_U64 ? time->u : 0;
}

/* Before the code paths: where they are. */
static void mappings_fill(struct ui *ui, u32 pid)
{
	const struct table *t = &ui->scene.tables[TOP_PATHS];
	struct mapping_sum sums[MAPPINGS] = {};
	size_t n = 0;

	for (size_t i = 0; i < t->n_rows; i++)
		if (table_cell(t, i, TOP_X_PID)->u == pid)
			ui_pages_mapping_add(sums, &n, t, i);
	if (!n)
		return;
	blank_add(ui);
	ui_line_add(ui, STYLE_HEAD, "Faults and waits of the interval, by mapping", 44, 0);
	for (size_t i = 0; i < n; i++) {
		_cleanup_str_ struct str s = {};
		char ns[UNIT_BUF];

		str_addf(&s, "%10llu x %-12s %9s  ", sums[i].count, sums[i].what,
			sums[i].ns ? fmt_ns(ns, sums[i].ns) : "");
		str_add_escaped(&s, sums[i].mapping);
		ui_line_add(ui, STYLE_PLAIN, str_get(&s), s.len, 2);
	}
}

static void stack_fill(struct ui *ui, const char *lines)
{
	for (const char *p = lines; *p;) {
		size_t n = strcspn(p, "\n");
		_cleanup_str_ struct str part = {}, s = {};

		str_addn(&part, p, n);
		str_add_escaped(&s, str_get(&part));
		ui_line_add(ui, STYLE_PLAIN, str_get(&s), s.len, 6);
		p += n + (p[n] == '\n');
	}
}

static void path_fill(struct ui *ui, const struct table *t, size_t row)
{
	const struct cell *what = table_cell(t, row, TOP_X_WHAT), *map, *time, *stack;
	_cleanup_str_ struct str s = {};
	char ns[UNIT_BUF];

	map = table_cell(t, row, TOP_X_MAPPING);
	time = table_cell(t, row, TOP_X_TIME);
	stack = table_cell(t, row, TOP_X_STACK);
	str_addf(&s, "%llu x %s", table_cell(t, row, TOP_X_COUNT)->u,
		what->type == CELL_TEXT ? what->text : "?");
	if (map->type == CELL_TEXT) {
		str_add(&s, " in ");
		str_add_escaped(&s, map->text);
	}
	if (time->type == CELL_U64)
		str_addf(&s, ", %s", fmt_ns(ns, time->u));
	if (stack->type != CELL_TEXT || !*stack->text)
		str_add(&s, ", counted without a stack");
	ui_line_add(ui, STYLE_BOLD, str_get(&s), s.len, 2);
	if (stack->type == CELL_TEXT)
		stack_fill(ui, stack->text);
}

static void paths_fill(struct ui *ui, u32 pid)
{
	const struct table *t = &ui->scene.tables[TOP_PATHS];
	bool any = false;

	blank_add(ui);
	ui_line_add(ui, STYLE_HEAD, "Faults and waits of the interval, by code path", 46, 0);
	for (size_t i = 0; i < t->n_rows; i++) {
		if (table_cell(t, i, TOP_X_PID)->u != pid)
			continue;
		path_fill(ui, t, i);
		any = true;
	}
	if (!any)
		ui_line_add(ui, STYLE_DIM, "none was seen", 13, 2);
}

/* The groups that hold the process, from the root on, each with its limit. */
static void chain_fill(struct ui *ui, const char *path)
{
	const struct table *t = &ui->scene.tables[TOP_GROUPS];

	blank_add(ui);
	ui_line_add(ui, STYLE_HEAD, "Its control groups", 18, 0);
	for (size_t i = 0; i < t->n_rows; i++) {
		const struct cell *group = table_cell(t, i, TOP_G_CGROUP), *limit;
		_cleanup_str_ struct str s = {};
		char a[UNIT_BUF], b[UNIT_BUF];

		if (group->type != CELL_TEXT || !cgroup_path_within(path, group->text))
			continue;
		limit = table_cell(t, i, TOP_G_LIMIT);
		str_addf(&s, "%10s of %-10s ", fmt_bytes(a, table_cell(t, i, TOP_G_USAGE)->u),
			limit->type == CELL_U64 ? fmt_bytes(b, limit->u) : "no limit");
		str_add_escaped(&s, group->text);
		ui_line_add(ui, STYLE_PLAIN, str_get(&s), s.len, 2);
	}
}

static void detail_fill(struct ui *ui, int width)
{
	const struct table *t = &ui->scene.tables[TOP_PROCESSES];
	size_t row = 0;

	while (row < t->n_rows && table_cell(t, row, TOP_PID)->u != ui->detail)
		row++;
	if (row == t->n_rows) {
		char text[80];

		snprintf(text, sizeof(text), "pid %u is not among the processes of this interval",
			ui->detail);
		ui_line_add(ui, STYLE_DIM, text, strlen(text), 0);
		return;
	}
	name_fill(ui, width, t, row);
	grid_fill(ui, width, t, row);
	vec_each (f, &ui->scene.findings) {
		if (f->tgid != ui->detail)
			continue;
		blank_add(ui);
		finding_fill(ui, width, f);
	}
	blank_add(ui);
	ui_line_add(ui, STYLE_HEAD, "A closer look", 13, 0);
	ui_closer_list(ui, width);
	mappings_fill(ui, ui->detail);
	paths_fill(ui, ui->detail);
	if (table_cell(t, row, TOP_CGROUP)->type == CELL_TEXT)
		chain_fill(ui, table_cell(t, row, TOP_CGROUP)->text);
	blank_add(ui);
	ui_line_add(ui, STYLE_HEAD, "Where each number is from", 25, 0);
	cells_fill(ui, width, t, row);
}

static void help_fill(struct ui *ui, int width)
{
	static const char *const texts[] = {
		"Up, Down, PgUp, PgDn, Home, End, wheel   move",
		"Click   on a title: sort by it, turn the order round;  on a line: choose it",
		"Enter, second click   what this line is made of: faults by code path, groups, "
		"findings",
		"Esc   back; takes a filter away",
		"M   its memory by mapping and file;  F  its faults;  S  its stalls;  H  its heap",
		"P   PSS, share of huge pages, share on near nodes: walks page tables, each 5 s",
		"r   begin a recording, end it",
		"F2, f   findings: what is wrong, with evidence and what to do",
		"F5, t   control groups as a tree, and back; Enter: the processes of one",
		"u   users, and back; Enter: the processes of one",
		"F4, /, \\   filter by name, pid or group",
		"F6, s   choose the column to sort by; < > , .  the one before, the next; I  turn "
		"round",
		"Space   stop and go on",
		"[ ], Left, Right   one interval back, one forward;  { }  ten",
		"j   jump to a time;  J  to the latest, live",
		"n, N   the next interval in which a finding begins, the one before",
		"F1, ?, h   this text;  Ctrl-L   draw all of the screen anew",
		"F10, q   end",
		"",
		"RSS, ANON, FILE, SHMEM   resident memory by its kind: /proc/PID/status",
		"GROWTH/s   what it grew by a second",
		"TREND   the column that is sorted by over the last eight intervals; RSS or USAGE "
		"where that is text, PID or LEVEL, and in the tree",
		"MINOR/s, MAJOR/s, FAULT%   page faults, and the time spent in them",
		"STALL%   time that allocations waited for reclaim or compaction, and faults for "
		"swap",
		"OOM   the process with the highest is killed first",
		"LIMIT, ROOM   the lowest limit of its groups, and what is left below one",
		"man memwhy-top has all columns and where each number is from.",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		text_add_at(ui, width, 3, STYLE_PLAIN, "", texts[i]);
}

/* Who reads it is not to lose it because the next interval is quiet. */
static void finding_page_fill(struct ui *ui, int width)
{
	char clock[16], text[80];

	ui_clock(ui->finding_wall_ns, clock);
	if (ui->finding_ns != ui->scene.end_ns) {
		snprintf(text, sizeof(text), "This interval does not have it: as of %s.",
			clock[0] ? clock : "another one");
		ui_line_add(ui, STYLE_DIM, text, strlen(text), 0);
	}
	finding_fill(ui, width, &ui->finding);
}

void ui_page_fill(struct ui *ui, int width)
{
	if (ui->mode == UI_HELP)
		help_fill(ui, width);
	else if (ui->mode == UI_LOOK)
		ui_closer_fill(ui);
	else if (!ui->has_scene)
		return;
	else if (ui->mode == UI_DETAIL)
		detail_fill(ui, width);
	else
		finding_page_fill(ui, width);
}

void ui_page_draw(struct ui *ui, struct canvas *c, int y)
{
	struct ui_list *l = &ui->pager;

	/* A page moves as a whole: its cursor is its first line. */
	l->rows = MAX(1, c->rows - y - 1);
	l->y = y;
	l->n = ui->lines.n > (size_t)l->rows ? ui->lines.n - (size_t)l->rows + 1 : 1;
	l->at = MIN(l->at, l->n - 1);
	l->first = l->at;
	for (int i = 0; i < l->rows && l->at + (size_t)i < ui->lines.n; i++) {
		const struct ui_line *line = &ui->lines.v[l->at + (size_t)i];

		canvas_put(c, y + i, 0, c->cols, line->style, line->text);
	}
}

/* Over as many lines as it takes. Returns the line below. */
static int wrapped_draw(struct canvas *c, int y, int x, const char *text)
{
	int width = MAX(c->cols - x, 1);

	while (*text && y < c->rows - 1) {
		size_t n = line_fit(text, width);
		_cleanup_str_ struct str s = {};

		str_addn(&s, text, n);
		canvas_put(c, y++, x, width, STYLE_DIM, str_get(&s));
		text += n + strspn(text + n, " ");
	}
	return y;
}

void ui_findings_draw(struct ui *ui, struct canvas *c, int y)
{
	struct ui_list *l = &ui->findings;

	canvas_style(c, y, STYLE_HEAD);
	canvas_put(c, y, 0, c->cols, STYLE_HEAD, "LEVEL     COST      FINDING");
	l->n = ui->scene.findings.n;
	l->y = y + 1;
	ui_list_fit(l, c->rows - y - 2);
	for (int i = 0; i < l->rows && l->first + (size_t)i < l->n; i++) {
		const struct finding *f = &ui->scene.findings.v[l->first + (size_t)i];
		_cleanup_str_ struct str s = {};
		char cost[UNIT_BUF];

		str_addf(&s, "%-9s %-9s ", finding_level_name(f->level),
			f->cost_ns ? fmt_ns(cost, f->cost_ns) : "-");
		str_add_escaped(&s, f->title);
		canvas_put_cut(c, y + 1 + i, 0, c->cols,
			f->level >= LEVEL_CRITICAL ? STYLE_BAD
			: f->level > LEVEL_NOTE    ? STYLE_WARN
						   : STYLE_PLAIN,
			str_get(&s));
		if (l->first + (size_t)i == l->at)
			canvas_style(c, y + 1 + i, STYLE_CHOSEN);
	}
	if (!l->n)
		canvas_put(c, y + 1, 0, c->cols, STYLE_DIM, ui_nothing(ui, false));
	y += 2 + (int)MIN(MAX(l->n, 1UL), (size_t)l->rows);
	for (size_t i = 0; i < ui->scene.missing.n && y < c->rows - 1; i++) {
		_cleanup_str_ struct str s = {};

		str_add_escaped(&s, ui->scene.missing.v[i]);
		canvas_put(c, y, 0, INDENT, STYLE_DIM, i ? "" : "NOT CHECKED");
		y = wrapped_draw(c, y, INDENT, str_get(&s));
	}
}

void ui_columns_draw(struct ui *ui, struct canvas *c, int y)
{
	const struct view_table *t = &top_tables[ui_which(ui)];
	struct ui_list *l = &ui->columns;

	canvas_style(c, y, STYLE_HEAD);
	canvas_put(c, y, 0, c->cols, STYLE_HEAD, "SORT BY");
	l->y = y + 1;
	ui_list_fit(l, c->rows - y - 2);
	for (int i = 0; i < l->rows && l->first + (size_t)i < l->n; i++) {
		size_t at = l->first + (size_t)i;
		_cleanup_str_ struct str s = {};

		str_addf(&s, "%-10s %s", t->cols[at].title, t->cols[at].help);
		canvas_put_cut(c, y + 1 + i, 0, c->cols, STYLE_PLAIN, str_get(&s));
		if (at == l->at)
			canvas_style(c, y + 1 + i, STYLE_CHOSEN);
	}
}
