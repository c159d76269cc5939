/* See options.h. */
#include "cmd/options.h"

#include <stdint.h>
#include <string.h>

#include "cmd/command.h"
#include "probes/probe.h"

#define O(name_, letter_, type_, member_, arg_, help_) \
	OPT(struct options, name_, letter_, type_, member_, arg_, help_, NULL)
#define OV(name_, letter_, type_, member_, arg_, help_, values_) \
	OPT(struct options, name_, letter_, type_, member_, arg_, help_, values_)

static const struct opt scope[] = {
	O("pid", 'p', OPT_STRING, pids, "PID[,PID]", "only these processes or threads"),
	O("comm", 'c', OPT_STRING, comm, "COMM", "only tasks of this name"),
	O("cgroup", 'g', OPT_STRING, cgroup, "CGROUP", "only tasks in this cgroup or below it"),
	O("container", 'C', OPT_STRING, container, "ID",
		"only this container or pod (the first digits of its id are enough) or systemd "
		"unit"),
	O("follow", 0, OPT_FLAG, follow, NULL,
		"also the children that the processes of -p start from now on"),
};

static const struct opt run[] = {
	O("for", 0, OPT_DURATION, for_ns, "TIME",
		"stop after this time (default: when CMD ends or at Ctrl-C; check: 10s)"),
	O("interval", 'i', OPT_DURATION, interval_ns, "TIME",
		"report once every TIME; each csv and jsonl row carries its interval"),
	O("user", 0, OPT_STRING, user, "NAME",
		"run CMD as this user (default: whoever called sudo; --user root keeps root)"),
	OV("stacks", 0, OPT_OPTIONAL, stacks, "user|kernel|both",
		"group by code path (default: both)", "user kernel both"),
	O("ring-size", 0, OPT_SIZE, ring_bytes, "SIZE",
		"size of the buffer for single events (default: 4M)"),
	O("max-memory", 0, OPT_SIZE, max_bytes, "SIZE",
		"upper bound for the BPF maps of all probes and for symbol data (default: maps "
		"sized to the machine, 256M for symbols); with --input, for reading the recording "
		"(default: 1G)"),
	O("with-self", 0, OPT_FLAG, with_self, NULL,
		"include memwhy itself and its helpers, which are left out otherwise"),
	O("no-lines", 0, OPT_FLAG, no_lines, NULL,
		"function names only: do not read debug information for source lines"),
	O("debuginfod", 0, OPT_OPTIONAL, debuginfod, "TIME",
		"also fetch debug information from the servers in DEBUGINFOD_URLS, waiting at most "
		"TIME in total (default: 30s)"),
};

static const struct opt files[] = {
	O("record", 0, OPT_STRING, record, "FILE", "also write a recording to FILE"),
	O("input", 0, OPT_STRING, input, "FILE",
		"report on a recording instead of the live system; needs no privileges"),
};

static const struct opt by[] = {
	O("by", 0, OPT_STRING, by, "KEY[,KEY]", "group by these keys"),
};

static const struct opt each[] = {
	O("each", 0, OPT_FLAG, each, NULL, "print one line per event as it happens"),
};

static const struct opt least[] = {
	O("min", 0, OPT_DURATION, min_ns, "TIME",
		"with --each: only events that took at least this long"),
};

static const struct opt look[] = {
	O("like", 0, OPT_STRING, like, "TOOL",
		"print lines in the format of an older tool, for scripts that parse them"),
};

static const struct opt attach[] = {
	O("pid", 'p', OPT_STRING, pids, "PID[,PID]",
		"attach to these running processes; with --input: only these"),
};

/* A table each: a probe may have a --to of its own. */
static const struct opt from[] = {
	O("from", 0, OPT_DURATION, from_ns, "TIME",
		"with --input: skip the first TIME of the recording"),
};

static const struct opt to[] = {
	O("to", 0, OPT_DURATION, to_ns, "TIME",
		"with --input: stop TIME after the start of the recording"),
};

/* Of commands that take only -p live. */
static const struct opt narrow[] = {
	O("comm", 'c', OPT_STRING, comm, "COMM", "with --input: only processes of this name"),
	O("cgroup", 'g', OPT_STRING, cgroup, "CGROUP",
		"with --input: only this cgroup and those below it"),
	O("container", 'C', OPT_STRING, container, "ID",
		"with --input: only this container, pod or systemd unit"),
};

