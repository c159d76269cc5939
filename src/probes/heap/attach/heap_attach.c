/* See attach.h: which programs go where. */
#include "probes/heap/attach/heap_attach.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "capture/names/names.h"
#include "capture/object.h"
#include "capture/preload_check.h"
#include "capture/uprobe.h"
#include "probes/heap/heap_opts.h"
#include "sys/group/cgroup.h"
#include "sys/process/proc.h"

#define BLOCKS_LEAST 65536U
#define BLOCKS_USUAL 262144U
#define BLOCKS_MOST (1U << 22)
#define BLOCK_BYTES 112 /* of an entry of the map */

/* By enum heap_calls. */
static const char *const programs[CALLS_N] = {
	[CALLS_SIZE] = "enter_size",
	[CALLS_NEW] = "enter_new",
	[CALLS_ARRAY] = "enter_array",
	[CALLS_RESIZE] = "enter_resize",
	[CALLS_RESIZE_ARRAY] = "enter_resize_array",
	[CALLS_ALIGNED] = "enter_aligned",
	[CALLS_POSIX] = "enter_posix",
	[CALLS_FREE] = "enter_freeing",
};

static bool heap_attach_wanted(const struct capture *c)
{
	return c->opt.scope.tasks.n && !c->preload.open &&
	       (c->opt.program || !c->opt.scope.by_task);
}

static u64 cgroup_read(pid_t pid)
{
	_cleanup_free_ struct cgroup_mounts *m = calloc(1, sizeof(*m));
	_cleanup_free_ struct cgroup *cg = calloc(1, sizeof(*cg));

	return m && cg && !cgroup_mounts_read(m) && !cgroup_of_pid(m, pid, cg) ? cg->id : 0;
}

/* A block needs at least so much resident memory that there are no more than this. */
static u32 heap_attach_blocks_of(u32 pid, u64 sample_bytes)
{
	u64 ram = (u64)sysconf(_SC_PHYS_PAGES) * 4096, most = ram / 64 / BLOCK_BYTES, n;
	struct proc_statm m = {};

	if (sample_bytes)
		return BLOCKS_LEAST;
	proc_statm_read((int)pid, &m);
	n = MAX(m.resident_pages * 4096 / 32, (u64)BLOCKS_USUAL);
	most = MIN(most, (u64)BLOCKS_MOST);
	n = MIN(n, most);
	return (u32)MAX(n, (u64)BLOCKS_LEAST);
}

static int no_symbols(const struct capture *c, int rc, struct err *err)
{
	const struct preload_program *p = c->opt.program;

	if (rc != -ENOENT)
		return err_errno(err, rc, "%.150s", p->path);
	err_set(err, -EOPNOTSUPP, "%.150s is a %s program without a symbol for malloc", p->path,
		p->loader[0] ? "privileged" : "static");
	return err_hint(err, "nothing can be preloaded into it, and probes need its symbols: run "
			     "one that is not stripped; of programs with an allocator of their "
			     "own, as in Go: memwhy maps --stacks=user -- CMD");
}

static void tell_program(struct capture *c)
{
	capture_note(c, NOTE_INFO,
		"'%.60s' is followed by probes at its allocator, from its exec on: nothing can be "
		"preloaded into it (%s)",
		c->opt.command[0], c->opt.program_why);
	if (OPTS_OF(struct heap_opts, c->opts)->events)
		capture_note(c, NOTE_WARNING,
			"--events: of a program that is followed with probes, only sums are "
			"recorded");
}

