/* The where probe: its sampler, which reads the ledger of what was asked for, and its texts. */
#include "probes/where/where.h"

#include <errno.h>

#include "base/clock.h"
#include "probes/probe.h"
#include "probes/where/where_inner.h"
#include "probes/where/where_kinds.h"
#include "probes/where/where_view.h"

#define EVERY_NS NSEC_PER_SEC
/* Drains come on top of the sampler's own period: not twice within these times. */
#define GAP_NS (45 * NSEC_PER_SEC / 10)
#define COMMAND_GAP_NS (9 * NSEC_PER_SEC / 10) /* of a command, which may end at any time */

static bool is_of_group(const struct where *w)
{
	return w->scope.cgroup_version && !w->scope.by_task && !w->scope.comm[0];
}

/* Was something else than the machine asked for? */
static bool is_of_processes(const struct where *w)
{
	return w->scope.by_task || proc_scope_tests(&w->scope);
}

static int where_open(struct capture *c, void *state, struct err *err)
{
	struct where *w = state;
	int rc = proc_scope_open(c, &w->scope);

	w->named = capture_named(c);
	cgroup_mounts_read(&w->mounts);
	if (rc)
		return err_errno(err, rc, "where");
	if (w->named && is_of_group(w))
		rc = capture_method(c, "memory of the group", "memory.stat", NULL);
	else if (w->named && is_of_processes(w))
		rc = capture_method(c, "memory of processes", "/proc/PID/smaps", NULL);
	else
		rc = where_machine_open(c, w);
	return rc ? err_errno(err, rc, "where") : 0;
}

static int where_sample(struct capture *c, void *state)
{
	struct where *w = state;
	u64 now = clock_mono_ns();
	bool owners;
	int rc;

	if (!c->ending && now < w->next_ns)
		return 0;
	w->next_ns = now + (c->opt.command ? COMMAND_GAP_NS : GAP_NS);
	w->sample++;
	/* at the start the command's process is still memwhy */
	if (w->named && c->opt.command && w->sample == 1)
		return 0;
	owners = w->named && (c->ending || w->sample == 1);
	if (w->named && is_of_group(w))
		return where_group_send(c, w);
	if (w->named && is_of_processes(w))
		return where_processes_send(c, w, true);
	rc = where_machine_send(c, w);
	return rc || !owners ? rc : where_owners_send(c, w);
}

static void where_close(void *state)
{
	struct where *w = state;

	proc_scope_free(&w->scope);
	keyvals_free(&w->meminfo);
	keyvals_free(&w->vmstat);
	keyvals_free(&w->kv);
	zoneinfo_free(&w->zones);
	memfs_free(&w->memfs);
	str_free(&w->text);
	str_free(&w->label);
}

static const struct probe_sampler sampler = {
	.size = sizeof(struct where),
	.every_ns = EVERY_NS,
	.open = where_open,
	.sample = where_sample,
	.close = where_close,
	.survey = where_machine_survey,
};

/* It looks at what processes have open. */
static void beside(const struct request *r, void *opts, struct company *ret)
{
	static const char *const with[] = {"holders", NULL};

	(void)r;
	(void)opts;
	*ret = (struct company){.with = with};
}

const struct probe probe_where = {
	.name = "where",
	.summary = "Where has the memory gone? A ledger that adds up",
	.details = where_details,
	.examples = (const char *const[]){"memwhy where",
		"every byte of the machine, in rows that do not overlap",
		"memwhy where --table owners --limit 50",
		"who has it: processes, mounts, segments, slab caches, groups",
		"memwhy where -p 4711",
		"what is resident of a process, and what its allocator keeps of freed memory",
		"memwhy where -g /system.slice/nginx.service",
		"what is charged to a control group, and which limit is nearest",
		"memwhy where -o wide", "with the commands that look deeper and that free memory",
		"memwhy where --for 60s", "what grew within a minute", NULL},
	.output = where_output,
	.sampler = &sampler,
	.kinds = where_kinds,
	.n_kinds = WHERE_KINDS,
	.view = &where_view,
	.beside = beside,
	.borrows = true,
	.cheap = true,
};
