/* See render_prose.h. */
#include "render/render_prose.h"

#include <ctype.h>
#include <string.h>

#define WIDTH_DEFAULT 100
#define WIDTH_MIN 40
#define WRAP_MIN 16 /* of the text itself, however deep it is indented */

void style_begin(struct str *out, const struct render_options *o, enum style s)
{
	/* Of the 256 colours, whose shades are the same on every terminal, those that can be read
	 * on white and on black: the yellow and blue of the first 16 are lost on one of them. */
	static const char *const codes[] = {
		[STYLE_BOLD] = "\033[1m",
		[STYLE_RED] = "\033[1;38;5;160m",
		[STYLE_YELLOW] = "\033[1;38;5;166m",
		[STYLE_BLUE] = "\033[1;38;5;32m",
	};

	if (o->colour)
		str_add(out, codes[s]);
}

void style_end(struct str *out, const struct render_options *o)
{
	if (o->colour)
		str_add(out, "\033[0m");
}

size_t prose_width(const struct render_options *o)
{
	return MIN(line_width(o), (size_t)WIDTH_DEFAULT);
}

size_t line_width(const struct render_options *o)
{
	return MAX((size_t)(o->width ? o->width : WIDTH_DEFAULT), (size_t)WIDTH_MIN);
}

void pad_add(struct str *out, size_t n)
{
	while (n--)
		str_addc(out, ' ');
}

/* Bytes of the first n code points of valid UTF-8. */
static size_t utf8_head(const char *text, size_t n)
{
	size_t i = 0;

	for (; text[i]; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80 && !n--)
			break;
	return i;
}

struct wrap {
	struct str *out;
	size_t at, indent, width;
	bool begun; /* the line has a word */
};

static void wrap_break(struct wrap *w)
{
	str_addc(w->out, '\n');
	pad_add(w->out, w->indent);
	w->at = w->indent;
	w->begun = false;
}

/* A word of `len` bytes; it may be wider than a line. */
static void wrap_word(struct wrap *w, const char *word, size_t len)
{
	_cleanup_free_ char *copy = strndup(word, len);
	const char *p = copy;
	size_t wide;

	if (!p) {
		w->out->failed = true;
		return;
	}
	wide = text_width(p);
	if (w->begun && w->at + 1 + wide > w->width)
		wrap_break(w);
	else if (w->begun) {
		str_addc(w->out, ' ');
		w->at++;
	}
	while (w->at + wide > w->width) {
		size_t room = w->at < w->width ? w->width - w->at : 0;
		size_t head = utf8_head(p, room);

		str_addn(w->out, p, head);
		p += head;
		wide -= room;
		wrap_break(w);
	}
	str_add(w->out, p);
	w->at += wide;
	w->begun = true;
}

void wrap_add(struct str *out, const char *text, size_t at, size_t indent, size_t width)
{
	struct wrap w = {out, at, indent, MAX(width, indent + WRAP_MIN), false};
	_cleanup_str_ struct str escaped = {};
	const char *p;

	str_add_escaped(&escaped, text);
	for (p = str_get(&escaped); *p;) {
		size_t len = strcspn(p, " ");

		if (len)
			wrap_word(&w, p, len);
		p += len;
		p += *p == ' ';
	}
	out->failed |= escaped.failed;
	str_addc(out, '\n');
}

void wrap_add_styled(struct str *out, const char *text, size_t at, size_t indent,
	const struct render_options *o, enum style s)
{
	style_begin(out, o, s);
	wrap_add(out, text, at, indent, prose_width(o));
	if (out->failed)
		return;
	out->len--; /* the line break comes after the style */
	style_end(out, o);
	str_addc(out, '\n');
}

/* Begins a new line at indent unless this is the first piece. */
static void piece_begin(struct str *out, bool *first, size_t indent)
{
	if (!*first)
		pad_add(out, indent);
	*first = false;
}

static bool only_punctuation(const char *p)
{
	while (*p == ' ' || ispunct((unsigned char)*p))
		p++;
	return !*p;
}

void wrap_add_commands(struct str *out, const char *text, size_t indent, size_t width)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *piece;
	bool command = false, first = true;

	while ((piece = strsep(&rest, "`"))) {
		if (command) {
			piece_begin(out, &first, indent + 2);
			str_add_printable(out, piece);
			str_addc(out, '\n');
		} else if (first ? *piece : !only_punctuation(piece)) {
			piece_begin(out, &first, indent);
			wrap_add(out, piece, indent, indent + 2, width);
		}
		command = !command;
	}
	if (first)
		str_addc(out, '\n');
}

void shrink_add(struct str *out, const char *text, size_t width)
{
	size_t wide = text_width(text), head, tail;

	if (wide <= width) {
		str_add(out, text);
		return;
	}
	if (!width)
		return;
	head = width / 2;
	tail = width - 1 - head;
	str_addn(out, text, utf8_head(text, head));
	str_add(out, "…");
	str_add(out, text + utf8_head(text, wide - tail));
}
