/* The syscalls probe: its hooks, and what its tables and ring become as records, with their schema.
 */
#include "probes/syscalls/syscalls.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "base/util.h"
#include "capture/names/names.h"
#include "event/schema.h"
#include "probes/probe.h"
#include "probes/syscalls/syscalls_copies.h"
#include "probes/syscalls/syscalls_flight.h"
#include "probes/syscalls/syscalls_line.h"
#include "probes/syscalls/syscalls_opts.h"
#include "probes/syscalls/syscalls_view.h"
#include "probes/syscalls/syscalls_words.h"
#include "sys/calls/syscall_args.h"
#include "sys/calls/syscalls.h"
#include "sys/kernel/tracefs.h"

enum {
	OPT_ENDS = 1,
	OPT_MEMORY = 2,
};

#define SW PERF_TYPE_SOFTWARE
#define MINOR PERF_COUNT_SW_PAGE_FAULTS_MIN
#define MAJOR PERF_COUNT_SW_PAGE_FAULTS_MAJ

static const struct attach_hook hooks[] = {
	{
		.data = "system calls",
		.required = true,
		.needs = "CONFIG_FTRACE_SYSCALLS",
		.methods = SYSCALL_METHODS,
	},
	SYSCALL_SPARE_HOOK,
	{
		.data = "ends of processes",
		.only = OPT_ENDS,
		.methods =
			{
				{"tracepoint sched:sched_process_exit", {"flight_exit_tp"}, {},
					SYSCALLS_PREEMPTIBLE},
				{"raw tracepoint sched_process_exit", {"flight_exit"}, {}, 0},
			},
	},
	{
		.data = "time in page faults",
		.only = OPT_MEMORY,
		.needs = "the exceptions tracepoints (x86)",
		.methods =
			{
				{"tracepoint page_fault_kernel, software events",
					{"fault_begin_tp"},
					{{"fault_end", SW, MINOR}, {"fault_end", SW, MAJOR}},
					SYSCALLS_PREEMPTIBLE},
				{"raw tracepoint page_fault_kernel, software events",
					{"fault_begin"},
					{{"fault_end", SW, MINOR}, {"fault_end", SW, MAJOR}},
					SYSCALLS_BY_TASK},
				{"raw tracepoint page_fault_kernel, software events",
					{"fault_begin_hash"},
					{{"fault_end_hash", SW, MINOR},
						{"fault_end_hash", SW, MAJOR}},
					0},
			},
	},
	{
		.data = "time in reclaim",
		.only = OPT_MEMORY,
		.needs = "the vmscan tracepoints",
		.methods =
			{
				{"tracepoints mm_vmscan_*_reclaim_*",
					{"reclaim_begin_tp", "reclaim_end_tp", "memcg_begin_tp",
						"memcg_end_tp"},
					{}, SYSCALLS_PREEMPTIBLE},
				{"raw tracepoints mm_vmscan_*_reclaim_*",
					{"reclaim_begin", "reclaim_end", "memcg_begin",
						"memcg_end"},
					{}, SYSCALLS_BY_TASK},
				{"raw tracepoints mm_vmscan_*_reclaim_*",
					{"reclaim_begin_hash", "reclaim_end_hash",
						"memcg_begin_hash", "memcg_end_hash"},
					{}, 0},
			},
	},
	{
		.data = "time in compaction",
		.only = OPT_MEMORY,
		.needs = "CONFIG_COMPACTION",
		.methods =
			{
				{"tracepoints mm_compaction_*",
					{"compact_begin_tp", "compact_end_tp"}, {},
					SYSCALLS_PREEMPTIBLE},
				{"raw tracepoints mm_compaction_*",
					{"compact_begin", "compact_end"}, {}, SYSCALLS_BY_TASK},
				{"raw tracepoints mm_compaction_*",
					{"compact_begin_hash", "compact_end_hash"}, {}, 0},
			},
	},
};

/* Once the command line was found to be right, when the view was made. */
static struct syscalls_wish wish_of(const struct capture *c)
{
	const struct syscalls_opts *o = OPTS_OF(struct syscalls_opts, c->opts);
	struct syscalls_wish w;
	struct err err = {};

	syscalls_wish_parse(c->opt.operands, c->opt.n_operands, o->flight, o->dump_on, &w, &err);
	return w;
}

