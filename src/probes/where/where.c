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
	cgroup_mounts_read(&w->mounts);
	if (rc)
		return err_errno(err, rc, "where");
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

	if (!c->ending && now < w->next_ns)
		return 0;
	w->next_ns = now + (c->opt.command || !w->sample ? COMMAND_GAP_NS : GAP_NS);
	w->sample++;
	/* at the start the command's process is still memwhy */
	if (w->named && c->opt.command && w->sample == 1)
		return 0;
	/* what is over at once needs them only once */
	owners = w->named && (c->ending || w->sample == 2);
	if (w->named && is_of_group(w))
		return where_group_send(c, w);
	if (w->named && is_of_processes(w))
		return where_processes_send(c, w, true);
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
static void beside(const struct request *r, void *opts, struct company *ret)
{
	static const char *const now[] = {"holders", "cgroups", NULL};
	static const char *const longer[] = {"holders", "cgroups", "cache", NULL};
	static const char *const all[] = {"holders", "cgroups", "cache", "pages", NULL};
	bool taken = ((const struct where_opts *)opts)->taken;

	*ret = (struct company){.with = now};
	if (r->for_ns || r->interval_ns)
		*ret = (struct company){.with = taken ? all : longer,
			.some_named = (taken ? all : longer) + 2,
			.stacks = taken ? "kernel" : NULL,
			.outstanding = taken};
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
		"limit, swapped, proportional set size, lazily freed, page tables, of anonymous "
		"huge pages what was never written to and the error of that"),
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

#define RUNTIME(member_, type_, unit_, help_) \
	FIELD(struct where_runtime, member_, type_, unit_, help_)

