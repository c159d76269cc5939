/* `memwhy report FILE [FILE]`: a recording as one page: what check finds in it, then what each
 * command shows of it; of two recordings, what changed. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/anonymous.h"
#include "cmd/check.h"
#include "cmd/entries.h"
#include "cmd/output.h"
#include "cmd/recording.h"
#include "cmd/run_take.h"
#include "export/course.h"
#include "probes/heap/view/heap_course.h"
#include "rules/rules.h"

struct paged {
	struct options *o;
	const char *path;
	int fd; /* 0: not open */
	struct output out;
	struct stream first; /* what the recording says of itself at its beginning */
	struct anonymous anonymous;
	bool peeked;
	bool unfiltered; /* see recording_enter */
	bool damaged;
	char damage[160];
	VEC(char *) told; /* notes that a report on this page had before */
	struct err err;
};

static int paged_open(struct paged *p)
{
	struct options files = *p->o; /* --out must not be the recording */
	int rc;

	files.input = p->path;
	rc = replay_open(p->path, &p->fd, &p->err);
	if (!rc)
		rc = output_open(&files, &p->out, &p->err);
	if (!rc)
		rc = anonymous_begin(&p->anonymous, p->o, 1, &p->err);
	/* Nothing of it was read so far, and nothing else is opened from here on. */
	if (!rc)
		rc = recording_enter(&p->fd, 1, NULL, p->o, &p->unfiltered, &p->err);
	if (!rc)
		rc = anonymous_copy(&p->anonymous, &p->fd, p->path, NULL, p->damage, &p->err);
	p->damaged = p->damage[0];
	if (!rc)
		rc = recording_peek(p->fd, p->path, &p->first, &p->err);
	p->peeked = !rc;
	if (rc == -ESPIPE)
		err_set(&p->err, -EINVAL, "%.200s is not a regular file", p->path);
	if (rc && !p->err.code)
		err_set(&p->err, -EINVAL, "%.200s: nothing was recorded in it", p->path);
	return rc && rc != -ENODATA && rc != -EACCES && rc != -ENOMEM ? -EINVAL : rc;
}

static void paged_close(struct paged *p)
{
	vec_each (t, &p->told)
		free(*t);
	vec_free(&p->told);
	if (p->peeked)
		stream_destroy(&p->first);
	anonymous_free(&p->anonymous);
	if (p->fd)
		close(p->fd);
}

static bool cmd_report_was_told(const struct paged *p, const char *text)
{
	vec_each (t, &p->told)
		if (!strcmp(*t, text))
			return true;
	return false;
}

/* What an earlier report of the page said of the recording is not said again. */
static int tell_once(struct paged *p, const char **texts, size_t *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++) {
		char *copy;

		if (cmd_report_was_told(p, texts[i]))
			continue;
		copy = strdup(texts[i]);
		if (!copy || vec_push(&p->told, copy)) {
			free(copy);
			return -ENOMEM;
		}
		texts[kept++] = texts[i];
	}
	*n = kept;
	return 0;
}

static bool has_rows(const struct report *r)
{
	vec_each (t, &r->tables)
		if ((*t)->n_rows)
			return true;
	return r->findings.n > 0;
}

/* Were its events counted? Else an empty table does not say that there were none. */
static bool was_counted(const struct stream *s, const char *probe)
{
	vec_each (l, &s->losses)
		if (!strcmp(l->probe, probe))
			return true;
	return false;
}

static int taken_show(struct paged *p, struct taken *t)
{
	struct report *r = &t->report;
	int rc;

	if (t->damaged && !p->damaged)
		snprintf(p->damage, sizeof(p->damage), "%.159s", t->stream->damage);
	p->damaged |= t->damaged;
	if (!r->has_findings && !has_rows(r) && !was_counted(t->stream, r->command))
		return 0;
	if (p->unfiltered && !p->out.started)
		recording_unfiltered(r);
	output_select(&p->out, p->o, r);
	rc = tell_once(p, r->notes.v, &r->notes.n);
	if (!rc)
		rc = tell_once(p, r->not_checked.v, &r->not_checked.n);
	return rc ? rc : output_report(&p->out, r, &p->err);
}

static struct options options_for(const struct paged *p)
{
	struct options o = *p->o;

	o.input = p->path;
	o.operands = NULL;
	o.n_operands = 0;
	return o;
}

/* What the rules find in a recording of all probes. */
static int findings_show(struct paged *p)
{
	struct options o = options_for(p);
	const struct run run = {
		.cmd = command_find("check"),
		.o = &o,
		.views = rules,
		.n_views = rules_n,
		.finds = true,
		.conclude = check_conclude,
	};
	struct taken t;
	int rc;

	check_prepare(&o);
	o.stacks = "user";
	rc = run_take_of(&run, NULL, p->fd, &t, &p->err);
	if (rc)
		return rc;
	rc = taken_show(p, &t);
	taken_free(&t);
	return rc;
}

/* By stack where the recording has stacks, and each event where it has these. */
static void options_fit(const struct paged *p, const struct view *v, struct options *o)
{
	u32 recorded = p->first.session.options;

	if (recorded & SESSION_STACKS)
		o->stacks = "";
	o->each = recorded & SESSION_EACH && v->each;
}

