/* See users.h. */
#include "sys/users.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/units.h"
#include "sys/root.h"

#define FIELDS 8

/* Splits a line at its colons, in place. */
static u32 fields_split(char *line, char *ret[FIELDS])
{
	u32 n = 0;

	for (char *p = line; p && n < FIELDS;)
		ret[n++] = strsep(&p, ":");
	return n;
}

static bool id_parse(const char *text, u32 *ret)
{
	u64 id;

	if (parse_u64(text, 0, UINT32_MAX - 1, &id)) /* the last one means: no change */
		return false;
	*ret = (u32)id;
	return true;
}

static bool text_fits(char *to, size_t size, const char *from)
{
	return snprintf(to, size, "%s", from) < (int)size;
}

int user_parse(const char *passwd, const char *name, struct sys_user *ret)
{
	_cleanup_free_ char *text = strdup(passwd);
	char *rest = text, *f[FIELDS];
	struct sys_user u = {};

	if (!text)
		return -ENOMEM;
	while (rest) {
		if (fields_split(strsep(&rest, "\n"), f) != 7 || strcmp(f[0], name) != 0)
			continue;
		if (!id_parse(f[2], &u.uid) || !id_parse(f[3], &u.gid) ||
			!text_fits(u.name, sizeof(u.name), f[0]) ||
			!text_fits(u.home, sizeof(u.home), f[5]) ||
			!text_fits(u.shell, sizeof(u.shell), f[6]))
			return -EINVAL;
		u.groups[u.n_groups++] = u.gid;
		*ret = u;
		return 0;
	}
	return -ENOENT;
}

static bool users_list_has(char *list, const char *name)
{
	for (char *p = list; p;)
		if (!strcmp(strsep(&p, ","), name))
			return true;
	return false;
}

int user_groups_parse(const char *group, struct sys_user *u)
{
	_cleanup_free_ char *text = strdup(group);
	char *rest = text, *f[FIELDS];
	gid_t gid;

	if (!text)
		return -ENOMEM;
	while (rest) {
		if (fields_split(strsep(&rest, "\n"), f) != 4 || !users_list_has(f[3], u->name) ||
			!id_parse(f[2], &gid) || gid == u->gid)
			continue;
		if (u->n_groups == USER_GROUPS)
			return -E2BIG;
		u->groups[u->n_groups++] = gid;
	}
	return 0;
}

int user_name(uid_t uid, char *ret, size_t size)
{
	_cleanup_str_ struct str passwd = {};
	int rc = sys_read(&passwd, "/etc/passwd");
	char *rest = rc ? NULL : passwd.buf, *f[FIELDS];
	u32 id;

	while (rest)
		if (fields_split(strsep(&rest, "\n"), f) == 7 && id_parse(f[2], &id) && id == uid &&
			f[0][0] && text_fits(ret, size, f[0]))
			return 0;
	return rc ? rc : -ENOENT;
}

int user_find(const char *name, struct sys_user *ret)
{
	_cleanup_str_ struct str passwd = {}, group = {};
	struct sys_user u;
	int rc = sys_read(&passwd, "/etc/passwd");

	if (!rc)
		rc = user_parse(str_get(&passwd), name, &u);
	if (!rc && !sys_read(&group, "/etc/group"))
		rc = user_groups_parse(str_get(&group), &u);
	if (!rc)
		*ret = u;
	return rc;
}
