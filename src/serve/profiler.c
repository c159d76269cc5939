/* See profiler.h. */
#include "serve/profiler.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/again.h"
#include "base/child.h"
#include "base/fd_pass.h"
#include "base/file.h"
#include "base/units.h"

#define AT_ONCE 2                 /* that are made */
#define PROFILE_BYTES (8UL << 20) /* of one, packed */
#define WAIT_SECONDS 120          /* for its end, beyond its own time; before the server's end */
#define END_MS 5000               /* for its end, once it is told to */
#define LEAVE_MS 100
#define WORDS_MOST 16

const struct profile_kind profile_kinds[PROFILE_KINDS] = {
	{"heap", true,
		"what a process allocates during the profile and what of it stays in use, by code "
		"path"},
	{"faults", false, "page faults and their durations"},
	{"stalls", false, "waits for memory and their durations"},
	{"pages", false, "page allocations"},
};

/* With the profile, or with words, as a file. */
struct answer {
	enum { PROFILE_MADE, PROFILE_FAILED, PROFILE_BUSY } is;
};

static bool ask_is_good(const struct profile_ask *a)
{
	return a->kind < PROFILE_KINDS && a->pid <= INT_MAX && a->seconds &&
	       a->seconds <= PROFILE_SECONDS_MAX && (a->pid || !profile_kinds[a->kind].of_process);
}

_Noreturn static void command_exec(const struct profile_ask *a, int out, int words)
{
	const struct profile_kind *k = &profile_kinds[a->kind];
	const struct rlimit most = {PROFILE_BYTES, PROFILE_BYTES};
	const char *argv[WORDS_MOST] = {"memwhy", k->name, "-o", "pprof", "--for"};
	char pid[16], seconds[16];
	sigset_t none;
	size_t n = 5;

	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setrlimit(RLIMIT_FSIZE, &most);
	snprintf(seconds, sizeof(seconds), "%us", a->seconds);
	snprintf(pid, sizeof(pid), "%u", a->pid);
	argv[n++] = seconds;
	if (!k->of_process)
		argv[n++] = "--stacks";
	if (a->pid) {
		argv[n++] = "-p";
		argv[n++] = pid;
	}
	again_exec(argv, out, words);
}

static void command_end(pid_t pid, int watch)
{
	struct pollfd fd = {.fd = watch, .events = POLLIN};

	kill(pid, SIGTERM);
	if (watch < 0 || poll(&fd, 1, END_MS) <= 0)
		kill(pid, SIGKILL);
}

