/* The service's parts that need no kernel: requests, settings, the text formats, the ring,
 * triggers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "probes/cgroups/cgroups.h"
#include "probes/oom/oom.h"
#include "probes/stalls/stalls.h"
#include "probes/system/system.h"
#include "serve/daemon_kills.h"
#include "serve/exposition.h"
#include "serve/listen.h"
#include "serve/profiler.h"
#include "serve/push.h"
#include "serve/http_request.h"
#include "serve/record_ring.h"
#include "serve/ring_file.h"
#include "serve/config_file.h"
#include "serve/tally.h"
#include "serve/triggers.h"

static int parse(const char *text, struct http_request *q)
{
	return http_request_parse(text, strlen(text), q);
}

static void test_request(void **state)
{
	struct http_request q;

	(void)state;
	assert_int_equal(parse("GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n", &q), REQUEST_WHOLE);
	assert_string_equal(q.path, "/metrics");
	assert_false(q.head || q.gzip || q.openmetrics);
	assert_int_equal(parse("HEAD / HTTP/1.0\n\n", &q), REQUEST_WHOLE);
	assert_true(q.head);
	assert_int_equal(parse("GET / HTTP/1.1\r\naccept-ENCODING: deflate, gzip;q=0.5\r\n"
			       "Authorization: basic YTpi\r\n\r\n",
				 &q),
		REQUEST_WHOLE);
	assert_true(q.gzip);
	assert_string_equal(q.basic, "YTpi");
	assert_int_equal(
		parse("GET / HTTP/1.1\r\nAccept-Encoding: gzip;q=0\r\n\r\n", &q), REQUEST_WHOLE);
	assert_false(q.gzip);
	for (const char *whole = "GET / HTTP/1.1\r\nA: b\r\n\r\n", *p = whole; *p; p++)
		assert_int_equal(http_request_parse(whole, (size_t)(p - whole), &q), REQUEST_PART);
	assert_int_equal(parse("PUT / HTTP/1.1\r\n\r\n", &q), 405);
	assert_int_equal(parse("POST / HTTP/1.1\r\nContent-Length: 12\r\n\r\n", &q), REQUEST_WHOLE);
	assert_true(q.post && q.body == 12 && q.bytes == 39);
	assert_int_equal(parse("GET / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n", &q), 413);
	assert_int_equal(
		parse("GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", &q), 413);
	assert_int_equal(parse("GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", &q), 400);
	assert_int_equal(parse("GET / HTTP/1.1\r\nContent-Length:\r\n\r\n", &q), 400);
	assert_int_equal(parse("GET /a?b=1&c HTTP/1.1\r\n\r\n", &q), REQUEST_WHOLE);
	assert_string_equal(q.query, "b=1&c");
	assert_int_equal(parse("GET / HTTP/2.0\r\n\r\n", &q), 505);
	assert_int_equal(parse("GET nothing HTTP/1.1\r\n\r\n", &q), 400);
	assert_int_equal(parse("GET /\x01 HTTP/1.1\r\n\r\n", &q), 400);
	assert_int_equal(parse("GET / HTTP/1.1\r\nno header\r\n\r\n", &q), 400);
	assert_int_equal(parse("\r\n", &q), 400);
}

/* Who makes a page can have any name stand for this machine, and a browser says what a page had it
 * ask. */
static void test_request_of_pages(void **state)
{
	static const struct {
		const char *header;
		bool by_name, from_page;
	} cases[] = {
		{"A: b", false, false},
		{"Host: 127.0.0.1", false, false},
		{"Host: 127.0.0.1:9669", false, false},
		{"host: LocalHost:1", false, false},
		{"Host: [::1]:9669", false, false},
		{"Host: [fe80::1]", false, false},
		{"Host: evil.example:9669", true, false},
		{"Host: 127.0.0.1.evil.example", true, false},
		{"Host: localhost.evil.example:80", true, false},
		{"Host: [evil]:1", true, false},
		{"Host: [::1", true, false},
		{"Host: ::1", true, false},
		{"Host:", true, false},
		{"Host: 1111111111111111111111111111111111111111111111111111", true, false},
		{"Host: a.example\r\nHost: 127.0.0.1", true, false},
		{"Origin: null", false, true},
		{"Referer: http://127.0.0.1:9669/", false, true},
		{"Sec-Fetch-Site: cross-site", false, true},
		{"Sec-Fetch-Site: same-site", false, true},
		{"Sec-Fetch-Site: none-such", false, true},
		{"Sec-Fetch-Site: none", false, false},
		{"Sec-Fetch-Site: same-origin", false, false},
		{"Origin: http://a\r\nSec-Fetch-Site: none", false, true},
	};
	char text[300];
	struct http_request q;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n%s\r\n\r\n", cases[i].header);
		assert_int_equal(parse(text, &q), REQUEST_WHOLE);
		if (q.by_name != cases[i].by_name || q.from_page != cases[i].from_page)
			fail_msg("%s: %d %d", cases[i].header, q.by_name, q.from_page);
		assert_false(q.known);
	}
}

