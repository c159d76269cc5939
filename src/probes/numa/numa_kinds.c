/* See numa_kinds.h. */
#include "probes/numa/numa_kinds.h"

#include "base/util.h"
#include "probes/numa/numa.h"

#define SAMPLE(m_, t_, u_, help_) FIELD(struct numa_sample, m_, FIELD_##t_, UNIT_##u_, help_)
#define MAPPING(m_, t_, u_, help_) FIELD(struct numa_mapping, m_, FIELD_##t_, UNIT_##u_, help_)
#define TASK(m_, t_, u_, help_) FIELD(struct numa_task, m_, FIELD_##t_, UNIT_##u_, help_)
#define BLOCK(m_, t_, u_, help_) FIELD(struct numa_block, m_, FIELD_##t_, UNIT_##u_, help_)
#define VARIABLE(m_, t_, u_, help_) FIELD(struct numa_variable, m_, FIELD_##t_, UNIT_##u_, help_)
#define MOVE(m_, t_, u_, help_) FIELD(struct numa_move, m_, FIELD_##t_, UNIT_##u_, help_)
#define THREAD(m_, t_, u_, help_) FIELD(struct numa_thread_move, m_, FIELD_##t_, UNIT_##u_, help_)
#define PLACE(m_, t_, u_, help_) FIELD(struct numa_place, m_, FIELD_##t_, UNIT_##u_, help_)
#define NODE(m_, t_, u_, help_) FIELD(struct numa_node, m_, FIELD_##t_, UNIT_##u_, help_)
#define POLICY(m_, t_, u_, help_) FIELD(struct numa_policy, m_, FIELD_##t_, UNIT_##u_, help_)
#define CPU(m_, t_, u_, help_) FIELD(struct numa_cpu, m_, FIELD_##t_, UNIT_##u_, help_)

/* The flags in the head of a record. */
#define FLAGS(help_)                                                                       \
	{                                                                                  \
		.name = "flags", .offset = offsetof(struct rec, flags), .type = FIELD_U16, \
		.unit = UNIT_HEX, .count = 1, .help = (help_)                              \
	}

static const struct field sample_fields[] = {
	FLAGS("1 remote and 2 local as the hardware says, 4 modified in another cache, 8 latency "
	      "in "
	      "cycles, 16 by the kernel, 32 TLB miss"),
	SAMPLE(tgid, U32, ID, "process"),
	SAMPLE(tid, U32, ID, "thread"),
	SAMPLE(address, U64, HEX, "what was accessed; 0: not known"),
	SAMPLE(ip, U64, HEX, "the instruction; 0: not known"),
	SAMPLE(sp, U64, HEX, "stack pointer of the thread; 0: not known"),
	SAMPLE(weight, U64, COUNT, "accesses it stands for (estimated); 0: one"),
	SAMPLE(ustack, U32, STACK, "where it was accessed"),
	SAMPLE(latency, U32, NONE, "in ns or cycles, see flags; 0: not known"),
	SAMPLE(cpu, S32, ID, "processor; -1: not known"),
	SAMPLE(cpu_node, S32, ID, "node of the processor; -1: not known"),
	SAMPLE(page_node, S32, ID, "node of the page; -1: not known"),
	SAMPLE(op, U8, ID, "1 load, 2 store, 3 both, 4 instruction fetch; 0: not known"),
	SAMPLE(level, U8, ID,
		"where the data was: 1 L1, 2 fill buffer, 3 L2, 4 L3, 5 a remote cache, 6 RAM, 7 "
		"local RAM, 8 remote RAM, 9 CXL, 10 PMEM, 11 uncached; 0: not known"),
	SAMPLE(source, U8, ID,
		"1 PEBS, 2 IBS, 3 SPE, 4 NUMA hint fault, 5 first touch, 6 another page fault, 7 "
		"another perf event"),
	SAMPLE(node_from, U8, ID,
		"how page_node is known: 1 seen at the access, 2 of the physical address, 4 of "
		"level; 0: it is not"),
	SAMPLE(page_shift, U8, ID, "size of the page as a power of two; 0: not known"),
	SAMPLE(ran_ns, U64, NS, "CPU time of the thread until then; 0: not known"),
};

