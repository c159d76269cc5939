/* See request.h. */
#include "serve/http_request.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

const char *status_words(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 401:
		return "Unauthorized";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 413:
		return "Content Too Large";
	case 414:
		return "URI Too Long";
	case 431:
		return "Request Header Fields Too Large";
	case 503:
		return "Service Unavailable";
	case 505:
		return "HTTP Version Not Supported";
	default:
		return "Internal Server Error";
	}
}

/* A line ends with LF, and usually CR before it. */
struct line {
	const char *text;
	size_t n;
};

static bool line_next(const char **at, const char *end, struct line *ret)
{
	const char *lf = memchr(*at, '\n', (size_t)(end - *at));

	if (!lf)
		return false;
	*ret = (struct line){*at, (size_t)(lf - *at)};
	if (ret->n && ret->text[ret->n - 1] == '\r')
		ret->n--;
	*at = lf + 1;
	return true;
}

static int path_parse(const char *text, size_t n, struct http_request *ret)
{
	size_t path = n;

	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)text[i] <= ' ' || (unsigned char)text[i] >= 0x7f)
			return 400;
		if (text[i] == '?' && path == n)
			path = i;
	}
	if (!n || text[0] != '/')
		return 400;
	if (path >= sizeof(ret->path) || n - path > sizeof(ret->query))
		return 414;
	memcpy(ret->path, text, path);
	ret->path[path] = '\0';
	if (path < n) {
		memcpy(ret->query, text + path + 1, n - path - 1);
		ret->query[n - path - 1] = '\0';
	}
	return REQUEST_WHOLE;
}

static int first_parse(const struct line *l, struct http_request *ret)
{
	const char *space = memchr(l->text, ' ', l->n), *target, *version;
	size_t method = space ? (size_t)(space - l->text) : 0;
	int rc;

	if (!method)
		return 400;
	target = space + 1;
	version = memrchr(target, ' ', l->n - method - 1);
	if (!version)
		return 400;
	rc = path_parse(target, (size_t)(version - target), ret);
	if (rc)
		return rc;
	version++;
	if (l->text + l->n - version != 8 || strncmp(version, "HTTP/1.", 7) != 0 ||
		!isdigit((unsigned char)version[7]))
		return 505;
	ret->head = method == 4 && !memcmp(l->text, "HEAD", 4);
	ret->post = method == 4 && !memcmp(l->text, "POST", 4);
	if (!ret->head && !ret->post && (method != 3 || memcmp(l->text, "GET", 3) != 0))
		return 405;
	return REQUEST_WHOLE;
}

/* The weight, in thousandths, that a list like "a/b;q=0.5, c/d" gives a word; -1: it is not there.
 */
static int weight_of(const char *list, size_t n, const char *word)
{
	const char *end = list + n;
	size_t len = strlen(word);

	while (list < end) {
		const char *comma = memchr(list, ',', (size_t)(end - list));
		size_t item = (size_t)((comma ? comma : end) - list);
		const char *q;

		while (item && isspace((unsigned char)*list))
			list++, item--;
		if (item >= len && !strncasecmp(list, word, len) &&
			(item == len || strchr("; \t", list[len]))) {
			q = memmem(list, item, "q=", 2);
			if (!q || q + 2 >= list + item || q[2] != '0')
				return 1000;
			for (int value = 0, scale = 100, i = 4;; i++, scale /= 10) {
				if (q + i >= list + item || !isdigit((unsigned char)q[i]) || !scale)
					return value;
				value += (q[i] - '0') * scale;
			}
		}
		list = comma ? comma + 1 : end;
	}
	return -1;
}

static bool header_is(const struct line *l, const char *name, struct line *ret_value)
{
	size_t n = strlen(name);

	if (l->n <= n || l->text[n] != ':' || strncasecmp(l->text, name, n) != 0)
		return false;
	*ret_value = (struct line){l->text + n + 1, l->n - n - 1};
	while (ret_value->n && isspace((unsigned char)*ret_value->text))
		ret_value->text++, ret_value->n--;
	while (ret_value->n && isspace((unsigned char)ret_value->text[ret_value->n - 1]))
		ret_value->n--;
	return true;
}

