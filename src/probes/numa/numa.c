/* The numa probe: the machine's topology, what captures accesses (numa_capture.h), schema and
 * texts. */
#include "probes/numa/numa.h"

#include <errno.h>

#include "base/clock.h"
#include "base/util.h"
#include "event/schema.h"
#include "probes/numa/capture/numa_capture.h"
#include "probes/numa/capture/numa_place.h"
#include "probes/numa/capture/numa_topology.h"
#include "probes/numa/numa_opts.h"
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

static const struct kind kinds[] = {
	RECORD_KIND_FLAGS(REC_NUMA_SAMPLE, struct numa_sample, "numa_sample", NUMA_SAMPLE_FIELDS,
		"one access to memory", "flags", UNIT_HEX,
		"1 remote and 2 local as the hardware says, 4 modified in another cache, 8 latency "
		"in cycles, 16 by the kernel, 32 TLB miss"),
	RECORD_KIND_FLAGS(REC_NUMA_MAP, struct numa_mapping, "numa_mapping", NUMA_MAPPING_FIELDS,
		"a mapping came, went or moved", "flags", UNIT_HEX, "1 it grows down by itself"),
	RECORD_KIND(REC_NUMA_TASK, struct numa_task, "numa_task", NUMA_TASK_FIELDS,
		"a process or thread began, ended, or became another program"),
	RECORD_KIND(REC_NUMA_BLOCK, struct numa_block, "numa_block", NUMA_BLOCK_FIELDS,
		"a heap block was allocated or freed"),
	RECORD_KIND(REC_NUMA_VARIABLE, struct numa_variable, "numa_variable", NUMA_VARIABLE_FIELDS,
		"where a variable is; its time is that of the mapping of its file"),
	RECORD_KIND(REC_NUMA_MOVE, struct numa_move, "numa_move", NUMA_MOVE_FIELDS,
		"the kernel migrated pages"),
	RECORD_KIND(REC_NUMA_THREAD_MOVE, struct numa_thread_move, "numa_thread_move",
		NUMA_THREAD_MOVE_FIELDS, "the scheduler moved a thread"),
	RECORD_KIND_FLAGS(REC_NUMA_PLACE, struct numa_place, "numa_place", NUMA_PLACE_FIELDS,
		"where pages are", "flags", UNIT_HEX, "1 the pages are somewhere in the range"),
	RECORD_KIND_FLAGS(REC_NUMA_NODE, struct numa_node, "numa_node", NUMA_NODE_FIELDS,
		"a node of the machine", "flags", UNIT_HEX, "1 it has processors, 2 it has memory"),
	RECORD_KIND(
		REC_NUMA_CPU, struct numa_cpu, "numa_cpu", NUMA_CPU_FIELDS, "a processor's node"),
	RECORD_KIND(REC_NUMA_POLICY, struct numa_policy, "numa_policy", NUMA_POLICY_FIELDS,
		"a call set where memory goes"),
};

