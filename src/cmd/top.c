/* `memwhy top`: what `check` looks at, interval by interval, on a screen or as tables. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/progress.h"
#include "cmd/entries.h"
#include "cmd/record_now.h"
#include "cmd/run.h"
#include "cmd/scope.h"
#include "probes/processes/processes.h"
#include "top/link.h"
#include "top/top.h"

#define STACK_EVERY 251 /* a screen goes on: it gathers as many as check in a few times as long */
#define EVERY_NS NSEC_PER_SEC

/* The cheap ones; of those on the screen what has no programs first, so that there is something to
 * see soon. */
static size_t probes_choose(const struct probe **ret, size_t *ret_early)
{
	size_t n = 0;

	for (size_t i = 0; i < probes_n; i++)
		if (probes[i]->cheap && !probes[i]->bpf && !probes[i]->aside)
			ret[n++] = probes[i];
	*ret_early = n;
	for (int aside = 0; aside < 2; aside++)
		for (size_t i = 0; i < probes_n; i++)
			if (probes[i]->cheap && probes[i]->aside == aside &&
				(probes[i]->bpf || aside))
				ret[n++] = probes[i];
	return n;
}

/* It is of another command, which looked at none of what the tables show. */
static void not_recorded(struct report *r)
{
	r->verdict = "No verdict: what top shows was not recorded.";
	report_not_checked(r, "processes were not recorded: the file is of 'memwhy %.31s'",
		r->stream->session.command);
	vec_each (t, &r->tables)
		(*t)->empty = "Not recorded.";
}

static void conclude(struct report *r)
{
	if (report_is_refused(r))
		r->verdict = report_text(r,
			"INCOMPLETE: top was not permitted to see everything (NOT CHECKED lists "
			"what is missing). %s",
			report_refused_remedy(r));
	else if (!r->stream->has_session)
		r->verdict = "No verdict: nothing was recorded.";
	else if (!stream_probe_active(r->stream, "processes"))
		not_recorded(r);
}

static int watch_show(void *arg, const struct report *r)
{
	return link_show(arg, r);
}

static bool closely;

static int watch_asked(void *arg)
{
	int asked = link_asked(arg);

	closely ^= asked == LINK_CLOSELY;
	processes_closely(closely);
	return asked == LINK_CLOSELY ? RUN_GOES_ON : asked;
}

/* Columns that take a walk through page tables, by name. */
static bool names_closely(const char *words)
{
	return words && (strstr(words, "pss_bytes") || strstr(words, "thp_ratio") ||
				strstr(words, "local_ratio"));
}

static void watch_tell(void *arg, bool records, const char *text)
{
	link_tell(arg, records, text);
}

static void watch_wait(void *arg)
{
	link_wait(arg);
}

static void watch_close(void *arg)
{
	link_close(arg);
}

/* Tables, where nobody looks at a terminal. */
static bool is_for_screen(const struct options *o)
{
	bool bounded = o->for_ns || o->input;

	/* a command has the terminal for itself */
	if (strcmp(o->format, "text") != 0 || o->out || o->quiet || o->argv)
		return false;
	return !bounded || (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO));
}

/* What is asked for is held against the host before there is a screen. */
static int watch_begin(
	const struct options *o, const struct ui_options *uo, struct link **ret, struct err *err)
{
	struct capture_options opt = {};
	struct scope_words words;
	int rc = o->input ? 0 : scope_from_options(o, &opt, &words, err);

	scope_free(&opt);
	return rc ? rc : link_open(uo, ret, err);
}

static int top_watch(struct run *r, size_t early)
{
	const struct ui_options uo = {.replay = r->o->input != NULL,
		.sort = r->o->sort,
		.fields = r->o->fields,
		.input = r->o->input};
	struct run_watch w = {
		.show = watch_show,
		.asked = watch_asked,
		.tell = watch_tell,
		.wait = watch_wait,
		.close = watch_close,
		.early = early,
	};
	struct link *l;
	struct err err = {};
	int status, rc = watch_begin(r->o, &uo, &l, &err);

	if (rc) {
		command_error(&err);
		return command_status(rc);
	}
	w.fd = link_fd(l);
	link_pids(l, w.helpers);
	w.arg = l;
	r->watch = &w;
	status = run_live_or_input(r);
	/* What was not permitted is told on the screen. */
	if (status == STATUS_INTERRUPTED || status == STATUS_NOT_SUPPORTED)
		status = r->done || !r->result.interrupted ? STATUS_DONE : status;
	if (link_interrupted(l) && status == STATUS_DONE)
		status = STATUS_INTERRUPTED;
	link_free(l);
	return status;
}

static int top(const struct command *cmd, struct options *o)
{
	static const struct view *const views[] = {&top_view, &record_now_view};
	_cleanup_free_ const struct probe **cheap = calloc(probes_n, sizeof(*cheap));
	struct run r = {
		.cmd = cmd,
		.o = o,
		.probes = cheap,
		.views = views,
		.n_views = 1,
		.lenient = true,
		.gentle = true,
		.finds = true,
		.conclude = conclude,
		.stack_every = STACK_EVERY,
	};
	size_t early;

	if (!cheap)
		return STATUS_INTERNAL;
	r.n_probes = probes_choose(cheap, &early);
	closely = names_closely(o->fields) || names_closely(o->sort);
	processes_closely(closely);
	r.watch_ns = o->interval_ns ? o->interval_ns : EVERY_NS;
	o->by = "major-mapping"; /* as check: for the few faults that wait */
	r.plain_stacks = !o->stacks;
	if (!o->stacks)
		o->stacks = "user";
	o->no_lines |= !o->verbose && !o->input;
	if (!is_for_screen(o))
		return run_live_or_input(&r);
	progress_disable();
	if (!o->input)
		r.n_views = 2;
	if (!o->input) /* whose intervals are its own */
		o->interval_ns = r.watch_ns;
	return top_watch(&r, early);
}

