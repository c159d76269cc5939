/*
 * The one program that counts any event. It is loaded once for each event, as the type that event
 * takes (capture/clone.h), so the context goes to helpers only. All of `config` is known to the
 * verifier: of the loops below it leaves what the event needs.
 */
#include "bpf/common.bpf.h"
#include "probes/count/count.h"

const volatile struct count_config config = {};

/* Not 0: now. All events count from one moment to another, though attaching hundreds of them takes
 * a while. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} counting SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1); /* the probe sets the real sizes */
	__uint(key_size, COUNT_WORDS * sizeof(u64));
	__uint(value_size, sizeof(struct count_value));
} table SEC(".maps");

/* Events of system calls, at COUNT_CALL_EVENT. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* 2 * COUNT_SYSCALLS */
	__type(key, u32);
	__type(value, u32);
} call_events SEC(".maps");

static const struct count_value value_zero = {};

static __always_inline u64 number_field(void *ctx, const volatile struct count_source *s)
{
	u32 unused = 64 - 8 * s->size;
	u64 v = 0;

	bpf_probe_read_kernel(&v, s->size & 15, ctx + s->offset);
	return s->is_signed ? (u64)((s64)(v << unused) >> unused) : v;
}

static __always_inline u64 number(void *ctx, const volatile struct count_source *s)
{
	switch (s->from) {
	case COUNT_FIELD:
		return number_field(ctx, s);
	case COUNT_PID:
		return bpf_get_current_pid_tgid() >> 32;
	case COUNT_TID:
		return (u32)bpf_get_current_pid_tgid();
	case COUNT_CPU:
		return bpf_get_smp_processor_id();
	case COUNT_NODE:
		return (u32)bpf_get_numa_node_id();
	case COUNT_CGROUP:
		return current_cgroup_id();
	}
	return 0;
}

/* Into COUNT_TEXT zeroed bytes. */
static __always_inline void text(void *ctx, const volatile struct count_source *s, void *to)
{
	u64 at = 0;

	if (s->from == COUNT_CHARS) {
		bpf_probe_read_kernel_str(to, s->size & 63, ctx + s->offset);
		return;
	}
	bpf_probe_read_kernel(&at, s->size & 15, ctx + s->offset);
	if (s->from == COUNT_DATA_LOC)
		bpf_probe_read_kernel_str(to, COUNT_TEXT, ctx + (at & 0xffff));
	else if (s->from == COUNT_REL_LOC)
		bpf_probe_read_kernel_str(to, COUNT_TEXT, ctx + s->offset + 4 + (at & 0xffff));
	else if (s->from == COUNT_KERNEL)
		bpf_probe_read_kernel_str(to, COUNT_TEXT, (void *)at);
	else
		bpf_probe_read_user_str(to, COUNT_TEXT, (void *)at);
}

static __always_inline bool test_text(void *ctx, const volatile struct count_test *t)
{
	u64 v[COUNT_TEXT / 8] = {}, differs = 0;

	if (t->source.from == COUNT_COMM)
		bpf_get_current_comm(v, COMM_LEN);
	else
		text(ctx, &t->source, v);
#pragma unroll
	for (int i = 0; i < COUNT_TEXT / 8; i++)
		differs |= (v[i] ^ t->text[i]) & t->mask[i];
	return !differs;
}

static __always_inline bool test(void *ctx, const volatile struct count_test *t)
{
	u64 v;

	if (t->source.from >= COUNT_COMM)
		return test_text(ctx, t);
	v = number(ctx, &t->source);
	switch (t->op) {
	case COUNT_EQUAL:
		return v == t->value;
	case COUNT_BELOW:
		return t->source.is_signed ? (s64)v < (s64)t->value : v < t->value;
	case COUNT_ABOVE:
		return t->source.is_signed ? (s64)v > (s64)t->value : v > t->value;
	}
	return v & t->value;
}

/* The comparisons only lead forward. */
static __always_inline bool passes(void *ctx)
{
	u32 at = 0;

	if (!config.n_tests)
		return true;
#pragma unroll
	for (u32 i = 0; i < COUNT_TESTS; i++)
		if (i < config.n_tests && at == i)
			at = test(ctx, &config.tests[i]) ? config.tests[i].yes : config.tests[i].no;
	return at == COUNT_PASS;
}

static __always_inline void key_part(void *ctx, const volatile struct count_source *s, u64 *to)
{
	if (s->from == COUNT_NOTHING || s->from == COUNT_PID)
		return; /* the process is in the first word */
	if (s->from == COUNT_STACK) {
		u64 user = stack_take(ctx, BPF_F_USER_STACK);

		*to = user | (u64)stack_kernel(ctx, config.skip) << 32;
	} else if (s->from == COUNT_COMM) {
		bpf_get_current_comm(to, COMM_LEN);
	} else if (s->from > COUNT_COMM) {
		text(ctx, s, to);
	} else {
		*to = number(ctx, s);
	}
}

