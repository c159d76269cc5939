/* What a stream of records says about itself, whoever wrote it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "event/stream.h"

static struct stream stream;

static int setup(void **state)
{
	(void)state;
	return stream_init(&stream);
}

static int teardown(void **state)
{
	(void)state;
	stream_destroy(&stream);
	return 0;
}

static void feed(const void *r)
{
	assert_int_equal(stream_feed(&stream, r), 0);
}

#define HEAD(kind_, type_, time_)                                          \
	{                                                                  \
		.size = sizeof(type_), .kind = (kind_), .time_ns = (time_) \
	}

/* A record with a tail. It lives in a block of just its size, so that a sanitizer sees more. */
static void *tailed(u16 kind, size_t fixed, const void *tail, size_t n)
{
	struct rec *r = calloc(1, (fixed + n + 7) & ~(size_t)7);

	assert_non_null(r);
	r->size = (u32)((fixed + n + 7) & ~(size_t)7);
	r->kind = kind;
	if (n)
		memcpy((char *)r + fixed, tail, n);
	return r;
}

static void feed_string(u32 id, u32 length, const char *text, size_t n)
{
	struct rec_string *r = tailed(REC_STRING, sizeof(*r), text, n);

	r->id = id;
	r->length = length;
	feed(r);
	free(r);
}

static void feed_cgroup(u64 id, const char *path)
{
	struct rec_cgroup *r = tailed(REC_CGROUP, sizeof(*r), path, strlen(path));

	r->id = id;
	r->length = (u32)strlen(path);
	feed(r);
	free(r);
}

static void feed_stack(u32 id, u32 n, const u32 *frames, size_t n_frames)
{
	struct rec_stack *r = tailed(REC_STACK, sizeof(*r), frames, n_frames * sizeof(*frames));

	r->id = id;
	r->n = n;
	feed(r);
	free(r);
}

static void feed_task(u32 tgid, u32 tid, u64 cgroup, const char *comm)
{
	struct rec_task r = {
		.h = HEAD(REC_TASK, r, 0),
		.tgid = tgid,
		.tid = tid,
		.cgroup = cgroup,
	};

	memcpy(r.comm, comm, MIN(strlen(comm), sizeof(r.comm)));
	feed(&r);
}

static void feed_enum(const char *set, u64 value, const char *name)
{
	struct rec_enum r = {.h = HEAD(REC_ENUM, r, 0), .value = value};

	memcpy(r.set, set, MIN(strlen(set), sizeof(r.set)));
	memcpy(r.name, name, MIN(strlen(name), sizeof(r.name)));
	feed(&r);
}

static void feed_loss(const char *probe, u64 seen, u64 lost)
{
	struct rec_loss r = {
		.h = HEAD(REC_LOSS, r, 0),
		.seen = seen,
		.delivered = seen - lost,
		.lost = lost,
		.reason = "the ring was full",
	};

	memcpy(r.probe, probe, MIN(strlen(probe), sizeof(r.probe)));
	feed(&r);
}

static void nothing_is_known_at_first(void **state)
{
	(void)state;
	assert_null(stream_string(&stream, 1));
	assert_null(stream_task(&stream, 1, 1));
	assert_string_equal(stream_comm(&stream, 1, 1), "?");
	assert_null(stream_cgroup(&stream, 1));
	assert_null(stream_stack(&stream, 1));
	assert_null(stream_frame(&stream, 1));
	assert_null(stream_symbol(&stream, 1));
	assert_null(stream_enum(&stream, "zone", 1));
	assert_int_equal(stream_interval_ns(&stream), 0);
	assert_int_equal(stream_lost(&stream), 0);
	assert_false(stream_probe_active(&stream, "faults"));
	assert_false(stream.ended || stream.has_session);
}

