/* See maps_kinds.h. */
#include "probes/maps/maps_kinds.h"

#include "base/util.h"
#include "probes/maps/maps.h"

#define CALLS                                                                           \
	"1 mmap, 2 munmap, 3 mremap, 4 brk, 5 mprotect, 6 pkey_mprotect, 7 madvise, "   \
	"8 process_madvise, 9 remap_file_pages, 10 memfd_create, 11 shmget, 12 shmat, " \
	"13 shmdt, 14 shmctl, 15 open below /dev/shm, 16 unlink there, 17 mlock, "      \
	"18 mlock2, 19 munlock, 20 mlockall, 21 munlockall, 22 fork"
#define MEMORY                                                                           \
	"0 not known, 1 anonymous, 2 heap, 3 reserved, 4 stack, 5 file, 6 shared file, " \
	"7 shared anonymous, 8 POSIX shared memory, 9 memfd, 10 SysV shared memory, "    \
	"11 hugetlb, 12 device, 13 tmpfs"
#define REASONS                                                                           \
	"0 not known, 1 vm.max_map_count, 2 RLIMIT_AS, 3 RLIMIT_DATA, 4 RLIMIT_MEMLOCK, " \
	"5 larger than the address space, 6 strict overcommit, 7 obvious overcommit, "    \
	"8 no huge pages, 9 below the heap, 10 a limit on tasks"

