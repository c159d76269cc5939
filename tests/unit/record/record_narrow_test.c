/* A part of a recording: whose records and of what time are handed on, and what always is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "probes/faults/faults.h"
#include "probes/oom/oom.h"
#include "record/narrow.h"
#include "record/pipeline.h"

#define BEGIN_NS (1000 * NSEC_PER_SEC)

struct taker {
	struct sink sink;
	struct stream stream;
	struct narrow narrow;
	struct schema schema;
	u32 tasks[16]; /* tgids of the faults handed on */
	size_t n, others;
	char scope[200];
};

static int take(struct sink *sink, const struct rec *r)
{
	struct taker *t = (struct taker *)sink;

	if (r->kind == REC_FAULTS_AGG)
		t->tasks[t->n++] = ((const struct faults_agg *)r)->tgid;
	else if (r->kind == REC_OOM_TASK)
		t->others++;
	if (r->kind == REC_SESSION)
		memcpy(t->scope, ((const struct rec_session *)r)->scope, sizeof(t->scope));
	return stream_feed(&t->stream, r);
}

#define PUT(t, type, kind_, at, ...)                                                   \
	do {                                                                           \
		type rec_ = {.h = {sizeof(type), kind_, 0, at}, __VA_ARGS__};          \
		assert_int_equal((t)->narrow.sink.put(&(t)->narrow.sink, &rec_.h), 0); \
	} while (0)

static void put_cgroup(struct taker *t, u64 id, const char *path)
{
	struct {
		struct rec_cgroup c;
		char path[64];
	} r = {.c = {.h = {sizeof(r), REC_CGROUP, 0, 0}, .id = id, .length = (u32)strlen(path)}};

	memcpy(r.path, path, strlen(path));
	assert_int_equal(t->narrow.sink.put(&t->narrow.sink, &r.c.h), 0);
}

/* Three tasks, of which one gives no group, at 1, 2 and 3 seconds; and one without a process. */
static void taker_feed(struct taker *t, struct narrow_want *want)
{
	*t = (struct taker){.sink = {take}};
	assert_int_equal(stream_init(&t->stream), 0);
	assert_int_equal(pipeline_schema(&t->schema), 0);
	narrow_init(&t->narrow, want, &t->schema, &t->sink, &t->stream);
	PUT(t, struct rec_session, REC_SESSION, BEGIN_NS, .scope = "system-wide");
	put_cgroup(t, 7, "/web.slice/a.service");
	put_cgroup(t, 8, "/web.slices");
	PUT(t, struct rec_task, REC_TASK, 0, .tgid = 12, .cgroup = 7, .comm = "late");
	PUT(t, struct faults_agg, REC_FAULTS_AGG, BEGIN_NS + 1 * NSEC_PER_SEC, .tgid = 10,
		.tid = 110, .cgroup = 7, .comm = "one");
	PUT(t, struct faults_agg, REC_FAULTS_AGG, BEGIN_NS + 2 * NSEC_PER_SEC, .tgid = 11,
		.cgroup = 8, .comm = "two");
	PUT(t, struct faults_agg, REC_FAULTS_AGG, BEGIN_NS + 3 * NSEC_PER_SEC, .tgid = 12);
	PUT(t, struct faults_agg, REC_FAULTS_AGG, BEGIN_NS + 3 * NSEC_PER_SEC, .count = 1);
	PUT(t, struct oom_task, REC_OOM_TASK, BEGIN_NS + 2 * NSEC_PER_SEC, .tgid = 99);
	PUT(t, struct rec_tick, REC_END, BEGIN_NS + 4 * NSEC_PER_SEC, );
}

static void taker_free(struct taker *t)
{
	narrow_destroy(&t->narrow);
	stream_destroy(&t->stream);
}

static void expect(struct narrow_want want, size_t n, const u32 *tasks)
{
	struct taker t;

	taker_feed(&t, &want);
	assert_int_equal(t.n, n);
	assert_memory_equal(t.tasks, tasks, n * sizeof(*tasks));
	taker_free(&t);
}

static void test_by_task(void **state)
{
	struct narrow_want want = {};

	(void)state;
	assert_int_equal(vec_push(&want.tasks, 11U), 0);
	assert_int_equal(vec_push(&want.tasks, 110U), 0); /* a thread */
	expect(want, 2, (u32[]){10, 11});
	expect((struct narrow_want){.comm = "two"}, 1, (u32[]){11});
	/* Named by its task, since the record says no name. */
	expect((struct narrow_want){.comm = "late"}, 1, (u32[]){12});
	expect((struct narrow_want){.comm = "nobody"}, 0, NULL);
}

static void test_by_group(void **state)
{
	(void)state;
	expect((struct narrow_want){.cgroup = "/web.slice"}, 2, (u32[]){10, 12});
	expect((struct narrow_want){.cgroup = "/sys/fs/cgroup/web.slice/"}, 2, (u32[]){10, 12});
	expect((struct narrow_want){.cgroup = "/sys/fs/cgroup/memory/web.slices"}, 1, (u32[]){11});
	expect((struct narrow_want){.container = "a.service"}, 2, (u32[]){10, 12});
	expect((struct narrow_want){.cgroup = "/web.slice", .comm = "one"}, 1, (u32[]){10});
}

static void test_by_time(void **state)
{
	struct narrow_want want = {.from_ns = 2 * NSEC_PER_SEC, .to_ns = 3 * NSEC_PER_SEC};
	struct taker t;

	(void)state;
	taker_feed(&t, &want);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.tasks[0], 11);
	assert_int_equal(t.others, 1);
	assert_int_equal(t.narrow.left_out, 3);
	assert_true(stream_interval_ns(&t.stream) == NSEC_PER_SEC);
	assert_true(t.stream.first_ns == BEGIN_NS + 2 * NSEC_PER_SEC);
	assert_string_equal(t.scope, "system-wide, only from 2.00 s to 3.00 s");
	taker_free(&t);
}

/* What is known only as a whole stays whole; what does not say whose it is, is counted. */
static void test_whole_and_unknown(void **state)
{
	struct narrow_want want = {.comm = "two"};
	struct taker t;

	(void)state;
	taker_feed(&t, &want);
	assert_int_equal(t.others, 1);
	assert_int_equal(t.narrow.unknown, 1);
	assert_int_equal(t.narrow.kept, 1);
	assert_string_equal(t.scope, "system-wide, only comm two");
	taker_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_task),
		cmocka_unit_test(test_by_group),
		cmocka_unit_test(test_by_time),
		cmocka_unit_test(test_whole_and_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