static void test_profile_query(void **state)
{
	static const char *const wrong[] = {"pid=0", "pid=", "pid=-1", "pid=2147483648", "pid=1x",
		"seconds=0", "seconds=301", "seconds=9&pid=a", "pid=12345678901234567890"};
	struct profile_ask a = {.seconds = 10};

	(void)state;
	assert_true(profile_query_parse("", &a) && !a.pid && a.seconds == 10);
	assert_true(profile_query_parse("pid=12&gc=1&seconds=300&", &a));
	assert_true(a.pid == 12 && a.seconds == 300);
	assert_true(profile_query_parse("xpid=7&&&", &a) && a.pid == 12);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(profile_query_parse(wrong[i], &a));
}

#define HOSTS                                                                                    \
	"127.0.0.1 localhost\n# 10.0.0.9 engine\n10.0.0.7\tother engine # x\nfe80::zz bad\n::1 " \
	"six\n"

static void test_push_url(void **state)
{
	static const char *const wrong[] = {"", "http://", "http:///a", "https://a", "ftp://a",
		"127.0.0.1:4040", "http://u:p@127.0.0.1", "http://127.0.0.1:0",
		"http://127.0.0.1:x", "http://127.0.0.1:65536", "http://[::1", "http://[::1]x",
		"http://[]:1", "http://bad", "http://nowhere", "http://127.0.0.1/a?b",
		"http://127.0.0.1/ a", "http://10.0.0.9 "};
	struct push_to to = {};
	struct err err = {};

	(void)state;
	assert_int_equal(push_url_parse("http://Engine:4040/base/", HOSTS, &to, &err), 0);
	assert_int_equal(((struct sockaddr_in *)&to.sa)->sin_port, htons(4040));
	assert_int_equal(((struct sockaddr_in *)&to.sa)->sin_addr.s_addr, htonl(0x0a000007));
	assert_string_equal(to.host, "Engine:4040");
	assert_string_equal(to.path, "/base");
	assert_int_equal(push_url_parse("http://[::1]", "", &to, &err), 0);
	assert_int_equal(to.sa.ss_family, AF_INET6);
	assert_int_equal(((struct sockaddr_in6 *)&to.sa)->sin6_port, htons(80));
	assert_int_equal(push_url_parse("http://localhost:1/", "", &to, &err), 0);
	assert_string_equal(to.path, "");
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(push_url_parse(wrong[i], HOSTS, &to, &err), -EINVAL);
}

/* Nobody listens: what waits is bounded, what does not fit is counted, and it ends at once. */
static void test_push_spool(void **state)
{
	struct push_counts counts = {};
	struct push_to to = {};
	struct push *p = NULL;
	struct err err = {};

	(void)state;
	assert_int_equal(push_url_parse("http://127.0.0.1:1", "", &to, &err), 0);
	assert_int_equal(push_start(&to, &p, &err), 0);
	for (int i = 0; i < 600; i++) {
		struct str profile = {};

		str_add(&profile, "profile");
		push_add(p, "memwhy.faults", 1, 2, &profile);
		assert_null(profile.buf);
	}
	push_counts(p, &counts);
	assert_int_equal(counts.sent + counts.refused, 0);
	assert_in_range(counts.dropped, 87, 88); /* one may be on its way */
	assert_in_range(counts.spool_bytes, 511 * 7, 512 * 7);
	for (int i = 0; i < 9; i++) {
		struct str profile = {};
		char *mib = calloc(1, 1 << 20);

		str_addn(&profile, mib, 1 << 20);
		push_add(p, "memwhy.faults", 1, 2, &profile);
		free(mib);
	}
	push_counts(p, &counts);
	assert_in_range(counts.spool_bytes, 7 << 20, 8 << 20);
	push_stop(p);
}

static void test_push_headers(void **state)
{
	static const char *const own[] = {"Host: a", "content-length: 0",
		"Transfer-Encoding:chunked", "CONNECTION: keep-alive", "Content-Type: text/plain",
		"Expect: 100-continue", "Upgrade: h2c"};
	struct push_to to = {};
	struct err err = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		assert_int_equal(push_headers_parse(own[i], "f", &to, &err), -EINVAL);
		assert_non_null(strstr(err.msg, "line 1 of f sets"));
	}
	assert_int_equal(push_headers_parse("no header\n", "f", &to, &err), -EINVAL);
	assert_int_equal(push_headers_parse("A: b\x01\n", "f", &to, &err), -EINVAL);
	assert_int_equal(push_headers_parse("Hosts: b\nX-Host: c\n", "f", &to, &err), 0);
	assert_string_equal(to.headers, "Hosts: b\r\nX-Host: c\r\n");
}

