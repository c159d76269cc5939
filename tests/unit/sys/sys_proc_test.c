/* Tests of sys/process/proc.h. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "data/sys/fixture.h"
#include "sys/process/maps.h"
#include "sys/process/numa_maps.h"
#include "sys/process/outside.h"
#include "sys/process/proc.h"
#include "sys/process/smaps.h"

/* The numbers behind the comm of an ordinary line, from ppid to processor and on. */
#define TAIL                                                                          \
	" S 10 20 20 0 -1 4194304 3016 5 2 0 7 8 9 10 20 0 3 0 170490 19251200 4587 " \
	"18446744073709551615 1 2 3 0 0 0 0 6 0 1 0 0 17 1 0 0 0 0 0 4 5 6 7 8 9 10 0\n"

static void check_comm(const char *line, const char *comm)
{
	struct proc_stat st;

	assert_int_equal(proc_stat_parse(line, &st), 0);
	assert_string_equal(st.comm, comm);
	assert_int_equal(st.pid, 99);
	assert_int_equal(st.ppid, 10);
	assert_int_equal(st.state, 'S');
	assert_int_equal(st.rss_pages, 4587);
}

static void test_stat(void **state)
{
	struct proc_stat st;

	(void)state;
	assert_int_equal(proc_stat_parse("99 (x)" TAIL, &st), 0);
	assert_int_equal(st.minflt, 3016);
	assert_int_equal(st.majflt, 2);
	assert_int_equal(st.utime_ticks, 7);
	assert_int_equal(st.stime_ticks, 8);
	assert_int_equal(st.num_threads, 3);
	assert_int_equal(st.starttime_ticks, 170490);
	assert_int_equal(st.vsize_bytes, 19251200);
	assert_int_equal(st.processor, 1);
	assert_false(st.is_kthread);
	check_comm("99 (a) R (b)" TAIL, "a) R (b");
	check_comm("99 (a) R (b\n\\x)" TAIL, "a) R (b\n\\x");
	check_comm("99 ()" TAIL, "");
	check_comm("99 (\x1b[31m)" TAIL, "\x1b[31m");
	check_comm("99 (((()" TAIL, "(((");
	check_comm("99 (kworker/u8:3-events_unbound_and_a_work_with_a_name_too_long_for_it)" TAIL,
		"kworker/u8:3-events_unbound_and_a_work_with_a_name_too_long_for");
}

static void test_stat_kthread(void **state)
{
	struct proc_stat st;

	(void)state;
	assert_int_equal(
		proc_stat_parse("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 "
				"1 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 0 "
				"0 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
			&st),
		0);
	assert_true(st.is_kthread);
	assert_int_equal(st.ppid, 0);
}

static void test_stat_nasty(void **state)
{
	static const char *const bad[] = {"", "\n", "1", "1 (x", "1 x)", ") 1 (", "(x) S 1",
		"1 (x)", "1 (x) ", "1 (x) S", "1 (x) S 1 2 3", "-1 (x)" TAIL,
		"99999999999 (x)" TAIL, "x (x)" TAIL,
		"1 (x) S 99999999999 20 20 0 -1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
		"1 (x) S 1 20 20 0 -1 4194304 3016 5 2 0 7 8 9 10 20 0 3 0 170490 19251200"};
	struct proc_stat st = {.pid = 77};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(proc_stat_parse(bad[i], &st), -EINVAL);
	assert_int_equal(st.pid, 77);
	/* What counts is there; the rest was cut off. */
	assert_int_equal(
		proc_stat_parse("1 (x) S 1 20 20 0 -1 4194304 3016 5 2 0 7 8 9 10 20 0 3 0 "
				"170490 19251200 4587",
			&st),
		0);
	assert_int_equal(st.processor, -1);
}

