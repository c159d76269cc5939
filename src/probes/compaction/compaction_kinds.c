/* See compaction_kinds.h. */
#include "probes/compaction/compaction_kinds.h"

#include "base/util.h"
#include "probes/compaction/compaction.h"

#define KIND_HELP "1 direct, 2 khugepaged, 3 kcompactd, 4 proactive, 5 requested, 0 other"
#define HIST_HELP "log2 histogram of durations: slot i is 2^(i-1) to 2^i ns"
#define FLAGS_HELP                                                                       \
	"known are: 1 free pages and watermarks, 2 the fragmentation index, 4 scanned, " \
	"8 isolated, migrated and failed"

/* What all records of a zone say alike. */
#define ZONE_FIELDS(type_)                                                             \
	FIELD(type_, node, FIELD_S32, UNIT_ID, "NUMA node; -1: not known"),            \
		FIELD(type_, zone, FIELD_U8, UNIT_ID,                                  \
			"number of the zone in its node (enum zone); 255: not known"), \
		FIELD(type_, order, FIELD_S32, UNIT_ID,                                \
			"order to make free blocks of; -1: the whole zone, -128: not known")

#define RUN_FIELDS(type_)                                                                        \
	FIELD(type_, kind, FIELD_U8, UNIT_ID, KIND_HELP),                                        \
		FIELD(type_, sync, FIELD_U8, UNIT_ID, "0 async, 1 sync"),                        \
		FIELD(type_, status, FIELD_U8, UNIT_ID, "result (enum compact_result)"),         \
		FIELD(type_, cpu_ns, FIELD_U64, UNIT_NS, "of the time, on a CPU; 0: not known"), \
		FIELD(type_, migrate_scanned, FIELD_U64, UNIT_PAGES,                             \
			"as compact_migrate_scanned counts"),                                    \
		FIELD(type_, free_scanned, FIELD_U64, UNIT_PAGES,                                \
			"as compact_free_scanned counts"),                                       \
		FIELD(type_, isolated, FIELD_U64, UNIT_PAGES, "as compact_isolated counts"),     \
		FIELD(type_, migrated, FIELD_U64, UNIT_PAGES, "pages moved"),                    \
		FIELD(type_, failed, FIELD_U64, UNIT_PAGES, "pages that could not be moved"),    \
		FIELD(type_, cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),       \
		FIELD_ARRAY(type_, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name")

static const struct field agg_fields[] = {
	FIELD(struct compaction_agg, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct compaction_agg, tid, FIELD_U32, UNIT_ID, "thread; 0: not counted by thread"),
	FIELD(struct compaction_agg, stack, FIELD_U32, UNIT_STACK, "where compaction was entered"),
	ZONE_FIELDS(struct compaction_agg),
	FIELD(struct compaction_agg, count, FIELD_U64, UNIT_COUNT, "runs that ended"),
	FIELD(struct compaction_agg, total_ns, FIELD_U64, UNIT_NS, "their time"),
	FIELD(struct compaction_agg, max_ns, FIELD_U64, UNIT_NS, "the longest since the start"),
	RUN_FIELDS(struct compaction_agg),
	FIELD_ARRAY(struct compaction_agg, hist, FIELD_U32, UNIT_COUNT, AGG_SLOTS, HIST_HELP),
};

#define PAGES(member_, help_) FIELD(struct compaction_run, member_, FIELD_U64, UNIT_PAGES, help_)

static const struct field run_fields[] = {
	FIELD(struct compaction_run, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct compaction_run, tid, FIELD_U32, UNIT_ID, "thread"),
	FIELD(struct compaction_run, ustack, FIELD_U32, UNIT_STACK, "where compaction was entered"),
	FIELD(struct compaction_run, ns, FIELD_U64, UNIT_NS, "duration, up to the record's time"),
	PAGES(free_pages, "free in the zone when it began"),
	PAGES(min_pages, "min watermark then, with its boost"),
	PAGES(low_pages, "low watermark"),
	PAGES(high_pages, "high watermark"),
	FIELD(struct compaction_run, index, FIELD_S32, UNIT_PERMILLE,
		"fragmentation index for the order; -1000: a free block is there"),
	FIELD(struct compaction_run, flags, FIELD_U8, UNIT_HEX, FLAGS_HELP),
	ZONE_FIELDS(struct compaction_run),
	RUN_FIELDS(struct compaction_run),
};

static const struct field attempts_fields[] = {
	FIELD(struct compaction_attempts, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct compaction_attempts, tid, FIELD_U32, UNIT_ID,
		"thread; 0: not counted by thread"),
	FIELD(struct compaction_attempts, kind, FIELD_U8, UNIT_ID, KIND_HELP),
	FIELD(struct compaction_attempts, sync, FIELD_U8, UNIT_ID, "0 async, 1 sync"),
	FIELD(struct compaction_attempts, order, FIELD_S32, UNIT_ID, "order of the allocation"),
	FIELD(struct compaction_attempts, begun, FIELD_U64, UNIT_COUNT, "attempts"),
	FIELD(struct compaction_attempts, stalled, FIELD_U64, UNIT_COUNT,
		"of these, with a zone that was compacted or found good"),
	FIELD(struct compaction_attempts, deferred, FIELD_U64, UNIT_COUNT,
		"of the attempts, with a zone that was deferred, before any such zone"),
	FIELD(struct compaction_attempts, both, FIELD_U64, UNIT_COUNT,
		"of the deferred, those with such a zone after that"),
	FIELD(struct compaction_attempts, succeeded, FIELD_U64, UNIT_COUNT,
		"of the attempts, with the page: compact_success"),
	FIELD(struct compaction_attempts, cgroup, FIELD_U64, UNIT_CGROUP,
		"control group of the task"),
	FIELD_ARRAY(
		struct compaction_attempts, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
};

static const struct field zone_fields[] = {
	ZONE_FIELDS(struct compaction_zone),
	FIELD(struct compaction_zone, runs, FIELD_U64, UNIT_COUNT, "runs that began"),
	FIELD(struct compaction_zone, known, FIELD_U64, UNIT_COUNT,
		"of these, with known free pages and watermarks"),
	FIELD(struct compaction_zone, above_high, FIELD_U64, UNIT_COUNT,
		"of these, with more pages free than the high watermark"),
	FIELD(struct compaction_zone, indexed, FIELD_U64, UNIT_COUNT,
		"runs with a known fragmentation index"),
	FIELD(struct compaction_zone, index_sum, FIELD_S64, UNIT_PERMILLE,
		"the sum of their indices"),
	FIELD(struct compaction_zone, free_sum, FIELD_U64, UNIT_PAGES,
		"the sum of the free pages of the known"),
	FIELD(struct compaction_zone, high_sum, FIELD_U64, UNIT_PAGES,
		"the sum of their high watermarks"),
};

static const struct field deferrals_fields[] = {
	ZONE_FIELDS(struct compaction_deferrals),
	FIELD(struct compaction_deferrals, skipped, FIELD_U64, UNIT_COUNT,
		"times compaction was not tried, as it had failed before"),
	FIELD(struct compaction_deferrals, failed, FIELD_U64, UNIT_COUNT,
		"times it failed and was put off"),
	FIELD(struct compaction_deferrals, reset, FIELD_U64, UNIT_COUNT,
		"times it succeeded, or was expected to"),
};

static const struct field kcompactd_fields[] = {
	FIELD(struct compaction_kcompactd, node, FIELD_U32, UNIT_ID, "NUMA node"),
	FIELD(struct compaction_kcompactd, wakes, FIELD_U64, UNIT_COUNT,
		"times it started work, as compact_daemon_wake counts"),
	FIELD(struct compaction_kcompactd, wakeups, FIELD_U64, UNIT_COUNT, "times it was woken"),
	FIELD(struct compaction_kcompactd, sleeps, FIELD_U64, UNIT_COUNT,
		"times it went to sleep after work"),
	FIELD(struct compaction_kcompactd, awake_ns, FIELD_U64, UNIT_NS,
		"time from the work to the sleep that follows"),
	FIELD(struct compaction_kcompactd, max_ns, FIELD_U64, UNIT_NS,
		"the longest since the start"),
	FIELD(struct compaction_kcompactd, cpu_ns, FIELD_U64, UNIT_NS, "of it, on a CPU"),
	FIELD_ARRAY(struct compaction_kcompactd, hist, FIELD_U32, UNIT_COUNT, AGG_SLOTS, HIST_HELP),
};

const struct kind compaction_kinds[COMPACTION_KINDS] = {
	KIND(REC_COMPACTION_AGG, struct compaction_agg, "compaction_agg", agg_fields,
		"runs of compaction of one kind, process, zone and result, since the last such "
		"record"),
	KIND(REC_COMPACTION_RUN, struct compaction_run, "compaction_run", run_fields,
		"one run of compaction"),
	KIND(REC_COMPACTION_ATTEMPTS, struct compaction_attempts, "compaction_attempts",
		attempts_fields, "allocations of one process and order that compacted directly"),
	KIND(REC_COMPACTION_ZONE, struct compaction_zone, "compaction_zone", zone_fields,
		"a zone in the moments in which runs for one order began"),
	KIND(REC_COMPACTION_DEFERRALS, struct compaction_deferrals, "compaction_deferrals",
		deferrals_fields, "compaction of a zone for one order that was put off"),
	KIND(REC_COMPACTION_KCOMPACTD, struct compaction_kcompactd, "compaction_kcompactd",
		kcompactd_fields, "what the kcompactd of one node did"),
};
