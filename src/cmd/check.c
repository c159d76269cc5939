/* `memwhy check`: all cheap probes for a while, then what the rules make of them. */
#include <errno.h>

#include "base/clock.h"
#include "base/units.h"
#include "cmd/check.h"
#include "cmd/entries.h"
#include "cmd/run.h"
#include "rules/rules.h"

#define DEFAULT_FOR_NS (10 * NSEC_PER_SEC)
#define STACK_EVERY 61 /* a prime, so that a program's own rhythm is not sampled */

/* Is there a probe that was to look and could not? */
static bool probes_missing(const struct report *r)
{
	vec_each (n, &r->stream->notes)
		if (n->level == NOTE_NOT_CHECKED)
			return true;
	return r->unrecorded;
}

static void refused_tell(struct report *r)
{
	const char *seen = "Nothing was found in what could be checked";

	if (r->findings.n)
		seen = report_text(r,
			"In what could be checked there is %zu thing%s to keep an "
			"eye on",
			r->findings.n, plural(r->findings.n));
	r->verdict = report_text(r,
		"INCOMPLETE: check was not permitted to look at everything (NOT CHECKED lists what "
		"is missing), so there may be trouble it cannot see. %s. %s",
		seen, report_refused_remedy(r));
}

void check_conclude(struct report *r)
{
	size_t counts[LEVEL_CRITICAL + 1] = {};
	double seconds = (double)stream_interval_ns(r->stream) / 1e9;

	vec_each (f, &r->findings)
		counts[f->level]++;
	if (counts[LEVEL_CRITICAL] + counts[LEVEL_WARNING])
		r->verdict = report_text(r,
			"%sMemory is in trouble %s. Findings: %zu critical, %zu warning, "
			"%zu risk, %zu note.",
			report_is_refused(r) ? "INCOMPLETE, but already: " : "",
			r->scoped ? "in what was asked for" : "here", counts[LEVEL_CRITICAL],
			counts[LEVEL_WARNING], counts[LEVEL_RISK], counts[LEVEL_NOTE]);
	else if (!r->stream->has_session)
		r->verdict = "Nothing can be said: nothing was recorded.";
	else if (report_is_refused(r))
		refused_tell(r);
	else if (r->findings.n)
		r->verdict = report_text(r, "%s; %zu thing%s to keep an eye on.",
			r->unrecorded ? "Nothing is wrong in what was recorded"
				      : "Nothing is wrong now",
			r->findings.n, plural(r->findings.n));
	else if (probes_missing(r))
		r->verdict = report_text(r,
			"No trouble was seen in %.*f s; NOT CHECKED lists what was left out.",
			seconds < 10, seconds);
	else
		r->verdict = report_text(r,
			"Nothing is wrong with memory %s, as far as %.*f s tell.",
			r->scoped ? "in what was asked for" : "here", seconds < 10, seconds);
	if (r->elsewhere.n)
		report_next(r, "The whole machine, with what to do: `memwhy check`");
	if (!r->findings.n && !r->scoped) /* else `memwhy check` looks at other things */
		report_next(r, "Look longer: `memwhy check --for 5m`");
}

static int fail_level(const struct options *o, int *ret, struct err *err)
{
	*ret = LEVEL_CRITICAL + 1;
	if (!o->fail_on || !finding_level_parse(o->fail_on, ret))
		return 0;
	err_set(err, -EINVAL, "--fail-on: '%.40s' is not a level", o->fail_on);
	return err_hint(err, "levels: note, risk, warning, critical");
}

void check_prepare(struct options *o)
{
	o->by = "major-mapping"; /* look mappings up for the few faults that wait */
}

