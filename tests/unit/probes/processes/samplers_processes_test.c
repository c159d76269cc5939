/* Tests of the processes probe's sampler. */
#include "clock_fixture.h"
#include "probes/samplers_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "probes/processes/processes.h"
#include "probes/processes/processes_files.h"
#include "sys/process/proc.h"

/* More than the time within which a sampler does not sample again; and than it waits for each
 * nanosecond of CPU that its last look took, which is more on a busy machine. */
#define DUE_NS 460000000ULL
#define DUE_PART 150

struct made {
	u32 pid, ppid;
	const char *comm;
	u64 rss, anon; /* pages */
	u64 start;     /* ticks */
};

static void put(u32 pid, const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
	fixture_put_text(path, text);
}

static void make(const struct made *m)
{
	char text[512];

	snprintf(text, sizeof(text), "%llu %llu %llu 1 0 1 0\n", m->rss * 2, m->rss,
		m->rss - m->anon);
	put(m->pid, "statm", text);
	snprintf(text, sizeof(text),
		"%u (%s) S %u 1 1 0 -1 4194304 30 0 4 0 50 60 0 0 20 0 3 0 %llu 1 %llu 0 1 1 0 0 0 "
		"0 6 0 1 0 0 0 17 1 0 0 0 0 0\n",
		m->pid, m->comm, m->ppid, m->start, m->rss);
	put(m->pid, "stat", text);
	snprintf(text, sizeof(text), "%s\n", m->comm);
	put(m->pid, "comm", text);
	snprintf(text, sizeof(text),
		"Name:\tx\nTgid:\t%u\nPid:\t%u\nVmHWM:\t99 kB\nVmRSS:\t98 kB\nRssAnon:\t97 kB\n"
		"RssFile:\t1 kB\nVmSwap:\t12 kB\nThreads:\t3\nCpus_allowed_list:\t1-2\n",
		m->pid, m->pid);
	put(m->pid, "status", text);
}

static const struct process_memory *of(const struct sampler_test *t, u32 pid)
{
	const struct process_memory *r;

	for (size_t i = 0; (r = sampler_record(t, REC_PROCESS_MEMORY, i)); i++)
		if (r->tgid == pid)
			return r;
	return NULL;
}

static u64 looked_ns; /* CPU time of the last look */

static void look(struct sampler_test *t)
{
	u64 begun = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	sampler_forget(t);
	sampler_sample(t);
	looked_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
}

static void start(struct sampler_test *t)
{
	sampler_open(t, &probe_processes);
	look(t);
}

static void next(struct sampler_test *t)
{
	usleep((useconds_t)(MAX(DUE_NS, looked_ns * DUE_PART) / NSEC_PER_USEC));
	look(t);
}

static void test_values(void **state)
{
	const u64 page = (u64)sysconf(_SC_PAGESIZE), tick = 1000000000 / (u64)sysconf(_SC_CLK_TCK);
	const struct process_memory *r;
	const struct process_detail *d;
	const struct rec_task *task;
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	make(&(struct made){7, 1, ") R 1\n(\x1b[31m\xff", 1000, 600, 5});
	start(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_MEMORY), 1);
	r = of(&t, 7);
	assert_int_equal(r->ppid, 1);
	assert_int_equal(r->rss_bytes, 1000 * page);
	assert_int_equal(r->anon_bytes, 600 * page);
	assert_int_equal(r->first_anon_bytes, 600 * page);
	assert_int_equal(r->start_ns, 5 * tick);
	assert_int_equal(r->minflt_total, 30);
	assert_int_equal(r->majflt_total, 4);
	assert_int_equal(r->utime_ns, 50 * tick);
	assert_int_equal(r->stime_ns, 60 * tick);
	assert_int_equal(r->h.flags, PROCESS_EXACT);
	assert_int_equal(r->exact_anon_bytes, 97 * 1024);
	assert_int_equal(r->swap_bytes, 12 * 1024);
	assert_string_equal(r->comm, ") R 1\n(\x1b[31m\xff");
	task = sampler_record(&t, REC_TASK, 0);
	assert_non_null(task);
	assert_string_equal(task->comm, r->comm);
	d = sampler_record(&t, REC_PROCESS_DETAIL, 0);
	assert_int_equal(d->threads, 3);
	assert_int_equal(d->rss_peak_bytes, 99 * 1024);
	assert_int_equal(d->h.flags, 0);
	sampler_close(&t);
	fixture_remove(root);
}

