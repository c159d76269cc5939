/*
 * See stream.h. Records may be hostile: sizes and counts in them are held against the record's
 * own size, text is cut where its field ends, and what is kept is a fixed part of what was fed.
 */
#include "event/stream.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "event/dictionaries.h"

/* Rows of a kind that a stream has few of: what a file has beyond that is left out. */
#define STREAM_ROWS_MAX 1024

int stream_init(struct stream *s)
{
	*s = (struct stream){.names = names_new()};
	return s->names ? 0 : -ENOMEM;
}

void stream_destroy(struct stream *s)
{
	vec_free(&s->methods);
	vec_free(&s->losses);
	vec_free(&s->notes);
	names_free(s->names);
	s->names = NULL;
	arena_free(&s->arena);
}

int stream_facts(const struct stream *s, struct stream *ret)
{
	struct stream facts;

	if (stream_init(&facts))
		return -ENOMEM;
	vec_each (l, &s->losses)
		if (vec_push(&facts.losses, *l)) {
			stream_destroy(&facts);
			return -ENOMEM;
		}
	facts.host = s->host;
	facts.session = s->session;
	facts.cost = s->cost;
	facts.exit = s->exit;
	facts.first_ns = s->first_ns;
	facts.last_ns = s->last_ns;
	facts.opened_ns = s->opened_ns;
	facts.part_from_ns = s->part_from_ns;
	facts.part_to_ns = s->part_to_ns;
	facts.ended = s->ended;
	facts.has_session = s->has_session;
	memcpy(facts.damage, s->damage, sizeof(facts.damage));
	*ret = facts;
	return 0;
}

/* A fixed array of text ends with a NUL only if whoever sent it was kind. */
#define TEXT_SEAL(array) ((array)[sizeof(array) - 1] = '\0')

static int host_feed(struct stream *s, const struct rec *r)
{
	s->host = *(const struct rec_host *)r;
	TEXT_SEAL(s->host.kernel);
	return 0;
}

static int session_feed(struct stream *s, const struct rec *r)
{
	if (!s->has_session)
		s->opened_ns = r->time_ns;
	s->first_ns = r->time_ns;
	s->last_ns = MAX(s->last_ns, s->first_ns);
	s->has_session = true;
	s->session = *(const struct rec_session *)r;
	TEXT_SEAL(s->session.command);
	TEXT_SEAL(s->session.scope);
	return 0;
}

static int method_feed(struct stream *s, const struct rec *r)
{
	const struct rec_method *m = (const struct rec_method *)r;
	struct stream_method row = {.refused = m->h.flags & METHOD_REFUSED};

	memcpy(row.probe, m->probe, sizeof(row.probe) - 1);
	memcpy(row.data, m->data, sizeof(row.data) - 1);
	memcpy(row.method, m->method, sizeof(row.method) - 1);
	memcpy(row.missing, m->missing, sizeof(row.missing) - 1);
	memcpy(row.needs, m->needs, sizeof(row.needs) - 1);
	vec_each (old, &s->methods) {
		if (!strcmp(old->probe, row.probe) && !strcmp(old->data, row.data)) {
			*old = row;
			return 0;
		}
	}
	return s->methods.n < STREAM_ROWS_MAX ? vec_push(&s->methods, row) : 0;
}

/* Records tell all since the session began; one that tells less is of a file that lies. */
static u64 since(u64 all, u64 before)
{
	return all > before ? all - before : 0;
}

static void loss_update(struct stream_loss *to, const struct stream_loss *all)
{
	to->seen = since(all->seen, to->seen_before);
	to->delivered = since(all->delivered, to->delivered_before);
	to->lost = since(all->lost, to->lost_before);
	memcpy(to->reason, all->reason, sizeof(to->reason));
}

static int loss_feed(struct stream *s, const struct rec *r)
{
	const struct rec_loss *l = (const struct rec_loss *)r;
	struct stream_loss row = {.seen = l->seen, .delivered = l->delivered, .lost = l->lost};

	memcpy(row.probe, l->probe, sizeof(row.probe) - 1);
	memcpy(row.reason, l->reason, sizeof(row.reason) - 1);
	vec_each (old, &s->losses) {
		if (!strcmp(old->probe, row.probe)) {
			loss_update(old, &row);
			return 0;
		}
	}
	return s->losses.n < STREAM_ROWS_MAX ? vec_push(&s->losses, row) : 0;
}

