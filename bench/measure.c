/*
 * Runs a tool and measures it from outside. Knows nothing of any tool but its descriptors: a tool
 * is attached when it holds the most BPF links and perf events it ever will.
 *
 *   measure run LOG CMD...
 *       prints STATUS WALL_MS ATTACHED_MS RSS_KB CPU_MS; ATTACHED_MS is -1 if it never attached.
 *   measure during LOG CMD... -- WORKLOAD...
 *       starts CMD, waits until it is attached, runs WORKLOAD, interrupts CMD. Prints WORKLOAD's
 *       output, then "tool STATUS ATTACHED_MS RSS_KB CPU_WHILE_MS CPU_AFTER_MS": CPU time while
 *       WORKLOAD ran, and from then until its end.
 *   measure progs LOG CMD... -- WORKLOAD...
 *       the same with the kernel's BPF statistics on; adds "prog NAME RUNS NS_A_RUN" for each BPF
 *       program of CMD that ran.
 *   measure empty WORKLOAD...
 *       what these statistics say of a program that does nothing, on page_fault_user.
 *
 * CMD's output goes to the file LOG. Status 0, or 1 with one line on stderr.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_US 300    /* between looks at the descriptors */
#define SETTLED_MS 300 /* no new ones for so long: attached; or $SETTLED_MS */
#define GIVE_UP_MS 15000
#define PROGS_MAX 32

struct tool {
	pid_t pid;
	double start_ms, attached_ms;
	int most; /* descriptors seen at once */
	int status;
	struct rusage use;
	bool ended;
};

struct prog {
	uint32_t id;
	uint64_t ns, runs;
	char name[BPF_OBJ_NAME_LEN];
};

static pid_t running; /* killed if we are */

static void die(const char *what)
{
	fprintf(stderr, "measure: %s: %s\n", what, strerror(errno));
	if (running > 0)
		kill(running, SIGKILL);
	exit(1);
}

static void stopped(int sig)
{
	if (running > 0)
		kill(running, SIGKILL);
	_exit(128 + sig);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static pid_t start(char **argv, const char *log)
{
	pid_t pid = fork();
	int fd;

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	if (log) {
		fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
			_exit(126);
		close(fd);
		fd = open("/dev/null", O_RDONLY);
		dup2(fd, 0);
		close(fd);
	}
	execvp(argv[0], argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static bool is_hook(const char *link)
{
	return strstr(link, "[perf_event]") || strstr(link, "bpf_link") ||
	       strstr(link, "bpf-link") || strstr(link, "bpf-raw-tracepoint");
}

static int hooks_count(pid_t pid)
{
	char path[300], link[128];
	struct dirent *e;
	int n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		ssize_t len = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);

		if (len <= 0)
			continue;
		link[len] = '\0';
		n += is_hook(link);
	}
	if (d)
		closedir(d);
	return n;
}

/* One look at a tool: has it ended, has it more hooks than before? */
static void look(struct tool *t)
{
	int n;

	if (!t->ended && wait4(t->pid, &t->status, WNOHANG, &t->use) == t->pid) {
		t->ended = true;
		running = 0;
		return;
	}
	n = hooks_count(t->pid);
	if (n > t->most) {
		t->most = n;
		t->attached_ms = now_ms() - t->start_ms;
	}
	usleep(LOOK_US);
}

static struct tool tool_start(char **argv, const char *log)
{
	struct tool t = {.start_ms = now_ms(), .attached_ms = -1};

	t.pid = running = start(argv, log);
	return t;
}

/* Waits for its end, and at last ends it. */
static void tool_end(struct tool *t, double limit_ms)
{
	double until = now_ms() + limit_ms;

	while (!t->ended && now_ms() < until)
		look(t);
	if (t->ended)
		return;
	kill(t->pid, SIGKILL);
	if (wait4(t->pid, &t->status, 0, &t->use) == t->pid)
		t->ended = true;
	running = 0;
}

static int status_of(const struct tool *t)
{
	return WIFSIGNALED(t->status) ? 128 + WTERMSIG(t->status) : WEXITSTATUS(t->status);
}

static double cpu_ms(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1e3 +
	       (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) / 1e3;
}

/* CPU time of all threads so far. */
static double cpu_now_ms(pid_t pid)
{
	char path[600];
	struct dirent *e;
	double sum = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		unsigned long long ns;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", pid, e->d_name);
		f = isdigit((unsigned char)e->d_name[0]) ? fopen(path, "re") : NULL;
		if (f && fscanf(f, "%llu", &ns) == 1)
			sum += (double)ns / 1e6;
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return sum;
}

static int run(int argc, char **argv)
{
	struct tool t;

	if (argc < 2)
		return 2;
	t = tool_start(argv + 1, argv[0]);
	tool_end(&t, GIVE_UP_MS);
	printf("%d %.2f %.2f %ld %.1f\n", status_of(&t), now_ms() - t.start_ms, t.attached_ms,
		t.use.ru_maxrss, cpu_ms(&t.use));
	return 0;
}

static int bpf(int cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static void prog_read(uint32_t id, struct prog *p)
{
	struct bpf_prog_info info = {};
	union bpf_attr attr = {.prog_id = id};
	int fd = bpf(BPF_PROG_GET_FD_BY_ID, &attr);

	attr = (union bpf_attr){.info = {.bpf_fd = (uint32_t)fd,
					.info_len = sizeof(info),
					.info = (uintptr_t)&info}};
	if (fd < 0 || bpf(BPF_OBJ_GET_INFO_BY_FD, &attr))
		die("reading a BPF program");
	close(fd);
	*p = (struct prog){.id = id, .ns = info.run_time_ns, .runs = info.run_cnt};
	memcpy(p->name, info.name, sizeof(p->name));
}

/* The BPF programs a process holds. */
static int progs_read(pid_t pid, struct prog *progs)
{
	char path[600], line[128];
	struct dirent *e;
	int n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	d = opendir(path);
	while (d && (e = readdir(d)) && n < PROGS_MAX) {
		uint32_t id = 0;
		bool is_link = false;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", pid, e->d_name);
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f)) {
			is_link |= !strncmp(line, "link_", 5);
			sscanf(line, "prog_id: %u", &id);
		}
		if (f)
			fclose(f);
		if (id && !is_link)
			prog_read(id, &progs[n++]);
	}
	if (d)
		closedir(d);
	return n;
}