static const struct opt output[] = {
	OV("output", 'o', OPT_STRING, format, "FORMAT",
		"text, wide, json, jsonl, csv, folded, html (a page for a browser), pprof, "
		"speedscope, perfetto or sqlite; with any but text and wide, CMD's own output goes "
		"to stderr so that stdout holds only the report, unless --out is given",
		"text wide json jsonl csv folded html pprof speedscope perfetto sqlite"),
	O("fields", 0, OPT_STRING, fields, "A,B", "only these columns, in this order"),
	O("sort", 0, OPT_STRING, sort, "FIELD",
		"sort by this column, largest first (-FIELD: smallest first)"),
	O("limit", 0, OPT_COUNT, limit, "N",
		"at most N rows per table; 0: all (default: 20 in text; of rows with stacks, at "
		"least 5 and then those with 1 % or more of the first one)"),
	O("table", 0, OPT_STRING, table, "NAME", "show only this table"),
	O("out", 0, OPT_STRING, out, "FILE",
		"write the report to FILE (-: stdout; /dev/fd/N, devices and named pipes work "
		"too)"),
};

/* Of commands that read recordings only. */
static const struct opt part[] = {
	O("pid", 'p', OPT_STRING, pids, "PID[,PID]", "only these processes or threads"),
	O("comm", 'c', OPT_STRING, comm, "COMM", "only processes of this name"),
	O("cgroup", 'g', OPT_STRING, cgroup, "CGROUP", "only this cgroup and those below it"),
	O("container", 'C', OPT_STRING, container, "ID",
		"only this container, pod or systemd unit"),
	O("from", 0, OPT_DURATION, from_ns, "TIME", "skip the first TIME of the recording"),
	O("until", 0, OPT_DURATION, to_ns, "TIME", "stop TIME after the start of the recording"),
};

static const struct opt anonymize[] = {
	O("anonymize", 0, OPT_FLAG, anonymize, NULL,
		"replace the names of programs, paths, control groups, and functions outside "
		"well-known libraries"),
};

static const struct opt page[] = {
	O("out", 0, OPT_STRING, out, "FILE", "write the page to FILE (-: stdout)"),
	O("limit", 0, OPT_COUNT, limit, "N", "at most N rows per table; 0: all (default: 20000)"),
	O("of", 0, OPT_STRING, of, "COMMAND",
		"with two recordings: compare the tables of this command (default: every command "
		"that both have)"),
	O("max-memory", 0, OPT_SIZE, max_bytes, "SIZE",
		"upper bound for the memory that reading takes (default: 1G)"),
};

static const struct opt written[] = {
	O("force", 0, OPT_FLAG, force, NULL,
		"let --out and --record replace any existing FILE (default: only recordings and "
		"reports that memwhy wrote); links are replaced, never followed"),
};

static const struct opt check[] = {
	OV("fail-on", 0, OPT_STRING, fail_on, "LEVEL",
		"exit with 1 if there is a finding at this level or above: note, risk, warning or "
		"critical",
		"note risk warning critical"),
};

static const struct opt record[] = {
	O("probes", 0, OPT_STRING, probes, "A,B",
		"only these probes (default: all except those that must be named, see below)"),
};

static const struct opt diff[] = {
	O("of", 0, OPT_STRING, of, "COMMAND",
		"compare the tables of this command (default: the command that recorded)"),
	O("by", 0, OPT_STRING, by, "KEY[,KEY]",
		"group by these keys of that command (default: by stack if both have stacks)"),
	O("rate", 0, OPT_FLAG, rate, NULL,
		"compare rates per second; values that are not counts over time are left out"),
	O("min", 0, OPT_STRING, least, "CHANGE",
		"only rows that changed by at least this: 100, 1M, 10ms, or 5% of the total "
		"before"),
	O("fail-on", 0, OPT_STRING, fail_on, "CHANGE",
		"exit with 1 if the total or any row rose by at least this (as for --min) and, "
		"with several recordings per side, by more than the noise"),
	O("max-memory", 0, OPT_SIZE, max_bytes, "SIZE",
		"upper bound for the memory that reading and comparing take (default: 1G)"),
};

