/* See record.h. Layouts as in include/uapi/linux/perf_event.h, enum perf_event_type. */
#include "perfdata/record.h"

/* What follows the body of records that are no samples: sample_id of the kernel. */
#define TRAILER_FIELDS                                                                    \
	(PERFDATA_TID | PERFDATA_TIME | PERFDATA_ID | PERFDATA_STREAM_ID | PERFDATA_CPU | \
		PERFDATA_IDENTIFIER)

static size_t words_of(u64 type, u64 fields)
{
	return (size_t)__builtin_popcountll(type & fields);
}

static u64 word_at(const struct cursor *c, size_t i)
{
	u64 v;

	if (i >= c->left / 8)
		return 0;
	memcpy(&v, c->p + 8 * i, sizeof(v));
	return swap_u64(v, c->swap);
}

static u64 word_from_end(const struct cursor *c, size_t i)
{
	u64 v;

	if (i > c->left / 8)
		return 0;
	memcpy(&v, c->p + c->left - 8 * i, sizeof(v));
	return swap_u64(v, c->swap);
}

/* The event of a record, before anything else of it is known: all have their ids in one place. */
static const struct perfdata_event *event_of(
	struct perf_events *e, u32 type, const struct cursor *c)
{
	const struct perfdata_event *first = e->list.n ? e->list.v[0] : NULL;
	u64 t = first ? first->sample_type : 0;
	u64 id;

	if (!e->told)
		return first;
	if (type != PERFDATA_SAMPLE && !(first->flags & PERFDATA_FLAG_SAMPLE_ID_ALL))
		return first;
	if (type == PERFDATA_SAMPLE && t & PERFDATA_IDENTIFIER)
		id = word_at(c, 0);
	else if (type == PERFDATA_SAMPLE)
		id = word_at(
			c, words_of(t, PERFDATA_IP | PERFDATA_TID | PERFDATA_TIME | PERFDATA_ADDR));
	else if (t & PERFDATA_IDENTIFIER)
		id = word_from_end(c, 1);
	else
		id = word_from_end(c, 1 + words_of(t, PERFDATA_STREAM_ID | PERFDATA_CPU));
	return perf_events_find(e, id);
}

u64 record_time(struct perf_events *e, const struct perfdata_head *head, struct cursor c)
{
	const struct perfdata_event *event = event_of(e, head->type, &c);
	u64 t = event ? event->sample_type : 0;
	u64 time = 0;

	if (!(t & PERFDATA_TIME))
		return 0;
	if (head->type == PERFDATA_SAMPLE)
		time = word_at(&c, words_of(t, PERFDATA_IDENTIFIER | PERFDATA_IP | PERFDATA_TID));
	else if (event->flags & PERFDATA_FLAG_SAMPLE_ID_ALL)
		time = word_from_end(
			&c, 1 + words_of(t, PERFDATA_ID | PERFDATA_STREAM_ID | PERFDATA_CPU |
						    PERFDATA_IDENTIFIER));
	return time == ~0ULL ? 0 : time;
}

/* Takes the trailer off the end. */
static void trailer_parse(
	const struct perfdata_event *event, struct cursor *c, struct perfdata_where *w)
{
	u64 t = event->sample_type & TRAILER_FIELDS;
	size_t size = 8 * words_of(t, ~0ULL);
	struct cursor end = {.left = size, .swap = c->swap};

	if (!(event->flags & PERFDATA_FLAG_SAMPLE_ID_ALL))
		return;
	if (size > c->left) {
		c->bad = true;
		return;
	}
	c->left -= size;
	end.p = c->p + c->left;
	if (t & PERFDATA_TID) {
		w->pid = cursor_u32(&end);
		w->tid = cursor_u32(&end);
	}
	if (t & PERFDATA_TIME)
		w->time = cursor_u64(&end);
	if (t & PERFDATA_ID)
		w->id = cursor_u64(&end);
	if (t & PERFDATA_STREAM_ID)
		w->stream_id = cursor_u64(&end);
	if (t & PERFDATA_CPU) {
		w->cpu = cursor_u32(&end);
		(void)cursor_u32(&end);
	}
	if (t & PERFDATA_IDENTIFIER)
		w->id = cursor_u64(&end);
	w->have = t;
}

static void mmap_parse(struct perfdata_record *r, struct cursor *c)
{
	struct perfdata_mmap *m = &r->mmap;

	*m = (struct perfdata_mmap){};
	m->pid = cursor_u32(c);
	m->tid = cursor_u32(c);
	m->start = cursor_u64(c);
	m->len = cursor_u64(c);
	m->file_offset = cursor_u64(c);
	if (r->type == PERFDATA_MMAP2 && r->misc & PERFDATA_MISC_BUILD_ID) {
		const u8 *id = (const u8 *)cursor_take(c, 24);

		m->build_id_len = id && id[0] <= 20 ? id[0] : 0;
		m->build_id = id ? id + 4 : NULL;
	} else if (r->type == PERFDATA_MMAP2) {
		m->major = cursor_u32(c);
		m->minor = cursor_u32(c);
		m->ino = cursor_u64(c);
		m->ino_generation = cursor_u64(c);
	}
	if (r->type == PERFDATA_MMAP2) {
		m->prot = cursor_u32(c);
		m->flags = cursor_u32(c);
	}
	m->path = cursor_text(c);
}

