/* See stalls_kinds.h. */
#include "probes/stalls/stalls_kinds.h"

#include "base/util.h"
#include "probes/stalls/stalls.h"

#define KIND_HELP "1 allocation of pages, 2 charge to a control group"
#define TRIGGER_HELP "1 page fault, 2 system call, 3 kernel thread, 4 khugepaged, 0 not known"
#define OUTCOME_HELP "as far as events tell: 1 got its pages, 2 failed, 3 OOM kill"
#define NODE_HELP "NUMA node of the CPU it began on"
#define HIST_HELP "log2 histogram of durations: slot i is 2^(i-1) to 2^i ns"
#define STEP_HELP                                                                              \
	"1 woke kswapd, 2 compaction, 3 direct reclaim, 4 reclaim in a control group, 5 node " \
	"reclaim, 6 retry, 7 OOM kill, 8 sleep, 9 the sum of all further steps"
#define RESULT_HELP                                                                             \
	"reclaim: 1 got pages; compaction: the highest enum compact_result of the zones, with " \
	"16 the allocation had its page after it; retry: 1 announced"
#define DONE_HELP "pages reclaimed; pages migrated by compaction"

static const struct field agg_fields[] = {
	FIELD(struct stalls_agg, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct stalls_agg, tid, FIELD_U32, UNIT_ID, "thread; 0: not counted by thread"),
	FIELD(struct stalls_agg, stack, FIELD_U32, UNIT_STACK, "code path of the first step"),
	FIELD(struct stalls_agg, gfp, FIELD_U32, UNIT_HEX, "allocation flags (enum gfp)"),
	FIELD(struct stalls_agg, syscall, FIELD_S32, UNIT_ID, "number; -1: not in one"),
	FIELD(struct stalls_agg, node, FIELD_S32, UNIT_ID, NODE_HELP),
	FIELD(struct stalls_agg, kind, FIELD_U8, UNIT_ID, KIND_HELP),
	FIELD(struct stalls_agg, order, FIELD_U8, UNIT_ID, "order of the allocation"),
	FIELD(struct stalls_agg, trigger, FIELD_U8, UNIT_ID, TRIGGER_HELP),
	FIELD(struct stalls_agg, outcome, FIELD_U8, UNIT_ID, OUTCOME_HELP),
	FIELD(struct stalls_agg, count, FIELD_U64, UNIT_COUNT, "stalls that are over"),
	FIELD(struct stalls_agg, total_ns, FIELD_U64, UNIT_NS, "their time"),
	FIELD(struct stalls_agg, max_ns, FIELD_U64, UNIT_NS, "the longest since the start"),
	FIELD(struct stalls_agg, reclaim_ns, FIELD_U64, UNIT_NS, "of it, in reclaim"),
	FIELD(struct stalls_agg, compact_ns, FIELD_U64, UNIT_NS, "of it, in compaction"),
	FIELD(struct stalls_agg, throttled_ns, FIELD_U64, UNIT_NS, "of it, put to sleep"),
	FIELD(struct stalls_agg, scanned, FIELD_U64, UNIT_PAGES, "by reclaim"),
	FIELD(struct stalls_agg, reclaimed, FIELD_U64, UNIT_PAGES, "by reclaim"),
	FIELD(struct stalls_agg, migrated, FIELD_U64, UNIT_PAGES, "by compaction"),
	FIELD(struct stalls_agg, retries, FIELD_U64, UNIT_COUNT, "rounds after the first"),
	FIELD(struct stalls_agg, cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD_ARRAY(struct stalls_agg, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
	FIELD_ARRAY(struct stalls_agg, hist, FIELD_U32, UNIT_COUNT, AGG_SLOTS, HIST_HELP),
};

#define STEPS_FIELD(name_, member_, type_, unit_, help_)                                 \
	{                                                                                \
		.name = (name_), .offset = offsetof(struct stalls_event, steps.member_), \
		.type = (type_), .unit = (unit_), .count = STALLS_ROOM, .help = (help_)  \
	}

static const struct field event_fields[] = {
	FIELD(struct stalls_event, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct stalls_event, tid, FIELD_U32, UNIT_ID, "thread"),
	FIELD(struct stalls_event, ustack, FIELD_U32, UNIT_STACK, "code path of the first step"),
	FIELD(struct stalls_event, start_ns, FIELD_U64, UNIT_NS, "when it began"),
	FIELD(struct stalls_event, ns, FIELD_U64, UNIT_NS, "from then to the end of its last step"),
	FIELD(struct stalls_event, reclaim_ns, FIELD_U64, UNIT_NS, "of it, in reclaim"),
	FIELD(struct stalls_event, compact_ns, FIELD_U64, UNIT_NS, "of it, in compaction"),
	FIELD(struct stalls_event, throttled_ns, FIELD_U64, UNIT_NS, "of it, put to sleep"),
	FIELD(struct stalls_event, scanned, FIELD_U64, UNIT_PAGES, "by reclaim"),
	FIELD(struct stalls_event, reclaimed, FIELD_U64, UNIT_PAGES, "by reclaim"),
	FIELD(struct stalls_event, migrated, FIELD_U64, UNIT_PAGES, "by compaction"),
	FIELD(struct stalls_event, cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD(struct stalls_event, address, FIELD_U64, UNIT_HEX, "that faulted; 0: none known"),
	FIELD(struct stalls_event, gfp, FIELD_U32, UNIT_HEX, "allocation flags (enum gfp)"),
	FIELD(struct stalls_event, syscall, FIELD_S32, UNIT_ID, "number; -1: not in one"),
	FIELD(struct stalls_event, node, FIELD_S32, UNIT_ID, NODE_HELP),
	FIELD(struct stalls_event, retries, FIELD_U32, UNIT_COUNT, "rounds after the first"),
	FIELD(struct stalls_event, n_steps, FIELD_U32, UNIT_COUNT, "steps, also those summed up"),
	FIELD(struct stalls_event, mapping, FIELD_U32, UNIT_STRING, "what the address is in"),
	FIELD(struct stalls_event, kind, FIELD_U8, UNIT_ID, KIND_HELP),
	FIELD(struct stalls_event, order, FIELD_U8, UNIT_ID, "order of the allocation"),
	FIELD(struct stalls_event, trigger, FIELD_U8, UNIT_ID, TRIGGER_HELP),
	FIELD(struct stalls_event, outcome, FIELD_U8, UNIT_ID, OUTCOME_HELP),
	FIELD_ARRAY(struct stalls_event, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
	STEPS_FIELD("step_start_ns", start_ns, FIELD_U64, UNIT_NS,
		"when each step began, from start_ns on"),
	STEPS_FIELD("step_ns", ns, FIELD_U64, UNIT_NS, "its time"),
	STEPS_FIELD("step_wait_ns", wait_ns, FIELD_U64, UNIT_NS, "of it, put to sleep"),
	STEPS_FIELD("step_zone", zone, FIELD_U64, UNIT_HEX,
		"compaction: first page frame of the last zone compacted (enum zone_start)"),
	STEPS_FIELD("step_scanned", scanned, FIELD_U32, UNIT_PAGES, "pages scanned"),
	STEPS_FIELD("step_done", done, FIELD_U32, UNIT_PAGES, DONE_HELP),
	STEPS_FIELD("step_failed", failed, FIELD_U32, UNIT_PAGES, "not migrated by compaction"),
	STEPS_FIELD("step_kind", kind, FIELD_U8, UNIT_ID, STEP_HELP),
	STEPS_FIELD("step_mode", mode, FIELD_U8, UNIT_ID,
		"compaction: 0 sync full, 1 sync light, 2 async"),
	STEPS_FIELD("step_result", result, FIELD_U8, UNIT_ID, RESULT_HELP),
	STEPS_FIELD("step_zones", zones, FIELD_U8, UNIT_COUNT,
		"zones compacted; of a sum: how many steps, at most 255"),
};

static const struct field step_fields[] = {
	FIELD(struct stalls_step_agg, kind, FIELD_U8, UNIT_ID, STEP_HELP),
	FIELD(struct stalls_step_agg, mode, FIELD_U8, UNIT_ID,
		"compaction: 0 sync full, 1 sync light, 2 async"),
	FIELD(struct stalls_step_agg, result, FIELD_U8, UNIT_ID, RESULT_HELP),
	FIELD(struct stalls_step_agg, order, FIELD_U8, UNIT_ID, "order of the allocation"),
	FIELD(struct stalls_step_agg, count, FIELD_U64, UNIT_COUNT, "steps"),
	FIELD(struct stalls_step_agg, total_ns, FIELD_U64, UNIT_NS, "their time"),
	FIELD(struct stalls_step_agg, max_ns, FIELD_U64, UNIT_NS, "the longest since the start"),
	FIELD(struct stalls_step_agg, scanned, FIELD_U64, UNIT_PAGES, "pages scanned"),
	FIELD(struct stalls_step_agg, done, FIELD_U64, UNIT_PAGES, DONE_HELP),
	FIELD(struct stalls_step_agg, failed, FIELD_U64, UNIT_PAGES, "not migrated"),
	FIELD(struct stalls_step_agg, wait_ns, FIELD_U64, UNIT_NS, "of the time, put to sleep"),
	FIELD_ARRAY(struct stalls_step_agg, hist, FIELD_U32, UNIT_COUNT, AGG_SLOTS, HIST_HELP),
};

const struct kind stalls_kinds[STALLS_KINDS] = {
	KIND(REC_STALLS_AGG, struct stalls_agg, "stalls_agg", agg_fields,
		"stalls of one process, cause and outcome, since the last such record"),
	KIND(REC_STALLS_EVENT, struct stalls_event, "stalls_event", event_fields, "one stall"),
	KIND(REC_STALLS_STEP, struct stalls_step_agg, "stalls_step", step_fields,
		"steps of one kind and result, since the last such record"),
};
