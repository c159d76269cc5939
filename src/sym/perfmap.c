/* See perfmap.h. Which file a process has; its lines are in perfmap_lines.c. */
#include "sym/perfmap.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "sym/hash.h"
#include "sym/rootfs.h"

#define PROCESSES_MAX 256 /* whose files are held open */
#define PROCESSES_OF_USER (PROCESSES_MAX / BUDGET_SHARE)

struct process {
	u32 pid;
	u32 inner; /* its id in its own namespace */
	u32 uid;
	int root;      /* or ROOT_OURS */
	int fd;        /* -1: there is none that counts, yet */
	u32 user;      /* the account of the file's owner */
	u64 size;      /* of what was read */
	u64 bytes;     /* taken from the budget */
	u32 pass;      /* in which it was looked at last */
	bool left_out; /* and told of */
	bool ended;
	struct perf_map *map;
	UT_hash_handle hh;
};

struct perf_maps {
	struct process *processes;
	struct sym_budget *budget;
	u32 pass;
};

static void map_forget(struct perf_maps *p, struct process *x)
{
	perf_map_free(x->map);
	budget_give_back(p->budget, x->user, x->bytes);
	x->map = NULL;
	x->bytes = x->size = 0;
}

static void process_free(struct perf_maps *p, struct process *x)
{
	map_forget(p, x);
	if (x->fd >= 0)
		close(x->fd);
	if (x->root != ROOT_OURS)
		close(x->root);
	free(x);
}

int perf_maps_new(struct sym_budget *budget, struct perf_maps **ret)
{
	struct perf_maps *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->budget = budget;
	p->pass = 1;
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
		process_free(p, x);
	}
	free(p);
}

void perf_maps_pass_begin(struct perf_maps *p)
{
	p->pass++;
}

void perf_maps_forget_ended(struct perf_maps *p)
{
	struct process *x, *tmp;

	HASH_ITER (hh, p->processes, x, tmp) {
		if (!kill((pid_t)x->pid, 0) || errno != ESRCH)
			continue;
		if (!x->ended) {
			x->ended = true;
			continue;
		}
		HASH_DEL(p->processes, x);
		process_free(p, x);
	}
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

/* Has this user, who is not trusted, as many processes here as he may? */
static bool user_is_full(const struct perf_maps *p, const struct process *new)
{
	u32 user = budget_user(p->budget, new->uid), n = 0;

	if (p->budget->users[user].trusted)
		return false;
	for (const struct process *x = p->processes; x; x = x->hh.next)
		n += x->uid == new->uid;
	return n >= PROCESSES_OF_USER;
}

static struct process *process_new(struct perf_maps *p, u32 pid)
{
	struct process *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	*x = (struct process){.pid = pid, .fd = -1, .root = ROOT_OURS};
	if (!process_who(pid, &x->uid, &x->inner) && !user_is_full(p, x) &&
		!process_root(pid, &x->root))
		return x;
	process_free(p, x);
	return NULL;
}

/* Programs may write it late, as Java does when it is asked to, and end then. */
static void map_try(struct perf_maps *p, struct process *x)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	char path[40];

	if (x->fd >= 0)
		return;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", x->inner);
	if (root_open_file(x->root, path, &fd) || fstat(fd, &st))
		return;
	if (st.st_uid && st.st_uid != geteuid() && st.st_uid != x->uid)
		return;
	x->fd = take_fd(fd);
	x->user = budget_user(p->budget, st.st_uid);
}

void perf_maps_sight(struct perf_maps *p, u32 pid)
{
	struct process *x;

	HASH_FIND(hh, p->processes, &pid, sizeof(pid), x);
	if (!x && HASH_COUNT(p->processes) < PROCESSES_MAX) {
		x = process_new(p, pid);
		if (!x)
			return;
		HASH_ADD(hh, p->processes, pid, sizeof(pid), x);
	}
	if (x)
		map_try(p, x);
}

static int bytes_take(struct sym_budget *budget, u64 bytes, u64 *taken)
{
	int rc = budget_take(budget, bytes);

	*taken += rc ? 0 : bytes;
	return rc;
}

static int map_read(int fd, u64 size, struct sym_budget *budget, struct perf_map **ret, u64 *taken)
{
	_cleanup_free_ char *text = NULL;
	ssize_t n;
	int rc = budget_spent(budget) ? -ETIMEDOUT : bytes_take(budget, size, taken);

	if (rc)
		return rc;
	text = malloc(size + 1);
	n = text ? pread(fd, text, size, 0) : 0;
	if (!text || n < 0)
		return text ? -errno : -ENOMEM;
	rc = bytes_take(budget, perf_map_bytes(text, (size_t)n) - (u64)n, taken);
	return rc ? rc : perf_map_parse(take_ptr(text), (size_t)n, ret);
}

int perf_map_read(
	int fd, struct sym_budget *budget, struct perf_map **ret, u64 *ret_bytes, u32 *ret_user)
{
	struct stat st;
	int rc;

	*ret_bytes = 0;
	if (fstat(fd, &st))
		return -errno;
	*ret_user = budget_user(budget, st.st_uid);
	budget_begin(budget, UINT64_MAX);
	rc = map_read(fd, (u64)st.st_size, budget, ret, ret_bytes);
	(void)budget_end(budget);
	return rc;
}

static void leave_out(struct perf_maps *p, struct process *x)
{
	struct stat st = {};

	if (x->left_out)
		return;
	(void)fstat(x->fd, &st);
	p->budget->user = x->user;
	x->left_out = true;
	budget_leave_out(p->budget, (u64)st.st_size);
}

/* Programs add lines as they go. */
static int map_load(struct perf_maps *p, struct process *x)
{
	struct stat st;
	int rc;

	if (x->pass == p->pass)
		return 0;
	x->pass = p->pass;
	if (fstat(x->fd, &st))
		return -errno;
	if (x->map && (u64)st.st_size == x->size)
		return 0;
	map_forget(p, x); /* its lines may be other ones by now */
	rc = perf_map_read(x->fd, p->budget, &x->map, &x->bytes, &x->user);
	x->size = (u64)st.st_size;
	if (rc)
		map_forget(p, x);
	if (rc == -EFBIG || rc == -ETIMEDOUT)
		leave_out(p, x);
	return rc;
}

static struct process *process_with_file(struct perf_maps *p, u32 pid)
{
	struct process *x;

	HASH_FIND(hh, p->processes, &pid, sizeof(pid), x);
	if (x)
		map_try(p, x);
	return x && x->fd >= 0 ? x : NULL;
}

int perf_maps_file(struct perf_maps *p, u32 pid, int *ret_fd)
{
	const struct process *x = process_with_file(p, pid);

	if (!x)
		return -ENOENT;
	*ret_fd = x->fd;
	return 0;
}

void perf_maps_leave_out(struct perf_maps *p, u32 pid)
{
	struct process *x = process_with_file(p, pid);

	if (x)
		leave_out(p, x);
}

int perf_maps_find(
	struct perf_maps *p, u32 pid, u64 address, const char **ret_name, u64 *ret_offset)
{
	struct process *x = process_with_file(p, pid);
	int rc;

	if (!x)
		return -ENOENT;
	rc = map_load(p, x);
	if (rc || !x->map)
		return rc ? rc : -ENOENT;
	return perf_map_find(x->map, address, ret_name, ret_offset);
}
