/*
 * Lines of advice: sentences with commands in `backticks`, formatted so that no name from the
 * system can end a command, begin one or change what a shell does with it. See report.h.
 */
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "base/shell.h"
#include "report/report.h"

struct line {
	struct str text;
	bool command; /* between backticks */
};

static void line_free(struct line *l)
{
	str_free(&l->text);
}

static void literal_add(struct line *l, const char *text, size_t n)
{
	str_addn(&l->text, text, n);
	for (size_t i = 0; i < n; i++)
		l->command ^= text[i] == '`';
}

/* %s: in a command a word of its own, or a part of one; in a sentence text, where a backtick would
 * begin a command. */
static void report_line_text_add(struct line *l, const char *text, int most)
{
	size_t n = strnlen(text, most < 0 ? SIZE_MAX : (size_t)most);
	_cleanup_free_ char *copy = strndup(text, n);

	if (!copy) {
		l->text.failed = true;
		return;
	}
	if (l->command) {
		str_add_word(&l->text, copy);
		return;
	}
	for (char *p = copy; (p = strchr(p, '`'));)
		*p = '\'';
	str_add(&l->text, copy);
}

/* One conversion: "%", flags, width, precision, length, and what it converts. */
struct conversion {
	char text[16];
	size_t len;
	int most;  /* precision, -1: none */
	bool wide; /* of 64 bits */
};

static struct conversion conversion_read(const char *p)
{
	struct conversion c = {.most = -1};
	const char *dot;

	c.len = 1 + strspn(p + 1, "-+ #0123456789.hlzj");
	c.len = MIN(c.len, sizeof(c.text) - 2);
	memcpy(c.text, p, c.len + 1);
	c.wide = strpbrk(c.text, "lzj") != NULL;
	dot = strchr(c.text, '.');
	if (dot)
		c.most = atoi(dot + 1);
	return c;
}

static void line_format(struct line *l, const char *fmt, va_list ap)
{
	while (*fmt) {
		size_t plain = strcspn(fmt, "%");
		struct conversion c;

		literal_add(l, fmt, plain);
		fmt += plain;
		if (!*fmt)
			return;
		c = conversion_read(fmt);
		fmt += c.len;
		if (*fmt == '%')
			str_addc(&l->text, '%');
		else if (*fmt == 's')
			report_line_text_add(l, va_arg(ap, const char *), c.most);
		else if (strchr("efgEG", *fmt))
			str_addf(&l->text, c.text, va_arg(ap, double));
		else if (c.wide)
			str_addf(&l->text, c.text, va_arg(ap, u64));
		else
			str_addf(&l->text, c.text, va_arg(ap, u32));
		fmt++;
	}
}

static const char *report_line_take(struct report *r, const struct line *l)
{
	return l->text.failed ? "" : report_textn(r, str_get(&l->text), l->text.len);
}

static const char *line_text(struct report *r, const char *fmt, va_list ap)
{
	_cleanup_(line_free) struct line l = {};

	line_format(&l, fmt, ap);
	return report_line_take(r, &l);
}

void report_next(struct report *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vec_push(&r->next, line_text(r, fmt, ap));
	va_end(ap);
}

/* Where the next line goes; NULL: there is no room. */
static const char **line_next(const char *lines[FINDING_LINES])
{
	size_t i = 0;

	while (i < FINDING_LINES && lines[i])
		i++;
	return i < FINDING_LINES ? &lines[i] : NULL;
}

void finding_line(struct report *r, const char *lines[FINDING_LINES], const char *fmt, ...)
{
	const char **to = line_next(lines);
	va_list ap;

	if (!to)
		return;
	va_start(ap, fmt);
	*to = line_text(r, fmt, ap);
	va_end(ap);
}

void finding_command(
	struct report *r, const char *lines[FINDING_LINES], const char *words, const char *fmt, ...)
{
	_cleanup_(line_free) struct line l = {};
	const char **to = line_next(lines);
	va_list ap;

	if (!to)
		return;
	va_start(ap, fmt);
	line_format(&l, fmt, ap);
	va_end(ap);
	for (size_t n; words; words = words[n] ? words + n + 1 : NULL) {
		n = strcspn(words, COMMAND_WORD_END);
		str_addc(&l.text, ' ');
		report_line_text_add(&l, words, (int)n);
	}
	str_addc(&l.text, '`');
	*to = report_line_take(r, &l);
}
