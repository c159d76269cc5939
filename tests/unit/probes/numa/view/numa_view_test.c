/*
 * What `numa` shows: rows, findings and flows of made-up programs; topology files; and records that
 * hold anything.
 */
#include "probes/numa/numa_records.h"

#include "probes/numa/numa_opts.h"
#include "probes/numa/view/numa_tables.h"
#include "probes/numa/capture/numa_topology.h"
#include "probes/numa/view/numa_view.h"

static void open_with(const struct view_options *o)
{
	now = 5000000000;
	view_open(&f, &numa_view, o, "numa");
	for (u32 i = 0; i < 2; i++) {
		N(struct numa_cpu, REC_NUMA_CPU, .cpu = 2 * i, .node = (s32)i);
		N(struct numa_cpu, REC_NUMA_CPU, .cpu = 2 * i + 1, .node = (s32)i);
	}
	for (u32 i = 0; i < 2; i++) {
		struct numa_node n = {.h = {.size = sizeof(n), .kind = REC_NUMA_NODE, .flags = 3},
			.node = i,
			.bytes = 1ULL << 30};

		view_feed(&f, &n);
	}
}

static void name_add(u32 id, const char *text)
{
	_Alignas(8) char buf[sizeof(struct rec_string) + 32] = {};
	struct rec_string *s = (void *)buf;

	s->h = (struct rec){.size = sizeof(buf), .kind = REC_STRING};
	s->id = id;
	s->length = (u32)strlen(text);
	memcpy(s->text, text, s->length);
	view_feed(&f, s);
}

static void touch(u64 address, u32 tid, u32 cpu, s32 page, u64 weight)
{
	N(struct numa_sample, REC_NUMA_SAMPLE, .tgid = PID, .tid = tid, .address = address,
		.cpu = (s32)cpu, .cpu_node = -1, .page_node = page, .weight = weight,
		.latency = page == (s32)cpu / 2 ? 90 : 150, .op = NUMA_LOAD, .source = NUMA_PEBS,
		.node_from = NUMA_PAGE_FRAME);
}

/* A table of a program's data on node 0, that a thread on node 1 reads, and a local mapping. */
static void producer(void)
{
	name_add(1, "table");
	name_add(2, "/opt/job");
	N(struct numa_mapping, REC_NUMA_MAP, .tgid = PID, .start = 0x400000, .bytes = 1 << 20,
		.what = NUMA_MAP_HELD, .kind = MAPPING_FILE, .prot = 3, .file = 2);
	N(struct numa_variable, REC_NUMA_VARIABLE, .tgid = PID, .start = 0x410000, .bytes = 65536,
		.name = 1, .file = 2, .section = NUMA_BSS);
	N(struct numa_mapping, REC_NUMA_MAP, .tgid = PID, .tid = PID, .start = MAP,
		.bytes = 1 << 20, .what = NUMA_MAP_MADE, .kind = MAPPING_ANON, .prot = 3);
	for (u32 i = 0; i < 300; i++) {
		touch(0x410000 + i * 200, PID + 1, 2, 0, 10);
		if (i < 200)
			touch(MAP + i * 64, PID, 0, 0, 10);
	}
}

