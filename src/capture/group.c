/* See group.h. */
#include "capture/group.h"

#include <errno.h>

int capture_group(const struct capture *c, const struct cgroup_mounts *mounts, struct cgroup *ret)
{
	_cleanup_cgroup_ids_ struct cgroup_ids ids = {};
	const struct cgroup_hierarchy *h = &mounts->memory;
	const char *path = NULL;

	if (!c->opt.scope.cgroup_id)
		return -ENOENT;
	if (h->version != (c->opt.cgroup_version == SCOPE_CGROUP_V1 ? 1 : 2))
		return -EOPNOTSUPP;
	if (!cgroup_ids_load(h, &ids))
		path = cgroup_ids_path(&ids, c->opt.scope.cgroup_id);
	return path ? cgroup_resolve(mounts, path, ret) : -ENOENT;
}
