/* Processes that are gone, files that are gone, and roots of their own, by the time names are
 * asked for. */
#include "data/sym/helpers.h"

#include <sched.h>
#include <sys/mount.h>

#include "sym/process_map.h"

#define WAITER "waiting_here"

struct waiter {
	pid_t pid;
	int input; /* closing it lets the program end */
	u64 function;
};

/* What the child does between fork and exec; -1: not possible here. */
typedef int (*prepare_fn)(void);

static int prepare_nothing(void)
{
	return 0;
}

/* Starts the program at `path` (as the child sees it) and reads where its function is. */
static bool waiter_start(struct waiter *w, const char *path, prepare_fn prepare)
{
	int in[2], out[2];
	char line[64] = "";
	size_t n = 0;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	w->pid = fork();
	assert_true(w->pid >= 0);
	if (!w->pid) {
		if (prepare() || dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0)
			_exit(99);
		execl(path, path, NULL);
		_exit(98);
	}
	close(in[0]);
	close(out[1]);
	w->input = in[1];
	while (n < sizeof(line) - 1 && read(out[0], line + n, 1) == 1 && line[n] != '\n')
		n++;
	close(out[0]);
	w->function = strtoull(line, NULL, 16);
	return w->function;
}

static void waiter_end(struct waiter *w)
{
	int status;

	if (w->input >= 0)
		close(w->input);
	w->input = -1;
	if (w->pid > 0)
		assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
	w->pid = 0;
}

/* Step 1: where the function of the waiting program lies. */
static struct map_hit hit_of(struct world *w, const struct waiter *waiter)
{
	_cleanup_process_map_ struct process_map map;
	struct map_hit hit;

	process_map_init(&map, w->modules, waiter->pid);
	assert_int_equal(process_map_read(&map), 0);
	assert_int_equal(process_map_find(&map, waiter->function + 1, &hit), 0);
	return hit;
}

static void assert_resolves(struct world *w, const struct map_hit *hit, bool with_line)
{
	struct sym_frames frames;

	assert_int_equal(symbolizer_resolve_user(w->syms, hit->module, hit->offset, 0, &frames), 0);
	assert_non_null(frames.v[0].function);
	assert_string_equal(frames.v[0].function, WAITER);
	assert_int_equal(frames.v[0].offset, 1);
	assert_int_equal(frames.v[0].line != 0, with_line);
}

static void process_exits(void **state)
{
	_cleanup_world_ struct world w = {};
	struct waiter waiter;
	struct map_hit hit;

	(void)state;
	if (!build("gcc", "-O1 -g", "waiter.c", "waiter"))
		skip_because("gcc does not work here");
	w = world_new(NULL);
	assert_true(waiter_start(&waiter, in_scratch("waiter"), prepare_nothing));
	hit = hit_of(&w, &waiter);
	waiter_end(&waiter);
	assert_string_equal(module_table_get(w.modules, hit.module)->path, in_scratch("waiter"));
	assert_resolves(&w, &hit, true);
}

/* As above, and the file is deleted in between, or replaced by another one. */
static void file_deleted(void **state)
{
	_cleanup_world_ struct world w = {};
	struct waiter waiter;
	struct map_hit hit;

	(void)state;
	if (!build("gcc", "-O1 -g", "waiter.c", "waiter2"))
		skip_because("gcc does not work here");
	w = world_new(NULL);
	assert_true(waiter_start(&waiter, in_scratch("waiter2"), prepare_nothing));
	hit = hit_of(&w, &waiter);
	waiter_end(&waiter);
	assert_int_equal(run("rm waiter2 && cp /bin/sh waiter2"), 0);
	assert_resolves(&w, &hit, true);
}

/* Deleted before it was ever looked at: only the process leads to it. */
static void file_deleted_first(void **state)
{
	_cleanup_world_ struct world w = {};
	struct waiter waiter;
	struct map_hit hit;

	(void)state;
	if (!build("gcc", "-O1 -g", "waiter.c", "waiter3"))
		skip_because("gcc does not work here");
	w = world_new(NULL);
	assert_true(waiter_start(&waiter, in_scratch("waiter3"), prepare_nothing));
	assert_int_equal(unlink(in_scratch("waiter3")), 0);
	hit = hit_of(&w, &waiter);
	waiter_end(&waiter);
	assert_string_equal(module_table_get(w.modules, hit.module)->path, in_scratch("waiter3"));
	assert_resolves(&w, &hit, true);
}

