/* `memwhy doctor`: for each probe and each of its data, the method in use here, or what is
 * missing and what would provide it. */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "capture/names.h"
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

enum { C_PROBE, C_DATA, C_STATUS, C_METHOD, C_MISSING, C_NEEDS, C_N };

static const struct column columns[C_N] = {
	[C_PROBE] = {"probe", "PROBE", CELL_TEXT, UNIT_NONE, 0, "probe"},
	[C_DATA] = {"data", "DATA", CELL_TEXT, UNIT_NONE, 0, "which part of the probe's data"},
	[C_STATUS] = {"status", "STATUS", CELL_TEXT, UNIT_NONE, COL_HIDDEN, "ok or missing"},
	[C_METHOD] = {"method", "METHOD", CELL_TEXT, UNIT_NONE, 0, "how it is obtained here"},
	[C_MISSING] = {"missing", "MISSING", CELL_TEXT, UNIT_NONE, COL_HIDDEN,
		"why it is unavailable, and what would provide it"},
	[C_NEEDS] = {"needs", "NEEDS", CELL_TEXT, UNIT_NONE, COL_HIDDEN,
		"only what would provide it; empty: unknown"},
};

enum { W_PROBE, W_WORKS, W_HAS, W_DATA, W_N };

static const struct column works_columns[W_N] = {
	[W_PROBE] = {"probe", "PROBE", CELL_TEXT, UNIT_NONE, 0,
		"probe: the command of that name, and what check, top, serve and record use of "
		"it"},
	[W_WORKS] = {"works", "WORKS", CELL_TEXT, UNIT_NONE, 0,
		"whole, in part, or not here: how much of the probe's data is available"},
	[W_HAS] = {"has", "HAS", CELL_U64, UNIT_COUNT, 0, "kinds of data that are available"},
	[W_DATA] = {"data_total", "OF", CELL_U64, UNIT_COUNT, 0, "kinds of data there are"},
};

enum { R_NEEDS, R_DATA, R_N };

static const struct column remedy_columns[R_N] = {
	[R_NEEDS] = {"needs", "WITH", CELL_TEXT, UNIT_NONE, COL_WHOLE, "what would provide it"},
	[R_DATA] = {"data", "DATA", CELL_TEXT, UNIT_NONE, COL_BELOW, "the data it would provide"},
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
	row[C_NEEDS] = m->needs[0] ? cell_text(m->needs) : (struct cell){};
}

static void methods_fill(struct report *r)
{
	struct table *t =
		report_table(r, "methods", "What memwhy can see on this host", columns, C_N);

	if (!t)
		return;
	vec_each (m, &r->stream->methods)
		doctor_row(t, m);
}

static bool method_is_of(const struct stream_method *a, const struct stream_method *b)
{
	return !strcmp(a->probe, b->probe);
}

static void works_row(struct report *r, struct table *t, const struct stream_method *first)
{
	struct cell *row = table_row(t);
	u64 n = 0, has = 0;

	vec_each (m, &r->stream->methods) {
		if (!method_is_of(m, first))
			continue;
		n++;
		has += m->method[0] != '\0';
	}
	if (!row)
		return;
	row[W_PROBE] = cell_text(first->probe);
	row[W_WORKS] = cell_text(has == n ? "whole" : has ? "in part" : "not here");
	row[W_HAS] = cell_u64(has);
	row[W_DATA] = cell_u64(n);
}

/* One row a probe. */
static void works_fill(struct report *r)
{
	struct table *t = report_table(r, "works", "What works here", works_columns, W_N);

	vec_each (m, &r->stream->methods) {
		bool first = true;

		vec_each (before, &r->stream->methods) {
			if (before >= m)
				break;
			first &= !method_is_of(before, m);
		}
		if (t && first)
			works_row(r, t, m);
	}
}

/* One row for each thing that would provide data. */
static void remedies_fill(struct report *r)
{
	struct table *t = report_table(
		r, "remedies", "What is missing, and what would provide it", remedy_columns, R_N);

	vec_each (m, &r->stream->methods) {
		_cleanup_str_ struct str list = {};
		struct cell *row;

		if (!t || !missing_is_first(r->stream, m, missing_by_remedy))
			continue;
		missing_list_add(&list, r->stream, m, missing_by_remedy);
		row = table_row(t);
		if (!row)
			return;
		row[R_NEEDS] = cell_text(m->needs[0] ? m->needs : m->missing);
		row[R_DATA] = cell_text(report_text(r, "%s", str_get(&list)));
	}
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
		rc = err_set(err, -EINVAL, "-o %s shows stacks, and doctor has none", o->format);
	if (!rc)
		rc = survey(p);
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
	{"works", works_columns, W_N, sizeof(works_columns[0])},
	{"remedies", remedy_columns, R_N, sizeof(remedy_columns[0])},
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
