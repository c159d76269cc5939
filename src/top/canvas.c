/* See canvas.h. */
#include "top/canvas.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <wchar.h>

#include "render/render.h"

int canvas_size(struct canvas *c, int rows, int cols)
{
	struct canvas_cell *cells;

	rows = rows < 1 ? 1 : MIN(rows, CANVAS_MOST);
	cols = cols < 1 ? 1 : MIN(cols, CANVAS_MOST);
	cells = calloc((size_t)rows * (size_t)cols, sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	free(c->cells);
	c->cells = cells;
	c->rows = rows;
	c->cols = cols;
	canvas_clear(c);
	return 0;
}

void canvas_clear(struct canvas *c)
{
	for (int i = 0; i < c->rows * c->cols; i++)
		c->cells[i] = (struct canvas_cell){" ", STYLE_PLAIN};
}

void canvas_free(struct canvas *c)
{
	free(c->cells);
	*c = (struct canvas){};
}

/* Columns of one character: those that would have none, or are not known, are told by a sign. */
static int char_width(const char *p, size_t n, char ret[5])
{
	wchar_t wide = 0;
	mbstate_t state = {};
	size_t got = mbrtowc(&wide, p, n, &state);
	int width = got && got <= n ? wcwidth(wide) : 1;

	if (width < 1) {
		strcpy(ret, "?");
		return 1;
	}
	memcpy(ret, p, n);
	ret[n] = '\0';
	return width;
}

static int char_put(
	struct canvas *c, int y, int x, int end, enum style style, const char *p, size_t n)
{
	struct canvas_cell cell = {.style = (u8)style};
	int width = char_width(p, n, cell.text);

	if (x + width > end)
		return 0;
	c->cells[y * c->cols + x] = cell;
	if (width == 2)
		c->cells[y * c->cols + x + 1] = (struct canvas_cell){"", (u8)style};
	return width;
}

int canvas_put(struct canvas *c, int y, int x, int width, enum style style, const char *text)
{
	_cleanup_str_ struct str plain = {};
	int end = MIN(c->cols, x + width);
	size_t left;

	if (y < 0 || y >= c->rows || x < 0 || x >= end)
		return x;
	if (c->ascii) {
		render_ascii(&plain, text, strlen(text));
		text = str_get(&plain);
	}
	left = strlen(text);
	while (left) {
		size_t n = utf8_len(text, left);
		int put = char_put(c, y, x, end, style, n ? text : "?", n ? n : 1);

		if (!put)
			break;
		x += put;
		text += n ? n : 1;
		left -= n ? n : 1;
	}
	return x;
}

int canvas_put_cut(struct canvas *c, int y, int x, int width, enum style style, const char *text)
{
	int room = MIN(width, c->cols - x);

	if (room < 1 || text_width(text) <= (size_t)room)
		return canvas_put(c, y, x, width, style, text);
	x = canvas_put(c, y, x, room - 1, style, text);
	return canvas_put(c, y, x, 1, style, c->ascii ? ">" : "…");
}

int canvas_putf(struct canvas *c, int y, int x, int width, enum style style, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return canvas_put(c, y, x, width, style, text);
}

void canvas_put_right(struct canvas *c, int y, int x, int width, enum style style, const char *text)
{
	int n = (int)MIN(text_width(text), (size_t)CANVAS_MOST);

	canvas_put(c, y, x + MAX(0, width - n), MIN(width, n), style, text);
}

void canvas_style(struct canvas *c, int y, enum style style)
{
	if (y < 0 || y >= c->rows)
		return;
	for (int x = 0; x < c->cols; x++)
		c->cells[y * c->cols + x].style = (u8)style;
}

void canvas_line(const struct canvas *c, int y, struct str *out)
{
	int end = c->cols;

	while (end && !strcmp(c->cells[y * c->cols + end - 1].text, " "))
		end--;
	for (int x = 0; x < end; x++)
		str_add(out, c->cells[y * c->cols + x].text);
}
