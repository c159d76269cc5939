/* The numa probe: the machine's topology, what captures accesses (numa_capture.h), schema and texts. */
#include "probes/numa/numa.h"

#include <errno.h>

#include "base/clock.h"
#include "base/util.h"
#include "event/schema.h"
#include "probes/numa/capture/numa_capture.h"
#include "probes/numa/capture/numa_place.h"
#include "probes/numa/capture/numa_topology.h"
#include "probes/numa/numa_options.h"
#include "probes/numa/perf/numa_perf.h"
#include "probes/numa/try/numa_try.h"
#include "probes/numa/view/numa_view.h"
#include "probes/probe.h"

static int machine_open(struct capture *c, void *state, struct err *err)
{
	struct numa_topology t = {};
	int rc = numa_topology_read(&t);

	rc = rc ? rc : numa_topology_send(c, &t);
	rc = rc ? rc : numa_place_open(state);
	numa_topology_free(&t);
	return rc ? err_errno(err, rc, "numa: nodes of this machine") : 0;
}

static int machine_survey(struct capture *c)
{
	int rc = capture_method(c, "nodes, CPUs and distances", "/sys/devices/system/node", NULL);

	return rc ? rc : numa_place_survey(c);
}

static const struct probe_sampler sampler = {
	.size = sizeof(struct numa_places),
	.every_ns = NSEC_PER_SEC,
	.open = machine_open, /* nodes do not change */
	.sample = numa_place_sample,
	.close = numa_place_close,
	.survey = machine_survey,
};

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

