/*
 * What the path of a control group says of who made it: a container and its runtime, a pod of
 * Kubernetes or podman, a unit of systemd. Pure text: no runtime is asked, and a path may hold
 * anything.
 */
#ifndef MEMWHY_EVENT_CGROUP_NAME_H
#define MEMWHY_EVENT_CGROUP_NAME_H

#include "base/str.h"
#include "base/types.h"

#define CONTAINER_SHORT 12 /* digits of an id that are shown, as the runtimes' own tools do */

enum cgroup_part_kind {
	CGROUP_OTHER,
	CGROUP_CONTAINER,
	CGROUP_POD,
	CGROUP_UNIT, /* a service, scope, socket, mount or swap */
};

/* One component of a path. */
struct cgroup_part {
	enum cgroup_part_kind kind;
	const char *runtime; /* of a container: "docker", …; "container" where it does not tell */
	const char *name;    /* in the path: a container's id, a pod's UID, a unit */
	size_t length;       /* of name */
	const char *end;     /* of the component */
};

/* Begin with {.end = path}. False: there is no further component. */
bool cgroup_part_next(const char *path, struct cgroup_part *part);

/*
 * Appends a short name: "docker:0123456789ab", "pod:UID", "nginx.service", "user@1000/a.scope", and
 * what is below it. The innermost container, else pod, else unit counts. False, and nothing is
 * appended: the path names none.
 */
bool cgroup_name_add(struct str *out, const char *path);
/* Is it the path of this group, or of one below it? All are below the root. */
bool cgroup_path_within(const char *path, const char *above);
/* The innermost container. False: there is none. */
bool cgroup_container(const char *path, struct cgroup_part *ret);
/* The innermost pod, likewise. */
bool cgroup_pod(const char *path, struct cgroup_part *ret);
/*
 * Does this part answer to the word: the first digits of an id (at least CGROUP_DIGITS), with or
 * without "docker:" and the like before them, or the name of a unit, with or without its suffix?
 */
#define CGROUP_DIGITS 4
bool cgroup_part_answers(const struct cgroup_part *part, const char *word);

#endif