static void strings(void **state)
{
	const char *old;

	(void)state;
	feed_string(7, 5, "seven", 5);
	feed_string(8, 0, "", 0);
	feed_string(0, 4, "none", 4);
	old = stream_string(&stream, 7);
	assert_string_equal(old, "seven");
	assert_string_equal(stream_string(&stream, 8), "");
	assert_null(stream_string(&stream, 0));
	feed_string(7, 5, "seven", 5);
	assert_ptr_equal(stream_string(&stream, 7), old);
	feed_string(7, 3, "new", 3);
	assert_string_equal(stream_string(&stream, 7), "new");
	assert_string_equal(old, "seven"); /* lives on */
	feed_string(7, 4, "newer", 5);
	assert_string_equal(stream_string(&stream, 7), "newe");
}

static void strings_that_lie(void **state)
{
	(void)state;
	feed_string(1, 0xffffffff, "12345678", 8);
	feed_string(2, 9, "12345678", 8);
	feed_string(3, 8, "12\0abcde", 8);
	feed_string(0xffffffff, 1, "x", 1);
	assert_string_equal(stream_string(&stream, 1), "12345678");
	assert_string_equal(stream_string(&stream, 2), "12345678");
	assert_string_equal(stream_string(&stream, 3), "12");
	assert_string_equal(stream_string(&stream, 0xffffffff), "x");
}

static void tasks(void **state)
{
	const struct rec_task *t;

	(void)state;
	feed_task(10, 0, 5, "process");
	feed_task(10, 11, 6, "thread");
	feed_task(0, 10, 7, "other");
	feed_task(12, 12, 0, "sixteen-and-more");
	t = stream_task(&stream, 10, 0);
	assert_int_equal(t->cgroup, 5);
	assert_string_equal(stream_comm(&stream, 10, 0), "process");
	assert_string_equal(stream_comm(&stream, 10, 11), "thread");
	assert_string_equal(stream_comm(&stream, 0, 10), "other");
	assert_string_equal(stream_comm(&stream, 12, 12), "sixteen-and-mor");
	assert_null(stream_task(&stream, 10, 10));
	feed_task(10, 0, 5, "renamed");
	assert_string_equal(stream_comm(&stream, 10, 0), "renamed");
	assert_string_equal(t->comm, "process");
}

static void cgroups(void **state)
{
	(void)state;
	feed_cgroup(1, "/");
	feed_cgroup(0x100000001, "/a.slice");
	assert_string_equal(stream_cgroup(&stream, 1), "/");
	assert_string_equal(stream_cgroup(&stream, 0x100000001), "/a.slice");
}

static void stacks_and_frames(void **state)
{
	const u32 frames[] = {3, 1, 2};
	struct rec_frame f = {
		.h = HEAD(REC_FRAME, f, 0),
		.id = 3,
		.module = 4,
		.offset = 5,
		.address = 6,
	};

	(void)state;
	f.h.flags = FRAME_KERNEL;
	feed(&f);
	feed_stack(1, 3, frames, 3);
	feed_stack(2, 0, NULL, 0);
	assert_int_equal(stream_frame(&stream, 3)->address, 6);
	assert_int_equal(stream_frame(&stream, 3)->h.flags, FRAME_KERNEL);
	assert_int_equal(stream_stack(&stream, 1)->n, 3);
	assert_memory_equal(stream_stack(&stream, 1)->frames, frames, sizeof(frames));
	assert_int_equal(stream_stack(&stream, 1)->h.size % 8, 0);
	assert_int_equal(stream_stack(&stream, 2)->n, 0);
	/* Counts that lie, and the id that means none. */
	feed_stack(5, 5, frames, 3);
	feed_stack(6, 0xffffffff, frames, 3);
	feed_stack(7, 0x40000001, frames, 3);
	feed_stack(0, 3, frames, 3);
	for (u32 id = 5; id < 8; id++)
		assert_null(stream_stack(&stream, id));
	assert_null(stream_stack(&stream, 0));
}

