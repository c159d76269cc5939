/* `memwhy diff BEFORE AFTER`: what changed between two recordings, or several a side, by stack or
 * what else rows are of. */
#include <errno.h>
#include <string.h>

#include "cmd/anonymous.h"
#include "cmd/diff.h"
#include "cmd/entries.h"
#include "cmd/output.h"
#include "export/export.h"
#include "report/role.h"

/* A table that is compared. */
struct compared {
	const char *name;
	struct diff_match *match;
};

struct comparison {
	const struct options *o;
	struct diff_inputs in;
	struct anonymous anonymous;
	char damage[160]; /* with `all`, of the first recording that is damaged */
	bool all;         /* the tables of every command that both have something of */
	bool unfiltered;  /* see recording_enter */
	const struct command *of;
	struct taken sides[2]; /* the first recordings */
	VEC(struct compared) tables;
	struct output out;
	struct diff_spec spec;
	struct diff_change fail_on;
	struct diff_result result; /* of the first table */
	struct str by;             /* what o->by then is */
	struct err *err;
};

/* The first recording of a side. */
static struct diff_input *first(struct comparison *c, int side)
{
	return &c->in.v.v[c->in.first[side]];
}

static int change_option(
	const char *option, const char *text, struct diff_change *ret, struct err *err)
{
	if (!text || !diff_change_parse(text, ret))
		return 0;
	err_set(err, -EINVAL, "%s: '%.40s' is not a change", option, text);
	return err_hint(err, "a number, a size (1M), a time (10ms) or a percentage (5%%)");
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

/* Looks into the beginning of a recording. 1: it is none, but what --input takes as well. */
static int input_peek(struct comparison *c, const struct diff_input *in, struct stream *ret)
{
	struct err err = {};
	int rc = recording_peek(in->fd, in->path, ret, &err);

	if (!rc)
		return 0;
	if (c->o->of)
		return 1;
	if (rc == -ESPIPE) {
		err_set(&err, -EINVAL, "%.200s is not a regular file", in->path);
		rc = err_hint(&err, "--of COMMAND says what to compare");
	}
	*c->err = err;
	return rc == -ENODATA || rc == -EACCES || rc == -ENOMEM ? rc : -EINVAL;
}

/* What to compare, and whether by stack, as all recordings have it. */
static int of_choose(struct comparison *c, struct options *o)
{
	const struct probe *of = NULL;
	size_t with_stacks = 0;
	int rc = 0;

	if (o->of)
		c->of = recording_of(o->of, c->err);
	if (o->of && (!c->of || o->by))
		return c->of ? 0 : -EINVAL;
	vec_each (in, &c->in.v) {
		struct stream s;

		rc = input_peek(c, in, &s);
		if (rc < 0)
			return rc;
		if (rc)
			continue;
		with_stacks += (s.session.options & SESSION_STACKS) != 0;
		of = of ? of : recording_probe(&s);
		rc = in == first(c, 1) && !o->of && !of
			     ? recording_of_unknown(&s, in->path, "compare", NULL, c->err)
			     : 0;
		stream_destroy(&s);
		if (rc)
			return rc;
	}
	if (!c->of)
		c->of = command_find(of->name);
	return !o->by && with_stacks == c->in.v.n ? by_stack(c, o) : 0;
}

static int input_read(
	struct comparison *c, const struct options *of, struct diff_input *in, struct taken *ret)
{
	struct options o = *of;
	int rc;

	o.input = in->path;
	o.format = "text"; /* whether there are stacks to fold is looked at later */
	o.fail_on = NULL;
	o.n_operands = 0; /* those of the command itself */
	o.argv = NULL;
	rc = run_take(c->of, &o, in->fd, ret, c->err);
	if (rc == -ENOMEM)
		return recording_too_large(in->path, &o, c->err);
	if (!rc)
		in->damaged = ret->damaged;
	return rc;
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
			"%s: %.*s is not a count of events: --rate does not apply to it", option,
			(int)MIN(n, 40UL), name);
	err_set(c->err, -EINVAL, "%s: %.*s is not a number that can be compared", option,
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

/* The time that the first table is sorted by, where counts are judged in its place. */
static const char *time_passed(const struct comparison *c, const struct table *t)
{
	int main = table_main_column(t);

	return c->spec.counts && main >= 0 && main != table_count_column(t) &&
			       t->cols[main].unit == UNIT_NS
		       ? t->cols[main].name
		       : NULL;
}

static int tables_begin(struct comparison *c)
{
	vec_each (t, &c->sides[1].report.tables) {
		struct compared table = {.name = (*t)->name};
		int rc;

		if (!is_chosen(c, *t))
			continue;
		if (!table_is_sums(*t))
			return err_set(c->err, -EINVAL,
				(*t)->nested
					? "--table: a row of %s holds those below it: they "
					  "cannot be compared one by one"
					: "--table: the rows of %s are events or a course over "
					  "time: no two recordings have the same",
				(*t)->name);
		rc = diff_begin(&c->spec, table.name, &table.match);
		if (rc == -ENOENT)
			continue;
		if (!c->tables.n)
			c->spec.time = time_passed(c, *t);
		if (!rc)
			rc = vec_push(&c->tables, table);
		if (rc) {
			diff_end(table.match);
			return rc;
		}
	}
	return 0;
}

/* A recording of a side beside its first one: it is read, put to the others, and let go. */
static int other_join(
	struct comparison *c, struct options *o, struct report *r, struct diff_input *in)
{
	struct taken t;
	int rc = input_read(c, o, in, &t);

	if (rc)
		return rc;
	vec_each (table, &c->tables) {
		if (!table->match || rc)
			continue;
		rc = diff_join(table->match, in->side, &t.report, table->name, c->sides[1].stream);
		if (rc != -ENOENT)
			continue;
		report_not_checked(r, "%s: %s has no such table", table->name, in->path);
		diff_end(table->match);
		table->match = NULL;
		rc = 0;
	}
	if (!rc)
		rc = stream_facts(t.stream, &in->facts);
	if (!rc)
		rc = vec_push(&r->others[in->side],
			((struct report_side){.name = in->path, .stream = &in->facts}));
	if (!rc)
		diff_tell_other(r, &c->spec, in->side, in->path, &t.report);
	taken_free(&t);
	return rc;
}

static int tables_show(struct comparison *c, struct report *r)
{
	bool any = false;

	vec_each (t, &c->tables) {
		struct diff_result res;
		int rc = t->match ? diff_show(r, c->sides[1].stream, t->match, &res) : -ENOENT;

		if (rc && rc != -ENOENT)
			return rc;
		if (!rc && !any)
			c->result = res;
		any |= !rc;
	}
	if (!any && c->all)
		return -ENOENT;
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

/* How far two runs of one program are apart in a time one recording a side cannot tell. */
static int judged_check(const struct comparison *c)
{
	const struct diff_result *res = &c->result;

	if (!c->spec.counts || res->column->unit != UNIT_NS || diff_has_several(res))
		return 0;
	err_set(c->err, -EINVAL,
		"--fail-on: there is no count to judge, and the noise of %s is not known",
		res->column->name);
	return err_hint(c->err,
		"memwhy diff A1 A2 A3 -- B1 B2 B3 separates it from noise; --sort %s judges the "
		"change "
		"alone",
		res->column->name);
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
	       change > 0 && change >= least && diff_is_beyond(res->total_p, diff_has_several(res));
}

static int folded_check(const struct comparison *c, const struct report *r)
{
	if (!export_of_stacks(c->o->format) || report_has_stacks(r))
		return 0;
	err_set(c->err, -EINVAL, "-o %s shows stacks, and there are none in this report",
		c->o->format);
	return err_hint(c->err, "add --by stack, if both recordings have them");
}

static void report_begin(struct comparison *c, struct report *r)
{
	report_init(r, "diff", c->sides[1].stream);
	output_select(&c->out, c->o, r);
	r->fields = r->sort = r->only = NULL; /* they chose what is compared */
	r->before = c->sides[0].stream;
	for (int i = 0; i < 2; i++)
		r->names[i] = first(c, i)->path;
	r->of = c->of->name;
}

static int comparison_print(struct comparison *c, struct options *o, bool *ret_regression)
{
	struct report r;
	int rc;

	report_begin(c, &r);
	rc = tables_begin(c);
	vec_each (in, &c->in.v)
		if (!rc && in != first(c, in->side))
			rc = other_join(c, o, &r, in);
	if (!rc)
		rc = tables_show(c, &r);
	if (!rc)
		rc = units_check(c);
	if (!rc)
		rc = judged_check(c);
	if (!rc)
		rc = folded_check(c, &r);
	if (!rc && c->all && !c->result.rows)
		rc = -ENOENT;
	if (!rc) {
		*ret_regression = is_regression(c);
		if (c->unfiltered)
			recording_unfiltered(&r);
		diff_tell(&r, &c->spec, &c->result, c->fail_on.given, *ret_regression);
		rc = output_report(&c->out, &r, c->err);
	}
	report_destroy(&r);
	return rc;
}

/* With --anonymize: what is compared has no names in it, nor those of the files. */
static int inputs_hide(struct comparison *c, const struct probe *of)
{
	int rc = 0;

	vec_each (in, &c->in.v) {
		char damage[160];

		rc = rc ? rc : anonymous_copy(&c->anonymous, &in->fd, in->path, of, damage, c->err);
		if (!rc && damage[0] && !c->damage[0])
			memcpy(c->damage, damage, sizeof(c->damage));
		if (c->anonymous.names)
			in->path = in->side ? "the later recording" : "the earlier recording";
	}
	return rc;
}

static int comparison_open(struct comparison *c, struct options *o)
{
	const struct probe *of = o->of ? probe_find(o->of) : NULL;
	const char *same;
	int rc = diff_inputs_name(&c->in, o, c->err);

	if (!rc)
		rc = change_option("--min", o->least, &c->spec.min, c->err);
	if (!rc)
		rc = change_option("--fail-on", o->fail_on, &c->fail_on, c->err);
	if (!rc) {
		struct options files = *o; /* --out must be none of them */

		same = diff_inputs_find(&c->in, o->out);
		files.input = same ? same : first(c, 0)->path;
		rc = output_open(&files, &c->out, c->err);
	}
	if (!rc)
		rc = anonymous_begin(&c->anonymous, o, c->in.v.n, c->err);
	/* Nothing of them was read so far, and nothing else is opened from here on. */
	if (!rc)
		rc = diff_inputs_enter(&c->in, of, o, &c->unfiltered, c->err);
	return rc ? rc : inputs_hide(c, of);
}

/* Of what is open: the tables of one command. */
static int comparison_of(struct comparison *c, struct options *o, bool *ret_regression)
{
	bool any_comm = !o->by;
	int rc = of_choose(c, o);

	c->spec.fields = o->fields;
	c->spec.main = o->sort;
	c->spec.per_second = o->rate;
	c->spec.any_comm = any_comm;
	/* what is not asked for by name, nor as a time, is judged by its count */
	c->spec.counts = c->fail_on.given && !o->sort && !o->fields &&
			 (c->fail_on.share || c->fail_on.is_number);
	for (int i = 0; i < 2 && !rc; i++) {
		rc = input_read(c, o, first(c, i), &c->sides[i]);
		if (!rc)
			c->spec.sides[i] = &c->sides[i].report;
	}
	if (!rc)
		rc = names_check(c);
	if (!rc)
		rc = comparison_print(c, o, ret_regression);
	return rc;
}

/* Forgets what was compared, not what is open. */
static void comparison_reset(struct comparison *c)
{
	vec_each (t, &c->tables)
		diff_end(t->match);
	vec_free(&c->tables);
	for (int i = 0; i < 2; i++) {
		taken_free(&c->sides[i]);
		c->spec.sides[i] = NULL;
	}
	str_free(&c->by);
	c->of = NULL;
}

/* A command that looks at one thing records it for itself, and what is beside it for its tables. */
static bool both_have(const struct probe *p, const struct stream begins[2])
{
	const struct probe *of = probe_find(begins[1].session.command);

	return p->view && command_find(p->name) && recording_has(&begins[0], p) &&
	       recording_has(&begins[1], p) && (!of || !of->view || of == p);
}

static const char *damage_find(const struct comparison *c)
{
	vec_each (in, &c->in.v) {
		const struct stream *s = in->facts.names ? &in->facts : c->sides[in->side].stream;

		if (in->damaged && s)
			return s->damage;
	}
	return NULL;
}

/* Looks into the beginnings of both. 1: one of them is of a kind that cannot be looked into. */
static int both_peek(struct comparison *c, struct stream begins[2])
{
	int rc = input_peek(c, first(c, 0), &begins[0]);

	if (rc)
		return rc;
	rc = input_peek(c, first(c, 1), &begins[1]);
	if (rc)
		stream_destroy(&begins[0]);
	return rc;
}

/* What both have, one command after the other, on one page. */
static int comparison_of_all(struct comparison *c, const struct options *o)
{
	struct stream begins[2];
	int rc = both_peek(c, begins);
	bool unused;

	if (rc)
		return rc;
	output_page_goes_on(&c->out);
	for (size_t i = 0; i < probes_n && !rc; i++) {
		struct options of = *o;

		if (!both_have(probes[i], begins))
			continue;
		of.of = probes[i]->name;
		c->o = &of;
		rc = comparison_of(c, &of, &unused);
		rc = rc == -ENOENT ? 0 : rc;
		if (!c->damage[0] && damage_find(c))
			snprintf(c->damage, sizeof(c->damage), "%.159s", damage_find(c));
		comparison_reset(c);
	}
	c->o = o;
	for (int i = 0; i < 2; i++)
		stream_destroy(&begins[i]);
	if (!rc && !c->out.started)
		rc = err_set(c->err, -EINVAL, "the recordings have no table in common");
	return rc ? rc : output_end(&c->out, NULL, c->err);
}

static int comparison_run(struct comparison *c, struct options *o, bool *ret_regression)
{
	int rc = comparison_open(c, o);

	if (!rc)
		rc = c->all ? comparison_of_all(c, o) : comparison_of(c, o, ret_regression);
	if (rc == -ENOMEM && c->in.first[1] < c->in.v.n)
		rc = recording_too_large(first(c, 1)->path, o, c->err);
	if (rc)
		output_drop(&c->out);
	if (c->out.file && output_close(&c->out, rc ? NULL : c->err) && !rc)
		rc = -EIO;
	return rc;
}

static void comparison_free(struct comparison *c)
{
	comparison_reset(c);
	diff_inputs_free(&c->in);
	anonymous_free(&c->anonymous);
}

/* The first recording that is damaged, in words. */
static int damage_tell(struct comparison *c)
{
	const char *damage = c->damage[0] ? c->damage : damage_find(c);

	return damage ? err_set(c->err, -ENODATA, "%.159s", damage) : 0;
}

static int diff_with(const struct command *cmd, struct options *o, bool all)
{
	struct err err = {};
	struct comparison c = {.o = o, .all = all, .err = &err};
	bool regression = false;
	int rc = comparison_run(&c, o, &regression);

	if (!rc)
		rc = damage_tell(&c);
	comparison_free(&c);
	return !rc && regression ? STATUS_FOUND : command_end(rc, &err, cmd->name);
}

static int diff(const struct command *cmd, struct options *o)
{
	return diff_with(cmd, o, false);
}

int diff_page(const struct command *cmd, struct options *o)
{
	return diff_with(cmd, o, !o->of);
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
	"memwhy diff --fail-on 2% a1.mw a2.mw a3.mw -- b1.mw b2.mw b3.mw",
	"of several runs before and after: what changed by more than they differ anyway",
	"memwhy diff --of faults --rate mon.mw tue.mw",
	"of recordings of all probes the page faults, per second",
	"memwhy diff -o folded old.mw new.mw",
	"for a differential flame graph: stack, before, after",
	NULL,
};

const struct command command_diff = {
	.name = "diff",
	.summary = "What changed between two recordings, by stack",
	.operands = "BEFORE... [--] AFTER...",
	.n_operands = DIFF_INPUTS_MAX,
	.operands_again = true,
	.groups = GROUP_DIFF | GROUP_OUTPUT,
	.details = diff_details,
	.examples = examples,
	.output = diff_output,
	.tables = diff_tables,
	.run = diff,
};
