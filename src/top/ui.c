/* See ui.h: what is looked at, and the keys. */
#include "top/ui.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/units.h"

#define PAGE_JUMP 10 /* frames that { and } go over */
#define LATE 3ULL    /* intervals without one */
#define LATE_NS (3ULL * NSEC_PER_SEC)

size_t ui_column(enum top_table which, const char *name, size_t otherwise)
{
	const struct view_table *t = &top_tables[which];

	for (size_t i = 0; name && i < t->n_cols; i++)
		if (!strcmp(t->cols[i].name, name + (*name == '-')))
			return i;
	return otherwise;
}

int ui_init(struct ui *ui, const struct ui_options *o)
{
	*ui = (struct ui){.follows = !o->replay, .replay = o->replay, .fields = o->fields};
	ui->history.all = o->replay;
	ui->processes.sort = ui_column(TOP_PROCESSES, o->sort, TOP_RSS);
	ui->processes.ascending = o->sort && *o->sort == '-';
	ui->groups.sort = ui_column(TOP_GROUPS, o->sort, TOP_G_USAGE);
	ui->groups.tree = !o->sort;
	ui->users.sort = ui_column(TOP_USERS, o->sort, TOP_U_RSS);
	return 0;
}

static void lines_clear(struct ui *ui)
{
	vec_each (l, &ui->lines)
		free(l->text);
	ui->lines.n = 0;
}

void ui_free(struct ui *ui)
{
	lines_clear(ui);
	free(ui->looked);
	arena_free(&ui->finding_texts);
	vec_free(&ui->lines);
	vec_free(&ui->processes.order);
	vec_free(&ui->groups.order);
	vec_free(&ui->users.order);
	if (ui->has_scene)
		scene_free(&ui->scene);
	history_free(&ui->history);
}

void ui_say(struct ui *ui, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ui->said, sizeof(ui->said), fmt, ap);
	va_end(ap);
}

static void scene_take(struct ui *ui, struct scene *s)
{
	if (ui->has_scene) {
		ui_findings_keep(ui, s);
		scene_free(&ui->scene);
	}
	ui->scene = *s;
	ui->has_scene = true;
	ui->findings.n = s->findings.n;
	ui_finding_follow(ui);
	ui_order(ui);
}

void ui_show(struct ui *ui, size_t i)
{
	struct scene s;

	if (i >= ui->history.list.n)
		return;
	if (history_open(&ui->history, i, &s)) {
		ui_say(ui, "this interval cannot be shown: memory is short");
		return;
	}
	ui->at = i;
	scene_take(ui, &s);
}

/* Frames that were let go take the place of the one that is shown along. */
static void at_shift(struct ui *ui, size_t gone, size_t n_before)
{
	if (ui->history.all && ui->history.list.n < n_before) /* every second one went */
		ui->at /= 2;
	ui->at -= MIN(ui->at, ui->history.gone - gone);
}

int ui_frame(struct ui *ui, const void *packed, size_t n)
{
	size_t gone = ui->history.gone, n_before = ui->history.list.n;
	struct scene s;
	int rc = frame_open(packed, n, &s);

	if (rc)
		return rc;
	rc = history_add(&ui->history, packed, n, &s);
	if (!rc)
		at_shift(ui, gone, n_before);
	if (!rc && (ui->follows || !ui->has_scene)) {
		ui->at = ui->history.list.n - 1;
		scene_take(ui, &s);
	} else {
		scene_free(&s);
	}
	return rc;
}

/* To another time. What is live goes on behind. */
static void time_go(struct ui *ui, s64 at)
{
	s64 last = (s64)ui->history.list.n - 1;

	if (last < 0)
		return;
	at = at < 0 ? 0 : MIN(at, last);
	ui->play_ns = 0;
	ui->follows = false;
	if ((size_t)at != ui->at)
		ui_show(ui, (size_t)at);
	if (at == last && !ui->replay)
		ui_say(ui, "the latest; J goes on live");
	else if (!at)
		ui_say(ui, "the earliest that is kept");
}

