/*
 * Makes system calls of a known kind: `syscalls KIND`.
 *   abis     3 compat, 2 x32, 1 unknown number, 5 refused by seccomp
 *   tasks    vfork, fork, a signal handler, an interrupted sleep, execve in a second thread
 *   killed   a child that is killed while it sleeps
 *   hostile  pointers, sizes and texts that nobody should trust
 *   plain    calls whose arguments are shown
 *   storm N  N times getppid, in each of two threads
 *   crash    reads its own file, sleeps for 20 ms, and dies of SIGSEGV
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/un.h>
#include <sys/uio.h>
#include <sys/socket.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void refused(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, filter};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
	for (int i = 0; i < 5; i++)
		syscall(SYS_getppid);
}

static int abis(void)
{
	long nr;

	for (int i = 0; i < 3; i++) {
		nr = 20; /* getpid of i386; writev of x86-64 */
		__asm__ volatile("int $0x80" : "+a"(nr) : : "memory");
	}
	syscall(0x40000000 + SYS_getpid);
	syscall(0x40000000 + SYS_getpid);
	syscall(1000);
	refused();
	return 0;
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void *exec_elsewhere(void *arg)
{
	static char *const argv[] = {(char *)"true", NULL};

	execv("/bin/true", argv);
	return arg;
}

