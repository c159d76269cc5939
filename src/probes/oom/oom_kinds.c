/* See oom_kinds.h. */
#include "probes/oom/oom_kinds.h"

#include "base/util.h"
#include "probes/oom/oom.h"

#define KILL(member_, type_, unit_, help_) FIELD(struct oom_kill, member_, type_, unit_, help_)
#define REPORT(member_, type_, unit_, help_) FIELD(struct oom_report, member_, type_, unit_, help_)
#define TASK(member_, type_, unit_, help_) FIELD(struct oom_task, member_, type_, unit_, help_)
#define ZONE(member_, type_, unit_, help_) FIELD(struct oom_zone, member_, type_, unit_, help_)
#define STATE(member_, help_) FIELD(struct oom_state, member_, FIELD_U32, UNIT_NONE, help_)

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
	KILL(victim_start_ns, FIELD_U64, UNIT_NS, "its start, since boot"),
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

static const struct field report_fields[] = {
	REPORT(flags, FIELD_U32, UNIT_HEX,
		"1 gfp, order, adj, comm known, 2 tid known, 4 why and paths known, 8 killed, 16 "
		"usage known, 32 for memory.oom.group, 64 vm.oom_kill_allocating_task, 128 nobody "
		"to kill, 256 swap known"),
	REPORT(tid, FIELD_U32, UNIT_ID, "task that asked"),
	REPORT(gfp, FIELD_U32, UNIT_HEX, "allocation flags"),
	REPORT(order, FIELD_S32, UNIT_ID, "order of the allocation; -1: sysrq"),
	REPORT(adj, FIELD_S32, UNIT_NONE, "oom_score_adj of the task that asked"),
	REPORT(why, FIELD_U32, UNIT_ID, "as in oom_kill"),
	FIELD_ARRAY(struct oom_report, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "task that asked"),
	REPORT(victim_tid, FIELD_U32, UNIT_ID, "the victim"),
	REPORT(victim_uid, FIELD_U32, UNIT_ID, "its user"),
	REPORT(victim_adj, FIELD_S32, UNIT_NONE, "its oom_score_adj"),
	FIELD_ARRAY(struct oom_report, victim_comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "its name"),
	REPORT(total_vm_bytes, FIELD_U64, UNIT_BYTES, "its address space"),
	REPORT(anon_bytes, FIELD_U64, UNIT_BYTES, "its resident anonymous memory"),
	REPORT(file_bytes, FIELD_U64, UNIT_BYTES, "its resident pages of files"),
	REPORT(shmem_bytes, FIELD_U64, UNIT_BYTES, "its resident shared memory"),
	REPORT(page_table_bytes, FIELD_U64, UNIT_BYTES, "its page tables"),
	REPORT(usage_bytes, FIELD_U64, UNIT_BYTES, "use of the group at its limit"),
	REPORT(limit_bytes, FIELD_U64, UNIT_BYTES, "that limit"),
	REPORT(failcnt, FIELD_U64, UNIT_COUNT, "times it was hit"),
	REPORT(swap_usage_bytes, FIELD_U64, UNIT_BYTES, "its swap; version 1: with memory"),
	REPORT(swap_limit_bytes, FIELD_U64, UNIT_BYTES, "limit of that"),
	FIELD_ARRAY(struct oom_report, oom_path, FIELD_CHARS, UNIT_NONE, OOM_PATH_LEN,
		"the group at its limit"),
	FIELD_ARRAY(struct oom_report, victim_path, FIELD_CHARS, UNIT_NONE, OOM_PATH_LEN,
		"the victim's group"),
};

