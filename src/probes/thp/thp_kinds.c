/* See thp_kinds.h. */
#include "probes/thp/thp_kinds.h"

#include "probes/thp/thp.h"

#define KIND_HELP                                                                              \
	"1 huge fault, 2 fallback, 3 split of a mapping, 4 split of a page, 5 fault handled, " \
	"6 compaction of a zone, 7 direct reclaim, 8 kswapd, 9 scan, 10 collapse"
#define FLAGS_HELP "1 of a file, 2 by a kernel thread, 4 free memory was compared"
#define SUM_HELP                                                                             \
	"5: ns zeroing, ns compacting, ns of fallbacks; 7, 8: times begun with free memory " \
	"above the high watermarks, their ns, pages reclaimed"

#define AGG(member_, type_, unit_, help_) FIELD(struct thp_agg, member_, type_, unit_, help_)
#define EACH(member_, type_, unit_, help_) FIELD(struct thp_event, member_, type_, unit_, help_)
#define PROCESS(member_, type_, unit_, help_) \
	FIELD(struct thp_process, member_, type_, unit_, help_)

static const struct field value_fields[] = {
	FIELD(struct thp_value, value, FIELD_U64, UNIT_NONE, "in the kernel's own unit"),
	FIELD(struct thp_value, source, FIELD_U16, UNIT_ID,
		"1 setting; 2 /proc/vmstat; 3 statistics of a size; 4 pages: free, high "
		"(watermarks), total"),
	FIELD_ARRAY(struct thp_value, name, FIELD_CHARS, UNIT_NONE, THP_NAME_LEN,
		"settings: path below transparent_hugepage/"),
	FIELD_ARRAY(struct thp_value, text, FIELD_CHARS, UNIT_NONE, THP_TEXT_LEN,
		"the selected word of a setting that is no number"),
};

static const struct field agg_fields[] = {
	AGG(tgid, FIELD_U32, UNIT_ID, "process; of 9 and 10: whose memory it is"),
	AGG(tid, FIELD_U32, UNIT_ID, "thread; 0: not counted by thread"),
	AGG(stack, FIELD_U32, UNIT_STACK, "where it happened"),
	AGG(result, FIELD_U32, UNIT_ID, "of 9 and 10: enum scan_result of that kernel"),
	AGG(kind, FIELD_U8, UNIT_ID, KIND_HELP),
	AGG(flags, FIELD_U8, UNIT_HEX, FLAGS_HELP),
	AGG(count, FIELD_U64, UNIT_COUNT, "how many"),
	AGG(timed, FIELD_U64, UNIT_COUNT, "of these, with a known duration"),
	AGG(total_ns, FIELD_U64, UNIT_NS, "their time"),
	AGG(max_ns, FIELD_U64, UNIT_NS, "the longest since the start"),
	FIELD_ARRAY(struct thp_agg, sum, FIELD_U64, UNIT_NONE, 3, SUM_HELP),
	AGG(cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD_ARRAY(struct thp_agg, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "its name"),
	FIELD_ARRAY(struct thp_agg, hist, FIELD_U32, UNIT_COUNT, AGG_SLOTS,
		"log2 histogram of durations: slot i is 2^(i-1) to 2^i ns"),
};

static const struct field event_fields[] = {
	EACH(tgid, FIELD_U32, UNIT_ID, "process"),
	EACH(tid, FIELD_U32, UNIT_ID, "thread"),
	EACH(ustack, FIELD_U32, UNIT_STACK, "where it happened"),
	EACH(ns, FIELD_U64, UNIT_NS, "duration; 0: not known"),
	FIELD_ARRAY(struct thp_event, sum, FIELD_U64, UNIT_NONE, 3, SUM_HELP),
	EACH(cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	EACH(result, FIELD_U32, UNIT_ID, "as in thp_agg"),
	EACH(kind, FIELD_U8, UNIT_ID, KIND_HELP),
	EACH(flags, FIELD_U8, UNIT_HEX, FLAGS_HELP),
	FIELD_ARRAY(struct thp_event, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "name of the task"),
};

static const struct field process_fields[] = {
	PROCESS(tgid, FIELD_U32, UNIT_ID, "process"),
	PROCESS(sampled, FIELD_U32, UNIT_COUNT, "huge pages that were read"),
	PROCESS(start_ns, FIELD_U64, UNIT_NS, "its start, since boot"),
	PROCESS(rss_bytes, FIELD_U64, UNIT_BYTES, "resident memory"),
	PROCESS(anon_huge_bytes, FIELD_U64, UNIT_BYTES, "anonymous memory in huge pages"),
	PROCESS(shmem_huge_bytes, FIELD_U64, UNIT_BYTES, "shared memory in huge pages"),
	PROCESS(file_huge_bytes, FIELD_U64, UNIT_BYTES, "files in huge pages"),
	PROCESS(waste_bytes, FIELD_U64, UNIT_BYTES,
		"zero-filled base pages in anon_huge_bytes (estimated); with sampled"),
	PROCESS(error_bytes, FIELD_U64, UNIT_BYTES, "twice the standard error of that"),
	PROCESS(cgroup, FIELD_U64, UNIT_CGROUP, "control group"),
	PROCESS(candidates, FIELD_U32, UNIT_COUNT, "huge pages of which the sample was drawn"),
	PROCESS(exact, FIELD_U32, UNIT_ID,
		"1: the kernel told which are huge; 0: ranges fully mapped were taken for huge"),
	FIELD_ARRAY(struct thp_process, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "its name"),
};

const struct kind thp_kinds[THP_KINDS] = {
	KIND(REC_THP_VALUE, struct thp_value, "thp_value", value_fields,
		"a setting or counter of huge pages, sent when it has changed"),
	KIND(REC_THP_AGG, struct thp_agg, "thp_agg", agg_fields,
		"what was done with huge pages, of one kind, since the last such record"),
	KIND(REC_THP_EVENT, struct thp_event, "thp_event", event_fields, "one such thing"),
	KIND(REC_THP_PROCESS, struct thp_process, "thp_process", process_fields,
		"huge pages of a process, and an estimate of those not used"),
};
