/* Lines of text for a terminal: styles, word wrapping, shortening. Text handed in is as the system
 * gave it; it is escaped here. */
#ifndef MEMWHY_RENDER_PROSE_H
#define MEMWHY_RENDER_PROSE_H

#include "base/str.h"
#include "render/render.h"

enum style { STYLE_BOLD, STYLE_RED, STYLE_YELLOW, STYLE_BLUE };

void style_begin(struct str *out, const struct render_options *o, enum style s);
void style_end(struct str *out, const struct render_options *o);

/* Columns that prose may fill: longer lines are hard to read. */
size_t prose_width(const struct render_options *o);
/* Columns that tables and stacks may fill: all that there are. */
size_t line_width(const struct render_options *o);
void pad_add(struct str *out, size_t n);

/*
 * Adds text word by word and a line break. The cursor stands at column `at`; further lines begin
 * at `indent`. No line passes `width`: a longer word is broken.
 */
void wrap_add(struct str *out, const char *text, size_t at, size_t indent, size_t width);
/* As wrap_add, in a style. */
void wrap_add_styled(struct str *out, const char *text, size_t at, size_t indent,
	const struct render_options *o, enum style s);
/* As wrap_add for a line that may hold commands (see struct finding): each on its own line and
 * never broken. The cursor stands at `indent`. */
void wrap_add_commands(struct str *out, const char *text, size_t indent, size_t width);
/* Adds text that is already escaped, cut in its middle ("/very/lo…/name") to fit width. */
void shrink_add(struct str *out, const char *text, size_t width);

#endif
