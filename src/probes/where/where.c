/* The where probe: its sampler, which reads the ledger of what was asked for, the schema, and its
 * texts. */
#include "probes/where/where.h"

#include <errno.h>

#include "base/clock.h"
#include "base/util.h"
#include "event/schema.h"
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
	if (rc || !owners)
		return rc;
	rc = where_owners_send(c, w);
	return rc || !c->ending || !w->census ? rc : where_census_send(c, w);
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

/* It looks at what processes have open, and at control groups that were removed. */
static void beside(const struct request *r, void *opts, struct company *ret)
{
	static const char *const with[] = {"holders", "cgroups", NULL};

	(void)r;
	(void)opts;
	*ret = (struct company){.with = with};
}

#define LEDGER(member_, type_, unit_, help_) \
	FIELD(struct where_ledger, member_, type_, unit_, help_)
#define OWNER(member_, type_, unit_, help_) FIELD(struct where_owner, member_, type_, unit_, help_)

static const struct field ledger_fields[] = {
	LEDGER(scope, FIELD_U32, UNIT_ID, "0 the machine, 1 a process, 2 a control group"),
	LEDGER(sample, FIELD_U32, UNIT_ID, "number of the look"),
	LEDGER(tgid, FIELD_U32, UNIT_ID, "process"),
	LEDGER(name, FIELD_U32, UNIT_STRING, "its name"),
	LEDGER(cgroup, FIELD_U64, UNIT_CGROUP, "control group"),
	LEDGER(total_bytes, FIELD_U64, UNIT_BYTES, "what all rows and the rest add up to"),
	LEDGER(known, FIELD_U64, UNIT_HEX, "rows that are known, a bit each"),
	LEDGER(estimated, FIELD_U64, UNIT_HEX, "rows that are estimated, a bit each"),
	LEDGER(known_parts, FIELD_U64, UNIT_HEX, "parts that are known, a bit each"),
	FIELD_ARRAY(struct where_ledger, bytes, FIELD_U64, UNIT_BYTES, WHERE_ROWS_MAX,
		"rows: free, free in lists of cpus, anonymous, swap cache, page cache, tmpfs, "
		"shared memory, hugetlb, slab, other reclaimable kernel memory, page tables, "
		"secondary page tables, kernel stacks, percpu, vmalloc, compressed swap, sockets, "
		"pipes, page array, bounce, fuse writeback, corrupted, balloon, gpu, kernel, heap, "
		"heap kept free, arenas, arenas kept free, stacks, private file pages, files, "
		"special"),
	FIELD_ARRAY(struct where_ledger, parts, FIELD_U64, UNIT_BYTES, WHERE_PARTS_MAX,
		"facts beside the rows: mapped, dirty, writeback, buffers, evictable file pages, "
		"reclaimable slab, free and reserved huge pages, locked, unevictable, anonymous "
		"and shared huge pages, free CMA, available, free and used swap, data compressed, "
		"limit, swapped, proportional set size, lazily freed, page tables"),
};

static const struct field owner_fields[] = {
	OWNER(row, FIELD_U32, UNIT_ID, "the row, as its place in the ledger"),
	OWNER(sample, FIELD_U32, UNIT_ID, "number of the look, as in the ledger"),
	OWNER(scope, FIELD_U32, UNIT_ID, "of the ledger"),
	OWNER(of_tgid, FIELD_U32, UNIT_ID, "process of the ledger"),
	OWNER(name, FIELD_U32, UNIT_STRING, "who or what it is"),
	OWNER(detail, FIELD_U32, UNIT_STRING, "what else there is to say; 0: nothing"),
	OWNER(tgid, FIELD_U32, UNIT_ID, "process; 0: it is none"),
	OWNER(estimated, FIELD_U32, UNIT_NONE, "1: bytes are estimated"),
	OWNER(cgroup, FIELD_U64, UNIT_CGROUP, "control group; 0: it is none"),
	OWNER(bytes, FIELD_U64, UNIT_BYTES, "its part of the row"),
	OWNER(count, FIELD_U64, UNIT_COUNT, "objects, areas, attachments; 0: not known"),
	OWNER(free_bytes, FIELD_U64, UNIT_BYTES, "of bytes, kept without being used"),
};

#define ARENA(member_, type_, unit_, help_) FIELD(struct where_arena, member_, type_, unit_, help_)

static const struct field arena_fields[] = {
	ARENA(tgid, FIELD_U32, UNIT_ID, "process"),
	ARENA(sample, FIELD_U32, UNIT_ID, "number of the look, as in the ledger"),
	ARENA(index, FIELD_U32, UNIT_ID, "0: the main arena"),
	ARENA(partial, FIELD_U32, UNIT_NONE, "1: it could not be read to its end"),
	ARENA(address, FIELD_U64, UNIT_HEX, "where it is"),
	ARENA(heaps, FIELD_U64, UNIT_COUNT, "its heaps"),
	ARENA(system_bytes, FIELD_U64, UNIT_BYTES, "what it has from the kernel"),
	ARENA(used_blocks, FIELD_U64, UNIT_COUNT,
		"blocks in use, those in fastbins and thread caches included"),
	ARENA(used_bytes, FIELD_U64, UNIT_BYTES, "their size, with glibc's own part"),
	ARENA(free_blocks, FIELD_U64, UNIT_COUNT, "free blocks in its bins"),
	ARENA(free_bytes, FIELD_U64, UNIT_BYTES, "their size"),
	ARENA(top_bytes, FIELD_U64, UNIT_BYTES, "free memory at its end"),
	ARENA(fast_blocks, FIELD_U64, UNIT_COUNT, "free blocks in fastbins"),
	ARENA(fast_bytes, FIELD_U64, UNIT_BYTES, "their size"),
	ARENA(cache_blocks, FIELD_U64, UNIT_COUNT, "free blocks in caches of threads"),
	ARENA(cache_bytes, FIELD_U64, UNIT_BYTES, "their size"),
	ARENA(kept_bytes, FIELD_U64, UNIT_BYTES, "resident pages with nothing but free blocks"),
	ARENA(trimmable_bytes, FIELD_U64, UNIT_BYTES, "of these, what malloc_trim(0) gives back"),
};

