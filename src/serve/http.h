/*
 * The server: answers requests over HTTP/1.x in a thread of its own, which has no capability.
 * Bounded in connections, bytes of a request, bytes that wait to be sent, and time. Owns libevent;
 * knows nothing of what it serves.
 */
#ifndef MEMWHY_SERVE_HTTP_H
#define MEMWHY_SERVE_HTTP_H

#include "base/err.h"
#include "base/str.h"
#include "serve/http_request.h"

#define HTTP_BYTES "application/octet-stream" /* of what is packed already */

struct http_answer {
	int status;
	const char *type; /* Content-Type; static */
	bool get_only;    /* with status 405: HEAD will not do either */
	struct str body;
	/* Set: the answer is not there yet. Once `fd` can be read, this is to fill it in. The
	 * descriptor is the server's, which closes it, early where the client goes away. */
	void (*later)(void *arg, int fd, struct http_answer *ret);
	int fd;
	u32 seconds; /* how long it may take */
};

struct http_config {
	int fd;            /* listens; taken over */
	const char *users; /* see http_users */
	/* In the server's thread. */
	void (*answer)(void *arg, const struct http_request *q, struct http_answer *ret);
	void *arg;
};

struct http_counts {
	u64 answered, refused, dropped;
};

struct http;

int http_start(const struct http_config *cfg, struct http **ret, struct err *err);
/* Who may send requests from now on: lines "USER:PASSWORD" as in a file; NULL: everybody. -EINVAL:
 * no such line, and nothing changes. */
int http_users(struct http *h, const char *lines, struct err *err);
struct http_counts http_counts(struct http *h);
void http_stop(struct http *h);

#endif
