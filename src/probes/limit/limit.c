/* The limit probe: puts its programs and its sampler together, with the schema. */
#include "probes/limit/limit.h"

#include <errno.h>

#include "base/util.h"
#include "event/schema.h"
#include "probes/limit/limit_files.h"
#include "probes/limit/limit_opts.h"
#include "probes/limit/limit_sample.h"
#include "probes/limit/limit_view.h"
#include "probes/probe.h"

/* Where memwhy may run no programs, the rest of the group is known all the same. */
static const struct probe_bpf bpf = {
	.hooks = limit_hooks,
	.n_hooks = LIMIT_HOOKS,
	.state_size = sizeof(struct limit_state),
	.prepare = limit_prepare,
	.settle = limit_settle,
	.snapshot = limit_snapshot,
	.needs_btf = true,
	.optional = true,
};

static int opts_check(struct request *r, void *opts, struct err *err)
{
	(void)opts;
	if (r->input || r->cgroup || r->container)
		return 0;
	err_set(err, -EINVAL, "limit needs to know of which control group: -g or -C");
	return err_hint(err, "memwhy limit -g GROUP --for 10m");
}

static const struct opt own[] = {
	OPT(struct limit_opts, "keep-bits", 0, OPT_FLAG, keep_bits, NULL,
		"do not clear the accessed bits of the group's pages: what it touches through "
		"mappings is then not known, and there is no advice",
		NULL),
};

static const struct opt_group own_groups[] = {{"Use of mappings", own, ARRAY_SIZE(own)}, {}};

static const struct probe_options own_options = {
	.size = sizeof(struct limit_opts),
	.groups = own_groups,
	.check = opts_check,
};

#define GROUP(member_, type_, unit_, help_) FIELD(struct limit_group, member_, type_, unit_, help_)
#define MAPPED(member_, type_, unit_, help_) \
	FIELD(struct limit_mapped, member_, type_, unit_, help_)
#define FILES(member_, type_, unit_, help_) FIELD(struct limit_files, member_, type_, unit_, help_)

static const struct field group_fields[] = {
	GROUP(cgroup, FIELD_U64, UNIT_CGROUP, "control group"),
	GROUP(elapsed_ns, FIELD_U64, UNIT_NS, "time since the look began"),
	GROUP(version, FIELD_U32, UNIT_ID, "of its hierarchy: 1 or 2"),
	GROUP(cpus, FIELD_U32, UNIT_COUNT, "CPUs of the machine"),
	GROUP(dir, FIELD_U32, UNIT_STRING, "directory of the group"),
	GROUP(usage_bytes, FIELD_U64, UNIT_BYTES, "charged to it and to those below"),
	GROUP(limit_bytes, FIELD_U64, UNIT_BYTES, "its limit; 2^64-1: none"),
	GROUP(high_bytes, FIELD_U64, UNIT_BYTES, "memory.high; 2^64-1: none"),
	GROUP(anon_bytes, FIELD_U64, UNIT_BYTES, "anonymous memory"),
	GROUP(file_bytes, FIELD_U64, UNIT_BYTES, "page cache, without shared memory"),
	GROUP(shmem_bytes, FIELD_U64, UNIT_BYTES, "tmpfs and shared memory"),
	GROUP(kernel_bytes, FIELD_U64, UNIT_BYTES, "memory of the kernel and of sockets"),
	GROUP(locked_bytes, FIELD_U64, UNIT_BYTES, "not evictable; a part of the others"),
	GROUP(swap_bytes, FIELD_U64, UNIT_BYTES, "in swap"),
	GROUP(swap_free_bytes, FIELD_U64, UNIT_BYTES, "swap that is left for it"),
	GROUP(limit_hit_total, FIELD_U64, UNIT_COUNT, "times it met its limit"),
	GROUP(high_hit_total, FIELD_U64, UNIT_COUNT, "times it was above memory.high"),
	GROUP(refault_total, FIELD_U64, UNIT_COUNT, "pages that came back after reclaim"),
	GROUP(oom_total, FIELD_U64, UNIT_COUNT, "processes killed"),
	GROUP(some_us, FIELD_U64, UNIT_COUNT, "memory pressure: us in which some task stalled"),
	GROUP(full_us, FIELD_U64, UNIT_COUNT, "memory pressure: us in which all tasks did"),
	GROUP(read_bytes, FIELD_U64, UNIT_BYTES, "read by all disks and partitions since boot"),
	GROUP(read_ns, FIELD_U64, UNIT_NS, "that these reads took"),
};