/* Before its view is made. */
static int syscalls_opts_check(struct request *r, void *opts, struct err *err)
{
	const struct syscalls_opts *o = opts;

	if (o->flight && (r->each || r->stacks || o->no_times || o->with_memory))
		return err_set(err, -EINVAL,
			"--flight keeps calls: it takes no --each, --stacks, --with-memory or "
			"--no-times");
	if (o->flight && r->by && strcmp(r->by, "process") != 0 && strcmp(r->by, "cgroup") != 0)
		return err_set(err, -EINVAL, "--flight takes --by process or --by cgroup only");
	if (o->no_times && (r->min_ns || o->with_memory))
		return err_set(
			err, -EINVAL, "--no-times excludes --min and --with-memory, which time");
	if (!r->min_ns || r->each)
		return 0;
	err_set(err, -EINVAL, "--min needs --each");
	return err_hint(err, "--flight --dump-on 'slow>200ms' shows what came before");
}

static u32 syscalls_probe_options(const struct capture *c)
{
	struct syscalls_wish w = wish_of(c);

	return syscalls_options() |
	       (OPTS_OF(struct syscalls_opts, c->opts)->with_memory ? OPT_MEMORY : 0) |
	       (w.dump_exit || w.dump_crash || (w.flight && capture_by(c, "process")) ? OPT_ENDS
										      : 0);
}

static void config_set(struct syscalls_probe_config *config, const struct capture *c,
	const struct syscalls_wish *w)
{
	*config = (struct syscalls_probe_config){
		.comms = capture_by(c, "comm"),
		.copies = c->opt.each || w->flight,
		.flight = w->flight,
		.by_process = w->flight && capture_by(c, "process"),
		.memory = OPTS_OF(struct syscalls_opts, c->opts)->with_memory,
		.dump_exit = w->dump_exit,
		.dump_crash = w->dump_crash,
		.dump_error = w->dump_error,
		.dump_ns = w->dump_ns,
		/* by_task is set with -- CMD, where its process waits for us to be ready */
		.command =
			c->opt.scope.by_task && c->opt.scope.tasks.n ? c->opt.scope.tasks.v[0] : 0,
		.min_ns = c->opt.each ? c->opt.min_ns : 0,
	};
	if (config->copies)
		syscalls_copies_set(config);
}

/* The command's execve has to be seen also where it was not asked for. */
static u8 exec_add(struct syscalls_config *set)
{
	static const char *const names[] = {"execve", "execveat"};
	u8 silent = 0;

	for (u8 i = 0; i < ARRAY_SIZE(names) && !set->all; i++) {
		struct syscalls_config asked = *set;

		syscalls_want_name(set, names[i]);
		if (memcmp(&asked, set, sizeof(asked)) != 0)
			silent |= (u8)(1 << i);
	}
	return silent;
}

static u32 key_size(const struct capture *c)
{
	if (capture_by(c, "comm"))
		return sizeof(struct syscalls_key);
	return capture_by(c, "thread") || c->opt.user_stacks ? SYSCALLS_KEY_UNNAMED
							     : SYSCALLS_KEY_LEAST;
}

static u32 syscalls_key_tgid(const void *key)
{
	const struct syscalls_key *k = key;

	return k->tgid_abi & ((1U << SYSCALLS_KEY_ABI) - 1);
}

static int syscalls_probe_prepare(struct bpf_object *obj, const struct capture *c)
{
	struct syscalls_wish w = wish_of(c);
	struct syscalls_probe_config *config = calloc(1, sizeof(*config));
	int rc;

	if (!config)
		return -ENOMEM;
	config_set(config, c, &w);
	config->silent_exec = config->command ? exec_add(&w.set) : 0;
	w.set.timed = w.flight || !OPTS_OF(struct syscalls_opts, c->opts)->no_times;
	w.set.ends_only = !w.set.timed && !c->opt.each;
	rc = syscalls_prepare(obj, &w.set);
	if (!rc)
		rc = bpf_map__set_key_size(bpf_object__find_map_by_name(obj, "calls"), key_size(c));
	if (!rc && w.flight)
		rc = flight_prepare(obj, &w, config);
	if (!rc)
		rc = attach_set_const(obj, "config", config, sizeof(*config));
	free(config);
	return rc;
}

static void syscalls_value_add(void *to, const void *cpu)
{
	struct syscalls_value *sum = to;
	const struct syscalls_value *v = cpu;

	if (!v->count)
		return;
	if (!sum->count) {
		sum->cgroup = v->cgroup;
		memcpy(sum->comm, v->comm, sizeof(sum->comm));
	}
	if (v->timed)
		sum->min_ns = sum->timed ? MIN(sum->min_ns, v->min_ns) : v->min_ns;
	sum->max_ns = MAX(sum->max_ns, v->max_ns);
	sum->count += v->count;
	sum->timed += v->timed;
	sum->errors += v->errors;
	sum->refused += v->refused;
	sum->total_ns += v->total_ns;
	for (size_t i = 0; i < SYSCALLS_PARTS; i++) {
		sum->part_ns[i] += v->part_ns[i];
		sum->part_n[i] += v->part_n[i];
	}
	for (size_t i = 0; i < AGG_SLOTS; i++)
		sum->hist[i] += v->hist[i];
}

