/* See http.h. */
#include "serve/http.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <zlib.h>

#include "base/base64.h"
#include "base/vec.h"
#include "cage/cage.h"

#define CONNECTIONS_MAX 256
#define CONNECTION_SECONDS 10      /* from its first byte to its last */
#define PENDING_MAX (16U << 20)    /* bytes of answers that wait to be sent */
#define PENDING_RESERVE (2U << 20) /* more of them, for answers that are not large */
#define LARGE (256U << 10)
#define GZIP_LEAST 512

struct connection {
	TAILQ_ENTRY(connection) link; /* oldest first */
	struct http *http;
	struct bufferevent *bev;
	struct event *deadline;
	size_t pending;     /* bytes of its answer; 0: it is being read */
	struct event *wait; /* for an answer that is not there yet; NULL: none */
	struct http_request q;
	struct http_answer later;
	size_t skip; /* bytes of the request that are still to come, and not looked at */
};

/* Base64, as they come in Authorization. */
struct http_users {
	VEC(char *) v;
};

struct http {
	struct http_config cfg;
	struct event_base *base;
	struct evconnlistener *listener;
	struct event *stop;
	int stop_fd;
	pthread_t thread;
	TAILQ_HEAD(, connection) all;
	u32 n;
	size_t pending;
	pthread_mutex_t lock; /* of users */
	struct http_users users;
	_Atomic u64 answered, refused, dropped;
};

static void connection_close(struct connection *c)
{
	struct http *h = c->http;

	TAILQ_REMOVE(&h->all, c, link);
	h->n--;
	h->pending -= c->pending;
	if (c->wait) {
		event_free(c->wait);
		close(c->later.fd);
	}
	event_free(c->deadline);
	bufferevent_free(c->bev);
	free(c);
}

static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct connection *c = arg;

	(void)fd;
	(void)what;
	c->http->dropped++;
	connection_close(c);
}

static void connection_time(struct connection *c, u32 seconds)
{
	evtimer_add(c->deadline, &(struct timeval){.tv_sec = seconds});
}

static void on_sent(struct bufferevent *bev, void *arg)
{
	struct connection *c = arg;

	if (c->pending && !evbuffer_get_length(bufferevent_get_output(bev)))
		connection_close(c);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT))
		connection_close(arg);
}

/* False: it stays as it is. */
static bool body_gzip(struct str *body)
{
	z_stream z = {.next_in = (Bytef *)body->buf, .avail_in = (uInt)body->len};
	struct str packed = {};
	int rc;

	if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	packed.cap = deflateBound(&z, body->len) + 1;
	packed.buf = malloc(packed.cap);
	z.next_out = (Bytef *)packed.buf;
	z.avail_out = packed.buf ? (uInt)packed.cap - 1 : 0;
	rc = packed.buf ? deflate(&z, Z_FINISH) : Z_MEM_ERROR;
	packed.len = z.total_out;
	deflateEnd(&z);
	if (rc != Z_STREAM_END) {
		str_free(&packed);
		return false;
	}
	str_free(body);
	*body = packed;
	return true;
}

static void answer_send(struct connection *c, const struct http_request *q, struct http_answer *a)
{
	struct http *h = c->http;
	struct evbuffer *out = bufferevent_get_output(c->bev);
	bool text = !a->type || strcmp(a->type, HTTP_BYTES) != 0;
	bool packed = q->gzip && text && a->body.len >= GZIP_LEAST && body_gzip(&a->body);

	evbuffer_add_printf(out,
		"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s%s"
		"Vary: Accept, Accept-Encoding\r\nCache-Control: no-store\r\n"
		"X-Content-Type-Options: nosniff\r\n"
		"Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; "
		"script-src 'unsafe-inline'; img-src data:\r\n"
		"Connection: close\r\n\r\n",
		a->status, status_words(a->status), a->type ? a->type : "text/plain; charset=utf-8",
		a->body.len, packed ? "Content-Encoding: gzip\r\n" : "",
		a->status == 401   ? "WWW-Authenticate: Basic realm=\"memwhy\"\r\n"
		: a->status != 405 ? ""
		: a->get_only      ? "Allow: GET\r\n"
				   : "Allow: GET, HEAD\r\n");
	if (!q->head)
		evbuffer_add(out, a->body.buf ? a->body.buf : "", a->body.len);
	c->pending = evbuffer_get_length(out);
	h->pending += c->pending;
	if (a->status == 200)
		h->answered++;
	else
		h->refused++;
}

/* An answer in words: what is wrong. */
static void refuse(struct http_answer *a, int status)
{
	str_clear(&a->body);
	str_addf(&a->body, "%s\n", status_words(status));
	a->status = status;
	a->type = NULL;
}

