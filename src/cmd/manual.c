/* Man pages and shell completion, from the command table. */
#include <string.h>

#include "cmd/help.h"
#include "probes/probe.h"

/* Text for roff: backslashes, leading dots and dashes made literal. */
static void man_text(struct str *out, const char *text)
{
	if (*text == '.' || *text == '\'')
		str_add(out, "\\&");
	for (; *text; text++) {
		if (*text == '\\')
			str_add(out, "\\e");
		else if (*text == '-')
			str_add(out, "\\-");
		else
			str_addc(out, *text);
	}
}

/* Paragraphs separated by blank lines. */
static void man_paragraphs(struct str *out, const char *text)
{
	_cleanup_free_ char *copy = strdup(text);
	char *p = copy, *next;

	for (; p; p = next) {
		next = strstr(p, "\n\n");
		if (next) {
			*next = '\0';
			next += 2;
		}
		str_add(out, ".PP\n");
		man_text(out, p);
		str_addc(out, '\n');
	}
}

static void man_option(struct str *out, const struct opt *o)
{
	str_add(out, ".TP\n\\fB");
	if (o->letter)
		str_addf(out, "\\-%c\\fR, \\fB", o->letter);
	str_add(out, "\\-\\-");
	man_text(out, o->name);
	str_add(out, "\\fR");
	if (o->arg) {
		str_add(out, o->type == OPT_OPTIONAL ? "[=\\fI" : " \\fI");
		man_text(out, o->arg);
		str_add(out, o->type == OPT_OPTIONAL ? "\\fR]" : "\\fR");
	}
	str_addc(out, '\n');
	man_text(out, o->help);
	str_addc(out, '\n');
}

static void man_options(struct str *out, const struct command *cmd)
{
	str_add(out, ".SH OPTIONS\n");
	for (const struct opt_set *set = options_of(cmd, NULL); set->opts; set++) {
		if (options_heading(set))
			str_addf(out, ".SS %s\n", options_heading(set));
		for (size_t i = 0; i < set->n; i++)
			man_option(out, &set->opts[i]);
	}
}

static void man_examples(struct str *out, const char *const *e)
{
	if (!e)
		return;
	str_add(out, ".SH EXAMPLES\n");
	for (; e[0]; e += 2) {
		str_add(out, ".TP\n\\fB");
		man_text(out, e[0]);
		str_add(out, "\\fR\n");
		man_text(out, e[1]);
		str_addc(out, '\n');
	}
}

/* What a run printed, line by line. */
static void man_output(struct str *out, const char *output)
{
	_cleanup_free_ char *copy = output ? strdup(output) : NULL;
	char *next = copy;

	if (!copy)
		return;
	str_add(out, ".SH EXAMPLE OUTPUT\n.nf\n");
	for (char *line; (line = strsep(&next, "\n")) && (next || *line);) {
		if (*line)
			man_text(out, line);
		else
			str_add(out, "\\&");
		str_addc(out, '\n');
	}
	str_add(out, ".fi\n");
}

static void man_keys(struct str *out, const struct probe *p)
{
	if (!p || !p->view || !p->view->by_keys)
		return;
	str_add(out, ".SH KEYS OF \\-\\-by\n");
	for (const char *const *k = p->view->by_keys; *k; k++)
		str_addf(out, "%s%s", *k, k[1] ? ", " : ".\n");
	str_addf(out, "Default: %s.\n", p->view->by_default);
	if (p->view->by_fields)
		str_add(out, "Fields of the events, too.\n");
}

static void man_looks(struct str *out, const struct probe *p)
{
	if (!p || !p->view || !p->view->looks)
		return;
	str_add(out, ".SH TOOLS FOR \\-\\-like\n");
	for (const struct look *l = p->view->looks; l->name; l++)
		str_addf(out, "%s%s", l->name, l[1].name ? ", " : ".\n");
	str_add(out, "Columns and units are those of the tool; losses are reported on standard "
		     "error at the end.\n");
}

static void man_recorded(struct str *out)
{
	_cleanup_str_ struct str names = {};

	help_probes(&names);
	str_add(out, ".SH PROBES\n");
	man_text(out, str_get(&names));
	str_add(out, ".\n");
}

static void man_container(struct str *out, const struct column *c)
{
	char name[CONTAINER_FIELD_LEN];

	container_field(c, name);
	str_addf(out, ".TP\n\\fB%s\\fR\n", name);
	man_text(out, "in JSON and JSONL, where that is a container's: the first digits of its id");
	str_addc(out, '\n');
}

static void man_stack(struct str *out, const struct column *c)
{
	str_addf(out, ".TP\n\\fB%s_method\\fR\n", c->name);
	man_text(out, "in JSON and JSONL, where its user part is not known to be exact: how it was "
		      "had, or why it is cut");
	str_addc(out, '\n');
}

