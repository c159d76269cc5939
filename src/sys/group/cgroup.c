/* See cgroup.h; reading a group's memory is in cgroup_memory.c. */
#include "sys/group/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "sys/process/proc.h"
#include "sys/root.h"
#include "sys/scan.h"

static int hierarchy_set(const struct mount *m, int version, struct cgroup_hierarchy *h)
{
	if (strlen(m->point) >= sizeof(h->mount) || strlen(m->root) >= sizeof(h->root))
		return -ENAMETOOLONG;
	h->version = version;
	strcpy(h->mount, m->point);
	strcpy(h->root, m->root);
	return 0;
}

int cgroup_mounts_find(const struct mounts *mounts, struct cgroup_mounts *ret)
{
	const struct mount *v1 = mounts_find(mounts, "cgroup", "memory");
	const struct mount *v2 = mounts_find(mounts, "cgroup2", NULL);
	struct cgroup_mounts found = {};
	int rc = 0;

	if (!v1 && !v2)
		return -ENOENT;
	if (v2)
		rc = hierarchy_set(v2, 2, &found.unified);
	if (!rc)
		rc = hierarchy_set(v1 ? v1 : v2, v1 ? 1 : 2, &found.memory);
	if (!rc)
		*ret = found;
	return rc;
}

int cgroup_mounts_read(struct cgroup_mounts *ret)
{
	_cleanup_mounts_ struct mounts mounts = {};
	int rc = mounts_read(&mounts);

	return rc ? rc : cgroup_mounts_find(&mounts, ret);
}

const char *cgroup_path(const struct cgroup *cg)
{
	return cg->dir[cg->path_at] ? cg->dir + cg->path_at : "/";
}

/* What follows prefix in path, if prefix ends where a component does; else NULL. "/" is a prefix
 * of every absolute path. */
static const char *path_below(const char *path, const char *prefix)
{
	size_t n = strlen(prefix);

	while (n && prefix[n - 1] == '/')
		n--;
	if (strncmp(path, prefix, n) != 0 || (path[n] && path[n] != '/'))
		return NULL;
	return path + n;
}

/* Appends path's components to cg->dir. Counts them as levels. */
static int components_add(const char *path, struct cgroup *cg)
{
	size_t at = strlen(cg->dir);
	size_t n;

	for (; *path; path += n) {
		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (!n || (n == 1 && path[0] == '.'))
			continue;
		if (n == 2 && !memcmp(path, "..", 2))
			return -EINVAL;
		if (at + 1 + n >= sizeof(cg->dir))
			return -ENAMETOOLONG;
		cg->dir[at++] = '/';
		memcpy(cg->dir + at, path, n);
		at += n;
		cg->dir[at] = '\0';
		cg->level++;
	}
	return 0;
}

static u32 depth_of(const char *path)
{
	u32 depth = 0;

	for (; *path; path += strcspn(path, "/")) {
		path += strspn(path, "/");
		depth += *path && strncmp(path, "..", 2) != 0;
	}
	return depth;
}

