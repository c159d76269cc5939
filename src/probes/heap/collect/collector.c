/* See collector.h. */
#include "probes/heap/collect/collector.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "capture/preload.h"
#include "probes/heap/collect/client.h"
#include "probes/heap/collect/collector_inner.h"
#include "probes/heap/collect/filters.h"
#include "probes/heap/collect/lineage.h"
#include "probes/heap/events/event_writer.h"
#include "sys/group/cgroup.h"
#include "sys/process/proc.h"

#define FEW_WORDS 512           /* after a turn with fewer, sleep */
#define LONG_MS 5               /* the longest sleep while programs run */
#define SPARSE_BYTES (64 << 10) /* sampled so rarely no ring fills in that time */
#define SWEEP_MS 100            /* looks for threads that are over */
#define BATCH 64

/* epoll's data: a process's id, or one of these. */
enum { WAKE_SOCKET = 1ULL << 32, WAKE_STOP, WAKE_LINEAGE, WAKE_CLIENT };

int collector_watch(struct collector *c, int fd, u64 what)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = what};

	return epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

static u64 cgroup_read(const struct collector *c, pid_t pid)
{
	_cleanup_free_ struct cgroup *cg = c->cgroups ? calloc(1, sizeof(*cg)) : NULL;

	return cg && !cgroup_of_pid(c->cgroups, pid, cg) ? cg->id : 0;
}

/* What it was before, or who started it, may not have been looked for yet. */
static int programs_find(struct collector *c)
{
	int rc = 0;

	for (size_t i = 0; i < c->tracked.n && !rc; i++)
		rc = tracked_find(c->tracked.v[i]);
	return rc;
}

/* Limits of ours (ulimit -n, -f) are no reason to leave those that have their files. */
static bool is_limit(int rc)
{
	return rc == -EMFILE || rc == -ENFILE || rc == -EFBIG;
}

static bool is_narrow(struct collector *c, pid_t pid, const char *comm)
{
	u64 limit, hard;

	if (proc_limit_read(pid, PROC_LIMIT_SPACE, &limit, &hard) || limit >= TRACK_SPACE_LEAST)
		return false;
	c->programs.narrow++;
	snprintf(c->programs.narrow_comm, COMM_LEN, "%.15s", comm);
	return true;
}

static int tracked_new(struct collector *c, int client, pid_t pid)
{
	_cleanup_close_ int file = -1;
	struct tracked_program *program = NULL;
	struct proc_stat stat = {}; /* it waits for our answer */
	int rc = programs_find(c);
	u32 before;

	proc_stat_read(pid, &stat);
	before = client_before(c->alive.v, c->alive.n, pid, stat.ppid);
	c->programs.asked++;
	rc = rc ? rc : collector_pid_over(c, pid);
	if (!rc && is_narrow(c, pid, stat.comm))
		return 0;
	rc = rc ? rc
		: tracked_open(c->n_images + 1, pid, c->wait_ms, c->answers.on, &program, &file);
	if (is_limit(rc)) { /* it goes on without, as soon as we hang up */
		c->programs.refused++;
		c->programs.why = rc;
		return 0;
	}
	if (rc)
		return rc;
	c->n_images++;
	program->found = collector_process_found;
	snprintf(program->comm, sizeof(program->comm), "%.15s", stat.comm);
	program->cgroup = cgroup_read(c, pid);
	program->before = before;
	program->arg = c;
	program->head->sample_bytes = c->sample_bytes;
	program->head->least_bytes = c->least_bytes;
	program->active_ms = collector_now_ms();
	program->open_ns = clock_mono_ns();
	rc = collector_faults_image(c, program);
	rc = rc ? rc : vec_push(&c->tracked, program);
	if (rc) {
		tracked_close(program);
		return rc;
	}
	program->filters = c->filters;
	program->head->filters = filters_add(c->filters, pid, &program->filters_key);
	/* Who did not wait gets nothing, and writes nothing. */
	client_send(client, file, program->head->filters.generation ? filters_fd(c->filters) : -1,
		&c->tokens);
	return 0;
}

static int client_take(struct collector *c, u32 number)
{
	_cleanup_close_ int client = -1;
	struct ucred who = {};
	socklen_t size = sizeof(who);

	if (!clients_take(&c->clients, number, &c->tokens, &client))
		return 0;
	if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &who, &size) || who.pid <= 0)
		return 0; /* in no pid namespace that we see into */
	if (!client_has_gone(client))
		return tracked_new(c, client, who.pid);
	c->programs.unanswered++;
	return 0;
}

/* Mostly it has shown its token by now. */
static int clients_accept(struct collector *c)
{
	int rc = 0;

	for (u32 i = 0; i < BATCH && !rc; i++) {
		int client = accept4(c->socket, NULL, NULL, SOCK_CLOEXEC);
		u32 number;

		if (client < 0)
			break;
		number = clients_add(&c->clients, client);
		rc = client_take(c, number);
		if (!rc && c->clients.fd[number] >= 0)
			rc = collector_watch(c, client, WAKE_CLIENT + number);
	}
	return rc;
}