static void man_table(struct str *out, const struct view_table *t, u64 without)
{
	str_addf(out, ".SS %s\n", t->name);
	for (size_t i = 0; i < t->n_cols; i++) {
		const struct column *c = (const void *)((const char *)t->cols + i * t->stride);

		if (i < 64 && without & 1ULL << i)
			continue;
		str_addf(out, ".TP\n\\fB%s\\fR\n", c->name);
		man_text(out, c->help);
		str_addc(out, '\n');
		if (c->unit == UNIT_CGROUP)
			man_container(out, c);
		if (c->type == CELL_STACK)
			man_stack(out, c);
	}
}

static void man_tables(struct str *out, const struct view_table *const *tables,
	u64 (*without)(const struct view_table *t))
{
	for (; tables && *tables; tables++)
		for (const struct view_table *t = *tables; t->name; t++)
			man_table(out, t, without ? without(t) : 0);
}

static void man_fields(struct str *out, const struct probe *p, const struct command *cmd)
{
	if (!(p && p->view) && !cmd->tables)
		return;
	str_add(out, ".SH FIELDS\nFields of the rows in JSON, JSONL and CSV, by table.\n");
	if (p && p->view)
		man_tables(out, p->view->tables, p->view->without);
	man_tables(out, cmd->tables, NULL);
}

static void man_head(struct str *out, const char *name, const char *summary)
{
	str_addf(out, ".TH MEMWHY%s%s 8 \"\" \"memwhy " MEMWHY_VERSION "\"\n", *name ? "\\-" : "",
		name);
	str_addf(out, ".SH NAME\nmemwhy%s%s \\- ", *name ? "\\-" : "", name);
	man_text(out, summary);
	str_add(out, "\n");
}

static void man_tail(struct str *out)
{
	str_add(out,
		".SH EXIT STATUS\n0 done; 1 a finding or a regression at or above \\-\\-fail\\-on; "
		"2 usage; 3 not permitted or not supported here; 4 the data is incomplete or "
		"damaged; 5 internal error; 130 interrupted, after the report; before anything was "
		"counted there is none, and a second signal ends it at once, without one, by that "
		"signal.\n.PP\n"
		"With \\-\\- CMD the status is the one of CMD once it has ended, as a shell says "
		"it: 128 "
		"and the signal that killed it, 126 or 127 where it cannot be run. memwhy's own "
		"come "
		"first: 1 where \\-\\-fail\\-on found something, 2 to 5 where memwhy failed, which "
		"it then says on standard error. The report has how CMD ended: in JSON as exit.\n");
}

void help_man(const struct command *cmd, struct str *out)
{
	const struct probe *p = probe_find(cmd->name);
	_cleanup_str_ struct str synopsis = {};

	help_synopsis(cmd, &synopsis);
	man_head(out, cmd->name, cmd->summary);
	str_add(out, ".SH SYNOPSIS\n\\fB");
	man_text(out, str_get(&synopsis));
	str_add(out, "\\fR\n.SH DESCRIPTION\n");
	man_paragraphs(out, cmd->details ? cmd->details : cmd->summary);
	man_examples(out, cmd->examples);
	man_output(out, p ? p->output : cmd->output);
	man_options(out, cmd);
	man_keys(out, p);
	man_looks(out, p);
	if (cmd->groups & GROUP_RECORD)
		man_recorded(out);
	man_fields(out, p, cmd);
	man_tail(out);
	str_add(out, ".SH SEE ALSO\n.BR memwhy (8)\n");
}

static const char output_text[] =
	"Files that --out and --record name are replaced only if they are recordings or reports "
	"of memwhy, or empty; --force replaces others. A symbolic link is never followed, "
	"neither is another user's to a directory on the way, and nothing is written through a "
	"file of another user or one with several names (hard "
	"links): --force puts a new file in its place. A run that fails before it writes anything "
	"leaves no new file. A report in csv or folded, or with -q, "
	"does not say what it is: the attribute user.memwhy of the file does.\n\n"
	"--out -, /dev/stdout and /dev/fd/N write to descriptors that memwhy was given, as they "
	"are. --out also takes a character device, such as /dev/null, and a named pipe of the "
	"same user; --input reads a named pipe. Both wait five seconds for the other end.\n\n"
	"json, jsonl, csv, folded and the lines of --like are for programs. Where they go to "
	"standard output, that of the command (-- CMD) is memwhy's standard error, so that the "
	"two do not mix; with --out FILE, and in text, it is untouched.\n\n"
	"In csv, a report of several tables is one: its first column is table, the others are "
	"those of all of them, and cells that a row's table does not have are empty. --table "
	"chooses one, which has no such column. With -i each row of csv and jsonl has when its "
	"interval was: interval_start and interval_end. Text that begins with one of = + - @ and ' "
	"has an apostrophe before it, so that no spreadsheet takes a name for a formula. Commands "
	"to copy (try, undo, verify, next) "
	"are in backticks in JSON and quoted for a POSIX shell in every format.";

