/* Whose memory `faults` looks at: those with most faults, and only with enough of them. */
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

static void those_with_most_are_read(void **state)
{
	struct taken t = {.sink = {take}};
	struct capture c = {.sink = &t.sink, .probe = "faults"};
	struct faults_growth g = {};
	char tree[PATH_MAX];

	(void)state;
	fixture_make(tree);
	faults_growth_init(&g);
	for (u32 pid = 1; pid <= 40; pid++) {
		process_put(pid, 5, pid);
		assert_int_equal(faults_growth_add(&g, pid, pid < 3 ? 255 : 300 + pid / 2), 0);
	}
	assert_int_equal(faults_growth_add(&g, 3, 1000), 0);
	assert_int_equal(faults_growth_add(&g, 77, 5000), 0); /* it is gone */
	assert_int_equal(faults_growth_send(&g, &c), 0);
	assert_int_equal(t.n, 15); /* 16 were tried */
	assert_int_equal(t.v[0].tgid, 3);
	assert_int_equal(t.v[0].anon_bytes, 3 * 4096);
	assert_string_equal(t.v[0].comm, "p 3");
	assert_int_equal(t.v[1].tgid, 40);
	for (u32 i = 2; i < t.n; i++) /* two at a time have as many: each comes once */
		assert_int_equal(t.v[i].tgid, 40 - i + (i % 2 ? 2 : 0));
	assert_int_equal(faults_growth_send(&g, &c), 0);
	assert_int_equal(t.n, 15); /* not twice within a while */
	g.next_ns = 0;
	assert_int_equal(faults_growth_send(&g, &c), 0);
	assert_int_equal(t.n, 31); /* nor is what is gone asked again */
	faults_growth_free(&g);
	fixture_remove(tree);
}

static void an_id_that_is_used_again_begins_anew(void **state)
{
	struct taken t = {.sink = {take}};
	struct capture c = {.sink = &t.sink, .probe = "faults"};
	struct faults_growth g = {};
	char tree[PATH_MAX];

	(void)state;
	fixture_make(tree);
	faults_growth_init(&g);
	process_put(9, 5, 100);
	assert_int_equal(faults_growth_add(&g, 9, 900), 0);
	assert_int_equal(faults_growth_send(&g, &c), 0);
	process_put(9, 5, 300);
	g.next_ns = 0;
	assert_int_equal(faults_growth_send(&g, &c), 0);
	assert_int_equal(t.v[1].first_anon_bytes, 100 * 4096);
	assert_int_equal(t.v[1].anon_bytes, 300 * 4096);
	process_put(9, 6, 50);
	g.next_ns = 0;
	assert_int_equal(faults_growth_send(&g, &c), 0);
	assert_int_equal(t.v[2].first_anon_bytes, 50 * 4096);
	assert_true(t.v[2].start_ns > t.v[1].start_ns);
	faults_growth_free(&g);
	fixture_remove(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_with_most_are_read),
		cmocka_unit_test(an_id_that_is_used_again_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
