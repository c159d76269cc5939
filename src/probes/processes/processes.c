/*
 * The processes probe: which processes hold memory, and which grow. Every process is looked at by
 * statm alone, the few that stand out by stat and status, and those by smaps_rollup and numa_maps
 * at the end.
 */
#include "probes/processes/processes.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/groups.h"
#include "capture/names/names.h"
#include "probes/probe.h"
#include "probes/processes/processes_family.h"
#include "probes/processes/processes_look.h"
#include "probes/processes/processes_paths.h"
#include "probes/processes/processes_table.h"
#include "sys/heap/managed.h"
#include "sys/root.h"
#include "sys/users.h"

#define EVERY_NS (500 * NSEC_PER_MSEC)
#define DIP_NS (50 * NSEC_PER_MSEC) /* between looks at those that go up and down */
/* Drains come on top of the sampler's own period: not twice within this time. */
#define GAP_NS (EVERY_NS * 9 / 10)
/* Together, samples are to take no more than 1 % of one cpu: looking through all processes takes
 * at most 1/125, reading those that stand out 1/500. The time between them is stretched. */
#define SCAN_PART 125
#define SEND_PART 500
/* Of somebody who watches, who wants to see all of it move: each at most 1/40. */
#define WATCH_PART 40
#define DETAIL_NS (5 * NSEC_PER_SEC)
/* … who sees no details unless they ask for them: what an idle process keeps, and what is set by
 * hand, is read anew so often. */
#define WATCHED_NS (10 * NSEC_PER_SEC)
/* Processes that were asked for may end before the capture: they get their closer looks at this
 * time, twice this time, four times, … */
#define LOOK_NS (2 * NSEC_PER_SEC)
#define LOOK_PART 100 /* of one cpu, at most */
#define LAST_MOST 1024

struct processes {
	struct processes_table table;
	struct proc_scope scope;
	struct processes_look look;
	struct processes_families families;
	struct processes_paths paths;
	struct cgroup_mounts mounts;
	struct cgroup group;
	struct groups users; /* uid to the string of its name */
	struct groups last;  /* where somebody watches: pid to its last record */
	struct str text;
	u64 tick_ns; /* of one clock tick of stat */
	u64 next_ns, scan_ns, fresh_ns, look_ns, begin_ns;
	bool told_stretch, told_truncated;
	bool follows_paths; /* see stack_samples_wanted */
};

/* Not twice within this time. */
static u64 gap_ns(const struct capture *c)
{
	return c->opt.watch_ns ? c->opt.watch_ns * 9 / 10 : GAP_NS;
}

/* One sample at work. */
struct sample {
	struct capture *c;
	struct processes *p;
	u64 now_ns;
	bool fresh;  /* all is read anew */
	bool detail; /* details are due: implies that */
	bool look;   /* and the closer look */
};

/*
 * Is this number still the process it was when first seen? The start says so, once it is known;
 * before, that it cannot have begun after it was seen.
 */
static void identity_check(
	const struct sample *sm, struct process_entry *e, const struct proc_stat *st)
{
	u64 start_ns;

	if (e->start_ns && e->start_ticks == st->starttime_ticks)
		return;
	start_ns = proc_start_ns(st);
	if (e->start_ns || start_ns > e->first_ns + 2 * sm->p->tick_ns)
		process_entry_restart(e, sm->now_ns);
	e->start_ticks = st->starttime_ticks;
	e->start_ns = start_ns;
}

static void faults_add(const struct sample *sm, struct process_entry *e, const struct proc_stat *st)
{
	u64 ns = sm->now_ns - e->faults_read_ns;

	if (e->faults_read_ns && ns < NSEC_PER_SEC / 10)
		return;
	e->faults_second = e->faults_read_ns && st->minflt > e->faults
				   ? (st->minflt - e->faults) * NSEC_PER_SEC / ns
				   : 0;
	e->faults = st->minflt;
	e->faults_read_ns = sm->now_ns;
}

