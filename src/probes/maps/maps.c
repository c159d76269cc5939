/* The maps probe: its hook, and what its tables and ring become as records, with their schema. */
#include "probes/maps/maps.h"

#include <string.h>

#include "base/clock.h"
#include "base/util.h"
#include "capture/kbtf.h"
#include "capture/names/names.h"
#include "capture/syscall_hook.h"
#include "event/schema.h"
#include "probes/maps/maps_host.h"
#include "probes/maps/maps_view.h"
#include "probes/probe.h"
#include "sys/group/pids_limit.h"
#include "sys/mount_room.h"
#include "sys/process/proc.h"
#include "sys/process/terminals.h"

#define MAPS_IN_BURSTS 1 /* an option of hooks */

static const struct attach_hook hooks[] = {
	{
		.data = MAPS_DATA_CALLS,
		.required = true,
		.needs = "the tracepoints of system calls",
		.methods = SYSCALL_METHODS,
	},
	{
		.data = "other calls that meet a limit",
		.only = MAPS_IN_BURSTS,
		.needs = "the raw tracepoint sys_exit",
		.methods = {{"raw tracepoint sys_exit, in bursts", {"call_fails"}, {}, 0}},
	},
};

/* Of x86-64, as in maps.bpf.c. */
static const u16 wanted[] = {2, 9, 10, 11, 12, 25, 28, 29, 30, 31, 67, 87, 149, 150, 151, 152, 216,
	257, 263, 319, 325, 329, 440};

/* Of check, that asks for calls that failed alone: those that map or lock, and forks. */
static const u16 wanted_failures[] = {9, 10, 11, 12, 25, 28, 56, 57, 58, 149, 151, 325, 329, 435};

/* In check. */
static bool maps_in_bursts(const struct capture *c)
{
	return c->opt.gentle && !capture_named(c);
}

static u32 maps_options(const struct capture *c)
{
	u32 had = syscalls_options();

	/* Each burst attaches again, and the right to open events (CAP_PERFMON) is given up by
	 * then. */
	return maps_in_bursts(c) ? (had & ~(u32)SYSCALLS_PREEMPTIBLE) | MAPS_IN_BURSTS : had;
}

/* By process and the like growth says it all; it is what is finer that unmaps elsewhere. */
static bool is_held(const struct capture *c)
{
	static const char *const finer[] = {"stack", "call", "kind", "mapping", "size", "error"};
	bool held = c->opt.each || c->opt.user_stacks;

	for (size_t i = 0; i < ARRAY_SIZE(finer) && !held; i++)
		held = capture_by(c, finer[i]);
	return held;
}

static int maps_prepare(struct bpf_object *obj, const struct capture *c)
{
	struct maps_config config = {
		.min_ns = c->opt.each ? c->opt.min_ns : 0,
		.comms = capture_by(c, "comm"),
		.mapping = capture_by(c, "mapping"),
		.sizes = capture_by(c, "size"),
		.held = is_held(c) && !maps_in_bursts(c),
		.failures = maps_in_bursts(c),
	};
	const u16 *numbers = config.failures ? wanted_failures : wanted;
	size_t n = config.failures ? ARRAY_SIZE(wanted_failures) : ARRAY_SIZE(wanted);
	struct syscalls_config calls = {.timed = 1};
	int rc;

	maps_limits_set(&config);
	for (size_t i = 0; i < n; i++)
		syscalls_want(&calls, SYSCALL_NATIVE, numbers[i]);
	rc = syscalls_prepare(obj, &calls);
	return rc ? rc : attach_set_const(obj, "config", &config, sizeof(config));
}

static u32 space_tgid(const void *key)
{
	u32 tgid;

	memcpy(&tgid, key, sizeof(tgid));
	return tgid;
}

/* What is released is taken off on the CPU that unmaps, where nothing may have been counted. */
static void maps_value_add(void *to, const void *cpu)
{
	struct agg_value *sum = to;
	const struct agg_value *v = cpu;

	table_agg.add(to, cpu);
	if (!v->count)
		sum->sum[MAPS_SUM_HELD] += v->sum[MAPS_SUM_HELD];
}

static void maps_value_subtract(void *from, const void *last)
{
	table_agg.subtract(from, last);
}

static const struct table_values call_values = {
	sizeof(struct agg_value), maps_value_add, maps_value_subtract};

/* An address space is as it was last; only its calls are a difference. */
static void space_add(void *to, const void *value)
{
	memcpy(to, value, sizeof(struct maps_space));
}

static void space_subtract(void *from, const void *last)
{
	((struct maps_space *)from)->calls -= ((const struct maps_space *)last)->calls;
}

static const struct table_values space_values = {
	sizeof(struct maps_space), space_add, space_subtract};

