/* See heap_inner.h. */
#include "probes/heap/heap_inner.h"

#include <stddef.h>

const char *const heap_examples[] = {
	"memwhy heap -- sort big.txt",
	"which stacks held most when the heap of a command peaked",
	"memwhy heap --sort live_bytes -- ./job",
	"what was still allocated at the end, by stack",
	"memwhy heap --sort temporary -- jq . big.json",
	"blocks that were freed at once: what a buffer on the stack would save",
	"memwhy heap --table mapping -- python3 script.py",
	"what programs map directly, bypassing the allocator",
	"memwhy heap -o folded -- python3 script.py",
	"bytes at the peak, for a flame graph",
	"memwhy heap --faults -- ./job",
	"page faults and resident memory by allocating stack; what was never touched",
	"memwhy heap --events --record job.mw -- ./job",
	"also record each allocation and free, to examine any part of the run later",
	"memwhy heap --input job.mw --to 12s --sort live_bytes",
	"what was live 12 s after the start",
	"memwhy heap --input job.mw --from 10s --to 12s",
	"blocks allocated in these two seconds: their peak, and what was left of them",
	"memwhy heap -p 1234 --for 1m --sort live_bytes",
	"what a running program allocates in a minute and still holds at its end",
	"memwhy heap -p 1234 --sample 512K",
	"the same as an estimate, at about half the cost to the program",
	NULL,
};

const char heap_details[] =
	"With -- CMD: runs the command under a small preload library, which reports every "
	"malloc, calloc, realloc, free and their relatives with the caller's stack. Counts are "
	"exact, including at the peak. Children are followed through fork and exec: each exec "
	"starts a new heap, and a fork's heap holds only what the fork allocates itself. What "
	"it inherited and frees is counted separately. With several processes, the table tree "
	"shows who started whom, with the sums of each process and all those below it, and "
	"their combined peak.\n\n"
	"Stacks are unwound with the files' DWARF unwind tables (.eh_frame), so programs need "
	"no frame pointers.\n\n"
	"With --sample the chance of recording an allocation grows with its size, and the "
	"numbers are estimates: right on average (a peak, being the highest of many estimates, "
	"is a little high), each with its standard error; the true value is within it in two "
	"of three cases. Totals made up of few blocks are uncertain, and blocks freed at once "
	"cannot be distinguished.\n\n"
	"What the command's programs map directly (mmap, munmap, mremap, brk, sbrk) is shown "
	"separately, by stack, and is always exact, even with --sample. It leaves out what "
	"libc's allocator, loader and threads map, because those calls stay inside libc; "
	"`maps` shows all of it.\n\n"
	"If memwhy cannot keep up, the command waits for it, so no event is lost. With "
	"--no-wait events are lost and counted instead, and memory that seems live may have "
	"been freed. If memwhy does not read for two seconds, the command goes on without it, "
	"and the report says so.\n\n"
	"With -p: puts probes (uprobes) on the allocator functions of running processes, in "
	"their memory only, and follows each block in the kernel from its allocation to its "
	"free. The allocator is the program's own if it has one (also in static programs that "
	"are not stripped), else a library loaded before libc, else libc. Calls that these "
	"functions make to each other count once. Blocks allocated before the start are "
	"unknown; their frees are counted separately. Children, and what the process becomes "
	"by exec, are not followed; the report says where that happened. Each pair of malloc "
	"and free costs the process about 2 us more; with --sample 1.2 us on kernels that can "
	"leave out the return probe (6.13 and newer).\n\n"
	"With --faults and a command, each page fault counts for the stack that allocated the "
	"block it hit, else for the stack that mapped the memory, else for what is there: the "
	"allocator's own memory, stacks, files. The faults are the kernel's own count, the "
	"same as getrusage's, from the command's exec on; pages that the kernel fills without "
	"an exception (MAP_POPULATE, mlock) are not included. Without privileges, and with "
	"kernel.perf_event_paranoid at 2, faults taken in kernel mode are missing too, and a "
	"note says so.\n\n"
	"With --faults memwhy also measures resident memory, every 20 ms while it grows (less "
	"often if measuring takes long) and at exit(). The report shows the measurement that "
	"found most. The table looked says when that was, with the kernel's high-water mark "
	"beside it, which is read more often; a note says where that was higher. Bytes of a "
	"block are resident where their page is. A page that several blocks share is split by "
	"bytes; what no live block has of it is the allocator's. So all rows of a process add "
	"up to its faults and to its Rss in smaps. Pages that were only read may be the zero "
	"page, which takes no memory. UNTOUCHED is memory that was allocated and has no page. "
	"memwhy's own share is libmemwhy-track.so and the memory of its rings "
	"(memfd:memwhy-heap). A process that ends by _exit(), a signal or an exec is shown as "
	"it was last measured.\n\n"
	"With --events and --record, the recording also has each allocation and free of a "
	"command, at 0.01 to 0.3 bytes each, in addition to the usual sums. A report without "
	"--from and --to uses the sums; with them it uses the events, as if memwhy had started "
	"at --from and stopped at --to, both counted from the start (the table growth shows "
	"these times). For blocks from before --from only the frees are counted, separately "
	"(unknown_frees). An event's time is when memwhy read it, accurate to some ms; the "
	"order is exact. Events cover neither direct mappings nor the combined peak of all "
	"processes, and --events works with neither -p nor --sample.\n\n"
	"Nothing can be preloaded into statically linked programs, nor into programs with more "
	"privileges than the user who runs them (setuid, file capabilities). If CMD is one, "
	"memwhy follows it as with -p, from its exec on, which takes the same privileges; a "
	"note says so. Children of these kinds, and those started without LD_PRELOAD, run "
	"unobserved; -p can attach to them. The report names them, however short-lived, and "
	"also names processes that outlive the command. Without perf events "
	"(kernel.perf_event_paranoid above 2) it names only programs that live for two "
	"seconds. Not observed are an allocator inside the program's own file, a program in "
	"another network namespace, and one started under a seccomp filter that memwhy does "
	"not have.\n\n"
	"Once a program installs a seccomp filter, the library makes no more system calls in "
	"it: if memwhy falls behind, events are lost and counted. A filter that the program "
	"installs with its own instruction instead of a libc function is noticed only if memwhy "
	"may load BPF programs; otherwise it may kill the program. If a "
	"multithreaded program forbids itself the time stamp counter, nothing is seen from "
	"then on; its row says that some events are lost.\n\n"
	"The library takes 30 MiB of the program's address space (ulimit -v; with a limit below "
	"128 MiB the program is not tracked) and up to 2 MiB of its memory control group with 64 "
	"threads. The ring buffers that carry events are charged to memwhy's own group: 64 KiB for "
	"a program and 8 KiB for a thread, as much again in reserve, and at most 11 MiB more after "
	"rings were full. memwhy checks these limits once a second and reports if one was nearly "
	"reached. In each thread, one of glibc's own blocks (allocate_dtv) is 16 bytes larger than "
	"without memwhy, because the library has thread-local storage of its own. All other blocks "
	"have the size that the program asks for.";
