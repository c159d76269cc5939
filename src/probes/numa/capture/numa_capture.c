/* See numa_capture.h. */
#include "probes/numa/capture/numa_capture.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "capture/kbtf.h"
#include "capture/kernel_settings.h"
#include "capture/names/names.h"
#include "capture/page_tables.h"
#include "capture/ring.h"
#include "capture/watch.h"
#include "probes/numa/capture/numa_balance.h"
#include "probes/numa/capture/numa_blocks.h"
#include "probes/numa/capture/numa_config.h"
#include "probes/numa/capture/numa_hardware.h"
#include "probes/numa/capture/numa_known.h"
#include "probes/numa/capture/numa_place.h"
#include "probes/numa/capture/numa_source.h"
#include "probes/numa/capture/numa_untold.h"
#include "probes/numa/numa_opts.h"
#include "sys/host.h"

enum {
	OPT_PREEMPTIBLE = 1, /* raw tracepoints are */
	OPT_NODES = 2,       /* there is more than one */
	OPT_HINT = 4,
	OPT_TOUCH = 8,
};

struct numa_state {
	struct numa_known known;
	struct settings *settings;
	struct numa_hardware *hardware; /* NULL: not in use */
	int scope_tasks;                /* descriptor of the map */
	u32 want;                       /* enum numa_wanted: the source in use */
	u32 passed;                     /* those before it, that do not work here */
	u64 drained_ns;                 /* accesses before were all told of */
	char why[3][NUMA_WHY_LEN];      /* of each: why not */
	struct numa_untold untold[2];   /* at the begin, at the end */
};

#define WAKE_BYTES (16U << 10) /* a quarter of the smallest ring of a CPU */
#define HINTS "NUMA hint faults, pages moved"

static int touch_aim(struct perf_event_attr *attr, int cpu)
{
	(void)cpu;
	attr->sample_period = NUMA_TOUCH_PERIOD;
	return 0;
}

static const struct attach_hook hooks[] = {
	{
		.data = HINTS,
		.only = OPT_HINT,
		.required = true,
		.needs = "CONFIG_NUMA_BALANCING, CAP_SYS_ADMIN, two free debug registers, BTF",
		.methods =
			{
				{"watchpoints on the kernel's counters", {},
					{WATCHPOINT("watch_hint", WATCH_NUMA_HINT_FAULTS),
						WATCHPOINT(
							"watch_moved", WATCH_NUMA_PAGES_MIGRATED)},
					0},
			},
	},
	{
		.data = "first touches, one in 64",
		.only = OPT_TOUCH,
		.required = true,
		.needs = "perf_event_open",
		.methods =
			{
				{"software event of minor faults, page tables", {},
					{{"page_touch", PERF_TYPE_SOFTWARE,
						PERF_COUNT_SW_PAGE_FAULTS_MIN, touch_aim}},
					0},
			},
	},
	{
		.data = "addresses of faults",
		.only = OPT_HINT,
		.required = true,
		.helps = true, /* reading a user's stack faults too, within the watchpoint's program
				*/
		.needs = "the exceptions tracepoints (x86)",
		.methods =
			{
				{"tracepoints exceptions:page_fault_*",
					{"tp_fault_user", "tp_fault_kernel"}, {}, OPT_PREEMPTIBLE},
				{"raw tracepoints exceptions:page_fault_*",
					{"raw_fault_user", "raw_fault_kernel"}, {}, 0},
			},
	},
	{
		.data = "mappings and policies made, moved and gone",
		.counts = true,
		.needs = "the tracepoint raw_syscalls:sys_exit",
		.methods =
			{
				{"tracepoint raw_syscalls:sys_exit", {"tp_call_end"}, {},
					OPT_PREEMPTIBLE},
				{"raw tracepoint sys_exit", {"raw_call_end"}, {}, 0},
			},
	},
	{
		.data = "tasks that come and go",
		.counts = true,
		.methods =
			{
				{"raw tracepoints sched_process_*",
					{"task_fork", "task_exec", "task_exit"}, {}, 0},
			},
	},
	{
		.data = "threads that go to another node",
		.only = OPT_NODES,
		.counts = true,
		.methods =
			{
				{"raw tracepoint sched_migrate_task", {"thread_move"}, {}, 0},
			},
	},
};

static const struct host *host(void)
{
	static struct host found;

	if (!found.nodes)
		host_read(&found);
	return &found;
}