static void test_push_request(void **state)
{
	static const char *const wrong[] = {
		"a", "=b", "a=", "1a=b", "a=b=c", "a={", "a b=c", "a=b,,c=d", "a-b=c"};
	_cleanup_str_ struct str out = {};
	struct push_to to = {.host = "h:1", .path = "/p"};
	struct err err = {};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(push_labels_parse(wrong[i], "me", &to, &err), -EINVAL);
	assert_int_equal(push_labels_parse(NULL, "odd name", &to, &err), 0);
	assert_string_equal(to.labels, "hostname=unknown");
	assert_int_equal(push_labels_parse("zone=eu/1,b=c", "me", &to, &err), 0);
	assert_string_equal(to.labels, "hostname=me,zone=eu/1,b=c");
	assert_int_equal(push_headers_parse("# x\n\nA: b\r\nC-D: e", "f", &to, &err), 0);
	push_request(&to, "memwhy.faults", 5, 15, 99, &out);
	assert_string_equal(str_get(&out),
		"POST /p/ingest?format=pprof&from=5&until=15&spyName=memwhy&name="
		"memwhy.faults%7Bhostname%3Dme%2Czone%3Deu%2F1%2Cb%3Dc%7D HTTP/1.1\r\nHost: h:1\r\n"
		"User-Agent: memwhy/" MEMWHY_VERSION
		"\r\nContent-Type: application/octet-stream\r\nContent-Length: 99\r\n"
		"Connection: close\r\nA: b\r\nC-D: e\r\n\r\n");
	assert_int_equal(push_status("HTTP/1.1 204"), 204);
	assert_int_equal(push_status("HTTP/1.1 2x4"), 0);
	assert_int_equal(push_status("HTTP/2 200"), 0);
	assert_int_equal(push_status(""), 0);
}

static void test_request_accept(void **state)
{
	static const struct {
		const char *accept;
		bool open, html;
	} cases[] = {
		{"application/openmetrics-text;version=1.0.0,text/plain;q=0.5", true, false},
		{"text/plain;version=0.0.4;q=0.5,application/openmetrics-text;q=0.75", true, false},
		{"application/openmetrics-text;q=0.2,text/plain;q=0.3", false, false},
		{"application/openmetrics-text;q=0", false, false},
		{"application/openmetrics-textual", false, false},
		{"*/*", false, false},
		{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false, true},
		{"text/plain,text/html;q=0.5", false, false},
		{"text/html;q=0", false, false},
	};
	char text[300];
	struct http_request q;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nAccept: %s\r\n\r\n",
			cases[i].accept);
		assert_int_equal(parse(text, &q), REQUEST_WHOLE);
		assert_int_equal(q.openmetrics, cases[i].open);
		assert_int_equal(q.html, cases[i].html);
	}
}

static void test_request_limits(void **state)
{
	static char text[REQUEST_MAX + 1], aaa[REQUEST_AUTH_MAX + 1], query[REQUEST_QUERY_MAX + 1];
	struct http_request q;

	(void)state;
	memset(text, 'a', sizeof(text));
	memset(aaa, 'a', sizeof(aaa));
	memset(query, 'q', sizeof(query));
	assert_int_equal(http_request_parse(text, REQUEST_MAX, &q), 431);
	memcpy(text, "GET / HTTP/1.1\r\nX: ", 19);
	assert_int_equal(http_request_parse(text, REQUEST_MAX - 1, &q), REQUEST_PART);
	assert_int_equal(http_request_parse(text, REQUEST_MAX, &q), 431);
	for (int over = 0; over < 2; over++) { /* what fits to the byte, and one more */
		snprintf(text, sizeof(text), "GET /%.*s HTTP/1.1\r\n\r\n",
			REQUEST_PATH_MAX - 2 + over, aaa);
		assert_int_equal(parse(text, &q), over ? 414 : REQUEST_WHOLE);
		snprintf(text, sizeof(text), "GET /a?%.*s HTTP/1.1\r\n\r\n",
			REQUEST_QUERY_MAX - 1 + over, query);
		assert_int_equal(parse(text, &q), over ? 414 : REQUEST_WHOLE);
		if (!over)
			assert_int_equal(strlen(q.query), REQUEST_QUERY_MAX - 1);
		snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nAuthorization: Basic %.*s\r\n\r\n",
			REQUEST_AUTH_MAX - 1 + over, aaa);
		assert_int_equal(parse(text, &q), over ? 431 : REQUEST_WHOLE);
	}
}

