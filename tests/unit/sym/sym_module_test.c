/* Modules: identity, files kept open within a bound, and files that are not what they were. */
#include "data/sym/helpers.h"

#include "sym/rootfs.h"

static struct module_table *table_new(unsigned int max_fds)
{
	struct module_table *t;

	assert_int_equal(module_table_new(max_fds, &t), 0);
	return t;
}

static int sight_as(struct module_table *t, const char *path, u64 ino, u32 *ret)
{
	struct module_sight sight = {.pid = getpid(), .path = path, .dev = 7, .ino = ino};

	return module_table_sight(t, &sight, ret);
}

/* By its present inode. */
static u32 see(struct module_table *t, const char *path)
{
	struct stat st;
	u32 id;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(sight_as(t, path, st.st_ino, &id), 0);
	return id;
}

static const char *make(const char *name, const char *content)
{
	const char *path = in_scratch(name);

	file_write(path, content, strlen(content));
	return path;
}

static void assert_content(struct module_table *t, u32 id, const char *want)
{
	char buf[64] = "";
	int fd;

	assert_int_equal(module_table_fd(t, id, &fd), 0);
	assert_int_equal(pread(fd, buf, sizeof(buf) - 1, 0), strlen(want));
	assert_string_equal(buf, want);
}

static size_t open_fds(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void known_ids(void **state)
{
	_cleanup_module_table_ struct module_table *t = table_new(0);
	u32 id;

	(void)state;
	assert_string_equal(module_table_get(t, MODULE_ID_KERNEL)->path, "[kernel]");
	assert_int_equal(module_table_get(t, MODULE_ID_VDSO)->kind, MODULE_VDSO);
	assert_null(module_table_get(t, MODULE_ID_FIRST_FILE));
	assert_int_equal(sight_as(t, NULL, 0, &id), 0);
	assert_int_equal(id, MODULE_ID_ANON);
}

static void identity(void **state)
{
	_cleanup_module_table_ struct module_table *t = table_new(0);
	const char *path = make("one", "1");
	u32 id = see(t, path), other;

	(void)state;
	assert_int_equal(id, MODULE_ID_FIRST_FILE);
	assert_int_equal(see(t, path), id);
	assert_int_equal(see(t, make("two", "2")), id + 1);
	/* The same name with another inode is another file, though it is gone by now. */
	assert_int_equal(sight_as(t, path, 99999999, &other), 0);
	assert_int_equal(other, id + 2);
	assert_int_equal(module_table_get(t, other)->error, -ESTALE);
	assert_int_equal(module_table_get(t, id)->error, 0);
	assert_content(t, id, "1");
}

static void bounded(void **state)
{
	_cleanup_module_table_ struct module_table *t = table_new(3);
	size_t before = open_fds();
	u32 ids[10];
	char name[32], content[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		snprintf(name, sizeof(name), "many%zu", i);
		snprintf(content, sizeof(content), "content %zu", i);
		ids[i] = see(t, make(name, content));
		assert_true(open_fds() <= before + 3);
	}
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
			snprintf(content, sizeof(content), "content %zu", i);
			assert_content(t, ids[i], content);
			assert_true(open_fds() <= before + 3);
		}
	}
}

/* A deleted file could not be opened again, so the others make room. */
static void deleted_is_spared(void **state)
{
	_cleanup_module_table_ struct module_table *t = table_new(2);
	u32 gone = see(t, make("gone", "still here")), id;
	char name[32];

	(void)state;
	assert_int_equal(unlink(in_scratch("gone")), 0);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "later%d", i);
		id = see(t, make(name, "x"));
		assert_content(t, id, "x");
	}
	assert_content(t, gone, "still here");
}

static void all_deleted(void **state)
{
	_cleanup_module_table_ struct module_table *t = table_new(2);
	u32 ids[3];
	char name[32];
	int fd;

	(void)state;
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "deleted%d", i);
		ids[i] = see(t, make(name, "x"));
		assert_int_equal(unlink(in_scratch(name)), 0);
	}
	assert_int_equal(module_table_fd(t, ids[0], &fd), -ENOENT);
	assert_content(t, ids[1], "x");
	assert_content(t, ids[2], "x");
}