static void test_rows_and_finding(void **state)
{
	const struct table *t;
	const struct finding *found;

	(void)state;
	open_with(&(struct view_options){});
	producer();
	view_report(&f);
	t = view_table_of(&f, "sites");
	assert_int_equal(t->n_rows, 2);
	assert_cell_text(t, 0, "name", "table (job)");
	assert_cell_text(t, 0, "kind", "variable");
	assert_int_equal(cell_number(t, 0, "accesses"), 3000);
	assert_true(cell_at(t, 0, "remote_ratio")->f == 1);
	assert_cell_text(t, 0, "from_nodes", "1");
	assert_cell_text(t, 0, "on_nodes", "0");
	assert_int_equal(cell_number(t, 0, "remote_latency_cycles"), 150);
	assert_int_equal(cell_at(t, 0, "local_latency_cycles")->type, CELL_EMPTY);
	assert_true(cell_at(t, 1, "remote_ratio")->f == 0);
	assert_true(cell_at(t, 1, "maker_ratio")->f == 1);
	t = view_table_of(&f, "matrix");
	assert_int_equal(t->n_rows, 2);
	assert_cell_text(t, 0, "to_nodes", "0: 100 %");
	assert_cell_text(t, 1, "to_nodes", "0: 100 %");
	t = view_table_of(&f, "pairs");
	assert_int_equal(t->n_rows, 2);
	assert_int_equal(cell_number(t, 1, "cpu_node"), 1);
	assert_int_equal(cell_number(t, 1, "page_node"), 0);
	assert_int_equal(cell_number(t, 1, "accesses"), 3000);
	t = view_table_of(&f, "nodes");
	assert_int_equal(cell_number(t, 0, "accesses"), 5000);
	assert_int_equal(cell_number(t, 0, "local_latency_cycles"), 90);
	assert_int_equal(cell_number(t, 0, "remote_latency_cycles"), 150);
	assert_int_equal(view_table_of(&f, "unattributed")->n_rows, 0);
	assert_int_equal(f.report.findings.n, 1);
	found = &f.report.findings.v[0];
	assert_non_null(strstr(found->title, "table (job)"));
	assert_non_null(strstr(found->title, "remote use after allocation"));
	assert_int_equal(found->level, LEVEL_WARNING);
	view_close(&f);
}

static void test_each_key_has_a_table(void **state)
{
	(void)state;
	open_with(&(struct view_options){.by = "object,type,function,thread"});
	producer();
	view_report(&f);
	assert_int_equal(view_table_of(&f, "objects")->n_rows, 2);
	assert_int_equal(view_table_of(&f, "types")->n_rows, 2);
	assert_int_equal(view_table_of(&f, "functions")->n_rows, 1);
	assert_int_equal(view_table_of(&f, "threads")->n_rows, 2);
	/* The manual has the columns of each, and no others. */
	for (u32 by = NUMA_BY_OBJECT; by <= NUMA_BY_THREAD; by++) {
		const struct view_table *v = &numa_access_tables[by];
		u64 without = numa_tables_without(v);
		const struct table *t = view_table_of(&f, v->name);
		size_t n = 0;

		for (size_t i = 0; i < v->n_cols; i++) {
			const struct column *c =
				(const void *)((const char *)v->cols + i * v->stride);
			bool is_stack = c->type == CELL_STACK; /* not asked for */

			if (without & 1ULL << i || is_stack)
				continue;
			assert_string_equal(t->cols[n++].name, c->name);
		}
		assert_int_equal(n, t->n_cols);
	}
	view_close(&f);
}

/* Two threads of two nodes have every other line of a page: it is shared, its lines are not. */
static void test_shares_by_size(void **state)
{
	const struct table *t;

	(void)state;
	open_with(&(struct view_options){});
	N(struct numa_mapping, REC_NUMA_MAP, .tgid = PID, .tid = PID, .start = MAP, .bytes = 4096,
		.what = NUMA_MAP_MADE, .kind = MAPPING_ANON, .prot = 3);
	for (u32 i = 0; i < 640; i++)
		touch(MAP + i % 64 * 64, PID + i % 2, i % 2 ? 2 : 0, 0, 1);
	view_report(&f);
	t = view_table_of(&f, "sites");
	assert_true(cell_at(t, 0, "line_mixed_ratio")->f == 0);
	assert_float_equal(cell_at(t, 0, "page_mixed_ratio")->f, 0.5, 0.01);
	assert_float_equal(cell_at(t, 0, "huge_mixed_ratio")->f, 0.5, 0.01);
	assert_float_equal(cell_at(t, 0, "mixed_ratio")->f, 0.5, 0.01);
	view_close(&f);
}

