/* The head of the screen: the machine's memory as a bar, its pressure and what the kernel does
 * about it, the worst finding; and the last line. See ui.h. */
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/units.h"
#include "top/ui.h"

#define LABEL 6 /* columns of the word a line begins with */
#define SCOPE_LEAST 10
#define TALL 34 /* lines, from which on each zone has one */

static const struct cell *machine(const struct ui *ui, size_t column)
{
	static const struct cell none;
	const struct table *t = &ui->scene.tables[TOP_MACHINE];

	return t->n_rows ? table_cell(t, 0, column) : &none;
}

/* A cell of the machine as text. */
static const char *machine_text(const struct ui *ui, size_t column, struct str *s)
{
	str_clear(s);
	ui_cell_add(s, &top_tables[TOP_MACHINE].cols[column], machine(ui, column));
	return str_get(s);
}

void ui_clock(u64 wall_ns, char ret[16])
{
	time_t t = (time_t)(wall_ns / NSEC_PER_SEC);
	struct tm tm;

	ret[0] = '\0';
	if (wall_ns && gmtime_r(&t, &tm))
		strftime(ret, 16, "%H:%M:%S", &tm);
}

static void ago_text(const struct ui *ui, char *ret, size_t size)
{
	const struct history *h = &ui->history;
	u64 last = h->list.n ? h->list.v[h->list.n - 1].end_ns : 0;
	u64 ago = last - MIN(last, ui->scene.end_ns);
	u64 since = ui->scene.end_ns - MIN(ui->scene.end_ns, ui->scene.opened_ns);

	if (ui->replay)
		snprintf(ret, size, "%s +%.1f s, %zu of %zu%s",
			ui->play_ns ? "PLAYING" : "RECORDING", (double)since / 1e9, ui->at + 1,
			h->list.n, ui->over ? "" : "+");
	else if (ui->follows && ui->late_ns && h->list.n == 1)
		snprintf(ret, size, "attaching to the kernel, %.0f s", (double)ui->late_ns / 1e9);
	else if (ui->follows && ui->late_ns)
		snprintf(ret, size, "%.0f s LATE", (double)ui->late_ns / 1e9);
	else if (ui->follows)
		snprintf(ret, size, "live");
	else
		snprintf(ret, size, "PAUSED, %.0f s ago", (double)ago / 1e9);
}

/* What memwhy itself costs, at the right end; returns the first column of it. */
static int cost_draw(const struct ui *ui, struct canvas *c, int x)
{
	_cleanup_str_ struct str cpu = {}, bpf = {}, rss = {}, cost = {};
	int at;

	if (machine(ui, TOP_M_TOP_CPU)->type == CELL_EMPTY)
		return c->cols;
	str_addf(&cost, "self %s CPU, BPF %s, %s", machine_text(ui, TOP_M_TOP_CPU, &cpu),
		machine_text(ui, TOP_M_TOP_BPF, &bpf), machine_text(ui, TOP_M_TOP_RSS, &rss));
	at = c->cols - (int)cost.len;
	if (at < x + 2)
		return c->cols;
	canvas_put(c, 0, at, c->cols, STYLE_DIM, str_get(&cost));
	return at;
}

/* A word with two blanks before it, if all of it has room. */
static int word_draw(struct canvas *c, int x, int end, enum style style, const char *word)
{
	_cleanup_str_ struct str s = {};

	str_add_escaped(&s, word);
	if (!s.len || x + 2 + (int)text_width(str_get(&s)) > end)
		return x;
	return canvas_put(c, 0, x + 2, end - x - 2, style, str_get(&s));
}

/* Whose lines these are is told in part rather than not at all. */
static int scope_draw(const struct ui *ui, struct canvas *c, int x, int end)
{
	_cleanup_str_ struct str s = {};

	str_add_escaped(&s, ui->scene.scope);
	if (!s.len || x + 2 + SCOPE_LEAST > end)
		return x;
	return canvas_put_cut(c, 0, x + 2, end - x - 2, STYLE_PLAIN, str_get(&s));
}