/* A start is told on the clock of the records: time while the machine was suspended, which the
 * kernel counts in it, is taken off. It stays what it was through another suspend. */
static void test_suspended(void **state)
{
	const u64 hz = (u64)sysconf(_SC_CLK_TCK), hour = 3600 * NSEC_PER_SEC;
	u64 now = clock_mono_ns() / NSEC_PER_SEC * NSEC_PER_SEC, start_ns = now - NSEC_PER_SEC;
	struct made old = {7, 1, "old", 1000, 600, 5}, new = {8, 1, "new", 1000, 600, 0};
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_suspended_ns = hour;
	fixture_make(root);
	new.start = (start_ns + hour) / NSEC_PER_SEC *hz;
	make(&old);
	make(&new);
	start(&t);
	assert_int_equal(of(&t, 7)->start_ns, 1);
	assert_in_range(of(&t, 8)->start_ns, start_ns, start_ns + NSEC_PER_MSEC);
	start_ns = of(&t, 8)->start_ns;

	fixture_suspended_ns = 2 * hour;
	new.rss += 1000;
	new.anon += 1000;
	make(&new);
	next(&t);
	assert_int_equal(of(&t, 8)->start_ns, start_ns);
	assert_true(of(&t, 8)->first_anon_bytes < of(&t, 8)->anon_bytes);

	/* Its number is given again. */
	new.start += 1;
	make(&new);
	next(&t);
	assert_int_equal(of(&t, 8)->first_anon_bytes, of(&t, 8)->anon_bytes);
	sampler_close(&t);
	fixture_remove(root);
	fixture_suspended_ns = 0;
}

/* Only what changed is sent, and growth is told since the process was first seen. */
static void test_growth(void **state)
{
	const u64 page = (u64)sysconf(_SC_PAGESIZE);
	struct made big = {50, 1, "big", 100000, 90000, 5}, small = {51, 1, "small", 500, 400, 6};
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	make(&big);
	make(&small);
	/* More than are sent for their size alone. */
	for (u32 i = 100; i < 140; i++)
		make(&(struct made){i, 1, "filler", 2000 + i, 1000 + i, 7});
	start(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_MEMORY), 32);
	assert_non_null(of(&t, 50));
	assert_null(of(&t, 51));
	assert_null(of(&t, 107));
	assert_non_null(of(&t, 139));

	sampler_forget(&t);
	sampler_sample(&t); /* not yet due */
	assert_int_equal(t.records.n, 0);

	small.rss = 1200;
	small.anon = 1100;
	make(&small);
	next(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_MEMORY), 1);
	assert_int_equal(of(&t, 51)->anon_bytes, 1100 * page);
	assert_int_equal(of(&t, 51)->first_anon_bytes, 400 * page);
	assert_true(of(&t, 51)->first_ns < of(&t, 51)->h.time_ns);

	/* That it no longer grows is told too. */
	next(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_MEMORY), 1);
	assert_int_equal(of(&t, 51)->anon_bytes, 1100 * page);

	sampler_end(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_MEMORY), 33);
	sampler_close(&t);
	fixture_remove(root);
}

/* Workers of one parent, each of which grows by less than is worth a record, are told together. */
static void test_family(void **state)
{
	const u64 page = (u64)sysconf(_SC_PAGESIZE);
	const struct process_family *r;
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	make(&(struct made){10, 1, "server", 5000, 4000, 5});
	for (u32 i = 11; i < 19; i++)
		make(&(struct made){i, 10, "server", 500, 400, 6});
	make(&(struct made){20, 10, "other", 500, 400, 6});
	start(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_FAMILY), 0);
	for (u32 i = 11; i < 19; i++)
		make(&(struct made){i, 10, "server", 600, 500, 6});
	make(&(struct made){20, 10, "other", 600, 500, 6});
	next(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_FAMILY), 1);
	r = sampler_record(&t, REC_PROCESS_FAMILY, 0);
	assert_int_equal(r->leader, 10);
	assert_int_equal(r->processes, 9);
	assert_int_equal(r->first_anon_bytes, (4000 + 8 * 400) * page);
	assert_int_equal(r->anon_bytes, (4000 + 8 * 500) * page);
	assert_string_equal(r->comm, "server");
	next(&t); /* that it stopped is told, too */
	assert_int_equal(sampler_count(&t, REC_PROCESS_FAMILY), 1);
	sampler_close(&t);
	fixture_remove(root);
}

