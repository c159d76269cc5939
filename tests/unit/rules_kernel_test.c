/* Rules on what the kernel keeps and does for programs, on synthetic records. */
#include "rules_fixture.h"

#include "probes/cgroups/cgroups.h"
#include "probes/waits/waits.h"
#include "rules/rules.h"

static void dying(struct bench *b, u64 first, u64 now)
{
	PUT(b, struct cgroup_dying, REC_CGROUP_DYING, .version = 1, .first_dying = first,
		.dying = now, .alive = 12);
}

static void test_dead_groups(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_dead_groups, 1);
	dying(&b, 20000, 40000);
	PUT(&b, struct waits_made, REC_WAITS_MADE, .tgid = 7, .kind = WAITS_GROUP_MADE,
		.count = 900, .where = "/jobs");
	PUT(&b, struct waits_made, REC_WAITS_MADE, .tgid = 7, .kind = WAITS_GROUP_REMOVED,
		.count = 900);
	PUT(&b, struct waits_made, REC_WAITS_MADE, .tgid = 8, .kind = WAITS_PERCPU, .count = 90000);
	f = only(&b);
	assert_int_equal(f->level, LEVEL_NOTE);
	assert_int_equal(f->tgid, 7);
	assert_non_null(strstr(f->title, "victim (pid 7) makes and removes control groups: 40000"));
	assert_true(says(f->evidence, "one of them in /jobs"));
	assert_true(says(f->try_, "drop_caches"));
	end(&b);
}

/* Each is made by a process of its own: their parent is the one. */
static void test_dead_groups_of_children(void **unused)
{
	const struct finding *f;
	struct bench b;

	(void)unused;
	begin(&b, &rule_dead_groups, 1);
	dying(&b, 1900, 2000);
	string(&b, 5, "bash jobs.sh");
	for (u32 tgid = 100; tgid < 150; tgid++)
		PUT(&b, struct waits_made, REC_WAITS_MADE, .tgid = tgid, .kind = WAITS_GROUP_MADE,
			.count = 1, .parent_tgid = 99, .parent = 5, .where = "/jobs");
	f = only(&b);
	assert_int_equal(f->tgid, 99);
	assert_non_null(strstr(f->title, "bash jobs.sh (pid 99)"));
	end(&b);
}

/* Some always are; and where nobody was seen to make any, nobody is blamed. */
static void test_dead_groups_quiet(void **unused)
{
	struct bench b;

	(void)unused;
	begin(&b, &rule_dead_groups, 1);
	dying(&b, 400, 420);
	assert_int_equal(conclude(&b), 0);
	end(&b);
	begin(&b, &rule_dead_groups, 1);
	dying(&b, 5000, 5000);
	assert_int_equal(only(&b)->tgid, 0);
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dead_groups),
		cmocka_unit_test(test_dead_groups_of_children),
		cmocka_unit_test(test_dead_groups_quiet),
	};

	return cmocka_run_group_tests_name("rules_kernel", tests, NULL, NULL);
}
