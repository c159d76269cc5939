/* See session.h. */
#include "record/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "base/answering.h"
#include "base/clock.h"
#include "base/progress.h"
#include "base/units.h"
#include "cage/cage.h"
#include "capture/kbtf.h"
#include "capture/kernel_settings.h"
#include "capture/map_memory.h"
#include "capture/names/names.h"
#include "capture/unwind/unwind.h"
#include "record/cost.h"
#include "record/ending.h"
#include "record/guard.h"
#include "record/heap_command.h"
#include "record/opening.h"
#include "record/origin.h"
#include "record/privilege.h"
#include "record/signals.h"
#include "record/spawn.h"
#include "sys/process/proc.h"

#define HOUSEKEEPING_NS NSEC_PER_SEC
#define DRAIN_REST 8 /* where tables fill up: a part of the time a drain took */
#define COST_WATCH_NS (10 * NSEC_PER_MSEC) /* at first; each wait is twice the last */

struct session {
	struct preload_program program;
	const struct session_config *cfg;
	struct capture c;
	struct cost cost;
	struct debuginfod servers;
	struct spawned child;
	struct ending ending; /* of the processes that were asked for */
	struct probe_run *runs[SESSION_PROBES];
	size_t n_runs;
	struct signals signals;
	u64 deadline_ns, tick_ns, housekeeping_ns, watch_ns, watch_wait_ns;
	u64 maps_ns;  /* when maps are measured again */
	u64 drain_ns; /* not before, though tables fill up */
	bool over, exec_failed;
	bool asked; /* SIGUSR1: for a report now */
};

