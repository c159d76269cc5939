/* See container.h. */
#include "cmd/container.h"

#include <errno.h>
#include <string.h>

#include "base/closest.h"
#include "event/cgroup_name.h"

#define TOLD 4 /* names in an error */

struct found {
	VEC(char *) paths;
};

static void found_free(struct found *f)
{
	vec_each (p, &f->paths)
		free(*p);
	vec_free(&f->paths);
}

static int found_push(struct found *f, const char *path, size_t n)
{
	char *copy = strndup(path, n);

	if (copy && !vec_push(&f->paths, copy))
		return 0;
	free(copy);
	return -ENOMEM;
}

/* Each once. */
static int found_add(struct found *f, const char *path, size_t n)
{
	vec_each (p, &f->paths)
		if (strlen(*p) == n && !memcmp(*p, path, n))
			return 0;
	return found_push(f, path, n);
}

static bool name_is(const char *path, const char *word)
{
	_cleanup_str_ struct str name = {};

	return cgroup_name_add(&name, path) && !strcmp(str_get(&name), word);
}

/* Adds what answers to the word: of a path its beginning, up to the part that does. */
static int found_match(struct found *f, const char *path, const char *word)
{
	struct cgroup_part p = {.end = path};
	int rc = name_is(path, word) ? found_add(f, path, strlen(path)) : 0;

	while (!rc && cgroup_part_next(path, &p))
		if (cgroup_part_answers(&p, word))
			rc = found_add(f, path, (size_t)(p.end - path));
	return rc;
}

/* What could have been meant: containers and pods, and units for their names. */
static int found_offer(struct found *held, struct found *units, const char *path)
{
	struct cgroup_part p = {.end = path};
	int rc = 0;

	while (!rc && cgroup_part_next(path, &p)) {
		if (p.kind == CGROUP_CONTAINER)
			rc = found_add(held, path, (size_t)(p.end - path));
		if (p.kind == CGROUP_UNIT)
			rc = found_push(units, p.name, p.length);
	}
	return rc;
}

/* By short names; by path what has none of its own. */
static void cmd_container_names_add(struct str *out, const struct found *f)
{
	for (size_t i = 0; i < f->paths.n && i < TOLD; i++) {
		_cleanup_str_ struct str name = {};
		bool own = cgroup_name_add(&name, f->paths.v[i]);

		for (size_t j = 0; j < f->paths.n && own; j++)
			own = j == i || !name_is(f->paths.v[j], str_get(&name));
		str_add(out, i ? ", " : "");
		str_add(out, own ? str_get(&name) : f->paths.v[i]);
	}
	if (f->paths.n > TOLD)
		str_addf(out, " and %zu more", f->paths.n - TOLD);
}

static int say_ambiguous(const struct found *f, const char *word, struct err *err)
{
	_cleanup_str_ struct str names = {};

	cmd_container_names_add(&names, f);
	err_set(err, -EINVAL, "-C: '%.80s' stands for %zu control groups: %s", word, f->paths.n,
		str_get(&names));
	return err_hint(err, "give more of the id, or one of the groups with -g");
}

/* The hierarchies to look through, memory's first. */
struct hierarchies {
	const struct cgroup_hierarchy *v[2];
};

static struct hierarchies hierarchies_of(const struct cgroup_mounts *m)
{
	bool both = m->unified.version && strcmp(m->unified.mount, m->memory.mount) != 0;

	return (struct hierarchies){{&m->memory, both ? &m->unified : NULL}};
}

static int offers_load(const struct cgroup_mounts *m, struct found *held, struct found *units)
{
	struct hierarchies h = hierarchies_of(m);
	_cleanup_cgroup_ids_ struct cgroup_ids ids = {};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(h.v) && h.v[i] && !rc; i++) {
		rc = cgroup_ids_load(h.v[i], &ids);
		vec_each (entry, &ids.list)
			rc = rc ? rc : found_offer(held, units, entry->path);
	}
	return rc;
}

static bool is_short(const char *word)
{
	return strlen(word) < CGROUP_DIGITS &&
	       strspn(word, "0123456789abcdefABCDEF") == strlen(word);
}

static int say_unknown(const struct cgroup_mounts *m, const char *word, struct err *err)
{
	_cleanup_(found_free) struct found held = {}, units = {};
	_cleanup_str_ struct str names = {};
	const char *near = NULL;

	if (!offers_load(m, &held, &units))
		near = closest(word, (const char *const *)units.paths.v, units.paths.n);
	cmd_container_names_add(&names, &held);
	err_set(err, -EINVAL, "-C: there is no container, pod or unit '%.80s'", word);
	if (is_short(word))
		return err_hint(err, "give at least %d digits of an id", CGROUP_DIGITS);
	if (near)
		return err_hint(err, "is it '%s'?", near);
	if (held.paths.n)
		return err_hint(err, "containers here: %s", str_get(&names));
	return err_hint(err, "no container of docker, containerd, CRI-O or podman was found; -g "
			     "takes any group");
}

static int cmd_container_take(const struct cgroup_mounts *m, const struct cgroup_hierarchy *h,
	const char *path, struct cgroup *ret, struct str *name, struct err *err)
{
	char dir[PATH_MAX];
	int n = snprintf(dir, sizeof(dir), "%s%s", h->mount, path);
	int rc = n < (int)sizeof(dir) ? cgroup_resolve(m, dir, ret) : -ENAMETOOLONG;

	if (rc)
		return err_errno(err, rc, "-C: %.200s", path); /* it ended meanwhile */
	if (!cgroup_name_add(name, path))
		str_add(name, path);
	return 0;
}

static int find_in(const struct cgroup_hierarchy *h, const char *word, struct found *f)
{
	_cleanup_cgroup_ids_ struct cgroup_ids ids = {};
	int rc = cgroup_ids_load(h, &ids);

	vec_each (entry, &ids.list)
		rc = rc ? rc : found_match(f, entry->path, word);
	return rc;
}

int container_find(const struct cgroup_mounts *mounts, const char *word, struct cgroup *ret,
	struct str *name, struct err *err)
{
	struct hierarchies h = hierarchies_of(mounts);
	_cleanup_(found_free) struct found f = {};
	int rc;

	for (size_t i = 0; i < ARRAY_SIZE(h.v) && h.v[i]; i++) {
		rc = find_in(h.v[i], word, &f);
		if (rc)
			return err_errno(err, rc, "-C: looking through the control groups");
		if (f.paths.n == 1)
			return cmd_container_take(mounts, h.v[i], f.paths.v[0], ret, name, err);
		if (f.paths.n)
			return say_ambiguous(&f, word, err);
	}
	return say_unknown(mounts, word, err);
}
