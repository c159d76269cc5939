/* See module_open.h. */
#include "sym/module_open.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "sym/rootfs.h"

#define DELETED " (deleted)"
#define PROC_LINK_MAX 96

int module_stamp_read(int fd, struct module_stamp *ret)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	*ret = (struct module_stamp){
		.dev = st.st_dev,
		.ino = st.st_ino,
		.size = (u64)st.st_size,
		.mtime_ns = timespec_ns(&st.st_mtim),
	};
	return 0;
}

bool module_is_made(int fd)
{
	char magic[SELFMAG];
	struct stat st;

	return !fstat(fd, &st) && !st.st_nlink &&
	       (pread(fd, magic, SELFMAG, 0) != SELFMAG || memcmp(magic, ELFMAG, SELFMAG) != 0);
}

/* Whether a link of /proc names the path, be the file deleted or not. */
static bool link_names(const char *link, const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target) - 1);
	size_t len = strlen(path);

	if (n < 0)
		return false;
	target[n] = '\0';
	if (strncmp(target, path, len))
		return false;
	return !target[len] || !strcmp(target + len, DELETED);
}

/* The inode number decides. The device is no help: btrfs and overlayfs report another one to
 * stat than to the mapping. */
static bool fd_is_inode(int fd, u64 ino)
{
	struct stat st;

	return ino && !fstat(fd, &st) && st.st_ino == ino;
}

/* Through a link of /proc that leads to the mapped file itself, deleted or not, in whatever mount
 * namespace. The process may have mapped or run something else since: hence the check, by inode
 * or (where the file system gives stat other numbers) by name. */
static int proc_link_open(const char *link, const struct module_sight *sight, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	int rc = regular_open(link, &fd);

	if (rc)
		return rc;
	if (!fd_is_inode(fd, sight->ino) && !link_names(link, sight->path))
		return -ESTALE;
	*ret_fd = take_fd(fd);
	return 0;
}

static int path_open(const struct module_sight *sight, int root_fd, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	int rc = root_open_file(root_fd, sight->path, &fd);

	if (rc)
		return rc;
	if (sight->ino && !fd_is_inode(fd, sight->ino))
		return -ESTALE;
	*ret_fd = take_fd(fd);
	return 0;
}

int module_open_first(const struct module_sight *sight, int root_fd, int *ret_fd)
{
	char link[PROC_LINK_MAX];
	int rc;

	/* Needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN, and the mapping as it is now. */
	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", (int)sight->pid, sight->start,
		sight->end);
	rc = proc_link_open(link, sight, ret_fd);
	if (!rc || rc == -ETIMEDOUT)
		return rc;
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)sight->pid);
	if (!proc_link_open(link, sight, ret_fd))
		return 0;
	rc = path_open(sight, root_fd, ret_fd);
	if (!rc || root_fd == ROOT_OURS)
		return rc;
	/* maps of a process in a chroot shows paths from our root. Without an inode to compare
	 * there is no telling whose file this would be. */
	if (sight->ino && !path_open(sight, ROOT_OURS, ret_fd))
		return 0;
	return rc;
}

static int stamped_open(
	const char *path, int root_fd, const struct module_stamp *stamp, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	struct module_stamp now = {};
	int rc = root_open_file(root_fd, path, &fd);

	if (!rc)
		rc = module_stamp_read(fd, &now);
	if (rc)
		return rc;
	if (now.dev != stamp->dev || now.ino != stamp->ino || now.size != stamp->size ||
		now.mtime_ns != stamp->mtime_ns)
		return -ESTALE;
	*ret_fd = take_fd(fd);
	return 0;
}

int module_open_again(const char *path, int root_fd, const struct module_stamp *stamp, int *ret_fd)
{
	int rc = stamped_open(path, root_fd, stamp, ret_fd);

	if (rc && root_fd != ROOT_OURS && !stamped_open(path, ROOT_OURS, stamp, ret_fd))
		return 0;
	return rc;
}
