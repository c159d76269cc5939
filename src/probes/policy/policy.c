/* The policy probe: its hooks, and what its table and ring become as records. */
#include "probes/policy/policy.h"

#include <errno.h>
#include <string.h>

#include "capture/kbtf.h"
#include "capture/names.h"
#include "capture/place.h"
#include "capture/syscalls.h"
#include "capture/tracepoint.h"
#include "probes/policy/policy_each.h"
#include "probes/policy/policy_host.h"
#include "probes/policy/policy_judge.h"
#include "probes/policy/policy_kinds.h"
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

static u32 options(const struct capture *c)
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

static int prepare(struct bpf_object *obj, const struct capture *c)
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

static void survey(struct capture *c, struct attached *a)
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
static bool wanted(const struct capture *c)
{
	return !capture_operand(c, POLICY_SHOW);
}

static int added(
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

static int record(struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
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
	.options = options,
	.prepare = prepare,
	.wanted = wanted,
	.attach = attach,
	.survey = survey,
	.tables = {{"table", sizeof(struct policy_key), table_key_tgid, added}},
	.record = record,
	.single = true,
	.needs_btf = true,
};

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
	.output = policy_output,
	.kinds = policy_kinds,
	.n_kinds = POLICY_KINDS,
	.bpf = &bpf,
	.sampler = &policy_sampler,
	.view = &policy_view,
	.only_named = true,
};
