/* `memwhy diff BEFORE AFTER`: what changed between two recordings, by stack or what else rows are
 * of. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/diff_tell.h"
#include "cmd/diff_texts.h"
#include "cmd/entries.h"
#include "cmd/output.h"
#include "cmd/recording.h"
#include "cmd/run_take.h"
#include "report/role.h"

struct comparison {
	const struct options *o;
	const char *paths[2];
	int inputs[2];   /* the same, open; 0: not yet */
	bool unfiltered; /* see recording_enter */
	const struct command *of;
	struct taken sides[2];
	struct output out;
	struct diff_spec spec;
	struct diff_change fail_on;
	struct diff_result result; /* of the first table */
	struct str by;             /* what o->by then is */
	struct err *err;
};

static int change_option(
	const char *option, const char *text, struct diff_change *ret, struct err *err)
{
	if (!text || !diff_change_parse(text, ret))
		return 0;
	err_set(err, -EINVAL, "%s: '%.40s' is no change", option, text);
	return err_hint(err, "a number, a size (1M), a time (10ms) or a part (5%%)");
}

static int paths_check(struct comparison *c)
{
	const struct options *o = c->o;
	struct stat a, b;

	if (o->n_operands != 2) {
		err_set(c->err, -EINVAL, "diff needs two recordings");
		return err_hint(c->err, "memwhy diff BEFORE AFTER");
	}
	c->paths[0] = o->operands[0];
	c->paths[1] = o->operands[1];
	if (!stat(c->paths[0], &a) && !stat(c->paths[1], &b) && S_ISREG(a.st_mode) &&
		a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		return err_set(c->err, -EINVAL, "%.100s and %.100s are the same file", c->paths[0],
			c->paths[1]);
	return 0;
}

static int of_named(struct comparison *c)
{
	const struct probe *p = probe_find(c->o->of);

	c->of = p && p->view ? command_find(p->name) : NULL;
	if (c->of)
		return 0;
	err_set(c->err, -EINVAL, "--of: '%.40s' is no command with tables to compare", c->o->of);
	return err_hint(c->err, "'memwhy help' lists the commands; those of a probe have tables");
}

static int of_unknown(struct comparison *c, const struct stream *s)
{
	_cleanup_str_ struct str has = {};

	for (size_t i = 0; i < probes_n; i++)
		if (probes[i]->view && recording_has(s, probes[i]))
			str_addf(&has, "%s%s", has.len ? ", " : "", probes[i]->name);
	err_set(c->err, -EINVAL, "%.200s is of 'memwhy %.31s': --of COMMAND says what to compare",
		c->paths[1], s->session.command);
	return err_hint(c->err, "it has: %s", str_get(&has));
}

/*
 * Both have stacks: what the command counts by unless told, and by stack. Not by process: two runs
 * of a program have two names where it was renamed, and often the same stacks.
 */
static int by_stack(struct comparison *c, struct options *o)
{
	const struct view *v = probe_find(c->of->name)->view;
	const char *const *has = v->by_keys;
	const char *keys = v->by_default;

	o->stacks = "";
	while (has && *has && strcmp(*has, "stack") != 0)
		has++;
	if (!has || !*has)
		return 0;
	for (size_t len; *keys; keys += len + (keys[len] == ',')) {
		len = strcspn(keys, ",");
		if (strncmp(keys, "process", len) && strncmp(keys, "thread", len) &&
			strncmp(keys, "stack", len))
			str_addf(&c->by, "%.*s,", (int)len, keys);
	}
	str_add(&c->by, "stack");
	o->by = str_get(&c->by);
	return c->by.failed ? -ENOMEM : 0;
}

/* What to compare, and whether by stack, as both recordings have it. */
static int of_choose(struct comparison *c, struct options *o)
{
	const struct probe *of = NULL;
	u32 with_stacks = 0;
	int rc = o->of ? of_named(c) : 0;

	if (rc || (o->of && o->by))
		return rc;
	for (int i = 0; i < 2 && !rc; i++) {
		struct stream s;
		struct err err = {};

		rc = recording_peek(c->inputs[i], c->paths[i], &s, &err);
		if (rc && o->of) { /* no recording, but what --input takes as well */
			rc = 0;
			continue;
		}
		if (rc == -ESPIPE) {
			err_set(&err, -EINVAL, "%.200s is no regular file", c->paths[i]);
			rc = err_hint(&err, "--of COMMAND says what to compare");
		}
		if (rc) {
			*c->err = err;
			return rc == -ENODATA || rc == -EACCES || rc == -ENOMEM ? rc : -EINVAL;
		}
		with_stacks += (s.session.options & SESSION_STACKS) != 0;
		of = of ? of : recording_probe(&s);
		if (i && !o->of && !of)
			rc = of_unknown(c, &s);
		stream_destroy(&s);
	}
	if (!rc && !c->of)
		c->of = command_find(of->name);
	if (!rc && !o->by && with_stacks == 2)
		rc = by_stack(c, o);
	return rc;
}

static int side_read(struct comparison *c, const struct options *of, int i)
{
	struct options o = *of;
	int rc;

	o.input = c->paths[i];
	o.format = "text"; /* whether there are stacks to fold is looked at later */
	o.fail_on = NULL;
	o.n_operands = 0; /* those of the command itself */
	rc = run_take(c->of, &o, c->inputs[i], &c->sides[i], c->err);
	if (rc == -ENOMEM)
		return recording_too_large(c->paths[i], &o, c->err);
	if (rc)
		return rc;
	c->spec.sides[i] = &c->sides[i].report;
	return 0;
}

static bool is_chosen(const struct comparison *c, const struct table *t)
{
	return c->o->table ? !strcmp(c->o->table, t->name) : table_is_sums(t);
}

/* The names of --fields and --sort are there (run_take): are they numbers that can be compared? */
static int name_check(const struct comparison *c, const char *option, const char *name, size_t n)
{
	vec_each (at, &c->sides[1].report.tables)
		for (size_t i = 0; is_chosen(c, *at) && i < (*at)->n_cols; i++) {
			const struct column *col = &(*at)->cols[i];

			if (strlen(col->name) == n && !strncmp(col->name, name, n) &&
				diff_compares(&c->spec, col))
				return 0;
		}
	if (c->spec.per_second)
		return err_set(c->err, -EINVAL,
			"%s: %.*s is no count of events: with --rate it means nothing", option,
			(int)MIN(n, 40UL), name);
	err_set(c->err, -EINVAL, "%s: %.*s is no number that can be compared", option,
		(int)MIN(n, 40UL), name);
	return err_hint(c->err, "rows are matched by names and stacks, and show them anyway");
}

static int names_check(const struct comparison *c)
{
	int rc = 0;

	if (c->o->sort && c->o->sort[0] == '-')
		rc = err_set(c->err, -EINVAL,
			"--sort: rows are in the order of their change, the largest first");
	for (const char *p = c->spec.fields; p && *p && !rc;) {
		size_t n = strcspn(p, ",");

		rc = name_check(c, "--fields", p, n);
		p += n;
		p += *p == ',';
	}
	return !rc && c->spec.main ? name_check(c, "--sort", c->spec.main, strlen(c->spec.main))
				   : rc;
}

static int tables_add(struct comparison *c, struct report *r)
{
	bool any = false;
	int rc = 0;

	vec_each (t, &c->sides[1].report.tables) {
		struct diff_result res;

		if (!is_chosen(c, *t))
			continue;
		if (!table_is_sums(*t))
			return err_set(c->err, -EINVAL,
				"--table: the rows of %s are events or a course over time: no two "
				"recordings have the same",
				(*t)->name);
		rc = diff_table(r, c->sides[1].stream, &c->spec, (*t)->name, &res);
		if (rc && rc != -ENOENT)
			return rc;
		if (!rc && !any)
			c->result = res;
		any |= !rc;
	}
	return any ? 0
		   : err_set(c->err, -EINVAL, "%s has nothing to compare%s", c->of->name,
			     c->spec.per_second ? " per second" : "");
}

/* Of the first table, as its unit has to be that of --min and --fail-on. */
static int units_check(const struct comparison *c)
{
	const struct diff_change *changes[] = {&c->spec.min, &c->fail_on};
	static const char *const options[] = {"--min", "--fail-on"};
	long double unused;

	for (int i = 0; i < 2; i++)
		if (changes[i]->given && !diff_threshold(changes[i], c->result.column, 0, &unused))
			return err_set(c->err, -EINVAL, "%s: %s is %s", options[i],
				c->result.column->name,
				c->result.column->unit == UNIT_NS ? "a time" : "no time");
	return 0;
}

static bool is_regression(const struct comparison *c)
{
	const struct diff_result *res = &c->result;
	long double least, change, error;

	if (!diff_threshold(&c->fail_on, res->column, res->total[0].value, &least))
		return false;
	if (!res->summed && c->fail_on.share)
		return res->rise > 0 && 100 * res->rise_share >= (long double)c->fail_on.value;
	if (res->rise > 0 && res->rise >= least)
		return true;
	return res->summed && diff_change(res->total, true, &change, &error) && change > error &&
	       change > 0 && change >= least;
}

static int folded_check(const struct comparison *c, const struct report *r)
{
	if (strcmp(c->o->format, "folded") != 0 || report_has_stacks(r))
		return 0;
	err_set(c->err, -EINVAL, "-o folded shows stacks, and there are none in this report");
	return err_hint(c->err, "add --by stack, if both recordings have them");
}

static int comparison_print(struct comparison *c, bool *ret_regression)
{
	struct report r;
	int rc;

	report_init(&r, "diff", c->sides[1].stream);
	output_select(&c->out, c->o, &r);
	r.fields = r.sort = r.only = NULL; /* they chose what is compared */
	r.before = c->sides[0].stream;
	r.names[0] = c->paths[0];
	r.names[1] = c->paths[1];
	r.of = c->of->name;
	rc = tables_add(c, &r);
	if (!rc)
		rc = units_check(c);
	if (!rc)
		rc = folded_check(c, &r);
	if (!rc) {
		*ret_regression = is_regression(c);
		if (c->unfiltered)
			recording_unfiltered(&r);
		diff_tell(&r, &c->spec, &c->result, *ret_regression);
		rc = output_report(&c->out, &r, c->err);
	}
	report_destroy(&r);
	return rc;
}

/* Nothing of the recordings was read so far, and nothing else is opened from here on. */
static int comparison_enter(struct comparison *c)
{
	const struct probe *of = c->o->of ? probe_find(c->o->of) : NULL;
	int rc = 0;

	for (int i = 0; i < 2 && !rc; i++)
		rc = replay_open(c->paths[i], &c->inputs[i], c->err);
	return rc ? rc : recording_enter(c->inputs, 2, of, c->o, &c->unfiltered, c->err);
}

static int comparison_open(struct comparison *c, struct options *o)
{
	int rc = paths_check(c);

	if (!rc)
		rc = change_option("--min", o->least, &c->spec.min, c->err);
	if (!rc)
		rc = change_option("--fail-on", o->fail_on, &c->fail_on, c->err);
	if (!rc) {
		struct options files = *o; /* --out must be neither */

		files.input = c->paths[0];
		files.record = c->paths[1];
		rc = output_open(&files, &c->out, c->err);
	}
	if (!rc)
		rc = comparison_enter(c);
	if (!rc)
		rc = of_choose(c, o);
	return rc;
}

static int comparison_run(struct comparison *c, struct options *o, bool *ret_regression)
{
	bool any_comm = !o->by;
	int rc = comparison_open(c, o);

	c->spec.fields = o->fields;
	c->spec.main = o->sort;
	c->spec.per_second = o->rate;
	c->spec.any_comm = any_comm;
	for (int i = 0; i < 2 && !rc; i++)
		rc = side_read(c, o, i);
	if (!rc)
		rc = names_check(c);
	if (!rc)
		rc = comparison_print(c, ret_regression);
	if (rc == -ENOMEM && c->inputs[1])
		rc = recording_too_large(c->paths[1], o, c->err);
	if (c->out.file && output_close(&c->out, rc ? NULL : c->err) && !rc)
		rc = -EIO;
	if (!rc && (c->sides[0].damaged || c->sides[1].damaged))
		rc = -ENODATA;
	return rc;
}

static int diff(const struct command *cmd, struct options *o)
{
	struct err err = {};
	struct comparison c = {.o = o, .err = &err};
	bool regression = false;
	int rc = comparison_run(&c, o, &regression);

	for (int i = 0; i < 2 && rc == -ENODATA && !err.code; i++)
		if (c.sides[i].damaged)
			err_set(&err, rc, "%.159s", c.sides[i].stream->damage);
	for (int i = 0; i < 2; i++) {
		taken_free(&c.sides[i]);
		if (c.inputs[i])
			close(c.inputs[i]);
	}
	str_free(&c.by);
	if (!rc)
		return regression ? STATUS_FOUND : STATUS_DONE;
	if (rc == -EPIPE)
		return STATUS_DONE; /* the reader has seen enough */
	if (!err.code)
		err_errno(&err, rc, "%s", cmd->name);
	command_error(&err);
	return command_status(rc);
}

static const char *const examples[] = {
	"memwhy heap --record old.mw -- ./job",
	"record a program; then the same of its next version, to new.mw",
	"memwhy diff old.mw new.mw",
	"what changed between the two, by stack: largest change first",
	"memwhy diff --sort allocations old.mw new.mw",
	"by how often it allocates",
	"memwhy diff --fail-on 10% -q old.mw new.mw",
	"for scripts: exit 1 if the total, or one row, rose by a tenth of the total or more",
	"memwhy diff --of faults --rate mon.mw tue.mw",
	"of recordings of all probes the page faults, per second",
	"memwhy diff -o folded old.mw new.mw",
	"for a differential flame graph: stack, before, after",
	NULL,
};

const struct command command_diff = {
	.name = "diff",
	.summary = "What changed between two recordings, by stack",
	.operands = "BEFORE AFTER",
	.n_operands = 2,
	.groups = GROUP_DIFF | GROUP_OUTPUT,
	.details = diff_details,
	.examples = examples,
	.output = diff_output,
	.tables = diff_tables,
	.run = diff,
};