#define LIMIT(member_, type_, unit_, help_) FIELD(struct where_limit, member_, type_, unit_, help_)

static const struct field limit_fields[] = {
	LIMIT(sample, FIELD_U32, UNIT_ID, "number of the look, as in the ledger"),
	LIMIT(level, FIELD_U32, UNIT_COUNT, "levels below the root"),
	LIMIT(cgroup, FIELD_U64, UNIT_CGROUP, "control group"),
	LIMIT(of_cgroup, FIELD_U64, UNIT_CGROUP, "the group of the ledger: this one or one below"),
	LIMIT(usage_bytes, FIELD_U64, UNIT_BYTES, "memory charged to it"),
	LIMIT(limit_bytes, FIELD_U64, UNIT_BYTES, "its limit; all bits set: none"),
	LIMIT(high_bytes, FIELD_U64, UNIT_BYTES, "memory.high; all bits set: none"),
	LIMIT(swap_bytes, FIELD_U64, UNIT_BYTES, "in swap"),
	LIMIT(limit_hit_total, FIELD_U64, UNIT_COUNT, "how often it met its limit"),
};

#define CENSUS(member_, type_, unit_, help_) \
	FIELD(struct where_census, member_, type_, unit_, help_)
#define CENSUS_ARRAY(member_, help_) \
	FIELD_ARRAY(struct where_census, member_, FIELD_U64, UNIT_PAGES, WHERE_CENSUS_KINDS, help_)

static const struct field census_fields[] = {
	CENSUS(sample, FIELD_U32, UNIT_ID, "number of the look"),
	CENSUS(has_charged, FIELD_U32, UNIT_ID, "1: charged is known"),
	CENSUS(page_bytes, FIELD_U64, UNIT_BYTES, "size of a page"),
	CENSUS(looked, FIELD_U64, UNIT_PAGES, "page frames looked at"),
	CENSUS(of, FIELD_U64, UNIT_PAGES, "page frames there are"),
	CENSUS(took_ns, FIELD_U64, UNIT_NS, "what that took"),
	CENSUS_ARRAY(pages,
		"by what they are: free, anonymous, files, shared, hugetlb, slab, page tables, "
		"offline, reserved, other"),
	CENSUS_ARRAY(error, "two standard deviations of sampling"),
	CENSUS_ARRAY(mapped, "of these, mapped by processes"),
	CENSUS_ARRAY(charged, "of these, charged to a control group below the root"),
};

static const struct kind kinds[] = {
	KIND(REC_WHERE_LEDGER, struct where_ledger, "where_ledger", ledger_fields,
		"where the memory of the machine, a process or a group is at one time"),
	KIND(REC_WHERE_OWNER, struct where_owner, "where_owner", owner_fields,
		"who has a part of a row of a ledger"),
	KIND(REC_WHERE_ARENA, struct where_arena, "where_arena", arena_fields,
		"an arena of glibc's malloc in a process"),
	KIND(REC_WHERE_LIMIT, struct where_limit, "where_limit", limit_fields,
		"the memory and limits of a control group, or of one above it"),
	KIND(REC_WHERE_CENSUS, struct where_census, "where_census", census_fields,
		"pages of the machine by their own flags"),
};

static const struct opt own[] = {
	OPT(struct where_opts, "census", 0, OPT_FLAG, census, NULL,
		"also count the pages by their own flags, beside the ledger", NULL),
};

static const struct opt_group own_groups[] = {{"Pages", own, ARRAY_SIZE(own)}, {}};

static int opts_check(struct request *r, void *opts, struct err *err)
{
	const struct where_opts *o = opts;

	if (!o->census || r->input)
		return 0;
	if (r->pids || r->comm || r->cgroup || r->container || r->command)
		return err_set(err, -EINVAL,
			"--census is of the whole machine: it does not go with -p, -c, -g, -C or a "
			"command");
	return 0;
}

static const struct probe_options own_options = {
	.size = sizeof(struct where_opts),
	.groups = own_groups,
	.check = opts_check,
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
		"what is resident of a process, and what its allocator keeps of freed memory",
		"memwhy where -g /system.slice/nginx.service",
		"what is charged to a control group, and which limit is nearest",
		"memwhy where -o wide", "with the commands that look deeper and that free memory",
		"memwhy where --for 60s", "what grew within a minute",
		"memwhy where --census --table census",
		"what the pages themselves say, beside the ledger", NULL},
	.options = &own_options,
	.output = where_output,
	.sampler = &sampler,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.view = &where_view,
	.beside = beside,
	.borrows = true,
	.cheap = true,
};