/* CPU ticks of a Java program, and of its collector. */
static void java(u32 all, u32 collector)
{
	static const char line[] = "%u (%s) S 1 1 1 0 -1 4194304 30 0 4 0 %u 0 0 0 20 0 2 0 5 1 5000 0 "
				   "1 1 0 0 0 0 6 0 1 0 0 0 17 1 0 0 0 0 0\n";
	char text[512];

	snprintf(text, sizeof(text), line, 30, "java", all);
	put(30, "stat", text);
	snprintf(text, sizeof(text), line, 31, "GC Thread#0", collector);
	put(30, "task/31/stat", text);
}

/* Its threads are read again only where one of them has run. */
static void test_collector(void **state)
{
	const u64 tick = NSEC_PER_SEC / (u64)sysconf(_SC_CLK_TCK);
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	make(&(struct made){30, 1, "java", 5000, 4000, 5});
	java(100, 7);
	start(&t);
	assert_int_equal(of(&t, 30)->collector_ns, 7 * tick);
	t.c.ending = true; /* all is read anew */
	java(100, 9);
	next(&t);
	assert_int_equal(of(&t, 30)->collector_ns, 7 * tick);
	java(101, 9);
	next(&t);
	assert_int_equal(of(&t, 30)->collector_ns, 9 * tick);
	sampler_close(&t);
	fixture_remove(root);
}

/* A program that is started with a limit for Go's heap has one only if it is of Go. */
static void test_go_limit(void **state)
{
	static const char environ_of[] = "PATH=/bin\0GOMEMLIMIT=64MiB";
	static const char maps[] = "c000000000-c000400000 rw-p 00000000 00:00 0 \n";
	struct sampler_test t = {};
	char root[PATH_MAX], path[64];

	(void)state;
	fixture_make(root);
	for (u32 pid = 30; pid <= 31; pid++) {
		make(&(struct made){pid, 1, pid == 30 ? "shopd" : "other", 5000, 4000, 5});
		snprintf(path, sizeof(path), "/proc/%u/environ", pid);
		fixture_put(path, environ_of, sizeof(environ_of));
		put(pid, "maps", pid == 30 ? maps : "00400000-00500000 r-xp 00000000 00:00 0 \n");
	}
	start(&t);
	assert_int_equal(of(&t, 30)->heap_limit_bytes, 64 << 20);
	assert_true(of(&t, 30)->h.flags & PROCESS_SOFT_HEAP);
	assert_int_equal(of(&t, 31)->heap_limit_bytes, 0);
	assert_false(of(&t, 31)->h.flags & PROCESS_SOFT_HEAP);
	sampler_close(&t);
	fixture_remove(root);
}

/* What was a wrapper when it was first seen belongs to what it has become, with those before it. */
static void test_family_wrapped(void **state)
{
	const struct process_family *r;
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	make(&(struct made){10, 1, "crond", 900, 400, 5});
	for (u32 i = 11; i < 19; i++)
		make(&(struct made){i, 10, "sync", 5000, 4000, 6});
	start(&t);
	make(&(struct made){20, 10, "sh", 200, 100, 9});
	next(&t);
	make(&(struct made){20, 10, "sync", 5000, 4000, 9});
	next(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_FAMILY), 1);
	r = sampler_record(&t, REC_PROCESS_FAMILY, 0);
	assert_string_equal(r->comm, "sync");
	assert_int_equal(r->leader, 10);
	assert_int_equal(r->first_processes, 8);
	assert_int_equal(r->processes, 9);
	assert_int_equal(r->oldest_ns, 6 * (NSEC_PER_SEC / (u64)sysconf(_SC_CLK_TCK)));
	sampler_close(&t);
	fixture_remove(root);
}