static void title_draw(const struct ui *ui, struct canvas *c)
{
	char clock[16], words[96];
	int x, end;

	ui_clock(ui->scene.wall_ns, clock);
	ago_text(ui, words, sizeof(words));
	x = canvas_put(c, 0, 0, c->cols, STYLE_BOLD, "memwhy top");
	x = word_draw(c, x, c->cols, STYLE_BOLD, clock);
	x = word_draw(c, x, c->cols, ui->follows && !ui->late_ns ? STYLE_GOOD : STYLE_WARN, words);
	if (ui->recording[0])
		x = word_draw(c, x, c->cols, STYLE_BAD, "REC");
	end = cost_draw(ui, c, x) - 2;
	if (ui->scene.lost) {
		snprintf(words, sizeof(words), "%llu events lost", ui->scene.lost);
		x = word_draw(c, x, end, STYLE_BAD, words);
	}
	x = scope_draw(ui, c, x, end);
	snprintf(words, sizeof(words), "%llu CPU%s", ui->scene.cpus, plural(ui->scene.cpus));
	x = word_draw(c, x, end, STYLE_DIM, words);
	word_draw(c, x, end, STYLE_DIM, ui->scene.kernel);
}

/* The columns of a bar that `sum` of `total` fills. */
static int bar_columns(u64 sum, u64 total, int width)
{
	return total ? (int)((double)sum / (double)total * width + 0.5) : 0;
}

static const char part_signs[] = "asclpkho ";

static void bar_draw(const struct ui *ui, struct canvas *c, int y)
{
	const struct table *t = &ui->scene.tables[TOP_MEMORY];
	_cleanup_str_ struct str total = {};
	int x = LABEL, width, end;
	u64 all = 0, sum = 0;

	for (size_t i = 0; i < t->n_rows; i++)
		all += table_cell(t, i, TOP_P_BYTES)->u;
	machine_text(ui, TOP_M_TOTAL, &total);
	width = c->cols - LABEL - (int)total.len - 3;
	canvas_put(c, y, 0, LABEL, STYLE_BOLD, "Mem");
	canvas_put(c, y, x++, 1, STYLE_BOLD, "[");
	for (size_t i = 0; i < t->n_rows && width > 0; i++) {
		sum += table_cell(t, i, TOP_P_BYTES)->u;
		end = LABEL + 1 + bar_columns(sum, all, width);
		for (; x < end; x++)
			canvas_putf(c, y, x, 1, STYLE_BAR + (enum style)MIN(i, 8UL), "%c",
				i < sizeof(part_signs) - 1 ? part_signs[i] : ' ');
	}
	canvas_put(c, y, LABEL + 1 + MAX(width, 0), 1, STYLE_BOLD, "]");
	canvas_put_right(c, y, 0, c->cols, STYLE_BOLD, str_get(&total));
}

/* What can be had without swapping, as the kernel estimates it: no part, but what people ask for.
 */
static int available_draw(const struct ui *ui, struct canvas *c, int y)
{
	const struct cell *v = machine(ui, TOP_M_AVAILABLE);
	_cleanup_str_ struct str s = {}, value = {};

	if (v->type == CELL_EMPTY || !v->u)
		return c->cols;
	str_addf(&s, "available %s", machine_text(ui, TOP_M_AVAILABLE, &value));
	canvas_put_right(c, y, 0, c->cols, STYLE_BOLD, str_get(&s));
	return c->cols - (int)s.len - 2;
}

/* "slab(l)": its sign in the bar is not its first letter. */
static void part_text(const struct table *t, size_t i, struct str *out)
{
	const struct cell *name = table_cell(t, i, TOP_P_PART);
	u64 bytes = table_cell(t, i, TOP_P_BYTES)->u;
	char buf[UNIT_BUF], sign = i < sizeof(part_signs) - 1 ? part_signs[i] : ' ';

	if (name->type != CELL_TEXT || !bytes)
		return;
	str_add(out, name->text);
	if (sign != ' ' && sign != name->text[0])
		str_addf(out, "(%c)", sign);
	str_addf(out, " %s", fmt_bytes(buf, bytes));
}

