/* See terminals.h. */
#include "sys/process/terminals.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/answering.h"
#include "base/util.h"
#include "sys/mounts.h"
#include "sys/root.h"
#include "sys/scan.h"
#include "sys/sysctl.h"

u64 terminals_max_parse(const char *options)
{
	const char *max = options ? strstr(options, "max=") : NULL;
	struct scan s;
	u64 n;

	if (!max || (max != options && max[-1] != ','))
		return UINT64_MAX;
	s = scan_text(max + 4);
	return scan_u64(&s, &n) ? n : UINT64_MAX;
}

/* Something else may be mounted over it, whose server does not answer. */
static DIR *devpts_open(const char *path)
{
	_cleanup_close_ int at = answering_open(AT_FDCWD, path, O_DIRECTORY, 0);
	struct statfs fs;
	DIR *dir;
	int fd;

	if (at < 0 || fstatfs(at, &fs) || fs.f_type != DEVPTS_SUPER_MAGIC)
		return NULL;
	fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

/* Each has an entry with its number there. */
static u64 entries(u32 pid, const char *point)
{
	const struct dirent *e;
	char path[PATH_MAX];
	u64 n = 0;
	DIR *dir;

	if (sys_path(path, "/proc/%u/root%s", pid, point))
		return 0;
	dir = devpts_open(path);
	if (!dir)
		return 0;
	while ((e = readdir(dir)))
		n += e->d_name[0] >= '0' && e->d_name[0] <= '9';
	closedir(dir);
	return n;
}

/* Of a devpts that has a limit of its own. */
static bool own_limit(u32 pid, struct terminals *ret)
{
	_cleanup_mounts_ struct mounts all = {};
	_cleanup_str_ struct str text = {};
	u64 max;

	if (sys_read(&text, "/proc/%u/mountinfo", pid) || mounts_parse(str_get(&text), &all))
		return false;
	vec_each (m, &all.list) {
		if (strcmp(m->fstype, "devpts") != 0)
			continue;
		max = terminals_max_parse(m->super_options);
		if (max == UINT64_MAX)
			continue;
		*ret = (struct terminals){.taken = entries(pid, m->point), .max = max};
		snprintf(ret->mount, sizeof(ret->mount), "%s", m->point);
		if (terminals_full(ret))
			return true;
	}
	return false;
}

static bool is_in_first_namespace(u32 pid)
{
	char path[PATH_MAX];
	struct stat own, first;

	return !sys_path(path, "/proc/%u/ns/mnt", pid) && !stat(path, &own) &&
	       !sys_path(path, "/proc/1/ns/mnt") && !stat(path, &first) &&
	       own.st_ino == first.st_ino;
}

/* Some are kept for the first mount namespace (devpts_new_index(), fs/devpts/inode.c). */
int terminals_read(u32 pid, struct terminals *ret)
{
	struct terminals t = {};
	u64 reserve = 0;

	if (own_limit(pid, ret))
		return 0;
	if (sysctl_read_u64("kernel.pty.max", &t.max) || sysctl_read_u64("kernel.pty.nr", &t.taken))
		return -ENOENT;
	t.setting = t.max;
	if (!is_in_first_namespace(pid) && !sysctl_read_u64("kernel.pty.reserve", &reserve))
		t.max = t.max > reserve ? t.max - reserve : 0;
	*ret = t;
	return 0;
}
