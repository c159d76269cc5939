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
		"only this container or pod, by the first digits of its id, or systemd unit"),
	O("follow", 0, OPT_FLAG, follow, NULL, "also the children of -p, from now on"),
};

static const struct opt run[] = {
	O("for", 0, OPT_DURATION, for_ns, "TIME",
		"stop after this time (default: when CMD ends, or at Ctrl-C; check: 10s)"),
	O("interval", 'i', OPT_DURATION, interval_ns, "TIME",
		"report each interval of this length; rows of csv and jsonl say which it was"),
	O("user", 0, OPT_STRING, user, "NAME",
		"run CMD as this user (default: who called sudo; --user root: as root)"),
	OV("stacks", 0, OPT_OPTIONAL, stacks, "user|kernel|both", "by code path (default: both)",
		"user kernel both"),
	O("ring-size", 0, OPT_SIZE, ring_bytes, "SIZE", "buffer of single events (default: 4M)"),
	O("max-memory", 0, OPT_SIZE, max_bytes, "SIZE",
		"the most that the maps of all probes, and what is read for names, may take "
		"(default: maps as fit the machine, 256M for names); with --input, what the report "
		"on the recording may take (default: 1G)"),
	O("with-self", 0, OPT_FLAG, with_self, NULL,
		"memwhy too, and what it runs: left out otherwise"),
	O("no-lines", 0, OPT_FLAG, no_lines, NULL,
		"function names only: do not read debug information"),
	O("debuginfod", 0, OPT_OPTIONAL, debuginfod, "TIME",
		"also ask the servers of DEBUGINFOD_URLS for debug information, and wait for them "
		"at most so long in all (default: 30s)"),
};

static const struct opt files[] = {
	O("record", 0, OPT_STRING, record, "FILE", "also write a recording to FILE"),
	O("input", 0, OPT_STRING, input, "FILE", "report on a recording; needs no privilege"),
};

static const struct opt by[] = {
	O("by", 0, OPT_STRING, by, "KEY[,KEY]", "count by these keys"),
};

static const struct opt each[] = {
	O("each", 0, OPT_FLAG, each, NULL, "one line an event, as it happens"),
};

static const struct opt least[] = {
	O("min", 0, OPT_DURATION, min_ns, "TIME", "with --each: only events that took this long"),
};

static const struct opt look[] = {
	O("like", 0, OPT_STRING, like, "TOOL", "print the lines of an older tool, for its scripts"),
};

static const struct opt attach[] = {
	O("pid", 'p', OPT_STRING, pids, "PID[,PID]",
		"these processes, which run already; with --input: only these"),
};

/* A table each: a probe may have a --to of its own. */
static const struct opt from[] = {
	O("from", 0, OPT_DURATION, from_ns, "TIME",
		"with --input: only what was recorded later than TIME after memwhy began"),
};

static const struct opt to[] = {
	O("to", 0, OPT_DURATION, to_ns, "TIME", "with --input: only what was recorded before TIME"),
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
		"speedscope, perfetto or sqlite; of all but "
		"the first two stdout has nothing else: what CMD prints goes to stderr, unless "
		"--out has the report",
		"text wide json jsonl csv folded html pprof speedscope perfetto sqlite"),
	O("fields", 0, OPT_STRING, fields, "A,B", "only these columns, in this order"),
	O("sort", 0, OPT_STRING, sort, "FIELD", "largest first by this column (-FIELD: smallest)"),
	O("limit", 0, OPT_COUNT, limit, "N",
		"at most N rows of each table; 0: all (default: 20 in text; of rows with a stack "
		"those "
		"with a hundredth of what the first one has, and at least 5)"),
	O("table", 0, OPT_STRING, table, "NAME", "only this table"),
	O("out", 0, OPT_STRING, out, "FILE",
		"write the report to FILE (-: stdout; /dev/fd/N, a device and a named pipe will "
		"do)"),
};

/* Of commands that read recordings only. */
static const struct opt part[] = {
	O("pid", 'p', OPT_STRING, pids, "PID[,PID]", "only these processes or threads"),
	O("comm", 'c', OPT_STRING, comm, "COMM", "only processes of this name"),
	O("cgroup", 'g', OPT_STRING, cgroup, "CGROUP", "only this cgroup and those below it"),
	O("container", 'C', OPT_STRING, container, "ID",
		"only this container, pod or systemd unit"),
	O("from", 0, OPT_DURATION, from_ns, "TIME",
		"only what was recorded later than TIME after memwhy began"),
	O("until", 0, OPT_DURATION, to_ns, "TIME", "only what was recorded before TIME"),
};