static int heap_attach_process_add(struct capture *c, u32 pid, struct err *err)
{
	struct heap_attach *h = c->state;
	struct heap_attached p = {.number = (u32)h->processes.n};
	char comm[PROC_COMM_MAX] = "";
	struct proc_status st;
	int rc = proc_status_read((int)pid, &st);

	if (rc)
		return err_errno(err, rc, "process %u", pid);
	p.pid = st.tgid; /* -p takes threads too */
	vec_each (other, &h->processes)
		if (other->pid == p.pid)
			return 0;
	if (p.number >= HEAP_ATTACHED_MAX)
		return err_set(err, -EINVAL, "heap: at most %d processes", HEAP_ATTACHED_MAX);
	if (c->opt.program) { /* which it is to become */
		p.awaits = true;
		rc = allocator_of_program(c->reader, c->opt.program,
			OPTS_OF(struct heap_opts, c->opts)->allocator, &p.allocator);
		if (rc)
			return no_symbols(c, rc, err);
	} else {
		rc = allocator_find(c->reader, (pid_t)p.pid,
			OPTS_OF(struct heap_opts, c->opts)->allocator, &p.allocator, err);
		if (rc)
			return rc;
	}
	proc_comm_read((int)p.pid, comm);
	memcpy(p.comm, comm, sizeof(p.comm) - 1);
	p.cgroup = cgroup_read((pid_t)p.pid);
	h->live_room = MIN(h->live_room + heap_attach_blocks_of(p.pid,
						  OPTS_OF(struct heap_opts, c->opts)->sample_bytes),
		BLOCKS_MOST);
	rc = vec_push(&h->processes, p);
	if (rc)
		allocator_free(&p.allocator);
	return rc ? err_errno(err, rc, "heap") : 0;
}

/* Whatever went wrong with a process that has ended meanwhile went wrong because of that. Of
 * several the others are looked at. */
static int process_try(struct capture *c, u32 pid, struct err *err)
{
	int rc = heap_attach_process_add(c, pid, err);

	if (!rc || rc == -EINTR || c->opt.program || !proc_has_ended((int)pid))
		return rc;
	*err = (struct err){};
	if (c->opt.scope.tasks.n == 1)
		return err_set(err, -ENOENT, "process %u ended before memwhy could read it", pid);
	return capture_note(c, NOTE_WARNING,
		"process %u ended before memwhy could read it: nothing about it is known", pid);
}

static int open_processes(struct capture *c, struct err *err)
{
	struct heap_attach *h = c->state;
	int rc = 0;

	heap_attach_init(h);
	if (OPTS_OF(struct heap_opts, c->opts)->faults) {
		err_set(err, -EOPNOTSUPP,
			"--faults needs the preload library, which '%.60s' cannot load: %s",
			c->opt.command ? c->opt.command[0] : "", c->opt.program_why);
		return err_hint(err, "leave --faults out");
	}
	if ((c->opt.scope.follow && !c->opt.program) || c->opt.scope.comm[0] ||
		c->opt.scope.cgroup_id) {
		err_set(err, -EINVAL, "heap attaches to processes by their ids only");
		return err_hint(err, "memwhy heap -p PID[,PID]");
	}
	vec_each (pid, &c->opt.scope.tasks)
		rc = rc ? rc : process_try(c, *pid, err);
	if (!rc && !h->processes.n)
		return err_set(err, -ENOENT, "all processes ended before memwhy could read them");
	return rc;
}

static void config_fill(struct heap_config *f, const struct capture *c)
{
	struct heap_attach *h = c->state;

	f->sample_bytes = OPTS_OF(struct heap_opts, c->opts)->sample_bytes;
	while (f->sample_bytes >> f->error_shift > 65536)
		f->error_shift++;
	h->error_shift = f->error_shift;
	f->several = h->processes.n > 1;
	for (u32 i = 0; i < HEAP_GAPS; i++)
		f->gaps[i] = (u32)(-log1p(-(double)i / HEAP_GAPS) * (1 << HEAP_GAP_SHIFT));
	for (u32 i = 0; i <= HEAP_WEIGHTS; i++) {
		double x = (double)i / HEAP_WEIGHT_STEPS;

		f->weights[i] = (u32)((i ? x / -expm1(-x) : 1.0) * (1 << HEAP_WEIGHT_SHIFT) + 0.5);
	}
}

static int tracked_want(struct bpf_object *obj, const char *name)
{
	return bpf_program__set_autoload(bpf_object__find_program_by_name(obj, name), true);
}