static const struct kind kinds[] = {
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

static const char *const examples[] = {
	"memwhy numa -- ./job",
	"which memory of a command is used from afar, by whom, and what to change",
	"memwhy numa -p 1234 --for 30s --by thread",
	"remote accesses of a running program by thread",
	"memwhy numa -p 1234 --heap --for 1m",
	"the same by heap block, of those allocated meanwhile",
	"memwhy numa --record run.mw -- ./job",
	"keep the accesses, to ask more of them with --input",
	"memwhy numa flow --input run.mw --object table",
	"who touched an object, in order, with its pages and a timeline",
	"memwhy numa flow --input run.mw --thread 1240 -o jsonl",
	"what a thread touched, in order, for a program",
	"memwhy numa try -p 1234 0x7f2a40000000 --to 1",
	"move an object's pages to node 1, after asking; did it help?",
	"memwhy numa try -p 1234 --undo",
	"move them back",
	NULL,
};

const struct probe probe_numa = {
	.name = "numa",
	.summary = "Who touches remote memory, which object, and which fix",
	.operands = "[flow|try OBJECT]",
	.n_operands = 2,
	.details =
		"Samples memory accesses and attributes each to an object: a mapping by who "
		"mapped it, a heap block by who allocated it, a variable of an ELF file, a "
		"thread's stack, a file's pages, code, the kernel. Objects have lives: memory "
		"that is unmapped and mapped again is another object, mremap keeps the object "
		"where its pages stay the same, and the child of a fork has copies of its "
		"parent's. Samples that belong to no object are counted by reason.\n\n"
		"With -- CMD the command runs under the preload library of `heap`, so its heap "
		"blocks are known: those of 4096 bytes and more, since smaller ones share a page, "
		"and a page is on one node. Accesses to smaller blocks count for [heap] or for "
		"the mapping. --all-blocks also tells small blocks apart by who allocated them, "
		"and makes each malloc and free as expensive as with `heap`; --no-heap leaves the "
		"library out, which takes some MiB of each executed program. Static programs, and "
		"those with more privileges than the user, run without it, and the report says "
		"so. With -p, --heap follows blocks allocated from then on through probes on the "
		"allocator (as heap -p does, at its cost). Blocks are compared with accesses once "
		"a second: an access belongs to a block that was there before the access and "
		"still is at the comparison. Earlier blocks, and those freed within that second, "
		"are not told apart. Without either option a process's heap is one object "
		"([heap]), and each large block is a mapping. Only blocks that were seen to be "
		"accessed are reported and recorded. Times of allocations and of accesses agree "
		"to about a microsecond: an access that close to an allocation or a free may be "
		"counted beside the block. What the allocator itself writes to a block that it is "
		"about to return (calloc, realloc), and to the 32 bytes on either side, counts "
		"for the block; what it writes to free memory counts for [heap] or its mapping. A "
		"fork's child is looked up among its own blocks first, then among those it shares "
		"with its parent.\n\n"
		"Thread-local variables are told apart by thread, `NAME (TLS of COMM (TID))`: "
		"those of the program, and of libraries that ask the loader for their place (the "
		"initial-exec model, as libc and libgomp do). Others live in blocks that the "
		"loader allocates at first use, and count for the loader. This takes the threads' "
		"thread pointers, which samples of hint faults and first touches carry; with "
		"hardware samples only the pointers of threads started meanwhile are known, and "
		"perf.data has none: such accesses then count for the stack or the mapping.\n\n"
		"An access is remote when the node of its CPU differs from the node of its page, "
		"or, where only the hardware knows, when the hardware says so. All shares are "
		"shares of samples. ACCESSES are samples times the accesses that each stands "
		"for.\n\n"
		"Findings name how nodes use an object: remote use after allocation, in turns, at "
		"the same time, parts of several nodes on one, pages or huge pages shared "
		"falsely, misplaced page cache, a thread that moved away from its memory, a slow "
		"tier. There is none below 100 samples of the object, 30 remote ones, 15 % remote "
		"with 95 % confidence, or 3 % of all accesses. The saving that a fix would bring "
		"is estimated from the samples themselves, as the evidence says.\n\n"
		"`numa flow` shows the accesses themselves in order of time, of a thread "
		"(--thread) or of an object (--object), with a timeline and the object's pages by "
		"node. Its rows with -o jsonl or csv are the thread and object event flows, with "
		"call chains, which -o folded sums up. docs/examples/numa_flows.c in the source "
		"is an analysis in C over the same flows.\n\n"
		"--input also takes files of perf, from any machine: perf mem record, perf c2c "
		"record, or perf record -d -W --phys-data -g, compressed or not, and what perf "
		"record -o - wrote, kept in a file. Samples must have addresses; --phys-data "
		"gives the nodes of pages, and --sample-cpu those of threads. Samples that the "
		"processor marks as neither load nor store (AMD IBS samples any operation) are "
		"left out and counted.\n\n"
		"Accesses come from the first source of --source that works; the report says "
		"which one, and why not a better one. `hardware`: Intel PEBS (loads of 30 cycles "
		"and more, stores) and AMD IBS, with level and latency; the node of the page "
		"follows from its physical address. It was built from the kernel's interfaces and "
		"tested with descriptions of PMUs and with software events, and has never run on "
		"a PMU. Arm SPE is not read. `hint`: all faults of automatic NUMA balancing, "
		"taken where the kernel counts numa_hint_faults, with the node of the page before "
		"it is moved. Such a fault is a thread's first access to a page after the kernel "
		"took its mapping away, once a scan: it says neither how often the page is used "
		"in between nor how long an access takes. Of the private memory of a "
		"single-threaded process the kernel lets only pages on other nodes fault: local "
		"accesses are not seen, and the report says so. This source takes two debug "
		"registers of each CPU. Pages with a policy of their own are not scanned, nor, by "
		"kernels 5.10 and 6.1, is shared memory without a file or of tmpfs. Balancing "
		"moves pages; what it moved is shown. `first-touch`: page faults, one in 64, with "
		"the node that the page got: they show who put it there, not who uses it, nor "
		"whether it read or wrote (a page of a file that was in the page cache counts "
		"too, and so does a hint fault where balancing is on). Beside the samples, "
		"numa_maps says where the memory of -p or of the command is, by node (HELD) and, "
		"with -o wide, by mapping (places); it is read once a second, less often where "
		"there is much.\n\n"
		"Memory under a policy that names nodes (numactl --membind, set_mempolicy, mbind) "
		"and memory that a cpuset confines need no samples, for the processes of -p and "
		"of the command: which node it is on and what binds it are exact (numa_maps, "
		"status); where threads ran is estimated from their CPU time and the CPU that "
		"each was on when looked at. A finding says so where at least half of the memory "
		"is on nodes with less than a tenth of the CPU time, with the call that set the "
		"policy if it was made meanwhile, and the commands that move threads or "
		"pages.\n\n"
		"With hint faults, patterns are judged by what these faults can show: whether all "
		"faults of a page come from one node, whether nodes mix within 50 ms (a scan "
		"takes all pages away at once), whether pages go to and fro between nodes while "
		"these mix (95 % sure, by how much such times differ), whether threads run at the "
		"same time (by their CPU time), and where a page was before balancing moved it. "
		"Where nodes share pages, the share of remote accesses may follow from each "
		"node's share of the accesses and of the pages, which the finding then says. All "
		"this takes two to three faults a page: longer runs, or --scan 200ms. Where that "
		"is not reached, the report says that it cannot tell.\n\n"
		"Nothing on the machine is changed unless asked for. --balancing turns automatic "
		"NUMA balancing on, --scan sets how often it scans memory; both are put back at "
		"the end, even if memwhy is killed. Where several memwhys do this at a time, the "
		"last one to end puts back what was before the first.\n\n"
		"`numa try -p PID OBJECT --to NODES` (or --interleave) moves the pages of an "
		"object of the running process. OBJECT is 0xADDRESS (the mapping around it), "
		"0xFROM-0xTO, 0xFROM+SIZE, [heap] or the name of a mapped file. It asks first, "
		"and measures for the time of --for (10 s) before and after. The remote share "
		"counts as fallen if the difference is more than 2.45 standard errors, over eight "
		"windows of time, since samples come in bursts; fewer than 50 samples in four "
		"windows give no verdict. Pages that several processes map stay where they are. "
		"--undo puts the pages back where they were; until then the places are kept in "
		"/run/memwhy. A finding whose fix is where pages lie gives this command filled "
		"in, as long as its process runs.",
	.examples = examples,
	.output = numa_output,
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.bpf = &numa_bpf,
	.sampler = &sampler,
	.file_is = numa_perf_is,
	.file_read = numa_perf_read,
	.view = &numa_view,
	.only_named = true,
	.options = &numa_options,
	.beside = numa_beside,
	.action = &numa_try,
	.has_all_keys = true,
};
