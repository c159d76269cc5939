/*
 * What lies outside of the tasks or the group that were asked for: findings of the whole machine,
 * and of groups that none of these tasks is in. Owns the reading of the scope's words. See
 * report.h.
 */
#include <string.h>

#include "event/cgroup_name.h"
#include "report/report.h"

struct scope_parts {
	const char *pids; /* "12,13"; NULL: any */
	const char *comm, *cgroup;
};

/* Of "pid 12,13, comm cc1, cgroup /a"; a copy that is cut up. */
static void parts_parse(char *words, struct scope_parts *ret)
{
	char *next;

	for (char *w = words; w; w = next) {
		next = strstr(w, ", ");
		if (next) {
			*next = '\0';
			next += 2;
		}
		if (!strncmp(w, "pid ", 4))
			ret->pids = w + 4;
		else if (!strncmp(w, "comm ", 5))
			ret->comm = w + 5;
		else if (!strncmp(w, "cgroup ", 7))
			ret->cgroup = w + 7;
	}
}

static bool pid_listed(const char *list, u32 pid)
{
	char word[16];
	size_t n = (size_t)snprintf(word, sizeof(word), "%u", pid);

	for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (!strncmp(p, word, n) && (!p[n] || p[n] == ','))
			return true;
	return false;
}

/* The root was not meant to be one scope among others. */
static bool path_below(const char *path, const char *of)
{
	return of[strspn(of, "/")] && cgroup_path_within(path, of);
}

/* As -g has it: in its hierarchy, or below the directory where that is mounted; or as -C has it. */
static bool path_asked_for(const char *path, const char *given)
{
	static const char mount[] = "/sys/fs/cgroup/";
	const size_t n = sizeof(mount) - 2; /* without its last / */
	struct cgroup_part part = {.end = path};
	const char *rest;

	if (path_below(path, given))
		return true;
	if (!strncmp(given, mount, n + 1)) {
		rest = strchr(given + n + 1, '/');
		return path_below(path, given + n) || (rest && path_below(path, rest));
	}
	if (*given == '/')
		return false;
	while (cgroup_part_next(path, &part))
		if (cgroup_part_answers(&part, given))
			return true;
	return false;
}

struct search {
	const struct report *r;
	const struct scope_parts *scope;
	u64 cgroup;
	bool found;
};

static void task_try(void *arg, const struct rec_task *t)
{
	struct search *s = arg;
	const struct scope_parts *p = s->scope;
	const char *path = stream_cgroup(s->r->stream, t->cgroup);

	if ((p->pids && !pid_listed(p->pids, t->tgid)) || (p->comm && strcmp(p->comm, t->comm)) ||
		(p->cgroup && (!path || !path_asked_for(path, p->cgroup))))
		return;
	s->found |= t->cgroup && report_cgroup_within(s->r, t->cgroup, s->cgroup);
}

/* Is it one that was asked for, or is a task that was asked for in it or below it? */
static bool cgroup_is_here(const struct report *r, const struct scope_parts *p, u64 cgroup)
{
	struct search s = {.r = r, .scope = p, .cgroup = cgroup};
	const char *path = stream_cgroup(r->stream, cgroup);

	if (p->cgroup && path && path_asked_for(path, p->cgroup))
		return true;
	stream_each_task(r->stream, task_try, &s);
	return s.found;
}

static bool finding_is_here(
	const struct report *r, const struct scope_parts *p, const struct finding *f)
{
	/* Processes are looked at only within the scope. */
	return f->here || f->tgid || (f->cgroup && cgroup_is_here(r, p, f->cgroup));
}

bool report_scope_is_part(const char *words)
{
	return words && *words && strcmp(words, "system-wide") != 0;
}

void report_split(struct report *r, const char *words)
{
	struct scope_parts p = {};
	_cleanup_free_ char *copy = NULL;
	size_t kept = 0;

	if (!report_scope_is_part(words))
		return;
	copy = strdup(words);
	if (!copy)
		return;
	r->scoped = true;
	parts_parse(copy, &p);
	vec_each (f, &r->findings) {
		if (finding_is_here(r, &p, f))
			r->findings.v[kept++] = *f;
		else if (vec_push(&r->elsewhere, *f))
			break; /* memory is short: what is outside is left out */
	}
	r->findings.n = kept;
}

static void swap_findings(struct report *r)
{
	__typeof__(r->findings) here = r->findings;

	memcpy(&r->findings, &r->elsewhere, sizeof(here));
	memcpy(&r->elsewhere, &here, sizeof(here));
}

/* What hurts here and has no cause here may have one there. */
static void refer(struct report *r)
{
	vec_each (s, &r->findings) {
		vec_each (c, &r->elsewhere) {
			if (!s->symptom || c->symptom || !(s->losses & c->losses) || c->cgroup)
				continue;
			finding_line(r, s->evidence, "possible cause elsewhere on this machine: %s",
				c->title ? c->title : c->rule);
			break;
		}
	}
}

void report_conclude(struct report *r, const char *words)
{
	report_split(r, words);
	if (r->elsewhere.n) {
		swap_findings(r);
		report_explain(r);
		report_rank(r);
		swap_findings(r);
	}
	report_explain(r);
	refer(r);
	report_rank(r);
}
