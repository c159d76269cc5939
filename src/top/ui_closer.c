/* A closer look from the screen: which line it is of, whether its cost is agreed to, and what came
 * of it. See ui.h. */
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "top/ui.h"

static void look_ask(struct ui *ui, u8 look)
{
	ui->ask.look = look;
	ui->asks = true;
}

static void ui_closer_look_begin(struct ui *ui)
{
	if (ui->looking) {
		ui_say(ui, "one closer look at a time: Esc ends the other");
		return;
	}
	look_ask(ui, ui->look);
	ui->looking = true;
	ui->look_ns = clock_mono_ns();
	free(ui->looked);
	ui->looked = NULL;
	ui->look_from = ui->mode;
	ui_mode_go(ui, UI_LOOK);
}

/* The line that the cursor is on becomes what is asked about. False: there is none. */
static bool ui_closer_line_take(struct ui *ui, const struct closer_look *l)
{
	const struct ui_table *t;
	const struct table *rows;
	const struct cell *path;

	ui->ask = (struct closer_ask){};
	if (ui->mode == UI_DETAIL) {
		ui->ask.pid = ui->detail;
		return true;
	}
	t = ui_table(ui, &rows);
	if (!rows || t->list.at >= t->order.n)
		return false;
	if (t != &ui->groups) {
		ui->ask.pid = (u32)table_cell(rows, t->order.v[t->list.at], TOP_PID)->u;
		return true;
	}
	path = table_cell(rows, t->order.v[t->list.at], TOP_G_CGROUP);
	if (!l->of_groups)
		ui_say(ui, "%c is of processes", l->key);
	else if (path->type == CELL_TEXT)
		snprintf(ui->ask.group, sizeof(ui->ask.group), "%s", path->text);
	return l->of_groups && ui->ask.group[0];
}

bool ui_closer_key(struct ui *ui, u32 key)
{
	const struct closer_look *l = closer_looks;

	while (l < closer_looks + CLOSER_LOOKS && (u32)l->key != key)
		l++;
	if (l == closer_looks + CLOSER_LOOKS ||
		(ui->mode != UI_PROCESSES && ui->mode != UI_GROUPS && ui->mode != UI_DETAIL))
		return false;
	if (ui->replay && !l->of_recordings) {
		ui_say(ui, "a recording does not tell %s", l->what);
		return true;
	}
	if (!ui_closer_line_take(ui, l))
		return true;
	ui->look = (u8)(l - closer_looks);
	if (l->asks)
		ui->prompt = UI_AGREE;
	else
		ui_closer_look_begin(ui);
	return true;
}

void ui_closer_agreed(struct ui *ui, bool yes)
{
	ui->prompt = UI_NO_PROMPT;
	if (yes)
		ui_closer_look_begin(ui);
}

/* The first Escape ends the look, which then says what it has seen; the next one leaves it. */
void ui_closer_escape(struct ui *ui)
{
	if (ui->looking && ui->ask.look != CLOSER_STOP)
		look_ask(ui, CLOSER_STOP);
	else
		ui_mode_go(ui, ui->look_from);
}

void ui_closer_take(struct ui *ui, const char *text, size_t n)
{
	free(ui->looked);
	ui->looked = strndup(text, n);
	ui->looking = false;
}

static void about_add(const struct ui *ui, struct str *s)
{
	if (ui->ask.pid)
		str_addf(s, "pid %u", ui->ask.pid);
	else
		str_add_escaped(s, ui->ask.group);
}

void ui_closer_prompt(const struct ui *ui, struct str *s)
{
	str_add(s, "y: begin, others: no. ");
	about_add(ui, s);
	str_addf(s, ", 10 s: %s", closer_looks[ui->look].cost);
}

void ui_closer_fill(struct ui *ui)
{
	_cleanup_str_ struct str s = {};

	if (ui->looking) {
		about_add(ui, &s);
		str_addf(&s, ": %s. %llu s so far; Esc: enough", closer_looks[ui->look].what,
			(clock_mono_ns() - ui->look_ns) / NSEC_PER_SEC);
		ui_line_add(ui, STYLE_WARN, str_get(&s), s.len, 0);
		return;
	}
	for (const char *p = ui->looked ? ui->looked : "memory is short"; *p;) {
		size_t n = strcspn(p, "\n");

		str_clear(&s);
		str_addn(&s, p, n);
		ui_line_add(ui, STYLE_PLAIN, str_get(&s), s.len, 0);
		p += n + (p[n] == '\n');
	}
}

/* What can be looked at closer, for the page of a process. */
void ui_closer_list(struct ui *ui, int width)
{
	for (size_t i = 0; i < CLOSER_LOOKS; i++) {
		const struct closer_look *l = &closer_looks[i];
		_cleanup_str_ struct str s = {};
		char word[8];

		if (ui->replay && !l->of_recordings)
			continue;
		snprintf(word, sizeof(word), "  %c  ", l->key);
		str_add(&s, l->what);
		if (!ui->replay)
			str_addf(&s, " (%s)", l->cost);
		ui_text_add(ui, width, word, str_get(&s));
	}
}
