/* What strangers send to the service, and its file of settings. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "serve/listen.h"
#include "serve/profiler.h"
#include "serve/push_to.h"
#include "serve/http_request.h"
#include "serve/config_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = malloc(n + 1), *bytes = malloc(n ? n : 1); /* the latter without a NUL */
	struct listen_address at;
	struct settings s = {};
	struct push_to to = {};
	struct profile_ask ask = {.seconds = 1};
	struct http_request q;
	struct err err = {};
	int whole;

	if (!text || !bytes)
		abort();
	memcpy(text, data, n);
	text[n] = '\0';
	memcpy(bytes, data, n);
	whole = http_request_parse(bytes, n, &q);
	if (whole == REQUEST_WHOLE && (q.path[0] != '/' || strlen(q.path) >= REQUEST_PATH_MAX))
		abort();
	/* What is whole stays whole, whatever follows; a part of it is none or is refused. */
	if (whole == REQUEST_PART && n >= REQUEST_MAX)
		abort();
	if (whole == REQUEST_WHOLE && q.body > REQUEST_BODY_MAX)
		abort();
	if (profile_query_parse(text, &ask) && (!ask.seconds || ask.seconds > PROFILE_SECONDS_MAX))
		abort();
	if (!settings_parse(text, "settings", &s, &err)) {
		for (size_t i = 1; i < s.words.n; i++)
			if (strncmp(s.words.v[i], "--", 2) != 0 || s.words.v[i][2] == '-')
				abort();
		settings_free(&s);
	}
	(void)listen_parse(text, &at, &err);
	if (!push_url_parse(text, text, &to, &err) && (!to.n || strpbrk(to.host, " \r\n")))
		abort();
	(void)push_labels_parse(text, text, &to, &err);
	(void)push_headers_parse(text, "headers", &to, &err);
	if (strpbrk(to.labels, " \r\n"))
		abort();
	free(text);
	free(bytes);
	return 0;
}