static int note_feed(struct stream *s, const struct rec *r)
{
	const struct rec_note *n = (const struct rec_note *)r;
	struct stream_note row = {.level = r->flags};
	char text[sizeof(n->text) + 1] = "";

	memcpy(row.probe, n->probe, sizeof(row.probe) - 1);
	memcpy(text, n->text, sizeof(n->text));
	vec_each (old, &s->notes) {
		if (!strcmp(old->probe, row.probe) && !strcmp(old->text, text)) {
			old->level = row.level;
			return 0;
		}
	}
	if (s->notes.n >= STREAM_ROWS_MAX)
		return 0;
	row.text = arena_strdup(&s->arena, text);
	return row.text ? vec_push(&s->notes, row) : -ENOMEM;
}

static int cost_feed(struct stream *s, const struct rec *r)
{
	s->cost = *(const struct rec_cost *)r;
	return 0;
}

static int exit_feed(struct stream *s, const struct rec *r)
{
	s->exit = *(const struct rec_exit *)r;
	return 0;
}

static int tick_feed(struct stream *s, const struct rec *r)
{
	if (r->time_ns)
		s->last_ns = r->time_ns;
	return 0;
}

static int end_feed(struct stream *s, const struct rec *r)
{
	s->ended = true;
	return tick_feed(s, r);
}

/*
 * Adds text of at most n bytes under id. A text that is already there is not copied again; one
 * that differs is, since pointers to the old one live on.
 */
static int text_feed(struct stream *s, struct id_map *map, u64 id, const char *text, size_t n)
{
	const char *old = names_find(s->names, map, id);
	char *copy;

	n = strnlen(text, n);
	if (old && !strncmp(old, text, n) && !old[n])
		return 0;
	copy = arena_strndup(&s->arena, text, n);
	return copy ? names_set(s->names, map, id, copy) : -ENOMEM;
}

static int string_feed(struct stream *s, const struct rec *r)
{
	const struct rec_string *t = (const struct rec_string *)r;

	if (!t->id)
		return 0;
	return text_feed(s, &s->names->strings, t->id, t->text,
		MIN((size_t)t->length, r->size - sizeof(*t)));
}

static int stream_cgroup_feed(struct stream *s, const struct rec *r)
{
	const struct rec_cgroup *c = (const struct rec_cgroup *)r;

	return text_feed(s, &s->names->cgroups, c->id, c->path,
		MIN((size_t)c->length, r->size - sizeof(*c)));
}

/*
 * Adds a copy of the first n bytes of a record under id, unless one with the same content is
 * there. Its time and what it may have grown by are not content.
 */
static int record_feed(struct stream *s, struct id_map *map, u64 id, const struct rec *r, size_t n)
{
	const struct rec *old = names_find(s->names, map, id);
	u32 size = (u32)((n + 7) & ~(size_t)7);
	struct rec *copy;

	if (old && old->size == size && old->flags == r->flags &&
		!memcmp(old + 1, r + 1, n - sizeof(*r)))
		return 0;
	copy = arena_alloc(&s->arena, size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, r, n);
	copy->size = size;
	return names_set(s->names, map, id, copy);
}

static int stream_task_feed(struct stream *s, const struct rec *r)
{
	struct rec_task t = {};

	memcpy(&t, r, MIN((size_t)r->size, sizeof(t)));
	t.h.size = sizeof(t);
	TEXT_SEAL(t.comm);
	return tasks_feed(s->names, &t);
}

static int frame_feed(struct stream *s, const struct rec *r)
{
	const struct rec_frame *f = (const struct rec_frame *)r;

	return record_feed(s, &s->names->frames, f->id, r, sizeof(*f));
}

static int module_feed(struct stream *s, const struct rec *r)
{
	const struct rec_module *m = (const struct rec_module *)r;

	if (!m->path || !m->length || m->length > sizeof(m->build_id))
		return 0;
	return record_feed(s, &s->names->modules, m->path, r, sizeof(*m));
}

/* Counts that lie would be believed by whoever walks the array: such records are left out. */
static int symbol_feed(struct stream *s, const struct rec *r)
{
	const struct rec_symbol *y = (const struct rec_symbol *)r;

	if (!y->n || y->n > (r->size - sizeof(*y)) / sizeof(y->lines[0]))
		return 0;
	return record_feed(
		s, &s->names->symbols, y->frame, r, sizeof(*y) + y->n * sizeof(y->lines[0]));
}

static int stack_feed(struct stream *s, const struct rec *r)
{
	const struct rec_stack *k = (const struct rec_stack *)r;

	if (!k->id || k->n > (r->size - sizeof(*k)) / sizeof(k->frames[0]))
		return 0;
	return record_feed(
		s, &s->names->stacks, k->id, r, sizeof(*k) + k->n * sizeof(k->frames[0]));
}