static void symbols(void **state)
{
	const struct sym_line lines[] = {{1, 2, 3, 0}, {4, 5, 6, 7}};
	const u32 counts[] = {2, 1, 0, 3, 0x10000001, 0xffffffff};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(counts); i++) {
		struct rec_symbol *r = tailed(REC_SYMBOL, sizeof(*r), lines, sizeof(lines));

		r->frame = i;
		r->n = counts[i];
		feed(r);
		free(r);
	}
	assert_int_equal(stream_symbol(&stream, 0)->lines[1].offset, 7);
	assert_int_equal(stream_symbol(&stream, 1)->n, 1);
	for (u32 i = 2; i < ARRAY_SIZE(counts); i++)
		assert_null(stream_symbol(&stream, i));
}

static void collect(void *arg, u64 value, const char *name)
{
	char *text = arg;

	sprintf(text + strlen(text), "%llu=%s ", value, name);
}

static void enums(void **state)
{
	char text[128] = "";

	(void)state;
	feed_enum("zone", 1, "DMA32");
	feed_enum("zone", 0, "DMA");
	feed_enum("gfp", 1, "__GFP_DMA");
	feed_enum("zone", 2, "Normal");
	feed_enum("zone", 0, "dma");
	feed_enum("zone", 0, "dma");
	assert_string_equal(stream_enum(&stream, "zone", 1), "DMA32");
	assert_string_equal(stream_enum(&stream, "zone", 0), "dma");
	assert_string_equal(stream_enum(&stream, "gfp", 1), "__GFP_DMA");
	assert_null(stream_enum(&stream, "gfp", 2));
	assert_null(stream_enum(&stream, "no", 1));
	stream_enum_each(&stream, "zone", collect, text);
	assert_string_equal(text, "1=DMA32 0=dma 2=Normal ");
	stream_enum_each(&stream, "no", collect, text);
}

static void rows(void **state)
{
	struct rec_method m = {.h = HEAD(REC_METHOD, m, 0), .probe = "faults", .data = "counts"};
	struct rec_note n = {.h = HEAD(REC_NOTE, n, 0), .probe = "faults"};

	(void)state;
	memcpy(m.missing, "no tracepoints", 14);
	feed(&m);
	assert_false(stream_probe_active(&stream, "faults"));
	memset(m.method, 'm', sizeof(m.method));
	feed(&m);
	assert_true(stream_probe_active(&stream, "faults"));
	assert_int_equal(stream.methods.n, 1);
	assert_int_equal(strlen(stream.methods.v[0].method), sizeof(m.method) - 1);
	feed_loss("faults", 10, 2);
	feed_loss("reclaim", 5, 1);
	feed_loss("faults", 20, 3);
	feed_loss("a-name-that-is-much-too-long", 1, 0);
	assert_int_equal(stream.losses.n, 3);
	assert_int_equal(stream.losses.v[0].seen, 20);
	assert_int_equal(stream_lost(&stream), 4);
	stream_interval_begin(&stream); /* what was told before is not of this one */
	assert_int_equal(stream_lost(&stream), 0);
	feed_loss("faults", 27, 5);
	assert_int_equal(stream.losses.v[0].seen, 7);
	assert_int_equal(stream_lost(&stream), 2);
	feed_loss("faults", 1, 0); /* a lie */
	assert_int_equal(stream.losses.v[0].seen, 0);
	assert_int_equal(stream_lost(&stream), 0);
	feed_loss("hostile", 0, ~0ULL);
	assert_true(stream_lost(&stream) == ~0ULL);
	memset(n.text, 'n', sizeof(n.text));
	n.h.flags = NOTE_NOT_CHECKED;
	feed(&n);
	feed(&n);
	assert_int_equal(stream.notes.n, 1);
	assert_int_equal(stream.notes.v[0].level, NOTE_NOT_CHECKED);
	assert_int_equal(strlen(stream.notes.v[0].text), sizeof(n.text));
}

