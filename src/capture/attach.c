/* See attach.h. */
#include "capture/attach.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/str.h"
#include "capture/ahead.h"
#include "capture/clone.h"
#include "capture/kbtf.h"
#include "capture/map_memory.h"
#include "capture/object.h"
#include "sys/kernel/tracefs.h"
#include "sys/rights.h"

#define MISSED_GAP_NS (4 * NSEC_PER_SEC)

struct attached {
	struct bpf_object *obj;
	VEC(struct bpf_link *) links;
	VEC(int) kept_progs, kept_links;
	u64 kept_bytes;
	size_t n_follow;           /* of the links, the first: they stay while it is paused */
	u64 missed, missed_before; /* see attach_counting */
	bool missed_is_over;
	u64 missed_last, missed_ns, missed_gap_ns; /* what was read last, when, how often it is */
	const struct attach_hook *hooks;
	size_t n_hooks;
	u32 owned;                          /* see attach_owned */
	int used[ATTACH_HOOKS_MAX];         /* method in use, -1: none */
	char reason[ATTACH_HOOKS_MAX][128]; /* why the methods before it do not work */
	int error[ATTACH_HOOKS_MAX];        /* … as -errno of the first */
	bool refused[ATTACH_HOOKS_MAX];     /* … by the verifier */
};

static bool method_wanted(const struct attach_spec *spec, const struct attach_hook *h, int m)
{
	const struct attach_method *method = &h->methods[m];

	return m < ATTACH_METHODS && method->method && (!h->only || h->only & spec->options) &&
	       (!method->only || method->only & spec->options);
}

/* The next method after the present one that the options want; -1 when there is none. */
static void hook_advance(struct attached *a, const struct attach_spec *spec, size_t hook)
{
	for (int m = a->used[hook] + 1; m < ATTACH_METHODS; m++) {
		if (!method_wanted(spec, &spec->hooks[hook], m))
			continue;
		a->used[hook] = m;
		return;
	}
	a->used[hook] = -1;
}

static const struct attach_method *hook_method(const struct attached *a, size_t hook)
{
	int m = a->used[hook];

	return m < 0 ? NULL : &a->hooks[hook].methods[m];
}

static int prog_enable(struct bpf_object *obj, const char *name)
{
	struct bpf_program *p = name ? bpf_object__find_program_by_name(obj, name) : NULL;

	if (!name)
		return 0;
	return p ? bpf_program__set_autoload(p, true) : -ENOENT;
}

static int method_enable(struct bpf_object *obj, const struct attach_method *m)
{
	int rc = 0;

	for (size_t i = 0; m && i < ATTACH_PROGS && !rc; i++)
		rc = prog_enable(obj, m->progs[i]);
	for (size_t i = 0; m && i < ARRAY_SIZE(m->perf) && !rc; i++)
		rc = prog_enable(obj, m->perf[i].prog);
	return rc;
}

/* Opens the object with the programs of the methods in use, or of one hook only. */
static int plan_prepare(const struct attached *a, struct capture *c, const struct attach_spec *spec,
	int only_hook, int types_fd, struct bpf_object **ret)
{
	struct bpf_object *obj;
	int rc = spec->only_load ? clone_prepare() : 0;

	if (!rc)
		rc = types_fd < 0 ? object_open(spec->object, &obj)
				  : object_open_apart(spec->object, types_fd, &obj);
	if (rc)
		return rc;
	rc = object_prepare(obj, c);
	if (!rc && spec->prepare)
		rc = spec->prepare(obj, spec->arg);
	if (!rc)
		rc = budget_shrink(obj, c);
	for (size_t i = 0; i < a->n_hooks && !rc; i++)
		if (only_hook < 0 || (size_t)only_hook == i)
			rc = method_enable(obj, hook_method(a, i));
	if (!rc)
		rc = prog_enable(obj, spec->only_load);
	if (!rc && c->opt.scope.follow)
		rc = prog_enable(obj, object_fork_program());
	if (rc)
		bpf_object__close(obj);
	else
		*ret = obj;
	return rc;
}

