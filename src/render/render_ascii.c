/* Text for a screen that has only ASCII. See render.h. */
#include <string.h>

#include "render/render.h"

static const struct {
	const char *sign, *plain;
} plains[] = {
	{"… ", "... "}, /* before it is said how much more there is */
	{"…", "~"},     /* in the middle of a name that was cut */
	{"·", "|"},
	{"²", "^2"},
	{"▁", "_"},
	{"▂", "_"},
	{"▃", "-"},
	{"▄", "-"},
	{"▅", "="},
	{"▆", "="},
	{"▇", "#"},
	{"█", "#"},
	{"▉", "#"},
	{"▊", "#"},
	{"▋", "#"},
	{"▌", ":"},
	{"▍", ":"},
	{"▎", ":"},
	{"▏", ":"},
};

/* Bytes of the character at p, none of it ASCII. */
static size_t sign_add(struct str *out, const char *p, size_t n)
{
	size_t len = 1;

	for (size_t i = 0; i < ARRAY_SIZE(plains); i++) {
		size_t size = strlen(plains[i].sign);

		if (size <= n && !memcmp(p, plains[i].sign, size)) {
			str_add(out, plains[i].plain);
			return size;
		}
	}
	while (len < n && ((unsigned char)p[len] & 0xc0) == 0x80)
		len++;
	str_addc(out, '?');
	return len;
}

void render_ascii(struct str *out, const char *text, size_t n)
{
	for (size_t at = 0; at < n;) {
		size_t plain = 0;

		while (at + plain < n && !((unsigned char)text[at + plain] & 0x80))
			plain++;
		str_addn(out, text + at, plain);
		at += plain;
		if (at < n)
			at += sign_add(out, text + at, n - at);
	}
}