static int probe_show(struct paged *p, const struct probe *probe)
{
	struct options o = options_for(p);
	struct taken t;
	int rc;

	options_fit(p, probe->view, &o);
	rc = run_take_parts(command_find(probe->name), &o, p->fd, &t, &p->err);
	if (rc)
		return rc;
	rc = taken_show(p, &t);
	taken_free(&t);
	return rc;
}

/* How memory went over time, of whatever was recorded. Nothing where it says too little. */
static int course_show(struct paged *p)
{
	static const struct view *const views[] = {&course_view, &heap_course_view};
	struct options o = options_for(p);
	const struct run run = {.cmd = command_find("report"),
		.o = &o,
		.views = views,
		.n_views = ARRAY_SIZE(views)};
	struct taken t;
	int rc;

	o.limit = 0;
	rc = run_take_of(&run, NULL, p->fd, &t, &p->err);
	if (rc)
		return rc;
	/* What is to be said of the recording, its commands say. */
	t.report.notes.n = t.report.not_checked.n = t.report.next.n = 0;
	if (t.report.tables.v[0]->n_rows > 2 || t.report.tables.n > 1)
		rc = taken_show(p, &t);
	taken_free(&t);
	return rc;
}

static bool is_of_rules(const struct paged *p)
{
	return !strcmp(p->first.session.command, "record") ||
	       !strcmp(p->first.session.command, "check");
}

/* A command that looks at one thing records it for itself, and what is beside it for its own
 * tables. */
static bool is_shown(const struct paged *p, const struct probe *probe)
{
	const struct probe *of = probe_find(p->first.session.command);

	return probe->view && command_find(probe->name) && recording_has(&p->first, probe) &&
	       (!of || of == probe);
}

static int paged_show(struct paged *p)
{
	int rc;

	output_page_goes_on(&p->out);
	rc = is_of_rules(p) ? findings_show(p) : 0;
	for (size_t i = 0; i < probes_n && !rc; i++)
		if (is_shown(p, probes[i]))
			rc = probe_show(p, probes[i]);
	if (!rc && p->out.started)
		rc = course_show(p);
	if (!rc && !p->out.started)
		rc = err_set(&p->err, -EINVAL, "%.200s has nothing that a command shows", p->path);
	if (!rc)
		rc = output_end(&p->out, NULL, &p->err);
	return rc == -ENOMEM ? recording_too_large(p->path, p->o, &p->err) : rc;
}

static int report_one(const struct command *cmd, struct options *o)
{
	struct paged p = {.o = o, .path = o->operands[0]};
	int rc = paged_open(&p);

	if (!rc)
		rc = paged_show(&p);
	if (rc)
		output_drop(&p.out);
	if (p.out.file && output_close(&p.out, rc ? NULL : &p.err) && !rc)
		rc = -EIO;
	if (!rc && p.damaged)
		rc = err_set(&p.err, -ENODATA, "%.159s", p.damage);
	paged_close(&p);
	return command_end(rc, &p.err, cmd->name);
}

#define PAGE_ROWS 20000 /* of a table: what a browser sorts and searches at once */

static int cmd_report(const struct command *cmd, struct options *o)
{
	struct err err = {};

	if (!o->n_operands)
		err_set(&err, -EINVAL, "report needs a recording");
	else if (!o->out && isatty(STDOUT_FILENO))
		err_set(&err, -EINVAL, "report writes a page for a browser: it needs --out FILE");
	else if (o->of && o->n_operands < 2)
		err_set(&err, -EINVAL, "--of needs two recordings");
	if (err.code) {
		err_hint(&err, "memwhy report %s --out report.html",
			o->n_operands == 2 || (o->of && o->n_operands) ? "OLD NEW" : "FILE");
		command_error(&err);
		return STATUS_USAGE;
	}
	o->format = "html";
	o->limit = o->limit == options_default.limit ? PAGE_ROWS : o->limit;
	return o->n_operands == 2 ? diff_page(cmd, o) : report_one(cmd, o);
}

static const char *const examples[] = {
	"memwhy report run.mw --out report.html",
	"one file with tables and pictures, to open in a browser or to send",
	"memwhy report old.mw new.mw --out change.html",
	"what changed between two recordings",
	"memwhy heap -o html --out heap.html -- ./job",
	"the page of a single command, without a recording",
	"memwhy report run.mw --anonymize --out report.html",
	"with names of programs, paths, control groups and functions replaced: to send to others",
	NULL,
};

const struct command command_report = {
	.name = "report",
	.summary = "A recording, or two compared, as one page for a browser",
	.operands = "FILE [FILE]",
	.n_operands = 2,
	.groups = GROUP_PAGE,
	.details =
		"Writes one HTML file: the verdict, the findings with commands to copy, the "
		"tables of every command that has something in the recording, flame graphs of "
		"whatever has stacks, and pictures of histograms and of memory by node and order. "
		"The numbers are those of -o json, whose object is embedded in the page. For two "
		"recordings the page shows what diff shows.\n\n"
		"The page needs neither network nor server: everything is in the file, and a "
		"policy in it forbids the browser to load anything from anywhere. Names in it are "
		"displayed, never executed. It works from a local file in Chromium and Firefox, "
		"by keyboard, on a phone and in print. Without scripts it still shows the "
		"findings and the first rows of each table.\n\n"
		"For a recording of all probes, the page starts with what check finds in it. A "
		"table of more than 20000 rows is cut to the first 20000, and the page says so; "
		"--limit 0 keeps all rows.",
	.examples = examples,
	.run = cmd_report,
};
