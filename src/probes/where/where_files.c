/*
 * Which files the page cache, tmpfs and shared memory are: the files of each file system that is
 * mounted anywhere, of block devices, and those in memory that are mounted nowhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/answering.h"
#include "base/clock.h"
#include "capture/inodes.h"
#include "probes/where/where_inner.h"
#include "sys/mounts.h"
#include "sys/root.h"

#define FILES_MOST 200             /* told */
#define LEAST_BYTES (256ULL << 10) /* of a file that is told */
#define TAKES_NS (4 * NSEC_PER_SEC)
#define SYSTEMS_MOST 512
#define REMOVED_MOST 200
#define FILES_DATA "files in memory"

struct kept {
	u64 pages, group;
	u32 path, row, flags;
	u32 system; /* number of the walk */
};

/* One file system. */
struct place {
	const char *point, *root, *type; /* root: of it, what is mounted there */
	u32 row, tgid;
	enum inodes_of of;
};

struct largest {
	u64 pages;
	u32 path, reserved;
};

struct files {
	struct capture *c;
	struct where *w;
	u64 page_bytes, until_ns;
	VEC(u64) seen;         /* file systems */
	VEC(struct kept) kept; /* the largest, and some that are not */
	u64 least;             /* pages: what is smaller is not among the largest */
	struct groups groups;  /* id -> struct inodes_group */
	struct groups largest; /* id of a removed group -> struct largest */
	const struct place *at;
	u32 system;
};

int where_files_open(struct capture *c, struct where *w)
{
	int rc = inodes_open(&w->inodes);

	if (!rc)
		return capture_method(
			c, FILES_DATA, "a BPF program over the kernel's inodes", NULL);
	if (rc == -EPERM || rc == -EACCES)
		return capture_not_permitted(c, FILES_DATA);
	return capture_missing(c, FILES_DATA, "the kernel refuses a BPF program that walks inodes",
		"CONFIG_DEBUG_INFO_BTF, Linux 5.10");
}

static int by_pages(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return x->pages < y->pages ? 1 : x->pages > y->pages ? -1 : 0;
}

static void kept_cut(struct files *f)
{
	if (f->kept.n)
		qsort(f->kept.v, f->kept.n, sizeof(f->kept.v[0]), by_pages);
	if (f->kept.n <= FILES_MOST)
		return;
	f->kept.n = FILES_MOST;
	f->least = MAX(f->least, f->kept.v[FILES_MOST - 1].pages);
}

/* A walk that is begun again: what it had found is forgotten. */
static void walk_begin(void *arg)
{
	struct files *f = arg;
	size_t n = 0;

	vec_each (k, &f->kept)
		if (k->system != f->system)
			f->kept.v[n++] = *k;
	f->kept.n = n;
}

/* Of a block device: its file system's own data (Buffers), or what was read of it directly. */
static void device_name(u32 rdev, char *ret, size_t size)
{
	u32 major = rdev >> 20, minor = rdev & 0xfffff;
	char path[PATH_MAX], to[PATH_MAX];
	ssize_t n = sys_path(path, "/sys/dev/block/%u:%u", major, minor)
			    ? -1
			    : readlink(path, to, sizeof(to) - 1);

	to[MAX(n, (ssize_t)0)] = '\0';
	if (n > 0)
		snprintf(ret, size, "/dev/%.60s (block device)", path_name(to));
	else
		snprintf(ret, size, "block device %u:%u", major, minor);
}

/* Where people find it. */
static u32 path_name_of(struct files *f, const struct inodes_file *i)
{
	const struct place *p = f->at;
	char path[INODES_PATH + 16], text[2 * INODES_PATH];
	size_t root = strlen(p->root);

	if (p->of == INODES_OF_BLOCK)
		device_name(i->rdev, text, sizeof(text));
	else if (i->flags & INODES_NAMELESS)
		snprintf(text, sizeof(text), "inode %llu of %.400s", i->ino, p->point);
	else {
		inodes_path(i, path, sizeof(path));
		if (strcmp(p->root, "/") != 0 && !strncmp(path, p->root, root))
			memmove(path, path + root, strlen(path + root) + 1);
		snprintf(text, sizeof(text), "%.400s%s", strcmp(p->point, "/") ? p->point : "",
			p->row == WHERE_SHARED ? path + 1 : path);
	}
	return names_string(f->c->names, text);
}

