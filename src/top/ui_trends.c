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

/* Each of them is opened, where somebody began to look or went to another time. */
static void trends_read(struct ui_trends *t, const struct ui *ui, u32 pid)
{
	trends_clear(t, pid);
	for (size_t ago = MIN(ui->at, UI_TRENDS - 1UL); ago > 0; ago--) {
		const struct history_frame *f = &ui->history.list.v[ui->at - ago];
		struct scene s;

		if (frame_open(f->packed, f->n, &s))
			continue;
		interval_take(t, UI_TRENDS - 1 - ago, &s);
		scene_free(&s);
	}
}

const struct ui_trends *ui_trends(struct ui *ui, u32 pid)
{
	struct ui_trends *t = &ui->trends;
	u64 before = ui->at ? ui->history.list.v[ui->at - 1].end_ns : 0;

	if (t->pid == pid && t->end_ns == ui->scene.end_ns)
		return t;
	if (t->pid == pid && before && t->end_ns == before) {
		for (size_t c = 0; c < TOP_PROCESS_COLUMNS; c++) {
			memmove(t->v[c], t->v[c] + 1, (UI_TRENDS - 1) * sizeof(t->v[c][0]));
			t->v[c][UI_TRENDS - 1] = NAN;
		}
	} else {
		trends_read(t, ui, pid);
	}
	interval_take(t, UI_TRENDS - 1, &ui->scene);
	t->end_ns = ui->scene.end_ns;
	return t;
}