/* The first thread has ended: its files say nothing of memory, another's say it all. */
static void test_headless(void **state)
{
	const u64 page = (u64)sysconf(_SC_PAGESIZE);
	const struct process_memory *r;
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	make(&(struct made){50, 1, "batch", 1000, 900, 5});
	put(50, "statm", "0 0 0 0 0 0 0\n");
	put(50, "stat",
		"50 (batch) Z 1 1 1 0 -1 4194304 30 0 4 0 50 60 0 0 20 0 2 0 5 0 0 0 0 0 0 "
		"0 0 0 6 0 1 0 0 0 17 1 0 0 0 0 0\n");
	put(50, "status", "Name:\tbatch\nTgid:\t50\nPid:\t50\nThreads:\t2\n");
	fixture_put_text("/proc/50/task/51/stat", "51 (batch) S 1 1 1 0 -1 4194304 30 0 4 0 50 60 "
						  "0 0 20 0 2 0 5 8192000 1000 0 0 1 1 "
						  "0 0 0 6 0 1 0 0 0 17 1 0 0 0 0 0\n");
	fixture_put_text("/proc/50/task/51/statm", "2000 1000 100 1 0 1 0\n");
	fixture_put_text("/proc/50/task/51/status",
		"Name:\tbatch\nTgid:\t50\nPid:\t51\nVmRSS:\t4000 kB\nRssAnon:\t3600 kB\n"
		"VmStk:\t132 kB\nThreads:\t2\n");
	start(&t);
	r = of(&t, 50);
	assert_non_null(r);
	assert_int_equal(r->anon_bytes, 900 * page);
	assert_int_equal(r->exact_anon_bytes, 3600 << 10);
	assert_int_equal(r->stack_bytes, 132 << 10);
	assert_true(r->h.flags & PROCESS_HEADLESS);

	/* Its last thread ends too: no others run on, though the sizes are yet to be read. */
	put(50, "statm", "2000 1000 100 1 0 1 0\n");
	put(50, "stat",
		"50 (batch) Z 1 1 1 0 -1 4194304 30 0 4 0 50 61 0 0 20 0 1 0 5 0 0 0 0 0 0 "
		"0 0 0 6 0 1 0 0 0 17 1 0 0 0 0 0\n");
	next(&t);
	r = of(&t, 50);
	assert_non_null(r);
	assert_false(r->h.flags & PROCESS_HEADLESS);
	sampler_close(&t);
	fixture_remove(root);
}

/* Processes end between any two reads, and their numbers are used again. */
static void test_vanishing(void **state)
{
	const u64 page = (u64)sysconf(_SC_PAGESIZE);
	struct made a = {50, 1, "a", 1000, 900, 5};
	struct sampler_test t = {};
	char root[PATH_MAX], path[PATH_MAX];

	(void)state;
	fixture_make(root);
	make(&a);
	put(60, "comm", "no statm\n");
	put(61, "statm", "100 90 10 0 0 0 0\n"); /* no stat */
	put(62, "statm", "\xff\xfe");
	put(63, "statm", "100 90 10 0 0 0 0\n");
	put(63, "stat", "63 (half");
	put(2, "statm", "0 0 0 0 0 0 0\n"); /* a kernel thread */
	start(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_MEMORY), 1);
	assert_non_null(of(&t, 50));

	a = (struct made){50, 2, "b", 3000, 2000, 777};
	make(&a);
	next(&t);
	assert_int_equal(of(&t, 50)->first_anon_bytes, 2000 * page);
	assert_string_equal(of(&t, 50)->comm, "b");
	assert_true(of(&t, 50)->start_ns);

	assert_int_equal(sys_path(path, "/proc/50"), 0);
	assert_int_equal(nftw(path, fixture_unlink, 16, FTW_DEPTH | FTW_PHYS), 0);
	sampler_end(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_MEMORY), 0);
	sampler_close(&t);
	fixture_remove(root);
}

static void test_nothing(void **state)
{
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	sampler_open(&t, &probe_processes);
	sampler_forget(&t);
	sampler_sample(&t);
	sampler_end(&t);
	assert_int_equal(t.records.n, 0);
	sampler_close(&t);
	fixture_remove(root);
}