static void test_space_limit(void **state)
{
	static const char text[] =
		"Limit                     Soft Limit           Hard Limit           Units     \n"
		"Max cpu time              unlimited            unlimited            seconds   \n"
		"Max address space         %s            209715200            bytes     \n"
		"Max file locks            unlimited            unlimited            locks     \n";
	char some[sizeof(text) + 20];
	u64 limit, hard;

	(void)state;
	snprintf(some, sizeof(some), text, "unlimited");
	assert_int_equal(proc_limit_parse(some, PROC_LIMIT_SPACE, &limit, &hard), 0);
	assert_true(limit == UINT64_MAX);
	snprintf(some, sizeof(some), text, "104857600");
	assert_int_equal(proc_limit_parse(some, PROC_LIMIT_SPACE, &limit, &hard), 0);
	assert_int_equal(limit, 104857600);
	assert_int_equal(hard, 209715200);
	assert_int_equal(proc_limit_parse(some, "Max open files", &limit, &hard), -EINVAL);
	snprintf(some, sizeof(some), text, "many");
	assert_int_equal(proc_limit_parse(some, PROC_LIMIT_SPACE, &limit, &hard), -EINVAL);
	assert_int_equal(proc_limit_parse("", PROC_LIMIT_SPACE, &limit, &hard), -EINVAL);
	assert_int_equal(proc_limit_read(getpid(), PROC_LIMIT_SPACE, &limit, &hard), 0);
}

static void test_statm(void **state)
{
	struct proc_statm m;

	(void)state;
	assert_int_equal(proc_statm_parse("765 439 410 5 0 123 0\n", &m), 0);
	assert_int_equal(m.size_pages, 765);
	assert_int_equal(proc_statm_anon_pages(&m), 29);
	assert_int_equal(proc_statm_parse("1 2 3", &m), 0);
	assert_int_equal(proc_statm_anon_pages(&m), 0);
	assert_int_equal(proc_statm_parse("1 2", &m), -EINVAL);
	assert_int_equal(proc_statm_parse("1 2 -3", &m), -EINVAL);
	assert_int_equal(proc_statm_parse("", &m), -EINVAL);
	assert_int_equal(m.shared_pages, 3);
}

static void test_status(void **state)
{
	struct proc_status st;

	(void)state;
	/* A kernel thread, and a name that looks like another line. */
	assert_int_equal(proc_status_parse("Name:\tVmRSS:\\n1 kB\nTgid:\t2\nPid:\t2\nPPid:\t0\n"
					   "Uid:\t1000\t0\t0\t0\nThreads:\t1\n"
					   "CapEff:\t000001ffffffffff\nX:\t1",
				 &st),
		0);
	assert_false(st.has_mm);
	assert_int_equal(st.tgid, 2);
	assert_int_equal(st.uid, 1000);
	assert_int_equal(st.threads, 1);
	assert_true(st.cap_eff == 0x1ffffffffffULL);
	/* Before 5.9 the kernel does not say how many filters. */
	assert_int_equal(proc_status_parse("Tgid:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n", &st), 0);
	assert_int_equal(proc_status_filters(&st), 3);
	assert_int_equal(proc_status_parse("Tgid:\t1\nSeccomp:\t2\n", &st), 0);
	assert_int_equal(proc_status_filters(&st), 1);
	assert_int_equal(proc_status_parse("Tgid:\t1\nSeccomp:\t0\nSeccomp_filters:\t0\n", &st), 0);
	assert_int_equal(proc_status_filters(&st), 0);
	assert_int_equal(proc_status_parse("Tgid:\t1\nVmRSS:\t18446744073709551615 kB\n", &st), 0);
	assert_false(st.has_mm);
	assert_int_equal(proc_status_parse("Tgid:\t-1\nVmRSS:\t4 kB\n", &st), -EINVAL);
	assert_int_equal(proc_status_parse("Tgid:\t99999999999\n", &st), -EINVAL);
	assert_int_equal(proc_status_parse("VmRSS:\t4 kB", &st), -EINVAL);
	assert_int_equal(proc_status_parse("", &st), -EINVAL);
}