static void progs_print(const struct prog *before, const struct prog *after, int n)
{
	for (int i = 0; i < n; i++) {
		uint64_t runs = after[i].runs - before[i].runs;

		if (runs && after[i].id == before[i].id)
			printf("prog %s %llu %.1f\n", after[i].name, (unsigned long long)runs,
				(double)(after[i].ns - before[i].ns) / (double)runs);
	}
}

static int stats_on(void)
{
	union bpf_attr attr = {.enable_stats = {.type = BPF_STATS_RUN_TIME}};
	int fd = bpf(BPF_ENABLE_STATS, &attr);

	if (fd < 0)
		die("BPF statistics");
	return fd;
}

static void workload(char **argv)
{
	pid_t pid;

	fflush(stdout);
	pid = start(argv, NULL);
	waitpid(pid, NULL, 0);
}

static int during(int argc, char **argv, bool with_progs)
{
	struct prog before[PROGS_MAX], after[PROGS_MAX];
	const char *patience = getenv("SETTLED_MS");
	double cpu[2] = {}, settled = patience ? atof(patience) : SETTLED_MS;
	int split = 1, stats = -1, n = 0;
	struct tool t;

	while (split < argc && strcmp(argv[split], "--"))
		split++;
	if (split < 2 || split + 1 >= argc)
		return 2;
	argv[split] = NULL;
	if (with_progs)
		stats = stats_on();
	t = tool_start(argv + 1, argv[0]);
	while (!t.ended && now_ms() - t.start_ms < GIVE_UP_MS &&
		(!t.most || now_ms() - t.start_ms - t.attached_ms < settled))
		look(&t);
	if (!t.ended && t.most) {
		n = with_progs ? progs_read(t.pid, before) : 0;
		cpu[0] = cpu_now_ms(t.pid);
		workload(argv + split + 1);
		cpu[1] = cpu_now_ms(t.pid);
		if (with_progs && progs_read(t.pid, after) == n)
			progs_print(before, after, n);
		kill(t.pid, SIGINT);
	}
	tool_end(&t, GIVE_UP_MS);
	printf("tool %d %.2f %ld %.1f %.1f\n", status_of(&t), t.attached_ms, t.use.ru_maxrss,
		cpu[1] - cpu[0], cpu_ms(&t.use) - cpu[1]);
	if (stats >= 0)
		close(stats);
	return 0;
}

static int empty(char **argv)
{
	struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr load = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insns = (uintptr_t)code,
		.insn_cnt = 2,
		.license = (uintptr_t) "GPL",
		.prog_name = "empty",
	};
	union bpf_attr open = {.raw_tracepoint = {.name = (uintptr_t) "page_fault_user"}};
	struct prog before[PROGS_MAX], after[PROGS_MAX];
	int prog = bpf(BPF_PROG_LOAD, &load);

	open.raw_tracepoint.prog_fd = (uint32_t)prog;
	if (prog < 0 || bpf(BPF_RAW_TRACEPOINT_OPEN, &open) < 0)
		die("an empty BPF program");
	stats_on();
	if (progs_read(getpid(), before) != 1)
		die("finding the empty BPF program");
	workload(argv);
	progs_read(getpid(), after);
	progs_print(before, after, 1);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";

	signal(SIGTERM, stopped);
	signal(SIGHUP, stopped);
	signal(SIGINT, stopped);
	if (!strcmp(mode, "run"))
		return run(argc - 2, argv + 2);
	if (!strcmp(mode, "during") || !strcmp(mode, "progs"))
		return during(argc - 2, argv + 2, mode[0] == 'p');
	if (!strcmp(mode, "empty"))
		return empty(argv + 2);
	fputs("usage: measure run|during|progs|empty ...\n", stderr);
	return 2;
}