static const struct field mapping_fields[] = {
	FLAGS("1 it grows down by itself"),
	MAPPING(tgid, U32, ID, "process"),
	MAPPING(tid, U32, ID, "thread; 0: not known"),
	MAPPING(start, U64, HEX, "its first address"),
	MAPPING(bytes, U64, BYTES, "its length"),
	MAPPING(old_start, U64, HEX, "where it was before it moved"),
	MAPPING(old_bytes, U64, BYTES, "its length there"),
	MAPPING(offset, U64, BYTES, "into the file"),
	MAPPING(inode, U64, ID, "of the file"),
	MAPPING(device, U32, ID, "of the file: major << 20 | minor"),
	MAPPING(file, U32, STRING, "path of the file; 0: none"),
	MAPPING(ustack, U32, STACK, "where it was mapped"),
	MAPPING(what, U8, ID,
		"1 was there before, 2 made, 3 gone, 4 moved, 5 is there now: new, merged or with "
		"other rights"),
	MAPPING(kind, U8, ID,
		"1 anonymous, 2 heap, 3 stack, 4 file, 5 shared memory, 6 hugetlb, 7 vdso; 0: not "
		"known"),
	MAPPING(prot, U8, HEX, "1 read, 2 write, 4 execute"),
	MAPPING(shared, U8, NONE, "1: a shared mapping"),
};

static const struct field task_fields[] = {
	TASK(tgid, U32, ID, "process"),
	TASK(tid, U32, ID, "thread"),
	TASK(parent, U32, ID, "process that forked it"),
	TASK(what, U8, ID,
		"1 fork, 2 thread begins, 3 exec, 4 thread ends, 5 process ends, 6 was there "
		"before"),
	TASK(stack, U64, HEX, "an address in the thread's stack; 0: not known"),
	TASK(tls, U64, HEX, "thread pointer; 0: not known"),
};

static const struct field block_fields[] = {
	BLOCK(tgid, U32, ID, "process"),
	BLOCK(tid, U32, ID, "thread"),
	BLOCK(address, U64, HEX, "of the block"),
	BLOCK(bytes, U64, BYTES, "its size"),
	BLOCK(old_address, U64, HEX, "of realloc: where it was"),
	BLOCK(ustack, U32, STACK, "where it was allocated"),
	BLOCK(cpu_node, S32, ID, "node the thread ran on; -1: not known"),
	BLOCK(what, U8, ID, "1 allocated, 2 freed, 3 reallocated, 4 is there"),
	BLOCK(begin_ns, U64, NS, "of what is there: when it was allocated"),
};

static const struct field variable_fields[] = {
	VARIABLE(tgid, U32, ID, "process; 0: the kernel"),
	VARIABLE(tid, U32, ID, "thread, of a thread's own variable"),
	VARIABLE(start, U64, HEX, "where it is"),
	VARIABLE(bytes, U64, BYTES, "its size"),
	VARIABLE(name, U32, STRING, "its name"),
	VARIABLE(file, U32, STRING, "path of the file it is of"),
	VARIABLE(section, U8, ID, "1 .data, 2 .bss, 3 thread-local, 4 .rodata, 5 of the kernel"),
};

static const struct field move_fields[] = {
	MOVE(tgid, U32, ID, "process"),
	MOVE(tid, U32, ID, "thread"),
	MOVE(address, U64, HEX, "of the pages; 0: not known"),
	MOVE(pages, U64, PAGES, "pages moved"),
	MOVE(failed, U64, PAGES, "pages that could not be moved"),
	MOVE(from, S32, ID, "node; -1: not known"),
	MOVE(to, S32, ID, "node; -1: not known"),
	MOVE(why, U8, ID,
		"1 NUMA balancing, 2 a system call, 3 compaction, 4 demotion to a slower tier, 5 "
		"other; 0: not known"),
};

