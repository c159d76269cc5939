/* See cgroup_name.h. */
#include "event/cgroup_name.h"

#include <ctype.h>
#include <string.h>

#include "base/util.h"

#define ID_LEN 64 /* of a container: hex digits */
#define UUID_LEN 36

/* What a runtime puts before the id, by its systemd driver (with .scope behind) or its cgroupfs
 * driver. */
static const struct {
	const char *prefix, *runtime;
} prefixes[] = {
	{"docker", "docker"},
	{"cri-containerd", "containerd"},
	{"nerdctl", "containerd"},
	{"crio", "cri-o"},
	{"libpod", "podman"},
	{"libpod-payload", "podman"},
};

/* The group above that holds containers by nothing but their id. */
static const struct {
	const char *parent, *runtime;
} parents[] = {
	{"docker", "docker"},
	{"k8s.io", "containerd"}, /* containerd's namespaces */
	{"default", "containerd"},
};

static const char *const unit_suffixes[] = {".service", ".scope", ".socket", ".mount", ".swap"};

static bool is(const char *text, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(text, word, n);
}

static bool ends_with(const char *text, size_t n, const char *suffix)
{
	size_t m = strlen(suffix);

	return n > m && !memcmp(text + n - m, suffix, m);
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static size_t hex_span(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && is_hex(text[i]))
		i++;
	return i;
}

/* 8-4-4-4-12 digits with '-' or, in units, '_' between; static pods have 32 digits. */
static bool is_uid(const char *text, size_t n)
{
	if (n == 32 || n == ID_LEN)
		return hex_span(text, n) == n;
	for (size_t i = 0; i < n && n == UUID_LEN; i++) {
		bool gap = i == 8 || i == 13 || i == 18 || i == 23;

		if (gap ? text[i] != '-' && text[i] != '_' : !is_hex(text[i]))
			return false;
	}
	return n == UUID_LEN;
}

static const char *runtime_of(const char *prefix, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (is(prefix, n, prefixes[i].prefix))
			return prefixes[i].runtime;
	return NULL;
}

static void part_set(struct cgroup_part *p, enum cgroup_part_kind kind, const char *runtime,
	const char *name, size_t n)
{
	p->kind = kind;
	p->runtime = runtime;
	p->name = name;
	p->length = n;
}

/* ID, PREFIX-ID, PREFIX-ID.scope, SLICE:PREFIX:ID (a systemd name given to the cgroupfs driver). */
static bool container_parse(
	const char *c, size_t n, const char *parent, size_t n_parent, struct cgroup_part *ret)
{
	bool scope = ends_with(c, n, ".scope");
	const char *runtime = "container", *id;
	size_t before;

	n -= scope ? strlen(".scope") : 0;
	if (n < ID_LEN)
		return false;
	id = c + n - ID_LEN;
	if (hex_span(id, ID_LEN) != ID_LEN)
		return false;
	before = (size_t)(id - c);
	if (!before) {
		for (size_t i = 0; i < ARRAY_SIZE(parents) && !scope; i++)
			if (is(parent, n_parent, parents[i].parent))
				runtime = parents[i].runtime;
	} else if (id[-1] == '-' || id[-1] == ':') {
		const char *colon = id[-1] == ':' ? memrchr(c, ':', before - 1) : NULL;
		const char *prefix = colon ? colon + 1 : c;

		runtime = runtime_of(prefix, (size_t)(id - 1 - prefix));
	} else {
		runtime = NULL; /* more digits than an id has, or a name that ends so */
	}
	if (!runtime)
		return false;
	part_set(ret, CGROUP_CONTAINER, runtime, id, ID_LEN);
	return true;
}

/* podUID, …-podUID.slice, …libpod_pod_ID.slice, libpod_parent/ID */
static bool pod_parse(
	const char *c, size_t n, const char *parent, size_t n_parent, struct cgroup_part *ret)
{
	bool slice = ends_with(c, n, ".slice");
	const char *uid = c;

	n -= slice ? strlen(".slice") : 0;
	if (is(parent, n_parent, "libpod_parent") && n == ID_LEN && hex_span(c, n) == n) {
		part_set(ret, CGROUP_POD, NULL, c, n);
		return true;
	}
	for (const char *at = c; (at = memmem(at, (size_t)(c + n - at), "pod", 3)); at += 3)
		uid = at[3] == '_' ? at + 4 : at + 3;
	if (uid == c || uid >= c + n || !is_uid(uid, (size_t)(c + n - uid)))
		return false;
	if (uid != c + 3 && !slice)
		return false;
	part_set(ret, CGROUP_POD, NULL, uid, (size_t)(c + n - uid));
	return true;
}

static bool unit_parse(const char *c, size_t n, struct cgroup_part *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(unit_suffixes); i++) {
		if (!ends_with(c, n, unit_suffixes[i]))
			continue;
		part_set(ret, CGROUP_UNIT, NULL, c, n);
		return true;
	}
	return false;
}

/* The component before the one that begins at c. */
static const char *parent_of(const char *path, const char *c, size_t *ret_n)
{
	const char *end = c, *begin;

	while (end > path && end[-1] == '/')
		end--;
	for (begin = end; begin > path && begin[-1] != '/';)
		begin--;
	*ret_n = (size_t)(end - begin);
	return begin;
}

