/* The oom probe: its hooks, and what its ring becomes as records, with their schema. */
#include "probes/oom/oom.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "capture/names/names.h"
#include "event/schema.h"
#include "probes/oom/oom_sample.h"
#include "probes/oom/oom_view.h"
#include "probes/probe.h"
#include "sys/root.h"

#define RING_BYTES (256U << 10) /* some 400 kills at once: a whole group */

/* Where there are none, all would be loaded once more to find that out. */
enum { OPT_KPROBES = 1 };

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
				{"kprobe out_of_memory", {"oom_control_kprobe"}, {}, OPT_KPROBES},
				{"raw tracepoints mm_vmscan_*_reclaim_begin",
					{"oom_reclaim", "oom_memcg_reclaim"}, {}, 0},
				{"raw tracepoint mm_vmscan_direct_reclaim_begin", {"oom_reclaim"},
					{}, 0},
			},
	},
	{
		.data = "kills by systemd-oomd and the like, and crashes",
		.needs = "the tracepoint signal:signal_generate, and kernel BTF",
		.methods = {{"raw tracepoint signal:signal_generate", {"oom_signal"}, {}, 0}},
	},
};

static u32 oom_options(const struct capture *c)
{
	(void)c;
	return sys_exists("/sys/bus/event_source/devices/kprobe/type") == -ENOENT ? 0 : OPT_KPROBES;
}

static int oom_prepare(struct bpf_object *obj, const struct capture *c)
{
	u32 size = 4096;

	while (size < RING_BYTES && size < c->opt.ring_bytes)
		size *= 2;
	return attach_set_entries(obj, "ring", size);
}

static int daemon_record(struct capture *c, struct daemon_kill k)
{
	names_cgroup_now(c->names, k.victim_cgroup);
	names_task(c->names, k.victim_tgid, 0, k.victim_comm, k.victim_cgroup);
	return capture_emit(c, &k.h);
}

static int crashed_record(struct capture *c, struct process_crashed p)
{
	names_task(c->names, p.tgid, 0, p.comm, p.cgroup);
	return capture_emit(c, &p.h);
}

static int oom_record(struct capture *c, const struct stack_maps *stacks, const struct rec *rec)
{
	struct oom_kill e;
	int rc;

	if (rec->kind == REC_DAEMON_KILL && rec->size == sizeof(struct daemon_kill))
		return daemon_record(c, *(const struct daemon_kill *)rec);
	if (rec->kind == REC_PROCESS_CRASHED && rec->size == sizeof(struct process_crashed))
		return crashed_record(c, *(const struct process_crashed *)rec);
	if (rec->kind != REC_OOM_KILL || rec->size != sizeof(e))
		return 0;
	e = *(const struct oom_kill *)rec;
	/* What the kill empties is often removed at once. */
	if (e.flags & OOM_VICTIM_KNOWN)
		names_cgroup_now(c->names, e.victim_cgroup);
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
	.options = oom_options,
	.prepare = oom_prepare,
	.record = oom_record,
	.single = true,
	.optional = true,
};

static void oom_beside(const struct request *r, void *opts, struct company *ret)
{
	static const char *const with[] = {"system", "processes", "cgroups", "slab", "where", NULL};

	(void)r;
	(void)opts;
	*ret = (struct company){.with = with};
}

#define KILL(member_, type_, unit_, help_) FIELD(struct oom_kill, member_, type_, unit_, help_)

/* The chain is a struct each: cgroup, usage_pages, limit_pages, failcnt. */
#define LEVEL_WORDS (OOM_LEVELS * sizeof(struct oom_level) / sizeof(u64))