static const struct opt anonymize[] = {
	O("anonymize", 0, OPT_FLAG, anonymize, NULL,
		"with words in place of names: of programs, paths, control groups, and functions "
		"of other modules than well-known libraries"),
};

static const struct opt page[] = {
	O("out", 0, OPT_STRING, out, "FILE", "write the page to FILE (-: stdout)"),
	O("limit", 0, OPT_COUNT, limit, "N",
		"at most N rows of each table; 0: all (default: 20000)"),
	O("of", 0, OPT_STRING, of, "COMMAND",
		"of two recordings: compare the tables of this command (default: of all that both "
		"have)"),
	O("max-memory", 0, OPT_SIZE, max_bytes, "SIZE",
		"the most that reading a recording may take (default: 1G)"),
};

static const struct opt written[] = {
	O("force", 0, OPT_FLAG, force, NULL,
		"let --out and --record replace whatever FILE is now (default: only recordings "
		"and reports of memwhy); a link is replaced, never followed"),
};

static const struct opt check[] = {
	OV("fail-on", 0, OPT_STRING, fail_on, "LEVEL",
		"exit 1 if there is a finding of this level or above: note, risk, warning or "
		"critical",
		"note risk warning critical"),
};

static const struct opt record[] = {
	O("probes", 0, OPT_STRING, probes, "A,B",
		"only these probes (default: all but those that run only when named, see below)"),
};

static const struct opt diff[] = {
	O("of", 0, OPT_STRING, of, "COMMAND",
		"what to compare: the tables of this command (default: of the one that recorded)"),
	O("by", 0, OPT_STRING, by, "KEY[,KEY]",
		"by these keys of it (default: by stack, where both have stacks)"),
	O("rate", 0, OPT_FLAG, rate, NULL,
		"counts per second of their recording; amounts at one time are left out"),
	O("min", 0, OPT_STRING, least, "CHANGE",
		"only rows that changed by this: 100, 1M, 10ms, or 5% of the total before"),
	O("fail-on", 0, OPT_STRING, fail_on, "CHANGE",
		"exit with 1 if the total or a row rose by this, as for --min, and beyond noise "
		"where there are several recordings a side"),
	O("max-memory", 0, OPT_SIZE, max_bytes, "SIZE",
		"the most that reading and comparing the recordings may take (default: 1G)"),
};

static const struct opt serve[] = {
	O("config", 0, OPT_STRING, config, "FILE",
		"read settings from FILE: a line an option, named as here without the dashes; the "
		"command line wins (default: none)"),
	O("listen", 0, OPT_STRING, listen, "ADDRESS",
		"where to serve: an address and a port, or unix:PATH (default: 127.0.0.1:9669)"),
	O("auth", 0, OPT_STRING, auth, "FILE",
		"ask for a user and a password: a line USER:PASSWORD each in FILE, which only its "
		"owner may read"),
	O("allow-profiles", 0, OPT_FLAG, profiles, NULL,
		"serve profiles of processes at /debug/pprof: whoever may ask can have them looked "
		"into (default: no)"),
	O("push", 0, OPT_STRING, push, "URL",
		"push profiles of page faults and stalls of each interval to a Pyroscope: "
		"http://HOST:4040 (default: none)"),
	O("push-labels", 0, OPT_STRING, push_labels, "A=B[,C=D]",
		"labels of these profiles, beside hostname"),
	O("push-headers", 0, OPT_STRING, push_headers, "FILE",
		"headers of these requests, a line each, as 'Authorization: Bearer TOKEN', in "
		"FILE, "
		"which only its owner may read"),
	O("max-series", 0, OPT_COUNT, max_series, "N",
		"the most series of metrics: groups beyond that are summed up as \"other\" "
		"(default: 2000)"),
	O("interval", 'i', OPT_DURATION, interval_ns, "TIME",
		"look for findings each such time (default: 10s)"),
	O("keep", 0, OPT_DURATION, keep_ns, "TIME",
		"how much of the past an incident's recording has (default: 10m)"),
	O("keep-bytes", 0, OPT_SIZE, keep_bytes, "SIZE",
		"memory for that past, compressed; if it does not fit, less is kept (default: 4M)"),
	OV("on", 0, OPT_STRING, on_level, "LEVEL",
		"record an incident at a finding of this level or above: note, risk, warning, "
		"critical or never (default: critical)",
		"note risk warning critical never"),
	O("on-stall", 0, OPT_DURATION, on_stall_ns, "TIME",
		"... when a task waited this long for memory (default: 5s)"),
	O("on-pressure", 0, OPT_STRING, on_pressure, "PERCENT",
		"... when tasks waited for memory this share of ten seconds (PSI; default: 60)"),
	O("on-limit", 0, OPT_FLAG, on_limit, NULL, "... when a cgroup was at its memory limit"),
	O("for", 0, OPT_DURATION, for_ns, "TIME", "end after this time (default: at a signal)"),
};