static void rows_are_bounded(void **state)
{
	(void)state;
	for (u32 i = 0; i < 5000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		feed_loss(name, 1, 0);
		feed_enum(name, 0, name);
	}
	assert_int_equal(stream.losses.n, 1024);
	assert_string_equal(stream_enum(&stream, "63", 0), "63");
	assert_null(stream_enum(&stream, "64", 0));
}

static void host_session_cost(void **state)
{
	struct rec_host h = {.h = HEAD(REC_HOST, h, 0), .cpus = 4};
	struct rec_session s = {.h = HEAD(REC_SESSION, s, 100), .wall_ns = 5};
	struct rec_cost c = {.h = HEAD(REC_COST, c, 0), .cpu_ns = 9};

	(void)state;
	memset(h.kernel, 'k', sizeof(h.kernel));
	memset(s.command, 'c', sizeof(s.command));
	memset(s.scope, 's', sizeof(s.scope));
	feed(&h);
	feed(&s);
	feed(&c);
	assert_int_equal(stream.host.cpus, 4);
	assert_int_equal(strlen(stream.host.kernel), sizeof(h.kernel) - 1);
	assert_true(stream.has_session);
	assert_int_equal(stream.session.wall_ns, 5);
	assert_int_equal(strlen(stream.session.command), sizeof(s.command) - 1);
	assert_int_equal(strlen(stream.session.scope), sizeof(s.scope) - 1);
	assert_int_equal(stream.cost.cpu_ns, 9);
}

static void feed_at(u16 kind, u64 time_ns)
{
	struct rec_tick r = {.h = HEAD(kind, r, time_ns)};

	feed(&r);
}

static void intervals(void **state)
{
	struct rec_session s = {.h = HEAD(REC_SESSION, s, 1000)};

	(void)state;
	feed_at(REC_FAULT, 900); /* in the rings before the session was written */
	feed(&s);
	assert_int_equal(stream.first_ns, 1000);
	assert_int_equal(stream_interval_ns(&stream), 0);
	feed_at(REC_FAULT, 1100); /* while it attached */
	s.h.time_ns = 1200;       /* the command begins */
	feed(&s);
	assert_int_equal(stream.first_ns, 1200);
	assert_int_equal(stream.opened_ns, 1000);
	assert_int_equal(stream_interval_ns(&stream), 0);
	feed_at(REC_FAULT, 1500);
	feed_at(REC_FAULT, 1400);
	feed_at(REC_FAULT, 0);
	assert_int_equal(stream_interval_ns(&stream), 300);
	feed_at(REC_FAULT, ~0ULL); /* nonsense does not outlive the tick */
	feed_at(REC_TICK, 2000);
	assert_int_equal(stream_interval_ns(&stream), 800);
	stream_interval_begin(&stream);
	assert_int_equal(stream_interval_ns(&stream), 0);
	feed_at(REC_FAULT, 1990); /* late */
	feed_at(REC_TICK, 3500);
	assert_int_equal(stream_interval_ns(&stream), 1500);
	assert_false(stream.ended);
	feed_at(REC_END, 4000);
	assert_true(stream.ended);
	assert_int_equal(stream.first_ns, 2000);
	assert_int_equal(stream.last_ns, 4000);
}

static void interval_without_session(void **state)
{
	(void)state;
	feed_at(REC_STRING, 0);
	feed_at(REC_FAULT, 300);
	feed_at(REC_FAULT, 700);
	assert_int_equal(stream.first_ns, 300);
	assert_int_equal(stream_interval_ns(&stream), 400);
}

/* Every kind at every size that is too short for it, of noise: nothing happens, nothing breaks. */
static void short_records(void **state)
{
	(void)state;
	for (u16 kind = 0; kind < 20; kind++) {
		for (u32 size = 0; size < 400; size++) {
			u8 *r = malloc(MAX(size, (u32)sizeof(struct rec)));

			assert_non_null(r);
			memset(r, 0xff, MAX(size, (u32)sizeof(struct rec)));
			((struct rec *)r)->size = size;
			((struct rec *)r)->kind = kind;
			feed(r);
			free(r);
		}
	}
	assert_null(stream_stack(&stream, 0xffffffff));
	assert_null(stream_symbol(&stream, 0xffffffff));
}

