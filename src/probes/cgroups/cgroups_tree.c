/* See cgroups_tree.h. */
#include "probes/cgroups/cgroups_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "sys/memory/swaps.h"
#include "sys/root.h"

/* Limits are rarely changed: read this often only. */
#define LIMIT_SCANS 8
/* So many quiet groups are looked at in a scan. */
#define QUIET_LOOKS 512

const char *cgroups_tree_path(const struct cgroups_tree *t, const struct cgroup_entry *e)
{
	return t->paths.buf + e->path;
}

static int by_id(const void *a, const void *b)
{
	const struct cgroup_entry *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static const struct cgroup_entry *cgroups_tree_known(const struct cgroups_tree *t, u64 id)
{
	struct cgroup_entry key = {.id = id};

	return t->before.n ? bsearch(&key, t->before.v, t->before.n, sizeof(t->before.v[0]), by_id)
			   : NULL;
}

/* How many scans it takes until each quiet group had its turn. */
static u64 quiet_scans(const struct cgroups_tree *t)
{
	return 1 + t->n_quiet / QUIET_LOOKS;
}

/* Groups that were made one after the other have numbers at equal distances: spread over scans. */
static u64 turn_of(const struct cgroups_tree *t, u64 id)
{
	return t->scans + (id * 0x9e3779b97f4a7c15ULL >> 32);
}

/* It is as it was when it was looked at last, by all that is known before its next turn. */
static bool entry_rests(const struct cgroups_tree *t, struct cgroup_entry *e)
{
	const struct cgroup_entry *old = t->sparing && e->id ? cgroups_tree_known(t, e->id) : NULL;
	u32 path = e->path, level = e->level;

	if (!old || !old->quiet || turn_of(t, e->id) % quiet_scans(t) == 0)
		return false;
	*e = *old;
	e->path = path;
	e->level = level;
	return true;
}

/* Appends a group below the one at `parent`, which may be none. */
static int entry_add(struct cgroups_tree *t, size_t parent, const char *name, u64 id)
{
	struct cgroup_entry e = {.id = id, .path = (u32)t->paths.len};

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

static int cgroups_tree_children_add(struct cgroups_tree *t, size_t at, int fd)
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
			rc = entry_add(t, at, d->d_name, d->d_ino);
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

/* Of a group far from its limit whose usage is to the byte what it was, nothing else is read. */
static bool is_same(const struct cgroup_entry *e, const struct cgroup_entry *old)
{
	return old && e->usage_bytes == old->usage_bytes && e->usage_bytes < old->limit_bytes / 2;
}

static void numbers_keep(struct cgroup_entry *e, const struct cgroup_entry *old)
{
	e->swap_bytes = old->swap_bytes;
	e->limit_hits = old->limit_hits;
	e->high_hits = old->high_hits;
	e->oom_kills = old->oom_kills;
}

static void v1_numbers(struct cgroups_tree *t, int fd, struct cgroup_entry *e, bool limits)
{
	u64 with_swap = 0;

	if (limits)
		number_read(t, fd, "memory.limit_in_bytes", &e->limit_bytes);
	number_read(t, fd, "memory.failcnt", &e->limit_hits);
	if (keyvals_take(t, fd, "memory.oom_control"))
		e->oom_kills = keyvals_get_or(&t->kv, "oom_kill", 0);
	/* memory.stat would tell it exactly, and makes the kernel sum up the whole subtree. */
	if (!t->no_swap)
		number_read(t, fd, "memory.memsw.usage_in_bytes", &with_swap);
	e->swap_bytes = with_swap > e->usage_bytes ? with_swap - e->usage_bytes : 0;
}

static void v2_numbers(struct cgroups_tree *t, int fd, struct cgroup_entry *e, bool limits)
{
	u64 high = CGROUP_NO_LIMIT;

	if (limits) {
		number_read(t, fd, "memory.max", &e->limit_bytes);
		number_read(t, fd, "memory.high", &high);
		e->limit_bytes = MIN(e->limit_bytes, high);
	}
	if (!t->no_swap)
		number_read(t, fd, "memory.swap.current", &e->swap_bytes);
	if (keyvals_take(t, fd, "memory.events")) {
		e->limit_hits = keyvals_get_or(&t->kv, "max", 0);
		e->oom_kills = keyvals_get_or(&t->kv, "oom_kill", 0);
		e->high_hits = keyvals_get_or(&t->kv, "high", 0);
	}
}

static void numbers_measure(
	struct cgroups_tree *t, int fd, struct cgroup_entry *e, const struct cgroup_entry *old)
{
	bool v1 = t->hierarchy.version == 1;
	bool limits = !old || turn_of(t, e->id) / quiet_scans(t) % LIMIT_SCANS == 0;
	bool same;

	e->limit_bytes = old && !limits ? old->limit_bytes : CGROUP_NO_LIMIT;
	e->counts = number_read(
		t, fd, v1 ? "memory.usage_in_bytes" : "memory.current", &e->usage_bytes);
	same = t->sparing && e->counts && is_same(e, old);
	if (same && !limits)
		numbers_keep(e, old);
	else if (e->counts && v1)
		v1_numbers(t, fd, e, limits);
	else if (e->counts)
		v2_numbers(t, fd, e, limits);
	e->quiet = same;
}

static void entry_measure(struct cgroups_tree *t, int fd, struct cgroup_entry *e)
{
	const struct cgroup_entry *old = cgroups_tree_known(t, e->id);

	numbers_measure(t, fd, e, old);
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

	if (fd < 0 || fstat(fd, &st)) {
		t->list.v[at].counts = false;
		return at ? 0 : rc ? rc : -errno;
	}
	t->list.v[at].id = st.st_ino;
	entry_measure(t, fd, &t->list.v[at]);
	t->list.v[at].quiet &= st.st_nlink == 2;
	if (st.st_nlink == 2 || (t->hierarchy.version == 2 && at && !t->list.v[at].counts))
		return 0;
	return cgroups_tree_children_add(t, at, fd);
}

static void list_settle(struct cgroups_tree *t)
{
	size_t kept = 0;

	t->n_quiet = 0;
	vec_each (e, &t->list) {
		if (!e->id || !e->counts)
			continue;
		t->n_quiet += e->quiet;
		t->list.v[kept++] = *e;
	}
	t->list.n = kept;
	if (kept)
		qsort(t->list.v, kept, sizeof(t->list.v[0]), by_id);
}

int cgroups_tree_scan(struct cgroups_tree *t)
{
	__typeof__(t->list) swap = t->before;
	_cleanup_swaps_ struct swaps swaps = {};
	int rc;

	t->no_swap = !swaps_read(&swaps) && !swaps.list.n;

	t->before = t->list;
	t->list = swap;
	t->list.n = 0;
	str_clear(&t->paths);
	rc = entry_add(t, 0, t->top, 0);
	/* The list is also the queue of groups still to be visited. */
	for (size_t i = 0; i < t->list.n && !rc; i++)
		if (!entry_rests(t, &t->list.v[i]))
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
