/* The numa probe: the machine's topology, what captures accesses (numa_capture.h), and texts. */
#include "probes/numa/numa.h"

#include <errno.h>

#include "base/clock.h"
#include "probes/numa/numa_capture.h"
#include "probes/numa/numa_kinds.h"
#include "probes/numa/numa_perf.h"
#include "probes/numa/numa_place.h"
#include "probes/numa/numa_topology.h"
#include "probes/numa/numa_view.h"
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

static const char *const with_tracked[] = {"heap", NULL};

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
		"Samples accesses to memory and attributes each to an object: a mapping by who "
		"mapped it, a heap block by who allocated it, a variable of an ELF file, a "
		"thread's stack, a file's pages, code, the kernel. Objects have lives: memory that "
		"is unmapped and mapped again is "
		"another object, mremap keeps one where its pages stay the same, and a child of a "
		"fork has copies of its parent's. A sample "
		"that is of no object is counted under the reason.\n\n"
		"Heap blocks are known of a command (-- CMD), which runs under the preload library "
		"of `heap` for that: those of 4096 bytes and more, since smaller ones share a "
		"page, and a page is on one node. What is accessed in those is of [heap], or of "
		"the mapping. --all-blocks tells them apart too, by who allocated them, which "
		"costs each malloc and free what it costs with `heap`; --no-heap leaves the "
		"library out, which takes some MiB of each executed program. Static programs, and "
		"those with more privileges than who runs them, are without it, and the report "
		"says so. With -p, --heap follows the blocks that are allocated from then on, by "
		"probes at "
		"the allocator (as heap -p does, at its cost). Blocks are looked at once a second: "
		"an access is of a block if that was there before it and still is then. Blocks "
		"from before, and those freed within the second, are not told apart. Without "
		"either the heap of a process is one object ([heap]), and each large block a "
		"mapping. Only blocks that were seen to be accessed are told of and recorded. "
		"Times of allocations and of accesses agree to about a microsecond: an "
		"access within that of an allocation or a free may be counted beside the block. "
		"What the allocator itself writes to a block it is about to return (calloc, "
		"realloc), and to the 32 bytes on either side, counts as the block's; what it "
		"writes to free memory is of [heap] or of its mapping. A fork's child is asked "
		"for its own blocks, then for what its parent still has.\n\n"
		"Thread-local variables are told apart by thread, `NAME (TLS of COMM (TID))`: "
		"those of the program, and of libraries that ask the loader for their place (the "
		"initial-exec model, as libc and libgomp do). Others live in blocks that the "
		"loader allocates when they are first used, and count as its. It takes the thread "
		"pointers, which samples of hint faults and of first touches tell; with hardware "
		"only those of threads that began meanwhile are known, and perf.data has none: "
		"there such accesses are of the stack or the mapping.\n\n"
		"An access is remote when the node of its CPU and the node of its page differ; "
		"where only the hardware says so, as it says. All shares are of samples. ACCESSES "
		"are samples times what each stands for.\n\n"
		"Findings name how nodes use an object: remote use after allocation, in turns, at "
		"the same time, parts of several nodes on one, pages or huge pages shared falsely, "
		"misplaced page cache, a thread that moved away from its memory, a slow tier. "
		"There is none below 100 samples of the object, 30 remote ones, 15 % remote for "
		"sure (95 % confidence) or 3 % of all accesses. What a fix would save is estimated "
		"from the samples themselves, as the evidence says.\n\n"
		"`numa flow` shows the accesses themselves in the order of time, of a thread "
		"(--thread) or of an object (--object), with a timeline and the object's pages by "
		"node. The rows with -o jsonl or csv are the thread and object event flows, with "
		"call chains, which -o folded sums up. docs/examples/numa_flows.c of the source is "
		"an analysis in C over the same flows.\n\n"
		"--input also takes files of perf, of any machine: of perf mem record, perf c2c "
		"record, or perf record -d -W --phys-data -g, compressed or not, and what perf "
		"record -o - wrote, kept in a file. Samples must have addresses; --phys-data tells "
		"the nodes of pages, and --sample-cpu those of threads. What the processor says is "
		"no load or store (AMD IBS samples any operation) is left out and counted.\n\n"
		"Accesses are seen by the first source of --source that works; the report says "
		"which, and why not a better one. `hardware`: Intel PEBS (loads of 30 cycles and "
		"more, stores) and AMD IBS, with level and latency; the node of the page is by its "
		"physical address. It was built from the kernel's interfaces and tested with "
		"descriptions of PMUs and with software events: on a PMU it was never run. Arm SPE "
		"is not read. `hint`: faults of automatic NUMA balancing, all of them, where the "
		"kernel counts numa_hint_faults, with the node of the page before it is moved. "
		"They are accesses of a thread to a page after the kernel took its mapping away, "
		"once in a scan: not how often it is used in between, and no latency. Of the "
		"private memory of a process with one thread it takes only pages on other nodes: "
		"local accesses are not seen, and the report says so. It takes two debug registers "
		"of each CPU. Pages with a policy of their own are not scanned, nor, by kernels "
		"5.10 "
		"and 6.1, is shared memory without a file or of tmpfs. The balancing "
		"moves pages: what it moved is shown. `first-touch`: page faults, one in 64, with "
		"the node the page got: who "
		"put it there, not who uses it, nor whether it read or wrote (a page of a file "
		"that "
		"was in the page cache is told too, and a hint fault where balancing is on). "
		"Beside them numa_maps says where the memory of -p "
		"or of the command is, by node (HELD) and, with -o wide, by mapping (places): "
		"looked at once a second, less often where there is much.\n\n"
		"Memory under a policy that names nodes (numactl --membind, set_mempolicy, mbind) "
		"and memory that a cpuset confines is told without samples, of the processes of -p "
		"and of the command: which node it is on and what binds it are exact (numa_maps, "
		"status), where threads ran is estimated, by their CPU time and the CPU that each "
		"was on when looked at. A finding says so where at least half of the memory is on "
		"nodes with less than a tenth of the CPU time, with the call that set the policy "
		"where that was made meanwhile, and the commands that move threads or pages.\n\n"
		"Patterns are told from hint faults by what they bear: whether the faults of a "
		"page all come from one node, whether nodes mix within 50 ms (a scan takes all "
		"pages away at once), whether pages go to and fro between nodes while these mix "
		"(95 % sure, by how much such times differ), whether threads run at the same time "
		"(by their CPU time), and where a page was before balancing moved it. Where nodes "
		"share pages, the share of remote accesses may follow from each node's share of "
		"the accesses and of the pages, which the finding says. All that takes two to "
		"three faults a page: longer runs, or --scan 200ms; what cannot be told is said to "
		"be so.\n\n"
		"Nothing of the machine is changed unless asked for. --balancing turns automatic "
		"NUMA balancing on, --scan sets how often it looks at memory; both are put back at "
		"the end, also where memwhy is killed. Two that run at a time do not know of each "
		"other: the first to end puts back what it changed.\n\n"
		"`numa try -p PID OBJECT --to NODES` (or --interleave) moves the pages of an "
		"object "
		"of the running process: OBJECT is 0xADDRESS, for the mapping that it is in, "
		"0xFROM-0xTO, 0xFROM+SIZE, [heap] or the name of a mapped file. It asks first, and "
		"measures for the time of --for (10 s) before and after. The remote share fell if "
		"the difference is more than 2.45 standard errors, by eight windows of time, since "
		"samples come in bursts; there is no verdict on fewer than 50 samples in four "
		"windows. Pages that several processes map stay. --undo puts the pages back where "
		"they were; until then that is kept in /run/memwhy. A finding whose fix is where "
		"pages lie has the command filled in, as long as its process runs.",
	.examples = examples,
	.output = numa_output,
	.kinds = numa_kinds,
	.n_kinds = NUMA_KINDS,
	.bpf = &numa_bpf,
	.sampler = &sampler,
	.file_is = numa_perf_is,
	.file_read = numa_perf_read,
	.view = &numa_view,
	.only_named = true,
	.takes_numa = true,
	.with_tracked = with_tracked,
};
