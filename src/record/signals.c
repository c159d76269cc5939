/* See signals.h. */
#include "record/signals.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"

#define SAME_SIGNAL_NS (300 * NSEC_PER_MSEC) /* timeout(1) sends it to us and to our group */

int signals_open(struct signals *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGCHLD);
	if (signal(SIGHUP, SIG_DFL) == SIG_IGN) /* nohup */
		signal(SIGHUP, SIG_IGN);
	else
		sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &s->old_mask);
	signal(SIGPIPE, SIG_IGN);
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->fd < 0 ? -errno : 0;
}

static bool is_end(const struct signalfd_siginfo *info, bool hup_is_other)
{
	return info->ssi_signo != SIGCHLD && info->ssi_signo != SIGUSR1 &&
	       !(info->ssi_signo == SIGHUP && hup_is_other);
}

void signals_settle(struct signals *s, bool hup_is_other)
{
	struct signalfd_siginfo info;
	bool came = s->came_ns != 0;

	while (read(s->fd, &info, sizeof(info)) == sizeof(info))
		came |= is_end(&info, hup_is_other);
	s->came_ns = came ? clock_mono_ns() : 0;
}

bool signals_end_at_once(struct signals *s, bool hup_is_other)
{
	struct signalfd_siginfo info;

	while (read(s->fd, &info, sizeof(info)) == sizeof(info)) {
		u64 now = clock_mono_ns();

		if (!is_end(&info, hup_is_other))
			continue;
		if (s->came_ns && now > s->came_ns + SAME_SIGNAL_NS)
			s->again = (int)info.ssi_signo;
		s->came_ns = s->came_ns ? s->came_ns : now;
	}
	return s->again != 0;
}

void signals_close(struct signals *s)
{
	if (s->fd >= 0)
		close(s->fd);
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
	if (s->again)
		raise(s->again);
}