static void place(u64 start, s32 node, u64 pages, u64 time_ns)
{
	struct numa_place r = {.h = {.size = sizeof(r),
				       .kind = REC_NUMA_PLACE,
				       .time_ns = time_ns,
				       .flags = NUMA_PLACE_SUM},
		.tgid = PID,
		.node = node,
		.start = start,
		.bytes = 1 << 20,
		.pages = pages,
		.page_bytes = 4096};

	view_feed(&f, &r);
}

/* Of two looks the last one counts: the second mapping was gone by then. */
static void test_places(void **state)
{
	const u64 first = 6000000000, then = 8000000000;
	const struct table *t;

	(void)state;
	open_with(&(struct view_options){});
	for (u32 i = 0; i < 2; i++)
		N(struct numa_mapping, REC_NUMA_MAP, .tgid = PID, .start = MAP + (i << 20),
			.bytes = 1 << 20, .what = NUMA_MAP_HELD, .kind = MAPPING_ANON, .prot = 3);
	place(MAP, 0, 200, first);
	place(MAP, 1, 56, first + 1);
	place(MAP + (1 << 20), 1, 10, first + 2);
	place(0x1000, 1, 5, then); /* of nothing that is known */
	place(MAP, 0, 30, then + 1);
	place(MAP, 1, 70, then + 2);
	place(MAP, NUMA_NODES, 1, then + 3);
	view_report(&f);
	t = view_table_of(&f, "places");
	assert_int_equal(t->n_rows, 3);
	assert_int_equal(cell_number(t, 0, "node"), 0);
	assert_int_equal(cell_number(t, 0, "bytes"), 30 * 4096);
	assert_int_equal(cell_number(t, 1, "node"), 1);
	assert_int_equal(cell_number(t, 1, "bytes"), 70 * 4096);
	assert_int_equal(cell_at(t, 2, "name")->type, CELL_EMPTY);
	assert_int_equal(cell_number(t, 2, "bytes"), 5 * 4096);
	assert_float_equal(cell_at(t, 1, "share_ratio")->f, 0.7, 1e-9);
	t = view_table_of(&f, "nodes");
	assert_int_equal(cell_number(t, 0, "held_bytes"), 30 * 4096);
	assert_int_equal(cell_number(t, 1, "held_bytes"), 75 * 4096);
	view_close(&f);
}

static void test_flow(void **state)
{
	static char *words[] = {"flow"};
	const struct table *t;

	(void)state;
	open_with(&(struct view_options){.operands = words,
		.n_operands = 1,
		.opts = &(struct numa_opts){.object = "table"}});
	producer();
	for (u32 i = 0; i < 200; i++) /* another thread has the end of it, seldom */
		touch(0x410000 + 65536 - 200 * (1 + i % 20), PID + 2, 0, 0, 1);
	view_report(&f);
	t = view_table_of(&f, "flow");
	assert_int_equal(t->n_rows, 500);
	assert_int_equal(cell_number(t, 1, "offset_bytes"), 200);
	assert_int_equal(cell_number(t, 1, "tid"), PID + 1);
	assert_int_equal(cell_number(t, 1, "cpu_node"), 1);
	assert_true(cell_at(t, 1, "remote")->b);
	assert_cell_text(t, 1, "node_known_by", "physical address");
	t = view_table_of(&f, "timeline");
	assert_int_equal(t->n_rows, 4);
	assert_cell_text(t, 0, "mark", "a"); /* the most accesses */
	assert_cell_text(t, 1, "mark", "b");
	assert_int_equal(cell_at(t, 2, "mark")->type, CELL_EMPTY);
	assert_non_null(strstr(cell_at(t, 0, "picture")->text, "1111"));
	t = view_table_of(&f, "pages");
	assert_cell_text(t, 0, "what", "lie on node");
	assert_non_null(strstr(cell_at(t, 0, "picture")->text, "0000"));
	assert_non_null(strstr(cell_at(t, 1, "picture")->text, "1111"));
	assert_cell_text(t, 2, "what", "used by thread");
	assert_cell_text(t, 2, "picture", "|aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbb|");
	view_close(&f);
	open_with(&(struct view_options){
		.operands = words, .n_operands = 1, .opts = &(struct numa_opts){.thread = "100"}});
	producer();
	view_report(&f);
	assert_int_equal(view_table_of(&f, "flow")->n_rows, 200);
	view_close(&f);
}

