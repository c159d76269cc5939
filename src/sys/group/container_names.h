/*
 * What a container or pod is called, from what its node has without asking anybody: the links to
 * logs that kubelet makes, and the state files of docker, containerd, podman and CRI-O. Owns where
 * these are and what is in them. Their contents may be chosen by who runs the container.
 */
#ifndef MEMWHY_SYS_CONTAINER_NAMES_H
#define MEMWHY_SYS_CONTAINER_NAMES_H

#include "base/util.h"

#define CONTAINER_NAME_MAX 256 /* Kubernetes: 253 */

struct container_names {
	char container[CONTAINER_NAME_MAX]; /* "" : not known */
	char pod[CONTAINER_NAME_MAX];
	char space[CONTAINER_NAME_MAX]; /* the pod's namespace */
};

/*
 * The names of a container by its id (64 digits), and of its pod by its UID (as in paths of groups,
 * '_' for '-' too). Either may be NULL. False: nothing is known about them.
 */
bool container_names_find(const char *id, const char *pod_uid, struct container_names *ret);

/* "POD_NAMESPACE_CONTAINER-ID.log", as in /var/log/containers. False: it is none. */
bool container_log_parse(const char *name, const char *id, struct container_names *ret);
/* "NAMESPACE_POD_UID", as in /var/log/pods. */
bool container_pod_parse(const char *name, const char *uid, struct container_names *ret);
/* A runtime's state file of one container: config.v2.json of docker, config.json of the others. */
void container_state_parse(const char *text, size_t n, struct container_names *ret);
/* containers.json of podman, with all of them. */
void container_list_parse(const char *text, size_t n, const char *id, struct container_names *ret);

#endif
