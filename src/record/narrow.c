/* See narrow.h. */
#include "record/narrow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/units.h"
#include "event/cgroup_name.h"

#define FIELDS_MAX 4

struct narrow_fields {
	bool meta; /* about the recording, or of everything */
	u8 n_tgids, n_tids, n_comms, n_cgroups;
	u16 tgids[FIELDS_MAX], tids[FIELDS_MAX], comms[FIELDS_MAX], cgroups[FIELDS_MAX];
};

bool narrow_is_scope(const struct narrow_want *w)
{
	return w->tasks.n || w->comm || w->cgroup || w->container;
}

bool narrow_wanted(const struct narrow_want *w)
{
	return narrow_is_scope(w) || w->from_ns || w->to_ns;
}

void narrow_want_free(struct narrow_want *w)
{
	vec_free(&w->tasks);
}

static void narrow_word_add(struct str *out, const char *what, const char *value)
{
	if (value)
		str_addf(out, "%s%s %s", out->len ? ", " : "", what, value);
}

void narrow_words(const struct narrow_want *w, struct str *out)
{
	char buf[UNIT_BUF];

	for (size_t i = 0; i < w->tasks.n; i++)
		str_addf(out, "%s%u", i ? "," : "pid ", w->tasks.v[i]);
	narrow_word_add(out, "comm", w->comm);
	narrow_word_add(out, "cgroup", w->cgroup);
	narrow_word_add(out, "cgroup", w->container);
	narrow_word_add(out, "from", w->from_ns ? fmt_ns(buf, w->from_ns) : NULL);
	if (w->to_ns)
		str_addf(out, "%sto %s",
			w->from_ns ? " "
			: out->len ? ", "
				   : "",
			fmt_ns(buf, w->to_ns));
}

static bool name_ends(const char *name, const char *end)
{
	size_t n = strlen(name), e = strlen(end);

	return n >= e && !strcmp(name + n - e, end) && (n == e || name[n - e - 1] == '_');
}

static void field_keep(u16 fields[FIELDS_MAX], u8 *n, const struct field *f)
{
	if (*n < FIELDS_MAX)
		fields[(*n)++] = f->offset;
}

static void field_look(struct narrow_fields *k, const struct field *f)
{
	if (f->type == FIELD_U32 && name_ends(f->name, "tgid"))
		field_keep(k->tgids, &k->n_tgids, f);
	else if (f->type == FIELD_U32 && name_ends(f->name, "tid"))
		field_keep(k->tids, &k->n_tids, f);
	else if (f->type == FIELD_CHARS && f->count == COMM_LEN && name_ends(f->name, "comm"))
		field_keep(k->comms, &k->n_comms, f);
	else if (f->type == FIELD_U64 && f->unit == UNIT_CGROUP)
		field_keep(k->cgroups, &k->n_cgroups, f);
}

static struct narrow_fields *fields_make(const struct kind *kind, bool meta)
{
	struct narrow_fields *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->meta = meta;
	for (size_t i = 0; !meta && i < kind->n_fields; i++)
		field_look(k, &kind->fields[i]);
	return k;
}

static bool is_meta(u16 kind)
{
	for (size_t i = 0; i < meta_kinds_n; i++)
		if (meta_kinds[i].kind == kind)
			return true;
	return false;
}

/* NULL: memory is short, or nobody knows the kind. */
static const struct narrow_fields *fields_of(struct narrow *n, const struct rec *r)
{
	const struct kind *kind = r->kind < REC_KINDS ? schema_find(n->schema, r->kind) : NULL;

	if (!kind || r->size < kind->size)
		return NULL;
	if (!n->kinds[r->kind])
		n->kinds[r->kind] = fields_make(kind, is_meta(r->kind) || kind->whole);
	return n->kinds[r->kind];
}

static u32 id_at(const struct rec *r, u16 offset)
{
	u32 id;

	memcpy(&id, (const char *)r + offset, sizeof(id));
	return id;
}

