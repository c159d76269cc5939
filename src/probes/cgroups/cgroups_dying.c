/* See cgroups_dying.h. */
#include "probes/cgroups/cgroups_dying.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/groups.h"
#include "capture/names/names.h"
#include "sys/keyvals.h"
#include "sys/memory/counts.h"
#include "sys/root.h"

#define TELL_FROM 100 /* fewer go by themselves, mostly */
#define ROOT_INODE 1  /* of the whole hierarchy: elsewhere only a part of it is mounted */
#define LEVELS 8
#define CHILDREN 4096   /* of one group that are looked at */
#define MOST_PART 0.8   /* of its parent's: look on there */
#define STATS_MOST 1024 /* groups whose memory.stat is read */

/* Where the tree begins. */
static bool top_dir(const struct cgroups_tree *t, char ret[PATH_MAX])
{
	int n = snprintf(ret, PATH_MAX, "%s%s", t->hierarchy.mount, t->top);

	return n > 0 && n < PATH_MAX;
}

static bool stat_read(const char *dir, u64 *ret_dying, u64 *ret_alive)
{
	struct keyvals kv = {};
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/cgroup.stat", dir);
	bool ok = n > 0 && (size_t)n < sizeof(path) && !keyvals_read(path, &kv) &&
		  keyvals_get(&kv, "nr_dying_descendants", ret_dying) &&
		  keyvals_get(&kv, "nr_descendants", ret_alive);

	keyvals_free(&kv);
	return ok;
}

/* The child with nearly all of what its parent has, appended to `dir`. */
static bool child_choose(char dir[PATH_MAX], u64 dying, u64 *ret_dying)
{
	char path[PATH_MAX], child[PATH_MAX];
	const struct dirent *e;
	bool found = false;
	int looked = 0;
	DIR *d;

	if (sys_path(path, "%s", dir))
		return false;
	d = opendir(path);
	if (!d)
		return false;
	while (!found && (e = readdir(d)) && looked < CHILDREN) {
		u64 of = 0, alive;

		if (e->d_type != DT_DIR || e->d_name[0] == '.' ||
			snprintf(child, sizeof(child), "%s/%s", dir, e->d_name) >=
				(int)sizeof(child))
			continue;
		looked++;
		found = stat_read(child, &of, &alive) && (double)of >= MOST_PART * (double)dying;
		*ret_dying = of;
	}
	closedir(d);
	if (found)
		strcpy(dir, child);
	return found;
}

static bool cgroups_dying_is_whole(const struct cgroups_tree *t)
{
	char path[PATH_MAX];
	struct stat st;

	return !t->top[0] && !t->truncated && !sys_path(path, "%s", t->hierarchy.mount) &&
	       !stat(path, &st) && st.st_ino == ROOT_INODE;
}

/* Version 1 has a count of all groups of the hierarchy, those that are kept included. */
static bool v1_read(const struct cgroups_tree *t, struct cgroup_dying *r)
{
	u64 all;

	if (!cgroups_dying_is_whole(t) || count_read("cgroup/memory", &all))
		return false;
	r->alive = t->list.n;
	r->dying = all > r->alive ? all - r->alive : 0;
	return true;
}

/* What is charged to groups, in bytes. */
struct charged {
	s64 file, shmem, anon;
};

static bool memory_read(struct keyvals *kv, const struct cgroups_tree *t, const char *path)
{
	char file[PATH_MAX];

	return snprintf(file, sizeof(file), "%s%s/memory.stat", t->hierarchy.mount, path) <
		       (int)sizeof(file) &&
	       !keyvals_read(file, kv);
}

/* Of its memory.stat. below: with the groups below it, which version 1 tells apart. */
static bool charged_of(
	const struct keyvals *kv, const struct cgroups_tree *t, bool below, struct charged *ret)
{
	static const char *const names[][4] = {{"cache", "shmem", "rss", "swap"},
		{"total_cache", "total_shmem", "total_rss", "total_swap"},
		{"file", "shmem", "anon", "-"}};
	const char *const *n = names[t->hierarchy.version == 2 ? 2 : below];
	u64 cache;

	if (!keyvals_get(kv, n[0], &cache))
		return false;
	ret->shmem = (s64)keyvals_get_or(kv, n[1], 0);
	ret->file = (s64)cache - ret->shmem;
	ret->anon = (s64)(keyvals_get_or(kv, n[2], 0) + keyvals_get_or(kv, n[3], 0));
	return true;
}

static void charged_add(struct charged *sum, const struct charged *c, s64 sign)
{
	sum->file += sign * c->file;
	sum->shmem += sign * c->shmem;
	sum->anon += sign * c->anon;
}

static struct charged *rest_of(struct groups *rests, const char *path, size_t len)
{
	u64 key = XXH3_64bits(path, len);

	return groups_get(rests, &key);
}