static int heap_attach_prepare(struct bpf_object *obj, const struct capture *c)
{
	const struct heap_attach *h = c->state;
	_cleanup_free_ struct heap_config *f = calloc(1, sizeof(*f));
	bool calls[CALLS_N] = {};
	int rc;

	if (!f)
		return -ENOMEM;
	config_fill(f, c);
	rc = attach_set_const(obj, "config", f, sizeof(*f));
	rc = rc ? rc : attach_set_entries(obj, "heap_live", MAX(h->live_room, BLOCKS_LEAST));
	if (rc)
		return rc;
	if (uprobe_can_sessions()) {
		bpf_program__set_expected_attach_type(
			bpf_object__find_program_by_name(obj, "session"),
			(enum bpf_attach_type)UPROBE_SESSION);
		return tracked_want(obj, "session");
	}
	vec_each (p, &h->processes)
		vec_each (f_, &p->allocator.functions)
			calls[f_->calls] = true;
	for (u32 i = 0; i < CALLS_N && !rc; i++)
		rc = calls[i] ? tracked_want(obj, programs[i]) : 0;
	return rc ? rc : tracked_want(obj, "leave_any");
}

static int program(struct attached *a, const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(attach_object(a), name));
}

static int link_keep(struct attached *a, int fd)
{
	return fd < 0 ? fd : attach_keep_link(a, fd);
}

/* Where struct pt_regs has the general registers, as instructions number them, in words
 * (arch/x86/include/uapi/asm/ptrace.h, the same in all kernels). */
static const u8 register_words[16] = {10, 11, 12, 5, 19, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0};

static u64 session_cookie(const struct heap_attached *p, const struct allocator_function *f)
{
	u64 cookie = HEAP_COOKIE(p->number, f->calls);

	if (!f->at.moved)
		return cookie;
	for (u32 i = 0; i < PROLOGUE_ARGUMENTS; i++)
		cookie |= (u64)register_words[f->at.holds[i]] << HEAP_COOKIE_WORD_SHIFT(i);
	return cookie | HEAP_COOKIE_MOVED;
}

static int session_attach(struct attached *a, const struct heap_attached *p)
{
	size_t n = p->allocator.functions.n;
	_cleanup_free_ u64 *offsets = calloc(2 * n, sizeof(*offsets));
	u64 *cookies = offsets + n;

	if (!offsets)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		offsets[i] = p->allocator.functions.v[i].offset;
		cookies[i] = session_cookie(p, &p->allocator.functions.v[i]);
	}
	return link_keep(a, uprobe_session_open(program(a, "session"), p->allocator.path, offsets,
				    cookies, (u32)n, (pid_t)p->pid));
}

static int uprobe_add(struct attached *a, const struct heap_attached *p,
	const struct allocator_function *f, const char *name, int returns)
{
	if (capture_interrupted())
		return -EINTR;
	return link_keep(a, uprobe_open(program(a, name), p->allocator.path, f->offset, returns,
				    (pid_t)p->pid));
}

static int pairs_attach(struct attached *a, const struct heap_attached *p)
{
	int rc = 0;

	/* the returns first: a call whose begin is seen is to be seen returning */
	vec_each (f, &p->allocator.functions)
		if (!rc && f->calls != CALLS_FREE)
			rc = uprobe_add(a, p, f, "leave_any", 1);
	vec_each (f, &p->allocator.functions)
		if (!rc)
			rc = uprobe_add(a, p, f, programs[f->calls], 0);
	return rc;
}

/* What the programs find of a process. */
static int maps_fill(struct attached *a, struct heap_attached *p)
{
	struct heap_process_now now = {.number = p->number, .on = !p->awaits, .awaits = p->awaits};
	struct heap_site_key none = {p->number, HEAP_STACK_NONE},
			     earlier = {p->number, HEAP_STACK_EARLIER};
	struct heap_thread_sums others = {.process = p->number};
	u64 id = p->number;
	struct heap_site_now site = {.min_bytes = 0xffffffff};

	if (bpf_map_update_elem(attach_map(a, "heap_processes"), &p->number, &now, BPF_ANY) ||
		bpf_map_update_elem(attach_map(a, "heap_ended"), &id, &others, BPF_ANY) ||
		bpf_map_update_elem(attach_map(a, "heap_numbers"), &p->pid, &p->number, BPF_ANY) ||
		bpf_map_update_elem(attach_map(a, "heap_sites"), &none, &site, BPF_ANY) ||
		bpf_map_update_elem(attach_map(a, "heap_sites"), &earlier, &site, BPF_ANY))
		return -errno;
	return 0;
}

static int gate_set(struct attached *a, u32 on)
{
	u32 zero = 0;

	return bpf_map_update_elem(attach_map(a, "heap_gate"), &zero, &on, BPF_ANY) ? -errno : 0;
}

