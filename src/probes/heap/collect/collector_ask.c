/* See collector.h: what others ask the collector, while its thread is at work. */
#include <errno.h>
#include <unistd.h>

#include "probes/heap/collect/collector_inner.h"
#include "probes/heap/events/event_writer.h"

void collector_answer(struct collector *c, u64 least_bytes)
{
	c->least_bytes = least_bytes;
	access_lookup_begin(&c->answers);
}

void collector_keep_events(struct collector *c)
{
	c->events = true;
}

int collector_flush_events(struct collector *c)
{
	int rc = 0;

	vec_each (p, &c->alive)
		if ((*p)->events)
			rc = rc ? rc : event_writer_flush((*p)->events, true, &c->news);
	return rc;
}

int collector_ask(struct collector *c, u32 tgid, u32 tid, u64 address, u64 time_ns)
{
	const struct question q = {
		.tgid = tgid,
		.tid = tid,
		.touch = {.address = address, .time_ns = time_ns},
	};

	return access_lookup_ask(&c->answers, &q);
}

int collector_forked(struct collector *c, u32 tgid, u32 from_tgid, u64 time_ns)
{
	return access_lookup_forked(&c->answers, tgid, from_tgid, time_ns);
}

int collector_answers_settle(struct collector *c, u64 time_ns)
{
	int rc = access_lookup_find(&c->answers, c->tracked.v, c->tracked.n);

	return rc ? rc
		  : access_lookup_settle(&c->answers, time_ns, c->alive.v, c->alive.n, &c->news);
}

int collector_settle(struct collector *c, u64 time_ns, block_lookup_buffer *ret)
{
	int rc;

	pthread_mutex_lock(&c->lock);
	rc = collector_answers_settle(c, time_ns);
	*ret = c->answers.told;
	c->answers.told = (block_lookup_buffer){};
	pthread_mutex_unlock(&c->lock);
	return rc;
}

void collector_asked(const struct collector *c, u64 *ret_asked, u64 *ret_guessed)
{
	*ret_asked = c->answers.asked;
	*ret_guessed = c->answers.guessed;
}

int collector_news(struct collector *c, news_buffer *ret)
{
	u64 count;
	int rc;

	if (read(c->news_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return -errno;
	pthread_mutex_lock(&c->lock);
	*ret = c->news;
	c->news = (news_buffer){};
	rc = c->error;
	pthread_mutex_unlock(&c->lock);
	return rc;
}

void collector_lock(struct collector *c)
{
	pthread_mutex_lock(&c->lock);
}

void collector_unlock(struct collector *c)
{
	pthread_mutex_unlock(&c->lock);
}

struct heap_process *const *collector_processes(struct collector *c, size_t *ret_n)
{
	*ret_n = c->processes.n;
	return c->processes.v;
}

bool collector_tracked(const struct collector *c, u32 pid, u64 since_ns)
{
	vec_each (p, &c->processes)
		if ((*p)->pid == pid && (*p)->program_ns >= since_ns)
			return true;
	return false;
}

void collector_programs(struct collector *c, struct collector_programs *ret)
{
	*ret = c->programs;
	ret->dropped = c->clients.dropped;
}

const struct combined_peak *collector_together(struct collector *c)
{
	return &c->together;
}

u64 collector_events(struct collector *c)
{
	u64 n = 0;

	vec_each (p, &c->processes)
		n += (*p)->account.allocations + (*p)->account.frees + (*p)->account.unknown_frees +
		     (*p)->mappings.calls + (*p)->mappings.unmaps + (*p)->mappings.failed;
	return n;
}