/* How long it takes says nothing of how near a guess was. */
static bool word_is(const char *given, const char *right)
{
	size_t n = strlen(given), m = strlen(right);
	unsigned char differs = n != m;

	for (size_t i = 0; i < n; i++)
		differs |= (unsigned char)(given[i] ^ right[i % (m + 1)]);
	return !differs;
}

static bool is_permitted(struct http *h, struct http_request *q)
{
	bool yes;

	pthread_mutex_lock(&h->lock);
	yes = !h->users.v.n;
	vec_each (user, &h->users.v)
		q->known |= word_is(q->basic, *user);
	pthread_mutex_unlock(&h->lock);
	return yes || q->known;
}

/* Who stalls while a large answer is on its way keeps others from large ones, not from metrics. */
static bool has_room(const struct http *h, const struct http_answer *a)
{
	return h->pending + a->body.len <=
	       PENDING_MAX + (a->body.len > LARGE ? 0 : PENDING_RESERVE);
}

static void answer_end(struct connection *c, const struct http_request *q, struct http_answer *a)
{
	bufferevent_disable(c->bev, EV_READ);
	if (a->body.failed || !has_room(c->http, a))
		refuse(a, 503);
	answer_send(c, q, a);
	str_free(&a->body);
}

static void on_later(evutil_socket_t fd, short what, void *arg)
{
	struct connection *c = arg;
	struct http_answer a = {.status = 200};

	(void)what;
	c->later.later(c->http->cfg.arg, fd, &a);
	event_free(c->wait);
	c->wait = NULL;
	close(fd);
	connection_time(c, CONNECTION_SECONDS);
	answer_end(c, &c->q, &a);
}

static void input_drop(struct connection *c)
{
	struct evbuffer *in = bufferevent_get_input(c->bev);

	evbuffer_drain(in, evbuffer_get_length(in));
}

/* Meanwhile it is looked whether the client is still there, which takes room for what it sends. */
static void answer_await(
	struct connection *c, const struct http_request *q, const struct http_answer *a)
{
	struct http_answer none = {};

	input_drop(c);
	c->wait = event_new(c->http->base, a->fd, EV_READ, on_later, c);
	if (!c->wait || event_add(c->wait, NULL)) {
		if (c->wait)
			event_free(c->wait);
		c->wait = NULL;
		close(a->fd);
		refuse(&none, 503);
		answer_end(c, q, &none);
		return;
	}
	c->q = *q;
	c->later = *a;
	connection_time(c, a->seconds);
}

static void request_answer(struct connection *c, struct http_request *q, int status)
{
	struct http *h = c->http;
	struct http_answer a = {.status = 200};

	if (status)
		refuse(&a, status);
	else if (!is_permitted(h, q))
		refuse(&a, 401);
	else if (h->pending > PENDING_MAX + PENDING_RESERVE)
		refuse(&a, 503);
	else
		h->cfg.answer(h->cfg.arg, q, &a);
	if (a.later)
		answer_await(c, q, &a);
	else
		answer_end(c, q, &a);
}

/* What follows the headers is of no use, but who sends it does not listen before it is sent. */
static void body_skip(struct connection *c, struct evbuffer *in)
{
	size_t n = MIN(evbuffer_get_length(in), c->skip);

	evbuffer_drain(in, n);
	c->skip -= n;
	if (!c->skip)
		request_answer(c, &c->q, REQUEST_WHOLE);
}

static void on_bytes(struct bufferevent *bev, void *arg)
{
	struct connection *c = arg;
	struct evbuffer *in = bufferevent_get_input(bev);
	size_t n = MIN(evbuffer_get_length(in), (size_t)REQUEST_MAX);
	struct http_request q;
	int status;

	if (c->pending || c->wait) { /* more than one request: not answered */
		input_drop(c);
		return;
	}
	if (c->skip) {
		body_skip(c, in);
		return;
	}
	status = http_request_parse((const char *)evbuffer_pullup(in, (ssize_t)n), n, &q);
	if (status == REQUEST_PART)
		return;
	if (status || !q.body) {
		request_answer(c, &q, status);
		return;
	}
	c->q = q;
	c->skip = q.bytes + q.body;
	body_skip(c, in);
}

/* Where all places are taken the one that has not asked for longest goes: whoever asks at once, as
 * a scraper does, is answered however many others are slow. */
static void place_make(struct http *h)
{
	struct connection *c, *oldest = TAILQ_FIRST(&h->all);

	if (h->n < CONNECTIONS_MAX)
		return;
	TAILQ_FOREACH(c, &h->all, link)
	{
		if (!c->pending && !c->wait) {
			oldest = c;
			break;
		}
	}
	h->dropped++;
	connection_close(oldest);
}

