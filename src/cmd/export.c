/* `memwhy export --to FORMAT FILE`: a recording as a file that another program opens. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/closest.h"
#include "cmd/anonymous.h"
#include "cmd/entries.h"
#include "cmd/output.h"
#include "cmd/recording.h"
#include "cmd/part.h"
#include "cmd/run_take.h"
#include "cmd/unnamed.h"
#include "export/database.h"
#include "export/perfetto.h"
#include "export/export.h"

struct exporting {
	const char *path;
	int fd;          /* the recording; 0: not open */
	bool unfiltered; /* see recording_enter */
	int made;        /* what is made before it is written as a whole; 0: none */
	char damage[160];
	struct anonymous anonymous;
	struct schema schema; /* of a part */
	struct narrow narrow;
	struct output out;
	struct taken taken;
	struct err err;
};

static int format_check(const struct options *o, struct err *err)
{
	static const char *const names[] = {"pprof", "speedscope", "folded", "sqlite", "perfetto"};
	const char *near = o->to ? closest(o->to, names, ARRAY_SIZE(names)) : NULL;

	for (size_t i = 0; o->to && i < ARRAY_SIZE(names); i++)
		if (!strcmp(o->to, names[i]))
			return 0;
	if (o->to)
		err_set(err, -EINVAL, "--to: unknown format '%.40s'", o->to);
	else
		err_set(err, -EINVAL, "export needs a format: --to FORMAT");
	return near ? err_hint(err, "did you mean --to %s?", near)
		    : err_hint(err, "formats: pprof, speedscope, folded, sqlite, perfetto");
}

static bool probe_has_stacks(const struct probe *p)
{
	for (const char *const *k = p->view->by_keys; k && *k; k++)
		if (!strcmp(*k, "stack"))
			return true;
	return false;
}

/* The command whose stacks they are: as --of says, or of which the recording is. */
static int of_choose(struct exporting *e, const struct options *o, const struct command **ret)
{
	const struct probe *of;
	struct stream s;
	int rc;

	if (o->of) {
		*ret = recording_of(o->of, &e->err);
		return *ret ? 0 : -EINVAL;
	}
	rc = recording_peek(e->fd, e->path, &s, &e->err);
	if (rc == -ESPIPE) {
		err_set(&e->err, -EINVAL, "%.200s is not a regular file", e->path);
		return err_hint(&e->err, "--of COMMAND says what to export");
	}
	if (rc)
		return rc == -ENODATA || rc == -EACCES || rc == -ENOMEM ? rc : -EINVAL;
	of = recording_probe(&s);
	if (!of)
		rc = recording_of_unknown(&s, e->path, "export", probe_has_stacks, &e->err);
	*ret = of ? command_find(of->name) : NULL;
	stream_destroy(&s);
	return rc;
}

static int cmd_export_profile_write(
	struct exporting *e, const struct command *of, const struct options *as)
{
	struct options o = *as;
	int rc;

	o.n_operands = 0;   /* those of the command itself */
	o.format = "pprof"; /* rows are of what a profile is of, also where they are folded */
	rc = run_take(of, &o, e->fd, &e->taken, &e->err);
	if (rc)
		return rc;
	output_select(&e->out, &o, &e->taken.report);
	if (!recording_has_stacks(e->taken.stream)) {
		err_set(&e->err, -EINVAL, "%s needs stacks, but %.200s was recorded without",
			as->to, e->path);
		return err_hint(&e->err, "record with --stacks");
	}
	if (e->unfiltered)
		recording_unfiltered(&e->taken.report);
	return output_report(&e->out, &e->taken.report, &e->err);
}

/* All of the recording goes into it. */
static int records_check(const struct options *o, struct err *err)
{
	if (!o->of && !o->by && !o->fields && !o->table && o->limit == UINT64_MAX)
		return 0;
	return err_set(err, -EINVAL,
		"--to %s exports all records: it takes no --of, --by, --fields, --table, --limit",
		o->to);
}

#define PIECE (1U << 20)

static int made_write(struct exporting *e)
{
	_cleanup_free_ char *piece = malloc(PIECE);
	ssize_t n = 0;
	int rc = piece ? 0 : -ENOMEM;

	for (off_t at = 0; !rc && (n = pread(e->made, piece, PIECE, at)) > 0; at += n) {
		struct str s = {.buf = piece, .len = (size_t)n};

		rc = output_text(&e->out, &s, &e->err);
	}
	return !rc && n < 0 ? err_errno(&e->err, -errno, "the database") : rc;
}