static void test_cgroup(void **state)
{
	static const char *const bad[] = {"", "0", "0:", "0::", ":memory:", "0:memory", "a\nb\n",
		"1:cpu:/x\n", "3:memoryx,xmemory:/y"};
	struct proc_cgroup cg;

	(void)state;
	assert_int_equal(
		proc_cgroup_parse("9:name=systemd:/\n5:cpu,memory,io:/a:b\n0::/x y\n", &cg), 0);
	assert_string_equal(cg.v1_memory, "/a:b");
	assert_string_equal(cg.v2, "/x y");
	assert_false(cg.v2_deleted);
	assert_int_equal(proc_cgroup_parse("0::/gone (deleted)", &cg), 0);
	assert_string_equal(cg.v2, "/gone");
	assert_string_equal(cg.v1_memory, "");
	assert_true(cg.v2_deleted);
	assert_int_equal(proc_cgroup_parse("4:memory:/", &cg), 0);
	assert_string_equal(cg.v1_memory, "/");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(proc_cgroup_parse(bad[i], &cg), -EINVAL);
	assert_string_equal(cg.v1_memory, "/");
}

static void test_cgroup_long(void **state)
{
	_cleanup_str_ struct str text = {};
	struct proc_cgroup cg;

	(void)state;
	str_add(&text, "0::/");
	for (int i = 0; i < PATH_MAX - 2; i++)
		str_addc(&text, 'x');
	assert_int_equal(proc_cgroup_parse(str_get(&text), &cg), 0);
	assert_int_equal(strlen(cg.v2), PATH_MAX - 1);
	str_addc(&text, 'x');
	assert_int_equal(proc_cgroup_parse(str_get(&text), &cg), -EINVAL);
}

static void check_program(const char *comm, const char *raw, size_t n, const char *program)
{
	_cleanup_str_ struct str out = {};

	assert_int_equal(proc_program_name(comm, raw, n, &out), program != NULL);
	assert_string_equal(str_get(&out), program ? program : "");
}

#define CHECK_PROGRAM(comm_, raw_, program_) check_program(comm_, raw_, sizeof(raw_), program_)

static void test_program(void **state)
{
	(void)state;
	CHECK_PROGRAM(
		"python3", "/usr/bin/python3\0-u\0/srv/worker.py\0--port", "python3 worker.py");
	CHECK_PROGRAM("python3.11", "python3.11\0-m\0http.server", "python3.11 -m http.server");
	CHECK_PROGRAM("python3", "python3\0-W\0ignore\0a.py", "python3 a.py");
	CHECK_PROGRAM("java", "java\0-Xmx1g\0-cp\0/a:/b\0org.x.Main", "java org.x.Main");
	CHECK_PROGRAM("java", "java\0-jar\0/opt/app.jar", "java -jar app.jar");
	CHECK_PROGRAM("node-MainThread", "node\0server.js", "node server.js");
	CHECK_PROGRAM("beam.smp",
		"/erts/bin/beam.smp\0-W\0w\0--\0-root\0/erl\0-c\0-s\0rabbit\0boot",
		"beam.smp -s rabbit");
	CHECK_PROGRAM("beam.smp", "beam.smp\0-W\0w\0-noshell", NULL);
	CHECK_PROGRAM(
		"qemu-system-x86", "/usr/bin/qemu-system-x86_64\0-m\0512", "qemu-system-x86_64");
	CHECK_PROGRAM("sessiond: queue", "sessiond: queue /a/b   ", "sessiond: queue /a/b");
	CHECK_PROGRAM("sessiond: queue", "sessiond: queue", NULL);
	CHECK_PROGRAM("qemu-system-x86", "/usr/bin/other-program\0-m", NULL);
	CHECK_PROGRAM("sh", "sh\0-c\0rm x", NULL);
	CHECK_PROGRAM("python3", "python3", NULL);
	CHECK_PROGRAM("java", "java\0-cp", NULL);
	CHECK_PROGRAM("nodetool", "nodetool\0x", NULL);
	CHECK_PROGRAM("shd", "shd\0x", NULL);
	check_program("python3", "python3\0a.py", 12, NULL); /* cut */
	check_program("python3", "", 0, NULL);
	CHECK_PROGRAM("python3", "python3\0\0a.py", "python3 a.py");
	CHECK_PROGRAM("python3", "python3\0-W -X\0a.py", "python3 a.py");
	CHECK_PROGRAM("python3", "python3\0 \0a.py", "python3  ");
}

