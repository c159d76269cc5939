/* Tests of the holders probe and of the readers it is made of: captured text, and things that this
 * test makes itself: a memfd, a pipe and a socket that nobody reads, a segment nobody has attached.
 */
#include "probes/samplers_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "probes/holders/holders.h"
#include "probes/system/system.h"
#include "sys/group/pids_limit.h"
#include "sys/memory/counts.h"
#include "sys/memory/sysvipc.h"
#include "sys/process/fdlink.h"
#include "sys/process/terminals.h"

#define MIB (1ULL << 20)

static u64 count_of(const char *name, const char *text)
{
	u64 v = 0;

	for (const struct count_spec *s = counts; s->name; s++)
		if (!strcmp(s->name, name))
			return count_parse(text, s, &v) ? v : ~0ULL;
	fail_msg("no count is called %s", name);
	return 0;
}

static void test_counts(void **unused)
{
	static const char sockstat[] =
		"sockets: used 113\nTCP: inuse 2 orphan 3 tw 0 alloc 5 mem 7\n"
		"UDP: inuse 1 mem 9\n";
	static const char groups[] = "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t2\t5\t1\n"
				     "memory\t3\t8123\t1\n";

	(void)unused;
	assert_int_equal(count_of("dentry/total", "63243\t49157\t45\t0\t22077\t0\n"), 63243);
	assert_int_equal(count_of("dentry/negative", "63243\t49157\t45\t0\t22077\t0\n"), 22077);
	assert_int_equal(count_of("dentry/negative", "63243\t49157\n"), ~0ULL);
	assert_int_equal(count_of("task/threads", "0.64 0.36 0.17 1/234 5678\n"), 234);
	assert_int_equal(count_of("socket/used", sockstat), 113);
	assert_int_equal(count_of("tcp/mem", sockstat), 7);
	assert_int_equal(count_of("udp/mem", sockstat), 9);
	assert_int_equal(count_of("tcp/orphan", "sockets: used 113\n"), ~0ULL);
	assert_int_equal(count_of("cgroup/memory", groups), 8123);
	assert_int_equal(count_of("file/open", ""), ~0ULL);
}

static void test_segments(void **unused)
{
	static const char text[] =
		"       key      shmid perms                  size  cpid  lpid nattch   uid   gid  "
		"cuid  "
		"cgid      atime      dtime      ctime                   rss                  "
		"swap\n"
		"-559038737      98307  1600             268435456  4711  4712      0  1000   100  "
		"   0     "
		"0 1700000000 1700000001 1690000000             268435456                  4096\n"
		"a line of another form\n";
	struct shm_segments s = {};
	const struct shm_segment *g;

	(void)unused;
	assert_int_equal(shm_segments_parse(text, &s), 0);
	assert_int_equal(s.list.n, 1);
	g = s.list.v;
	assert_int_equal(g->key, -559038737);
	assert_int_equal(g->id, 98307);
	assert_int_equal(g->perms, 01600);
	assert_true(g->perms & SHM_SEGMENT_REMOVED);
	assert_int_equal(g->creator_pid, 4711);
	assert_int_equal(g->attached, 0);
	assert_int_equal(g->uid, 1000);
	assert_int_equal(g->detach_time, 1700000001);
	assert_int_equal(g->resident_bytes, 256 * MIB);
	assert_int_equal(g->swap_bytes, 4096);
	shm_segments_free(&s);
}

static void test_queues(void **unused)
{
	struct msg_queues q;

	(void)unused;
	msg_queues_parse(
		"       key      msqid perms      cbytes       qnum lspid lrpid   uid   gid  cuid  "
		"cgid      stime      rtime      ctime\n"
		"         0          3   600       16000          4   912   913     0     0     0  "
		"   "
		"0 1795000000 1795000100 1795000000\n"
		"1094795585          7   644          20          2    99     0  1000  1000  1000  "
		"1000 1795000000          0 1795000000\n"
		"         0          8   600       9",
		&q);
	assert_int_equal(q.queues, 2);
	assert_int_equal(q.bytes, 16020);
	assert_int_equal(q.messages, 6);
	assert_int_equal(q.worst_id, 3);
	assert_int_equal(q.worst_sender, 912);
	assert_int_equal(q.worst_receiver, 913);
	assert_int_equal(q.worst_received_s, 1795000100);
	assert_int_equal(q.most_sender, 912);
	assert_int_equal(q.most_queues, 1);

	/* Many small ones of one sender are more than the fullest of another. */
	msg_queues_parse("0 1 600 900 1 7 0 0 0 0 0 1 0 1\n0 2 600 500 1 8 0 33 0 0 0 1 0 1\n"
			 "0 3 600 500 1 8 0 33 0 0 0 1 0 1\n0 4 600 0 0 8 0 33 0 0 0 1 0 1\n",
		&q);
	assert_int_equal(q.worst_id, 1);
	assert_int_equal(q.most_sender, 8);
	assert_int_equal(q.most_uid, 33);
	assert_int_equal(q.most_queues, 2);
	assert_int_equal(q.most_bytes, 1000);
}

