/* See run_as.h. */
#include "cmd/run_as.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

/* sudo tells who called it. A user that is in no file here has a number all the same. */
static bool sudo_user(struct sys_user *ret)
{
	const char *name = getenv("SUDO_USER"), *uid = getenv("SUDO_UID"),
		   *gid = getenv("SUDO_GID");
	u64 u, g;

	if (!name || !uid || !gid || parse_u64(uid, 1, UINT32_MAX - 1, &u) ||
		parse_u64(gid, 0, UINT32_MAX - 1, &g))
		return false;
	if (!user_find(name, ret) && ret->uid == u)
		return true;
	*ret = (struct sys_user){
		.uid = (uid_t)u, .gid = (gid_t)g, .groups = {(gid_t)g}, .n_groups = 1};
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	return true;
}

int run_as_from_options(
	const struct options *o, struct sys_user *ret, bool *ret_is, struct err *err)
{
	int rc;

	*ret_is = false;
	if (o->user && !o->argv)
		return err_set(err, -EINVAL, "--user works with -- CMD only");
	if (!o->argv)
		return 0;
	if (!o->user) {
		*ret_is = !geteuid() && sudo_user(ret);
		return 0;
	}
	rc = user_find(o->user, ret);
	if (rc == -ENOENT || rc == -EINVAL)
		return err_set(
			err, -EINVAL, "--user: there is no user '%.40s' in /etc/passwd", o->user);
	if (rc)
		return err_errno(err, rc, "--user %.40s", o->user);
	*ret_is = ret->uid != geteuid();
	if (*ret_is && geteuid()) {
		err_set(err, -EPERM, "--user: only root can run commands as others");
		return err_hint(err, "under sudo the command runs as you without --user");
	}
	return 0;
}
