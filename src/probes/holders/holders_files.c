/* Files in memory: which tmpfs mounts have how much, and which directory in them has most. A walk
 * is bounded in time and stays on its file system. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#include "base/answering.h"
#include "base/clock.h"
#include "probes/holders/holders_inner.h"
#include "sys/memory/memfs.h"
#include "sys/root.h"

#define LEAST_BYTES (16ULL << 20)
#define LEAST_INODES 50000
#define INODE_BYTES 1024 /* its directory entry included: files may be empty, and many */
#define KEPT_NAMES 4096  /* directories told apart; those beyond are part of their parent */
#define BLOCK 512

void holders_files_free(struct holders *s)
{
	vec_each (m, &s->tmpfs)
		free(m->point);
	vec_free(&s->tmpfs);
}

struct tmpfs_mount *holders_mount_of(struct holders *s, u64 device)
{
	vec_each (m, &s->tmpfs)
		if (m->device == device)
			return m;
	return NULL;
}

/* One mount: each file system counts once, by its first mount. */
static int mount_take(struct holders *s, const char *point, u32 pid)
{
	struct tmpfs_mount m = {}, *known;
	struct memfs fs;
	int rc;

	if (memfs_used(point, &fs))
		return 0;
	known = holders_mount_of(s, fs.device);
	if (known && known->pid && pid) { /* whom it was seen through may have ended */
		char *now = strdup(point);

		if (!now)
			return -ENOMEM;
		free(known->point);
		known->point = now;
		known->pid = pid;
	}
	if (known) {
		known->used_bytes = fs.used_bytes;
		known->inodes = fs.inodes;
		return 0;
	}
	m.point = strdup(point);
	m.pid = pid;
	m.device = fs.device;
	m.used_bytes = m.first_bytes = fs.used_bytes;
	m.inodes = m.first_inodes = fs.inodes;
	m.most_inodes = fs.most_inodes;
	rc = m.point ? vec_push(&s->tmpfs, m) : -ENOMEM;
	if (rc)
		free(m.point);
	return rc;
}

int holders_mounts_read(struct holders *s)
{
	struct memfs fs;
	int rc = mounts_read(&s->table);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	vec_each (m, &s->table.list)
		if (!rc && (!strcmp(m->fstype, "tmpfs") || !strcmp(m->fstype, "ramfs") ||
				   !strcmp(m->fstype, "devtmpfs")))
			rc = mount_take(s, m->point, 0);
	vec_each (m, &s->tmpfs)
		if (m->pid && (memfs_used(m->point, &fs) || fs.device != m->device))
			m->used_bytes = m->inodes = 0; /* its namespace is gone, or we cannot see */
		else if (m->pid)
			m->used_bytes = fs.used_bytes, m->inodes = fs.inodes;
	return rc;
}

int holders_mounts_elsewhere(struct holders *s)
{
	struct memfs_list l = {};
	char point[PATH_MAX + 32];
	int rc = memfs_read(&l);

	vec_each (m, &l.list)
		if (!rc && m->pid) {
			snprintf(point, sizeof(point), "/proc/%u/root%s", m->pid, m->point);
			rc = mount_take(s, point, m->pid);
		}
	memfs_free(&l);
	return rc;
}

/* What the files of a directory have, those below it too. */
struct directory {
	char *path;
	u64 bytes, files, newest_s;
	u64 parent; /* index plus one */
	u64 most_bytes;
	u32 uid; /* of the largest file */
};

struct walk {
	VEC(struct directory) list;
	u64 until_ns;
	u64 device;
	int top; /* the mount's directory */
	bool cut;
};

static void walk_free(struct walk *w)
{
	vec_each (d, &w->list)
		free(d->path);
	vec_free(&w->list);
}

static void holders_file_add(struct walk *w, size_t at, const struct stat *st)
{
	u64 bytes = (u64)st->st_blocks * BLOCK;

	for (size_t i = at + 1; i; i = w->list.v[i - 1].parent) {
		struct directory *d = &w->list.v[i - 1];

		d->bytes += bytes;
		d->files++;
		d->newest_s = MAX(d->newest_s, (u64)st->st_mtime);
		if (bytes >= d->most_bytes) {
			d->most_bytes = bytes;
			d->uid = st->st_uid;
		}
	}
}

static int directory_add(struct walk *w, size_t parent, const char *name)
{
	struct directory d = {.parent = parent + 1};
	int rc;

	if (asprintf(&d.path, "%s/%s", w->list.v[parent].path, name) < 0)
		return -ENOMEM;
	rc = vec_push(&w->list, d);
	if (rc)
		free(d.path);
	return rc;
}

static int entry_take(struct walk *w, size_t at, int fd, const struct dirent *e)
{
	struct stat st;

	if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		stat_known(fd, e->d_name, AT_SYMLINK_NOFOLLOW, &st) || st.st_dev != w->device)
		return 0;
	if (!S_ISDIR(st.st_mode)) {
		holders_file_add(w, at, &st);
		return 0;
	}
	if (w->list.n < KEPT_NAMES)
		return directory_add(w, at, e->d_name);
	w->cut = true;
	return 0;
}

