/* Tests of sys/mount_room.h: which mount a device is, in the text of mountinfo; and of memfs.h,
 * that what is mounted over a tmpfs is none. */
#include "data/sys/fixture.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include "sys/memory/memfs.h"
#include "sys/mount_room.h"

static void test_find(void **state)
{
	static const char text[] = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
				   "25 22 0:24 / /dev/shm rw - tmpfs tmpfs rw\n"
				   "broken\n26 22 0:26 /\n"
				   "27 22 0:27 / /mnt/a\\040b rw - tmpfs x rw,size=65536k\n";
	char point[PATH_MAX];

	(void)state;
	assert_true(mount_point_find(text, 24, point));
	assert_string_equal(point, "/dev/shm");
	assert_true(mount_point_find(text, 27, point));
	assert_string_equal(point, "/mnt/a b");
	assert_true(mount_point_find(text, 254U << 20, point));
	assert_string_equal(point, "/");
	assert_false(mount_point_find(text, 26, point));
	assert_false(mount_point_find(text, 4, point));
	assert_false(mount_point_find("", 24, point));
}

/* By its path statfs answers for what lies on top. */
static void test_covered(void **state)
{
	struct memfs m = {};
	struct statfs fs;

	(void)state;
	assert_int_equal(memfs_used("/proc", &m), -ENOENT);
	assert_int_equal(memfs_used("/nowhere/at/all", &m), -ENOENT);
	if (statfs("/dev/shm", &fs) || fs.f_type != TMPFS_MAGIC)
		fixture_skip("there is no tmpfs at /dev/shm");
	assert_int_equal(memfs_used("/dev/shm", &m), 0);
	assert_int_equal(m.most_inodes, fs.f_files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_covered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
