/* The server as its clients see it: who may ask, what is compressed, who goes away; and the files
 * with what nobody else is to read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cmocka.h>

#include "serve/http.h"
#include "serve/secret.h"

#define ANSWER_MS 10000

static struct sockaddr_un address;
static int later = -1; /* our end of what an answer waits for */

static void nothing(void *arg, int fd, struct http_answer *ret)
{
	(void)arg;
	(void)fd;
	str_add(&ret->body, "at last");
}

static void answer(void *arg, const struct http_request *q, struct http_answer *ret)
{
	int ends[2];

	(void)arg;
	if (!strcmp(q->path, "/later") &&
		!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
		__atomic_store_n(&later, ends[0], __ATOMIC_SEQ_CST);
		ret->fd = ends[1];
		ret->later = nothing;
		ret->seconds = 60;
		return;
	}
	if (!strcmp(q->path, "/large")) {
		static const char piece[1 << 20];

		ret->type = HTTP_BYTES;
		for (int i = 0; i < 7; i++)
			str_addn(&ret->body, piece, sizeof(piece));
		return;
	}
	if (!strcmp(q->path, "/get")) {
		ret->status = 405;
		ret->get_only = q->head;
		return;
	}
	if (!strcmp(q->path, "/bytes"))
		ret->type = HTTP_BYTES;
	for (int i = 0; i < 1000; i++)
		str_add(&ret->body, q->known ? "known " : "text  ");
}

static struct http *server(const char *users, int want)
{
	struct http_config cfg = {.users = users, .answer = answer};
	struct http *h = NULL;
	struct err err = {};

	address.sun_family = AF_UNIX;
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "memwhy-http-%d", getpid());
	cfg.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(cfg.fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(cfg.fd, 16), 0);
	assert_int_equal(http_start(&cfg, &h, &err), want);
	assert_int_equal(h == NULL, want != 0);
	return h;
}

static int ask(const char *request)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	return fd;
}

/* The status; all of the answer is in `text`. */
static int answered(int fd, char *text, size_t size)
{
	struct pollfd f = {.fd = fd, .events = POLLIN};
	size_t n = 0;
	ssize_t got = 1;

	while (got > 0) {
		assert_int_equal(poll(&f, 1, ANSWER_MS), 1);
		got = recv(fd, text + n, size - 1 - n, 0);
		n += (size_t)MAX(got, (ssize_t)0);
	}
	text[n] = '\0';
	close(fd);
	return n > 12 ? atoi(text + 9) : 0;
}

static int status_of(const char *request)
{
	static char text[20000];

	return answered(ask(request), text, sizeof(text));
}

#define ANYBODY "GET / HTTP/1.1\r\n\r\n"
#define RIGHT "GET / HTTP/1.1\r\nAuthorization: Basic YTpi\r\n\r\n"       /* a:b */
#define WRONG "GET / HTTP/1.1\r\nAuthorization: Basic YTpj\r\n\r\n"       /* a:c */
#define COMMENT "GET / HTTP/1.1\r\nAuthorization: Basic I2E6Yg==\r\n\r\n" /* #a:b */

static void test_users(void **state)
{
	static const char *const none[] = {
		"", "\n", "# a:b\n", "#\n# who:what", "name\n", "name:\n"};
	struct http *h = server("# who:may\n\na:b\r\n", 0);
	struct err err = {};

	(void)state;
	assert_int_equal(status_of(ANYBODY), 401);
	assert_int_equal(status_of(WRONG), 401);
	assert_int_equal(status_of(COMMENT), 401);
	assert_int_equal(status_of(RIGHT), 200);
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) { /* nobody is not everybody */
		assert_int_equal(http_users(h, none[i], &err), -EINVAL);
		assert_int_equal(status_of(ANYBODY), 401);
		assert_int_equal(status_of(RIGHT), 200);
	}
	assert_int_equal(http_users(h, "a:c", &err), 0);
	assert_int_equal(status_of(RIGHT), 401);
	assert_int_equal(status_of(WRONG), 200);
	assert_int_equal(http_users(h, NULL, &err), 0);
	assert_int_equal(status_of(ANYBODY), 200);
	http_stop(h);
	assert_null(server("# nobody\n", -EINVAL));
}

/* Two clients stall in the middle of large answers: there is room for none more of these, and for
 * the others. */
static void test_stalled(void **state)
{
	struct http *h = server(NULL, 0);
	int stalled[] = {ask("GET /large HTTP/1.1\r\n\r\n"), ask("GET /large HTTP/1.1\r\n\r\n")};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(stalled); i++) { /* it is on its way */
		struct pollfd f = {.fd = stalled[i], .events = POLLIN};

		assert_int_equal(poll(&f, 1, ANSWER_MS), 1);
	}
	assert_int_equal(status_of("GET /large HTTP/1.1\r\n\r\n"), 503);
	assert_int_equal(status_of(ANYBODY), 200);
	for (size_t i = 0; i < ARRAY_SIZE(stalled); i++)
		close(stalled[i]);
	http_stop(h);
}

