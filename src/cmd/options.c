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

static const struct opt source[] = {
	O("sample", 0, OPT_SIZE, sample_bytes, "BYTES",
		"one allocation in so many bytes, for estimates at less cost (default: all)"),
	O("no-wait", 0, OPT_FLAG, no_wait, NULL,
		"of -- CMD: lose events and count them rather than let the command wait"),
	O("events", 0, OPT_FLAG, events, NULL,
		"with --record, of -- CMD: also record each allocation and free, so that any part "
		"of the run can be looked at (heap --input FILE --from TIME --to TIME)"),
	O("allocator", 0, OPT_STRING, allocator, "NAME",
		"with -p: the file that has malloc: jemalloc, tcmalloc, mimalloc, or a path "
		"(default: found by itself)"),
};

static const struct opt faults[] = {
	O("faults", 0, OPT_FLAG, faults, NULL,
		"of -- CMD: also page faults and resident memory, by who asked for it"),
};

static const struct opt filter[] = {
	O("filter", 0, OPT_STRING, filter, "EXPR",
		"only events like this: 'order >= 3 && comm == dd'"),
	O("hist", 0, OPT_STRING, hist, "FIELD", "histogram of this field of the events"),
	O("sum", 0, OPT_STRING, sum, "FIELD", "sum, mean, least and most of this field"),
	O("list", 0, OPT_FLAG, list, NULL,
		"count nothing: print the events that EVENT stands for, and their fields"),
};

static const struct opt part[] = {
	O("from", 0, OPT_DURATION, from_ns, "TIME",
		"with --input: only what was recorded later than TIME after memwhy began; heap: "
		"blocks allocated later (of a recording with --events)"),
	O("to", 0, OPT_DURATION, to_ns, "TIME",
		"with --input: only what was recorded before TIME; heap: how things stood then"),
};

static const struct opt from[] = {
	O("from", 0, OPT_DURATION, from_ns, "TIME",
		"with --input: only what was recorded later than TIME after memwhy began"),
};

/* Of commands that take only -p live. */
static const struct opt narrow[] = {
	O("comm", 'c', OPT_STRING, comm, "COMM", "with --input: only processes of this name"),
	O("cgroup", 'g', OPT_STRING, cgroup, "CGROUP",
		"with --input: only this cgroup and those below it"),
	O("container", 'C', OPT_STRING, container, "ID",
		"with --input: only this container, pod or systemd unit"),
};

static const struct opt leak[] = {
	O("kernel", 0, OPT_FLAG, kernel, NULL, "what the kernel allocates for itself"),
};

static const struct opt numa[] = {
	O("source", 0, OPT_STRING, source, "NAME,NAME",
		"where accesses are seen: hardware, hint (faults of automatic NUMA balancing), "
		"first-touch (page faults); the first that works (default: in this order)"),
	O("balancing", 0, OPT_FLAG, balancing, NULL,
		"turn automatic NUMA balancing on meanwhile: it moves pages"),
	O("scan", 0, OPT_DURATION, scan_ns, "TIME",
		"have automatic NUMA balancing look at memory each TIME, for more samples at "
		"more cost; put back at the end"),
	O("no-heap", 0, OPT_FLAG, no_heap, NULL,
		"of a command: do not follow its heap, block by block, with the preload library"),
	O("all-blocks", 0, OPT_FLAG, all_blocks, NULL,
		"of a command: tell heap blocks of every size apart, not only those of 4096 bytes "
		"and more: costs each malloc and free more"),
	O("heap", 0, OPT_FLAG, heap, NULL,
		"with -p: follow the heap, block by block, with probes at the allocator: a malloc "
		"and a free cost the process some 2 us more"),
	O("to", 0, OPT_STRING, to, "NODES",
		"numa try: where to move the object's pages; several nodes: page by page in turn. "
		"With --input a time: only what was recorded before it"),
	O("interleave", 0, OPT_FLAG, interleave, NULL, "numa try: to all nodes in turn"),
	O("undo", 0, OPT_FLAG, undo, NULL, "numa try: move them back"),
	O("yes", 0, OPT_FLAG, yes, NULL, "numa try: do not ask"),
	O("topology", 0, OPT_STRING, topology, "FILE",
		"nodes and CPUs of the machine of a recording, a line a node: node 0 cpus 0-7 "
		"bytes 16G distances 10,21"),
	O("thread", 0, OPT_STRING, thread, "TID", "numa flow: what this thread touched"),
	O("object", 0, OPT_STRING, object, "OBJECT",
		"numa flow: who touched this object: its number, or part of its name"),
};

