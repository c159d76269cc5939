/* See module.h. */
#include "sym/module.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/vec.h"
#include "sym/module_open.h"
#include "sym/rootfs.h"

#define MODULES_MAX (1U << 18)
#define TRIES_MAX 3
#define ROOTS_MAX 64
#define FDS_DEFAULT 256
#define KEY_HEAD (2 * sizeof(u64))

struct root {
	struct root_id id;
	int fd;
};

struct module_table {
	VEC(struct module *) modules; /* by id */
	VEC(u32) open;                /* ids of files with an open descriptor */
	VEC(struct root) roots;       /* other than ours */
	struct module *by_key;
	struct root_id our_root;
	unsigned int max_fds;
	u64 clock; /* counts uses, for the least recently used */
};

/* Frees a module that is in no hash. */
static void module_free(struct module *m)
{
	if (!m)
		return;
	if (m->fd >= 0)
		close(m->fd);
	free(m->key);
	free(m);
}

static void module_freep(struct module **m)
{
	module_free(*m);
}

/* dev, ino and path as one string of bytes; 0 when there is no memory. */
static size_t key_build(u64 dev, u64 ino, const char *path, char **ret)
{
	size_t len = KEY_HEAD + strlen(path) + 1;
	char *key = malloc(len);

	if (!key)
		return 0;
	memcpy(key, &dev, sizeof(dev));
	memcpy(key + sizeof(dev), &ino, sizeof(ino));
	memcpy(key + KEY_HEAD, path, len - KEY_HEAD);
	*ret = key;
	return len;
}

static int module_add(struct module_table *t, enum module_kind kind, u64 dev, u64 ino,
	const char *path, struct module **ret)
{
	_cleanup_(module_freep) struct module *m = calloc(1, sizeof(*m));
	size_t len;
	int rc;

	if (!m)
		return -ENOMEM;
	m->fd = -1;
	if (t->modules.n >= MODULES_MAX)
		return -ENOSPC;
	len = key_build(dev, ino, path, &m->key);
	if (!len)
		return -ENOMEM;
	m->id = (u32)t->modules.n;
	m->kind = kind;
	m->path = m->key + KEY_HEAD;
	m->dev = dev;
	m->ino = ino;
	m->root_fd = ROOT_OURS;
	rc = vec_push(&t->modules, m);
	if (rc)
		return rc;
	HASH_ADD_KEYPTR(hh, t->by_key, m->key, len, m);
	if (!m->hh.tbl) {
		t->modules.n--;
		return -ENOMEM;
	}
	*ret = take_ptr(m);
	return 0;
}

int module_table_new(unsigned int max_fds, struct module_table **ret)
{
	static const struct {
		enum module_kind kind;
		const char *path;
	} known[MODULE_ID_FIRST_FILE] = {
		[MODULE_ID_UNKNOWN] = {MODULE_NONE, "[unknown]"},
		[MODULE_ID_KERNEL] = {MODULE_KERNEL, "[kernel]"},
		[MODULE_ID_VDSO] = {MODULE_VDSO, "[vdso]"},
		[MODULE_ID_ANON] = {MODULE_ANON, "[anon]"},
	};
	_cleanup_module_table_ struct module_table *t = calloc(1, sizeof(*t));
	struct module *m;
	int rc;

	if (!t)
		return -ENOMEM;
	t->max_fds = max_fds ? max_fds : file_room(FDS_DEFAULT);
	/* Failing leaves zeros, which no process's root equals: each is then held by itself. */
	(void)root_identify(0, &t->our_root);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		rc = module_add(t, known[i].kind, 0, 0, known[i].path, &m);
		if (rc)
			return rc;
	}
	*ret = take_ptr(t);
	return 0;
}

void module_table_free(struct module_table *t)
{
	if (!t)
		return;
	HASH_CLEAR(hh, t->by_key);
	vec_each (m, &t->modules)
		module_free(*m);
	vec_each (r, &t->roots)
		close(r->fd);
	vec_free(&t->modules);
	vec_free(&t->open);
	vec_free(&t->roots);
	free(t);
}

/* The root directory of a process: held for as long as the table, since debug files are looked
 * up there at the end. ROOT_OURS when it is the same, or cannot be had. */
static int root_of(struct module_table *t, pid_t pid)
{
	struct root root;

	if (root_identify(pid, &root.id) || root_id_equal(&root.id, &t->our_root))
		return ROOT_OURS;
	vec_each (r, &t->roots) {
		if (root_id_equal(&r->id, &root.id))
			return r->fd;
	}
	if (t->roots.n >= ROOTS_MAX || root_open(pid, &root.fd))
		return ROOT_OURS;
	if (vec_push(&t->roots, root)) {
		close(root.fd);
		return ROOT_OURS;
	}
	return root.fd;
}

