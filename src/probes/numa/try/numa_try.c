/* See numa_try.h. */
#include "probes/numa/try/numa_try.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/cells.h"
#include "base/clock.h"
#include "base/progress.h"
#include "base/units.h"
#include "probes/numa/numa.h"
#include "probes/numa/numa_opts.h"
#include "probes/numa/try/numa_phase.h"
#include "sys/host.h"

#define PHASE_NS (10 * NSEC_PER_SEC)

struct attempt {
	const struct action_task *task; /* while it runs */
	struct numa_opts *o;
	struct host host;
	struct numa_object_pages object;
	struct numa_phase phases[2];
	u64 pages[2][NUMA_NODES];
	u32 targets[NUMA_NODES], n_targets;
	size_t moved; /* pages that this command had to move */
	u64 move_ns;  /* that it took */
	int why;      /* a page that did not move: -errno; 0: all did */
	struct err *err;
};

static bool try_wanted(const struct request *r, const void *opts)
{
	(void)opts;
	return r->n_operands && !strcmp(r->operands[0], "try");
}

/* --to NODES, or all nodes with --interleave. */
static int targets_read(struct attempt *a)
{
	struct idset set = a->host.nodes_online;

	if (!a->o->to && !a->o->interleave)
		return err_set(a->err, -EINVAL, "numa try: --to NODES, --interleave or --undo?");
	if (a->o->to && (idset_parse(a->o->to, &set) || !idset_count(&set)))
		return err_set(a->err, -EINVAL, "--to: '%.40s' is not a list of nodes", a->o->to);
	for (u32 i = idset_next(&set, 0); i < IDSET_MAX; i = idset_next(&set, i + 1)) {
		if (i >= NUMA_NODES || !idset_has(&a->host.nodes_online, i))
			return err_set(a->err, -EINVAL, "--to: there is no node %u", i);
		a->targets[a->n_targets++] = i;
	}
	return 0;
}

static int arguments_check(struct attempt *a)
{
	const struct request *r = a->task->request;
	const struct numa_opts *o = a->o;

	if (a->task->capture->scope.tasks.n != 1 || r->command || r->follow || r->comm)
		return err_set(a->err, -EINVAL, "numa try needs -p PID, of one process");
	if (r->input || r->record)
		return err_set(a->err, -EINVAL, "numa try needs the running process");
	if (o->undo)
		return o->to || o->interleave || r->n_operands > 1
			       ? err_set(a->err, -EINVAL, "numa try --undo takes only -p PID")
			       : 0;
	if (r->n_operands < 2) {
		err_set(a->err, -EINVAL, "numa try: which object?");
		return err_hint(a->err, "0xADDRESS, 0xFROM-0xTO, [heap], or the name of a file");
	}
	return targets_read(a);
}

static void on_which(const struct attempt *a, char *ret, size_t size)
{
	size_t n = 0;

	for (u32 i = 0; i < a->n_targets && n < size; i++)
		n += (size_t)snprintf(ret + n, size - n, "%s%u", i ? "," : "", a->targets[i]);
}

/* Nothing is moved without a yes. */
static int ask(const struct attempt *a, const char *what)
{
	char line[16];

	if (a->o->yes)
		return 0;
	if (!isatty(STDIN_FILENO)) {
		err_set(a->err, -EINVAL,
			"numa try asks before it moves pages: no terminal to ask at");
		return err_hint(a->err, "--yes");
	}
	progress_clear();
	fprintf(stderr, "%s [y/N] ", what);
	if (!fgets(line, sizeof(line), stdin) || (line[0] != 'y' && line[0] != 'Y'))
		return err_set(a->err, -ECANCELED, "numa try: nothing was moved");
	return 0;
}

static int ask_move(const struct attempt *a)
{
	char what[320], nodes[64] = "", size[UNIT_BUF];

	on_which(a, nodes, sizeof(nodes));
	snprintf(what, sizeof(what),
		"Move %zu pages (%s) of process %d, 0x%llx-0x%llx %.60s, to node%s %s?",
		a->object.addresses.n,
		fmt_bytes(size, a->object.addresses.n * (u64)sysconf(_SC_PAGESIZE)), a->object.pid,
		a->object.start, a->object.end, a->object.name, a->n_targets > 1 ? "s" : "", nodes);
	return ask(a, what);
}

/* Pages that are not yet where they are to go. */
static size_t pages_elsewhere(const struct attempt *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->object.nodes.n; i++)
		n += (u32)a->object.nodes.v[i] != a->targets[i % a->n_targets];
	return n;
}