static void syscalls_value_subtract(void *from, const void *before)
{
	struct syscalls_value *v = from;
	const struct syscalls_value *last = before;

	v->count -= last->count;
	v->timed -= last->timed;
	v->errors -= last->errors;
	v->refused -= last->refused;
	v->total_ns -= last->total_ns;
	for (size_t i = 0; i < SYSCALLS_PARTS; i++) {
		v->part_ns[i] -= last->part_ns[i];
		v->part_n[i] -= last->part_n[i];
	}
	for (size_t i = 0; i < AGG_SLOTS; i++)
		v->hist[i] -= last->hist[i];
}

static const struct table_values values = {
	sizeof(struct syscalls_value), syscalls_value_add, syscalls_value_subtract};

static int call_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct syscalls_value *v = value;
	struct syscalls_key k = {};
	struct {
		u32 tgid, tid, ustack, kstack;
	} who;
	struct syscalls_agg r = REC_INIT(struct syscalls_agg, REC_SYSCALLS_AGG, 0);

	memcpy(&k, key, key_size(c));
	who = (__typeof__(who)){syscalls_key_tgid(&k), k.tid, k.ustack, 0};
	names_added(c->names, stacks, &who, v, &r);
	r.nr = k.nr;
	r.abi = (u8)(k.tgid_abi >> SYSCALLS_KEY_ABI);
	r.count = v->count;
	r.timed = v->timed;
	r.errors = v->errors;
	r.refused = v->refused;
	r.total_ns = v->total_ns;
	r.min_ns = v->min_ns;
	r.max_ns = v->max_ns;
	memcpy(r.part_ns, v->part_ns, sizeof(r.part_ns));
	memcpy(r.part_n, v->part_n, sizeof(r.part_n));
	memcpy(r.hist, v->hist, sizeof(r.hist));
	if (k.comm[0])
		memcpy(r.comm, k.comm, sizeof(r.comm));
	return capture_emit(c, &r.h);
}

static int error_added(
	struct capture *c, const struct stack_maps *stacks, const void *key, const void *value)
{
	const struct sum_value *v = value;
	const struct syscalls_error_key *k = key;
	struct syscalls_error r = REC_INIT(struct syscalls_error, REC_SYSCALLS_ERROR, 0);

	(void)stacks;
	r.tgid = k->tgid;
	r.tid = k->tid;
	r.nr = k->nr;
	r.abi = k->abi;
	r.error = k->error;
	r.count = v->count;
	r.cgroup = v->cgroup;
	memcpy(r.comm, k->comm[0] ? k->comm : v->comm, sizeof(r.comm));
	return capture_emit(c, &r.h);
}

/* As the kernel's metadata has them, of a call that there is no table of. */
static int args_send(struct capture *c, const struct syscalls_call *e)
{
	const char *name = syscalls_name(e->abi, e->nr);
	_cleanup_tracepoint_format_ struct tracepoint_format format = {};
	_cleanup_str_ struct str text = {};
	char dir[PATH_MAX], event[64];
	bool args = false;

	snprintf(event, sizeof(event), "sys_enter_%.50s", name ? name : "");
	if (!name || tracefs_find(dir) || tracepoint_format_read(dir, "syscalls", event, &format))
		return 0;
	vec_each (f, &format.fields) {
		if (args)
			str_addf(&text, "%s%s %s", text.len ? ", " : "", f->type, f->name);
		args |= !strcmp(f->name, "__syscall_nr");
	}
	return capture_enum(c, SYSCALLS_ARGS_SET, (u64)e->abi << 32 | e->nr, str_get(&text));
}

int syscalls_call_send(struct capture *c, const struct syscalls_call *e)
{
	struct syscalls_state *s = c->state;
	u32 bit = e->nr % SYSCALL_NUMBERS;

	if (syscalls_args_known(e->abi, e->nr) || !syscalls_name(e->abi, e->nr) ||
		s->args_sent[bit / 64] >> bit % 64 & 1)
		return capture_emit(c, (struct rec *)&e->h);
	s->args_sent[bit / 64] |= 1ULL << bit % 64;
	return args_send(c, e) ?: capture_emit(c, (struct rec *)&e->h);
}

/* A record as long as any, to be changed: those in the ring must not be. */
struct call_room {
	struct syscalls_call call;
	char text[1024];
};

