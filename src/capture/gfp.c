/* See gfp.h. */
#include "capture/gfp.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "sys/root.h"
#include "sys/tracefs.h"

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
static bool name_quoted(struct cursor *c, char ret[GFP_NAME_LEN])
{
	size_t n = 0;

	if (!literal(c, "\""))
		return false;
	while (isalnum((unsigned char)c->p[n]) || c->p[n] == '_')
		n++;
	if (!n || n >= GFP_NAME_LEN || c->p[n] != '"')
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

/* The text behind the delimiter of the list of flags; NULL when there is no such list. */
static const char *list_begin(const char *format)
{
	const char *p = strstr(format, "__print_flags(");

	if (!p)
		return NULL;
	p = strstr(p, "\"|\"");
	return p ? p + 3 : NULL;
}

int gfp_parse(const char *format, int (*fn)(void *arg, u64 mask, const char *name), void *arg)
{
	struct cursor c = {.p = list_begin(format)};
	int n = 0;

	if (!c.p)
		return -EINVAL;
	while (n < GFP_NAMES_MAX && literal(&c, ",") && literal(&c, "{")) {
		char name[GFP_NAME_LEN];
		u64 mask;
		int rc;

		c.depth = 0;
		if (!binary(&c, 0, &mask) || !literal(&c, ",") || !name_quoted(&c, name) || !mask) {
			if (!entry_skip(&c))
				break;
			continue;
		}
		rc = fn(arg, mask, name);
		if (rc < 0)
			return rc;
		n++;
		if (!entry_skip(&c))
			break;
	}
	return n ? n : -EINVAL;
}

int gfp_read(int (*fn)(void *arg, u64 mask, const char *name), void *arg)
{
	_cleanup_str_ struct str text = {};
	char dir[PATH_MAX];
	int rc = tracefs_find(dir);

	if (!rc)
		rc = sys_read(&text, "%s/events/vmscan/mm_vmscan_direct_reclaim_begin/format", dir);
	return rc ? rc : gfp_parse(str_get(&text), fn, arg);
}

struct names {
	size_t n;
	struct {
		u64 mask;
		const char *name;
	} v[GFP_NAMES_MAX];
};

static void name_take(void *arg, u64 mask, const char *name)
{
	struct names *all = arg;

	if (all->n < GFP_NAMES_MAX && mask) {
		all->v[all->n].mask = mask;
		all->v[all->n++].name = name;
	}
}

/* The name that covers most of mask, the first of equal ones; -1: none. */
static int name_largest(const struct names *all, u64 mask)
{
	int best = -1;

	for (size_t i = 0; i < all->n; i++) {
		if ((all->v[i].mask & mask) != all->v[i].mask)
			continue;
		if (best < 0 || __builtin_popcountll(all->v[i].mask) >
					__builtin_popcountll(all->v[best].mask))
			best = (int)i;
	}
	return best;
}

void gfp_add(struct str *out, const struct stream *s, u64 mask)
{
	struct names all = {};
	const char *between = "";
	int i;

	stream_enum_each(s, GFP_SET, name_take, &all);
	if (!mask && all.n) {
		str_add(out, "none");
		return;
	}
	while (mask && (i = name_largest(&all, mask)) >= 0) {
		str_addf(out, "%s%s", between, all.v[i].name);
		mask &= ~all.v[i].mask;
		between = "|";
	}
	if (mask || !all.n)
		str_addf(out, "%s0x%llx", between, mask);
}

const char *gfp_migratetype(u64 mask)
{
	static const char *const names[] = {"Unmovable", "Movable", "Reclaimable", NULL};

	return names[(mask & GFP_MOBILITY) >> 3];
}

static int name_send(void *arg, u64 mask, const char *name)
{
	return capture_enum(arg, GFP_SET, mask, name);
}

static int name_count(void *arg, u64 mask, const char *name)
{
	(void)arg;
	(void)mask;
	(void)name;
	return 0;
}

int gfp_tell(struct capture *c, bool send)
{
	int rc = gfp_read(send ? name_send : name_count, c);
	char missing[64];

	snprintf(missing, sizeof(missing), "%.30s; tracefs, mounted, as root", strerror(-rc));
	return capture_method(c, "names of allocation flags",
		rc < 0 ? NULL : "format of a tracepoint", rc < 0 ? missing : NULL);
}