static void scope_tree(void)
{
	/* 40 has a child with a lower number, which has one too; 70 is nobody's. */
	make(&(struct made){40, 1, "root", 1000, 500, 5});
	make(&(struct made){30, 40, "child", 900, 400, 5});
	make(&(struct made){20, 30, "grandchild", 800, 300, 5});
	make(&(struct made){70, 1, "other", 9000, 8000, 5});
}

/* Where somebody watches all of it is sent once an interval, changed or not, and what is gone is
 * not. */
static void test_watched(void **state)
{
	struct made a = {7, 1, "a", 1000, 600, 5}, b = {8, 1, "b", 20, 10, 6};
	struct sampler_test t = {.c.opt.watch_ns = 400000000};
	const struct process_memory *r;
	char root[PATH_MAX], path[PATH_MAX];

	(void)state;
	fixture_make(root);
	make(&a);
	make(&b);
	put(7, "oom_score", "670\n");
	put(7, "oom_score_adj", "-17\n");
	start(&t);
	r = of(&t, 7);
	assert_int_equal(r->h.flags, PROCESS_EXACT | PROCESS_OOM | PROCESS_EVERY | PROCESS_USER);
	assert_int_equal(r->uid, geteuid()); /* who made the tree */
	assert_true(r->user);
	assert_int_equal(of(&t, 8)->user, r->user);
	assert_int_equal(r->oom_score, 670);
	assert_int_equal(r->oom_score_adj, -17);
	assert_int_equal(r->rss_file_bytes, 1024);
	assert_int_equal(r->threads, 3);
	assert_int_equal(of(&t, 8)->h.flags, PROCESS_EXACT | PROCESS_EVERY | PROCESS_USER);
	next(&t);
	assert_non_null(of(&t, 7));
	assert_non_null(of(&t, 8));
	sampler_forget(&t);
	sampler_sample(&t); /* not twice in an interval */
	assert_null(of(&t, 7));
	assert_int_equal(sys_path(path, "/proc/8"), 0);
	assert_int_equal(nftw(path, fixture_unlink, 16, FTW_DEPTH | FTW_PHYS), 0);
	next(&t);
	assert_non_null(of(&t, 7));
	assert_null(of(&t, 8));
	sampler_close(&t);
	fixture_remove(root);
}

static pid_t child_start(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

/* The limit before. */
static rlim_t files_limit(rlim_t n)
{
	struct rlimit was, is;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	is = was;
	is.rlim_cur = n;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &is), 0);
	return was.rlim_cur;
}

