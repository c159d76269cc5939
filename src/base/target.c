/* See target.h. */
#include "base/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"

#define FRESH (O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
#define HINT_STREAMS "name a file, a pipe, or - for standard output"
#define HINT_FILE "name a file; to send a recording elsewhere, copy it when it is done"
#define HINT_OTHER "choose another name, or replace it with a new file: --force"

/* Where it goes: the directory, opened once, and the name there. */
struct place {
	int dir;
	const char *name;
};

static int refuse(
	const struct target *t, int code, const char *why, const char *hint, struct err *err)
{
	err_set(err, code, "%s %.200s: %s", t->cannot, t->path, why);
	err_hint(err, "%s", hint);
	return code;
}

static int failed(const struct target *t, int code, struct err *err)
{
	err_errno(err, code, "%s %.200s", t->cannot, t->path);
	if (code == -EACCES || code == -EPERM || code == -EROFS)
		err_hint(err, "name a file in a directory that you may write to");
	return code;
}

static int create(const struct target *t, const struct place *p, int *ret, struct err *err)
{
	int fd = openat(p->dir, p->name, O_RDWR | FRESH, 0600);

	if (fd < 0)
		return failed(t, -errno, err);
	*ret = fd;
	return 0;
}

/* A new file under a name that nobody can foresee takes the place of what is there. */
static int replace(const struct target *t, const struct place *p, int *ret, struct err *err)
{
	_cleanup_close_ int fd = -1;
	char fresh[PATH_MAX];
	u64 number = 0;

	if (getrandom(&number, sizeof(number), 0) < 0)
		return failed(t, -errno, err);
	if (snprintf(fresh, sizeof(fresh), "%s.%016llx", p->name, number) >= (int)sizeof(fresh))
		return failed(t, -ENAMETOOLONG, err);
	fd = openat(p->dir, fresh, O_RDWR | FRESH, 0600);
	if (fd < 0)
		return failed(t, -errno, err);
	if (renameat(p->dir, fresh, p->dir, p->name)) {
		int rc = -errno;

		unlinkat(p->dir, fresh, 0);
		return failed(t, rc, err);
	}
	*ret = take_fd(fd);
	return 0;
}

/* Opened after a look at it: it must be what was looked at. */
static int open_same(const struct target *t, const struct place *p, const struct stat *was,
	int flags, int *ret, struct err *err)
{
	_cleanup_close_ int fd =
		openat(p->dir, p->name, flags | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return failed(t, -errno, err);
	if (fstat(fd, &st) || st.st_dev != was->st_dev || st.st_ino != was->st_ino ||
		(st.st_mode & S_IFMT) != (was->st_mode & S_IFMT) || st.st_uid != was->st_uid)
		return refuse(t, -EAGAIN, "somebody is changing it", "choose another name", err);
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK))
		return failed(t, -errno, err);
	*ret = take_fd(fd);
	return 0;
}

static int open_regular(const struct target *t, const struct place *p, const struct stat *st,
	int *ret, struct err *err)
{
	_cleanup_close_ int fd = -1;
	char why[80];
	int rc;

	if (st->st_uid != geteuid()) {
		snprintf(why, sizeof(why), "the file is there and belongs to user %u", st->st_uid);
		return t->force ? replace(t, p, ret, err) : refuse(t, -EPERM, why, HINT_OTHER, err);
	}
	if (st->st_nlink > 1)
		return t->force ? replace(t, p, ret, err)
				: refuse(t, -EMLINK, "the file has other names (hard links)",
					  HINT_OTHER, err);
	rc = open_same(t, p, st, O_RDWR, &fd, err);
	if (rc)
		return rc;
	if (st->st_size && !t->force && !t->replaceable(fd))
		return refuse(t, -EEXIST, "the file exists and is not a memwhy recording or report",
			"choose another name, or have it replaced with --force", err);
	*ret = take_fd(fd);
	return 0;
}

/* Without a reader the kernel says ENXIO, or would wait for ever. */
static int open_pipe(const struct target *t, const struct place *p, const struct stat *st, int *ret,
	struct err *err)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	int rc;

	if (st->st_uid != geteuid() && !t->force)
		return refuse(t, -EPERM, "the pipe belongs to another user",
			"choose another name; --force writes to it all the same", err);
	for (int i = 0; i < PIPE_WAIT_SECONDS * 100; i++) {
		rc = open_same(t, p, st, O_WRONLY, ret, err);
		if (rc != -ENXIO)
			return rc;
		nanosleep(&pause, NULL);
	}
	return refuse(t, -ENXIO, "no process reads this pipe", "start what reads it first", err);
}

static const char *target_kind_of(mode_t mode)
{
	return S_ISDIR(mode)    ? "a directory"
	       : S_ISFIFO(mode) ? "a pipe"
	       : S_ISSOCK(mode) ? "a socket"
	       : S_ISBLK(mode)  ? "a block device"
				: "a device";
}

