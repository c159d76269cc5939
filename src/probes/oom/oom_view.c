/*
 * The kills as reports: live, each as soon as all that tells of it has come; of a recording, all,
 * a list (`list`), or one (`show N`).
 */
#include "probes/oom/oom_view.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/units.h"
#include "probes/oom/oom_detail.h"
#include "probes/oom/oom_kills.h"
#include "probes/oom/oom_tables.h"

enum mode { MODE_ALL, MODE_LIST, MODE_SHOW };

struct oom_view_state {
	struct kills kills;
	enum mode mode;
	size_t each_from; /* kills before were given out by --each */
	bool ended;       /* no record will follow */
	bool told_any;
	bool stacks;
	u32 told_beyond;
};

static int oom_view_operands_read(
	struct oom_view_state *v, const struct view_options *o, struct err *err)
{
	u64 n;

	if (!o->n_operands)
		return 0;
	if (!strcmp(o->operands[0], "list") && o->n_operands == 1) {
		v->mode = MODE_LIST;
		v->kills.only = UINT32_MAX; /* none */
		return 0;
	}
	if (strcmp(o->operands[0], "show") != 0) {
		err_set(err, -EINVAL, "oom: '%.40s' is not expected here", o->operands[0]);
		return err_hint(err, "memwhy oom [list|show N]; a command to run goes after --");
	}
	if (o->n_operands != 2 || parse_u64(o->operands[1], 1, UINT32_MAX - 1, &n)) {
		err_set(err, -EINVAL, "oom show: it needs the number of a kill");
		return err_hint(err, "memwhy oom list --input FILE shows the numbers");
	}
	v->mode = MODE_SHOW;
	v->kills.only = (u32)n;
	return 0;
}

static int oom_init(void *state, const struct view_options *o, struct err *err)
{
	((struct oom_view_state *)state)->stacks = o->stacks;
	return oom_view_operands_read(state, o, err);
}

static int oom_feed(void *state, const struct rec *r)
{
	struct oom_view_state *v = state;

	v->ended |= r->kind == REC_END;
	return kills_feed(&v->kills, r);
}

static bool method_active(const struct stream *s, const char *data)
{
	vec_each (m, &s->methods)
		if (!strcmp(m->probe, "oom") && !strcmp(m->data, data))
			return m->method[0];
	return false;
}

/* The kernel's log knows no scope: with one, only kills that BPF saw within it count. */
static bool oom_view_in_scope(const struct stream *s, const struct kill *x)
{
	return x->seen || !s->session.scope[0] || !strcmp(s->session.scope, "system-wide") ||
	       !method_active(s, OOM_KILLS_DATA);
}

static bool oom_view_wanted(
	const struct oom_view_state *v, const struct stream *s, const struct kill *x)
{
	return oom_view_in_scope(s, x) && (v->mode != MODE_SHOW || x->number == v->kills.only) &&
	       (v->mode != MODE_ALL || !x->told);
}

struct oom_tables {
	struct table *kills;
	struct oom_details details;
};

static int kill_tell(
	struct oom_view_state *v, struct report *r, struct oom_tables *t, const struct kill *x)
{
	int rc = oom_kill_row(t->kills, r, &v->kills, x);

	if (!rc && v->mode != MODE_LIST)
		rc = oom_story(r, &v->kills, x);
	if (!rc && v->mode != MODE_LIST)
		rc = oom_detail_rows(&t->details, r, &v->kills, x, oom_cgroup_name(r, x));
	return rc;
}

static void beyond_tell(struct oom_view_state *v, struct report *r)
{
	if (v->kills.beyond > v->told_beyond)
		report_note(
			r, "%u kills after the first %u are not shown", v->kills.beyond, KILLS_MAX);
	v->told_beyond = v->kills.beyond;
}

static int oom_report(void *state, struct report *r)
{
	struct oom_view_state *v = state;
	struct oom_tables t = {.kills = oom_tables_kills(r, v->stacks)};
	int rc = t.kills ? oom_details_open(r, &t.details) : -ENOMEM;
	u32 bare = 0;

	if (rc)
		return rc;
	t.kills->empty = v->mode == MODE_SHOW ? "There is no kill of this number."
			 : v->told_any        ? "No further OOM kill."
					      : "No OOM kill.";
	for (size_t i = 0; i < v->kills.list.n && !rc; i++) {
		struct kill *x = v->kills.list.v[i];

		if (!oom_view_wanted(v, r->stream, x))
			continue;
		bare += !x->detail;
		rc = kill_tell(v, r, &t, x);
		x->told = v->told_any = true;
	}
	if (bare && v->mode == MODE_ALL)
		report_note(r,
			"%u kills are shown without processes, groups and zones: those of the last "
			"%u are kept; `memwhy oom show N --input FILE` has those of any",
			bare, DETAILS_MAX);
	beyond_tell(v, r);
	return rc;
}

static bool oom_due(void *state)
{
	const struct oom_view_state *v = state;

	if (v->mode == MODE_LIST)
		return false;
	vec_each (x, &v->kills.list)
		if (!(*x)->told && kill_complete(&v->kills, *x))
			return true;
	return false;
}

/* The next kill that --each has not given out, once it is complete. */
static const struct kill *each_next(struct oom_view_state *v, const struct stream *s)
{
	while (v->each_from < v->kills.list.n) {
		const struct kill *x = v->kills.list.v[v->each_from];

		if (!v->ended && !kill_complete(&v->kills, x))
			return NULL;
		v->each_from++;
		if (oom_view_in_scope(s, x) && (v->mode != MODE_SHOW || x->number == v->kills.only))
			return x;
	}
	return NULL;
}

static struct table *oom_each(void *state, struct report *r)
{
	struct oom_view_state *v = state;
	struct table *t = oom_tables_each(r);
	const struct kill *x;

	while (t && (x = each_next(v, r->stream)))
		if (oom_kill_row(t, r, &v->kills, x))
			break;
	return t;
}

static void oomkill_lines(void *state, struct report *r, struct str *out)
{
	struct oom_view_state *v = state;
	const struct kill *x;

	while ((x = each_next(v, r->stream)))
		oomkill_line(r, &v->kills, x, out);
}

static void oom_reset(void *state)
{
	(void)state; /* what was told is marked so */
}

static void oom_destroy(void *state)
{
	kills_free(&((struct oom_view_state *)state)->kills);
}

static const struct look looks[] = {
	{"oomkill", oomkill_head, 0, oomkill_lines, NULL},
	{},
};

const struct view oom_view = {
	.tables = (const struct view_table *const[]){oom_kill_tables, oom_detail_tables,
		oom_ledger_tables, NULL},
	.size = sizeof(struct oom_view_state),
	.looks = looks,
	.init = oom_init,
	.feed = oom_feed,
	.report = oom_report,
	.each = oom_each,
	.due = oom_due,
	.reset = oom_reset,
	.destroy = oom_destroy,
};
