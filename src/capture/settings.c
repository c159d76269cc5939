/* See settings.h. */
#include "capture/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/kernelfs.h"
#include "sys/root.h"

struct settings {
	pid_t keeper;
	int pipe; /* closed: it is over */
};

static int value_open(const char *setting, int flags)
{
	char path[PATH_MAX];
	int rc = sys_path(path, "%s", setting);
	int fd = rc ? rc : open(path, flags | O_CLOEXEC);

	return rc || fd >= 0 ? fd : -errno;
}

static int value_read(const char *path, char ret[SETTING_LEN])
{
	int fd = value_open(path, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, ret, SETTING_LEN - 1);
	int rc = fd < 0 ? fd : n < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	if (rc)
		return rc;
	ret[n] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	return 0;
}

static int value_write(const char *path, const char *value)
{
	int fd = value_open(path, O_WRONLY), rc = 0;

	if (fd < 0)
		return fd;
	if (write(fd, value, strlen(value)) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

/* The last that was set is the first to be put back: one may bound another. */
static void values_restore(const struct setting *list, size_t n)
{
	char now[SETTING_LEN];

	while (n--)
		if (strcmp(list[n].value, list[n].before) && !value_read(list[n].path, now) &&
			!strcmp(now, list[n].value))
			value_write(list[n].path, list[n].before);
}

/* In the child: nothing of ours stays open, and no key pressed at the terminal reaches it. */
static void keep(const struct setting *list, size_t n, int end)
{
	sigset_t all;
	char c;

	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "memwhy-settings");
	dup2(end, 0);
	syscall(SYS_close_range, 1, ~0U, 0);
	kernelfs_forget();
	while (read(0, &c, 1) < 0 && errno == EINTR)
		;
	values_restore(list, n);
	_exit(0);
}

static int keeper_start(const struct setting *list, size_t n, struct settings **ret)
{
	struct settings *s = calloc(1, sizeof(*s));
	int ends[2], rc;

	if (!s)
		return -ENOMEM;
	if (pipe2(ends, O_CLOEXEC)) {
		rc = -errno;
		free(s);
		return rc;
	}
	s->keeper = fork();
	if (!s->keeper) {
		close(ends[1]);
		keep(list, n, ends[0]);
	}
	rc = s->keeper < 0 ? -errno : 0;
	close(ends[0]);
	s->pipe = ends[1];
	if (rc) {
		close(ends[1]);
		free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

int settings_change(struct setting *list, size_t n, struct settings **ret, struct err *err)
{
	struct settings *s = NULL;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		rc = value_read(list[i].path, list[i].before);
		if (rc)
			return err_errno(err, rc, "%s", list[i].path);
	}
	rc = keeper_start(list, n, &s);
	if (rc)
		return err_errno(err, rc, "keeping settings");
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(list[i].value, list[i].before))
			continue;
		rc = value_write(list[i].path, list[i].value);
		if (rc) {
			settings_restore(s);
			return err_errno(err, rc, "%s", list[i].path);
		}
	}
	*ret = s;
	return 0;
}

pid_t settings_keeper(const struct settings *s)
{
	return s->keeper;
}

void settings_restore(struct settings *s)
{
	if (!s)
		return;
	close(s->pipe);
	while (waitpid(s->keeper, NULL, 0) < 0 && errno == EINTR)
		;
	free(s);
}