/* What runs a program goes by the program's name; what does not, by its own. */
static void test_label(void **state)
{
	_cleanup_str_ struct str out = {};
	char tree[PATH_MAX];

	(void)state;
	fixture_make(tree);
	fixture_put_text("/proc/7/comm", "python3\n");
	fixture_put("/proc/7/cmdline", "python3\0/srv/a.py", sizeof("python3\0/srv/a.py"));
	fixture_put_text("/proc/8/comm", "redis-server\n");
	assert_int_equal(proc_label_read(7, &out), 0);
	assert_string_equal(str_get(&out), "python3 a.py");
	assert_int_equal(proc_label_read(8, &out), 0);
	assert_string_equal(str_get(&out), "redis-server");
	assert_int_equal(proc_label_read(9, &out), -ENOENT);
	assert_string_equal(str_get(&out), "");
	fixture_remove(tree);
}

#define STAT(pid_, state_, flags_, vsize_) \
	pid_ " (a) " state_ " 1 1 1 0 -1 " flags_ " 0 0 0 0 0 0 0 0 20 0 1 0 5 " vsize_ " 0\n"

/* A process gives its memory back before it is a zombie; threads of the kernel have none. */
static void test_ended(void **state)
{
	char tree[PATH_MAX];

	(void)state;
	fixture_make(tree);
	fixture_put_text("/proc/7/stat", STAT("7", "R", "4194304", "4096"));
	fixture_put_text("/proc/8/stat", STAT("8", "R", "4194308", "0"));
	fixture_put_text("/proc/9/stat", STAT("9", "S", "2129984", "0"));
	fixture_put_text("/proc/10/stat", STAT("10", "Z", "4194308", "0"));
	assert_false(proc_has_ended(7));
	assert_true(proc_has_ended(8));
	assert_false(proc_has_ended(9));
	assert_true(proc_has_ended(10));
	assert_true(proc_has_ended(11));
	fixture_remove(tree);
}

static void test_captured(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fixture_kernels); i++) {
		_cleanup_str_ struct str line = {};
		struct proc_status status;
		struct proc_statm statm;
		struct proc_cgroup cg;
		struct proc_stat st;
		char comm[PROC_COMM_MAX];

		fixture_use(fixture_kernels[i]);
		assert_int_equal(proc_stat_read(1234, &st), 0);
		assert_string_equal(st.comm, "a) R (b\n\\x");
		assert_int_equal(st.state, 'S');
		assert_true(st.minflt > 2900 && st.rss_pages > 4500);
		assert_int_equal(proc_comm_read(1234, comm), 0);
		assert_string_equal(comm, st.comm);
		assert_int_equal(proc_status_read(1234, &status), 0);
		assert_int_equal(status.tgid, st.pid);
		assert_true(status.has_mm && status.rss_anon_bytes > 17 << 20);
		assert_int_equal(status.vm_size_bytes, st.vsize_bytes);
		assert_int_equal(status.vm_rss_bytes,
			status.rss_anon_bytes + status.rss_file_bytes + status.rss_shmem_bytes);
		assert_int_equal(proc_statm_read(1234, &statm), 0);
		assert_int_equal(statm.size_pages * 4096, status.vm_size_bytes);
		assert_true(proc_statm_anon_pages(&statm) * 4096 >= status.rss_anon_bytes);
		assert_int_equal(proc_cgroup_read(1234, &cg), 0);
		assert_string_equal(
			cg.v1_memory[0] ? cg.v1_memory : cg.v2, "/system.slice/app.service");
	}
	sys_root_set("");
}

