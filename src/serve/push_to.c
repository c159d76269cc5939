/* See push_to.h. */
#include "serve/push_to.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"

#define SCHEME "http://"
#define HOST_MAX 256

static bool address_parse(const char *host, u16 port, struct push_to *ret)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&ret->sa;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ret->sa;

	if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		ret->n = sizeof(*in);
		return true;
	}
	if (inet_pton(AF_INET6, host, &in6->sin6_addr) != 1)
		return false;
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	ret->n = sizeof(*in6);
	return true;
}

/* A word of a line; n: its length, 0 at the end of the line. */
static const char *word_next(const char *at, size_t *n)
{
	at += strspn(at, " \t\r");
	*n = *at == '#' ? 0 : strcspn(at, " \t\r\n#");
	return at;
}

/* The first line of /etc/hosts that has this name and an address that is one. */
static bool hosts_find(const char *hosts, const char *name, u16 port, struct push_to *ret)
{
	size_t len = strlen(name), n;
	char address[INET6_ADDRSTRLEN];

	for (const char *line = hosts; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *at = word_next(line, &n);

		snprintf(address, sizeof(address), "%.*s", (int)MIN(n, sizeof(address) - 1), at);
		for (at = word_next(at + n, &n); n; at = word_next(at + n, &n))
			if (n == len && !strncasecmp(at, name, n) &&
				address_parse(address, port, ret))
				return true;
	}
	return false;
}

static int url_bad(struct err *err, const char *why)
{
	err_set(err, -EINVAL, "--push: %s", why);
	return err_hint(err, "http://127.0.0.1:4040");
}

/* Host and port; *host is without brackets. */
static bool authority_parse(char *host, u64 *port)
{
	char *close = host[0] == '[' ? strchr(host, ']') : NULL;
	char *colon = close ? close + 1 : strrchr(host, ':');

	*port = 80;
	if (host[0] == '[' && (!close || (*colon && *colon != ':')))
		return false;
	if (colon && *colon && parse_u64(colon + 1, 1, 65535, port))
		return false;
	if (close) {
		*close = '\0';
		memmove(host, host + 1, strlen(host));
	} else if (colon) {
		*colon = '\0';
	}
	return *host != '\0';
}

int push_url_parse(const char *url, const char *hosts, struct push_to *ret, struct err *err)
{
	char host[HOST_MAX];
	const char *at = url + strlen(SCHEME);
	size_t n, path;
	u64 port;

	if (!strncmp(url, "https:", 6))
		return url_bad(err, "memwhy does not speak TLS: push to a proxy or agent on this "
				    "host that does");
	if (strncmp(url, SCHEME, strlen(SCHEME)) != 0)
		return url_bad(err, "not an http:// URL");
	for (const char *p = url; *p; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f || strchr("?#\"", *p))
			return url_bad(err, "give a host and a path, and nothing else");
	n = strcspn(at, "/");
	if (memchr(at, '@', n))
		return url_bad(err, "other users can read command lines: use --push-headers");
	path = strlen(at + n);
	while (path && at[n + path - 1] == '/')
		path--;
	if (!n || n >= sizeof(host) || path >= sizeof(ret->path))
		return url_bad(err, "not an http:// URL");
	snprintf(host, sizeof(host), "%.*s", (int)n, at);
	snprintf(ret->host, sizeof(ret->host), "%s", host);
	snprintf(ret->path, sizeof(ret->path), "%.*s", (int)path, at + n);
	if (!authority_parse(host, &port))
		return url_bad(err, "not an http:// URL");
	if (address_parse(host, (u16)port, ret) || hosts_find(hosts, host, (u16)port, ret))
		return 0;
	if (!strcasecmp(host, "localhost") && address_parse("127.0.0.1", (u16)port, ret))
		return 0;
	err_set(err, -EINVAL, "--push: '%.80s' is not an address, and not in /etc/hosts", host);
	return err_hint(
		err, "memwhy does not use DNS: give an address, or add the name to /etc/hosts");
}

static bool label_is_good(const char *text, size_t n)
{
	const char *equals = memchr(text, '=', n);
	size_t name = equals ? (size_t)(equals - text) : 0;

	if (!name || name + 1 == n || isdigit((unsigned char)*text))
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		if (i < name ? !isalnum(c) && c != '_'
			     : i > name && (c <= ' ' || c >= 0x7f || strchr("{}\"=", c)))
			return false;
	}
	return true;
}

