/* See kernelfs.h. */
#include "sys/kernel/kernelfs.h"

#include <errno.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "sys/mounts.h"
#include "sys/root.h"

static const struct {
	const char *type;
	const char *usual; /* where people and tools expect it */
} known[KERNELFS_N] = {
	[KERNELFS_TRACE] = {"tracefs", "/sys/kernel/tracing"},
	[KERNELFS_DEBUG] = {"debugfs", "/sys/kernel/debug"},
};

static struct {
	char dir[PATH_MAX]; /* "": not looked for yet */
	int rc;
} found[KERNELFS_N];

static int mount_path(char ret_dir[PATH_MAX], const struct mount *m, const char *sub)
{
	int n = snprintf(ret_dir, PATH_MAX, "%s%s", m->point, sub);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static int mounted_find(enum kernelfs fs, char ret_dir[PATH_MAX])
{
	_cleanup_mounts_ struct mounts mounts = {};
	const struct mount *m;
	int rc = mounts_read(&mounts);

	if (rc)
		return rc;
	m = mounts_find(&mounts, known[fs].type, NULL);
	if (m)
		return mount_path(ret_dir, m, "");
	m = fs == KERNELFS_TRACE ? mounts_find(&mounts, known[KERNELFS_DEBUG].type, NULL) : NULL;
	return m ? mount_path(ret_dir, m, "/tracing") : -ENOENT;
}

/* A mount that no directory has; its descriptor, or -errno. */
static int detached_mount(const char *type)
{
	_cleanup_close_ int context = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	int fd;

	if (context < 0)
		return errno == ENODEV || errno == ENOSYS ? -ENOENT : -errno;
	if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -errno;
	fd = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC,
		MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Of the running system. */
static void kernelfs_look(enum kernelfs fs)
{
	int fd;

	found[fs].rc = mounted_find(fs, found[fs].dir);
	if (found[fs].rc != -ENOENT)
		return;
	fd = detached_mount(known[fs].type);
	found[fs].rc = MIN(fd, 0);
	if (fd >= 0) /* which stays open */
		snprintf(found[fs].dir, PATH_MAX, "/proc/self/fd/%d", fd);
}

int kernelfs_find(enum kernelfs fs, char ret_dir[PATH_MAX])
{
	if (sys_root()[0]) /* a captured tree */
		return mounted_find(fs, ret_dir);
	if (!found[fs].dir[0] && !found[fs].rc)
		kernelfs_look(fs);
	if (!found[fs].rc)
		snprintf(ret_dir, PATH_MAX, "%s", found[fs].dir);
	return found[fs].rc;
}

/* The file system among those below which the path is, and how long that part of it is. */
static int usual_find(const char *path, size_t *ret_len)
{
	for (int fs = 0; fs < KERNELFS_N; fs++) {
		size_t n = strlen(known[fs].usual);

		if (strncmp(path, known[fs].usual, n) != 0 || (path[n] && path[n] != '/'))
			continue;
		*ret_len = n;
		return fs;
	}
	return -ENOENT;
}

void kernelfs_path(char path[PATH_MAX])
{
	char dir[PATH_MAX];
	size_t usual, n;
	int fs = sys_root()[0] ? -ENOENT : usual_find(path, &usual);

	if (fs < 0 || kernelfs_find((enum kernelfs)fs, dir))
		return;
	n = strlen(dir);
	if (n + strlen(path + usual) >= PATH_MAX)
		return;
	memmove(path + n, path + usual, strlen(path + usual) + 1);
	memcpy(path, dir, n);
}

void kernelfs_forget(void)
{
	memset(found, 0, sizeof(found));
}
