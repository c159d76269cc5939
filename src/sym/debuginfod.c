/* See debuginfod.h. */
#include "sym/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "sym/module.h"
#include "sym/program_kind.h"
#include "sym/rootfs.h"

#define PROGRAM "debuginfod-find"
#define SETTINGS 2

int debuginfod_open(u64 max_ns, struct debuginfod *ret, struct err *err)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (!urls || !urls[strspn(urls, " ")]) {
		err_set(err, -EINVAL, "--debuginfod: DEBUGINFOD_URLS names no server");
		return err_hint(
			err, "export DEBUGINFOD_URLS=https://…, as your distribution documents");
	}
	if (!program_find(PROGRAM, ret->program)) {
		err_set(err, -EOPNOTSUPP, "--debuginfod needs the program " PROGRAM);
		return err_hint(err, "Debian has it in the package debuginfod");
	}
	ret->ns_left = max_ns;
	return 0;
}

/* Our environment, and limits of time for what we may not be there to end. */
static char **environment_make(char settings[SETTINGS][40], u64 ns)
{
	static const char *const names[SETTINGS] = {"DEBUGINFOD_TIMEOUT", "DEBUGINFOD_MAXTIME"};
	size_t n = 0, at = 0;
	char **env;

	while (environ[n])
		n++;
	env = calloc(n + SETTINGS + 1, sizeof(*env));
	for (size_t i = 0; env && i < n; i++)
		env[at++] = environ[i];
	for (size_t i = 0; env && i < SETTINGS; i++) {
		if (getenv(names[i]))
			continue;
		snprintf(settings[i], sizeof(settings[i]), "%s=%llu", names[i],
			ns / NSEC_PER_SEC + 1);
		env[at++] = settings[i];
	}
	return env;
}

/* Ctrl-C, which we take in our own time, ends it. */
static int attributes_make(posix_spawnattr_t *attributes)
{
	sigset_t none, pipe;
	int rc = -posix_spawnattr_init(attributes);

	if (rc)
		return rc;
	sigemptyset(&none);
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	posix_spawnattr_setsigmask(attributes, &none);
	posix_spawnattr_setsigdefault(attributes, &pipe);
	posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	return 0;
}

static int finder_start(const struct debuginfod *d, const char *id, pid_t *ret_pid, int *ret_fd)
{
	char *argv[] = {PROGRAM, "debuginfo", (char *)id, NULL}, settings[SETTINGS][40];
	_cleanup_free_ char **env = environment_make(settings, d->ns_left);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int ends[2], rc = env ? attributes_make(&attributes) : -ENOMEM;

	if (rc)
		return rc;
	rc = pipe2(ends, O_CLOEXEC) ? -errno : 0;
	if (!rc) {
		posix_spawn_file_actions_init(&actions);
		posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
		posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
		posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
		rc = -posix_spawn(ret_pid, d->program, &actions, &attributes, argv, env);
		posix_spawn_file_actions_destroy(&actions);
		close(ends[1]);
		if (rc)
			close(ends[0]);
		else
			*ret_fd = ends[0];
	}
	posix_spawnattr_destroy(&attributes);
	return rc;
}

/* All that it prints, the path of a file, until it has ended. -ETIMEDOUT. */
static int path_read(int fd, u64 deadline_ns, char path[PATH_MAX])
{
	size_t n = 0;
	ssize_t got = 1;

	while (got > 0 && n < PATH_MAX - 1) {
		u64 now = clock_mono_ns();
		int ready, ms = now < deadline_ns ? (int)((deadline_ns - now) / NSEC_PER_MSEC) : 0;

		ready = poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, ms);
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready != 1)
			return ready ? -errno : -ETIMEDOUT;
		got = read(fd, path + n, PATH_MAX - 1 - n);
		if (got < 0)
			return -errno;
		n += (size_t)got;
	}
	path[n] = '\0';
	path[strcspn(path, "\n")] = '\0';
	return 0;
}

static int debuginfod_find(struct debuginfod *d, const char *id, char path[PATH_MAX])
{
	u64 begun = clock_mono_ns(), spent;
	_cleanup_close_ int fd = -1;
	int status = 0, rc;
	pid_t pid;

	rc = finder_start(d, id, &pid, &fd);
	if (rc)
		return rc;
	if (d->ran)
		d->ran(d->arg, pid, true);
	rc = path_read(fd, begun + MIN(d->ns_left, 3600 * NSEC_PER_SEC), path);
	if (rc)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (d->ran)
		d->ran(d->arg, pid, false);
	spent = clock_mono_ns() - begun;
	d->ns_left -= MIN(spent, d->ns_left);
	if (rc == -ETIMEDOUT || WIFSIGNALED(status)) {
		d->broken_off = true;
		d->ns_left = 0;
	}
	return rc ? rc : !WIFEXITED(status) || WEXITSTATUS(status) ? -ENOENT : 0;
}

int debuginfod_fetch(struct debuginfod *d, const u8 *build_id, size_t n, int *ret_fd)
{
	char id[2 * BUILD_ID_MAX + 1], path[PATH_MAX];
	int rc;

	if (!d->ns_left || !n || n > BUILD_ID_MAX)
		return -ENOENT;
	for (size_t i = 0; i < n; i++)
		snprintf(id + 2 * i, 3, "%02x", build_id[i]);
	d->asked++;
	if (debuginfod_find(d, id, path))
		return -ENOENT;
	rc = root_open_file(ROOT_OURS, path, ret_fd);
	d->had += !rc;
	return rc;
}