bool cgroup_part_next(const char *path, struct cgroup_part *part)
{
	const char *c = part->end + strspn(part->end, "/"), *parent;
	size_t n = strcspn(c, "/"), n_parent;

	if (!n)
		return false;
	parent = parent_of(path, c, &n_parent);
	*part = (struct cgroup_part){.name = c, .length = n, .end = c + n};
	if (!pod_parse(c, n, parent, n_parent, part) &&
		!container_parse(c, n, parent, n_parent, part))
		unit_parse(c, n, part);
	return true;
}

static bool innermost(const char *path, enum cgroup_part_kind kind, struct cgroup_part *ret)
{
	struct cgroup_part p = {.end = path};
	bool found = false;

	while (cgroup_part_next(path, &p)) {
		if (p.kind != kind)
			continue;
		*ret = p;
		found = true;
	}
	return found;
}

bool cgroup_container(const char *path, struct cgroup_part *ret)
{
	return innermost(path, CGROUP_CONTAINER, ret);
}

bool cgroup_pod(const char *path, struct cgroup_part *ret)
{
	return innermost(path, CGROUP_POD, ret);
}

/* "user@1000" or "user-1000.slice": its number; 0: neither. */
static size_t user_parse(const struct cgroup_part *p, const char **ret)
{
	static const char slice[] = "user-", manager[] = "user@";
	size_t n = sizeof(slice) - 1, digits = 0;

	if (p->length <= n || (memcmp(p->name, slice, n) && memcmp(p->name, manager, n)))
		return 0;
	while (n + digits < p->length && isdigit((unsigned char)p->name[n + digits]))
		digits++;
	*ret = p->name + n;
	return digits;
}

static void cgroup_name_part_add(struct str *out, const struct cgroup_part *p)
{
	size_t n = p->kind == CGROUP_CONTAINER ? CONTAINER_SHORT : p->length;

	if (p->kind != CGROUP_UNIT)
		str_addf(out, "%s:", p->kind == CGROUP_POD ? "pod" : p->runtime);
	if (p->kind == CGROUP_POD && p->length == ID_LEN)
		n = CONTAINER_SHORT;
	for (size_t i = 0; i < n; i++)
		str_addc(out, p->kind == CGROUP_POD && p->name[i] == '_' ? '-' : p->name[i]);
}

/* What a name consists of: a container or pod, a unit in it or alone, and whose. */
struct name {
	struct cgroup_part held, unit;
	const char *user;
	size_t user_digits;
};

static void name_take(struct name *n, const struct cgroup_part *p)
{
	const char *user;
	size_t digits = user_parse(p, &user);

	if (digits) {
		n->user = user;
		n->user_digits = digits;
	}
	if (p->kind == CGROUP_UNIT) {
		n->unit = *p;
	} else if (p->kind != CGROUP_OTHER) {
		n->held = *p;
		n->unit = (struct cgroup_part){};
	}
}

bool cgroup_name_add(struct str *out, const char *path)
{
	struct cgroup_part p = {.end = path};
	struct name name = {};
	const char *rest;

	while (cgroup_part_next(path, &p))
		name_take(&name, &p);
	if (!name.held.kind && !name.unit.kind)
		return false;
	rest = name.unit.kind ? name.unit.end : name.held.end;
	if (name.held.kind)
		cgroup_name_part_add(out, &name.held);
	else if (name.user && name.user < name.unit.name)
		str_addf(out, "user@%.*s/", (int)name.user_digits, name.user);
	if (name.held.kind && name.unit.kind)
		str_addc(out, '/');
	if (name.unit.kind)
		cgroup_name_part_add(out, &name.unit);
	/* crun, which podman and CRI-O may use, puts its processes one level below */
	str_add(out, name.held.kind && !strcmp(rest, "/container") ? "" : rest);
	return true;
}

static bool digits_match(const struct cgroup_part *p, const char *word)
{
	size_t n = strlen(word);

	if (n < CGROUP_DIGITS || n > p->length)
		return false;
	for (size_t i = 0; i < n; i++) {
		char c = (char)tolower((unsigned char)word[i]);

		if (c != p->name[i] && !(c == '-' && p->name[i] == '_'))
			return false;
	}
	return true;
}

static bool unit_match(const struct cgroup_part *p, const char *word)
{
	size_t n = strlen(word);

	if (n > p->length || memcmp(p->name, word, n))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(unit_suffixes); i++)
		if (is(p->name + n, p->length - n, unit_suffixes[i]))
			return true;
	return n == p->length;
}

bool cgroup_part_answers(const struct cgroup_part *p, const char *word)
{
	const char *colon = strchr(word, ':');

	if (p->kind == CGROUP_UNIT)
		return unit_match(p, word);
	if (p->kind == CGROUP_OTHER)
		return false;
	if (!colon)
		return digits_match(p, word);
	return is(word, (size_t)(colon - word), p->kind == CGROUP_POD ? "pod" : p->runtime) &&
	       digits_match(p, colon + 1);
}

bool cgroup_path_within(const char *path, const char *above)
{
	size_t n = strlen(above);

	while (n && above[n - 1] == '/')
		n--;
	return !strncmp(path, above, n) && (!path[n] || path[n] == '/');
}
