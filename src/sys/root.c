/* See root.h. */
#include "sys/root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sys/kernel/kernelfs.h"
#include "sys/scan.h"

static char root[PATH_MAX];

const char *sys_root(void)
{
	return root;
}

int sys_root_set(const char *new_root)
{
	size_t n = new_root ? strlen(new_root) : 0;

	while (n && new_root[n - 1] == '/')
		n--;
	if (n >= sizeof(root))
		return -ENAMETOOLONG;
	if (n)
		memcpy(root, new_root, n);
	root[n] = '\0';
	return 0;
}

static int path_format(char ret_path[PATH_MAX], const char *fmt, va_list ap)
{
	size_t at = strlen(root);
	int n;

	memcpy(ret_path, root, at);
	n = vsnprintf(ret_path + at, PATH_MAX - at, fmt, ap);
	if (n < 0 || (size_t)n >= PATH_MAX - at)
		return -ENAMETOOLONG;
	kernelfs_path(ret_path);
	return 0;
}

#define PATH_FORMAT(path, fmt)                     \
	({                                         \
		va_list ap_;                       \
		int rc_;                           \
		va_start(ap_, fmt);                \
		rc_ = path_format(path, fmt, ap_); \
		va_end(ap_);                       \
		rc_;                               \
	})

int sys_path(char ret_path[PATH_MAX], const char *fmt, ...)
{
	return PATH_FORMAT(ret_path, fmt);
}

int sys_read(struct str *ret_text, const char *fmt, ...)
{
	char path[PATH_MAX];
	int rc = PATH_FORMAT(path, fmt);

	return rc ? rc : file_read(path, ret_text);
}

int sys_read_once(struct str *ret_text, const char *fmt, ...)
{
	char path[PATH_MAX];
	int rc = PATH_FORMAT(path, fmt);

	return rc ? rc : file_read_once_at(AT_FDCWD, path, ret_text);
}

int sys_read_u64(u64 *ret, const char *fmt, ...)
{
	_cleanup_str_ struct str text = {};
	char path[PATH_MAX];
	struct scan s;
	int rc = PATH_FORMAT(path, fmt);

	if (rc)
		return rc;
	rc = file_read_once_at(AT_FDCWD, path, &text);
	if (rc)
		return rc;
	s = scan_text(str_get(&text));
	return scan_u64(&s, ret) ? 0 : -EINVAL;
}

int sys_exists(const char *fmt, ...)
{
	char path[PATH_MAX];
	struct stat st;
	int rc = PATH_FORMAT(path, fmt);

	if (rc)
		return rc;
	return stat(path, &st) ? -errno : 0;
}

void sys_names_free(struct sys_names *n)
{
	vec_each (name, &n->list)
		free(*name);
	vec_free(&n->list);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int sys_names(struct sys_names *ret, const char *dir, const char *start)
{
	char path[PATH_MAX];
	int rc = sys_path(path, "%s", dir);
	DIR *d = rc ? NULL : opendir(path);
	const struct dirent *e;

	if (!d)
		return rc ? rc : -errno;
	while (!rc && (e = readdir(d))) {
		char *name;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
			strncmp(e->d_name, start, strlen(start)) != 0)
			continue;
		name = strdup(e->d_name);
		rc = name ? vec_push(&ret->list, name) : -ENOMEM;
		if (rc)
			free(name);
	}
	closedir(d);
	if (rc)
		sys_names_free(ret);
	else if (ret->list.n)
		qsort(ret->list.v, ret->list.n, sizeof(ret->list.v[0]), by_name);
	return rc;
}
