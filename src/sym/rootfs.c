/* See rootfs.h. */
#include "sym/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include "base/answering.h"

#define PROC_PATH_MAX 64

int regular_open(const char *path, int *ret_fd)
{
	int fd = answering_open_to_read(AT_FDCWD, path, 0);

	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

int root_open_file(int root_fd, const char *path, int *ret_fd)
{
	int fd;

	if (path[0] != '/')
		return -EINVAL;
	if (root_fd == ROOT_OURS)
		return regular_open(path, ret_fd);
	/* RESOLVE_IN_ROOT: absolute links and ".." inside the root stay inside it. */
	fd = answering_open_to_read(root_fd, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

int fd_path(int fd, char ret[PATH_MAX])
{
	char link[PROC_PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, ret, PATH_MAX - 1);
	if (n < 0)
		return -ENOENT;
	ret[n] = '\0';
	return 0;
}

static void proc_path(char buf[PROC_PATH_MAX], pid_t pid, const char *name)
{
	if (pid)
		snprintf(buf, PROC_PATH_MAX, "/proc/%d/%s", (int)pid, name);
	else
		snprintf(buf, PROC_PATH_MAX, "/proc/self/%s", name);
}

int root_identify(pid_t pid, struct root_id *ret)
{
	struct stat ns, root;
	char path[PROC_PATH_MAX];
	int rc;

	proc_path(path, pid, "ns/mnt");
	if (stat(path, &ns))
		return -errno;
	proc_path(path, pid, "root");
	rc = stat_known(AT_FDCWD, path, 0, &root);
	if (rc)
		return rc;
	*ret = (struct root_id){
		.namespace_ino = ns.st_ino,
		.dev = root.st_dev,
		.ino = root.st_ino,
	};
	return 0;
}

int root_open(pid_t pid, int *ret_fd)
{
	char path[PROC_PATH_MAX];
	int fd;

	proc_path(path, pid, "root");
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}