/* The group that the memory is charged to, where records name groups of that hierarchy. */
static void cgroup_check(const struct sample *sm, struct process_entry *e)
{
	struct processes *p = sm->p;
	u8 version = sm->c->opt.cgroup_version;

	if ((e->cgroup && !sm->c->ending) || !version ||
		p->mounts.memory.version != (version == SCOPE_CGROUP_V1 ? 1 : 2))
		return;
	if (!cgroup_of_pid(&p->mounts, (int)e->pid, &p->group))
		e->cgroup = p->group.id;
}

/* False: it is gone, or has become another that is not within the scope. */
static bool stat_read(const struct sample *sm, struct process_entry *e, struct proc_stat *ret)
{
	struct processes *p = sm->p;

	if (processes_file_read(&p->table, e, PROCESS_STAT, &p->text) ||
		proc_stat_parse(str_get(&p->text), ret))
		return false;
	if (p->scope.comm[0] && strcmp(p->scope.comm, ret->comm) != 0) {
		e->flags &= (u16)~ENTRY_MATCHES;
		return false;
	}
	identity_check(sm, e, ret);
	faults_add(sm, e, ret);
	e->ppid = (u32)ret->ppid;
	cgroup_check(sm, e);
	return true;
}

static bool status_read(
	const struct sample *sm, const struct process_entry *e, struct proc_status *ret)
{
	if (!(e->flags & ENTRY_DEEP) || sys_read_once(&sm->p->text, "/proc/%u/status", e->pid) ||
		proc_status_parse(str_get(&sm->p->text), ret))
		return false;
	return ret->has_mm || !proc_status_read((int)e->pid, ret);
}

/*
 * The last record of a process that has done nothing to its memory since: without a fault, and with
 * the same sizes, what status and oom_score say is what they said. NULL: they are to be read.
 */
static const struct process_memory *idle_record(
	const struct sample *sm, const struct process_entry *e, const struct proc_stat *st)
{
	const struct process_memory *r =
		sm->c->opt.watch_ns && !sm->fresh ? groups_find(&sm->p->last, &e->pid) : NULL;

	return r && r->start_ns == e->start_ns && r->rss_bytes == e->rss_bytes &&
			       r->anon_bytes == e->anon_bytes && r->vm_bytes == e->vm_bytes &&
			       r->minflt_total == st->minflt && r->majflt_total == st->majflt
		       ? r
		       : NULL;
}

/* For the next sample. */
static void last_keep(const struct sample *sm, const struct process_memory *r)
{
	struct groups *last = &sm->p->last;
	struct process_memory *kept;

	if (!sm->c->opt.watch_ns)
		return;
	if (last->n > LAST_MOST)
		groups_clear(last); /* most of them have ended */
	kept = groups_get(last, &r->tgid);
	if (kept)
		*kept = *r;
}

/* What the OOM killer would say, where somebody watches. What is set by hand is read less often. */
static void oom_add(const struct sample *sm, struct process_entry *e, struct process_memory *r)
{
	struct str *text = &sm->p->text;

	if (!sm->c->opt.watch_ns || sys_read_once(text, "/proc/%u/oom_score", e->pid))
		return;
	r->oom_score = (u32)strtoul(str_get(text), NULL, 10);
	if ((sm->fresh || !(e->flags & ENTRY_OOM)) &&
		!sys_read_once(text, "/proc/%u/oom_score_adj", e->pid)) {
		e->oom_score_adj = (s32)strtol(str_get(text), NULL, 10);
		e->flags |= ENTRY_OOM;
	}
	r->oom_score_adj = e->oom_score_adj;
	r->h.flags |= e->flags & ENTRY_OOM ? PROCESS_OOM : 0;
}

static u32 user_string(const struct sample *sm, u32 uid)
{
	u32 *known = groups_get(&sm->p->users, &uid);
	char name[64];

	if (!known || *known)
		return known ? *known : 0;
	if (user_name(uid, name, sizeof(name)))
		snprintf(name, sizeof(name), "%u", uid);
	return *known = names_string(sm->c->names, name);
}

