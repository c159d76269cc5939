/* See ranges.h. */
#include "objects/ranges.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define FAN 32
#define DEPTH 16 /* 16^16 ranges */

/*
 * In an inner node, keys[i] is not above any start in child i, and above all in child i-1; keys[0]
 * is not looked at. Nodes are never empty. A node with several refs is in several trees: who wants
 * to change it makes a copy.
 */
struct ranges_node {
	u32 refs;
	u16 n;
	bool leaf;
	u64 keys[FAN]; /* of a leaf: starts */
	union {
		struct ranges_node *child[FAN];
		u64 end[FAN];
	};
	u32 value[]; /* FAN of a leaf; an inner node has none */
};

static size_t node_size(bool leaf)
{
	return sizeof(struct ranges_node) + (leaf ? FAN * sizeof(u32) : 0);
}

static struct ranges_node *node_new(bool leaf)
{
	struct ranges_node *node = malloc(node_size(leaf));

	if (node) {
		node->refs = 1;
		node->n = 0;
		node->leaf = leaf;
	}
	return node;
}

static void node_put(struct ranges_node *node)
{
	if (--node->refs)
		return;
	if (!node->leaf)
		for (u32 i = 0; i < node->n; i++)
			node_put(node->child[i]);
	free(node);
}

/* Makes the node at *at one that only this tree has. */
static int node_own(struct ranges_node **at)
{
	struct ranges_node *old = *at, *node;

	if (old->refs == 1)
		return 0;
	node = malloc(node_size(old->leaf));
	if (!node)
		return -ENOMEM;
	memcpy(node, old, node_size(old->leaf));
	node->refs = 1;
	if (!node->leaf)
		for (u32 i = 0; i < node->n; i++)
			node->child[i]->refs++;
	old->refs--;
	*at = node;
	return 0;
}

/* How many keys are not above address: by halves, without a branch to guess. */
static u32 keys_up_to(const struct ranges_node *node, u64 address)
{
	u32 k = 0;

	for (u32 step = FAN; step; step /= 2)
		k += k + step <= node->n && node->keys[k + step - 1] <= address ? step : 0;
	return k;
}

static u32 child_of(const struct ranges_node *node, u64 address)
{
	u32 k = keys_up_to(node, address);

	return k ? k - 1 : 0;
}

static struct range entry(const struct ranges_node *leaf, u32 i)
{
	return (struct range){leaf->keys[i], leaf->end[i], leaf->value[i]};
}

static void entries_copy(
	struct ranges_node *to, u32 at, const struct ranges_node *from, u32 first, u32 n)
{
	memmove(&to->keys[at], &from->keys[first], n * sizeof(u64));
	if (!to->leaf) {
		memmove(&to->child[at], &from->child[first], n * sizeof(to->child[0]));
		return;
	}
	memmove(&to->end[at], &from->end[first], n * sizeof(u64));
	memmove(&to->value[at], &from->value[first], n * sizeof(u32));
}

static void inner_insert(struct ranges_node *node, u32 at, u64 key, struct ranges_node *child)
{
	entries_copy(node, at + 1, node, at, node->n - at);
	node->keys[at] = key;
	node->child[at] = child;
	node->n++;
}

/* Splits the full child i of a node that has room. Both are this tree's own. At its end, where
 * addresses only grow, the new node begins empty but for one: nodes stay full. */
static int child_split(struct ranges_node *node, u32 i, u64 address)
{
	struct ranges_node *left = node->child[i], *right = node_new(left->leaf);
	u32 keep = address > left->keys[left->n - 1] ? left->n - 1U : left->n / 2U;

	if (!right)
		return -ENOMEM;
	right->n = (u16)(left->n - keep);
	entries_copy(right, 0, left, keep, right->n);
	left->n = (u16)keep;
	inner_insert(node, i + 1, right->keys[0], right);
	return 0;
}

static int root_grow(struct ranges *t)
{
	struct ranges_node *root = node_new(false);

	if (!root)
		return -ENOMEM;
	root->n = 1;
	root->keys[0] = 0;
	root->child[0] = t->root;
	t->root = root;
	return 0;
}

static int root_ready(struct ranges *t)
{
	int rc;

	if (!t->root) {
		t->root = node_new(true);
		return t->root ? 0 : -ENOMEM;
	}
	rc = node_own(&t->root);
	return rc || t->root->n < FAN ? rc : root_grow(t);
}

/* Full nodes are split on the way down, so there is room where a child is split. */
int ranges_add(struct ranges *t, struct range r)
{
	struct ranges_node *node;
	int rc = root_ready(t);
	u32 i;

	if (rc)
		return rc;
	for (node = t->root; !node->leaf; node = node->child[i]) {
		i = child_of(node, r.start);
		rc = node_own(&node->child[i]);
		if (!rc && node->child[i]->n == FAN) {
			rc = child_split(node, i, r.start);
			i = rc ? i : child_of(node, r.start);
		}
		if (rc)
			return rc;
	}
	i = keys_up_to(node, r.start);
	entries_copy(node, i + 1, node, i, node->n - i);
	node->keys[i] = r.start;
	node->end[i] = r.end;
	node->value[i] = r.value;
	node->n++;
	t->n++;
	t->changes++;
	return 0;
}

