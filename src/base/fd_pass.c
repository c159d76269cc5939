/* See fd_pass.h. */
#include "base/fd_pass.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int fd_send(int socket, const void *data, size_t n, int fd)
{
	struct iovec part = {.iov_base = (void *)data, .iov_len = n};
	union control c = {};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *h;
	ssize_t sent;

	if (fd >= 0) {
		m.msg_control = c.bytes;
		m.msg_controllen = sizeof(c.bytes);
		h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(h), &fd, sizeof(fd));
	}
	do {
		sent = sendmsg(socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : (size_t)sent == n ? 0 : -EIO;
}

int fd_receive(int socket, void *data, size_t n, int *ret_fd)
{
	struct iovec part = {.iov_base = data, .iov_len = n};
	union control c = {};
	struct msghdr m = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = c.bytes,
		.msg_controllen = sizeof(c.bytes)};
	_cleanup_close_ int fd = -1;
	struct cmsghdr *h;
	ssize_t got;

	do {
		got = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	h = got < 0 ? NULL : CMSG_FIRSTHDR(&m);
	if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS &&
		h->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(h), sizeof(fd));
	if (got <= 0)
		return got ? -errno : -ENODATA;
	if ((size_t)got != n)
		return -EBADMSG;
	*ret_fd = take_fd(fd);
	return 0;
}
