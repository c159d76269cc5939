/* Users of /etc/passwd and /etc/group, and texts that are no such files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "data/sys/fixture.h"
#include "sys/users.h"

static const char passwd[] = "root:x:0:0:root:/root:/bin/bash\n"
			     "alicex:x:999:999::/:/bin/false\n"
			     "short:x:5:5\n"
			     "alice:x:1000:100:Alice,,,:/home/alice:/bin/zsh\n"
			     "big:x:4294967295:1:::\n"
			     "last:x:7:8::/:";
static const char group[] = "root:x:0:\n"
			    "users:x:100:alice\n"
			    "docker:x:998:bob,alice\n"
			    "others:x:997:alicex,bob\n"
			    "broken:x:alice\n"
			    "audio:x:29:alice,bob";

static void a_user_is_found(void **state)
{
	struct sys_user u;

	(void)state;
	assert_int_equal(user_parse(passwd, "alice", &u), 0);
	assert_int_equal(u.uid, 1000);
	assert_int_equal(u.gid, 100);
	assert_string_equal(u.name, "alice");
	assert_string_equal(u.home, "/home/alice");
	assert_string_equal(u.shell, "/bin/zsh");
	assert_int_equal(user_groups_parse(group, &u), 0);
	assert_int_equal(u.n_groups, 3); /* the first one once */
	assert_int_equal(u.groups[0], 100);
	assert_int_equal(u.groups[1], 998);
	assert_int_equal(u.groups[2], 29);
	assert_int_equal(user_parse(passwd, "last", &u), 0);
	assert_int_equal(u.uid, 7);
	assert_string_equal(u.shell, "");
}

static void no_user_is_made_up(void **state)
{
	struct sys_user u = {.uid = 42};

	(void)state;
	assert_int_equal(user_parse(passwd, "alic", &u), -ENOENT);
	assert_int_equal(user_parse(passwd, "", &u), -ENOENT);
	assert_int_equal(user_parse(passwd, "short", &u), -ENOENT);
	assert_int_equal(user_parse(passwd, "big", &u), -EINVAL);
	assert_int_equal(user_parse("", "root", &u), -ENOENT);
	assert_int_equal(u.uid, 42);
	for (size_t i = 0; i < sizeof(passwd); i++) {
		char cut[sizeof(passwd)];

		snprintf(cut, i + 1, "%s", passwd);
		if (!user_parse(cut, "alice", &u))
			assert_int_equal(u.uid, 1000);
	}
}

static void groups_are_bounded(void **state)
{
	static char many[USER_GROUPS * 20];
	struct sys_user u;
	size_t n = 0;

	(void)state;
	assert_int_equal(user_parse(passwd, "alice", &u), 0);
	for (int i = 0; i < USER_GROUPS; i++)
		n += (size_t)snprintf(many + n, sizeof(many) - n, "g:x:%d:alice\n", 2000 + i);
	assert_int_equal(user_groups_parse(many, &u), -E2BIG);
	assert_int_equal(u.n_groups, USER_GROUPS);
}

static void a_number_has_a_name(void **state)
{
	char root[PATH_MAX], name[8];

	(void)state;
	fixture_make(root);
	fixture_put_text("/etc/passwd",
		"root:x:0:0:root:/root:/bin/sh\nnot a line\n:x:5:5::/:/bin/sh\n"
		"far-too-long:x:6:6::/:/bin/sh\nann:x:1000:1000::/home/ann:\n");
	assert_int_equal(user_name(0, name, sizeof(name)), 0);
	assert_string_equal(name, "root");
	assert_int_equal(user_name(1000, name, sizeof(name)), 0);
	assert_string_equal(name, "ann");
	assert_int_equal(user_name(5, name, sizeof(name)), -ENOENT);
	assert_int_equal(user_name(6, name, sizeof(name)), -ENOENT);
	assert_int_equal(user_name(7, name, sizeof(name)), -ENOENT);
	fixture_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_user_is_found),
		cmocka_unit_test(no_user_is_made_up),
		cmocka_unit_test(groups_are_bounded),
		cmocka_unit_test(a_number_has_a_name),
	};

	return cmocka_run_group_tests_name("user", tests, NULL, NULL);
}
