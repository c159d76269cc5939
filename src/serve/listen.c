/* See listen.h. */
#include "serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/stat.h>

#include "base/units.h"

#define BACKLOG 128

static int unix_parse(const char *path, struct listen_address *ret, struct err *err)
{
	struct sockaddr_un *sun = (struct sockaddr_un *)&ret->sa;

	if (path[0] != '/' || strlen(path) >= sizeof(sun->sun_path)) {
		err_set(err, -EINVAL, "--listen: '%.100s' is not an absolute path", path);
		return err_hint(err, "unix:/run/memwhy.sock");
	}
	sun->sun_family = AF_UNIX;
	strcpy(sun->sun_path, path);
	ret->n = sizeof(*sun);
	ret->local = true;
	return 0;
}

static bool host_parse(const char *host, u16 port, struct listen_address *ret)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&ret->sa;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ret->sa;

	if (!strcmp(host, "localhost"))
		host = "127.0.0.1";
	if (!*host)
		host = "0.0.0.0";
	if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		ret->n = sizeof(*in);
		ret->local = ret->loopback = ntohl(in->sin_addr.s_addr) >> 24 == 127;
		return true;
	}
	if (inet_pton(AF_INET6, host, &in6->sin6_addr) != 1)
		return false;
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	ret->n = sizeof(*in6);
	ret->local = ret->loopback = IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
	return true;
}

int listen_parse(const char *text, struct listen_address *ret, struct err *err)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2] = "", *bare = host;
	size_t n = colon ? (size_t)(colon - text) : 0;
	u64 port;

	*ret = (struct listen_address){};
	if (!strncmp(text, "unix:", 5))
		return unix_parse(text + 5, ret, err);
	if (colon && n < sizeof(host) && !parse_u64(colon + 1, 1, 65535, &port)) {
		memcpy(host, text, n);
		if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
			host[n - 1] = '\0';
			bare = host + 1;
		}
		if (host_parse(bare, (u16)port, ret))
			return 0;
	}
	err_set(err, -EINVAL, "--listen: '%.80s' is not an address and a port", text);
	return err_hint(err, "127.0.0.1:9669, [::1]:9669 or unix:/run/memwhy.sock");
}

/* A socket that nobody listens at any more is in the way. */
static void stale_remove(const struct listen_address *a)
{
	const struct sockaddr_un *sun = (const struct sockaddr_un *)&a->sa;
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat st;

	if (fd < 0 || lstat(sun->sun_path, &st) || !S_ISSOCK(st.st_mode))
		return;
	if (connect(fd, (const struct sockaddr *)sun, a->n) && errno == ECONNREFUSED)
		unlink(sun->sun_path);
}

int listen_open(const struct listen_address *a, const char *text, int *ret_fd, struct err *err)
{
	_cleanup_close_ int fd =
		socket(a->sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd < 0)
		return err_errno(err, -errno, "--listen %s", text);
	if (a->sa.ss_family == AF_UNIX)
		stale_remove(a);
	else
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (const struct sockaddr *)&a->sa, a->n) || listen(fd, BACKLOG)) {
		err_errno(err, -errno, "--listen %s", text);
		return err_hint(err, "is another memwhy serve running? Or use another --listen");
	}
	*ret_fd = take_fd(fd);
	return 0;
}