int push_labels_parse(const char *text, const char *hostname, struct push_to *ret, struct err *err)
{
	snprintf(ret->labels, sizeof(ret->labels), "hostname=%.64s", hostname);
	if (!label_is_good(ret->labels, strlen(ret->labels)) || strchr(ret->labels, ','))
		snprintf(ret->labels, sizeof(ret->labels), "hostname=unknown");
	for (const char *at = text ? text : ""; *at;) {
		size_t n = strcspn(at, ","), have = strlen(ret->labels);

		if (!label_is_good(at, n) || have + n + 2 > sizeof(ret->labels)) {
			err_set(err, -EINVAL, "--push-labels: '%.*s' is not a name and a value",
				(int)MIN(n, (size_t)60), at);
			return err_hint(err, "zone=eu1,team=search");
		}
		snprintf(ret->labels + have, sizeof(ret->labels) - have, ",%.*s", (int)n, at);
		at += n + (at[n] == ',');
	}
	return 0;
}

/* What the request says of itself: twice, or otherwise, it could be read as two. */
static bool is_own_header(const char *name, size_t n)
{
	static const char *const own[] = {"Host", "Content-Length", "Content-Type",
		"Transfer-Encoding", "Connection", "Expect", "Upgrade", "User-Agent"};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (n == strlen(own[i]) && !strncasecmp(name, own[i], n))
			return true;
	return false;
}

int push_headers_parse(const char *text, const char *file, struct push_to *ret, struct err *err)
{
	size_t have = 0;

	ret->headers[0] = '\0';
	for (u32 number = 1; *text; number++) {
		size_t n = strcspn(text, "\n"), len = n && text[n - 1] == '\r' ? n - 1 : n,
		       name = 0;
		bool good = have + len + 3 <= sizeof(ret->headers);

		while (name < len && (isalnum((unsigned char)text[name]) || text[name] == '-'))
			name++;
		good = good && name && name < len && text[name] == ':';
		for (size_t i = 0; i < len; i++)
			good = good && (unsigned char)text[i] >= ' ' &&
			       (unsigned char)text[i] < 0x7f;
		if (len && *text != '#' && good && is_own_header(text, name)) {
			err_set(err, -EINVAL, "--push-headers: line %u of %.200s sets %.*s", number,
				file, (int)name, text);
			return err_hint(err, "memwhy sets this header itself: remove the line");
		}
		if (len && *text != '#' && !good) { /* not what is in it */
			err_set(err, -EINVAL, "--push-headers: line %u of %.200s is not a header",
				number, file);
			return err_hint(err, "Authorization: Bearer TOKEN");
		}
		if (len && *text != '#') {
			memcpy(ret->headers + have, text, len);
			memcpy(ret->headers + have + len, "\r\n", 3);
			have += len + 2;
		}
		text += n + (text[n] == '\n');
	}
	return 0;
}

static void percent_add(struct str *out, const char *text)
{
	for (; *text; text++)
		if (isalnum((unsigned char)*text) || strchr("-_.~", *text))
			str_addc(out, *text);
		else
			str_addf(out, "%%%02X", (unsigned char)*text);
}

void push_request(const struct push_to *to, const char *name, u64 from_s, u64 until_s, size_t bytes,
	struct str *out)
{
	str_addf(out,
		"POST %s/ingest?format=pprof&from=%llu&until=%llu&spyName=memwhy&name=", to->path,
		from_s, until_s);
	percent_add(out, name);
	percent_add(out, "{");
	percent_add(out, to->labels);
	percent_add(out, "}");
	str_addf(out,
		" HTTP/1.1\r\nHost: %s\r\nUser-Agent: memwhy/" MEMWHY_VERSION
		"\r\nContent-Type: application/octet-stream\r\nContent-Length: %zu\r\n"
		"Connection: close\r\n%s\r\n",
		to->host, bytes, to->headers);
}

int push_status(const char *answer)
{
	if (strncmp(answer, "HTTP/1.", 7) != 0 || !isdigit((unsigned char)answer[7]) ||
		answer[8] != ' ')
		return 0;
	for (int i = 9; i < 12; i++)
		if (!isdigit((unsigned char)answer[i]))
			return 0;
	return (answer[9] - '0') * 100 + (answer[10] - '0') * 10 + answer[11] - '0';
}
