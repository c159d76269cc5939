/* See cgroups_dying.h. */
#include "probes/cgroups/cgroups_dying.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/names/names.h"
#include "sys/counts.h"
#include "sys/keyvals.h"
#include "sys/root.h"

#define TELL_FROM 100 /* fewer go by themselves, mostly */
#define ROOT_INODE 1  /* of the whole hierarchy: elsewhere only a part of it is mounted */
#define LEVELS 8
#define CHILDREN 4096 /* of one group that are looked at */
#define MOST_PART 0.8 /* of its parent's: look on there */

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
}

static bool is_whole(const struct cgroups_tree *t)
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

	if (!is_whole(t) || count_read("cgroup/memory", &all))
		return false;
	r->alive = t->list.n;
	r->dying = all > r->alive ? all - r->alive : 0;
	return true;
}

int cgroups_dying_send(struct capture *c, struct cgroups_dying *d, const struct cgroups_tree *t)
{
	struct cgroup_dying r = REC_INIT(struct cgroup_dying, REC_CGROUP_DYING, 0);
	char dir[PATH_MAX];
	bool changed;

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
	return capture_emit(c, &r.h);
}
