/*
 * Made-up programs on a machine with several nodes, as records of numa: what each pattern of use
 * looks like when it is sampled. Shared by the tests of numa.
 */
#ifndef MEMWHY_TESTS_NUMA_TRACE_H
#define MEMWHY_TESTS_NUMA_TRACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "event/meta.h"
#include "probes/numa/judge/numa_patterns.h"

struct trace {
	struct numa_feed *feed;
	u64 seed;
	u64 time_ns;
	u32 nodes;
	u32 noise_percent; /* of accesses come from a node that chance chooses */
	u32 accesses, blocks;
};

#define PID 100U

static inline u32 trace_any(struct trace *t, u32 below)
{
	t->seed = t->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(t->seed >> 33) % below;
}

static inline void trace_take(struct trace *t, void *rec)
{
	struct rec *r = rec;

	t->time_ns += 1000 + trace_any(t, 100000);
	if (r->time_ns == 1)
		r->time_ns = t->time_ns;
	assert_int_equal(numa_feed_take(t->feed, r), 0);
}

#define TRACE_REC(type_, kind_, ...)                                                     \
	(type_)                                                                          \
	{                                                                                \
		.h = {.size = sizeof(type_), .kind = (kind_), .time_ns = 1}, __VA_ARGS__ \
	}

static inline void trace_open(struct trace *t, u64 seed, u32 nodes, u32 nodes_with_cpus)
{
	*t = (struct trace){
		.seed = seed * 7919 + 1, .time_ns = 5000000000, .nodes = nodes_with_cpus};
	for (u32 i = 0; i < 8; i++)
		trace_any(t, 2);
	t->noise_percent = trace_any(t, 4);
	assert_int_equal(numa_feed_new(&t->feed), 0);
	for (u32 i = 0; i < nodes; i++) {
		struct numa_node n =
			TRACE_REC(struct numa_node, REC_NUMA_NODE, .node = i, .tier = 4);
		struct numa_cpu c =
			TRACE_REC(struct numa_cpu, REC_NUMA_CPU, .cpu = i, .node = (s32)i);

		n.h.flags = NUMA_NODE_MEMORY | (i < nodes_with_cpus ? NUMA_NODE_CPUS : 0);
		trace_take(t, &n);
		if (i < nodes_with_cpus)
			trace_take(t, &c);
	}
}

static inline void trace_close(struct trace *t)
{
	numa_feed_free(t->feed);
}

static inline void trace_map(
	struct trace *t, u64 start, u64 bytes, u8 kind, u8 what, u32 tid, u32 stack)
{
	struct numa_mapping m = TRACE_REC(struct numa_mapping, REC_NUMA_MAP, .tgid = PID,
		.tid = tid, .start = start, .bytes = bytes, .what = what, .kind = kind, .prot = 3,
		.ustack = stack, .file = kind == MAPPING_FILE ? 77 : 0);

	trace_take(t, &m);
}

static inline void trace_block(
	struct trace *t, u8 what, u64 address, u64 bytes, u32 tid, s32 node, u32 stack)
{
	struct numa_block b = TRACE_REC(struct numa_block, REC_NUMA_BLOCK, .tgid = PID, .tid = tid,
		.address = address, .bytes = bytes, .what = what, .cpu_node = node,
		.ustack = stack);

	t->blocks++;
	trace_take(t, &b);
}

struct trace_access {
	u64 address, sp;
	u32 tid;
	s32 from, on;
	u8 op, page_shift;
};

static inline void trace_touch(struct trace *t, struct trace_access a)
{
	struct numa_sample s = TRACE_REC(struct numa_sample, REC_NUMA_SAMPLE, .tgid = PID,
		.tid = a.tid, .address = a.address, .sp = a.sp, .cpu_node = a.from,
		.page_node = a.on, .op = a.op, .page_shift = a.page_shift, .source = NUMA_PEBS,
		.node_from = NUMA_PAGE_SEEN, .cpu = -1);

	if (trace_any(t, 100) < t->noise_percent)
		s.cpu_node = (s32)trace_any(t, t->nodes);
	if (trace_any(t, 100) < 2)
		s.page_node = -1;
	t->accesses++;
	trace_take(t, &s);
}

/* Every access in an object; nothing late, nothing damaged. */
static inline void trace_attributed(struct trace *t)
{
	struct numa_flow flow;
	u32 n = 0;

	assert_int_equal(numa_feed_finish(t->feed), 0);
	for (u32 why = 1; why < NUMA_WHYS; why++)
		assert_int_equal(numa_unattributed(t->feed, why), 0);
	assert_int_equal(numa_damaged(t->feed), 0);
	assert_int_equal(numa_late(t->feed), 0);
	for (u32 i = 0; i < numa_objects(t->feed); i++) {
		flow = numa_flow_object(t->feed, i);
		while (numa_flow_next(&flow))
			n++;
	}
	assert_int_equal(n, t->accesses);
}

#endif
