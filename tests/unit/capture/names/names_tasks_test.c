/* Names of tasks in a long session: told once, forgotten when the task has ended, told again when
 * its number comes back; and what of that is in a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "capture/names/follow.h"
#include "capture/names/names_sent.h"
#include "data/sys/fixture.h"
#include "event/log.h"
#include "record/pipeline.h"

#define NEVER_THERE (1U << 22) /* greater than any process id */

struct told {
	struct sink sink;
	struct stream stream;
	u32 named, over, groups;
};

static int take(struct sink *sink, const struct rec *r)
{
	struct told *t = (void *)sink;

	t->over += task_is_over(r);
	t->groups += r->kind == REC_CGROUP;
	t->named += r->kind == REC_TASK && !task_is_over(r);
	return stream_feed(&t->stream, r);
}

static struct names *begin(struct told *t)
{
	struct names_options o = {};
	struct names *n = NULL;

	*t = (struct told){.sink = {take}};
	assert_int_equal(stream_init(&t->stream), 0);
	assert_int_equal(names_open(&t->sink, &o, &n), 0);
	return n;
}

static void end(struct told *t, struct names *n)
{
	names_close(n);
	stream_destroy(&t->stream);
}

static void drain(struct names *n)
{
	assert_int_equal(names_drained(n, false), 0);
}

/* As at the next look at who has ended, and the drains until they are forgotten. */
static void look(struct names *n)
{
	for (int i = 0; i < 3; i++) {
		n->tasks_look_ns = 0;
		drain(n);
	}
}

static void task(struct names *n, u32 tgid, const char *comm)
{
	assert_int_equal(names_task(n, tgid, tgid, comm, 1), 0);
}

static void those_that_come_and_go_take_no_room(void **state)
{
	struct told t;
	struct names *n = begin(&t);
	u32 self = (u32)getpid();

	(void)state;
	for (u32 i = 0; i < 100000; i++) {
		task(n, NEVER_THERE + 1 + i, "job");
		task(n, self, "test");
		if (i % 100 == 99)
			drain(n);
		if (i % 1000 == 999)
			stream_forget(&t.stream);
		assert_true(n->tasks.n < 3000);
	}
	look(n);
	stream_forget(&t.stream);
	assert_int_equal(n->tasks.n, 2);             /* a process and its thread */
	assert_int_equal(t.named, 2 * (100000 + 1)); /* the one that stays was told once */
	assert_int_equal(t.over, 2 * 100000);
	assert_string_equal(stream_comm(&t.stream, self, self), "test");
	assert_null(stream_task(&t.stream, NEVER_THERE + 1, 0));
	end(&t, n);
}

/* What it did last may be drained after it was seen to have ended. */
static void the_last_of_a_task_has_its_name(void **state)
{
	struct told t;
	struct names *n = begin(&t);

	(void)state;
	task(n, NEVER_THERE + 1, "job");
	n->tasks_look_ns = 0;
	drain(n);
	assert_int_equal(t.over, 0);
	task(n, NEVER_THERE + 1, "job");
	assert_int_equal(t.named, 2);
	look(n);
	assert_int_equal(t.over, 2);
	assert_string_equal(stream_comm(&t.stream, NEVER_THERE + 1, 0), "job"); /* to be reported */
	stream_forget(&t.stream);
	assert_string_equal(stream_comm(&t.stream, NEVER_THERE + 1, 0), "?");
	task(n, NEVER_THERE + 1, "job");
	assert_string_equal(stream_comm(&t.stream, NEVER_THERE + 1, 0), "job");
	end(&t, n);
}

/* A process that is asked for after its exit is not kept for its exit. */
static void address_spaces_of_the_dead_are_forgotten(void **state)
{
	struct told t;
	struct names *n = begin(&t);

	(void)state;
	for (u32 i = 1; i <= 100; i++) {
		assert_non_null(names_map(n, NEVER_THERE + i));
		drain(n);
		assert_true(follow_count(n->follow) <= 2);
	}
	end(&t, n);
}

/* Another process with the same number and name is told for what it is: not in the group of the
 * first. */