/* Of a fork that failed, and not for RLIMIT_NPROC: the group whose limit on tasks is nearest, or
 * the limit of the machine that is; by the counts a moment later. A group that the kernel says has
 * refused a task comes last. */
static void tasks_limit_take(struct capture *c, struct maps_agg *r)
{
	_cleanup_free_ struct pids_limit *limit = calloc(1, sizeof(*limit));
	bool grouped = limit && !pids_limit_read(r->tgid, limit);
	bool near = grouped && limit->current + 1 >= limit->max;
	enum tasks_limit machine = near ? TASKS_NEITHER : tasks_machine_limit(&r->object);

	if (machine) {
		r->why = machine == TASKS_PIDS ? MAPS_WHY_PIDS : MAPS_WHY_THREADS;
	} else if (near || (grouped && limit->refused)) {
		r->object = limit->max;
		r->where = names_string(c->names, limit->file);
	}
}

/* The line of /proc/PID/limits. */
static const char *const rlimits[MAPS_WHY_N] = {
	[MAPS_WHY_AS] = PROC_LIMIT_SPACE,
	[MAPS_WHY_DATA] = "Max data size",
	[MAPS_WHY_MEMLOCK] = "Max locked memory",
	[MAPS_WHY_FILES] = "Max open files",
	[MAPS_WHY_SIGNALS] = "Max pending signals",
	[MAPS_WHY_NPROC] = "Max processes",
};

/* Of a tmpfs that is full: where it is mounted, and how large it may be. */
static void tmpfs_limit_take(struct capture *c, struct maps_agg *r)
{
	struct mount_room room;

	if (mount_room_read(r->tgid, (u32)r->object, &room) &&
		mount_room_read((u32)getpid(), (u32)r->object, &room)) {
		r->object = 0;
		return;
	}
	r->object = room.bytes;
	r->where = names_string(c->names, room.point);
}

/* A name could not be made: of a tmpfs without a free inode, else it is a disk's matter. */
static bool inodes_limit_take(struct capture *c, struct maps_agg *r)
{
	struct mount_room room;

	if (mount_inodes_full(r->tgid, &room))
		return false;
	r->object = room.inodes;
	r->where = names_string(c->names, room.point);
	return true;
}

/* A file could not be opened for want of room: if it is for pseudo-terminals, all are taken. */
static bool terminals_limit_take(struct capture *c, struct maps_agg *r)
{
	struct terminals t;

	if (terminals_read(r->tgid, &t) || !terminals_full(&t))
		return false;
	r->why = MAPS_WHY_TERMINALS;
	r->object = t.max;
	r->hard = t.setting;
	r->where = names_string(c->names, t.mount[0] ? t.mount : NULL);
	return true;
}

static bool failures_due(struct capture *c)
{
	(void)c;
	return true;
}

static int failures_done(struct capture *c, u64 on_ns, u64 covered_ns)
{
	struct maps_sampled r = REC_INIT(struct maps_sampled, REC_MAPS_SAMPLED, 0);

	r.on_ns = on_ns;
	r.covered_ns = covered_ns;
	return capture_emit(c, &r.h);
}

static const struct probe_bursts bursts = {
	/* Three tenths of the time; the period is no part of a second, so that a program that tries
	 * again each second is not missed each time. */
	.length_ns = 220 * NSEC_PER_MSEC,
	.every_ns = 730 * NSEC_PER_MSEC,
	.due = failures_due,
	.done = failures_done,
};

/* Of a process that may not be there for long: who started it, from whom it has its limits. */
static void rlimit_take(struct capture *c, struct maps_agg *r)
{
	_cleanup_str_ struct str label = {};
	struct proc_stat stat;
	u64 soft;

	(void)proc_limit_read((int)r->tgid, rlimits[r->why], &soft, &r->hard);
	r->start_ns = UINT64_MAX;
	if (proc_stat_read((int)r->tgid, &stat))
		return;
	r->start_ns = proc_start_ns(&stat);
	if (proc_limit_read(stat.ppid, rlimits[r->why], &r->parent_soft, &r->parent_hard) ||
		proc_label_read((u32)stat.ppid, &label))
		return;
	r->parent_tgid = (u32)stat.ppid;
	r->parent = names_string(c->names, str_get(&label));
}