static void test_gone(void **state)
{
	_cleanup_str_ struct str line = {};
	struct proc_stat st = {.pid = 5};
	char tree[PATH_MAX];
	struct proc_iter it;
	int pid;

	(void)state;
	fixture_make(tree);
	assert_int_equal(proc_iter_open(&it), -ENOENT);
	fixture_put_text("/proc/12/stat", "");
	fixture_put_text("/proc/self/x", "");
	fixture_put_text("/proc/12x/x", "");
	fixture_put_text("/proc/99999999999/x", "");
	assert_int_equal(proc_stat_read(12, &st), -EINVAL);
	assert_int_equal(proc_stat_read(13, &st), -ENOENT);
	assert_int_equal(st.pid, 5);
	assert_int_equal(proc_iter_open(&it), 0);
	assert_true(proc_iter_next(&it, &pid));
	assert_int_equal(pid, 12);
	assert_false(proc_iter_next(&it, &pid));
	proc_iter_close(&it);
	proc_iter_close(&it);
	fixture_remove(tree);
}

static void test_exe(void **state)
{
	char target[PATH_MAX] = "kept";
	char tree[PATH_MAX];
	char path[PATH_MAX];
	bool deleted;

	(void)state;
	fixture_make(tree);
	fixture_put_text("/proc/1/x", "");
	assert_int_equal(sys_path(path, "/proc/1/exe"), 0);
	assert_int_equal(symlink("/usr/bin/a b (deleted)", path), 0);
	assert_int_equal(proc_exe_read(1, target, &deleted), 0);
	assert_string_equal(target, "/usr/bin/a b");
	assert_true(deleted);
	assert_int_equal(proc_exe_read(2, target, &deleted), -ENOENT);
	fixture_remove(tree);
	assert_int_equal(proc_exe_read(getpid(), target, &deleted), 0);
	assert_false(deleted);
	assert_int_equal(target[0], '/');
}