static const struct field agg_fields[] = {
	FIELD(struct maps_agg, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct maps_agg, tid, FIELD_U32, UNIT_ID, "thread; 0: not counted by thread"),
	FIELD(struct maps_agg, stack, FIELD_U32, UNIT_STACK, "where the calls were made"),
	FIELD(struct maps_agg, detail, FIELD_U32, UNIT_ID, "advice of madvise, command of shmctl"),
	FIELD(struct maps_agg, object, FIELD_U64, UNIT_HEX,
		"file (a number made of inode and device), key or id; of failed calls the limit "
		"they met; 0: not counted by it"),
	FIELD(struct maps_agg, length, FIELD_U64, UNIT_BYTES, "0: not counted by it"),
	FIELD(struct maps_agg, error, FIELD_U16, UNIT_ID, "errno; 0: they succeeded"),
	FIELD(struct maps_agg, call, FIELD_U8, UNIT_ID, CALLS),
	FIELD(struct maps_agg, kind, FIELD_U8, UNIT_ID, MEMORY),
	FIELD(struct maps_agg, why, FIELD_U8, UNIT_ID, "why they failed: " REASONS),
	FIELD(struct maps_agg, count, FIELD_U64, UNIT_COUNT, "calls"),
	FIELD(struct maps_agg, timed, FIELD_U64, UNIT_COUNT, "calls whose duration is known"),
	FIELD(struct maps_agg, total_ns, FIELD_U64, UNIT_NS, "their time"),
	FIELD(struct maps_agg, max_ns, FIELD_U64, UNIT_NS, "the longest since the start"),
	FIELD(struct maps_agg, length_bytes, FIELD_U64, UNIT_BYTES,
		"lengths that successful calls named"),
	FIELD(struct maps_agg, added_bytes, FIELD_U64, UNIT_BYTES, "growth of VmSize in calls"),
	FIELD(struct maps_agg, taken_bytes, FIELD_U64, UNIT_BYTES, "shrinkage of VmSize in calls"),
	FIELD(struct maps_agg, held_bytes, FIELD_S64, UNIT_BYTES,
		"mapped, less what was unmapped of it by whomever; with flags 1 only"),
	FIELD(struct maps_agg, mixed, FIELD_U64, UNIT_COUNT,
		"calls that overlapped others of their process"),
	FIELD(struct maps_agg, cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD_ARRAY(struct maps_agg, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
	FIELD_ARRAY(struct maps_agg, name, FIELD_CHARS, UNIT_NONE, AGG_NAME_LEN,
		"name of what is mapped"),
	FIELD_ARRAY(struct maps_agg, hist, FIELD_U32, UNIT_COUNT, AGG_SLOTS,
		"log2 histogram of durations: slot i is 2^(i-1) to 2^i ns"),
	FIELD(struct maps_agg, where, FIELD_U32, UNIT_STRING,
		"file of the limit on tasks that was met; 0: not known"),
};

static const struct field call_fields[] = {
	FIELD(struct maps_event, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct maps_event, tid, FIELD_U32, UNIT_ID, "thread"),
	FIELD(struct maps_event, ustack, FIELD_U32, UNIT_STACK, "where it was made"),
	FIELD(struct maps_event, ns, FIELD_U64, UNIT_NS, "duration; 0: not known"),
	FIELD(struct maps_event, result, FIELD_S64, UNIT_NONE, "what it returned, or -errno"),
	FIELD_ARRAY(struct maps_event, args, FIELD_U64, UNIT_HEX, 6,
		"arguments; those of open, unlink: 0, path, ..."),
	FIELD(struct maps_event, growth, FIELD_S64, UNIT_BYTES, "change of VmSize"),
	FIELD(struct maps_event, vm_pages, FIELD_U64, UNIT_PAGES, "VmSize after it"),
	FIELD(struct maps_event, object, FIELD_U64, UNIT_HEX, "as in maps_agg"),
	FIELD(struct maps_event, limit, FIELD_U64, UNIT_NONE, "the limit it met"),
	FIELD(struct maps_event, cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD(struct maps_event, mappings, FIELD_U32, UNIT_COUNT, "of the process after it"),
	FIELD(struct maps_event, call, FIELD_U8, UNIT_ID, "as in maps_agg"),
	FIELD(struct maps_event, kind, FIELD_U8, UNIT_ID, "as in maps_agg"),
	FIELD(struct maps_event, flags, FIELD_U8, UNIT_HEX,
		"1 overlapped others of its process, 2 growth is measured (else by arguments), "
		"4 vm_pages and mappings are known, 8 name was read"),
	FIELD(struct maps_event, why, FIELD_U8, UNIT_ID, "as in maps_agg"),
	FIELD_ARRAY(struct maps_event, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
	FIELD_ARRAY(struct maps_event, name, FIELD_CHARS, UNIT_NONE, MAPS_NAME_LEN,
		"of the file, memfd or shared memory"),
};

static const struct field process_fields[] = {
	FIELD(struct maps_process, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct maps_process, execs, FIELD_U32, UNIT_COUNT, "new programs since first seen"),
	FIELD(struct maps_process, calls, FIELD_U64, UNIT_COUNT, "since the last such record"),
	FIELD(struct maps_process, first_bytes, FIELD_U64, UNIT_BYTES, "VmSize when first seen"),
	FIELD(struct maps_process, last_bytes, FIELD_U64, UNIT_BYTES, "VmSize after its last call"),
	FIELD(struct maps_process, first_data_bytes, FIELD_U64, UNIT_BYTES,
		"VmData when first seen"),
	FIELD(struct maps_process, last_data_bytes, FIELD_U64, UNIT_BYTES,
		"VmData after its last call"),
	FIELD(struct maps_process, mappings, FIELD_U32, UNIT_COUNT, "mappings after its last call"),
	FIELD(struct maps_process, cgroup, FIELD_U64, UNIT_CGROUP, "its control group"),
	FIELD_ARRAY(struct maps_process, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "its name"),
};

static const struct field limit_fields[] = {
	FIELD(struct maps_limit, value, FIELD_U64, UNIT_NONE, "bytes, or as sysctl(8) has it"),
	FIELD_ARRAY(struct maps_limit, name, FIELD_CHARS, UNIT_NONE, MAPS_LIMIT_LEN,
		"of the sysctl, or in /proc/meminfo"),
};

static const struct field sampled_fields[] = {
	FIELD(struct maps_sampled, on_ns, FIELD_U64, UNIT_NS, "calls were looked at for so long"),
	FIELD(struct maps_sampled, covered_ns, FIELD_U64, UNIT_NS, "in the place of that"),
};

const struct kind maps_kinds[MAPS_KINDS] = {
	KIND(REC_MAPS_AGG, struct maps_agg, "maps_agg", agg_fields,
		"calls of one kind, process and place, since the last such record"),
	KIND(REC_MAPS_CALL, struct maps_event, "maps_call", call_fields, "one call"),
	KIND(REC_MAPS_PROCESS, struct maps_process, "maps_process", process_fields,
		"an address space, when it was changed"),
	KIND(REC_MAPS_LIMIT, struct maps_limit, "maps_limit", limit_fields,
		"a limit or size of the machine, when it has changed"),
	KIND(REC_MAPS_SAMPLED, struct maps_sampled, "maps_sampled", sampled_fields,
		"only calls that failed were counted, in bursts: for how long"),
};
