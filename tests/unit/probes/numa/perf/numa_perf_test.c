/*
 * perf.data files as records of `numa`: a made file of a machine with two nodes, and what must come
 * out of it; what is left out and said; files of no use.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "event/stream.h"
#include "perfdata/perfdata_fixture.h"
#include "probes/numa/perf/numa_perf.h"

#define TYPE                                                                                \
	(PERFDATA_IDENTIFIER | PERFDATA_IP | PERFDATA_TID | PERFDATA_TIME | PERFDATA_ADDR | \
		PERFDATA_CPU | PERFDATA_PERIOD | PERFDATA_CALLCHAIN | PERFDATA_WEIGHT |     \
		PERFDATA_DATA_SRC | PERFDATA_PHYS_ADDR | PERFDATA_DATA_PAGE_SIZE)

static const struct made_event events[] = {
	{.pmu = 4,
		.sample_type = TYPE,
		.flags = PERFDATA_FLAG_SAMPLE_ID_ALL,
		.name = "mem-loads",
		.ids = {11},
		.n_ids = 1},
	{.pmu = 1,
		.config = 2,
		.period = 1,
		.sample_type = TYPE & ~PERFDATA_WEIGHT,
		.flags = PERFDATA_FLAG_SAMPLE_ID_ALL,
		.name = "page-faults",
		.ids = {21},
		.n_ids = 1},
	{.pmu = 1,
		.config = 0,
		.sample_type = TYPE,
		.flags = PERFDATA_FLAG_SAMPLE_ID_ALL,
		.name = "cpu-clock",
		.ids = {31},
		.n_ids = 1},
};

struct got {
	struct sink sink;
	struct stream stream;
	struct numa_sample samples[16];
	struct numa_mapping maps[16];
	struct numa_task tasks[16];
	size_t n_samples, n_maps, n_tasks, n_nodes, n_cpus;
	u16 last_kind;
	char path[64];
};

static int got_put(struct sink *sink, const struct rec *r)
{
	struct got *g = (struct got *)sink;

	assert_int_equal(stream_feed(&g->stream, r), 0);
	if (r->kind == REC_NUMA_SAMPLE && g->n_samples < 16)
		memcpy(&g->samples[g->n_samples++], r, sizeof(struct numa_sample));
	if (r->kind == REC_NUMA_MAP && g->n_maps < 16)
		memcpy(&g->maps[g->n_maps++], r, sizeof(struct numa_mapping));
	if (r->kind == REC_NUMA_TASK && g->n_tasks < 16)
		memcpy(&g->tasks[g->n_tasks++], r, sizeof(struct numa_task));
	g->n_nodes += r->kind == REC_NUMA_NODE;
	g->n_cpus += r->kind == REC_NUMA_CPU;
	g->last_kind = r->kind;
	return 0;
}

static int got_read(struct got *g, const struct made *m, struct err *err)
{
	int fd = made_fd(m->s.buf, m->s.len), rc;

	*g = (struct got){.sink = {got_put}};
	assert_int_equal(stream_init(&g->stream), 0);
	snprintf(g->path, sizeof(g->path), "/proc/self/fd/%d", fd);
	rc = numa_perf_read(fd, g->path, &g->sink, err);
	return rc;
}

static void put_node(struct made *m, u32 node, const char *cpus)
{
	put_u32(m, node);
	put_u64(m, 1 << 20);
	put_u64(m, 1 << 19);
	put_string(m, cpus);
}

/* Nodes 0 and 1 with two CPUs and 1 GiB each. */
static void put_machine(struct made *m, const char *host, const char *release)
{
	size_t table = m->s.len, from;

	made_features(m, 1ULL << PERFDATA_FEAT_HOSTNAME | 1ULL << PERFDATA_FEAT_OSRELEASE |
				 1ULL << PERFDATA_FEAT_ARCH | 1ULL << PERFDATA_FEAT_CPUID |
				 1ULL << PERFDATA_FEAT_TOTAL_MEM |
				 1ULL << PERFDATA_FEAT_NUMA_TOPOLOGY |
				 1ULL << PERFDATA_FEAT_MEM_TOPOLOGY);
	for (int i = 0; i < 4; i++) {
		const char *text[] = {host, release, "x86_64", "AuthenticAMD,25,17,1"};

		from = m->s.len;
		put_string(m, text[i]);
		made_feature(m, table, i, from);
	}
	from = m->s.len;
	put_u64(m, 2 << 20); /* KiB */
	made_feature(m, table, 4, from);
	from = m->s.len;
	put_u32(m, 2);
	put_node(m, 0, "0-1\n");
	put_node(m, 1, "2-3\n");
	made_feature(m, table, 5, from);
	from = m->s.len;
	put_u64s(m, (u64[]){1, 128 << 20, 2, 0, 1, 8, 0xff, 1, 1, 16, 0xff00}, 11);
	made_feature(m, table, 6, from);
}