static void entry_drop(struct ranges_node *node, u32 i)
{
	entries_copy(node, i, node, i + 1, node->n - i - 1U);
	node->n--;
}

static void root_shrink(struct ranges *t)
{
	while (t->root && !t->root->leaf && t->root->n == 1) {
		struct ranges_node *old = t->root;

		t->root = old->child[0];
		free(old);
		if (t->root->refs > 1)
			return; /* another tree's too: it stays as it is until it is changed */
	}
}

int ranges_remove(struct ranges *t, u64 start)
{
	struct ranges_node *path[DEPTH], **at = &t->root;
	u32 child[DEPTH], depth = 0, k;
	struct range r;

	if (!ranges_find(t, start, &r) || r.start != start)
		return 0;
	for (;;) {
		int rc = node_own(at);

		if (rc)
			return rc;
		path[depth] = *at;
		if ((*at)->leaf)
			break;
		child[depth] = child_of(*at, start);
		at = &(*at)->child[child[depth]];
		depth++;
	}
	k = keys_up_to(path[depth], start) - 1;
	entry_drop(path[depth], k);
	t->n--;
	t->changes++;
	while (!path[depth]->n) {
		free(path[depth]);
		if (!depth) {
			t->root = NULL;
			return 0;
		}
		depth--;
		entry_drop(path[depth], child[depth]);
	}
	root_shrink(t);
	return 0;
}

static bool ranges_last_of(const struct ranges_node *node, struct range *ret)
{
	if (!node)
		return false;
	while (!node->leaf)
		node = node->child[node->n - 1];
	*ret = entry(node, node->n - 1U);
	return true;
}

static bool first_of(const struct ranges_node *node, struct range *ret)
{
	if (!node)
		return false;
	while (!node->leaf)
		node = node->child[0];
	*ret = entry(node, 0);
	return true;
}

/* The range with the last start up to address. A leaf may hold only later ones, when those that its
 * key stands for are gone: then it is the last one to the left. */
static bool before(const struct ranges *t, u64 address, struct range *ret)
{
	const struct ranges_node *node = t->root, *left = NULL;
	u32 k;

	if (!node)
		return false;
	while (!node->leaf) {
		k = child_of(node, address);
		if (k)
			left = node->child[k - 1];
		node = node->child[k];
	}
	k = keys_up_to(node, address);
	if (!k)
		return ranges_last_of(left, ret);
	*ret = entry(node, k - 1);
	return true;
}

bool ranges_find(const struct ranges *t, u64 address, struct range *ret)
{
	struct range r;

	if (!before(t, address, &r) || address >= r.end)
		return false;
	*ret = r;
	return true;
}

bool ranges_next(const struct ranges *t, u64 address, struct range *ret)
{
	const struct ranges_node *node = t->root, *right = NULL;
	u32 k;

	if (!node)
		return false;
	if (ranges_find(t, address, ret))
		return true;
	while (!node->leaf) {
		k = child_of(node, address);
		if (k + 1 < node->n)
			right = node->child[k + 1];
		node = node->child[k];
	}
	k = keys_up_to(node, address);
	if (k == node->n)
		return first_of(right, ret);
	*ret = entry(node, k);
	return true;
}

static void fetch(const void *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 64)
		__builtin_prefetch((const char *)p + i);
}

void ranges_find_all(const struct ranges *t, const u64 *addresses, u32 n, struct range *ret)
{
	const struct ranges_node *at[RANGES_BATCH];
	u32 k[RANGES_BATCH];

	memset(ret, 0, n * sizeof(*ret));
	if (!n || !t->root)
		return;
	for (u32 i = 0; i < n; i++)
		at[i] = t->root;
	while (!at[0]->leaf)
		for (u32 i = 0; i < n; i++) {
			at[i] = at[i]->child[child_of(at[i], addresses[i])];
			fetch(at[i], offsetof(struct ranges_node, child));
		}
	for (u32 i = 0; i < n; i++) {
		k[i] = keys_up_to(at[i], addresses[i]);
		fetch(&at[i]->end[k[i] ? k[i] - 1 : 0], 1);
		fetch(&at[i]->value[k[i] ? k[i] - 1 : 0], 1);
	}
	for (u32 i = 0; i < n; i++)
		if (!k[i]) /* before all of its leaf: it may be at the end of the one before */
			ranges_find(t, addresses[i], &ret[i]);
		else if (addresses[i] < at[i]->end[k[i] - 1])
			ret[i] = entry(at[i], k[i] - 1);
}

void ranges_copy(const struct ranges *from, struct ranges *to)
{
	*to = *from;
	if (to->root)
		to->root->refs++;
}

void ranges_free(struct ranges *t)
{
	if (t->root)
		node_put(t->root);
	*t = (struct ranges){};
}
