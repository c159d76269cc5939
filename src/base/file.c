/* See file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>

int file_read_fd(int fd, size_t most, struct str *out)
{
	char buf[16384];
	ssize_t n;

	str_clear(out);
	while ((n = read(fd, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (out->len + (size_t)n > most)
			return -EFBIG;
		str_addn(out, buf, (size_t)n);
	}
	return out->failed ? -ENOMEM : 0;
}

int file_read_at(int dirfd, const char *path, struct str *out)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);

	str_clear(out);
	return fd < 0 ? -errno : file_read_fd(fd, FILE_READ_MAX, out);
}

int file_read(const char *path, struct str *out)
{
	return file_read_at(AT_FDCWD, path, out);
}
