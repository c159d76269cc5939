/* The names that a stream knows, as the records that gave them. See stream.h. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "event/dictionaries.h"
#include "event/sink.h"
#include "event/stream.h"

/* A record with text behind a fixed part: strings and cgroups. */
static int text_send(struct sink *to, struct rec *head, size_t fixed, const char *text)
{
	size_t n = MIN(strlen(text), (size_t)REC_MAX_SIZE / 2);
	_cleanup_free_ char *r = NULL;

	head->size = (u32)((fixed + n + 7) & ~(size_t)7);
	r = calloc(1, head->size);
	if (!r)
		return -ENOMEM;
	memcpy(r, head, fixed);
	memcpy(r + fixed, text, n);
	return to->put(to, (struct rec *)r);
}

static int string_send(struct sink *to, u64 id, const void *value)
{
	struct rec_string s = {.h.kind = REC_STRING, .id = (u32)id};

	s.length = (u32)MIN(strlen(value), (size_t)REC_MAX_SIZE / 2);
	return text_send(to, &s.h, sizeof(s), value);
}

static int cgroup_send(struct sink *to, u64 id, const void *value)
{
	struct rec_cgroup c = {.h.kind = REC_CGROUP, .id = id};

	c.length = (u32)MIN(strlen(value), (size_t)REC_MAX_SIZE / 2);
	return text_send(to, &c.h, sizeof(c), value);
}

static int record_send(struct sink *to, u64 id, const void *value)
{
	(void)id;
	return to->put(to, value);
}

static int map_send(
	const struct id_map *map, struct sink *to, int (*send)(struct sink *, u64, const void *))
{
	int rc = 0;

	for (size_t i = 0; i < map->n_low && !rc; i++)
		if (map->low[i])
			rc = send(to, i, map->low[i]);
	for (size_t i = 0; i < map->cap && !rc; i++)
		/* one that is an index too is newer there */
		if (map->slots[i].value &&
			!(map->slots[i].id < map->n_low && map->low[map->slots[i].id]))
			rc = send(to, map->slots[i].id, map->slots[i].value);
	return rc;
}

static int enums_send(const struct stream_names *names, struct sink *to)
{
	int rc = 0;

	vec_each (set, &names->enums)
		vec_each (name, &set->order) {
			struct rec_enum r = REC_INIT(struct rec_enum, REC_ENUM, 0);

			if (rc)
				return rc;
			r.value = name->value;
			memcpy(r.set, set->set, sizeof(r.set));
			snprintf(r.name, sizeof(r.name), "%s", name->name);
			rc = to->put(to, &r.h);
		}
	return rc;
}

static int methods_send(const struct stream *s, struct sink *to)
{
	int rc = 0;

	vec_each (m, &s->methods) {
		struct rec_method r = REC_INIT(struct rec_method, REC_METHOD, 0);

		r.h.flags = m->refused ? METHOD_REFUSED : 0;
		memcpy(r.probe, m->probe, sizeof(r.probe));
		memcpy(r.data, m->data, sizeof(r.data));
		memcpy(r.method, m->method, sizeof(r.method));
		memcpy(r.missing, m->missing, sizeof(r.missing));
		memcpy(r.needs, m->needs, sizeof(r.needs));
		rc = rc ? rc : to->put(to, &r.h);
	}
	vec_each (n, &s->notes) {
		struct rec_note r = REC_INIT(struct rec_note, REC_NOTE, 0);

		r.h.flags = n->level;
		memcpy(r.probe, n->probe, sizeof(r.probe));
		snprintf(r.text, sizeof(r.text), "%s", n->text);
		rc = rc ? rc : to->put(to, &r.h);
	}
	return rc;
}

int stream_send_names(const struct stream *s, struct sink *to)
{
	const struct stream_names *n = s->names;
	int rc = methods_send(s, to);

	rc = rc ? rc : map_send(&n->strings, to, string_send);
	rc = rc ? rc : map_send(&n->cgroups, to, cgroup_send);
	rc = rc ? rc : map_send(&n->frames, to, record_send);
	rc = rc ? rc : map_send(&n->symbols, to, record_send);
	rc = rc ? rc : map_send(&n->stacks, to, record_send);
	return rc ? rc : enums_send(n, to);
}
