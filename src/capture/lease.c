/* See lease.h. */
#include "capture/lease.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "sys/root.h"

#define DIRECTORY "/run/memwhy"
#define PREFIX "settings-"

int leases_open(bool make, int *ret_dir)
{
	char path[PATH_MAX];
	struct stat st;
	int rc = sys_path(path, DIRECTORY), dir;

	if (rc)
		return rc;
	if (make && mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	if (fstat(dir, &st))
		rc = -errno;
	else if (st.st_uid != geteuid() || st.st_mode & 022)
		rc = -EPERM;
	else if (flock(dir, LOCK_EX))
		rc = -errno;
	if (rc)
		close(dir);
	else
		*ret_dir = dir;
	return rc;
}

/* A child may have a copy of the descriptor. */
void leases_close(int dir)
{
	flock(dir, LOCK_UN);
	close(dir);
}

/* A line is a path, a value and the value before. */
static int lease_take(const char *line, const char *owner, bool held, lease_vec *out)
{
	struct lease l = {.held = held};

	if (sscanf(line, "%95s %31s %31s", l.path, l.value, l.before) != 3)
		return 0;
	snprintf(l.owner, sizeof(l.owner), "%s", owner);
	return vec_push(out, l);
}

static int lease_file_take(int dir, const char *owner, lease_vec *out)
{
	_cleanup_close_ int fd = openat(dir, owner, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_str_ struct str text = {};
	bool held;
	int rc;

	if (fd < 0)
		return 0; /* it has ended just now */
	held = flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
	rc = file_read_at(dir, owner, &text);
	if (rc)
		return rc;
	for (const char *line = str_get(&text); *line && !rc; line += *line == '\n') {
		rc = lease_take(line, owner, held, out);
		line += strcspn(line, "\n");
	}
	return rc;
}

int leases_read(int dir, const char *but, lease_vec *out)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *d = copy < 0 ? NULL : fdopendir(copy);

	if (!d) {
		rc = -errno;
		if (copy >= 0)
			close(copy);
		return rc;
	}
	for (struct dirent *e = readdir(d); e && !rc; e = readdir(d))
		if (!strncmp(e->d_name, PREFIX, strlen(PREFIX)) && strlen(e->d_name) < LEASE_NAME &&
			(!but || strcmp(e->d_name, but)))
			rc = lease_file_take(dir, e->d_name, out);
	closedir(d);
	return rc;
}

const struct lease *leases_find(const lease_vec *leases, const char *path)
{
	vec_each (l, leases)
		if (l->held && !strcmp(l->path, path))
			return l;
	return NULL;
}

static int lease_write(int fd, const struct setting *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].value, list[i].before) &&
			dprintf(fd, "%s %s %s\n", list[i].path, list[i].value, list[i].before) < 0)
			return -errno;
	return 0;
}

int lease_make(
	int dir, const struct setting *list, size_t n, char ret_owner[LEASE_NAME], int *ret_lock)
{
	char owner[LEASE_NAME];
	int fd, rc;

	snprintf(owner, sizeof(owner), PREFIX "%d-%llu", (int)getpid(),
		(unsigned long long)clock_mono_ns());
	fd = openat(dir, owner, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	rc = flock(fd, LOCK_EX | LOCK_NB) ? -errno : lease_write(fd, list, n);
	if (rc) {
		lease_end(dir, owner);
		close(fd);
		return rc;
	}
	memcpy(ret_owner, owner, sizeof(owner));
	*ret_lock = fd;
	return 0;
}

void lease_end(int dir, const char *owner)
{
	unlinkat(dir, owner, 0);
}