static void test_terminals(void **unused)
{
	(void)unused;
	assert_int_equal(terminals_max_parse("rw,gid=5,mode=620,ptmxmode=666,max=64"), 64);
	assert_int_equal(terminals_max_parse("max=7,rw"), 7);
	assert_int_equal(terminals_max_parse("rw,gid=5,xmax=64"), UINT64_MAX);
	assert_int_equal(terminals_max_parse("rw,max="), UINT64_MAX);
	assert_int_equal(terminals_max_parse(NULL), UINT64_MAX);
	assert_false(terminals_full(&(struct terminals){.taken = 63, .max = 64}));
	assert_true(terminals_full(&(struct terminals){.taken = 64, .max = 64}));
}

static void test_links(void **unused)
{
	u64 inode;

	(void)unused;
	assert_int_equal(fdlink_parse("pipe:[12345]", &inode), FD_PIPE);
	assert_int_equal(inode, 12345);
	assert_int_equal(fdlink_parse("socket:[9]", &inode), FD_SOCKET);
	assert_int_equal(fdlink_parse("anon_inode:[eventpoll]", &inode), FD_EPOLL);
	assert_int_equal(inode, 0);
	assert_int_equal(fdlink_parse("anon_inode:bpf-map", &inode), FD_BPF_MAP);
	assert_int_equal(fdlink_parse("anon_inode:bpf-prog", &inode), FD_BPF);
	assert_int_equal(fdlink_parse("/memfd:frame (deleted)", &inode), FD_MEMFD);
	assert_int_equal(fdlink_parse("/SYSV00000000 (deleted)", &inode), FD_SHARED);
	assert_int_equal(fdlink_parse("/dev/shm/x (deleted)", &inode), FD_DELETED);
	assert_int_equal(fdlink_parse("/dev/shm/x", &inode), FD_FILE);
	assert_int_equal(fdlink_parse("anon_inode:[something new]", &inode), FD_OTHER);
	assert_int_equal(fdlink_parse("", &inode), FD_OTHER);
}

static void test_pids_path(void **unused)
{
	char path[PATH_MAX];
	int v2;

	(void)unused;
	assert_int_equal(pids_path_parse("7:pids:/a/b\n4:cpu,cpuacct:/x\n0::/u\n", path, &v2), 0);
	assert_string_equal(path, "/a/b");
	assert_false(v2);
	assert_int_equal(pids_path_parse("3:freezer,pids:/c\n", path, &v2), 0);
	assert_string_equal(path, "/c");
	assert_int_equal(pids_path_parse("0::/system.slice/a.service\n", path, &v2), 0);
	assert_string_equal(path, "/system.slice/a.service");
	assert_true(v2);
	assert_int_equal(pids_path_parse("3:memory:/c\n", path, &v2), -ENOENT);
	assert_int_equal(pids_path_parse("", path, &v2), -ENOENT);
}

static void test_pids_limit(void **unused)
{
	struct pids_limit limit;
	char root[PATH_MAX];

	(void)unused;
	fixture_make(root);
	fixture_put_text("/proc/self/mountinfo",
		"30 25 0:26 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n");
	fixture_put_text("/proc/77/cgroup", "7:pids:/outer/inner\n");
	assert_int_equal(pids_limit_read(77, &limit), -ENOENT);
	fixture_put_text("/sys/fs/cgroup/pids/outer/pids.max", "100\n");
	fixture_put_text("/sys/fs/cgroup/pids/outer/pids.current", "99\n");
	fixture_put_text("/sys/fs/cgroup/pids/outer/inner/pids.max", "max\n");
	fixture_put_text("/sys/fs/cgroup/pids/outer/inner/pids.current", "98\n");
	assert_int_equal(pids_limit_read(77, &limit), 0);
	assert_string_equal(limit.file, "/sys/fs/cgroup/pids/outer/pids.max");
	assert_int_equal(limit.max, 100);
	assert_int_equal(limit.current, 99);
	assert_int_equal(pids_limit_read(78, &limit), -ENOENT);
	fixture_remove(root);
}

static void test_count_read(void **unused)
{
	char root[PATH_MAX];
	u64 n;

	(void)unused;
	fixture_make(root);
	assert_int_equal(count_read("dentry/negative", &n), -ENOENT);
	fixture_put_text("/proc/sys/fs/dentry-state", "390988\t373017\t45\t0\t189874\t0\n");
	assert_int_equal(count_read("dentry/negative", &n), 0);
	assert_int_equal(n, 189874);
	assert_int_equal(count_read("nosuch", &n), -ENOENT);
	fixture_remove(root);
}