static int plan_load(
	struct attached *a, struct capture *c, const struct attach_spec *spec, int only_hook)
{
	struct bpf_object *obj = only_hook < 0 ? ahead_take(c->ahead, spec->arg) : NULL;
	int rc = 0;

	if (!obj) {
		rc = plan_prepare(a, c, spec, only_hook, -1, &obj);
		if (rc)
			return rc;
		rc = bpf_object__load(obj);
	}
	if (rc) {
		bpf_object__close(obj);
		return rc;
	}
	if (only_hook < 0)
		a->owned |= object_share(obj, c);
	a->obj = obj;
	return 0;
}

static void plan_unload(struct attached *a)
{
	attach_stop(a);
	bpf_object__close(a->obj);
	a->obj = NULL;
}

static int link_keep(struct attached *a, struct bpf_link *link)
{
	int rc;

	if (!link)
		return -errno;
	rc = vec_push(&a->links, link);
	if (rc)
		bpf_link__destroy(link);
	return rc;
}

/* Runs the program at each event. 0, also where the CPU is offline. */
static int perf_link(
	struct attached *a, struct bpf_program *prog, struct perf_event_attr *attr, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link;

	if (fd < 0)
		return errno == ENODEV ? 0 : -errno;
	link = bpf_program__attach_perf_event(prog, fd);
	if (!link)
		close(fd);
	return link_keep(a, link);
}

static int perf_attach_cpu(
	struct attached *a, struct bpf_program *prog, const struct attach_perf *p, int cpu)
{
	struct perf_event_attr attr = {
		.type = p->type,
		.config = p->config,
		.size = sizeof(attr),
		.sample_period = 1,
	};
	int rc = p->aim ? p->aim(&attr, cpu) : 0;

	if (rc)
		return rc == -ENODEV ? 0 : rc;
	return perf_link(a, prog, &attr, cpu);
}

static int perf_attach(struct attached *a, const struct attach_perf *p)
{
	struct bpf_program *prog =
		p->prog ? bpf_object__find_program_by_name(a->obj, p->prog) : NULL;
	int rc = 0;

	if (!prog)
		return p->prog ? -ENOENT : 0;
	for (int cpu = 0; cpu < libbpf_num_possible_cpus() && !rc; cpu++)
		rc = perf_attach_cpu(a, prog, p, cpu);
	return rc;
}

/* The program of a section tp/CATEGORY/NAME or tracepoint/CATEGORY/NAME. libbpf looks for the
 * number of a tracepoint only where tracefs is usually mounted. */
static int tracepoint_attach(struct attached *a, struct bpf_program *prog)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr)};
	char dir[PATH_MAX], category[TRACEPOINT_NAME_MAX], name[TRACEPOINT_NAME_MAX];
	int rc = tracefs_find(dir);
	u64 id;

	if (sscanf(bpf_program__section_name(prog), "%*[^/]/%63[^/]/%63s", category, name) != 2)
		return -EINVAL;
	if (!rc)
		rc = tracepoint_id_read(dir, category, name, &id);
	if (rc)
		return rc;
	attr.config = id;
	return perf_link(a, prog, &attr, 0);
}

static int prog_attach(struct attached *a, const char *name)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(a->obj, name);

	if (prog && bpf_program__type(prog) == BPF_PROG_TYPE_TRACEPOINT)
		return tracepoint_attach(a, prog);
	return link_keep(a, bpf_program__attach(prog));
}

/* In reverse: a program that steps in for another is never without it. */
static void links_drop(struct attached *a, size_t but)
{
	for (; a->links.n > but; a->links.n--)
		bpf_link__destroy(a->links.v[a->links.n - 1]);
}

static int method_attach(struct attached *a, const struct attach_method *m)
{
	int rc = 0;

	for (size_t i = 0; m && i < ATTACH_PROGS && m->progs[i] && !rc; i++)
		rc = prog_attach(a, m->progs[i]);
	for (size_t i = 0; m && i < ARRAY_SIZE(m->perf) && !rc; i++)
		rc = perf_attach(a, &m->perf[i]);
	return rc;
}

