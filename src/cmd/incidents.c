/* `memwhy incidents [list|show N]`: the recordings that the service has made. */
#include "serve/incidents.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include <stdint.h>

#include "analysis/cells.h"
#include "base/units.h"
#include "cmd/entries.h"
#include "cmd/output.h"
#include "export/export.h"

static const char *dir_of(const struct options *o)
{
	return o->incidents ? o->incidents : INCIDENTS_DIR;
}

static CELL_GET(time_cell)
{
	time_t at = (time_t)((const struct incident *)row->sums)->time;
	char when[32];
	struct tm tm;

	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &tm));
	return cell_text(report_text(r, "%s", when));
}

/* Of the view, the options. */
static CELL_GET(file_cell)
{
	char path[PATH_MAX];

	incident_path(path, dir_of(row->view), row->sums, INCIDENT_RECORDING);
	return cell_text(report_text(r, "%s", path));
}

CELL_EXPR(kind_cell, struct incident, cell_text(report_text(r, "%s", e->kind)))

static const struct cell_column columns[] = {
	CELL_NUMBER(struct incident, number, "number", "N", UNIT_ID, 0,
		"its number, for `memwhy incidents show N`"),
	CELL_BY(0, "time", "WHEN", CELL_TEXT, UNIT_NONE, 0, "when it was recorded (UTC)",
		time_cell),
	CELL_BY(0, "kind", "KIND", CELL_TEXT, UNIT_NONE, 0,
		"what made the service record it: oom-kill, stall, pressure, limit, asked, or the "
		"rule of a finding",
		kind_cell),
	CELL_NUMBER(
		struct incident, bytes, "bytes", "SIZE", UNIT_BYTES, 0, "what it takes on disk"),
	CELL_BY(0, "file", "FILE", CELL_TEXT, UNIT_NONE, COL_WHOLE,
		"the recording: any command takes it with --input", file_cell),
};

static void list_fill(struct report *r, const struct options *o, const struct incident_list *l)
{
	struct table *t = cells_table(r, "incidents", "Incidents", columns, ARRAY_SIZE(columns));

	if (!t)
		return;
	t->empty = report_text(r, "There are no incidents in %s. `memwhy serve` records them.",
		dir_of(o));
	for (size_t n = l->v.n; n; n--) /* the latest first */
		cells_one(t, r, columns, &l->v.v[n - 1], o);
	if (l->v.n && o->incidents)
		report_next(r,
			"Show the last one: `memwhy incidents show %llu --incidents %s`",
			l->v.v[l->v.n - 1].number, o->incidents);
	else if (l->v.n)
		report_next(r, "Show the last one: `memwhy incidents show %llu`",
			l->v.v[l->v.n - 1].number);
}

static int list(const struct options *o, const struct incident_list *l, struct err *err)
{
	struct stream nothing;
	struct output out = {};
	struct report r;
	int rc = stream_init(&nothing);

	if (rc)
		return rc;
	rc = output_open(o, &out, err);
	if (!rc && export_of_stacks(o->format))
		rc = err_set(err, -EINVAL, "-o %s shows stacks, but a list has none", o->format);
	if (!rc) {
		report_init(&r, "incidents", &nothing);
		output_select(&out, o, &r);
		list_fill(&r, o, l);
		rc = report_check(&r, err);
		if (!rc)
			rc = output_report(&out, &r, err);
		report_destroy(&r);
	}
	if (out.file && output_close(&out, err) && !rc)
		rc = -EIO;
	stream_destroy(&nothing);
	return rc;
}

/* As check tells of it. The recording may have been left by a service that was killed. */
static int show(struct options *o, const struct incident_list *l, struct err *err)
{
	const struct command *check = command_find("check");
	char path[PATH_MAX];
	u64 number;

	if (parse_u64(o->operands[1], 0, UINT64_MAX, &number)) {
		err_set(err, -EINVAL, "incidents show: '%.40s' is not a number", o->operands[1]);
		command_error(err);
		return STATUS_USAGE;
	}
	vec_each (i, &l->v) {
		struct options of = *o;

		if (i->number != number)
			continue;
		incident_path(path, dir_of(o), i, INCIDENT_RECORDING);
		of.input = path;
		of.n_operands = 0;
		return check->run(check, &of);
	}
	err_set(err, -ENOENT, "there is no incident %llu in %s", number, dir_of(o));
	err_hint(err, "memwhy incidents lists them");
	command_error(err);
	return STATUS_USAGE;
}

static int usage(struct err *err)
{
	err_set(err, -EINVAL, "incidents: list, or show and the number of one");
	err_hint(err, "memwhy incidents show 3");
	command_error(err);
	return STATUS_USAGE;
}

static int incidents(const struct command *cmd, struct options *o)
{
	const char *what = o->n_operands ? o->operands[0] : "list";
	bool shows = !strcmp(what, "show");
	struct incident_list l;
	struct err err = {};
	int rc, status;

	if ((!shows && strcmp(what, "list") != 0) ||
		o->n_operands != (shows ? 2 : o->n_operands > 0))
		return usage(&err);
	rc = incidents_list(dir_of(o), &l);
	if (rc) {
		err_errno(&err, rc, "cannot read %s", dir_of(o));
		if (rc == -EACCES)
			err_hint(
				&err, "run it as root, or name another directory: --incidents DIR");
		command_error(&err);
		return STATUS_NOT_SUPPORTED;
	}
	if (shows) {
		status = show(o, &l, &err);
		incident_list_free(&l);
		return status;
	}
	rc = list(o, &l, &err);
	incident_list_free(&l);
	return command_end(rc, &err, cmd->name);
}

static const char *const examples[] = {
	"memwhy incidents",
	"the incidents that `memwhy serve` recorded",
	"memwhy incidents list -o json",
	"the same for a program",
	"memwhy incidents show 3",
	"what was wrong in the minutes before the third one",
	NULL,
};

static const struct view_table tables[] = {
	CELLS_VIEW("incidents", columns),
	{},
};

const struct command command_incidents = {
	.tables = (const struct view_table *const[]){tables, NULL},
	.name = "incidents",
	.summary = "What did the service record, and what happened then?",
	.operands = "[list|show N]",
	.n_operands = 2,
	.groups = GROUP_INCIDENTS | GROUP_OUTPUT,
	.details =
		"Lists the recordings that memwhy serve made when something happened: the minutes "
		"before an OOM kill, a long stall, high pressure or a critical finding. show N "
		"runs memwhy check over the Nth. Any other command reads the file with --input, "
		"on any machine: memwhy oom --input FILE.",
	.examples = examples,
	.run = incidents,
};
