/* See keyvals.h. */
#include "sys/keyvals.h"

#include <string.h>

#include "sys/root.h"
#include "sys/scan.h"

void keyvals_free(struct keyvals *kv)
{
	vec_free(&kv->items);
	str_free(&kv->text);
}

static void skip_node(struct scan *s)
{
	struct scan at = *s;
	u64 node;

	if (scan_lit(&at, "Node ") && scan_u64(&at, &node))
		*s = at;
}

static bool keyvals_line_parse(struct scan *s, struct keyval *ret)
{
	struct scan name;
	u64 v;

	skip_node(s);
	if (!scan_word(s, &name))
		return false;
	if (name.end[-1] == ':')
		name.end--;
	if (scan_done(&name) || !scan_u64(s, &v))
		return false;
	if (scan_lit(s, "kB") && __builtin_mul_overflow(v, 1024ULL, &v))
		return false;
	scan_blanks(s);
	if (!scan_done(s) || !scan_copy(&name, ret->name, sizeof(ret->name)))
		return false;
	ret->value = v;
	return true;
}

int keyvals_parse(const char *text, struct keyvals *kv)
{
	struct keyval item;
	struct scan s;

	kv->items.n = 0;
	while (kv->items.n < KEYVALS_MAX && scan_line(&text, &s)) {
		if (!keyvals_line_parse(&s, &item))
			continue;
		if (vec_push(&kv->items, item)) {
			kv->items.n = 0;
			return -ENOMEM;
		}
	}
	return kv->items.n ? 0 : -EINVAL;
}

int keyvals_read(const char *path, struct keyvals *kv)
{
	int rc = sys_read(&kv->text, "%s", path);

	kv->items.n = 0;
	return rc ? rc : keyvals_parse(str_get(&kv->text), kv);
}

bool keyvals_get(const struct keyvals *kv, const char *name, u64 *ret)
{
	for (size_t i = 0; i < kv->items.n; i++) {
		const struct keyval *item = &kv->items.v[i];

		if (item->name[0] == name[0] && !strcmp(item->name, name)) {
			*ret = item->value;
			return true;
		}
	}
	return false;
}

u64 keyvals_get_or(const struct keyvals *kv, const char *name, u64 missing)
{
	keyvals_get(kv, name, &missing);
	return missing;
}