static void tracked_drop(struct collector *c, size_t at)
{
	c->programs.given_up += c->tracked.v[at]->head->off == TRACK_OFF_WAITED;
	tracked_close(c->tracked.v[at]);
	c->tracked.v[at] = c->tracked.v[--c->tracked.n];
}

static int sweep(struct collector *c, u64 now)
{
	int rc = 0;

	c->swept_ms = now;
	for (size_t i = 0; i < c->tracked.n && !rc; i++)
		rc = tracked_sweep(c->tracked.v[i], now, &c->news);
	return rc;
}

/* Programs whose processes are over, but for a fork that may still come: those that nobody can
 * write to any more go, once it is known that nothing was written since. */
static int programs_look(struct collector *c, bool sweeping)
{
	int rc = 0;

	for (size_t i = 0; i < c->tracked.n && !rc; i++) {
		struct tracked_program *program = c->tracked.v[i];

		if (program->n_alive || !(program->over || sweeping))
			continue;
		program->over = false;
		if (!tracked_is_unused(program))
			continue;
		rc = tracked_find(program);
		if (!rc && !program->n_alive)
			tracked_drop(c, i--);
	}
	return rc;
}

/* Its processes are over; a fork may still come that has not yet allocated. */
static bool tracked_is_dormant(const struct tracked_program *program)
{
	return program->n_ever && !program->n_alive;
}

/* One turn over all rings; *ret_words: how much there was. */
static int turn(struct collector *c, s64 *ret_words)
{
	u64 now = collector_now_ms();
	bool sweeping = now - c->swept_ms >= SWEEP_MS;
	s64 all = 0;
	int rc;

	collector_alive_look(c);
	rc = collector_faults_turn(c);
	for (size_t i = 0; i < c->tracked.n && !rc; i++) {
		s64 words;

		if (tracked_is_dormant(c->tracked.v[i]) && !sweeping)
			continue;
		c->tracked.v[i]->until = c->answers.until;
		c->tracked.v[i]->until_ms = c->answers.held_ns / NSEC_PER_MSEC;
		words = tracked_read(c->tracked.v[i], now, &c->news);

		if (words < 0)
			rc = (int)words;
		else
			all += words;
	}
	rc = rc ? rc : collector_faults_look(c, now);
	for (size_t i = 0; c->n_gone && i < c->alive.n && !rc; i++)
		if (c->alive.v[i]->gone && access_lookup_done(&c->answers, c->alive.v[i]))
			rc = collector_process_over(c, c->alive.v[i]);
	if (!rc && sweeping)
		rc = sweep(c, now);
	rc = rc ? rc : programs_look(c, sweeping);
	if (all)
		combined_peak_look(&c->together, c->tracked.v, c->tracked.n, NULL);
	*ret_words = all;
	return rc;
}

static int wake_take(struct collector *c, const struct epoll_event *e)
{
	if (e->data.u64 == WAKE_SOCKET)
		return clients_accept(c);
	if (e->data.u64 == WAKE_STOP)
		c->stop = true;
	else if (e->data.u64 >= WAKE_CLIENT)
		return client_take(c, (u32)(e->data.u64 - WAKE_CLIENT));
	else if (e->data.u64 == WAKE_LINEAGE)
		return lineage_take(c->lineage, false);
	else if (e->data.u64 - 1 < c->processes.n)
		return collector_process_ended(c, c->processes.v[e->data.u64 - 1]);
	return 0;
}

static void news_tell(struct collector *c)
{
	u64 one = 1;

	if ((c->error || c->news.n ||
		    access_lookup_wake(
			    &c->answers, c->tracked.v, c->tracked.n, collector_now_ms())) &&
		write(c->news_fd, &one, sizeof(one)) < 0)
		return; /* it is readable already */
}

/* How long until the next turn. A reader right behind the writer takes its lines of the ring away,
 * and knows too late what to fetch of its table: so it waits, but not where a ring filled up. */
static int turn_wait_ms(struct collector *c, u32 idle)
{
	bool pressed = false;

	vec_each (i, &c->tracked) {
		pressed |= (*i)->pressed;
		(*i)->pressed = false;
	}
	if (!c->tracked.n || pressed)
		return pressed ? 0 : -1;
	return c->sample_bytes >= SPARSE_BYTES ? LONG_MS : MIN(1 + (int)idle / 200, LONG_MS);
}

/* Nobody reads any more: no program waits for that, and the session is told. */
static void collector_give_up(struct collector *c)
{
	pthread_mutex_lock(&c->lock);
	vec_each (i, &c->tracked)
		__atomic_store_n(&(*i)->head->off, TRACK_OFF_ENDED, __ATOMIC_RELEASE);
	news_tell(c);
	pthread_mutex_unlock(&c->lock);
}

