/* `memwhy policy`: records in, cells out, no kernel. */
#include "view_fixture.h"

#include <errno.h>

#include "probes/policy/policy_judge.h"
#include "probes/policy/policy_tables.h"
#include "probes/policy/policy_view.h"
#include "probes/policy/policy_words.h"

static void method_feed(struct fixture *f, const char *data)
{
	struct rec_method m = REC(struct rec_method, REC_METHOD);

	snprintf(m.probe, sizeof(m.probe), "policy");
	snprintf(m.data, sizeof(m.data), "%s", data);
	snprintf(m.method, sizeof(m.method), "a way");
	view_feed(f, &m);
}

static struct policy_call mbind_make(void)
{
	return REC(struct policy_call, REC_POLICY_CALL, .tgid = 7, .tid = 8, .comm = "app",
		.call = CALL_MBIND, .start_ns = 1, .ns = 1000, .moved = 5, .unmoved = 1,
		.flags = POLICY_LOOKED | POLICY_AFTER | POLICY_USABLE, .usable = {3},
		.args = {0x10000, 8 * 4096, MODE_BIND, 0x7000, 3, MOVE_OWN},
		.masks = {{.bits = {2}}},
		.before = {.looked = 8, .on = 2, .at = {5, 2, [POLICY_ABSENT] = 1}},
		.after = {.looked = 8, .on = 7, .at = {0, 7, [POLICY_ABSENT] = 1}},
		.map = MAPPING_HEAP);
}

static void test_sums(void **state)
{
	struct policy_agg agg = REC(struct policy_agg, REC_POLICY_AGG, .tgid = 7, .comm = "app",
		.call = CALL_MBIND, .mode = MODE_BIND, .count = 10, .timed = 10, .total_ns = 10000,
		.max_ns = 1500, .moved = 50, .on_before = 20, .off_before = 60);
	struct policy_call e = mbind_make();
	const struct table *t;
	struct fixture f;

	(void)state;
	view_open(&f, &policy_view, &(struct view_options){}, "policy");
	method_feed(&f, "pages moved in them");
	view_feed(&f, &agg);
	e.warnings = POLICY_CUT;
	view_feed(&f, &e);
	agg.error = EINVAL;
	agg.count = 3;
	view_feed(&f, &agg);
	view_report(&f);
	t = view_table_of(&f, "calls");
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_number(t, 0, "count"), 14);
	assert_int_equal(cell_number(t, 0, "failed"), 3);
	assert_int_equal(cell_number(t, 0, "moved_pages"), 105);
	assert_int_equal(cell_number(t, 0, "total_ns"), 21000);
	assert_int_equal(cell_number(t, 0, "max_ns"), 1500);
	assert_cell_text(t, 0, "mode", "MPOL_BIND");
	assert_cell_text(t, 0, "call", "mbind");
	/* (20 + 20 + 2) of (80 + 80 + 7) */
	assert_true(cell_at(t, 0, "placed_before_ratio")->f > 0.25 &&
		    cell_at(t, 0, "placed_before_ratio")->f < 0.2516);
	t = view_table_of(&f, "problems");
	assert_int_equal(t->n_rows, 2);
	assert_cell_text(t, 0, "problem", "maxnode cuts nodes off");
	assert_cell_text(
		t, 0, "example", "mbind(0x10000, 32.0 KiB, MPOL_BIND, {1}, 3, MPOL_MF_MOVE)");
	assert_cell_text(t, 1, "problem", "EINVAL");
	assert_int_equal(cell_number(t, 1, "count"), 3);
	assert_int_equal(cell_at(t, 1, "meaning")->type, CELL_EMPTY); /* no example came */
	view_close(&f);
}

static void test_each(void **state)
{
	struct policy_call e = mbind_make();
	struct fixture f;
	struct table *t;

	(void)state;
	view_open(&f, &policy_view, &(struct view_options){.each = true, .min_ns = 500}, "policy");
	view_feed(&f, &e);
	e.ns = 10;
	view_feed(&f, &e); /* too short */
	t = f.of->each(f.view, &f.report);
	assert_int_equal(t->n_rows, 1);
	assert_cell_text(t, 0, "effect",
		"before: node 0 5, node 1 2, not there yet 1; after: node 1 7, not there yet 1; "
		"moved 5, not moved 1");
	assert_cell_text(t, 0, "nodes", "1");
	assert_cell_text(t, 0, "mapping", "heap");
	assert_cell_text(t, 0, "result", "ok");
	assert_int_equal(cell_at(t, 0, "moved_pages")->type, CELL_EMPTY); /* no method told */
	assert_int_equal(cell_at(t, 0, "problems")->type, CELL_EMPTY);
	view_close(&f);
}