static u64 cgroup_at(const struct rec *r, u16 offset)
{
	u64 id;

	memcpy(&id, (const char *)r + offset, sizeof(id));
	return id;
}

/* What one condition says of a record. */
enum answer { ANSWER_NO, ANSWER_YES, ANSWER_UNKNOWN };

static enum answer tasks_match(
	const struct narrow *n, const struct narrow_fields *k, const struct rec *r)
{
	enum answer said = ANSWER_UNKNOWN;

	vec_each (task, &n->want.tasks) {
		for (u8 i = 0; i < k->n_tgids; i++) {
			if (id_at(r, k->tgids[i]) == *task)
				return ANSWER_YES;
			said = id_at(r, k->tgids[i]) ? ANSWER_NO : said;
		}
		for (u8 i = 0; i < k->n_tids; i++)
			if (id_at(r, k->tids[i]) == *task)
				return ANSWER_YES;
	}
	return n->want.tasks.n ? said : ANSWER_YES;
}

static const struct rec_task *task_of(
	const struct narrow *n, const struct narrow_fields *k, const struct rec *r, u8 i)
{
	u32 tgid = id_at(r, k->tgids[i]), tid = i < k->n_tids ? id_at(r, k->tids[i]) : 0;
	const struct rec_task *t = tgid ? stream_task(n->stream, tgid, tid) : NULL;

	return t || !tgid ? t : stream_task(n->stream, tgid, 0);
}

static enum answer comm_match(
	const struct narrow *n, const struct narrow_fields *k, const struct rec *r)
{
	enum answer said = ANSWER_UNKNOWN;

	if (!n->want.comm)
		return ANSWER_YES;
	for (u8 i = 0; i < k->n_comms; i++) {
		const char *comm = (const char *)r + k->comms[i];

		if (*comm && !strncmp(comm, n->want.comm, COMM_LEN))
			return ANSWER_YES;
		said = *comm ? ANSWER_NO : said;
	}
	/* A record that gives no name is of the task as it is known. */
	for (u8 i = 0; said == ANSWER_UNKNOWN && i < k->n_tgids; i++) {
		const struct rec_task *t = task_of(n, k, r, i);

		if (t)
			said = strcmp(t->comm, n->want.comm) ? ANSWER_NO : ANSWER_YES;
	}
	return said;
}

static bool path_is_below(const char *path, const char *of)
{
	size_t len = strlen(of);

	while (len && of[len - 1] == '/')
		len--;
	return !strncmp(path, of, len) && (!path[len] || path[len] == '/');
}

/* The path as given, in its hierarchy, and, of cgroup v1, below its controller. */
static bool path_matches(const char *path, const char *given)
{
	static const char mount[] = "/sys/fs/cgroup";
	const char *rest;

	if (strncmp(given, mount, sizeof(mount) - 1) != 0)
		return path_is_below(path, given);
	given += sizeof(mount) - 1;
	if (path_is_below(path, given))
		return true;
	rest = *given ? strchr(given + 1, '/') : NULL;
	return rest && rest[strspn(rest, "/")] && path_is_below(path, rest);
}

static bool path_is_container(const char *path, const char *word)
{
	_cleanup_str_ struct str name = {};
	struct cgroup_part p = {.end = path};

	while (cgroup_part_next(path, &p))
		if (cgroup_part_answers(&p, word))
			return true;
	return cgroup_name_add(&name, path) && !strcmp(str_get(&name), word);
}

static enum answer cgroup_answer(const struct narrow *n, u64 id)
{
	const char *path = id ? stream_cgroup(n->stream, id) : NULL;
	const struct narrow_want *w = &n->want;

	if (!path)
		return ANSWER_UNKNOWN;
	return (!w->cgroup || path_matches(path, w->cgroup)) &&
			       (!w->container || path_is_container(path, w->container))
		       ? ANSWER_YES
		       : ANSWER_NO;
}

