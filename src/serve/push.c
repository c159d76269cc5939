/* See push.h. */
#include "serve/push.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "base/clock.h"
#include "cage/cage.h"

#define SPOOL_BYTES (8UL << 20)
#define SPOOL_MOST 512
#define WAIT_FIRST_S 1
#define WAIT_LONGEST_S 300
#define SEND_MS 10000 /* for each step: connecting, sending, its answer */

struct spooled {
	STAILQ_ENTRY(spooled) link;
	const char *name;
	u64 from_s, until_s;
	struct str profile;
};

struct push {
	struct push_to to;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more;          /* to be sent, or to end */
	STAILQ_HEAD(, spooled) spool; /* oldest first */
	u64 n;
	bool ends;
	int socket; /* in use; -1: none */
	bool fails, told_fails;
	char why[160];
	struct push_counts counts;
};

static void spooled_free(struct spooled *s)
{
	str_free(&s->profile);
	free(s);
}

/* With the lock. */
static struct spooled *oldest_take(struct push *p)
{
	struct spooled *s = STAILQ_FIRST(&p->spool);

	if (!s)
		return NULL;
	STAILQ_REMOVE_HEAD(&p->spool, link);
	p->n--;
	p->counts.spool_bytes -= s->profile.len;
	return s;
}

static void push_room_make(struct push *p)
{
	while (p->n > SPOOL_MOST || p->counts.spool_bytes > SPOOL_BYTES) {
		spooled_free(oldest_take(p));
		p->counts.dropped++;
	}
}

void push_add(struct push *p, const char *name, u64 from_s, u64 until_s, struct str *profile)
{
	struct spooled *s = profile->failed ? NULL : calloc(1, sizeof(*s));

	pthread_mutex_lock(&p->lock);
	if (s) {
		*s = (struct spooled){
			.name = name, .from_s = from_s, .until_s = until_s, .profile = *profile};
		*profile = (struct str){};
		STAILQ_INSERT_TAIL(&p->spool, s, link);
		p->n++;
		p->counts.spool_bytes += s->profile.len;
		push_room_make(p);
		pthread_cond_signal(&p->more);
	} else {
		p->counts.dropped++;
	}
	pthread_mutex_unlock(&p->lock);
}

static bool can(int fd, short what)
{
	struct pollfd f = {.fd = fd, .events = what};
	int rc;

	do {
		rc = poll(&f, 1, SEND_MS);
	} while (rc < 0 && errno == EINTR);
	if (!rc)
		errno = ETIMEDOUT;
	return rc > 0;
}

static bool all_send(int fd, const char *text, size_t n)
{
	while (n) {
		ssize_t sent = can(fd, POLLOUT) ? send(fd, text, n, MSG_NOSIGNAL) : -1;

		if (sent < 0 && errno != EAGAIN)
			return false;
		text += MAX(sent, 0L);
		n -= (size_t)MAX(sent, 0L);
	}
	return true;
}

static bool is_connected(int fd, const struct push_to *to)
{
	socklen_t n = sizeof(int);
	int error = 0;

	if (!connect(fd, (const struct sockaddr *)&to->sa, to->n))
		return true;
	if (errno != EINPROGRESS || !can(fd, POLLOUT))
		return false;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n);
	errno = error;
	return !error;
}

/* The first bytes of the answer, which have its status. */
static int push_answer_read(int fd)
{
	char text[16] = "";
	size_t n = 0;

	while (n < 12) {
		ssize_t got = can(fd, POLLIN) ? recv(fd, text + n, 12 - n, 0) : -1;

		if (!got)
			errno = ECONNRESET;
		if (got < 0 && errno == EAGAIN)
			continue;
		if (got <= 0)
			return -errno;
		n += (size_t)got;
	}
	return push_status(text);
}

/* The status of the answer, or -errno. */
static int profile_send(struct push *p, int fd, const struct spooled *s)
{
	_cleanup_str_ struct str head = {};

	push_request(&p->to, s->name, s->from_s, s->until_s, s->profile.len, &head);
	if (head.failed)
		return -ENOMEM;
	if (!is_connected(fd, &p->to) || !all_send(fd, str_get(&head), head.len) ||
		!all_send(fd, str_get(&s->profile), s->profile.len))
		return -errno;
	return push_answer_read(fd);
}