static int elsewhere_check(struct attempt *a)
{
	char nodes[64] = "";

	if (!a->object.addresses.n)
		return err_set(a->err, -EINVAL, "%.60s: no page of it is present",
			a->task->request->operands[1]);
	if (pages_elsewhere(a))
		return 0;
	on_which(a, nodes, sizeof(nodes));
	return err_set(a->err, -EINVAL, "numa try: all %zu pages are on node%s %s already",
		a->object.addresses.n, a->n_targets > 1 ? "s" : "", nodes);
}

static int pages_go(struct attempt *a)
{
	size_t n = a->object.addresses.n;
	_cleanup_free_ int *targets = calloc(n + 1, sizeof(*targets));
	int rc = targets ? numa_object_save(&a->object, a->err) : -ENOMEM;

	for (size_t i = 0; i < n && !rc; i++)
		targets[i] = (int)a->targets[i % a->n_targets];
	a->move_ns = clock_mono_ns();
	if (!rc)
		rc = numa_object_move(&a->object, targets, &a->why, a->err);
	a->move_ns = clock_mono_ns() - a->move_ns;
	return rc;
}

static int attempt_run(struct attempt *a)
{
	const struct request *r = a->task->request;
	const char *text = r->operands[1];
	u64 for_ns = r->for_ns ? r->for_ns : PHASE_NS;
	int rc = numa_object_find(a->object.pid, text, &a->object, a->err);

	if (!rc)
		rc = numa_object_look(&a->object, a->err);
	if (!rc)
		rc = elsewhere_check(a);
	if (!rc)
		rc = ask_move(a);
	if (!rc)
		rc = numa_phase_run(a->task, for_ns, &a->object, &a->phases[0], a->err);
	/* The kernel may have moved some meanwhile: what is undone is what this command did. */
	if (!rc)
		rc = numa_object_look(&a->object, a->err);
	numa_object_count(&a->object, a->pages[0], NUMA_NODES);
	a->moved = pages_elsewhere(a);
	if (!rc)
		rc = pages_go(a);
	numa_object_count(&a->object, a->pages[1], NUMA_NODES);
	return rc ? rc : numa_phase_run(a->task, for_ns, &a->object, &a->phases[1], a->err);
}

static int undo_run(struct attempt *a)
{
	char what[160];
	size_t n;
	int pid = a->object.pid;
	int rc = numa_object_load(pid, &a->object, a->err);

	if (rc)
		return rc;
	n = a->object.nodes.n;
	snprintf(what, sizeof(what), "Move %zu pages of process %d back?", n, pid);
	rc = ask(a, what);
	if (rc)
		return rc;
	rc = numa_object_move(&a->object, a->object.nodes.v, &a->why, a->err);
	numa_object_count(&a->object, a->pages[1], NUMA_NODES);
	if (!rc)
		numa_object_forget(pid);
	return rc;
}

static const char *pages_text(struct report *r, const u64 *pages)
{
	char s[512];
	size_t n = 0;

	s[0] = '\0';
	for (u32 i = 0; i < NUMA_NODES && n < sizeof(s); i++)
		if (pages[i])
			n += (size_t)snprintf(
				s + n, sizeof(s) - n, "%s%u: %llu", n ? ", " : "", i, pages[i]);
	return report_text(r, "%s", s);
}

struct phase_row {
	const char *when;
	struct numa_phase p;
	const u64 *pages;
};

static CELL_GET(remote_cell)
{
	const struct numa_phase *p = &((const struct phase_row *)row->sums)->p;
	double share = 0, variance;

	numa_phase_share(p, &share, &variance);
	return numa_phase_samples(p) ? cell_f64(share) : (struct cell){};
}

static CELL_GET(error_cell)
{
	const struct numa_phase *p = &((const struct phase_row *)row->sums)->p;
	double share, variance = 0;

	return numa_phase_samples(p) && numa_phase_share(p, &share, &variance)
		       ? cell_f64(PHASE_T * sqrt(variance))
		       : (struct cell){};
}

CELL_EXPR(samples_cell, struct phase_row, cell_u64(numa_phase_samples(&e->p)))
CELL_EXPR(latency_cell, struct phase_row, cell_ratio(e->p.latency_total, e->p.latency_n))
CELL_EXPR(pages_cell, struct phase_row, cell_text(pages_text(r, e->pages)))

