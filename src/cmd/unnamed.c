/* See unnamed.h. */
#include "cmd/unnamed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

int unnamed_open(int *ret, struct err *err)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_errno(
			err, -errno, "a temporary file in %.100s", dir && *dir ? dir : "/tmp");
	*ret = fd;
	return 0;
}
