/* See memfs.h. */
#include "sys/memory/memfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/answering.h"
#include "sys/mounts.h"
#include "sys/process/proc.h"
#include "sys/root.h"

void memfs_free(struct memfs_list *l)
{
	vec_each (m, &l->list)
		free(m->point);
	vec_free(&l->list);
	l->cut = l->refused = false;
}

bool memfs_is(const char *fstype)
{
	return !strcmp(fstype, "tmpfs") || !strcmp(fstype, "devtmpfs");
}

/* Without a limit shmem_statfs() (mm/shmem.c, 5.10 to 6.18) leaves all numbers at 0. */
int memfs_used(const char *point, struct memfs *ret)
{
	struct statfs fs;
	struct stat st;
	char path[PATH_MAX];
	_cleanup_close_ int fd =
		sys_path(path, "%s", point) ? -1 : answering_open(AT_FDCWD, path, 0, 0);

	if (fd < 0 || fstatfs(fd, &fs) || fstat(fd, &st) ||
		(fs.f_type != TMPFS_MAGIC && fs.f_type != RAMFS_MAGIC))
		return -ENOENT;
	ret->device = st.st_dev;
	ret->used_bytes = fs.f_blocks ? (u64)(fs.f_blocks - fs.f_bfree) * (u64)fs.f_bsize : 0;
	ret->inodes = fs.f_files > fs.f_ffree ? fs.f_files - fs.f_ffree : 0;
	ret->most_inodes = fs.f_files;
	ret->unlimited = !fs.f_blocks;
	return 0;
}

static bool is_known(const struct memfs_list *l, u64 device)
{
	vec_each (m, &l->list)
		if (m->device == device)
			return true;
	return false;
}

static int mount_add(struct memfs_list *l, u32 pid, const char *point)
{
	char path[PATH_MAX];
	struct memfs m = {.pid = pid};
	int n = pid ? snprintf(path, sizeof(path), "/proc/%u/root%s", pid, point)
		    : snprintf(path, sizeof(path), "%s", point);
	int rc;

	if (n < 0 || (size_t)n >= sizeof(path) || memfs_used(path, &m) || is_known(l, m.device))
		return 0;
	if (l->list.n >= MEMFS_MAX) {
		l->cut = true;
		return 0;
	}
	m.point = strdup(point);
	rc = m.point ? vec_push(&l->list, m) : -ENOMEM;
	if (rc)
		free(m.point);
	return rc;
}

static int namespace_add(struct memfs_list *l, u32 pid)
{
	_cleanup_mounts_ struct mounts mounts = {};
	_cleanup_str_ struct str text = {};
	int rc = pid ? sys_read(&text, "/proc/%u/mountinfo", pid) : mounts_read(&mounts);

	if (!rc && pid)
		rc = mounts_parse(str_get(&text), &mounts);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	vec_each (m, &mounts.list)
		if (!rc && memfs_is(m->fstype))
			rc = mount_add(l, pid, m->point);
	return rc;
}

static u64 namespace_of(const char *pid)
{
	char path[PATH_MAX];
	struct stat st;

	return sys_path(path, "/proc/%s/ns/mnt", pid) || stat(path, &st) ? 0 : st.st_ino;
}

/* Remembers it. False: it is known, or there is no more room. */
static bool is_new(struct memfs_list *l, u64 *seen, size_t *n, u64 ns)
{
	for (size_t i = 0; i < *n; i++)
		if (seen[i] == ns)
			return false;
	if (*n == MEMFS_NAMESPACES) {
		l->cut = true;
		return false;
	}
	seen[(*n)++] = ns;
	return true;
}

int memfs_read(struct memfs_list *l)
{
	_cleanup_proc_iter_ struct proc_iter it = {};
	u64 seen[MEMFS_NAMESPACES] = {namespace_of("self")};
	size_t n = 1;
	int pid, rc;

	memfs_free(l);
	rc = namespace_add(l, 0);
	if (rc || proc_iter_open(&it))
		return rc;
	while (!rc && proc_iter_next(&it, &pid)) {
		char number[16];
		u64 ns;

		snprintf(number, sizeof(number), "%d", pid);
		ns = namespace_of(number);
		l->refused |= !ns;
		if (ns && is_new(l, seen, &n, ns))
			rc = namespace_add(l, (u32)pid);
	}
	return rc;
}
