/* See fd_pass.h. */
#include "base/fd_pass.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
};

int fd_send(int socket, const void *data, size_t n, int fd)
{
	return fds_send(socket, data, n, &fd, 1);
}

int fds_send(int socket, const void *data, size_t n, const int *fds, size_t n_fds)
{
	struct iovec part = {.iov_base = (void *)data, .iov_len = n};
	union control c = {};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
	size_t bytes = 0;
	struct cmsghdr *h = &c.head;
	ssize_t sent;

	for (size_t i = 0; i < MIN(n_fds, (size_t)FDS_MAX); i++) {
		if (fds[i] < 0)
			continue;
		memcpy(CMSG_DATA(h) + bytes, &fds[i], sizeof(fds[i]));
		bytes += sizeof(fds[i]);
	}
	if (bytes) {
		m.msg_control = c.bytes;
		m.msg_controllen = CMSG_SPACE(bytes);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(bytes);
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
		.msg_controllen = CMSG_SPACE(sizeof(int))};
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
