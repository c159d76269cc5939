/* See container_names.h. */
#include "sys/group/container_names.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json_read.h"
#include "sys/root.h"

#define STATE_MAX (4L << 20) /* bytes of a state file */
#define LOGS "/var/log/containers"
#define PODS "/var/log/pods"
#define TASKS "/run/containerd/io.containerd.runtime.v2.task"

static void name_set(char to[CONTAINER_NAME_MAX], const char *text, size_t n)
{
	if (n && n < CONTAINER_NAME_MAX && !*to) {
		memcpy(to, text, n);
		to[n] = '\0';
	}
}

static void text_set(char to[CONTAINER_NAME_MAX], const char *text)
{
	name_set(to, text, strlen(text));
}

bool container_log_parse(const char *name, const char *id, struct container_names *ret)
{
	size_t n = strlen(name), m = strlen(id);
	const char *first = strchr(name, '_'), *second = first ? strchr(first + 1, '_') : NULL;
	const char *dash = n > m + 5 ? name + n - m - 5 : NULL;

	if (!second || !dash || dash <= second || *dash != '-' || strncmp(dash + 1, id, m) != 0 ||
		strcmp(dash + 1 + m, ".log") != 0)
		return false;
	name_set(ret->pod, name, (size_t)(first - name));
	name_set(ret->space, first + 1, (size_t)(second - first - 1));
	name_set(ret->container, second + 1, (size_t)(dash - second - 1));
	return true;
}

bool container_pod_parse(const char *name, const char *uid, struct container_names *ret)
{
	const char *first = strchr(name, '_'), *second = first ? strchr(first + 1, '_') : NULL;

	if (!second || strlen(second + 1) != strlen(uid))
		return false;
	for (const char *a = second + 1, *b = uid; *a; a++, b++)
		if (*a != *b && !(*a == '-' && *b == '_'))
			return false;
	name_set(ret->space, name, (size_t)(first - name));
	name_set(ret->pod, first + 1, (size_t)(second - first - 1));
	return true;
}

/* Where the names are: members of an object of this name, at this depth. */
static const struct known {
	u32 depth;
	const char *parent, *key;
	size_t to;
} known[] = {
#define TO(what) offsetof(struct container_names, what)
	{2, "annotations", "io.kubernetes.cri.container-name", TO(container)}, /* containerd */
	{2, "annotations", "io.kubernetes.cri.sandbox-name", TO(pod)},
	{2, "annotations", "io.kubernetes.cri.sandbox-namespace", TO(space)},
	{2, "annotations", "io.kubernetes.container.name", TO(container)}, /* CRI-O */
	{2, "annotations", "io.kubernetes.pod.name", TO(pod)},
	{2, "annotations", "io.kubernetes.pod.namespace", TO(space)},
	{2, "annotations", "nerdctl/name", TO(container)},
	{3, "Labels", "io.kubernetes.container.name", TO(container)}, /* docker under kubelet */
	{3, "Labels", "io.kubernetes.pod.name", TO(pod)},
	{3, "Labels", "io.kubernetes.pod.namespace", TO(space)},
	{1, "", "Name", TO(container)}, /* docker: "/name" */
#undef TO
};

static void state_take(void *arg, const struct json_string *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		const struct known *k = &known[i];

		if (s->depth == k->depth && !strcmp(s->key, k->key) &&
			!strcmp(s->parent, k->parent))
			text_set((char *)arg + k->to,
				s->value + (k->depth == 1 && *s->value == '/'));
	}
}

void container_state_parse(const char *text, size_t n, struct container_names *ret)
{
	json_each_string(text, n, state_take, ret);
}

struct listed {
	const char *id;
	bool is_it; /* the members that come are of the container that is meant */
	struct container_names *ret;
};

static void list_take(void *arg, const struct json_string *s)
{
	struct listed *l = arg;

	if (s->depth == 2 && !strcmp(s->key, "id"))
		l->is_it = !strcmp(s->value, l->id);
	if (s->depth == 3 && l->is_it && !strcmp(s->key, "names"))
		text_set(l->ret->container, s->value);
}

void container_list_parse(const char *text, size_t n, const char *id, struct container_names *ret)
{
	struct listed l = {.id = id, .ret = ret};

	json_each_string(text, n, list_take, &l);
}

/* False: there is no such file, or it is none of a runtime's. */
static bool state_read(struct str *text, const char *path)
{
	_cleanup_close_ int fd = -1;
	char real[PATH_MAX];
	struct stat st;

	if (!sys_path(real, "%s", path))
		fd = file_open_regular(real, &st);
	return fd >= 0 && st.st_size <= STATE_MAX && !file_read_fd(fd, STATE_MAX, text);
}

static void state_look(const char *path, struct container_names *ret)
{
	_cleanup_str_ struct str text = {};

	if (state_read(&text, path))
		container_state_parse(str_get(&text), text.len, ret);
}

static DIR *dir_open(const char *dir)
{
	char path[PATH_MAX];

	return sys_path(path, "%s", dir) ? NULL : opendir(path);
}

/* The entry of a directory that names it. */
static void entries_look(const char *dir, const char *what,
	bool (*parse)(const char *, const char *, struct container_names *),
	struct container_names *ret)
{
	DIR *d = dir_open(dir);
	struct dirent *e;

	while (d && (e = readdir(d)) && !parse(e->d_name, what, ret))
		;
	if (d)
		closedir(d);
}

/* containerd keeps a directory for each of its own namespaces. */
static void tasks_look(const char *id, struct container_names *ret)
{
	DIR *d = dir_open(TASKS);
	struct dirent *e;
	char path[PATH_MAX];

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), TASKS "/%s/%s/config.json", e->d_name, id);
		state_look(path, ret);
	}
	if (d)
		closedir(d);
}

static void podman_look(const char *id, struct container_names *ret)
{
	_cleanup_str_ struct str text = {};

	if (state_read(&text, "/var/lib/containers/storage/overlay-containers/containers.json"))
		container_list_parse(str_get(&text), text.len, id, ret);
}

static void states_look(const char *id, struct container_names *ret)
{
	static const char *const files[] = {
		"/var/lib/docker/containers/%s/config.v2.json",
		"/run/containers/storage/overlay-containers/%s/userdata/config.json",
		"/var/lib/containers/storage/overlay-containers/%s/userdata/config.json",
	};
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(files) && !*ret->container; i++) {
		const char *here = strstr(files[i], "%s");

		snprintf(path, sizeof(path), "%.*s%s%s", (int)(here - files[i]), files[i], id,
			here + 2);
		state_look(path, ret);
	}
	if (!*ret->container)
		tasks_look(id, ret);
	if (!*ret->container)
		podman_look(id, ret);
}

bool container_names_find(const char *id, const char *pod_uid, struct container_names *ret)
{
	*ret = (struct container_names){};
	if (id)
		entries_look(LOGS, id, container_log_parse, ret);
	if (pod_uid && !*ret->pod)
		entries_look(PODS, pod_uid, container_pod_parse, ret);
	if (id && !*ret->container)
		states_look(id, ret);
	return *ret->container || *ret->pod;
}