static char jail[PATH_MAX];

static int prepare_chroot(void)
{
	return chroot(jail) || chdir("/");
}

/* A mount namespace with a root of its own, on a file system nobody else sees. */
static int prepare_namespace(void)
{
	char command[PATH_MAX * 3];

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -1;
	if (mount("memwhy-test", jail, "tmpfs", 0, NULL))
		return -1;
	snprintf(command, sizeof(command), "cp -a '%s.seed/.' '%s'", jail, jail);
	if (system(command))
		return -1;
	return chroot(jail) || chdir("/");
}

/* A directory tree with a stripped program in it, and its debug file where distributions put
 * it, both under names that lead elsewhere outside. */
static bool jail_build(const char *name)
{
	snprintf(jail, sizeof(jail), "%s", in_scratch(name));
	if (!build("gcc", "-O1 -g -static -Wl,--build-id=0xabcdef0123456789", "waiter.c", "full"))
		return false;
	return run("mkdir -p %s.seed/bin %s.seed/usr/lib/debug/.build-id/ab %s && "
		   "objcopy --only-keep-debug full "
		   "%s.seed/usr/lib/debug/.build-id/ab/cdef0123456789.debug && "
		   "objcopy --strip-all full %s.seed/bin/sh",
		       jail, jail, jail, jail, jail) == 0;
}

static void jailed(prepare_fn prepare, bool with_debug_file)
{
	_cleanup_world_ struct world w = {};
	struct waiter waiter;
	struct map_hit hit;

	if (!waiter_start(&waiter, "/bin/sh", prepare)) {
		waiter_end(&waiter);
		skip_because("cannot make another root as this user");
	}
	w = world_new(NULL);
	hit = hit_of(&w, &waiter);
	assert_int_equal(module_table_get(w.modules, hit.module)->error, 0);
	waiter_end(&waiter);
	assert_resolves(&w, &hit, with_debug_file);
}

static void in_chroot(void **state)
{
	(void)state;
	if (!jail_build("jail"))
		skip_because("gcc cannot link statically here");
	assert_int_equal(run("cp -a jail.seed/. jail"), 0);
	jailed(prepare_chroot, true);
}

/* The process and its whole namespace are gone when names are asked for: only what was held
 * open leads to the program and to its debug file. */
static void in_mount_namespace(void **state)
{
	(void)state;
	if (!jail_build("jail2"))
		skip_because("gcc cannot link statically here");
	jailed(prepare_namespace, true);
}

/* Nothing about a process that cannot be looked at. */
static void no_such_process(void **state)
{
	_cleanup_world_ struct world w = world_new(NULL);
	_cleanup_process_map_ struct process_map map;
	struct sym_frames frames;
	struct map_hit hit;

	(void)state;
	process_map_init(&map, w.modules, 0x7ffffff0);
	assert_int_equal(process_map_add(&map, 0x1000, 0x2000, 0, 1, 424242, "/no/such/file"), 0);
	assert_int_equal(process_map_find(&map, 0x1010, &hit), 0);
	assert_int_equal(symbolizer_resolve_user(w.syms, hit.module, hit.offset, 0, &frames), 0);
	assert_int_equal(frames.n, 1);
	assert_null(frames.v[0].function);
	assert_string_equal(frames.v[0].module, "/no/such/file");
	assert_int_equal(frames.v[0].offset, 0x10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(process_exits),
		cmocka_unit_test(file_deleted),
		cmocka_unit_test(file_deleted_first),
		cmocka_unit_test(in_chroot),
		cmocka_unit_test(in_mount_namespace),
		cmocka_unit_test(no_such_process),
	};

	return cmocka_run_group_tests_name("sym_live", tests, scratch_setup, scratch_teardown);
}
