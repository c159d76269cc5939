/* See spawn.h. */
#include "record/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/own_limits.h"

static void environment_set(const char *name, const char *value)
{
	if (value[0])
		setenv(name, value, 1);
}

/* The groups first, while there is the right to. */
static int user_become(const struct sys_user *as)
{
	if (setgroups(as->n_groups, as->groups) || setresgid(as->gid, as->gid, as->gid) ||
		setresuid(as->uid, as->uid, as->uid))
		return -errno;
	environment_set("HOME", as->home);
	environment_set("SHELL", as->shell);
	environment_set("USER", as->name);
	environment_set("LOGNAME", as->name);
	return 0;
}

static void child_run(char *const argv[], const struct spawn_how *how, int hold, int fault)
{
	char go;
	int rc;

	if (read(hold, &go, 1) != 1)
		_exit(127); /* never released: memwhy failed or died before */
	limits_give_back();
	rc = how && how->as ? -user_become(how->as) : 0;
	if (!rc && how && how->apart && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		rc = errno;
	if (!rc) {
		execvp(argv[0], argv);
		rc = errno;
	}
	if (write(fault, &rc, sizeof(rc)) < 0)
		_exit(126);
	_exit(127);
}

int spawn_held(
	char *const argv[], const struct spawn_how *how, struct spawned *ret, struct err *err)
{
	int hold[2], fault[2];
	pid_t pid;

	if (pipe2(hold, O_CLOEXEC))
		return err_errno(err, -errno, "starting %s", argv[0]);
	if (pipe2(fault, O_CLOEXEC)) {
		close(hold[0]);
		close(hold[1]);
		return err_errno(err, -errno, "starting %s", argv[0]);
	}
	pid = fork();
	if (!pid) {
		close(hold[1]);
		child_run(argv, how, hold[0], fault[1]);
	}
	close(hold[0]);
	close(fault[1]);
	*ret = (struct spawned){.pid = pid, .hold = hold[1], .fault = fault[0]};
	if (pid > 0)
		return 0;
	spawn_close(ret);
	return err_errno(err, -errno, "starting %s", argv[0]);
}

int spawn_release(struct spawned *s, const char *name, struct err *err)
{
	int rc = 0;
	ssize_t n = write(s->hold, "", 1);

	close(take_fd(s->hold));
	if (n == 1)
		do
			n = read(s->fault, &rc, sizeof(rc));
		while (n < 0 && errno == EINTR);
	if (n != sizeof(rc))
		return 0; /* the pipe closed at exec */
	s->ended = waitpid(s->pid, &s->status, 0) == s->pid;
	err_errno(err, -rc, "cannot run %s", name);
	return rc == ENOENT ? err_hint(err, "give its full path, or check PATH") : -rc;
}

bool spawn_ended(struct spawned *s)
{
	if (!s->ended && s->pid > 0 && waitpid(s->pid, &s->status, WNOHANG) == s->pid)
		s->ended = true;
	return s->ended;
}

int spawn_exit_status(const struct spawned *s)
{
	return WIFSIGNALED(s->status) ? 128 + WTERMSIG(s->status) : WEXITSTATUS(s->status);
}

int spawn_exit_signal(const struct spawned *s)
{
	return WIFSIGNALED(s->status) ? WTERMSIG(s->status) : 0;
}

void spawn_close(struct spawned *s)
{
	if (s->pid > 0 && s->hold >= 0) {
		close(take_fd(s->hold)); /* its read ends: it exits by itself */
		waitpid(s->pid, &s->status, 0);
	}
	if (s->pid > 0 && s->fault >= 0)
		close(take_fd(s->fault));
	s->pid = 0;
}