static void test_system_counts(void **unused)
{
	struct sampler_test t = {};
	char root[PATH_MAX];
	bool seen = false;

	(void)unused;
	fixture_make(root);
	fixture_put_text("/proc/sys/fs/dentry-state", "63243\t49157\t45\t0\t22077\t0\n");
	sampler_open(&t, &probe_system);
	sampler_sample(&t);
	for (size_t i = 0; i < sampler_count(&t, REC_SYSTEM_VALUE); i++) {
		const struct system_value *v = sampler_record(&t, REC_SYSTEM_VALUE, i);

		if (v->source == SYSTEM_COUNT && !strcmp(v->name, "dentry/negative"))
			seen = v->value == 22077;
	}
	assert_true(seen);
	sampler_end(&t);
	assert_int_equal(sampler_count(&t, REC_SYSTEM_VALUE), 0);
	sampler_close(&t);
	fixture_remove(root);
}

/* A child that keeps things that nobody reads; returns when it has them. */
static pid_t keeper_start(void)
{
	static char block[65536];
	int ready[2], hold[2], pair[2], size = 4 << 20, fd;
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid) {
		close(ready[1]);
		assert_int_equal(read(ready[0], &c, 1), 1);
		close(ready[0]);
		return pid;
	}
	fd = memfd_create("kept", 0);
	if (fd < 0 || pipe2(hold, O_NONBLOCK) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		_exit(1);
	for (int i = 0; i < 128; i++)
		if (write(fd, block, sizeof(block)) != sizeof(block))
			_exit(1);
	while (write(hold[1], block, sizeof(block)) > 0)
		;
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 2; i++)
		if (write(pair[0], block, 4096) != 4096)
			_exit(1);
	if (write(ready[1], "r", 1) == 1)
		pause();
	_exit(0);
}

static const struct held_process *process_of(const struct sampler_test *t, pid_t pid)
{
	const struct held_process *p;

	for (size_t i = 0; (p = sampler_record(t, REC_HELD_PROCESS, i)); i++)
		if (p->tgid == (u32)pid)
			return p;
	return NULL;
}

static void test_processes(void **unused)
{
	struct sampler_test t = {};
	pid_t pid = keeper_start();
	const struct held_process *p;
	int status;

	(void)unused;
	assert_int_equal(vec_push(&t.c.opt.scope.tasks, (u32)pid), 0);
	sampler_open(&t, &probe_holders);
	sampler_end(&t);
	p = process_of(&t, pid);
	assert_non_null(p);
	assert_int_equal(p->memfd_bytes, 128 * 65536);
	assert_int_equal(p->kinds[FD_MEMFD], 1);
	assert_int_equal(p->unnamed_most_bytes, 128 * 65536);
	assert_true(p->unnamed_most);
	assert_true(p->name);
	assert_true(p->start_ns);
	assert_int_equal(p->files, p->kinds[FD_FILE] + p->kinds[FD_PIPE] + p->kinds[FD_SOCKET] +
					   p->kinds[FD_MEMFD] + p->kinds[FD_DELETED] +
					   p->kinds[FD_OTHER]);
	/* A test that may not look into its own child's files (no pidfd_getfd) counts them only. */
	if (p->pipes_measured)
		assert_int_equal(p->pipe_bytes, 65536);
	if (p->sockets_measured) {
		assert_in_range(p->unread_bytes, 8192, 16384);
		assert_in_range(p->unsent_bytes, 8192, 65536);
		assert_true(p->peer);
	}
	sampler_close(&t);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

/* Which the first look saw: also a look that is cut short says that it has ended. */
static void test_ended(void **unused)
{
	(void)unused;
	for (int reaped = 0; reaped < 2; reaped++) {
		struct sampler_test t = {};
		pid_t pid = keeper_start();
		const struct held_process *p;

		assert_int_equal(vec_push(&t.c.opt.scope.tasks, (u32)pid), 0);
		sampler_open(&t, &probe_holders);
		usleep(1050000);
		sampler_sample(&t);
		p = process_of(&t, pid);
		assert_non_null(p);
		assert_int_equal(p->h.flags, 0);
		kill(pid, SIGKILL);
		assert_int_equal(
			waitid(P_PID, (id_t)pid, NULL, WEXITED | (reaped ? 0 : WNOWAIT)), 0);
		sampler_end(&t);
		p = NULL;
		for (size_t i = 0; i < sampler_count(&t, REC_HELD_PROCESS); i++)
			p = sampler_record(&t, REC_HELD_PROCESS, i);
		assert_non_null(p);
		assert_int_equal(p->tgid, pid);
		assert_int_equal(p->h.flags, HELD_ENDED);
		assert_int_equal(p->memfd_bytes, 0);
		sampler_close(&t);
		if (!reaped)
			waitpid(pid, NULL, 0);
	}
}

/* Has a child of its own write 24 MiB to a file in memory once it is told to, and waits for that.
 */
static pid_t parent_start(int go[2], int done[2])
{
	static char block[1 << 20];
	pid_t pid;
	char c;

	assert_int_equal(pipe(go) | pipe(done), 0);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid)
		return pid;
	if (read(go[0], &c, 1) != 1)
		_exit(1);
	pid = fork();
	if (!pid) {
		int fd = memfd_create("written", 0);

		for (int i = 0; i < 24; i++)
			if (write(fd, block, sizeof(block)) != sizeof(block))
				_exit(1);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	if (write(done[1], "d", 1) == 1)
		pause();
	_exit(0);
}

/* What ended children wrote is their parent's; the kernel may not count it. */
static void test_written(void **unused)
{
	struct sampler_test t = {};
	int go[2], done[2];
	pid_t pid = parent_start(go, done);
	const struct held_process *p;
	char c;

	(void)unused;
	assert_int_equal(vec_push(&t.c.opt.scope.tasks, (u32)pid), 0);
	sampler_open(&t, &probe_holders);
	usleep(1050000); /* the first look is after a second */
	sampler_sample(&t);
	assert_null(process_of(&t, pid));
	assert_int_equal(write(go[1], "g", 1), 1);
	assert_int_equal(read(done[0], &c, 1), 1);
	sampler_end(&t);
	p = process_of(&t, pid);
	if (access("/proc/self/io", R_OK)) {
		assert_null(p);
	} else {
		assert_non_null(p);
		assert_in_range(p->written_bytes, 24 * MIB, 25 * MIB);
		assert_in_range(p->written_ns, NSEC_PER_MSEC, 60 * NSEC_PER_SEC);
	}
	sampler_close(&t);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(done[i]);
	}
}