static void a_number_that_comes_back_is_another_task(void **state)
{
	struct told t;
	struct names *n = begin(&t);
	u32 self = (u32)getpid();

	(void)state;
	assert_int_equal(names_task(n, self, self, "job", 1), 0);
	for (size_t i = 0; i < n->tasks.n; i++) /* as if it had been found gone */
		((struct task_value *)groups_value(&n->tasks, i))->gone_at = 1;
	assert_int_equal(names_task(n, self, self, "job", 0), 0);
	assert_int_equal(t.named, 4);
	assert_int_equal(stream_task(&t.stream, self, 0)->cgroup, 0);
	look(n);
	assert_int_equal(t.over, 0);
	end(&t, n);
}

/* What is counted by process comes with the name of the thread that did it last. */
static void a_process_is_not_called_as_its_thread(void **state)
{
	struct told t;
	struct names *n;
	char tree[PATH_MAX];

	(void)state;
	fixture_make(tree);
	fixture_put_text("/proc/77/comm", "server\n");
	n = begin(&t);
	assert_int_equal(names_task(n, 77, 0, "worker-1", 1), 0);
	assert_string_equal(stream_comm(&t.stream, 77, 0), "server");
	assert_int_equal(names_task(n, 77, 78, "worker-2", 1), 0);
	assert_int_equal(names_task(n, 77, 0, "worker-2", 1), 0);
	assert_string_equal(stream_comm(&t.stream, 77, 0), "server");
	assert_string_equal(stream_comm(&t.stream, 77, 78), "worker-2");
	/* Another program since then: asked again in the next drain. */
	fixture_put_text("/proc/77/comm", "other\n");
	assert_int_equal(names_task(n, 77, 0, "worker-3", 1), 0);
	assert_string_equal(stream_comm(&t.stream, 77, 0), "server");
	n->drains++;
	assert_int_equal(names_task(n, 77, 0, "worker-3", 1), 0);
	assert_string_equal(stream_comm(&t.stream, 77, 0), "other");
	/* One that cannot be asked any more. */
	assert_int_equal(names_task(n, NEVER_THERE + 1, 0, "job", 1), 0);
	assert_string_equal(stream_comm(&t.stream, NEVER_THERE + 1, 0), "job");
	end(&t, n);
	fixture_remove(tree);
}

/* What it did comes by many keys, under the names of before and after it became another program. */
static void who_has_ended_is_asked_once_a_drain(void **state)
{
	struct told t;
	struct names *n = begin(&t);

	(void)state;
	for (u32 i = 0; i < 10; i++)
		assert_int_equal(names_task(n, NEVER_THERE + 1, 0, i % 2 ? "ls" : "sh", 1), 0);
	assert_int_equal(t.named, 1);
	n->drains++;
	for (u32 i = 0; i < 10; i++)
		assert_int_equal(names_task(n, NEVER_THERE + 1, 0, i % 2 ? "ls" : "sh", 1), 0);
	assert_int_equal(t.named, 2);
	assert_string_equal(stream_comm(&t.stream, NEVER_THERE + 1, 0), "ls");
	end(&t, n);
}

