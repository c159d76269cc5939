/*
 * A screen as characters with a style each, drawn without a terminal, so that tests can look at it.
 * Text is UTF-8 that was made safe before (str_add_escaped); what does not fit is cut.
 */
#ifndef MEMWHY_TOP_CANVAS_H
#define MEMWHY_TOP_CANVAS_H

#include "base/str.h"

enum style {
	STYLE_PLAIN,
	STYLE_DIM,
	STYLE_BOLD,
	STYLE_HEAD,   /* of columns */
	STYLE_SORTED, /* … the one it is sorted by */
	STYLE_CHOSEN, /* the line that the cursor is on */
	STYLE_GOOD,
	STYLE_WARN,
	STYLE_BAD,
	STYLE_KEY, /* keys in the last line */
	STYLE_BAR, /* the parts of the bar: STYLE_BAR + i */
	STYLES = STYLE_BAR + 9,
};

struct canvas_cell {
	char text[5]; /* one character; "": the right half of the one before */
	u8 style;     /* enum style */
};

struct canvas {
	int rows, cols;
	bool ascii;
	struct canvas_cell *cells;
};

#define CANVAS_MOST 1000 /* rows, and columns */

/* -ENOMEM: it is as it was. All is blank. */
int canvas_size(struct canvas *c, int rows, int cols);
void canvas_clear(struct canvas *c);
void canvas_free(struct canvas *c);
/* At most `width` columns from x on; returns the column behind the last. */
int canvas_put(struct canvas *c, int y, int x, int width, enum style style, const char *text);
int canvas_putf(struct canvas *c, int y, int x, int width, enum style style, const char *fmt, ...)
	_printf_(6, 7);
/* The same; where not all of it has room, the last column says so. */
int canvas_put_cut(struct canvas *c, int y, int x, int width, enum style style, const char *text);
/* So that its last character is in the column before x + width. */
void canvas_put_right(
	struct canvas *c, int y, int x, int width, enum style style, const char *text);
/* Changes the style of a whole line. */
void canvas_style(struct canvas *c, int y, enum style style);
/* Line y without blanks at its end. */
void canvas_line(const struct canvas *c, int y, struct str *out);

#endif
