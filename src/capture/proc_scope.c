/* See proc_scope.h. */
#include "capture/proc_scope.h"

#include <errno.h>
#include <string.h>

#include "sys/root.h"

static int proc_scope_by_number(const void *a, const void *b)
{
	const u32 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Of a thread its process; of what is gone, the number as it is. */
static u32 process_of(u32 tid)
{
	struct proc_status st;

	return proc_status_read((int)tid, &st) ? tid : st.tgid;
}

static int roots_take(const struct scope *scope, struct proc_scope *s)
{
	int rc = 0;

	vec_each (task, &scope->tasks)
		if (!rc)
			rc = vec_push(&s->roots, process_of(*task));
	if (s->roots.n)
		qsort(s->roots.v, s->roots.n, sizeof(s->roots.v[0]), proc_scope_by_number);
	return rc;
}

/* The path of the cgroup asked for, as /proc/PID/cgroup has it. */
static int cgroup_find(const struct capture *c, struct proc_scope *s)
{
	_cleanup_free_ struct cgroup_mounts *m = calloc(1, sizeof(*m));
	_cleanup_cgroup_ids_ struct cgroup_ids ids = {};
	const struct cgroup_hierarchy *h;
	const char *path = NULL;

	if (!m)
		return -ENOMEM;
	if (cgroup_mounts_read(m))
		return 0;
	h = c->opt.cgroup_version == SCOPE_CGROUP_V1 ? &m->memory : &m->unified;
	if (!cgroup_ids_load(h, &ids))
		path = cgroup_ids_path(&ids, c->opt.scope.cgroup_id);
	/* A group that is gone has no processes: no path begins with "?". */
	snprintf(s->cgroup_path, sizeof(s->cgroup_path), "%s%s",
		strcmp(h->root, "/") ? h->root : "",
		!path               ? "?"
		: strcmp(path, "/") ? path
				    : "");
	return 0;
}

int proc_scope_open(const struct capture *c, struct proc_scope *s)
{
	const struct scope *scope = &c->opt.scope;
	int rc = roots_take(scope, s);

	s->capture = c;
	s->by_task = scope->by_task || scope->tasks.n;
	s->follow = scope->follow;
	memcpy(s->comm, scope->comm, sizeof(s->comm));
	if (!rc && scope->cgroup_id) {
		s->cgroup_version = c->opt.cgroup_version;
		rc = cgroup_find(c, s);
	}
	return rc;
}

void proc_scope_free(struct proc_scope *s)
{
	vec_free(&s->roots);
	str_free(&s->text);
}

bool proc_scope_has_root(const struct proc_scope *s, u32 pid)
{
	return s->roots.n &&
	       bsearch(&pid, s->roots.v, s->roots.n, sizeof(s->roots.v[0]), proc_scope_by_number);
}

bool proc_scope_is_self(const struct proc_scope *s, u32 pid)
{
	return s->capture && capture_is_self(s->capture, pid);
}

bool proc_scope_tests(const struct proc_scope *s)
{
	return s->comm[0] || s->cgroup_version;
}

static bool comm_test(struct proc_scope *s, u32 pid)
{
	size_t n = strlen(s->comm);

	return !sys_read(&s->text, "/proc/%u/comm", pid) && s->text.len == n + 1 &&
	       !memcmp(s->text.buf, s->comm, n);
}

static bool cgroup_test(struct proc_scope *s, u32 pid)
{
	size_t n = strlen(s->cgroup_path);
	const char *path;

	if (sys_read(&s->text, "/proc/%u/cgroup", pid) ||
		proc_cgroup_parse(str_get(&s->text), &s->membership))
		return false;
	path = s->cgroup_version == SCOPE_CGROUP_V1 ? s->membership.v1_memory : s->membership.v2;
	return path[0] && !strncmp(path, s->cgroup_path, n) && (!path[n] || path[n] == '/' || !n);
}

bool proc_scope_test(struct proc_scope *s, u32 pid)
{
	return (!s->comm[0] || comm_test(s, pid)) && (!s->cgroup_version || cgroup_test(s, pid));
}