static void test_settings(void **state)
{
	struct settings s;
	struct err err = {};

	(void)state;
	assert_int_equal(
		settings_parse("# all\n\nlisten 127.0.0.1:1\n  keep = 5m \r\non-limit\nauth=/a b",
			"f", &s, &err),
		0);
	assert_int_equal(s.words.n, 5);
	assert_string_equal(s.words.v[1], "--listen=127.0.0.1:1");
	assert_string_equal(s.words.v[2], "--keep=5m");
	assert_string_equal(s.words.v[3], "--on-limit");
	assert_string_equal(s.words.v[4], "--auth=/a b");
	assert_null(s.words.v[5]);
	settings_free(&s);
	assert_int_equal(settings_parse("a 1\n--listen x\n", "f", &s, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "line 2"));
	assert_int_equal(settings_parse("li$ten x", "f", &s, &err), -EINVAL);
}

static void test_listen(void **state)
{
	struct listen_address a;
	struct err err = {};

	(void)state;
	assert_int_equal(listen_parse("127.0.0.1:9669", &a, &err), 0);
	assert_true(a.local);
	assert_int_equal(listen_parse("[::1]:80", &a, &err), 0);
	assert_true(a.local);
	assert_int_equal(listen_parse(":80", &a, &err), 0);
	assert_false(a.local);
	assert_int_equal(listen_parse("10.0.0.1:80", &a, &err), 0);
	assert_false(a.local);
	assert_int_equal(listen_parse("unix:/run/x", &a, &err), 0);
	assert_true(a.local);
	for (const char *const *bad = (const char *const[]){"", "x", "127.0.0.1", "127.0.0.1:0",
		     "127.0.0.1:70000", "host:80", "unix:x", "::1:80:", NULL};
		*bad; bad++)
		assert_int_equal(listen_parse(*bad, &a, &err), -EINVAL);
}

static void test_exposition(void **state)
{
	static const struct metric seconds = {"a_seconds", METRIC_COUNTER, "seconds", "Some."};
	static const struct metric took = {"b_seconds", METRIC_HISTOGRAM, "seconds", "Took."};
	u64 slots[32] = {[5] = 1, [11] = 2, [31] = 4};
	_cleanup_str_ struct str out = {}, l = {};
	struct exposition e = {.out = &out, .format = EXPOSITION_OPENMETRICS};

	(void)state;
	label_add(&l, "x", "a\"b\\c\nd\xff");
	label_add_u64(&l, "n", 7);
	assert_string_equal(str_get(&l), "x=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\",n=\"7\"");
	exposition_family(&e, &seconds);
	exposition_seconds(&e, "k=\"v\"", 18446744073709551615ULL);
	assert_string_equal(str_get(&out), "# HELP a_seconds Some.\n# TYPE a_seconds counter\n"
					   "# UNIT a_seconds seconds\n"
					   "a_seconds_total{k=\"v\"} 18446744073.709551615\n");
	str_clear(&out);
	exposition_family(&e, &took);
	exposition_histogram(&e, NULL, slots, 32, 1500000000);
	assert_non_null(strstr(str_get(&out), "b_seconds_bucket{le=\"1.024e-06\"} 1\n"));
	assert_non_null(strstr(str_get(&out), "b_seconds_bucket{le=\"2.048e-06\"} 3\n"));
	assert_non_null(strstr(str_get(&out), "b_seconds_bucket{le=\"1.073741824\"} 3\n"
					      "b_seconds_bucket{le=\"+Inf\"} 7\n"
					      "b_seconds_sum 1.500000000\nb_seconds_count 7\n"));
	assert_int_equal(e.series, 25);
}

/* Counts what a ring sends. */
struct seen {
	struct sink sink;
	u64 kinds[REC_KINDS];
	u64 value, session_ns, lost, oldest_ns, newest_ns;
	bool session_first, over;
};

static int seen_put(struct sink *sink, const struct rec *r)
{
	struct seen *s = (struct seen *)sink;

	s->kinds[r->kind]++;
	if (r->kind == REC_SESSION)
		s->session_ns = r->time_ns;
	if (r->kind == REC_SYSTEM_VALUE)
		s->value = ((const struct system_value *)r)->value;
	if (r->kind == REC_LOSS)
		s->lost = ((const struct rec_loss *)r)->lost;
	if (r->kind == REC_STALLS_AGG) {
		s->oldest_ns = s->oldest_ns ? s->oldest_ns : r->time_ns;
		s->newest_ns = r->time_ns;
	}
	s->over |= task_is_over(r);
	assert_true(r->kind == REC_HOST || s->kinds[REC_HOST]);
	return 0;
}