static const struct field mapped_fields[] = {
	MAPPED(elapsed_ns, FIELD_U64, UNIT_NS, "time since the bits were cleared"),
	MAPPED(anon_bytes, FIELD_U64, UNIT_BYTES, "anonymous memory that was touched since"),
	MAPPED(file_bytes, FIELD_U64, UNIT_BYTES, "mapped files that were touched since"),
	MAPPED(rss_bytes, FIELD_U64, UNIT_BYTES, "resident memory of the processes, added up"),
	MAPPED(processes, FIELD_U32, UNIT_COUNT, "processes looked at"),
	MAPPED(refused, FIELD_U32, UNIT_COUNT, "processes that could not be looked at"),
	MAPPED(read_ns, FIELD_U64, UNIT_NS, "what reading took"),
};

static const struct field files_fields[] = {
	FILES(elapsed_ns, FIELD_U64, UNIT_NS, "time since counting began"),
	FILES(stride, FIELD_U32, UNIT_COUNT, "one page in so many is followed"),
	FILES(page_bytes, FIELD_U32, UNIT_BYTES, "size of a page"),
	FILES(followed, FIELD_U64, UNIT_COUNT, "pages that are followed"),
	FILES(room, FIELD_U64, UNIT_COUNT, "pages that could be"),
	FILES(reused, FIELD_U64, UNIT_COUNT, "of these, used more than once"),
	FILES(once, FIELD_U64, UNIT_COUNT, "used once"),
	FILES(ahead, FIELD_U64, UNIT_COUNT, "read ahead and not used"),
	FILES(again, FIELD_U64, UNIT_COUNT, "came into the page cache more than once"),
	FIELD_ARRAY(struct limit_files, first, FIELD_U64, UNIT_COUNT, LIMIT_PARTS,
		"pages used more than once, by when they were first used, in 16 parts of the time"),
	FIELD_ARRAY(struct limit_files, age, FIELD_U64, UNIT_COUNT, LIMIT_AGES,
		"pages by how long they have not been used: slot i is below 2^i s"),
};

static const struct kind kinds[] = {
	KIND(REC_LIMIT_GROUP, struct limit_group, "limit_group", group_fields,
		"a control group by its memory controller"),
	KIND(REC_LIMIT_MAPPED, struct limit_mapped, "limit_mapped", mapped_fields,
		"what the processes of a group have touched through their page tables"),
	KIND(REC_LIMIT_FILES, struct limit_files, "limit_files", files_fields,
		"pages of files that a group uses, sampled by page"),
};

const struct probe probe_limit = {
	.name = "limit",
	.summary = "How much memory does a control group need? A limit that fits",
	.details = limit_details,
	.examples = (const char *const[]){"memwhy limit -g /system.slice/nginx.service --for 10m",
		"what a service used in ten minutes, and the limit that fits",
		"memwhy limit -C 3f2a --for 10m", "the same of a container",
		"memwhy limit -g /build -i 60s --for 10m",
		"each minute, by all that was seen since the start",
		"memwhy limit -g /build --table ages --for 10m",
		"pages of files by how long they have not been used", NULL},
	.output = limit_output,
	.options = &own_options,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.sampler = &limit_sampler,
	.view = &limit_view,
	.recorded_by = "memwhy limit -g GROUP --record FILE",
	.only_named = true,
};