static u32 numa_capture_options(const struct capture *c)
{
	const struct numa_state *s = c->state;
	u32 want = s ? s->want : NUMA_WANT_HINT | NUMA_WANT_TOUCH;

	return (kbtf_raw_is_preemptible() ? OPT_PREEMPTIBLE : 0) |
	       (host()->nodes > 1 ? OPT_NODES : 0) | (want & NUMA_WANT_HINT ? OPT_HINT : 0) |
	       (want & NUMA_WANT_TOUCH ? OPT_TOUCH : 0);
}

/* 0: it is open. */
static int hardware_try(const struct capture *c, char why[NUMA_WHY_LEN])
{
	struct numa_state *s = c->state;
	struct numa_event_spec specs[NUMA_SPECS];
	size_t n = numa_hardware_specs(specs, why);

	if (!n)
		return -ENODEV;
	if (c->opt.scope.comm[0] || c->opt.scope.cgroup_id) {
		snprintf(why, NUMA_WHY_LEN, "hardware samples are unavailable with -c, -g or -C");
		return -EOPNOTSUPP;
	}
	return numa_hardware_open(specs, n, &s->hardware, why);
}

/* Where rights or BTF are missing no source works: attaching says that. */
static int hint_try(const struct capture *c, char why[NUMA_WHY_LEN])
{
	static const enum watch both[] = {WATCH_NUMA_HINT_FAULTS, WATCH_NUMA_PAGES_MIGRATED};
	int mode = numa_balancing_mode(), rc;

	if (mode < 0) {
		snprintf(why, NUMA_WHY_LEN, "the kernel has no automatic NUMA balancing");
		return -EOPNOTSUPP;
	}
	if (!mode && !OPTS_OF(struct numa_opts, c->opts)->balancing) {
		snprintf(why, NUMA_WHY_LEN,
			"kernel.numa_balancing is 0; --balancing turns it on while memwhy runs");
		return -EOPNOTSUPP;
	}
	rc = kbtf_available() ? watch_try(both, ARRAY_SIZE(both)) : 0;
	if (rc == -ENOSPC)
		snprintf(why, NUMA_WHY_LEN,
			"it takes two debug registers of each CPU, and they are in use");
	else if (rc && rc != -EPERM && rc != -EACCES)
		snprintf(why, NUMA_WHY_LEN, "watchpoints on the kernel's counters: %s",
			strerror(-rc));
	else
		rc = 0;
	return rc;
}

/* 0: this source works here; else it says why not. */
static int source_try(const struct capture *c, int want, char why[NUMA_WHY_LEN])
{
	if (want == NUMA_WANT_HARDWARE)
		return hardware_try(c, why);
	return want == NUMA_WANT_HINT ? hint_try(c, why) : 0;
}

static u32 source_index(u32 want)
{
	return (u32)__builtin_ctz(want);
}

/* The first source that works. */
static int capture_open(struct capture *c, struct err *err)
{
	const char *at = OPTS_OF(struct numa_opts, c->opts)->source
				 ? OPTS_OF(struct numa_opts, c->opts)->source
				 : NUMA_SOURCES_DEFAULT;
	struct numa_state *s = c->state;
	int rc = numa_sources_check(c, err), want;

	s->want = s->passed = 0;
	c->blocks_wanted = true;
	numa_known_init(&s->known);
	while (!rc && !s->want && (want = numa_source_next(&at)) > 0) {
		if (!source_try(c, want, s->why[source_index((u32)want)]))
			s->want = (u32)want;
		else
			s->passed |= (u32)want;
	}
	if (rc || s->want)
		return rc;
	want = __builtin_ctz(s->passed);
	err_set(err, -EOPNOTSUPP, "no source of accesses works here: %s: %s",
		numa_wanted_name(1U << want), s->why[want]);
	return err_hint(err, "--source first-touch needs no PMU and no balancing");
}

/* Says why better sources are not in use, and changes what was asked for. */
static int capture_attach(struct capture *c, struct attached *a, struct err *err)
{
	struct numa_state *s = c->state;
	const char *missing;
	char data[48];
	int rc = 0;

	s->scope_tasks = attach_map(a, "scope_tasks");
	if (s->hardware)
		rc = capture_method(
			c, "samples from hardware", "perf_event_open: PEBS or IBS", NULL);
	for (u32 i = 0; i < ARRAY_SIZE(s->why) && !rc; i++) {
		snprintf(data, sizeof(data), "samples from %s", numa_wanted_name(1U << i));
		if (s->passed & 1U << i)
			rc = capture_method(c, data, NULL, s->why[i]);
	}
	if (!rc && place_known(&missing) && host()->nodes > 1)
		rc = capture_method(c, "nodes of pages", NULL, missing);
	rc = rc ? rc : numa_blocks_missing(c);
	rc = rc ? rc : numa_balancing_change(c, &s->settings, err);
	if (!rc && s->hardware)
		numa_hardware_start(s->hardware);
	if (!rc && s->want == NUMA_WANT_HINT)
		numa_untold_read(a, &s->untold[0]);
	return rc;
}