static struct made_sample accessed(u64 time, u64 addr, u64 source, u32 cpu)
{
	struct made_sample s = {.id = 11,
		.pid = 500,
		.tid = 501,
		.time = time,
		.addr = addr,
		.cpu = cpu,
		.data_src = source,
		.ip = 0x401010,
		.period = 100,
		.weight = 300};

	s.n_ips = 3;
	s.ips[0] = (u64)-512;
	s.ips[1] = 0x401010;
	s.ips[2] = 0x401020;
	return s;
}

#define REMOTE_RAM (2ULL | 0x102ULL << 5 | 13ULL << 33 | 1ULL << 37 | 2ULL << 43)
#define LOCAL_RAM (2ULL | 0x82ULL << 5 | 13ULL << 33)

static void put_run(struct made *m)
{
	struct made_sample before = {.id = 11, .pid = 500, .tid = 500}, s;

	put_comm(m, &events[0], &before, "job", false);
	put_mmap2(m, &events[0], &before, 0x401000, 0x1000, "/no/such/program", NULL);
	put_mmap2(m, &events[0], &before, 0x7f0000000000, 0x10000, "//anon", NULL);
	s = accessed(1000, 0x7f0000000100, REMOTE_RAM, 1);
	s.phys_addr = (1ULL << 30) + 4096;
	s.data_page = 2 << 20;
	put_sample(m, &events[0], &s, PERFDATA_MODE_USER);
	s = accessed(2000, 0x7f0000000200, LOCAL_RAM, 3);
	put_sample(m, &events[0], &s, PERFDATA_MODE_USER);
	s = accessed(3000, 0x7f0000000300, 1, 3); /* no load, no store */
	put_sample(m, &events[0], &s, PERFDATA_MODE_USER);
	s = accessed(4000, 0x7f0000000400, 0, 0);
	s.id = 21;
	put_sample(m, &events[1], &s, PERFDATA_MODE_USER);
	s.id = 31;
	put_sample(m, &events[2], &s, PERFDATA_MODE_USER);
	s = (struct made_sample){.id = 11, .pid = 600, .tid = 600, .time = 4500};
	put_fork(m, &events[0], &s, 500, 500);
	s = (struct made_sample){.id = 11, .pid = 600, .tid = 601, .time = 4600};
	put_fork(m, &events[0], &s, 600, 600);
	s = before;
	s.time = 5000;
	put_comm(m, &events[0], &s, "next", true);
}

static void check_samples(const struct got *g)
{
	const struct numa_sample *s = g->samples;

	assert_int_equal(g->n_samples, 3);
	assert_int_equal(s->h.time_ns, 1000);
	assert_int_equal(s->tgid, 500);
	assert_int_equal(s->tid, 501);
	assert_int_equal(s->address, 0x7f0000000100);
	assert_int_equal(s->weight, 100);
	assert_int_equal(s->latency, 300);
	assert_int_equal(s->cpu, 1);
	assert_int_equal(s->cpu_node, 0);
	assert_int_equal(s->page_node, 1);
	assert_int_equal(s->node_from, NUMA_PAGE_FRAME);
	assert_int_equal(s->op, NUMA_LOAD);
	assert_int_equal(s->level, NUMA_REMOTE_RAM);
	assert_int_equal(s->source, NUMA_IBS);
	assert_int_equal(s->page_shift, 21);
	assert_int_equal(s->h.flags, NUMA_REMOTE | NUMA_CYCLES);
	s++;
	assert_int_equal(s->cpu_node, 1);
	assert_int_equal(s->page_node, 1);
	assert_int_equal(s->node_from, NUMA_PAGE_LEVEL);
	assert_int_equal(s->level, NUMA_LOCAL_RAM);
	assert_int_equal(s->h.flags, NUMA_LOCAL | NUMA_CYCLES);
	s++;
	assert_int_equal(s->source, NUMA_FAULT);
	assert_int_equal(s->latency, 0);
	assert_int_equal(s->op, NUMA_OP_UNKNOWN);
	assert_int_equal(s->page_node, -1);
}

