/* `memwhy doctor`: for each probe and each of its data, the method in use here, or what is
 * missing and what would provide it. */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "analysis/cells.h"
#include "capture/map_memory.h"
#include "capture/names/names.h"
#include "cmd/doctor_stacks.h"
#include "cmd/entries.h"
#include "cmd/output.h"
#include "cmd/scope.h"
#include "export/export.h"
#include "probes/probe.h"
#include "probes/walks.h"
#include "record/cost.h"
#include "record/origin.h"
#include "record/pipeline.h"
#include "sys/rights.h"

static int cmd_doctor_survey(struct pipeline *p)
{
	/* Nothing is counted, and large maps take most of the time that a program takes to load. */
	struct capture c = {.sink = &p->sink, .shrink = BUDGET_LEVELS - 1, .tells_refusals = true};
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

CELL_EXPR(probe_cell, struct stream_method, cell_text(e->probe))
CELL_EXPR(data_cell, struct stream_method, cell_text(e->data))
CELL_EXPR(status_cell, struct stream_method, cell_text(e->method[0] ? "ok" : "missing"))
CELL_EXPR(method_cell, struct stream_method,
	cell_text(e->method[0] ? e->method : "missing: see below"))
CELL_EXPR(missing_cell, struct stream_method, cell_text(e->missing[0] ? e->missing : NULL))
CELL_EXPR(needs_cell, struct stream_method, cell_text(e->needs[0] ? e->needs : NULL))

static const struct cell_column method_columns[] = {
	CELL_BY(0, "probe", "PROBE", CELL_TEXT, UNIT_NONE, 0, "probe", probe_cell),
	CELL_BY(0, "data", "DATA", CELL_TEXT, UNIT_NONE, 0, "which part of the probe's data",
		data_cell),
	CELL_BY(0, "status", "STATUS", CELL_TEXT, UNIT_NONE, COL_HIDDEN, "ok or missing",
		status_cell),
	CELL_BY(0, "method", "METHOD", CELL_TEXT, UNIT_NONE, 0, "how it is obtained here",
		method_cell),
	CELL_BY(0, "missing", "MISSING", CELL_TEXT, UNIT_NONE, COL_HIDDEN,
		"why it is unavailable, and what would provide it", missing_cell),
	CELL_BY(0, "needs", "NEEDS", CELL_TEXT, UNIT_NONE, COL_HIDDEN,
		"only what would provide it; empty: unknown", needs_cell),
};

static void methods_fill(struct report *r)
{
	struct table *t = cells_table(r, "methods", "What memwhy can see on this host",
		method_columns, ARRAY_SIZE(method_columns));

	cells_each(t, r, method_columns, &r->stream->methods, NULL);
}

struct works_row {
	const char *probe;
	u64 has, n; /* kinds of data */
	u64 lacks;  /* that not all is there of */
};

CELL_EXPR(works_cell, struct works_row,
	cell_text(!e->lacks ? "whole"
		  : e->has  ? "in part"
			    : "not here"))

static const struct cell_column works_columns[] = {
	CELL_FROM(0, struct works_row, probe, "probe", "PROBE", CELL_TEXT, UNIT_NONE, 0,
		"probe: the command of that name, and what check, top, serve and record use of "
		"it",
		cell_of_text),
	CELL_BY(0, "works", "WORKS", CELL_TEXT, UNIT_NONE, 0,
		"whole, in part, or not here: how much of the probe's data is available",
		works_cell),
	CELL_NUMBER(struct works_row, has, "has", "HAS", UNIT_COUNT, 0,
		"kinds of data that are available, if only in part"),
	CELL_NUMBER(
		struct works_row, n, "data_total", "OF", UNIT_COUNT, 0, "kinds of data there are"),
};

static bool method_is_of(const struct stream_method *a, const struct stream_method *b)
{
	return !strcmp(a->probe, b->probe);
}

static void works_row(struct report *r, struct table *t, const struct stream_method *first)
{
	struct works_row row = {.probe = first->probe};

	vec_each (m, &r->stream->methods) {
		if (!method_is_of(m, first))
			continue;
		row.n++;
		row.has += m->method[0] != '\0';
		row.lacks += m->missing[0] != '\0';
	}
	cells_one(t, r, works_columns, &row, NULL);
}

/* One row a probe. */
static void works_fill(struct report *r)
{
	struct table *t = cells_table(
		r, "works", "What works here", works_columns, ARRAY_SIZE(works_columns));

	vec_each (m, &r->stream->methods) {
		bool first = true;

		vec_each (before, &r->stream->methods) {
			if (before >= m)
				break;
			first &= !method_is_of(before, m);
		}
		if (first)
			works_row(r, t, m);
	}
}

CELL_EXPR(remedy_cell, struct stream_method, cell_text(e->needs[0] ? e->needs : e->missing))
CELL_WORDS(remedy_data_cell, struct stream_method,
	missing_list_add(&s, r->stream, e, missing_by_remedy))

static const struct cell_column remedy_columns[] = {
	CELL_BY(0, "needs", "WITH", CELL_TEXT, UNIT_NONE, COL_WHOLE, "what would provide it",
		remedy_cell),
	CELL_BY(0, "data", "DATA", CELL_TEXT, UNIT_NONE, COL_BELOW, "the data it would provide",
		remedy_data_cell),
};

/* One row for each thing that would provide data. */
static void remedies_fill(struct report *r)
{
	struct table *t = cells_table(r, "remedies", "What is missing, and what would provide it",
		remedy_columns, ARRAY_SIZE(remedy_columns));

	vec_each (m, &r->stream->methods)
		if (missing_is_first(r->stream, m, missing_by_remedy))
			cells_one(t, r, remedy_columns, m, NULL);
}

static void rights_next(struct report *r)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	report_next(r, "See what root adds: `sudo memwhy doctor`");
	if (n <= 0)
		return;
	exe[n] = '\0';
	report_next(r,
		"Let everyone who may run this file see nearly all of it without sudo: `sudo "
		"setcap " RIGHTS_SETCAP " %s`",
		exe);
}