static struct enum_set *enum_set_find(const struct stream *s, const char *set)
{
	vec_each (e, &s->names->enums) {
		if (!strcmp(e->set, set))
			return e;
	}
	return NULL;
}

static struct enum_set *enum_set_add(struct stream *s, const char *set)
{
	struct enum_set *found = enum_set_find(s, set);
	struct enum_set e = {};

	if (found)
		return found;
	snprintf(e.set, sizeof(e.set), "%s", set);
	if (vec_push(&s->names->enums, e))
		return NULL;
	return &s->names->enums.v[s->names->enums.n - 1];
}

static struct enum_name *enum_name_find(const struct stream *s, const struct enum_set *e, u64 value)
{
	uintptr_t i = (uintptr_t)names_find(s->names, &e->names, value);

	return i ? &e->order.v[i - 1] : NULL;
}

static int enum_feed(struct stream *s, const struct rec *r)
{
	struct rec_enum n = *(const struct rec_enum *)r;
	struct enum_name *old, row = {.value = n.value};
	struct enum_set *e;
	int rc;

	TEXT_SEAL(n.set);
	TEXT_SEAL(n.name);
	if (s->names->enums.n >= ENUM_SETS_MAX && !enum_set_find(s, n.set))
		return 0;
	e = enum_set_add(s, n.set);
	if (!e)
		return -ENOMEM;
	old = enum_name_find(s, e, n.value);
	if (old && !strcmp(old->name, n.name))
		return 0;
	row.name = arena_strdup(&s->arena, n.name);
	if (!row.name)
		return -ENOMEM;
	if (old) {
		*old = row;
		return 0;
	}
	rc = vec_push(&e->order, row);
	if (!rc) {
		rc = names_set(s->names, &e->names, n.value, (void *)(uintptr_t)e->order.n);
		e->order.n -= rc != 0;
	}
	return rc;
}

static const struct {
	int (*feed)(struct stream *s, const struct rec *r);
	size_t size; /* shorter records are malformed */
} feeds[] = {
	[REC_HOST] = {host_feed, sizeof(struct rec_host)},
	[REC_SESSION] = {session_feed, sizeof(struct rec_session)},
	[REC_METHOD] = {method_feed, sizeof(struct rec_method)},
	[REC_LOSS] = {loss_feed, sizeof(struct rec_loss)},
	[REC_COST] = {cost_feed, sizeof(struct rec_cost)},
	[REC_TICK] = {tick_feed, sizeof(struct rec_tick)},
	[REC_END] = {end_feed, sizeof(struct rec_tick)},
	[REC_STRING] = {string_feed, sizeof(struct rec_string)},
	[REC_TASK] = {stream_task_feed, offsetof(struct rec_task, program)},
	[REC_CGROUP] = {stream_cgroup_feed, sizeof(struct rec_cgroup)},
	[REC_FRAME] = {frame_feed, sizeof(struct rec_frame)},
	[REC_SYMBOL] = {symbol_feed, sizeof(struct rec_symbol)},
	[REC_STACK] = {stack_feed, sizeof(struct rec_stack)},
	[REC_ENUM] = {enum_feed, sizeof(struct rec_enum)},
	[REC_NOTE] = {note_feed, sizeof(struct rec_note)},
	[REC_EXIT] = {exit_feed, sizeof(struct rec_exit)},
	[REC_MODULE] = {module_feed, sizeof(struct rec_module)},
};

/* Records may come a little out of order, dictionary records without a time. */
static void interval_feed(struct stream *s, u64 time_ns)
{
	if (!time_ns)
		return;
	if (!s->first_ns)
		s->first_ns = time_ns;
	s->last_ns = MAX(s->last_ns, time_ns);
}

static void part_apply(struct stream *s)
{
	s->first_ns = MAX(s->first_ns, s->part_from_ns);
	if (s->part_to_ns)
		s->last_ns = MIN(s->last_ns, s->part_to_ns);
	s->last_ns = MAX(s->last_ns, s->first_ns);
}

int stream_feed(struct stream *s, const struct rec *r)
{
	int rc = 0;

	if (r->size < sizeof(*r))
		return 0;
	interval_feed(s, r->time_ns);
	if (r->kind < ARRAY_SIZE(feeds) && feeds[r->kind].feed && r->size >= feeds[r->kind].size)
		rc = feeds[r->kind].feed(s, r);
	if (s->part_from_ns || s->part_to_ns)
		part_apply(s);
	return rc;
}