static const char *const examples[] = {
	"memwhy numa -- ./job",
	"which memory of a command is accessed remotely, by whom, and what to change",
	"memwhy numa -p 1234 --for 30s --by thread",
	"remote accesses of a running program by thread",
	"memwhy numa -p 1234 --heap --for 1m",
	"the same by heap block, for blocks allocated from now on",
	"memwhy numa --record run.mw -- ./job",
	"keep the accesses, to query them later with --input",
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
		"Samples memory accesses and attributes each to an object: a mapping (named by "
		"who mapped it), a heap block (by who allocated it), a variable of an ELF "
		"file, a thread's stack, pages of a file, code, or the kernel. Objects have "
		"lifetimes: memory that is unmapped and mapped again is another object, mremap "
		"keeps the object if its pages stay the same, and the child of a fork has "
		"copies of its parent's objects. Samples that belong to no object are counted "
		"by reason.\n\n"
		"An access is remote if the node of its CPU differs from the node of its page, "
		"or, where only the hardware knows, if the hardware says so. All shares are "
		"shares of samples. ACCESSES is samples times the accesses that each stands "
		"for.\n\n"
		"With -- CMD the command runs under the preload library of `heap`, so its heap "
		"blocks are known: those of 4096 bytes and more, because smaller ones share a "
		"page, and a page is on one node. Accesses to smaller blocks count for [heap] "
		"or for the mapping. --all-blocks also distinguishes small blocks by who "
		"allocated them, and makes each malloc and free as expensive as with `heap`. "
		"--no-heap leaves the library out, which takes some MiB of each executed "
		"program. Static programs, and those with more privileges than the user, run "
		"without it, and the report says so.\n\n"
		"With -p, --heap follows blocks allocated from then on with probes on the "
		"allocator (like heap -p, at its cost). memwhy compares blocks with accesses "
		"once a second: an access belongs to a block that existed before the access "
		"and still exists at the comparison. It cannot distinguish blocks from before "
		"the start, or those freed within that second. Without -- CMD and --heap a "
		"process's heap is one object ([heap]), and each large block is a mapping.\n\n"
		"Only blocks with observed accesses are reported and recorded. Times of "
		"allocations and of accesses agree to about a microsecond: an access that "
		"close to an allocation or a free may be attributed to something else than the "
		"block. What the allocator itself writes to a block that it is about to return "
		"(calloc, realloc), and to the 32 bytes on either side, counts for the block; "
		"what it writes to free memory counts for [heap] or its mapping. For the child "
		"of a fork, its own blocks are searched first, then those it shares with its "
		"parent.\n\n"
		"Thread-local variables are distinguished by thread, as `NAME (TLS of COMM "
		"(TID))`: those of the program, and of libraries with the initial-exec model "
		"(as libc and libgomp use). Others live in blocks that the loader allocates at "
		"first use, and count for the loader. This needs the threads' thread pointers, "
		"which samples of hint faults and first touches carry. With hardware samples "
		"only the pointers of threads started meanwhile are known, and perf.data has "
		"none: such accesses then count for the stack or the mapping.\n\n"
		"Findings name the pattern in which nodes use an object: remote use after "
		"allocation, in turns, at the same time, parts of several nodes on one, pages "
		"or huge pages shared falsely, misplaced page cache, a thread that moved away "
		"from its memory, a slow tier. A finding needs 100 samples of the object, 30 "
		"of them remote, 15 % remote with 95 % confidence, and 3 % of all accesses. "
		"The saving from a fix is estimated from the samples themselves, as the "
		"evidence says.\n\n"
		"`numa flow` shows the accesses themselves in order of time, of a thread "
		"(--thread) or of an object (--object), with a timeline and the object's pages "
		"by node. Its rows with -o jsonl or csv are the thread and object event flows, "
		"with call chains; -o folded sums these up. docs/examples/numa_flows.c in the "
		"source is an analysis in C of the same flows.\n\n"
		"--input also reads files of perf, from any machine: perf mem record, perf c2c "
		"record, or perf record -d -W --phys-data -g, compressed or not, and what perf "
		"record -o - wrote to a file. Samples must have addresses; --phys-data gives "
		"the nodes of pages, and --sample-cpu those of threads. Samples that the "
		"processor marks as neither load nor store (AMD IBS samples any operation) are "
		"left out and counted.\n\n"
		"Accesses come from the first source of --source that works; the report says "
		"which one, and why not a better one.\n\n"
		"`hardware`: Intel PEBS (loads of 30 cycles and more, stores) and AMD IBS, "
		"with level and latency; the node of the page follows from its physical "
		"address. This source was built from the kernel's interfaces and tested with "
		"descriptions of PMUs and with software events, and has never run on a PMU. "
		"Arm SPE is not read.\n\n"
		"`hint`: all faults of automatic NUMA balancing, taken where the kernel counts "
		"numa_hint_faults, with the node of the page before it is moved. A hint fault "
		"is a thread's first access to a page after the kernel unmapped it, once a "
		"scan. It says neither how often the page is used in between nor how long an "
		"access takes. In the private memory of a single-threaded process the kernel "
		"lets only pages on other nodes fault: local accesses are not seen, and the "
		"report says so. This source takes two debug registers of each CPU. The kernel "
		"does not scan pages with a policy of their own; 5.10 and 6.1 do not scan "
		"shared memory without a file or of tmpfs either. Balancing moves pages; the "
		"report shows what it moved.\n\n"
		"`first-touch`: page faults, one in 64, with the node that the page got. They "
		"show who put the page there, not who uses it, nor whether the access was a "
		"read or a write. Faults on pages of files in the page cache count too, and so "
		"do hint faults while balancing is on.\n\n"
		"In addition, numa_maps says where the memory of -p or of the command is, by "
		"node (HELD) and, with -o wide, by mapping (places). It is read once a second, "
		"less often if there is much.\n\n"
		"Memory under a policy that names nodes (numactl --membind, set_mempolicy, "
		"mbind), and memory that a cpuset confines, needs no samples, for the "
		"processes of -p and of the command. Which node it is on and what binds it are "
		"exact (numa_maps, status); where threads ran is estimated from their CPU time "
		"and the CPU that each was on when looked at. There is a finding if at least "
		"half of the memory is on nodes with less than a tenth of the CPU time, with "
		"the call that set the policy if it was seen, and the commands that move "
		"threads or pages.\n\n"
		"With hint faults, patterns are judged by what these faults can show: whether "
		"all faults of a page come from one node; whether nodes mix within 50 ms (a "
		"scan unmaps all pages at once); whether pages move back and forth between "
		"nodes while these mix (95 % sure, by how much such times differ); whether "
		"threads run at the same time (by their CPU time); and where a page was before "
		"balancing moved it. Where nodes share pages, the share of remote accesses may "
		"be derived from each node's share of the accesses and of the pages; the "
		"finding then says so. This takes two to three faults a page: run longer, or "
		"use --scan 200ms. Without enough faults the report says that it cannot tell.\n\n"
		"memwhy changes nothing on the machine unless asked to. --balancing turns "
		"automatic NUMA balancing on, --scan sets how often it scans memory; both are "
		"restored at the end, even if memwhy is killed. If several memwhys do this at "
		"the same time, the last one to end restores what was there before the first.\n\n"
		"`numa try -p PID OBJECT --to NODES` (or --interleave) moves the pages of an "
		"object of the running process. OBJECT is 0xADDRESS (the mapping around it), "
		"0xFROM-0xTO, 0xFROM+SIZE, [heap] or the name of a mapped file. It asks first, and "
		"measures for the time of --for (10 s) before and after. The remote share counts "
		"as fallen if the difference is more than 2.45 standard errors, over eight windows "
		"of time, because samples come in bursts; with fewer than 50 samples in four "
		"windows there is no verdict. Pages that several processes map stay where they "
		"are. --undo moves the pages back where they were; until then their nodes are kept "
		"in /run/memwhy. If a finding's fix is to move pages, it gives this command filled "
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