static void doctor_fill(struct report *r, const struct options *o)
{
	bool digest = !strcmp(o->format, "text") && !o->verbose && !o->table && !o->fields;
	bool root = true;
	u64 missing = 0;

	vec_each (m, &r->stream->methods) {
		missing += !m->method[0];
		root &= strcmp(m->needs, RIGHTS_ROOT) != 0;
	}
	r->verdict = missing ? report_text(r, "%llu of %zu kinds of data are unavailable here%s.",
				       missing, r->stream->methods.n, root ? "" : " by this user")
			     : "Everything memwhy can tell is available here.";
	if (digest) {
		works_fill(r);
		remedies_fill(r);
		report_add_notes(r);
	} else {
		methods_fill(r);
		report_add_stream_notes(r);
	}
	if (!root)
		rights_next(r);
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
	if (!rc && export_of_stacks(o->format))
		rc = err_set(err, -EINVAL, "-o %s shows stacks, but doctor has none", o->format);
	if (!rc)
		rc = cmd_doctor_survey(p);
	if (!rc) {
		report_init(&r, "doctor", &p->stream);
		output_select(&out, o, &r);
		if (o->limit == UINT64_MAX)
			r.limit = 0;
		doctor_fill(&r, o);
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

	return command_end(rc, &err, cmd->name);
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
	CELLS_VIEW("methods", method_columns),
	CELLS_VIEW("works", works_columns),
	CELLS_VIEW("remedies", remedy_columns),
	{},
};

const struct command command_doctor = {
	.tables = (const struct view_table *const[]){tables, NULL},
	.name = "doctor",
	.summary = "What can memwhy see on this host?",
	.groups = GROUP_OUTPUT,
	.details =
		"Tries every method of every probe on this kernel and says which one is in use, "
		"or why none works and what would provide it; and how complete the user stacks of "
		"what runs here now are. Nothing stays attached. Text shows one row a probe, and "
		"what would provide the rest; -v and -o wide show each kind of data with its "
		"method, as the other formats do. Loading BPF programs takes root (sudo memwhy "
		"...), or a file with the capabilities that doctor prints for setcap where they "
		"are missing. Whoever may run such a file sees the memory of every process: keep "
		"it to a group (chgrp, chmod 750). It cannot do what takes CAP_SYS_ADMIN: the "
		"watchpoints of thp and numa, tracepoints of count where tracefs is root's.",
	.examples = examples,
	.run = doctor,
};