static int lowest_free(void)
{
	int fd = dup(STDIN_FILENO);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

/* A file that stays open is that of its process, and is closed with it. */
static void test_files(void **state)
{
	_cleanup_close_ int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_str_ struct str text = {};
	struct process_files_room room = {proc, 9};
	struct process_files f = {};
	pid_t pid = child_start();
	struct proc_stat st;
	rlim_t limit;

	(void)state;
	assert_int_equal(process_file_read(&f, PROCESS_STATM, &room, (u32)pid, false, &text), 0);
	assert_int_equal(f.fds[PROCESS_STATM], 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(
			process_file_read(&f, PROCESS_STAT, &room, (u32)pid, true, &text), 0);
		assert_int_equal(proc_stat_parse(str_get(&text), &st), 0);
		assert_int_equal(st.pid, pid);
	}
	assert_true(f.fds[PROCESS_STAT] > 0);
	assert_int_equal(f.fds[PROCESS_STATM], 0);
	assert_int_equal(room.left, 8);

	/* No more may be open: what it has goes for the one read, and none stays. */
	limit = files_limit((rlim_t)lowest_free());
	assert_int_equal(process_file_read(&f, PROCESS_STATM, &room, (u32)pid, true, &text), 0);
	assert_true(text.len);
	assert_int_equal(f.fds[PROCESS_STAT], 0);
	assert_int_equal(room.left, 0);
	files_limit(limit);
	room.left = 1;
	assert_int_equal(process_file_read(&f, PROCESS_STAT, &room, (u32)pid, true, &text), 0);
	assert_int_equal(process_file_read(&f, PROCESS_STATM, &room, (u32)pid, true, &text), 0);
	assert_int_equal(f.fds[PROCESS_STATM], 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(process_file_read(&f, PROCESS_STAT, &room, (u32)pid, true, &text), -ESRCH);
	assert_int_equal(f.fds[PROCESS_STAT], 0);
	assert_int_equal(
		process_file_read(&f, PROCESS_STAT, &room, (u32)pid, true, &text), -ENOENT);
}

/* That no more files may be open says nothing of processes: they are those they were. */
static void test_files_exhausted(void **state)
{
	const u64 page = (u64)sysconf(_SC_PAGESIZE);
	struct made m = {50, 1, "grows", 1000, 900, 5};
	struct sampler_test t = {};
	char root[PATH_MAX];
	rlim_t limit;

	(void)state;
	fixture_make(root);
	make(&m);
	start(&t);
	limit = files_limit(0);
	next(&t);
	files_limit(limit);
	m.rss = m.anon = 3000;
	make(&m);
	next(&t);
	assert_non_null(of(&t, 50));
	assert_int_equal(of(&t, 50)->first_anon_bytes, 900 * page);
	assert_int_equal(of(&t, 50)->anon_bytes, 3000 * page);
	sampler_close(&t);
	fixture_remove(root);
}

static void test_scope_tasks(void **state)
{
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	scope_tree();
	assert_int_equal(vec_push(&t.c.opt.scope.tasks, 40), 0);
	assert_int_equal(vec_push(&t.c.opt.scope.tasks, 99), 0); /* gone */
	start(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_MEMORY), 1);
	assert_non_null(of(&t, 40));
	sampler_close(&t);

	/* A command that is not started yet: nothing is asked for. */
	t = (struct sampler_test){};
	t.c.opt.scope.by_task = true;
	start(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_MEMORY), 0);
	sampler_close(&t);
	fixture_remove(root);
}

static void test_scope_follow(void **state)
{
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	scope_tree();
	t.c.opt.scope.follow = t.c.opt.scope.by_task = true;
	assert_int_equal(vec_push(&t.c.opt.scope.tasks, 40), 0);
	start(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_MEMORY), 3);
	assert_null(of(&t, 70));

	/* A new child, and one whose parent is gone meanwhile. */
	make(&(struct made){80, 20, "new", 100, 90, 5});
	make(&(struct made){20, 1, "grandchild", 850, 300, 5});
	next(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_MEMORY), 2);
	assert_non_null(of(&t, 80));
	assert_int_equal(of(&t, 20)->ppid, 1);
	sampler_close(&t);
	fixture_remove(root);
}

static void test_scope_comm(void **state)
{
	struct made m = {30, 40, "other", 950, 400, 5};
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	scope_tree();
	strcpy(t.c.opt.scope.comm, "other");
	start(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_MEMORY), 1);
	assert_non_null(of(&t, 70));
	/* One becomes another program, one is no longer what was asked for. */
	make(&m);
	make(&(struct made){70, 1, "another", 9100, 8000, 5});
	next(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_MEMORY), 1);
	assert_non_null(of(&t, 30));
	sampler_close(&t);
	fixture_remove(root);
}

static void test_scope_cgroup(void **state)
{
	struct sampler_test t = {};
	char root[PATH_MAX], path[PATH_MAX];
	struct stat st;

	(void)state;
	fixture_make(root);
	scope_tree();
	fixture_put_text(
		"/proc/self/mountinfo", "27 22 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	fixture_put_text("/sys/fs/cgroup/a/b/memory.current", "1\n");
	fixture_put_text("/sys/fs/cgroup/a.b/memory.current", "1\n");
	put(20, "cgroup", "0::/a/b\n");
	put(30, "cgroup", "0::/a.b\n");
	put(40, "cgroup", "0::/a\n");
	put(70, "cgroup", "0::/\n");
	assert_int_equal(sys_path(path, "/sys/fs/cgroup/a"), 0);
	assert_int_equal(stat(path, &st), 0);
	t.c.opt.scope.cgroup_id = st.st_ino;
	t.c.opt.cgroup_version = SCOPE_CGROUP_V2;
	start(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_MEMORY), 2);
	assert_true(of(&t, 40)->cgroup == st.st_ino);
	assert_non_null(of(&t, 20));
	assert_int_equal(sampler_count(&t, REC_CGROUP), 2);
	sampler_close(&t);

	/* A group that is no more. */
	t = (struct sampler_test){};
	t.c.opt.scope.cgroup_id = 12345678901;
	t.c.opt.cgroup_version = SCOPE_CGROUP_V2;
	start(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_MEMORY), 0);
	sampler_close(&t);
	fixture_remove(root);
}

