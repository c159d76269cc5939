/* Where the service listens: addresses as people write them, and sockets bound to them. Never asks
 * a name server. */
#ifndef MEMWHY_SERVE_LISTEN_H
#define MEMWHY_SERVE_LISTEN_H

#include <sys/socket.h>
#include <sys/un.h>

#include "base/err.h"

struct listen_address {
	struct sockaddr_storage sa;
	socklen_t n;
	bool local;    /* nobody beyond this machine can reach it */
	bool loopback; /* as an address: browsers of this machine can */
};

/* "127.0.0.1:9669", "[::1]:9669", "localhost:9669", ":9669" (all addresses), "unix:/run/m.sock".
 * -EINVAL with the cause. */
int listen_parse(const char *text, struct listen_address *ret, struct err *err);
/* A non-blocking socket that listens. What a dead service left of a Unix socket is replaced. */
int listen_open(const struct listen_address *a, const char *text, int *ret_fd, struct err *err);

#endif