static int largest_take(struct files *f, const struct inodes_file *i, u32 path)
{
	struct largest *l = groups_get(&f->largest, &i->group);

	if (!l)
		return -ENOMEM;
	if (i->pages > l->pages)
		*l = (struct largest){.pages = i->pages, .path = path};
	return 0;
}

static int where_file_take(void *arg, const struct inodes_file *i)
{
	struct files *f = arg;
	struct kept k = {i->pages, i->group, 0, f->at->row, i->flags, f->system};
	bool small = i->pages * f->page_bytes < LEAST_BYTES;
	int rc;

	/* small ones are told for their group's sake only */
	if (i->pages < f->least && !small)
		return 0;
	k.path = path_name_of(f, i);
	rc = i->group ? largest_take(f, i, k.path) : 0;
	if (!rc && !small)
		rc = vec_push(&f->kept, k);
	if (f->kept.n >= 4 * FILES_MOST)
		kept_cut(f);
	return rc;
}

static int place_send(struct files *f, const struct inodes_sum *sum)
{
	struct where_mount r = REC_INIT(struct where_mount, REC_WHERE_MOUNT, 0);
	const char *point = f->at->point;

	if (!sum->files && !sum->partial)
		return 0;
	r.sample = f->w->sample;
	r.row = f->at->row;
	r.mount = names_string(f->c->names, point[0] ? point : "mounted nowhere");
	r.type = names_string(f->c->names, f->at->type);
	r.files = sum->files;
	r.bytes = sum->pages * f->page_bytes;
	r.partial = sum->partial;
	r.tgid = f->at->tgid;
	return capture_emit(f->c, &r.h);
}

static int place_walk(struct files *f, const struct place *p, int fd)
{
	/* where the name itself keeps the file (simple_mknod(), ramfs_mknod(), 6.18) */
	bool pinned = p->row == WHERE_TMPFS || !strcmp(p->type, "ramfs");
	struct inodes_taker t = {f, LEAST_BYTES / f->page_bytes, pinned, f->until_ns, &f->groups,
		walk_begin, where_file_take};
	struct inodes_sum sum;
	u64 sb = inodes_of(f->w->inodes, fd, p->of);
	int rc;

	if (!sb || f->seen.n >= SYSTEMS_MOST)
		return 0;
	vec_each (s, &f->seen)
		if (*s == sb)
			return 0;
	f->at = p;
	f->system++;
	rc = vec_push(&f->seen, sb);
	if (!rc)
		rc = inodes_walk(f->w->inodes, fd, p->of, &t, &sum);
	return rc ? rc : place_send(f, &sum);
}

/* Not opened: those without pages in memory, and those whose server may not answer. */
static bool where_files_is_left_out(const char *type)
{
	static const char *const types[] = {"proc", "sysfs", "cgroup", "cgroup2", "devpts",
		"mqueue", "securityfs", "debugfs", "tracefs", "bpf", "pstore", "configfs",
		"fusectl", "binfmt_misc", "efivarfs", "nsfs", "autofs", "rpc_pipefs", "hugetlbfs",
		"overlay", "nfs", "nfs4", "cifs", "smb3", "ceph", "afs"};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(type, types[i]))
			return true;
	return false;
}

static int mount_walk(struct files *f, const struct place *p)
{
	struct place block = {"", "/", "block devices", WHERE_CACHE, 0, INODES_OF_BLOCK};
	char path[PATH_MAX];
	int fd, rc,
		n = p->tgid ? snprintf(path, sizeof(path), "/proc/%u/root%s", p->tgid, p->point)
			    : snprintf(path, sizeof(path), "%s", p->point);

	if (n < 0 || (size_t)n >= sizeof(path))
		return 0;
	fd = answering_open(AT_FDCWD, path, 0, 0);
	if (fd < 0)
		return 0;
	rc = place_walk(f, p, fd);
	if (!rc && p->row == WHERE_CACHE)
		rc = place_walk(f, &block, fd);
	close(fd);
	return rc;
}