static int call_record(struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
{
	struct call_room room;
	struct syscalls_call *e = &room.call;
	u32 used;

	if (rec->size < sizeof(*e) || rec->size > sizeof(room))
		return 0;
	memcpy(&room, rec, rec->size);
	if (!syscalls_call_valid(e))
		return 0;
	used = (u32)sizeof(*e) + syscalls_copied_bytes(e);
	memset((char *)&room + used, 0, e->h.size - used);
	names_event(c->names, stacks, e);
	return syscalls_call_send(c, e);
}

static int syscalls_record(
	struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
{
	if (rec->kind == REC_SYSCALLS_CALL)
		return call_record(c, stacks, rec);
	if (rec->kind == REC_SYSCALLS_DUMP && rec->size == sizeof(struct syscalls_dump))
		return flight_dump_send(c, (const struct syscalls_dump *)rec);
	return 0;
}

static const struct probe_bpf bpf = {
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.state_size = sizeof(struct syscalls_state),
	.options = syscalls_probe_options,
	.prepare = syscalls_probe_prepare,
	.attach = flight_attach,
	.close = flight_close,
	.snapshot = flight_snapshot,
	.tables =
		{
			{.map = "calls",
				.key_size = sizeof(struct syscalls_key),
				.tgid = syscalls_key_tgid,
				.added = call_added,
				.values = &values},
			{.map = "errors",
				.key_size = sizeof(struct syscalls_error_key),
				.tgid = table_key_tgid,
				.added = error_added,
				.values = &table_sum,
				.derived = true},
		},
	.record = syscalls_record,
	.single = true,
	.frequent = true,
};

static const struct kind kinds[] = {
	RECORD_KIND(REC_SYSCALLS_AGG, struct syscalls_agg, "syscalls_agg", SYSCALLS_AGG_FIELDS,
		"calls of one number by one process, since the last such record"),
	RECORD_KIND(REC_SYSCALLS_ERROR, struct syscalls_error, "syscalls_error",
		SYSCALLS_ERROR_FIELDS,
		"errors of one kind of such calls, since the last such record"),
	RECORD_KIND(REC_SYSCALLS_CALL, struct syscalls_call, "syscalls_call", SYSCALLS_CALL_FIELDS,
		"one call; what was copied of its arguments follows"),
	RECORD_KIND(REC_SYSCALLS_DUMP, struct syscalls_dump, "syscalls_dump", SYSCALLS_DUMP_FIELDS,
		"the calls kept of a control group or process follow"),
	RECORD_KIND(REC_SYSCALLS_KEPT, struct syscalls_call, "syscalls_kept", SYSCALLS_CALL_FIELDS,
		"one of the calls of the last dump, in order of time"),
};

static const char *const examples[] = {
	"memwhy syscalls --for 10s",
	"calls, errors and times of all processes for ten seconds",
	"memwhy syscalls --by call -- dpkg -l",
	"what a command asks of the kernel, as strace -c -f",
	"memwhy syscalls --each --min 200ms --stacks=user",
	"each call that took longer, with its arguments and who made it",
	"memwhy syscalls --each openat execve -- make",
	"what a build opens and runs",
	"memwhy syscalls --flight --dump-on 'crash,slow>1s'",
	"the last calls of each control group, when a process of it crashes or a call took a "
	"second",
	"memwhy syscalls %memory --with-memory -p 1234",
	"the time that calls on memory spend in faults, reclaim and compaction",
	"memwhy syscalls --each --like strace -p 1234",
	"the lines of strace -f -t -T",
	NULL,
};

static const struct opt own[] = {
	OPT(struct syscalls_opts, "flight", 0, OPT_OPTIONAL, flight, "N",
		"keep the last N calls of each cgroup, or with --by process of each process "
		"(default: 128), and show them at the end, at SIGUSR1, or as --dump-on says",
		NULL),
	OPT(struct syscalls_opts, "dump-on", 0, OPT_STRING, dump_on, "WHAT,WHAT",
		"with --flight: show them when a call took long (slow>TIME) or failed (fail, "
		"fail=ERROR), when a process ends (exit), or is killed (crash)",
		"crash exit fail"),
	OPT(struct syscalls_opts, "with-memory", 0, OPT_FLAG, with_memory, NULL,
		"also the time of calls spent in page faults, reclaim and compaction", NULL),
	OPT(struct syscalls_opts, "no-times", 0, OPT_FLAG, no_times, NULL,
		"count calls and errors only, which costs less", NULL),
};

static const struct opt_group own_groups[] = {{"System calls", own, ARRAY_SIZE(own)}, {}};

static const struct probe_options own_options = {
	.size = sizeof(struct syscalls_opts),
	.groups = own_groups,
	.check = syscalls_opts_check,
};

const struct probe probe_syscalls = {
	.name = "syscalls",
	.summary = "Which system calls, how long they take, and what was done just before",
	.operands = "[CALL...]",
	.n_operands = 64,
	.options = &own_options,
	.details = syscalls_details,
	.output = syscalls_output,
	.examples = examples,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.view = &syscalls_view,
	.only_named = true,
};
