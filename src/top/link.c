/* See link.h. */
#include "top/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "top/screen.h"

#define ROOM_BYTES (1 << 20) /* of the socket */
#define CLOSE_MS 2000

struct link {
	struct screen_saved *saved;
	bool waits;        /* for the screen to take frames, rather than leave them out */
	pid_t pid, closer; /* the screen, and who looks closer */
	int socket;
	struct str out; /* of a frame that was sent in part */
	bool deaf;      /* it takes no more frames: what it said last may yet be read */
	bool ended;     /* it said so, or is gone */
	bool interrupted;
	bool told; /* it put the terminal right before it said so */
};

/* Before the screen, and before any rights are given up. */
static int closer_begin(struct link *l, const char *input)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	l->closer = fork();
	if (!l->closer) {
		close(ends[0]);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		closer_serve(ends[1], input);
		_exit(0);
	}
	close(ends[1]);
	return l->closer < 0 ? -errno : ends[0];
}

static int screen_begin(struct link *l, const struct ui_options *o)
{
	_cleanup_close_ int closer = closer_begin(l, o->input);
	int ends[2], room = ROOM_BYTES;

	if (closer < 0)
		return closer;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	l->pid = fork();
	if (!l->pid) {
		close(ends[0]);
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		_exit(screen_run(ends[1], closer, o));
	}
	close(ends[1]);
	l->socket = ends[0];
	if (!l->waits)
		fcntl(l->socket, F_SETFL, O_NONBLOCK);
	return l->pid < 0 ? -errno : 0;
}

int link_open(const struct ui_options *o, struct link **ret, struct err *err)
{
	struct link *l;
	int rc = screen_check(err);

	if (rc)
		return rc;
	l = calloc(1, sizeof(*l));
	if (!l)
		return err_errno(err, -ENOMEM, "top");
	l->socket = -1;
	l->waits = o->replay;
	rc = screen_save(&l->saved);
	if (!rc)
		rc = screen_begin(l, o);
	if (rc) {
		link_free(l);
		return err_errno(err, rc, "beginning the screen");
	}
	signal(SIGPIPE, SIG_IGN);
	*ret = l;
	return 0;
}

int link_fd(const struct link *l)
{
	return l->socket;
}

void link_pids(const struct link *l, pid_t ret[2])
{
	ret[0] = l->pid;
	ret[1] = l->closer;
}

/* What is left of a frame. False: there is no room now. */
static bool out_send(struct link *l)
{
	size_t at = 0;

	while (at < l->out.len && !l->deaf) {
		ssize_t n = write(l->socket, l->out.buf + at, l->out.len - at);
		if (n > 0)
			at += (size_t)n;
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			l->deaf = true;
	}
	memmove(l->out.buf, l->out.buf + at, l->out.len - at);
	l->out.len -= at;
	return !l->out.len;
}

static int head_add(struct link *l, enum screen_what what, u32 bytes)
{
	struct screen_head h = {.what = what, .bytes = bytes};

	str_addn(&l->out, (const char *)&h, sizeof(h));
	return l->out.failed ? -ENOMEM : 0;
}

int link_show(struct link *l, const struct report *r)
{
	_cleanup_str_ struct str packed = {};
	int rc;

	if (l->deaf || l->ended || (l->out.len && !out_send(l)))
		return 0;
	rc = frame_pack(r, &packed);
	if (rc == -EFBIG)
		return 0;
	rc = rc ? rc : head_add(l, SCREEN_FRAME, (u32)packed.len);
	if (rc)
		return rc;
	str_addn(&l->out, packed.buf, packed.len);
	if (l->out.failed)
		return -ENOMEM;
	out_send(l);
	return 0;
}

int link_asked(struct link *l)
{
	char word;
	ssize_t n;

	if (l->ended)
		return LINK_ENDS;
	n = read(l->socket, &word, 1);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n == 1 && word == UI_WORD_RECORD)
		return LINK_RECORD;
	if (n == 1 && word == UI_WORD_CLOSELY)
		return LINK_CLOSELY;
	l->ended = true;
	if (n == 1)
		l->told = true;
	if (n != 1 || word == SCREEN_INTERRUPTED)
		l->interrupted = true;
	return LINK_ENDS;
}

void link_tell(struct link *l, bool records, const char *text)
{
	size_t n = strlen(text);

	if (l->deaf || l->ended || head_add(l, records ? SCREEN_RECORDING : SCREEN_SAY, (u32)n))
		return;
	str_addn(&l->out, text, n);
	out_send(l);
}

/* ms: at most; -1: however long it takes. */
static void end_await(struct link *l, int ms)
{
	struct pollfd p = {.fd = l->socket, .events = POLLIN};

	while (!l->ended) {
		int n = poll(&p, 1, ms);

		if (n == 0 || (n < 0 && errno != EINTR))
			return;
		if (n > 0)
			link_asked(l);
	}
}

void link_wait(struct link *l)
{
	if (l->ended || head_add(l, SCREEN_OVER, 0))
		return;
	out_send(l);
	end_await(l, -1);
}

bool link_interrupted(const struct link *l)
{
	return l->interrupted;
}

void link_close(struct link *l)
{
	int status = 0;
	pid_t got = 0;

	if (l->socket >= 0) {
		shutdown(l->socket, SHUT_WR);
		end_await(l, CLOSE_MS); /* until it has put the terminal right */
		close(take_fd(l->socket));
	}
	if (l->pid <= 0)
		return;
	/* One that waits for a terminal that takes nothing ends with us. */
	while ((got = waitpid(l->pid, &status, l->ended ? 0 : WNOHANG)) < 0 && errno == EINTR)
		;
	l->pid = 0;
	while (l->closer > 0 && waitpid(l->closer, NULL, 0) < 0 && errno == EINTR)
		;
	l->closer = 0;
	if (!l->told && got > 0 && WIFSIGNALED(status))
		screen_restore(l->saved);
}

void link_free(struct link *l)
{
	if (!l)
		return;
	link_close(l);
	str_free(&l->out);
	free(l);
}
