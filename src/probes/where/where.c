/* The where probe: its sampler, which reads the ledger of what was asked for, the schema, and its
 * texts. */
#include "probes/where/where.h"

#include <errno.h>

#include "base/clock.h"
#include "base/util.h"
#include "event/schema.h"
#include "capture/inodes.h"
#include "probes/probe.h"
#include "probes/where/where_census.h"
#include "probes/where/where_inner.h"
#include "probes/where/where_opts.h"
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
	w->census = c->opts && OPTS_OF(struct where_opts, c->opts)->census;
	w->at_once = c->opts && OPTS_OF(struct where_opts, c->opts)->at_once;
	cgroup_mounts_read(&w->mounts);
	if (rc)
		return err_errno(err, rc, "where");
	if (w->named && w->scope.by_task && (rc = where_processes_open(c, w, err)))
		return rc;
	if (w->named && is_of_group(w))
		rc = capture_method(c, "memory of the group", "memory.stat", NULL);
	else if (w->named && is_of_processes(w))
		rc = capture_method(c, "memory of processes", "/proc/PID/smaps", NULL);
	else
		rc = where_machine_open(c, w);
	if (!rc && c->opts && OPTS_OF(struct where_opts, c->opts)->files)
		rc = where_files_open(c, w);
	return rc ? err_errno(err, rc, "where") : 0;
}

static int where_sample(struct capture *c, void *state)
{
	struct where *w = state;
	u64 now = clock_mono_ns();
	bool owners;
	int rc;

	if (!c->ending && (w->at_once || now < w->next_ns))
		return 0;
	w->next_ns = now + (c->opt.command || !w->sample ? COMMAND_GAP_NS : GAP_NS);
	w->sample++;
	/* at the start the command's process is still memwhy */
	if (w->named && c->opt.command && w->sample == 1)
		return 0;
	owners = w->named && (c->ending || w->sample == 2);
	if (w->named && is_of_group(w))
		return where_group_send(c, w);
	if (w->named && is_of_processes(w))
		return where_processes_send(c, w);
	rc = where_machine_send(c, w);
	if (rc || !owners)
		return rc;
	rc = where_owners_send(c, w);
	if (!rc && w->inodes && c->ending)
		rc = where_files_send(c, w);
	return rc || !c->ending || !w->census ? rc : where_census_send(c, w);
}

static void where_close(void *state)
{
	struct where *w = state;

	inodes_close(w->inodes);
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

/* It looks at what processes have open, at control groups that were removed and, over a time, at
 * who pushes whose files out of the page cache. */
static void where_beside(const struct request *r, void *opts, struct company *ret)
{
	static const char *const now[] = {"holders", "cgroups", NULL};
	static const char *const longer[] = {"holders", "cgroups", "cache", NULL};
	static const char *const all[] = {"holders", "cgroups", "cache", "pages", NULL};
	struct where_opts *o = opts;
	bool taken = o->taken;

	*ret = (struct company){.with = now};
	o->at_once = !r->for_ns && !r->interval_ns && !r->command;
	if (r->for_ns || r->interval_ns)
		*ret = (struct company){.with = taken ? all : longer,
			.some_named = (taken ? all : longer) + 2,
			.stacks = taken ? "kernel" : NULL,
			.outstanding = taken};
}

static const struct kind kinds[] = {
	RECORD_KIND(REC_WHERE_LEDGER, struct where_ledger, "where_ledger", WHERE_LEDGER_FIELDS,
		"where the memory of the machine, a process or a group is at one time"),
	RECORD_KIND(REC_WHERE_OWNER, struct where_owner, "where_owner", WHERE_OWNER_FIELDS,
		"who has a part of a row of a ledger"),
	RECORD_KIND(REC_WHERE_ARENA, struct where_arena, "where_arena", WHERE_ARENA_FIELDS,
		"an arena of glibc's malloc in a process"),
	RECORD_KIND(REC_WHERE_RUNTIME, struct where_runtime, "where_runtime", WHERE_RUNTIME_FIELDS,
		"a part of the heap of a runtime or allocator in a process"),
	RECORD_KIND(REC_WHERE_LIMIT, struct where_limit, "where_limit", WHERE_LIMIT_FIELDS,
		"the memory and limits of a control group, or of one above it"),
	RECORD_KIND(REC_WHERE_CENSUS, struct where_census, "where_census", WHERE_CENSUS_FIELDS,
		"pages of the machine by their own flags"),
	RECORD_KIND(REC_WHERE_FILE, struct where_file, "where_file", WHERE_FILE_FIELDS,
		"pages in memory of a file"),
	RECORD_KIND(REC_WHERE_MOUNT, struct where_mount, "where_mount", WHERE_MOUNT_FIELDS,
		"pages in memory of the files of a file system"),
	RECORD_KIND(REC_WHERE_REMOVED, struct where_removed, "where_removed", WHERE_REMOVED_FIELDS,
		"files that keep a control group that was removed"),
};

static const struct opt own[] = {
	OPT(struct where_opts, "census", 0, OPT_FLAG, census, NULL,
		"also count the pages by their flags, and compare that with the ledger", NULL),
	OPT(struct where_opts, "files", 0, OPT_FLAG, files, NULL,
		"also show which files, mounts and removed groups hold the page cache, tmpfs and "
		"shared memory",
		NULL),
	OPT(struct where_opts, "taken", 0, OPT_FLAG, taken, NULL,
		"with --for: also show which kernel code allocated pages during that time and "
		"still holds them, including pages that no counter covers",
		NULL),
};

static const struct opt_group own_groups[] = {{"Pages", own, ARRAY_SIZE(own)}, {}};

static int where_opts_check(struct request *r, void *opts, struct err *err)
{
	const struct where_opts *o = opts;

	if (o->taken && !r->input && !r->for_ns && !r->interval_ns)
		return err_set(err, -EINVAL, "--taken covers an interval: it needs --for or -i");
	if ((!o->census && !o->files && !o->taken) || r->input)
		return 0;
	if (r->pids || r->comm || r->cgroup || r->container || r->command)
		return err_set(err, -EINVAL,
			"--%s looks at the whole machine and cannot be combined with -p, -c, -g, "
			"-C or -- CMD",
			o->census  ? "census"
			: o->files ? "files"
				   : "taken");
	return 0;
}

static const struct probe_options own_options = {
	.size = sizeof(struct where_opts),
	.groups = own_groups,
	.check = where_opts_check,
};

const struct probe probe_where = {
	.name = "where",
	.summary = "Where has the memory gone? A ledger that adds up",
	.details = where_details,
	.examples = (const char *const[]){"memwhy where",
		"every byte of the machine, in rows that do not overlap",
		"memwhy where --table owners --limit 50",
		"who has it: processes, mounts, segments, slab caches, groups",
		"memwhy where -p 4711",
		"the resident memory of a process, and how much freed memory its allocator keeps",
		"memwhy where -g /system.slice/nginx.service",
		"what is charged to a control group, and which limit is nearest",
		"memwhy where -o wide", "also the commands that look deeper and that free memory",
		"memwhy where --for 60s", "what grew within a minute",
		"memwhy where --census --table census",
		"what the flags of the pages say, compared with the ledger",
		"memwhy where --files --table files",
		"which files the page cache, tmpfs and shared memory are",
		"memwhy where --taken --for 30s",
		"which kernel code took pages, including those that no counter covers", NULL},
	.options = &own_options,
	.output = where_output,
	.sampler = &sampler,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.view = &where_view,
	.beside = where_beside,
	.borrows = true,
	.aside = true,
	.cheap = true,
};
