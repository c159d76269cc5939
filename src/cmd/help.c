/* See help.h. */
#include "cmd/help.h"

#include <string.h>

#include "cmd/entries.h"
#include "probes/probe.h"

#define HELP_WIDTH 96
#define EXAMPLE_WIDTH 42 /* a longer one has a line of its own */

/* Words of text wrapped at HELP_WIDTH, each line after `indent` spaces; the first line begins at
 * column `at`. */
static void help_wrap(struct str *out, const char *text, size_t indent, size_t at)
{
	while (*text) {
		size_t n = strcspn(text, " \n");

		if (at > indent && at + 1 + n > HELP_WIDTH) {
			str_addf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			str_addc(out, ' ');
			at++;
		}
		str_addn(out, text, n);
		at += n;
		text += n;
		text += strspn(text, " ");
		if (*text == '\n') {
			str_addf(out, "\n%*s", (int)indent, "");
			text += strspn(text, "\n");
			at = indent;
		}
	}
	str_addc(out, '\n');
}

static void help_examples(const char *const *e, struct str *out)
{
	if (!e)
		return;
	str_add(out, "\nExamples:\n");
	for (; e[0]; e += 2) {
		if (strlen(e[0]) > EXAMPLE_WIDTH)
			str_addf(out, "  %s\n%*s", e[0], EXAMPLE_WIDTH + 4, "");
		else
			str_addf(out, "  %-*s  ", EXAMPLE_WIDTH, e[0]);
		help_wrap(out, e[1], EXAMPLE_WIDTH + 4, EXAMPLE_WIDTH + 4);
	}
}

static void help_option(const struct opt *o, struct str *out)
{
	_cleanup_str_ struct str left = {};

	if (o->letter)
		str_addf(&left, "-%c, ", o->letter);
	else
		str_add(&left, "    ");
	str_addf(&left, "--%s", o->name);
	if (o->type == OPT_OPTIONAL)
		str_addf(&left, "[=%s]", o->arg);
	else if (o->arg)
		str_addf(&left, " %s", o->arg);
	str_addf(out, "  %-30s ", str_get(&left));
	help_wrap(out, o->help, 33, MAX(left.len + 3, 33UL));
}

static void help_keys(const struct command *cmd, struct str *out)
{
	const struct probe *p = probe_find(cmd->name);
	_cleanup_str_ struct str keys = {};

	if (!p || !p->view || !p->view->by_keys)
		return;
	for (const char *const *k = p->view->by_keys; *k; k++)
		str_addf(&keys, "%s%s", *k, k[1] ? ", " : "");
	str_addf(&keys, " (default: %s)%s", p->view->by_default,
		p->view->by_fields ? "; also fields of the events" : "");
	str_add(out, "\n--by takes: ");
	help_wrap(out, str_get(&keys), 12, 12);
}

static void help_looks(const struct command *cmd, struct str *out)
{
	const struct probe *p = probe_find(cmd->name);

	if (!p || !p->view || !p->view->looks)
		return;
	str_add(out, "--like takes: ");
	for (const struct look *l = p->view->looks; l->name; l++)
		str_addf(out, "%s%s", l->name, l[1].name ? ", " : "\n");
}

static void probe_names(struct str *out, bool only_named)
{
	const char *between = "";

	for (size_t i = 0; i < probes_n; i++) {
		const struct probe *p = probes[i];

		if (p->only_named != only_named || p->recorded_by)
			continue;
		str_addf(out, "%s%s", between, p->name);
		between = ", ";
	}
}

void help_probes(struct str *out)
{
	probe_names(out, false);
	str_add(out, "; only when named: ");
	probe_names(out, true);
	for (size_t i = 0; i < probes_n; i++)
		if (probes[i]->recorded_by)
			str_addf(out, "; not %s, which '%s' records", probes[i]->name,
				probes[i]->recorded_by);
}

static void help_recorded(struct str *out)
{
	_cleanup_str_ struct str names = {};

	help_probes(&names);
	str_add(out, "\n--probes takes: ");
	help_wrap(out, str_get(&names), 16, 16);
}

void help_synopsis(const struct command *cmd, struct str *out)
{
	str_addf(out, "memwhy %s%s", cmd->name, cmd->groups ? " [options]" : "");
	if (cmd->operands)
		str_addf(out, " %s", cmd->operands);
	if (cmd->needs_command && cmd->groups & GROUP_ATTACH)
		str_add(out, " {-p PID | -- CMD ARGS...}");
	else if (cmd->takes_command)
		str_add(out, cmd->needs_command ? " -- CMD ARGS..." : " [-- CMD ARGS...]");
}

