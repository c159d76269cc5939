/*
 * See answering.h. The keeper begins workers, one at a time; a worker opens what it is asked for,
 * and asks its file system. One that is late is replaced by another.
 */
#include "base/answering.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd_pass.h"
#include "base/str.h"
#include "base/util.h"

#define NAME "memwhy-asker"
#define WAIT_MS 2000      /* a busy host and a slow disk are no reason to go without */
#define WAIT_LATER_MS 100 /* while PATIENT or more are late */
#define PATIENT 2
#define LATE_MOST 32 /* each is a process */

struct ask {
	struct open_how how;
	bool has_dir; /* a descriptor comes with it */
	bool reads;   /* a descriptor to read from is wanted */
	size_t n_awaited;
	u64 awaited[LATE_MOST]; /* file systems that others wait for */
	char path[PATH_MAX];
};

/* Two come: of the open, and then of the file system, with the descriptor. One if that failed. */
struct answer {
	s32 rc;
	u32 opened;
	u64 device;
};

/* One that has not answered: its socket, and of which file system it asks; 0: not known. */
struct late {
	int socket;
	u64 device;
};

static struct {
	pthread_mutex_t lock;
	struct answering_how how;
	pid_t keeper;
	int socket; /* of the keeper; 0: there is none */
	int worker; /* 0: there is none */
	pid_t worker_pid;
	struct late late[LATE_MOST];
	size_t n_late;
	u64 missed;
	char first_missed[PATH_MAX];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

int stat_known(int dirfd, const char *path, int flags, struct stat *ret)
{
	struct statx x;

	if (statx(dirfd, path, flags | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &x))
		return -errno;
	*ret = (struct stat){
		.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
		.st_ino = x.stx_ino,
		.st_mode = x.stx_mode,
		.st_uid = x.stx_uid,
		.st_blocks = (blkcnt_t)x.stx_blocks,
		.st_mtim = {x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec},
	};
	return 0;
}

static int path_open(int dirfd, const char *path, const struct open_how *how)
{
	int fd = how->resolve ? (int)syscall(SYS_openat2, dirfd, path, how, sizeof(*how))
			      : openat(dirfd, path, (int)how->flags);

	return fd < 0 ? -errno : fd;
}

/* Turns an O_PATH descriptor, which touches nothing, into one to read from, if it is a regular
 * file. Looking first and opening by name second would leave a gap to swap the file in. */
static int path_reopen(int path_fd)
{
	char path[64];
	struct stat st;
	int rc = stat_known(path_fd, "", AT_EMPTY_PATH, &st), fd;

	if (rc || !S_ISREG(st.st_mode))
		return rc ? rc : -ENOTSUP;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

static int file_system_ask(int socket, const struct ask *ask, int fd)
{
	struct answer answer = {.opened = 1};
	struct statfs fs;
	struct stat st;
	int rc, to_read = -1;
	char byte;

	if (!stat_known(fd, "", AT_EMPTY_PATH, &st))
		answer.device = st.st_dev;
	rc = fd_send(socket, &answer, sizeof(answer), -1);
	for (size_t i = 0; i < ask->n_awaited; i++)
		if (ask->awaited[i] == answer.device)
			answer.rc = -ETIMEDOUT;
	if (!answer.rc) /* whatever it says: it says something */
		(void)fstatfs(fd, &fs);
	if (!answer.rc && ask->reads) {
		fd = to_read = path_reopen(fd);
		answer.rc = MIN(fd, 0);
		(void)!pread(fd, &byte, 1, 0);
	}
	rc = rc ? rc : fd_send(socket, &answer, sizeof(answer), answer.rc ? -1 : fd);
	if (to_read >= 0)
		close(to_read);
	return rc;
}

_Noreturn static void worker_work(int socket)
{
	struct ask ask;
	int dir, rc = 0;

	prctl(PR_SET_NAME, NAME);
	while (!rc && !fd_receive(socket, &ask, sizeof(ask), &dir)) {
		int fd = path_open(ask.has_dir ? dir : AT_FDCWD, ask.path, &ask.how);
		struct answer answer = {.rc = fd};

		rc = fd < 0 ? fd_send(socket, &answer, sizeof(answer), -1)
			    : file_system_ask(socket, &ask, fd);
		if (fd >= 0)
			close(fd);
		if (dir >= 0)
			close(dir);
	}
	_exit(0);
}

/* Each byte asks for a worker. It touches no file, and so it never waits for one. */
static void keeper_work(int socket)
{
	char byte;

	child_shut_in(NAME, socket);
	signal(SIGCHLD, SIG_IGN);
	if (all.how.shut_in)
		all.how.shut_in();
	while (read(0, &byte, 1) == 1) {
		int ends[2];
		pid_t pid;

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
			_exit(1);
		pid = fork();
		if (!pid) {
			close(0);
			close(ends[0]);
			worker_work(ends[1]);
		}
		if (pid < 0 || fd_send(0, &pid, sizeof(pid), ends[0]))
			_exit(1);
		close(ends[0]);
		close(ends[1]);
	}
}

int answering_begin(const struct answering_how *how)
{
	all.how = *how;
	all.missed = 0;
	return child_begin(SOCK_SEQPACKET, SIGKILL, keeper_work, &all.keeper, &all.socket);
}

static void socket_close(int *socket)
{
	if (*socket)
		close(*socket);
	*socket = 0;
}

void answering_end(void)
{
	socket_close(&all.worker);
	for (size_t i = 0; i < all.n_late; i++)
		socket_close(&all.late[i].socket);
	all.n_late = 0;
	if (all.socket) {
		socket_close(&all.socket);
		waitpid(all.keeper, NULL, 0);
	}
}

static bool is_readable(int socket, int ms)
{
	struct pollfd p = {.fd = socket, .events = POLLIN};
	u64 until = clock_mono_ns() + (u64)ms * NSEC_PER_MSEC;
	int n;

	do {
		u64 now = clock_mono_ns();

		n = poll(&p, 1, until > now ? (int)((until - now) / NSEC_PER_MSEC) : 0);
	} while (n < 0 && errno == EINTR);
	return n > 0;
}

static void worker_tell(bool begins)
{
	if (all.how.ran)
		all.how.ran(all.how.arg, all.worker_pid, begins);
}

static int worker_begin(void)
{
	int fd = -1, rc;
	pid_t pid;

	if (all.worker)
		return 0;
	if (write(all.socket, "", 1) != 1)
		return -EPIPE;
	rc = fd_receive(all.socket, &pid, sizeof(pid), &fd);
	if (rc || fd < 0)
		return rc ? rc : -EMFILE;
	all.worker = fd;
	all.worker_pid = pid;
	worker_tell(true);
	return 0;
}

/* Those that answer after all are left: they end with their socket. */
static void late_look(void)
{
	for (size_t i = 0; i < all.n_late;)
		if (is_readable(all.late[i].socket, 0)) {
			close(all.late[i].socket);
			all.late[i] = all.late[--all.n_late];
		} else {
			i++;
		}
}

static int worker_is_late(u64 device)
{
	all.late[all.n_late++] = (struct late){all.worker, device};
	all.worker = 0;
	worker_tell(false);
	return -ETIMEDOUT;
}

/* The descriptor, or -errno. */
static int answer_take(void)
{
	int ms = all.n_late < PATIENT ? WAIT_MS : WAIT_LATER_MS, fd = -1;
	struct answer first = {}, a = {};

	if (!is_readable(all.worker, ms))
		return worker_is_late(0);
	if (fd_receive(all.worker, &first, sizeof(first), &fd))
		return -EPIPE;
	if (!first.opened)
		return first.rc;
	if (!is_readable(all.worker, ms))
		return worker_is_late(first.device);
	if (fd_receive(all.worker, &a, sizeof(a), &fd))
		return -EPIPE;
	return a.rc ? a.rc : fd < 0 ? -EMFILE : fd;
}

static int worker_ask(int dirfd, struct ask *ask)
{
	int rc;

	late_look();
	if (all.n_late == LATE_MOST)
		return -ETIMEDOUT;
	rc = worker_begin();
	for (size_t i = 0; i < all.n_late; i++)
		if (all.late[i].device)
			ask->awaited[ask->n_awaited++] = all.late[i].device;
	if (!rc)
		rc = fd_send(all.worker, ask, sizeof(*ask), ask->has_dir ? dirfd : -1);
	rc = rc ? rc : answer_take();
	if (rc == -EPIPE && all.worker) { /* killed by somebody: the next one gets another */
		socket_close(&all.worker);
		worker_tell(false);
	}
	return rc;
}

/* By its name, where the path is the kernel's link to a mapped file: reading that asks no server.
 */
static void missed_note(const char *path)
{
	ssize_t n = -1;

	if (all.missed++)
		return;
	if (begins_with(path, "/proc/") && strstr(path, "/map_files/"))
		n = readlink(path, all.first_missed, sizeof(all.first_missed) - 1);
	if (n > 0)
		all.first_missed[n] = '\0';
	else
		snprintf(all.first_missed, sizeof(all.first_missed), "%s", path);
}

static int open_alone(int dirfd, const struct ask *ask)
{
	int fd = path_open(dirfd, ask->path, &ask->how), to_read;

	if (fd < 0 || !ask->reads)
		return fd;
	to_read = path_reopen(fd);
	close(fd);
	return to_read;
}

static int ask_open(int dirfd, const char *path, struct ask *ask)
{
	size_t n = strlen(path);
	int rc;

	if (n >= sizeof(ask->path))
		return -ENAMETOOLONG;
	memcpy(ask->path, path, n + 1);
	if (!all.socket)
		return open_alone(dirfd, ask);
	pthread_mutex_lock(&all.lock);
	rc = worker_ask(dirfd, ask);
	if (rc == -ETIMEDOUT)
		missed_note(path);
	pthread_mutex_unlock(&all.lock);
	return rc;
}

int answering_open(int dirfd, const char *path, unsigned flags, unsigned resolve)
{
	struct ask ask = {.how = {.flags = O_PATH | O_CLOEXEC | flags, .resolve = resolve},
		.has_dir = dirfd >= 0};

	return ask_open(dirfd, path, &ask);
}

int answering_open_to_read(int dirfd, const char *path, unsigned resolve)
{
	struct ask ask = {.how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve},
		.has_dir = dirfd >= 0,
		.reads = true};

	return ask_open(dirfd, path, &ask);
}

u64 answering_missed(const char **ret_first)
{
	*ret_first = all.first_missed;
	return all.missed;
}