static void test_rollup(void **state)
{
	const struct process_detail *d;
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	make(&(struct made){7, 1, "big", 1000, 600, 5});
	put(7, "smaps_rollup",
		"00400000-7ffc00000000 ---p 00000000 00:00 0                  [rollup]\nRss: 4000 "
		"kB\n"
		"Pss: 3000 kB\nAnonHugePages: 2048 kB\nLazyFree: 8 kB\nSwapPss: 4 kB\n");
	/* Too big to be walked, and so left out and said so. */
	make(&(struct made){8, 1, "huge", 1ULL << 33, 1ULL << 33, 5});
	put(8, "smaps_rollup", "Pss: 3000 kB\n");
	start(&t);
	d = sampler_record(&t, REC_PROCESS_DETAIL, 1);
	assert_int_equal(d->tgid, 7);
	assert_int_equal(d->h.flags, 0);
	sampler_end(&t);
	d = sampler_record(&t, REC_PROCESS_DETAIL, 0);
	assert_int_equal(d->tgid, 8);
	assert_int_equal(d->h.flags, 0);
	d = sampler_record(&t, REC_PROCESS_DETAIL, 1);
	assert_int_equal(d->h.flags, PROCESS_ROLLUP);
	assert_int_equal(d->pss_bytes, 3000 * 1024);
	assert_int_equal(d->anon_huge_bytes, 2048 * 1024);
	assert_int_equal(d->lazy_free_bytes, 8 * 1024);
	assert_int_equal(d->swap_pss_bytes, 4 * 1024);
	assert_int_equal(sampler_count(&t, REC_NOTE), 1);
	assert_int_equal(sampler_count(&t, REC_PROCESS_NUMA), 0); /* one node */
	sampler_close(&t);
	fixture_remove(root);
}

static void test_numa(void **state)
{
	const struct process_numa *r;
	struct sampler_test t = {};
	char root[PATH_MAX];
	struct made m = {7, 1, "big", 1000, 600, 5};

	(void)state;
	fixture_make(root);
	fixture_put_text("/sys/devices/system/cpu/online", "0-3\n");
	fixture_put_text("/sys/devices/system/node/online", "0-1\n");
	fixture_put_text("/sys/devices/system/node/node0/cpulist", "0,2\n");
	fixture_put_text("/sys/devices/system/node/node1/cpulist", "1,3\n");
	make(&m);
	put(7, "numa_maps",
		"00400000 default file=/bin/x mapped=5 N0=2 N1=3 kernelpagesize_kB=4\n"
		"7f0000000000 default anon=700 dirty=700 N1=700 kernelpagesize_kB=4\n"
		"7f0010000000 bind:0 file=/anon_hugepage huge dirty=1 N0=1 "
		"kernelpagesize_kB=2048\n");
	put(7, "task/7/stat",
		"7 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 3 0 5 1 9 0 1 1 0 0 0 0 6 0 1 0 0 0 17 "
		"2 0\n");
	put(7, "task/8/stat",
		"8 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 3 0 5 1 9 0 1 1 0 0 0 0 6 0 1 0 0 0 17 "
		"3 0\n");
	put(7, "task/9/comm", "gone\n");
	put(7, "status",
		"Name:\tbig\nTgid:\t7\nPid:\t7\nThreads:\t3\n"
		"Cpus_allowed_list:\t1-2\nMems_allowed_list:\t1\n");
	sampler_open(&t, &probe_processes);
	assert_non_null(sampler_method(&t, "NUMA nodes of the biggest"));
	sampler_sample(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_NUMA), 0);
	sampler_end(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_NUMA), 1);
	r = sampler_record(&t, REC_PROCESS_NUMA, 0);
	assert_int_equal(r->tgid, 7);
	assert_int_equal(r->nodes, 2);
	assert_int_equal(r->resident_pages[0], 2 + (2048 * 1024) / sysconf(_SC_PAGESIZE));
	assert_int_equal(r->resident_pages[1], 703);
	assert_int_equal(r->resident_pages[2], 0);
	assert_int_equal(r->threads[0], 1);
	assert_int_equal(r->threads[1], 1);
	assert_int_equal(r->threads_total, 3);
	assert_int_equal(r->allowed_nodes, 3);
	assert_string_equal(r->comm, "big");
	assert_int_equal(r->policy_pages[0], (2048 * 1024) / sysconf(_SC_PAGESIZE));
	assert_int_equal(r->policy_pages[1], 0);
	assert_int_equal(r->h.flags, PROCESS_NUMA_OWN);
	assert_int_not_equal(r->policy, 0);
	assert_int_equal(r->allowed_memory, 2);
	assert_int_equal(r->cpu_nodes, 3);
	sampler_close(&t);
	fixture_remove(root);
}