/* The least recently used open file, sparing those that could never be opened again. */
static size_t victim_find(struct module_table *t)
{
	size_t best = 0, best_any = 0;
	bool found = false;

	for (size_t i = 0; i < t->open.n; i++) {
		const struct module *m = t->modules.v[t->open.v[i]];

		if (m->last_used < t->modules.v[t->open.v[best_any]]->last_used)
			best_any = i;
		if (m->unlinked)
			continue;
		if (!found || m->last_used < t->modules.v[t->open.v[best]]->last_used)
			best = i;
		found = true;
	}
	return found ? best : best_any;
}

static void open_drop(struct module_table *t, size_t i)
{
	struct module *m = t->modules.v[t->open.v[i]];

	close(m->fd);
	m->fd = -1;
	t->open.v[i] = t->open.v[--t->open.n];
}

static void open_make_room(struct module_table *t)
{
	while (t->open.n >= t->max_fds) {
		size_t i = victim_find(t);
		struct module *m = t->modules.v[t->open.v[i]];
		struct stat st;

		/* A file may be deleted at any time, so ask when it matters. */
		if (!m->unlinked && !fstat(m->fd, &st) && !st.st_nlink) {
			m->unlinked = true;
			continue;
		}
		open_drop(t, i);
	}
}

/* Hands the descriptor to the module. */
static int module_keep_fd(struct module_table *t, struct module *m, int fd)
{
	int rc;

	open_make_room(t);
	rc = vec_push(&t->open, m->id);
	if (rc) {
		close(fd);
		return rc;
	}
	m->fd = fd;
	m->last_used = ++t->clock;
	return 0;
}

static void module_open(struct module_table *t, struct module *m, const struct module_sight *sight)
{
	int fd, rc;

	m->tries++;
	m->root_fd = root_of(t, sight->pid);
	rc = module_open_first(sight, m->root_fd, &fd);
	if (!rc) {
		rc = module_stamp_read(fd, &m->stamp);
		if (rc)
			close(fd);
	}
	if (!rc) {
		m->made = module_is_made(fd);
		rc = module_keep_fd(t, m, fd);
	}
	m->error = rc;
}

static enum module_kind sight_kind(const struct module_sight *sight)
{
	const char *path = sight->path;

	/* A 32-bit program has another vdso than the one this program could read its names
	 * from. */
	if (path && !strcmp(path, "[vdso]") && sight->end > 1ULL << 32)
		return MODULE_VDSO;
	/* perf says "//anon". */
	if (path && path[0] == '/' && path[1] != '/')
		return MODULE_FILE;
	return MODULE_ANON;
}

/* The kernel's own pages keep their names; "[anon:…]" may be anything a program likes. */
static bool anon_is_named(const char *path)
{
	return path && (!strcmp(path, "[vsyscall]") || !strcmp(path, "[uprobes]"));
}

int module_table_sight(struct module_table *t, const struct module_sight *sight, u32 *ret_id)
{
	enum module_kind kind = sight_kind(sight);
	u64 dev = kind == MODULE_FILE ? sight->dev : 0;
	u64 ino = kind == MODULE_FILE ? sight->ino : 0;
	_cleanup_free_ char *key = NULL;
	struct module *m;
	size_t len;
	int rc;

	if (kind == MODULE_ANON && !anon_is_named(sight->path)) {
		*ret_id = MODULE_ID_ANON;
		return 0;
	}
	len = key_build(dev, ino, sight->path, &key);
	if (!len)
		return -ENOMEM;
	HASH_FIND(hh, t->by_key, key, len, m);
	if (!m) {
		rc = module_add(t, kind, dev, ino, sight->path, &m);
		if (rc)
			return rc;
	}
	if (kind == MODULE_FILE && (!m->tries || (m->error && m->tries < TRIES_MAX)))
		module_open(t, m, sight);
	*ret_id = m->made ? MODULE_ID_ANON : m->id;
	return 0;
}

const struct module *module_table_get(const struct module_table *t, u32 id)
{
	return id < t->modules.n ? t->modules.v[id] : NULL;
}

int module_table_fd(struct module_table *t, u32 id, int *ret_fd)
{
	struct module *m = id < t->modules.n ? t->modules.v[id] : NULL;
	int fd, rc;

	if (!m || m->kind != MODULE_FILE)
		return -ENOENT;
	if (m->error)
		return m->error;
	if (m->fd < 0) {
		rc = module_open_again(m->path, m->root_fd, &m->stamp, &fd);
		if (!rc)
			rc = module_keep_fd(t, m, fd);
		if (rc)
			return rc;
	}
	m->last_used = ++t->clock;
	*ret_fd = m->fd;
	return 0;
}

int module_table_root(const struct module_table *t, u32 id)
{
	return id < t->modules.n ? t->modules.v[id]->root_fd : ROOT_OURS;
}

void module_table_set_build_id(struct module_table *t, u32 id, const u8 *build_id, size_t len)
{
	struct module *m = id < t->modules.n ? t->modules.v[id] : NULL;

	if (!m || len > BUILD_ID_MAX)
		return;
	memcpy(m->build_id, build_id, len);
	m->build_id_len = (u8)len;
}