void help_man_main(struct str *out)
{
	size_t n;
	const struct command *all = commands(&n);

	man_head(out, "", "answers: why is memory doing this?");
	str_add(out,
		".SH SYNOPSIS\n\\fBmemwhy\\fR \\fICOMMAND\\fR [options] [\\-\\- CMD ARGS...]\n");
	str_add(out, ".SH DESCRIPTION\n");
	man_paragraphs(out,
		"Pick a question; each is one command. Start with 'memwhy check': it looks at "
		"everything that is cheap to look at and says what is wrong, why, what to change, "
		"how to undo it and how to see whether it helped. memwhy changes nothing by "
		"itself.\n\n"
		"'memwhy doctor' shows what can be observed on this host and what is missing.");
	str_add(out, ".SH COMMANDS\n");
	for (size_t i = 0; i < n; i++) {
		if (!i || strcmp(all[i].section, all[i - 1].section) != 0)
			str_addf(out, ".SS %s\n", all[i].section);
		str_addf(out, ".TP\n.BR memwhy\\-%s (8)\n", all[i].name);
		man_text(out, all[i].summary);
		str_addc(out, '\n');
	}
	str_add(out, ".SH OUTPUT\n");
	man_paragraphs(out, output_text);
	man_tail(out);
}

static void completion_columns(struct str *out, const struct view_table *t)
{
	for (; t->name; t++)
		for (size_t i = 0; i < t->n_cols; i++)
			str_addf(out, "%s ",
				((const struct column *)((const char *)t->cols + i * t->stride))
					->name);
}

void completion_keys(struct str *out, const struct command *cmd)
{
	const struct probe *p = probe_find(cmd->name);

	for (const char *const *k = p && p->view ? p->view->by_keys : NULL; k && *k; k++)
		str_addf(out, "%s ", *k);
}

void completion_fields(struct str *out, const struct command *cmd)
{
	const struct probe *p = probe_find(cmd->name);

	for (const struct view_table *const *set = cmd->tables; set && *set; set++)
		completion_columns(out, *set);
	for (const struct view_table *const *set = p && p->view ? p->view->tables : NULL;
		set && *set; set++)
		completion_columns(out, *set);
}

void completion_tables(struct str *out, const struct command *cmd)
{
	const struct probe *p = probe_find(cmd->name);
	const struct view_table *const *sets[] = {
		cmd->tables, p && p->view ? p->view->tables : NULL};

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		for (const struct view_table *const *set = sets[i]; set && *set; set++)
			for (const struct view_table *t = *set; t->name; t++)
				str_addf(out, "%s ", t->name);
}

void completion_tools(struct str *out, const struct command *cmd)
{
	const struct probe *p = probe_find(cmd->name);

	for (const struct look *l = p && p->view ? p->view->looks : NULL; l && l->name; l++)
		str_addf(out, "%s ", l->name);
}

void completion_probes(struct str *out)
{
	for (size_t i = 0; i < probes_n; i++)
		if (!probes[i]->recorded_by)
			str_addf(out, "%s ", probes[i]->name);
}

/* Of "[list|show N]" the words to be written as they are. */
void completion_operands(struct str *out, const struct command *cmd)
{
	static const char small[] = "abcdefghijklmnopqrstuvwxyz";
	const char *p = cmd->operands ? cmd->operands : "";

	while (*(p += strcspn(p, small))) {
		size_t n = strspn(p, small);

		str_addf(out, "%.*s ", (int)n, p);
		p += n;
	}
}

/* One line of words for each command, so that the shell calls memwhy for events alone. */
static void completion_command(struct str *out, const struct command *cmd)
{
	str_addf(out, "\t%s) words=\"", cmd->name);
	for (const struct opt_set *set = options_of(cmd, NULL); set->opts; set++)
		for (size_t i = 0; i < set->n; i++)
			str_addf(out, "--%s ", set->opts[i].name);
	str_add(out, "\" keys=\"");
	completion_keys(out, cmd);
	str_add(out, "\" columns=\"");
	completion_fields(out, cmd);
	str_add(out, "\" tables=\"");
	completion_tables(out, cmd);
	str_add(out, "\" tools=\"");
	completion_tools(out, cmd);
	str_add(out, "\" operands=\"");
	completion_operands(out, cmd);
	str_add(out, "\" ;;\n");
}

/* What follows --by, --sort, --fields, --table, --like, --of, --probes and -g; of a list, its last
 * word. */