static void assert_said(const struct policy_call *e, const char *call, const char *result)
{
	_cleanup_str_ struct str a = {}, b = {};

	policy_call_add(&a, e);
	policy_result_add(&b, e);
	assert_string_equal(str_get(&a), call);
	assert_string_equal(str_get(&b), result);
}

static void test_words(void **state)
{
	struct policy_call e = {.call = CALL_GET_MEMPOLICY,
		.args = {16, 32, 1024, 0x1000, GET_NODE | GET_ADDR},
		.flags = POLICY_ANSWER,
		.answer = 1,
		.masks[0].state = MASK_EMPTY};

	(void)state;
	assert_said(&e, "get_mempolicy(0x10, {}, 1024, 0x1000, MPOL_F_NODE|MPOL_F_ADDR)", "node 1");
	e = (struct policy_call){.call = CALL_SET_MEMPOLICY,
		.args = {MODE_INTERLEAVE | MODE_STATIC_NODES, 16, 4},
		.masks[0].bits[0] = 7,
		.ret = -EPERM};
	assert_said(&e, "set_mempolicy(MPOL_INTERLEAVE|MPOL_F_STATIC_NODES, {0-2}, 4)", "EPERM");
	e = (struct policy_call){.call = CALL_MIGRATE_PAGES,
		.args = {(u32)-1, 65, 16, 0},
		.masks[0] = {.bits[0] = 1, .state = MASK_UNREADABLE},
		.ret = 12};
	assert_said(&e, "migrate_pages(-1, 65, {0}..., NULL)", "12 not moved");
	e = (struct policy_call){
		.call = CALL_MBIND, .args = {0, 0, 1ULL << 40, 16, 0, 8}, .ret = -4096};
	assert_said(&e, "mbind(NULL, 0 B, 0x10000000000, 0x10, 0, 0x8)", "-4096");
	e = (struct policy_call){.call = CALL_HOME_NODE, .args = {4096, 4096, 1, 0}};
	assert_said(&e, "set_mempolicy_home_node(0x1000, 4.00 KiB, 1, 0x0)", "ok");
	e = (struct policy_call){.call = CALL_MOVE_PAGES, .args = {5, 6, 16, 0, 32, MOVE_ALL}};
	assert_said(&e, "move_pages(5, 6, 0x10, NULL, 0x20, MPOL_MF_MOVE_ALL)", "ok");
	e = (struct policy_call){.call = 1};
	assert_said(&e, "write()", "ok");
}

/* Every problem has words, also for a call that holds anything. */
static void test_problem_words(void **state)
{
	struct policy_call e;

	(void)state;
	memset(&e, 0xff, sizeof(e));
	for (u32 i = 0; i < 32; i++) {
		_cleanup_str_ struct str s = {};

		policy_problem_add(&s, &e, 1U << i);
		assert_int_equal(policy_problem_name(1U << i) != NULL, i < POLICY_WARNING_N);
		assert_int_equal(s.len > 0, i < POLICY_WARNING_N);
	}
	e = mbind_make();
	e.args[4] = 65;
	e.masks[0].cut = 1; /* of the word of bit 64 less one */
	for (u32 cut = 0; cut < 2; cut++) {
		_cleanup_str_ struct str s = {};

		e.args[4] = cut ? 66 : 2;
		e.masks[0].cut = cut ? 2 : 2;
		policy_problem_add(&s, &e, POLICY_CUT);
		assert_non_null(strstr(str_get(&s), cut ? "node 65," : "node 1,"));
	}
}

static void string_feed(struct fixture *f, u32 id, const char *text)
{
	char buf[128] = {};
	struct rec_string *r = (void *)buf;

	r->h = (struct rec){.size = (u32)(sizeof(*r) + 32), .kind = REC_STRING};
	r->id = id;
	r->length = (u32)strlen(text);
	memcpy(r->text, text, r->length);
	view_feed(f, r);
}