static void test_live_self(void **state)
{
	struct proc_status status;
	struct proc_stat before;
	struct proc_stat after;
	struct proc_stat task;
	char *page;

	(void)state;
	prctl(PR_SET_NAME, "x) (\ny");
	assert_int_equal(proc_stat_read(getpid(), &before), 0);
	assert_string_equal(before.comm, "x) (\ny");
	page = mmap(NULL, 100 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	madvise(page, 100 * 4096, MADV_NOHUGEPAGE);
	for (int i = 0; i < 100; i++)
		((volatile char *)page)[i * 4096] = 1;
	assert_int_equal(proc_stat_read(getpid(), &after), 0);
	assert_true(after.minflt >= before.minflt + 100);
	assert_int_equal(after.pid, getpid());
	assert_int_equal(after.ppid, getppid());
	assert_int_equal(after.starttime_ticks, before.starttime_ticks);
	assert_int_equal(proc_task_stat_read(getpid(), getpid(), &task), 0);
	assert_int_equal(task.pid, getpid());
	assert_int_equal(proc_status_read(getpid(), &status), 0);
	assert_int_equal(status.pid, getpid());
	assert_int_equal(status.uid, getuid());
	munmap(page, 100 * 4096);
}

static void test_live_all(void **state)
{
	struct proc_iter it;
	bool saw_self = false;
	int pid;

	(void)state;
	assert_int_equal(proc_iter_open(&it), 0);
	while (proc_iter_next(&it, &pid)) {
		struct proc_cgroup cg;
		struct proc_stat st;
		int rc = proc_stat_read(pid, &st);

		assert_true(!rc || rc == -ENOENT || rc == -ESRCH);
		if (!rc)
			assert_int_equal(st.pid, pid);
		rc = proc_cgroup_read(pid, &cg);
		assert_true(!rc || rc == -ENOENT || rc == -ESRCH || rc == -EINVAL);
		saw_self |= pid == getpid();
	}
	proc_iter_close(&it);
	assert_true(saw_self);
	assert_int_equal(proc_iter_open_tasks(getpid(), &it), 0);
	assert_true(proc_iter_next(&it, &pid));
	assert_int_equal(pid, getpid());
	proc_iter_close(&it);
}

/* A process that ends between open and read, and one that is a zombie. */
static void test_live_dead(void **state)
{
	struct proc_status status;
	struct proc_stat st;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	assert_true(pid > 0);
	do {
		usleep(1000);
		assert_int_equal(proc_stat_read(pid, &st), 0);
	} while (st.state != 'Z');
	assert_int_equal(st.rss_pages, 0);
	assert_int_equal(proc_status_read(pid, &status), 0);
	assert_false(status.has_mm);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(proc_stat_read(pid, &st), -ENOENT);
}

static void *stay(void *arg)
{
	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* where the test fails */
	pause();
	return NULL;
}

/* The first thread ends and another runs on: the process looks like a zombie, and is none. */
static void test_headless(void **state)
{
	_cleanup_str_ struct str text = {};
	struct smaps_sum sum;
	struct proc_status status;
	struct proc_statm statm;
	struct proc_stat st;
	struct maps maps = {};
	static struct smaps huge;
	_cleanup_numa_maps_ struct numa_maps numa = {};
	_cleanup_outside_ struct outside o = {.pagemap = -1};
	char exe[PATH_MAX], own[PATH_MAX];
	static u64 word = 4711;
	u64 got = 0;
	bool deleted;
	pid_t pid, task;

	(void)state;
	word++;
	pid = fork();
	if (!pid) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, stay, NULL))
			_exit(1);
		pthread_exit(NULL);
	}
	assert_true(pid > 0);
	do {
		usleep(1000);
		assert_int_equal(proc_stat_read(pid, &st), 0);
	} while (st.state != 'Z');
	assert_int_equal(st.num_threads, 2);
	task = proc_memory_task(pid);
	assert_true(task != pid);
	assert_false(proc_has_ended(pid));
	assert_int_equal(proc_statm_read(pid, &statm), 0);
	assert_true(statm.resident_pages);
	assert_int_equal(proc_status_read(pid, &status), 0);
	assert_true(status.has_mm && status.vm_rss_bytes);
	assert_int_equal(status.pid, pid);
	assert_int_equal(smaps_rollup_read(pid, &text, &sum), 0);
	assert_int_equal(maps_read(pid, &maps), 0);
	assert_true(maps.list.n);
	str_clear(&text);
	assert_int_equal(smaps_read(pid, &text, &huge), 0);
	assert_true(text.len);
	smaps_free(&huge);
	assert_true(numa_maps_read(pid, &numa) || numa.list.n); /* where the kernel has it */
	assert_int_equal(proc_exe_read(pid, exe, &deleted), 0);
	assert_int_equal(proc_exe_read(getpid(), own, &deleted), 0);
	assert_string_equal(exe, own);
	/* its bytes, too; through the first thread they may not be read, and that is said */
	assert_int_equal(outside_open(pid, &maps, 1 << 20, &o), -EACCES);
	assert_int_equal(outside_open(task, &maps, 1 << 20, &o), 0);
	assert_int_equal(outside_read(&o, (u64)&word, &got, sizeof(got)), 0);
	assert_int_equal(got, 4712);
	maps_free(&maps);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* What a command line allows a heap: the last one holds. */
