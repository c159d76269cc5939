/* The oom probe: its hooks, and what its ring becomes as records. */
#include "probes/oom/oom.h"

#include <string.h>

#include "capture/names.h"
#include "probes/oom/oom_kinds.h"
#include "probes/oom/oom_sample.h"
#include "probes/oom/oom_view.h"
#include "probes/probe.h"

#define RING_BYTES (256U << 10) /* some 400 kills at once: a whole group */

static const struct attach_hook hooks[] = {
	{
		.data = OOM_KILLS_DATA,
		.needs = "the tracepoint oom:mark_victim",
		.methods = {{"raw tracepoint oom:mark_victim", {"oom_victim"}, {}, 0}},
	},
	{
		.data = "the allocation that failed",
		.needs = "kprobes, or the vmscan tracepoints; it is in the log too",
		.methods =
			{
				{"kprobe out_of_memory", {"oom_control_kprobe"}, {}, 0},
				{"raw tracepoints mm_vmscan_*_reclaim_begin",
					{"oom_reclaim", "oom_memcg_reclaim"}, {}, 0},
				{"raw tracepoint mm_vmscan_direct_reclaim_begin", {"oom_reclaim"},
					{}, 0},
			},
	},
};

static int prepare(struct bpf_object *obj, const struct capture *c)
{
	u32 size = 4096;

	while (size < RING_BYTES && size < c->opt.ring_bytes)
		size *= 2;
	return attach_set_entries(obj, "ring", size);
}

static int record(struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
{
	struct oom_kill e = *(const struct oom_kill *)rec;
	int rc;

	if (rec->kind != REC_OOM_KILL || rec->size != sizeof(e))
		return 0;
	names_event(c->names, stacks, &e);
	if (e.flags & OOM_VICTIM_KNOWN)
		names_task(c->names, e.victim_tgid, 0, e.victim_comm, e.victim_cgroup);
	for (u32 i = 0; i < MIN(e.levels, (u32)OOM_LEVELS); i++)
		names_cgroup(c->names, e.chain[i].cgroup);
	if (e.oom_cgroup)
		names_cgroup(c->names, e.oom_cgroup);
	rc = capture_emit(c, &e.h);
	return rc ? rc : oom_state_send(c, e.victim_tid);
}

static const struct probe_bpf bpf = {
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.prepare = prepare,
	.record = record,
	.single = true,
	.optional = true,
};

static void beside(const struct request *r, void *opts, struct company *ret)
{
	static const char *const with[] = {"system", "processes", "cgroups", "slab", NULL};

	(void)r;
	(void)opts;
	*ret = (struct company){.with = with};
}

static const char *const examples[] = {
	"memwhy oom",
	"wait for OOM kills, and tell the story of each as it happens",
	"memwhy oom --each",
	"a line a kill",
	"memwhy oom --record /var/tmp/oom.mw",
	"and keep it, with the samples of the minute before each",
	"memwhy oom list --input /var/tmp/oom.mw",
	"the kills of a recording",
	"memwhy oom show 2 --input /var/tmp/oom.mw",
	"all about the second of them",
	"memwhy oom --like oomkill",
	"the lines of bcc's oomkill",
	NULL,
};

const struct probe probe_oom = {
	.name = "oom",
	.summary = "What did the OOM killer do: who asked, who died, why, and what led to it",
	.operands = "[list|show N]",
	.n_operands = 2,
	.details =
		"Waits for the kernel's OOM killer. For each kill it reports, as soon as the "
		"victim's end and the kernel's own report have come (at most a second later): who "
		"asked for memory, for how much and of what kind; who died, and by which score; "
		"the control groups of the victim with their use and limits, as they were at the "
		"kill; the processes beside it; zones against their watermarks; the machine's "
		"totals, pressure and slab caches. While it waits it samples processes, groups "
		"and totals up to four times a second and keeps the last minute, so it can also "
		"say who grew, by how much and how fast.\n\n"
		"`oom list` shows one line a kill, `oom show N` everything about the N-th. Both "
		"are for recordings (--input) above all; live, they report at the end. With "
		"--stacks and in the formats for programs the live reports come at the end or, "
		"with -i, of each interval.\n\n"
		"Sources: the tracepoint oom:mark_victim, which runs in the task that asked, and "
		"/dev/kmsg, where the kernel explains at most ten kills in five seconds. The "
		"field killed is the number of lines \"Killed process\": their sum equals "
		"oom_kill in /proc/vmstat. It is 0 where the victim was exiting already, which "
		"the kernel does not count, and 2 for the first victim of a memory.oom.group, "
		"which it counts twice (mm/oom_kill.c, oom_kill_process).\n\n"
		"A scope (-p, -c, -g) is that of the task that asked; -p and -- CMD take victims "
		"too.\n\n"
		"To report when memory is gone, this command locks its memory, takes what a "
		"report needs beforehand, and sets its own oom_score_adj to -1000; a command "
		"after -- has neither. Where the kernel panics on OOM (vm.panic_on_oom) there is "
		"no kill and no report. memwhy runs no program.",
	.examples = examples,
	.output = oom_output,
	.kinds = oom_kinds,
	.n_kinds = OOM_KINDS,
	.bpf = &bpf,
	.sampler = &oom_sampler,
	.view = &oom_view,
	.cheap = true,
	.beside = beside,
	.guarded = true,
};
