/*
 * Makes pages be allocated and freed in a known way. Says "ready" and waits for a line, works, says
 * how many nanoseconds of wall clock and of CPU time that took, and ends at the end of its input.
 * usage: pages_work MODE N
 *   touch: N single pages are faulted in and unmapped; keep: they stay until the end
 *   forks: N children; files: N files made and removed; loop: both, N times
 *   loopback: N MiB over a TCP connection to itself; storm: touch on all CPUs, N rounds of 16 MiB
 *   cross: N pages written to a pipe on CPU 0 and read on CPU 1
 *   threads: N threads one after the other, each touching a page
 *   pipes: N pages are left in pipes, or as many as the control group allows less a few
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096UL

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long cpu_ns(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000LL +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000LL;
}

static long long all_cpu_ns(void)
{
	return cpu_ns(RUSAGE_SELF) + cpu_ns(RUSAGE_CHILDREN);
}

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static char *pages_touch(long n)
{
	char *p = mmap(
		NULL, (size_t)n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(p != MAP_FAILED, "mmap");
	madvise(p, (size_t)n * PAGE, MADV_NOHUGEPAGE);
	for (long i = 0; i < n; i++)
		p[(size_t)i * PAGE] = 1;
	return p;
}

static void touch(long n)
{
	munmap(pages_touch(n), (size_t)n * PAGE);
}

static void one_fork(void)
{
	pid_t child = fork();

	must(child >= 0, "fork");
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

static void one_file(void)
{
	char name[64], text[8192] = {1};
	int fd;

	snprintf(name, sizeof(name), "pages_work.%d", (int)getpid());
	fd = open(name, O_CREAT | O_RDWR | O_TRUNC, 0600);
	must(fd >= 0, name);
	must(write(fd, text, sizeof(text)) == sizeof(text), "write");
	close(fd);
	unlink(name);
}

static void loop(long n, int forks, int files)
{
	for (long i = 0; i < n; i++) {
		if (forks)
			one_fork();
		if (files)
			one_file();
	}
}

struct flow {
	int in, out;
	long n;
	size_t size;
	int cpu;
};

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (cpu >= 0)
		must(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

static void *flow_read(void *arg)
{
	struct flow *f = arg;
	static char buf[65536];
	ssize_t got;

	pin(f->cpu);
	while ((got = read(f->in, buf, sizeof(buf))) > 0)
		;
	must(got == 0, "read");
	return NULL;
}

static void flow(struct flow *f, int write_cpu)
{
	static char buf[65536];
	pthread_t reader;

	must(!pthread_create(&reader, NULL, flow_read, f), "pthread_create");
	pin(write_cpu);
	for (long i = 0; i < f->n; i++)
		must(write(f->out, buf, f->size) == (ssize_t)f->size, "write");
	shutdown(f->out, SHUT_WR);
	close(f->out);
	pthread_join(reader, NULL);
	close(f->in);
}

static void loopback(long mib)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int server = socket(AF_INET, SOCK_STREAM, 0), out = socket(AF_INET, SOCK_STREAM, 0), in;

	must(server >= 0 && out >= 0, "socket");
	must(!bind(server, (void *)&at, sizeof(at)) && !listen(server, 1), "bind");
	must(!getsockname(server, (void *)&at, &len), "getsockname");
	must(!connect(out, (void *)&at, sizeof(at)), "connect");
	in = accept(server, NULL, NULL);
	must(in >= 0, "accept");
	flow(&(struct flow){.in = in, .out = out, .n = mib * 16, .size = 65536, .cpu = -1}, -1);
	close(server);
}

static void cross(long n)
{
	int fds[2];

	must(!pipe(fds), "pipe");
	fcntl(fds[1], F_SETPIPE_SZ, 1 << 20);
	flow(&(struct flow){.in = fds[0], .out = fds[1], .n = n, .size = PAGE, .cpu = 1}, 0);
}

static void pipes(long n)
{
	static char page[PAGE];
	static int fds[512][2];

	/* Or the group takes a page of this program first, whose next fault then waits. */
	must(!mlockall(MCL_CURRENT), "mlockall");
	n = n > 512 * 16 ? 512 * 16 : n;
	for (long i = 0; i < n / 16; i++)
		must(!pipe2(fds[i], O_NONBLOCK), "pipe");
	for (long i = 0; i < n; i++) {
		if (write(fds[i / 16][1], page, PAGE) == (ssize_t)PAGE)
			continue;
		/* Room to say so. */
		close(fds[0][0]);
		close(fds[0][1]);
		return;
	}
}

static void *thread_touch(void *arg)
{
	touch(1);
	return arg;
}

static void threads(long n)
{
	pthread_t t;

	for (long i = 0; i < n; i++) {
		must(!pthread_create(&t, NULL, thread_touch, NULL), "pthread_create");
		pthread_join(t, NULL);
	}
}

static void storm(long n)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	pid_t self = getpid();

	for (long i = 0; i < cpus; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != self) /* it was killed before */
			_exit(1);
		pin((int)i);
		for (long k = 0; k < n; k++)
			touch(4096);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
}

static void work(const char *mode, long n)
{
	if (!strcmp(mode, "touch"))
		touch(n);
	else if (!strcmp(mode, "keep"))
		pages_touch(n);
	else if (!strcmp(mode, "forks"))
		loop(n, 1, 0);
	else if (!strcmp(mode, "files"))
		loop(n, 0, 1);
	else if (!strcmp(mode, "loop"))
		loop(n, 1, 1);
	else if (!strcmp(mode, "loopback"))
		loopback(n);
	else if (!strcmp(mode, "storm"))
		storm(n);
	else if (!strcmp(mode, "cross"))
		cross(n);
	else if (!strcmp(mode, "threads"))
		threads(n);
	else if (!strcmp(mode, "pipes"))
		pipes(n);
	else
		exit(2);
}

int main(int argc, char **argv)
{
	char line[64];
	long long start, cpu;

	if (argc != 3)
		return 2;
	setvbuf(stdout, NULL, _IONBF, 0);
	puts("ready");
	if (!fgets(line, sizeof(line), stdin))
		return 0;
	start = now_ns();
	cpu = all_cpu_ns();
	work(argv[1], atol(argv[2]));
	printf("%lld %lld\n", now_ns() - start, all_cpu_ns() - cpu);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