static bool line_is(const struct line *l, const char *word)
{
	return l->n == strlen(word) && !strncasecmp(l->text, word, l->n);
}

/* With or without a port. Whoever makes a page can have any name stand for this machine, but these.
 */
static bool host_is_address(const struct line *l)
{
	const char *end = l->text + l->n, *colon = memrchr(l->text, ':', l->n);
	bool bracket = l->n && *l->text == '[';
	char host[INET6_ADDRSTRLEN], in6[sizeof(struct in6_addr)];
	struct line h = {l->text + bracket, 0};

	if (bracket)
		end = memchr(l->text, ']', l->n);
	else if (colon)
		end = colon;
	h.n = end ? (size_t)(end - h.text) : 0;
	if (!h.n || h.n >= sizeof(host))
		return false;
	memcpy(host, h.text, h.n);
	host[h.n] = '\0';
	return bracket ? inet_pton(AF_INET6, host, in6) == 1
		       : inet_pton(AF_INET, host, in6) == 1 || line_is(&h, "localhost");
}

static int length_parse(const struct line *v, u32 *ret)
{
	u32 n = 0;

	for (size_t i = 0; i < v->n; i++) {
		if (!isdigit((unsigned char)v->text[i]))
			return 400;
		n = n * 10 + (u32)(v->text[i] - '0');
		if (n > REQUEST_BODY_MAX)
			return 413;
	}
	*ret = n;
	return v->n ? REQUEST_WHOLE : 400;
}

static int header_parse(const struct line *l, struct http_request *ret)
{
	struct line v;
	int open, plain, html;

	if (!memchr(l->text, ':', l->n) || memchr(l->text, '\0', l->n))
		return 400;
	if (header_is(l, "Accept", &v)) {
		open = weight_of(v.text, v.n, "application/openmetrics-text");
		plain = weight_of(v.text, v.n, "text/plain");
		html = weight_of(v.text, v.n, "text/html");
		ret->openmetrics = open > 0 && open >= plain;
		ret->html = html > 0 && html >= plain;
	} else if (header_is(l, "Accept-Encoding", &v)) {
		ret->gzip = weight_of(v.text, v.n, "gzip") > 0;
	} else if (header_is(l, "Content-Length", &v)) {
		return length_parse(&v, &ret->body);
	} else if (header_is(l, "Host", &v)) {
		ret->by_name |= !host_is_address(&v);
	} else if (header_is(l, "Origin", &v) || header_is(l, "Referer", &v)) {
		ret->from_page = true;
	} else if (header_is(l, "Sec-Fetch-Site", &v)) {
		ret->from_page |= !line_is(&v, "none") && !line_is(&v, "same-origin");
	} else if (header_is(l, "Authorization", &v)) {
		if (v.n < 6 || strncasecmp(v.text, "Basic ", 6) != 0)
			return REQUEST_WHOLE; /* as if there were none */
		if (v.n - 6 >= sizeof(ret->basic))
			return 431;
		memcpy(ret->basic, v.text + 6, v.n - 6);
		ret->basic[v.n - 6] = '\0';
	}
	return REQUEST_WHOLE;
}

int http_request_parse(const char *data, size_t n, struct http_request *ret)
{
	const char *at = data, *end = data + MIN(n, (size_t)REQUEST_MAX);
	struct line l;
	int rc;

	*ret = (struct http_request){};
	if (!line_next(&at, end, &l))
		return n >= REQUEST_MAX ? 431 : REQUEST_PART;
	rc = first_parse(&l, ret);
	while (!rc) {
		if (!line_next(&at, end, &l))
			return n >= REQUEST_MAX ? 431 : REQUEST_PART;
		if (!l.n) {
			ret->bytes = (u32)(at - data);
			return REQUEST_WHOLE;
		}
		rc = header_parse(&l, ret);
	}
	return rc;
}
