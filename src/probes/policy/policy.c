/* The policy probe: its hooks, and what its table and ring become as records, with their schema. */
#include "probes/policy/policy.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "capture/kbtf.h"
#include "capture/names/names.h"
#include "capture/page_tables.h"
#include "capture/syscall_hook.h"
#include "capture/tracepoint.h"
#include "event/schema.h"
#include "probes/policy/policy_each.h"
#include "probes/policy/policy_host.h"
#include "probes/policy/policy_judge.h"
#include "probes/policy/policy_show.h"
#include "probes/policy/policy_view.h"
#include "probes/probe.h"

enum {
	OPT_PREEMPTIBLE = 1, /* raw tracepoints are */
	OPT_MIGRATED_8 = 2,  /* arguments of mm_migrate_pages: see policy.bpf.c */
	OPT_MIGRATED_7 = 4,
};

#define PLACES "pages by node, before and after"

static const struct attach_hook hooks[] = {
	{
		.data = "calls on memory policy",
		.required = true,
		.needs = "BTF, and raw tracepoints sys_enter, sys_exit",
		.methods = SYSCALL_METHODS,
	},
	{
		.data = POLICY_MOVED_DATA,
		.needs = "the tracepoint migrate:mm_migrate_pages",
		.methods =
			{
				{"tracepoint migrate:mm_migrate_pages", {"tp_migrated"}, {},
					OPT_PREEMPTIBLE},
				{"raw tracepoint mm_migrate_pages (8 arguments)",
					{"raw_migrated_8"}, {}, OPT_MIGRATED_8},
				{"raw tracepoint mm_migrate_pages (7 arguments)",
					{"raw_migrated_7"}, {}, OPT_MIGRATED_7},
			},
	},
};

static u32 policy_options(const struct capture *c)
{
	static u32 known;

	(void)c;
	if (!known) /* once: it costs a program */
		known = kbtf_raw_is_preemptible()                        ? OPT_PREEMPTIBLE
			: tracepoint_has_argument("mm_migrate_pages", 7) ? OPT_MIGRATED_8
									 : OPT_MIGRATED_7;
	return known | syscalls_options();
}

static const u32 calls[] = {CALL_MBIND, CALL_SET_MEMPOLICY, CALL_GET_MEMPOLICY, CALL_MIGRATE_PAGES,
	CALL_MOVE_PAGES, CALL_HOME_NODE};

#define RING_BYTES (1U << 20) /* without --each: all examples */

static int policy_prepare(struct bpf_object *obj, const struct capture *c)
{
	const struct policy_host *host = policy_host();
	struct policy_config config = host->config;
	struct syscalls_config syscalls = {.timed = 1};
	int rc;

	config.min_ns = c->opt.each ? c->opt.min_ns : 0;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		syscalls_want(&syscalls, SYSCALL_NATIVE, calls[i]);
	rc = syscalls_prepare(obj, &syscalls);
	if (!rc && !c->opt.each)
		rc = attach_set_entries(obj, "ring", RING_BYTES);
	if (!rc)
		rc = attach_set_const(obj, "config", &config, sizeof(config));
	return rc ? rc : place_prepare(obj);
}

static void places_tell(struct capture *c, struct attached *a)
{
	const struct policy_host *host = policy_host();

	(void)a;
	if (host->config.places)
		capture_method(c, PLACES, "page tables", NULL);
	else
		capture_missing(c, PLACES, host->missing,
			host->config.nodes == 1 ? "a second NUMA node" : NULL);
}

static void policy_survey(struct capture *c, struct attached *a)
{
	if (a)
		places_tell(c, a);
	else
		capture_not_permitted(c, PLACES);
}

static int attach(struct capture *c, struct attached *a, struct err *err)
{
	(void)err;
	places_tell(c, a);
	return 0;
}

/* `policy show` reads /proc only. */
static bool policy_wanted(const struct capture *c)
{
	return !capture_operand(c, POLICY_SHOW);
}