static void test_allowed(void **state)
{
	struct http *h = server(NULL, 0);
	char text[1000];

	(void)state;
	assert_int_equal(answered(ask("HEAD /get HTTP/1.1\r\n\r\n"), text, sizeof(text)), 405);
	assert_non_null(strstr(text, "\r\nAllow: GET\r\n"));
	assert_int_equal(answered(ask("GET /get HTTP/1.1\r\n\r\n"), text, sizeof(text)), 405);
	assert_non_null(strstr(text, "\r\nAllow: GET, HEAD\r\n"));
	http_stop(h);
}

/* By the name and password, not by there being none to give. */
static void test_known(void **state)
{
	struct http *h = server(NULL, 0);
	char text[20000];
	struct err err = {};

	(void)state;
	assert_int_equal(answered(ask(RIGHT), text, sizeof(text)), 200);
	assert_null(strstr(text, "known"));
	assert_int_equal(http_users(h, "a:b", &err), 0);
	assert_int_equal(answered(ask(RIGHT), text, sizeof(text)), 200);
	assert_non_null(strstr(text, "known"));
	http_stop(h);
}

static void test_packed(void **state)
{
	struct http *h = server(NULL, 0);
	char text[20000];

	(void)state;
	answered(ask("GET / HTTP/1.1\r\nAccept-Encoding: gzip\r\n\r\n"), text, sizeof(text));
	assert_non_null(strstr(text, "Content-Encoding: gzip"));
	answered(ask("GET /bytes HTTP/1.1\r\nAccept-Encoding: gzip\r\n\r\n"), text, sizeof(text));
	assert_null(strstr(text, "Content-Encoding"));
	assert_non_null(strstr(text, "Content-Length: 6000\r\n"));
	http_stop(h);
}

static void later_await(void)
{
	for (int ms = 0; ms < ANSWER_MS; ms += 5) {
		if (__atomic_load_n(&later, __ATOMIC_SEQ_CST) >= 0)
			return;
		poll(NULL, 0, 5);
	}
	fail_msg("the request was not taken");
}

/* Whoever asks for what takes a while, and sends more than is read, is seen to go all the same. */
static void test_gone(void **state)
{
	static char more[4 * REQUEST_MAX];
	struct http *h = server(NULL, 0);
	struct pollfd f = {.events = POLLIN};
	char text[20000], byte;
	int fd;

	(void)state;
	memset(more, 'x', sizeof(more));
	__atomic_store_n(&later, -1, __ATOMIC_SEQ_CST);
	fd = ask("GET /later HTTP/1.1\r\n\r\n");
	assert_int_equal(send(fd, more, sizeof(more), MSG_NOSIGNAL), sizeof(more));
	later_await();
	f.fd = later;
	close(fd);
	assert_int_equal(poll(&f, 1, ANSWER_MS), 1);
	assert_int_equal(read(later, &byte, 1), 0); /* it is not wanted any more */
	close(later);
	__atomic_store_n(&later, -1, __ATOMIC_SEQ_CST);
	fd = ask("GET /later HTTP/1.1\r\n\r\nand more");
	later_await();
	assert_int_equal(write(later, "x", 1), 1);
	assert_int_equal(answered(fd, text, sizeof(text)), 200);
	assert_non_null(strstr(text, "at last"));
	close(later);
	http_stop(h);
}

static int secret(const char *path, struct str *ret)
{
	struct err err = {};

	alarm(10); /* it waits for nobody */
	return secret_read("--auth", path, ret, &err);
}

static void test_secret(void **state)
{
	char dir[] = "/tmp/memwhy-secret-XXXXXX", path[64];
	_cleanup_str_ struct str text = {};
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	assert_int_equal(secret(path, &text), -ENOENT);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "a:b\n", 4), 4);
	assert_int_equal(secret(path, &text), 0);
	assert_string_equal(str_get(&text), "a:b\n");
	for (mode_t bit = 01; bit < 0100; bit <<= 1) {
		assert_int_equal(fchmod(fd, 0600 | bit), 0);
		assert_int_equal(secret(path, &text), -EPERM);
	}
	assert_int_equal(fchmod(fd, 0600), 0);
	if (!geteuid()) { /* who else owns it can write other users into it */
		assert_int_equal(fchown(fd, 12345, 0), 0);
		assert_int_equal(secret(path, &text), -EPERM);
		assert_int_equal(fchown(fd, 0, 0), 0);
	}
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(secret(path, &text), 0);
	assert_int_equal(ftruncate(fd, (1 << 20) + 1), 0);
	assert_int_equal(secret(path, &text), -EFBIG);
	close(fd);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(secret(path, &text), -EINVAL);
	unlink(path);
	assert_int_equal(secret(dir, &text), -EINVAL);
	rmdir(dir);
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_stalled),
		cmocka_unit_test(test_allowed),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_secret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