/* Where not all have room, those from here on; the smallest go. */
static u64 legend_least(const struct table *t, int room)
{
	u64 least = 0;

	while (true) {
		u64 next = UINT64_MAX;
		int width = 0;

		for (size_t i = 0; i < t->n_rows; i++) {
			u64 bytes = table_cell(t, i, TOP_P_BYTES)->u;
			_cleanup_str_ struct str s = {};

			if (bytes < least)
				continue;
			part_text(t, i, &s);
			width += s.len ? (int)s.len + 2 : 0;
			next = s.len ? MIN(next, bytes) : next;
		}
		if (width - 2 <= room || next == UINT64_MAX)
			return least;
		least = next + 1;
	}
}

static void legend_draw(const struct ui *ui, struct canvas *c, int y)
{
	const struct table *t = &ui->scene.tables[TOP_MEMORY];
	int x = LABEL, end = available_draw(ui, c, y);
	u64 least = legend_least(t, end - LABEL);

	for (size_t i = 0; i < t->n_rows; i++) {
		_cleanup_str_ struct str s = {};

		if (table_cell(t, i, TOP_P_BYTES)->u < least)
			continue;
		part_text(t, i, &s);
		if (!s.len)
			continue;
		x = canvas_put(c, y, x, end - x, STYLE_BAR + (enum style)MIN(i, 8UL), str_get(&s));
		x += 2;
	}
}

static enum style share_style(const struct cell *v)
{
	double share = v->type == CELL_F64 ? v->f : 0;

	return share >= 0.1 ? STYLE_BAD : share >= 0.01 ? STYLE_WARN : STYLE_PLAIN;
}

/* "word value" pairs, as far as they have room. */
struct pair {
	const char *word;
	size_t column;
	bool alarm; /* anything but none is worth a colour */
};

static int pairs_draw(
	const struct ui *ui, struct canvas *c, int y, int x, const struct pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct cell *v = machine(ui, pairs[i].column);
		_cleanup_str_ struct str s = {};
		bool share = top_tables[TOP_MACHINE].cols[pairs[i].column].unit == UNIT_RATIO;
		enum style style = !pairs[i].alarm                   ? STYLE_PLAIN
				   : share                           ? share_style(v)
				   : v->type == CELL_F64 && v->f > 0 ? STYLE_WARN
								     : STYLE_PLAIN;

		if (v->type == CELL_EMPTY)
			continue;
		machine_text(ui, pairs[i].column, &s);
		if (x + (int)strlen(pairs[i].word) + 1 + (int)s.len > c->cols)
			return x;
		x = canvas_put(c, y, x, c->cols, STYLE_DIM, pairs[i].word) + 1;
		x = canvas_put(c, y, x, c->cols, style, str_get(&s)) + 2;
	}
	return x;
}

static void pressure_draw(const struct ui *ui, struct canvas *c, int y)
{
	static const struct pair pairs[] = {
		{"memory", TOP_M_MEMORY_SOME, true},
		{"all", TOP_M_MEMORY_FULL, true},
		{"io", TOP_M_IO_SOME, true},
		{"cpu", TOP_M_CPU_SOME, false},
	};
	static const struct pair swap[] = {
		{"Swap", TOP_M_SWAP_USED, false},
		{"of", TOP_M_SWAP_TOTAL, false},
		{"in/s", TOP_M_SWAP_IN, true},
		{"out/s", TOP_M_SWAP_OUT, true},
	};
	int x = LABEL;

	canvas_put(c, y, 0, LABEL, STYLE_BOLD, "PSI");
	if (machine(ui, TOP_M_MEMORY_SOME)->type == CELL_EMPTY)
		x = canvas_put(c, y, x, c->cols, STYLE_DIM, "not known  ");
	x = pairs_draw(ui, c, y, x, pairs, ARRAY_SIZE(pairs));
	if (machine(ui, TOP_M_SWAP_TOTAL)->type == CELL_U64 && machine(ui, TOP_M_SWAP_TOTAL)->u)
		pairs_draw(ui, c, y, x, swap, ARRAY_SIZE(swap));
	else
		canvas_put(c, y, x, c->cols, STYLE_DIM, "no swap");
}