/* False: it did not end well. Where nobody waits for it any more, it ends. */
static bool command_wait(pid_t pid, int asker, u32 seconds)
{
	int watch = (int)syscall(SYS_pidfd_open, pid, 0), status;
	struct pollfd fds[] = {{.fd = watch, .events = POLLIN}, {.fd = asker}};
	/* Without a watch it ends at once: nobody would see its end. */
	int rc = watch < 0 ? -1 : poll(fds, ARRAY_SIZE(fds), (int)(seconds + WAIT_SECONDS) * 1000);

	if (rc <= 0 || !fds[0].revents)
		command_end(pid, watch);
	if (watch >= 0)
		close(watch);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* What is sent to the whole group is for the service: none of it ends who makes profiles. */
static void signals_but_term(sigset_t *ret)
{
	sigfillset(ret);
	sigdelset(ret, SIGTERM);
}

/* In a process of its own, for one profile. */
static void worker(const struct profile_ask *a, int asker)
{
	_cleanup_close_ int out = memfd_create("profile", MFD_CLOEXEC);
	_cleanup_close_ int words = memfd_create("profile-words", MFD_CLOEXEC);
	struct answer answer = {PROFILE_FAILED};
	pid_t pid;

	signal(SIGCHLD, SIG_DFL);
	pid = out < 0 || words < 0 ? -1 : fork();
	if (!pid)
		command_exec(a, out, words);
	if (pid > 0 && command_wait(pid, asker, a->seconds) && lseek(out, 0, SEEK_END) > 0)
		answer.is = PROFILE_MADE;
	(void)fd_send(asker, &answer, sizeof(answer), answer.is == PROFILE_MADE ? out : words);
}

static void on_child(int number)
{
	(void)number; /* it ends the poll below */
}

/* Takes leave of workers that have ended. */
static void workers_leave(u32 *running)
{
	while (*running && waitpid(-1, NULL, WNOHANG) > 0)
		--*running;
}

/* SIGCHLD comes while it waits, and only then, so none is missed. */
static void ask_await(int socket, u32 *running)
{
	const struct timespec leave = {.tv_nsec = LEAVE_MS * 1000000L};
	struct pollfd fd = {.fd = socket, .events = POLLIN};
	sigset_t others;
	int rc;

	signals_but_term(&others);
	sigdelset(&others, SIGCHLD);
	do {
		rc = ppoll(&fd, 1, NULL, &others);
		workers_leave(running);
	} while (rc < 0 && errno == EINTR);
	if (*running < AT_ONCE)
		return;
	ppoll(NULL, 0, &leave, &others); /* one that has answered may be about to end */
	workers_leave(running);
}

/* Begins a worker; else it says why there is none. */
static void ask_take(int socket, const struct profile_ask *a, int asker, u32 *running)
{
	const struct answer busy = {PROFILE_BUSY}, failed = {PROFILE_FAILED};
	pid_t pid = *running < AT_ONCE && ask_is_good(a) ? fork() : -1;

	if (!pid) {
		close(socket);
		worker(a, asker);
		_exit(0);
	}
	if (pid > 0)
		++*running;
	else
		(void)fd_send(asker, *running < AT_ONCE ? &failed : &busy, sizeof(busy), -1);
	close(asker);
}

static void profiler_serve(int socket)
{
	const struct sigaction child = {.sa_handler = on_child};
	struct profile_ask a;
	sigset_t blocked;
	u32 running = 0;
	int asker;

	sigaction(SIGCHLD, &child, NULL);
	signals_but_term(&blocked);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	prctl(PR_SET_NAME, "memwhy-profiles");
	for (;;) {
		ask_await(socket, &running);
		if (fd_receive(socket, &a, sizeof(a), &asker))
			return;
		if (asker >= 0)
			ask_take(socket, &a, asker, &running);
	}
}

int profiler_begin(struct profiler *ret)
{
	return child_begin(SOCK_SEQPACKET, SIGTERM, profiler_serve, &ret->pid, &ret->socket);
}

bool profiler_is_gone(const struct profiler *p)
{
	return p->socket >= 0 && child_has_ended(p->pid);
}

void profiler_end(struct profiler *p)
{
	if (p->socket < 0)
		return;
	child_end(p->pid, p->socket);
	*p = (struct profiler){.socket = -1};
}

bool profile_query_parse(const char *query, struct profile_ask *ret)
{
	static const char *const names[] = {"pid=", "seconds="};
	u32 *const values[] = {&ret->pid, &ret->seconds};
	const u64 most[] = {INT_MAX, PROFILE_SECONDS_MAX};

	for (const char *at = query; *at; at += strcspn(at, "&"), at += *at == '&')
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			size_t n = strlen(names[i]);
			char number[16];
			u64 value;

			if (strncmp(at, names[i], n) != 0)
				continue;
			snprintf(number, sizeof(number), "%.*s",
				(int)MIN(strcspn(at + n, "&"), 15UL), at + n);
			if (parse_u64(number, 1, most[i], &value))
				return false;
			*values[i] = (u32)value;
		}
	return true;
}

int profiler_ask(const struct profiler *p, const struct profile_ask *ask, int *ret_fd)
{
	int ends[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
		return -errno;
	rc = fd_send(p->socket, ask, sizeof(*ask), ends[1]);
	close(ends[1]);
	if (rc)
		close(ends[0]);
	else
		*ret_fd = ends[0];
	return rc;
}

bool profiler_take(int fd, struct str *out)
{
	_cleanup_close_ int file = -1;
	struct answer a = {PROFILE_FAILED};
	int rc = fd_receive(fd, &a, sizeof(a), &file);

	if (!rc && a.is == PROFILE_BUSY) {
		str_addf(out, "%d profiles are already being made: try again when one is done\n",
			AT_ONCE);
		return false;
	}
	if (file >= 0 && (lseek(file, 0, SEEK_SET) || file_read_fd(file, PROFILE_BYTES, out)))
		str_clear(out);
	if (out->len)
		return a.is == PROFILE_MADE;
	str_add(out, rc ? "the process that was making the profile has ended\n"
			: "memwhy could not be started, or failed without a message\n");
	return false;
}
