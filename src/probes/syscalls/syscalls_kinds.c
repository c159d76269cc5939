/* See syscalls_kinds.h. */
#include "probes/syscalls/syscalls_kinds.h"

#include "base/util.h"
#include "probes/syscalls/syscalls.h"

#define ABI_HELP "0: native, 1: compat (32-bit), 2: x32"

static const struct field agg_fields[] = {
	FIELD(struct syscalls_agg, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct syscalls_agg, tid, FIELD_U32, UNIT_ID, "thread, 0 unless by thread"),
	FIELD(struct syscalls_agg, stack, FIELD_U32, UNIT_STACK, "who called"),
	FIELD(struct syscalls_agg, nr, FIELD_U32, UNIT_ID, "number of the call in its ABI"),
	FIELD(struct syscalls_agg, abi, FIELD_U8, UNIT_ID, ABI_HELP),
	FIELD(struct syscalls_agg, count, FIELD_U64, UNIT_COUNT, "calls"),
	FIELD(struct syscalls_agg, timed, FIELD_U64, UNIT_COUNT, "of these, with a duration"),
	FIELD(struct syscalls_agg, errors, FIELD_U64, UNIT_COUNT, "of these, failed"),
	FIELD(struct syscalls_agg, refused, FIELD_U64, UNIT_COUNT,
		"of these, refused by seccomp or a tracer"),
	FIELD(struct syscalls_agg, total_ns, FIELD_U64, UNIT_NS, "time in them"),
	FIELD(struct syscalls_agg, min_ns, FIELD_U64, UNIT_NS, "shortest, since the start"),
	FIELD(struct syscalls_agg, max_ns, FIELD_U64, UNIT_NS, "longest, since the start"),
	FIELD_ARRAY(struct syscalls_agg, part_ns, FIELD_U64, UNIT_NS, SYSCALLS_PARTS,
		"of the time, in page faults, reclaim, compaction"),
	FIELD_ARRAY(struct syscalls_agg, part_n, FIELD_U64, UNIT_COUNT, SYSCALLS_PARTS,
		"page faults, reclaims, compactions"),
	FIELD(struct syscalls_agg, cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD_ARRAY(struct syscalls_agg, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
	FIELD_ARRAY(struct syscalls_agg, hist, FIELD_U32, UNIT_COUNT, AGG_SLOTS,
		"log2 histogram of the durations in ns"),
};

static const struct field error_fields[] = {
	FIELD(struct syscalls_error, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct syscalls_error, tid, FIELD_U32, UNIT_ID, "thread, 0 unless by thread"),
	FIELD(struct syscalls_error, nr, FIELD_U32, UNIT_ID, "number of the call in its ABI"),
	FIELD(struct syscalls_error, error, FIELD_U16, UNIT_ID, "errno"),
	FIELD(struct syscalls_error, abi, FIELD_U8, UNIT_ID, ABI_HELP),
	FIELD(struct syscalls_error, count, FIELD_U64, UNIT_COUNT, "calls that failed so"),
	FIELD(struct syscalls_error, cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD_ARRAY(struct syscalls_error, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
};

#define COPY_HELP                                                                         \
	"of three arguments, what follows the record: index plus one, and 16 a text, 32 " \
	"bytes that go in, 48 bytes that come out, else a structure; 0: none"

static const struct field call_fields[] = {
	FIELD(struct syscalls_call, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct syscalls_call, tid, FIELD_U32, UNIT_ID, "thread"),
	FIELD(struct syscalls_call, ustack, FIELD_U32, UNIT_STACK, "who called"),
	FIELD(struct syscalls_call, ret, FIELD_S64, UNIT_NONE, "what it returned, or -errno"),
	FIELD(struct syscalls_call, ns, FIELD_U64, UNIT_NS, "duration, where flags has 4"),
	FIELD(struct syscalls_call, cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD(struct syscalls_call, nr, FIELD_U32, UNIT_ID, "number of the call in its ABI"),
	FIELD(struct syscalls_call, abi, FIELD_U8, UNIT_ID, ABI_HELP),
	FIELD(struct syscalls_call, flags, FIELD_U16, UNIT_HEX,
		"1 never returns, 2 refused before it began, 4 timed, 8 had not ended, 16, 32 and "
		"64 the first, second and third copy is cut, 256, 512 and 1024 it could not be "
		"read"),
	FIELD_ARRAY(struct syscalls_call, copy, FIELD_U8, UNIT_HEX, SYSCALLS_COPIES, COPY_HELP),
	FIELD_ARRAY(struct syscalls_call, copied, FIELD_U16, UNIT_BYTES, SYSCALLS_COPIES,
		"bytes of each"),
	FIELD_ARRAY(struct syscalls_call, args, FIELD_U64, UNIT_HEX, SYSCALLS_ARGS, "arguments"),
	FIELD_ARRAY(struct syscalls_call, part_ns, FIELD_U64, UNIT_NS, SYSCALLS_PARTS,
		"of the time, in page faults, reclaim, compaction"),
	FIELD_ARRAY(struct syscalls_call, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
};

static const struct field dump_fields[] = {
	FIELD(struct syscalls_dump, key, FIELD_U64, UNIT_ID,
		"whose calls: a control group, or a process"),
	FIELD(struct syscalls_dump, detail, FIELD_U64, UNIT_NONE,
		"of a slow call its ns, of a failed one errno, of an end the wait status"),
	FIELD(struct syscalls_dump, kept, FIELD_U64, UNIT_COUNT, "calls kept so far"),
	FIELD(struct syscalls_dump, missed, FIELD_U64, UNIT_COUNT,
		"slow or failed calls that made no dump, as the one before was still to be read"),
	FIELD(struct syscalls_dump, ring, FIELD_U32, UNIT_ID, "number of the ring"),
	FIELD(struct syscalls_dump, tgid, FIELD_U32, UNIT_ID, "process that made it dump"),
	FIELD(struct syscalls_dump, tid, FIELD_U32, UNIT_ID, "thread that did"),
	FIELD(struct syscalls_dump, why, FIELD_U8, UNIT_ID,
		"0 asked for, 1 slow call, 2 failed call, 3 end of a process, 4 by a signal"),
	FIELD(struct syscalls_dump, by_process, FIELD_U8, UNIT_ID, "1: key is a process"),
	FIELD_ARRAY(struct syscalls_dump, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
};

const struct kind syscalls_kinds[SYSCALLS_KINDS] = {
	KIND(REC_SYSCALLS_AGG, struct syscalls_agg, "syscalls_agg", agg_fields,
		"calls of one number by one process, since the last such record"),
	KIND(REC_SYSCALLS_ERROR, struct syscalls_error, "syscalls_error", error_fields,
		"errors of one kind of such calls, since the last such record"),
	KIND(REC_SYSCALLS_CALL, struct syscalls_call, "syscalls_call", call_fields,
		"one call; what was copied of its arguments follows"),
	KIND(REC_SYSCALLS_DUMP, struct syscalls_dump, "syscalls_dump", dump_fields,
		"the calls kept of a control group or process follow"),
	KIND(REC_SYSCALLS_KEPT, struct syscalls_call, "syscalls_kept", call_fields,
		"one of the calls of the last dump, in order of time"),
};
