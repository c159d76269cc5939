/* See unnamed.h. */
#include "cmd/unnamed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

/* Few bytes of a recording may stand for very many records: a tenth of what is free there stays so.
 */
static void space_keep(int fd)
{
	struct statvfs fs;
	struct rlimit limit;

	if (fstatvfs(fd, &fs) || getrlimit(RLIMIT_FSIZE, &limit))
		return;
	limit.rlim_cur = MIN((rlim_t)fs.f_bavail * fs.f_frsize / 10 * 9, limit.rlim_cur);
	setrlimit(RLIMIT_FSIZE, &limit);
}

int unnamed_open(int *ret, struct err *err)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_errno(
			err, -errno, "a temporary file in %.100s", dir && *dir ? dir : "/tmp");
	space_keep(fd);
	*ret = fd;
	return 0;
}
