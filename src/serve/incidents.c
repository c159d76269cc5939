/* See incidents.h. */
#include "serve/incidents.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"

#define PREFIX "incident-"
#define RECORDING ".mw"
#define DIGITS 12 /* of a number at most: those that follow are numbers too */

static const char *const endings[INCIDENT_FILES] = {
	[INCIDENT_RECORDING] = RECORDING,
	[INCIDENT_TEXT] = ".txt",
	[INCIDENT_PAGE] = ".html",
};

/* Behind "20261124T124001Z-", with its time; NULL: it is no such text. */
static const char *time_parse(const char *text, u64 *ret)
{
	struct tm tm = {};
	int n = 0;

	if (sscanf(text, "%4d%2d%2dT%2d%2d%2dZ-%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
		    &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &n) != 6 ||
		!n)
		return NULL;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	*ret = (u64)timegm(&tm);
	return text + n;
}

/* incident-000012-20261124T124001Z-oom-kill.mw */
static bool incidents_name_parse(const char *name, struct incident *ret)
{
	const char *rest;
	char *end;
	size_t n;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || !isdigit((unsigned char)name[9]))
		return false;
	ret->number = strtoull(name + strlen(PREFIX), &end, 10);
	if (end - name > (ptrdiff_t)strlen(PREFIX) + DIGITS)
		return false;
	rest = *end == '-' ? time_parse(end + 1, &ret->time) : NULL;
	n = rest ? strlen(rest) : 0;
	if (n <= strlen(RECORDING) || strcmp(rest + n - strlen(RECORDING), RECORDING) != 0 ||
		strlen(name) - strlen(RECORDING) >= sizeof(ret->name))
		return false;
	snprintf(ret->kind, sizeof(ret->kind), "%.*s", (int)(n - strlen(RECORDING)), rest);
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(strlen(name) - strlen(RECORDING)),
		name);
	return true;
}

static int incidents_by_number(const void *a, const void *b)
{
	const struct incident *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* What the reports beside the recording take. */
static u64 reports_bytes(int dir, const struct incident *i)
{
	u64 bytes = 0;

	for (int f = INCIDENT_TEXT; f < INCIDENT_FILES; f++) {
		char name[sizeof(i->name) + 8];
		struct stat st;

		snprintf(name, sizeof(name), "%s%s", i->name, endings[f]);
		if (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
			bytes += (u64)st.st_blocks * 512;
	}
	return bytes;
}

int incidents_list(const char *dir, struct incident_list *ret)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int rc = 0;

	*ret = (struct incident_list){};
	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while (!rc && (e = readdir(d))) {
		struct incident i = {};
		struct stat st;

		if (!incidents_name_parse(e->d_name, &i) ||
			fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
			!S_ISREG(st.st_mode))
			continue;
		i.bytes = (u64)st.st_blocks * 512 + reports_bytes(dirfd(d), &i);
		ret->bytes += i.bytes;
		rc = vec_push(&ret->v, i);
	}
	closedir(d);
	if (rc)
		incident_list_free(ret);
	else if (ret->v.n)
		qsort(ret->v.v, ret->v.n, sizeof(ret->v.v[0]), incidents_by_number);
	return rc;
}

void incident_list_free(struct incident_list *l)
{
	vec_free(&l->v);
}

void incident_path(
	char ret[PATH_MAX], const char *dir, const struct incident *i, enum incident_file file)
{
	snprintf(ret, PATH_MAX, "%s/%s%s", dir, i->name, endings[file]);
}

static int incident_open(const char *dir, const struct incident *i, enum incident_file file)
{
	char path[PATH_MAX];
	int fd;

	incident_path(path, dir, i, file);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int incident_read(
	const char *dir, const struct incident *i, enum incident_file file, struct str *out)
{
	_cleanup_close_ int fd = incident_open(dir, i, file);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
		return -EPERM;
	return file_read_fd(fd, FILE_READ_MAX, out);
}

/* All parts of the path but the last are as others see them. */
int incidents_prepare(const char *dir, struct err *err)
{
	char path[PATH_MAX];
	int rc = 0;

	if (snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path) - 128)
		return err_errno(err, -ENAMETOOLONG, "--incidents");
	for (char *p = path + 1; *p && !rc; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			rc = -errno;
		*p = '/';
	}
	if (!rc && mkdir(path, 0700) && errno != EEXIST)
		rc = -errno;
	if (!rc && access(path, W_OK | X_OK))
		rc = -errno;
	if (rc) {
		err_errno(err, rc, "--incidents: cannot write to %s", dir);
		return err_hint(err,
			"use another directory with --incidents DIR, or none with --no-incidents");
	}
	return 0;
}

void incident_remove(const char *dir, const struct incident *i)
{
	char path[PATH_MAX];

	for (int f = INCIDENT_FILES;
		f--;) { /* the recording last: without it the others are not found */
		incident_path(path, dir, i, (enum incident_file)f);
		unlink(path);
	}
}

/* The space that may be used, beyond what is to be left to others. */
static bool has_space(const char *dir, u64 min_free, u64 expected)
{
	struct statvfs fs;

	return !statvfs(dir, &fs) && (u64)fs.f_bavail * fs.f_frsize >= min_free + expected;
}

int incident_begin(const char *dir, const struct incident_limits *limits, const char *kind,
	u64 expected_bytes, struct incident *ret)
{
	struct incident_list l;
	char when[32];
	struct tm tm;
	time_t now = (time_t)(clock_wall_ns() / NSEC_PER_SEC);
	size_t first = 0;
	int rc = incidents_list(dir, &l);

	if (rc)
		return rc;
	*ret = (struct incident){.time = (u64)now};
	ret->number = l.v.n ? l.v.v[l.v.n - 1].number + 1 : 1;
	rc = has_space(dir, limits->min_free, expected_bytes) ? 0 : -ENOSPC;
	while (!rc && first < l.v.n &&
		(l.v.n - first >= limits->most || l.bytes + expected_bytes > limits->most_bytes)) {
		l.bytes -= MIN(l.bytes, l.v.v[first].bytes);
		incident_remove(dir, &l.v.v[first++]);
	}
	incident_list_free(&l);
	gmtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm);
	snprintf(ret->kind, sizeof(ret->kind), "%s", kind);
	snprintf(ret->name, sizeof(ret->name), PREFIX "%06llu-%s-%.20s", ret->number, when, kind);
	return rc;
}

void incident_sync(const char *dir, const struct incident *i)
{
	for (int f = 0; f <= INCIDENT_FILES; f++) {
		_cleanup_close_ int fd = f < INCIDENT_FILES
						 ? incident_open(dir, i, (enum incident_file)f)
						 : open(dir, O_RDONLY | O_CLOEXEC | O_DIRECTORY);

		if (fd >= 0)
			fsync(fd);
	}
}