/* Whole file systems first: of a part of one the paths would be told by that. */
static int mounts_walk(struct files *f)
{
	_cleanup_mounts_ struct mounts mounts = {};
	int rc = mounts_read(&mounts);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	for (int part = 0; part < 2; part++)
		vec_each (m, &mounts.list) {
			struct place p = {
				m->point, m->root, m->fstype, WHERE_CACHE, 0, INODES_OF_FILE};

			if (memfs_is(m->fstype))
				p.row = WHERE_TMPFS;
			if (!rc && (strcmp(m->root, "/") != 0) == part &&
				!where_files_is_left_out(m->fstype))
				rc = mount_walk(f, &p);
		}
	return rc;
}

/* Those of other mount namespaces, and the one that is mounted nowhere: System V segments, memfd
 * and shared anonymous memory are files of it. */
static int memory_walk(struct files *f)
{
	struct place p = {"", "/", "tmpfs", WHERE_SHARED, 0, INODES_OF_FILE};
	int rc = 0, fd;

	vec_each (m, &f->w->memfs.list) {
		struct place of = {m->point, "/", "tmpfs", WHERE_TMPFS, m->pid, INODES_OF_FILE};

		rc = rc || !m->pid ? rc : mount_walk(f, &of);
	}
	fd = rc ? -1 : memfd_create("memwhy", MFD_CLOEXEC);
	if (fd < 0)
		return rc;
	rc = place_walk(f, &p, fd);
	close(fd);
	return rc;
}

static int kept_send(struct files *f, const struct kept *k)
{
	struct where_file r = REC_INIT(struct where_file, REC_WHERE_FILE, 0);
	const struct inodes_group *g = k->group ? groups_find(&f->groups, &k->group) : NULL;
	int rc = 0;

	r.sample = f->w->sample;
	r.row = k->row;
	r.path = k->path;
	r.flags = k->flags;
	r.bytes = k->pages * f->page_bytes;
	r.cgroup = k->group;
	if (g && g->dying)
		r.cgroup_name = names_string(f->c->names, g->name);
	else if (r.cgroup)
		rc = names_cgroup(f->c->names, r.cgroup);
	return rc ? rc : capture_emit(f->c, &r.h);
}

static int by_files_bytes(const void *a, const void *b)
{
	const struct where_removed *x = a, *y = b;

	return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : 0;
}

static int removed_send(struct files *f)
{
	VEC(struct where_removed) list = {};
	int rc = 0;

	for (size_t i = 0; i < f->groups.n && !rc; i++) {
		const struct inodes_group *g = groups_value(&f->groups, i);
		const u64 *id = groups_key(&f->groups, i);
		const struct largest *l = groups_find(&f->largest, id);
		struct where_removed r = REC_INIT(struct where_removed, REC_WHERE_REMOVED, 0);

		if (!g->dying)
			continue;
		r.sample = f->w->sample;
		r.name = names_string(f->c->names, g->name);
		r.cgroup = *id;
		r.files = g->files;
		r.bytes = g->pages * f->page_bytes;
		r.path = l ? l->path : 0;
		rc = vec_push(&list, r);
	}
	if (list.n)
		qsort(list.v, list.n, sizeof(list.v[0]), by_files_bytes);
	for (size_t i = 0; i < MIN(list.n, (size_t)REMOVED_MOST) && !rc; i++)
		rc = capture_emit(f->c, &list.v[i].h);
	if (!rc && list.n > REMOVED_MOST)
		rc = capture_note(f->c, NOTE_INFO,
			"%zu groups that were removed have files in memory; the %u that have most "
			"are listed",
			list.n, REMOVED_MOST);
	vec_free(&list);
	return rc;
}

int where_files_send(struct capture *c, struct where *w)
{
	struct files f = {.c = c, .w = w, .page_bytes = (u64)sysconf(_SC_PAGESIZE)};
	int rc;

	f.until_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + TAKES_NS;
	groups_init(&f.groups, sizeof(u64), sizeof(struct inodes_group));
	groups_init(&f.largest, sizeof(u64), sizeof(struct largest));
	rc = mounts_walk(&f);
	if (!rc)
		rc = memory_walk(&f);
	kept_cut(&f);
	vec_each (k, &f.kept)
		rc = rc ? rc : kept_send(&f, k);
	if (!rc)
		rc = removed_send(&f);
	if (rc && rc != -ENOMEM)
		rc = capture_note(
			c, NOTE_NOT_CHECKED, "which files are in memory: %s", strerror(-rc));
	groups_free(&f.groups);
	groups_free(&f.largest);
	vec_free(&f.seen);
	vec_free(&f.kept);
	return rc;
}
