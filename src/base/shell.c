/* See shell.h. */
#include "base/shell.h"

#include <string.h>

#define PLAIN                        \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+@%="

/* The length of the character at p where it can stand in single quotes, 0 where it cannot. */
static size_t quotable(const char *p, size_t n)
{
	unsigned char c = (unsigned char)p[0];
	size_t len = utf8_len(p, n);

	if (c < 0x20 || c == 0x7f || c == '`' || (len == 2 && c == 0xc2 && (u8)p[1] < 0xa0))
		return 0;
	return len;
}

static bool is_quotable(const char *word)
{
	size_t n = strlen(word), len;

	for (; n && (len = quotable(word, n)); n -= len)
		word += len;
	return !n;
}

static void quoted_add(struct str *s, const char *word)
{
	str_addc(s, '\'');
	for (; *word; word++)
		if (*word == '\'')
			str_add(s, "'\\''");
		else
			str_addc(s, *word);
	str_addc(s, '\'');
}

static void numbered_add(struct str *s, const char *word)
{
	size_t n = strlen(word);

	str_add(s, "\"$(printf %b '");
	while (n) {
		size_t len = quotable(word, n);

		if (len && *word != '\\' && *word != '\'')
			str_addn(s, word, len);
		else
			str_addf(s, "\\0%03o", (unsigned char)*word);
		len = len ? len : 1;
		word += len;
		n -= len;
	}
	str_add(s, "')\"");
}

void str_add_word(struct str *s, const char *word)
{
	if (*word && !word[strspn(word, PLAIN)])
		str_add(s, word);
	else if (is_quotable(word))
		quoted_add(s, word);
	else
		numbered_add(s, word);
}
