/* See count_filter.h. */
#include "probes/count/count_filter.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define DEPTH_MAX 32
#define NODES_MAX (8 * COUNT_TESTS)

enum node_type { NODE_TEST, NODE_AND, NODE_OR, NODE_NOT };

struct node {
	u8 type;
	u8 left, right; /* nodes; of a test, left is its index */
	u8 first;       /* the first test in it */
};

struct parser {
	const char *text, *p;
	struct filter *out;
	struct node nodes[NODES_MAX];
	u32 n_nodes, depth;
	struct err *err;
};

/* What stands at p is not what was expected there. */
static int unexpected(struct parser *s, const char *what)
{
	int at = (int)(s->p - s->text) + 1;

	if (*s->p)
		err_set(s->err, -EINVAL, "--filter: at %d, '%.20s': expected %s", at, s->p, what);
	else
		err_set(s->err, -EINVAL, "--filter: at its end: expected %s", what);
	return err_hint(s->err, "for example: --filter 'order >= 3 && comm == dd'");
}

static void blanks(struct parser *s)
{
	while (isspace((unsigned char)*s->p))
		s->p++;
}

static bool literal(struct parser *s, const char *word)
{
	size_t n = strlen(word);

	blanks(s);
	if (strncmp(s->p, word, n) != 0)
		return false;
	s->p += n;
	return true;
}

static int count_filter_node_add(struct parser *s, struct node node)
{
	if (s->n_nodes == NODES_MAX)
		return err_set(s->err, -EINVAL, "--filter: too long");
	s->nodes[s->n_nodes] = node;
	return (int)s->n_nodes++;
}

static int count_filter_name_parse(struct parser *s, char ret[FILTER_NAME])
{
	size_t n = 0;

	blanks(s);
	if (isalpha((unsigned char)*s->p) || *s->p == '_')
		while (isalnum((unsigned char)s->p[n]) || s->p[n] == '_' || s->p[n] == '.')
			n++;
	if (!n || n >= FILTER_NAME)
		return unexpected(s, "the name of a field");
	memcpy(ret, s->p, n);
	ret[n] = '\0';
	s->p += n;
	return 0;
}

static int op_parse(struct parser *s, u8 *ret)
{
	static const struct {
		const char *text;
		u8 op;
	} ops[] = {{"==", FILTER_EQ}, {"!=", FILTER_NE}, {"<=", FILTER_LE}, {">=", FILTER_GE},
		{"<", FILTER_LT}, {">", FILTER_GT}, {"~", FILTER_GLOB}, {"&", FILTER_BITS}};

	blanks(s);
	if (strncmp(s->p, "&&", 2) != 0)
		for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
			if (literal(s, ops[i].text)) {
				*ret = ops[i].op;
				return 0;
			}
	return unexpected(s, "==, !=, <, <=, >, >=, & or ~");
}

static void number_parse(struct filter_test *t)
{
	static const char units[] = "KMGT";
	const char *p = t->value, *unit;
	char *end;

	t->negative = *p == '-';
	p += t->negative;
	if (!isdigit((unsigned char)*p))
		return;
	errno = 0;
	t->number = strtoull(p, &end, 0);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit && !end[1]) {
		u32 shift = 10 * (u32)(unit - units + 1);

		if (t->number << shift >> shift != t->number)
			return;
		t->number <<= shift;
		end++;
	}
	if (*end || errno || (t->negative && t->number > 1ULL << 63))
		return;
	t->is_number = true;
	if (t->negative)
		t->number = -t->number;
}

