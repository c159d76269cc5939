/* See command.h. */
#include "cmd/command.h"

#include <errno.h>
#include <string.h>

#include "base/closest.h"
#include "base/str.h"
#include "base/vec.h"
#include "cmd/action.h"
#include "cmd/entries.h"
#include "cmd/output.h"
#include "cmd/own.h"
#include "cmd/run.h"
#include "rules/rules.h"

#define RUN_PROBES 8 /* of one command */

static const char *names_join(
	char names[RUN_PROBES * PROBE_NAME_LEN], const struct probe *const *list, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(names + len, PROBE_NAME_LEN, "%s%.*s", i ? "," : "",
			PROBE_NAME_LEN - 2, list[i]->name);
	return names;
}

static int run_probe(const struct command *cmd, struct options *o)
{
	const struct probe *p = cmd->probe;
	const struct probe *list[RUN_PROBES] = {p};
	const struct view *views[] = {p->view, rule_beside(p->name)};
	char named[RUN_PROBES * PROBE_NAME_LEN];
	struct run r = {
		.cmd = cmd,
		.o = o,
		.probes = list,
		.n_probes = 1,
		.views = views,
		.n_views = views[1] ? 2 : 1,
		.guarded = p->guarded,
	};

	if (action_wanted(p, o))
		return action_run(p, o);
	own_beside(o, p, &r.company);
	for (const char *const *w = r.company.with; w && *w && r.n_probes < RUN_PROBES; w++)
		list[r.n_probes++] = probe_find(*w);
	r.n_beside = r.company.required ? 0 : r.n_probes - 1;
	if (r.company.named)
		r.named = names_join(named, list, r.n_probes);
	if (r.company.some_named) {
		const struct probe *some[RUN_PROBES] = {p};
		size_t n = 1;

		for (const char *const *w = r.company.some_named; *w && n < RUN_PROBES; w++)
			some[n++] = probe_find(*w);
		r.named = names_join(named, some, n);
	}
	return run_live_or_input(&r);
}

#define PROBE_GROUPS (GROUP_OWN | GROUP_RUN | GROUP_FILES | GROUP_OUTPUT)

static void command_of_probe(const struct probe *p, struct command *ret)
{
	*ret = (struct command){
		.name = p->name,
		.probe = p,
		.summary = p->summary,
		.groups = PROBE_GROUPS | GROUP_PART | (p->source ? GROUP_ATTACH : GROUP_SCOPE) |
			  (p->view->by_keys ? GROUP_BY : 0) | (p->view->each ? GROUP_EACH : 0) |
			  (p->view->times_each ? GROUP_MIN : 0) | (p->view->looks ? GROUP_LIKE : 0),
		.takes_command = true,
		.needs_command = p->source != NULL,
		.tables = p->action ? p->action->tables : NULL,
		.details = p->details,
		.examples = p->examples,
		.operands = p->operands,
		.n_operands = p->n_operands,
		.run = run_probe,
	};
}

/* In the order of help. What is in none of them comes last, under "Other". */
static const struct {
	const char *title;
	const char *names[8];
} sections[] = {
	{"Diagnose", {"check", "where", "limit", "top", "doctor", "oom"}},
	{"A program", {"heap", "leak", "faults", "maps", "syscalls"}},
	{"Memory pressure", {"stalls", "reclaim", "compaction", "swap", "thp", "frag"}},
	{"The kernel", {"slab", "pages", "count"}},
	{"NUMA", {"numa", "policy"}},
	{"Files", {"record", "report", "diff", "export"}},
	{"A host", {"serve", "incidents"}},
};

static const struct command *const own[] = {&command_check, &command_doctor, &command_record,
	&command_report, &command_diff, &command_export, &command_serve, &command_incidents,
	&command_help, &command_top};

/* Adds the command of this name, unless it is there. */
static void commands_add(struct command *all, size_t *n, const char *name, const char *section)
{
	const struct probe *p = probe_find(name);

	for (size_t i = 0; i < *n; i++)
		if (!strcmp(all[i].name, name))
			return;
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (!strcmp(own[i]->name, name))
			all[(*n)++] = *own[i];
	if (p && p->view)
		command_of_probe(p, &all[(*n)++]);
	if (*n)
		all[*n - 1].section = section;
}

