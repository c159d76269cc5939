/* See tally.h. */
#include "serve/tally.h"

#include <errno.h>
#include <string.h>
#include <uthash.h>

#include "event/cgroup_name.h"
#include "serve/group_names.h"
#include "sys/group/cgroup.h"
#include "sys/root.h"

#define GROUPS_MAX 4096 /* whatever the limit on series is */
#define KILLED_PART 8   /* of the room, for groups that lose a process, … */
#define KILLED_MAX 64   /* … and this at most */
#define NAMES_MAX 16384 /* of groups of which only the name is known */
#define LOOKS_MOST 64   /* for names of containers, in an interval */
#define LOOKS_EACH \
	6 /* for those of one: its runtime may write them later than it makes the group */

const char *const group_name_words[GROUP_NAMES] = {"container_name", "pod", "namespace"};

struct group {
	u64 id;
	char *path;               /* NULL: not known yet */
	char *names[GROUP_NAMES]; /* of its container and pod */
	u32 looks;                /* for them, that are left */
	bool settled;             /* there are no more names than these */
	bool counted;             /* it has series */
	struct group_sums sums;
	struct cgroup_usage usage; /* h.size 0: it was not told */
	UT_hash_handle hh;
};

struct tally {
	struct group *by_id; /* named or counted */
	u64 n_counted, most;
	struct group_sums other;
	u64 to_other; /* how often something was added to it */
	u32 looks;    /* for names, that are left in this interval */
	struct cgroup_mounts *mounts;
	bool mounted;
};

int tally_new(struct tally **ret)
{
	struct tally *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->mounts = calloc(1, sizeof(*g->mounts));
	if (!g->mounts) {
		free(g);
		return -ENOMEM;
	}
	g->mounted = !cgroup_mounts_read(g->mounts);
	g->looks = LOOKS_MOST;
	*ret = g;
	return 0;
}

static void group_drop(struct tally *g, struct group *one)
{
	HASH_DEL(g->by_id, one);
	g->n_counted -= one->counted;
	free(one->path);
	for (size_t i = 0; i < GROUP_NAMES; i++)
		free(one->names[i]);
	free(one);
}

void tally_free(struct tally *g)
{
	struct group *one, *next;

	if (!g)
		return;
	HASH_ITER (hh, g->by_id, one, next)
		group_drop(g, one);
	free(g->mounts);
	free(g);
}

void tally_limit(struct tally *g, u64 most)
{
	g->most = MIN(most, (u64)GROUPS_MAX);
}

static struct group *group_find(const struct tally *g, u64 id)
{
	struct group *one;

	HASH_FIND(hh, g->by_id, &id, sizeof(id), one);
	return one;
}

static struct group *tally_group_add(struct tally *g, u64 id)
{
	struct group *one = group_find(g, id);

	if (one || HASH_COUNT(g->by_id) >= NAMES_MAX)
		return one;
	one = calloc(1, sizeof(*one));
	if (!one)
		return NULL;
	one->id = id;
	HASH_ADD(hh, g->by_id, id, sizeof(id), one);
	return one;
}

/* The group, with series; NULL: it has none. */
static struct group *group_counted(struct tally *g, u64 id, u64 most)
{
	struct group *one = id ? group_find(g, id) : NULL;

	if (one && one->counted)
		return one;
	if (!id || g->n_counted >= most)
		return NULL;
	one = one ? one : tally_group_add(g, id);
	if (one) {
		one->counted = true;
		g->n_counted++;
	}
	return one;
}

/* How many may have series by what they do; the rest is for those that are killed. */
static u64 most_usual(const struct tally *g)
{
	return g->most - MIN(g->most / KILLED_PART, (u64)KILLED_MAX);
}

static struct group_sums *tally_sums_of(struct tally *g, u64 id, u64 most)
{
	struct group *one = group_counted(g, id, most);

	if (one)
		return &one->sums;
	g->to_other++;
	return &g->other;
}

struct group_sums *tally_sums(struct tally *g, u64 id)
{
	return tally_sums_of(g, id, most_usual(g));
}

struct group_sums *tally_sums_of_killed(struct tally *g, u64 id)
{
	return tally_sums_of(g, id, g->most);
}

void tally_name(struct tally *g, const struct rec_cgroup *r)
{
	struct group *one = tally_group_add(g, r->id);
	char *path = one ? strndup(r->path, MIN((size_t)r->length, r->h.size - sizeof(*r))) : NULL;

	if (!path)
		return;
	free(one->path);
	one->path = path;
	one->looks = LOOKS_EACH;
	one->settled = false;
}

