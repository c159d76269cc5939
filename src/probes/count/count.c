/*
 * The count probe: it makes a copy of one program for each event (capture/clone.h), and what its
 * table counted into records.
 */
#include "probes/count/count.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/kbtf.h"
#include "probes/count/count_list.h"
#include "probes/count/count_opts.h"
#include "probes/count/count_state.h"
#include "probes/count/count_view.h"

/* What is counted when nothing is named: what the kernel does when memory is scarce. */
static const char *const usual[] = {
	"vmscan:*", "compaction:*", "migrate:*", "oom:*", "huge_memory:*", "page-faults"};

static int usual_add(struct capture *c, struct state *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
		struct err err = {};
		int rc = event_list_add(&s->events, usual[i], &err);

		if (rc && rc != -EINVAL && !strchr(usual[i], '*'))
			return rc;
		if (rc)
			capture_note(c, NOTE_NOT_CHECKED, "%s: %s%s%s", usual[i], err.msg,
				err.hint[0] ? ": " : "", err.hint);
	}
	return 0;
}

enum { OPT_CALLS = 1 };

#define MANY_CALLS 8 /* events of system calls, each of which leaves within 0.1 s */

static u32 calls_of(const struct state *s)
{
	bool enter;
	u32 n = 0;

	vec_each (e, &s->events.list)
		n += event_syscall(e, &enter) >= 0;
	return kbtf_available() ? n : 0; /* which compat calls are is known from BTF only */
}

static int count_open(struct capture *c, struct err *err)
{
	struct state *s = c->state;
	int rc = count_keys_parse(
		c->opt.by, c->opt.user_stacks || c->opt.kernel_stacks, &s->keys, err);

	s->chosen = c->opt.n_operands;
	s->events.reader = c->reader;
	s->events.pid =
		c->opt.scope.tasks.n == 1 && !c->opt.scope.by_task ? c->opt.scope.tasks.v[0] : 0;
	rc = rc ? rc : filter_parse(OPTS_OF(struct count_opts, c->opts)->filter, &s->filter, err);
	for (u32 i = 0; i < c->opt.n_operands && !rc; i++)
		rc = event_list_add(&s->events, c->opt.operands[i], err);
	if (!rc && !s->chosen)
		rc = usual_add(c, s);
	if (rc)
		return rc;
	s->bound = calloc(MAX(s->events.list.n, 1UL), sizeof(*s->bound));
	if (!s->bound)
		return err_errno(err, -ENOMEM, "count");
	s->n_words = 1;
	for (u32 i = 0; i < s->events.list.n && !rc; i++)
		rc = count_bind(c, i, &s->bound[i], err);
	s->many_calls = calls_of(s) >= MANY_CALLS;
	return rc;
}

/* One program for all of them runs at each call of the machine, a tracepoint each only at those
 * that were asked for. */
static const struct attach_hook hooks[] = {
	{
		.data = COUNT_CALLS,
		.only = OPT_CALLS,
		.counts = true,
		.methods =
			{
				{"tracepoints raw_syscalls:sys_enter, sys_exit",
					{"syscall_enter", "syscall_exit"}, {}, 0},
			},
	},
};

static u32 count_options(const struct capture *c)
{
	const struct state *s = c->state;

	return s && s->many_calls ? OPT_CALLS : 0; /* a survey has no state */
}

static void count_close(struct capture *c)
{
	struct state *s = c->state;

	event_list_free(&s->events);
	free(s->bound);
}

static int count_prepare(struct bpf_object *obj, const struct capture *c)
{
	const struct state *s = c->state;
	struct bpf_map *map = bpf_object__find_map_by_name(obj, "table");
	u32 key = MAX(s->n_words, 1U) * (u32)sizeof(u64);
	int rc = map ? bpf_map__set_key_size(map, key) : -ENOENT;

	rc = rc ? rc : bpf_map__set_value_size(map, count_value_of(c)->size);
	if (!rc && s->many_calls)
		rc = attach_set_entries(obj, "enters", COUNT_SYSCALLS);
	if (!rc && s->many_calls)
		rc = attach_set_entries(obj, "exits", COUNT_SYSCALLS);
	if (!rc)
		rc = attach_set_entries(obj, "call_events", 2 * COUNT_SYSCALLS);
	return rc ? rc
		  : bpf_map__set_max_entries(
			    map, attach_table_entries(c, key, count_value_of(c)->size));
}

/* Each event has read-only data of its own (clone.h). */
static u64 other_bytes(const struct capture *c)
{
	const struct state *s = c->state;

	return s->events.list.n *
	       (sizeof(struct count_config) + sizeof(struct scope_config) + 1024);
}

static u32 count_key_tgid(const void *key)
{
	return (u32)(*(const u64 *)key >> 32);
}

static const struct probe_bpf bpf = {
	.state_size = sizeof(struct state),
	.open = count_open,
	.prepare = count_prepare,
	.other_bytes = other_bytes,
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.options = count_options,
	.only_load = "count",
	.attach = count_attach,
	.stop = count_stop,
	.survey = count_survey,
	.close = count_close,
	.tables = {{.map = "table",
		.key_size = sizeof(u64),
		.tgid = count_key_tgid,
		.added = count_added,
		.values_of = count_value_of}},
};

static const struct kind kinds[] = {
	RECORD_KIND(REC_COUNT_EVENT, struct count_event, "count_event", COUNT_EVENT_FIELDS,
		"an event that is counted"),
	RECORD_KIND(REC_COUNT_AGG, struct count_agg, "count_agg", COUNT_AGG_FIELDS,
		"events with one key, since the last such record"),
};