/* Which functions pay more than others for their probe, and how much. */
static void slow_tell(struct capture *c, const struct heap_attached *p)
{
	_cleanup_str_ struct str names = {};
	u64 ns;

	vec_each (f, &p->allocator.functions)
		if (!f->at.emulated)
			str_addf(&names, "%s%s", names.len ? ", " : "", f->name);
	if (!names.len || uprobe_step_cost(&ns))
		return;
	capture_note(c, NOTE_INFO,
		"the kernel single-steps the probe of %s in %.40s: %.1f us a call, measured here, "
		"beside what other calls cost",
		str_get(&names), p->allocator.name, (double)ns / 1e3);
}

static void heap_attach_tell(struct capture *c, const struct heap_attached *p, bool sessions)
{
	char how[64];

	snprintf(how, sizeof(how), "%s at %zu functions of %.24s", sessions ? "session" : "uprobes",
		p->allocator.functions.n, p->allocator.name);
	capture_method(c, HEAP_PLACE, how, NULL);
}

static int probes_refused(const struct heap_attached *p, int rc, struct err *err)
{
	err_errno(err, rc, "process %u: probes in %s", p->pid, p->allocator.name);
	return err_hint(err, "that needs uprobes (CONFIG_UPROBE_EVENTS), and CAP_PERFMON or root");
}

static int attach(struct capture *c, struct attached *a, struct err *err)
{
	struct heap_attach *h = c->state;
	bool sessions = uprobe_can_sessions();
	int rc = 0;

	vec_each (p, &h->processes) {
		rc = maps_fill(a, p);
		rc = rc ? rc : sessions ? session_attach(a, p) : pairs_attach(a, p);
		if (rc && rc != -EINTR && proc_has_ended((int)p->pid)) {
			rc = capture_note(c, NOTE_WARNING,
				"process %u ended while probes were being placed: hardly anything "
				"of it was seen",
				p->pid);
			if (rc)
				return rc;
			continue;
		}
		if (rc)
			return probes_refused(p, rc, err);
		heap_attach_tell(c, p, sessions);
		slow_tell(c, p);
	}
	vec_each (p, &h->processes) {
		names_map(c->names, p->pid);
		p->start_ns = clock_mono_ns();
	}
	attached_blocks_begin(&h->blocks, c, h, a);
	rc = gate_set(a, 1);
	if (!rc && c->opt.program)
		tell_program(c);
	return rc ? err_errno(err, rc, "heap") : 0;
}

/* All at one time: what is allocated while probes leave one after the other does not count. */
static void stop(struct capture *c, struct attached *a)
{
	(void)c;
	gate_set(a, 0);
}

static const struct attach_hook hooks[] = {
	{
		.data = "exec and exit of an attached process",
		.methods = {{"raw tracepoints", {"heap_exec", "heap_exit"}, {}, 0}},
	},
	{
		.data = "children of an attached process, counted",
		.needs = "the kernel's BTF",
		.methods = {{"raw tracepoint", {"heap_fork"}, {}, 0}},
	},
};

static void heap_attach_survey(struct capture *c, struct attached *a)
{
	bool have = !access("/sys/bus/event_source/devices/uprobe", F_OK);

	if (!a)
		capture_not_permitted(c, HEAP_PLACE);
	else
		capture_method(c, HEAP_PLACE,
			uprobe_can_sessions() ? "uprobe session"
			: have                ? "uprobes"
					      : NULL,
			have ? NULL : "uprobes (CONFIG_UPROBE_EVENTS)");
}

static void close_processes(struct capture *c)
{
	heap_attach_free(c->state);
}

const struct probe_bpf heap_bpf = {
	.hooks = hooks,
	.n_hooks = ARRAY_SIZE(hooks),
	.state_size = sizeof(struct heap_attach),
	.open = open_processes,
	.wanted = heap_attach_wanted,
	.attach = attach,
	.stop = stop,
	.survey = heap_attach_survey,
	.close = close_processes,
	.prepare = heap_attach_prepare,
	.tables = {{.map = "heap_sites",
		.key_size = sizeof(struct heap_site_key),
		.added = heap_site_added,
		.values = &heap_site_values}},
	.settle = heap_settle,
	.snapshot = heap_snapshot,
};
