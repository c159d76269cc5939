/* See settings.h. */
#include "serve/config_file.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/str.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '=';
}

static int config_file_word_add(struct settings *s, const char *word)
{
	char *copy = strdup(word);
	int rc = copy ? vec_push(&s->words, copy) : -ENOMEM;

	if (rc)
		free(copy);
	return rc;
}

static int config_file_line_parse(const char *line, size_t n, u32 number, const char *file,
	struct settings *ret, struct err *err)
{
	_cleanup_str_ struct str word = {};
	size_t name = 0;

	while (n && (is_blank(line[n - 1]) && line[n - 1] != '='))
		n--;
	while (n && is_blank(*line))
		line++, n--;
	if (!n || *line == '#')
		return 0;
	while (name < n && (isalnum((unsigned char)line[name]) || line[name] == '-'))
		name++;
	if (!name || line[0] == '-' || (name < n && !is_blank(line[name])) ||
		memchr(line, '\0', n)) {
		err_set(err, -EINVAL, "%s: line %u is not a name and a value", file, number);
		return err_hint(err, "listen 127.0.0.1:9669");
	}
	str_add(&word, "--");
	str_addn(&word, line, name);
	line += name, n -= name;
	while (n && is_blank(*line))
		line++, n--;
	if (n) {
		str_addc(&word, '=');
		str_addn(&word, line, n);
	}
	return word.failed ? -ENOMEM : config_file_word_add(ret, str_get(&word));
}

int settings_parse(const char *text, const char *name, struct settings *ret, struct err *err)
{
	struct settings s = {};
	int rc = config_file_word_add(&s, "serve");

	for (u32 number = 1; *text && !rc; number++) {
		size_t n = strcspn(text, "\n");

		rc = config_file_line_parse(text, n, number, name, &s, err);
		text += n + (text[n] != '\0');
	}
	if (!rc)
		rc = vec_reserve(&s.words, 1);
	if (rc) {
		settings_free(&s);
		return err->code ? rc : err_errno(err, rc, "%s", name);
	}
	s.words.v[s.words.n] = NULL;
	*ret = s;
	return 0;
}

void settings_free(struct settings *s)
{
	vec_each (word, &s->words)
		free(*word);
	vec_free(&s->words);
}