static void *collector_run(void *arg)
{
	struct collector *c = arg;
	struct epoll_event events[BATCH];
	u32 idle = 0;

	while (!c->error && !c->stop) {
		int n, ms;
		s64 words;

		pthread_mutex_lock(&c->lock);
		c->error = turn(c, &words);
		news_tell(c);
		pthread_mutex_unlock(&c->lock);
		idle = words < FEW_WORDS ? idle + 1 : 0;
		ms = turn_wait_ms(c, idle);
		n = epoll_wait(c->epoll, events, BATCH, ms);
		pthread_mutex_lock(&c->lock);
		for (int i = 0; i < n && !c->error; i++)
			c->error = wake_take(c, &events[i]);
		pthread_mutex_unlock(&c->lock);
	}
	if (c->error)
		collector_give_up(c);
	return NULL;
}

int collector_open(const struct preload *p, const struct cgroup_mounts *cgroups, u32 wait_ms,
	u64 sample_bytes, struct collector **ret)
{
	struct collector *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	c->socket = p->socket;
	c->tokens = p->tokens;
	clients_init(&c->clients);
	c->wait_ms = wait_ms;
	c->sample_bytes = sample_bytes;
	c->cgroups = cgroups;
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->news_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = c->epoll < 0 || c->news_fd < 0 || c->stop_fd < 0 ? -errno : 0;
	rc = rc ? rc : collector_watch(c, c->socket, WAKE_SOCKET);
	rc = rc ? rc : collector_watch(c, c->stop_fd, WAKE_STOP);
	if (rc)
		collector_close(c);
	else
		*ret = c;
	return rc;
}

void collector_filters(struct collector *c, struct filters *f)
{
	c->filters = f;
}

int collector_lineage(struct collector *c, struct lineage *l)
{
	int rc = 0, fd;

	c->lineage = l;
	for (size_t i = 0; !rc && (fd = lineage_fd(l, i)) >= 0; i++)
		rc = collector_watch(c, fd, WAKE_LINEAGE);
	return rc;
}

int collector_start(struct collector *c)
{
	int rc;

	if (c->running)
		return 0;
	rc = pthread_create(&c->thread, NULL, collector_run, c);
	c->running = !rc;
	return -rc;
}

int collector_fd(const struct collector *c)
{
	return c->news_fd;
}

int collector_halt(struct collector *c)
{
	u64 one = 1;

	if (c->running) {
		if (write(c->stop_fd, &one, sizeof(one)) < 0)
			return -errno;
		pthread_join(c->thread, NULL);
		c->running = false;
	}
	return c->error;
}

int collector_stop(struct collector *c)
{
	int rc = collector_halt(c);

	return rc ? rc : collector_finish(c);
}

int collector_finish(struct collector *c)
{
	s64 words = 0;

	if (!c->error)
		c->error = collector_faults_end(c);
	c->answers.held_ns = c->answers.until = UINT64_MAX - 2; /* nobody asks any more */
	c->swept_ms = 0; /* all programs, and what their rings had no room for */
	if (!c->error)
		c->error = turn(c, &words);
	for (size_t i = 0; i < c->alive.n && !c->error; i++)
		if (poll(&(struct pollfd){c->alive.v[i]->pidfd, POLLIN, 0}, 1, 0) == 1)
			c->error = collector_process_over(c, c->alive.v[i]);
	c->swept_ms = 0;
	vec_each (i, &c->tracked) {
		c->programs.given_up += (*i)->head->off == TRACK_OFF_WAITED;
		(*i)->head->off = TRACK_OFF_ENDED;
	}
	if (!c->error)
		c->error = turn(c, &words);
	return c->error;
}

void collector_close(struct collector *c)
{
	if (!c)
		return;
	if (c->running)
		collector_stop(c);
	vec_each (i, &c->tracked)
		tracked_close(*i);
	vec_each (p, &c->processes) {
		if ((*p)->pidfd >= 0)
			close((*p)->pidfd);
		account_free_all(&(*p)->account);
		mappings_free(&(*p)->mappings);
		block_lookup_free_all((*p)->touched);
		residence_free((*p)->residence);
		event_writer_close((*p)->events);
		vec_free(&(*p)->names);
		vec_free(&(*p)->readers);
		free(*p);
	}
	vec_free(&c->tracked);
	vec_free(&c->processes);
	vec_free(&c->alive);
	vec_free(&c->news);
	access_lookup_free(&c->answers);
	collector_faults_free(c);
	clients_close(&c->clients);
	if (c->epoll >= 0)
		close(c->epoll);
	if (c->news_fd >= 0)
		close(c->news_fd);
	if (c->stop_fd >= 0)
		close(c->stop_fd);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
