/* -C: the control group of a container, a pod or a unit, by its id or name. */
#ifndef MEMWHY_CMD_CONTAINER_H
#define MEMWHY_CMD_CONTAINER_H

#include "base/err.h"
#include "base/str.h"
#include "sys/group/cgroup.h"

/*
 * The one group that answers to the word (event/cgroup_name.h), or has it as its short name; its
 * short name is appended to name. -EINVAL: there is none or more than one; err says which there
 * are.
 */
int container_find(const struct cgroup_mounts *mounts, const char *word, struct cgroup *ret,
	struct str *name, struct err *err);

#endif
