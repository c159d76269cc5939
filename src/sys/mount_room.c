/* See mount_room.h. */
#include "sys/mount_room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/answering.h"
#include "sys/memory/memfs.h"
#include "sys/mounts.h"
#include "sys/root.h"
#include "sys/scan.h"

#define MINOR_BITS 20

/* "36 35 98:0 /mnt1 /mnt2 rw - ext3 /dev/root rw": the third word is the device, the fifth where it
 * is mounted. */
bool mount_point_find(const char *mountinfo, u32 device, char ret[PATH_MAX])
{
	char wanted[32];
	struct scan line;

	snprintf(wanted, sizeof(wanted), "%u:%u", device >> MINOR_BITS,
		device & ((1U << MINOR_BITS) - 1));
	while (scan_line(&mountinfo, &line)) {
		struct scan words[5];
		size_t n = 0;

		while (n < ARRAY_SIZE(words) && scan_word(&line, &words[n]))
			n++;
		if (n < ARRAY_SIZE(words) || !scan_is(&words[2], wanted) ||
			!scan_copy(&words[4], ret, PATH_MAX))
			continue;
		scan_unescape(ret, " \t\n\\");
		return true;
	}
	return false;
}

int mount_room_read(u32 pid, u32 device, struct mount_room *ret)
{
	_cleanup_str_ struct str text = {};
	char path[PATH_MAX];
	struct statfs fs;
	_cleanup_close_ int fd = -1;

	if (sys_read(&text, "/proc/%u/mountinfo", pid) ||
		!mount_point_find(str_get(&text), device, ret->point))
		return -ENOENT;
	ret->bytes = 0;
	if (!sys_path(path, "/proc/%u/root%s", pid, ret->point))
		fd = answering_open(AT_FDCWD, path, 0, 0);
	if (fd >= 0 && !fstatfs(fd, &fs))
		ret->bytes = (u64)fs.f_blocks * (u64)fs.f_bsize;
	return 0;
}

int mount_inodes_full(u32 pid, struct mount_room *ret)
{
	_cleanup_mounts_ struct mounts mounts = {};
	_cleanup_str_ struct str text = {};
	char path[PATH_MAX];
	struct memfs fs;

	if (sys_read(&text, "/proc/%u/mountinfo", pid) || mounts_parse(str_get(&text), &mounts))
		return -ENOENT;
	vec_each (m, &mounts.list) {
		int n = snprintf(path, sizeof(path), "/proc/%u/root%s", pid, m->point);

		if (!memfs_is(m->fstype) || n < 0 || (size_t)n >= sizeof(path) ||
			memfs_used(path, &fs) || !fs.most_inodes || fs.inodes < fs.most_inodes)
			continue;
		snprintf(ret->point, sizeof(ret->point), "%s", m->point);
		ret->inodes = fs.most_inodes;
		return 0;
	}
	return -ENOENT;
}