/* A file put in the place of one that was closed for the limit is not taken for it. */
static void replaced_is_noticed(void **state)
{
	_cleanup_module_table_ struct module_table *t = table_new(1);
	u32 first = see(t, make("library", "old content"));
	int fd;

	(void)state;
	see(t, make("another", "x"));
	make("library.new", "new content, longer");
	assert_int_equal(rename(in_scratch("library.new"), in_scratch("library")), 0);
	assert_int_equal(module_table_fd(t, first, &fd), -ESTALE);
}

/* Opening a FIFO would wait for ever; opening a device may do anything. */
static void only_regular_files(void **state)
{
	_cleanup_module_table_ struct module_table *t = table_new(0);
	u32 id;
	int fd;

	(void)state;
	assert_int_equal(mkfifo(in_scratch("fifo"), 0600), 0);
	assert_int_equal(mkdir(in_scratch("dir"), 0700), 0);
	alarm(20);
	id = see(t, in_scratch("fifo"));
	assert_int_equal(module_table_get(t, id)->error, -ENOTSUP);
	assert_int_equal(module_table_fd(t, id, &fd), -ENOTSUP);
	id = see(t, in_scratch("dir"));
	assert_int_equal(module_table_get(t, id)->error, -ENOTSUP);
	id = see(t, "/dev/zero");
	assert_int_equal(module_table_get(t, id)->error, -ENOTSUP);
	alarm(0);
}

static void missing_is_tried_again(void **state)
{
	_cleanup_module_table_ struct module_table *t = table_new(0);
	const char *path = in_scratch("appears");
	u32 id, again;

	(void)state;
	assert_int_equal(sight_as(t, path, 0, &id), 0);
	assert_int_equal(module_table_get(t, id)->error, -ENOENT);
	make("appears", "x");
	assert_int_equal(sight_as(t, path, 0, &again), 0);
	assert_int_equal(again, id);
	assert_int_equal(module_table_get(t, id)->error, 0);
	assert_content(t, id, "x");
}

/* Links of a foreign root lead to where they lead there. */
static void root_contains(void **state)
{
	int root, fd;

	(void)state;
	assert_int_equal(run("mkdir -p jail/etc jail/sub && echo inside >jail/etc/name && "
			     "ln -s /etc/name jail/absolute && "
			     "ln -s ../../../../../../etc/name jail/sub/upward && "
			     "ln -s /proc/self/exe jail/magic"),
		0);
	root = open(in_scratch("jail"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(root >= 0);
	for (size_t i = 0; i < 3; i++) {
		static const char *const paths[] = {"/absolute", "/sub/upward", "/../../etc/name"};
		char buf[16] = "";

		assert_int_equal(root_open_file(root, paths[i], &fd), 0);
		assert_int_equal(read(fd, buf, sizeof(buf)), 7);
		assert_string_equal(buf, "inside\n");
		close(fd);
	}
	assert_int_equal(root_open_file(root, "/magic", &fd), -ENOENT);
	assert_int_equal(root_open_file(root, "/etc/passwd", &fd), -ENOENT);
	assert_int_equal(root_open_file(root, "etc/name", &fd), -EINVAL);
	assert_int_equal(root_open_file(root, "/etc", &fd), -ENOTSUP);
	close(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_ids),
		cmocka_unit_test(identity),
		cmocka_unit_test(bounded),
		cmocka_unit_test(deleted_is_spared),
		cmocka_unit_test(all_deleted),
		cmocka_unit_test(replaced_is_noticed),
		cmocka_unit_test(only_regular_files),
		cmocka_unit_test(missing_is_tried_again),
		cmocka_unit_test(root_contains),
	};

	return cmocka_run_group_tests_name("sym_module", tests, scratch_setup, scratch_teardown);
}
