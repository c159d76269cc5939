/* See pids_limit.h. */
#include "sys/group/pids_limit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sys/keyvals.h"
#include "sys/memory/counts.h"
#include "sys/mounts.h"
#include "sys/root.h"
#include "sys/scan.h"
#include "sys/sysctl.h"

#define RESERVED_PIDS 300 /* numbers below are not given a second time (kernel/pid.c) */

/* Is the word among those of a list with commas? */
static bool pids_limit_list_has(struct scan list, const char *word)
{
	struct scan s;

	while (scan_until(&list, ',', &s))
		if (scan_is(&s, word))
			return true;
	return scan_is(&list, word);
}

int pids_path_parse(const char *text, char ret[PATH_MAX], int *ret_v2)
{
	struct scan line, number, controllers;
	int rc = -ENOENT;

	while (scan_line(&text, &line)) {
		bool v1, v2;

		if (!scan_until(&line, ':', &number) || !scan_until(&line, ':', &controllers))
			continue;
		v2 = scan_is(&number, "0") && scan_done(&controllers);
		v1 = pids_limit_list_has(controllers, "pids");
		if (!v1 && !v2)
			continue;
		rc = scan_copy(&line, ret, PATH_MAX) ? 0 : -ENAMETOOLONG;
		*ret_v2 = v2;
		if (v1)
			break;
	}
	return rc;
}

/* "max 7" of pids.events */
static u64 refused_read(const char *dir)
{
	_cleanup_keyvals_ struct keyvals kv = {};
	char path[2 * PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/pids.events", dir);
	return keyvals_read(path, &kv) ? 0 : keyvals_get_or(&kv, "max", 0);
}

/* The group of this directory, if it is nearer to its limit than what was found so far. */
static void pids_limit_group_look(const char *dir, struct pids_limit *ret)
{
	u64 max, current;

	ret->refused = MAX(ret->refused, refused_read(dir));

	/* "max" is no number. */
	if (sys_read_u64(&max, "%s/pids.max", dir) ||
		sys_read_u64(&current, "%s/pids.current", dir))
		return;
	if (ret->file[0] &&
		(double)current * (double)ret->max <= (double)ret->current * (double)max)
		return;
	ret->max = max;
	ret->current = current;
	snprintf(ret->file, sizeof(ret->file), "%.*s/pids.max", PATH_MAX - 16, dir);
}

int pids_limit_read(u32 pid, struct pids_limit *ret)
{
	_cleanup_str_ struct str text = {};
	_cleanup_mounts_ struct mounts mounts = {};
	char path[PATH_MAX], dir[2 * PATH_MAX];
	const struct mount *m;
	size_t top;
	int v2, rc = sys_read(&text, "/proc/%u/cgroup", pid);

	ret->file[0] = '\0';
	ret->refused = 0;
	if (!rc)
		rc = pids_path_parse(str_get(&text), path, &v2);
	if (!rc)
		rc = mounts_read(&mounts);
	if (rc)
		return rc;
	m = v2 ? mounts_find(&mounts, "cgroup2", NULL) : mounts_find(&mounts, "cgroup", "pids");
	if (!m)
		return -ENOENT;
	top = strlen(m->point);
	if (snprintf(dir, sizeof(dir), "%s%s", m->point, path) >= (int)sizeof(dir))
		return -ENAMETOOLONG;
	for (char *slash; strlen(dir) > top; *slash = '\0') {
		pids_limit_group_look(dir, ret);
		slash = strrchr(dir, '/');
	}
	return ret->file[0] ? 0 : -ENOENT;
}

/* Some may have ended since a call failed. Process groups and sessions keep numbers, too. */
static bool is_near(u64 n, u64 limit)
{
	return limit && n >= limit - limit / 16;
}

enum tasks_limit tasks_machine_judge(u64 threads, u64 threads_max, u64 pid_max)
{
	u64 numbers = pid_max > RESERVED_PIDS ? pid_max - RESERVED_PIDS : 0;

	if (is_near(threads, numbers) && (!threads_max || numbers <= threads_max))
		return TASKS_PIDS;
	return is_near(threads, threads_max) ? TASKS_THREADS : TASKS_NEITHER;
}

enum tasks_limit tasks_machine_limit(u64 *ret)
{
	u64 threads, threads_max = 0, pid_max = 0;
	enum tasks_limit limit;

	if (count_read("task/threads", &threads))
		return TASKS_NEITHER;
	(void)sysctl_read_u64("kernel.threads-max", &threads_max);
	(void)sysctl_read_u64("kernel.pid_max", &pid_max);
	limit = tasks_machine_judge(threads, threads_max, pid_max);
	if (limit)
		*ret = limit == TASKS_PIDS ? pid_max : threads_max;
	return limit;
}

static void room_take(struct tasks_room *room, u64 limit, u64 now, const char *name)
{
	u64 left = limit > now ? limit - now : 0;

	if (!limit || left >= room->left)
		return;
	room->left = left;
	snprintf(room->name, sizeof(room->name), "%s", name);
}

bool tasks_room(u32 pid, struct tasks_room *ret)
{
	u64 threads, threads_max = 0, pid_max = 0;
	struct pids_limit group;

	*ret = (struct tasks_room){.left = ~0ULL};
	if (count_read("task/threads", &threads))
		return false;
	(void)sysctl_read_u64("kernel.threads-max", &threads_max);
	(void)sysctl_read_u64("kernel.pid_max", &pid_max);
	room_take(ret, threads_max, threads, "kernel.threads-max");
	room_take(ret, pid_max, threads, "kernel.pid_max");
	if (!pids_limit_read(pid, &group))
		room_take(ret, group.max, group.current, group.file);
	return ret->name[0];
}