static void test_show(void **state)
{
	struct view_options o = {.operands = (char *const[]){"show"}, .n_operands = 1};
	_Alignas(8) char buf[sizeof(struct policy_mapping) + 16] = {};
	struct policy_mapping *m = (void *)buf;
	struct policy_node n = REC(
		struct policy_node, REC_POLICY_NODE, .node = 1, .bytes = 1000, .free_bytes = 10);
	struct policy_thread th = REC(struct policy_thread, REC_POLICY_THREAD, .tgid = 7, .tid = 8,
		.policy = 1, .node = -1, .comm = "app");
	const struct table *t;
	struct fixture f;

	(void)state;
	view_open(&f, &policy_view, &o, "policy");
	string_feed(&f, 1, "bind:0-1");
	*m = (struct policy_mapping){.h = {.size = sizeof(buf), .kind = REC_POLICY_MAPPING},
		.tgid = 7,
		.policy = 1,
		.map = MAPPING_ANON,
		.start = 4096,
		.end = 40960,
		.page_bytes = 4096};
	m->nodes[0] = 0, m->nodes[1] = 2;
	m->nodes[2] = 1, m->nodes[3] = 6;
	view_feed(&f, m);
	view_feed(&f, &n);
	view_feed(&f, &th);
	view_report(&f);
	t = view_table_of(&f, "mappings");
	assert_int_equal(cell_number(t, 0, "bytes"), 36864);
	assert_int_equal(cell_number(t, 0, "present_bytes"), 32768);
	assert_cell_text(t, 0, "policy", "bind:0-1");
	assert_cell_text(t, 0, "picture", "00000111111111111111");
	assert_cell_text(t, 0, "nodes", "0: 8.00 KiB, 1: 24.0 KiB");
	t = view_table_of(&f, "nodes");
	assert_int_equal(t->n_rows, 2);
	assert_int_equal(cell_number(t, 1, "free_bytes"), 10);
	assert_int_equal(cell_at(t, 0, "free_bytes")->type, CELL_EMPTY);
	t = view_table_of(&f, "threads");
	assert_cell_text(t, 0, "policy", "bind:0-1");
	assert_int_equal(cell_at(t, 0, "node")->type, CELL_EMPTY);
	view_close(&f);
}

/* A recording may say anything: shares are shares, whatever the sums of bytes wrapped to. */
static void test_show_wrapped(void **state)
{
	struct view_options o = {.operands = (char *const[]){"show"}, .n_operands = 1};
	_Alignas(8) char buf[sizeof(struct policy_mapping) + 16] = {};
	struct policy_mapping *m = (void *)buf;
	const struct table *t;
	struct fixture f;

	(void)state;
	view_open(&f, &policy_view, &o, "policy");
	*m = (struct policy_mapping){.h = {.size = sizeof(buf), .kind = REC_POLICY_MAPPING},
		.tgid = 7,
		.start = 4096,
		.end = 40960,
		.page_bytes = 1ULL << 62};
	m->nodes[0] = 0, m->nodes[1] = 3;
	m->nodes[2] = 1, m->nodes[3] = 2;
	view_feed(&f, m);
	view_report(&f);
	t = view_table_of(&f, "nodes");
	assert_int_equal(t->n_rows, 2);
	for (size_t i = 0; i < t->n_rows; i++) {
		assert_true(cell_at(t, i, "share_ratio")->f == 1);
		assert_int_equal(strlen(cell_at(t, i, "bar")->text), 30);
	}
	view_close(&f);
}

static void test_picture(void **state)
{
	u32 many[2 * 40], few[] = {0, 1, 35, 1, 36, 1, 11, 1000};
	_cleanup_str_ struct str a = {}, b = {}, c = {};

	(void)state;
	for (u32 i = 0; i < 40; i++)
		many[2 * i] = i, many[2 * i + 1] = 1;
	policy_picture_add(&a, many, 40);
	assert_int_equal(a.len, POLICY_PICTURE);
	policy_picture_add(&b, few, 4);
	assert_string_equal(str_get(&b), "bbbbbbbbbbbbbbbbbbbb");
	policy_picture_add(&c, few, 0);
	assert_int_equal(c.len, 0);
}

static void test_operands(void **state)
{
	struct view_options other = {.operands = (char *const[]){"list"}, .n_operands = 1};
	struct view_options each = {
		.operands = (char *const[]){"show"}, .n_operands = 1, .each = true};
	void *v = calloc(1, policy_view.size);
	struct err err = {};

	(void)state;
	assert_int_equal(policy_view.init(v, &other, &err), -EINVAL);
	assert_int_equal(policy_view.init(v, &each, &err), -EINVAL);
	assert_int_equal(policy_view.for_ns(&each), 1);
	assert_int_equal(policy_view.for_ns(&(struct view_options){}), 0);
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_problem_words),
		cmocka_unit_test(test_show),
		cmocka_unit_test(test_show_wrapped),
		cmocka_unit_test(test_picture),
		cmocka_unit_test(test_operands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