static void test_interval_begins_anew(void **state)
{
	(void)state;
	open_with(&(struct view_options){});
	producer();
	view_report(&f);
	view_next(&f);
	touch(MAP, PID, 0, 0, 1);
	view_report(&f);
	assert_int_equal(view_table_of(&f, "sites")->n_rows, 1);
	assert_int_equal(cell_number(view_table_of(&f, "sites"), 0, "accesses"), 1);
	view_close(&f);
}

static void test_words_that_are_wrong(void **state)
{
	static char *words[] = {"flaw"};
	const struct view_options wrong[] = {
		{.by = "sites"},
		{.operands = words, .n_operands = 1},
		{.opts = &(struct numa_opts){.thread = "1"}},
		{.opts = &(struct numa_opts){.topology = "/nonexistent"}},
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(wrong); i++) {
		void *v = calloc(1, numa_view.size);
		struct err err = {};

		assert_true(numa_view.init(v, &wrong[i], &err) < 0);
		assert_true(err.msg[0] && (err.hint[0] || i == 3));
		numa_view.destroy(v);
		free(v);
	}
}

static void test_topology_text(void **state)
{
	struct numa_topology t = {};
	struct err err = {};

	(void)state;
	assert_int_equal(numa_topology_parse("# two sockets and CXL\n"
					     "node 0 cpus 0-3 bytes 16G distances 10,21,31 tier 4\n"
					     "node 1 cpus 4-7 bytes 16G distances 21,10,31\n"
					     "node 2 cpus - bytes 64G tier 22\n",
				 &t, &err),
		0);
	assert_int_equal(t.known, 7);
	assert_int_equal(t.cpus.n, 8);
	assert_int_equal(t.cpus.v[5].node, 1);
	assert_int_equal(t.nodes[0].distances[2], 31);
	assert_int_equal(t.nodes[0].h.flags, NUMA_NODE_CPUS | NUMA_NODE_MEMORY);
	assert_int_equal(t.nodes[2].h.flags, NUMA_NODE_MEMORY);
	assert_int_equal(t.nodes[2].tier, 22);
	numa_topology_free(&t);
	assert_true(numa_topology_parse("", &t, &err) < 0);
	assert_true(numa_topology_parse("node 64 cpus 0\n", &t, &err) < 0);
	assert_true(numa_topology_parse("node 0 cpus\n", &t, &err) < 0);
	assert_true(numa_topology_parse("node 0 cpus 0\nnode 1 cups 1\n", &t, &err) < 0);
	assert_non_null(strstr(err.msg, "line 2"));
	assert_int_equal(numa_topology_parse("node 0 cpus 0-99999999\n", &t, &err), -EINVAL);
	assert_int_equal(numa_topology_parse("node 0 bytes 99999999999T\n", &t, &err), -EINVAL);
	assert_int_equal(
		numa_topology_parse("node 0 cpus 0-3\nnode 1 cpus 3\n", &t, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "line 2: a CPU is there twice"));
}

static void hint(u32 tgid, u32 tid)
{
	N(struct numa_sample, REC_NUMA_SAMPLE, .tgid = tgid, .tid = tid, .address = MAP,
		.cpu_node = 0, .page_node = 1, .source = NUMA_HINT_FAULT,
		.node_from = NUMA_PAGE_SEEN);
}