/* What is stopped meanwhile has its socket shut down. */
static int attempt(struct push *p, const struct spooled *s)
{
	int fd = socket(p->to.sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int status = fd < 0 ? -errno : 0;

	pthread_mutex_lock(&p->lock);
	p->socket = fd;
	status = p->ends ? -EINTR : status;
	pthread_mutex_unlock(&p->lock);
	if (!status)
		status = profile_send(p, fd, s);
	pthread_mutex_lock(&p->lock);
	p->socket = -1;
	pthread_mutex_unlock(&p->lock);
	if (fd >= 0)
		close(fd);
	return status;
}

static bool is_final(int status)
{
	return status >= 200 && status < 500 && status != 408 && status != 429;
}

/* With the lock: what came of an attempt. False: it is to be tried again. */
static bool outcome_take(struct push *p, int status)
{
	bool good = status >= 200 && status < 300;

	p->fails = !good;
	if (status < 0)
		snprintf(p->why, sizeof(p->why), "%.80s: %s", p->to.host, strerror(-status));
	else if (!status)
		snprintf(p->why, sizeof(p->why), "%.80s does not answer with HTTP", p->to.host);
	else if (!good)
		snprintf(
			p->why, sizeof(p->why), "%.80s answers with status %d", p->to.host, status);
	p->counts.sent += good;
	p->counts.refused += !good && is_final(status);
	p->counts.failures += !is_final(status);
	return is_final(status);
}

/* With the lock. */
static void rest(struct push *p, u64 seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)seconds;
	while (!p->ends && pthread_cond_timedwait(&p->more, &p->lock, &until) != ETIMEDOUT)
		;
}

static void *pusher(void *arg)
{
	struct push *p = arg;
	u64 wait_s = WAIT_FIRST_S;

	(void)cage_capabilities(NULL, 0, NULL);
	pthread_mutex_lock(&p->lock);
	while (!p->ends) {
		struct spooled *s = oldest_take(p);
		int status;

		if (!s) {
			pthread_cond_wait(&p->more, &p->lock);
			continue;
		}
		pthread_mutex_unlock(&p->lock);
		status = attempt(p, s);
		pthread_mutex_lock(&p->lock);
		if (outcome_take(p, status)) {
			spooled_free(s);
			wait_s = WAIT_FIRST_S;
			continue;
		}
		STAILQ_INSERT_HEAD(&p->spool, s, link);
		p->n++;
		p->counts.spool_bytes += s->profile.len;
		push_room_make(p);
		rest(p, wait_s);
		wait_s = MIN(wait_s * 2, (u64)WAIT_LONGEST_S);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void push_free(struct push *p)
{
	struct spooled *s;

	while ((s = oldest_take(p)))
		spooled_free(s);
	pthread_cond_destroy(&p->more);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

int push_start(const struct push_to *to, struct push **ret, struct err *err)
{
	struct push *p = calloc(1, sizeof(*p));
	pthread_condattr_t attr;
	sigset_t all, old;
	int rc;

	if (!p)
		return err_errno(err, -ENOMEM, "--push");
	p->to = *to;
	p->socket = -1;
	STAILQ_INIT(&p->spool);
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->more, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all); /* all signals are the session's */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = -pthread_create(&p->thread, NULL, pusher, p);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc) {
		push_free(p);
		return err_errno(err, rc, "--push");
	}
	*ret = p;
	return 0;
}

void push_stop(struct push *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->ends = true;
	if (p->socket >= 0)
		shutdown(p->socket, SHUT_RDWR);
	pthread_cond_signal(&p->more);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	push_free(p);
}

void push_counts(struct push *p, struct push_counts *ret)
{
	pthread_mutex_lock(&p->lock);
	*ret = p->counts;
	pthread_mutex_unlock(&p->lock);
}

int push_news(struct push *p, char why[160])
{
	int news = 0;

	pthread_mutex_lock(&p->lock);
	if (p->fails != p->told_fails) {
		news = p->fails ? -1 : 1;
		p->told_fails = p->fails;
		memcpy(why, p->why, sizeof(p->why));
	}
	pthread_mutex_unlock(&p->lock);
	return news;
}