static __always_inline struct count_value *value_get(const u64 *key)
{
	struct count_value *v = bpf_map_lookup_elem(&table, key);

	if (v)
		goto found;
	/* -EEXIST: another CPU was faster */
	bpf_map_update_elem(&table, key, &value_zero, BPF_NOEXIST);
	v = bpf_map_lookup_elem(&table, key);
	if (!v) {
		count_add(lost_map);
		return 0;
	}
found:
	if (config.task && !v->count) {
		bpf_get_current_comm(v->comm, sizeof(v->comm));
		v->cgroup = current_cgroup_id();
	}
	return v;
}

static __always_inline void value_sum(struct count_value *v, u64 x)
{
	bool is_signed = config.sum.is_signed;

	v->sum += x;
	if (!v->count || (is_signed ? (s64)x < (s64)v->min : x < v->min))
		v->min = x;
	if (!v->count || (is_signed ? (s64)x > (s64)v->max : x > v->max))
		v->max = x;
}

struct syscall_record {
	u64 common;
	s64 number;
};

static __always_inline u32 *call_event(void *ctx)
{
	struct syscall_record r = {};
	u32 at;

	bpf_probe_read_kernel(&r, sizeof(r), ctx);
	at = COUNT_CALL_EVENT(config.by_call, (u32)r.number);
	return bpf_map_lookup_elem(&call_events, &at);
}

static __always_inline void event(void *ctx)
{
	u64 pid_tgid = bpf_get_current_pid_tgid();
	struct probe_counts *c;
	struct count_value *v;
	u32 zero = 0, *on, *by_call;
	u64 key[COUNT_WORDS];

	on = bpf_map_lookup_elem(&counting, &zero);
	if (!on || !*on || !scope_match(pid_tgid) || !passes(ctx))
		return;
	key[0] = config.event;
	if (config.by_call) {
		by_call = call_event(ctx);
		if (!by_call)
			return;
		key[0] = *by_call;
	}
	c = counts();
	if (!c)
		return;
	c->seen++;
	if (config.task)
		key[0] |= pid_tgid >> 32 << 32;
#pragma unroll
	for (u32 i = 1; i < COUNT_WORDS; i++)
		if (i < config.n_words)
			key[i] = 0;
#pragma unroll
	for (u32 i = 0; i < COUNT_KEYS; i++)
		key_part(ctx, &config.keys[i], &key[config.keys[i].word & 31]);
	v = value_get(key);
	if (!v)
		return;
	if (config.sum.from)
		value_sum(v, number(ctx, &config.sum));
	if (config.hist.from) {
		u64 x = number(ctx, &config.hist);
		u32 slot;

		if (config.hist.is_signed && (s64)x < 0)
			x = 0;
		slot = log2_slot(x, COUNT_SLOTS - 1);
		v->hist[slot < COUNT_SLOTS ? slot : 0]++; /* the verifier does not know */
	}
	v->count++;
	return;
}

SEC("clone")
int count(void *ctx)
{
	event(ctx);
	return config.returns;
}

/*
 * Hundreds of events of system calls at once: one program on each of raw_syscalls:sys_enter and
 * sys_exit, whose records are those of syscalls:sys_enter_NAME and sys_exit_NAME, goes on to the
 * event's own program by the number of the call. A tracepoint each would take an RCU grace period
 * each to leave.
 *
 * Like those events it leaves out compat calls, whose numbers are others (trace_get_syscall_nr in
 * kernel/trace/trace_syscalls.c), and those of x32, by their number.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1); /* COUNT_SYSCALLS */
	__type(key, u32);
	__type(value, u32);
} enters SEC(".maps"), exits SEC(".maps");

/* linux/thread_info.h of x86; the task begins with it (CONFIG_THREAD_INFO_IN_TASK). */
struct thread_info {
	u32 status;
} __attribute__((preserve_access_index));

struct task_struct___status {
	struct thread_info thread_info;
} __attribute__((preserve_access_index));

#define TS_COMPAT 2

static __always_inline bool call_is_compat(void)
{
	struct task_struct___status *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, thread_info.status) & TS_COMPAT;
}

SEC("tracepoint/raw_syscalls/sys_enter")
int syscall_enter(struct syscall_record *r)
{
	if (!call_is_compat())
		bpf_tail_call(r, &enters, (u32)r->number);
	return 1;
}

SEC("tracepoint/raw_syscalls/sys_exit")
int syscall_exit(struct syscall_record *r)
{
	if (!call_is_compat())
		bpf_tail_call(r, &exits, (u32)r->number);
	return 1;
}