static void time_live(struct ui *ui)
{
	ui->play_ns = 0;
	ui->follows = !ui->replay || !ui->over;
	if (ui->history.list.n)
		ui_show(ui, ui->history.list.n - 1);
}

static void pause_toggle(struct ui *ui)
{
	if (ui->replay) {
		ui->follows = false;
		ui->play_ns = ui->play_ns ? 0 : clock_mono_ns();
	} else if (ui->follows) {
		ui->follows = false;
	} else {
		time_live(ui);
	}
}

/* Who looks at the machine may have to wait for it, as all do then: that no interval comes is told,
 * or the last one would pass for what is now. */
static u64 late_tick(struct ui *ui, u64 now_ns)
{
	const struct scene *s = &ui->scene;
	u64 took_ns = s->end_ns - MIN(s->begin_ns, s->end_ns);
	u64 due = s->end_ns + MAX(LATE_NS, LATE * took_ns);

	ui->late_ns = 0;
	if (ui->replay || !ui->follows || !ui->has_scene)
		return UINT64_MAX;
	if (now_ns <= due)
		return due + 1;
	ui->late_ns = now_ns - s->end_ns;
	return now_ns + NSEC_PER_SEC;
}

u64 ui_tick(struct ui *ui, u64 now_ns)
{
	const struct history *h = &ui->history;

	if (!ui->play_ns)
		return late_tick(ui, now_ns);
	while (ui->play_ns && now_ns >= ui->play_ns) {
		if (ui->at + 1 >= h->list.n) {
			ui->play_ns = 0;
			return UINT64_MAX;
		}
		ui_show(ui, ui->at + 1);
		if (ui->at + 1 < h->list.n)
			ui->play_ns += MAX(h->list.v[ui->at + 1].end_ns - h->list.v[ui->at].end_ns,
				NSEC_PER_MSEC);
	}
	return ui->play_ns;
}

/* "12:30:05" or "12:30", of the day of the recording; "+90s", "90s": since the session began;
 * "-30s": before the end. */
static bool time_parse(const struct ui *ui, const char *word, u64 *ret_end_ns)
{
	const struct history_frame *first = &ui->history.list.v[0],
				   *last = &ui->history.list.v[ui->history.list.n - 1];
	unsigned h, m, s = 0;
	u64 ns;

	if (sscanf(word, "%2u:%2u:%2u", &h, &m, &s) >= 2 && last->wall_ns) {
		u64 day = 86400 * NSEC_PER_SEC,
		    of_day = (u64)(h * 3600 + m * 60 + s) * NSEC_PER_SEC;
		u64 wall = first->wall_ns - first->wall_ns % day + of_day;

		if (wall + NSEC_PER_SEC < first->wall_ns)
			wall += day;
		*ret_end_ns = first->end_ns + (wall > first->wall_ns ? wall - first->wall_ns : 0);
		return true;
	}
	if (parse_duration(word + (*word == '+' || *word == '-'), &ns))
		return false;
	*ret_end_ns =
		*word == '-' ? last->end_ns - MIN(ns, last->end_ns) : ui->scene.opened_ns + ns;
	return true;
}

static void jump(struct ui *ui)
{
	u64 end_ns;

	if (!ui->history.list.n || !ui->typed[0])
		return;
	if (time_parse(ui, ui->typed, &end_ns))
		time_go(ui, (s64)history_find(&ui->history, end_ns));
	else
		ui_say(ui, "no time: 12:30:05 (UTC), 90s from the beginning, -30s from the end");
}

static void prompt_end(struct ui *ui, bool take)
{
	enum ui_prompt was = ui->prompt;

	ui->prompt = UI_NO_PROMPT;
	if (was == UI_JUMP && take)
		jump(ui);
	if (was == UI_FILTER && !take)
		ui->filter[0] = '\0';
	if (was == UI_FILTER)
		ui_order(ui);
}

