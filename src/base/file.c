/* See file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

/* once: the first read that gives less than it could is the last. */
static int read_all(int fd, size_t most, bool once, struct str *out)
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
		if (once && (size_t)n < sizeof(buf))
			break;
	}
	return out->failed ? -ENOMEM : 0;
}

int file_read_fd(int fd, size_t most, struct str *out)
{
	return read_all(fd, most, false, out);
}

static int read_at(int dirfd, const char *path, bool once, struct str *out)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);

	str_clear(out);
	return fd < 0 ? -errno : read_all(fd, FILE_READ_MAX, once, out);
}

int file_read_at(int dirfd, const char *path, struct str *out)
{
	return read_at(dirfd, path, false, out);
}

int file_read_once_at(int dirfd, const char *path, struct str *out)
{
	return read_at(dirfd, path, true, out);
}

int file_read(const char *path, struct str *out)
{
	return file_read_at(AT_FDCWD, path, out);
}

unsigned int file_room(unsigned int most)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) || lim.rlim_cur / 4 > most)
		return most;
	return (unsigned int)MAX(1UL, lim.rlim_cur / 4);
}

int file_open_regular(const char *path, struct stat *ret_st)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, ret_st))
		return -errno;
	return S_ISREG(ret_st->st_mode) ? take_fd(fd) : -EINVAL;
}
