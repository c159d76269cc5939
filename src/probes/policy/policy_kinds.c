/* See policy_kinds.h. */
#include "probes/policy/policy_kinds.h"

#include "base/util.h"
#include "probes/policy/policy.h"

#define CALL(member_, type_, unit_, help_) FIELD(struct policy_call, member_, type_, unit_, help_)
#define AGG(member_, type_, unit_, help_) FIELD(struct policy_agg, member_, type_, unit_, help_)
#define MAPPING(member_, type_, unit_, help_) \
	FIELD(struct policy_mapping, member_, type_, unit_, help_)
#define THREAD(member_, type_, unit_, help_) \
	FIELD(struct policy_thread, member_, type_, unit_, help_)
#define NODE(member_, type_, unit_, help_) FIELD(struct policy_node, member_, type_, unit_, help_)

/* A member of a member, under a name of its own. */
#define INNER(name_, member_, type_, unit_, count_, help_)                                         \
	{                                                                                          \
		.name = (name_), .offset = offsetof(struct policy_call, member_), .type = (type_), \
		.unit = (unit_), .count = (count_), .help = (help_)                                \
	}
#define MASK(name_, i_, help_)                                                \
	INNER(name_, masks[i_].bits, FIELD_U64, UNIT_HEX, MASK_WORDS, help_), \
		INNER(name_ "_cut", masks[i_].cut, FIELD_U64, UNIT_HEX, 1,    \
			"of the last word of it, what maxnode cuts off"),     \
		INNER(name_ "_state", masks[i_].state, FIELD_U8, UNIT_HEX, 1, \
			"1 no pointer, 2 not mapped to its end, 4 longer than 1024 bits, 8 empty")
#define PAGES(name_, member_)                                                                      \
	INNER(name_ "_looked", member_.looked, FIELD_U32, UNIT_PAGES, 1, "pages looked at"),       \
		INNER(name_ "_on", member_.on, FIELD_U32, UNIT_PAGES, 1,                           \
			"of them, on a node that was asked for"),                                  \
		INNER(name_ "_at", member_.at, FIELD_U16, UNIT_PAGES, POLICY_PLACES,               \
			"of them, on each node up to 63; not there, in swap, on other nodes, not " \
			"known; ENOENT, EACCES, EBUSY, EFAULT, EIO, EINVAL, ENOMEM, other errors")