static const struct field runtime_fields[] = {
	RUNTIME(tgid, FIELD_U32, UNIT_ID, "process"),
	RUNTIME(sample, FIELD_U32, UNIT_ID, "number of the look, as in the ledger"),
	RUNTIME(by, FIELD_U32, UNIT_ID,
		"0 Java, 1 Go, 2 Python, 3 Node.js, 4 jemalloc, 5 tcmalloc, 6 mimalloc"),
	RUNTIME(index, FIELD_U32, UNIT_ID, "of the parts of this process"),
	RUNTIME(name, FIELD_U32, UNIT_STRING, "the part"),
	RUNTIME(known, FIELD_U32, UNIT_HEX, "which of bytes are known, a bit each"),
	FIELD_ARRAY(struct where_runtime, bytes, FIELD_U64, UNIT_BYTES, WHERE_RUNTIME_BYTES,
		"reserved, committed, in use, kept without being used"),
	RUNTIME(decay_ms, FIELD_S64, UNIT_NONE,
		"jemalloc: milliseconds until dirty pages are given back; -1: never"),
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

#define FILE_(member_, type_, unit_, help_) FIELD(struct where_file, member_, type_, unit_, help_)

static const struct field file_fields[] = {
	FILE_(sample, FIELD_U32, UNIT_ID, "number of the look"),
	FILE_(row, FIELD_U32, UNIT_ID, "the row, as its place in the ledger"),
	FILE_(path, FIELD_U32, UNIT_STRING, "where it is"),
	FILE_(flags, FIELD_U32, UNIT_HEX, "1 open, 2 removed, 4 its path is not known"),
	FILE_(bytes, FIELD_U64, UNIT_BYTES, "its pages in memory"),
	FILE_(cgroup, FIELD_U64, UNIT_CGROUP, "control group of its first page; 0: none"),
	FILE_(cgroup_name, FIELD_U32, UNIT_STRING, "of one that was removed; 0: it was not"),
};

#define MOUNT(member_, type_, unit_, help_) FIELD(struct where_mount, member_, type_, unit_, help_)

static const struct field mount_fields[] = {
	MOUNT(sample, FIELD_U32, UNIT_ID, "number of the look"),
	MOUNT(row, FIELD_U32, UNIT_ID, "the row, as its place in the ledger"),
	MOUNT(mount, FIELD_U32, UNIT_STRING, "where it is mounted"),
	MOUNT(type, FIELD_U32, UNIT_STRING, "type of the file system"),
	MOUNT(files, FIELD_U64, UNIT_COUNT, "files with pages in memory"),
	MOUNT(bytes, FIELD_U64, UNIT_BYTES, "these pages"),
	MOUNT(partial, FIELD_U32, UNIT_NONE, "1: not all of its files were looked at"),
	MOUNT(tgid, FIELD_U32, UNIT_ID, "process in the mount namespace where it is; 0: memwhy's"),
};

#define REMOVED(member_, type_, unit_, help_) \
	FIELD(struct where_removed, member_, type_, unit_, help_)

static const struct field removed_fields[] = {
	REMOVED(sample, FIELD_U32, UNIT_ID, "number of the look"),
	REMOVED(name, FIELD_U32, UNIT_STRING, "name of its directory"),
	REMOVED(cgroup, FIELD_U64, UNIT_CGROUP, "control group"),
	REMOVED(files, FIELD_U64, UNIT_COUNT, "files whose first page is charged to it"),
	REMOVED(bytes, FIELD_U64, UNIT_BYTES, "their pages"),
	REMOVED(path, FIELD_U32, UNIT_STRING, "the largest of them"),
};

static const struct kind kinds[] = {
	KIND(REC_WHERE_LEDGER, struct where_ledger, "where_ledger", ledger_fields,
		"where the memory of the machine, a process or a group is at one time"),
	KIND(REC_WHERE_OWNER, struct where_owner, "where_owner", owner_fields,
		"who has a part of a row of a ledger"),
	KIND(REC_WHERE_ARENA, struct where_arena, "where_arena", arena_fields,
		"an arena of glibc's malloc in a process"),
	KIND(REC_WHERE_RUNTIME, struct where_runtime, "where_runtime", runtime_fields,
		"a part of the heap of a runtime or allocator in a process"),
	KIND(REC_WHERE_LIMIT, struct where_limit, "where_limit", limit_fields,
		"the memory and limits of a control group, or of one above it"),
	KIND(REC_WHERE_CENSUS, struct where_census, "where_census", census_fields,
		"pages of the machine by their own flags"),
	KIND(REC_WHERE_FILE, struct where_file, "where_file", file_fields,
		"pages in memory of a file"),
	KIND(REC_WHERE_MOUNT, struct where_mount, "where_mount", mount_fields,
		"pages in memory of the files of a file system"),
	KIND(REC_WHERE_REMOVED, struct where_removed, "where_removed", removed_fields,
		"files that keep a control group that was removed"),
};

static const struct opt own[] = {
	OPT(struct where_opts, "census", 0, OPT_FLAG, census, NULL,
		"also count the pages by their own flags, beside the ledger", NULL),
	OPT(struct where_opts, "files", 0, OPT_FLAG, files, NULL,
		"also tell which files, mounts and removed groups have the page cache, tmpfs and "
		"shared memory",
		NULL),
	OPT(struct where_opts, "taken", 0, OPT_FLAG, taken, NULL,
		"with --for: also tell which code of the kernel took pages meanwhile and keeps "
		"them, those that no counter knows too",
		NULL),
};

static const struct opt_group own_groups[] = {{"Pages", own, ARRAY_SIZE(own)}, {}};

static int opts_check(struct request *r, void *opts, struct err *err)
{
	const struct where_opts *o = opts;

	if (o->taken && !r->input && !r->for_ns && !r->interval_ns)
		return err_set(err, -EINVAL, "--taken is of an interval: it needs --for or -i");
	if ((!o->census && !o->files && !o->taken) || r->input)
		return 0;
	if (r->pids || r->comm || r->cgroup || r->container || r->command)
		return err_set(err, -EINVAL,
			"--%s is of the whole machine: it does not go with -p, -c, -g, -C or a "
			"command",
			o->census  ? "census"
			: o->files ? "files"
				   : "taken");
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
		"what the pages themselves say, beside the ledger",
		"memwhy where --files --table files",
		"which files the page cache, tmpfs and shared memory are",
		"memwhy where --taken --for 30s",
		"which code of the kernel took pages, those that no counter knows too", NULL},
	.options = &own_options,
	.output = where_output,
	.sampler = &sampler,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.view = &where_view,
	.beside = beside,
	.borrows = true,
	.aside = true,
	.cheap = true,
};
