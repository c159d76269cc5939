/* See settings.h. */
#include "capture/kernel_settings.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/lease.h"
#include "sys/kernel/kernelfs.h"
#include "sys/root.h"

struct settings {
	pid_t keeper;
	int pipe; /* closed: it is over */
	int lock; /* of the lease, which the keeper has too */
	char owner[LEASE_NAME];
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

/* What others changed meanwhile stays. */
static bool value_back(const char *path, const char *value, const char *before)
{
	char now[SETTING_LEN];

	return strcmp(value, before) && !value_read(path, now) && !strcmp(now, value) &&
	       !value_write(path, before);
}

/*
 * The last that was set is the first to be put back: one may bound another. Where another memwhy
 * needs the setting too, it gets its value, and puts back what was before us both.
 */
static void values_restore(const struct setting *list, size_t n, const char *owner)
{
	lease_vec others = {};
	int dir = -1;

	if (!leases_open(false, &dir))
		leases_read(dir, owner, &others);
	while (n--) {
		const struct lease *l = leases_find(&others, list[n].path);

		value_back(list[n].path, list[n].value, l ? l->value : list[n].before);
	}
	if (dir >= 0) {
		lease_end(dir, owner);
		leases_close(dir);
	}
	vec_free(&others);
}

/* In the child: nothing of ours stays open but the lease's lock, and no key pressed at the terminal
 * reaches it. */
static void kernel_settings_keep(
	const struct setting *list, size_t n, int end, const struct settings *s)
{
	sigset_t all;
	char c;

	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "memwhy-settings");
	dup2(end, 0);
	dup2(s->lock, 1);
	syscall(SYS_close_range, 2, ~0U, 0);
	kernelfs_forget();
	while (read(0, &c, 1) < 0 && errno == EINTR)
		;
	values_restore(list, n, s->owner);
	_exit(0);
}

static int keeper_start(const struct setting *list, size_t n, struct settings *s)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	s->keeper = fork();
	if (!s->keeper) {
		close(ends[1]);
		kernel_settings_keep(list, n, ends[0], s);
	}
	close(ends[0]);
	s->pipe = ends[1];
	return s->keeper < 0 ? -errno : 0;
}

/* Those that were changed by a memwhy that was killed, and its keeper with it. */
static int leftovers_restore(int dir, lease_vec *leases, settings_told told, void *arg)
{
	int rc = 0;

	for (size_t i = leases->n; i--;) {
		const struct lease *l = &leases->v[i];

		if (l->held)
			continue;
		if (!leases_find(leases, l->path) && value_back(l->path, l->value, l->before) &&
			told && !rc)
			rc = told(arg, l->path, l->value, l->before);
		lease_end(dir, l->owner);
	}
	return rc;
}

int settings_put_right(settings_told told, void *arg)
{
	lease_vec leases = {};
	int dir, rc;

	if (leases_open(false, &dir))
		return 0; /* none was changed, or not by this user */
	rc = leases_read(dir, NULL, &leases);
	rc = rc ? rc : leftovers_restore(dir, &leases, told, arg);
	leases_close(dir);
	vec_free(&leases);
	return rc;
}

/* What they were before the first memwhy of those that are at work. */
static int values_before(int dir, struct setting *list, size_t n, struct err *err)
{
	lease_vec leases = {};
	int rc = leases_read(dir, NULL, &leases);

	if (rc)
		err_errno(err, rc, "settings that were changed");
	else
		leftovers_restore(dir, &leases, NULL, NULL);
	for (size_t i = 0; i < n && !rc; i++) {
		const struct lease *l = leases_find(&leases, list[i].path);

		rc = value_read(list[i].path, list[i].before);
		if (rc)
			err_errno(err, rc, "%s", list[i].path);
		else if (l)
			snprintf(list[i].before, SETTING_LEN, "%s", l->before);
	}
	vec_free(&leases);
	return rc;
}

static int values_set(const struct setting *list, size_t n, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		if (!strcmp(list[i].value, list[i].before))
			continue;
		rc = value_write(list[i].path, list[i].value);
		if (rc)
			err_errno(err, rc, "%s", list[i].path);
	}
	return rc;
}

/* Without it nobody would put them back, were we and the keeper killed. */
static int lease_refused(int rc, struct err *err)
{
	if (rc != -EPERM)
		return err_errno(err, rc, "/run/memwhy, which keeps what settings were before");
	err_set(err, -EOPNOTSUPP,
		"others may write into /run/memwhy, which keeps what settings were");
	return err_hint(err, "`chown root /run/memwhy && chmod go-w /run/memwhy`");
}

int settings_change(struct setting *list, size_t n, struct settings **ret, struct err *err)
{
	struct settings *s = calloc(1, sizeof(*s));
	int dir, rc;

	if (!s)
		return err_errno(err, -ENOMEM, "keeping settings");
	s->lock = s->pipe = -1;
	rc = leases_open(true, &dir);
	if (rc) {
		free(s);
		return lease_refused(rc, err);
	}
	rc = values_before(dir, list, n, err);
	if (!rc) {
		rc = lease_make(dir, list, n, s->owner, &s->lock);
		rc = rc ? rc : keeper_start(list, n, s);
		if (rc)
			err_errno(err, rc, "keeping settings");
	}
	rc = rc ? rc : values_set(list, n, err);
	leases_close(dir); /* before the keeper wants it */
	if (rc)
		settings_restore(s);
	else
		*ret = s;
	return rc;
}

pid_t settings_keeper(const struct settings *s)
{
	return s->keeper;
}

void settings_restore(struct settings *s)
{
	if (!s)
		return;
	if (s->pipe >= 0)
		close(s->pipe);
	while (s->keeper > 0 && waitpid(s->keeper, NULL, 0) < 0 && errno == EINTR)
		;
	if (s->lock >= 0)
		close(s->lock);
	free(s);
}