static int call_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct maps_key *k = key;
	const struct agg_value *v = value;
	struct maps_agg r = REC_INIT(struct maps_agg, REC_MAPS_AGG, 0);

	names_task(c->names, k->tgid, k->tid, v->comm, v->cgroup);
	r.h.flags = is_held(c) ? MAPS_HELD_KNOWN : 0;
	r.tgid = k->tgid;
	r.tid = k->tid;
	r.stack = names_stack(c->names, stacks, k->tgid, k->ustack, 0);
	r.detail = k->detail;
	r.object = k->object;
	r.length = k->length;
	r.error = k->error;
	r.call = k->call;
	r.kind = k->kind;
	r.why = k->why;
	table_take_times(&r, v);
	r.timed = v->timed;
	r.length_bytes = v->sum[MAPS_SUM_LENGTH];
	r.added_bytes = v->sum[MAPS_SUM_ADDED];
	r.taken_bytes = v->sum[MAPS_SUM_TAKEN];
	r.held_bytes = (s64)v->sum[MAPS_SUM_HELD];
	r.mixed = v->sum[MAPS_SUM_MIXED];
	r.cgroup = v->cgroup;
	memcpy(r.comm, k->comm[0] ? k->comm : v->comm, sizeof(r.comm));
	memcpy(r.name, v->name, sizeof(r.name));
	if (r.why == MAPS_WHY_TASKS)
		tasks_limit_take(c, &r);
	if (r.why == MAPS_WHY_INODES && !inodes_limit_take(c, &r) && !terminals_limit_take(c, &r))
		return 0;
	if (r.why == MAPS_WHY_FULL)
		tmpfs_limit_take(c, &r);
	if (r.why < MAPS_WHY_N && rlimits[r.why])
		rlimit_take(c, &r);
	return capture_emit(c, &r.h);
}

static int space_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct maps_space *s = value;
	struct maps_process r = REC_INIT(struct maps_process, REC_MAPS_PROCESS, 0);

	(void)stacks;
	if (!s->mm)
		return 0; /* without BTF, or no call has ended yet */
	r.tgid = space_tgid(key);
	names_task(c->names, r.tgid, 0, s->comm, s->cgroup);
	r.execs = s->execs;
	r.calls = s->calls;
	r.first_bytes = s->first_pages * MAPS_PAGE;
	r.last_bytes = s->last_pages * MAPS_PAGE;
	r.first_data_bytes = s->first_data * MAPS_PAGE;
	r.last_data_bytes = s->last_data * MAPS_PAGE;
	r.mappings = s->mappings;
	r.cgroup = s->cgroup;
	memcpy(r.comm, s->comm, sizeof(r.comm));
	return capture_emit(c, &r.h);
}

static int maps_record(struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
{
	struct maps_event e = *(const struct maps_event *)rec;

	if (rec->kind != REC_MAPS_CALL || rec->size != sizeof(e))
		return 0;
	names_task(c->names, e.tgid, e.tid, e.comm, e.cgroup);
	e.ustack = names_stack(c->names, stacks, e.tgid, e.ustack, 0);
	e.kstack = 0;
	return capture_emit(c, &e.h);
}

static const struct probe_bpf bpf = {
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.options = maps_options,
	.prepare = maps_prepare,
	.bursts = &bursts,
	.tables =
		{
			{"table", sizeof(struct maps_key), table_key_tgid, call_added,
				.values = &call_values},
			{"spaces", sizeof(u32), space_tgid, space_added, .values = &space_values,
				.derived = true},
		},
	.record = maps_record,
};

static const struct kind kinds[] = {
	RECORD_KIND(REC_MAPS_AGG, struct maps_agg, "maps_agg", MAPS_AGG_FIELDS,
		"calls of one kind, process and place, since the last such record"),
	RECORD_KIND(REC_MAPS_CALL, struct maps_event, "maps_call", MAPS_EVENT_FIELDS, "one call"),
	RECORD_KIND(REC_MAPS_PROCESS, struct maps_process, "maps_process", MAPS_PROCESS_FIELDS,
		"an address space, when it was changed"),
	RECORD_KIND(REC_MAPS_LIMIT, struct maps_limit, "maps_limit", MAPS_LIMIT_FIELDS,
		"a limit or size of the machine, when it has changed"),
	RECORD_KIND(REC_MAPS_SAMPLED, struct maps_sampled, "maps_sampled", MAPS_SAMPLED_FIELDS,
		"only calls that failed were counted, in bursts: for how long"),
};

static const char *const examples[] = {
	"memwhy maps --for 10s",
	"who maps and unmaps memory in ten seconds, and which address spaces grew",
	"memwhy maps --by stack -p 1234",
	"the code paths of one process that map memory, and what they still hold",
	"memwhy maps --by kind,mapping -- sort big.txt",
	"the files and other memory that a command maps",
	"memwhy maps --each -c postgres",
	"each call as it ends, with arguments and result",
	"memwhy maps --each --min 1ms",
	"the calls that took a millisecond or more",
	"memwhy maps --like mmapsnoop",
	"the lines of an older tool; brkstack and shmsnoop are there too",
	NULL,
};

const struct probe probe_maps = {
	.name = "maps",
	.summary = "Who maps memory, which address spaces grow, and which calls fail",
	.details = maps_details,
	.examples = examples,
	.output = maps_output,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.sampler = &maps_sampler,
	.view = &maps_view,
	.only_named = true,
	.aside = true,
	.cheap = true, /* in bursts */
};