const struct command *commands(size_t *ret_n)
{
	static struct command all[64];
	static size_t n;

	if (!n) {
		for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
			for (const char *const *name = sections[i].names; *name; name++)
				commands_add(all, &n, *name, sections[i].title);
		for (size_t i = 0; i < probes_n && n < ARRAY_SIZE(all) - 1; i++)
			if (probes[i]->view)
				commands_add(all, &n, probes[i]->name, "Other");
		commands_add(all, &n, "help", "Other");
	}
	*ret_n = n;
	return all;
}

const struct command *command_find(const char *name)
{
	size_t n;
	const struct command *all = commands(&n);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(all[i].name, name))
			return &all[i];
	return NULL;
}

void command_error(const struct err *err)
{
	_cleanup_str_ struct str s = {};

	str_add(&s, "memwhy: ");
	str_add_escaped(&s, err->msg);
	str_add(&s, "\n");
	if (err->hint[0]) {
		str_add(&s, "  ");
		str_add_printable(&s, err->hint);
		str_add(&s, "\n");
	}
	output_say(&s);
}

int command_end(int rc, struct err *err, const char *name)
{
	if (!rc || rc == -EPIPE)
		return STATUS_DONE;
	if (!err->code)
		err_errno(err, rc, "%s", name);
	command_error(err);
	return command_status(rc);
}

/* Tools that people know, by name, and what to run in their place. */
static const struct {
	const char *name, *ours;
} older[] = {
	{"bpftrace", "count EVENT"},
	{"brkstack", "maps --like brkstack"},
	{"buddyinfo", "frag"},
	{"compactsnoop", "compaction --like compactsnoop"},
	{"drsnoop", "reclaim --like drsnoop"},
	{"extfrag", "frag"},
	{"extfrag_index", "frag"},
	{"ffaults", "faults --by mapping"},
	{"funccount", "count EVENT"},
	{"heaptrack", "heap -- CMD"},
	{"hfaults", "thp"},
	{"kmem", "slab, or memwhy pages"},
	{"massif", "heap -- CMD"},
	{"memleak", "leak -p PID, or memwhy leak -- CMD"},
	{"mmapsnoop", "maps --like mmapsnoop"},
	{"numastat", "numa"},
	{"numatop", "numa"},
	{"oomkill", "oom --like oomkill"},
	{"pagetypeinfo", "frag"},
	{"perf", "check; perf kmem: slab and pages, perf trace: syscalls"},
	{"shmsnoop", "maps --like shmsnoop"},
	{"slabratetop", "slab"},
	{"slabtop", "slab"},
	{"smem", "maps"},
	{"stackcount", "count EVENT --stacks"},
	{"strace", "syscalls --like strace"},
	{"swapin", "swap --like swapin"},
	{"traceloop", "syscalls --flight"},
	{"valgrind", "heap -- CMD, or memwhy leak -- CMD"},
	{"vmscan", "reclaim --like vmscan"},
	{"vmstat", "check"},
};

static const char *older_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(older); i++)
		if (!strcmp(older[i].name, name))
			return older[i].ours;
	return NULL;
}

int command_unknown(const char *name)
{
	VEC(const char *) names = {};
	struct err err = {};
	size_t n;
	const struct command *all = commands(&n);
	const char *near;

	for (size_t i = 0; i < n; i++)
		if (vec_push(&names, all[i].name))
			break;
	near = closest(name, names.v, names.n);
	vec_free(&names);
	err_set(&err, -EINVAL, "unknown command '%.40s'", name);
	if (older_find(name))
		err_hint(&err, "memwhy's counterpart: memwhy %s", older_find(name));
	else if (near)
		err_hint(&err, "did you mean 'memwhy %s'?", near);
	else
		err_hint(&err, "'memwhy help' lists the commands");
	command_error(&err);
	return STATUS_USAGE;
}

int command_status(int rc)
{
	switch (-rc) {
	case 0:
		return STATUS_DONE;
	case EINVAL:
	case ENOENT:
		return STATUS_USAGE;
	case EPERM:
	case EACCES:
	case EOPNOTSUPP:
	case EADDRINUSE:
	case EADDRNOTAVAIL:
		return STATUS_NOT_SUPPORTED;
	case ENODATA:
	case ENOSPC:
	case EFBIG:
	case EIO:
		return STATUS_DAMAGED;
	case EINTR:
		return STATUS_INTERRUPTED;
	default:
		return STATUS_INTERNAL;
	}
}