static struct stream names_make(void)
{
	struct stream s;
	struct rec_host host = REC_INIT(struct rec_host, REC_HOST, 0);
	struct rec_session session = REC_INIT(struct rec_session, REC_SESSION, NSEC_PER_SEC);

	assert_int_equal(stream_init(&s), 0);
	assert_int_equal(stream_feed(&s, &host.h), 0);
	assert_int_equal(stream_feed(&s, &session.h), 0);
	return s;
}

static void put(struct ring *r, const struct rec *rec)
{
	ring_put(r, rec);
}

static int ring_give(
	struct ring *r, const struct stream *names, const char *const *why, struct sink *to)
{
	int fd = memfd_create("ring", MFD_CLOEXEC), rc;

	assert_true(fd >= 0);
	rc = ring_save(r, names, why, fd);
	rc = rc ? rc : ring_file_send(fd, to);
	close(fd);
	return rc;
}

static void test_ring(void **state)
{
	static const char *const why[] = {"because", NULL};
	struct system_value v = REC_INIT(struct system_value, REC_SYSTEM_VALUE, NSEC_PER_SEC);
	struct rec_task gone = REC_INIT(struct rec_task, REC_TASK, 0), stays = gone;
	struct rec_loss loss = REC_INIT(struct rec_loss, REC_LOSS, NSEC_PER_SEC);
	struct stream names = names_make();
	struct seen seen = {.sink = {seen_put}}, again = seen;
	struct ring *r;
	struct ring_state st;

	(void)state;
	assert_int_equal(ring_new(60 * NSEC_PER_SEC, 4 << 20, &r), 0);
	v.value = 42;
	v.source = SYSTEM_SYSCTL;
	strcpy(v.name, "vm.swappiness");
	put(r, &v.h);
	gone.tgid = 1, stays.tgid = 2;
	put(r, &gone.h);
	put(r, &stays.h);
	loss.lost = 10;
	strcpy(loss.probe, "stalls");
	put(r, &loss.h);
	for (u64 s = 1; s <= 600; s++) {
		struct stalls_agg a = REC_INIT(struct stalls_agg, REC_STALLS_AGG, s * NSEC_PER_SEC);

		a.count = s;
		put(r, &a.h);
		if (s == 300) {
			gone.h.flags = TASK_OVER;
			put(r, &gone.h);
		}
	}
	loss.h.time_ns = 600 * NSEC_PER_SEC;
	loss.lost = 13;
	put(r, &loss.h);
	assert_int_equal(ring_give(r, &names, why, &seen.sink), 0);
	assert_int_equal(seen.kinds[REC_NOTE], 1);
	assert_int_equal(seen.kinds[REC_END], 1);
	assert_int_equal(seen.value, 42);          /* sent once, ten minutes ago */
	assert_int_equal(seen.kinds[REC_TASK], 1); /* one has ended */
	assert_false(seen.over);
	assert_int_equal(seen.lost, 3);
	assert_int_equal(seen.newest_ns, 600 * NSEC_PER_SEC);
	/* As far back as asked for, and the rest of a chunk. */
	assert_true(seen.oldest_ns <= 540 * NSEC_PER_SEC);
	assert_true(seen.oldest_ns >= 500 * NSEC_PER_SEC);
	assert_true(seen.session_ns < seen.oldest_ns);
	st = ring_state(r);
	assert_int_equal(st.begin_ns, seen.oldest_ns);
	/* What was sent can be sent again. */
	assert_int_equal(ring_give(r, &names, why, &again.sink), 0);
	assert_memory_equal(seen.kinds, again.kinds, sizeof(seen.kinds));
	ring_free(r);
	stream_destroy(&names);
}

struct told {
	struct sink sink;
	u32 n;
	u16 last;
	u64 cpu_ns;
};

static int told_put(struct sink *sink, const struct rec *r)
{
	struct told *t = (struct told *)sink;

	t->n++;
	t->last = r->kind;
	if (r->kind == REC_COST)
		t->cpu_ns = ((const struct rec_cost *)r)->cpu_ns;
	return 0;
}

