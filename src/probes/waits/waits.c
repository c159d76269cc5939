/* The waits probe: hooks, and what its tables become as records. */
#include "probes/waits/waits.h"

#include <string.h>

#include "capture/names/names.h"
#include "probes/probe.h"
#include "sys/process/proc.h"
#include "sys/root.h"

static const struct attach_hook hooks[] = {
	{
		.data = "waits for locks of address spaces",
		.counts = true,
		.needs = "lock:contention_begin (Linux 5.19) and kernel BTF",
		.methods = {{"raw tracepoints contention_*", {"wait_begins", "wait_ends"}, {}, 0}},
	},
	{
		.data = "sleeps of writers for the disk",
		.counts = true,
		.needs = "writeback:balance_dirty_pages and kernel BTF",
		.methods = {{"tracepoint balance_dirty_pages", {"writer_waits"}, {}, 0}},
	},
	{
		.data = "who makes control groups",
		.counts = true,
		.needs = "raw tracepoints cgroup_*",
		.methods = {{"raw tracepoints cgroup_mkdir, _rmdir",
			{"group_made", "group_removed"}, {}, 0}},
	},
	{
		.data = "who takes memory on each CPU",
		.counts = true,
		.needs = "raw tracepoint percpu_alloc_percpu",
		.methods = {{"raw tracepoint percpu_alloc_percpu", {"percpu_made"}, {}, 0}},
	},
	{
		.data = "who forks large address spaces",
		.counts = true,
		.needs = "raw tracepoint sched_process_fork and kernel BTF",
		.methods = {{"raw tracepoint sched_process_fork", {"forked"}, {}, 0}},
	},
};

static int lock_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct waits_lock_key *k = key;
	const struct agg_value *v = value;
	struct waits_lock r = REC_INIT(struct waits_lock, REC_WAITS_LOCK, 0);

	names_added(c->names, stacks, k, v, &r);
	table_take_times(&r, v);
	r.space = k->space;
	r.holder = k->holder;
	r.flags = k->flags;
	r.call = k->call;
	r.holder_call = k->holder_call;
	memcpy(r.holder_comm, v->name, sizeof(r.holder_comm));
	if (k->flags & WAITS_HOLDER_KNOWN && k->holder != k->tgid)
		names_task(c->names, k->holder, 0, v->name, 0);
	return capture_emit(c, &r.h);
}

/* "vda" for "254:0", where the kernel has a name for it. */
static void device_name(char device[16])
{
	_cleanup_str_ struct str text = {};
	const char *name;

	if (sys_read(&text, "/sys/dev/block/%.15s/uevent", device))
		return;
	name = strstr(str_get(&text), "DEVNAME=");
	if (name) {
		name += strlen("DEVNAME=");
		snprintf(device, 16, "%.*s", (int)strcspn(name, "\n"), name);
	}
}

static int dirty_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct waits_dirty_key *k = key;
	const struct agg_value *v = value;
	struct waits_dirty r = REC_INIT(struct waits_dirty, REC_WAITS_DIRTY, 0);

	names_added(c->names, stacks, k, v, &r);
	r.count = v->count;
	r.total_ns = v->total_ns;
	r.max_ns = v->max_ns;
	r.dirtied_pages = v->sum[WAITS_DIRTIED];
	r.owner = k->owner;
	memcpy(r.device, k->device, sizeof(r.device));
	device_name(r.device);
	return capture_emit(c, &r.h);
}

static u32 parent_name(struct capture *c, u32 tgid)
{
	_cleanup_str_ struct str label = {};

	return tgid && !proc_label_read(tgid, &label) ? names_string(c->names, str_get(&label)) : 0;
}

static int made_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct waits_made_key *k = key;
	const struct agg_value *v = value;
	struct waits_made r = REC_INIT(struct waits_made, REC_WAITS_MADE, 0);

	names_added(c->names, stacks, k, v, &r);
	r.kind = k->kind;
	r.count = v->count;
	r.bytes = v->sum[WAITS_MADE_BYTES];
	r.cut = !!v->sum[WAITS_MADE_CUT];
	if (k->kind < WAITS_PERCPU) {
		r.parent_tgid = (u32)v->sum[WAITS_MADE_PARENT];
		r.parent = parent_name(c, r.parent_tgid);
	}
	memcpy(r.where, v->name, sizeof(r.where) - 1);
	return capture_emit(c, &r.h);
}

static const struct probe_bpf bpf = {
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.tables =
		{
			{"locks", sizeof(struct waits_lock_key), table_key_tgid, lock_added},
			{"dirty", sizeof(struct waits_dirty_key), table_key_tgid, dirty_added},
			{"made", sizeof(struct waits_made_key), table_key_tgid, made_added},
		},
	.needs_btf = true,
	.frequent = true,
	.optional = true,
};

#define LOCK(member_, type_, unit_, help_) FIELD(struct waits_lock, member_, type_, unit_, help_)

static const struct field lock_fields[] = {
	LOCK(tgid, FIELD_U32, UNIT_ID, "process that waited"),
	LOCK(tid, FIELD_U32, UNIT_ID, "thread; 0: not counted by thread"),
	LOCK(stack, FIELD_U32, UNIT_STACK, "where it waited"),
	LOCK(space, FIELD_U32, UNIT_ID, "process whose address space was locked"),
	LOCK(holder, FIELD_U32, UNIT_ID,
		"process that had the lock as the wait began; 0: not known"),
	LOCK(flags, FIELD_U16, UNIT_HEX,
		"1 for change, 2 held by readers, 4 call known, 8 holder known, 16 holder_call "
		"known"),
	LOCK(call, FIELD_U16, UNIT_ID, "system call in which it waited; 65535: a page fault"),
	LOCK(holder_call, FIELD_U16, UNIT_ID, "system call in which the holder was, the same"),
	LOCK(count, FIELD_U64, UNIT_COUNT, "waits"),
	LOCK(total_ns, FIELD_U64, UNIT_NS, "their time"),
	LOCK(max_ns, FIELD_U64, UNIT_NS, "the longest, since the start"),
	LOCK(cgroup, FIELD_U64, UNIT_CGROUP, "cgroup of the process that waited"),
	FIELD_ARRAY(struct waits_lock, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
	FIELD_ARRAY(struct waits_lock, holder_comm, FIELD_CHARS, UNIT_NONE, AGG_NAME_LEN,
		"name of the holder's thread"),
	FIELD_ARRAY(struct waits_lock, hist, FIELD_U32S, UNIT_COUNT, AGG_SLOTS,
		"durations: slot i has those of 2^(i-1) ns and more"),
};

static const struct kind kinds[] = {
	KIND(REC_WAITS_LOCK, struct waits_lock, "waits_lock", lock_fields,
		"waits for the lock of an address space since the last such record"),
	RECORD_KIND(REC_WAITS_DIRTY, struct waits_dirty, "waits_dirty", WAITS_DIRTY_FIELDS,
		"sleeps of writers until dirty pages are written"),
	RECORD_KIND(REC_WAITS_MADE, struct waits_made, "waits_made", WAITS_MADE_FIELDS,
		"control groups and memory on each CPU that a process made, since the last such "
		"record"),
};

const struct probe probe_waits = {
	.name = "waits",
	.summary = "Who waits for locks of address spaces and for the disk; who makes groups",
	.details =
		"Times the waits for mmap_lock, with who had it, and the sleeps in which the "
		"kernel holds writers back while the disk writes. Counts who makes and removes "
		"control groups, and who takes memory on each CPU. It feeds `memwhy check` and has "
		"no command of its own.",
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.aside = true,
	.cheap = true,
};
