/* See print_fmt.h. */
#include "sys/kernel/print_fmt.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The text looks like
 *   __print_flags(REC->gfp_flags, "|", {(unsigned long)(((gfp_t)0x40u) | ...), "GFP_NOFS"}, ...)
 * where the preprocessor has left constant expressions of C: numbers (from 6.10 on shifts of 1UL),
 * casts, parentheses and | & ^ ~ << >> + -.
 */
struct cursor {
	const char *p;
	u32 depth;
};

#define DEPTH_MAX 64

static void blanks(struct cursor *c)
{
	while (isspace((unsigned char)*c->p))
		c->p++;
}

static bool literal(struct cursor *c, const char *text)
{
	size_t n = strlen(text);

	blanks(c);
	if (strncmp(c->p, text, n))
		return false;
	c->p += n;
	return true;
}

static bool binary(struct cursor *c, int level, u64 *ret);

static bool number(struct cursor *c, u64 *ret)
{
	char *end;

	if (!isdigit((unsigned char)*c->p))
		return false;
	errno = 0;
	*ret = strtoull(c->p, &end, 0);
	if (errno)
		return false;
	c->p = end + strspn(end, "uUlL");
	return true;
}

/* "( unsigned long)", "(gfp_t)": moves behind it. */
static bool cast(struct cursor *c)
{
	struct cursor at = *c;

	if (!literal(&at, "("))
		return false;
	blanks(&at);
	if (isdigit((unsigned char)*at.p) || *at.p == ')')
		return false;
	while (isalnum((unsigned char)*at.p) || *at.p == '_' || *at.p == ' ')
		at.p++;
	if (*at.p != ')')
		return false;
	c->p = at.p + 1;
	return true;
}

static bool unary(struct cursor *c, u64 *ret)
{
	u64 v;
	bool ok;

	if (c->depth >= DEPTH_MAX)
		return false;
	c->depth++;
	blanks(c);
	if (literal(c, "~")) {
		ok = unary(c, &v);
		v = ~v;
	} else if (cast(c)) {
		ok = unary(c, &v);
	} else if (literal(c, "(")) {
		ok = binary(c, 0, &v) && literal(c, ")");
	} else {
		ok = number(c, &v);
	}
	c->depth--;
	if (ok)
		*ret = v;
	return ok;
}

/* Operators, the weakest first. */
static const char *const operators[] = {"|", "^", "&", "<<", ">>", "+", "-"};
static const int levels[] = {0, 1, 2, 3, 3, 4, 4};
#define LEVEL_UNARY 5

static int operator_at(struct cursor *c, int level)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (levels[i] == level && literal(c, operators[i]))
			return operators[i][0];
	return 0;
}

static u64 combine(int op, u64 a, u64 b)
{
	switch (op) {
	case '|':
		return a | b;
	case '^':
		return a ^ b;
	case '&':
		return a & b;
	case '<':
		return b < 64 ? a << b : 0;
	case '>':
		return b < 64 ? a >> b : 0;
	case '+':
		return a + b;
	default:
		return a - b;
	}
}

static bool binary(struct cursor *c, int level, u64 *ret)
{
	u64 v, right;
	int op;

	if (level == LEVEL_UNARY)
		return unary(c, ret);
	if (!binary(c, level + 1, &v))
		return false;
	while ((op = operator_at(c, level))) {
		if (!binary(c, level + 1, &right))
			return false;
		v = combine(op, v, right);
	}
	*ret = v;
	return true;
}

/* "NAME" */
static bool name_quoted(struct cursor *c, char ret[PRINT_FMT_NAME])
{
	size_t n = 0;

	if (!literal(c, "\""))
		return false;
	while (isalnum((unsigned char)c->p[n]) || c->p[n] == '_')
		n++;
	if (!n || n >= PRINT_FMT_NAME || c->p[n] != '"')
		return false;
	memcpy(ret, c->p, n);
	ret[n] = '\0';
	c->p += n + 1;
	return true;
}

/* Moves behind the next brace that closes an entry; names hold no braces. */
static bool entry_skip(struct cursor *c)
{
	c->p += strcspn(c->p, "}\n");
	return literal(c, "}");
}

int print_fmt_entries(
	const char *list, bool zero, int (*fn)(void *arg, u64 value, const char *name), void *arg)
{
	struct cursor c = {.p = list};
	int n = 0;

	while (n < PRINT_FMT_NAMES && literal(&c, ",") && literal(&c, "{")) {
		char name[PRINT_FMT_NAME];
		u64 value;
		int rc;

		c.depth = 0;
		if (!binary(&c, 0, &value) || !literal(&c, ",") || !name_quoted(&c, name) ||
			!(value || zero)) {
			if (!entry_skip(&c))
				break;
			continue;
		}
		rc = fn(arg, value, name);
		if (rc < 0)
			return rc;
		n++;
		if (!entry_skip(&c))
			break;
	}
	return n;
}

/* "REC->field", or an expression of it: moves behind it, to the comma. */
static bool argument_is(struct cursor *c, const char *field)
{
	size_t n = strlen(field), end = strcspn(c->p, ",\n");
	const char *stop = c->p + end;
	bool is = false;

	for (const char *p = c->p; (p = strstr(p, "REC->")) && p < stop;) {
		p += 5;
		is |= !strncmp(p, field, n) && !isalnum((unsigned char)p[n]) && p[n] != '_';
	}
	c->p = stop;
	return is && *stop == ',';
}

/* Behind , "|" */
static bool delimiter(struct cursor *c)
{
	if (!literal(c, ",") || !literal(c, "\""))
		return false;
	c->p += strcspn(c->p, "\"\n");
	return literal(c, "\"");
}

int print_fmt_names(const char *format, const char *field,
	int (*fn)(void *arg, u64 value, const char *name), void *arg)
{
	static const struct {
		const char *call;
		int kind;
	} calls[] = {
		{"__print_flags(", PRINT_FMT_FLAGS}, {"__print_symbolic(", PRINT_FMT_SYMBOLIC}};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct cursor c = {.p = format};

		while ((c.p = strstr(c.p, calls[i].call))) {
			int n;

			c.p += strlen(calls[i].call);
			if (!argument_is(&c, field) ||
				(calls[i].kind == PRINT_FMT_FLAGS && !delimiter(&c)))
				continue;
			n = print_fmt_entries(c.p, calls[i].kind == PRINT_FMT_SYMBOLIC, fn, arg);
			if (n)
				return n < 0 ? n : calls[i].kind;
		}
	}
	return PRINT_FMT_NONE;
}