static void namespaces_parse(struct perfdata_record *r, struct cursor *c)
{
	r->namespaces.pid = cursor_u32(c);
	r->namespaces.tid = cursor_u32(c);
	r->namespaces.n = cursor_u64(c);
	if (r->namespaces.n > c->left / sizeof(*r->namespaces.v)) {
		c->bad = true;
		return;
	}
	r->namespaces.v = (const struct perfdata_namespace *)cursor_array(c, 2 * r->namespaces.n);
}

static void task_parse(struct perfdata_record *r, struct cursor *c)
{
	r->task.pid = cursor_u32(c);
	r->task.ppid = cursor_u32(c);
	r->task.tid = cursor_u32(c);
	r->task.ptid = cursor_u32(c);
	r->task.time = cursor_u64(c);
}

static void comm_parse(struct perfdata_record *r, struct cursor *c)
{
	r->comm.pid = cursor_u32(c);
	r->comm.tid = cursor_u32(c);
	r->comm.name = cursor_text(c);
	r->comm.exec = r->misc & PERFDATA_MISC_EXEC;
}

static void switch_parse(struct perfdata_record *r, struct cursor *c)
{
	bool wide = r->type == PERFDATA_SWITCH_CPU_WIDE;

	r->task_switch.out = r->misc & PERFDATA_MISC_OUT;
	r->task_switch.preempted = r->task_switch.out && r->misc & PERFDATA_MISC_PREEMPT;
	r->task_switch.pid = wide ? cursor_u32(c) : 0;
	r->task_switch.tid = wide ? cursor_u32(c) : 0;
}

static void numbers_parse(struct perfdata_record *r, struct cursor *c)
{
	switch (r->type) {
	case PERFDATA_LOST:
		r->lost.id = cursor_u64(c);
		r->lost.n = cursor_u64(c);
		break;
	case PERFDATA_LOST_SAMPLES:
		r->lost.id = 0;
		r->lost.n = cursor_u64(c);
		break;
	case PERFDATA_THROTTLE:
	case PERFDATA_UNTHROTTLE:
		r->throttle.time = cursor_u64(c);
		r->throttle.id = cursor_u64(c);
		r->throttle.stream_id = cursor_u64(c);
		break;
	case PERFDATA_AUX:
		r->aux.offset = cursor_u64(c);
		r->aux.size = cursor_u64(c);
		r->aux.flags = cursor_u64(c);
		break;
	case PERFDATA_CALLCHAIN_DEFERRED:
		r->deferred.cookie = cursor_u64(c);
		r->deferred.n_ips = cursor_u64(c);
		r->deferred.ips = cursor_array(c, r->deferred.n_ips);
		break;
	case PERFDATA_CGROUP:
		r->cgroup.id = cursor_u64(c);
		r->cgroup.path = cursor_text(c);
		break;
	default:
		r->other.data = c->p;
		r->other.size = c->left;
		break;
	}
}

static void body_parse(
	const struct perfdata_event *event, struct perfdata_record *r, struct cursor *c)
{
	switch (r->type) {
	case PERFDATA_MMAP:
	case PERFDATA_MMAP2:
		mmap_parse(r, c);
		break;
	case PERFDATA_COMM:
		comm_parse(r, c);
		break;
	case PERFDATA_FORK:
	case PERFDATA_EXIT:
		task_parse(r, c);
		break;
	case PERFDATA_READ:
		r->read.pid = cursor_u32(c);
		r->read.tid = cursor_u32(c);
		read_parse(event ? event->read_format : 0, c, &r->read.values);
		break;
	case PERFDATA_SWITCH:
	case PERFDATA_SWITCH_CPU_WIDE:
		switch_parse(r, c);
		break;
	case PERFDATA_NAMESPACES:
		namespaces_parse(r, c);
		break;
	default:
		numbers_parse(r, c);
		break;
	}
}

const char *record_parse(struct perf_events *e, const struct perfdata_head *head, struct cursor c,
	struct perfdata_record *ret)
{
	const struct perfdata_event *event = event_of(e, head->type, &c);

	ret->type = (enum perfdata_type)head->type;
	ret->misc = head->misc;
	ret->event = event;
	ret->where = (struct perfdata_where){};
	if (head->type == PERFDATA_SAMPLE)
		return event ? sample_parse(event, &c, ret)
			     : "a sample is of an event that is not described";
	if (event)
		trailer_parse(event, &c, &ret->where);
	body_parse(event, ret, &c);
	return c.bad ? "a record is shorter than its type needs" : NULL;
}