static const struct field thread_fields[] = {
	THREAD(tgid, U32, ID, "process"),
	THREAD(tid, U32, ID, "thread"),
	THREAD(from_cpu, S32, ID, "processor it was on"),
	THREAD(to_cpu, S32, ID, "processor it was moved to"),
	THREAD(from_node, S32, ID, "node of the first"),
	THREAD(to_node, S32, ID, "node of the second"),
};

static const struct field place_fields[] = {
	FLAGS("1 the pages are somewhere in the range"),
	PLACE(tgid, U32, ID, "process"),
	PLACE(node, S32, ID, "node; -1: not present"),
	PLACE(start, U64, HEX, "first address of the range"),
	PLACE(bytes, U64, BYTES, "its length"),
	PLACE(pages, U64, COUNT, "pages of page_bytes on that node"),
	PLACE(page_bytes, U32, BYTES, "size of a page"),
};

static const struct field node_fields[] = {
	FLAGS("1 it has processors, 2 it has memory"),
	NODE(node, U32, ID, "node"),
	NODE(tier, S32, ID, "of its memory, less is faster; -1: not known"),
	NODE(bytes, U64, BYTES, "its memory"),
	NODE(free_bytes, U64, BYTES, "of it, free"),
	FIELD_ARRAY(struct numa_node, distances, FIELD_U8, UNIT_NONE, NUMA_NODES,
		"to each node, as sysfs has it; 0: not known"),
};

static const struct field cpu_fields[] = {
	CPU(cpu, U32, ID, "processor"),
	CPU(node, S32, ID, "its node"),
};

static const struct field policy_fields[] = {
	POLICY(tgid, U32, ID, "process"),
	POLICY(tid, U32, ID, "thread"),
	POLICY(start, U64, HEX, "of mbind: first address of the range"),
	POLICY(bytes, U64, BYTES, "of mbind: its length"),
	POLICY(nodes, U64, HEX, "bit i: node i; those from 64 on are left out"),
	POLICY(ustack, U32, STACK, "where it was called"),
	POLICY(call, U32, ID, "number of the system call: 237 mbind, 238 set_mempolicy"),
	POLICY(mode, U32, HEX, "mode of the policy, with its flags"),
};

const struct kind numa_kinds[NUMA_KINDS] = {
	KIND(REC_NUMA_SAMPLE, struct numa_sample, "numa_sample", sample_fields,
		"one access to memory"),
	KIND(REC_NUMA_MAP, struct numa_mapping, "numa_mapping", mapping_fields,
		"a mapping came, went or moved"),
	KIND(REC_NUMA_TASK, struct numa_task, "numa_task", task_fields,
		"a process or thread began, ended, or became another program"),
	KIND(REC_NUMA_BLOCK, struct numa_block, "numa_block", block_fields,
		"a heap block was allocated or freed"),
	KIND(REC_NUMA_VARIABLE, struct numa_variable, "numa_variable", variable_fields,
		"where a variable is; its time is that of the mapping of its file"),
	KIND(REC_NUMA_MOVE, struct numa_move, "numa_move", move_fields,
		"the kernel migrated pages"),
	KIND(REC_NUMA_THREAD_MOVE, struct numa_thread_move, "numa_thread_move", thread_fields,
		"the scheduler moved a thread"),
	KIND(REC_NUMA_PLACE, struct numa_place, "numa_place", place_fields, "where pages are"),
	KIND(REC_NUMA_NODE, struct numa_node, "numa_node", node_fields, "a node of the machine"),
	KIND(REC_NUMA_CPU, struct numa_cpu, "numa_cpu", cpu_fields, "a processor's node"),
	KIND(REC_NUMA_POLICY, struct numa_policy, "numa_policy", policy_fields,
		"a call set where memory goes"),
};