/* What it cost is told since the recording began, and once, before its end. */
static void test_ring_cost(void **state)
{
	struct rec_cost cost = REC_INIT(struct rec_cost, REC_COST, NSEC_PER_SEC);
	struct rec_tick over = REC_INIT(struct rec_tick, REC_END, NSEC_PER_SEC);
	struct told told = {.sink = {told_put}};
	char *buf = malloc(RING_CHUNK_BYTES);
	struct ring_writer w;
	int fd = memfd_create("ring", MFD_CLOEXEC);

	(void)state;
	ring_writer_init(&w, fd, buf);
	assert_int_equal(ring_writer_part(&w, RING_BEFORE), 0);
	cost.cpu_ns = 100;
	assert_int_equal(w.sink.put(&w.sink, &cost.h), 0);
	assert_int_equal(ring_writer_part(&w, RING_RAW), 0);
	cost.cpu_ns = 130;
	assert_int_equal(w.sink.put(&w.sink, &cost.h), 0);
	cost.cpu_ns = 150;
	assert_int_equal(w.sink.put(&w.sink, &cost.h), 0);
	assert_int_equal(ring_writer_part(&w, RING_LAST), 0);
	assert_int_equal(w.sink.put(&w.sink, &over.h), 0);
	assert_int_equal(ring_writer_part(&w, RING_LAST), 0);
	assert_int_equal(ring_file_send(fd, &told.sink), 0);
	assert_int_equal(told.n, 2);
	assert_int_equal(told.cpu_ns, 50);
	assert_int_equal(told.last, REC_END);
	close(fd);
	free(buf);
}

/* A file that is none: parts that are longer than it, or do not unpack to what they say. */
static void test_ring_damage(void **state)
{
	static const struct {
		enum ring_part part;
		u32 stored, says, raw;
	} cases[] = {{RING_RAW, 16, 32, 32}, {RING_RAW, 64, 64, 32}, {RING_PACKED, 64, 64, 64},
		{RING_RAW, 4, 4, 4}};
	const struct rec whole[4] = {{sizeof(whole[0]), REC_TICK, 0, 1}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const u32 head[4] = {cases[i].part, cases[i].says, cases[i].raw, 0};
		struct told told = {.sink = {told_put}};
		int fd = memfd_create("ring", MFD_CLOEXEC);

		assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
		assert_int_equal(write(fd, whole, cases[i].stored), cases[i].stored);
		assert_int_equal(ring_file_send(fd, &told.sink), -EBADMSG);
		assert_int_equal(told.n, 0);
		close(fd);
	}
}

static void test_ring_bytes(void **state)
{
	struct stream names = names_make();
	struct ring *r;

	(void)state;
	assert_int_equal(ring_new(3600 * NSEC_PER_SEC, 1 << 20, &r), 0);
	for (u32 i = 0; i < 100000; i++) {
		struct stalls_agg a =
			REC_INIT(struct stalls_agg, REC_STALLS_AGG, (1 + i) * NSEC_PER_MSEC);

		for (size_t k = 0; k < AGG_SLOTS; k++) /* as good as random */
			a.hist[k] = (u32)((i * 2654435761U + k * 40503U) * 2246822519U);
		put(r, &a.h);
	}
	assert_true(ring_state(r).bytes < (1 << 20) + (512 << 10));
	assert_true(ring_state(r).records < 100000);
	assert_true(ring_state(r).records > 500);
	assert_int_equal(ring_state(r).dropped, 0);
	ring_free(r);
	stream_destroy(&names);
}

static const struct trigger_config triggers_usual = {.on_level = LEVEL_WARNING,
	.on_stall_ns = 5 * NSEC_PER_SEC,
	.on_pressure = 6000,
	.again_ns = NSEC_PER_SEC};

static void test_triggers(void **state)
{
	struct stalls_agg a = REC_INIT(struct stalls_agg, REC_STALLS_AGG, 1);
	struct system_pressure p = REC_INIT(struct system_pressure, REC_SYSTEM_PRESSURE, 1);
	struct stream names = names_make();
	struct triggers *t;
	struct fired f;

	(void)state;
	assert_int_equal(triggers_new(&triggers_usual, &t), 0);
	/* Many that are short are no long one, also where the longest ever was. */
	a.count = 100, a.total_ns = 100 * NSEC_PER_SEC, a.max_ns = NSEC_PER_SEC, a.hist[30] = 100;
	triggers_feed(t, &names, &a.h);
	assert_int_equal(triggers_pending(t), 0);
	a.max_ns = 6 * NSEC_PER_SEC; /* news */
	triggers_feed(t, &names, &a.h);
	triggers_take(t, &f);
	assert_int_equal(f.n, 1);
	assert_string_equal(f.kind, "stall");
	p.resource = SYSTEM_MEMORY, p.some_avg10 = 5999;
	triggers_feed(t, &names, &p.h);
	p.resource = SYSTEM_IO, p.some_avg10 = 9000;
	triggers_feed(t, &names, &p.h);
	assert_int_equal(triggers_pending(t), 0);
	p.resource = SYSTEM_MEMORY;
	triggers_feed(t, &names, &p.h);
	triggers_feed(t, &names, &p.h); /* rests */
	triggers_ask(t);
	assert_true(triggers_pending(t) != 0);
	triggers_take(t, &f);
	assert_int_equal(f.n, 2);
	assert_string_equal(f.kind, "pressure");
	assert_int_equal(triggers_pending(t), 0);
	triggers_free(t);
	stream_destroy(&names);
}