static const struct opt output[] = {
	OV("output", 'o', OPT_STRING, format, "FORMAT",
		"text, wide, json, jsonl, csv or folded; of all but the first two stdout has "
		"nothing else: what CMD prints goes to stderr, unless --out has the report",
		"text wide json jsonl csv folded"),
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
	O("max-series", 0, OPT_COUNT, max_series, "N",
		"the most series of metrics: groups beyond that are summed up as \"other\" "
		"(default: 2000)"),
	O("interval", 'i', OPT_DURATION, interval_ns, "TIME",
		"look for findings each such time (default: 10s)"),
	O("for", 0, OPT_DURATION, for_ns, "TIME", "end after this time (default: at a signal)"),
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
	{GROUP_SOURCE, {"How to look", source, ARRAY_SIZE(source)}},
	{GROUP_OWN, {}},
	{GROUP_PART, {"A part of a recording", part, ARRAY_SIZE(part)}},
	{GROUP_FROM, {"A part of a recording", from, ARRAY_SIZE(from)}},
	{GROUP_NARROW, {"A part of a recording", narrow, ARRAY_SIZE(narrow)}},
	{GROUP_FAULTS, {"Resident memory", faults, ARRAY_SIZE(faults)}},
	{GROUP_LEAK, {"Whose memory", leak, ARRAY_SIZE(leak)}},
	{GROUP_CHECK, {"Check", check, ARRAY_SIZE(check)}},
	{GROUP_BY, {"What to show", by, ARRAY_SIZE(by)}},
	{GROUP_EACH, {"What to show", each, ARRAY_SIZE(each)}},
	{GROUP_MIN, {"What to show", least, ARRAY_SIZE(least)}},
	{GROUP_LIKE, {"What to show", look, ARRAY_SIZE(look)}},
	{GROUP_FILTER, {"Fields of events", filter, ARRAY_SIZE(filter)}},
	{GROUP_NUMA, {"Accesses", numa, ARRAY_SIZE(numa)}},
	{GROUP_DIFF, {"What to compare", diff, ARRAY_SIZE(diff)}},
	{GROUP_RECORD, {"What to record", record, ARRAY_SIZE(record)}},
	{GROUP_SERVE, {"Service", serve, ARRAY_SIZE(serve)}},
	{GROUP_SCOPE, {"Scope", scope, ARRAY_SIZE(scope)}},
	{GROUP_RUN, {"Run", run, ARRAY_SIZE(run)}},
	{GROUP_FILES, {"Recordings", files, ARRAY_SIZE(files)}},
	{GROUP_OUTPUT, {"Output", output, ARRAY_SIZE(output)}},
	{GROUP_OUTPUT | GROUP_RECORD, {"Output", written, ARRAY_SIZE(written)}},
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

static void own_add(struct set_list *l, const struct probe *p, void *const *own)
{
	if (!p || !p->options)
		return;
	for (const struct opt_group *g = p->options->groups; g->opts; g++)
		group_add(l, g, own ? own[probe_index(p)] : NULL);
}

static struct set_list chosen;

const struct opt_set *options_of(const struct command *cmd, void *const *own)
{
	chosen = (struct set_list){};
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (groups[i].bit == GROUP_OWN)
			own_add(&chosen, cmd->probe, own);
		else if (!groups[i].bit || groups[i].bit & cmd->groups)
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
		own_add(&all, probes[i], NULL);
	return all.sets;
}

const char *options_heading(const struct opt_set *set)
{
	size_t i = (size_t)(set - chosen.sets);

	return i && !strcmp(chosen.headings[i], chosen.headings[i - 1]) ? NULL : chosen.headings[i];
}