/* Who owns its directory in /proc is whose rights it has. Few change that. */
static void user_add(const struct sample *sm, struct process_entry *e, struct process_memory *r)
{
	char path[PATH_MAX];
	struct stat st;

	if (!sm->c->opt.watch_ns)
		return;
	if ((sm->fresh || !(e->flags & ENTRY_USER)) && !sys_path(path, "/proc/%u", e->pid) &&
		!stat(path, &st)) {
		e->uid = st.st_uid;
		e->user = user_string(sm, e->uid);
		e->flags |= ENTRY_USER;
	}
	r->uid = e->uid;
	r->user = e->user;
	r->h.flags |= e->flags & ENTRY_USER ? PROCESS_USER : 0;
}

/* The variable is handed on to children, which need not be of Go. */
static void go_limit_read(struct str *text, struct process_entry *e)
{
	_cleanup_maps_ struct maps maps = {};
	u64 limit = 0;

	if (!sys_read(text, "/proc/%u/environ", e->pid))
		limit = proc_heap_limit_go(str_get(text), text->len);
	if (!limit || maps_read((int)e->pid, &maps) || !managed_has_go(&maps))
		return;
	e->heap_limit_bytes = limit;
	e->heap_is_soft = true;
}

/* Only of those looked at closely whose command line or environment may tell: once. */
static void heap_limit_read(const struct sample *sm, struct process_entry *e, const char *comm)
{
	struct str *text = &sm->p->text;

	if (e->flags & ENTRY_HEAP || !(e->flags & ENTRY_DEEP))
		return;
	e->flags |= ENTRY_HEAP;
	if (!proc_runs_program(comm)) {
		go_limit_read(text, e);
		return;
	}
	if (sys_read(text, "/proc/%u/cmdline", e->pid))
		return;
	e->heap_limit_bytes = proc_heap_limit(comm, str_get(text), text->len);
	if (!e->heap_limit_bytes && !sys_read(text, "/proc/%u/environ", e->pid))
		e->heap_limit_bytes = proc_heap_limit_environ(comm, str_get(text), text->len);
}

/* Each thread is looked at, which takes 6 us: not at every sample, nor where none has run since. */
static void collector_read(
	const struct sample *sm, struct process_entry *e, const struct proc_stat *st)
{
	u64 ticks = st->utime_ticks + st->stime_ticks + 1;

	if (!sm->fresh || !(e->flags & ENTRY_DEEP) || ticks == e->collector_ticks)
		return;
	e->collector_ticks = ticks;
	e->collector_ns = proc_collector_ticks(st->comm, (int)e->pid) * sm->p->tick_ns;
}

/* same: what need not be read again; NULL: nothing. */
static struct process_memory memory_record(const struct sample *sm, struct process_entry *e,
	const struct proc_stat *st, const struct proc_status *status,
	const struct process_memory *same)
{
	struct process_memory r = REC_INIT(struct process_memory, REC_PROCESS_MEMORY, 0);

	if (same)
		r = *same;
	r.tgid = e->pid;
	r.ppid = e->ppid;
	r.start_ns = e->start_ns;
	r.cgroup = e->cgroup;
	r.low_anon_bytes = e->low_bytes;
	e->low_bytes = 0;
	r.rss_bytes = e->rss_bytes;
	r.anon_bytes = e->anon_bytes;
	r.first_anon_bytes = e->first_anon_bytes;
	r.first_ns = e->first_ns;
	r.minflt_total = st->minflt;
	r.majflt_total = st->majflt;
	r.utime_ns = st->utime_ticks * sm->p->tick_ns;
	r.stime_ns = st->stime_ticks * sm->p->tick_ns;
	snprintf(r.comm, sizeof(r.comm), "%.15s", st->comm);
	r.vm_bytes = e->vm_bytes;
	r.heap_limit_bytes = e->heap_limit_bytes;
	r.h.flags |= e->heap_is_soft ? PROCESS_SOFT_HEAP : 0;
	r.collector_ns = e->collector_ns;
	r.first_vm_bytes = e->first_vm_bytes;
	if (status) {
		r.h.flags |= PROCESS_EXACT;
		r.exact_anon_bytes = status->rss_anon_bytes;
		r.swap_bytes = status->vm_swap_bytes;
		r.rss_file_bytes = status->rss_file_bytes;
		r.rss_shmem_bytes = status->rss_shmem_bytes;
		r.page_table_bytes = status->vm_pte_bytes;
		r.threads = (u32)status->threads;
		r.stack_bytes = status->vm_stk_bytes;
	}
	if (proc_is_headless(st) && r.rss_bytes)
		r.h.flags |= PROCESS_HEADLESS;
	if (!same)
		oom_add(sm, e, &r);
	user_add(sm, e, &r);
	last_keep(sm, &r);
	return r;
}