/* Of a process with one thread the kernel shows only what is remote: that is said. */
static void test_processes_with_one_thread(void **state)
{
	(void)state;
	open_with(&(struct view_options){});
	for (u32 i = 0; i < 100; i++)
		hint(PID, PID + i % 2);
	hint(PID + 10, PID + 10);
	view_report(&f);
	assert_int_equal(f.report.notes.n, 0); /* hardly any */
	for (u32 i = 0; i < 9; i++)
		hint(PID + 10, PID + 10);
	view_again(&f);
	view_report(&f);
	assert_int_equal(f.report.notes.n, 1);
	assert_non_null(strstr(f.report.notes.v[0], "10 of 110 samples"));
	view_close(&f);
}

/* Where a verdict takes more, it is said what there is: two looks at each of 100 pages. */
static void test_too_few(void **state)
{
	(void)state;
	open_with(&(struct view_options){});
	N(struct numa_mapping, REC_NUMA_MAP, .tgid = PID, .tid = PID, .start = MAP,
		.bytes = 1 << 20, .what = NUMA_MAP_MADE, .kind = MAPPING_ANON, .prot = 3);
	for (u32 i = 0; i < 200; i++)
		N(struct numa_sample, REC_NUMA_SAMPLE, .tgid = PID, .tid = PID + 1,
			.address = MAP + i % 100 * 4096ULL, .cpu_node = 0, .page_node = 1,
			.source = NUMA_HINT_FAULT, .node_from = NUMA_PAGE_SEEN);
	view_report(&f);
	assert_int_equal(f.report.findings.n, 0);
	assert_int_equal(f.report.not_checked.n, 1);
	assert_non_null(strstr(f.report.not_checked.v[0], " has 200, 200 remote, 2.0 a page)"));
	view_close(&f);
}

static u64 seed;

static u64 any(void)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return seed >> 11;
}

/* Bytes of chance, of which some look like small numbers and like addresses of one another. */
static void any_record(u16 kind, u32 size)
{
	_Alignas(8) u8 buf[512];
	struct rec *r = (void *)buf;

	for (u32 i = 16; i + 8 <= sizeof(buf); i += 4) {
		u64 v = any() % 4 == 0   ? any()
			: any() % 2 == 0 ? any() % 4
					 : 0x10000 + any() % 16 * 4096;

		memcpy(buf + i, &v, 8);
	}
	*r = (struct rec){.size = size, .kind = kind, .flags = (u16)any(), .time_ns = any() % 1000};
	view_feed(&f, r);
}

static void test_records_of_anything(void **state)
{
	static const u32 sizes[] = {sizeof(struct numa_sample), sizeof(struct numa_mapping),
		sizeof(struct numa_task), sizeof(struct numa_block), sizeof(struct numa_variable),
		sizeof(struct numa_move), sizeof(struct numa_thread_move),
		sizeof(struct numa_place), sizeof(struct numa_node), sizeof(struct numa_cpu)};

	(void)state;
	for (u32 round = 0; round < 40; round++) {
		static char *words[] = {"flow"};

		seed = round;
		open_with(&(struct view_options){.by = round % 2 ? "object,type,thread" : NULL,
			.operands = words,
			.n_operands = round % 4 == 3});
		for (u32 i = 0; i < 3000; i++) {
			u32 kind = any() % 3 ? any() % 4 : any() % ARRAY_SIZE(sizes);

			any_record((u16)(REC_NUMA_SAMPLE + kind),
				any() % 50 ? sizes[kind] : 16 + (u32)(any() % 20) * 8);
		}
		view_report(&f);
		view_close(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_and_finding),
		cmocka_unit_test(test_each_key_has_a_table),
		cmocka_unit_test(test_shares_by_size),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_flow),
		cmocka_unit_test(test_interval_begins_anew),
		cmocka_unit_test(test_processes_with_one_thread),
		cmocka_unit_test(test_too_few),
		cmocka_unit_test(test_words_that_are_wrong),
		cmocka_unit_test(test_topology_text),
		cmocka_unit_test(test_records_of_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
