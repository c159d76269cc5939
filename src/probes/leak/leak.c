/* The leak probe: slab and pages, or heap, do the work; its view makes sense of what they say. */
#include <errno.h>

#include "probes/leak/leak_opts.h"
#include "probes/leak/leak_view.h"
#include "probes/probe.h"

static int method_tell(struct capture *c)
{
	return capture_method(c, "what is outstanding, by age",
		"followed by slab and pages, of programs by heap", NULL);
}

static int leak_open(struct capture *c, void *state, struct err *err)
{
	int rc = method_tell(c);

	(void)state;
	return rc ? err_errno(err, rc, "leak") : 0;
}

/* There is nothing of its own to read. */
static int leak_sample(struct capture *c, void *state)
{
	(void)c;
	(void)state;
	return 0;
}

static const struct probe_sampler sampler = {
	.open = leak_open,
	.sample = leak_sample,
	.survey = method_tell,
};

static const struct opt own[] = {
	OPT(struct leak_opts, "kernel", 0, OPT_FLAG, kernel, NULL,
		"what the kernel allocates for itself", NULL),
};

static const struct opt_group own_groups[] = {{"Whose memory", own, ARRAY_SIZE(own)}, {}};

/* Whose memory? A recording says itself what it is of. */
static int leak_opts_check(struct request *r, void *opts, struct err *err)
{
	const struct leak_opts *o = opts;

	if (r->input)
		return 0;
	if (o->kernel && r->over_given)
		return err_set(err, -EINVAL,
			"%s work on programs and cannot be combined with --kernel", r->over_given);
	if (o->kernel)
		return 0;
	if (r->by)
		return err_set(err, -EINVAL,
			"--by is for --kernel: of programs leak shows each process and stack");
	if (r->command || r->pids)
		return 0;
	err_set(err, -EINVAL,
		"leak needs to know whose memory: a command, a process (-p), or --kernel");
	return err_hint(err, "memwhy leak -- CMD; memwhy leak -p PID");
}

static const struct probe_options own_options = {
	.size = sizeof(struct leak_opts),
	.groups = own_groups,
	.check = leak_opts_check,
};

/* It is about programs, and nothing without heap, or about the kernel. */
static void leak_beside(const struct request *r, void *opts, struct company *ret)
{
	static const char *const of_kernel[] = {"slab", "pages", "system", NULL};
	static const char *const of_programs[] = {"heap", NULL};
	bool kernel = ((const struct leak_opts *)opts)->kernel;

	(void)r;
	*ret = (struct company){
		.with = kernel ? of_kernel : of_programs,
		.required = !kernel,
		.named = true,
		.outstanding = true,
		.needs_privilege = kernel,
		.of_programs = !kernel,
	};
}

