/* See cgroups_tree.h. */
#include "probes/cgroups/cgroups_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "sys/root.h"

/* Limits are rarely changed: read this often only. */
#define LIMIT_SCANS 8

const char *cgroups_tree_path(const struct cgroups_tree *t, const struct cgroup_entry *e)
{
	return t->paths.buf + e->path;
}

static int by_id(const void *a, const void *b)
{
	const struct cgroup_entry *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static const struct cgroup_entry *known(const struct cgroups_tree *t, u64 id)
{
	struct cgroup_entry key = {.id = id};

	return t->before.n ? bsearch(&key, t->before.v, t->before.n, sizeof(t->before.v[0]), by_id)
			   : NULL;
}

/* Appends a group below the one at `parent`, which may be none. */
static int entry_add(struct cgroups_tree *t, size_t parent, const char *name)
{
	struct cgroup_entry e = {.path = (u32)t->paths.len};

	if (!t->list.n) {
		for (const char *p = name; *p; p++)
			e.level += *p == '/';
	} else {
		u32 parent_path = t->list.v[parent].path;
		size_t n = strlen(t->paths.buf + parent_path);

		e.level = t->list.v[parent].level + 1;
		/* Not str_add(): the text to be added may move as it grows. */
		for (size_t i = 0; i < n; i++)
			str_addc(&t->paths, t->paths.buf[parent_path + i]);
		str_addc(&t->paths, '/');
	}
	str_add(&t->paths, name);
	str_addc(&t->paths, '\0');
	return t->paths.failed ? -ENOMEM : vec_push(&t->list, e);
}

static bool is_child(const struct dirent64 *d)
{
	return d->d_type == DT_DIR && strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
}

static int children_add(struct cgroups_tree *t, size_t at, int fd)
{
	ssize_t n;
	int rc = 0;

	while (!rc && (n = getdents64(fd, t->entries, sizeof(t->entries))) > 0) {
		for (ssize_t i = 0; i < n && !rc;) {
			const struct dirent64 *d = (const void *)(t->entries + i);

			i += d->d_reclen;
			if (!is_child(d))
				continue;
			if (t->list.n >= CGROUPS_MAX ||
				t->list.v[at].level - t->list.v[0].level >= CGROUPS_LEVELS) {
				t->truncated = true;
				return 0;
			}
			rc = entry_add(t, at, d->d_name);
		}
	}
	return rc;
}

static bool number_read(struct cgroups_tree *t, int fd, const char *name, u64 *ret)
{
	return !file_read_once_at(fd, name, &t->text) &&
	       !cgroup_limit_parse(str_get(&t->text), ret);
}

static bool keyvals_take(struct cgroups_tree *t, int fd, const char *name)
{
	return !file_read_once_at(fd, name, &t->text) && !keyvals_parse(str_get(&t->text), &t->kv);
}

static void v1_measure(struct cgroups_tree *t, int fd, struct cgroup_entry *e, bool limits)
{
	u64 with_swap = 0;

	e->counts = number_read(t, fd, "memory.usage_in_bytes", &e->usage_bytes);
	if (!e->counts)
		return;
	if (limits)
		number_read(t, fd, "memory.limit_in_bytes", &e->limit_bytes);
	number_read(t, fd, "memory.failcnt", &e->limit_hits);
	if (keyvals_take(t, fd, "memory.oom_control"))
		e->oom_kills = keyvals_get_or(&t->kv, "oom_kill", 0);
	/* memory.stat would tell it exactly, and makes the kernel sum up the whole subtree. */
	number_read(t, fd, "memory.memsw.usage_in_bytes", &with_swap);
	e->swap_bytes = with_swap > e->usage_bytes ? with_swap - e->usage_bytes : 0;
}

static void v2_measure(struct cgroups_tree *t, int fd, struct cgroup_entry *e, bool limits)
{
	u64 high = CGROUP_NO_LIMIT;

	e->counts = number_read(t, fd, "memory.current", &e->usage_bytes);
	if (!e->counts)
		return;
	if (limits) {
		number_read(t, fd, "memory.max", &e->limit_bytes);
		number_read(t, fd, "memory.high", &high);
		e->limit_bytes = MIN(e->limit_bytes, high);
	}
	number_read(t, fd, "memory.swap.current", &e->swap_bytes);
	if (keyvals_take(t, fd, "memory.events")) {
		e->limit_hits = keyvals_get_or(&t->kv, "max", 0);
		e->oom_kills = keyvals_get_or(&t->kv, "oom_kill", 0);
		e->high_hits = keyvals_get_or(&t->kv, "high", 0);
	}
}

static void entry_measure(struct cgroups_tree *t, int fd, struct cgroup_entry *e)
{
	const struct cgroup_entry *old = known(t, e->id);
	bool limits = !old || (t->scans + e->id) % LIMIT_SCANS == 0;

	e->limit_bytes = old && !limits ? old->limit_bytes : CGROUP_NO_LIMIT;
	if (t->hierarchy.version == 1)
		v1_measure(t, fd, e, limits);
	else
		v2_measure(t, fd, e, limits);
	/* A group made since the start had no events then. */
	if (old) {
		e->first_usage_bytes = old->first_usage_bytes;
		e->first_limit_hits = old->first_limit_hits;
		e->first_oom_kills = old->first_oom_kills;
		e->first_high_hits = old->first_high_hits;
		e->first_refault_file = old->first_refault_file;
		e->first_refault_anon = old->first_refault_anon;
		e->first_some_us = old->first_some_us;
		e->parts = old->parts;
		e->sent = old->sent;
	} else {
		e->first_usage_bytes = e->usage_bytes;
	}
	if (!old && !t->scans) {
		e->first_limit_hits = e->limit_hits;
		e->first_oom_kills = e->oom_kills;
		e->first_high_hits = e->high_hits;
	}
}

/*
 * One group and the names of its children. A directory has two links more than it has children,
 * on file systems that count them; in v2 a group without the controller has no children with it,
 * but at the root, which never shows its own.
 */
static int entry_visit(struct cgroups_tree *t, size_t at)
{
	char path[PATH_MAX];
	struct stat st;
	int rc = sys_path(path, "%s%s", t->hierarchy.mount, cgroups_tree_path(t, &t->list.v[at]));
	_cleanup_close_ int fd = rc ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		return at ? 0 : rc ? rc : -errno;
	t->list.v[at].id = st.st_ino;
	entry_measure(t, fd, &t->list.v[at]);
	if (st.st_nlink == 2 || (t->hierarchy.version == 2 && at && !t->list.v[at].counts))
		return 0;
	return children_add(t, at, fd);
}

static void list_settle(struct cgroups_tree *t)
{
	size_t kept = 0;

	vec_each (e, &t->list)
		if (e->id && e->counts)
			t->list.v[kept++] = *e;
	t->list.n = kept;
	if (kept)
		qsort(t->list.v, kept, sizeof(t->list.v[0]), by_id);
}

int cgroups_tree_scan(struct cgroups_tree *t)
{
	__typeof__(t->list) swap = t->before;
	int rc;

	t->before = t->list;
	t->list = swap;
	t->list.n = 0;
	str_clear(&t->paths);
	rc = entry_add(t, 0, t->top);
	/* The list is also the queue of groups still to be visited. */
	for (size_t i = 0; i < t->list.n && !rc; i++)
		rc = entry_visit(t, i);
	list_settle(t);
	t->scans++;
	return rc;
}

void cgroups_tree_free(struct cgroups_tree *t)
{
	vec_free(&t->list);
	vec_free(&t->before);
	str_free(&t->paths);
	str_free(&t->text);
	keyvals_free(&t->kv);
}