/* What a real run printed: the example of the man page. */
static const char output[] =
	"$ memwhy count kmem:mm_page_alloc --by comm,order --limit 4 -- git status -s\n"
	"memwhy count - Linux 6.18.44 - 2 CPUs, 1 node - command git\n"
	"0.1 s from 2026-11-21 19:46:38 UTC - events: count 207 - none lost\n"
	"cost: 23.9 % of one CPU, BPF 183 us (163 ns a run), RSS 3.80 MiB\n"
	"\n"
	"Events\n"
	"EVENT               COMM    ORDER  COUNT    EVENTS/s\n"
	"kmem:mm_page_alloc  git     0        200        7663\n"
	"kmem:mm_page_alloc  memwhy  0          7         268\n"
	"\n"
	"$ memwhy count syscalls:sys_enter_read --hist count -- git status -s\n"
	"memwhy count - Linux 6.18.44 - 2 CPUs, 1 node - command git\n"
	"0.1 s from 2026-11-21 19:46:38 UTC - events: count 39 - none lost\n"
	"cost: 31.1 % of one CPU, BPF 44.3 us (217 ns a run), RSS 3.67 MiB\n"
	"\n"
	"Events\n"
	"EVENT                    COUNT    EVENTS/s    SUM   AVG  MIN   MAX\n"
	"syscalls:sys_enter_read     39        1825  87845  2252    8  4096\n"
	"    VALUES\n"
	"       8 ..   16   1  ##\n"
	"      16 ..   32   0\n"
	"      32 ..   64   1  ##\n"
	"      64 ..  128   0\n"
	"     128 ..  256   8  ################\n"
	"     256 ..  512   6  ############\n"
	"     512 .. 1024   3  ######\n"
	"    1024 .. 2048   0\n"
	"    2048 .. 4096   0\n"
	"    4096 .. 8192  20  ########################################\n";

static const char *const examples[] = {
	"memwhy count --for 10s",
	"which of the kernel's memory events happen at all",
	"memwhy count 'vmscan:*' 'compaction:*' -i 1s",
	"all of two groups, each second",
	"memwhy count kmem:kmalloc --by call_site --sum bytes_alloc --for 2s",
	"who allocates kernel memory, and how much",
	"memwhy count kmem:mm_page_alloc --filter 'order >= 3' --stacks --for 5s",
	"code paths that ask for large pages",
	"memwhy count syscalls:sys_enter_read --hist count --by comm --for 2s",
	"how large the reads are, as histograms",
	"memwhy count u:libc.so.6:malloc --by process --hist arg1 --for 2s",
	"the sizes that programs ask malloc for",
	NULL,
};

static const struct opt own[] = {
	OPT(struct count_opts, "filter", 0, OPT_STRING, filter, "EXPR",
		"only events like this: 'order >= 3 && comm == dd'", NULL),
	OPT(struct count_opts, "hist", 0, OPT_STRING, hist, "FIELD",
		"histogram of this field of the events", NULL),
	OPT(struct count_opts, "sum", 0, OPT_STRING, sum, "FIELD",
		"sum, mean, least and most of this field", NULL),
	OPT(struct count_opts, "list", 0, OPT_FLAG, list, NULL,
		"count nothing: print the events that EVENT stands for, and their fields", NULL),
};

static const struct opt_group own_groups[] = {{"Fields of events", own, ARRAY_SIZE(own)}, {}};

static const struct probe_options own_options = {
	.size = sizeof(struct count_opts),
	.groups = own_groups,
};

const struct probe probe_count = {
	.name = "count",
	.summary = "How often does any event happen, and by what?",
	.details =
		"Counts events exactly, in the kernel. An EVENT is\n\n"
		"a tracepoint, CATEGORY:NAME, where both may be globs: 'vmscan:*', "
		"syscalls:sys_enter_brk;\n\n"
		"a software event: page-faults, minor-faults, major-faults, context-switches, "
		"cpu-migrations, cgroup-switches, alignment-faults, emulation-faults; cpu-clock "
		"is sampled 99 times a second on each busy processor;\n\n"
		"u:PATH:SYMBOL[+OFFSET], a function of a program or library, ur: its return. PATH "
		"may be the name of a library alone; with one -p it is a path of that "
		"process;\n\n"
		"k:FUNCTION, a function of the kernel, kr: its return, where the kernel has "
		"kprobes or fentry.\n\n"
		"At most 1024 at once. Without an EVENT, the memory events that are rare while "
		"there is enough memory are counted: vmscan, compaction, migrate, oom, "
		"huge_memory, and page faults.\n\n"
		"Beside the keys that all commands have, --by takes fields of the event, as the "
		"kernel names them in /sys/kernel/tracing/events/CATEGORY/NAME/format; functions "
		"have arg1 to arg6, returns have retval. --filter, --hist and --sum take them "
		"too, and pid, tid, comm, cpu, node and cgroup (a number). Where an event has a "
		"field of such a name, args.NAME is the event's. Texts are compared by their "
		"first 31 characters.\n\n"
		"A filter is comparisons, NAME == VALUE, joined by &&, || and !, with "
		"parentheses: ==, !=, <, <=, >, >= and & (any of these bits) for numbers, which "
		"may be 0x10, -1 or 4K; ==, != and ~ 'begin*' for texts.\n\n"
		"Events that a BPF program itself causes are not seen. They are lost events where "
		"the kernel counts them (recursion).",
	.examples = examples,
	.output = output,
	.operands = "[EVENT...]",
	.n_operands = COUNT_EVENTS,
	.options = &own_options,
	.action = &count_list,
	.recorded_by = "memwhy count --record FILE",
	.only_named = true,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.view = &count_view,
};