bool stream_is_name(const struct rec *r)
{
	return (r->kind >= REC_STRING && r->kind <= REC_STACK) || r->kind == REC_ENUM ||
	       r->kind == REC_MODULE;
}

int stream_feed_name(struct stream *s, const struct rec *r)
{
	if (!stream_is_name(r) || r->size < feeds[r->kind].size)
		return 0;
	return feeds[r->kind].feed(s, r);
}

void stream_interval_begin(struct stream *s)
{
	s->first_ns = s->last_ns;
	vec_each (l, &s->losses) {
		l->seen_before += l->seen;
		l->delivered_before += l->delivered;
		l->lost_before += l->lost;
		l->seen = l->delivered = l->lost = 0;
	}
}

const char *stream_string(const struct stream *s, u32 id)
{
	return names_find(s->names, &s->names->strings, id);
}

const struct rec_task *stream_task(const struct stream *s, u32 tgid, u32 tid)
{
	const struct task_entry *e = names_find(s->names, &s->names->tasks, tasks_id(tgid, tid));

	return e ? &e->task : NULL;
}

void stream_each_task(const struct stream *s, stream_task_fn fn, void *arg)
{
	const struct id_map *m = &s->names->tasks;

	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].value)
			fn(arg, &((const struct task_entry *)m->slots[i].value)->task);
}

void stream_forget(struct stream *s)
{
	tasks_forget(s->names);
}

const char *stream_comm(const struct stream *s, u32 tgid, u32 tid)
{
	const struct rec_task *t = stream_task(s, tgid, tid);

	return t ? t->comm : "?";
}

const char *stream_cgroup(const struct stream *s, u64 id)
{
	return names_find(s->names, &s->names->cgroups, id);
}

const struct rec_stack *stream_stack(const struct stream *s, u32 id)
{
	return names_find(s->names, &s->names->stacks, id);
}

const struct rec_frame *stream_frame(const struct stream *s, u32 id)
{
	return names_find(s->names, &s->names->frames, id);
}

const struct rec_symbol *stream_symbol(const struct stream *s, u32 frame)
{
	return names_find(s->names, &s->names->symbols, frame);
}

const struct rec_module *stream_module(const struct stream *s, u32 path)
{
	return names_find(s->names, &s->names->modules, path);
}

const char *stream_enum(const struct stream *s, const char *set, u64 value)
{
	const struct enum_set *e = enum_set_find(s, set);
	const struct enum_name *n = e ? enum_name_find(s, e, value) : NULL;

	return n ? n->name : NULL;
}

void stream_enum_each(const struct stream *s, const char *set,
	void (*fn)(void *arg, u64 value, const char *name), void *arg)
{
	const struct enum_set *e = enum_set_find(s, set);

	if (!e)
		return;
	for (size_t i = 0; i < e->order.n; i++)
		fn(arg, e->order.v[i].value, e->order.v[i].name);
}

void stream_part(struct stream *s, u64 from_ns, u64 to_ns)
{
	s->part_from_ns = from_ns;
	s->part_to_ns = to_ns;
	part_apply(s);
}

u64 stream_interval_ns(const struct stream *s)
{
	return s->last_ns > s->first_ns ? s->last_ns - s->first_ns : 0;
}

u64 stream_wall_ns(const struct stream *s)
{
	if (!s->has_session || !s->session.wall_ns)
		return 0;
	return s->session.wall_ns + (s->first_ns ? s->first_ns - s->session.h.time_ns : 0);
}

u64 stream_delivered(const struct stream *s)
{
	u64 sum = 0;

	for (size_t i = 0; i < s->losses.n; i++)
		sum += s->losses.v[i].delivered + s->losses.v[i].delivered_before;
	return sum;
}

u64 stream_lost(const struct stream *s)
{
	u64 lost = 0;

	for (size_t i = 0; i < s->losses.n; i++) {
		if (__builtin_add_overflow(lost, s->losses.v[i].lost, &lost))
			return ~0ULL;
	}
	return lost;
}

bool stream_probe_active(const struct stream *s, const char *probe)
{
	for (size_t i = 0; i < s->methods.n; i++) {
		if (!strcmp(s->methods.v[i].probe, probe) && s->methods.v[i].method[0])
			return true;
	}
	return false;
}

bool stream_knows(const struct stream *s, const char *probe, const char *data)
{
	vec_each (m, &s->methods)
		if (!strcmp(m->probe, probe) && !strcmp(m->data, data))
			return m->method[0] != '\0';
	return false;
}