static void prompt_key(struct ui *ui, u32 key)
{
	size_t n = strlen(ui->typed);

	if (ui->prompt == UI_AGREE) {
		ui_closer_agreed(ui, key == 'y' || key == 'Y');
		return;
	}
	if (key == UI_KEY_ENTER || key == UI_KEY_ESCAPE) {
		prompt_end(ui, key == UI_KEY_ENTER);
		return;
	}
	if (key == UI_KEY_BACKSPACE && n)
		ui->typed[n - 1] = '\0';
	else if (key >= ' ' && key < 127 && n + 1 < sizeof(ui->typed))
		ui->typed[n] = (char)key, ui->typed[n + 1] = '\0';
	if (ui->prompt != UI_FILTER)
		return;
	memcpy(ui->filter, ui->typed, sizeof(ui->filter));
	ui_order(ui);
}

static void prompt_begin(struct ui *ui, enum ui_prompt prompt)
{
	ui->prompt = prompt;
	ui->typed[0] = '\0';
	if (prompt == UI_FILTER)
		memcpy(ui->typed, ui->filter, sizeof(ui->typed));
}

enum top_table ui_which(const struct ui *ui)
{
	enum ui_mode mode = ui->mode == UI_SORT ? ui->back : ui->mode;

	return mode == UI_GROUPS ? TOP_GROUPS : mode == UI_USERS ? TOP_USERS : TOP_PROCESSES;
}

struct ui_table *ui_table(struct ui *ui, const struct table **ret_rows)
{
	enum top_table which = ui_which(ui);

	if (ret_rows)
		*ret_rows = ui->has_scene ? &ui->scene.tables[which] : NULL;
	return which == TOP_GROUPS ? &ui->groups : which == TOP_USERS ? &ui->users : &ui->processes;
}

static struct ui_list *list_of(struct ui *ui)
{
	switch (ui->mode) {
	case UI_FINDINGS:
		return &ui->findings;
	case UI_FINDING:
	case UI_DETAIL:
	case UI_LOOK:
	case UI_HELP:
		return &ui->pager;
	case UI_SORT:
		return &ui->columns;
	default:
		return &ui_table(ui, NULL)->list;
	}
}

void ui_mode_go(struct ui *ui, enum ui_mode mode)
{
	if (mode == UI_HELP || mode == UI_SORT)
		ui->back = ui->mode == UI_HELP || ui->mode == UI_SORT ? ui->back : ui->mode;
	ui->mode = mode;
	if (mode == UI_FINDING || mode == UI_DETAIL || mode == UI_HELP || mode == UI_LOOK)
		ui->pager = (struct ui_list){};
	ui_order(ui);
}

static bool is_list(const struct ui *ui)
{
	return ui->mode == UI_PROCESSES || ui->mode == UI_GROUPS || ui->mode == UI_USERS;
}

static void sort_begin(struct ui *ui)
{
	const struct ui_table *t = ui_table(ui, NULL);

	if (!is_list(ui))
		return;
	ui->columns.n = top_tables[ui_which(ui)].n_cols;
	ui->columns.at = t->sort;
	ui_mode_go(ui, UI_SORT);
}

static void sort_by(struct ui *ui, size_t column)
{
	struct ui_table *t = ui_table(ui, NULL);

	t->sort = column;
	t->tree = false;
	ui_order(ui);
}

static void sort_step(struct ui *ui, int by)
{
	const struct table *rows;
	struct ui_table *t = ui_table(ui, &rows);
	const struct view_table *of = &top_tables[ui_which(ui)];

	sort_by(ui, (t->sort + of->n_cols + (size_t)by) % of->n_cols);
	ui_say(ui, "sorted by %s", of->cols[t->sort].title);
}

/* The processes of a group, or of a user. */
static void members_enter(struct ui *ui)
{
	const struct table *rows;
	const struct ui_table *t = ui_table(ui, &rows);
	bool users = t == &ui->users;
	const struct cell *name;

	if (!rows || t->list.at >= t->order.n)
		return;
	name = table_cell(rows, t->order.v[t->list.at], 0);
	snprintf(users ? ui->user : ui->group, users ? sizeof(ui->user) : sizeof(ui->group), "%s",
		name->type == CELL_TEXT ? name->text : "");
	ui_mode_go(ui, UI_PROCESSES);
}

