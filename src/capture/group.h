/*
 * The control group that a capture is about, as the memory controller knows it. Owns how it is
 * found by the id of the scope.
 */
#ifndef MEMWHY_CAPTURE_GROUP_H
#define MEMWHY_CAPTURE_GROUP_H

#include "capture/capture.h"
#include "sys/group/cgroup.h"

/* -EOPNOTSUPP: the scope is of a hierarchy without the memory controller; -ENOENT: there is no such
 * group, or none was asked for. */
int capture_group(const struct capture *c, const struct cgroup_mounts *mounts, struct cgroup *ret);

#endif