static void test_live_segment(void **unused)
{
	int id = shmget(IPC_PRIVATE, 2 * MIB, IPC_CREAT | 0600);
	const struct held_segment *g = NULL;
	struct sampler_test t = {};
	bool found = false;
	void *p;

	(void)unused;
	if (id < 0) {
		print_message("no System V segment could be made here\n");
		skip();
	}
	p = shmat(id, NULL, 0);
	memset(p, 1, 2 * MIB);
	shmdt(p);
	sampler_open(&t, &probe_holders);
	sampler_end(&t);
	for (size_t i = 0; (g = sampler_record(&t, REC_HELD_SEGMENT, i)) && !found; i++)
		if (g->id == (u64)id) {
			found = true;
			assert_int_equal(g->resident_bytes, 2 * MIB);
			assert_int_equal(g->attached, 0);
			assert_int_equal(g->creator_tgid, getpid());
			assert_true(g->creator);
		}
	sampler_close(&t);
	shmctl(id, IPC_RMID, NULL);
	assert_true(found);
}

static int tmpfs_make(char path[PATH_MAX], size_t bytes)
{
	static char block[1 << 16];
	int fd;

	snprintf(path, PATH_MAX, "/dev/shm/memwhy-test-%d", getpid());
	if (mkdir(path, 0700))
		return -1;
	strcat(path, "/file");
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	for (size_t n = 0; fd >= 0 && n < bytes; n += sizeof(block))
		if (write(fd, block, sizeof(block)) != sizeof(block))
			return -1;
	return fd;
}

static void test_tmpfs(void **unused)
{
	const struct held_files *f = NULL;
	struct sampler_test t = {};
	char path[PATH_MAX];
	int fd = tmpfs_make(path, 20 * MIB);
	bool found = false;

	(void)unused;
	if (fd < 0) {
		print_message("there is no /dev/shm to write to here\n");
		skip();
	}
	close(fd);
	sampler_open(&t, &probe_holders);
	sampler_end(&t);
	for (size_t i = 0; (f = sampler_record(&t, REC_HELD_FILES, i)); i++)
		found |= f->used_bytes >= 20 * MIB && f->found_bytes >= 20 * MIB && f->directory;
	sampler_close(&t);
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	assert_true(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_queues),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_terminals),
		cmocka_unit_test(test_pids_path),
		cmocka_unit_test(test_pids_limit),
		cmocka_unit_test(test_count_read),
		cmocka_unit_test(test_system_counts),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_written),
		cmocka_unit_test(test_live_segment),
		cmocka_unit_test(test_tmpfs),
	};

	return cmocka_run_group_tests_name("samplers_holders", tests, NULL, NULL);
}