static u64 group_make(const char *dir)
{
	char path[64], whole[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/memory.current", dir);
	fixture_put_text(path, "1\n");
	assert_int_equal(sys_path(whole, "/sys/fs/cgroup/%s", dir), 0);
	assert_int_equal(stat(whole, &st), 0);
	return st.st_ino;
}

/* Each walk over all groups takes as long as there are many: on a host where groups come and go,
 * ids that no walk finds must not cost one each. */
static void groups_that_are_gone_cost_no_walk_each(void **state)
{
	struct told t;
	struct names *n;
	char tree[PATH_MAX];
	u64 first, late, begun = clock_mono_ns();

	(void)state;
	fixture_make(tree);
	first = group_make("first");
	n = begin(&t);
	n->hierarchy = (struct cgroup_hierarchy){2, "/sys/fs/cgroup", "/"};
	assert_int_equal(names_cgroup(n, first), 0);
	assert_int_equal(n->cgroup_ids.walks, 1);
	assert_int_equal(t.groups, 1);
	for (u64 i = 1; i <= 10000; i++) {
		assert_int_equal(names_cgroup(n, (1ULL << 40) + i), 0);
		if (i % 1000 == 0)
			drain(n);
	}
	/* Each may be one of 10,000, and takes its time from those that follow. */
	assert_true(n->cgroup_ids.walks <= 2 + (clock_mono_ns() - begun) / CGROUP_IDS_APART_NS);
	/* A group that is new has its path at once, where walks did not take too long. */
	n->cgroup_ids.walked_ns = begun - NSEC_PER_SEC;
	n->cgroup_ids.debt_ns = CGROUP_IDS_CREDIT_NS / 2;
	assert_int_equal(names_cgroup(n, group_make("new")), 0);
	assert_int_equal(t.groups, 2);
	n->cgroup_ids.debt_ns = 100 * NSEC_PER_SEC;
	/* One that came since then has its path with the next walk, or with the last one. */
	late = group_make("late");
	assert_int_equal(names_cgroup(n, late), 0);
	drain(n);
	assert_int_equal(t.groups, 2);
	assert_int_equal(names_drained(n, true), 0);
	assert_int_equal(t.groups, 3);
	assert_int_equal(n->nameless.n, 0);
	end(&t, n);
	fixture_remove(tree);
}

/* A kill's group has its path whatever walks took before: it may be gone with the next one. */
static void a_group_with_a_kill_is_looked_for_at_once(void **state)
{
	struct told t;
	struct names *n;
	char tree[PATH_MAX];
	u64 killed;

	(void)state;
	fixture_make(tree);
	group_make("first");
	n = begin(&t);
	n->hierarchy = (struct cgroup_hierarchy){2, "/sys/fs/cgroup", "/"};
	n->cgroup_ids.debt_ns = 100 * NSEC_PER_SEC;
	n->cgroup_ids.walked_ns = clock_mono_ns();
	killed = group_make("killed");
	assert_int_equal(names_cgroup(n, killed), 0); /* a page fault of it came before */
	assert_int_equal(names_cgroup(n, 1ULL << 40), 0);
	assert_int_equal(t.groups, 0);
	assert_int_equal(names_cgroup_now(n, killed), 0);
	assert_int_equal(t.groups, 1);
	assert_int_equal(n->nameless.n, 1);
	assert_int_equal(names_cgroup_now(n, killed), 0); /* once */
	assert_int_equal(t.groups, 1);
	assert_int_equal(n->cgroup_ids.walks, 1);
	assert_int_equal(names_cgroup_now(n, (1ULL << 40) + 1), 0); /* which is gone */
	assert_int_equal(t.groups, 1);
	end(&t, n);
	fixture_remove(tree);
}

/* A pipeline that only records: what it holds, and what a reader of the file finds. */
static void a_file_has_the_names_of_all(void **state)
{
	char path[] = "/tmp/memwhy-tasks-XXXXXX";
	static struct schema schema;
	static struct pipeline p;
	struct log_reader *reader = NULL;
	const struct rec *r;
	struct rec_task name = {.h = {sizeof(name), REC_TASK, 0, 1}, .comm = "job"}, over = name;
	u32 named = 0;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	over.h.flags = TASK_OVER;
	assert_int_equal(pipeline_init(&p), 0);
	assert_int_equal(pipeline_log(&p, &(struct target){.path = path, .force = true}, NULL), 0);
	for (u32 i = 1; i <= 1000; i++) {
		name.tgid = over.tgid = i % 100 + 1;
		assert_int_equal(p.sink.put(&p.sink, &name.h), 0);
		assert_int_equal(p.sink.put(&p.sink, &over.h), 0);
		assert_null(stream_task(&p.stream, name.tgid, 0));
	}
	assert_int_equal(pipeline_close_log(&p, NULL), 0);
	pipeline_destroy(&p);
	assert_int_equal(pipeline_schema(&schema), 0);
	assert_int_equal(log_reader_open_fd(fd, path, &reader, NULL), 0);
	while (log_reader_next(reader, &schema, &r, NULL) == 1) {
		assert_false(task_is_over(r));
		named += r->kind == REC_TASK;
	}
	assert_int_equal(named, 1000);
	log_reader_close(reader);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_that_come_and_go_take_no_room),
		cmocka_unit_test(the_last_of_a_task_has_its_name),
		cmocka_unit_test(address_spaces_of_the_dead_are_forgotten),
		cmocka_unit_test(a_number_that_comes_back_is_another_task),
		cmocka_unit_test(a_process_is_not_called_as_its_thread),
		cmocka_unit_test(who_has_ended_is_asked_once_a_drain),
		cmocka_unit_test(groups_that_are_gone_cost_no_walk_each),
		cmocka_unit_test(a_group_with_a_kill_is_looked_for_at_once),
		cmocka_unit_test(a_file_has_the_names_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