static const struct opt serve[] = {
	O("config", 0, OPT_STRING, config, "FILE",
		"read settings from FILE, one option per line, named as here without the dashes; "
		"the command line wins (default: none)"),
	O("listen", 0, OPT_STRING, listen, "ADDRESS",
		"where to serve: an address and a port, or unix:PATH (default: 127.0.0.1:9669)"),
	O("auth", 0, OPT_STRING, auth, "FILE",
		"require a user and password: FILE has one USER:PASSWORD per line and must be "
		"readable by its owner only"),
	O("allow-profiles", 0, OPT_FLAG, profiles, NULL,
		"serve profiles of processes at /debug/pprof: whoever can reach it can profile any "
		"process (default: no)"),
	O("push", 0, OPT_STRING, push, "URL",
		"push profiles of page faults and stalls to a Pyroscope server after each "
		"interval: http://HOST:4040 (default: none)"),
	O("push-labels", 0, OPT_STRING, push_labels, "A=B[,C=D]",
		"labels of these profiles, in addition to hostname"),
	O("push-headers", 0, OPT_STRING, push_headers, "FILE",
		"FILE with headers for these requests, one per line, such as 'Authorization: "
		"Bearer TOKEN'; must be readable by its owner only"),
	O("max-series", 0, OPT_COUNT, max_series, "N",
		"upper bound for the number of series: groups beyond it are summed up as \"other\" "
		"(default: 2000)"),
	O("interval", 'i', OPT_DURATION, interval_ns, "TIME",
		"look for findings once every TIME (default: 10s)"),
	O("keep", 0, OPT_DURATION, keep_ns, "TIME",
		"how far back an incident's recording reaches (default: 10m)"),
	O("keep-bytes", 0, OPT_SIZE, keep_bytes, "SIZE",
		"memory for that history, compressed; what does not fit is dropped, oldest first "
		"(default: 4M)"),
	OV("on", 0, OPT_STRING, on_level, "LEVEL",
		"record an incident on a finding at this level or above: note, risk, warning, "
		"critical or never (default: critical)",
		"note risk warning critical never"),
	O("on-stall", 0, OPT_DURATION, on_stall_ns, "TIME",
		"... when a task waited this long for memory (default: 5s)"),
	O("on-pressure", 0, OPT_STRING, on_pressure, "PERCENT",
		"... when tasks waited for memory for this share of ten seconds (PSI; default: "
		"60)"),
	O("on-limit", 0, OPT_FLAG, on_limit, NULL, "... when a cgroup reached its memory limit"),
	O("for", 0, OPT_DURATION, for_ns, "TIME", "stop after this time (default: on a signal)"),
};

static const struct opt top[] = {
	O("delay", 'd', OPT_DURATION, interval_ns, "TIME",
		"same as --interval: time between two screens (default: 1s)"),
};

static const struct opt incidents[] = {
	O("incidents", 0, OPT_STRING, incidents, "DIR",
		"directory for incident recordings (default: /var/lib/memwhy/incidents)"),
};

static const struct opt rotation[] = {
	O("no-incidents", 0, OPT_FLAG, no_incidents, NULL, "record no incidents"),
	O("max-incidents", 0, OPT_COUNT, max_incidents, "N",
		"keep the last N incidents (default: 50)"),
	O("max-incident-bytes", 0, OPT_SIZE, max_incident_bytes, "SIZE",
		"disk space for all incidents (default: 512M)"),
	O("min-free", 0, OPT_SIZE, min_free_bytes, "SIZE",
		"record no incident that would leave less free disk space than this (default: "
		"256M)"),
};

static const struct opt export[] = {
	OV("to", 0, OPT_STRING, to, "FORMAT",
		"pprof, perfetto, speedscope, sqlite or folded: see docs/open-in.md",
		"pprof perfetto speedscope sqlite folded"),
	O("of", 0, OPT_STRING, of, "COMMAND",
		"the tables of this command (default: the command that recorded)"),
	O("by", 0, OPT_STRING, by, "KEY[,KEY]",
		"group by these keys of that command (default: process, stack and what else it "
		"has)"),
	O("fields", 0, OPT_STRING, fields, "A,B", "only these numbers, in this order"),
	O("table", 0, OPT_STRING, table, "NAME",
		"from this table (default: the first with stacks)"),
	O("limit", 0, OPT_COUNT, limit, "N", "at most N stacks; 0: all (the default)"),
	O("max-memory", 0, OPT_SIZE, max_bytes, "SIZE",
		"upper bound for the memory that reading takes (default: 1G)"),
	O("out", 0, OPT_STRING, out, "FILE",
		"write to FILE (-: stdout; /dev/fd/N, devices and named pipes work too)"),
};

static const struct opt always[] = {
	O("quiet", 'q', OPT_FLAG, quiet, NULL, "print only rows and findings"),
	O("verbose", 'v', OPT_FLAG, verbose, NULL, "more detail: addresses, methods"),
	O("help", 'h', OPT_FLAG, help, NULL, "show this help"),
};

const struct options options_default = {
	.format = "text",
	.limit = UINT64_MAX, /* not given: as the format likes it */
	.ring_bytes = 4UL << 20,
	.max_bytes = UINT64_MAX,
};

