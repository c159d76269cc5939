/* See scope.h. */
#include "cmd/scope.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "capture/kbtf.h"
#include "cmd/container.h"
#include "cmd/run_as.h"
#include "sys/group/cgroup.h"
#include "sys/process/proc.h"
#include "sys/root.h"

#define DEBUGINFOD_NS_DEFAULT (30 * NSEC_PER_SEC)

static int pid_add(struct scope *s, const char *word, struct err *err)
{
	char path[64];
	u64 pid;

	if (parse_u64(word, 1, 4194304, &pid)) { /* PID_MAX_LIMIT */
		err_set(err, -EINVAL, "-p: '%.40s' is not a process id", word);
		return err_hint(err, "give numbers separated by commas; names go with -c");
	}
	snprintf(path, sizeof(path), "/proc/%llu", pid);
	if (access(path, F_OK)) {
		err_set(err, -EINVAL, "-p: there is no process %llu", pid);
		return err_hint(err, "it may have ended; 'pgrep -a NAME' finds processes by name");
	}
	return vec_push(&s->tasks, (u32)pid);
}

static int pids_parse(struct scope *s, const char *text, struct err *err)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *word;
	int rc = 0;

	if (!copy)
		return -ENOMEM;
	while (!rc && (word = strsep(&rest, ",")))
		rc = pid_add(s, word, err);
	return rc;
}

static int cgroup_find(
	const struct cgroup_mounts *m, const char *path, struct cgroup *ret, struct err *err)
{
	int rc = cgroup_resolve(m, path, ret);

	if (!rc)
		return 0;
	err_errno(err, rc, "-g: no cgroup '%.100s'", path);
	err->code = -EINVAL;
	return err_hint(err, "give a directory below /sys/fs/cgroup, or its path in the hierarchy");
}

/* -g or -C */
static int cgroup_parse(const struct options *o, const struct cgroup_mounts *m,
	struct capture_options *opt, struct scope_words *words, struct err *err)
{
	_cleanup_free_ struct cgroup *cg = calloc(1, sizeof(*cg));
	_cleanup_str_ struct str name = {};
	int rc;

	if (!cg)
		return -ENOMEM;
	rc = o->cgroup ? cgroup_find(m, o->cgroup, cg, err)
		       : container_find(m, o->container, cg, &name, err);
	if (rc)
		return rc;
	if (cg->version == 1 && !kbtf_available())
		return err_set(err, -EOPNOTSUPP,
			"%s: cgroups of version 1 need the kernel's BTF (/sys/kernel/btf/vmlinux), "
			"which is missing",
			o->cgroup ? "-g" : "-C");
	snprintf(words->container, sizeof(words->container), "%s", str_get(&name));
	opt->scope.cgroup_id = cg->id;
	opt->scope.cgroup_level = cg->level;
	opt->cgroup_version = cg->version == 1 ? SCOPE_CGROUP_V1 : SCOPE_CGROUP_V2;
	return 0;
}

static int cgroups_prepare(const struct options *o, struct capture_options *opt,
	struct scope_words *words, struct err *err)
{
	_cleanup_free_ struct cgroup_mounts *m = calloc(1, sizeof(*m));

	words->container[0] = '\0';
	if (!m)
		return -ENOMEM;
	if (o->cgroup && o->container)
		return err_set(err, -EINVAL, "-g and -C exclude each other");
	if (cgroup_mounts_read(m)) {
		if (o->cgroup || o->container)
			return err_set(err, -EINVAL, "%s: no cgroup hierarchy is mounted",
				o->cgroup ? "-g" : "-C");
		return 0;
	}
	opt->cgroup_version = m->memory.version == 1    ? SCOPE_CGROUP_V1
			      : m->unified.version == 2 ? SCOPE_CGROUP_V2
							: SCOPE_CGROUP_NONE;
	return o->cgroup || o->container ? cgroup_parse(o, m, opt, words, err) : 0;
}

static int stacks_parse(const struct options *o, struct capture_options *opt, struct err *err)
{
	const char *s = o->stacks;

	if (!s)
		return 0;
	opt->user_stacks = !*s || !strcmp(s, "both") || !strcmp(s, "user");
	opt->kernel_stacks = !*s || !strcmp(s, "both") || !strcmp(s, "kernel");
	if (opt->user_stacks || opt->kernel_stacks)
		return 0;
	err_set(err, -EINVAL, "--stacks: '%.40s' is not one of user, kernel, both", s);
	return err_hint(err, "--stacks alone means both");
}