/* A group that was seen for the first time may have been at its limit since memwhy began. */
static void test_triggers_limit(void **state)
{
	struct cgroup_usage u = REC_INIT(struct cgroup_usage, REC_CGROUP_MEMORY, 1);
	struct trigger_config cfg = triggers_usual;
	struct stream names = names_make();
	struct triggers *t;
	struct fired f;

	(void)state;
	cfg.on_limit = true;
	assert_int_equal(triggers_new(&cfg, &t), 0);
	u.cgroup = 5, u.first_limit_hit_total = u.limit_hit_total = 9; /* of before */
	triggers_feed(t, &names, &u.h);
	assert_int_equal(triggers_pending(t), 0);
	u.cgroup = 6, u.limit_hit_total = 11;
	triggers_feed(t, &names, &u.h);
	triggers_take(t, &f);
	assert_int_equal(f.n, 1);
	assert_string_equal(f.kind, "limit");
	triggers_feed(t, &names, &u.h); /* no more of them */
	assert_int_equal(triggers_pending(t), 0);
	triggers_free(t);
	stream_destroy(&names);
}

static void test_triggers_stall_by_hist(void **state)
{
	struct stalls_agg a = REC_INIT(struct stalls_agg, REC_STALLS_AGG, 1);
	struct trigger_config cfg = triggers_usual;
	struct stream names = names_make();
	struct triggers *t;
	struct fired f;

	(void)state;
	cfg.again_ns = 0;
	assert_int_equal(triggers_new(&cfg, &t), 0);
	a.count = 1, a.total_ns = a.max_ns = 9 * NSEC_PER_SEC, a.hist[31] = 1;
	triggers_feed(t, &names, &a.h);
	triggers_take(t, &f);
	assert_int_equal(f.n, 1);
	/* Not the longest ever, but long: two in the last slot with 12 s in all. */
	a.count = 3, a.total_ns = 12 * NSEC_PER_SEC + 1000, a.hist[31] = 2, a.hist[5] = 1;
	triggers_feed(t, &names, &a.h);
	triggers_take(t, &f);
	assert_int_equal(f.n, 1);
	a.total_ns = 9 * NSEC_PER_SEC; /* 4.5 s on average: not known to be long */
	triggers_feed(t, &names, &a.h);
	assert_int_equal(triggers_pending(t), 0);
	/* 7 s in all, of which four others may have taken one each. */
	a.count = 5, a.total_ns = 7 * NSEC_PER_SEC, a.hist[31] = 1, a.hist[30] = 4;
	triggers_feed(t, &names, &a.h);
	assert_int_equal(triggers_pending(t), 0);
	triggers_free(t);
	stream_destroy(&names);
}

/* As the service does. */
static void daemon_feed(struct daemon_kills *d, struct triggers *t, const struct daemon_kill *k)
{
	struct stream names = names_make();

	if (daemon_kill_begins(d, k))
		triggers_daemon_kill(t, &names, k);
	stream_destroy(&names);
}

/* Who kills, in the right words; each group is a reason, and the rest of it is none. */
static void test_triggers_daemon(void **state)
{
	struct daemon_kill k = REC_INIT(struct daemon_kill, REC_DAEMON_KILL, 1);
	struct trigger_config cfg = triggers_usual;
	struct daemon_kills d = {};
	struct triggers *t;
	struct fired f;

	(void)state;
	cfg.again_ns = 3600 * NSEC_PER_SEC;
	assert_int_equal(triggers_new(&cfg, &t), 0);
	strcpy(k.comm, "earlyoom");
	strcpy(k.victim_comm, "tab");
	k.signal = 15, k.victim_tgid = 7, k.victim_cgroup = 1000;
	daemon_feed(&d, t, &k);
	strcpy(k.comm, "systemd-oomd");
	k.signal = 9;
	for (u64 i = 0; i < 6; i++) {
		k.victim_cgroup = 1001 + i % 2;
		daemon_feed(&d, t, &k);
		k.victim_tgid++;
	}
	triggers_take(t, &f);
	assert_int_equal(f.n, 3);
	assert_true(f.urgent);
	assert_string_equal(f.kind, "daemon-kill");
	assert_string_equal(f.reasons[0], "earlyoom told tab (7) to end");
	assert_string_equal(f.reasons[1], "systemd-oomd killed tab (7)");
	assert_string_equal(f.reasons[2], "systemd-oomd killed tab (8)");
	/* Later it is another kill; one that kills single processes ends two of a group. */
	k.h.time_ns += 60 * NSEC_PER_SEC;
	daemon_feed(&d, t, &k);
	strcpy(k.comm, "earlyoom");
	k.victim_tgid++;
	daemon_feed(&d, t, &k);
	daemon_feed(&d, t, &k);
	k.victim_tgid++;
	daemon_feed(&d, t, &k);
	triggers_take(t, &f);
	assert_int_equal(f.n, 3);
	triggers_free(t);
}