/* What has not changed is not sent again, but of those that grew (that they no longer do is worth
 * knowing), and at the end. */
static int memory_send(const struct sample *sm, struct process_entry *e, struct process_memory *r)
{
	u64 hash = XXH3_64bits(&r->h + 1, sizeof(*r) - sizeof(r->h)) | 1;
	int rc;

	if (sm->c->opt.watch_ns)
		r->h.flags |= PROCESS_EVERY;
	else if (hash == e->sent && process_entry_growth(e) <= PROCESSES_GROWN_BYTES &&
		 !sm->c->ending)
		return 0;
	e->sent = hash;
	rc = names_task(sm->c->names, e->pid, 0, r->comm, e->cgroup);
	return rc ? rc : capture_emit(sm->c, &r->h);
}

static int processes_process_send(const struct sample *sm, struct process_entry *e)
{
	struct proc_stat st;
	struct proc_status status;
	const struct process_memory *same;
	struct process_memory r;
	bool deep;
	int rc;

	if (!stat_read(sm, e, &st))
		return 0;
	same = idle_record(sm, e, &st);
	deep = !same && status_read(sm, e, &status);
	heap_limit_read(sm, e, st.comm);
	collector_read(sm, e, &st);
	r = memory_record(sm, e, &st, deep ? &status : NULL, same);
	rc = memory_send(sm, e, &r);
	if (!rc && deep && sm->detail)
		rc = processes_look_detail(sm->c, &sm->p->look, e, &status, r.comm, sm->look);
	return rc;
}

static bool is_among_biggest(const struct top *top, u32 at)
{
	for (u32 i = 0; i < MIN(top->n, (u32)LOOK_NUMA); i++)
		if (top->at[i] == at)
			return true;
	return false;
}

/* Smaller ones whose policy says where their memory is: that is wrong or right whatever their size.
 */
static int bound_send(const struct sample *sm)
{
	struct processes_table *t = &sm->p->table;
	u32 peeks = 0;
	int rc = 0;

	if (!sm->p->look.host)
		return 0;
	for (size_t i = 0; i < t->list.n && peeks < LOOK_PEEKS && !rc; i++) {
		const struct process_entry *e = &t->list.v[i];

		if (!(e->flags & ENTRY_MATCHES) || e->rss_bytes < LOOK_PEEK_BYTES ||
			is_among_biggest(&t->by_rss, (u32)i))
			continue;
		peeks++;
		if (processes_look_is_bound(e))
			rc = processes_look_numa(sm->c, &sm->p->look, e);
	}
	return rc;
}

static int numa_send(const struct sample *sm)
{
	const struct top *top = &sm->p->table.by_rss;
	int rc = 0;

	for (u32 i = 0; i < MIN(top->n, (u32)LOOK_NUMA) && !rc; i++)
		rc = processes_look_numa(sm->c, &sm->p->look, &sm->p->table.list.v[top->at[i]]);
	return rc ? rc : bound_send(sm);
}

static int chosen_send(const struct sample *sm)
{
	struct processes_table *t = &sm->p->table;
	int rc = 0;

	processes_look_begin(&sm->p->look);
	for (size_t i = 0; i < t->chosen.n && !rc; i++)
		rc = processes_process_send(sm, &t->list.v[t->chosen.v[i]]);
	if (!rc && sm->look)
		rc = numa_send(sm);
	if (!rc && sm->p->look.left_out && sm->c->ending)
		rc = capture_note(sm->c, NOTE_NOT_CHECKED,
			"the pages of %u of the biggest processes: walking their page tables "
			"would take long",
			sm->p->look.left_out);
	return rc;
}