static int policy_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct policy_key *k = key;
	const struct agg_value *v = value;
	struct policy_agg r = REC_INIT(struct policy_agg, REC_POLICY_AGG, 0);

	names_task(c->names, k->tgid, k->tid, v->comm, v->cgroup);
	r.tgid = k->tgid;
	r.tid = k->tid;
	r.stack = names_stack(c->names, stacks, k->tgid, k->ustack, k->kstack);
	r.call = k->call;
	r.mode = k->mode;
	r.flags = k->flags;
	r.error = k->error;
	r.warnings = k->warnings;
	table_take_times(&r, v);
	r.timed = v->timed;
	r.pages = v->sum[POLICY_PAGES];
	r.moved = v->sum[POLICY_MOVED];
	r.unmoved = v->sum[POLICY_NOT_MOVED];
	r.on_before = v->sum[POLICY_ON_BEFORE];
	r.off_before = v->sum[POLICY_OFF_BEFORE];
	r.on_after = v->sum[POLICY_ON_AFTER];
	r.off_after = v->sum[POLICY_OFF_AFTER];
	r.cgroup = v->cgroup;
	memcpy(r.comm, v->comm, sizeof(r.comm));
	return capture_emit(c, &r.h);
}

/* What the programs could not look up, where the process still lives. */
static void map_find(struct capture *c, struct policy_call *e)
{
	bool ranged = e->call == CALL_MBIND || e->call == CALL_HOME_NODE;
	bool one = e->call == CALL_GET_MEMPOLICY && e->args[4] & GET_ADDR;
	const struct mapping *m = NULL;

	if (e->map == MAPPING_UNKNOWN && (ranged || one))
		m = mapping_find(&c->mappings, e->tgid, e->args[ranged ? 0 : 3]);
	if (!m)
		return;
	e->map = (u8)m->kind;
	e->map_start = m->start;
	e->map_end = m->end;
	e->flags |= m->shared ? POLICY_SHARED : 0;
	mapping_file(m, e->file);
}