static enum answer cgroup_match(
	const struct narrow *n, const struct narrow_fields *k, const struct rec *r)
{
	enum answer said = ANSWER_UNKNOWN;

	if (!n->want.cgroup && !n->want.container)
		return ANSWER_YES;
	for (u8 i = 0; i < k->n_cgroups; i++) {
		enum answer one = cgroup_answer(n, cgroup_at(r, k->cgroups[i]));

		if (one == ANSWER_YES)
			return one;
		said = one == ANSWER_NO ? one : said;
	}
	for (u8 i = 0; said == ANSWER_UNKNOWN && i < k->n_tgids; i++) {
		const struct rec_task *t = task_of(n, k, r, i);

		said = t ? cgroup_answer(n, t->cgroup) : said;
	}
	return said;
}

static bool is_of_tasks(const struct narrow_fields *k)
{
	return k->n_tgids || k->n_tids || k->n_comms;
}

static bool scope_keeps(struct narrow *n, const struct narrow_fields *k, const struct rec *r)
{
	enum answer tasks, comm, cgroup;

	if (!is_of_tasks(k)) {
		/* What is of a group and of no task: groups are chosen by groups only. */
		cgroup = k->n_cgroups ? cgroup_match(n, k, r) : ANSWER_YES;
		return cgroup != ANSWER_NO;
	}
	tasks = tasks_match(n, k, r);
	comm = comm_match(n, k, r);
	cgroup = cgroup_match(n, k, r);
	if (tasks == ANSWER_YES && comm == ANSWER_YES && cgroup == ANSWER_YES)
		return true;
	n->unknown += tasks != ANSWER_NO && comm != ANSWER_NO && cgroup != ANSWER_NO;
	return false;
}

static bool time_keeps(const struct narrow *n, const struct rec *r)
{
	const struct narrow_want *w = &n->want;
	u64 since = r->time_ns > n->begin_ns ? r->time_ns - n->begin_ns : 0;

	if (!r->time_ns || !n->begin_ns)
		return true;
	return since >= w->from_ns && (!w->to_ns || since < w->to_ns);
}

/* The session, as the part of it that is shown. */
static int session_put(struct narrow *n, const struct rec *r)
{
	struct rec_session s = *(const struct rec_session *)r;
	_cleanup_str_ struct str words = {};
	size_t len;
	int rc;

	n->begin_ns = r->time_ns;
	s.scope[sizeof(s.scope) - 1] = '\0';
	len = strlen(s.scope);
	narrow_words(&n->want, &words);
	snprintf(s.scope + len, sizeof(s.scope) - len, "%sonly %s", len ? ", " : "",
		str_get(&words));
	rc = n->next->put(n->next, &s.h);
	if (!rc && (n->want.from_ns || n->want.to_ns))
		stream_part(n->stream, n->begin_ns + n->want.from_ns,
			n->want.to_ns ? n->begin_ns + n->want.to_ns : 0);
	return rc;
}

static int narrow_put(struct sink *sink, const struct rec *r)
{
	struct narrow *n = (struct narrow *)sink; /* its first member */
	const struct narrow_fields *k = fields_of(n, r);

	if (!k || k->meta)
		return r->kind == REC_SESSION && r->size >= sizeof(struct rec_session)
			       ? session_put(n, r)
			       : n->next->put(n->next, r);
	if (!time_keeps(n, r) || (narrow_is_scope(&n->want) && !scope_keeps(n, k, r))) {
		n->left_out++;
		return 0;
	}
	n->kept++;
	return n->next->put(n->next, r);
}

void narrow_init(struct narrow *n, struct narrow_want *want, const struct schema *schema,
	struct sink *next, struct stream *stream)
{
	*n = (struct narrow){.sink = {narrow_put},
		.next = next,
		.stream = stream,
		.schema = schema,
		.want = *want};
	*want = (struct narrow_want){};
}

void narrow_destroy(struct narrow *n)
{
	for (size_t i = 0; i < ARRAY_SIZE(n->kinds); i++)
		free(n->kinds[i]);
	narrow_want_free(&n->want);
	*n = (struct narrow){};
}