/* What a real run printed: the example of the man page. */
static const char output[] =
	"$ memwhy leak --limit 2 -- ./job\n"
	"memwhy leak - Linux 6.18.44 - 2 CPUs, 1 node - command ./job\n"
	"14.2 s from 2026-11-21 22:36:19 UTC - events: heap 55,809 - none lost\n"
	"cost: 1.3 % of one CPU, RSS 16.1 MiB\n"
	"\n"
	"1. WARNING     Suspect: job (pid 24667) keeps what it allocates, 112 MiB a minute\n"
	"   evidence    28000 outstanding (26.7 MiB) of 28000 allocated in 14 s\n"
	"               grew in each of 6 parts of that time: by 8.97 MiB, 8.93 MiB and 8.80 MiB "
	"in its\n"
	"                 thirds\n"
	"               of what was live after the first third, 100 % still is\n"
	"               at session_new (job.c:6)\n"
	"               from main (job.c:10)\n"
	"               from __libc_start_call_main (libc_start_call_main.h:58)\n"
	"   confidence  medium: every allocation was followed, but 14 s cannot tell a leak from a "
	"cache that\n"
	"               fills\n"
	"   why         What is allocated here stays, and grows with time. A block live at the end "
	"is not a\n"
	"               leak as such; ever more of them are.\n"
	"   try         See where the blocks go from there, and what should have freed them by "
	"now: a list or\n"
	"                 cache without a bound, or an owner that is never destroyed.\n"
	"               Run it longer, to tell a leak from a cache that fills: this was 14 s.\n"
	"               To learn whether anything still points to them, use a heap checker that "
	"scans memory\n"
	"                 at exit (LeakSanitizer, valgrind).\n"
	"   undo        Nothing to undo.\n"
	"   verify      The same command again: this stack is \"comes and goes\" or flat.\n"
	"\n"
	"Allocated by programs, not freed\n"
	"  PID  COMM    LIVE     BYTES  GROWTH/s  ALLOCS   FREES    OLD  STAYED\n"
	"24667  job   28,000  26.7 MiB  1.86 MiB  28,000       0  9,400  99.9 %\n"
	"    grows steadily\n"
	"    session_new (job.c:6)\n"
	"    main (job.c:10)\n"
	"    __libc_start_call_main (libc_start_call_main.h:58)\n"
	"    __libc_start_main_impl (libc-start.c:360)\n"
	"    _start+0x21 (job)\n"
	"\n"
	"24667  job      256   750 KiB       0 B  14,000  13,744      0   0.0 %\n"
	"    comes and goes\n"
	"    buffer_next (job.c:8)\n"
	"    main (job.c:10)\n"
	"    __libc_start_call_main (libc_start_call_main.h:58)\n"
	"    __libc_start_main_impl (libc-start.c:360)\n"
	"    _start+0x21 (job)\n"
	"... 2 more rows; --limit 0 shows all\n"
	"\n"
	"Heaps of processes\n"
	"  PID  COMM    LIVE     BYTES  GROWTH/s  ALLOCS   FREES      PEAK    SEEN  STATE\n"
	"24667  job   28,321  27.8 MiB  1.86 MiB  42,065  13,744  27.8 MiB  14.2 s  ended\n"
	"    grows steadily\n"
	"\n"
	"$ memwhy leak --kernel -p 12672 --for 40s --limit 3\n"
	"memwhy leak - Linux 6.18.44 - 2 CPUs, 1 node - pid 12672\n"
	"41.3 s from 2026-11-21 19:28:51 UTC - events: slab 228,716 - pages 1,807\n"
	"cost: 2.5 % of one CPU, BPF 2.01 s (83 ns a run), RSS 11.5 MiB\n"
	"LOST: slab lost 461 of 229,177 events (0.2 %): came while its program was running\n"
	"\n"
	"1. WARNING     Suspect: shmem_inode_cache at shmem_alloc_inode+0x1d keeps what it "
	"allocates, 25.6\n"
	"               MiB a minute\n"
	"   evidence    24024 outstanding (17.2 MiB) of 24024 allocated in 40 s\n"
	"               grew in each of 6 parts of that time: by 5.75 MiB, 5.77 MiB and 5.71 MiB "
	"in its\n"
	"                 thirds\n"
	"               of what was live after the first third, 100 % still is\n"
	"               /proc/slabinfo: the cache as a whole has 24045 objects more than before\n"
	"   confidence  medium: every allocation was followed, but 40 s cannot tell a leak from a "
	"cache that\n"
	"               fills\n"
	"   why         What is allocated here stays, and the kernel cannot reclaim it: only its "
	"owner can\n"
	"               free it.\n"
	"   try         The code path:\n"
	"                 memwhy leak --kernel --stacks=kernel --for 40s\n"
	"               Who does it:\n"
	"                 memwhy leak --kernel --by process,cache,site --for 40s\n"
	"               Longer, to tell a leak from a cache that fills:\n"
	"                 memwhy leak --kernel --for 200s\n"
	"   undo        Nothing to undo.\n"
	"   verify      grep '^shmem_inode_cache ' /proc/slabinfo\n"
	"\n"
	"2. RISK        Suspect: lsm_inode_cache at security_inode_alloc+0x28 keeps what it "
	"allocates, 1.09\n"
	"               MiB a minute\n"
	"   evidence    24024 outstanding (751 KiB) of 24024 allocated in 40 s\n"
	"               grew in each of 6 parts of that time: by 250 KiB, 251 KiB and 249 KiB in "
	"its thirds\n"
	"               of what was live after the first third, 100 % still is\n"
	"               /proc/slabinfo: the cache as a whole has 24473 objects more than before\n"
	"   confidence  medium: every allocation was followed, but 40 s cannot tell a leak from a "
	"cache that\n"
	"               fills\n"
	"   why         What is allocated here stays, and the kernel cannot reclaim it: only its "
	"owner can\n"
	"               free it.\n"
	"   try         The same as for finding 1 (leak).\n"
	"   undo        Nothing to undo.\n"
	"   verify      grep '^lsm_inode_cache ' /proc/slabinfo\n"
	"\n"
	"3. NOTE        Suspect: dentry at __d_alloc+0x2d keeps what it allocates, 6.55 MiB a "
	"minute\n"
	"   evidence    24024 outstanding (4.40 MiB) of 24024 allocated in 40 s\n"
	"               grew in each of 6 parts of that time: by 1.47 MiB, 1.47 MiB and 1.46 MiB "
	"in its\n"
	"                 thirds\n"
	"               of what was live after the first third, 100 % still is\n"
	"               /proc/slabinfo: the cache as a whole has 24669 objects more than before\n"
	"   confidence  medium: every allocation was followed, but 40 s cannot tell a leak from a "
	"cache that\n"
	"               fills\n"
	"   why         What is allocated here stays. The kernel shrinks this cache when memory is "
	"short, so\n"
	"               it is likely just filling.\n"
	"   try         The same as for finding 1 (leak).\n"
	"   undo        Nothing to undo.\n"
	"   verify      grep '^dentry ' /proc/slabinfo\n"
	"\n"
	"Allocated since the start, not freed\n"
	"CACHE              CALL SITE                 LIVE     BYTES  GROWTH/s  ALLOCS  FREED    "
	"OLD   STAYED\n"
	"shmem_inode_cache  shmem_alloc_inode+0x1d  24,024  17.2 MiB   438 KiB  24,024      0  "
	"8,028  100.0 %\n"
	"    grows steadily\n"
	"\n"
	"dentry             __d_alloc+0x2d          24,024  4.40 MiB   112 KiB  24,024      0  "
	"8,028  100.0 %\n"
	"    grows steadily\n"
	"\n"
	"lsm_inode_cache    security_in...alloc+0x28  24,024   751 KiB  18.6 KiB  24,024      0  "
	"8,028  100.0 %\n"
	"    grows steadily\n"
	"... 12 more rows; --limit 0 shows all\n"
	"\n"
	"By cache, with what was there before\n"
	"CACHE                LIVE     BYTES  ALLOCS  FREED  OLD FREES  SLABINFO      GREW\n"
	"(pages)             1,806  20.3 MiB   1,807      1         16         -         -\n"
	"shmem_inode_cache  24,024  17.2 MiB  24,024      0          0    24,045  17.9 MiB\n"
	"dentry             24,024  4.40 MiB  24,024      0          2    24,669  3.96 MiB\n"
	"... 18 more rows; --limit 0 shows all\n"
	"\n"
	"NOT CHECKED\n"
	"   slab: objects freed in bulk: kprobes kmem_cache_free_bulk, __kfree_rcu_sheaf: No such "
	"file or\n"
	"     dire; kprobes (CONFIG_KPROBES)\n"
	"\n"
	"Note: 2 more sites grow steadily: they are in the table\n"
	"Note: 20.3 MiB of pages were taken for slabs: their objects are counted by themselves\n"
	"Note: 4 other sites have nothing outstanding\n";

