/* See perfmap.h. Which file a process has; its lines are in perfmap_lines.c. */
#include "sym/perfmap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "sym/hash.h"
#include "sym/rootfs.h"

#define PROCESSES_MAX 256 /* whose files are held open */
#define BYTES_MAX (64U << 20)

struct process {
	u32 pid;
	u32 inner; /* its id in its own namespace */
	u32 uid;
	int root; /* or ROOT_OURS */
	int fd;   /* -1: there is none that counts, yet */
	u64 size; /* of what was read */
	struct perf_map *map;
	UT_hash_handle hh;
};

struct perf_maps {
	struct process *processes;
};

static void process_free(struct process *x)
{
	if (x->fd >= 0)
		close(x->fd);
	if (x->root != ROOT_OURS)
		close(x->root);
	perf_map_free(x->map);
	free(x);
}

int perf_maps_new(struct perf_maps **ret)
{
	struct perf_maps *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	*ret = p;
	return 0;
}

void perf_maps_free(struct perf_maps *p)
{
	struct process *x, *tmp;

	if (!p)
		return;
	HASH_ITER (hh, p->processes, x, tmp) {
		HASH_DEL(p->processes, x);
		process_free(x);
	}
	free(p);
}

/* The user of a process, and its id in its own namespace. */
static int process_who(u32 pid, u32 *ret_uid, u32 *ret_inner)
{
	_cleanup_str_ struct str text = {};
	const char *uid, *inner;
	char path[40];
	int rc;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	rc = file_read(path, &text);
	if (rc)
		return rc;
	uid = strstr(str_get(&text), "\nUid:");
	inner = strstr(str_get(&text), "\nNSpid:");
	if (!uid || sscanf(uid, "\nUid: %*u %u", ret_uid) != 1)
		return -EINVAL;
	*ret_inner = pid;
	if (!inner)
		return 0;
	inner += strlen("\nNSpid:");
	for (int used; sscanf(inner, "%*[ \t]%u%n", ret_inner, &used) == 1; inner += used)
		;
	return 0;
}

static int process_root(u32 pid, int *ret)
{
	struct root_id ours, its;

	*ret = ROOT_OURS;
	if (!root_identify(0, &ours) && !root_identify((pid_t)pid, &its) &&
		root_id_equal(&ours, &its))
		return 0;
	return root_open((pid_t)pid, ret);
}

static struct process *process_new(u32 pid)
{
	struct process *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	*x = (struct process){.pid = pid, .fd = -1, .root = ROOT_OURS};
	if (!process_who(pid, &x->uid, &x->inner) && !process_root(pid, &x->root))
		return x;
	process_free(x);
	return NULL;
}

/* Programs may write it late, as Java does when it is asked to, and end then. */
static void map_try(struct process *x)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	char path[40];

	if (x->fd >= 0)
		return;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", x->inner);
	if (root_open_file(x->root, path, &fd) || fstat(fd, &st))
		return;
	if (!st.st_uid || st.st_uid == geteuid() || st.st_uid == x->uid)
		x->fd = take_fd(fd);
}

void perf_maps_sight(struct perf_maps *p, u32 pid)
{
	struct process *x;

	HASH_FIND(hh, p->processes, &pid, sizeof(pid), x);
	if (!x && HASH_COUNT(p->processes) < PROCESSES_MAX) {
		x = process_new(pid);
		if (!x)
			return;
		HASH_ADD(hh, p->processes, pid, sizeof(pid), x);
	}
	if (x)
		map_try(x);
}

/* Programs add lines as they go. */
static int map_load(struct process *x)
{
	_cleanup_free_ char *text = NULL;
	struct perf_map *map;
	struct stat st;
	ssize_t n;
	int rc;

	if (fstat(x->fd, &st))
		return -errno;
	if (x->map && (u64)st.st_size == x->size)
		return 0;
	if (st.st_size > BYTES_MAX)
		return -EFBIG;
	text = malloc((size_t)st.st_size + 1);
	n = text ? pread(x->fd, text, (size_t)st.st_size, 0) : 0;
	if (!text || n < 0)
		return text ? -errno : -ENOMEM;
	rc = perf_map_parse(text, (size_t)n, &map);
	if (rc)
		return rc;
	perf_map_free(x->map);
	x->map = map;
	x->size = (u64)st.st_size;
	return 0;
}

int perf_maps_find(
	struct perf_maps *p, u32 pid, u64 address, const char **ret_name, u64 *ret_offset)
{
	struct process *x;
	int rc;

	HASH_FIND(hh, p->processes, &pid, sizeof(pid), x);
	if (x)
		map_try(x);
	if (!x || x->fd < 0)
		return -ENOENT;
	rc = map_load(x);
	if (rc && !x->map)
		return rc;
	return perf_map_find(x->map, address, ret_name, ret_offset);
}