/* A group that waits as another one does is a reason of its own, however many rest. */
static void test_triggers_rest(void **state)
{
	struct stalls_agg a = REC_INIT(struct stalls_agg, REC_STALLS_AGG, 1);
	struct stream names = names_make();
	struct trigger_config cfg = triggers_usual;
	struct triggers *t;
	struct fired f;

	(void)state;
	cfg.again_ns = 3600 * NSEC_PER_SEC;
	assert_int_equal(triggers_new(&cfg, &t), 0);
	a.count = 1, a.total_ns = a.max_ns = 6 * NSEC_PER_SEC, a.hist[31] = 1;
	for (u64 i = 0; i < 6000; i++) {
		a.cgroup = 1 + i % 3000;
		triggers_feed(t, &names, &a.h);
		if (i == 1) {
			triggers_feed(t, &names, &a.h);
			triggers_take(t, &f);
			assert_int_equal(f.n, 2);
			assert_false(f.urgent);
		}
	}
	triggers_take(t, &f);
	assert_int_equal(f.n, TRIGGER_REASONS);
	triggers_free(t);
	stream_destroy(&names);
}

/* A killed group has its series, where others have to share. */
static void test_tally_of_killed(void **state)
{
	struct group_sums *other;
	struct tally *g;

	(void)state;
	assert_int_equal(tally_new(&g), 0);
	tally_limit(g, 16);
	other = tally_sums(g, 0);
	for (u64 id = 1; id <= 14; id++)
		assert_ptr_not_equal(tally_sums(g, id), other);
	assert_ptr_equal(tally_sums(g, 15), other);
	assert_ptr_not_equal(tally_sums_of_killed(g, 15), other);
	assert_ptr_not_equal(tally_sums(g, 15), other); /* from then on */
	assert_ptr_not_equal(tally_sums_of_killed(g, 16), other);
	assert_ptr_equal(tally_sums_of_killed(g, 17), other); /* the cap holds */
	tally_free(g);
}

static void test_triggers_findings(void **state)
{
	struct stream names = names_make();
	struct triggers *t;
	struct report r;
	struct fired f;

	(void)state;
	assert_int_equal(triggers_new(&triggers_usual, &t), 0);
	report_init(&r, "check", &names);
	report_finding(&r, LEVEL_RISK, "swap")->title = "a risk";
	report_finding(&r, LEVEL_CRITICAL, "oom")->title = "fires by itself";
	triggers_findings(t, &r);
	assert_int_equal(triggers_pending(t), 0);
	report_finding(&r, LEVEL_WARNING, "stalls")->title = "a warning";
	triggers_findings(t, &r);
	triggers_findings(t, &r);
	triggers_take(t, &f);
	assert_int_equal(f.n, 1);
	assert_string_equal(f.kind, "stalls");
	assert_string_equal(f.reasons[0], "warning: a warning");
	report_destroy(&r);
	triggers_free(t);
	stream_destroy(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request),
		cmocka_unit_test(test_request_of_pages),
		cmocka_unit_test(test_request_accept),
		cmocka_unit_test(test_profile_query),
		cmocka_unit_test(test_push_url),
		cmocka_unit_test(test_push_headers),
		cmocka_unit_test(test_push_request),
		cmocka_unit_test(test_push_spool),
		cmocka_unit_test(test_request_limits),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_listen),
		cmocka_unit_test(test_exposition),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_ring_bytes),
		cmocka_unit_test(test_ring_cost),
		cmocka_unit_test(test_ring_damage),
		cmocka_unit_test(test_triggers_limit),
		cmocka_unit_test(test_triggers),
		cmocka_unit_test(test_triggers_stall_by_hist),
		cmocka_unit_test(test_triggers_daemon),
		cmocka_unit_test(test_triggers_rest),
		cmocka_unit_test(test_tally_of_killed),
		cmocka_unit_test(test_triggers_findings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