static void name_keep(char **to, const char *name)
{
	char *copy = *name && (!*to || strcmp(*to, name) != 0) ? strdup(name) : NULL;

	if (!copy)
		return;
	free(*to);
	*to = copy;
}

/* What is not known yet is looked for again. */
static void tally_group_look(struct tally *g, struct group *one, pthread_mutex_t *lock)
{
	struct container_names names;
	enum group_named named = group_names(one->path, &names);

	one->settled = named != GROUP_UNNAMED;
	one->looks -= one->looks > 0;
	if (named == GROUP_PLAIN)
		return;
	g->looks -= g->looks > 0;
	pthread_mutex_lock(lock);
	name_keep(&one->names[0], names.container);
	name_keep(&one->names[1], names.pod);
	name_keep(&one->names[2], names.space);
	pthread_mutex_unlock(lock);
}

void tally_look(struct tally *g, u64 id, pthread_mutex_t *lock)
{
	struct group *one = group_find(g, id);

	if (g->looks && one && one->path && one->looks && !one->settled)
		tally_group_look(g, one, lock);
}

const char *const *tally_killed(struct tally *g, u64 id, pthread_mutex_t *lock)
{
	static const char *const none[GROUP_NAMES];
	struct group *one = group_find(g, id);

	if (one && one->path && !one->settled)
		tally_group_look(g, one, lock);
	return one ? (const char *const *)one->names : none;
}

void tally_look_again(struct tally *g, pthread_mutex_t *lock)
{
	struct group *one, *next;

	g->looks = LOOKS_MOST;
	HASH_ITER (hh, g->by_id, one, next)
		if (g->looks && one->path && one->counted && one->looks && !one->settled)
			tally_group_look(g, one, lock);
}

void tally_usage(struct tally *g, const struct cgroup_usage *u)
{
	struct group *one = group_counted(g, u->cgroup, most_usual(g));

	if (one)
		one->usage = *u;
	else
		g->to_other++;
}

/* In either hierarchy. Where none is mounted nothing is known to be gone. */
static bool group_is_there(const struct tally *g, const struct group *one)
{
	const struct cgroup_hierarchy *both[] = {&g->mounts->memory, &g->mounts->unified};

	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		int rc = both[i]->version ? sys_exists("%s%s", both[i]->mount, one->path) : -ENOENT;

		if (rc != -ENOENT)
			return true;
	}
	return false;
}

void tally_sweep(struct tally *g)
{
	struct group *one, *next;

	if (!g->mounted)
		return;
	HASH_ITER (hh, g->by_id, one, next)
		if (one->path && !group_is_there(g, one))
			group_drop(g, one);
}

enum shown {
	SHOW_STALLS,
	SHOW_STALL_NS,
	SHOW_FAULTS,
	SHOW_FAULT_NS,
	SHOW_KILLS,
	SHOW_USAGE,
	SHOW_LIMIT,
	SHOW_SWAP,
	SHOW_HITS,
	SHOW_PRESSURE,
	SHOWN,
};

static const struct metric families[SHOWN] = {
	[SHOW_STALLS] = {"memwhy_cgroup_stalls", METRIC_COUNTER, NULL,
		"Allocations and charges that had to wait, by the task's group."},
	[SHOW_STALL_NS] = {"memwhy_cgroup_stall_seconds", METRIC_COUNTER, "seconds",
		"Time that tasks in the group waited for memory."},
	[SHOW_FAULTS] = {"memwhy_cgroup_page_faults", METRIC_COUNTER, NULL,
		"Page faults of tasks in the group."},
	[SHOW_FAULT_NS] = {"memwhy_cgroup_page_fault_seconds", METRIC_COUNTER, "seconds",
		"Time that tasks in the group spent in page faults."},
	[SHOW_KILLS] = {"memwhy_cgroup_oom_kills", METRIC_COUNTER, NULL,
		"Processes in the group killed by the OOM killer."},
	[SHOW_USAGE] = {"memwhy_cgroup_memory_usage_bytes", METRIC_GAUGE, "bytes",
		"Memory charged to the group and its descendants, for groups that are near a "
		"limit, use swap, or hit their limit."},
	[SHOW_LIMIT] = {"memwhy_cgroup_memory_limit_bytes", METRIC_GAUGE, "bytes",
		"The group's own memory limit, if it has one."},
	[SHOW_SWAP] = {"memwhy_cgroup_swap_bytes", METRIC_GAUGE, "bytes",
		"Swap used by the group."},
	[SHOW_HITS] = {"memwhy_cgroup_limit_hits", METRIC_COUNTER, NULL,
		"Times that the group's usage was about to exceed its limit."},
	[SHOW_PRESSURE] = {"memwhy_cgroup_pressure_seconds", METRIC_COUNTER, "seconds",
		"Time in which at least one task (some) or all tasks (full) in the group waited "
		"for memory."},
};