static int numa_capture_prepare(struct bpf_object *obj, const struct capture *c)
{
	struct numa_config config = {.only_node = numa_only_node(), .wake_bytes = WAKE_BYTES};
	u8 nodes[NUMA_CPUS_TOLD] = {};
	int rc = attach_set_const(obj, "numa_config", &config, sizeof(config));

	(void)c;
	for (u32 i = 0; i < (u32)NUMA_CPUS_TOLD; i++)
		if (idset_has(&host()->cpus_online, i))
			nodes[i] = (u8)(host()->cpu_node[i] + 1);
	rc = rc ? rc : attach_set_const(obj, "cpu_nodes", nodes, sizeof(nodes));
	rc = rc ? rc : ring_prepare(obj, "rings");
	return rc ? rc : place_prepare(obj);
}

static struct numa_known *known_of(const struct capture *c)
{
	return &((struct numa_state *)c->state)->known;
}

static int sample_send(
	struct capture *c, const struct stack_maps *stacks, const struct numa_event *e)
{
	struct numa_sample s = e->sample;
	int rc = numa_know_thread(known_of(c), c, &s, e->tls);

	rc = rc ? rc : numa_know_variables(known_of(c), c, &s, e->tls);
	rc = rc ? rc : numa_block_ask(c, &s);
	s.h.size = sizeof(s);
	s.ustack = names_stack(c->names, stacks, s.tgid, s.ustack, s.kstack);
	s.kstack = 0;
	return rc ? rc : capture_emit(c, &s.h);
}

static int numa_capture_mapping_send(
	struct capture *c, const struct stack_maps *stacks, const struct numa_event *e)
{
	struct numa_mapping m = e->mapping;
	int rc;

	m.h.size = sizeof(m);
	m.ustack = names_stack(c->names, stacks, m.tgid, m.ustack, m.kstack);
	m.kstack = 0;
	rc = numa_mapping_complete(known_of(c), c, &m);
	return !rc && m.bytes ? capture_emit(c, &m.h) : rc;
}

/* Of another program all mappings are told, of a fork none: they are its parent's. */
static int numa_capture_task_send(struct capture *c, const struct numa_event *e)
{
	struct numa_task t = e->task;
	int rc = 0;

	t.h.size = sizeof(t);
	if (t.what != NUMA_TASK_EXEC)
		numa_forget_thread(known_of(c), t.tid);
	if (t.what == NUMA_TASK_EXEC || t.what == NUMA_TASK_EXIT)
		numa_forget_process(known_of(c), t.tgid);
	if (t.what != NUMA_TASK_EXIT && t.what != NUMA_TASK_THREAD_EXIT)
		rc = numa_tls_thread(&known_of(c)->tls, t.tgid, t.tid, t.tls, t.h.time_ns);
	rc = rc ? rc : numa_blocks_task(c, &t);
	rc = rc ? rc : capture_emit(c, &t.h);
	if (!rc && t.what == NUMA_TASK_EXEC)
		rc = numa_know_process(known_of(c), c, t.tgid, t.h.time_ns);
	return rc;
}

static int move_send(struct capture *c, const struct numa_event *e)
{
	struct numa_move m = e->move;

	m.h.size = sizeof(m);
	return capture_emit(c, &m.h);
}

static int numa_capture_thread_send(struct capture *c, const struct numa_event *e)
{
	struct numa_thread_move m = e->thread;

	m.h.size = sizeof(m);
	return capture_emit(c, &m.h);
}

static int policy_send(
	struct capture *c, const struct stack_maps *stacks, const struct numa_event *e)
{
	struct numa_policy p = e->policy;

	p.h.size = sizeof(p);
	p.ustack = names_stack(c->names, stacks, p.tgid, p.ustack, p.kstack);
	p.kstack = 0;
	return capture_emit(c, &p.h);
}

/* The process that an event is the first of. A fork's mappings are those of its parent; those of
 * another program are told after its begin. */
static int process_know(struct capture *c, const struct numa_event *e)
{
	u8 what = e->h.kind == REC_NUMA_TASK ? e->task.what : 0;
	u32 tgid = e->sample.tgid;
	int rc = 0;

	if (what == NUMA_TASK_EXEC)
		return 0;
	if (what == NUMA_TASK_FORK) {
		rc = numa_know_copy(known_of(c), tgid);
		numa_data_fork(&known_of(c)->data, tgid, e->task.parent);
		tgid = e->task.parent;
	}
	return rc ? rc : numa_know_process(known_of(c), c, tgid, e->h.time_ns - 1);
}