/* Of the mount, by whatever its owners put in the place of a directory since: no link is followed,
 * and no other mount entered. NULL: not one of them any more. */
static DIR *directory_open(const struct walk *w, size_t at)
{
	const char *below = w->list.v[at].path + strlen(w->list.v[0].path);
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS,
	};
	_cleanup_close_ int fd = -1;
	DIR *dir;

	while (*below == '/')
		below++;
	fd = (int)syscall(SYS_openat2, w->top, *below ? below : ".", &how, sizeof(how));
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (dir)
		take_fd(fd);
	return dir;
}

/* Directories are taken breadth first, in the order they were found. */
static int directory_walk(struct walk *w, size_t at)
{
	DIR *dir = directory_open(w, at);
	const struct dirent *e;
	int rc = 0;

	if (!dir)
		return 0;
	while (!rc && (e = readdir(dir))) {
		if (holders_cpu() > w->until_ns) {
			w->cut = true;
			break;
		}
		rc = entry_take(w, at, dirfd(dir), e);
	}
	closedir(dir);
	return rc;
}

static u64 weight(const struct directory *d)
{
	return d->bytes + d->files * INODE_BYTES;
}

/* The deepest directory that still has most of what the mount has: where to look. */
static const struct directory *directory_choose(const struct walk *w)
{
	const struct directory *best = w->list.v;

	vec_each (d, &w->list)
		if (weight(d) * 5 >= weight(w->list.v) * 4 && strlen(d->path) > strlen(best->path))
			best = d;
	if (best != w->list.v)
		return best;
	/* None has most of all: the one below the top that has most, if that is a third. */
	vec_each (d, &w->list)
		if (d->parent == 1 && weight(d) * 3 >= weight(w->list.v) &&
			(best == w->list.v || weight(d) > weight(best)))
			best = d;
	return best;
}

static void walk_tell(struct capture *c, const struct walk *w, struct held_files *r)
{
	const struct directory *d = directory_choose(w), *top = w->list.v;
	u64 now_s = clock_ns(CLOCK_REALTIME) / NSEC_PER_SEC;

	r->files = top->files;
	r->found_bytes = top->bytes;
	r->directory = names_string(c->names, d->path);
	r->directory_bytes = d->bytes;
	r->directory_files = d->files;
	r->uid = d->uid;
	r->partial = w->cut;
	if (d->files)
		r->newest_age_ns = now_s > d->newest_s ? (now_s - d->newest_s) * NSEC_PER_SEC : 0;
}

static int mount_walk(
	struct capture *c, const struct tmpfs_mount *m, int top_fd, struct held_files *r)
{
	struct walk w = {
		.until_ns = holders_cpu() + LOOK_FILES_NS, .device = m->device, .top = top_fd};
	struct directory top = {.path = strdup(m->point)};
	int rc = top.path ? vec_push(&w.list, top) : -ENOMEM;

	for (size_t i = 0; i < w.list.n && !rc && !w.cut; i++)
		rc = directory_walk(&w, i);
	if (!rc)
		walk_tell(c, &w, r);
	walk_free(&w);
	return rc;
}

static int mount_send(struct capture *c, struct holders *s, struct tmpfs_mount *m, bool walk)
{
	struct held_files r = REC_INIT(struct held_files, REC_HELD_FILES, 0);
	struct statfs fs;
	char path[PATH_MAX], comm[PROC_COMM_MAX];
	_cleanup_close_ int fd = -1;
	int rc = 0;

	if ((m->used_bytes < LEAST_BYTES && m->inodes < LEAST_INODES) ||
		(!walk && m->used_bytes == m->sent_bytes))
		return 0;
	m->sent_bytes = m->used_bytes;
	r.mount = names_string(c->names, m->point);
	r.device = m->device;
	r.used_bytes = m->used_bytes;
	r.first_used_bytes = m->first_bytes;
	r.inodes = m->inodes;
	r.first_inodes = m->first_inodes;
	r.most_inodes = m->most_inodes;
	if (!sys_path(path, "%s", m->point))
		fd = answering_open(AT_FDCWD, path, 0, 0);
	if (fd >= 0 && !fstatfs(fd, &fs))
		r.limit_bytes = (u64)fs.f_blocks * (u64)fs.f_bsize;
	if (walk && fd >= 0)
		rc = mount_walk(c, m, fd, &r);
	if (m->pid && !rc && !proc_comm_read((int)m->pid, comm))
		rc = names_task(c->names, m->pid, 0, comm, 0);
	if (m->opener && !proc_label_read(m->opener, &s->label)) {
		r.opener = names_string(c->names, str_get(&s->label));
		r.opener_tgid = m->opener;
		r.opener_files = m->opener_files;
	}
	return rc ? rc : capture_emit(c, &r.h);
}

int holders_files_send(struct capture *c, struct holders *s, bool walk)
{
	int rc = 0;

	vec_each (m, &s->tmpfs)
		if (!rc)
			rc = mount_send(c, s, m, walk);
	return rc;
}
