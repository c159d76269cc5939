/*
 * Users as /etc/passwd and /etc/group have them. A static program has no other source: users of a
 * directory service are known by number only.
 */
#ifndef MEMWHY_SYS_USERS_H
#define MEMWHY_SYS_USERS_H

#include <sys/types.h>

#include "base/util.h"

#define USER_GROUPS 256

struct sys_user {
	uid_t uid;
	gid_t gid;
	char name[64], home[256], shell[128]; /* "": not known */
	gid_t groups[USER_GROUPS];            /* the one above too */
	u32 n_groups;
};

/* -ENOENT: no such user; -E2BIG: in more groups than there is room for; or why it cannot be read.
 */
int user_find(const char *name, struct sys_user *ret);
/* The name of the user with this number, in `size` bytes. */
int user_name(uid_t uid, char *ret, size_t size);
/* The parts of that: a line of passwd, whose name is this; all lines of group. */
int user_parse(const char *passwd, const char *name, struct sys_user *ret);
int user_groups_parse(const char *group, struct sys_user *u);

#endif