static const struct field kill_fields[] = {
	KILL(flags, FIELD_U32, UNIT_HEX,
		"1 the victim is known, 2 order known, 4 gfp known, 8 gfp as its reclaim had it, "
		"16 why, points, total_pages and oom_cgroup known"),
	KILL(tgid, FIELD_U32, UNIT_ID, "process that asked for memory"),
	KILL(tid, FIELD_U32, UNIT_ID, "its thread"),
	KILL(gfp, FIELD_U32, UNIT_HEX, "allocation flags (enum gfp)"),
	KILL(order, FIELD_S32, UNIT_ID, "order of the allocation; -1: sysrq"),
	KILL(why, FIELD_U32, UNIT_ID,
		"0 the machine is out of memory, 1 cpuset, 2 memory policy, 3 control group, 255 "
		"not known"),
	KILL(ustack, FIELD_U32, UNIT_STACK, "where the memory was asked for"),
	KILL(adj, FIELD_S32, UNIT_NONE, "oom_score_adj of the process that asked"),
	KILL(cgroup, FIELD_U64, UNIT_CGROUP, "its control group"),
	FIELD_ARRAY(struct oom_kill, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread that asked"),
	KILL(victim_tgid, FIELD_U32, UNIT_ID, "the victim"),
	KILL(victim_tid, FIELD_U32, UNIT_ID, "its thread that was marked"),
	KILL(victim_uid, FIELD_U32, UNIT_ID, "its user"),
	KILL(victim_adj, FIELD_S32, UNIT_NONE, "its oom_score_adj"),
	KILL(victim_start_ns, FIELD_U64, UNIT_NS, "its start, of CLOCK_MONOTONIC"),
	KILL(victim_age_ns, FIELD_U64, UNIT_NS, "time since its start; 0: not known"),
	KILL(victim_cgroup, FIELD_U64, UNIT_CGROUP, "its control group"),
	FIELD_ARRAY(struct oom_kill, victim_comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "its name"),
	KILL(total_vm_pages, FIELD_U64, UNIT_PAGES, "its address space"),
	KILL(anon_pages, FIELD_U64, UNIT_PAGES, "its resident anonymous pages"),
	KILL(file_pages, FIELD_U64, UNIT_PAGES, "its resident pages of files"),
	KILL(shmem_pages, FIELD_U64, UNIT_PAGES, "its resident shared memory"),
	KILL(swap_pages, FIELD_U64, UNIT_PAGES, "its pages in swap"),
	KILL(page_table_bytes, FIELD_U64, UNIT_BYTES, "its page tables"),
	KILL(points, FIELD_S64, UNIT_PAGES, "its score, as the kernel reckoned"),
	KILL(total_pages, FIELD_U64, UNIT_PAGES, "memory and swap that there are for all"),
	KILL(oom_cgroup, FIELD_U64, UNIT_CGROUP, "control group at its limit"),
	KILL(levels, FIELD_U32, UNIT_COUNT, "groups in chain"),
	FIELD_ARRAY(struct oom_kill, chain, FIELD_U64, UNIT_NONE, LEVEL_WORDS,
		"the victim's group and those above: id, pages used, limit in pages, failcnt"),
};

static const struct kind kinds[] = {
	KIND(REC_OOM_KILL, struct oom_kill, "oom_kill", kill_fields,
		"the OOM killer marked a victim: as BPF saw it"),
	RECORD_KIND(REC_OOM_REPORT, struct oom_report, "oom_report", OOM_REPORT_FIELDS,
		"the kernel's own report of a kill; the oom_task and oom_zone before it belong to "
		"it"),
	RECORD_KIND_WHOLE(REC_OOM_TASK, struct oom_task, "oom_task", OOM_TASK_FIELDS,
		"a process of the kernel's table of candidates"),
	RECORD_KIND(REC_OOM_ZONE, struct oom_zone, "oom_zone", OOM_ZONE_FIELDS,
		"a zone against its watermarks"),
	RECORD_KIND(REC_OOM_LEDGER, struct oom_ledger, "oom_ledger", OOM_LEDGER_FIELDS,
		"memory at a kill, as the kernel's report has it; belongs to the oom_report after "
		"it"),
	RECORD_KIND_WHOLE(REC_OOM_STATE, struct oom_state, "oom_state", OOM_STATE_FIELDS,
		"the machine right after a kill"),
	RECORD_KIND_WHOLE(REC_OOM_FREED, struct oom_freed, "oom_freed", OOM_FREED_FIELDS,
		"a victim's memory came back, seen up to 100 ms late"),
	RECORD_KIND_WHOLE(REC_CACHES_DROPPED, struct caches_dropped, "caches_dropped",
		CACHES_DROPPED_FIELDS,
		"somebody wrote to vm.drop_caches, as the kernel's log says"),
	RECORD_KIND(REC_DAEMON_KILL, struct daemon_kill, "daemon_kill", DAEMON_KILL_FIELDS,
		"systemd-oomd or the like told a process to end"),
	RECORD_KIND(REC_PROCESS_CRASHED, struct process_crashed, "process_crashed",
		PROCESS_CRASHED_FIELDS,
		"a process was ended by a signal of its own: it aborted, or touched what is not "
		"there"),
};

/* What a real run printed: the example of the man page. */
static const char output[] =
	"$ memwhy oom\n"
	"memwhy oom - Linux 6.18.44 - 2 CPUs, 1 node - system-wide\n"
	"4.3 s from 2026-11-30 15:48:33 UTC - events: oom 1 - none lost\n"
	"cost: 1.6 % of one CPU, BPF 1.19 us (296 ns a run), RSS 22.4 MiB\n"
	"\n"
	"1. CRITICAL    Kill 1: oom_grow (29557) was killed; cgroup /demo was at its "
	"memory limit\n"
	"   evidence    asked: oom_grow (29557) of cgroup /demo wanted a page (order 0), "
	"GFP_KERNEL\n"
	"               died: 65.2 MiB resident (63.8 MiB anonymous, 1.44 MiB of files, 0 "
	"B shared), 0 B in\n"
	"                 swap, 176 KiB of page tables; oom_score_adj 0, user 0\n"
	"               chosen: the highest score, 16733 pages\n"
	"               led to it: it grew by 65.2 MiB to 65.2 MiB in 2.83 s; at the end "
	"19.9 MiB a second\n"
	"               limit: 64.0 MiB of 64.0 MiB in use; it was hit 19 times so far\n"
	"               then: it had ended within 15.6 ms; load 0.00 0.12 0.79, 4 of 86 "
	"tasks runnable\n"
	"   confidence  high: seen as it happened, and in the kernel's log\n"
	"\n"
	"OOM kills\n"
	"KILL    TIME    PID  COMM      WHY     CGROUP  ASKED BY       RSS  SWAP     GROWN "
	"  GROWN/s  ADJ\n"
	"   1  4.31 s  29557  oom_grow  cgroup  /demo   oom_grow  65.2 MiB   0 B  65.2 MiB "
	" 19.9 MiB    0\n"
	"... no room for FREED; -o wide shows all\n"
	"\n"
	"Processes at the kill, and their last minute\n"
	"KILL    PID  COMM      VICTIM    MEMORY  SWAP     GROWN    OVER   GROWN/s  ADJ   "
	"SCORE\n"
	"   1  29557  oom_grow  yes     65.2 MiB   0 B  65.2 MiB  2.83 s  19.9 MiB    0  "
	"16,733\n"
	"\n"
	"The victim's control groups\n"
	"KILL  CGROUP  AT LIMIT    MEMORY     LIMIT  LIMIT HIT     GROWN   GROWN/s\n"
	"   1  /demo   yes       64.0 MiB  64.0 MiB         19  26.0 MiB  19.9 MiB\n"
	"   1  /       no        1.46 GiB         -          0         -         -\n"
	"\n"
	"[...]\n";

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
		"totals, pressure and slab caches; and where memory was, as a ledger that adds up: "
		"by the kernel's own report at the kill, of the machine or of the group at its "
		"limit, and of the machine by the last look of `memwhy where` before it. While it "
		"waits it samples processes, groups "
		"and totals up to four times a second and keeps the last minute, so it can also "
		"say who grew, by how much and how fast.\n\n"
		"Kills from before it started are in the kernel's log only: a note counts those "
		"that are still there, and names the last, unless a scope is given.\n\n"
		"`oom list` shows one line a kill, `oom show N` everything about the N-th. Both "
		"are for recordings (--input) above all; live, they report at the end. With "
		"--stacks and in the formats for programs the live reports come at the end or, "
		"with -i, of each interval.\n\n"
		"Sources: the tracepoint oom:mark_victim, which runs in the task that asked, and "
		"/dev/kmsg (or syslog(2), read once a second, where that cannot be opened, as in "
		"a container), where the kernel explains at most ten kills in five seconds. The "
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
	.output = output,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &bpf,
	.sampler = &oom_sampler,
	.view = &oom_view,
	.cheap = true,
	.beside = oom_beside,
	.guarded = true,
};
