/* See rootfs.h. */
#include "sym/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include "base/answering.h"

#define PROC_PATH_MAX 64

/* Turns an O_PATH descriptor, which touches nothing, into one to read from, if it is a regular
 * file. Looking first and opening by name second would leave a gap to swap the file in. */
static int path_fd_reopen(int path_fd, int *ret_fd)
{
	char path[PROC_PATH_MAX];
	struct stat st;
	int fd;

	if (fstat(path_fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOTSUP;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int regular_open(const char *path, int *ret_fd)
{
	_cleanup_close_ int path_fd = answering_open(AT_FDCWD, path, 0, 0);

	return path_fd < 0 ? path_fd : path_fd_reopen(path_fd, ret_fd);
}

int root_open_file(int root_fd, const char *path, int *ret_fd)
{
	_cleanup_close_ int path_fd = -1;

	if (path[0] != '/')
		return -EINVAL;
	if (root_fd == ROOT_OURS)
		return regular_open(path, ret_fd);
	/* RESOLVE_IN_ROOT: absolute links and ".." inside the root stay inside it. */
	path_fd = answering_open(root_fd, path, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	return path_fd < 0 ? path_fd : path_fd_reopen(path_fd, ret_fd);
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
