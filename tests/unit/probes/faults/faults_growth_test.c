/* Whose memory `faults` looks at: those with most faults, and only with enough of them. */
#include "clock_fixture.h"
#include "data/sys/fixture.h"

#include "probes/faults/faults_growth.h"
#include "probes/processes/processes.h"

struct taken {
	struct sink sink;
	struct process_memory v[64];
	u32 n;
};

static int take(struct sink *sink, const struct rec *r)
{
	struct taken *t = (void *)sink;

	assert_int_equal(r->kind, REC_PROCESS_MEMORY);
	assert_true(t->n < ARRAY_SIZE(t->v));
	t->v[t->n++] = *(const struct process_memory *)r;
	return 0;
}

static void process_put(u32 pid, u32 start, u32 pages)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	snprintf(text, sizeof(text),
		"%u (p %u) S 1 1 1 0 -1 0 9 0 1 0 3 4 0 0 20 0 1 0 %u 4096000 %u 0\n", pid, pid,
		start, pages + 10);
	fixture_put_text(path, text);
	snprintf(path, sizeof(path), "/proc/%u/statm", pid);
	snprintf(text, sizeof(text), "1000 %u 10 1 0 1 0\n", pages + 10);
	fixture_put_text(path, text);
}

struct looking {
	struct taken taken;
	struct capture c;
	struct faults_growth growth;
	char tree[PATH_MAX];
};

static int begin(void **state)
{
	static struct looking l;

	l = (struct looking){.taken = {.sink = {take}}, .c = {.probe = "faults"}};
	l.c.sink = &l.taken.sink;
	fixture_make(l.tree);
	faults_growth_init(&l.growth);
	*state = &l;
	return 0;
}

static int end(void **state)
{
	struct looking *l = *state;

	faults_growth_free(&l->growth);
	fixture_remove(l->tree);
	return 0;
}

static void add(struct looking *l, u32 pid, u64 faults)
{
	assert_int_equal(faults_growth_add(&l->growth, pid, faults), 0);
}

/* As at a drain after a while; the number of records so far. */
static u32 look(struct looking *l)
{
	l->growth.next_ns = 0;
	assert_int_equal(faults_growth_send(&l->growth, &l->c), 0);
	return l->taken.n;
}

static void those_with_most_are_read(void **state)
{
	struct looking *l = *state;
	const struct process_memory *v = l->taken.v;

	for (u32 pid = 1; pid <= 40; pid++) {
		process_put(pid, 5, pid);
		add(l, pid, pid < 3 ? 255 : 300 + pid / 2);
	}
	add(l, 3, 1000);
	add(l, 77, 5000);              /* it is gone */
	assert_int_equal(look(l), 15); /* 16 were tried */
	assert_int_equal(v[0].tgid, 3);
	assert_int_equal(v[0].anon_bytes, 3 * 4096);
	assert_string_equal(v[0].comm, "p 3");
	assert_int_equal(v[1].tgid, 40);
	for (u32 i = 2; i < 15; i++) /* two at a time have as many: each comes once */
		assert_int_equal(v[i].tgid, 40 - i + (i % 2 ? 2 : 0));
	assert_int_equal(faults_growth_send(&l->growth, &l->c), 0);
	assert_int_equal(l->taken.n, 15); /* not twice within a while */
	assert_int_equal(look(l), 31);    /* nor is what is gone asked again */
}

static void an_id_that_is_used_again_begins_anew(void **state)
{
	struct looking *l = *state;
	const struct process_memory *v = l->taken.v;

	process_put(9, 5, 100);
	add(l, 9, 900);
	assert_int_equal(look(l), 1);
	process_put(9, 5, 300);
	assert_int_equal(look(l), 2);
	assert_int_equal(v[1].first_anon_bytes, 100 * 4096);
	assert_int_equal(v[1].anon_bytes, 300 * 4096);
	process_put(9, 6, 50);
	assert_int_equal(look(l), 3);
	assert_int_equal(v[2].first_anon_bytes, 50 * 4096);
	assert_true(v[2].start_ns > v[1].start_ns);
}

/* Those that ended make room: however many there were, the next one is looked at. */
static void room_is_for_those_that_live(void **state)
{
	struct looking *l = *state;

	for (u32 pid = 1000; pid < 101000; pid++) {
		add(l, pid, 300);
		if (pid % 1000 == 0) {
			look(l);
			assert_true(l->growth.processes.n < 4096);
		}
	}
	process_put(9, 5, 100);
	add(l, 9, 900);
	assert_int_equal(look(l), 1);
	assert_int_equal(l->taken.v[0].tgid, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(those_with_most_are_read, begin, end),
		cmocka_unit_test_setup_teardown(an_id_that_is_used_again_begins_anew, begin, end),
		cmocka_unit_test_setup_teardown(room_is_for_those_that_live, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