static void check_rest(struct got *g)
{
	const struct rec_stack *stack = stream_stack(&g->stream, g->samples[0].ustack);
	const struct rec_frame *f;

	assert_int_equal(g->n_nodes, 2);
	assert_int_equal(g->n_cpus, 4);
	assert_int_equal(g->n_maps, 2);
	assert_int_equal(g->maps[0].what, NUMA_MAP_HELD);
	assert_int_equal(g->maps[0].h.time_ns, 0);
	assert_int_equal(g->maps[0].kind, MAPPING_FILE);
	assert_string_equal(stream_string(&g->stream, g->maps[0].file), "/no/such/program");
	assert_int_equal(g->maps[1].kind, MAPPING_ANON);
	assert_int_equal(g->maps[1].file, 0);
	assert_int_equal(g->n_tasks, 4);
	assert_int_equal(g->tasks[0].what, NUMA_TASK_HELD);
	assert_int_equal(g->tasks[1].what, NUMA_TASK_FORK);
	assert_int_equal(g->tasks[2].what, NUMA_TASK_THREAD);
	assert_int_equal(g->tasks[3].what, NUMA_TASK_EXEC);
	assert_int_equal(g->last_kind, REC_END);
	assert_string_equal(stream_comm(&g->stream, 500, 0), "next");
	/* Forked before that, and not named since. */
	assert_string_equal(stream_comm(&g->stream, 600, 0), "job");
	assert_string_equal(stream_comm(&g->stream, 600, 601), "job");
	/* The file does not say when it was recorded, nor how long that took. */
	assert_int_equal(stream_wall_ns(&g->stream), 0);
	assert_non_null(stack);
	assert_int_equal(stack->n, 2);
	f = stream_frame(&g->stream, stack->frames[0]);
	assert_int_equal(f->offset, 0x1010);
	assert_string_equal(stream_string(&g->stream, f->module), "/no/such/program");
	assert_true(stream_probe_active(&g->stream, "numa"));
	assert_int_equal(stream_interval_ns(&g->stream), 4000);
	assert_int_equal(stream_delivered(&g->stream), 3);
	assert_int_equal(g->stream.host.nodes, 2);
	assert_int_equal(g->stream.host.memory_bytes, 2ULL << 30);
}

static bool noted(const struct got *g, const char *words)
{
	vec_each (n, &g->stream.notes)
		if (strstr(n->text, words))
			return true;
	return false;
}

static void a_run(void **state)
{
	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		struct made m = {.swap = swap};
		struct err err = {};
		struct got *g = calloc(1, sizeof(*g));

		made_file(&m, events, 3);
		put_run(&m);
		made_records_end(&m);
		put_machine(&m, "elsewhere", "5.5");
		assert_int_equal(got_read(g, &m, &err), 0);
		check_samples(g);
		check_rest(g);
		assert_true(noted(g, "neither loads nor stores"));
		assert_true(noted(g, "events without addresses"));
		assert_false(noted(g, "does not say which CPUs"));
		stream_destroy(&g->stream);
		str_free(&m.s);
		free(g);
	}
}

/* Cut: what is there comes, and the error says so. A pipe without features: nodes are not known. */
static void damaged(void **state)
{
	struct made m = {};
	struct err err = {};
	struct got *g = calloc(1, sizeof(*g));

	(void)state;
	made_pipe(&m, events, 3);
	put_run(&m);
	m.s.len -= 3;
	assert_int_equal(got_read(g, &m, &err), -ENODATA);
	assert_non_null(strstr(err.msg, "is cut"));
	assert_int_equal(g->n_samples, 3);
	assert_int_equal(g->samples[0].cpu_node, -1);
	assert_int_equal(g->last_kind, REC_END);
	assert_true(noted(g, "does not say which CPUs"));
	stream_destroy(&g->stream);
	str_free(&m.s);
	free(g);
}

static void of_no_use(void **state)
{
	struct made m = {};
	struct err err = {};
	struct got *g = calloc(1, sizeof(*g));

	(void)state;
	made_file(&m, &events[2], 1);
	made_records_end(&m);
	assert_int_equal(got_read(g, &m, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "no samples with the addresses"));
	assert_non_null(strstr(err.hint, "perf mem record"));
	stream_destroy(&g->stream);
	str_free(&m.s);
	free(g);
	assert_true(numa_perf_is("PERFILE2", 8));
	assert_false(numa_perf_is("MEMWHY", 6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run),
		cmocka_unit_test(damaged),
		cmocka_unit_test(of_no_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
