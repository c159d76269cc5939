/* See report.h. This file owns the report as a whole: its tables, texts and findings. */
#include "report/report.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/clock.h"
#include "event/cgroup_name.h"

void report_init(struct report *r, const char *command, const struct stream *stream)
{
	*r = (struct report){.command = command,
		.stream = stream,
		.scoped = stream && report_scope_is_part(stream->session.scope)};
}

void report_destroy(struct report *r)
{
	vec_each (t, &r->tables)
		vec_free(&(*t)->cells);
	vec_free(&r->tables);
	vec_free(&r->findings);
	vec_free(&r->elsewhere);
	vec_free(&r->notes);
	vec_free(&r->not_checked);
	vec_free(&r->next);
	vec_free(&r->others[0]);
	vec_free(&r->others[1]);
	arena_free(&r->arena);
	*r = (struct report){};
}

double report_seconds(const struct report *r)
{
	double s = (double)stream_interval_ns(r->stream) / 1e9;

	return s > 0.001 ? s : 0.001;
}

double report_share(const struct report *r, u64 ns)
{
	return (double)ns / 1e9 / report_seconds(r);
}

static const char *report_vtext(struct report *r, const char *fmt, va_list ap)
{
	va_list again;
	char *p = NULL;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	if (n >= 0)
		p = arena_alloc(&r->arena, (size_t)n + 1);
	if (p)
		vsnprintf(p, (size_t)n + 1, fmt, again);
	va_end(again);
	return p ? p : "";
}

const char *report_text(struct report *r, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = report_vtext(r, fmt, ap);
	va_end(ap);
	return text;
}

const char *report_textn(struct report *r, const char *text, size_t n)
{
	const char *p = arena_strndup(&r->arena, text, strnlen(text, n));

	return p ? p : "";
}

const char *report_share_text(struct report *r, u64 ns)
{
	double share = report_share(r, ns);

	return share > 1 ? report_text(r, "%.1f tasks held up on average", share)
			 : report_text(r, "%.1f %% of the time", share * 100);
}

const char *report_enum(struct report *r, const char *set, u64 value)
{
	const char *name = stream_enum(r->stream, set, value);

	return name ? name : report_text(r, "%llu", value);
}

const char *report_program(struct report *r, u32 tgid)
{
	const struct rec_task *t = stream_task(r->stream, tgid, 0);
	const char *program = t && t->program ? stream_string(r->stream, t->program) : NULL;

	return program ? program : stream_comm(r->stream, tgid, 0);
}

const char *report_process(struct report *r, u32 tgid)
{
	return report_text(r, "%s (pid %u)", report_program(r, tgid), tgid);
}

const char *report_cgroup(struct report *r, const char *path)
{
	_cleanup_str_ struct str name = {};

	return cgroup_name_add(&name, path) ? report_text(r, "%s", str_get(&name)) : path;
}

void container_field(const struct column *c, char ret[CONTAINER_FIELD_LEN])
{
	const char *at = strstr(c->name, "cgroup");

	snprintf(ret, CONTAINER_FIELD_LEN, "%.*scontainer", at ? (int)MIN(at - c->name, 24) : 0,
		c->name);
}

const char *report_clock(struct report *r, u64 time_ns)
{
	const struct rec_session *s = &r->stream->session;
	struct tm tm;
	time_t at;

	at = (time_t)((s->wall_ns + time_ns - s->h.time_ns) / NSEC_PER_SEC);
	if (!s->wall_ns || !localtime_r(&at, &tm))
		return "";
	return report_text(r, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
}

void report_note(struct report *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vec_push(&r->notes, report_vtext(r, fmt, ap));
	va_end(ap);
}

void report_not_checked(struct report *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vec_push(&r->not_checked, report_vtext(r, fmt, ap));
	va_end(ap);
}

struct finding *report_finding(struct report *r, int level, const char *rule)
{
	struct finding f = {.level = level, .rule = rule};

	return vec_push(&r->findings, f) ? NULL : &r->findings.v[r->findings.n - 1];
}

static const char *const level_names[] = {
	[LEVEL_NOTE] = "note",
	[LEVEL_RISK] = "risk",
	[LEVEL_WARNING] = "warning",
	[LEVEL_CRITICAL] = "critical",
};

const char *finding_level_name(int level)
{
	bool known = level >= 0 && (size_t)level < ARRAY_SIZE(level_names);

	return known ? level_names[level] : "note";
}

int finding_level_parse(const char *name, int *ret_level)
{
	for (size_t i = 0; i < ARRAY_SIZE(level_names); i++) {
		if (strcmp(name, level_names[i]))
			continue;
		*ret_level = (int)i;
		return 0;
	}
	return -EINVAL;
}

struct table *report_table(struct report *r, const char *name, const char *title,
	const struct column *cols, size_t n_cols)
{
	struct table *t = arena_alloc(&r->arena, sizeof(*t));

	if (!t || vec_push(&r->tables, t))
		return NULL;
	t->name = name;
	t->title = title;
	t->cols = cols;
	t->n_cols = n_cols;
	return t;
}

int report_join(struct report *r)
{
	struct table *last = r->tables.v[r->tables.n - 1], *t = r->tables.v[r->tables.n - 2];

	if (last->cells.n && vec_reserve(&t->cells, last->cells.n))
		return -ENOMEM;
	if (last->cells.n)
		memcpy(t->cells.v + t->cells.n, last->cells.v, last->cells.n * sizeof(*t->cells.v));
	t->cells.n += last->cells.n;
	t->n_rows += last->n_rows;
	t->n_cut += last->n_cut;
	vec_free(&last->cells);
	r->tables.n--;
	return 0;
}
