/* See events.h. */
#include "perfdata/events.h"

#include <errno.h>

#include "perfdata/recorded_host.h"

#define ATTR_FIRST 64 /* PERF_ATTR_SIZE_VER0 */
#define UPDATE_NAME 2 /* PERF_EVENT_UPDATE__NAME */

void perf_events_init(struct perf_events *e)
{
	*e = (struct perf_events){};
	groups_init(&e->by_id, sizeof(u64), sizeof(struct perfdata_event *));
}

void perf_events_free(struct perf_events *e)
{
	vec_free(&e->list);
	groups_free(&e->by_id);
	arena_free(&e->arena);
}

/* Bitfields begin at the other end of each byte on machines of the other byte order. */
static u64 flags_take(struct cursor *c)
{
	u64 v = swap_u64(cursor_u64(c), c->swap);

	if (!c->swap)
		return v;
	v = (v >> 1 & 0x5555555555555555ULL) | (v & 0x5555555555555555ULL) << 1;
	v = (v >> 2 & 0x3333333333333333ULL) | (v & 0x3333333333333333ULL) << 2;
	return (v >> 4 & 0x0f0f0f0f0f0f0f0fULL) | (v & 0x0f0f0f0f0f0f0f0fULL) << 4;
}

/* Attributes that an older kernel's file does not have are 0. */
static void attr_read(struct cursor *c, struct perfdata_event *a)
{
	a->pmu = cursor_u32(c);
	(void)cursor_u32(c); /* size: who calls knows it */
	a->config = cursor_u64(c);
	a->period = cursor_u64(c);
	a->sample_type = cursor_u64(c);
	a->read_format = cursor_u64(c);
	a->flags = flags_take(c);
	(void)cursor_u64(c); /* wakeup_events, bp_type */
	a->config1 = cursor_u64(c);
	a->config2 = cursor_u64(c);
	a->branch_type = cursor_u64(c);
	a->regs_user = cursor_u64(c);
	a->stack_user = cursor_u32(c);
	a->clockid = (s32)cursor_u32(c);
	a->regs_intr = cursor_u64(c);
}

/* Where in a sample, and in what follows other records, the id is: -1 if nowhere. */
static int id_place(u64 type)
{
	const u64 before = PERFDATA_IP | PERFDATA_TID | PERFDATA_TIME | PERFDATA_ADDR;
	const u64 after = PERFDATA_STREAM_ID | PERFDATA_CPU;

	if (type & PERFDATA_IDENTIFIER)
		return 0;
	if (!(type & PERFDATA_ID))
		return -1;
	return 1 + __builtin_popcountll(type & before) * 8 + __builtin_popcountll(type & after);
}

/* Records tell of which event they are only if all have their id in the same place. If none has,
 * all must be laid out alike. */
static bool place_fits(const struct perf_events *e, const struct perfdata_event *a)
{
	const struct perfdata_event *first = e->list.n ? e->list.v[0] : NULL;
	int place = id_place(a->sample_type);

	if (!first)
		return true;
	if ((first->flags ^ a->flags) & PERFDATA_FLAG_SAMPLE_ID_ALL ||
		place != id_place(first->sample_type))
		return false;
	return place >= 0 ||
	       (a->sample_type == first->sample_type && a->read_format == first->read_format &&
		       a->branch_type == first->branch_type && a->regs_user == first->regs_user &&
		       a->regs_intr == first->regs_intr);
}

int perf_events_add(
	struct perf_events *e, struct cursor *c, size_t size, struct perfdata_event **ret)
{
	struct cursor attr = {.swap = c->swap, .left = MIN(size, c->left)};
	struct perfdata_event *a;

	attr.p = cursor_take(c, size);
	if (!attr.p || size < ATTR_FIRST)
		return -EBADMSG;
	if (e->list.n >= EVENTS_MAX)
		return -E2BIG;
	a = arena_alloc(&e->arena, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->name = "";
	attr_read(&attr, a);
	if (!place_fits(e, a))
		return -ENOTSUP;
	if (vec_push(&e->list, a))
		return -ENOMEM;
	e->any |= a->sample_type;
	e->told = e->list.n > 1 && id_place(a->sample_type) >= 0;
	e->last = NULL;
	*ret = a;
	return 0;
}

int perf_events_add_id(struct perf_events *e, u64 id, struct perfdata_event *event)
{
	struct perfdata_event **slot = groups_get(&e->by_id, &id);

	if (!slot)
		return -ENOMEM;
	*slot = event;
	return 0;
}

static struct perfdata_event *event_by_id(struct perf_events *e, u64 id)
{
	struct perfdata_event **slot = groups_find(&e->by_id, &id);

	return slot ? *slot : NULL;
}

static int event_name(struct perf_events *e, struct perfdata_event *event, const char *name)
{
	const char *copy = event ? arena_strdup(&e->arena, name) : name;

	if (!copy)
		return -ENOMEM;
	if (event)
		event->name = copy;
	return 0;
}

int perf_events_update(struct perf_events *e, struct cursor *c)
{
	u64 what = cursor_u64(c), id = cursor_u64(c);
	const char *name;

	if (c->bad)
		return -EBADMSG;
	if (what != UPDATE_NAME)
		return 0;
	name = cursor_text(c);
	if (c->bad)
		return -EBADMSG;
	return event_name(e, event_by_id(e, id), name);
}

static int event_describe(struct perf_events *e, struct cursor *c, u32 attr_size, u32 index)
{
	struct perfdata_event *event = index < e->list.n ? e->list.v[index] : NULL;
	const char *name;
	u32 n_ids;

	(void)cursor_take(c, attr_size);
	n_ids = cursor_u32(c);
	name = host_string(c);
	if (c->bad || n_ids > c->left / 8)
		return -EBADMSG;
	for (u32 i = 0; i < n_ids; i++) {
		struct perfdata_event *by_id = event_by_id(e, cursor_u64(c));

		event = by_id ? by_id : event;
	}
	return event_name(e, event, name);
}

int perf_events_describe(struct perf_events *e, struct cursor *c)
{
	u32 n = cursor_u32(c), attr_size = cursor_u32(c);

	if (c->bad || n > EVENTS_MAX)
		return -EBADMSG;
	for (u32 i = 0; i < n; i++) {
		int rc = event_describe(e, c, attr_size, i);

		if (rc)
			return rc;
	}
	return 0;
}

int perf_events_error(int rc, const char *name, struct err *err)
{
	if (rc == -ENOTSUP)
		return err_set(err, -EINVAL,
			"%s has events that cannot be distinguished: their samples have no id, or "
			"have it in different places",
			name);
	if (rc == -E2BIG)
		return err_set(err, -EINVAL, "%s has more than %u events", name, EVENTS_MAX);
	return err_errno(err, rc, "cannot read %s", name);
}

const struct perfdata_event *perf_events_find(struct perf_events *e, u64 id)
{
	if (!id || !e->told)
		return e->list.n ? e->list.v[0] : NULL;
	if (e->last && id == e->last_id)
		return e->last;
	e->last_id = id;
	e->last = event_by_id(e, id);
	return e->last;
}