static const struct cell_column columns[] = {
	CELL_FROM(0, struct phase_row, when, "when", "WHEN", CELL_TEXT, UNIT_NONE, 0,
		"before or after the pages were moved", cell_of_text),
	CELL_BY(0, "samples", "SAMPLES", CELL_U64, UNIT_COUNT, COL_WEIGHT,
		"accesses to the object that were seen, with known nodes", samples_cell),
	CELL_BY(0, "remote_ratio", "REMOTE", CELL_F64, UNIT_RATIO, 0,
		"of them, to pages of another node (sampled)", remote_cell),
	CELL_BY(0, "error_ratio", "+-", CELL_F64, UNIT_RATIO, 0,
		"its error: 2.45 standard errors, by eight windows of time (estimated)",
		error_cell),
	CELL_BY(0, "mean_latency_cycles", "LATENCY", CELL_F64, UNIT_NONE, COL_RARE,
		"mean, in cycles; only from hardware samples", latency_cell),
	CELL_BY(0, "pages_by_node", "PAGES", CELL_TEXT, UNIT_NONE, 0,
		"node: pages of the object on it, right before and right after they were moved "
		"(exact)",
		pages_cell),
	CELL_NUMBER(struct phase_row, p.moved_pages, "moved_pages", "KERNEL MOVED", UNIT_PAGES, 0,
		"pages of it that the kernel itself moved meanwhile"),
};

static const struct view_table tables[] = {
	CELLS_VIEW("try", columns),
	{},
};

static const char *outcome_text(struct report *r, const struct attempt *a)
{
	double before = 0, after = 0, unused;

	if (!a->moved)
		return "No verdict: during the first measurement the kernel itself moved all pages "
		       "there.";
	numa_phase_share(&a->phases[0], &before, &unused);
	numa_phase_share(&a->phases[1], &after, &unused);
	switch (numa_phase_compare(&a->phases[0], &a->phases[1])) {
	case NUMA_FELL:
		return report_text(r, "It helped: the remote share fell from %.1f %% to %.1f %%.",
			100 * before, 100 * after);
	case NUMA_ROSE:
		return report_text(r,
			"It made it worse: the remote share rose from %.1f %% to %.1f %%.",
			100 * before, 100 * after);
	case NUMA_SAME:
		return "No difference beyond the noise.";
	default:
		return report_text(r,
			"No verdict: that takes %d samples in %d of %d parts of the time, before "
			"and after. With --source hint, --scan brings more; otherwise --for.",
			PHASE_SAMPLES_MIN, PHASE_WINDOWS_MIN, PHASE_WINDOWS);
	}
}

/* What to hold against the gain. */
static void moved_note(struct report *r, const struct attempt *a)
{
	size_t left = pages_elsewhere(a), n = a->moved > left ? a->moved - left : 0;
	char took[UNIT_BUF], each[UNIT_BUF];

	if (n)
		report_note(r, "Moving %zu pages took %s, about %s a page", n,
			fmt_ns(took, a->move_ns), fmt_ns(each, a->move_ns / n));
}

static void attempt_report(struct report *r, const struct attempt *a)
{
	struct table *t =
		cells_table(r, "try", "Accesses to the object", columns, ARRAY_SIZE(columns));

	for (int i = 0; i < 2; i++) {
		const struct phase_row row = {i ? "after" : "before", a->phases[i], a->pages[i]};

		cells_one(t, r, columns, &row, NULL);
	}
	r->verdict = outcome_text(r, a);
	moved_note(r, a);
	if (a->why)
		report_note(r, "Not all pages moved: %s", strerror(-a->why));
	report_note(r, "`memwhy numa try -p %d --undo` puts the pages back", a->object.pid);
	report_add_stream_notes(r);
}

static void undo_report(struct report *r, const struct attempt *a)
{
	r->verdict = report_text(r,
		a->why ? "The pages are now on these nodes: %s."
		       : "The pages are where they were: %s.",
		pages_text(r, a->pages[1]));
	if (a->why)
		report_note(r, "Not all pages moved: %s", strerror(-a->why));
}

static int try_run(void *state, const struct action_task *t, struct err *err)
{
	struct attempt *a = state;
	int rc;

	a->task = t;
	a->o = t->opts;
	a->err = err;
	host_read(&a->host);
	if (!a->o->source) /* first touches say nothing of pages that are there */
		a->o->source = "hardware,hint";
	rc = arguments_check(a);
	if (rc)
		return rc;
	a->object.pid = (int)t->capture->scope.tasks.v[0];
	return a->o->undo ? undo_run(a) : attempt_run(a);
}

static void try_report(void *state, struct report *r)
{
	const struct attempt *a = state;

	if (a->o->undo)
		undo_report(r, a);
	else
		attempt_report(r, a);
}

static void try_free(void *state)
{
	numa_object_free(&((struct attempt *)state)->object);
}

const struct probe_action numa_try = {
	.name = "numa try",
	.tables = (const struct view_table *const[]){tables, NULL},
	.size = sizeof(struct attempt),
	.wanted = try_wanted,
	.run = try_run,
	.report = try_report,
	.free = try_free,
};