/* Many ids, also such as would fall into one bucket of a table that takes them as they are. */
static void many_ids(void **state)
{
	(void)state;
	for (u32 i = 1; i <= 100000; i++) {
		char text[16];

		snprintf(text, sizeof(text), "%u", i);
		feed_string(i << 12 | i >> 20, (u32)strlen(text), text, strlen(text));
	}
	for (u32 i = 1; i <= 100000; i++) {
		const char *text = stream_string(&stream, i << 12 | i >> 20);

		assert_non_null(text);
		assert_int_equal(strtoul(text, NULL, 10), i);
	}
	assert_null(stream_string(&stream, 0x0fff0fff));
}

static void feed_task_over(u32 tgid, u32 tid)
{
	struct rec_task r = {.h = HEAD(REC_TASK, r, 0), .tgid = tgid, .tid = tid};

	r.h.flags = TASK_OVER;
	feed(&r);
}

static void count_task(void *arg, const struct rec_task *t)
{
	(void)t;
	++*(u32 *)arg;
}

static u32 tasks_n(void)
{
	u32 n = 0;

	stream_each_task(&stream, count_task, &n);
	return n;
}

/* Its name is there for the report of the interval, and for what came after it under its number. */
static void tasks_that_end(void **state)
{
	const struct rec_task *first;

	(void)state;
	feed_task(7, 0, 70, "first");
	first = stream_task(&stream, 7, 0);
	feed_task(8, 0, 80, "stays");
	feed_task_over(7, 0);
	feed_task_over(9, 0); /* never named */
	assert_string_equal(stream_comm(&stream, 7, 0), "first");
	assert_int_equal(tasks_n(), 2);
	stream_forget(&stream);
	assert_string_equal(stream_comm(&stream, 7, 0), "?");
	assert_string_equal(stream_comm(&stream, 8, 0), "stays");

	feed_task(7, 0, 70, "first");
	first = stream_task(&stream, 7, 0);
	feed_task_over(7, 0);
	feed_task(7, 0, 71, "second"); /* the number comes back */
	assert_string_equal(first->comm, "first");
	assert_string_equal(stream_comm(&stream, 7, 0), "second");
	stream_forget(&stream);
	assert_string_equal(stream_comm(&stream, 7, 0), "second");

	feed_task_over(7, 0);
	feed_task(7, 0, 71, "second"); /* … with the very same name */
	feed_task_over(7, 0);
	feed_task(7, 0, 71, "second");
	stream_forget(&stream);
	assert_string_equal(stream_comm(&stream, 7, 0), "second");
	assert_int_equal(tasks_n(), 2);
}

static void tasks_come_and_go(void **state)
{
	(void)state;
	feed_task(1, 0, 1, "stays");
	for (u32 i = 2; i < 100002; i++) {
		feed_task(i, i, i % 7, i % 2 ? "odd" : "even");
		feed_task(1, 1, i, "moves");
		feed_task_over(i, i);
		if (i % 100 == 0)
			stream_forget(&stream);
		assert_true(tasks_n() <= 102);
	}
	assert_null(stream.arena.head); /* whose memory is never given back */
	assert_string_equal(stream_comm(&stream, 1, 0), "stays");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_known_at_first),
		TEST(strings),
		TEST(strings_that_lie),
		TEST(tasks),
		TEST(cgroups),
		TEST(stacks_and_frames),
		TEST(symbols),
		TEST(enums),
		TEST(rows),
		TEST(rows_are_bounded),
		TEST(host_session_cost),
		TEST(intervals),
		TEST(interval_without_session),
		TEST(short_records),
		TEST(many_ids),
		TEST(tasks_that_end),
		TEST(tasks_come_and_go),
	};

	return cmocka_run_group_tests_name("event stream", tests, NULL, NULL);
}