static void test_heap_limit(void **state)
{
	static const struct {
		const char *line; /* words between blanks */
		u64 limit;
	} of[] = {
		{"java -Xmx64m Main", 64ULL << 20},
		{"java -Xmx64m -Xmx2G -jar x.jar", 2ULL << 30},
		{"java -XX:MaxHeapSize=1048576 Main", 1 << 20},
		{"node --max-old-space-size=512 feed.js", 512ULL << 20},
		{"java -Xms1g Main", 0},
		{"java -Xmx1t Main", 1ULL << 40},
		{"java -cp a.jar -Xmx64m Main -Xmx2g", 64ULL << 20}, /* behind it, the program's */
		{"java -jar x.jar -Xmx2g", 0},
		{"node feed.js --max-old-space-size=512", 0},
		{"node -e x --max-old-space-size=512", 0},
		{"java -Xmx99999999999g Main", 0}, /* more than there can be */
		{"node --max-old-space-size=99999999999999 feed.js", 0},
		{"java -Xmx Main", 0},
		{"java -jar", 0},
		{"python3 x.py", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
		char line[64], comm[8] = "";
		size_t n = (size_t)snprintf(line, sizeof(line), "%s", of[i].line) + 1;

		for (char *at = line; (at = strchr(at, ' '));)
			*at++ = '\0';
		snprintf(comm, sizeof(comm), "%.7s", line);
		assert_int_equal(proc_heap_limit(comm, line, n), of[i].limit);
		assert_int_equal(proc_heap_limit(comm, line, n - 1), 0); /* cut off */
		assert_int_equal(proc_heap_limit("nodetool", line, n), 0);
	}
	assert_int_equal(proc_heap_limit("java", "", 0), 0);
}

/* A container has them in its environment: those of its own runtime hold. */
static void test_heap_limit_environ(void **state)
{
	static const char java[] = "PATH=/bin\0JAVA_TOOL_OPTIONS=-Xss1m  -Xmx64m\0LANG=C";
	static const char go[] = "XGOMEMLIMIT=1\0GOMEMLIMIT=2GiB", off[] = "GOMEMLIMIT=off";
	static const char newer[] = "JDK_JAVA_OPTIONS=-XX:MaxHeapSize=1g";
	static const char node[] = "XNODE_OPTIONS=-Xmx1g\0NODE_OPTIONS=--max-old-space-size=512";

	(void)state;
	assert_int_equal(proc_heap_limit_environ("java", java, sizeof(java)), 64ULL << 20);
	assert_int_equal(proc_heap_limit_environ("java", newer, sizeof(newer)), 1ULL << 30);
	assert_int_equal(
		proc_heap_limit_environ("node-MainThread", node, sizeof(node)), 512ULL << 20);
	assert_int_equal(proc_heap_limit_environ("node", java, sizeof(java)), 0);
	assert_int_equal(proc_heap_limit_environ("postgres", java, sizeof(java)), 0);
	assert_int_equal(proc_heap_limit_environ("java", java, sizeof(java) - 1), 0); /* cut off */
	assert_int_equal(proc_heap_limit_environ("java", "", 0), 0);
	assert_int_equal(proc_heap_limit_go(go, sizeof(go)), 2ULL << 30);
	assert_int_equal(proc_heap_limit_go(go, sizeof(go) - 1), 0);
	assert_int_equal(proc_heap_limit_go(off, sizeof(off)), 0);
}

#define BURN_NS 60000000

static void *burn(void *name)
{
	struct timespec now = {};

	prctl(PR_SET_NAME, name);
	while (now.tv_sec == 0 && now.tv_nsec < BURN_NS)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	pause();
	return NULL;
}

/* Threads are known by their names, and those of other programs are not looked at. */
static void test_collector(void **state)
{
	static char names[][16] = {"GC Thread#0", "VM Thread", "C2 CompilerThre"};
	u64 least = 2ULL * BURN_NS * (u64)sysconf(_SC_CLK_TCK) / 1000000000 - 2, ticks = 0;
	pthread_t threads[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, burn, names[i]), 0);
	for (int i = 0; i < 2000 && ticks < least; i++) {
		usleep(10000);
		ticks = proc_collector_ticks("java", getpid());
	}
	assert_in_range(ticks, least, least + 4);
	assert_int_equal(proc_collector_ticks("javac", getpid()), 0);
	for (int i = 0; i < 3; i++) {
		pthread_cancel(threads[i]);
		pthread_join(threads[i], NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stat),
		cmocka_unit_test(test_stat_kthread),
		cmocka_unit_test(test_stat_nasty),
		cmocka_unit_test(test_space_limit),
		cmocka_unit_test(test_statm),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_cgroup),
		cmocka_unit_test(test_cgroup_long),
		cmocka_unit_test(test_captured),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_exe),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_label),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_headless),
		cmocka_unit_test(test_heap_limit),
		cmocka_unit_test(test_heap_limit_environ),
		cmocka_unit_test(test_collector),
		cmocka_unit_test(test_live_self),
		cmocka_unit_test(test_live_all),
		cmocka_unit_test(test_live_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
