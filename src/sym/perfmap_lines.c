/* The lines of one perf-PID.map: see perfmap.h. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/vec.h"
#include "sym/perfmap.h"

#define LINES_MAX (1U << 21)
#define NAME_MAX_LEN 500
#define LOOK_BACK 32 /* ranges that may overlap */

struct line {
	u64 start, end;
	u32 order; /* of the line in the file */
	u32 name;  /* where it is in the text */
};

struct perf_map {
	char *text; /* with a NUL behind each name */
	VEC(struct line) lines;
};

void perf_map_free(struct perf_map *m)
{
	if (!m)
		return;
	free(m->text);
	vec_free(&m->lines);
	free(m);
}

/* Up to 16 digits, with or without 0x. False: there is none, or more. */
static bool hex_take(char **p, u64 *ret)
{
	u64 value = 0;
	int n = 0;

	if ((*p)[0] == '0' && ((*p)[1] == 'x' || (*p)[1] == 'X'))
		*p += 2;
	for (;; (*p)++, n++) {
		char c = **p;

		if (c >= '0' && c <= '9')
			value = value << 4 | (u64)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			value = value << 4 | (u64)((c | 32) - 'a' + 10);
		else
			break;
	}
	*ret = value;
	return n && n <= 16;
}

/* A line without its end. */
static int perfmap_line_add(struct perf_map *m, char *line)
{
	struct line l = {.order = (u32)m->lines.n};
	char *p = line;
	u64 size;

	if (!hex_take(&p, &l.start) || *p++ != ' ' || !hex_take(&p, &size) || *p++ != ' ')
		return 0;
	p += strspn(p, " ");
	if (!*p || !size || __builtin_add_overflow(l.start, size, &l.end))
		return 0;
	if (strlen(p) > NAME_MAX_LEN)
		p[NAME_MAX_LEN] = '\0';
	l.name = (u32)(p - m->text);
	return m->lines.n < LINES_MAX ? vec_push(&m->lines, l) : 0;
}

static int by_start(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

static size_t lines_count(const char *text, size_t n)
{
	size_t lines = 1;

	for (const char *p = text, *end = text + n; (p = memchr(p, '\n', (size_t)(end - p))); p++)
		lines++;
	return MIN(lines, (size_t)LINES_MAX);
}

u64 perf_map_bytes(const char *text, size_t n)
{
	return n + lines_count(text, n) * sizeof(struct line);
}

int perf_map_parse(char *text, size_t n, struct perf_map **ret)
{
	struct perf_map *m = calloc(1, sizeof(*m));
	int rc = m && n < UINT32_MAX ? 0 : -ENOMEM;
	char *next;

	if (!m) {
		free(text);
		return -ENOMEM;
	}
	m->text = text;
	text[n] = '\0';
	if (!rc)
		rc = vec_reserve(&m->lines, lines_count(text, n));
	for (char *line = rc ? NULL : m->text; line && !rc; line = next) {
		size_t left = n - (size_t)(line - m->text);

		next = memchr(line, '\n', left);
		if (next)
			*next++ = '\0';
		rc = perfmap_line_add(m, line);
	}
	if (rc) {
		perf_map_free(m);
		return rc;
	}
	if (m->lines.n)
		qsort(m->lines.v, m->lines.n, sizeof(*m->lines.v), by_start);
	*ret = m;
	return 0;
}

int perf_map_find(const struct perf_map *m, u64 address, const char **ret_name, u64 *ret_offset)
{
	size_t lo = 0, hi = m->lines.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->lines.v[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (size_t back = 0; lo && back < LOOK_BACK; lo--, back++) {
		const struct line *l = &m->lines.v[lo - 1];

		if (address >= l->end)
			continue;
		*ret_name = m->text + l->name;
		*ret_offset = address - l->start;
		return 0;
	}
	return -ENOENT;
}