static void hook_failed(struct attached *a, const struct attach_spec *spec, size_t hook, int rc)
{
	const struct attach_method *m = hook_method(a, hook);
	char *reason = a->reason[hook];

	if (!reason[0]) {
		snprintf(reason, sizeof(a->reason[0]), "%.64s: %s", m->method, strerror(-rc));
		a->error[hook] = rc;
	}
	hook_advance(a, spec, hook);
}

/* A program that the verifier refuses is not available here, whatever our rights are. */
static void hook_refused(struct attached *a, const struct attach_spec *spec, size_t hook, int rc)
{
	const struct verifier_said *v = object_refusal();
	const struct attach_method *m = hook_method(a, hook);

	if (v->program[0] && !a->reason[hook][0]) {
		snprintf(a->reason[hook], sizeof(a->reason[0]),
			"%.40s: the verifier refuses %s: %s", m->method, v->program, strerror(-rc));
		a->error[hook] = -EOPNOTSUPP;
		a->refused[hook] = true;
	}
	hook_failed(a, spec, hook, rc);
}

/* What `doctor` shows of it. */
static void refusal_tell(struct capture *c, int rc)
{
	const struct verifier_said *v = object_refusal();

	if (c->tells_refusals && v->program[0])
		capture_note(c, NOTE_INFO, "the kernel's verifier refuses the program %s (%s): %s",
			v->program, strerror(-rc), v->words);
}

/* Which hooks make the load fail? Each is loaded alone. Returns how many were moved on. */
static int plan_blame(struct attached *a, struct capture *c, const struct attach_spec *spec)
{
	int blamed = 0;

	for (size_t i = 0; i < a->n_hooks; i++) {
		int rc = a->used[i] < 0 ? 0 : plan_load(a, c, spec, (int)i);

		if (a->obj)
			plan_unload(a);
		if (!rc)
			continue;
		hook_refused(a, spec, i, rc);
		if (!hook_method(a, i)) /* else nothing is missing */
			refusal_tell(c, rc);
		blamed++;
	}
	return blamed;
}

/* Attaches a hook, or moves it on. Whether there is another method, whose programs are not loaded.
 */
static bool plan_attach_hook(struct attached *a, const struct attach_spec *spec, size_t hook)
{
	size_t before = a->links.n;
	int rc = method_attach(a, hook_method(a, hook));

	if (!rc)
		return false;
	links_drop(a, before);
	hook_failed(a, spec, hook, rc);
	return hook_method(a, hook);
}

/* 1: attached; 0: hooks were moved on to another method, load again; or -errno. All hooks are tried
 * before that, as a load takes long. */
static int plan_attach(struct attached *a, struct capture *c, const struct attach_spec *spec)
{
	int rc = c->opt.scope.follow ? prog_attach(a, object_fork_program()) : 0;
	bool again = false;

	if (rc)
		return rc;
	a->n_follow = a->links.n;
	for (size_t i = 0; i < a->n_hooks; i++) {
		if (capture_interrupted())
			return -EINTR;
		again |= plan_attach_hook(a, spec, i);
	}
	if (again)
		plan_unload(a);
	return !again;
}

static int plan_run(struct attached *a, struct capture *c, const struct attach_spec *spec)
{
	for (;;) {
		int rc = capture_interrupted() ? -EINTR : plan_load(a, c, spec, -1);

		if (rc && object_may_load() < 0)
			return -EPERM;
		if (rc && (rc == -EINTR || !plan_blame(a, c, spec)))
			return rc;
		if (rc)
			continue;
		rc = plan_attach(a, c, spec);
		if (rc)
			return rc < 0 ? rc : 0;
	}
}

/* Sends what is used and what is missing; fails where a required hook has no method. */
static int plan_tell(struct attached *a, struct capture *c, struct err *err)
{
	for (size_t i = 0; i < a->n_hooks; i++) {
		const struct attach_hook *h = &a->hooks[i];
		const struct attach_method *m = hook_method(a, i);

		if (!m && !a->reason[i][0])
			continue; /* not asked for */
		if (m)
			capture_method(c, h->data, m->method, NULL);
		else
			capture_refused(c, h->data, a->reason[i], a->error[i], h->needs);
		if (m || !h->required)
			continue;
		err_set(err, -EOPNOTSUPP, "%s: not available here (%s)", h->data, a->reason[i]);
		if (a->refused[i])
			err_hint(err, "`memwhy doctor` has what the verifier says of it");
		else if (h->needs)
			err_hint(err, "that needs %s", h->needs);
		return -EOPNOTSUPP;
	}
	return 0;
}

