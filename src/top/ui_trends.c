/* How numbers went over the last intervals, as lines of bars. See ui.h. */
#include <math.h>
#include <string.h>

#include "top/ui.h"

void ui_spark(struct str *out, const double *v, size_t n)
{
	static const char *const signs[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	double least = 1e300, most = -1e300;

	for (size_t i = 0; i < n; i++)
		if (!isnan(v[i]))
			least = MIN(least, v[i]), most = MAX(most, v[i]);
	/* What moves by less than a hundredth is level. */
	for (size_t i = 0; i < n; i++) {
		double span = MAX(most - least, fabs(most) / 100);
		size_t at = isnan(v[i]) || !(span > 0) ? 0 : (size_t)((v[i] - least) / span * 7.99);

		str_add(out, isnan(v[i]) ? " " : signs[MIN(at, ARRAY_SIZE(signs) - 1)]);
	}
}

/* The numbers of the process in one interval. */
static void interval_take(struct ui_trends *t, size_t at, const struct scene *s)
{
	const struct table *rows = &s->tables[TOP_PROCESSES];

	for (size_t i = 0; i < rows->n_rows; i++) {
		if (table_cell(rows, i, TOP_PID)->u != t->pid)
			continue;
		for (size_t c = 0; c < TOP_PROCESS_COLUMNS; c++)
			t->v[c][at] = history_number(table_cell(rows, i, c));
	}
}

static void trends_clear(struct ui_trends *t, u32 pid)
{
	t->pid = pid;
	for (size_t c = 0; c < TOP_PROCESS_COLUMNS; c++)
		for (size_t i = 0; i < UI_TRENDS; i++)
			t->v[c][i] = NAN;
}

/* … in that so many frames before the one that is shown, which is opened. */
static void ui_trends_frame_take(struct ui_trends *t, const struct ui *ui, size_t ago)
{
	struct scene s;

	if (ago > ui->at || history_open(&ui->history, ui->at - ago, &s))
		return;
	interval_take(t, UI_TRENDS - 1 - ago, &s);
	scene_free(&s);
}

/* One interval on, or one back: what is new is not known yet. */
static void trends_shift(struct ui_trends *t, bool on)
{
	for (size_t c = 0; c < TOP_PROCESS_COLUMNS; c++) {
		double *v = t->v[c];

		memmove(v + !on, v + on, (UI_TRENDS - 1) * sizeof(*v));
		v[on ? UI_TRENDS - 1 : 0] = NAN;
	}
}

/* Do they end with frame i? */
static bool trends_end(const struct ui_trends *t, const struct history *h, size_t i)
{
	return t->end_ns && i < h->list.n && h->list.v[i].end_ns == t->end_ns;
}

const struct ui_trends *ui_trends(struct ui *ui, u32 pid)
{
	struct ui_trends *t = &ui->trends;

	if (t->pid == pid && t->end_ns == ui->scene.end_ns)
		return t;
	if (t->pid == pid && trends_end(t, &ui->history, ui->at - 1)) {
		trends_shift(t, true);
	} else if (t->pid == pid && trends_end(t, &ui->history, ui->at + 1)) {
		trends_shift(t, false);
		ui_trends_frame_take(t, ui, UI_TRENDS - 1);
	} else { /* somebody began to look, or went far */
		trends_clear(t, pid);
		for (size_t ago = UI_TRENDS - 1; ago > 0; ago--)
			ui_trends_frame_take(t, ui, ago);
	}
	interval_take(t, UI_TRENDS - 1, &ui->scene);
	t->end_ns = ui->scene.end_ns;
	return t;
}