static int tasks(void)
{
	struct sigaction restart = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval soon = {.it_value = {0, 20000}};
	struct timespec pause_for = {0, 60000000};
	int status, pipes[2];
	char c;
	pthread_t t;

	if (!vfork())
		_exit(0);
	wait(&status);
	sigaction(SIGALRM, &restart, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	nanosleep(&pause_for, NULL); /* EINTR: it does not restart after a handler */
	if (pipe(pipes))
		return 1;
	if (!fork()) {
		usleep(60000);
		_exit(write(pipes[1], "x", 1) != 1);
	}
	setitimer(ITIMER_REAL, &soon, NULL);
	if (read(pipes[0], &c, 1) != 1) /* ERESTARTSYS, then 1 */
		return 1;
	wait(&status);
	fflush(stdout);
	pthread_create(&t, NULL, exec_elsewhere, NULL);
	for (;;)
		pause();
}

static int killed(void)
{
	int status, ready[2];
	char c = 0;
	pid_t child;

	if (pipe(ready))
		return 1;
	child = fork();
	if (!child) {
		if (write(ready[1], &c, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	if (read(ready[0], &c, 1) != 1)
		return 1;
	usleep(100000);
	kill(child, SIGKILL);
	wait(&status);
	return 0;
}

/* A text that fills a page to its end, with nothing behind it. */
static char *unending(void)
{
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(p, 'u', 4096);
	munmap(p + 4096, 4096);
	return p;
}

/* Structures, and what they point to, that cannot be read or are not what they seem. */
static void hostile_structures(char *edge)
{
	struct iovec parts[2] = {{(void *)0x10, ~0UL}, {edge + 4090, 64}};
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct msghdr msg = {.msg_name = edge + 4090,
		.msg_namelen = ~0U,
		.msg_iov = parts,
		.msg_iovlen = 1UL << 63};
	int fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_DGRAM, ~0U);
	unsigned int len = ~0U;

	fd = fd < 0 ? (int)syscall(SYS_socket, AF_UNIX, SOCK_DGRAM, 0) : fd;
	syscall(SYS_writev, fd, parts, 2L);
	syscall(SYS_writev, fd, edge + 4090, 1L << 62);
	syscall(SYS_readv, fd, 0x10, ~0UL);
	syscall(SYS_sendmsg, fd, &msg, 0);
	syscall(SYS_sendmsg, fd, edge + 4090, 0);
	msg.msg_iov = (void *)(edge + 4088);
	msg.msg_name = &un;
	syscall(SYS_sendmsg, fd, &msg, 0);
	syscall(SYS_recvmsg, fd, 0xffff800000000000UL, 0);
	memset(un.sun_path, '\033', sizeof(un.sun_path));
	syscall(SYS_connect, fd, &un, sizeof(un));
	syscall(SYS_connect, fd, &un, 1UL << 31);
	syscall(SYS_connect, fd, edge + 4095, 2);
	syscall(SYS_getsockname, fd, edge + 4095, &len);
	syscall(SYS_getsockname, fd, &un, edge + 4094);
	syscall(SYS_accept, fd, 0x10, 0x10);
	syscall(SYS_poll, edge + 4090, ~0UL, 0);
	syscall(SYS_ppoll, parts, 1UL << 61, edge + 4090, edge + 4090, ~0UL);
	syscall(SYS_epoll_wait, -1, edge + 4090, ~0U, 0);
	syscall(SYS_rt_sigaction, 1000, edge + 4090, 0x10, ~0UL);
	syscall(SYS_rt_sigprocmask, 1000, edge + 4090, 0x10, ~0UL);
	syscall(SYS_setitimer, 1000, edge + 4090, 0x10);
	syscall(SYS_prlimit64, 0, 1000, edge + 4090, 0x10);
	syscall(SYS_wait4, ~0U, edge + 4094, ~0U, 0x10);
	syscall(SYS_stat, edge, edge + 4090);
	syscall(SYS_fcntl, fd, F_SETLK, edge + 4090);
	close(fd);
}

static int hostile(void)
{
	static char long_path[6000];
	char *edge = unending();

	memset(long_path, 'l', sizeof(long_path) - 1);
	syscall(SYS_openat, AT_FDCWD, 0x10, O_RDONLY);
	syscall(SYS_openat, AT_FDCWD, 0xffff800000000000UL, O_RDONLY);
	syscall(SYS_openat, AT_FDCWD, 0x8000000000000000UL, O_RDONLY);
	syscall(SYS_openat, AT_FDCWD, edge, O_RDONLY);
	syscall(SYS_openat, AT_FDCWD, edge + 4090, O_RDONLY);
	syscall(SYS_openat, AT_FDCWD, long_path, O_RDONLY);
	syscall(SYS_openat, AT_FDCWD, "\033]0;owned\007\033[2Jred\"q\\b\r\n\t", O_RDONLY);
	syscall(SYS_openat, AT_FDCWD,
		"\xc2\x9b"
		"31m\xff\xfe\xe2\x82",
		O_RDONLY);
	syscall(SYS_openat, AT_FDCWD, "k\xc3\xa4se", O_RDONLY);
	syscall(SYS_openat, AT_FDCWD, "", O_RDONLY);
	syscall(SYS_write, 1, 0x10, 1UL << 63);
	syscall(SYS_write, -1, edge + 4090, ~0UL);
	syscall(SYS_read, -1, 0, 1UL << 63);
	syscall(SYS_execve, edge + 4090, 0x10, 0);
	syscall(SYS_execve, "/no/such", (char *const[]){(char *)0x10, NULL}, 0xffff800000000000UL);
	syscall(SYS_execve, "/no/such", edge + 4088, 0);
	syscall(SYS_clone3, edge + 4090, 88);
	syscall(SYS_epoll_ctl, -1, EPOLL_CTL_ADD, -1, edge + 4090);
	syscall(SYS_mbind, 0, ~0UL, 0x7fffffff, edge + 4090, ~0UL, ~0U);
	syscall(SYS_futex, 0x10, 0x7fffffff, 1, edge + 4090, 0, 0);
	syscall(SYS_nanosleep, edge + 4090, 0);
	syscall(SYS_rename, edge + 4090, long_path);
	syscall(SYS_ioctl, -1, 0xffffffff, ~0UL);
	syscall(~0UL, ~0UL, ~0UL, ~0UL, ~0UL, ~0UL, ~0UL);
	hostile_structures(edge);
	return 0;
}

static int plain(void)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data = {.u64 = 0x1234}};
	struct timespec second = {1, 500};
	unsigned int word = 1;
	unsigned long nodes = 1;
	char buf[64], *p;
	int fd, ep, pipes[2];

	fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC | O_APPEND);
	syscall(SYS_openat, AT_FDCWD, "/no/such", O_CREAT | O_WRONLY | O_TRUNC, 0644);
	syscall(SYS_write, fd,
		"hello\n\0\001"
		"9 and more than thirty-two bytes of it",
		48);
	syscall(SYS_read, fd, buf, sizeof(buf));
	p = (char *)syscall(SYS_mmap, 0x7000000000, 8192, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	syscall(SYS_madvise, p, 8192, MADV_HUGEPAGE);
	syscall(SYS_mprotect, p, 4096, PROT_NONE);
	syscall(SYS_mbind, p + 4096, 4096, 2, &nodes, 64, 0);
	syscall(SYS_munmap, p, 8192);
	syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
	syscall(SYS_futex, &word, FUTEX_WAIT, 2, &second);
	ep = (int)syscall(SYS_epoll_create1, EPOLL_CLOEXEC);
	syscall(SYS_epoll_ctl, ep, EPOLL_CTL_ADD, fd, &event);
	syscall(SYS_ioctl, fd, TCGETS, buf);
	syscall(SYS_ioctl, fd, _IOWR('m', 7, int), 0x10);
	syscall(SYS_pipe2, pipes, O_NONBLOCK);
	syscall(SYS_kill, getpid(), 0);
	syscall(SYS_clone, CLONE_FS | CLONE_THREAD | SIGCHLD, 0, 0, 0, 0); /* EINVAL */
	return 0;
}

static long storm_calls;

static void *storm_run(void *arg)
{
	for (long i = 0; i < storm_calls; i++)
		syscall(SYS_getppid);
	return arg;
}

static int storm(void)
{
	pthread_t t;

	pthread_create(&t, NULL, storm_run, NULL);
	storm_run(NULL);
	pthread_join(t, NULL);
	return 0;
}

static int crash(const char *self)
{
	char buf[16];
	int fd = open(self, O_RDONLY);

	if (fd < 0 || read(fd, buf, sizeof(buf)) != sizeof(buf))
		return 1;
	usleep(20000);
	raise(SIGSEGV);
	return 0;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	storm_calls = argc > 2 ? atol(argv[2]) : 0;
	if (!strcmp(kind, "abis"))
		return abis();
	if (!strcmp(kind, "tasks"))
		return tasks();
	if (!strcmp(kind, "killed"))
		return killed();
	if (!strcmp(kind, "hostile"))
		return hostile();
	if (!strcmp(kind, "plain"))
		return plain();
	if (!strcmp(kind, "storm"))
		return storm();
	if (!strcmp(kind, "crash"))
		return crash(argv[0]);
	fprintf(stderr, "what?\n");
	return 2;
}