static const struct field task_fields[] = {
	TASK(tgid, FIELD_U32, UNIT_ID, "process"),
	TASK(uid, FIELD_U32, UNIT_ID, "its user"),
	TASK(adj, FIELD_S32, UNIT_NONE, "its oom_score_adj"),
	TASK(total_vm_pages, FIELD_U64, UNIT_PAGES, "its address space"),
	TASK(rss_pages, FIELD_U64, UNIT_PAGES, "its resident pages"),
	TASK(swap_pages, FIELD_U64, UNIT_PAGES, "its pages in swap"),
	TASK(page_table_bytes, FIELD_U64, UNIT_BYTES, "its page tables"),
	FIELD_ARRAY(struct oom_task, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "its name"),
};

static const struct field zone_fields[] = {
	ZONE(flags, FIELD_U32, UNIT_HEX, "1 sampled before the kill, 2 free_blocks known"),
	ZONE(node, FIELD_U32, UNIT_ID, "NUMA node"),
	FIELD_ARRAY(struct oom_zone, zone, FIELD_CHARS, UNIT_NONE, OOM_ZONE_NAME, "zone"),
	ZONE(free_bytes, FIELD_U64, UNIT_BYTES, "free"),
	ZONE(min_bytes, FIELD_U64, UNIT_BYTES, "min watermark"),
	ZONE(low_bytes, FIELD_U64, UNIT_BYTES, "low watermark"),
	ZONE(high_bytes, FIELD_U64, UNIT_BYTES, "high watermark"),
	ZONE(managed_bytes, FIELD_U64, UNIT_BYTES, "managed by the page allocator"),
	ZONE(orders, FIELD_U32, UNIT_COUNT, "orders in free_blocks"),
	FIELD_ARRAY(struct oom_zone, free_blocks, FIELD_U64, UNIT_COUNT, OOM_ORDERS,
		"free blocks of 2^order pages"),
};

static const struct field state_fields[] = {
	FIELD(struct oom_state, victim_tid, FIELD_U32, UNIT_ID, "the kill it belongs to"),
	STATE(load1, "load average over 1 minute, in 1/100"),
	STATE(load5, "over 5 minutes"),
	STATE(load15, "over 15 minutes"),
	STATE(runnable, "tasks that run or could"),
	STATE(tasks, "tasks"),
	FIELD(struct oom_state, last_pid, FIELD_U32, UNIT_ID, "last process id given"),
};

static const struct field freed_fields[] = {
	FIELD(struct oom_freed, victim_tid, FIELD_U32, UNIT_ID, "the victim"),
	FIELD(struct oom_freed, how, FIELD_U32, UNIT_ID,
		"1 it has ended, 2 the OOM reaper took it"),
};

static const struct field dropped_fields[] = {
	FIELD(struct caches_dropped, tgid, FIELD_U32, UNIT_ID, "thread that did it"),
	FIELD(struct caches_dropped, what, FIELD_U32, UNIT_ID, "1 page cache, 2 slab, 3 both"),
	FIELD_ARRAY(struct caches_dropped, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "its name"),
};

const struct kind oom_kinds[OOM_KINDS] = {
	KIND(REC_OOM_KILL, struct oom_kill, "oom_kill", kill_fields,
		"the OOM killer marked a victim: as BPF saw it"),
	KIND(REC_OOM_REPORT, struct oom_report, "oom_report", report_fields,
		"the kernel's own report of a kill; the oom_task and oom_zone before it belong to "
		"it"),
	KIND_WHOLE(REC_OOM_TASK, struct oom_task, "oom_task", task_fields,
		"a process of the kernel's table of candidates"),
	KIND(REC_OOM_ZONE, struct oom_zone, "oom_zone", zone_fields,
		"a zone against its watermarks"),
	KIND_WHOLE(REC_OOM_STATE, struct oom_state, "oom_state", state_fields,
		"the machine right after a kill"),
	KIND_WHOLE(REC_OOM_FREED, struct oom_freed, "oom_freed", freed_fields,
		"a victim's memory came back, seen up to 100 ms late"),
	KIND_WHOLE(REC_CACHES_DROPPED, struct caches_dropped, "caches_dropped", dropped_fields,
		"somebody wrote to vm.drop_caches, as the kernel's log says"),
};