static const struct group {
	u32 bit; /* 0: of every command */
	struct opt_group group;
} groups[] = {
	{GROUP_ATTACH, {"Whose memory", attach, ARRAY_SIZE(attach)}},
	{GROUP_OWN, {}},
	{GROUP_PART, {"A part of a recording", from, ARRAY_SIZE(from)}},
	{GROUP_PART, {"A part of a recording", to, ARRAY_SIZE(to)}},
	{GROUP_ATTACH, {"A part of a recording", narrow, ARRAY_SIZE(narrow)}},
	{GROUP_CHECK, {"Check", check, ARRAY_SIZE(check)}},
	{GROUP_BY, {"What to show", by, ARRAY_SIZE(by)}},
	{GROUP_EACH, {"What to show", each, ARRAY_SIZE(each)}},
	{GROUP_MIN, {"What to show", least, ARRAY_SIZE(least)}},
	{GROUP_LIKE, {"What to show", look, ARRAY_SIZE(look)}},
	{GROUP_DIFF, {"What to compare", diff, ARRAY_SIZE(diff)}},
	{GROUP_EXPORT, {"What to export", export, ARRAY_SIZE(export)}},
	{GROUP_EXPORT | GROUP_PAGE, {"A part of a recording", part, ARRAY_SIZE(part)}},
	{GROUP_RECORD, {"What to record", record, ARRAY_SIZE(record)}},
	{GROUP_SERVE, {"Service", serve, ARRAY_SIZE(serve)}},
	{GROUP_TOP, {"Screen", top, ARRAY_SIZE(top)}},
	{GROUP_SERVE | GROUP_INCIDENTS, {"Incidents", incidents, ARRAY_SIZE(incidents)}},
	{GROUP_SERVE, {"Incidents", rotation, ARRAY_SIZE(rotation)}},
	{GROUP_SCOPE, {"Scope", scope, ARRAY_SIZE(scope)}},
	{GROUP_RUN, {"Run", run, ARRAY_SIZE(run)}},
	{GROUP_FILES, {"Recordings", files, ARRAY_SIZE(files)}},
	{GROUP_OUTPUT, {"Output", output, ARRAY_SIZE(output)}},
	{GROUP_PAGE, {"Output", page, ARRAY_SIZE(page)}},
	{GROUP_PAGE | GROUP_EXPORT | GROUP_FILES, {"Output", anonymize, ARRAY_SIZE(anonymize)}},
	{GROUP_OUTPUT | GROUP_RECORD | GROUP_PAGE | GROUP_EXPORT,
		{"Output", written, ARRAY_SIZE(written)}},
	{0, {"Other", always, ARRAY_SIZE(always)}},
};

#define OWN_GROUPS 32 /* of all probes */

struct set_list {
	struct opt_set sets[ARRAY_SIZE(groups) + OWN_GROUPS + 1];
	const char *headings[ARRAY_SIZE(groups) + OWN_GROUPS + 1];
	size_t n;
};

static void cmd_options_group_add(struct set_list *l, const struct opt_group *g, void *dst)
{
	if (l->n + 1 >= ARRAY_SIZE(l->sets))
		return;
	l->headings[l->n] = g->heading;
	l->sets[l->n++] = (struct opt_set){g->opts, g->n, dst};
}

static void own_add(struct set_list *l, const struct opt_group *g, void *dst)
{
	for (; g && g->opts; g++)
		cmd_options_group_add(l, g, dst);
}

/* What the command of a probe has beside the options of every command. */
static void probe_add(struct set_list *l, const struct probe *p, void *const *own)
{
	const struct probe *over = p && p->over ? probe_find(p->over) : NULL;

	if (over && over->options)
		own_add(l, over->options->lent, own ? own[probe_index(over)] : NULL);
	if (!p || !p->options)
		return;
	own_add(l, p->options->lent, own ? own[probe_index(p)] : NULL);
	own_add(l, p->options->groups, own ? own[probe_index(p)] : NULL);
}

static bool group_has(const struct opt_group *list, const char *name)
{
	for (; list && list->opts; list++)
		for (size_t i = 0; i < list->n; i++)
			if (!strcmp(list->opts[i].name, name))
				return true;
	return false;
}

/* A probe's own option stands for the shared one of that name. */
static bool is_replaced(const struct opt_group *g, const struct probe *p)
{
	return p && p->options && group_has(p->options->groups, g->opts[0].name);
}

static struct set_list chosen;

const struct opt_set *options_of(const struct command *cmd, void *const *own)
{
	chosen = (struct set_list){};
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (groups[i].bit == GROUP_OWN)
			probe_add(&chosen, cmd->probe, own);
		else if ((!groups[i].bit || groups[i].bit & cmd->groups) &&
			 !is_replaced(&groups[i].group, cmd->probe))
			cmd_options_group_add(&chosen, &groups[i].group, NULL);
	return chosen.sets;
}

const struct opt_set *options_all(void)
{
	static struct set_list all;

	if (all.n)
		return all.sets;
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (groups[i].bit != GROUP_OWN)
			cmd_options_group_add(&all, &groups[i].group, NULL);
	for (size_t i = 0; i < probes_n; i++)
		probe_add(&all, probes[i], NULL);
	return all.sets;
}

const char *options_heading(const struct opt_set *set)
{
	size_t i = (size_t)(set - chosen.sets);

	return i && !strcmp(chosen.headings[i], chosen.headings[i - 1]) ? NULL : chosen.headings[i];
}
