/* See libraries.h. As for a program with more privileges, its environment plays no part. */
#include "probes/heap/attach/libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_MAX (1U << 20)
#define WAIT_MS 10000

/* "name => path (address)", or only "path (address)". */
static int libraries_line_take(char *line, struct libraries *l)
{
	char *path = strchr(line, '/'), *end = path ? strstr(path, " (0x") : NULL, *copy;

	if (!end)
		return 0;
	*end = '\0';
	copy = strdup(path);
	return copy ? vec_push(&l->list, copy) : -ENOMEM;
}

static int text_read(int fd, char **ret)
{
	_cleanup_free_ char *text = calloc(1, TEXT_MAX + 1);
	size_t n = 0;
	ssize_t got = 1;

	while (text && n < TEXT_MAX && got > 0) {
		int ready = poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, WAIT_MS);

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready != 1)
			return ready ? -errno : -ETIMEDOUT;
		got = read(fd, text + n, TEXT_MAX - n);
		if (got < 0)
			return -errno;
		n += (size_t)got;
	}
	*ret = take_ptr(text);
	return *ret ? 0 : -ENOMEM;
}

static int loader_start(const struct preload_program *p, pid_t *ret_pid, int *ret_fd)
{
	char *argv[] = {(char *)p->loader, "--list", (char *)p->path, NULL}, *env[] = {NULL};
	posix_spawn_file_actions_t actions;
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	rc = -posix_spawn(ret_pid, p->loader, &actions, NULL, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (rc)
		close(ends[0]);
	else
		*ret_fd = ends[0];
	return rc;
}

int libraries_read(const struct preload_program *p, struct libraries *ret)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	char *save = NULL;
	pid_t pid = 0;
	int rc = loader_start(p, &pid, &fd);

	if (rc)
		return rc;
	rc = text_read(fd, &text);
	kill(pid, SIGKILL); /* it may have more to say than is read */
	waitpid(pid, NULL, 0);
	if (rc)
		return rc;
	for (char *l = strtok_r(text, "\n", &save); l && !rc; l = strtok_r(NULL, "\n", &save))
		rc = libraries_line_take(l, ret);
	return rc;
}

void libraries_free(struct libraries *l)
{
	vec_each (path, &l->list)
		free(*path);
	vec_free(&l->list);
}