/* Beside the biggest, those whose policy binds them: the small one of several that has such a one.
 */
static void test_numa_bound(void **state)
{
	const struct process_numa *r;
	struct sampler_test t = {};
	char root[PATH_MAX];

	(void)state;
	fixture_make(root);
	fixture_put_text("/sys/devices/system/cpu/online", "0-3\n");
	fixture_put_text("/sys/devices/system/node/online", "0-1\n");
	fixture_put_text("/sys/devices/system/node/node0/cpulist", "0,2\n");
	fixture_put_text("/sys/devices/system/node/node1/cpulist", "1,3\n");
	for (int i = 0; i < 8; i++) {
		struct made m = {10 + i, 1, "some", i < 6 ? 90000 : 1000, 600, 5};
		const char *policy = i == 7 ? "bind:1" : "default";
		char text[128];

		make(&m);
		snprintf(text, sizeof(text),
			"00400000 %s file=/bin/x mapped=5 N1=5 kernelpagesize_kB=4\n", policy);
		put(10 + i, "numa_maps", text);
		snprintf(text, sizeof(text), "task/%d/numa_maps", 10 + i);
		put(10 + i, text,
			policy[0] == 'b' ? "00400000 bind:1 N1=5\n" : "00400000 default\n");
	}
	fixture_put("/proc/17/cmdline", "./x\0a b", 8);
	sampler_open(&t, &probe_processes);
	sampler_end(&t);
	assert_int_equal(sampler_count(&t, REC_PROCESS_NUMA), 6);
	r = sampler_record(&t, REC_PROCESS_NUMA, 5);
	assert_int_equal(r->tgid, 17);
	assert_int_equal(r->policy_pages[1], 5);
	assert_int_equal(r->h.flags, 0);
	assert_int_not_equal(r->command, 0);
	sampler_close(&t);
	fixture_remove(root);
}

/* A captured machine with two nodes. */
static void test_numa_captured(void **state)
{
	const struct process_numa *r;
	struct sampler_test t = {};

	(void)state;
	fixture_use("6.1");
	start(&t);
	assert_string_equal(of(&t, 1234)->comm, "a) R (b\n\\x");
	sampler_end(&t);
	r = sampler_record(&t, REC_PROCESS_NUMA, 0);
	assert_non_null(r);
	assert_int_equal(r->nodes, 2);
	assert_true(r->resident_pages[0] + r->resident_pages[1] > 1000);
	assert_int_equal(r->allowed_nodes, 3);
	sampler_close(&t);
	sys_root_set("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_suspended),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_family),
		cmocka_unit_test(test_collector),
		cmocka_unit_test(test_go_limit),
		cmocka_unit_test(test_family_wrapped),
		cmocka_unit_test(test_headless),
		cmocka_unit_test(test_vanishing),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_watched),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_files_exhausted),
		cmocka_unit_test(test_scope_tasks),
		cmocka_unit_test(test_scope_follow),
		cmocka_unit_test(test_scope_comm),
		cmocka_unit_test(test_scope_cgroup),
		cmocka_unit_test(test_rollup),
		cmocka_unit_test(test_numa),
		cmocka_unit_test(test_numa_bound),
		cmocka_unit_test(test_numa_captured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