void help_command(const struct command *cmd, struct str *out)
{
	str_add(out, "Usage: ");
	help_synopsis(cmd, out);
	str_addf(out, "\n\n%s\n", cmd->summary);
	help_examples(cmd->examples, out);
	for (const struct opt_set *set = options_of(cmd, NULL); set->opts; set++) {
		if (options_heading(set))
			str_addf(out, "\n%s:\n", options_heading(set));
		for (size_t i = 0; i < set->n; i++)
			help_option(&set->opts[i], out);
	}
	help_keys(cmd, out);
	help_looks(cmd, out);
	if (cmd->groups & GROUP_RECORD)
		help_recorded(out);
	str_addf(out, "\nMore: man memwhy-%s\n", cmd->name);
}

static const char *const overview_examples[] = {
	"memwhy check",
	"what is wrong with this machine's memory?",
	"memwhy check -- ./job",
	"what is wrong while this command runs?",
	"memwhy doctor",
	"what can memwhy see on this host?",
	"memwhy faults --stacks -p 1234",
	"which code paths of a process fault?",
	NULL,
};

void help_overview(struct str *out)
{
	size_t n;
	const struct command *all = commands(&n);

	str_add(out, "Usage: memwhy COMMAND [options] [-- CMD ARGS...]\n\n");
	str_add(out, "memwhy answers: why is memory doing this?\n");
	help_examples(overview_examples, out);
	str_add(out, "\nCommands:\n");
	for (size_t i = 0; i < n; i++) {
		if (!i || strcmp(all[i].section, all[i - 1].section) != 0)
			str_addf(out, " %s:\n", all[i].section);
		str_addf(out, "  %-12s %s\n", all[i].name, all[i].summary);
	}
	str_add(out, "\n'memwhy COMMAND --help' shows more; 'memwhy --version' the version.\n");
	str_add(out, "Exit status: 0 done, 1 finding or regression (--fail-on), 2 usage, ");
	str_add(out,
		"3 not permitted\nor not supported here, 4 incomplete data, 5 internal error, ");
	str_add(out, "130 interrupted.\nWith -- CMD it is CMD's own, unless memwhy failed.\n");
}

static int help_one(const char *name, void (*print)(const struct command *, struct str *))
{
	const struct command *cmd = command_find(name);
	_cleanup_str_ struct str s = {};

	if (!cmd)
		return command_unknown(name);
	print(cmd, &s);
	fputs(str_get(&s), stdout);
	return STATUS_DONE;
}

/* `memwhy help`, `help CMD`; for packagers: `help man [CMD]`, `help completion [fish]`. */
static int help(const struct command *self, struct options *o)
{
	const char *topic = o->n_operands ? o->operands[0] : "";
	_cleanup_str_ struct str s = {};
	char word[HINT_WORD];
	struct err err = {};

	(void)self;
	if (o->n_operands == 2 && !strcmp(topic, "man"))
		return help_one(o->operands[1], help_man);
	if (o->n_operands == 2 && !strcmp(topic, "completion") && !strcmp(o->operands[1], "fish")) {
		help_completion_fish(&s);
		fputs(str_get(&s), stdout);
		return STATUS_DONE;
	}
	if (o->n_operands == 2) {
		err_set(&err, -EINVAL, "help: '%.40s' is not expected here", o->operands[1]);
		err_hint(&err, "one command at a time: memwhy help %s",
			hint_word(word, topic, "COMMAND"));
		command_error(&err);
		return STATUS_USAGE;
	}
	if (!strcmp(topic, "man"))
		help_man_main(&s);
	else if (!strcmp(topic, "completion"))
		help_completion(&s);
	else if (o->n_operands)
		return help_one(topic, help_command);
	else
		help_overview(&s);
	fputs(str_get(&s), stdout);
	return STATUS_DONE;
}

static const char *const examples[] = {
	"memwhy help",
	"the commands",
	"memwhy help faults",
	"the options of one",
	"memwhy help man faults | man -l -",
	"its man page",
	"memwhy help completion",
	"completion for bash, and for zsh after bashcompinit",
	"memwhy help completion fish",
	"completion for fish",
	NULL,
};

const struct command command_help = {
	.name = "help",
	.summary = "Explain the commands",
	.operands = "[COMMAND | man [COMMAND] | completion [fish]]",
	.n_operands = 2,
	.details = "Everything it prints is made from the same tables that parse the command line.",
	.examples = examples,
	.run = help,
};