/* None of the hooks has a method here. */
static void plan_give_up(struct attached *a, const char *why)
{
	for (size_t i = 0; i < a->n_hooks; i++) {
		if (a->used[i] < 0)
			continue;
		snprintf(a->reason[i], sizeof(a->reason[i]), "%s", why);
		a->used[i] = -1;
	}
}

/* Not for want of rights, which shows in the smallest program too: the status is not the one of
 * that, though the verifier's errno may be. */
static int load_failed(struct err *err, int rc)
{
	const struct verifier_said *v = object_refusal();
	const char *said = object_log();
	int code = rc == -EPERM || rc == -EACCES ? -EOPNOTSUPP : rc;

	if (v->program[0])
		err_errno(err, rc, "the kernel's verifier refuses the program %s", v->program);
	else
		err_errno(err, rc, "BPF programs do not load%s%s%s", said[0] ? " (" : "", said,
			said[0] ? ")" : "");
	if (err)
		err->code = code;
	if (rights_kernel_is_locked())
		rights_hint(err);
	else if (v->program[0])
		err_hint(err, "it says: %s (`memwhy doctor` has all that it refuses)", v->words);
	else if (rc == -EFBIG)
		err_hint(err, "raise the limit on file sizes: ulimit -f");
	return code;
}

static void plan_choose(struct attached *a, const struct attach_spec *spec)
{
	a->hooks = spec->hooks;
	a->n_hooks = spec->n_hooks;
	for (size_t i = 0; i < a->n_hooks; i++) {
		a->used[i] = -1;
		hook_advance(a, spec, i);
	}
}

void attach_ahead(struct capture *c, const struct attach_spec *spec)
{
	struct attached a = {};
	struct bpf_object *obj;
	int types;

	if (!c->ahead || spec->only_load || (spec->needs_btf && !kbtf_available()))
		return;
	plan_choose(&a, spec);
	types = object_types();
	if (types < 0)
		return;
	if (plan_prepare(&a, c, spec, -1, types, &obj)) {
		close(types);
	} else if (object_is_shared(obj, c)) {
		ahead_put(c->ahead, spec->arg, obj, types);
	} else {
		bpf_object__close(obj);
		close(types);
	}
}

static int plan_begin(
	struct capture *c, const struct attach_spec *spec, struct attached **ret, struct err *err)
{
	_cleanup_free_ struct attached *a = calloc(1, sizeof(*a));
	int rc = 0;

	if (!a)
		return err_errno(err, -ENOMEM, "attaching");
	plan_choose(a, spec);
	if (spec->needs_btf && !kbtf_available())
		plan_give_up(a, "no kernel BTF");
	else
		rc = plan_run(a, c, spec);
	if (rc == -EPERM && object_may_load() < 0) {
		err_set(err, -EPERM, "not permitted to load BPF programs");
		rc = rights_hint(err);
	} else if (rc == -EOPNOTSUPP) {
		err_set(err, rc, "this kernel does not support following children");
		rc = err_hint(
			err, "that needs the kernel's BTF (/sys/kernel/btf/vmlinux) or tracefs");
	} else if (rc) {
		rc = load_failed(err, rc);
	}
	if (rc) {
		plan_unload(a);
		return rc;
	}
	*ret = take_ptr(a);
	return 0;
}

int attach_open(
	struct capture *c, const struct attach_spec *spec, struct attached **ret, struct err *err)
{
	struct attached *a;
	int rc = plan_begin(c, spec, &a, err);

	if (!rc) {
		a->missed_gap_ns = c->opt.watch_ns ? MISSED_GAP_NS : 0;
		rc = plan_tell(a, c, err);
		if (rc)
			attach_close(a);
	}
	if (!rc)
		*ret = a;
	return rc;
}