static int policy_record(struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
{
	struct policy_call e;

	if (rec->kind != REC_POLICY_CALL || rec->size != sizeof(e))
		return 0;
	memcpy(&e, rec, sizeof(e));
	names_task(c->names, e.tgid, e.tid, e.comm, e.cgroup);
	e.ustack = names_stack(c->names, stacks, e.tgid, e.ustack, e.kstack);
	e.kstack = 0;
	map_find(c, &e);
	return capture_emit(c, &e.h);
}

static const struct probe_bpf bpf = {
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.options = policy_options,
	.prepare = policy_prepare,
	.wanted = policy_wanted,
	.attach = attach,
	.survey = policy_survey,
	.tables = {{"table", sizeof(struct policy_key), table_key_tgid, policy_added}},
	.record = policy_record,
	.single = true,
	.needs_btf = true,
};

#define CALL(member_, type_, unit_, help_) FIELD(struct policy_call, member_, type_, unit_, help_)
#define MAPPING(member_, type_, unit_, help_) \
	FIELD(struct policy_mapping, member_, type_, unit_, help_)

/* A member of a member, under a name of its own. */
#define INNER(name_, member_, type_, unit_, count_, help_)                                         \
	{                                                                                          \
		.name = (name_), .offset = offsetof(struct policy_call, member_), .type = (type_), \
		.unit = (unit_), .count = (count_), .help = (help_)                                \
	}
#define MASK(name_, i_, help_)                                                \
	INNER(name_, masks[i_].bits, FIELD_U64, UNIT_HEX, MASK_WORDS, help_), \
		INNER(name_ "_cut", masks[i_].cut, FIELD_U64, UNIT_HEX, 1,    \
			"of the last word of it, what maxnode cuts off"),     \
		INNER(name_ "_state", masks[i_].state, FIELD_U8, UNIT_HEX, 1, \
			"1 no pointer, 2 not mapped to its end, 4 longer than 1024 bits, 8 empty")
#define PAGES(name_, member_)                                                                      \
	INNER(name_ "_looked", member_.looked, FIELD_U32, UNIT_PAGES, 1, "pages looked at"),       \
		INNER(name_ "_on", member_.on, FIELD_U32, UNIT_PAGES, 1,                           \
			"of them, on a node that was asked for"),                                  \
		INNER(name_ "_at", member_.at, FIELD_U16, UNIT_PAGES, POLICY_PLACES,               \
			"of them, on each node up to 63; not there, in swap, on other nodes, not " \
			"known; ENOENT, EACCES, EBUSY, EFAULT, EIO, EINVAL, ENOMEM, other errors")

static const struct field call_fields[] = {
	CALL(tgid, FIELD_U32, UNIT_ID, "process"),
	CALL(tid, FIELD_U32, UNIT_ID, "thread"),
	CALL(ustack, FIELD_U32, UNIT_STACK, "where it was called"),
	CALL(start_ns, FIELD_U64, UNIT_NS, "when it began; 0: not known"),
	CALL(ns, FIELD_U64, UNIT_NS, "its duration"),
	CALL(ret, FIELD_S64, UNIT_NONE, "what it returned; an error is negative"),
	CALL(cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD_ARRAY(struct policy_call, args, FIELD_U64, UNIT_HEX, 6, "its arguments"),
	CALL(call, FIELD_U32, UNIT_ID,
		"number of the system call: 237 mbind, 238 set_mempolicy, 239 get_mempolicy, 256 "
		"migrate_pages, 279 move_pages, 450 set_mempolicy_home_node"),
	CALL(warnings, FIELD_U32, UNIT_HEX,
		"1 maxnode cuts nodes off, 2 empty mask, 4 nodes that cannot be used, 8 pages "
		"stayed elsewhere, 16 pages remained elsewhere, 32 page cache, 64 after memory was "
		"touched, 128 nodes too small, 256 pages not moved"),
	CALL(flags, FIELD_U32, UNIT_HEX,
		"1 before is known, 2 after is known, 4 a shared mapping, 8 usable is known, 16 "
		"status is known, 32 refused before it began, 64 answer is known"),
	CALL(answer, FIELD_S32, UNIT_NONE, "of get_mempolicy: mode, or node"),
	CALL(moved, FIELD_U64, UNIT_PAGES, "pages the kernel migrated in it"),
	CALL(unmoved, FIELD_U64, UNIT_PAGES, "pages it tried to migrate in vain"),
	CALL(anon_pages, FIELD_U64, UNIT_PAGES, "anonymous pages of the process; 0: not known"),
	CALL(map_start, FIELD_U64, UNIT_HEX, "begin of the mapping its range begins in"),
	CALL(map_end, FIELD_U64, UNIT_HEX, "end of that mapping"),
	MASK("nodes", 0, "node mask; of migrate_pages: from"),
	MASK("to_nodes", 1, "of migrate_pages: to"),
	FIELD_ARRAY(struct policy_call, usable, FIELD_U64, UNIT_HEX, MASK_WORDS,
		"nodes with memory that the task may use"),
	PAGES("before", before),
	PAGES("after", after),
	PAGES("wanted", wanted),
	PAGES("status", status),
	FIELD_ARRAY(struct policy_call, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
	FIELD_ARRAY(struct policy_call, file, FIELD_CHARS, UNIT_NONE, POLICY_FILE, "mapped file"),
	CALL(map, FIELD_U8, UNIT_ID,
		"mapping: 1 anonymous, 2 heap, 3 stack, 4 file, 5 shared memory, 6 hugetlb, 7 "
		"other"),
};

static const struct field mapping_fields[] = {
	MAPPING(tgid, FIELD_U32, UNIT_ID, "process"),
	MAPPING(policy, FIELD_U32, UNIT_STRING, "as numa_maps has it"),
	MAPPING(file, FIELD_U32, UNIT_STRING, "path of the file; 0: none"),
	MAPPING(map, FIELD_U8, UNIT_ID, "as in policy_call"),
	MAPPING(shared, FIELD_U8, UNIT_NONE, "1: a shared mapping"),
	MAPPING(start, FIELD_U64, UNIT_HEX, "its first address"),
	MAPPING(end, FIELD_U64, UNIT_HEX, "its end"),
	MAPPING(page_bytes, FIELD_U64, UNIT_BYTES, "size of the pages that follow"),
	FIELD_ARRAY(struct policy_mapping, nodes, FIELD_U32S, UNIT_NONE, 0,
		"for each node with pages of it: the node, the pages"),
};

static const struct kind kinds[] = {
	RECORD_KIND(REC_POLICY_AGG, struct policy_agg, "policy_agg", POLICY_AGG_FIELDS,
		"calls on memory policy of one kind and process, since the last such record"),
	KIND(REC_POLICY_CALL, struct policy_call, "policy_call", call_fields,
		"one call on memory policy; without --each only some with a warning or an error, "
		"which are then not in policy_agg"),
	KIND(REC_POLICY_MAPPING, struct policy_mapping, "policy_mapping", mapping_fields,
		"a mapping with its policy and the nodes of its pages"),
	RECORD_KIND(REC_POLICY_THREAD, struct policy_thread, "policy_thread", POLICY_THREAD_FIELDS,
		"a thread with its policy"),
	RECORD_KIND(REC_POLICY_NODE, struct policy_node, "policy_node", POLICY_NODE_FIELDS,
		"a node of the machine"),
};

/* What a real run printed: the example of the man page. */
static const char output[] =
	"$ memwhy policy -- numactl --interleave=0 sleep 0.1\n"
	"memwhy policy - Linux 6.18.44 - 2 CPUs, 1 node - command numactl\n"
	"0.3 s from 2026-11-21 20:08:07 UTC - events: policy 5 - none lost\n"
	"cost: 16.6 % of one CPU, BPF 634 us (70 ns a run), RSS 6.12 MiB\n"
	"\n"
	"Calls on memory policy\n"
	"  PID  COMM   CALL           MODE                 CALLS  FAILED     TIME      P50      "
	"P99      MAX\n"
	"22474  sleep  get_mempolicy  -                        2       0  1.76 us   512 ns  1.49 "
	"us  1.49 us\n"
	"22474  sleep  set_mempolicy  MPOL_DEFAULT             1       0   787 ns   768 ns   787 "
	"ns   787 ns\n"
	"22474  sleep  set_mempolicy  MPOL_PREFERRED_MANY      1       0  2.95 us  2.95 us  2.95 "
	"us  2.95 us\n"
	"22474  sleep  set_mempolicy  MPOL_INTERLEAVE          1       0  1.06 us  1.06 us  1.06 "
	"us  1.06 us\n"
	"... no room for MOVED, NOT MOVED; -o wide shows all\n"
	"\n"
	"NOT CHECKED\n"
	"   policy: pages by node, before and after: this host has one node\n"
	"\n"
	"$ memwhy policy --each -- numactl --membind=0 sleep 0.1\n"
	"    TIME      PID  COMM              RESULT                     DURATION  MAPPING\n"
	"  106 ms    22518  numactl           MPOL_DEFAULT                1.69 us  -\n"
	"    get_mempolicy(0x7ffdc8569390, {}, 1025, NULL, 0)\n"
	"  106 ms    22518  numactl           ok                          2.79 us  -\n"
	"    set_mempolicy(MPOL_PREFERRED_MANY, {0}, 1024)\n"
	"  106 ms    22518  numactl           ok                           871 ns  -\n"
	"    set_mempolicy(MPOL_DEFAULT, {}, 1025)\n"
	"  106 ms    22518  numactl           ok                           296 ns  -\n"
	"    get_mempolicy(NULL, NULL, 0, NULL, 0)\n"
	"  106 ms    22518  numactl           ok                           851 ns  -\n"
	"    set_mempolicy(MPOL_BIND, {0}, 1025)\n"
	"\n"
	"0.2 s from 2026-11-21 20:08:08 UTC - events: policy 5 - none lost\n"
	"cost: 19.3 % of one CPU, BPF 405 us (81 ns a run), RSS 12.1 MiB\n"
	"\n"
	"NOT CHECKED\n"
	"   policy: pages by node, before and after: this host has one node\n"
	"\n"
	"$ memwhy policy show -p 22545 --limit 4\n"
	"memwhy policy - Linux 6.18.44 - 2 CPUs, 1 node - pid 22545\n"
	"0.0 s from 2026-11-21 20:08:08 UTC\n"
	"cost: RSS 2.75 MiB\n"
	"\n"
	"Memory by node\n"
	"  PID  NODE      HERE    SHARE                                  NODE HAS      FREE\n"
	"22545     0  1.79 MiB  100.0 %  ##############################  13.7 GiB  10.7 GiB\n"
	"\n"
	"Mappings, their policies and pages\n"
	"ADDRESS             SIZE  MAPPING    POLICY    PRESENT  PAGES BY NODE         FILE\n"
	"0x7fd383d8f000  1.34 MiB  file       default   964 KiB  00000000000000000000  "
	"/usr/lib/x8.../libc.so.6\n"
	"0x7fd383ee5000   332 KiB  file       default   172 KiB  00000000000000000000  "
	"/usr/lib/x8.../libc.so.6\n"
	"0x7fd383d69000   152 KiB  file       default   152 KiB  00000000000000000000  "
	"/usr/lib/x8.../libc.so.6\n"
	"0x7fd383f61000   152 KiB  file       default   152 KiB  00000000000000000000  "
	"/usr/lib/x8...86-64.so.2\n"
	"0x7fd383d08000   348 KiB  file       default   128 KiB  00000000000000000000  "
	"/usr/lib/lo...8/LC_CTYPE\n";

static const char *const examples[] = {
	"memwhy policy --for 10s",
	"who sets or asks for NUMA policy in ten seconds, with what effect",
	"memwhy policy --each -p 1234",
	"each call of one process, decoded, with where its pages were and are",
	"memwhy policy --each -- numactl --interleave=all sleep 1",
	"what a command asks for",
	"memwhy policy --by call,error --stacks",
	"which calls fail, and the code that makes them",
	"memwhy policy show -p 1234",
	"the policies in force in a process, and on which nodes its pages are",
	NULL,
};

const struct probe probe_policy = {
	.name = "policy",
	.summary = "Who sets NUMA memory policy, with what effect",
	.operands = "[show]",
	.n_operands = 1,
	.details =
		"Looks at mbind, set_mempolicy, get_mempolicy, migrate_pages, move_pages and "
		"set_mempolicy_home_node. These calls only advise the kernel: they succeed while "
		"pages stay where they are. So each call is shown with its effect.\n\n"
		"Pages moved and not moved are the kernel's own numbers (migrate:mm_migrate_pages "
		"in the thread of the call; pgmigrate_success and pgmigrate_fail count the same). "
		"Pages by node, before and after, are read from the page tables of the caller as "
		"the call begins and ends: all pages of a range of up to 512 pages, and 512 "
		"spread over a larger one (sampled). The kernel's locks are not taken, so what "
		"other threads change at this time may be seen or not. This is done where there "
		"is more than one node, and /proc/kcore can be read. Pages of another process "
		"(migrate_pages, move_pages) are not looked at. The status array of move_pages is "
		"summed up, up to 512 of its entries.\n\n"
		"A node mask is read as the kernel does: maxnode is one more than the number of "
		"bits. Problems are found in every call: nodes that maxnode cuts off, masks that "
		"are empty or name nodes that the process cannot use (the kernel leaves them out "
		"silently), pages that stay elsewhere because no flag says to move them, policy "
		"on the page cache of files, policy set after memory was touched, MPOL_BIND to "
		"nodes that are too small. Without --each the first 64 calls with each problem "
		"come with all their details, so that one can be shown.\n\n"
		"`policy show -p PID` reads /proc/PID/numa_maps: the policy of each mapping, how "
		"its pages spread over the nodes, and the policy of each thread (from the first "
		"mapping in its own numa_maps, which hardly ever has a policy of its own). The "
		"kernel walks all page tables of the process for it.\n\n"
		"While it runs, every system call of the machine takes some 0.1 us longer. Calls "
		"of 32-bit and x32 programs are not looked at.",
	.examples = examples,
	.output = output,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.sampler = &policy_sampler,
	.view = &policy_view,
	.only_named = true,
};
