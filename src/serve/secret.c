/* See secret.h. */
#include "serve/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/file.h"

#define SECRET_MAX (1UL << 20) /* bytes */

/* What is looked at is what is then read, and opening it waits for nobody. */
static int secret_open(const char *path, struct stat *ret_st)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, ret_st))
		return -errno;
	return S_ISREG(ret_st->st_mode) ? take_fd(fd) : -EINVAL;
}

int secret_read(const char *option, const char *path, struct str *ret, struct err *err)
{
	struct stat st = {};
	_cleanup_close_ int fd = secret_open(path, &st);
	int rc = fd;

	if (fd >= 0 && st.st_mode & 077) {
		err_set(err, -EPERM, "%s: others may read %s", option, path);
		return err_hint(err, "chmod 600 %s", path);
	}
	if (fd >= 0 && st.st_uid && st.st_uid != geteuid()) {
		err_set(err, -EPERM, "%s: %s belongs to another user", option, path);
		return err_hint(err, "chown %u %s", (u32)geteuid(), path);
	}
	if (fd >= 0)
		rc = file_read_fd(fd, SECRET_MAX, ret);
	return rc ? err_errno(err, rc, "%s: cannot read %s", option, path) : 0;
}