static void work_draw(const struct ui *ui, struct canvas *c, int y)
{
	static const struct pair pairs[] = {
		{"kswapd", TOP_M_KSWAPD, true},
		{"direct", TOP_M_DIRECT, true},
		{"reclaimed", TOP_M_RECLAIMED, false},
		{"kcompactd", TOP_M_KCOMPACTD, true},
		{"compactions", TOP_M_COMPACT_STALLS, true},
		{"refaults", TOP_M_REFAULTS, true},
		{"faults", TOP_M_FAULTS, false},
		{"major", TOP_M_MAJOR, true},
		{"OOM kills", TOP_M_KILLS, true},
	};

	canvas_put(c, y, 0, LABEL, STYLE_BOLD, "Rate/s");
	pairs_draw(ui, c, y, LABEL + 1, pairs, ARRAY_SIZE(pairs));
}

/* The zone that most allocations depend on: watermarks go by size. */
static size_t zone_biggest(const struct table *t)
{
	size_t best = 0;

	for (size_t i = 1; i < t->n_rows; i++)
		if (table_cell(t, i, TOP_Z_HIGH)->u > table_cell(t, best, TOP_Z_HIGH)->u)
			best = i;
	return best;
}

/* Numbers, as many as have room: half of one would be another number. */
static void blocks_draw(struct canvas *c, int y, int x, const char *blocks)
{
	for (size_t n; *blocks; blocks += n + (blocks[n] == ' ')) {
		char number[UNIT_BUF];

		n = strcspn(blocks, " ");
		snprintf(number, sizeof(number), "%.*s", (int)n, blocks);
		if (x + (int)strlen(number) + (blocks[n] ? 2 : 0) > c->cols) {
			canvas_put_cut(c, y, x, 1, STYLE_DIM, blocks);
			return;
		}
		x = canvas_put(c, y, x, c->cols, STYLE_PLAIN, number) + 1;
	}
}

/* Which of the node's threads are at work. Returns the column behind. */
static int threads_draw(const struct ui *ui, struct canvas *c, int y, int x, size_t row)
{
	static const struct {
		size_t column;
		const char *word;
	} threads[] = {{TOP_Z_KSWAPD, "kswapd"}, {TOP_Z_KCOMPACTD, "kcompactd"}};
	const struct table *t = &ui->scene.tables[TOP_ZONES];

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		const struct cell *v = table_cell(t, row, threads[i].column);
		_cleanup_str_ struct str s = {};

		if (v->type != CELL_F64 || v->f <= 0)
			continue;
		x = canvas_put(c, y, x, c->cols, STYLE_DIM, threads[i].word) + 1;
		ui_cell_add(&s, &t->cols[threads[i].column], v);
		x = canvas_put(c, y, x, c->cols, share_style(v), str_get(&s)) + 2;
	}
	return x;
}