static void words_add(struct scope_words *w, const char *what, const char *value)
{
	size_t n = strlen(w->text);

	if (value)
		snprintf(w->text + n, sizeof(w->text) - n, "%s%s %s", n ? ", " : "", what, value);
}

static void words_fill(const struct options *o, struct scope_words *w)
{
	w->text[0] = '\0';
	words_add(w, "pid", o->pids);
	words_add(w, "comm", o->comm);
	words_add(w, "cgroup", o->cgroup);
	words_add(w, "cgroup", o->container ? w->container : NULL);
	words_add(w, "command", o->argv ? o->argv[0] : NULL);
	if (!w->text[0])
		snprintf(w->text, sizeof(w->text), "system-wide");
}

static int debuginfod_parse(const struct options *o, struct capture_options *ret, struct err *err)
{
	if (!o->debuginfod)
		return 0;
	ret->debuginfod_ns = DEBUGINFOD_NS_DEFAULT;
	if (!*o->debuginfod)
		return 0;
	if (!parse_duration(o->debuginfod, &ret->debuginfod_ns) && ret->debuginfod_ns)
		return 0;
	err_set(err, -EINVAL, "--debuginfod: '%.40s' is not a valid value", o->debuginfod);
	return err_hint(err, "write a time as 10s or 5m");
}

static int cmd_scope_comm_take(const char *comm, char ret[COMM_LEN], struct err *err)
{
	char word[HINT_WORD];

	snprintf(ret, COMM_LEN, "%s", comm ? comm : "");
	if (!comm || strlen(comm) < COMM_LEN)
		return 0;
	err_set(err, -EINVAL, "-c: '%.40s' is longer than the kernel's 15 characters", comm);
	return err_hint(err, "the kernel cuts names: use -c %s", hint_word(word, ret, "NAME"));
}

int scope_from_options(const struct options *o, struct capture_options *ret,
	struct scope_words *ret_words, struct err *err)
{
	int rc;

	*ret = (struct capture_options){
		.each = o->each,
		.opts = o->own,
		.ring_bytes = o->ring_bytes,
		.max_bytes = o->max_bytes == UINT64_MAX ? 0 : MAX(o->max_bytes, 1ULL),
		.min_ns = o->min_ns,
		.by = o->by,
		.with_self = o->with_self,
	};
	if (o->ring_bytes > 1UL << 30) {
		err_set(err, -EINVAL, "--ring-size: at most 1G");
		return err_hint(err, "if events are lost, -i or a narrower scope helps more");
	}
	rc = run_as_from_options(o, &ret->as, &ret->as_other, err);
	if (rc)
		return rc;
	if (o->interval_ns && o->interval_ns < 10 * NSEC_PER_MSEC)
		return err_set(err, -EINVAL, "-i: an interval is at least 10ms");
	if (o->pids && o->argv) {
		err_set(err, -EINVAL, "-p and a command after -- exclude each other");
		return err_hint(err, "run memwhy twice, or omit one of them");
	}
	rc = cmd_scope_comm_take(o->comm, ret->scope.comm, err);
	if (rc)
		return rc;
	if ((o->pids || o->argv) && !proc_namespace_is_first()) {
		err_set(err, -EOPNOTSUPP,
			"-p and -- CMD need the host's process ids: this is another pid "
			"namespace");
		return err_hint(err,
			"run memwhy in the host's (containers: --pid=host), or use -c, -g or -C");
	}
	if (o->follow && !o->pids)
		return err_set(err, -EINVAL, "--follow needs -p");
	ret->scope.follow = o->follow;
	rc = o->pids ? pids_parse(&ret->scope, o->pids, err) : 0;
	if (!rc)
		rc = cgroups_prepare(o, ret, ret_words, err);
	if (!rc)
		rc = stacks_parse(o, ret, err);
	if (!rc)
		rc = debuginfod_parse(o, ret, err);
	if (!rc)
		words_fill(o, ret_words);
	else
		scope_free(ret);
	return rc;
}

void scope_free(struct capture_options *opt)
{
	vec_free(&opt->scope.tasks);
}
