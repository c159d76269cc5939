/* Operands made into events. See count_events.h. */
#include "probes/count/count_events.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/closest.h"
#include "base/match.h"
#include "probes/count/count_elf.h"
#include "sys/root.h"

#define CLOCK_HZ 99 /* not in step with what happens at round times */

static const struct software {
	const char *name;
	u64 config, hz;
} software[] = {
	{"page-faults", PERF_COUNT_SW_PAGE_FAULTS, 0},
	{"faults", PERF_COUNT_SW_PAGE_FAULTS, 0},
	{"minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN, 0},
	{"major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ, 0},
	{"context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES, 0},
	{"cs", PERF_COUNT_SW_CONTEXT_SWITCHES, 0},
	{"cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS, 0},
	{"migrations", PERF_COUNT_SW_CPU_MIGRATIONS, 0},
	{"alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS, 0},
	{"emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS, 0},
	{"cgroup-switches", 11 /* PERF_COUNT_SW_CGROUP_SWITCHES, since 5.13 */, 0},
	{"cpu-clock", PERF_COUNT_SW_CPU_CLOCK, CLOCK_HZ},
};

static int event_add(struct event_list *all, const struct event *e, struct err *err)
{
	int rc;

	vec_each (other, &all->list)
		if (!strcmp(other->name, e->name))
			return 0;
	if (all->list.n == COUNT_EVENTS) {
		err_set(err, -EINVAL, "more than %d events at once", COUNT_EVENTS);
		return err_hint(err, "name fewer: 'vmscan:*' is one group");
	}
	rc = vec_push(&all->list, *e);
	return rc ? err_errno(err, rc, "%.80s", e->name) : 0;
}

static int software_add(struct event_list *all, const char *name, struct err *err)
{
	const char *names[ARRAY_SIZE(software)], *near;

	for (size_t i = 0; i < ARRAY_SIZE(software); i++) {
		const struct software *s = &software[i];
		struct event e = {.how = CLONE_SOFTWARE, .number = s->config, .hz = s->hz};

		names[i] = s->name;
		if (strcmp(s->name, name) != 0)
			continue;
		snprintf(e.name, sizeof(e.name), "%s", name);
		return event_add(all, &e, err);
	}
	near = closest(name, names, ARRAY_SIZE(names));
	err_set(err, -EINVAL, "there is no event '%.80s'", name);
	if (near)
		return err_hint(err, "did you mean '%s'?", near);
	return err_hint(err, "events are CATEGORY:NAME, 'CATEGORY:*', page-faults, "
			     "u:PATH:SYMBOL, k:FUNCTION");
}

static int tracefs_need(struct event_list *all, struct err *err)
{
	int rc = all->dir[0] ? 0 : tracefs_find(all->dir);

	if (!rc)
		return 0;
	all->dir[0] = '\0';
	if (rc == -EACCES) {
		err_set(err, rc, "tracepoints: only root may read tracefs");
		return err_hint(err, "run it as root (sudo)");
	}
	if (rc == -EPERM) {
		err_set(err, rc,
			"tracepoints: tracefs is not mounted, and mounting it needs "
			"CAP_SYS_ADMIN");
		return err_hint(err, "run it as root (sudo), or mount it: mount -t tracefs nodev "
				     "/sys/kernel/tracing");
	}
	err_set(err, -EOPNOTSUPP, "tracepoints: there is no tracefs: %s", strerror(-rc));
	return err_hint(err, "the kernel needs CONFIG_FTRACE=y");
}

typedef VEC(char *) name_list;

static void names_free(name_list *l)
{
	vec_each (name, l)
		free(*name);
	vec_free(l);
}

static int name_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The directories below tracefs's events that match, in alphabetical order. */
static int names_read(
	const struct event_list *all, const char *below, const char *glob, name_list *ret)
{
	char path[PATH_MAX];
	int rc = sys_path(path, "%s/events%s%s", all->dir, *below ? "/" : "", below);
	DIR *d = rc ? NULL : opendir(path);
	const struct dirent *e;

	if (!d)
		return rc ? rc : -errno;
	while (!rc && (e = readdir(d))) {
		char *name;

		if (e->d_name[0] == '.' || e->d_type == DT_REG ||
			!pattern_matches(glob, e->d_name) ||
			strlen(e->d_name) >= TRACEPOINT_NAME_MAX)
			continue;
		name = strdup(e->d_name);
		rc = name ? vec_push(ret, name) : -ENOMEM;
		if (rc)
			free(name);
	}
	closedir(d);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(ret->v[0]), name_compare);
	return rc;
}

/* Categories whose entries are no tracepoints of their own. */
static bool category_is_other(const char *category)
{
	return !strcmp(category, "ftrace") || !strcmp(category, "synthetic");
}

static int category_add(
	struct event_list *all, const char *category, const char *glob, struct err *err)
{
	name_list names = {};
	int rc = category_is_other(category) ? 0 : names_read(all, category, glob, &names);

	vec_each (name, &names) {
		struct event e = {.how = CLONE_TRACEPOINT};

		if (rc)
			break;
		snprintf(e.name, sizeof(e.name), "%s:%s", category, *name);
		snprintf(e.category, sizeof(e.category), "%s", category);
		snprintf(e.what, sizeof(e.what), "%s", *name);
		rc = event_add(all, &e, err);
	}
	names_free(&names);
	return rc == -ENOENT ? 0 : rc;
}

static bool category_has(const struct event_list *all, const char *category, const char *name)
{
	name_list names = {};
	bool found = false;

	names_read(all, category, "*", &names);
	vec_each (n, &names)
		found |= !strcmp(*n, name);
	names_free(&names);
	return found;
}

/* Says which is the nearest: a category, or a tracepoint of it. */
static int tracepoint_unknown(
	const struct event_list *all, const char *category, const char *name, struct err *err)
{
	name_list names = {};
	const char *near;

	err_set(err, -EINVAL, "there is no tracepoint '%.60s:%.60s'", category, name);
	names_read(all, category, "*", &names);
	near = closest(name, (const char *const *)names.v, names.n);
	if (near)
		err_hint(err, "did you mean '%.60s:%s'?", category, near);
	else if (names.n)
		err_hint(err, "'%.60s:*' counts all %zu of that category", category, names.n);
	names_free(&names);
	names = (name_list){};
	if (!err || err->hint[0])
		return -EINVAL;
	names_read(all, "", "*", &names);
	near = closest(category, (const char *const *)names.v, names.n);
	if (near && category_has(all, near, name))
		err_hint(err, "did you mean '%s:%.60s'?", near, name);
	else if (near)
		err_hint(err,
			"the nearest category is '%s'; memwhy count --list '%s:*' lists its events",
			near, near);
	else
		err_hint(err, "categories are the directories in /sys/kernel/tracing/events");
	names_free(&names);
	return -EINVAL;
}

static int tracepoints_add(struct event_list *all, const char *operand, struct err *err)
{
	const char *colon = strchr(operand, ':');
	char category[TRACEPOINT_NAME_MAX] = "";
	name_list categories = {};
	size_t before = all->list.n;
	int rc = tracefs_need(all, err);

	if (rc)
		return rc;
	snprintf(category, sizeof(category), "%.*s", (int)(colon - operand), operand);
	if (strchr(operand, '/') || !category[0] || !colon[1])
		return err_set(err, -EINVAL, "'%.80s' is not a tracepoint: CATEGORY:NAME", operand);
	rc = names_read(all, "", category, &categories);
	vec_each (c, &categories)
		if (!rc)
			rc = category_add(all, *c, colon + 1, err);
	names_free(&categories);
	if (rc)
		return err && err->code ? rc : err_errno(err, rc, "%.80s", operand);
	if (all->list.n > before)
		return 0;
	vec_each (e, &all->list) /* named before */
		if (pattern_matches(operand, e->name))
			return 0;
	return tracepoint_unknown(all, category, colon + 1, err);
}

/* "FUNCTION", "FUNCTION+0x10": the offset is cut off. */
static int offset_cut(char *symbol, u64 *ret, struct err *err)
{
	char *plus = strrchr(symbol, '+'), *end;

	*ret = 0;
	if (!plus)
		return 0;
	errno = 0;
	*ret = strtoull(plus + 1, &end, 0);
	if (errno || !plus[1] || *end)
		return err_set(err, -EINVAL, "'%.40s' is not an offset", plus + 1);
	*plus = '\0';
	return 0;
}

static int kernel_add(struct event_list *all, const char *operand, struct err *err)
{
	struct event e = {.how = CLONE_KPROBE, .returns = operand[1] == 'r'};
	int rc;

	snprintf(e.name, sizeof(e.name), "%s", operand);
	snprintf(e.what, sizeof(e.what), "%s", strchr(operand, ':') + 1);
	rc = offset_cut(e.what, &e.number, err);
	if (!rc && (!e.what[0] || strpbrk(e.what, "*?[:/ ")))
		return err_set(err, -EINVAL, "'%.80s': one kernel function is k:NAME", operand);
	return rc ? rc : event_add(all, &e, err);
}

static int user_add(struct event_list *all, const char *operand, struct err *err)
{
	struct event e = {.how = CLONE_UPROBE, .returns = operand[1] == 'r'};
	const char *path = strchr(operand, ':') + 1, *colon = strrchr(path, ':');
	char file[PATH_MAX], symbol[EVENT_NAME];
	u64 offset;
	int rc;

	if (!colon || colon == path || !colon[1])
		return err_set(
			err, -EINVAL, "'%.80s': a function of a program is u:PATH:SYMBOL", operand);
	snprintf(e.name, sizeof(e.name), "%s", operand);
	snprintf(symbol, sizeof(symbol), "%s", colon + 1);
	snprintf(file, sizeof(file), "%.*s", (int)(colon - path), path);
	rc = offset_cut(symbol, &offset, err);
	rc = rc ? rc
		: elf_symbol_place(all->reader, file, all->pid, symbol, e.what, sizeof(e.what),
			  &e.number, err);
	e.number += offset;
	return rc ? rc : event_add(all, &e, err);
}

int event_list_add(struct event_list *all, const char *operand, struct err *err)
{
	if (strlen(operand) >= EVENT_NAME)
		return err_set(err, -EINVAL, "'%.60s…' is too long", operand);
	if (!strncmp(operand, "k:", 2) || !strncmp(operand, "kr:", 3))
		return kernel_add(all, operand, err);
	if (!strncmp(operand, "u:", 2) || !strncmp(operand, "ur:", 3))
		return user_add(all, operand, err);
	return strchr(operand, ':') ? tracepoints_add(all, operand, err)
				    : software_add(all, operand, err);
}

void event_list_free(struct event_list *all)
{
	vec_each (e, &all->list)
		tracepoint_format_free(&e->format);
	vec_free(&all->list);
}
