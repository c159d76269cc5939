/* A stream of count's records in, rows out. */
#include <errno.h>

#include "probes/count/count.h"
#include "probes/count/count_opts.h"
#include "probes/count/count_view.h"
#include "view_fixture.h"

static void put_string(struct fixture *f, u32 id, const char *text)
{
	_Alignas(8) char buf[128] = {};
	struct rec_string *r = (void *)buf;

	r->h = (struct rec){.kind = REC_STRING, .size = sizeof(buf)};
	r->id = id;
	r->length = (u32)strlen(text);
	strcpy(r->text, text);
	view_feed(f, r);
}

/* Two events: kmem:kmalloc by order and name with the sum of bytes, and page-faults. */
static void put_head(struct fixture *f)
{
	struct rec_session session = REC(struct rec_session, REC_SESSION, .scope = "system-wide");
	struct count_event e = REC(struct count_event, REC_COUNT_EVENT, .event = 0, .name = 1,
		.n_fields = 2, .sum = 3, .hist = 3, .sum_show = COUNT_SHOW_SIGNED, .fields = {4, 5},
		.show = {COUNT_SHOW_FLAGS, COUNT_SHOW_TEXT}, .set_1 = "bits");
	struct rec_enum one = REC(struct rec_enum, REC_ENUM, .set = "bits", .value = 1);

	strcpy(one.name, "ONE");
	session.h.time_ns = 3000000000;
	view_feed(f, &session);
	view_feed(f, &one);
	put_string(f, 1, "kmem:kmalloc");
	put_string(f, 2, "page-faults");
	put_string(f, 3, "bytes");
	put_string(f, 4, "order");
	put_string(f, 5, "args.name");
	put_string(f, 6, "dentry\033[m");
	view_feed(f, &e);
	e.event = 1;
	e.name = 2;
	e.n_fields = 0;
	e.sum = e.hist = 0;
	view_feed(f, &e);
}

static void put_agg(struct fixture *f, u32 event, u32 tgid, u64 order, u64 count, s64 sum)
{
	struct count_agg a =
		REC(struct count_agg, REC_COUNT_AGG, .event = event, .tgid = tgid, .count = count,
			.sum = (u64)sum, .min = (u64)-5, .max = 7, .cpu = 2, .fields = {order, 6});

	a.h.time_ns = 7000000000;
	a.hist[3] = (u32)count;
	view_feed(f, &a);
}

static void test_fields(void **state)
{
	struct fixture f;
	struct table *t;

	(void)state;
	view_open(&f, &count_view,
		&(struct view_options){.by = "args.name,order,cpu",
			.opts = &(struct count_opts){.sum = "bytes", .hist = "bytes"}},
		"count");
	put_head(&f);
	put_agg(&f, 0, 7, 5, 10, -20);
	put_agg(&f, 0, 8, 5, 10, -20); /* not counted by process: the same row */
	put_agg(&f, 0, 8, 1, 3, 6);
	view_report(&f);
	t = view_table_of(&f, "counts");
	assert_int_equal(t->n_rows, 2);
	assert_cell_text(t, 0, "event", "kmem:kmalloc");
	assert_cell_text(t, 0, "name", "dentry\033[m"); /* renderers escape */
	assert_cell_text(t, 0, "order", "ONE|0x4");
	assert_int_equal(cell_number(t, 0, "count"), 20);
	assert_int_equal(cell_number(t, 0, "cpu"), 1);
	assert_int_equal(cell_at(t, 0, "sum")->s, -40);
	assert_int_equal(cell_at(t, 0, "min")->s, -5);
	assert_int_equal(cell_at(t, 0, "max")->s, 7);
	assert_true(cell_at(t, 0, "avg")->f == -2.0);
	assert_true(cell_at(t, 0, "rate")->f == 10.0); /* 2 s since the event was counted */
	assert_int_equal(cell_at(t, 0, "hist")->hist->slots[3], 20);
	assert_cell_text(t, 1, "order", "ONE");
	view_close(&f);
}

/* Over a recording: fewer keys than it has, others than it has, only some events. */
static void test_recorded(void **state)
{
	static char *operands[] = {"kmem:*"};
	struct fixture f;
	struct table *t;

	(void)state;
	view_open(&f, &count_view,
		&(struct view_options){.by = "process,absent",
			.opts = &(struct count_opts){.sum = "other"},
			.operands = operands,
			.n_operands = 1},
		"count");
	put_head(&f);
	put_agg(&f, 0, 7, 5, 10, 0);
	put_agg(&f, 0, 7, 1, 3, 0);
	put_agg(&f, 1, 7, 0, 99, 0);
	view_report(&f);
	t = view_table_of(&f, "counts");
	assert_int_equal(t->n_rows, 1);
	assert_int_equal(cell_number(t, 0, "count"), 13);
	assert_int_equal(cell_number(t, 0, "pid"), 7);
	assert_int_equal(cell_at(t, 0, "absent")->type, CELL_EMPTY);
	assert_int_equal(cell_at(t, 0, "sum")->type, CELL_EMPTY);
	assert_int_equal(f.report.not_checked.n, 2);
	view_close(&f);
}

/* Of another version, or made with intent. */
static void test_foreign(void **state)
{
	struct count_event e = REC(struct count_event, REC_COUNT_EVENT, .event = UINT32_MAX);
	struct fixture f;

	(void)state;
	view_open(&f, &count_view,
		&(struct view_options){
			.by = "order", .opts = &(struct count_opts){.hist = "bytes"}},
		"count");
	put_agg(&f, 0, 7, 5, 10, 0); /* before what it is */
	view_feed(&f, &e);
	put_head(&f);
	e.event = 0;
	e.name = 1;
	e.n_fields = 255;
	e.fields[3] = 4;
	memset(e.show, 255, sizeof(e.show));
	memset(e.set_1, 'x', 4 * sizeof(e.set_1));
	view_feed(&f, &e);
	put_agg(&f, 0, 7, 5, 0, 0);
	put_agg(&f, 500, 7, 5, 1, 0);
	put_agg(&f, UINT32_MAX, 7, 5, 1, 0);
	view_report(&f);
	assert_int_equal(view_table_of(&f, "counts")->n_rows, 1);
	view_close(&f);
}

static void test_refused(void **state)
{
	struct view_options o = {.by = "a,b,c,d,e"};
	struct err err = {};
	void *v = calloc(1, count_view.size);

	(void)state;
	assert_int_equal(count_view.init(v, &o, &err), -EINVAL);
	o = (struct view_options){.opts = &(struct count_opts){.filter = "order >"}};
	assert_int_equal(count_view.init(v, &o, &err), -EINVAL);
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