static int value_parse(struct parser *s, struct filter_test *t)
{
	size_t n = 0;
	char quote;

	blanks(s);
	quote = *s->p == '\'' || *s->p == '"' ? *s->p++ : '\0';
	while (s->p[n] &&
		(quote ? s->p[n] != quote
		       : isalnum((unsigned char)s->p[n]) || strchr("_./*:-+@[]", s->p[n])))
		n++;
	if (quote && !s->p[n]) {
		s->p += n;
		return unexpected(s, quote == '"' ? "a closing \"" : "a closing '");
	}
	if (!n && !quote)
		return unexpected(s, "a number or a text");
	if (n >= FILTER_NAME)
		return unexpected(s, "a shorter text");
	memcpy(t->value, s->p, n);
	s->p += n + (quote != 0);
	if (!quote)
		number_parse(t);
	return 0;
}

static int test_parse(struct parser *s)
{
	struct filter_test t = {};
	u32 i = s->out->n;
	int rc = count_filter_name_parse(s, t.name);

	if (rc)
		return rc;
	t.at = (u32)(s->p - s->text - (long)strlen(t.name)) + 1;
	rc = op_parse(s, &t.op);
	rc = rc ? rc : value_parse(s, &t);
	if (rc)
		return rc;
	if (i == COUNT_TESTS)
		return err_set(s->err, -EINVAL, "--filter: at most %d comparisons", COUNT_TESTS);
	s->out->tests[s->out->n++] = t;
	return count_filter_node_add(
		s, (struct node){.type = NODE_TEST, .left = (u8)i, .first = (u8)i});
}

static int any_parse(struct parser *s);

static int factor_parse(struct parser *s)
{
	bool not_equal;
	int node;

	if (s->depth == DEPTH_MAX)
		return err_set(s->err, -EINVAL, "--filter: too many parentheses");
	blanks(s);
	not_equal = !strncmp(s->p, "!=", 2);
	if (!not_equal && literal(s, "!")) {
		s->depth++;
		node = factor_parse(s);
		s->depth--;
		return node < 0 ? node
				: count_filter_node_add(s, (struct node){.type = NODE_NOT,
								   .left = (u8)node,
								   .first = s->nodes[node].first});
	}
	if (!literal(s, "("))
		return test_parse(s);
	s->depth++;
	node = any_parse(s);
	s->depth--;
	if (node >= 0 && !literal(s, ")"))
		return unexpected(s, "&&, || or )");
	return node;
}

/* A list of `part`s between `op`s, as a tree. */
static int list_parse(struct parser *s, const char *op, u8 type, int (*part)(struct parser *))
{
	int node = part(s);

	while (node >= 0 && literal(s, op)) {
		int right = part(s);

		if (right < 0)
			return right;
		node = count_filter_node_add(s, (struct node){.type = type,
							.left = (u8)node,
							.right = (u8)right,
							.first = s->nodes[node].first});
	}
	return node;
}

static int all_parse(struct parser *s)
{
	return list_parse(s, "&&", NODE_AND, factor_parse);
}

static int any_parse(struct parser *s)
{
	return list_parse(s, "||", NODE_OR, all_parse);
}

/* Says where each comparison leads to. Those of the right side come after those of the left. */
static void wire(struct parser *s, u32 node, u8 yes, u8 no)
{
	const struct node *n = &s->nodes[node];

	switch (n->type) {
	case NODE_TEST:
		s->out->tests[n->left].yes = yes;
		s->out->tests[n->left].no = no;
		return;
	case NODE_NOT:
		wire(s, n->left, no, yes);
		return;
	case NODE_AND:
		wire(s, n->left, s->nodes[n->right].first, no);
		break;
	default:
		wire(s, n->left, yes, s->nodes[n->right].first);
	}
	wire(s, n->right, yes, no);
}

int filter_parse(const char *text, struct filter *ret, struct err *err)
{
	struct filter out = {};
	struct parser s = {.text = text, .p = text, .out = &out, .err = err};
	int root;

	if (text) {
		root = any_parse(&s);
		if (root < 0)
			return root;
		blanks(&s);
		if (*s.p)
			return unexpected(&s, "&& or ||");
		wire(&s, (u32)root, COUNT_PASS, COUNT_FAIL);
	}
	*ret = out;
	return 0;
}