/* Where records go to get into `to`: past those that are not asked for. `names` has the names of
 * all of the recording, by the time that records come. */
static int part_choose(struct exporting *e, const struct options *o, struct sink *to,
	struct stream *names, struct sink **ret)
{
	struct narrow_want want = {};
	int rc = part_from_options(o, NULL, &want, &e->err);

	*ret = to;
	if (!rc && narrow_wanted(&want)) {
		rc = pipeline_schema(&e->schema);
		narrow_init(&e->narrow, &want, &e->schema, to, names);
		*ret = &e->narrow.sink;
	}
	narrow_want_free(&want);
	return rc;
}

/* All records, or those that were asked for. What could be read is exported, also of a recording
 * that is damaged. */
static int records_replay(
	struct exporting *e, const struct options *o, struct sink *to, struct stream *names)
{
	struct sink *sink;
	int rc = part_choose(e, o, to, names, &sink);

	if (rc)
		return rc;
	rc = replay_fd(
		e->fd, e->path, NULL, sink, &(struct replay_takers){.names_first = names}, &e->err);
	if (rc == -ENODATA) {
		snprintf(e->damage, sizeof(e->damage), "%.159s", e->err.msg);
		rc = 0;
	}
	if (e->narrow.unknown)
		fprintf(stderr,
			"memwhy: %llu records do not say which task they belong to: left out\n",
			e->narrow.unknown);
	return rc;
}

static int database_write(struct exporting *e, const struct options *o)
{
	_cleanup_free_ struct schema *schema = calloc(1, sizeof(*schema));
	struct stream names;
	struct database *d;
	int rc = schema ? pipeline_schema(schema) : -ENOMEM, ended;

	if (!rc)
		rc = database_begin(e->made, schema, &d, &e->err);
	if (rc)
		return rc;
	rc = stream_init(&names);
	if (!rc) {
		rc = records_replay(e, o, database_sink(d), &names);
		stream_destroy(&names);
	}
	ended = database_end(d, rc ? NULL : &e->err);
	rc = rc ? rc : ended;
	return rc ? rc : made_write(e);
}

static int packets_take(void *arg, struct str *packets)
{
	struct exporting *e = arg;
	int rc = output_text(&e->out, packets, &e->err);

	str_clear(packets);
	return rc;
}

/* Names come behind what they are of: all of them are read first. */
static int trace_write(struct exporting *e, const struct options *o)
{
	struct stream names;
	struct perfetto p;
	int rc = stream_init(&names);

	if (rc)
		return rc;
	perfetto_init(&p, &names);
	p.take = packets_take;
	p.arg = e;
	rc = records_replay(e, o, &p.sink, &names);
	rc = rc ? rc : perfetto_end(&p);
	if (!rc && p.trace.left_out)
		fprintf(stderr,
			"memwhy: %llu events overlap too many others of their thread: left out\n",
			p.trace.left_out);
	if (!rc && !p.slices)
		fprintf(stderr, "memwhy: the trace has counters only: slices come from stalls, "
				"reclaim, compaction, huge pages, system calls and OOM kills "
				"recorded with --each\n");
	perfetto_free(&p);
	stream_destroy(&names);
	return rc;
}

static int seekable_check(struct exporting *e)
{
	struct stat st;

	if (!fstat(e->fd, &st) && S_ISREG(st.st_mode))
		return 0;
	return err_set(&e->err, -EINVAL, "%.200s is not a regular file, which --to perfetto needs",
		e->path);
}