static void enter(struct ui *ui)
{
	switch (ui->mode) {
	case UI_PROCESSES:
		if (ui->processes.list.at < ui->processes.order.n) {
			ui->detail = ui->pid;
			ui_mode_go(ui, UI_DETAIL);
		}
		break;
	case UI_GROUPS:
	case UI_USERS:
		members_enter(ui);
		break;
	case UI_FINDINGS:
		if (ui->findings.at < ui->findings.n) {
			ui_finding_take(ui, &ui->scene.findings.v[ui->findings.at]);
			ui_mode_go(ui, UI_FINDING);
		}
		break;
	case UI_SORT:
		ui->mode = ui->back;
		sort_by(ui, ui->columns.at);
		break;
	default:
		break;
	}
}

static void escape(struct ui *ui)
{
	if (ui->mode == UI_HELP || ui->mode == UI_SORT)
		ui_mode_go(ui, ui->back);
	else if (ui->mode == UI_LOOK)
		ui_closer_escape(ui);
	else if (ui->mode == UI_FINDING)
		ui_mode_go(ui, UI_FINDINGS);
	else if (ui->mode == UI_FINDINGS || ui->mode == UI_DETAIL)
		ui_mode_go(ui, UI_PROCESSES);
	else if (ui->filter[0])
		ui->filter[0] = '\0';
	else if (ui->user[0]) {
		ui->user[0] = '\0';
		ui->mode = UI_USERS;
	} else if (ui->group[0]) {
		ui->group[0] = '\0';
		ui->mode = UI_GROUPS;
	} else
		ui->mode = UI_PROCESSES;
	ui_order(ui);
}

/* On a title: by that column, or the other way round. */
static void title_click(struct ui *ui)
{
	struct ui_table *t = ui_table(ui, NULL);
	size_t column = ui_list_column(ui, ui->click_x);

	if (column == SIZE_MAX)
		return;
	if (column == t->sort && !t->tree) {
		t->ascending = !t->ascending;
		ui_order(ui);
	} else {
		sort_by(ui, column);
	}
}

static void click(struct ui *ui)
{
	struct ui_list *l = list_of(ui);
	size_t at = l->first + (size_t)(ui->click_y - l->y);

	if (ui->click_y == l->y - 1 && is_list(ui)) {
		title_click(ui);
		return;
	}
	if (ui->click_y < l->y || ui->click_y >= l->y + l->rows || at >= l->n)
		return;
	if (at == l->at)
		enter(ui);
	else
		ui_list_move(l, (s64)at - (s64)l->at);
	ui_pid_take(ui);
}

static bool key_moves(struct ui *ui, u32 key)
{
	struct ui_list *l = list_of(ui);
	s64 page = MAX(1, l->rows - 1);
	s64 by = key == UI_KEY_UP           ? -1
		 : key == UI_KEY_DOWN       ? 1
		 : key == UI_KEY_PAGE_UP    ? -page
		 : key == UI_KEY_PAGE_DOWN  ? page
		 : key == UI_KEY_HOME       ? -(s64)l->n
		 : key == UI_KEY_END        ? (s64)l->n
		 : key == UI_KEY_WHEEL_UP   ? -3
		 : key == UI_KEY_WHEEL_DOWN ? 3
					    : 0;

	if (by)
		ui_list_move(l, by);
	return by != 0;
}

static bool key_is_of_time(struct ui *ui, u32 key)
{
	const struct history *h = &ui->history;
	size_t to;

	switch (key) {
	case '[':
	case UI_KEY_LEFT:
		time_go(ui, (s64)ui->at - 1);
		return true;
	case ']':
	case UI_KEY_RIGHT:
		time_go(ui, (s64)ui->at + 1);
		return true;
	case '{':
		time_go(ui, (s64)ui->at - PAGE_JUMP);
		return true;
	case '}':
		time_go(ui, (s64)ui->at + PAGE_JUMP);
		return true;
	case 'n':
	case 'N':
		to = history_next_finding(h, ui->at, key == 'n' ? 1 : -1);
		if (to == ui->at)
			ui_say(ui, "no other finding begins %s", key == 'n' ? "later" : "earlier");
		else
			time_go(ui, (s64)to);
		return true;
	case 'J':
		time_live(ui);
		return true;
	case 'j':
		prompt_begin(ui, UI_JUMP);
		return true;
	case ' ':
		pause_toggle(ui);
		return true;
	default:
		return false;
	}
}

