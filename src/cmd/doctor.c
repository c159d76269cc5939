/* `memwhy doctor`: for each probe and each of its data, the method in use here, or what is
 * missing and what would provide it. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "capture/names.h"
#include "cmd/doctor_stacks.h"
#include "cmd/entries.h"
#include "cmd/output.h"
#include "cmd/scope.h"
#include "probes/probe.h"
#include "probes/walks.h"
#include "record/cost.h"
#include "record/origin.h"
#include "record/pipeline.h"

enum { C_PROBE, C_DATA, C_STATUS, C_METHOD, C_MISSING, C_N };

static const struct column columns[C_N] = {
	[C_PROBE] = {"probe", "PROBE", CELL_TEXT, UNIT_NONE, 0, "probe"},
	[C_DATA] = {"data", "DATA", CELL_TEXT, UNIT_NONE, 0, "which part of what it tells"},
	[C_STATUS] = {"status", "STATUS", CELL_TEXT, UNIT_NONE, COL_HIDDEN, "ok or missing"},
	[C_METHOD] = {"method", "METHOD", CELL_TEXT, UNIT_NONE, 0, "how it is obtained here"},
	[C_MISSING] = {"missing", "MISSING", CELL_TEXT, UNIT_NONE, COL_HIDDEN,
		"why it is not, and what would provide it"},
};

static int survey(struct pipeline *p)
{
	struct capture c = {.sink = &p->sink};
	struct scope_words words;
	const struct options o = options_default;
	int rc = scope_from_options(&o, &c.opt, &words, NULL);

	if (!rc)
		rc = names_open(&p->sink, &(struct names_options){}, &c.names);
	if (!rc)
		rc = origin_send(&c, "doctor", "this host");
	c.opt.by = "thread,mapping";
	for (size_t i = 0; i < probes_n && !rc; i++) {
		struct err err = {};

		if (probe_survey(probes[i], &c, &err) && err.code != -EPERM)
			capture_method(&c, "events", NULL, err.msg);
	}
	if (!rc)
		rc = walk_survey(&c);
	if (!rc) {
		struct rec_cost cost = cost_read(&(struct cost){.stats_fd = -1}, NULL, 0);

		rc = capture_emit(&c, &cost.h);
	}
	names_close(c.names);
	capture_close(&c);
	return rc ? rc : doctor_stacks(&p->sink);
}

static void doctor_row(struct table *t, const struct stream_method *m)
{
	struct cell *row = table_row(t);

	if (!row)
		return;
	row[C_PROBE] = cell_text(m->probe);
	row[C_DATA] = cell_text(m->data);
	row[C_STATUS] = cell_text(m->method[0] ? "ok" : "missing");
	row[C_METHOD] = cell_text(m->method[0] ? m->method : "missing: see below");
	row[C_MISSING] = m->missing[0] ? cell_text(m->missing) : (struct cell){};
}

static void doctor_fill(struct report *r)
{
	struct table *t =
		report_table(r, "methods", "What memwhy can see on this host", columns, C_N);
	u64 missing = 0;

	if (!t)
		return;
	vec_each (m, &r->stream->methods) {
		doctor_row(t, m);
		missing += !m->method[0];
	}
	r->verdict = missing ? report_text(r, "%llu of %zu data cannot be had here.", missing,
				       r->stream->methods.n)
			     : "Everything memwhy can tell is available here.";
	report_add_stream_notes(r);
}

static int doctor_run(const struct options *o, struct err *err)
{
	_cleanup_free_ struct pipeline *p = calloc(1, sizeof(*p));
	struct output out = {};
	struct report r;
	int rc = p ? pipeline_init(p) : -ENOMEM;

	if (rc)
		return rc;
	rc = output_open(o, &out, err);
	if (!rc && !strcmp(o->format, "folded"))
		rc = err_set(err, -EINVAL, "-o folded shows stacks, and doctor has none");
	if (!rc)
		rc = survey(p);
	if (!rc) {
		report_init(&r, "doctor", &p->stream);
		output_select(&out, o, &r);
		if (o->limit == UINT64_MAX)
			r.limit = 0;
		doctor_fill(&r);
		rc = report_check(&r, err);
		if (!rc)
			rc = output_report(&out, &r, err);
		report_destroy(&r);
	}
	if (out.file && output_close(&out, err) && !rc)
		rc = -EIO;
	pipeline_destroy(p);
	return rc;
}

static int doctor(const struct command *cmd, struct options *o)
{
	struct err err = {};
	int rc = doctor_run(o, &err);

	if (!rc)
		return STATUS_DONE;
	if (!err.code)
		err_errno(&err, rc, "%s", cmd->name);
	command_error(&err);
	return command_status(rc);
}

static const char *const examples[] = {
	"memwhy doctor",
	"what can be seen here, and what is missing",
	"sudo memwhy doctor",
	"what root would add",
	"memwhy doctor -o json",
	"the same for a program",
	NULL,
};

static const struct view_table tables[] = {
	{"methods", columns, C_N, sizeof(columns[0])},
	{},
};

const struct command command_doctor = {
	.tables = (const struct view_table *const[]){tables, NULL},
	.name = "doctor",
	.summary = "What can memwhy see on this host?",
	.groups = GROUP_OUTPUT,
	.details =
		"Tries every method of every probe on this kernel and says which one is in use, "
		"or why none works and what would provide it; and how complete user stacks are of "
		"what runs here now. Nothing stays attached.",
	.examples = examples,
	.run = doctor,
};
