/* See html_text.h. */
#include "render/html/html_text.h"

#include <string.h>

/* The code point of a valid sequence of len bytes. */
static u32 code_point(const char *text, size_t len)
{
	u32 c = (unsigned char)text[0];

	if (len > 1)
		c &= 0x7fU >> len;
	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)text[i] & 0x3f);
	return c;
}

/* Controls, and what is not seen but moves, hides or joins what is around it. The page's script has
 * the same list (names.js). */
static bool is_unseen(u32 c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0xad || c == 0x61c ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
	       (c >= 0xe0000 && c <= 0xe007f);
}

static const char *reference(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void html_add(struct str *out, const char *text)
{
	size_t n = strlen(text);

	while (n) {
		size_t len = utf8_len(text, n);
		u32 c = len ? code_point(text, len) : 0;

		if (!len)
			str_add(out, "\xef\xbf\xbd");
		else if (is_unseen(c))
			str_addf(out, "\\u%04x", c);
		else if (reference(*text))
			str_add(out, reference(*text));
		else
			str_addn(out, text, len);
		len = len ? len : 1;
		text += len;
		n -= len;
	}
}

void html_add_element(struct str *out, const char *tag, const char *class, const char *text)
{
	str_addf(out, "<%s", tag);
	if (class)
		str_addf(out, " class=\"%s\"", class);
	str_addc(out, '>');
	html_add(out, text);
	str_addf(out, "</%s>", tag);
}

/* What joins two commands in a line, or ends it. Where commands are lines of their own it is not
 * shown. */
static bool is_join(const char *piece)
{
	return *piece && strspn(piece, " ,;.") == strlen(piece);
}

void html_add_commands(struct str *out, const char *text)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *piece;
	bool command = false;

	if (!copy)
		out->failed = true;
	while ((piece = strsep(&rest, "`"))) {
		if (command)
			html_add_element(out, "code", "cmd", piece);
		else if (is_join(piece))
			html_add_element(out, "span", "join", piece);
		else
			html_add(out, piece);
		command = !command;
	}
}