static const char *const examples[] = {
	"memwhy leak -- ./job",
	"what a command still holds when it ends, by stack, and how that grew",
	"memwhy leak -i 60s -- ./job",
	"every minute, judged since the process began",
	"memwhy leak -p 1234 --for 5m",
	"what a running program allocates and keeps, judged over five minutes",
	"memwhy leak -p 1234 --for 60s",
	"what a running process allocated in a minute and did not free",
	"memwhy leak --kernel --for 60s",
	"what the kernel allocated in a minute and did not free, what grows steadily first",
	"memwhy leak --kernel -i 10s --for 5m",
	"every ten seconds, judged since the start each time",
	"memwhy leak --kernel --by process,cache,site -p 1234 --for 60s",
	"what one process makes the kernel keep",
	"memwhy leak --kernel --stacks=kernel --for 60s",
	"by the whole code path, of objects too: which costs more",
	"memwhy leak --kernel -- ./job",
	"what is left behind when a command has ended",
	NULL,
};

const struct probe probe_leak = {
	.name = "leak",
	.summary = "What is allocated and not freed, and does it grow: leak, or warm cache",
	.details =
		"With -- CMD, or -p for a running process: observes it as `heap` does and shows "
		"the blocks live at the end, or by now, by stack and process. A block that is "
		"live at exit is not a leak as such: most programs leave freeing to the kernel. "
		"So each stack is judged by how its live bytes developed over the life of its "
		"process: VERDICT is as below, or \"one-time: came early, stays\" for a few "
		"blocks that nobody freed. OLD, STAYED and OUTLIVED tell old blocks from usual "
		"ones. Whether anything still points to a block is not examined. Less than 6 s of "
		"a process, or fewer than six blocks, give no verdict. For a running process (-p) "
		"everything is about what was allocated since memwhy attached, as with `heap "
		"-p`.\n\n"
		"What a command maps by itself, past malloc (mmap, mremap, brk), is judged in the "
		"same way by the stack that maps: that is where the allocators of Python, Go and "
		"Java grow. The age of what is unmapped is not followed, so STAYED is a lower "
		"bound there.\n\n"
		"With --kernel: follows every slab object, and every page that the kernel takes "
		"for itself, from allocation to free, and shows what is outstanding by the code "
		"that allocated it: objects by the caller of the allocator, pages by their kernel "
		"stack; with --stacks both by stack, which costs three times as much. Pages of "
		"processes and of files (__GFP_MOVABLE) are not followed, and memwhy's own "
		"allocations do not count.\n\n"
		"VERDICT describes the outstanding bytes since the start, over six equal parts of "
		"that time. \"grows steadily\": in each part, at much the same rate. \"filled "
		"early, flat since\": a cache that warmed up. \"comes and goes\": most is freed, "
		"and what remains does not grow. \"rises and falls\", \"grows ever slower\", "
		"\"grows unevenly\" and \"came at the end\" are what they say. \"grows, but old "
		"ones go\": half of what was there early on is freed, so it is long-lived but not "
		"kept for ever. \"grows, but its cache does not\": the whole cache, by "
		"/proc/slabinfo, grew by less than half of that; objects from before the start "
		"went, or frees were not seen. Less than 6 s, or fewer than six objects, give no "
		"verdict. With -i each interval is judged by everything since the start.\n\n"
		"A suspect is a finding: it grew steadily for at least 10 s to at least 256 KiB, "
		"and at least 80 % of what was live after the first third still is. That is not "
		"proof: a cache that fills for an hour looks the same for a minute. Reclaimable "
		"caches (dentries, inodes) only get a note.\n\n"
		"STAYED and OUTLIVED tell old objects from usual ones: how much of what was there "
		"after the first third still is, and how many are older than 99 % of the freed "
		"ones became. Frees of what was allocated before the start are counted "
		"separately, by cache.\n\n"
		"The kernel does not report, so these are never outstanding: objects taken in "
		"bulk (kmem_cache_alloc_bulk: network buffers, maple nodes) and pages taken in "
		"bulk (alloc_pages_bulk: vmalloc) or by address. It does not report frees of "
		"objects in bulk, as kfree_rcu makes them, where there are no kprobes (doctor "
		"says so): these stay outstanding until their address is used again. The size of "
		"the whole cache gives that away (UNSEEN with -o wide), and then no suspect is "
		"named. Objects that wait for RCU are outstanding until they are freed. Objects "
		"of a destroyed cache were freed before it. A block of pages that is split and "
		"freed in parts counts as freed with its first part. The pages of slabs have rows "
		"of their own, marked as such: their objects are counted by themselves.\n\n"
		"There is room for as many kernel objects as fit in a 256th of the memory (at "
		"most 1M) and for 262144 blocks of pages; what finds no room is counted as "
		"untracked. Everything is summed up in the kernel.",
	.examples = examples,
	.output = output,
	.sampler = &sampler,
	.view = &leak_view,
	.options = &own_options,
	.beside = leak_beside,
	.over = "heap",
	.recorded_by = "memwhy leak --kernel --record FILE",
	.coarse = true,
	.only_named = true,
};
