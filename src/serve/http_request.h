/* A request over HTTP, from bytes that anybody may have sent. Pure text: it knows no connection. */
#ifndef MEMWHY_SERVE_HTTP_REQUEST_H
#define MEMWHY_SERVE_HTTP_REQUEST_H

#include "base/util.h"

#define REQUEST_MAX 8192 /* bytes of the request line and all headers */
#define REQUEST_PATH_MAX 256
#define REQUEST_QUERY_MAX 512
#define REQUEST_AUTH_MAX 512
#define REQUEST_BODY_MAX (1U << 20) /* of a POST; nobody looks at it */

struct http_request {
	bool head; /* HEAD: no body in the answer */
	bool post;
	u32 bytes;                     /* of what was parsed */
	u32 body;                      /* bytes that follow */
	char path[REQUEST_PATH_MAX];   /* without what follows '?' */
	char query[REQUEST_QUERY_MAX]; /* what follows it */
	bool by_name;                  /* Host is neither an address nor localhost */
	bool from_page;                /* a page had a browser ask, by what that says of it */
	bool openmetrics;              /* preferred over text/plain */
	bool html;                     /* likewise: a browser asks */
	bool known;                    /* has a user's name and password (http.c says so) */
	bool gzip;
	char basic[REQUEST_AUTH_MAX]; /* what follows "Basic " in Authorization; "" */
};

enum {
	REQUEST_WHOLE = 0,
	REQUEST_PART = 1, /* there is more to come */
			  /* else an HTTP status: what is wrong with it */
};

int http_request_parse(const char *data, size_t n, struct http_request *ret);
const char *status_words(int status);

#endif
