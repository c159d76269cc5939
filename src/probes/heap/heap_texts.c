/* See heap_texts.h. */
#include "probes/heap/heap_texts.h"

#include <stddef.h>

const char *const heap_examples[] = {
	"memwhy heap -- sort big.txt",
	"the stacks that held most at the peak of a command's heap",
	"memwhy heap --sort live_bytes -- ./job",
	"what was still allocated at the end, by stack",
	"memwhy heap --sort temporary -- jq . big.json",
	"blocks that were freed at once: what a buffer on the stack would save",
	"memwhy heap --table mapping -- python3 script.py",
	"what programs map by themselves, past the allocator",
	"memwhy heap -o folded -- python3 script.py",
	"bytes at the peak, for a flame graph",
	"memwhy heap --faults -- ./job",
	"page faults and resident memory by who allocated: what was asked for and never touched",
	"memwhy heap --events --record job.mw -- ./job",
	"record each allocation and free too, to look at any part of the run later",
	"memwhy heap --input job.mw --to 12s --sort live_bytes",
	"what was allocated and not freed 12 s after memwhy began",
	"memwhy heap --input job.mw --from 10s --to 12s",
	"of the blocks allocated in these two seconds: the most there were, and what was left",
	"memwhy heap -p 1234 --for 1m --sort live_bytes",
	"what a running program allocates and still has after a minute",
	"memwhy heap -p 1234 --sample 512K",
	"the same as an estimate, at about half the cost to the program",
	NULL,
};

const char heap_details[] =
	"Of a command: runs it under a small preload library, which tells of every malloc, "
	"calloc, realloc, free and their relatives with the stack of the caller. Counts are "
	"exact, also at the peak. Children are followed through fork and exec; each exec begins "
	"a new heap, and a fork's heap is what it allocates itself. What it inherited and frees "
	"is counted apart. Of several processes the table tree says who started whom, with sums "
	"over all that one began, and the peak of all together.\n\n"
	"Stacks are unwound by the call-frame information of the files, so they need no frame "
	"pointers.\n\n"
	"With --sample each allocation is seen with a chance that grows with its size, and the "
	"numbers are estimates, right on average (a peak, the highest of many, a little high), "
	"with their standard error beside them: two of "
	"three are within it. What few blocks make up is uncertain. What was freed at once is "
	"then not known.\n\n"
	"Into statically linked programs nothing is preloaded, nor into those that have more "
	"privileges than who runs them (setuid, capabilities): such a CMD is followed as -p "
	"does, from its exec on, which needs the same privileges, and a note says so. Children "
	"of these kinds, and those that are started without LD_PRELOAD, run as ever and are not "
	"seen; -p can attach to them. The report names them, however short they live, and "
	"processes that live on after the command; without perf events, which take "
	"kernel.perf_event_paranoid of at most 2, only programs that live for two seconds. Not "
	"seen is an allocator within the program's own file, nor a program in another network "
	"namespace, nor one that is begun under a seccomp filter which memwhy does not have.\n\n"
	"Once a program has installed a seccomp filter it is made to call nothing any more: where "
	"memwhy does not keep up, events are lost and counted, and of forks nothing is seen. Of a "
	"program with threads that forbids itself the time stamp counter, nothing is seen from "
	"then on; its row says that some is lost.\n\n"
	"Of a program's own limits the library takes 30 MiB of address space (ulimit -v; with "
	"less than 128 MiB it is not tracked), and of its memory control group up to 2 MiB with "
	"64 threads. The rings that events go through are charged to memwhy's own group: 64 KiB "
	"for a program and 8 KiB for a thread, and as many again for those to come, and where "
	"rings were full 11 MiB more at most. The report says where one of these limits was "
	"nearly used up, as looked at once a second.\n\n"
	"Of a command, what its programs map by themselves is shown apart, by stack: mmap, "
	"munmap, mremap, brk and sbrk, always exactly, with --sample too. What the allocator, "
	"the loader and the threads of libc map is not in it, as these calls do not leave libc; "
	"maps shows all of it.\n\n"
	"With --faults, of a command: each page fault counts for the stack whose block it was "
	"in, or who mapped the memory, or what else is there: the allocator's own, stacks, "
	"files. They are the kernel's own count, getrusage's, from the command's exec on; those "
	"that the kernel takes without an exception (MAP_POPULATE, mlock) are missing. Without "
	"privilege, where kernel.perf_event_paranoid is 2, those in kernel mode are missing "
	"too, and a note says so. What is resident is looked at every 20 ms while it grows, less "
	"often where a look takes long, and at exit(); of these looks the one that found most is "
	"shown (table looked: when that was, and the kernel's high-water mark beside it, which is "
	"read more often; where that was higher, as in between looks, a note says so). Bytes of a "
	"block are resident where their page is: a page that several share is split by bytes, "
	"and what no live block has of it is the allocator's. So all rows of a process together "
	"are its faults and its Rss in smaps. Pages that were only read may be the zero page, "
	"which is no memory. UNTOUCHED is what was asked for and has no memory. memwhy's own "
	"are libmemwhy-track.so and the memory of its rings (memfd:memwhy-heap). A process that "
	"ends by _exit(), a signal or an exec is as it was last looked at.\n\n"
	"With --events and --record of a command each allocation and free is in the recording, "
	"beside the sums that are always there, in 0.01 to 0.3 bytes. Without --from and --to a "
	"report is made of the sums, with them of the events: as if memwhy had begun to look at "
	"--from and stopped at --to, both since memwhy began (the table growth shows these "
	"times). Of blocks from before --from only the frees are counted, apart "
	"(unknown_frees). The times of events are those at which memwhy read them, to some ms; "
	"their order is exact. What programs map by themselves, and the peak of all processes "
	"together, are not in the events; nor is there --events with -p or --sample.\n\n"
	"Where memwhy is not as fast as the command, the command waits for it, so that no event "
	"is lost; with --no-wait events are lost and counted instead, and what seems to be live "
	"may have been freed. If memwhy does not read for two seconds the command goes on "
	"without it, and the report says so.\n\n"
	"Of running processes (-p): puts probes (uprobes) at the functions of their allocator, "
	"in their memory only, and follows each block in the kernel from its allocation to its "
	"free. The allocator is that of the program itself, if it has one (static programs that "
	"are not stripped, too), else a library that stands before libc, else libc. Calls of "
	"these functions among themselves count once. Blocks from before are not known; their "
	"frees are counted apart. Children are not followed, nor what the process becomes by "
	"exec; both are told. Each malloc and free together cost the process about 2 us more; "
	"with --sample 1.2 us where the kernel can leave out the return (6.13).";
