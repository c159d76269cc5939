/* What the options of a run mean together: what does not go with what, what implies what. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "cmd/own.h"
#include "cmd/part.h"
#include "cmd/running.h"
#include "export/export.h"

static int part_check_alone(const struct options *o, struct err *err)
{
	if ((o->from_ns || o->to_ns) && o->interval_ns)
		return err_set(
			err, -EINVAL, "--from and --to are one report: they take no --interval");
	if (o->to_ns && o->from_ns >= o->to_ns)
		return err_set(err, -EINVAL, "--from is not before --to");
	return 0;
}

/* A page is written at the end, with all of its data. */
static int page_check(const struct options *o, struct err *err)
{
	if (!options_one_page(o))
		return 0;
	if (o->interval_ns)
		return err_set(err, -EINVAL,
			"-o html is one page on the whole time: it takes no --interval");
	if (!o->each || o->input)
		return 0;
	err_set(err, -EINVAL, "-o html is written at the end: --each needs a recording");
	return err_hint(err, "record events with --each --record FILE, then: --input FILE --each "
			     "-o html");
}

static int run_options_check(const struct options *o, struct err *err)
{
	if (o->input && (o->argv || o->record || o->follow || o->user)) {
		err_set(err, -EINVAL,
			"--input reports on a recording: it takes no command, no --record, no "
			"--user and no --follow");
		return err_hint(err, "-p, -c, -g, -C, --from and --to choose a part of it");
	}
	if (o->input && (o->for_ns || o->no_lines || o->with_self || o->debuginfod ||
				o->ring_bytes != options_default.ring_bytes)) {
		err_set(err, -EINVAL,
			"--input reports on a recording: it takes no --for, --ring-size, "
			"--with-self, --no-lines, --debuginfod");
		return err_hint(err, "they say how to record");
	}
	if (o->each && export_of_stacks(o->format))
		return err_set(err, -EINVAL, "-o %s sums up stacks: it does not go with --each",
			o->format);
	if (o->interval_ns && export_renderer(o->format))
		return err_set(
			err, -EINVAL, "-o %s is one file: it takes no --interval", o->format);
	if (o->each && o->sort && !o->input) {
		err_set(err, -EINVAL, "--each shows events as they happen: it takes no --sort");
		return err_hint(
			err, "record them with --record FILE; --input FILE --each can be sorted");
	}
	if (page_check(o, err))
		return err->code;
	return part_check_alone(o, err);
}

static int look_unknown(const struct run *run, const struct look *looks, struct err *err)
{
	_cleanup_str_ struct str all = {};

	for (const struct look *l = looks; l && l->name; l++)
		str_addf(&all, "%s%s", all.len ? ", " : "", l->name);
	err_set(err, -EINVAL, "--like: %s does not print like '%.40s'", run->cmd->name,
		run->o->like);
	return all.len ? err_hint(err, "--like takes: %s", str_get(&all))
		       : err_hint(err, "'memwhy help man %s' describes its output", run->cmd->name);
}

/* --like decides on --each and -i. */
static int look_choose(struct running *g)
{
	struct options *o = g->run->o;
	const struct look *l = g->run->views[0]->looks;

	if (!o->like)
		return 0;
	while (l && l->name && strcmp(l->name, o->like))
		l++;
	if (!l || !l->name)
		return look_unknown(g->run, g->run->views[0]->looks, &g->err);
	if (strcmp(o->format, "text") != 0 || o->fields || o->sort || o->table || o->by ||
		o->stacks || o->limit != UINT64_MAX)
		return err_set(&g->err, -EINVAL,
			"--like %s prints that tool's lines: it takes no -o, --by, --stacks, "
			"--fields, --sort, --table or --limit",
			l->name);
	if (!l->every_ns)
		o->each = true;
	else if (o->each)
		return err_set(
			&g->err, -EINVAL, "--like %s prints sums: it takes no --each", l->name);
	else if (!o->interval_ns)
		o->interval_ns = l->every_ns;
	o->stacks = l->stacks;
	g->look = l;
	return 0;
}

/* --by stack needs stacks. */
static bool by_has_stack(const char *by)
{
	for (const char *p = by; p && *p; p += strcspn(p, ","), p += *p == ',')
		if (!strncmp(p, "stack", 5) && (!p[5] || p[5] == ','))
			return true;
	return false;
}

static bool view_has_key(const struct view *v, const char *key)
{
	for (const char *const *k = v->by_keys; k && *k; k++)
		if (!strcmp(*k, key))
			return true;
	return false;
}

/* Such a probe shows each process and stack anyway. */
static bool is_of_programs(const struct run *r)
{
	return r->company.of_programs && !r->o->input;
}

/* A profile is of stacks, and says whose they are: by these too, unless told by what. */
static int profile_by(struct running *g)
{
	struct options *o = g->run->o;
	const struct view *v = g->run->views[0];

	if (!export_renderer(o->format) || o->by || g->run->finds || is_of_programs(g->run))
		return 0;
	if (!view_has_key(v, "stack")) { /* of each event, like a kill */
		o->stacks = o->stacks ? o->stacks : "";
		return 0;
	}
	if (view_has_key(v, "process"))
		str_add(&g->by, "process,");
	for (const char *key = v->by_default; *key; key += strcspn(key, ","), key += *key == ',') {
		int len = (int)strcspn(key, ",");

		if (strncmp(key, "process", (size_t)len) != 0 &&
			strncmp(key, "stack", (size_t)len) != 0)
			str_addf(&g->by, "%.*s,", len, key);
	}
	str_add(&g->by, "stack");
	o->by = str_get(&g->by);
	return g->by.failed ? -ENOMEM : 0;
}

/* The preload library tells stacks by itself; probes at an allocator have to be asked to. */
static const char *stacks_unasked(const struct run *r)
{
	if (is_of_programs(r) || (r->cmd->needs_command && !r->o->input))
		return own_is_tracked(r->o) ? NULL : "user";
	return r->company.stacks ? r->company.stacks : r->views[0]->stacks_default;
}

int running_options(struct running *g)
{
	struct options *o = g->run->o;
	int rc = profile_by(g);

	if (rc)
		return rc;
	if (!o->stacks && by_has_stack(o->by))
		o->stacks = "";
	if (!o->stacks && (!o->by || g->run->views[0]->stacks_with_by)) {
		o->stacks = stacks_unasked(g->run);
		g->stacks_by_default = o->stacks != NULL;
	}
	rc = look_choose(g);
	if (!rc)
		rc = own_check(o, g->run->cmd->probe, &g->err);
	if (!rc)
		rc = part_check(o, g->run->cmd->probe, &g->err);
	return rc ? rc : run_options_check(o, &g->err);
}