int attach_survey(struct capture *c, const struct attach_spec *spec, struct err *err)
{
	struct attached *a;
	int rc = plan_begin(c, spec, &a, err);

	if (rc)
		return rc;
	plan_tell(a, c, NULL);
	attach_close(a);
	return 0;
}

void attach_pause(struct attached *a)
{
	links_drop(a, a->n_follow);
}

int attach_resume(struct attached *a)
{
	int rc = 0;

	for (size_t i = 0; i < a->n_hooks && !rc; i++)
		rc = method_attach(a, hook_method(a, i));
	if (rc)
		attach_pause(a);
	return rc;
}

void attach_stop(struct attached *a)
{
	links_drop(a, 0);
	vec_free(&a->links);
	vec_each (fd, &a->kept_links)
		close(*fd);
	vec_free(&a->kept_links);
}

static int fd_keep(int rc, int fd)
{
	if (rc)
		close(fd);
	return rc;
}

int attach_keep_prog(struct attached *a, int fd)
{
	return fd_keep(vec_push(&a->kept_progs, fd), fd);
}

int attach_keep_link(struct attached *a, int fd)
{
	return fd_keep(vec_push(&a->kept_links, fd), fd);
}

u64 attach_keep_bytes(struct attached *a, u64 bytes)
{
	return a->kept_bytes += bytes;
}

int attach_kept(struct attached *a, size_t i)
{
	return i < a->kept_progs.n ? a->kept_progs.v[i] : -1;
}

void attach_close(struct attached *a)
{
	if (!a)
		return;
	plan_unload(a);
	vec_each (fd, &a->kept_progs)
		close(*fd);
	vec_free(&a->kept_progs);
	free(a);
}

u32 attach_owned(const struct attached *a)
{
	return a->owned;
}

bool attach_uses(const struct attached *a, const char *data)
{
	size_t i = 0;

	while (i < a->n_hooks && strcmp(a->hooks[i].data, data) != 0)
		i++;
	return i < a->n_hooks && hook_method(a, i);
}

struct bpf_object *attach_object(struct attached *a)
{
	return a->obj;
}

int attach_map(struct attached *a, const char *name)
{
	return bpf_object__find_map_fd_by_name(a->obj, name);
}

u32 attach_map_room(struct attached *a, const char *name)
{
	return bpf_map__max_entries(bpf_object__find_map_by_name(a->obj, name));
}

static u64 fd_missed(int fd)
{
	struct bpf_prog_info info = {};
	u32 len = sizeof(info);

	return fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.recursion_misses;
}

static u64 prog_missed(struct attached *a, const char *name)
{
	struct bpf_program *p = name ? bpf_object__find_program_by_name(a->obj, name) : NULL;

	return p ? fd_missed(bpf_program__fd(p)) : 0;
}

static u64 missed_now(struct attached *a)
{
	u64 sum = 0;

	vec_each (fd, &a->kept_progs)
		sum += fd_missed(*fd);
	for (size_t i = 0; i < a->n_hooks; i++) {
		const struct attach_method *m = hook_method(a, i);

		if (!m || a->hooks[i].helps || (!a->hooks[i].required && !a->hooks[i].counts))
			continue;
		for (size_t k = 0; k < ATTACH_PROGS; k++)
			sum += prog_missed(a, m->progs[k]);
		for (size_t k = 0; k < ARRAY_SIZE(m->perf); k++)
			sum += prog_missed(a, m->perf[k].prog);
	}
	return sum;
}

/* Each program is asked: who watches for hours has that done less often than counters are read.
 * Once all is detached the number is the last. */
u64 attach_missed(struct attached *a)
{
	u64 now = a->missed_gap_ns && a->links.n ? clock_mono_ns() : 0;

	if (a->missed_is_over)
		return a->missed;
	if (!now || now >= a->missed_ns) {
		a->missed_last = a->missed + missed_now(a) - a->missed_before;
		a->missed_ns = now + a->missed_gap_ns;
	}
	return a->missed_last;
}

void attach_counting(struct attached *a, bool on)
{
	u64 now = missed_now(a);

	if (!on && !a->missed_is_over)
		a->missed += now - a->missed_before;
	a->missed_before = now;
	a->missed_is_over = !on;
	a->missed_ns = 0;
}
