/*
 * How fast records of accesses and of a heap become objects and flows: allocations, frees and
 * samples of a made-up program, with a number of live blocks, through the feed of `numa`. Prints
 * one line: records, samples a second of CPU time, and the peak of memory.
 *
 * numa_feed [samples] [allocations] [live blocks]
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "event/meta.h"
#include "probes/numa/feed/numa_feed.h"

#define BLOCK 4096ULL
#define BASE 0x7f0000000000ULL
#define STACKS 0x7e0000000000ULL
#define STACK (8ULL << 20)
#define THREADS 32
#define SECONDS 60

static u64 seed = 1;

static u64 any(u64 below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void take(struct numa_feed *f, const struct rec *r)
{
	if (numa_feed_take(f, r)) {
		fprintf(stderr, "numa_feed: no memory\n");
		exit(1);
	}
}

static void block(struct numa_feed *f, u64 time, u64 place, u8 what)
{
	struct numa_block b = {
		.h = {.size = sizeof(b), .kind = REC_NUMA_BLOCK, .time_ns = time},
		.tgid = 100,
		.tid = 100 + (u32)any(THREADS),
		.address = BASE + place * BLOCK,
		.bytes = 64 + any(BLOCK - 64),
		.ustack = 1 + (u32)any(1000),
		.cpu_node = (s32)any(4),
		.what = what,
	};

	take(f, &b.h);
}

/* What each sample costs without the feed: the loop and its random numbers. */
static u64 made;

static void sample(struct numa_feed *f, u64 time, u64 live)
{
	u32 thread = (u32)any(THREADS);
	struct numa_sample s = {
		/* From several CPUs: not quite in the order of time. */
		.h = {.size = sizeof(s), .kind = REC_NUMA_SAMPLE, .time_ns = time - any(1000000)},
		.tgid = 100,
		.tid = 100 + thread,
		.address = BASE + any(live) * BLOCK + any(64),
		.sp = STACKS + thread * STACK + STACK / 2 + any(4096),
		.weight = 1000,
		.ustack = 1 + (u32)any(1000),
		.latency = (u32)any(500),
		.cpu = (s32)any(64),
		.cpu_node = (s32)any(4),
		.page_node = (s32)any(4),
		.op = NUMA_LOAD,
		.source = NUMA_PEBS,
		.node_from = NUMA_PAGE_FRAME,
	};

	if (f)
		take(f, &s.h);
	made += s.address;
}

static void stacks(struct numa_feed *f, u64 time)
{
	for (u32 i = 0; i < THREADS; i++) {
		struct numa_mapping m = {
			.h = {.size = sizeof(m), .kind = REC_NUMA_MAP, .time_ns = time},
			.tgid = 100,
			.tid = 100,
			.start = STACKS + i * STACK,
			.bytes = STACK,
			.what = NUMA_MAP_MADE,
			.kind = MAPPING_STACK,
			.prot = 3,
		};

		take(f, &m.h);
	}
}

static void drained(struct numa_feed *f, u64 time)
{
	struct rec_loss l = {
		.h = {.size = sizeof(l), .kind = REC_LOSS, .time_ns = time}, .probe = "numa"};

	take(f, &l.h);
}

int main(int argc, char **argv)
{
	u64 samples = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	u64 allocs = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000000;
	u64 live = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000000;
	u64 time = 1000000000, steps = samples > allocs ? samples : allocs, second = 0;
	u64 step_ns = SECONDS * 1000000000ULL / (steps + 1), flowed = 0;
	double begin, alone, events, all;
	struct numa_feed *f;
	struct rusage usage;

	if (!live || numa_feed_new(&f))
		return 1;
	begin = cpu_seconds();
	for (u64 i = 0; i < samples; i++)
		sample(NULL, time, live);
	alone = cpu_seconds() - begin;
	stacks(f, time);
	for (u64 i = 0; i < live; i++)
		block(f, time, i, NUMA_BLOCK_ALLOC);
	drained(f, time += 2000000000);
	begin = cpu_seconds();
	for (u64 i = 0; i < steps; i++, time += step_ns) {
		u64 place = any(live);

		if (i < allocs && allocs > live) {
			block(f, time, place, NUMA_BLOCK_FREE);
			block(f, time, place, NUMA_BLOCK_ALLOC);
		}
		if (i < samples)
			sample(f, time, live);
		if (time / 1000000000 != second) {
			second = time / 1000000000;
			drained(f, time);
		}
	}
	events = cpu_seconds() - begin;
	if (numa_feed_finish(f))
		return 1;
	all = cpu_seconds() - begin;
	for (u32 i = 0; i < numa_objects(f); i++) {
		struct numa_flow flow = numa_flow_object(f, i);

		while (numa_flow_next(&flow))
			flowed++;
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("samples=%llu allocations=%llu live=%llu attributed=%llu seconds=%.2f "
	       "finish_seconds=%.2f samples_per_s=%.0f rss_mb=%ld\n",
		samples, allocs > live ? allocs : live, live, flowed, all - alone, all - events,
		(double)samples / (all - alone), usage.ru_maxrss / 1024);
	numa_feed_free(f);
	return made == 1;
}