static bool closely; /* of the one session of a process */

void processes_closely(bool on)
{
	closely = on;
}

/* Which of the dearer things are due. */
static void sample_plan(struct sample *sm)
{
	struct processes *p = sm->p;
	/* Who watches wants the next second, not all page tables walked, but where they say so. */
	bool watched = sm->c->opt.watch_ns;
	bool due = sm->now_ns >= p->look_ns;

	sm->look = watched ? due && closely : sm->c->ending || (p->scope.by_task && due);
	sm->fresh = sm->look || sm->now_ns >= p->fresh_ns;
	sm->detail = watched ? sm->look : sm->fresh;
	if (sm->fresh)
		p->fresh_ns = sm->now_ns + (watched ? WATCHED_NS : DETAIL_NS);
	if (sm->look)
		p->look_ns =
			sm->now_ns + (watched ? DETAIL_NS : MAX(LOOK_NS, sm->now_ns - p->begin_ns));
}

static int tell_bounds(struct capture *c, struct processes *p, u64 scan_cpu_ns, u64 every_ns)
{
	int rc = 0;

	if (every_ns > EVERY_NS && p->table.scans > 1 && !p->told_stretch) {
		p->told_stretch = true;
		rc = capture_note(c, NOTE_INFO,
			"reading %zu processes takes %.1f ms: all are read every %.1f s, "
			"conspicuous ones every %.1f s, so that it costs at most 1 %% of a CPU",
			p->table.list.n, (double)scan_cpu_ns / NSEC_PER_MSEC,
			(double)every_ns / NSEC_PER_SEC, (double)EVERY_NS / NSEC_PER_SEC);
	}
	if (!rc && p->table.truncated && !p->told_truncated) {
		p->told_truncated = true;
		rc = capture_note(
			c, NOTE_NOT_CHECKED, "processes beyond the first %u", PROCESSES_MAX);
	}
	return rc;
}

/* Looks through all processes if that is due, else only through those that stood out. */
static int processes_read(const struct sample *sm)
{
	struct processes *p = sm->p;
	u64 cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID), every_ns;
	int rc;

	if (!sm->c->ending && sm->now_ns < p->scan_ns) {
		processes_refresh(&p->table, sm->now_ns);
		return 0;
	}
	rc = processes_scan(&p->table, &p->scope, sm->now_ns);
	if (rc && rc != -ENOMEM)
		return 0; /* no /proc: processes_survey() said so */
	if (!rc)
		rc = processes_choose(&p->table, &p->scope, sm->now_ns, sm->c->opt.watch_ns != 0);
	if (!rc)
		rc = processes_families_sum(&p->families, &p->table, sm->now_ns);
	if (!rc)
		rc = processes_families_send(&p->families, sm->c);
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	/* The first one makes the kernel's entries, and takes about twice as long as the others. */
	every_ns = cpu * (sm->c->opt.watch_ns ? WATCH_PART : SCAN_PART) /
		   (p->table.scans == 1 ? 2 : 1);
	p->scan_ns = sm->now_ns + MAX(gap_ns(sm->c), every_ns);
	return rc || sm->c->ending ? rc : tell_bounds(sm->c, p, cpu, every_ns);
}

/* Names are sent once, and closer looks have their own, growing, distance: neither is to delay the
 * samples that follow. */
static void sample_pace(const struct sample *sm, u64 send_cpu_ns)
{
	struct processes *p = sm->p;
	bool plain = !sm->look && p->table.scans > 1;

	u64 part = sm->c->opt.watch_ns ? WATCH_PART : SEND_PART, gap = gap_ns(sm->c);

	p->next_ns = sm->now_ns + (plain ? MAX(gap, send_cpu_ns * part) : gap);
	if (sm->look)
		p->look_ns = MAX(p->look_ns, sm->now_ns + send_cpu_ns * LOOK_PART);
}

static int paths_step(struct processes *p, struct capture *c, bool scanned, u64 now_ns)
{
	return p->follows_paths ? processes_paths_step(&p->paths, c, &p->table, scanned, now_ns)
				: 0;
}

