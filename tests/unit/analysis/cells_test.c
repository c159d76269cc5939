/* Columns that know their cells: members of every width, keys that hide columns, rows of records.
 */
#include "analysis/by.h"
#include "view_fixture.h"

struct event {
	struct rec h;
	u32 tgid, tid, ustack;
	u8 small;
	u16 medium;
	u64 large, cgroup;
	char comm[COMM_LEN];
};

static CELL_GET(sum_cell)
{
	const struct event *e = row->sums;

	return cell_u64(e->small + e->medium + e->large);
}

static const struct cell_column event_columns[] = {
	EACH_CELLS(struct event, "when", cell_of_time),
	CELL_NUMBER(struct event, small, "small", "S", UNIT_COUNT, 0, "u8"),
	CELL_NUMBER(struct event, medium, "medium", "M", UNIT_COUNT, 0, "u16"),
	CELL_NUMBER(struct event, large, "large", "L", UNIT_COUNT, 0, "u64"),
	CELL_BY(0, "sum", "SUM", CELL_U64, UNIT_COUNT, 0, "all of them", sum_cell),
	CELL_STACK_OF(struct event, ustack, "where"),
};

static void records_as_rows(void **state)
{
	VEC(struct event) events = {};
	struct stream stream;
	struct report r;
	struct table *t;

	(void)state;
	assert_int_equal(stream_init(&stream), 0);
	report_init(&r, "test", &stream);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(vec_push(&events, ((struct event){.tgid = 7 + i,
							   .tid = 8,
							   .ustack = 5,
							   .small = 255,
							   .medium = 65535,
							   .large = 1ULL << 40,
							   .comm = "abcdefghijklmnop"})),
			0);
	t = cells_table(&r, "events", NULL, event_columns, ARRAY_SIZE(event_columns));
	cells_each(t, &r, event_columns, &events, NULL);
	assert_int_equal(t->n_rows, 3);
	assert_int_equal(t->n_cols, ARRAY_SIZE(event_columns));
	for (u32 i = 0; i < 3; i++) {
		const struct cell *row = table_cell(t, i, 0);

		assert_int_equal(row[1].u, 7 + i);
		assert_int_equal(strlen(row[3].text), COMM_LEN); /* not ended by a 0 */
		assert_int_equal(row[5].u, 255);
		assert_int_equal(row[6].u, 65535);
		assert_int_equal(row[7].u, 1ULL << 40);
		assert_int_equal(row[8].u, 255 + 65535 + (1ULL << 40));
		assert_int_equal(row[9].stack, 5);
	}
	cells_each(NULL, &r, event_columns, &events, NULL);
	report_destroy(&r);
	stream_destroy(&stream);
	vec_free(&events);
}

struct key {
	struct by_task_key task;
};

struct sums {
	u64 count;
};

static const struct cell_column columns[] = {
	BY_TASK_CELLS,
	CELL_COUNT(struct sums, count, "N", "how many"),
	BY_STACK_CELLS("where"),
};

struct pair {
	s32 node;
	u32 id;
};

struct pair_sums {
	u64 known;
	s64 change;
};

static CELL_GET(of_view_cell)
{
	return cell_u64(*(const u64 *)row->view + ((const struct pair *)row->key)->id);
}

static const struct cell_column pair_columns[] = {
	CELL_FROM(0, struct pair, node, "node", "NODE", CELL_U64, UNIT_ID, 0, "", cell_of_node),
	CELL_KEY(0, struct pair, id, "id", "ID", UNIT_ID, 0, ""),
	CELL_FROM(0, struct pair_sums, known, "known", "KNOWN", CELL_U64, UNIT_COUNT, 0, "",
		cell_of_known),
	CELL_NUMBER(struct pair_sums, change, "change", "CHANGE", UNIT_BYTES, 0, ""),
	CELL_BY(0, "of_view", "VIEW", CELL_U64, UNIT_COUNT, 0, "", of_view_cell),
};

static bool pair_shows(const struct row_of *row)
{
	return ((const struct pair *)row->key)->id != 2;
}

/* A row for each key that is to be shown, from its key, its sums and what the view hands on. */
static void sums_as_rows(void **state)
{
	static const struct cell_table table = {
		CELL_TABLE("pairs", "Pairs", "id", "none", pair_columns), .shows = pair_shows};
	const u64 of_view = 100;
	struct groups g;
	struct stream stream;
	struct report r;
	const struct table *t;

	(void)state;
	assert_int_equal(stream_init(&stream), 0);
	report_init(&r, "test", &stream);
	groups_init(&g, sizeof(struct pair), sizeof(struct pair_sums));
	for (u32 i = 0; i < 3; i++) {
		struct pair k = {.node = (s32)i - 1, .id = i + 1};
		struct pair_sums *s = groups_get(&g, &k);

		*s = (struct pair_sums){.known = i, .change = -5};
	}
	assert_int_equal(cells_report(&r, &table, &g, &of_view), 0);
	t = r.tables.v[0];
	assert_string_equal(t->name, "pairs");
	assert_string_equal(t->sort, "id");
	assert_string_equal(t->empty, "none");
	assert_int_equal(t->cols[3].type, CELL_S64);
	assert_int_equal(t->n_rows, 2);
	assert_int_equal(table_cell(t, 0, 0)->type, CELL_EMPTY);
	assert_int_equal(table_cell(t, 0, 2)->type, CELL_EMPTY);
	assert_int_equal(table_cell(t, 1, 0)->u, 1);
	assert_int_equal(table_cell(t, 1, 1)->u, 3);
	assert_int_equal(table_cell(t, 1, 2)->u, 2);
	assert_int_equal(table_cell(t, 1, 3)->s, -5);
	assert_int_equal(table_cell(t, 1, 4)->u, 103);
	groups_free(&g);
	report_destroy(&r);
	stream_destroy(&stream);
}

/* Only what was asked for is shown, each column with its own cell. */
static void columns_by_key(void **state)
{
	static const char *const keys[] = {BY_TASK_KEYS, NULL};
	static const struct by_spec spec = CELLS_SPEC(columns, struct key, struct sums);
	static const char comm[COMM_LEN] = "job";
	const struct view view = {.by_keys = keys, .by_default = "process"};
	struct by_sums s = {};
	struct stream stream;
	struct report r;
	struct err err = {};
	struct table *t;
	struct key k;

	(void)state;
	assert_int_equal(stream_init(&stream), 0);
	report_init(&r, "test", &stream);
	assert_int_equal(
		by_sums_init(&s, &spec, &view, &(struct view_options){.by = "comm,stack"}, &err),
		0);
	for (u32 i = 0; i < 2; i++) {
		k = (struct key){by_task_key(s.by, 1, 2, 3, 40 + i, comm)};
		((struct sums *)groups_get(&s.groups, &k))->count += 9 + i;
	}
	t = by_sums_show(&s, &r, "sums", NULL);
	assert_int_equal(t->n_rows, 2);
	assert_int_equal(t->n_cols, 3);
	assert_string_equal(t->cols[0].name, "comm");
	assert_string_equal(t->cols[2].name, "stack");
	assert_string_equal(table_cell(t, 0, 0)->text, "job");
	assert_int_equal(table_cell(t, 1, 1)->u, 10);
	assert_int_equal(table_cell(t, 1, 2)->stack, 41);
	by_sums_free(&s);
	report_destroy(&r);
	stream_destroy(&stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_as_rows),
		cmocka_unit_test(sums_as_rows),
		cmocka_unit_test(columns_by_key),
	};

	return cmocka_run_group_tests_name("cells", tests, NULL, NULL);
}
