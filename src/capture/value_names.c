/* See value_names.h. */
#include "capture/value_names.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "capture/kbtf.h"
#include "sys/kernel/tracefs.h"
#include "sys/root.h"

struct stripped {
	int (*fn)(void *arg, u64 value, const char *name);
	void *arg;
	const char *prefix;
};

static int stripped_take(void *arg, u64 value, const char *name)
{
	const struct stripped *s = arg;
	size_t n = strlen(s->prefix);
	char lower[TRACEPOINT_NAME_MAX];
	size_t i;

	name += strncmp(name, s->prefix, n) ? 0 : n;
	for (i = 0; name[i] && i < sizeof(lower) - 1; i++)
		lower[i] = (char)tolower((unsigned char)name[i]);
	lower[i] = '\0';
	return s->fn(s->arg, value, lower);
}

static int format_read(
	const struct value_names *of, int (*fn)(void *arg, u64 value, const char *name), void *arg)
{
	_cleanup_str_ struct str text = {};
	char dir[PATH_MAX];
	int rc = tracefs_find(dir);

	if (!rc)
		rc = sys_read(&text, "%s/events/%s/%s/format", dir, of->category, of->tracepoint);
	return rc ? rc : tracepoint_symbols_parse(str_get(&text), fn, arg);
}

static int value_names_table_read(
	const struct value_names *of, int (*fn)(void *arg, u64 value, const char *name), void *arg)
{
	int rc, n = 0;

	for (; of->table[n]; n++) {
		rc = fn(arg, (u64)n, of->table[n]);
		if (rc < 0)
			return rc;
	}
	return n;
}

int value_names_read(const struct value_names *of,
	int (*fn)(void *arg, u64 value, const char *name), void *arg, const char **ret_method)
{
	struct stripped stripped = {fn, arg, of->prefix};
	int rc = format_read(of, fn, arg), btf;

	*ret_method = "format of a tracepoint";
	if (rc > 0)
		return rc;
	btf = kbtf_enum(of->type, stripped_take, &stripped);
	*ret_method = "kernel BTF";
	if (btf > 0)
		return btf;
	*ret_method = "table of Linux 5.10 to 6.18";
	return of->table ? value_names_table_read(of, fn, arg) : rc;
}