static int numa_capture_record(
	struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
{
	const struct numa_event *e = (const void *)rec;
	int rc;

	if (rec->size != sizeof(*e))
		return 0;
	if (e->comm[0])
		names_task(c->names, e->sample.tgid, e->sample.tid, e->comm, e->cgroup);
	rc = process_know(c, e);
	if (rc)
		return rc;
	switch (rec->kind) {
	case REC_NUMA_SAMPLE:
		return sample_send(c, stacks, e);
	case REC_NUMA_MAP:
		return numa_capture_mapping_send(c, stacks, e);
	case REC_NUMA_TASK:
		return numa_capture_task_send(c, e);
	case REC_NUMA_MOVE:
		return move_send(c, e);
	case REC_NUMA_THREAD_MOVE:
		return numa_capture_thread_send(c, e);
	case REC_NUMA_POLICY:
		return policy_send(c, stacks, e);
	}
	return 0;
}

struct hardware_take {
	struct capture *c;
	u64 *events;
};

static bool numa_capture_in_scope(const struct capture *c, const struct numa_sample *s)
{
	const struct numa_state *state = c->state;
	u8 one;

	return !(c->opt.scope.by_task || c->opt.scope.tasks.n) ||
	       !bpf_map_lookup_elem(state->scope_tasks, &s->tgid, &one) ||
	       !bpf_map_lookup_elem(state->scope_tasks, &s->tid, &one);
}

static int hardware_take(void *arg, struct numa_sample *s, u64 phys)
{
	struct hardware_take *t = arg;
	int rc;

	if (!numa_capture_in_scope(t->c, s))
		return 0;
	++*t->events;
	if (s->cpu >= 0 && s->cpu < IDSET_MAX)
		s->cpu_node = host()->cpu_node[s->cpu];
	if (phys && place_node(phys) >= 0) {
		s->page_node = place_node(phys);
		s->node_from = NUMA_PAGE_FRAME;
	} else if (s->level == NUMA_LOCAL_RAM) {
		s->page_node = s->cpu_node;
		s->node_from = NUMA_PAGE_LEVEL;
	}
	rc = numa_know_process(known_of(t->c), t->c, s->tgid, s->h.time_ns - 1);
	rc = rc ? rc : numa_know_variables(known_of(t->c), t->c, s, 0);
	rc = rc ? rc : numa_block_ask(t->c, s);
	return rc ? rc : capture_emit(t->c, &s->h);
}

static int hardware_settle(struct capture *c, u64 *events)
{
	struct hardware_take take = {c, events};
	struct numa_state *s = c->state;
	int rc;

	if (!s->hardware)
		return 0;
	if (c->ending)
		numa_hardware_stop(s->hardware);
	rc = numa_hardware_read(s->hardware, hardware_take, &take);
	if (!rc && c->ending && numa_hardware_lost(s->hardware))
		rc = capture_note(c, NOTE_WARNING, "%llu samples of hardware found no room",
			numa_hardware_lost(s->hardware));
	return rc;
}

/* Samples of hardware come by rings of their own. */
static int capture_settle(
	struct capture *c, struct attached *a, const struct stack_maps *stacks, u64 *events)
{
	struct numa_state *s = c->state;
	int rc = hardware_settle(c, events);

	(void)stacks;
	rc = rc ? rc : numa_untold_settle(a, c, s->untold);
	return rc ? rc : numa_blocks_settle(c, &s->drained_ns);
}

static void capture_stop(struct capture *c, struct attached *a)
{
	struct numa_state *s = c->state;

	if (s->want == NUMA_WANT_HINT)
		numa_untold_read(a, &s->untold[1]);
}

static void capture_end(struct capture *c)
{
	struct numa_state *s = c->state;

	numa_hardware_close(s->hardware);
	s->hardware = NULL;
	settings_restore(s->settings);
	s->settings = NULL;
	numa_known_free(&s->known);
}

const struct probe_bpf numa_bpf = {
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.options = numa_capture_options,
	.prepare = numa_capture_prepare,
	.record = numa_capture_record,
	.rings = "rings",
	.state_size = sizeof(struct numa_state),
	.open = capture_open,
	.attach = capture_attach,
	.settle = capture_settle,
	.stop = capture_stop,
	.close = capture_end,
	.needs_btf = true,
	.single = true,
};