/* With a command the first Ctrl-C is the command's; the session ends with it, or at the second. */
static int signals_take(struct session *s)
{
	struct signalfd_siginfo info;
	int rc = 0;

	while (read(s->signals.fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		if (s->cfg->on_signal && (info.ssi_signo == SIGHUP || info.ssi_signo == SIGUSR1)) {
			rc = rc ? rc : s->cfg->on_signal(s->cfg->arg, (int)info.ssi_signo);
			continue;
		}
		if (info.ssi_signo == SIGUSR1) {
			s->asked = true;
			continue;
		}
		if (!s->child.pid || s->signals.came_ns || info.ssi_signo != SIGINT)
			s->over = true;
		s->signals.came_ns = clock_mono_ns();
	}
	if (s->child.pid && spawn_ended(&s->child))
		s->over = true;
	return rc;
}

static bool session_leaves(void *arg)
{
	struct session *s = arg;

	if (s->c.ending)
		return signals_end_at_once(&s->signals, s->cfg->on_signal != NULL);
	return capture_interrupted() || (s->deadline_ns && clock_mono_ns() >= s->deadline_ns);
}

static bool fills_up(const struct session *s)
{
	for (size_t i = 0; i < s->n_runs; i++)
		if (probe_fills_up(s->runs[i]))
			return true;
	return false;
}

enum drain { DRAIN_FULL_ONES, DRAIN_ALL, DRAIN_AND_SAMPLE };
static int session_drain(struct session *s, enum drain what)
{
	int rc = s->c.unwind ? unwind_take(s->c.unwind) : names_follow(s->c.names), leaves = 0;
	u64 begun = clock_mono_ns(), now;

	for (size_t i = 0; i < s->n_runs && !rc && !(leaves = capture_leaves(&s->c)); i++)
		if (what != DRAIN_FULL_ONES || probe_fills_up(s->runs[i]))
			rc = probe_drain(s->runs[i], what == DRAIN_AND_SAMPLE);
	rc = rc ? rc : MIN(leaves, 0);
	if (!rc && what != DRAIN_FULL_ONES) /* others may still have keys of what has ended */
		rc = names_drained(s->c.names, s->c.ending);
	now = clock_mono_ns();
	s->drain_ns = now + (now - begun) / DRAIN_REST;
	return rc;
}

/* The first programs count while the last are loaded, which may take a second. */
static int drain_meanwhile(struct session *s)
{
	int rc = 0;

	for (size_t i = 0; i < s->n_runs && rc >= 0; i++)
		rc = probe_drain_ring(s->runs[i]);
	return rc >= 0 && fills_up(s) ? session_drain(s, DRAIN_FULL_ONES) : MIN(rc, 0);
}

/* Whoever watches sees the first numbers, and may have seen enough, while others are attached. */
static int asked_meanwhile(struct session *s, size_t n)
{
	const struct session_config *cfg = s->cfg;
	struct pollfd fd = {.fd = cfg->fd, .events = POLLIN};
	int rc = cfg->on_opened ? cfg->on_opened(cfg->arg, n) : 0;

	if (rc || !cfg->on_fd || poll(&fd, 1, 0) <= 0)
		return rc;
	rc = cfg->on_fd(cfg->arg);
	return rc == 1 ? -EINTR : rc;
}

/* A probe was opened; n are now. */
static int probe_opened(void *arg, size_t n, struct err *err)
{
	struct session *s = arg;
	int rc = drain_meanwhile(s);

	rc = rc ? rc : asked_meanwhile(s, n);
	return !rc || rc == -EINTR ? rc : err_errno(err, rc, "reading what was counted");
}

/* What is left to names is a quarter of all at least. */
static u64 with_names(u64 maps_bytes)
{
	return maps_bytes + (maps_bytes + 2) / 3;
}

/* --max-memory: how much smaller the maps of all probes have to be, the same for all. */
static int memory_fit(struct session *s, struct err *err)
{
	const struct session_config *cfg = s->cfg;
	u64 max = cfg->opt.max_bytes;
	struct budget b = {};
	char a[UNIT_BUF], least[UNIT_BUF];

	if (s->c.unwind)
		budget_add_levels(&b, unwind_pages_bytes);
	/* one that cannot be measured cannot be opened either, which then says why */
	for (size_t i = 0; max && i < cfg->n_probes; i++)
		probe_measure(cfg->probes[i], &s->c, &b);
	while (max && with_names(b.bytes[s->c.shrink]) > max && ++s->c.shrink < BUDGET_LEVELS)
		;
	if (s->c.shrink < BUDGET_LEVELS) {
		if (s->c.unwind)
			unwind_limit(s->c.unwind, s->c.shrink);
		if (max)
			names_limit(s->c.names, max - b.bytes[s->c.shrink]);
		return 0;
	}
	max = with_names(b.bytes[BUDGET_LEVELS - 1]);
	err_set(err, -EINVAL, "--max-memory %s is too little for %s: the minimum is %s",
		fmt_bytes(a, cfg->opt.max_bytes), cfg->command, fmt_bytes(least, max));
	return err_hint(err, "--max-memory %lluK", (max + 1023) / 1024);
}

/* The kernel's own number decides whether the limit is kept. */
static void memory_tell(struct session *s)
{
	u64 max = s->cfg->opt.max_bytes,
	    bytes = max ? cost_read(&s->cost, s->runs, s->n_runs).bpf_bytes : 0;
	char a[UNIT_BUF], b[UNIT_BUF];

	s->c.probe = "";
	if (bytes > max)
		capture_note(&s->c, NOTE_WARNING, "the maps take %s, more than --max-memory %s",
			fmt_bytes(a, bytes), fmt_bytes(b, max));
}

/* The walk over user stacks, where they are asked for. Without it there is the kernel's. */
static int unwind_begin(struct session *s)
{
	const char *why;
	bool wanted = s->cfg->opt.user_stacks && !s->cfg->opt.plain_stacks;
	int rc = wanted ? unwind_open(&s->c, &s->c.unwind, &why) : 0;

	s->c.probe = "stacks";
	s->cost.unwind = s->c.unwind;
	if (rc && rc != -EPERM && rc != -ENOMEM)
		capture_note(&s->c, NOTE_WARNING,
			"user stacks are followed by frame pointers, which most programs lack: %s",
			why);
	return rc == -ENOMEM ? rc : 0;
}

/* The tables of the processes that were asked for, before the first event. */
static int unwind_scope(struct session *s)
{
	int rc = 0;

	if (!s->c.unwind)
		return 0;
	if (s->cfg->argv) {
		/* Until its exec it is a fork of memwhy. */
		rc = unwind_process(s->c.unwind, (u32)getpid());
		return rc ? rc
			  : unwind_program(s->c.unwind,
				    s->c.opt.program ? s->program.path : s->cfg->argv[0]);
	}
	vec_each (pid, &s->cfg->opt.scope.tasks) {
		struct proc_status st;

		if (!rc && !proc_status_read((int)*pid, &st))
			rc = unwind_process(s->c.unwind, st.tgid);
	}
	return rc;
}

/* Nothing that a session does from here on is more than looking. */
static int rights_drop(struct session *s, struct err *err)
{
	const struct capture_options *o = &s->cfg->opt;
	unsigned needs = o->debuginfod_ns ? CAGE_SPAWNS : 0;
	int rc = privilege_drop(o->user_stacks, err);

	for (size_t i = 0; i < s->cfg->n_probes; i++)
		if (s->cfg->probes[i]->borrows)
			needs |= CAGE_BORROWS;
	if (!rc)
		rc = cage_session(needs, err);
	if (rc != -EOPNOTSUPP)
		return rc;
	s->c.probe = "";
	rc = capture_note(
		&s->c, NOTE_INFO, "memwhy runs without a filter of its own: %s", err->msg);
	*err = (struct err){};
	return rc;
}

/* A command is about to be let go; else what is told counts since all programs were attached. */
static u64 interval_start(const struct session *s)
{
	return s->cfg->argv || !s->c.counting_ns ? clock_mono_ns() : s->c.counting_ns;
}

static int interval_begin(struct session *s)
{
	const struct session_config *cfg = s->cfg;

	return origin_begin(&s->c, cfg->command, cfg->scope_text, interval_start(s));
}

/* A process that looks for debug files, or opens files of others, works for memwhy. */
static void helper_ran(void *arg, pid_t pid, bool begins)
{
	struct session *s = arg;

	if (begins)
		(void)capture_self_add(&s->c, (u32)pid);
	else
		capture_self_remove(&s->c, (u32)pid);
}

static int setting_was_left(void *arg, const char *path, const char *value, const char *before)
{
	struct session *s = arg;

	s->c.probe = s->cfg->probes[0]->name;
	return capture_note(&s->c, NOTE_INFO,
		"%s was left at %s by a memwhy that was killed: it is %s again", path, value,
		before);
}

static int names_begin(struct session *s)
{
	const struct session_config *cfg = s->cfg;
	const struct answering_how askers = {privilege_drop_or_end, helper_ran, s};
	int rc;
	struct names_options names = {
		.cgroup_version = cfg->opt.cgroup_version,
		.user_stacks = cfg->opt.user_stacks,
		.debug_info = cfg->debug_info,
		.sparing = cfg->opt.gentle,
		.rest = cfg->names_rest,
		.unnamed = cfg->unnamed,
		.servers = cfg->opt.debuginfod_ns ? &s->servers : NULL,
		.capture = &s->c,
	};

	/* Without it, it waits for file servers as others do. */
	(void)answering_begin(&askers);
	rc = capture_helpers_begin(&s->c);
	names.reader = s->c.reader;
	return rc ? rc : names_open(s->c.sink, &names, &s->c.names);
}

static int session_begin(struct session *s, struct err *err)
{
	const struct session_config *cfg = s->cfg;
	int rc = origin_check(err);

	if (!rc && cfg->opt.debuginfod_ns)
		rc = debuginfod_open(cfg->opt.debuginfod_ns, &s->servers, err);
	if (rc)
		return rc;
	s->servers.ran = helper_ran;
	s->servers.arg = s;
	rc = command_prepare(cfg, &s->c, &s->program, err);
	/* Before signals are taken, so that the command finds them as we did. */
	if (!rc && cfg->argv)
		rc = spawn_held(cfg->argv,
			&(struct spawn_how){cfg->opt.as_other ? &cfg->opt.as : NULL, cfg->apart},
			&s->child, err);
	preload_started(&s->c.preload);
	if (!rc)
		rc = signals_open(&s->signals);
	if (!rc && cfg->argv) {
		s->c.opt.command = cfg->argv;
		s->c.opt.scope.by_task = s->c.opt.scope.follow = true;
		rc = vec_push(&s->c.opt.scope.tasks, (u32)s->child.pid);
	}
	if (!rc)
		rc = names_begin(s);
	if (!rc)
		rc = origin_send(&s->c, cfg->command, cfg->scope_text);
	if (!rc && cfg->opt.as_other) {
		s->c.probe = "";
		rc = capture_note(
			&s->c, NOTE_INFO, "%.60s ran as %.63s", cfg->argv[0], cfg->opt.as.name);
	}
	if (!rc) {
		cost_begin(&s->cost);
		s->cost.reader = s->c.reader;
		memcpy(s->cost.helpers, cfg->helpers, sizeof(cfg->helpers));
		rc = unwind_begin(s);
	}
	if (!rc)
		rc = memory_fit(s, err);
	for (size_t i = 0; i < ARRAY_SIZE(cfg->helpers) && !rc; i++)
		rc = cfg->helpers[i] ? capture_self_add(&s->c, (u32)cfg->helpers[i]) : 0;
	if (!rc)
		rc = settings_put_right(setting_was_left, s);
	if (!rc)
		rc = unwind_scope(s);
	if (!rc) {
		(void)capture_pause(&s->c, true); /* no map yet */
		rc = opening_run(&(struct opening){cfg, &s->c, &s->cost, s->runs, &s->n_runs,
					 probe_opened, s},
			err);
		if (rc == -EPERM)
			command_refused(&s->c, err);
	}
	kbtf_forget();
	if (!rc)
		memory_tell(s);
	if (!rc && cfg->guarded) {
		s->c.probe = cfg->probes[0]->name;
		rc = guard_memory(&s->c);
	}
	if (!rc)
		rc = rights_drop(s, err);
	for (size_t i = 0; i < s->n_runs && !rc; i++)
		rc = probe_start(s->runs[i]);
	if (!rc && capture_interrupted())
		rc = -EINTR;
	if (!rc)
		rc = interval_begin(s);
	if (!rc && cfg->argv) {
		rc = spawn_release(&s->child, cfg->argv[0], err);
		s->exec_failed = rc != 0;
	}
	if (rc == -EINTR)
		return err_set(err, rc, "interrupted before anything was counted");
	return rc && !err->code ? err_errno(err, rc, "starting the session") : rc;
}

/* With drain_ns in step with the intervals, and with what else is done then. */
static u64 housekeeping_next(const struct session *s, u64 now)
{
	u64 every = s->cfg->drain_ns ? s->cfg->drain_ns : HOUSEKEEPING_NS;

	return now + every - (s->cfg->drain_ns ? (now - s->c.begin_ns) % every : 0);
}

static void clocks_begin(struct session *s)
{
	u64 now = interval_start(s);

	s->c.begin_ns = now;
	s->deadline_ns = s->cfg->for_ns ? now + s->cfg->for_ns : UINT64_MAX;
	s->tick_ns = s->cfg->interval_ns ? now + s->cfg->interval_ns : UINT64_MAX;
	s->housekeeping_ns = housekeeping_next(s, now);
	s->watch_ns = now + COST_WATCH_NS;
	s->watch_wait_ns = COST_WATCH_NS;
}

static u64 session_next(const struct session *s)
{
	u64 next = MIN(s->deadline_ns, s->tick_ns);

	next = MIN(next, s->housekeeping_ns);
	if (fills_up(s))
		next = MIN(next, s->drain_ns);
	if (s->c.opt.each)
		next = MIN(next, clock_mono_ns() + RING_LOOK_NS);
	if (s->cost.stats_fd >= 0)
		next = MIN(next, s->watch_ns);
	for (size_t i = 0; i < s->n_runs; i++) {
		u64 sample = probe_next_sample(s->runs[i]);

		next = MIN(next, sample);
	}
	return next;
}

static bool scope_is_over(struct session *s)
{
	__auto_type tasks = &s->cfg->opt.scope.tasks;

	return !s->cfg->argv && tasks->n && ending_is_over(&s->ending, tasks->v, tasks->n);
}

static int given_take(struct session *s)
{
	int rc = s->cfg->on_fd(s->cfg->arg);

	s->over |= rc == 1;
	return MIN(rc, 0);
}

static int session_wait(struct session *s)
{
	struct pollfd fds[SESSION_PROBES + 4] = {{.fd = s->signals.fd, .events = POLLIN}};
	struct pollfd *asks = &fds[s->n_runs + 1], *end = asks + 1, *given = end + 1;
	u64 now = clock_mono_ns(), next = session_next(s);
	u64 ms = next > now ? (next - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC : 0;
	int rc;

	for (size_t i = 0; i < s->n_runs; i++)
		fds[i + 1] = (struct pollfd){.fd = probe_fd(s->runs[i]), .events = POLLIN};
	*asks = (struct pollfd){.fd = s->c.unwind ? unwind_fd(s->c.unwind) : -1, .events = POLLIN};
	*end = (struct pollfd){.fd = ending_fd(&s->ending), .events = POLLIN};
	*given = (struct pollfd){.fd = s->cfg->on_fd ? s->cfg->fd : -1, .events = POLLIN};
	if (poll(fds, s->n_runs + 4, (int)MIN(ms, 60000ULL)) < 0 && errno != EINTR)
		return -errno;
	rc = signals_take(s);
	s->over |= end->revents && scope_is_over(s);
	if (!rc && given->revents)
		rc = given_take(s);
	return rc || !asks->revents ? rc : unwind_take(s->c.unwind);
}

static int cost_send(struct session *s)
{
	struct rec_cost cost = cost_read(&s->cost, s->runs, s->n_runs);

	return capture_emit(&s->c, &cost.h);
}

static int session_names(struct session *s)
{
	return names_symbolize(s->c.names, s->c.ending || s->cfg->brief_names);
}

/* Everything a reader needs to make sense of what was sent so far, then the mark, which bears the
 * time when counting ended: naming takes some more. */
static int session_mark(struct session *s, u16 kind, u64 time_ns)
{
	struct rec_tick tick = REC_INIT(struct rec_tick, kind, time_ns);
	int rc = s->c.ending || !names_rest(s->c.names) ? session_names(s) : 0;

	/* Who watches knows in ten seconds that maps grew: it takes a file of /proc for each. */
	if (!s->c.opt.watch_ns || kind != REC_TICK || time_ns >= s->maps_ns) {
		s->cost.maps_known = false;
		s->maps_ns = time_ns + 10 * NSEC_PER_SEC;
	}
	rc = rc ? rc : names_tell_readers(s->c.names, &s->c);
	rc = rc ? rc : cost_send(s);
	return rc ? rc : capture_emit(&s->c, &tick.h);
}

static int events_tell(struct session *s)
{
	int rc = s->cfg->on_events ? s->cfg->on_events(s->cfg->arg) : 0;

	s->asked |= rc == 1;
	return MIN(rc, 0);
}

/* Single events whose stacks have names now. */
static int events_named(struct session *s)
{
	int rc;

	if (!s->cfg->on_events || !s->cfg->events_named)
		return 0;
	rc = session_names(s);
	return rc ? rc : events_tell(s);
}

/* Beside a command the terminal is the command's. */
static void session_say(const struct session *s)
{
	u64 now = clock_mono_ns();

	if (!s->cfg->argv)
		progress_look(now - s->c.begin_ns, s->deadline_ns - MIN(now, s->deadline_ns));
}

static int tick_tell(struct session *s)
{
	int rc = s->cfg->on_tick ? s->cfg->on_tick(s->cfg->arg) : 0;

	if (rc == 1 && !(rc = session_names(s)))
		rc = s->cfg->on_tick(s->cfg->arg);
	return rc;
}

static int session_timers(struct session *s)
{
	u64 now = clock_mono_ns();
	int rc = 0;

	for (size_t i = 0; i < s->n_runs && !rc; i++)
		rc = probe_sample(s->runs[i], now);
	if (now >= s->watch_ns) {
		cost_watch(&s->cost, s->runs, s->n_runs);
		s->watch_wait_ns =
			MIN(2 * s->watch_wait_ns, HOUSEKEEPING_NS * (s->c.opt.watch_ns ? 4 : 1));
		s->watch_ns = now + s->watch_wait_ns;
	}
	/* The interval that ends with the session is reported by its end. */
	if (!rc && (now >= s->tick_ns || s->asked) && now < s->deadline_ns) {
		rc = session_drain(s, DRAIN_AND_SAMPLE);
		rc = rc ? rc : session_mark(s, REC_TICK, now);
		rc = rc ? rc : tick_tell(s);
		/* Of those that a busy machine let pass by, one is made. */
		while (now >= s->tick_ns)
			s->tick_ns += s->cfg->interval_ns;
		s->asked = false;
		s->housekeeping_ns = housekeeping_next(s, now);
		s->over |= scope_is_over(s);
		session_say(s);
	} else if (!rc && now >= s->housekeeping_ns) {
		rc = session_drain(s, DRAIN_ALL);
		rc = rc ? rc : events_named(s);
		rc = rc ? rc : cost_send(s);
		s->housekeeping_ns = housekeeping_next(s, now);
		s->over |= scope_is_over(s);
		session_say(s);
	} else if (!rc && fills_up(s) && now >= s->drain_ns) {
		rc = session_drain(s, DRAIN_FULL_ONES);
		rc = rc ? rc : events_named(s);
	}
	s->over |= now >= s->deadline_ns;
	return rc;
}

/* The single events that wait, a batch at a time. */
static int session_events(struct session *s)
{
	int rc = s->c.opt.each ? names_follow(s->c.names) : 0;
	bool more = true;

	while (more && !rc) {
		more = false;
		for (size_t i = 0; i < s->n_runs && rc >= 0; i++) {
			rc = probe_drain_ring(s->runs[i]);
			more |= rc == 1;
		}
		if (rc >= 0)
			rc = s->cfg->events_named ? 0 : events_tell(s);
		/* A storm does not keep timers waiting. */
		more = more && (s->c.ending || clock_mono_ns() < s->housekeeping_ns);
		if (rc >= 0 && more && s->c.ending)
			rc = capture_leaves(&s->c);
	}
	return rc;
}

static int session_loop(struct session *s)
{
	int rc = 0;

	session_say(s);
	s->over |= scope_is_over(s);
	while (!rc && !s->over) {
		rc = session_wait(s);
		if (!rc)
			rc = session_events(s);
		if (!rc)
			rc = session_timers(s);
	}
	return rc;
}

static int exit_send(struct session *s, u64 time_ns)
{
	struct rec_exit e = REC_INIT(struct rec_exit, REC_EXIT, time_ns);

	e.status = (u32)spawn_exit_status(&s->child);
	e.signal = (u32)spawn_exit_signal(&s->child);
	return capture_emit(&s->c, &e.h);
}

static int session_finish(struct session *s)
{
	int rc = capture_pause(&s->c, true);
	u64 end_ns = clock_mono_ns(); /* not before the last event */

	for (size_t i = 0; i < s->n_runs; i++) {
		int stopped = probe_stop(s->runs[i]);

		rc = rc ? rc : stopped;
	}
	s->c.ending = true;
	signals_settle(&s->signals, s->cfg->on_signal != NULL);
	if (!rc)
		rc = session_events(s);
	if (!rc)
		rc = session_drain(s, DRAIN_AND_SAMPLE);
	rc = rc ? rc : session_names(s);
	rc = rc ? rc : capture_leaves(&s->c);
	names_tell(s->c.names, &s->c);
	if (s->c.unwind)
		unwind_tell(s->c.unwind, &s->c);
	if (!rc && s->child.ended)
		rc = exit_send(s, end_ns);
	return rc ? rc : session_mark(s, REC_END, end_ns);
}

static void session_close(struct session *s)
{
	for (size_t i = 0; i < s->n_runs; i++)
		probe_close(s->runs[i]);
	cost_end(&s->cost);
	unwind_close(s->c.unwind);
	names_close(s->c.names);
	preload_close(&s->c.preload);
	capture_close(&s->c);
	answering_end();
	spawn_close(&s->child);
	ending_close(&s->ending);
	signals_close(&s->signals);
	if (s->cfg->argv)
		vec_free(&s->c.opt.scope.tasks);
}

int session_run(const struct session_config *cfg, struct sink *sink, struct session_result *ret,
	struct err *err)
{
	struct session s = {
		.cfg = cfg,
		.c = {.opt = cfg->opt, .sink = sink, .leaves = session_leaves, .leaves_arg = &s},
		.cost = {.stats_fd = -1},
		.signals = {.fd = -1},
	};
	int rc;

	if (cfg->argv)
		s.c.opt.scope.tasks.v = NULL, s.c.opt.scope.tasks.n = s.c.opt.scope.tasks.cap = 0;
	if (!cfg->argv)
		progress_say("attaching");
	rc = session_begin(&s, err);
	if (!rc) {
		clocks_begin(&s);
		rc = session_loop(&s);
		if (!cfg->argv)
			progress_say("reading what was counted");
		rc = rc ? rc : session_finish(&s);
		progress_clear();
		if (rc == -EINTR && s.signals.again &&
			!err->code) /* where that signal is ignored */
			err_set(err, rc, "interrupted again: there is no report");
		if (rc && !err->code)
			err_errno(err, rc, "recording");
	}
	*ret = (struct session_result){
		.interrupted = s.signals.came_ns != 0,
		.has_child = s.child.pid > 0,
		.child_ended = s.child.ended,
		.child_status = s.child.ended ? spawn_exit_status(&s.child) : 0,
		.exec_failed = s.exec_failed,
	};
	session_close(&s);
	return rc;
}