static const struct opt top[] = {
	O("delay", 'd', OPT_DURATION, interval_ns, "TIME",
		"the same as --interval: time between two screens (default: 1s)"),
};

static const struct opt incidents[] = {
	O("incidents", 0, OPT_STRING, incidents, "DIR",
		"directory of the recordings of incidents (default: /var/lib/memwhy/incidents)"),
};

static const struct opt rotation[] = {
	O("no-incidents", 0, OPT_FLAG, no_incidents, NULL, "record no incidents"),
	O("max-incidents", 0, OPT_COUNT, max_incidents, "N",
		"keep the last N incidents (default: 50)"),
	O("max-incident-bytes", 0, OPT_SIZE, max_incident_bytes, "SIZE",
		"disk space for all of them (default: 512M)"),
	O("min-free", 0, OPT_SIZE, min_free_bytes, "SIZE",
		"record none that would leave the disk with less (default: 256M)"),
};

static const struct opt export[] = {
	OV("to", 0, OPT_STRING, to, "FORMAT",
		"pprof, perfetto, speedscope, sqlite or folded: see docs/open-in.md",
		"pprof perfetto speedscope sqlite folded"),
	O("of", 0, OPT_STRING, of, "COMMAND",
		"the tables of this command (default: of the one that recorded)"),
	O("by", 0, OPT_STRING, by, "KEY[,KEY]",
		"by these keys of it (default: by process and stack, and what it has)"),
	O("fields", 0, OPT_STRING, fields, "A,B", "only these numbers, in this order"),
	O("table", 0, OPT_STRING, table, "NAME", "of this table (default: the first with stacks)"),
	O("limit", 0, OPT_COUNT, limit, "N", "at most N stacks; 0: all (the default)"),
	O("max-memory", 0, OPT_SIZE, max_bytes, "SIZE",
		"the most that reading the recording may take (default: 1G)"),
	O("out", 0, OPT_STRING, out, "FILE",
		"write to FILE (-: stdout; /dev/fd/N, a device and a named pipe will do)"),
};

static const struct opt always[] = {
	O("quiet", 'q', OPT_FLAG, quiet, NULL, "only what was asked for: rows and findings"),
	O("verbose", 'v', OPT_FLAG, verbose, NULL, "more detail: addresses, methods"),
	O("help", 'h', OPT_FLAG, help, NULL, "this text"),
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

static void group_add(struct set_list *l, const struct opt_group *g, void *dst)
{
	if (l->n + 1 >= ARRAY_SIZE(l->sets))
		return;
	l->headings[l->n] = g->heading;
	l->sets[l->n++] = (struct opt_set){g->opts, g->n, dst};
}

static void own_add(struct set_list *l, const struct opt_group *g, void *dst)
{
	for (; g && g->opts; g++)
		group_add(l, g, dst);
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
			group_add(&chosen, &groups[i].group, NULL);
	return chosen.sets;
}

const struct opt_set *options_all(void)
{
	static struct set_list all;

	if (all.n)
		return all.sets;
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (groups[i].bit != GROUP_OWN)
			group_add(&all, &groups[i].group, NULL);
	for (size_t i = 0; i < probes_n; i++)
		probe_add(&all, probes[i], NULL);
	return all.sets;
}

const char *options_heading(const struct opt_set *set)
{
	size_t i = (size_t)(set - chosen.sets);

	return i && !strcmp(chosen.headings[i], chosen.headings[i - 1]) ? NULL : chosen.headings[i];
}