static int processes_sample(struct capture *c, void *state)
{
	struct processes *p = state;
	struct sample sm = {.c = c, .p = p, .now_ns = clock_mono_ns()};
	u64 cpu;
	int rc;

	if (!c->ending && sm.now_ns < p->next_ns) {
		processes_dip(&p->table, sm.now_ns);
		return paths_step(p, c, false, sm.now_ns);
	}
	sample_plan(&sm);
	rc = processes_read(&sm);
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (!rc)
		rc = chosen_send(&sm);
	sample_pace(&sm, clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu);
	return rc ? rc : paths_step(p, c, true, sm.now_ns);
}

/* The first process belongs to root: where others are hidden, it is. */
static int processes_survey(struct capture *c)
{
	int rc = capture_method(c, "memory of all processes", "statm, stat and status",
		sys_exists("/proc/1/statm")
			? "not of other users, who are hidden (hidepid): run as root"
			: NULL);

	return rc ? rc : processes_look_survey(c);
}

static int processes_open(struct capture *c, void *state, struct err *err)
{
	struct processes *p = state;
	int rc = processes_survey(c);

	p->tick_ns = NSEC_PER_SEC / (u64)sysconf(_SC_CLK_TCK);
	p->begin_ns = clock_mono_ns();
	p->table.files.left = c->opt.watch_ns ? file_room(PROCESS_FILES_MOST) : 0;
	processes_families_init(&p->families);
	p->follows_paths = stack_samples_wanted(&c->opt);
	groups_init(&p->last, sizeof(u32), sizeof(struct process_memory));
	groups_init(&p->users, sizeof(u32), sizeof(u32));
	p->look_ns = p->begin_ns + LOOK_NS;
	cgroup_mounts_read(&p->mounts);
	rc = rc ? rc : processes_paths_open(&p->paths, c);
	if (!rc)
		rc = proc_scope_open(c, &p->scope);
	if (!rc)
		rc = processes_look_open(&p->look);
	return rc ? err_errno(err, rc, "processes") : 0;
}

static void processes_close(void *state)
{
	struct processes *p = state;

	processes_table_free(&p->table);
	processes_families_free(&p->families);
	processes_paths_free(&p->paths);
	groups_free(&p->last);
	groups_free(&p->users);
	proc_scope_free(&p->scope);
	processes_look_free(&p->look);
	str_free(&p->text);
}

static const struct probe_sampler sampler = {
	.size = sizeof(struct processes),
	.every_ns = DIP_NS,
	.open = processes_open,
	.sample = processes_sample,
	.close = processes_close,
	.survey = processes_survey,
};

static const struct kind kinds[] = {
	RECORD_KIND(REC_PROCESS_MEMORY, struct process_memory, "process_memory",
		PROCESS_MEMORY_FIELDS,
		"a process that is big or grows, sent when it has changed; flag 1: two members are "
		"exact"),
	RECORD_KIND(REC_PROCESS_PATH, struct process_path, "process_path", PROCESS_PATH_FIELDS,
		"which code path makes a process grow, sampled"),
	RECORD_KIND(REC_PROCESS_FAMILY, struct process_family, "process_family",
		PROCESS_FAMILY_FIELDS, "processes of one name and descent that grow together"),
	RECORD_KIND(REC_PROCESS_DETAIL, struct process_detail, "process_detail",
		PROCESS_DETAIL_FIELDS,
		"what the memory of a big or growing process is; flag 1: with smaps_rollup"),
	RECORD_KIND(REC_PROCESS_NUMA, struct process_numa, "process_numa", PROCESS_NUMA_FIELDS,
		"on which nodes a big process has its memory and its threads"),
};

const struct probe probe_processes = {
	.name = "processes",
	.summary = "The biggest and the fastest growing processes",
	.details = "Ranks all processes by /proc/PID/statm twice a second, less often where there "
		   "are so many that this would take more than 1 % of a CPU, and reads more of "
		   "those that stand out, still twice a second. It feeds `memwhy check` and has no "
		   "command of its own.",
	.kinds = kinds,
	.n_kinds = ARRAY_SIZE(kinds),
	.sampler = &sampler,
	.cheap = true,
};