static void key_lists(struct ui *ui, u32 key)
{
	switch (key) {
	case 't':
	case UI_KEY_F1 + 4:
		ui->groups.tree |= ui->mode == UI_GROUPS;
		ui_mode_go(ui, ui->mode == UI_GROUPS ? UI_PROCESSES : UI_GROUPS);
		break;
	case 'u':
		ui_mode_go(ui, ui->mode == UI_USERS ? UI_PROCESSES : UI_USERS);
		break;
	case 'f':
	case UI_KEY_F1 + 1:
		ui_mode_go(ui, ui->mode == UI_FINDINGS ? UI_PROCESSES : UI_FINDINGS);
		break;
	case 's':
	case UI_KEY_F1 + 5:
		sort_begin(ui);
		break;
	case '>':
	case '.':
	case '<':
	case ',':
		sort_step(ui, key == '>' || key == '.' ? 1 : -1);
		break;
	case 'I':
		ui_table(ui, NULL)->ascending ^= true;
		ui_order(ui);
		break;
	case '/':
	case '\\':
	case UI_KEY_F1 + 3:
		prompt_begin(ui, UI_FILTER);
		break;
	default:
		break;
	}
}

/* It begins and ends with an interval, which is where the file is named. */
static void record_key(struct ui *ui)
{
	if (ui->replay)
		ui_say(ui, "this is a recording: there is nothing to record");
	else
		ui->word = UI_WORD_RECORD;
}

static void closely_key(struct ui *ui)
{
	if (ui->replay) {
		ui_say(ui, "of a recording there is what was recorded");
		return;
	}
	ui->word = UI_WORD_CLOSELY;
	ui->closely ^= true;
	ui_say(ui, ui->closely ? "PSS, THP%%, LOCAL%%: each 5 s, by a walk through page tables"
			       : "page tables are left alone");
}

void ui_key(struct ui *ui, u32 key)
{
	ui->said[0] = '\0';
	if (key == 3) { /* Ctrl-C */
		ui->quits = ui->interrupted = true;
		return;
	}
	if (ui->prompt) {
		prompt_key(ui, key);
		return;
	}
	if (key_moves(ui, key))
		ui_pid_take(ui);
	else if (key_is_of_time(ui, key))
		ui_order(ui);
	else if (key == 'q' || key == UI_KEY_F10)
		ui->quits = true;
	else if (key == UI_KEY_ENTER)
		enter(ui);
	else if (key == UI_KEY_ESCAPE || key == UI_KEY_BACKSPACE)
		escape(ui);
	else if (key == '?' || key == 'h' || key == UI_KEY_F1)
		ui_mode_go(ui, UI_HELP);
	else if (key == UI_KEY_CLICK)
		click(ui);
	else if (key == 'r')
		record_key(ui);
	else if (key == 'P')
		closely_key(ui);
	else if (ui_closer_key(ui, key))
		return;
	else
		key_lists(ui, key);
}

void ui_draw(struct ui *ui, struct canvas *c)
{
	int y;

	canvas_clear(c);
	y = ui_head_draw(ui, c);
	switch (ui->mode) {
	case UI_FINDINGS:
		ui_findings_draw(ui, c, y);
		break;
	case UI_SORT:
		ui_columns_draw(ui, c, y);
		break;
	case UI_FINDING:
	case UI_DETAIL:
	case UI_LOOK:
	case UI_HELP:
		lines_clear(ui);
		ui_page_fill(ui, c->cols - 1);
		ui_page_draw(ui, c, y);
		break;
	default:
		ui_list_draw(ui, c, y);
	}
	ui_foot_draw(ui, c);
}