static void zone_draw(const struct ui *ui, struct canvas *c, int y, size_t row)
{
	const struct table *t = &ui->scene.tables[TOP_ZONES];
	const struct cell *free = table_cell(t, row, TOP_Z_FREE), *min, *low, *high, *blocks;
	_cleanup_str_ struct str s = {};
	char a[UNIT_BUF], b[UNIT_BUF];
	int x;

	min = table_cell(t, row, TOP_Z_MIN);
	low = table_cell(t, row, TOP_Z_LOW);
	high = table_cell(t, row, TOP_Z_HIGH);
	blocks = table_cell(t, row, TOP_Z_BLOCKS);
	canvas_put(c, y, 0, LABEL, STYLE_BOLD, "Free");
	str_addf(&s, "node %llu ", table_cell(t, row, TOP_Z_NODE)->u);
	str_add_escaped(&s, table_cell(t, row, TOP_Z_ZONE)->type == CELL_TEXT
				    ? table_cell(t, row, TOP_Z_ZONE)->text
				    : "");
	x = canvas_put(c, y, LABEL, c->cols, STYLE_DIM, str_get(&s)) + 1;
	x = canvas_put(c, y, x, c->cols,
		    low->type == CELL_U64 && free->u < low->u     ? STYLE_BAD
		    : high->type == CELL_U64 && free->u < high->u ? STYLE_WARN
								  : STYLE_PLAIN,
		    fmt_bytes(a, free->u)) +
	    2;
	if (min->type == CELL_U64 && low->type == CELL_U64)
		x = canvas_putf(c, y, x, c->cols, STYLE_DIM, "min %s  low %s", fmt_bytes(a, min->u),
			    fmt_bytes(b, low->u)) +
		    2;
	x = threads_draw(ui, c, y, x, row);
	x = canvas_put(c, y, x, c->cols, STYLE_DIM, "by order") + 1;
	if (blocks->type == CELL_TEXT)
		blocks_draw(c, y, x, blocks->text);
}

static int zones_draw(const struct ui *ui, struct canvas *c, int y)
{
	const struct table *t = &ui->scene.tables[TOP_ZONES];

	if (!t->n_rows)
		return y;
	if (c->rows < TALL) {
		zone_draw(ui, c, y, zone_biggest(t));
		return y + 1;
	}
	for (size_t i = 0; i < MIN(t->n_rows, 8UL); i++)
		zone_draw(ui, c, y++, i);
	return y;
}

static const enum style level_styles[] = {
	[LEVEL_NOTE] = STYLE_PLAIN,
	[LEVEL_RISK] = STYLE_WARN,
	[LEVEL_WARNING] = STYLE_WARN,
	[LEVEL_CRITICAL] = STYLE_BAD,
};

const char *ui_nothing(const struct ui *ui, bool brief)
{
	const struct scene *s = &ui->scene;

	if (s->opened_ns && s->end_ns < s->opened_ns + NSEC_PER_SEC)
		return "too early to say";
	return brief && s->missing.n ? "nothing was found; f lists what was not looked at"
				     : "nothing was found";
}

/* One of several; left: of the last one, so many are not drawn (SIZE_MAX: all are). */
static void finding_draw(const struct ui *ui, struct canvas *c, int y, size_t at, size_t left)
{
	const struct finding *f = &ui->scene.findings.v[at];
	_cleanup_str_ struct str s = {};
	char more[40] = "";

	if (left == SIZE_MAX)
		snprintf(more, sizeof(more), "  (f: more)"); /* its evidence, what to do */
	else if (left)
		snprintf(more, sizeof(more), "  (f: %zu more)", left);
	str_addf(&s, "%s: ", finding_level_name(f->level));
	str_add_escaped(&s, f->title);
	canvas_put_cut(c, y, LABEL, c->cols - LABEL - (int)strlen(more), level_styles[f->level],
		str_get(&s));
	canvas_put_right(c, y, 0, c->cols, STYLE_DIM, more);
}

/* The worst; on tall screens the next ones too. Returns the line below. */
static int findings_draw(const struct ui *ui, struct canvas *c, int y)
{
	size_t n = ui->scene.findings.n, most = c->rows >= 2 * TALL - 8 ? 4
						: c->rows >= TALL       ? 2
									: 1;

	canvas_put(c, y, 0, LABEL, STYLE_BOLD, "Why");
	if (!n) {
		canvas_put(c, y, LABEL, c->cols, STYLE_DIM, ui_nothing(ui, true));
		return y + 1;
	}
	most = MIN(most, n);
	for (size_t i = 0; i < most; i++)
		finding_draw(ui, c, y++, i, i + 1 < most ? 0 : n > most ? n - most : SIZE_MAX);
	return y;
}

