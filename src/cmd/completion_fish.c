/* Completion for fish, from the command table. */
#include <string.h>

#include "cmd/help.h"

/* What is not memwhy's own command line ends at "--"; keys and columns are lists. */
static const char functions[] =
	"# fish completion for memwhy; made by 'memwhy help completion fish'\n"
	"function __memwhy_is\n"
	"\tset -l words (commandline -opc)\n"
	"\tcontains -- -- $words; and return 1\n"
	"\tif test (count $argv) -eq 0\n"
	"\t\ttest (count $words) -eq 1\n"
	"\telse\n"
	"\t\ttest \"$words[2]\" = \"$argv[1]\"\n"
	"\tend\n"
	"end\n"
	"function __memwhy_list\n"
	"\tset -l head (string match -r '^.*,' -- (commandline -ct))\n"
	"\tfor word in $argv\n"
	"\t\techo \"$head$word\"\n"
	"\tend\n"
	"end\n"
	"function __memwhy_events\n"
	"\tset -l glob (commandline -ct)\n"
	"\tstring match -q '*:*' -- $glob; or set glob $glob'*:'\n"
	"\tmemwhy count --list $glob'*' 2>/dev/null | "
	"string match -rg '^([^ ]+:[^ ]+) '\n"
	"end\n"
	"function __memwhy_cgroups\n"
	"\tset -l root /sys/fs/cgroup\n"
	"\ttest -d $root/memory; and set root $root/memory\n"
	"\tfind $root -mindepth 1 -maxdepth 4 -type d -printf '/%P\\n' 2>/dev/null\n"
	"end\n";

/* The beginning of a sentence, as a word of fish. */
static void description_add(struct str *out, const char *text)
{
	size_t n = strcspn(text, ";(:");

	while (n && text[n - 1] == ' ')
		n--;
	str_add(out, " -d '");
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '\'' || text[i] == '\\')
			str_addc(out, '\\');
		str_addc(out, text[i]);
	}
	str_addc(out, '\'');
}

static void commands_add(struct str *out)
{
	size_t n;
	const struct command *all = commands(&n);

	for (size_t i = 0; i < n; i++)
		str_addf(out, "%s ", all[i].name);
}

/* What a command takes that is no option. */
static void operands_add(struct str *out, const struct command *cmd)
{
	_cleanup_str_ struct str words = {};

	completion_operands(&words, cmd);
	if (words.len)
		str_addf(out, "complete -c memwhy -n '__memwhy_is %s' -a '%s'\n", cmd->name,
			str_get(&words));
}

/* What an option takes: words of ours, a file, or what cannot be known. */
static void completion_fish_value_add(
	struct str *out, const struct command *cmd, const struct opt *o)
{
	if (o->values) {
		str_addf(out, completion_is_list(o) ? " -x -a '(__memwhy_list %s)'" : " -x -a '%s'",
			o->values);
	} else if (!strcmp(o->name, "by")) {
		str_add(out, " -x -a '(__memwhy_list ");
		completion_keys(out, cmd);
		str_add(out, ")'");
	} else if (!strcmp(o->name, "sort") || !strcmp(o->name, "fields")) {
		str_add(out, " -x -a '(__memwhy_list ");
		completion_fields(out, cmd);
		str_add(out, ")'");
	} else if (!strcmp(o->name, "table")) {
		str_add(out, " -x -a '");
		completion_tables(out, cmd);
		str_addc(out, '\'');
	} else if (!strcmp(o->name, "like")) {
		str_add(out, " -x -a '");
		completion_tools(out, cmd);
		str_addc(out, '\'');
	} else if (!strcmp(o->name, "of")) {
		str_add(out, " -x -a '");
		commands_add(out);
		str_addc(out, '\'');
	} else if (!strcmp(o->name, "probes")) {
		str_add(out, " -x -a '(__memwhy_list ");
		completion_probes(out);
		str_add(out, ")'");
	} else if (!strcmp(o->name, "cgroup")) {
		str_add(out, " -x -a '(__memwhy_cgroups)'");
	} else {
		str_add(out, !strcmp(o->arg, "FILE") ? " -r -F" : " -x");
	}
}

static void option_add(struct str *out, const struct command *cmd, const struct opt *o)
{
	str_addf(out, "complete -c memwhy -n '__memwhy_is %s' -l %s", cmd->name, o->name);
	if (o->letter)
		str_addf(out, " -s %c", o->letter);
	/* an optional value is joined to its option, so the next word is none */
	if (o->type != OPT_FLAG && o->type != OPT_OPTIONAL)
		completion_fish_value_add(out, cmd, o);
	description_add(out, o->help);
	str_addc(out, '\n');
}

void help_completion_fish(struct str *out)
{
	size_t n;
	const struct command *all = commands(&n);

	str_add(out, functions);
	for (size_t i = 0; i < n; i++) {
		str_addf(out, "complete -c memwhy -n __memwhy_is -f -a %s", all[i].name);
		description_add(out, all[i].summary);
		str_addf(out, "\ncomplete -c memwhy -n '__memwhy_is help' -f -a %s\n", all[i].name);
		if (strcmp(all[i].name, "help") != 0)
			operands_add(out, &all[i]);
		for (const struct opt_set *set = options_of(&all[i], NULL); set->opts; set++)
			for (size_t k = 0; k < set->n; k++)
				option_add(out, &all[i], &set->opts[k]);
	}
	str_add(out, "complete -c memwhy -n '__memwhy_is count' -f -a '(__memwhy_events)'\n"
		     "complete -c memwhy -n '__memwhy_is help' -f -a 'man completion fish'\n");
}