static const char completion_lists[] =
	"\tcase $prev in\n"
	"\t--by) list=$keys ;;\n"
	"\t--sort|--fields) list=$columns ;;\n"
	"\t--table) list=$tables ;;\n"
	"\t--like) list=$tools ;;\n"
	"\t--of) list=$commands ;;\n"
	"\t--probes) list=$probes ;;\n"
	"\t-g|--cgroup)\n"
	"\t\t[ -d $root/memory ] && root=$root/memory\n"
	"\t\tCOMPREPLY=($(compgen -W \"$(cd $root 2>/dev/null &&\n"
	"\t\t\tfind . -mindepth 1 -maxdepth 4 -type d -printf '/%P\\n' 2>/dev/null)\" -- "
	"\"$cur\"))\n"
	"\t\treturn ;;\n"
	"\tesac\n"
	"\tif [ -n \"$list\" ]; then\n"
	"\t\t[[ $cur == *,* ]] && head=${cur%,*},\n"
	"\t\tCOMPREPLY=($(compgen -P \"$head\" -W \"$list\" -- \"${cur##*,}\"))\n"
	"\t\treturn\n"
	"\tfi\n";

/* Events of count. bash, for which a colon ends a word, wants what follows the last one. */
static const char completion_events[] =
	"\tif [ \"${COMP_WORDS[1]}\" = count ]; then\n"
	"\t\ttyped=${COMP_LINE:0:COMP_POINT} typed=${typed##*[ \\'\\\"]}\n"
	"\t\t[[ $COMP_WORDBREAKS == *:* ]] && head=${typed%\"${typed##*:}\"}\n"
	"\t\t[[ $typed == *:* ]] || typed=\"$typed*:\"\n"
	"\t\tCOMPREPLY=($(\"${COMP_WORDS[0]}\" count --list \"$typed*\" 2>/dev/null |\n"
	"\t\t\tsed -n '2,$s/ .*//p'))\n"
	"\t\tCOMPREPLY=(\"${COMPREPLY[@]#\"$head\"}\")\n"
	"\t\treturn\n"
	"\tfi\n";

/* Does it take several words, with commas between them? */
bool completion_is_list(const struct opt *o)
{
	return o->arg && strchr(o->arg, ',');
}

static void completion_values(struct str *out)
{
	for (const struct opt_set *set = options_all(); set->opts; set++)
		for (size_t i = 0; i < set->n; i++) {
			const struct opt *o = &set->opts[i];

			if (!o->values || o->type == OPT_OPTIONAL)
				continue;
			if (o->letter)
				str_addf(out, "\t-%c|", o->letter);
			else
				str_add(out, "\t");
			str_addf(out,
				completion_is_list(o) ? "--%s) list=\"%s\" ;;\n"
						      : "--%s) COMPREPLY=($(compgen -W \"%s\" -- "
							"\"$cur\")); return ;;\n",
				o->name, o->values);
		}
}

void help_completion(struct str *out)
{
	size_t n;
	const struct command *all = commands(&n);

	str_add(out,
		"# bash completion for memwhy; made by 'memwhy help completion'\n"
		"_memwhy()\n{\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words\n"
		"\tlocal i list= head= keys= columns= tables= tools= operands= typed "
		"root=/sys/fs/cgroup\n"
		"\tlocal probes=\"");
	completion_probes(out);
	str_add(out, "\" commands=\"");
	for (size_t i = 0; i < n; i++)
		str_addf(out, "%s ", all[i].name);
	str_add(out, "\"\n\tCOMPREPLY=()\n"
		     "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
		     "\t\t[ \"${COMP_WORDS[i]}\" = -- ] && return\n\tdone\n"
		     "\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
		     "\t\tCOMPREPLY=($(compgen -W \"$commands --help --version\" -- \"$cur\"))\n"
		     "\t\treturn\n\tfi\n"
		     "\tif [ \"${COMP_WORDS[1]}\" = help ] && [[ $cur != -* ]]; then\n"
		     "\t\tCOMPREPLY=($(compgen -W \"$commands man completion fish");
	str_add(out, "\" -- \"$cur\"))\n\t\treturn\n\tfi\n\tcase $prev in\n");
	completion_values(out);
	str_add(out, "\tesac\n\tcase ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; i < n; i++)
		completion_command(out, &all[i]);
	str_addf(out, "\tesac\n%s", completion_lists);
	str_add(out, "\tif [[ $cur == -* ]]; then\n"
		     "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
		     "\t\treturn\n\tfi\n");
	str_add(out, completion_events);
	str_add(out, "\tCOMPREPLY=($(compgen -W \"$operands\" -- \"$cur\") "
		     "$(compgen -f -- \"$cur\"))\n}\n"
		     "complete -F _memwhy memwhy\n");
}
