/* See group_names.h. */
#include "serve/group_names.h"

#include <string.h>

#include "event/cgroup_name.h"

enum group_named group_names(const char *path, struct container_names *ret)
{
	struct cgroup_part container, pod;
	bool of_container = cgroup_container(path, &container), of_pod = cgroup_pod(path, &pod);
	_cleanup_free_ char *id = of_container ? strndup(container.name, container.length) : NULL;
	_cleanup_free_ char *uid = of_pod ? strndup(pod.name, pod.length) : NULL;

	*ret = (struct container_names){};
	if (!of_container && !of_pod)
		return GROUP_PLAIN;
	container_names_find(id, uid, ret);
	return (of_container && !*ret->container) || (of_pod && !*ret->pod) ? GROUP_UNNAMED
									    : GROUP_NAMED;
}