int ui_head_draw(const struct ui *ui, struct canvas *c)
{
	int y = 1;

	if (!ui->has_scene) {
		canvas_style(c, 0, STYLE_BOLD);
		canvas_put(c, 0, 0, c->cols, STYLE_BOLD, "memwhy top");
		canvas_put(c, 2, 2, c->cols, STYLE_DIM,
			ui->replay ? "reading the recording" : "attaching to the kernel");
		return 3;
	}
	title_draw(ui, c);
	if (ui->scene.tables[TOP_MEMORY].n_rows) {
		bar_draw(ui, c, y++);
		legend_draw(ui, c, y++);
	}
	if (ui->scene.tables[TOP_MACHINE].n_rows) {
		pressure_draw(ui, c, y++);
		work_draw(ui, c, y++);
	}
	y = zones_draw(ui, c, y);
	return findings_draw(ui, c, y);
}

static void keys_draw(const struct ui *ui, struct canvas *c, int y)
{
	static const struct {
		const char *key, *does;
	} lists[] = {{"F1", "Help"}, {"F2", "Findings"}, {"F4", "Filter"}, {"F5", "Groups"},
		{"F6", "Sort"}, {"Enter", "Why"}, {"Space", "Pause"}, {"[ ]", "Step"},
		{"j", "Jump"}, {"r", "Record"}, {"F10", "Quit"}},
	  pages[] = {{"Esc", "Back"}, {"[ ]", "Step"}, {"n", "Next finding"}, {"F1", "Help"},
		  {"F10", "Quit"}, {"M", "Memory"}, {"F", "Faults"}, {"S", "Stalls"},
		  {"H", "Heap"}};
	bool list = ui->mode == UI_PROCESSES || ui->mode == UI_GROUPS || ui->mode == UI_USERS;
	size_t n = list ? ARRAY_SIZE(lists) : ui->mode == UI_DETAIL ? ARRAY_SIZE(pages) : 5;
	int x = 0;

	for (size_t i = 0; i < n && x < c->cols; i++) {
		const char *does = list ? lists[i].does : pages[i].does;

		if (list && ui->mode == UI_GROUPS && i == 3)
			does = "Processes";
		if (x + (int)strlen(list ? lists[i].key : pages[i].key) + (int)strlen(does) >
			c->cols)
			break;
		x = canvas_put(c, y, x, c->cols, STYLE_PLAIN, list ? lists[i].key : pages[i].key);
		x = canvas_put(c, y, x, c->cols, STYLE_KEY, does) + 1;
	}
}

void ui_foot_draw(const struct ui *ui, struct canvas *c)
{
	int y = c->rows - 1;

	for (int x = 0; x < c->cols; x++) /* it covers what was drawn there */
		canvas_put(c, y, x, 1, STYLE_PLAIN, " ");
	if (ui->prompt == UI_AGREE) {
		_cleanup_str_ struct str s = {};

		ui_closer_prompt(ui, &s);
		canvas_put(c, y, 0, c->cols, STYLE_BOLD, str_get(&s));
	} else if (ui->prompt)
		canvas_putf(c, y, 0, c->cols, STYLE_BOLD, "%s: %s_",
			ui->prompt == UI_FILTER ? "Filter (name, pid or group)"
						: "Jump to (12:30:05 UTC, 90s from the beginning, "
						  "-30s from the end)",
			ui->typed);
	else if (ui->said[0])
		canvas_put(c, y, 0, c->cols, STYLE_WARN, ui->said);
	else
		keys_draw(ui, c, y);
	if (!ui->prompt && (ui->filter[0] || ui->group[0] || ui->user[0])) {
		_cleanup_str_ struct str s = {};

		str_addf(&s, " %s", ui->filter[0] ? "/" : ui->user[0] ? "of " : "in ");
		str_add_escaped(&s, ui->filter[0] ? ui->filter
				    : ui->user[0] ? ui->user
						  : ui->group);
		canvas_put_right(c, y, 0, c->cols, STYLE_WARN, str_get(&s));
	}
}