static void on_connection(
	struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *sa, int len, void *arg)
{
	struct http *h = arg;
	struct connection *c = calloc(1, sizeof(*c));

	(void)l;
	(void)sa;
	(void)len;
	place_make(h);
	if (c) {
		c->http = h;
		c->bev = bufferevent_socket_new(h->base, fd, BEV_OPT_CLOSE_ON_FREE);
		c->deadline = evtimer_new(h->base, on_deadline, c);
	}
	if (!c || !c->bev || !c->deadline) {
		if (c && c->bev)
			bufferevent_free(c->bev);
		else
			evutil_closesocket(fd);
		if (c && c->deadline)
			event_free(c->deadline);
		free(c);
		return;
	}
	TAILQ_INSERT_TAIL(&h->all, c, link);
	h->n++;
	bufferevent_setcb(c->bev, on_bytes, on_sent, on_event, c);
	bufferevent_setwatermark(c->bev, EV_READ, 0, REQUEST_MAX);
	connection_time(c, CONNECTION_SECONDS);
	bufferevent_enable(c->bev, EV_READ | EV_WRITE);
}

static void on_stop(evutil_socket_t fd, short what, void *arg)
{
	struct http *h = arg;

	(void)fd;
	(void)what;
	event_base_loopbreak(h->base);
}

static void *server(void *arg)
{
	struct http *h = arg;

	/* Rights are each thread's own: this one reads what strangers send. */
	(void)cage_capabilities(NULL, 0, NULL);
	event_base_dispatch(h->base);
	return NULL;
}

/* All signals are the session's. */
static int thread_start(struct http *h)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = -pthread_create(&h->thread, NULL, server, h);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

static void users_free(struct http_users *u)
{
	vec_each (user, &u->v)
		free(*user);
	vec_free(&u->v);
}

/* What is no comment and has a password. */
static bool is_user(const char *line, size_t n)
{
	const char *colon = memchr(line, ':', n);

	return *line != '#' && colon && colon + 1 < line + n;
}

static int users_parse(const char *lines, struct http_users *ret)
{
	while (*lines) {
		size_t n = strcspn(lines, "\r\n");

		if (is_user(lines, n)) {
			_cleanup_str_ struct str user = {};

			base64_add(&user, lines, n);
			if (user.failed || vec_push(&ret->v, user.buf))
				return -ENOMEM;
			user = (struct str){}; /* the list has it */
		}
		lines += n;
		lines += strspn(lines, "\r\n");
	}
	return ret->v.n ? 0 : -EINVAL;
}

int http_users(struct http *h, const char *lines, struct err *err)
{
	struct http_users users = {}, old;
	int rc = lines ? users_parse(lines, &users) : 0;

	if (rc) {
		users_free(&users);
		return rc == -EINVAL
			       ? err_set(err, rc, "--auth: the file has no USER:PASSWORD line")
			       : err_errno(err, rc, "--auth");
	}
	pthread_mutex_lock(&h->lock);
	old = h->users;
	h->users = users;
	pthread_mutex_unlock(&h->lock);
	users_free(&old);
	return 0;
}

static void http_free(struct http *h)
{
	while (!TAILQ_EMPTY(&h->all))
		connection_close(TAILQ_FIRST(&h->all));
	if (h->listener)
		evconnlistener_free(h->listener); /* closes its socket */
	else
		close(h->cfg.fd);
	if (h->stop)
		event_free(h->stop);
	if (h->stop_fd >= 0)
		close(h->stop_fd);
	if (h->base)
		event_base_free(h->base);
	users_free(&h->users);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

static int http_prepare(struct http *h)
{
	h->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	h->base = event_base_new();
	if (h->stop_fd < 0 || !h->base)
		return -ENOMEM;
	h->stop = event_new(h->base, h->stop_fd, EV_READ, on_stop, h);
	h->listener = evconnlistener_new(h->base, on_connection, h,
		LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, h->cfg.fd);
	if (!h->stop || !h->listener || event_add(h->stop, NULL))
		return -ENOMEM;
	return 0;
}

int http_start(const struct http_config *cfg, struct http **ret, struct err *err)
{
	struct http *h = calloc(1, sizeof(*h));
	int rc;

	if (!h)
		return err_errno(err, -ENOMEM, "starting the server");
	h->cfg = *cfg;
	h->cfg.users = NULL; /* not kept */
	h->stop_fd = -1;
	TAILQ_INIT(&h->all);
	pthread_mutex_init(&h->lock, NULL);
	*ret = h; /* the thread may be asked at once */
	rc = http_users(h, cfg->users, err);
	if (!rc) {
		rc = http_prepare(h);
		rc = rc ? rc : thread_start(h);
		if (rc)
			err_errno(err, rc, "starting the server");
	}
	if (rc) {
		http_free(h);
		*ret = NULL;
	}
	return rc;
}

struct http_counts http_counts(struct http *h)
{
	return (struct http_counts){h->answered, h->refused, h->dropped};
}

void http_stop(struct http *h)
{
	u64 one = 1;

	if (!h)
		return;
	if (write(h->stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(h->thread, NULL);
	http_free(h);
}