/* The rest of each group: what is charged below it, and to no group there that is alive. */
static int rests_read(struct keyvals *kv, const struct cgroups_tree *t, struct groups *rests)
{
	for (size_t i = 0; i < t->list.n; i++) {
		const char *path = cgroups_tree_path(t, &t->list.v[i]), *end = strrchr(path, '/');
		struct charged all, own, *rest;

		if (!memory_read(kv, t, path) || !charged_of(kv, t, true, &all) ||
			!charged_of(kv, t, false, &own))
			continue;
		rest = rest_of(rests, path, strlen(path));
		if (!rest)
			return -ENOMEM;
		charged_add(rest, &all, 1);
		charged_add(rest, &own, -1);
		rest = end ? rest_of(rests, path, (size_t)(end - path)) : NULL;
		if (end && !rest)
			return -ENOMEM;
		if (rest)
			charged_add(rest, &all, -1);
	}
	return 0;
}

static u64 at_least_0(s64 n)
{
	return n > 0 ? (u64)n : 0;
}

static void parts_set(struct cgroup_dying *r, const struct charged *c)
{
	r->h.flags |= CGROUP_DYING_PARTS;
	r->file_bytes = at_least_0(c->file);
	r->shmem_bytes = at_least_0(c->shmem);
	r->anon_bytes = at_least_0(c->anon);
}

static int v1_parts(struct capture *c, const struct cgroups_tree *t, struct cgroup_dying *r)
{
	_cleanup_keyvals_ struct keyvals kv = {};
	struct charged sum = {};
	s64 largest = 0;
	struct groups rests;
	int rc;

	groups_init(&rests, sizeof(u64), sizeof(struct charged));
	rc = rests_read(&kv, t, &rests);
	for (size_t i = 0; i < t->list.n && !rc; i++) {
		const char *path = cgroups_tree_path(t, &t->list.v[i]);
		const struct charged *rest = rest_of(&rests, path, strlen(path));
		s64 bytes = rest ? rest->file + rest->shmem + rest->anon : 0;

		if (!rest || bytes <= 0)
			continue;
		charged_add(&sum, rest, 1);
		if (bytes <= largest || !path[0])
			continue;
		largest = bytes;
		r->below = t->list.v[i].id;
	}
	groups_free(&rests);
	if (rc)
		return rc;
	parts_set(r, &sum);
	r->below_bytes = (u64)largest;
	return r->below ? names_cgroup(c->names, r->below) : 0;
}

/* Version 2 has no sums of a group alone: what the one that most of them were in has beside those
 * below it. Its own tasks', if it has any, are among that. */
static void v2_parts(const struct cgroups_tree *t, const char *path, struct cgroup_dying *r)
{
	_cleanup_keyvals_ struct keyvals kv = {};
	struct charged sum, of;
	size_t len = strlen(path);

	if (!memory_read(&kv, t, path) || !charged_of(&kv, t, true, &sum))
		return;
	for (size_t i = 0; i < t->list.n; i++) {
		const char *below = cgroups_tree_path(t, &t->list.v[i]);

		if (!strncmp(below, path, len) && below[len] == '/' &&
			!strchr(below + len + 1, '/') && memory_read(&kv, t, below) &&
			charged_of(&kv, t, true, &of))
			charged_add(&sum, &of, -1);
	}
	parts_set(r, &sum);
	r->below_bytes = r->file_bytes + r->shmem_bytes + r->anon_bytes;
}

/* Where most of them were, by the counts that each group of version 2 has of those below it. */
static void place_find(struct capture *c, const struct cgroups_tree *t, struct cgroup_dying *r)
{
	char dir[PATH_MAX], path[PATH_MAX];
	u64 dying = r->dying, of;
	struct stat st;

	if (!top_dir(t, dir))
		return;
	for (int i = 0; i < LEVELS && child_choose(dir, dying, &of); i++)
		dying = of;
	if (dying == r->dying || sys_path(path, "%s", dir) || stat(path, &st))
		return;
	r->below = st.st_ino;
	r->below_dying = dying;
	names_cgroup(c->names, r->below);
	if (t->list.n <= STATS_MOST)
		v2_parts(t, dir + strlen(t->hierarchy.mount), r);
}

int cgroups_dying_send(struct capture *c, struct cgroups_dying *d, const struct cgroups_tree *t)
{
	struct cgroup_dying r = REC_INIT(struct cgroup_dying, REC_CGROUP_DYING, 0);
	char dir[PATH_MAX];
	bool changed;
	int rc = 0;

	r.version = (u32)t->hierarchy.version;
	if (!top_dir(t, dir))
		return 0;
	if (!(r.version == 1 ? v1_read(t, &r) : stat_read(dir, &r.dying, &r.alive)))
		return 0;
	if (!d->known)
		d->first = r.dying;
	changed = !d->known || d->last != r.dying || c->ending;
	d->known = true;
	d->last = r.dying;
	if (!changed || MAX(r.dying, d->first) < TELL_FROM)
		return 0;
	r.first_dying = d->first;
	if (r.version == 2 && c->ending)
		place_find(c, t, &r);
	if (r.version == 1 && c->ending && t->list.n <= STATS_MOST)
		rc = v1_parts(c, t, &r);
	return rc ? rc : capture_emit(c, &r.h);
}