static int directory_id(const char *dir, u64 *ret)
{
	char path[PATH_MAX];
	struct stat st;
	int rc = sys_path(path, "%s", dir);

	if (rc)
		return rc;
	if (stat(path, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	*ret = st.st_ino;
	return 0;
}

/* path is relative to the mount point. */
static int resolve_in(const struct cgroup_hierarchy *h, const char *path, struct cgroup *ret)
{
	struct cgroup cg = {.version = h->version};
	int rc;

	if (!h->version)
		return -ENOENT;
	strcpy(cg.dir, h->mount);
	cg.path_at = strlen(cg.dir);
	rc = components_add(path, &cg);
	if (!rc)
		rc = directory_id(cg.dir, &cg.id);
	if (rc)
		return rc;
	cg.level += depth_of(h->root);
	*ret = cg;
	return 0;
}

/* path is relative to the hierarchy's true root, of which the mount may show a part. */
static int resolve_global(const struct cgroup_hierarchy *h, const char *path, struct cgroup *ret)
{
	const char *below = h->version ? path_below(path, h->root) : NULL;
	int rc = below ? resolve_in(h, below, ret) : -ENOENT;

	return rc == -ENOENT ? resolve_in(h, path, ret) : rc;
}

int cgroup_resolve(const struct cgroup_mounts *mounts, const char *path, struct cgroup *ret)
{
	const struct cgroup_hierarchy *each[] = {&mounts->memory, &mounts->unified};
	int rc = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(each); i++) {
		const char *below = each[i]->version ? path_below(path, each[i]->mount) : NULL;

		if (below)
			return resolve_in(each[i], below, ret);
	}
	for (size_t i = 0; rc == -ENOENT && i < ARRAY_SIZE(each); i++)
		rc = resolve_global(each[i], path, ret);
	return rc;
}

int cgroup_of_pid(const struct cgroup_mounts *mounts, int pid, struct cgroup *ret)
{
	const struct cgroup_hierarchy *h = &mounts->memory;
	struct proc_cgroup membership;
	const char *path;
	int rc = proc_cgroup_read(pid, &membership);

	if (rc)
		return rc;
	path = h->version == 1 ? membership.v1_memory : membership.v2;
	/* "/.." leads out of this cgroup namespace. */
	if (path[0] != '/' || !strncmp(path, "/..", 3))
		return -ENOENT;
	return resolve_global(h, path, ret);
}

void cgroup_ids_free(struct cgroup_ids *ids)
{
	vec_each (entry, &ids->list)
		free(entry->path);
	vec_free(&ids->list);
}

static int id_add(struct cgroup_ids *ids, u64 id, const char *parent, const char *name)
{
	struct cgroup_id entry = {.id = id};

	if (ids->list.n >= CGROUP_IDS_MAX) {
		ids->truncated = true;
		return 0;
	}
	if (asprintf(&entry.path, "%s/%s", strcmp(parent, "/") ? parent : "", name) < 0)
		return -ENOMEM;
	if (vec_push(&ids->list, entry)) {
		free(entry.path);
		return -ENOMEM;
	}
	return 0;
}

static int cgroup_children_add(
	const struct cgroup_hierarchy *h, size_t parent, struct cgroup_ids *ids)
{
	const char *path = ids->list.v[parent].path;
	struct dirent *entry;
	char dir_path[PATH_MAX];
	DIR *dir;
	int rc = sys_path(dir_path, "%s%s", h->mount, path);

	if (rc)
		return 0;
	dir = opendir(dir_path);
	if (!dir)
		return parent ? 0 : -errno;
	while (!rc && !ids->truncated && (entry = readdir(dir))) {
		if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
			strcmp(entry->d_name, "..") != 0)
			rc = id_add(ids, entry->d_ino, path, entry->d_name);
	}
	closedir(dir);
	return rc;
}

static int by_id(const void *a, const void *b)
{
	const struct cgroup_id *x = a;
	const struct cgroup_id *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

int cgroup_ids_load(const struct cgroup_hierarchy *h, struct cgroup_ids *ret)
{
	_cleanup_cgroup_ids_ struct cgroup_ids ids = {};
	u64 id;
	int rc = directory_id(h->mount, &id);

	if (!rc)
		rc = id_add(&ids, id, "/", "");
	/* The list is also the queue of directories still to be read. */
	for (size_t i = 0; !rc && i < ids.list.n; i++)
		rc = cgroup_children_add(h, i, &ids);
	if (rc)
		return rc;
	qsort(ids.list.v, ids.list.n, sizeof(ids.list.v[0]), by_id);
	cgroup_ids_free(ret);
	*ret = ids;
	ids = (struct cgroup_ids){};
	return 0;
}

int cgroup_ids_renew(const struct cgroup_hierarchy *h, struct cgroup_ids *ids, bool must)
{
	u64 begun = clock_mono_ns(), since = begun - ids->walked_ns, now;
	u64 debt = ids->debt_ns - MIN(ids->debt_ns, since / CGROUP_IDS_PART);
	u32 walks = ids->walks + 1;
	int rc;

	if (!must && (since < CGROUP_IDS_APART_NS || debt >= CGROUP_IDS_CREDIT_NS))
		return -EAGAIN;
	rc = cgroup_ids_load(h, ids);
	now = clock_mono_ns();
	ids->walks = walks;
	ids->walked_ns = now;
	ids->debt_ns = debt + now - begun;
	return rc;
}

const char *cgroup_ids_path(const struct cgroup_ids *ids, u64 id)
{
	const struct cgroup_id key = {.id = id};
	const struct cgroup_id *hit =
		ids->list.n ? bsearch(&key, ids->list.v, ids->list.n, sizeof(key), by_id) : NULL;

	return hit ? hit->path : NULL;
}