static int cmd_check(const struct command *cmd, struct options *o)
{
	_cleanup_free_ const struct probe **cheap = calloc(probes_n, sizeof(*cheap));
	struct run r = {
		.cmd = cmd,
		.o = o,
		.probes = cheap,
		.views = rules,
		.n_views = rules_n,
		.lenient = true,
		.gentle = true,
		.finds = true,
		.conclude = check_conclude,
		.stack_every = STACK_EVERY,
	};
	struct err err = {};
	int status, level;

	if (!cheap)
		return STATUS_INTERNAL;
	for (size_t i = 0; i < probes_n; i++)
		if (probes[i]->cheap)
			cheap[r.n_probes++] = probes[i];
	if (fail_level(o, &level, &err)) {
		command_error(&err);
		return STATUS_USAGE;
	}
	if (!o->for_ns && !o->interval_ns && !o->argv && !o->input)
		o->for_ns = DEFAULT_FOR_NS;
	check_prepare(o);
	r.plain_stacks = !o->stacks;
	if (!o->stacks)
		o->stacks = "user";
	o->no_lines |= !o->verbose && !o->input;
	status = run_live_or_input(&r);
	/* What was found stands, whatever else could not be looked at. */
	if (r.incomplete && (status == STATUS_NOT_SUPPORTED || status == STATUS_DAMAGED))
		return r.worst >= level ? STATUS_FOUND : status;
	return r.done && r.worst >= level ? STATUS_FOUND : status;
}

static const char *const examples[] = {
	"memwhy check",
	"look for ten seconds, then say what is wrong",
	"memwhy check --for 5m",
	"the same over five minutes",
	"memwhy check -- make -j8",
	"while a command runs",
	"memwhy check -C db.service",
	"one service; -C 3f2a91: one container, by the first digits of its id",
	"memwhy check --fail-on warning -q",
	"for scripts: exit 1 if there is a warning",
	NULL,
};

/* In JSON these are the members of `findings`; in CSV, the columns. */
static const struct column finding_columns[] = {
	{"level", "LEVEL", CELL_TEXT, UNIT_NONE, 0, "critical, warning, risk or note"},
	{"rule", "RULE", CELL_TEXT, UNIT_NONE, 0, "name of the rule that found it"},
	{"title", "TITLE", CELL_TEXT, UNIT_NONE, 0, "the finding in one line"},
	{"confidence", "CONFIDENCE", CELL_TEXT, UNIT_NONE, 0, "how certain it is, and why"},
	{"cost_ns", "COST", CELL_U64, UNIT_NS, 0, "time lost to it in the interval; null: unknown"},
	{"evidence", "EVIDENCE", CELL_TEXT, UNIT_NONE, 0, "what was seen, a line each"},
	{"why", "WHY", CELL_TEXT, UNIT_NONE, 0, "what that means"},
	{"try", "TRY", CELL_TEXT, UNIT_NONE, 0, "what to change; commands stand between backticks"},
	{"undo", "UNDO", CELL_TEXT, UNIT_NONE, 0, "how to undo that"},
	{"verify", "VERIFY", CELL_TEXT, UNIT_NONE, 0, "how to check whether it helped"},
};

static const struct view_table tables[] = {
	{"findings", finding_columns, ARRAY_SIZE(finding_columns), sizeof(finding_columns[0])},
	{},
};

const struct command command_check = {
	.tables = (const struct view_table *const[]){tables, NULL},
	.name = "check",
	.summary = "What is wrong with memory here, and what can be done about it?",
	.groups = GROUP_CHECK | GROUP_SCOPE | GROUP_RUN | GROUP_FILES | GROUP_PART | GROUP_OUTPUT,
	.takes_command = true,
	.details =
		"Runs every cheap probe and sampler for --for (10 s unless said otherwise), "
		"while a command runs, or with -i until it is interrupted, and prints what it "
		"found: worst first, each finding with "
		"its evidence, why it is so, what to try, how to undo that, and how to see "
		"whether it helped. memwhy itself changes nothing.\n\n"
		"A finding needs evidence: where evidence is thin, check says so and gives no "
		"verdict. "
		"NOT CHECKED lists what could not be checked, and why. Where check was not "
		"permitted to look, the verdict is INCOMPLETE and the exit status 3 (4 of a "
		"recording), unless --fail-on finds something in the rest.\n\n"
		"Page faults are all counted, except memwhy's own; one in 61 is sampled with its "
		"code path. Page allocations, where there are many, are counted for 40 ms every "
		"two seconds: their numbers are sampled.",
	.examples = examples,
	.run = cmd_check,
};
