/*
 * System calls with structures, whose lines are held against strace's: the same every time but for
 * addresses, process ids and times. Begins with getppid, so that a reader knows where.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define call(...) syscall(__VA_ARGS__)

static void files(void)
{
	char buf[64] = {}, text[] = "first and a long part that is cut after a while\n";
	struct iovec parts[5] = {
		{"one ", 4}, {text, sizeof(text) - 1}, {buf, 0}, {"x\ty", 3}, {"5", 1}};
	struct iovec into[2] = {{buf, 6}, {buf + 8, 40}};
	struct timespec times[2] = {{1, 2}, {3, UTIME_OMIT}};
	struct stat st;
	struct statx sx;
	int fd = memfd_create("values", MFD_CLOEXEC), pipes[2];

	call(SYS_fcntl, fd, F_GETFD);
	call(SYS_fcntl, fd, F_SETFD, 0);
	call(SYS_fcntl, fd, F_GETFL);
	call(SYS_fcntl, fd, F_SETFL, O_RDWR | O_APPEND | O_NONBLOCK);
	call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 20);
	call(SYS_writev, fd, parts, 4);
	call(SYS_pwritev, fd, parts, 1, 100, 0);
	call(SYS_preadv, fd, into, 2, 0, 0);
	call(SYS_lseek, fd, 0, SEEK_SET);
	call(SYS_readv, fd, into, 2);
	call(SYS_pread64, fd, buf, 4, 0);
	call(SYS_ftruncate, fd, 4096);
	call(SYS_fstat, fd, &st);
	call(SYS_stat, "/dev/null", &st);
	call(SYS_lstat, "/", &st);
	call(SYS_stat, "/no/such", &st);
	call(SYS_newfstatat, AT_FDCWD, "/dev/zero", &st, AT_SYMLINK_NOFOLLOW);
	call(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH);
	call(SYS_statx, AT_FDCWD, "/dev/null", AT_STATX_SYNC_AS_STAT, STATX_TYPE | STATX_SIZE, &sx);
	call(SYS_utimensat, fd, NULL, times, 0);
	call(SYS_utimensat, fd, NULL, NULL, 0);
	call(SYS_ioctl, fd, FIONREAD, buf);
	call(SYS_ioctl, 1000, TIOCGWINSZ, buf);
	call(SYS_faccessat, AT_FDCWD, "/", R_OK | X_OK);
	call(SYS_access, "/no/such", F_OK);
	call(SYS_pipe2, pipes, O_CLOEXEC);
	call(SYS_ioctl, pipes[0], FIONREAD, buf);
	call(SYS_dup3, pipes[0], 30, O_CLOEXEC);
	call(SYS_mkdirat, AT_FDCWD, "/no/such/dir", 0755);
	call(SYS_unlinkat, AT_FDCWD, "/no/such", 0);
	call(SYS_renameat2, AT_FDCWD, "/no/such", AT_FDCWD, "/no/such2", 1);
	call(SYS_readlink, "/proc/self/no", buf, sizeof(buf));
	call(SYS_close, 30);
}

static void sockets(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
			   peer;
	struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(9), .sin6_addr = in6addr_loopback};
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "/no/such/socket"},
			   ab = {.sun_family = AF_UNIX, .sun_path = "\0memwhy\1 test"};
	struct sockaddr_nl nl = {.nl_family = AF_NETLINK, .nl_groups = 2};
	struct sockaddr_storage any;
	struct iovec part = {"datagram", 8}, into[1];
	char buf[32];
	struct msghdr msg = {
		.msg_name = &in, .msg_namelen = sizeof(in), .msg_iov = &part, .msg_iovlen = 1};
	socklen_t len = sizeof(in);
	int one = 1, a, b, c, pair[2];

	a = (int)call(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	call(SYS_bind, a, &in, sizeof(in));
	getsockname(a, (struct sockaddr *)&in, &len);
	b = (int)call(SYS_socket, AF_INET, SOCK_DGRAM, IPPROTO_UDP);
	call(SYS_sendto, b, "hi", 2, MSG_NOSIGNAL, &in, sizeof(in));
	len = sizeof(any);
	call(SYS_recvfrom, a, buf, sizeof(buf), 0, &any, &len);
	call(SYS_sendmsg, b, &msg, MSG_DONTWAIT);
	into[0] = (struct iovec){buf, sizeof(buf)};
	msg = (struct msghdr){
		.msg_name = &any, .msg_namelen = sizeof(any), .msg_iov = into, .msg_iovlen = 1};
	call(SYS_recvmsg, a, &msg, 0);
	call(SYS_recvfrom, a, buf, sizeof(buf), MSG_DONTWAIT, NULL, NULL);
	call(SYS_connect, b, &in, sizeof(in));
	len = sizeof(peer);
	call(SYS_getpeername, b, &peer, &len);
	call(SYS_setsockopt, a, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	len = sizeof(one);
	call(SYS_getsockopt, a, SOL_SOCKET, SO_ERROR, &one, &len);
	call(SYS_shutdown, b, SHUT_WR);
	c = (int)call(SYS_socket, AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP);
	call(SYS_setsockopt, c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	call(SYS_connect, c, &in6, sizeof(in6));
	c = (int)call(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
	call(SYS_connect, c, &un, sizeof(un));
	call(SYS_connect, c, &ab, 2 + 13);
	call(SYS_accept4, c, NULL, NULL, SOCK_CLOEXEC);
	c = (int)call(SYS_socket, AF_NETLINK, SOCK_RAW, 0);
	call(SYS_bind, c, &nl, sizeof(nl));
	call(SYS_bind, c, &nl, 1);
	call(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET, 0, pair);
	call(SYS_sendto, pair[0], "pair", 4, 0, NULL, 0);
}

static void waiting(void)
{
	struct timespec shortly = {0, 1000000}, long_ago = {0, 0}, ts;
	struct timeval tv;
	struct itimerval timer = {.it_value = {100, 5}};
	struct itimerspec ispec = {.it_value = {0, 500}, .it_interval = {7, 0}};
	struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = 7}}, events[4];
	struct pollfd fds[3] = {{0, POLLIN, 0}, {-1, 0, 0}, {0, POLLIN | POLLOUT | POLLPRI, 0}};
	struct sigaction old, act = {.sa_handler = SIG_IGN, .sa_flags = SA_RESTART};
	struct rlimit limit = {1024, RLIM_INFINITY}, had;
	unsigned long set = 1UL << (SIGUSR1 - 1) | 1UL << (SIGCHLD - 1), was, all = ~0UL;
	struct {
		unsigned long handler, flags, restorer, mask;
	} raw = {4096, SA_SIGINFO, 0, 0x10000}, none;
	int pipes[2], ep, status;
	pid_t child;

	call(SYS_nanosleep, &shortly, NULL);
	call(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &long_ago, &ts);
	call(SYS_clock_gettime, 1000, &ts);
	call(SYS_setitimer, ITIMER_REAL, &timer, NULL);
	timer.it_value.tv_sec = 0, timer.it_value.tv_usec = 0;
	call(SYS_setitimer, 5, &timer, NULL);
	call(SYS_timerfd_settime, 1000, TFD_TIMER_ABSTIME, &ispec, NULL);
	call(SYS_alarm, 0);
	if (pipe(pipes) || write(pipes[1], "x", 1) != 1)
		return;
	fds[0].fd = pipes[0], fds[2].fd = pipes[1];
	call(SYS_poll, fds, 3, 1000);
	call(SYS_poll, fds + 1, 1, 0);
	call(SYS_ppoll, fds, 1, &shortly, &set, 8);
	ep = (int)call(SYS_epoll_create1, 0);
	call(SYS_epoll_ctl, ep, EPOLL_CTL_ADD, pipes[0], &event);
	call(SYS_epoll_wait, ep, events, 4, -1);
	call(SYS_epoll_pwait, ep, events, 4, 0, &set, 8);
	call(SYS_epoll_ctl, ep, EPOLL_CTL_DEL, pipes[0], NULL);
	call(SYS_epoll_wait, ep, events, 4, 0);
	call(SYS_rt_sigprocmask, SIG_BLOCK, &set, &was, 8);
	call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &was, 8);
	call(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &was, 8);
	call(SYS_rt_sigprocmask, SIG_UNBLOCK, &all, NULL, 8);
	call(SYS_rt_sigaction, SIGUSR2, &raw, &none, 8);
	call(SYS_rt_sigaction, SIGUSR2, NULL, &none, 8);
	sigaction(SIGPIPE, &act, &old);
	call(SYS_prlimit64, 0, RLIMIT_CORE, NULL, &had);
	call(SYS_setrlimit, RLIMIT_CORE, &limit);
	call(SYS_getrlimit, RLIMIT_CORE, &had);
	call(SYS_settimeofday, NULL, (void *)1);
	call(SYS_gettimeofday, &tv, (void *)1);
	child = fork();
	if (!child)
		_exit(3);
	while (call(SYS_wait4, child, &status, 0, NULL) < 0 && errno == EINTR)
		;
	child = fork();
	if (!child) {
		raise(SIGKILL);
		_exit(0);
	}
	call(SYS_wait4, -1, &status, WUNTRACED, NULL);
	call(SYS_wait4, -1, &status, WNOHANG, NULL);
}

/* What is asked of the system, and descriptors in sets. */
static void system_asked(void)
{
	char buf[4096], *many[16] = {"/bin/true", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10",
				"a\tb", "a text that is longer than what is shown of one"};
	struct utsname names;
	struct sysinfo info;
	struct rusage usage;
	struct statfs fs;
	struct termios tty;
	struct timeval none = {0, 0};
	struct timespec none_ns = {0, 0};
	struct {
		const unsigned long *set;
		size_t size;
	} mask = {NULL, 8};
	unsigned long set = 1UL << (SIGRTMIN - 1) | 1UL << 39 | 1UL << 63;
	struct {
		unsigned long handler, flags, restorer, mask;
	} raw = {4096, SA_SIGINFO, 0, 1UL << 35}, old;
	fd_set from, to;
	int fd, pipes[2], on = 1;
	pid_t child;

	call(SYS_getcwd, buf, sizeof(buf));
	call(SYS_getcwd, buf, 1);
	call(SYS_chdir, "/proc/self/task");
	call(SYS_getcwd, buf, 64);
	call(SYS_getrandom, buf, 0, GRND_NONBLOCK);
	call(SYS_getrandom, buf, 40, 0x80);
	call(SYS_uname, &names);
	call(SYS_uname, 1);
	call(SYS_sysinfo, &info);
	call(SYS_getrusage, RUSAGE_SELF, &usage);
	call(SYS_getrusage, 77, &usage);
	call(SYS_statfs, "/proc", &fs);
	call(SYS_statfs, "/no/such", &fs);
	fd = (int)call(SYS_openat, AT_FDCWD, "/sys/kernel", O_RDONLY | O_DIRECTORY);
	call(SYS_fstatfs, fd, &fs);
	call(SYS_getdents64, fd, buf, 24);
	call(SYS_getdents64, fd, buf, sizeof(buf));
	call(SYS_getdents64, fd, buf, sizeof(buf));
	call(SYS_getdents64, 1000, buf, sizeof(buf));
	call(SYS_ioctl, fd, FIOCLEX);
	call(SYS_ioctl, fd, FIONCLEX);
	call(SYS_ioctl, fd, TCGETS, &tty);
	fd = (int)call(SYS_openat, AT_FDCWD, "/dev/ptmx", O_RDWR | O_NOCTTY);
	call(SYS_ioctl, fd, TCGETS, &tty);
	if (pipe(pipes) || write(pipes[1], "x", 1) != 1)
		return;
	call(SYS_ioctl, pipes[0], FIONBIO, &on);
	call(SYS_fcntl, pipes[0], F_SETSIG, SIGRTMIN + 3);
	call(SYS_fcntl, pipes[0], F_GETSIG);
	call(SYS_fcntl, pipes[0], F_SETOWN, 0);
	FD_ZERO(&from);
	FD_ZERO(&to);
	FD_SET(pipes[0], &from);
	FD_SET(pipes[1], &to);
	call(SYS_select, pipes[1] + 1, &from, &to, NULL, &none);
	FD_ZERO(&to);
	call(SYS_pselect6, pipes[1] + 1, &to, NULL, NULL, &none_ns, &mask);
	call(SYS_select, -1, &from, NULL, NULL, NULL);
	call(SYS_select, 0, NULL, NULL, NULL, &none);
	call(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 8);
	call(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, 8);
	call(SYS_rt_sigaction, 36, &raw, &old, 8);
	call(SYS_rt_sigaction, SIGIO, &raw, &old, 8);
	call(SYS_kill, 0x7ffffff0, 33);
	call(SYS_tgkill, 0x7ffffff0, 0x7ffffff0, 64);
	call(SYS_execve, "/no/such", many, NULL);
	child = fork();
	if (!child) {
		raise(SIGRTMIN + 5);
		_exit(0);
	}
	call(SYS_wait4, child, &fd, 0, &usage);
	raw.handler = 0;
	call(SYS_rt_sigaction, 36, &raw, NULL, 8);
}

int main(void)
{
	call(SYS_getppid);
	files();
	sockets();
	waiting();
	system_asked();
	call(SYS_sched_setaffinity, 0, 8, NULL);
	call(SYS_umask, 022);
	call(SYS_kill, getpid(), 0);
	call(SYS_exit_group, 0);
	return 0;
}
