/* See closer.h. */
#include "top/closer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/again.h"
#include "base/util.h"

#define ARGS_MOST 20

const struct closer_look closer_looks[CLOSER_LOOKS] = {
	{'M', "its memory by mapping and file, and what its allocator keeps",
		"its page tables are read once", false, true, false, {"where"}},
	{'F', "its page faults by mapping and code path, over ten seconds",
		"a fault takes about a microsecond longer", false, true, true,
		{"faults", "--by", "mapping,stack", "--for", "10s"}},
	{'S', "its stalls with their steps, over ten seconds", "only what stalls takes longer",
		false, true, true, {"stalls", "--for", "10s"}},
	{'H', "how its heap grows, by code path, over ten seconds",
		"a malloc and its free take it 2.3 us longer", true, false, false,
		{"heap", "--for", "10s", "--sort", "live_bytes"}},
};

struct running {
	int socket;
	int output; /* the master of its terminal */
	pid_t pid;
	struct str text;
};

static bool ask_is_good(const struct closer_ask *a)
{
	return a->look < CLOSER_LOOKS && a->pid <= INT32_MAX &&
	       memchr(a->group, '\0', sizeof(a->group)) && (a->pid || a->group[0] == '/');
}

/* "--for 10s" is of what goes on now. */
static void argv_make(
	const struct closer_ask *a, const char *input, char pid[16], const char *argv[ARGS_MOST])
{
	const struct closer_look *l = &closer_looks[a->look];
	size_t n = 0;

	argv[n++] = "memwhy";
	for (size_t i = 0; l->argv[i]; i++) {
		if (input && !strcmp(l->argv[i], "--for"))
			i++;
		else
			argv[n++] = l->argv[i];
	}
	snprintf(pid, 16, "%u", a->pid);
	argv[n++] = a->pid ? "-p" : "-g";
	argv[n++] = a->pid ? pid : a->group;
	if (input) {
		argv[n++] = "--input";
		argv[n++] = input;
	}
	argv[n] = NULL;
}

_Noreturn static void look_exec(const struct closer_ask *a, const char *input, int terminal)
{
	const char *argv[ARGS_MOST];
	char pid[16];

	setsid();
	setenv("NO_COLOR", "1", 1);
	setenv("TERM", "dumb", 1); /* no line of progress */
	argv_make(a, input, pid, argv);
	again_exec(argv, terminal, terminal);
}

/* It runs on a terminal of the screen's width, so that its tables fit. */
static int top_closer_look_begin(struct running *r, const struct closer_ask *a, const char *input)
{
	struct winsize size = {.ws_row = 24, .ws_col = a->cols};
	_cleanup_close_ int terminal = -1;
	char name[64];

	r->output = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (r->output < 0 || grantpt(r->output) || unlockpt(r->output) ||
		ptsname_r(r->output, name, sizeof(name)))
		return -errno;
	ioctl(r->output, TIOCSWINSZ, &size);
	terminal = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0)
		return -errno;
	r->pid = fork();
	if (!r->pid)
		look_exec(a, input, terminal);
	return r->pid < 0 ? -errno : 0;
}

/* False: nobody asks any more. */
static bool stop_take(struct running *r)
{
	struct closer_ask a;

	if (read(r->socket, &a, sizeof(a)) != sizeof(a)) {
		kill(r->pid, SIGTERM);
		return false;
	}
	kill(r->pid, SIGINT); /* it says what it has seen so far */
	return true;
}

/* False: that was all. */
static bool output_take(struct running *r)
{
	char buf[4096];
	ssize_t n = read(r->output, buf, sizeof(buf));

	for (ssize_t i = 0; i < n; i++)
		if (buf[i] != '\r' && r->text.len < CLOSER_BYTES)
			str_addc(&r->text, buf[i]);
	return n > 0 || (n < 0 && errno == EINTR);
}

static bool look_go_on(struct running *r)
{
	struct pollfd fds[] = {
		{.fd = r->output, .events = POLLIN}, {.fd = r->socket, .events = POLLIN}};
	bool asked = true;

	while (asked) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			break;
		if (fds[1].revents)
			asked = stop_take(r);
		if (fds[0].revents && !output_take(r))
			break;
	}
	while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
		;
	return asked;
}

static bool all_write(int fd, const void *bytes, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t got = write(fd, (const char *)bytes + at, n - at);

		if (got < 0 && errno != EINTR)
			return false;
		at += got > 0 ? (size_t)got : 0;
	}
	return true;
}

static bool top_closer_look(int socket, const struct closer_ask *a, const char *input)
{
	struct running r = {.socket = socket, .output = -1};
	int rc = top_closer_look_begin(&r, a, input);
	bool goes_on = rc || look_go_on(&r);
	u32 bytes;

	if (rc)
		str_addf(&r.text, "it could not be looked at: %s\n", strerror(-rc));
	bytes = (u32)r.text.len;
	goes_on = goes_on && all_write(socket, &bytes, sizeof(bytes)) &&
		  all_write(socket, str_get(&r.text), bytes);
	if (r.output >= 0)
		close(r.output);
	str_free(&r.text);
	return goes_on;
}

void closer_serve(int socket, const char *input)
{
	struct closer_ask a;

	signal(SIGPIPE, SIG_IGN);
	while (read(socket, &a, sizeof(a)) == sizeof(a))
		if (ask_is_good(&a) && !top_closer_look(socket, &a, input))
			return;
}