static int open_existing(const struct target *t, const struct place *p, const struct stat *st,
	int *ret, struct err *err)
{
	char why[80];

	if (S_ISREG(st->st_mode))
		return open_regular(t, p, st, ret, err);
	if (S_ISLNK(st->st_mode))
		return t->force
			       ? replace(t, p, ret, err)
			       : refuse(t, -ELOOP, "it is a symbolic link, which is not followed",
					 "name the file itself, or have the link replaced by a new "
					 "file with --force",
					 err);
	if (t->streams && S_ISFIFO(st->st_mode))
		return open_pipe(t, p, st, ret, err);
	if (t->streams && S_ISCHR(st->st_mode))
		return open_same(t, p, st, O_WRONLY, ret, err);
	snprintf(why, sizeof(why), "it is %s, not a regular file", target_kind_of(st->st_mode));
	return refuse(t, S_ISDIR(st->st_mode) ? -EISDIR : -EINVAL, why,
		t->streams ? HINT_STREAMS : HINT_FILE, err);
}

/* The first link on the way that is neither root's nor this user's; *ret_uid: whose. */
static bool foreign_link(char *dir, uid_t *ret_uid)
{
	struct stat st;

	for (char *end = dir + 1; end[-1]; end++) {
		char was = *end;
		bool is_link;

		if (was && was != '/')
			continue;
		*end = '\0';
		is_link = !lstat(dir, &st) && S_ISLNK(st.st_mode);
		*end = was;
		*ret_uid = st.st_uid;
		if (is_link && st.st_uid && st.st_uid != geteuid())
			return true;
		if (!was)
			break;
	}
	return false;
}

/* Links to directories are followed only where nobody else can have made them, as
 * fs.protected_symlinks has it. Without any on the way nobody can put one there meanwhile. */
static int place_open(const struct target *t, struct place *ret, struct err *err)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
	const char *slash = strrchr(t->path, '/');
	char dir[PATH_MAX] = ".", why[96];
	uid_t uid;
	int fd;

	ret->name = slash ? slash + 1 : t->path;
	if (slash && snprintf(dir, sizeof(dir), "%.*s", (int)(slash + 1 - t->path), t->path) >=
			     (int)sizeof(dir))
		return failed(t, -ENAMETOOLONG, err);
	fd = (int)syscall(SYS_openat2, AT_FDCWD, dir, &how, sizeof(how));
	if (fd < 0 && errno != ENOENT && errno != ENOTDIR) {
		if (foreign_link(dir, &uid)) {
			snprintf(why, sizeof(why),
				"a directory on the way is a symbolic link of user %u", uid);
			return refuse(t, -ELOOP, why, "name the directory that it leads to", err);
		}
		fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (fd < 0)
		return failed(t, -errno, err);
	ret->dir = fd;
	return 0;
}

int target_open(const struct target *t, int *ret, struct err *err)
{
	_cleanup_close_ int dir = -1;
	struct place p;
	struct stat st;
	int rc = place_open(t, &p, err);

	if (rc)
		return rc;
	dir = p.dir;
	if (!*p.name)
		return refuse(t, -EISDIR, "it is a directory, not a regular file",
			t->streams ? HINT_STREAMS : HINT_FILE, err);
	if (!fstatat(dir, p.name, &st, AT_SYMLINK_NOFOLLOW))
		return open_existing(t, &p, &st, ret, err);
	return errno == ENOENT ? create(t, &p, ret, err) : failed(t, -errno, err);
}

int target_descriptor(const char *path)
{
	static const char *const dirs[] = {"/dev/fd/", "/proc/self/fd/"};
	static const char *const names[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
	u64 n;

	if (!strcmp(path, "-"))
		return STDOUT_FILENO;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(path, names[i]))
			return (int)i;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (!strncmp(path, dirs[i], strlen(dirs[i])) &&
			!parse_u64(path + strlen(dirs[i]), 0, INT32_MAX, &n))
			return (int)n;
	return -1;
}

int source_open(const char *path)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY;
	_cleanup_close_ int fd = -1;
	struct pollfd waits;
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (!S_ISFIFO(st.st_mode) || target_descriptor(path) >= 0) {
		int plain = open(path, flags);

		return plain < 0 ? -errno : plain;
	}
	fd = open(path, flags | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	waits = (struct pollfd){.fd = fd, .events = POLLIN};
	if (poll(&waits, 1, PIPE_WAIT_SECONDS * 1000) <= 0)
		return -ETIMEDOUT;
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK))
		return -errno;
	return take_fd(fd);
}

int source_failed(const char *path, int code, struct err *err)
{
	if (code != -ETIMEDOUT)
		return err_errno(err, code, "cannot read %s", path);
	err_set(err, code, "cannot read %s: no process writes to this pipe", path);
	return err_hint(err, "start its writer first");
}