static int export_write(struct exporting *e, struct options *o)
{
	const struct command *of;
	bool is_database, of_records;
	int rc = format_check(o, &e->err);

	if (!rc && !o->n_operands) {
		err_set(&e->err, -EINVAL, "export needs a recording");
		rc = err_hint(&e->err, "memwhy export --to pprof --out FILE RECORDING");
	}
	if (rc)
		return rc;
	e->path = o->input = o->operands[0];
	o->format = o->to;
	is_database = !strcmp(o->to, "sqlite");
	of_records = export_of_records(o->to);
	rc = of_records ? records_check(o, &e->err) : 0;
	if (!rc)
		rc = of_records ? output_open_bytes(o, &e->out, &e->err)
				: output_open(o, &e->out, &e->err);
	if (!rc && is_database)
		rc = unnamed_open(&e->made, &e->err);
	if (!rc)
		rc = replay_open(e->path, &e->fd, &e->err);
	if (!rc)
		rc = anonymous_begin(&e->anonymous, o, 1, &e->err);
	if (!rc && of_records && !is_database)
		rc = seekable_check(e);
	/* Nothing of it was read so far, and nothing else is opened from here on. */
	if (!rc)
		rc = recording_enter(
			&e->fd, 1, o->of ? probe_find(o->of) : NULL, o, &e->unfiltered, &e->err);
	if (!rc)
		rc = anonymous_copy(&e->anonymous, &e->fd, e->path,
			o->of ? probe_find(o->of) : NULL, e->damage, &e->err);
	if (!rc && of_records)
		rc = is_database ? database_write(e, o) : trace_write(e, o);
	else if (!rc)
		rc = of_choose(e, o, &of);
	if (!rc && !of_records)
		rc = cmd_export_profile_write(e, of, o);
	return rc == -ENOMEM ? recording_too_large(e->path, o, &e->err) : rc;
}

static int export(const struct command *cmd, struct options *o)
{
	struct exporting e = {};
	int rc = export_write(&e, o);

	if (rc)
		output_drop(&e.out);
	if (e.out.file && output_close(&e.out, rc ? NULL : &e.err) && !rc)
		rc = -EIO;
	if (!rc && e.taken.damaged)
		rc = err_set(&e.err, -ENODATA, "%.159s", e.taken.stream->damage);
	if (!rc && e.damage[0])
		rc = err_set(&e.err, -ENODATA, "%.159s", e.damage);
	taken_free(&e.taken);
	narrow_destroy(&e.narrow);
	anonymous_free(&e.anonymous);
	if (e.made)
		close(e.made);
	if (e.fd)
		close(e.fd);
	return command_end(rc, &e.err, cmd->name);
}

static const char *const examples[] = {
	"memwhy heap --record run.mw -- ./job",
	"record a program",
	"memwhy export --to pprof --out heap.pb.gz run.mw",
	"its heap as a profile; to open it: go tool pprof -http : heap.pb.gz",
	"memwhy export --to speedscope --out heap.json run.mw",
	"the same for https://www.speedscope.app, which also works offline",
	"memwhy export --to perfetto --out stalls.pftrace stalls.mw",
	"a recording made with --each: stalls on the tracks of threads, for ui.perfetto.dev",
	"memwhy export --to sqlite --out run.db run.mw",
	"all records as tables: sqlite3 run.db .tables",
	"memwhy export --to pprof --of faults --out faults.pb.gz all.mw",
	"the page faults of a recording of all probes",
	"memwhy export --to sqlite --from 10s --until 20s --anonymize --out part.db run.mw",
	"ten seconds of it, with names of programs, paths, control groups and functions replaced",
	NULL,
};

const struct command command_export = {
	.name = "export",
	.summary = "A recording as a file for pprof, Perfetto, speedscope, SQLite and flame graphs",
	.operands = "FILE",
	.n_operands = 1,
	.groups = GROUP_EXPORT,
	.details =
		"Writes what is in a recording to a file that another program opens. The numbers "
		"are the same as those the command itself prints with --input.\n\n"
		"pprof (profile.proto, gzip) and speedscope (JSON) hold stacks: each stack of a "
		"process is a sample whose values are its counts, bytes and times. In pprof, "
		"process, thread, name and control group are labels. folded has one line per "
		"stack.\n\n"
		"sqlite is a database of all records, unchanged: one table per kind of record, "
		"and views with names in place of ids. See docs/sqlite.md.\n\n"
		"perfetto is a trace for ui.perfetto.dev. Single events (recorded with --each) "
		"are slices on the tracks of their threads: stalls with their steps, reclaim, "
		"compaction, huge pages, system calls, OOM kills. RSS, live heap, free blocks by "
		"order and pressure are counters. Times are CLOCK_MONOTONIC.\n\n"
		"Addresses in a pprof profile are offsets in the file of each module, plus a base "
		"address invented for it: recordings do not keep the address at which each "
		"process had it mapped.",
	.examples = examples,
	.run = export,
};