static const struct field call_fields[] = {
	CALL(tgid, FIELD_U32, UNIT_ID, "process"),
	CALL(tid, FIELD_U32, UNIT_ID, "thread"),
	CALL(ustack, FIELD_U32, UNIT_STACK, "where it was called"),
	CALL(start_ns, FIELD_U64, UNIT_NS, "its begin; 0: not known"),
	CALL(ns, FIELD_U64, UNIT_NS, "its duration"),
	CALL(ret, FIELD_S64, UNIT_NONE, "what it returned; an error is negative"),
	CALL(cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD_ARRAY(struct policy_call, args, FIELD_U64, UNIT_HEX, 6, "its arguments"),
	CALL(call, FIELD_U32, UNIT_ID,
		"number of the system call: 237 mbind, 238 set_mempolicy, 239 get_mempolicy, 256 "
		"migrate_pages, 279 move_pages, 450 set_mempolicy_home_node"),
	CALL(warnings, FIELD_U32, UNIT_HEX,
		"1 maxnode cuts nodes off, 2 empty mask, 4 nodes that cannot be used, 8 pages "
		"stayed elsewhere, 16 pages remained elsewhere, 32 page cache, 64 after memory was "
		"touched, 128 nodes too small, 256 pages not moved"),
	CALL(flags, FIELD_U32, UNIT_HEX,
		"1 before is known, 2 after is known, 4 a shared mapping, 8 usable is known, 16 "
		"status is known, 32 refused before it began, 64 answer is known"),
	CALL(answer, FIELD_S32, UNIT_NONE, "of get_mempolicy: mode, or node"),
	CALL(moved, FIELD_U64, UNIT_PAGES, "pages the kernel migrated in it"),
	CALL(unmoved, FIELD_U64, UNIT_PAGES, "pages it tried to migrate in vain"),
	CALL(anon_pages, FIELD_U64, UNIT_PAGES, "anonymous pages of the process; 0: not known"),
	CALL(map_start, FIELD_U64, UNIT_HEX, "begin of the mapping its range begins in"),
	CALL(map_end, FIELD_U64, UNIT_HEX, "end of that mapping"),
	MASK("nodes", 0, "node mask; of migrate_pages: from"),
	MASK("to_nodes", 1, "of migrate_pages: to"),
	FIELD_ARRAY(struct policy_call, usable, FIELD_U64, UNIT_HEX, MASK_WORDS,
		"nodes with memory that the task may use"),
	PAGES("before", before),
	PAGES("after", after),
	PAGES("wanted", wanted),
	PAGES("status", status),
	FIELD_ARRAY(struct policy_call, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
	FIELD_ARRAY(struct policy_call, file, FIELD_CHARS, UNIT_NONE, POLICY_FILE, "mapped file"),
	CALL(map, FIELD_U8, UNIT_ID,
		"mapping: 1 anonymous, 2 heap, 3 stack, 4 file, 5 shared memory, 6 hugetlb, 7 "
		"other"),
};

static const struct field agg_fields[] = {
	AGG(tgid, FIELD_U32, UNIT_ID, "process"),
	AGG(tid, FIELD_U32, UNIT_ID, "thread; 0: not counted by thread"),
	AGG(stack, FIELD_U32, UNIT_STACK, "where it was called"),
	AGG(call, FIELD_U32, UNIT_ID, "number of the system call, as in policy_call"),
	AGG(mode, FIELD_U32, UNIT_HEX, "of mbind and set_mempolicy, with its flags"),
	AGG(flags, FIELD_U32, UNIT_HEX, "of mbind, get_mempolicy and move_pages"),
	AGG(error, FIELD_S32, UNIT_ID, "errno; 0: success"),
	AGG(warnings, FIELD_U32, UNIT_HEX, "as in policy_call"),
	AGG(count, FIELD_U64, UNIT_COUNT, "calls"),
	AGG(timed, FIELD_U64, UNIT_COUNT, "calls whose duration is known"),
	AGG(total_ns, FIELD_U64, UNIT_NS, "their time"),
	AGG(max_ns, FIELD_U64, UNIT_NS, "the longest since the start"),
	AGG(pages, FIELD_U64, UNIT_PAGES, "of their ranges or arrays"),
	AGG(moved, FIELD_U64, UNIT_PAGES, "pages the kernel migrated in them"),
	AGG(unmoved, FIELD_U64, UNIT_PAGES, "pages it tried to migrate in vain"),
	AGG(on_before, FIELD_U64, UNIT_PAGES,
		"pages present on a node that was asked for, before (scaled from those looked at)"),
	AGG(off_before, FIELD_U64, UNIT_PAGES, "pages present elsewhere, before"),
	AGG(on_after, FIELD_U64, UNIT_PAGES, "pages present on a node that was asked for, after"),
	AGG(off_after, FIELD_U64, UNIT_PAGES, "pages present elsewhere, after"),
	AGG(cgroup, FIELD_U64, UNIT_CGROUP, "control group of the task"),
	FIELD_ARRAY(struct policy_agg, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "thread name"),
	FIELD_ARRAY(struct policy_agg, hist, FIELD_U32, UNIT_COUNT, AGG_SLOTS,
		"log2 histogram of durations: slot i is 2^(i-1) to 2^i ns"),
};

static const struct field mapping_fields[] = {
	MAPPING(tgid, FIELD_U32, UNIT_ID, "process"),
	MAPPING(policy, FIELD_U32, UNIT_STRING, "as numa_maps has it"),
	MAPPING(file, FIELD_U32, UNIT_STRING, "path of the file; 0: none"),
	MAPPING(map, FIELD_U8, UNIT_ID, "as in policy_call"),
	MAPPING(shared, FIELD_U8, UNIT_NONE, "1: a shared mapping"),
	MAPPING(start, FIELD_U64, UNIT_HEX, "its first address"),
	MAPPING(end, FIELD_U64, UNIT_HEX, "its end"),
	MAPPING(page_bytes, FIELD_U64, UNIT_BYTES, "size of the pages that follow"),
	FIELD_ARRAY(struct policy_mapping, nodes, FIELD_U32S, UNIT_NONE, 0,
		"for each node with pages of it: the node, the pages"),
};

static const struct field thread_fields[] = {
	THREAD(tgid, FIELD_U32, UNIT_ID, "process"),
	THREAD(tid, FIELD_U32, UNIT_ID, "thread"),
	THREAD(policy, FIELD_U32, UNIT_STRING, "as numa_maps has it; 0: not known"),
	THREAD(node, FIELD_S32, UNIT_ID, "of the CPU it last ran on; -1: not known"),
	FIELD_ARRAY(struct policy_thread, comm, FIELD_CHARS, UNIT_NONE, COMM_LEN, "its name"),
};

static const struct field node_fields[] = {
	NODE(node, FIELD_U32, UNIT_ID, "node"),
	NODE(bytes, FIELD_U64, UNIT_BYTES, "its memory"),
	NODE(free_bytes, FIELD_U64, UNIT_BYTES, "of it, free"),
};

const struct kind policy_kinds[POLICY_KINDS] = {
	KIND(REC_POLICY_AGG, struct policy_agg, "policy_agg", agg_fields,
		"calls on memory policy of one kind and process, since the last such record"),
	KIND(REC_POLICY_CALL, struct policy_call, "policy_call", call_fields,
		"one call on memory policy; without --each only some with a warning or an error, "
		"which are then not in policy_agg"),
	KIND(REC_POLICY_MAPPING, struct policy_mapping, "policy_mapping", mapping_fields,
		"a mapping with its policy and the nodes of its pages"),
	KIND(REC_POLICY_THREAD, struct policy_thread, "policy_thread", thread_fields,
		"a thread with its policy"),
	KIND(REC_POLICY_NODE, struct policy_node, "policy_node", node_fields,
		"a node of the machine"),
};