static const char *const stall_words[] = {"allocation", "cgroup_charge"};
static const char *const fault_words[] = {"minor", "major"};

static void sums_expose(
	struct exposition *e, enum shown what, const struct group_sums *s, const struct str *labels)
{
	bool stalls = what == SHOW_STALLS || what == SHOW_STALL_NS;

	if (what == SHOW_KILLS) {
		exposition_u64(e, str_get(labels), s->oom_kills);
		return;
	}
	for (size_t i = 0; i < 2; i++) {
		_cleanup_str_ struct str l = {};

		str_add(&l, str_get(labels));
		label_add(&l, "kind", stalls ? stall_words[i] : fault_words[i]);
		if (what == SHOW_STALLS || what == SHOW_FAULTS)
			exposition_u64(e, str_get(&l), stalls ? s->stalls[i] : s->faults[i]);
		else
			exposition_seconds(
				e, str_get(&l), stalls ? s->stall_ns[i] : s->fault_ns[i]);
	}
}

static void pressure_expose(
	struct exposition *e, const struct cgroup_usage *u, const struct str *labels)
{
	if (!(u->h.flags & CGROUP_HAS_PRESSURE))
		return;
	for (size_t i = 0; i < 2; i++) {
		_cleanup_str_ struct str l = {};

		str_add(&l, str_get(labels));
		label_add(&l, "kind", i ? "full" : "some");
		exposition_seconds(
			e, str_get(&l), (i ? u->full_total_us : u->some_total_us) * 1000ULL);
	}
}

static void usage_expose(struct exposition *e, enum shown what, const struct cgroup_usage *u,
	const struct str *labels)
{
	if (!u->h.size)
		return;
	if (what == SHOW_USAGE)
		exposition_u64(e, str_get(labels), u->usage_bytes);
	if (what == SHOW_LIMIT && u->limit_bytes != CGROUP_USAGE_NONE)
		exposition_u64(e, str_get(labels), u->limit_bytes);
	if (what == SHOW_SWAP)
		exposition_u64(e, str_get(labels), u->swap_bytes);
	if (what == SHOW_HITS)
		exposition_u64(e, str_get(labels), u->limit_hit_total);
	if (what == SHOW_PRESSURE)
		pressure_expose(e, u, labels);
}

/* The path, and of a container its id and names. A group without a path yet has its number. */
static void group_labels(const struct group *one, struct str *out)
{
	struct cgroup_part part;

	if (one->path)
		label_add(out, "cgroup", one->path);
	else
		label_add_u64(out, "cgroup", one->id);
	if (one->path && cgroup_container(one->path, &part)) {
		_cleanup_free_ char *id = strndup(part.name, part.length);

		label_add(out, "container", id ? id : "");
	}
	for (size_t i = 0; i < GROUP_NAMES; i++)
		if (one->names[i])
			label_add(out, group_name_words[i], one->names[i]);
}

static void family_expose(const struct tally *g, struct exposition *e, enum shown what)
{
	struct group *one, *next;

	exposition_family(e, &families[what]);
	HASH_ITER (hh, g->by_id, one, next) {
		_cleanup_str_ struct str labels = {};

		if (!one->counted)
			continue;
		group_labels(one, &labels);
		if (what < SHOW_USAGE)
			sums_expose(e, what, &one->sums, &labels);
		else
			usage_expose(e, what, &one->usage, &labels);
	}
	if (what < SHOW_USAGE) {
		_cleanup_str_ struct str labels = {};

		label_add(&labels, "cgroup", "other");
		sums_expose(e, what, &g->other, &labels);
	}
}

void tally_expose(const struct tally *g, struct exposition *e)
{
	static const struct metric
		counted = {"memwhy_cgroups_with_series", METRIC_GAUGE, NULL,
			"Groups with series of their own."},
		cut = {"memwhy_cgroup_cut", METRIC_COUNTER, NULL,
			"Records of groups without series of their own, as --max-series leaves no "
			"room: summed under the cgroup label other."};

	for (int i = 0; i < SHOWN; i++)
		family_expose(g, e, i);
	exposition_family(e, &counted);
	exposition_u64(e, NULL, g->n_counted);
	exposition_family(e, &cut);
	exposition_u64(e, NULL, g->to_other);
}
