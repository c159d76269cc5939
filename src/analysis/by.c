/* See by.h. */
#include "analysis/by.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"

static int key_find(const char *word, size_t n, const char *const *keys)
{
	for (int i = 0; keys[i]; i++)
		if (strlen(keys[i]) == n && !strncmp(keys[i], word, n))
			return i;
	return -ENOENT;
}

static int by_unknown(const char *word, size_t n, const char *const *keys, struct err *err)
{
	_cleanup_str_ struct str all = {};

	for (int i = 0; keys[i]; i++)
		str_addf(&all, "%s%s", i ? ", " : "", keys[i]);
	err_set(err, -EINVAL, "--by: '%.*s' is not something this command counts by",
		(int)MIN(n, 40UL), word);
	return err_hint(err, "--by takes: %s", str_get(&all));
}

int by_parse(const char *text, const char *const *keys, u32 *ret, struct err *err)
{
	u32 mask = 0;

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ",");
		int i = key_find(p, n, keys);

		if (i < 0)
			return by_unknown(p, n, keys, err);
		mask |= 1U << i;
		p += n;
		p += *p == ',';
	}
	*ret = mask;
	return 0;
}

size_t by_columns(
	const struct by_column *all, size_t n, u32 by, struct column *cols, size_t *ret_index)
{
	size_t n_cols = 0;

	for (size_t i = 0; i < n; i++) {
		if (all[i].keys && !(all[i].keys & by))
			continue;
		ret_index[n_cols] = i;
		cols[n_cols++] = all[i].col;
	}
	return n_cols;
}