static const char *const examples[] = {
	"memwhy top",
	"watch the machine, redrawn each second",
	"memwhy top -g /sys/fs/cgroup/system.slice",
	"the processes of one control group and those below it",
	"memwhy top --record night.mw --for 8h",
	"watch, and record it",
	"memwhy top --input night.mw",
	"step through a recording",
	"memwhy top --for 1s -o json",
	"the numbers of one second, for scripts",
	NULL,
};

const struct command command_top = {
	.name = "top",
	.summary = "Why is memory doing this, right now? A live screen",
	.groups = GROUP_TOP | GROUP_SCOPE | GROUP_RUN | GROUP_FILES | GROUP_PART | GROUP_OUTPUT,
	.takes_command = true,
	.tables = (const struct view_table *const[]){top_tables, NULL},
	.details =
		"Draws a screen each second. The head shows the machine's memory as one bar "
		"whose parts add up to all of it, pressure, the work of kswapd and kcompactd, "
		"free memory by order against the watermarks, and the worst finding. Below it, "
		"each line is a process: what it holds, how fast that grows, and what it costs "
		"in faults, stalls and swap. memwhy's own cost is in the first line.\n\n"
		"It runs the probes and rules of check at the same low cost; data that only "
		"findings need is read every four seconds. Rules look at the last ten seconds. "
		"Lines show the (at most 256) processes with most memory, those that grew, and "
		"all that faulted or stalled in the interval; with -p, -c, -g or -C only "
		"those. On a machine with very many processes each is read less often than "
		"once a second, so that top costs no more than 5 % of a CPU. The numbers are "
		"those of the tables that -o json has: FIELDS says where each comes from.\n\n"
		"Moving: arrows, PgUp, PgDn, Home, End and the wheel. Enter shows details of a "
		"line, Esc goes back. For a group or user these are its processes; for a "
		"process its numbers (each with its last six intervals as bars, 16 from 111 "
		"columns on), faults and waits by mapping and by code path, the limits of its "
		"control groups, and findings.\n\n"
		"Choosing: F2 or f lists findings, with evidence and what to do; F5 or t shows "
		"control groups as a tree; u users; F4, / or \\ filters by name, pid or group. "
		"F6 or s chooses the column to sort by, < > , . move to the next one, I "
		"reverses the order; a click on a title does both. F1 or ? lists the keys, "
		"Ctrl-L redraws, q quits.\n\n"
		"Time: Space stops and continues. [ ] or Left, Right step through the "
		"intervals, { } over ten; j jumps to a time (12:30:05, 90s from the start, "
		"-30s from the end), J to the latest; n and N go to where the next finding "
		"starts.\n\n"
		"Looking closer: these keys run another command of memwhy on the process or "
		"group. M runs where (memory by mapping and file, what the allocator keeps). F "
		"runs faults --by mapping,stack and S runs stalls (with their steps), for ten "
		"seconds. H runs heap for ten seconds, after showing what that costs the "
		"process and asking for y. Esc ends one early. They run with the rights of the "
		"user who started top. For a recording, F and S show what it contains.\n\n"
		"P walks page tables every five seconds, until it is pressed again, for the "
		"columns PSS, THP% and, on machines with several NUMA nodes, LOCAL%. --fields "
		"or --sort with one of these does the same.\n\n"
		"r starts a recording with the next interval, to memwhy-DATE-TIME.mw (UTC) in "
		"the current directory, or ends it; meanwhile REC is in the first line. It "
		"starts with the names and states known by then, so that check, top and the "
		"other commands read it like any other.\n\n"
		"If three intervals are overdue, for example because the machine leaves no "
		"time for memwhy either, LATE appears with the age of what is shown; keys "
		"still work.\n\n"
		"A live screen keeps ten minutes to step back through; a recording (--input "
		"FILE) is kept whole, unless it is very long. Any recording will do. One of "
		"another command has only what that command recorded, and lists processes that "
		"have ended, with their last numbers.\n\n"
		"The sort order that you choose with keys is kept in ~/.config/memwhy/top (or "
		"$XDG_CONFIG_HOME/memwhy/top) as lines `sort COLUMN`, `users COLUMN` and "
		"`groups COLUMN`, or `groups tree`; a line `fields A,B` that you write there "
		"chooses the columns. --sort and --fields take precedence; without the file "
		"the defaults apply.\n\n"
		"If standard output is no terminal and --for or --input bounds the run, top "
		"prints the tables, as with -o wide, json, jsonl or csv. It does so with -- "
		"CMD too, because the command owns the terminal.\n\n"
		"The screen is a separate process without any rights, and the terminal is restored "
		"however either of them ends. The colours work with any colour vision, and letters "
		"in the bar say the same; NO_COLOR turns colours off. A locale that is not UTF-8 "
		"gets plain ASCII. Common terminals work even without a terminfo database.",
	.examples = examples,
	.run = top,
};
